"""The simulated user of Fashion IQ: says how the wanted picture differs from the one shown, with a trained captioner.

It maps the raw vectors of two pictures to a sentence (f_R; Wu et al., CVPR 2021, Sec. 4.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viewfinder.data.captions import read_captions_csv
from viewfinder.data.fashion_iq import CaptionVocabulary
from viewfinder.encoders import load_encoder
from viewfinder.encoders.attributes import AttributePredictor
from viewfinder.encoders.features import features
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.training import load_network
from viewfinder.training.presets import read_card_settings
from viewfinder.training.weights import check_card, damaged_file, read_weights
from viewfinder.users.captioner.decoding import caption_texts, decode_by_beams, decode_by_sampling, decode_greedily
from viewfinder.users.captioner.network import CaptionerNetwork, make_captioner
from viewfinder.users.captioner.settings import CaptionerModel, RecurrentCaptioner, TransformerCaptioner
from viewfinder.users.descriptions import SentenceDescriber, Sentences, caption_sentences
from viewfinder.users.person import Person, SpeakingStyle

SYSTEM = "captioner"
SHIPPED = Path(__file__).with_name("lab.safetensors")

AT_ONCE = 128
"""Pairs captioned per batch."""

DECODINGS = ("greedy", "beam", "sampled")


@dataclass(eq=False)
class Captioner:
    """Says how wanted pictures differ from shown ones.

    Attributes:
        network: in torch, in eval mode; on the CPU, until moved.
        vocabulary: its words.
        predictor: predicts the attributes of pictures that the network reads; None if it reads none.
        raw_version: which encoder the raw vectors must come from.
        fingerprint: a digest that changes with every number of the weights.
        trained_on: the list of its training pictures (`TrainingList.encode`); "": it was not kept.
    """

    network: CaptionerNetwork
    vocabulary: CaptionVocabulary
    predictor: AttributePredictor | None
    raw_version: str
    fingerprint: str
    trained_on: str = ""

    def __post_init__(self) -> None:
        self.network.eval()

    @classmethod
    def load(cls, path: Path | None = None) -> Captioner:
        """The captioner in a file that `viewfinder train captioner` wrote; by default the shipped one.

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
        model: CaptionerModel = (
            read_card_settings(RecurrentCaptioner, weights.card)
            if settings["model"].get("kind") == "recurrent"
            else read_card_settings(TransformerCaptioner, weights.card)
        )
        name, axis = ("input.components", 0) if model.image == "whitened" else ("wanted.weight", 1)
        if name not in weights.arrays:
            raise BadInput(f"{path}: {name} is missing; the file belongs to a network of other settings")
        vocabulary, raw_width = CaptionVocabulary(tuple(settings["vocabulary"])), int(weights.arrays[name].shape[axis])
        network = make_captioner(model, raw_width, len(vocabulary.words), len(settings["labels"]))
        load_network(path, network, system=SYSTEM, encoder=weights.card.encoder)
        predictor = AttributePredictor.of(weights) if model.attributes else None
        return cls(network, vocabulary, predictor, weights.card.encoder, weights.fingerprint, weights.card.trained_on)

    def check(self, raw_version: str) -> None:
        """Refuse vectors that are not like those of the training; EncoderMismatch if they come from another encoder."""
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
        """How each wanted picture differs from the one shown: "is darker and has longer sleeves"; by raw vectors.

        Decoding is "greedy", the likeliest word each time; "beam", the best of five beams, as in the paper's test; or
        "sampled", drawn with seed and temperature (the lower, above 0, the more like "greedy").

        Raises:
            BadInput: there is no such decoding, or the temperature is not above 0.
            EncoderMismatch: the vectors have another length than those of the training.
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
        device = next(self.network.parameters()).device
        decode: Callable[..., Int[Tensor, "b t"]] = decode_greedily if decoding == "greedy" else decode_by_beams
        if decoding == "sampled":
            generator = torch.Generator(device).manual_seed(seed)
            decode = partial(decode_by_sampling, generator=generator, temperature=temperature)
        said: list[str] = []
        for at in range(0, len(shown_bg), AT_ONCE):
            parts = (np.array(raw_bg[at : at + AT_ONCE], np.float32) for raw_bg in (shown_bg, wanted_bg))
            words_bt = decode(self.network, *(torch.from_numpy(part_bg).to(device) for part_bg in parts))
            said += caption_texts(words_bt, self.vocabulary.words)
        return said


NAME = "captioner"

TOLD = 3
"""How many attributes describe a picture without a caption."""

ReadRawVectors = Callable[[Sequence[str]], Float[np.ndarray, "n g"]]
"""Raw vectors of pictures by their keys."""


@dataclass(frozen=True, eq=False)
class CaptionComparer:
    """The `Comparer` over a trained captioner; the same pair is always compared in the same words."""

    captioner: Captioner
    vectors: ReadRawVectors
    decoding: str = "beam"
    seed: int = 0

    def compare(self, shown: str, wanted: str) -> str:
        """What is different in the wanted picture: "is darker and has longer sleeves"."""
        shown_1g, wanted_1g = self.vectors([shown]), self.vectors([wanted])
        seed = Random(f"viewfinder/captioner/{self.seed}/{shown}/{wanted}").getrandbits(32)
        return self.captioner.captions(shown_1g, wanted_1g, self.decoding, seed=seed)[0]

    def likeness(self, one: str, other: str) -> float:
        """The cosine of the two pictures' raw vectors; 0 if one of them is zero."""
        one_g, other_g = self.vectors([one, other])
        lengths = float(np.linalg.norm(one_g) * np.linalg.norm(other_g))
        return float(one_g @ other_g) / lengths if lengths else 0.0


