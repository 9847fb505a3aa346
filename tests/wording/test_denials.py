"""What a whole sentence denies, in one word."""

from __future__ import annotations

import pytest

from viewfinder.wording.clauses import Clauses, split_clauses
from viewfinder.wording.denials import write_denials


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("I don't want people in it", "without people in it"), ("i dont like stripes", "without stripes"),
        ("we don't really need any people", "without people"), ("it didn't have a collar", "without a collar"),
        ("a dog that doesn't have a collar", "a dog without a collar"), ("there wasn't a ball", "without a ball"),
        ("it shouldn't have stripes", "without stripes"), ("it wasn't red", "not red"),
        ("it should not be red", "not red"),
        ("he isn't wearing a hat", "not wearing a hat"), ("I didn't mean a cat", "not a cat"),
        ("anything but red", "not red"), ("any colour except red", "not red"),
        ("don't show me people", "without people"),
        ("remove the ball", "without the ball"), ("forget about the dog", "without the dog"),
        ("never mind the beach", "without the beach"), ("nothing with stripes", "without stripes"),
        ("with the beard but remove the glasses", "with the beard but without the glasses"),
        ("ditch the hat", "without the hat"),
        ("a man minus the hat", "a man without the hat"),
        ("i dont think they had collars", "without collars"), ("I doubt there were any people", "without people"),
        ("I don't think it was in the snow", "not in the snow"), ("i don't believe he was old", "not old"),
        ("no dogs, cats or horses", "no dogs, no cats, no horses"),
    ],
)  # fmt: skip
def test_a_denial_is_written_in_one_word(text: str, written: str) -> None:
    assert write_denials(text) == written


@pytest.mark.parametrize(
    "text",
    [
        "I don't want you to search long", "I don't need much", "I don't like how dark it is", "I don't want that one",
        "it doesn't have to be brown", "it's not important", "it isn't quite right", "that's not a dog",
        "you don't have a photo of a dog", "don't you have a dog", "I don't remember the colour", "hide and seek",
        "drop earrings", "nothing else", "no dogs, a cat or a horse", "I don't know if it was red",
        "I don't think so", "I don't think that matters", "I doubt it", "I don't think it was there",
        "a man removing a hat",
    ],
)  # fmt: skip
def test_what_rules_nothing_out_stays_as_it_is(text: str) -> None:
    assert write_denials(text) == text


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("a dog, and it doesn't have a collar", "a dog", ("collar",)), ("a cat instead of a dog", "a cat", ("dog",)),
        ("a cat rather than a dog", "a cat", ("dog",)), ("instead of a dog, a cat", "a cat", ("dog",)),
        ("he's not wearing a hat", "", ("wearing a hat",)), ("a dog that is not black", "a dog", ("black",)),
    ],
)  # fmt: skip
def test_nothing_is_left_of_a_sentence_that_only_denies(text: str, wanted: str, unwanted: tuple[str, ...]) -> None:
    assert split_clauses(text) == Clauses(wanted, unwanted)
