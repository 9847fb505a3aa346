"""The starter encoder: pixels and words to vectors with no network connection, and no torch when searching."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.base import Calibration, Encoded, Pixels, Vocabulary, grid_boxes
from viewfinder.encoders.starter.head import RAW_VERSION, RAW_WIDTH, SIDE, Head, load_head
from viewfinder.encoders.starter.network import (
    SENTENCES_VERSION,
    PictureNetwork,
    SentenceEncoder,
    exported_network_file,
    find_or_export_network,
)
from viewfinder.pictures import Fit, Stretch

SHIPPED_HEAD = Path(__file__).with_name("head.safetensors")
BATCH = 8


class StarterEncoder:
    """EfficientNet-Lite2 and MiniLM joined by a head: the shipped one, or one tuned on the user's captions."""

    name = "starter"
    raw_version = RAW_VERSION
    sentences_version = SENTENCES_VERSION

    def __init__(self, head_file: Path | None = None, *, threads: int | None = None) -> None:
        self._head_file = head_file or SHIPPED_HEAD
        self._threads = threads or os.cpu_count() or 1

    @cached_property
    def head(self) -> Head:
        """The alignment head, read on first use."""
        return load_head(self._head_file)

    @cached_property
    def _sentence_encoder(self) -> SentenceEncoder:
        return SentenceEncoder()

    @cached_property
    def _network(self) -> PictureNetwork:
        return PictureNetwork(find_or_export_network(cache_folder(), self._sentence_encoder))

    @cached_property
    def version(self) -> str:
        """Raw version and head: vectors of equal version can be compared."""
        return f"{RAW_VERSION}-{self.head.fingerprint()}"

    @property
    def width(self) -> int:
        """Numbers in a vector of the shared space."""
        return self.head.width

    @property
    def fit(self) -> Fit:
        """How pictures should be decoded for this encoder."""
        return Stretch(SIDE)

    @property
    def calibration(self) -> Calibration:
        """What scores mean, measured when the head was fitted."""
        return self.head.calibration

    @cached_property
    def vocabulary(self) -> Vocabulary | None:
        """Words that hold for many of the pictures the head was fitted on."""
        if not self.head.labels:
            return None
        return Vocabulary(self.head.labels, self.head.sentences(self.head.labels_ls))

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        """Raw vectors of upright pictures of any sizes, in batches side by side on `threads` cores."""
        network = self._network

        def encode(part: Sequence[Pixels]) -> tuple[np.ndarray, np.ndarray | None]:
            return network([_stretched(pixels) for pixels in part], regions=regions)

        # A batch a core keeps all of them busy; sharing one batch between cores wastes a fifth of them.
        with ThreadPoolExecutor(self._threads) as pool:
            parts = list(pool.map(encode, _batches(batch)))
        if not parts:
            return Encoded(np.zeros((0, RAW_WIDTH), np.float32))
        blocks = [block for _, block in parts if block is not None]
        return Encoded(np.concatenate([raw for raw, _ in parts]), np.concatenate(blocks) if blocks else None)

    def project(self, raw_nd: Float[np.ndarray, "n raw"]) -> Float[np.ndarray, "n d"]:
        """Raw vectors into the shared space."""
        return self.head.pictures(raw_nd)

    def words(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Unit vectors of texts in the shared space."""
        return self.head.sentences(self.sentences(texts))

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        """Unit sentence vectors of MiniLM."""
        return self._sentence_encoder(texts)

    def region_boxes(self, width: int, height: int) -> Float[np.ndarray, "r 4"]:
        """A grid of 6 x 6: the whole picture is stretched into the network's input."""
        return grid_boxes(width, height)

    def background(self, pictures_nd: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """How well each picture answers anything at all; see `head.background`."""
        return self.head.background(pictures_nd)


def _batches(pictures: Sequence[Pixels]) -> Iterator[Sequence[Pixels]]:
    for start in range(0, len(pictures), BATCH):
        yield pictures[start : start + BATCH]


def _stretched(pixels: Pixels) -> Pixels:
    if pixels.shape[:2] == (SIDE, SIDE):
        return pixels
    from PIL import Image

    return np.asarray(Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BICUBIC))


def is_network_exported() -> bool:
    """Whether the network has been exported on this machine; if not, the first use takes half a minute."""
    return exported_network_file(cache_folder()).exists()


def cache_folder() -> Path:
    """Where the exported network is kept, for all libraries of this user."""
    from platformdirs import user_cache_path

    return user_cache_path("viewfinder")
