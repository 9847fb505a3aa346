"""Randomness: one seed for all generators, and their states as tensors and JSON."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor


def seed_all(seed: int) -> None:
    """Seed the generators of python, numpy and torch (all devices)."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def random_state() -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Where all generators stand: tensors, and what else there is, fit for JSON."""
    version, words, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    tensors = {
        "python": torch.tensor(words),
        "numpy": torch.from_numpy(np.asarray(keys).astype(np.int64)),
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_available():
        tensors["cuda"] = torch.cuda.get_rng_state()
    return tensors, {"python": [version, gauss], "numpy": [name, int(position), int(has_gauss), float(cached)]}


def set_random_state(tensors: Mapping[str, Tensor], record: Mapping[str, Any]) -> None:
    """Put all generators where `random_state` found them."""
    version, gauss = record["python"]
    random.setstate((version, tuple(tensors["python"].tolist()), gauss))
    name, position, has_gauss, cached = record["numpy"]
    np.random.set_state((name, tensors["numpy"].numpy().astype(np.uint32), position, has_gauss, cached))
    torch.set_rng_state(tensors["torch"])
    if "cuda" in tensors and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors["cuda"])


@contextmanager
def own_randomness(seed: int) -> Iterator[None]:
    """What happens inside has the random numbers of `seed` and leaves no trace in those outside."""
    before = random_state()
    seed_all(seed)
    try:
        yield
    finally:
        set_random_state(*before)
