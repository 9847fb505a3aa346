import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.worlds.catalogue.items import RANGES, Item, sample_item
from viewfinder.worlds.catalogue.statements import (
    comparison_statements,
    direct_statements,
    excludes_word,
    negation_statements,
    phrases_of,
    shared_statements,
    tell_apart,
)


def article(title: str = "Thing", lacks: tuple[tuple[str, str], ...] = (), **words: str) -> Item:
    known = (("kind", "shirt"), *words.items())
    return Item("1", "Shirts", "Topwear", title, known, frozenset(lacks), ())


def test_what_differs_is_said_directly() -> None:
    said = list(
        direct_statements(article(colour="red", sleeves="long sleeves"), article(colour="blue", sleeves="long sleeves"))
    )
    assert [(s.facet, s.word, s.tells_apart) for s in said] == [("colour", "red", True)]
    assert "is red" in said[0].phrases


def test_unknown_is_not_absent() -> None:
    """A name without a pattern does not make a shirt plain."""
    striped, unknown = article(colour="red", pattern="striped"), article(colour="red")
    assert [(s.word, s.tells_apart) for s in direct_statements(striped, unknown)] == [("striped", False)]
    assert not tell_apart(striped, unknown) and not list(negation_statements(unknown, striped))


@pytest.mark.parametrize(
    ("facet", "wanted", "shown", "apart"),
    [
        ("colour", "blue", "navy blue", None),  # navy blue is blue: it is not even said
        ("colour", "navy blue", "blue", True),
        ("colour", "red", "multicoloured", False),  # there may be red in it
        ("colour", "multicoloured", "red", True),
        ("audience", "men", "unisex", False),
        ("pattern", "striped", "printed", False),  # stripes may be printed
        ("pattern", "plain", "printed", True),
        ("detail", "hood", "logo", False),  # one may have both
    ],
)
def test_a_word_tells_apart_only_where_the_other_word_rules_it_out(
    facet: str, wanted: str, shown: str, apart: bool | None
) -> None:
    said = list(direct_statements(article("Thing", (), **{facet: wanted}), article("Thing", (), **{facet: shown})))
    assert [statement.tells_apart for statement in said] == ([] if apart is None else [apart])


def test_a_word_of_the_title_is_never_denied() -> None:
    blue = article("Blue & White Shirt", colour="blue")
    assert excludes_word(blue, "colour", "black") and not excludes_word(blue, "colour", "white")


def test_what_is_known_to_be_missing_can_be_denied() -> None:
    bare, belted = article(lacks=(("detail", "belt"),)), article(detail="belt")
    assert [s.phrases for s in negation_statements(bare, belted)] == [("has no belt", "does not have a belt")]
    assert [s.tells_apart for s in direct_statements(belted, bare)] == [True]


def test_comparisons_follow_the_order_of_the_words() -> None:
    short = article(sleeves="short sleeves", usage="sporty")
    long = article(sleeves="three-quarter sleeves", usage="formal")
    assert [(s.facet, s.word) for s in comparison_statements(long, short)] == [("sleeves", "more"), ("usage", "more")]
    assert [(s.facet, s.word) for s in comparison_statements(short, long)] == [("sleeves", "less"), ("usage", "less")]
    assert not list(comparison_statements(short, short))


def test_colours_are_compared_only_on_equal_patterns() -> None:
    """White stripes make a black shirt lighter than a brown one."""
    black, brown = article(colour="black", pattern="striped"), article(colour="brown", pattern="plain")
    assert [s.facet for s in comparison_statements(black, brown)] == ["pattern"]
    plain = article(colour="black", pattern="plain")
    assert [s.phrases[0] for s in comparison_statements(plain, brown)] == ["is darker"]


def test_colours_that_are_nearly_as_light_are_not_compared() -> None:
    assert not list(comparison_statements(article(colour="red"), article(colour="blue")))  # 0.42 and 0.42
    assert [s.word for s in comparison_statements(article(colour="grey"), article(colour="black"))] == [
        "more"
    ]  # 0.55 and 0.05


def test_what_stays_is_said_with_still() -> None:
    one, other = article(colour="red", detail="hood"), article(colour="red", detail="hood")
    said = {statement.word: statement.phrases for statement in shared_statements(one, other)}
    assert "is still red" in said["red"] and said["hood"] == ("still has a hood",)


@pytest.mark.parametrize(
    ("facet", "word", "phrase"),
    [
        ("kind", "dress", "is a dress"),
        ("kind", "casual shoes", "is a pair of casual shoes"),
        ("fabric", "denim", "is made of denim"),
        ("fabric", "knitted", "is knitted"),
        ("cut", "aviator", "has an aviator shape"),
        ("audience", "women", "is for women"),
        ("sleeves", "sleeveless", "is sleeveless"),
    ],
)
def test_words_are_put_into_sentences(facet: str, word: str, phrase: str) -> None:
    assert phrase in phrases_of(facet, word)


@given(st.integers(1, 400), st.integers(1, 400))
def test_statements_about_drawn_articles_hold(one: int, other: int) -> None:
    """All is known of them, so that what tells apart can be checked on the bare words."""
    target, reference = sample_item(seed=2, number=one), sample_item(seed=2, number=other)
    for statement in direct_statements(target, reference):
        word = (statement.facet, statement.word)
        assert word in target.words and word not in reference.words
    for statement in negation_statements(target, reference):
        word = (statement.facet, statement.word)
        assert word in reference.words and word not in target.words
    opposite = {"more": "less", "less": "more"}
    mirrored = {(s.facet, opposite[s.word], s.phrases) for s in comparison_statements(reference, target)}
    assert {(s.facet, s.word) for s in comparison_statements(target, reference)} == {(f, w) for f, w, _ in mirrored}


def test_drawn_articles_of_a_kind_with_other_looks_are_told_apart() -> None:
    rng = random.Random(0)
    items = [sample_item(seed=3, number=number) for number in range(1, 200)]
    for _ in range(300):
        one, other = rng.sample(items, 2)
        looks = [{w for w in item.words if w[0] in RANGES[item.kind].facets} for item in (one, other)]
        if one.kind == other.kind and looks[0] != looks[1]:
            assert tell_apart(one, other) and tell_apart(other, one)
