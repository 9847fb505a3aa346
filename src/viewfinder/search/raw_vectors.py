"""The raw vectors of pictures from which trained systems make their own: where they come from, whether they fit."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float, Float16, Float32

from viewfinder.encoders.base import Encoder
from viewfinder.errors import EncoderMismatch, LibraryError
from viewfinder.query import Predictor, RegionSpace


@runtime_checkable
class RawVectors(Protocol):
    """A source of pictures' raw vectors: a library's tables, or the cached features of a data set.

    `raw_version` says which numbers they are; a data set's own detector gives other numbers than the encoder.
    """

    @property
    def raw_version(self) -> str:
        """Which numbers these are; a system works only on those it was trained on."""
        ...

    def batches(
        self, ids: Sequence[str], *, regions: bool
    ) -> Iterable[tuple[Float[np.ndarray, "b g"], Float16[np.ndarray, "b r e"] | None]]:
        """Raw global vectors of these pictures and their regions (None unless asked for), in the order given.

        Zeros where a picture has none.
        """
        ...


@runtime_checkable
class Boxed(Protocol):
    """Raw vectors whose regions are not the encoder's, and that know where the regions lie."""

    def boxes(self, picture_id: str) -> Float[np.ndarray, "_boxes 4"]:
        """Boxes (x0, y0, x1, y1) of a picture's regions, as shares of its width and height; none if not known."""
        ...


class Companion:
    """The starter beside the encoder that a library is searched with, for systems that were trained on its vectors.

    Attributes:
        raw: its raw vectors of the same pictures.
    """

    def __init__(self, raw: RawVectors, load_encoder: Callable[[], Encoder]) -> None:
        self.raw = raw
        self._load_encoder = load_encoder

    @cached_property
    def encoder(self) -> Encoder:
        """The starter, loaded when it is first needed."""
        return self._load_encoder()


Source = TypeVar("Source", RawVectors, Encoder)


def check_fits(space: RegionSpace, raw: Source | None, encoder: str = "") -> Source:
    """The raw vectors, or their source, if the space is made from them; `encoder` is how a library names its own.

    Raises LibraryError, EncoderMismatch.
    """
    if raw is None:
        raise LibraryError(f"{space.name} reads raw vectors ({space.raw_version}) of these pictures: there are none")
    if raw.raw_version != space.raw_version:
        raise EncoderMismatch(
            f"{space.name} was trained on {space.raw_version}, and these pictures have {raw.raw_version}: "
            f"open a library made with that encoder, or train on vectors of this one{_say_command(space, encoder)}"
        )
    return raw


def _say_command(space: RegionSpace, encoder: str) -> str:
    """The commands by which a system is trained for a library's encoder, and used then."""
    if not space.system or not encoder:
        return ""
    train = f"viewfinder train {space.system} --encoder {shlex.quote(encoder)} --data DIR --out mine"
    return f": `{train}`, then `--checkpoint mine/best.safetensors`"


def best_labels(predictor: Predictor, raw_ng: Float[np.ndarray, "n g"], count: int) -> Float32[np.ndarray, "n c 2"]:
    """The likeliest labels of every picture with their chances."""
    best_nc = predictor.top(raw_ng, count)
    return np.stack([best_nc, np.take_along_axis(predictor.scores(raw_ng), best_nc, axis=1)], axis=-1, dtype=np.float32)


def name_labels(best_c2: Float[np.ndarray, "c 2"], labels: Sequence[str]) -> dict[str, float]:
    """Converts label numbers and chances to words and chances."""
    return {labels[int(label)]: float(chance) for label, chance in best_c2.tolist()}
