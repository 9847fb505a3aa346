"""What is typed in a conversation, in the words of a description."""

from __future__ import annotations

import pytest

from viewfinder.wording.spoken import find_self_correction, recount, write_apostrophes, write_as_described, write_out

PLAIN = [
    "a dog and its tail", "a dog with no collar", "two dogs, one is black", "a man is about to swing while others wait",
    "a group of people sit and wait", "close up of a bunch of bananas", "a man puts a hat on", "a sign that says no",
    "the headboard is actually two small headboards", "a woman replaces a light bulb", "a boy with too many balls",
    "people change trains", "no people", "a sorry dog", "a perfect lawn but no trees", "its owner throws a ball",
    "this is a photo of a dog", "a yes sign", "nothing but snow", "add", "now", "a dog or cat", "this is all snow",
    "they are all wearing hats", "these are two dogs", "only two people", 'a sign that says "no, wait, stop"',
    "what is there to see", "a boy makes a face", "hi, i'm looking for a photo of a dog, sorry for the trouble",
]  # fmt: skip
"""Descriptions that look a little like what is said in a conversation."""


@pytest.mark.parametrize("text", PLAIN)
def test_a_description_stays_as_it_is(text: str) -> None:
    assert write_as_described(text) == text
    assert recount(text) == text


@pytest.mark.parametrize(
    ("text", "spelt"),
    [
        ("its not a dog", "it's not a dog"), ("its black", "it's black"), ("no its in a room", "no it's in a room"),
        ("thats a cat", "that's a cat"), ("i dont want people", "i don't want people"),
        ("theyre wrong", "they're wrong"),
        ("Its a dog. Theres a cat", "It's a dog. There's a cat"), ("im sure it wasnt red", "i'm sure it wasn't red"),
        ("a cow its a donkey", "a cow it's a donkey"),
    ],
)  # fmt: skip
def test_short_forms_get_their_apostrophes(text: str, spelt: str) -> None:
    assert write_apostrophes(text).lower() == spelt.lower()


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ("perfect but darker", "darker"), ("almost, in the snow", "in the snow"),
        ("close, but with a hat", "with a hat"),
        ("nearly, it had two dogs", "it had two dogs"), ("good, now with a ball", "with a ball"),
        ("ok now a red ball", "a red ball"), ("yes on grass", "on grass"), ("yeah it was black", "it was black"),
        ("yes balloons", "balloons"),
    ],
)  # fmt: skip
def test_what_agrees_is_none_of_what_is_missing(text: str, described: str) -> None:
    assert write_as_described(text) == described


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ("add a person", "with a person"), ("please include some snow", "with some snow"), ("plus a kid", "with a kid"),
        ("keep the beard", "with the beard"), ("bring back the dog", "with the dog"),
        ("replace the pool with a lake", "a lake, not pool"), ("swap the dog for a cat", "a cat, not dog"),
        ("can you change the pool to a lake", "a lake, not pool"), ("turn the dog into a cat!", "a cat, not dog"),
        ("change night to day", "day, not night"),
    ],
)  # fmt: skip
def test_an_order_to_change_the_picture_says_what_is_in_it(text: str, described: str) -> None:
    assert write_as_described(text) == described


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ("these are all women, i want a man", "a man, not women"), ("thats a cat i want a dog", "a dog, not a cat"),
        ("that's not a dog, I want a dog", "a dog"), ("those are all cats", "not cats"),
        ("not a hat a cap", "not a hat, a cap"),
        ("the mother wasnt there", "without the mother"), ("is it crying?", "crying?"),
        ("not a crowd just 2", "not a crowd, just 2"),
        ("why are there so many cars?", "not cars"),
        ("too many people", "not so many people"),
        ("it's too big", "not so big"), ("fewer people", "not so many people"), ("less snow", "not so much snow"),
    ],
)  # fmt: skip
def test_a_complaint_about_what_is_shown_says_what_is_not_wanted(text: str, described: str) -> None:
    assert write_as_described(text) == described


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ("a beach? or a lake", "a beach or a lake"), ("a dog or was it a cat", "a dog or a cat"),
        ("there might be a ball", "a ball"), ("could've been a car", "a car"), ("could be the beach", "the beach"),
        ("there was also a cat", "a cat"), ("and it could have been in a park", "in a park"),
    ],
)  # fmt: skip
def test_who_is_not_sure_names_what_there_may_be(text: str, described: str) -> None:
    assert write_as_described(text) == described


@pytest.mark.parametrize(
    ("text", "said", "meant"),
    [
        ("a dog, no wait, a cat on a sofa", "a dog", "a cat on a sofa"), ("a dog wait no a cat", "a dog", "a cat"),
        ("a red sorry blue car", "a red", "blue car"), ("a man i mean a woman", "a man", "a woman"),
        ("kids, actually adults", "kids", "adults"), ("a sofa - no, a bed", "a sofa", "a bed"),
        ("a dog no a cat", "a dog", "a cat"), ("a cow... sorry, I meant a horse", "a cow", "a horse"),
        ("in blue, scratch that, red", "in blue", "red"), ("a dog or rather a wolf", "a dog", "a wolf"),
    ],
)  # fmt: skip
def test_a_correction_within_a_sentence_is_found(text: str, said: str, meant: str) -> None:
    found = find_self_correction(text)
    assert found is not None
    assert (found.said, found.meant) == (said, meant)


@pytest.mark.parametrize(
    "text",
    [*PLAIN[:-1], "no, sorry, a cat", "no wait, two of them", "a dog, sorry", "sorry, no, thanks", "not a dog, a cat"],
)
def test_nothing_is_corrected_where_nothing_was_said_before(text: str) -> None:
    assert find_self_correction(text) is None


def test_words_may_be_signed_as_for_a_search_engine() -> None:
    assert write_as_described("cat -dog +bed") == "cat no dog bed"
    assert write_as_described("a man - a woman") == "a man - a woman"
    assert write_as_described("a well-known man in a t-shirt") == "a well-known man in a t-shirt"


def test_short_words_are_written_out() -> None:
    assert write_out("a man w/o a hat, W/ ppl") == "a man without a hat, with people"
    assert write_out("24/7 snow w/e, thrush") == "24/7 snow w/e, thrush"


def test_a_number_that_is_corrected_at_once_does_not_count() -> None:
    assert recount("two no three kids") == "three kids"
    assert recount("2, no, 3 dogs") == "3 dogs"