def make_captioner_user(
    folder: Path,
    style: SpeakingStyle,
    *,
    model: str = "",
    decoding: str = "beam",
    vectors: ReadRawVectors | None = None,
    raw_version: str = "",
) -> Person:
    """A person who compares what is shown with what is wanted, in the words of a captioner.

    With nothing on the screen they describe the wanted picture: by a caption from the folder's captions.csv, else by
    its likeliest attributes.

    Args:
        folder, style: the data folder; how they speak.
        model: the file of a trained captioner; by default the shipped one.
        decoding: see `Captioner.captions`.
        vectors: raw vectors of the folder's pictures; without it the starter's are read, or computed.
        raw_version: which encoder `vectors` come from; "" if unknown.

    Raises:
        BadInput: a file that is not a captioner, no such decoding, or no pictures.
        EncoderMismatch: the captioner was trained on the vectors of another encoder.
    """
    if decoding not in DECODINGS:
        raise BadInput(f"decoding={decoding}: captions are decoded by one of {', '.join(DECODINGS)}")
    captioner = Captioner.load(Path(model) if model else None)
    if raw_version:
        captioner.check(raw_version)
    if vectors is None:
        starter = load_encoder("starter")
        captioner.check(starter.raw_version)
        found = features(folder, starter)
        vectors = lambda keys: found.raw_nd[found.rows(keys)]  # noqa: E731
    comparer = CaptionComparer(captioner, vectors, decoding, style.seed)
    describer = partial(SentenceDescriber, make_sayings(folder, captioner, vectors, style.seed))
    return Person(
        describer, comparer=comparer, likeness=comparer.likeness, style=style, name=NAME,
        trained_on=captioner.trained_on,
    )  # fmt: skip


def make_sayings(folder: Path, captioner: Captioner, vectors: ReadRawVectors, seed: int) -> Sentences:
    """What is said of a picture when there is nothing to compare it with.

    The sayings raise UnknownName if there is neither a caption nor a captioner that knows attributes.
    """
    file, predictor = folder / "captions.csv", captioner.predictor
    known = {picture.path.stem: picture.captions for picture in read_captions_csv(file)[0]} if file.is_file() else {}
    from_captions = caption_sentences(known, seed=seed)

    def sayings(picture: str) -> Sequence[str]:
        if predictor is None or Path(picture).stem in known:
            return from_captions(Path(picture).stem)
        return [", ".join(predictor.words(vectors([picture]), TOLD)[0])]

    return sayings
