"""Words that the encoder does not know: other languages are told from pictures that are not here."""

from __future__ import annotations

import csv
import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.encoders import load_encoder
from viewfinder.library import Library
from viewfinder.search.verdicts import find_unheard
from viewfinder.testing import tiny_pictures

FLICKR = Path(__file__).resolve().parents[3] / "shared" / "data" / "flickr8k" / "captions.csv"

OTHER_LANGUAGES = (
    "ein Hund im Schnee", "zwei Kinder am Strand", "rote Katze", "un chien dans la neige", "deux enfants sur la plage",
    "dos perros en la nieve", "una mujer con sombrero", "een hond in de sneeuw", "un cane nella neve",
    "dois homens numa praia", "pies na śniegu", "собака в снегу", "雪の中の犬", "كلب في الثلج",
)  # fmt: skip


@cache
def known() -> dict[str, float]:
    """The words of the captions that the included encoder learnt from."""
    calibration = load_encoder("starter").calibration
    assert calibration is not None
    return dict(calibration.familiar)


@pytest.mark.parametrize("text", OTHER_LANGUAGES)
def test_a_text_in_another_language_is_unheard_of(text: str) -> None:
    assert find_unheard(known(), text)


@pytest.mark.data
def test_hardly_any_english_description_is_unheard_of() -> None:
    if not FLICKR.is_file():
        pytest.skip("../shared/data/flickr8k is not there")
    with FLICKR.open(encoding="utf-8", newline="") as stream:
        captions = [row["caption"] for row in csv.DictReader(stream)]
    draw = random.Random(5)
    fragments = [
        " ".join(words[at : at + 3]) for words in map(str.split, captions) for at in [draw.randrange(len(words))]
    ]
    assert np.mean([bool(find_unheard(known(), caption)) for caption in captions]) < 0.003
    assert np.mean([bool(find_unheard(known(), fragment)) for fragment in fragments]) < 0.03


@given(st.text(), st.sets(st.sampled_from(["dog", "snow", "red"])))
def test_unheard_words_are_words_of_the_text_and_at_least_half_of_those_that_count(text: str, heard: set[str]) -> None:
    unheard = find_unheard(dict.fromkeys(heard, -1.0), text)
    assert all(word in text for word in unheard)
    assert len(set(unheard)) == len(unheard)
    assert find_unheard(dict.fromkeys(heard, -1.0), "the dog in a red red coat") == (
        () if heard & {"dog", "red"} == {"dog", "red"} else tuple(w for w in ("dog", "red", "coat") if w not in heard)
    )


def test_only_where_nothing_is_found_is_it_said_and_only_of_the_last_words(tmp_path: Path) -> None:
    tiny_pictures(tmp_path / "pictures", 24)
    library = Library.open(tmp_path / "library")
    library.add(tmp_path / "pictures", workers=1)
    hits = library.find("eine Laute mit Zither")
    assert (hits.verdict, hits.unheard) == ("nothing", ("eine", "Laute", "mit", "Zither"))
    assert hits.to_json()["unheard"] == ["eine", "Laute", "mit", "Zither"]
    chat = library.chat(questioner=None)
    assert chat.say("ein Zebra auf der Wiese").unheard
    assert chat.say("people on a beach").unheard == ()
    assert library.find("red").unheard == ()
    assert "unheard" not in library.find("red").to_json()
