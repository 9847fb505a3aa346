"""MAI without torch: the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from viewfinder.query import SentenceEncoder
from viewfinder.retrievers.mai import numpy_network
from viewfinder.retrievers.mai.inputs import POSITIONS, EmbeddedTexts
from viewfinder.retrievers.mai.network import MaiNetwork
from viewfinder.retrievers.mai.settings import Model
from viewfinder.retrievers.mai.texts import make_text_reader
from viewfinder.retrievers.shared.numpy_network import split_words
from viewfinder.testing import COLOURS, ColourEncoder, TinyRaw
from viewfinder.weights import Weights

ENCODER = ColourEncoder()
SENTENCES = SentenceEncoder(ENCODER.sentences_version, ENCODER.sentences)
LOOKS = [(top, bottom) for top in list(COLOURS)[:2] for bottom in list(COLOURS)[:3]]
CAPTIONS = ["red over blue", "", "green", "red over red", "the first", "white over black and so on over and over again"]
SMALL: dict[str, Any] = {"width": 8, "layers": 3, "heads": 2, "hidden": 12, "tokens": 4, "prompts": 2, "projection": 6}
SMALL |= {"components": 5, "region_components": 2, "most_words": 5, "word_width": 4}
SPRC: dict[str, Any] = {"stages": "sprc", "captions": False}

MODELS: dict[str, Model] = {
    "as lab": Model(**SMALL),
    "regions": Model(**SMALL, image="regions", words="learned"),
    "both": Model(**SMALL, image="both"),
    "all numbers": Model(**SMALL | {"components": 0, "region_components": 0}, image="both"),
    "one layer that looks": Model(**SMALL | {"cross_every": 3, "heads": 4}),
    "every layer looks, no captions": Model(**SMALL, cross_every=1, captions=False),
    "sprc": Model(**SMALL, **SPRC),
    "sprc, official targets": Model(**SMALL, **SPRC, targets="official"),
    "sprc with captions": Model(**SMALL, stages="sprc"),
}
each = pytest.mark.parametrize("name", MODELS)
Made = Callable[[Model], MaiNetwork]
Weighed = Callable[[MaiNetwork], Weights]


def raw() -> tuple[np.ndarray, np.ndarray]:
    """Raw vectors of pictures and their regions; one picture has none, one region is missing."""
    [(whole_ng, regions_nre)] = TinyRaw(LOOKS, batch=9).batches([f"p{at:03}" for at in range(len(LOOKS))], regions=True)
    assert regions_nre is not None
    whole_ng[2], regions_nre[2], regions_nre[3, 7] = 0, 0, 0
    return whole_ng, regions_nre


def numbered(network: MaiNetwork, texts: list[str], vocabulary: list[str]) -> torch.Tensor:
    """Texts by the numbers of their words, as the network in torch reads them."""
    most = network.settings.most_words
    known = [[vocabulary.index(word) + 1 for word in split_words(text) if word in vocabulary][:most] for text in texts]
    return torch.tensor([row + [0] * (most - len(row)) for row in known])


@each
@torch.no_grad()
def test_pictures_are_those_of_the_network(name: str, network_of: Made, weights_of: Weighed) -> None:
    network = network_of(MODELS[name])
    weights = weights_of(network)
    # The encoder knows words that training did not: both read the same here.
    captions = [" ".join(w for w in split_words(text) if w in weights.card.settings["vocabulary"]) for text in CAPTIONS]
    whole_ng, regions_nre = raw()
    expected_nkd = network.encode_pictures(
        network.images.components(whole_ng, regions_nre),
        numbered(network, captions, weights.card.settings["vocabulary"]),
    )
    reader = make_text_reader(weights, network.settings)
    read = [reader.read(text if network.settings.captions else "", SENTENCES)[0] for text in captions]
    seen = numpy_network.numpy_components(weights.arrays, network.settings, whole_ng, regions_nre)
    found_nkd = numpy_network.numpy_encode_pictures(weights.arrays, network.settings, seen, read)
    np.testing.assert_allclose(found_nkd, expected_nkd, atol=1e-5)


def test_pictures_that_are_read_together_are_as_each_alone(
    network_of: Made, weights_of: Weighed, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = MODELS["both"]
    arrays, reader = weights_of(network_of(model)).arrays, make_text_reader(weights_of(network_of(model)), model)
    whole_ng, regions_nre = raw()
    read = [reader.read(text, SENTENCES)[0] for text in CAPTIONS]
    one_by_one = [
        numpy_network.numpy_encode_pictures(
            arrays, model, numpy_network.numpy_components(arrays, model, whole_ng[[at]], regions_nre[[at]]), [read[at]]
        )[0]
        for at in range(len(LOOKS))
    ]
    for at_once in (1, 2, 100):
        monkeypatch.setattr(numpy_network, "MAX_PICTURES_AT_ONCE", at_once)
        monkeypatch.setattr(numpy_network, "REGIONS_AT_ONCE", at_once)
        seen = numpy_network.numpy_components(arrays, model, whole_ng, regions_nre)
        np.testing.assert_allclose(
            numpy_network.numpy_encode_pictures(arrays, model, seen, read), one_by_one, atol=1e-5
        )


@each
def test_nothing_seen_is_a_picture_of_zeros(name: str, network_of: Made, weights_of: Weighed) -> None:
    model = MODELS[name]
    arrays = weights_of(network_of(model)).arrays
    seen = numpy_network.numpy_components(
        arrays, model, np.zeros((1, 48), np.float32), np.zeros((1, 36, 3), np.float16)
    )
    for part, expected in zip(numpy_network.blank_components(arrays, model, 36), seen, strict=True):
        np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize("wanted", [range(4), range(4, 5), range(3, 6), range(7)])
@pytest.mark.parametrize("pictured", [True, False])
@torch.no_grad()
def test_places_that_are_wanted_are_as_if_all_were(
    wanted: range, pictured: bool, network_of: Made, weights_of: Weighed
) -> None:
    network = network_of(MODELS["as lab"])
    tokens_bth, text_blh, image_bih = (torch.randn(2, places, 8) for places in (4, 3, 5))
    there_bl = torch.ones(2, 3, dtype=torch.bool)
    found = network.fuse(tokens_bth, EmbeddedTexts(text_blh, there_bl), image_bih if pictured else None)
    images = image_bih.numpy() if pictured else None
    arrays = weights_of(network).arrays
    found_bwh = numpy_network.numpy_fuse(arrays, network.settings, tokens_bth.numpy(), text_blh.numpy(), images, wanted)
    everything_bsh = numpy_network.numpy_fuse(
        arrays, network.settings, tokens_bth.numpy(), text_blh.numpy(), images, range(7)
    )
    np.testing.assert_allclose(everything_bsh[:, :4], found.tokens_bth, atol=1e-5)
    np.testing.assert_allclose(everything_bsh[:, 4], found.first_bh, atol=1e-5)
    np.testing.assert_allclose(found_bwh, everything_bsh[:, wanted.start : wanted.stop], atol=1e-5)


def test_two_pictures_are_mixed_half_and_half() -> None:
    one = numpy_network.NumpyComponents(np.array([[1.0, 3.0]], np.float32), np.zeros((1, 1, 2), np.float32))
    other = numpy_network.NumpyComponents(np.array([[3.0, -3.0]], np.float32), np.full((1, 1, 2), 4.0, np.float32))
    mixed = one.blend(other)
    np.testing.assert_array_equal(mixed.whole_bx, [[2.0, 0.0]])
    np.testing.assert_array_equal(mixed.regions_bry, [[[2.0, 2.0]]])


@torch.no_grad()
def test_a_long_text_is_read_as_the_network_reads_it(network_of: Made, weights_of: Weighed) -> None:
    network = network_of(Model(**SMALL | {"most_words": POSITIONS + 5}, words="learned"))
    weights = weights_of(network)
    text = " ".join(["red", "over", "blue"] * POSITIONS)
    expected = network.text(numbered(network, [text], weights.card.settings["vocabulary"]))
    found_lh, told = make_text_reader(weights, network.settings).read(text, None)
    np.testing.assert_allclose(found_lh, expected.places_blh[0], atol=1e-6)
    assert len(found_lh) == POSITIONS + 6
    assert told[0].startswith(f"drop: the first {POSITIONS + 5} words of a turn are read")
