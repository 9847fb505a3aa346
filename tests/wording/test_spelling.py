from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from viewfinder.wording.lexicon import is_english_word
from viewfinder.wording.spelling import Correction, correct_spelling, list_near_words
from viewfinder.wording.talk import is_talk

SHARES = {"dog": -0.8, "brown": -1.0, "bicycle": -1.5, "grass": -1.2, "dig": -3.0, "snow": -1.4}


def is_known(word: str) -> bool:
    """Whether a word is one of a few."""
    return word in SHARES or word in {"a", "on", "the", "sled", "in"}


def test_a_word_one_letter_away_is_read_as_the_word_that_is_said_of_pictures() -> None:
    said = correct_spelling("a borwn dgo on a bycicle in the snwo", is_known, SHARES.get)
    assert said[0] == "a brown dog on a bicycle in the snow"
    assert said[1] == (
        Correction("borwn", "brown"),
        Correction("dgo", "dog"),
        Correction("bycicle", "bicycle"),
        Correction("snwo", "snow"),
    )


def test_of_several_near_words_the_one_that_is_said_most_is_meant() -> None:
    shares = {"dogs": -0.8, "digs": -3.0}
    assert correct_spelling("dxgs", shares.__contains__, shares.get)[0] == "dogs"


def test_in_a_word_of_three_letters_they_are_swapped_but_never_replaced() -> None:
    for text in ("a hi vis vest", "dxg", "snw"):
        shares = {"vas": -2.0, "vest": -1.5, "a": -0.1, "hi": -2.0, **SHARES}
        assert correct_spelling(text, shares.__contains__, shares.get) == (text, ())
    assert correct_spelling("dgo", is_known, SHARES.get)[0] == "dog"


def test_names_of_kinds_of_files_are_no_misspelt_words() -> None:
    assert all(map(is_talk, ("png", "pngs", "gif", "gifs", "jpegs", "tiffs", "heic", "webp")))


def test_known_words_and_words_with_nothing_near_stay() -> None:
    for text in ("a sled", "Tokari WR-200", "dg", "x" * 50 + "dog"):
        assert correct_spelling(text, is_known, SHARES.get) == (text, ())


def test_english_is_known_in_both_spellings() -> None:
    assert all(map(is_english_word, ("colour", "color", "colored", "grey", "gray", "hiker", "sled")))
    assert not is_english_word("bycicle")


@given(st.text("abcdefgh", min_size=2, max_size=8), st.data())
def test_near_words_are_all_that_differ_by_one_letter_but_the_first(word: str, data: st.DataObject) -> None:
    near = set(list_near_words(word))
    at = data.draw(st.integers(1, len(word) - 1))
    letter = data.draw(st.sampled_from("abcxyz"))
    assert word[:at] + word[at + 1 :] in near
    assert word[:at] + letter + word[at + 1 :] in near
    assert word[:at] + letter + word[at:] in near
    assert letter + word in near
    assert word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :] in near
