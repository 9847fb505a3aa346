from __future__ import annotations

import pytest

from viewfinder.wording.phrases import PhraseIndex
from viewfinder.wording.stems import stem, stems


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("shirt", "Shirts"),
        ("dress", "dresses"),
        ("running", "runs"),
        ("ran", "running"),
        ("swimming", "swims"),
        ("puppies", "puppy"),
        ("color", "colours"),
        ("gray", "grey"),
        ("woman", "women"),
        ("riding", "rides"),
        ("striped", "stripes"),
        ("T-Shirt", "tshirts"),
        ("watch", "watches"),
        ("sitting", "sits"),
    ],
)
def test_inflections_of_one_word_meet(one: str, other: str) -> None:
    assert stems(one) == stems(other)


@pytest.mark.parametrize(
    ("one", "other"), [("red", "reed"), ("glass", "glas"), ("bus", "bu"), ("ring", "r"), ("bed", "b")]
)
def test_different_words_stay_different(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_a_word_inside_another_was_not_said() -> None:
    said = PhraseIndex(["a bored carpenter"])
    assert not said.contains("red")
    assert not said.contains("car")


def test_a_phrase_is_said_only_in_its_order_and_within_one_text() -> None:
    assert PhraseIndex(["navy-blue shoes"]).contains("Navy Blue")
    assert not PhraseIndex(["blue navy"]).contains("Navy Blue")
    assert not PhraseIndex(["the navy", "blue shoes"]).contains("Navy Blue")


@pytest.mark.parametrize("phrase", ["no", "Yes", "None", "M", "12", "", "-", "the"])
def test_values_that_mean_too_many_things_are_never_taken_as_said(phrase: str) -> None:
    assert not PhraseIndex(["no, yes, none of the 12 in M - the the"]).contains(phrase)


def test_years_and_other_languages_count() -> None:
    said = PhraseIndex(["ein roter Hund von 2011, größe egal"])
    assert said.contains("2011")
    assert said.contains("Hund")
    assert said.contains("Größe")
