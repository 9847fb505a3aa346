"""What a turn refers to, looked up (what comes of it is tested through sessions)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from jaxtyping import Float32
from PIL import Image

from viewfinder.conversation import BackTo, Conversation, Keep, Like, Reject, Say, Show
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.query import Picture, RawPictures, Reads, RegionSpace
from viewfinder.search.gallery import Gallery
from viewfinder.search.picture_reading import read_picture
from viewfinder.session.resolve import ShownPictures, resolve_turn
from viewfinder.testing import ColourEncoder, TinyRaw, draw_halves, tiny_snapshot


def test_a_turn_brings_words_of_the_head_and_sentences_that_no_head_has_touched() -> None:
    tuned = ColourEncoder(channels=(1.0, 0.5, 0.0))
    conversation = Conversation().then(Say("red over blue"))
    turn = resolve_turn(
        conversation, conversation.here, Gallery(tiny_snapshot([("red", "blue")], encoder=tuned), tuned)
    )
    assert turn.sentences is not None
    assert turn.sentences.version == tuned.sentences_version
    np.testing.assert_array_equal(turn.sentences.encode(["red"]), ColourEncoder().words(["red"]))
    assert not np.allclose(turn.words(["red"]), ColourEncoder().words(["red"]))


def test_what_was_shown_is_looked_up_when_it_is_wanted_and_what_has_gone_is_left_out() -> None:
    gallery = Gallery(tiny_snapshot([("red", "blue"), ("green", "blue")]), ColourEncoder())
    shown = ShownPictures(["p001", "gone", "p000"], gallery)
    assert [picture.id for picture in shown] == ["p001", "p000"]
    assert [picture.id for picture in shown[1:]] == ["p000"]
    np.testing.assert_array_equal(shown[0].vectors["global"], gallery.snapshot.matrix_nd[1])


def test_what_is_kept_is_that_of_the_pictures_which_are_still_here() -> None:
    gallery = Gallery(tiny_snapshot([("red", "blue"), ("green", "blue")]), ColourEncoder())
    shown = Conversation().then(Say("red")).recorded(shown=("gone", "p000", "p001"), asked=None)
    conversation = shown.then(Keep("colour", 1))
    turn = resolve_turn(conversation, conversation.here, gallery)
    assert [picture.id for picture in turn.pictures] == ["p000", "p001"]
    conversation = shown.then(Like("gone")).then(Keep("colour", 2))
    with pytest.raises(BadInput, match="nothing was on the screen after turn 2 that is still here"):
        resolve_turn(conversation, conversation.here, gallery)


def first_numbers(raw: RawPictures) -> Float32[np.ndarray, "n 1 d"]:
    return np.asarray(raw.whole_ng[:, None, :3], np.float32)


LOOKS = [("red", "blue"), ("green", "blue"), ("blue", "red")]
OWN = RegionSpace("own", ColourEncoder.raw_version, first_numbers, regions=1, width=3, reads_regions=False)
GALLERY = Gallery(tiny_snapshot(LOOKS), ColourEncoder(), TinyRaw(LOOKS))


def test_pictures_come_with_their_vectors_in_the_space_of_a_retriever_that_reads_those() -> None:
    conversation = Conversation().then(Say("red")).recorded(shown=("p001", "p002"), asked=None)
    for turn in (Like("p002"), Reject(("p002",)), Keep("colour", 1)):
        later = conversation.then(Like("p002")).then(turn)
        resolved = resolve_turn(later, later.here, GALLERY, reads=Reads(OWN, "own"))
        expected_g = (
            ColourEncoder().pictures([draw_halves(*LOOKS[int((resolved.pictures[0].id or "")[1:])])]).global_bd[0]
        )
        np.testing.assert_allclose(resolved.pictures[0].vectors["own"], expected_g[None, :3], atol=1e-6)
    picked = conversation.then(Say("more"))
    shown = resolve_turn(picked, picked.here, GALLERY, reads=Reads(OWN, "own")).shown
    assert [picture.vectors["own"].shape for picture in shown] == [(1, 3), (1, 3)]
    assert "own" not in resolve_turn(picked, picked.here, GALLERY).shown[0].vectors


def test_an_own_image_has_the_vector_of_the_same_picture_in_the_library(tmp_path: Path) -> None:
    file = tmp_path / "mine.png"
    Image.fromarray(draw_halves(*LOOKS[1])).save(file)
    conversation = Conversation().then(Show(str(file)))
    shown = resolve_turn(conversation, conversation.here, GALLERY, reads=Reads(OWN, "own")).pictures[0]
    np.testing.assert_allclose(
        shown.vectors["own"], read_picture(GALLERY, "p001", Reads(OWN, "own")).vectors["own"], atol=1e-6
    )
    with pytest.raises(EncoderMismatch, match="own was trained on another, and these pictures have"):
        resolve_turn(conversation, conversation.here, GALLERY, reads=Reads(replace(OWN, raw_version="another"), "own"))


def test_the_pictures_of_earlier_turns_are_given_by_number_the_one_picked_or_else_the_top_of_the_screen() -> None:
    conversation = Conversation().then(Say("red")).recorded(shown=("p001", "gone", "p002"), asked=None)
    conversation = conversation.then(Like("p002")).then(Reject(("p001",))).then(BackTo(2)).then(Like("p000", "redder"))
    earlier = resolve_turn(conversation, conversation.here, GALLERY).earlier
    found = {number: tuple(picture.id for picture in earlier(number)) for number in range(-1, 9)}
    picked = {1: ("p001", "p002"), 2: ("p002",), 4: ("p002",)}  # 4 only went back to 2; nothing was shown after 3
    assert found == {number: picked.get(number, ()) for number in found}


def test_earlier_pictures_come_as_the_retriever_reads_them_and_an_own_image_is_read_again(tmp_path: Path) -> None:
    Image.fromarray(draw_halves(*LOOKS[1])).save(tmp_path / "mine.png")
    conversation = Conversation().then(Show("mine.png")).then(Like("p000")).then(Say("the first one, but red"))
    resolved = resolve_turn(conversation, conversation.here, GALLERY, lambda ref: tmp_path / ref, Reads(OWN, "own"))
    for number, row in ((1, 1), (2, 0)):
        [picture] = resolved.earlier(number)
        expected = read_picture(GALLERY, f"p{row:03}", Reads(OWN, "own")).vectors["own"]
        np.testing.assert_allclose(picture.vectors["own"], expected, atol=1e-6)


def test_earlier_pictures_cost_nothing_until_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def noted(gallery: Gallery, picture: str, reads: Reads) -> Picture:
        asked.append(picture)
        return read_picture(gallery, picture, reads)

    monkeypatch.setattr("viewfinder.session.resolve.read_picture", noted)
    conversation = Conversation().then(Like("p000")).then(Like("p001")).then(Say("redder"))
    resolved = resolve_turn(conversation, conversation.here, GALLERY)
    assert asked == []
    resolved.earlier(1)
    assert asked == ["p000"]
