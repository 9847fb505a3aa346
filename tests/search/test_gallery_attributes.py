"""What a predictor sees in pictures: computed once for all, then looked up."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from jaxtyping import Float, Int

from viewfinder.errors import LibraryError
from viewfinder.query import Reads
from viewfinder.search.gallery import Gallery
from viewfinder.search.picture_reading import predict_attributes, read_image, read_picture
from viewfinder.testing import ColourEncoder, TinyRaw, draw_halves, tiny_snapshot

LOOKS = [("red", "blue"), ("green", "white"), ("black", "blue")]


@dataclass
class Channels:
    """Labels that hold as far as the first numbers of a raw vector say so: how red, green and blue the top is."""

    labels: tuple[str, ...] = ("reddish", "greenish", "bluish")
    fingerprint: str = "channels"
    asked: list[int] = field(default_factory=list)

    def scores(self, raw_ng: Float[np.ndarray, "n g"]) -> Float[np.ndarray, "n k"]:
        self.asked.append(len(raw_ng))
        return raw_ng[:, :3] + 0.5

    def top(self, raw_ng: Float[np.ndarray, "n g"], count: int) -> Int[np.ndarray, "n c"]:
        return np.argsort(-raw_ng[:, :3], axis=1, kind="stable")[:, :count]


def gallery() -> Gallery:
    return Gallery(tiny_snapshot(LOOKS), ColourEncoder(), TinyRaw(LOOKS, batch=2))


def test_the_likeliest_attributes_come_first_with_their_chances() -> None:
    first, second = predict_attributes(gallery(), [0, 1], Channels(), 2)
    raw_2g = ColourEncoder().pictures([draw_halves(*look) for look in LOOKS[:2]]).global_bd
    assert list(first) == ["reddish", "greenish"]
    assert first["reddish"] == pytest.approx(raw_2g[0, 0] + 0.5)
    assert next(iter(second)) == "greenish"
    assert second["greenish"] == pytest.approx(raw_2g[1, 1] + 0.5)


def test_all_pictures_are_looked_at_once_and_then_never_again() -> None:
    seen, predictor = gallery(), Channels()
    predict_attributes(seen, [2], predictor)
    assert predictor.asked == [2, 1]
    predict_attributes(seen, [0, 1], predictor)
    assert predictor.asked == [2, 1]


def test_another_predictor_is_another_answer() -> None:
    seen = gallery()
    assert list(predict_attributes(seen, [0], Channels(), 1)[0]) == ["reddish"]
    other = Channels(labels=("a", "b", "c"), fingerprint="other")
    assert list(predict_attributes(seen, [0], other, 1)[0]) == ["a"]


def test_more_than_there_are_labels_is_all_of_them() -> None:
    assert sorted(predict_attributes(gallery(), [0], Channels(), 8)[0]) == ["bluish", "greenish", "reddish"]


def test_a_picture_brings_what_is_seen_in_it_and_so_does_an_own_image() -> None:
    reads = Reads(predictor=Channels(), count=2)
    assert read_picture(gallery(), "p001", reads).predicted[0] == "greenish"
    assert read_image(gallery(), draw_halves("green", "white"), reads).predicted[0] == "greenish"
    assert read_picture(gallery(), "p001").predicted == ()


def test_a_gallery_without_pictures_has_nothing_to_look_at() -> None:
    empty = Gallery(tiny_snapshot([]), ColourEncoder(), TinyRaw([]))
    assert predict_attributes(empty, [], Channels()) == []


def test_without_raw_vectors_it_is_said_that_there_are_none() -> None:
    with pytest.raises(LibraryError, match="predicted from raw vectors, and of these pictures there are none"):
        predict_attributes(Gallery(tiny_snapshot(LOOKS), ColourEncoder()), [0], Channels())
