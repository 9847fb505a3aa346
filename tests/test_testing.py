"""The fakes that ship with the package are real encoders, and their pictures can be told apart."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from viewfinder.encoders.base import REGIONS, Encoder
from viewfinder.testing import COLOURS, ColourEncoder, TinyRaw, draw_halves, load_colour_encoder, tiny_pictures


def test_the_colour_encoder_is_an_encoder() -> None:
    assert isinstance(ColourEncoder(), Encoder)


def test_words_and_pictures_of_a_colour_point_the_same_way() -> None:
    encoder = ColourEncoder()
    pictures_nd = encoder.project(encoder.pictures([draw_halves(name, name) for name in COLOURS]).global_bd)
    likeness_mn = encoder.words(list(COLOURS)) @ pictures_nd.T
    assert likeness_mn.argmax(axis=1).tolist() == list(range(len(COLOURS)))
    assert np.allclose(np.diag(likeness_mn), 1, atol=1e-5)


def test_over_says_which_colour_is_on_top() -> None:
    encoder = ColourEncoder()
    pictures_nd = encoder.project(encoder.pictures([draw_halves("red", "blue"), draw_halves("blue", "red")]).global_bd)
    likeness_n = pictures_nd @ encoder.words(["red over blue"])[0]
    assert likeness_n[0] == pytest.approx(1, abs=1e-5)
    assert likeness_n[1] < 0.9


def test_texts_without_a_colour_have_unit_vectors_too() -> None:
    vectors_nd = ColourEncoder().words(["a dog", "a cat", "", "a dog"])
    assert np.allclose(np.linalg.norm(vectors_nd, axis=1), 1, atol=1e-5)
    assert np.array_equal(vectors_nd[0], vectors_nd[3])
    assert not np.allclose(vectors_nd[0], vectors_nd[1])


def test_regions_are_36_mean_colours() -> None:
    regions_brd = ColourEncoder().pictures([draw_halves("white", "black", size=(60, 30))], regions=True).regions_brd
    assert regions_brd is not None
    assert regions_brd.shape == (1, REGIONS, 3)
    assert regions_brd[0, 0, 0] > 0.4 > -0.4 > regions_brd[0, -1, 0]


def test_other_channel_weights_are_another_space(tmp_path: Path) -> None:
    (tmp_path / "head.json").write_text("[1, 0.5, 0]", encoding="utf-8")
    tuned = load_colour_encoder("colours", head_file=tmp_path / "head.json")
    assert tuned.version != ColourEncoder().version
    assert tuned.raw_version == ColourEncoder().raw_version


def test_tiny_pictures_are_all_different_and_always_the_same(tmp_path: Path) -> None:
    first, second = tiny_pictures(tmp_path / "a", 150), tiny_pictures(tmp_path / "b", 150)
    hashes = [hashlib.sha256(picture.path.read_bytes()).hexdigest() for picture in first]
    assert len(set(hashes)) == 150
    assert [hashlib.sha256(picture.path.read_bytes()).hexdigest() for picture in second] == hashes
    with Image.open(first[5].path) as picture:
        assert picture.getpixel((12, 2)) == COLOURS[first[5].top]
        assert picture.getpixel((12, 14)) == COLOURS[first[5].bottom]


def test_tiny_raw_vectors_are_those_the_encoder_gives_in_any_order_of_pictures() -> None:
    looks = [("red", "blue"), ("white", "black"), ("green", "red")]
    raw = TinyRaw(looks, without=frozenset({"p002"}), batch=2)
    batches = list(raw.batches(["p001", "p002", "p000"], regions=True))
    seen = ColourEncoder().pictures([draw_halves(*looks[1]), draw_halves(*looks[0])], regions=True)
    assert [len(global_bg) for global_bg, _ in batches] == raw.reads == [2, 1]
    regions_nre = np.concatenate([regions_bre for _, regions_bre in batches if regions_bre is not None])
    assert seen.regions_brd is not None
    np.testing.assert_allclose(regions_nre[[0, 2]], seen.regions_brd, atol=1e-3)
    assert not regions_nre[1].any()
    assert next(iter(raw.batches(["p000"], regions=False)))[1] is None
