"""A trained captioner at work: raw vectors of two pictures in, a sentence out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viewfinder.data.fashion_iq import CaptionVocabulary
from viewfinder.encoders.attributes import AttributePredictor
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.training import build_settings, load_network
from viewfinder.training.weights import Weights, check_card, damaged_file, read_weights
from viewfinder.users.captioner.decoding import (
    caption_texts,
    decode_by_beams,
    decode_by_sampling,
    decode_greedily,
)
from viewfinder.users.captioner.network import CaptionerNetwork, make_captioner
from viewfinder.users.captioner.settings import CaptionerModel

SYSTEM = "captioner"
SHIPPED = Path(__file__).with_name("lab.safetensors")

AT_ONCE = 128
"""Pairs that are captioned together."""

DECODINGS = ("greedy", "beam", "sampled")


@dataclass(frozen=True, kw_only=True)
class _Settings:
    """What a card tells about the network."""

    model: CaptionerModel


class Captioner:
    """Says how wanted pictures differ from shown ones.

    Attributes:
        network: in torch, in eval mode; on the processor, until moved.
        vocabulary: its words.
        predictor: tells the attributes of pictures that the network reads; None where it reads none.
        raw_version: of which encoder the raw vectors must be.
        fingerprint: a mark that changes with every number of the weights.
    """

    def __init__(
        self,
        network: CaptionerNetwork,
        vocabulary: CaptionVocabulary,
        predictor: AttributePredictor | None,
        raw_version: str,
        fingerprint: str,
    ) -> None:
        self.network = network.eval()
        self.vocabulary = vocabulary
        self.predictor = predictor
        self.raw_version = raw_version
        self.fingerprint = fingerprint

    @classmethod
    def load(cls, path: Path | None = None) -> Captioner:
        """The captioner in a file that `viewfinder train captioner` wrote; by default the one in the box.

        Raises:
            BadInput: the file is missing, damaged, or of another system.
            NewerLibrary: written by a later version.
        """
        if path is None and not SHIPPED.is_file():
            raise BadInput(f"{SHIPPED.name}: no captioner came with this version; train one, and name its file")
        path = path or SHIPPED
        weights = read_weights(path)
        check_card(path, weights.card, system=SYSTEM)
        settings = weights.card.settings
        if not {"model", "vocabulary", "labels"} <= settings.keys():
            raise damaged_file(path, "the card of a captioner names model, vocabulary, labels")
        model = build_settings(_Settings, {"model": settings["model"]}).model
        words = tuple(settings["vocabulary"])
        network = make_captioner(model, raw_vector_width(path, weights, model), len(words), len(settings["labels"]))
        load_network(path, network, system=SYSTEM, encoder=weights.card.encoder)
        return cls(
            network,
            CaptionVocabulary(words, {word: number for number, word in enumerate(words)}),
            AttributePredictor.of(weights) if model.attributes else None,
            weights.card.encoder,
            weights.fingerprint,
        )

    def check(self, raw_version: str) -> None:
        """Refuse vectors that are not those of the training.

        Raises:
            EncoderMismatch: they are of another encoder.
        """
        if raw_version != self.raw_version:
            raise EncoderMismatch(
                f"the captioner was trained on vectors of {self.raw_version!r}, not {raw_version!r}; use that encoder, "
                "or train a captioner with this one"
            )

    def captions(
        self,
        shown_bg: Float[np.ndarray, "b g"],
        wanted_bg: Float[np.ndarray, "b g"],
        decoding: str = "beam",
        *,
        seed: int = 0,
        temperature: float = 1.0,
    ) -> list[str]:
        """How each wanted picture differs from the one shown: "is darker and has longer sleeves".

        Args:
            shown_bg: raw vectors of the shown pictures.
            wanted_bg: those of the wanted ones.
            decoding: "greedy", the likeliest word each time; "beam", the best of five beams, as in the paper's test;
                "sampled", by chance.
            seed: of "sampled".
            temperature: of "sampled"; the lower (above 0), the more like "greedy".

        Raises:
            BadInput: there is no such decoding, or the temperature is not above 0.
            EncoderMismatch: the vectors are of another length than those of the training.
        """
        if decoding not in DECODINGS:
            raise BadInput(f"decoding={decoding}: captions are decoded by one of {', '.join(DECODINGS)}")
        if temperature <= 0:
            raise BadInput(f"temperature={temperature}: it must be above 0")
        if {shown_bg.shape[1], wanted_bg.shape[1]} != {self.network.raw_width}:
            raise EncoderMismatch(
                f"the captioner reads vectors of {self.raw_version!r}, {self.network.raw_width} numbers, not "
                f"{shown_bg.shape[1]}; use that encoder, or train again with this one"
            )
        decode = self._decoder(decoding, seed, temperature)
        said: list[str] = []
        for at in range(0, len(shown_bg), AT_ONCE):
            words_bt = decode(*(self._tensor(raw_bg[at : at + AT_ONCE]) for raw_bg in (shown_bg, wanted_bg)))
            said += caption_texts(words_bt, self.vocabulary.words)
        return said

    # -- inside

    def _decoder(self, decoding: str, seed: int, temperature: float) -> Callable[..., Int[Tensor, "b t"]]:
        if decoding == "sampled":
            generator = torch.Generator(self._device).manual_seed(seed)
            return partial(decode_by_sampling, self.network, generator=generator, temperature=temperature)
        return partial(decode_greedily if decoding == "greedy" else decode_by_beams, self.network)

    def _tensor(self, raw_bg: Float[np.ndarray, "b g"]) -> Float[Tensor, "b g"]:
        return torch.from_numpy(np.array(raw_bg, np.float32)).to(self._device)

    @property
    def _device(self) -> torch.device:
        return next(self.network.parameters()).device


def raw_vector_width(path: Path, weights: Weights, model: CaptionerModel) -> int:
    """How many numbers a raw picture vector has for these weights.

    Raises:
        BadInput: they are no captioner's.
    """
    name, axis = ("input.components", 0) if model.image == "whitened" else ("wanted.weight", 1)
    if name not in weights.arrays:
        raise BadInput(f"{path}: {name} is missing; the file belongs to a network of other settings")
    return int(weights.arrays[name].shape[axis])
