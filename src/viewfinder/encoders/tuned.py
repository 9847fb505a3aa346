"""Any encoder with a head of a library's own: its words are mapped to where the library's pictures are.

Pictures keep the vectors that the encoder gives them, so no raw vector changes and no picture is read again. With unit
vectors t of texts and their mean c, words become t + (t - c) D at unit length: a head is c and D, which is 0 where the
encoder is left as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.encoders.base import Calibration, Encoded, Encoder, Pixels, Vocabulary, unit_rows
from viewfinder.errors import EncoderMismatch

HEAD_VERSION = "1"
MAX_WIDTH = 8192
"""Wider vectors than any encoder gives: a head of them would be half a gigabyte."""


@dataclass(frozen=True, eq=False)
class WordHead:
    """What tuning adds to an encoder's words.

    Attributes:
        made_for: the version of the encoder that it was fitted to.
        centre_d: the mean of the texts' vectors.
        adds_dd: what a text's distance from it is multiplied by, and then added.
    """

    made_for: str
    centre_d: Float32[np.ndarray, " d"]
    adds_dd: Float32[np.ndarray, "d d"]
    calibration: Calibration | None = None

    def map(self, words_nd: Float[np.ndarray, "n d"]) -> Float32[np.ndarray, "n d"]:
        """Unit vectors of texts, with the head."""
        return np.asarray(unit_rows(words_nd + (words_nd - self.centre_d) @ self.adds_dd), np.float32)

    def rounded(self) -> WordHead:
        """The head as it will be read back: every number rounded to float16."""
        centre_d, adds_dd = (array.astype(np.float16).astype(np.float32) for array in (self.centre_d, self.adds_dd))
        return WordHead(self.made_for, centre_d, adds_dd)

    def fingerprint(self) -> str:
        """Eight hexadecimal digits that name this head's numbers."""
        digest = hashlib.blake2b(self.made_for.encode(), digest_size=4)
        for array in self._arrays().values():
            digest.update(array.tobytes())
        return digest.hexdigest()

    def save(self, file: Path) -> None:
        """Writes the head as safetensors (float16)."""
        from safetensors.numpy import save_file

        file.parent.mkdir(parents=True, exist_ok=True)
        save_file(self._arrays(), str(file), metadata={"words": HEAD_VERSION, "made_for": self.made_for})

    def _arrays(self) -> dict[str, np.ndarray]:
        return {
            "centre": np.ascontiguousarray(self.centre_d, np.float16),
            "adds": np.ascontiguousarray(self.adds_dd, np.float16),
        }


def load_word_head(file: Path) -> WordHead:
    """Reads a head that `WordHead.save` wrote.

    Raises:
        EncoderMismatch: it is no such head, or of a later viewfinder.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(file), framework="numpy") as tensors:
            known = tensors.metadata() or {}
            shape = tuple(tensors.get_slice("adds").get_shape())
            if known.get("words") != HEAD_VERSION or len(shape) != 2 or not 0 < shape[0] == shape[1] <= MAX_WIDTH:
                raise ValueError
            head = WordHead(
                known.get("made_for", ""),
                tensors.get_tensor("centre").astype(np.float32),
                tensors.get_tensor("adds").astype(np.float32),
            )
    except (SafetensorError, ValueError) as error:
        raise EncoderMismatch(f"{file} is not a tuned head that this viewfinder reads: tune again") from error
    if head.centre_d.shape != shape[:1] or not (np.isfinite(head.centre_d).all() and np.isfinite(head.adds_dd).all()):
        raise EncoderMismatch(f"{file} is not a tuned head that this viewfinder reads: tune again")
    return head


class TunedEncoder:
    """An encoder whose words are mapped by a head; all else is as without it.

    What scores mean was measured for the words as they were: it is measured anew in the library.
    """

    calibration: Calibration | None = None

    def __init__(self, untuned: Encoder, head: WordHead) -> None:
        self.untuned, self.head = untuned, head
        self.name, self.fit = untuned.name, untuned.fit
        self.raw_version, self.sentences_version = untuned.raw_version, untuned.sentences_version
        self.version = f"{untuned.version}-tune-{head.fingerprint()}"

    def __getattr__(self, name: str) -> object:
        """What only some encoders have: where they lie, and how earlier viewfinders called them."""
        if name in ("origin", "former_versions", "trained_on"):
            return getattr(self.untuned, name)
        raise AttributeError(name)

    @cached_property
    def vocabulary(self) -> Vocabulary | None:
        """The words that the encoder knows well, where they are now."""
        known = self.untuned.vocabulary
        return None if known is None else Vocabulary(known.words, self.head.map(known.vectors_ld))

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        """Raw vectors of pictures, which no head changes."""
        return self.untuned.pictures(batch, regions=regions)

    def project(self, raw_nd: Float[np.ndarray, "n raw"]) -> Float[np.ndarray, "n d"]:
        """Pictures as without the head."""
        return self.untuned.project(raw_nd)

    def words(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Unit vectors of texts, mapped by the head."""
        return self.head.map(self.untuned.words(texts))

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        """Sentence vectors, which no head changes."""
        return self.untuned.sentences(texts)

    def region_boxes(self, width: int, height: int) -> Float[np.ndarray, "r 4"]:
        """Boxes of a picture's regions."""
        return self.untuned.region_boxes(width, height)

    def background(self, pictures_nd: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """The likeness of each picture to any text, as without the head."""
        return self.untuned.background(pictures_nd)


def put_head(encoder: Encoder, file: Path) -> Encoder:
    """The encoder with the head in a file.

    Raises:
        EncoderMismatch: that is no head, or one for vectors of another width.
    """
    head = load_word_head(file)
    width = encoder.words(["a"]).shape[1]
    if width != len(head.centre_d):
        raise EncoderMismatch(
            f"{file} is a head for {len(head.centre_d)} numbers a text, and {encoder.name} gives {width}: tune again"
        )
    return TunedEncoder(encoder, head)
