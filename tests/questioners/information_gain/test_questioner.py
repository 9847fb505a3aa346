from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float

from viewfinder.conversation import Question
from viewfinder.encoders.tags import TagVectors, tag_groups
from viewfinder.questioners import Candidates, Column
from viewfinder.questioners.information_gain.questioner import InformationGain
from viewfinder.wording.values import find_values_meant

WIDTH = 256


def hashed_words(texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
    """Unit vectors of bags of words; each word is a direction of its own."""
    rows = [sum((_direction(word) for word in text.lower().split()), np.zeros(WIDTH)) for text in texts]
    return np.stack([row / np.linalg.norm(row) for row in rows]).astype(np.float32)


def _direction(word: str) -> Float[np.ndarray, " d"]:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(WIDTH)


def view_of(
    columns: Mapping[str, Sequence[str | None]],
    probabilities: Sequence[float] | None = None,
    *,
    phrases: Sequence[str] | None = None,
    said: tuple[str, ...] = (),
    settled: frozenset[str] = frozenset(),
) -> Candidates:
    """Candidates written out: the value of each in each column, and the phrase its picture is like."""
    count = len(phrases) if phrases is not None else len(next(iter(columns.values())))
    likely_c = np.full(count, 1 / count) if probabilities is None else np.array(probabilities, np.float64)
    vectors_cd = hashed_words(phrases if phrases is not None else ["a picture"] * count)
    return Candidates(likely_c, vectors_cd, {name: coded(v) for name, v in columns.items()}, said=said, settled=settled)


def coded(entries: Sequence[str | None]) -> Column:
    values = tuple(dict.fromkeys(entry for entry in entries if entry is not None))
    return values, np.array([-1 if e is None else values.index(e) for e in entries], np.int32)


def asked(view: Candidates, tags: TagVectors | None = None) -> Question:
    question = InformationGain(tags).ask(view)
    assert question is not None
    return question


def all_attributes(view: Candidates, tags: TagVectors | None = None) -> list[str]:
    """What is asked with choices, one after the other, when the user never knows."""
    found: list[str] = []
    while (question := InformationGain(tags).ask(view)) and question.choices:
        assert question.attribute is not None
        found.append(question.attribute)
        view = replace(view, asked=(*view.asked, question), said=(*view.said, "don't know"))
    return found


HALVES = ["a", "b"] * 5
NINE_TO_ONE = ["x"] * 9 + ["y"]
PHOTOS = ["a dog", "a cat", "a horse", "a bird", "a cow", "in the snow"] * 5
FOUR_COLOURS = ["something red", "something blue", "something green", "something white"] * 8


def test_a_column_that_halves_the_candidates_beats_one_that_splits_them_nine_to_one() -> None:
    assert asked(view_of({"pattern": NINE_TO_ONE, "fit": HALVES})).attribute == "fit"


def test_what_counts_is_the_probability_and_not_the_number_of_pictures() -> None:
    # "pattern" cuts off the one likely picture, "fit" halves the unlikely ones.
    probabilities = [0.5 / 9] * 9 + [0.5]
    columns = {"pattern": NINE_TO_ONE, "fit": ["a"] * 4 + ["b"] * 5 + ["b"]}
    assert asked(view_of(columns, probabilities)).attribute == "pattern"
    assert asked(view_of(columns)).attribute == "fit"


def test_a_question_says_who_asks_and_what_it_expects() -> None:
    question = asked(view_of({"baseColour": ["Red", "Blue", "Green", "Black"] * 4}))
    assert question.text == "Which base colour is it?"
    assert question.by == "information_gain"
    assert question.attribute == "baseColour"
    # 16 pictures alike: 4 bits; 90 % of them are 15. Four values alike: 2 bits, less an error in twenty:
    # 0.95 log2(1/0.95) + 0.05 log2(3/0.05) = 0.0703 + 0.2953 -> 2 - 0.3656 = 1.6.
    assert question.why == ("splits the 15 likeliest pictures into about 4 groups; expected to take 1.6 bits off 4.0")


def test_choices_are_likeliest_first_with_dont_know_last() -> None:
    question = asked(view_of({"colour": ["Red"] * 2 + ["Blue"] * 5 + ["Green"] * 3}))
    assert question.choices == ("Blue", "Green", "Red", "don't know")


def test_more_than_six_answers_are_folded_into_something_else() -> None:
    entries = [value for i, value in enumerate("abcdefgh") for _ in range(10 - i)]
    question = asked(view_of({"pattern": entries}))
    assert question.choices == ("a", "b", "c", "d", "e", "something else", "don't know")
    assert find_values_meant(question, "something else", list("abcdefgh")) == ("f", "g", "h")


def test_a_rare_answer_is_folded_even_where_there_is_room() -> None:
    question = asked(view_of({"colour": ["Red"] * 150 + ["Blue"] * 150 + ["Puce"]}))
    assert question.choices == ("Red", "Blue", "something else", "don't know")


def test_ranges_keep_their_order() -> None:
    prices = [str(100 + 10 * i) for i in range(60)]
    question = asked(view_of({"price": prices}))
    assert question.text == "How much does it cost?"
    assert question.choices == ("under 250", "250 to 399", "400 to 549", "550 or more", "don't know")


@pytest.mark.parametrize(
    "said",
    [
        "a red shirt",
        "two REDS",
        "the colour does not matter",
        "any color",
        "turquoise",
        "something grey or gray",
    ],
)
def test_a_colour_that_was_said_is_not_asked(said: str) -> None:
    colours = ["red", "blue", "green", "black", "white", "brown", "yellow", "grey"]
    tags = TagVectors.of(hashed_words)
    columns = {"colour": colours, "fit": ["slim", "wide"] * 4}
    assert asked(view_of(columns), tags).attribute == "colour"
    assert "colour" not in all_attributes(view_of(columns, said=(said,)), tags)


def test_a_word_that_only_contains_a_value_does_not_settle_it() -> None:
    view = view_of({"colour": ["red", "blue"] * 4}, said=("a bored man with bluebells",))
    assert asked(view).attribute == "colour"


@pytest.mark.parametrize("settled", ["baseColour", "base_color", "colour"])
def test_what_is_settled_is_not_asked_under_another_spelling_either(settled: str) -> None:
    tags = TagVectors.of(hashed_words)
    view = view_of({"baseColour": ["Red", "Blue"] * 4}, settled=frozenset({settled}))
    assert not {"baseColour", "colour"} & set(all_attributes(view, tags))


@pytest.mark.parametrize("how", [{"settled": frozenset({"articleType"})}, {"said": ("black heels",)}])
def test_what_follows_from_what_is_known_is_not_asked(how: Mapping[str, Any]) -> None:
    columns = {
        "articleType": ["Heels", "Boots", "Shirts", "Jeans"] * 5,
        "subCategory": ["Shoes", "Shoes", "Tops", "Bottoms"] * 5,
        "fit": ["slim"] * 10 + ["wide"] * 10,
        "pattern": ["dots", "lines", "dots", "plain", "lines"] * 4,
    }
    assert "subCategory" in all_attributes(view_of(columns))
    left = all_attributes(view_of(columns, **how))
    assert left == ["pattern", "fit"]


def test_no_attribute_is_asked_twice() -> None:
    columns = {"colour": ["red", "blue"] * 15, "fit": HALVES * 3, "cut": ["c", "d", "e"] * 10}
    tags = TagVectors.of(hashed_words)
    order = all_attributes(view_of(columns, phrases=PHOTOS), tags)
    assert len(order) == len(set(order)) > 3
    assert order[:3] == ["cut", "colour", "fit"]


def test_one_candidate_or_none_leaves_nothing_to_ask() -> None:
    only = view_of({"colour": ["red", "blue"]}, [1.0, 0.0])
    assert InformationGain().ask(only) is None
    nothing = Candidates(np.zeros(0), np.zeros((0, WIDTH), np.float32), {"colour": coded([])})
    assert InformationGain(TagVectors.of(hashed_words)).ask(nothing) is None


def test_a_question_worth_less_than_half_a_bit_is_not_asked() -> None:
    # H(1/10) = 0.47 bits, H(4/10) = 0.97; with 5 % errors 0.29 less.
    assert InformationGain().ask(view_of({"fit": ["a"] * 90 + ["b"] * 10})) is None
    assert InformationGain().ask(view_of({"fit": ["a"] * 60 + ["b"] * 40})) is not None


def test_a_column_that_knows_few_candidates_tells_little() -> None:
    columns: dict[str, list[str | None]] = {
        "fit": ["a", "b", "c", "d", *[None] * 12],
        "cut": ["e", "f", "g", "h"] * 2 + [None] * 8,
    }
    assert asked(view_of(columns)).attribute == "cut"


def test_what_a_user_can_hardly_tell_comes_after_what_anybody_sees() -> None:
    columns = {"year": ["2011", "2012", "2013", "2014"] * 4, "pattern": ["dots", "lines", "plain", "checks"] * 4}
    assert all_attributes(view_of(columns)) == ["pattern", "year"]


def test_dates_are_asked_for_where_half_of_the_likely_pictures_have_one() -> None:
    years = ["2011", "2012", "2013", "2014"] * 4
    for unknown, offered in ((14, ["year"]), (18, [])):
        options = InformationGain().options(view_of({"year": [*years, *[None] * unknown]}))
        assert [option.attribute for option in options] == offered


def test_what_files_say_is_asked_of_those_who_speak_of_it() -> None:
    columns = {"folder": ["summer", "winter", "garden", "city"] * 4, "format": ["PNG", "JPEG"] * 8}
    assert all_attributes(view_of(columns)) == []
    assert all_attributes(view_of(columns, said=("it was in a folder of mine",))) == ["folder"]


def test_tags_are_asked_where_there_is_no_catalogue() -> None:
    tags = TagVectors.of(hashed_words)
    question = asked(view_of({}, phrases=PHOTOS), tags)
    assert question.attribute in {"animal", "place"}
    assert question.choices[-1] == "don't know"
    assert len(question.choices) <= 7


def test_photographs_are_asked_about_openly_where_nothing_else_tells_and_goods_are_not() -> None:
    # 30 alike: 4.9 bits.
    question = asked(view_of({}, phrases=PHOTOS))
    assert (question.text, question.choices) == ("What else do you remember of it?", ())
    assert question.why == "no question with choices is worth its while, and 30 pictures are about equally likely"
    files = {"folder": ["summer", "winter"] * 15}
    assert asked(view_of(files, phrases=PHOTOS)).attribute == "remember"
    assert InformationGain().ask(view_of({"baseColour": ["Red"] * 30}, phrases=PHOTOS)) is None


def test_an_animal_that_was_named_is_not_asked() -> None:
    tags = TagVectors.of(hashed_words)
    assert "animal" in all_attributes(view_of({}, phrases=PHOTOS), tags)
    assert "animal" not in all_attributes(view_of({}, phrases=PHOTOS, said=("puppies playing",)), tags)


def test_the_catalogue_speaks_before_tags_on_the_same_topic() -> None:
    tags = TagVectors.of(hashed_words)
    of_tags = all_attributes(view_of({}, phrases=FOUR_COLOURS), tags)
    of_catalogue = all_attributes(view_of({"baseColour": ["Red", "Blue"] * 16}, phrases=FOUR_COLOURS), tags)
    all_red = all_attributes(view_of({"baseColour": ["Red"] * 32}, phrases=FOUR_COLOURS), tags)
    assert "colour" in of_tags
    assert "baseColour" in of_catalogue
    assert "colour" not in {*of_catalogue, *all_red}


def test_a_catalogue_that_knows_hardly_anything_leaves_the_topic_to_tags() -> None:
    tags = TagVectors.of(hashed_words)
    sparse = {"baseColour": ["Red", "Blue", *[None] * 30]}
    assert "colour" in all_attributes(view_of(sparse, phrases=FOUR_COLOURS), tags)


def test_at_equal_gain_the_catalogue_beats_the_tags() -> None:
    tags = TagVectors.of(hashed_words)
    view = view_of({"cut": ["c", "d"] * 8}, phrases=["a dog", "in the snow"] * 8)
    options = InformationGain(tags).options(view)
    assert options[0].attribute == "cut"
    equal = [replace(option, gain=0.5) for option in options]
    assert sorted(equal, key=lambda option: option.source != "column")[0].source == "column"


CATALOGUE = {
    "colour": ("red", "blue", "green", "black", "white", "grey"),
    "articleType": ("shirt", "jeans", "boots", "belt", "scarf", "coat", "cap", "gloves"),
    "pattern": ("plain", "striped", "dotted"),
    "fit": ("slim", "wide"),
    "limited": ("no", "yes"),
}
SHARES = {"limited": (0.97, 0.03), "pattern": (0.8, 0.15, 0.05)}


def turns_to_find(target: int, entries: Mapping[str, Sequence[str]], order: Sequence[str] | None) -> int:
    """Questions until a truthful user's answers leave at most three pictures (all there are, where never).

    They come in this `order`; None: the questioner's.
    """
    alive = np.ones(len(entries["colour"]), bool)
    view = view_of(entries)
    for turn in range(len(CATALOGUE)):
        if alive.sum() <= 3:
            return turn
        if order is None:
            question = InformationGain().ask(replace(view, probabilities_c=alive / alive.sum()))
            if question is None or question.attribute is None:
                break
            attribute = question.attribute
            view = replace(view, asked=(*view.asked, question))
        else:
            attribute = order[turn]
        truth = entries[attribute][target]
        alive &= np.array([entry == truth for entry in entries[attribute]])
    return len(CATALOGUE)


def test_answers_to_its_questions_narrow_faster_than_answers_to_random_ones() -> None:
    rng = np.random.default_rng(5)
    entries = {
        name: [str(v) for v in rng.choice(values, size=400, p=SHARES.get(name))] for name, values in CATALOGUE.items()
    }
    targets = rng.choice(400, size=25, replace=False).tolist()
    ours = [turns_to_find(target, entries, None) for target in targets]
    random = [turns_to_find(target, entries, rng.permutation(list(CATALOGUE)).tolist()) for target in targets]
    print(f"questions until three pictures are left: {np.mean(ours):.2f}, at random {np.mean(random):.2f}")
    assert np.mean(ours) <= np.mean(random) - 0.5


def test_a_thousand_candidates_are_asked_about_in_time() -> None:
    rng = np.random.default_rng(0)
    vectors_cd = rng.standard_normal((1000, WIDTH)).astype(np.float32)
    vectors_cd /= np.linalg.norm(vectors_cd, axis=1, keepdims=True)
    sizes = {"colour": 43, "articleType": 72, "season": 4, "year": 11, "gender": 5, "brand": 300, "usage": 7}
    columns: dict[str, Column] = {
        name: (tuple(f"{name} {i}" for i in range(size)), rng.integers(-1, size, 1000).astype(np.int32))
        for name, size in sizes.items()
    }
    columns["price"] = (tuple(str(50 + i) for i in range(1000)), np.arange(1000, dtype=np.int32))
    columns["displayName"] = (
        tuple(f"a name of number {i}" for i in range(1000)),
        np.arange(1000, dtype=np.int32),
    )
    columns["id"] = (tuple(str(i) for i in range(1000)), np.arange(1000, dtype=np.int32))
    dialogue = ("a dog in the snow with two people near a river",) * 10
    view = Candidates(rng.dirichlet(np.ones(1000)), vectors_cd, columns, said=dialogue)
    questioner = InformationGain(TagVectors.of(hashed_words, background=vectors_cd))
    times = []
    for _ in range(5):
        begin = time.process_time()
        assert questioner.ask(view) is not None
        times.append(time.process_time() - begin)
    asks_in = f"asks in {1e3 * min(times):.1f} ms (axes checked)"
    print(f"{asks_in}: 1,000 x {WIDTH}, 10 columns, {len(tag_groups())} tag groups")
    # Without the checks it is some ten times as fast; `benchmarks/asking.py` measures it.
    assert min(times) < 0.5
