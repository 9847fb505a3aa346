"""How a turn is told to people."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from jaxtyping import Float, Int

from viewfinder.byte_cache import ByteCache
from viewfinder.cli.terminal import TurnPrinter
from viewfinder.conversation import Like, Show, describe_turn
from viewfinder.query import Reads
from viewfinder.retrievers import Composer
from viewfinder.search.gallery import Gallery
from viewfinder.session.session import Session
from viewfinder.testing import ColourEncoder, TinyRaw, tiny_snapshot

LOOKS = [("red", "blue"), ("green", "white"), ("black", "blue")]


class Same:
    """Sees its labels in every picture, in their order."""

    labels: tuple[str, ...] = ("silk", "long", "red")
    fingerprint: str = "same"

    def scores(self, raw_ng: Float[np.ndarray, "n g"]) -> Float[np.ndarray, "n k"]:
        return np.tile([0.9, 0.8, 0.7], (len(raw_ng), 1))

    def top(self, raw_ng: Float[np.ndarray, "n g"], count: int) -> Int[np.ndarray, "n c"]:
        return np.tile(np.arange(3)[:count], (len(raw_ng), 1))


class Reading(Composer):
    """The composer, with attributes that it could read."""

    reads: ClassVar[Reads] = Reads(predictor=Same(), count=2)


def told(turn: Like, composer: Composer, capsys: pytest.CaptureFixture[str]) -> str:
    """What is printed when a turn was taken."""
    gallery = Gallery(tiny_snapshot(LOOKS), ColourEncoder(), TinyRaw(LOOKS))
    session = Session(gallery, composer, None, memo=ByteCache())
    TurnPrinter().print_turn(session, session.take(turn))
    return capsys.readouterr().out


def test_what_was_read_of_a_picture_is_told_unless_the_user_said_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert "seen in it: silk, long\n" in told(Like("p001", "darker"), Reading(), capsys)
    assert "seen in it" not in told(Like("p001", "darker", attributes=("long",)), Reading(), capsys)
    assert "seen in it" not in told(Like("p001", "darker"), Composer(), capsys)


def test_attributes_that_are_not_read_are_noted(capsys: pytest.CaptureFixture[str]) -> None:
    assert "note: left out: the attributes in turn 1" in told(Like("p001", attributes=("long",)), Composer(), capsys)


def test_attributes_are_part_of_a_turn_in_words() -> None:
    liked = Like("q", "longer", 1, ("silk", "red"))
    assert describe_turn(liked, ("p", "q")) == 'like result 2 of turn 1 with silk, red but "longer"'
    assert describe_turn(Show("mine.png", attributes=())) == "show mine.png with no attributes"
    assert describe_turn(Like("p"), ("p",)) == "like result 1"
