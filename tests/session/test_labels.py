"""Who tells the labels of photographs: the network, the encoder's own words, or by facet whoever tells more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pseudo_clip import PseudoClip, turn_texts

import viewfinder
from viewfinder.encoders.features import Features
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation.pictures import Pictures
from viewfinder.questioners.photographs import facets, label_columns, photograph_labels
from viewfinder.questioners.zero_shot import list_phrases
from viewfinder.search.gallery import Gallery
from viewfinder.search.raw_vectors import Companion
from viewfinder.session.evidence import KnownOfGallery
from viewfinder.session.labels import find_label_chances, find_label_sources, read_own_labels
from viewfinder.session.predicted import can_predict
from viewfinder.testing import ColourEncoder, tiny_snapshot

COUNT = 240
SEEN = {"a photo taken in the snow": "snow", "a photo taken on a beach": "beach", "a photo of a dog": "dog"}
CAPTIONS = {"snow": "a hill in the snow", "beach": "sand at a beach", "dog": "a dog"}


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    """Pictures that are near to one of three phrases, as the starter would see them."""
    drawn = np.random.default_rng(0)
    said_md = StarterEncoder().words([*SEEN])
    noise_nd = drawn.standard_normal((COUNT, said_md.shape[1])) / 16
    vectors_nd = 0.35 * np.resize(said_md, (COUNT, said_md.shape[1])) + noise_nd
    return np.asarray(vectors_nd / np.linalg.norm(vectors_nd, axis=1, keepdims=True), np.float32)


def gallery_of(vectors_nd: np.ndarray, *, captioned: bool = False, beside: bool = False) -> Gallery:
    """A gallery of the stand-in for CLIP, in which people may search by words, with what is beside it."""
    keys = tuple(f"{row:04}" for row in range(len(vectors_nd)))
    names = [*SEEN.values()]
    captions = {key: CAPTIONS[names[row % 3]] for row, key in enumerate(keys)} if captioned else {}
    made = Pictures(keys, PseudoClip.turn_pictures(vectors_nd), PseudoClip()).gallery(captions=captions)
    gallery = Gallery(made.snapshot, made.encoder, match_words=True)
    if beside:
        raw_nr = np.random.default_rng(1).random((len(keys), 2560)).astype(np.float32)
        gallery.companion = Companion(Features(keys, raw_nr, StarterEncoder.raw_version), StarterEncoder)
    return gallery


def column(name: str, label: str) -> int:
    facet = next(facet for facet in facets() if facet.name == name)
    return int(label_columns()[name].start) + facet.labels.index(label)


def test_an_encoder_alone_tells_labels_by_their_words(vectors: np.ndarray) -> None:
    gallery = gallery_of(vectors)
    chances_nl = KnownOfGallery(gallery).label_chances()
    assert chances_nl is not None and chances_nl.shape == (COUNT, len(list_phrases()))
    snow_n, dog_n = chances_nl[:, column("place", "in the snow")], chances_nl[:, column("animal", "a dog")]
    assert snow_n[::3].mean() > 0.3 and snow_n[1::3].mean() < 0.05
    assert dog_n[2::3].mean() > 0.3 and dog_n[::3].mean() < 0.2
    assert set(find_label_sources(gallery).values()) == {"encoder"}


def test_captions_teach_how_likely_labels_are(vectors: np.ndarray) -> None:
    untaught, taught = gallery_of(vectors), gallery_of(vectors, captioned=True)
    at = column("place", "in the snow")
    before_n, after_n = (find_label_chances(gallery)[:, at] for gallery in (untaught, taught))  # type: ignore[index]
    holds_n = np.arange(COUNT) % 3 == 0
    assert abs(after_n.mean() - holds_n.mean()) < 0.05, "as often as captions name it"
    assert after_n[holds_n].mean() > before_n[holds_n].mean()


def test_captions_that_must_not_be_looked_at_teach_nothing(vectors: np.ndarray) -> None:
    shown = gallery_of(vectors, captioned=True)
    hidden = Gallery(shown.snapshot, shown.encoder)
    plain = gallery_of(vectors)
    np.testing.assert_array_equal(find_label_chances(hidden), find_label_chances(plain))


def test_beside_the_starter_its_network_tells_until_captions_say_otherwise(vectors: np.ndarray) -> None:
    # The raw vectors are noise, so the network knows nothing of these pictures.
    alone, taught = gallery_of(vectors, beside=True), gallery_of(vectors, captioned=True, beside=True)
    assert can_predict(alone, photograph_labels()) and set(find_label_sources(alone).values()) == {"starter"}
    sources = find_label_sources(taught)
    assert sources["place"] == sources["animal"] == "encoder"
    joined_nl, known_nl = find_label_chances(taught), find_label_chances(alone)
    assert joined_nl is not None and known_nl is not None
    for name, source in sources.items():
        same = np.array_equal(joined_nl[:, label_columns()[name]], known_nl[:, label_columns()[name]])
        assert same == (source == "starter"), name
    assert set(read_own_labels(taught.snapshot)) == {name for name, source in sources.items() if source == "encoder"}


def test_the_starters_and_colours_labels_are_as_they_were() -> None:
    gallery = Gallery(tiny_snapshot([("red", "blue")]), ColourEncoder())
    assert find_label_chances(gallery) is None and find_label_sources(gallery) == {}
    assert read_own_labels(gallery.snapshot) == []


# -- from the command to the conversation


def draw_scenes(folder: Path, count: int) -> None:
    """Pictures that an encoder of photographs can tell apart: a sun over the sea, trees, a wall."""
    folder.mkdir()
    for number in range(count):
        y, x = np.mgrid[:180, :240]
        kind, drawn = number % 3, np.random.default_rng(number)
        ground = {0: (30, 90, 200), 1: (40, 140, 50), 2: (180, 90, 60)}[kind]
        pixels = np.empty((180, 240, 3), np.uint8)
        pixels[:90], pixels[90:] = (150 + 10 * (number % 9), 190, 235), ground
        if kind == 0:
            pixels[(x - 120 - number) ** 2 + (y - 60) ** 2 < 500] = (250, 220, 80)
        if kind == 1:
            for at in range(20, 240, 40):
                pixels[(np.abs(x - at) < 15 - np.abs(y - 80) // 6) & (y > 30)] = (20, 90, 30)
        if kind == 2:
            pixels[(y % 20 < 2) | ((x + 10 * (y // 20 % 2)) % 40 < 2)] = (220, 210, 200)
        noise = drawn.integers(0, 12, pixels.shape, dtype=np.uint8)
        Image.fromarray(np.clip(pixels.astype(int) + noise, 0, 255).astype(np.uint8)).save(folder / f"{number:03}.png")


def test_a_library_of_another_encoder_is_searched_judged_and_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw_scenes(tmp_path / "pictures", 36)
    with viewfinder.open(tmp_path / "clip.vf", encoder="pseudo_clip:PseudoClip") as library:
        library.add(tmp_path / "pictures", without_starter=True)
        assert library.status()["labels_by_encoder"] == [], "nothing was told yet, and status loads no encoder"
        chat = library.chat()
        found = chat.say("a brick wall")
        assert found[0].score > 0 and len(found) == 10
        assert sum(int(Path(hit.path).stem) % 3 == 2 for hit in found) >= 7
        assert library.find("an x-ray of a hand").verdict != "found"
        assert chat.like(found[0], "but green").verdict in ("found", "unsure", "nothing")
        said: Any = chat.answer("it is outdoors") if chat.question else chat.say("outdoors")
        assert len(said) == 10
        assert library.gallery().measures.scale.words > 2
        assert "who" in library.status()["labels_by_encoder"]
        read: list[int] = []

        def count_texts(_: PseudoClip, *texts: str) -> np.ndarray:
            read.append(len(texts))
            return turn_texts(StarterEncoder().words(texts))

        monkeypatch.setattr(PseudoClip, "_many", count_texts)
        draw_scenes(tmp_path / "more", 1)
        library.add(tmp_path / "more")
        assert library.chat().say("a green meadow").verdict in ("found", "unsure", "nothing")
        assert max(read, default=0) < 20, "sayings and phrases are not read again for another picture"
    turned_me = turn_texts(StarterEncoder().words(["a brick wall"]))
    np.testing.assert_allclose(PseudoClip().words(["a brick wall"]), turned_me, atol=1e-6)
