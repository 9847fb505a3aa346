"""The starter, with a memory for texts: systems that are compared are told the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.starter import StarterEncoder


class RememberingEncoder(StarterEncoder):
    """The starter, which encodes each text once."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple[str, str], Float[np.ndarray, " d"]] = {}

    def words(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Vectors in the space of the pictures."""
        return self._encode_once("words", super().words, texts)

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        """Frozen sentence vectors."""
        return self._encode_once("sentences", super().sentences, texts)

    def _encode_once(
        self, kind: str, read: Callable[[Sequence[str]], Float[np.ndarray, "n d"]], texts: Sequence[str]
    ) -> Float[np.ndarray, "n d"]:
        if new := list(dict.fromkeys(text for text in texts if (kind, text) not in self._known)):
            self._known |= {(kind, text): row_d for text, row_d in zip(new, read(new), strict=True)}
        return np.stack([self._known[kind, text] for text in texts]) if texts else read(texts)
