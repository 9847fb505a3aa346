"""The oracle on articles of a catalogue."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.conversation import Question
from viewfinder.data.truth import PictureTruth
from viewfinder.users import Oracle
from viewfinder.users.goods import CatalogueVocabulary, attribute_head
from viewfinder.wording.phrases import contains_phrase


def ask(wanted: PictureTruth, *others: PictureTruth, text: str) -> str:
    return Oracle({truth.image: truth for truth in (wanted, *others)}).answer(Question(text), wanted.image)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What colour is it?", "navy blue"),
        ("Is it blue?", "yes"),
        ("Is it red?", "no"),
        ("Is it red or blue?", "blue"),
        ("What is it?", "a dress"),
        ("Is it a dress?", "yes"),
        ("Is it a shirt?", "no"),
        ("Is it made for women?", "yes"),
        ("Is it for a woman or for a man?", "woman"),
        ("Who is it for?", "women"),
        ("What kind of sleeves does it have?", "long sleeves"),
        ("Does it have short sleeves?", "no"),
        ("What's it made of?", "cotton"),
        ("What pattern does it have?", "striped"),
        ("Does it have a belt?", "yes"),
    ],
)
def test_a_dress(dress: PictureTruth, shirt: PictureTruth, question: str, answer: str) -> None:
    assert ask(dress, shirt, text=question) in {answer, "women" if answer == "woman" else answer}


@pytest.mark.parametrize(
    "question", ["What brand is it?", "Does it have a hood?", "Is it cheap?", "Is it warm?", "How much is it?", ""]
)
def test_what_the_catalogue_does_not_hold_is_not_known(dress: PictureTruth, question: str) -> None:
    assert ask(dress, text=question) == "don't know"


def test_values_that_rule_nothing_out_do_not(dress: PictureTruth, shirt: PictureTruth) -> None:
    assert ask(shirt, dress, text="Is it for women?") == "yes"  # it is unisex
    assert ask(shirt, dress, text="Is it striped?") == "don't know"  # it is printed; perhaps with stripes
    assert ask(dress, shirt, text="Is it printed?") == "no"


def test_a_word_of_the_name_is_no_proof_and_no_denial(shirt: PictureTruth, dress: PictureTruth) -> None:
    green = PictureTruth("g.jpg", category="Shirts", attributes={"colour": ("green",)})
    assert ask(shirt, dress, green, text="Is it green?") == "don't know"  # "Green Day Shirt"


def test_the_five_types_do_not_pass_for_facets(dress: PictureTruth) -> None:
    plain = PictureTruth("p.jpg", attributes={"texture": ("red",), "colour": ("red",), "kind": ("dress",)})
    assert ask(plain, dress, text="What pattern does it have?") == "don't know"


def test_types_alone_are_answered_from_too() -> None:
    truth = PictureTruth("a.jpg", attributes={"texture": ("floral",), "part": ("v-neck", "long sleeves")})
    assert ask(truth, text="What texture is it?") == "floral"
    assert ask(truth, text="What kind of sleeves does it have?") == "long sleeves"
    assert ask(truth, text="Is it floral?") == "yes"


def test_a_shelf_knows_what_excludes_what() -> None:
    truths = [
        PictureTruth("1", attributes={"baseColour": ("Red",), "tags": ("new", "warm")}),
        PictureTruth("2", attributes={"baseColour": ("Blue",), "tags": ("new",)}),
    ]
    shelf = CatalogueVocabulary.of(truths)
    assert shelf.exclusive == {"baseColour"}  # no picture has two of it
    assert shelf.rules_out("baseColour", "red", "blue") and not shelf.rules_out("tags", "new", "warm")
    assert not shelf.rules_out("baseColour", "navy blue", "blue")
    assert attribute_head("baseColour") == "colour"


COLOUR = st.sampled_from(["red", "blue", "navy blue", "green", "grey"])


@given(COLOUR, COLOUR)
@settings(deadline=None)
def test_yes_is_what_the_value_names_and_no_is_never_said_of_a_shade(own: str, asked: str) -> None:
    known = {"red", "blue", "navy blue", "green", own}
    oracle = Oracle({colour: PictureTruth(colour, attributes={"colour": (colour,)}) for colour in known})
    told = oracle.answer(Question(f"Is it {asked}?"), own)
    if contains_phrase(own, asked):
        assert told == "yes"
    elif contains_phrase(asked, own) or asked not in known:
        assert told == "don't know"  # blue may be navy blue; and nothing here is grey
    else:
        assert told == "no"
