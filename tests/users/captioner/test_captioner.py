"""A captioner on disk and at work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from viewfinder.data.fashion_iq import SPECIAL_WORDS
from viewfinder.encoders.tags import AttributePredictor
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.training import Card, save_network
from viewfinder.users.captioner import captioner as module
from viewfinder.users.captioner.captioner import Captioner, caption_texts, decode_by_beams, decode_greedily
from viewfinder.users.captioner.network import CaptionerNetwork
from viewfinder.weights import read_weights

Make = Callable[..., CaptionerNetwork]
Pairs = tuple[Tensor, Tensor]
WORDS = (*SPECIAL_WORDS, "is", "n't", "red", "darker")
LABELS = ("cotton", "floral", "long", "plain")


def saved(path: Path, network: CaptionerNetwork, **changed: object) -> Path:
    settings = {"model": asdict(network.settings), "vocabulary": list(WORDS), "labels": list(LABELS)} | changed
    save_network(path, network, Card(system="captioner", preset="lab", encoder="raw-6", settings=settings))
    return path


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"attributes": 0}, {"image": "standardised"}, {"image": "whitened", "components": 3}],
    ids=["attributes", "none", "standardised", "whitened"],
)
def test_a_captioner_saved_and_loaded_says_the_same(
    tmp_path: Path, make: Make, pairs: Pairs, kind: str, settings: dict[str, object]
) -> None:
    network = make(kind, **settings)
    network.input.measure(torch.cat(pairs).numpy())
    loaded = Captioner.load(saved(tmp_path / "one.safetensors", network))
    shown_bg, wanted_bg = map(Tensor.numpy, pairs)
    assert loaded.captions(shown_bg, wanted_bg, "greedy") == caption_texts(decode_greedily(network, *pairs), WORDS)
    assert loaded.raw_version == "raw-6" and loaded.vocabulary.words == WORDS and not loaded.network.training


def test_attributes_come_along(tmp_path: Path, make: Make, pairs: Pairs) -> None:
    """The predictor tells what the network's own head reads."""
    network = make()
    loaded = Captioner.load(saved(tmp_path / "one.safetensors", network))
    assert isinstance(loaded.predictor, AttributePredictor)
    expected = [[LABELS[number - 1] for number in numbers] for numbers in network.top_attributes(pairs[0]).tolist()]
    assert [list(words) for words in loaded.predictor.words(pairs[0].numpy(), 2)] == expected
    assert Captioner.load(saved(tmp_path / "two.safetensors", make(attributes=0))).predictor is None


def test_many_pairs_are_captioned_as_each_alone(tmp_path: Path, make: Make) -> None:
    loaded = Captioner.load(saved(tmp_path / "one.safetensors", make()))
    shown_bg, wanted_bg = np.random.default_rng(1).standard_normal((2, 130, 6)).astype(np.float32)
    said = loaded.captions(shown_bg, wanted_bg)
    assert len(said) == 130 and len(set(said)) > 3
    for at in (0, 127, 128, 129):
        assert loaded.captions(shown_bg[at : at + 1], wanted_bg[at : at + 1]) == [said[at]]


def test_captions_by_published_beams_are_asked_for_by_name(tmp_path: Path, make: Make, pairs: Pairs) -> None:
    network = make()
    loaded = Captioner.load(saved(tmp_path / "one.safetensors", network))
    shown_bg, wanted_bg = map(Tensor.numpy, pairs)
    found = loaded.captions(shown_bg, wanted_bg, "official_beam")
    expected_bt = decode_by_beams(network, *pairs, official=True)
    assert found == caption_texts(expected_bt, loaded.vocabulary.words) != loaded.captions(shown_bg, wanted_bg, "beam")


def test_samples_follow_the_seed(tmp_path: Path, make: Make, pairs: Pairs) -> None:
    loaded = Captioner.load(saved(tmp_path / "one.safetensors", make()))
    shown_bg, wanted_bg = map(Tensor.numpy, pairs)
    first, again, other = (loaded.captions(shown_bg, wanted_bg, "sampled", seed=seed) for seed in (1, 1, 2))
    assert first == again != other
    cold = loaded.captions(shown_bg, wanted_bg, "sampled", temperature=1e-4)
    assert cold == loaded.captions(shown_bg, wanted_bg, "greedy")


def test_what_cannot_be_captioned_is_refused(tmp_path: Path, make: Make, pairs: Pairs) -> None:
    loaded = Captioner.load(saved(tmp_path / "one.safetensors", make()))
    shown_bg, wanted_bg = map(Tensor.numpy, pairs)
    with pytest.raises(BadInput, match="decoding=loud: captions are decoded by one of greedy, beam, sampled"):
        loaded.captions(shown_bg, wanted_bg, "loud")
    with pytest.raises(BadInput, match=r"temperature=0\.0: it must be above 0"):
        loaded.captions(shown_bg, wanted_bg, "sampled", temperature=0.0)
    with pytest.raises(EncoderMismatch, match="reads vectors of 'raw-6', 6 numbers, not 5"):
        loaded.captions(shown_bg[:, :5], wanted_bg[:, :5])
    with pytest.raises(EncoderMismatch, match="trained on vectors of 'raw-6', not 'starter-raw-1'"):
        loaded.check("starter-raw-1")


def test_files_that_are_no_captioners_are_named(tmp_path: Path, make: Make) -> None:
    with pytest.raises(BadInput, match=r"gone\.safetensors: no such file"):
        Captioner.load(tmp_path / "gone.safetensors")
    file = saved(tmp_path / "other.safetensors", make(words=7))
    with pytest.raises(BadInput, match=r"other\.safetensors: .* is \(.*\), not"):
        Captioner.load(file)
    save_network(file, make(), Card(system="captioner", preset="lab", encoder="raw-6"))
    with pytest.raises(BadInput, match=r"other\.safetensors: damaged \(the card of a captioner names model"):
        Captioner.load(file)
    save_network(file, make(), Card(system="chatir", preset="lab", encoder="raw-6"))
    with pytest.raises(BadInput, match="this is a network of chatir, not of captioner"):
        Captioner.load(file)


def test_without_a_file_it_is_the_one_in_the_box(tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHIPPED", tmp_path / "lab.safetensors")
    with pytest.raises(BadInput, match=r"lab\.safetensors: no captioner came with this version; train one"):
        Captioner.load()
    file = saved(tmp_path / "lab.safetensors", make())
    assert Captioner.load().fingerprint == read_weights(file).fingerprint
