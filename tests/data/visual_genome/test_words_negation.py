from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.data.visual_genome import add_negations, draw_absent_names
from viewfinder.data.visual_genome.words import UNWANTED, WANTED

TEN = tuple(f"caption {i}" for i in range(10))


def names_in(sentences: tuple[str, ...], templates: tuple[str, ...], name: str) -> list[int]:
    """Where a sentence is one of the templates with the name."""
    filled = {template.replace("{}", name) for template in templates}
    return [i for i, sentence in enumerate(sentences) if sentence in filled]


def test_there_are_as_many_templates_as_published_and_each_has_one_place() -> None:
    assert (len(set(WANTED)), len(set(UNWANTED))) == (22, 39)
    assert not set(WANTED) & set(UNWANTED)
    assert all(template.count("{}") == 1 and template == template.lower() for template in WANTED + UNWANTED)


@given(st.integers(0, 5), st.integers(0, 10**6))
def test_a_thing_is_asked_for_first_and_excluded_later(pairs: int, seed: int) -> None:
    absent = tuple(f"name{i}" for i in range(pairs))
    said = add_negations(TEN, absent, np.random.default_rng(seed))
    assert len(said) == 10
    assert sorted(set(said) & set(TEN)) == list(TEN[: 10 - 2 * pairs])
    for name in absent:
        (first,), (second,) = names_in(said, WANTED, name), names_in(said, UNWANTED, name)
        assert first < second


def test_the_two_of_a_pair_need_not_be_neighbours_and_every_first_is_equally_likely() -> None:
    # Two captions and one pair: the pair's first sentence is drawn first in 1 of 3 dialogues.
    said = [add_negations(TEN[:4], ("dog",), np.random.default_rng(seed)) for seed in range(3000)]
    gaps = Counter(names_in(dialogue, UNWANTED, "dog")[0] - names_in(dialogue, WANTED, "dog")[0] for dialogue in said)
    assert set(gaps) == {1, 2, 3}
    starts = Counter(dialogue[0] if dialogue[0] in TEN else "pair" for dialogue in said)
    assert set(starts) == {*TEN[:2], "pair"}
    assert all(abs(count - 1000) < 5 * np.sqrt(3000 * 1 / 3 * 2 / 3) for count in starts.values())


def test_a_seed_gives_the_same_dialogue_again() -> None:
    dialogues = {add_negations(TEN, ("dog", "hat"), np.random.default_rng(3)) for _ in range(3)}
    assert len(dialogues) == 1


def test_more_pairs_than_captions_allow_are_refused() -> None:
    with pytest.raises(ValueError, match="6 pairs need 12 captions to replace; there are 10"):
        add_negations(TEN, ("dog",) * 6, np.random.default_rng(0))


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=4), max_size=5), st.integers(0, 100))
def test_absent_names_are_not_in_the_picture_and_all_different(others: list[list[str]], seed: int) -> None:
    present = {"a", "b"}
    possible = {name for names in others for name in names} - present
    rng = np.random.default_rng(seed)
    found = draw_absent_names(present, others, len(possible), rng)
    assert set(found) == possible
    assert len(found) == len(possible)
    with pytest.raises(ValueError, match=f"{len(possible) + 1} names are needed"):
        draw_absent_names(present, others, len(possible) + 1, rng)


def test_absent_names_come_from_all_other_pictures() -> None:
    others = [[f"name{i}"] for i in range(20)]
    found = {draw_absent_names((), others, 1, np.random.default_rng(seed))[0] for seed in range(500)}
    assert found == {f"name{i}" for i in range(20)}
