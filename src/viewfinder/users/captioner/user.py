"""The simulated user of Fashion IQ: says how the wanted picture differs from the one shown, by a trained captioner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
from jaxtyping import Float

from viewfinder.data.captions import read_captions_csv
from viewfinder.encoders import load_encoder
from viewfinder.encoders.features import features
from viewfinder.errors import BadInput
from viewfinder.users.captioner.captioner import DECODINGS, Captioner
from viewfinder.users.descriptions import SentenceDescriber, Sentences, caption_sentences
from viewfinder.users.person import Person, SpeakingStyle

NAME = "captioner"

TOLD = 3
"""Attributes that a picture without a caption is described by."""

ReadRawVectors = Callable[[Sequence[str]], Float[np.ndarray, "n g"]]
"""Raw vectors of pictures by their keys."""


@dataclass(frozen=True, eq=False)
class CaptionComparer:
    """The `Comparer` that is a trained captioner; the same pair is always compared in the same words."""

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
        """The cosine of the two pictures' raw vectors; 0 where one of them is nothing."""
        one_g, other_g = self.vectors([one, other])
        lengths = float(np.linalg.norm(one_g) * np.linalg.norm(other_g))
        return float(one_g @ other_g) / lengths if lengths else 0.0


def make_captioner_user(
    folder: Path,
    manners: SpeakingStyle,
    *,
    model: str = "",
    decoding: str = "beam",
    vectors: ReadRawVectors | None = None,
    raw_version: str = "",
) -> Person:
    """A person who compares what is shown with what is wanted, in the words of a captioner.

    With nothing on the screen they describe the wanted picture: by a caption of the folder's captions.csv, else by
    the attributes that are likeliest of it.

    Args:
        folder: of data.
        manners: how they talk.
        model: the file of a trained captioner; by default the one in the box.
        decoding: how captions are made, see `Captioner.captions`.
        vectors: raw vectors of the folder's pictures; without it the starter's are read, or computed.
        raw_version: of which encoder `vectors` are; "" where that is not known.

    Raises:
        BadInput: a file that is no captioner, no such decoding, or no pictures.
        EncoderMismatch: the captioner was trained on the vectors of another encoder.
    """
    if decoding not in DECODINGS:
        raise BadInput(f"decoding={decoding}: captions are decoded by one of {', '.join(DECODINGS)}")
    captioner = Captioner.load(Path(model) if model else None)
    if raw_version:
        captioner.check(raw_version)
    if vectors is None:
        vectors = read_starter_vectors(folder, captioner)
    comparer = CaptionComparer(captioner, vectors, decoding, manners.seed)
    return Person(
        partial(SentenceDescriber, make_sayings(folder, captioner, vectors, manners.seed)),
        comparer=comparer,
        likeness=comparer.likeness,
        manners=manners,
        name=NAME,
    )


def read_starter_vectors(folder: Path, captioner: Captioner) -> ReadRawVectors:
    """What the starter makes of the folder's pictures, from files where it was computed before.

    Raises:
        BadInput: there are no pictures.
        EncoderMismatch: the captioner reads something else.
    """
    starter = load_encoder("starter")
    captioner.check(starter.raw_version)
    found = features(folder, starter)
    return lambda keys: found.raw_nd[found.rows(keys)]


def make_sayings(folder: Path, captioner: Captioner, vectors: ReadRawVectors, seed: int) -> Sentences:
    """What is said of a picture with nothing to compare it with.

    The sayings raise UnknownName where there is neither a caption nor a captioner that knows attributes.
    """
    file, predictor = folder / "captions.csv", captioner.predictor
    known = {picture.path.stem: picture.captions for picture in read_captions_csv(file)[0]} if file.is_file() else {}
    from_captions = caption_sentences(known, seed=seed)

    def sayings(picture: str) -> Sequence[str]:
        if predictor is None or Path(picture).stem in known:
            return from_captions(Path(picture).stem)
        return [", ".join(predictor.words(vectors([picture]), TOLD)[0])]

    return sayings
