"""Facets of photographs: what captions name, when a facet is open, and how likely each answer is."""

from __future__ import annotations

import math
import tomllib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.questioners.photographs import (
    FACETS_FILE,
    Facet,
    choice_chances,
    count_mentions,
    facets,
    label_chances,
    label_columns,
    photograph_labels,
    read_facets,
)
from viewfinder.wording.replies import DONT_KNOW, SOMETHING_ELSE

BY_NAME = {facet.name: facet for facet in facets()}
each_facet = pytest.mark.parametrize("facet", facets(), ids=list(BY_NAME))


def is_open(name: str, *texts: str) -> bool:
    return BY_NAME[name].is_open([read_facets(text) for text in texts])


def test_names_questions_and_labels_are_told_apart() -> None:
    assert len(BY_NAME) == len({facet.question for facet in facets()}) == len(facets())
    for facet in facets():
        assert len(set(facet.labels)) == len(facet.labels) >= 2
        assert not {SOMETHING_ELSE, DONT_KNOW} & set(facet.labels)
        assert facet.question.endswith("?")


def test_every_phrase_names_its_label() -> None:
    table: dict[str, Any] = tomllib.loads(FACETS_FILE.read_text(encoding="utf-8"))
    for record in table["facet"]:
        for label, phrases in record.get("labels", {}).items():
            for phrase in phrases:
                assert label in BY_NAME[record["name"]].find_labels(f"There, {phrase}!"), phrase
        for thing in record.get("colours_of", ()):
            assert BY_NAME[record["name"]].find_labels(f"a tan and white {thing}") == {"brown", "white"}


@each_facet
def test_every_facet_can_be_asked(facet: Facet) -> None:
    begun = [f"something with {phrase}" for phrase in facet.about] or ["something"]
    assert any(is_open(facet.name, text) for text in begun)


@each_facet
def test_every_label_is_an_answer_that_means_it(facet: Facet) -> None:
    for label in facet.labels:
        assert facet.labels_meant(label.upper()) == (label,)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("who", "a dog"),
        ("who", "a man on a bench"),
        ("animal", "a man"),
        ("animal", "an animal, a cat"),
        ("number of people", "two men"),
        ("number of people", "a red flower"),
        ("number of dogs", "two dogs"),
        ("number of dogs", "a dog"),
        ("number of dogs", "a cat"),
        ("indoors", "on the beach"),
        ("dog colour", "dog brown"),
        ("dog colour", "a cat"),
        ("place", "somewhere in the snow"),
    ],
)
def test_what_was_said_or_is_beside_the_point_is_not_asked(name: str, said: str) -> None:
    assert not is_open(name, said)


@pytest.mark.parametrize(
    ("name", "said"),
    [("who", "a red shirt"), ("animal", "an animal"), ("number of dogs", "dogs playing"), ("thing", "a ball")],
)
def test_what_is_left_open_is_asked(name: str, said: str) -> None:
    assert is_open(name, said)


@pytest.mark.parametrize(
    ("name", "text", "labels"),
    [
        ("doing", "Two dogs ran and jumped", {"running", "jumping"}),
        ("dog colour", "a black and white short dog beside a red car", {"black", "white"}),
        ("dog colour", "a man in red walks his dog", set()),
        ("place", "nothing of the kind", set()),
    ],
)
def test_words_count_without_their_inflection_and_colours_before_their_thing(
    name: str, text: str, labels: set[str]
) -> None:
    assert BY_NAME[name].find_labels(text) == labels


@pytest.mark.parametrize(
    ("name", "answer", "labels"),
    [
        ("place", "in the snow, on a hill", ("in the snow", "in the mountains or on rocks")),
        ("dog colour", "rather brown", ("brown",)),
        ("who", "nobody", ("nobody",)),
        ("place", "don't know", ()),
        ("place", "somewhere", ()),
    ],
)
def test_answers_in_free_words_come_to_labels(name: str, answer: str, labels: tuple[str, ...]) -> None:
    assert BY_NAME[name].labels_meant(answer) == labels


def test_captions_are_counted_by_label_and_otherwise_stands_for_none() -> None:
    counts = count_mentions(["a dog runs", "a brown dog on grass", "something brown"])
    named = {
        (name, label): int(count)
        for name, where in label_columns().items()
        for label, count in zip(BY_NAME[name].labels, counts[where], strict=True)
        if count
    }
    assert named == {
        ("who", "nobody"): 1,
        ("animal", "a dog"): 2,
        ("number of dogs", "one"): 2,
        ("doing", "running"): 1,
        ("place", "on grass"): 1,
        ("indoors", "outdoors"): 1,
        ("thing", "a dog"): 2,
        ("dog colour", "brown"): 1,
    }


def test_one_of_the_labels_that_hold_is_named_and_something_else_where_none_does() -> None:
    # None of both holds with 0.5 * 0.5 = 0.25; of 1.25 in all: 0.4, 0.4, 0.2. A tenth of the answers are any.
    [chance_a] = choice_chances(np.array([[0.5, 0.5]]), error=0.1)
    assert chance_a.tolist() == pytest.approx([0.9 * 0.4 + 0.1 / 3, 0.9 * 0.4 + 0.1 / 3, 0.9 * 0.2 + 0.1 / 3])


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6), st.floats(0.0, 1.0))
def test_what_holds_more_surely_is_answered_more_often(holds: list[float], more: float) -> None:
    surer = [max(holds[0], more), *holds[1:]]
    before_a, after_a = choice_chances(np.array([holds, surer]))
    assert before_a.sum() == pytest.approx(1.0)
    assert after_a[0] >= before_a[0] - 1e-12
    assert (after_a[1:] <= before_a[1:] + 1e-12).all()


def test_chances_are_those_of_a_network_written_out() -> None:
    rng = np.random.default_rng(0)
    shapes = {"mean_d": (3,), "deviation_d": (3,), "inner_dh": (3, 2), "inner_h": (2,)}
    shapes |= {"outer_hl": (2, 4), "outer_l": (4,)}
    arrays: dict[str, np.ndarray] = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    arrays["deviation_d"] = np.abs(arrays["deviation_d"]) + 0.5
    vectors_nd = rng.standard_normal((5, 3))
    found_nl = label_chances(arrays, vectors_nd)
    for n, vector in enumerate(vectors_nd.tolist()):
        inputs = [(x - m) / s for x, m, s in zip(vector, arrays["mean_d"], arrays["deviation_d"], strict=True)]
        hidden = [
            max(sum(x * arrays["inner_dh"][d, h] for d, x in enumerate(inputs)) + arrays["inner_h"][h], 0.0)
            for h in range(2)
        ]
        for label in range(4):
            logit = sum(x * arrays["outer_hl"][h, label] for h, x in enumerate(hidden)) + arrays["outer_l"][label]
            assert found_nl[n, label] == pytest.approx(1 / (1 + math.exp(-logit)), abs=1e-6)


def test_the_shipped_network_has_an_output_for_every_label_and_reads_the_shipped_head() -> None:
    shipped = photograph_labels()
    width = len(shipped.weights.arrays["mean_d"])
    vectors_nd = np.eye(2, width, dtype=np.float32)
    chances_nl = shipped.chances(vectors_nd)
    assert chances_nl.shape == (2, len(shipped.labels)) == (2, sum(len(facet.labels) for facet in facets()))
    assert ((chances_nl > 0) & (chances_nl < 1)).all()
    assert shipped.vectors_version.startswith(shipped.raw_version)
    assert [*label_columns().values()][-1].stop == len(shipped.labels)
