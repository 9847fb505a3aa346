"""A million vectors distributed as those of real photographs are, and the sentences that people wrote about some.

A new vector is a photograph's, moved along directions in which real neighbours differ: the difference between another
photograph and one of its nearest neighbours, times a share. So it stays where photographs lie. The share sets how near
its own neighbours are, and `fit_share` chooses it: among as many made vectors as there are photographs, nearest
neighbours must be as near as those of the photographs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float16, Float32, Int64

from viewfinder.data.splits import part_of, read_photographs
from viewfinder.encoders import Encoder
from viewfinder.pictures import Limits
from viewfinder.pictures.decode import decode

BATCH = 64


@dataclass(frozen=True, eq=False)
class Photographs:
    """Real photographs as vectors of length 1, and the captions of those of `report` that have three or more."""

    vectors_nd: Float32[np.ndarray, "n d"]
    captions: tuple[tuple[str, ...], ...]


def read_vectors(data: Path, work: Path, encoder: Encoder) -> Photographs:
    """All photographs below `data`, encoded once and kept in `work`."""
    pictures = [picture for found in read_photographs(data).values() for picture in found]
    names = [picture.path.name for picture in pictures]
    reported = (picture for picture in pictures if part_of(picture.path.name) == "report")
    captions = tuple(picture.captions for picture in reported if len(picture.captions) >= 3)
    file = work / f"photographs-{encoder.version}.npz"
    if file.exists():
        with np.load(file) as kept:
            if kept["names"].tolist() == names:
                return Photographs(kept["vectors_nd"], captions)
    blocks = []
    for start in range(0, len(pictures), BATCH):
        files = [picture.path.read_bytes() for picture in pictures[start : start + BATCH]]
        pixels = [decode(content, limits=Limits(), fit=encoder.fit).pixels for content in files]
        blocks.append(np.asarray(encoder.project(encoder.pictures(pixels).global_bd), np.float32))
        print(f"{start + len(files):,} of {len(pictures):,} photographs encoded", flush=True)
    vectors_nd = np.concatenate(blocks)
    work.mkdir(parents=True, exist_ok=True)
    np.savez(file, vectors_nd=vectors_nd, names=np.array(names))
    return Photographs(vectors_nd, captions)


NEIGHBOURS = 10
"""Nearest photographs that one is recombined with, and whose differences it is moved by."""


def nearest(vectors_nd: Float32[np.ndarray, "n d"], count: int) -> Int64[np.ndarray, "n k"]:
    """The nearest others of every picture, nearest first."""
    found = []
    for start in range(0, len(vectors_nd), 1024):
        alike_bn = vectors_nd[start : start + 1024] @ vectors_nd.T
        alike_bn[np.arange(len(alike_bn)), np.arange(start, start + len(alike_bn))] = -np.inf
        best_bk = np.argpartition(-alike_bn, count, axis=1)[:, :count]
        order_bk = np.argsort(-np.take_along_axis(alike_bn, best_bk, axis=1), axis=1)
        found.append(np.take_along_axis(best_bk, order_bk, axis=1))
    return np.concatenate(found)


def grow(
    photos_nd: Float32[np.ndarray, "n d"], near_nk: Int64[np.ndarray, "n k"], count: int, share: float, seed: int
) -> Iterator[Float32[np.ndarray, "b d"]]:
    """`count` new vectors in blocks: a point between two neighbours, moved by `share` of what parts two others."""
    rng = np.random.default_rng(seed)
    for start in range(0, count, 65_536):
        size = min(65_536, count - start)
        one_b, other_b = rng.integers(len(photos_nd), size=(2, size))
        beside_b, apart_b = (near_nk[row_b, rng.integers(near_nk.shape[1], size=size)] for row_b in (one_b, other_b))
        mix_b1 = rng.uniform(0, 0.5, size=(size, 1)).astype(np.float32)
        made_bd = (1 - mix_b1) * photos_nd[one_b] + mix_b1 * photos_nd[beside_b]
        made_bd += np.float32(share) * (photos_nd[other_b] - photos_nd[apart_b])
        yield made_bd / np.linalg.norm(made_bd, axis=1, keepdims=True)


def likeness_to_nearest(vectors_nd: Float32[np.ndarray, "n d"]) -> Float32[np.ndarray, " n"]:
    """How like every picture is to the one that is nearest to it."""
    near_n = nearest(vectors_nd, 1)[:, 0]
    return np.asarray((vectors_nd * vectors_nd[near_n]).sum(axis=1))


def fit_share(photos_nd: Float32[np.ndarray, "n d"], near_nk: Int64[np.ndarray, "n k"], seed: int) -> float:
    """The share with which as many new pictures are as near to their nearest as photographs are, by the median."""
    wanted = float(np.median(likeness_to_nearest(photos_nd)))
    low, high = 0.0, 2.0
    for _ in range(8):
        share = (low + high) / 2
        made_nd = np.concatenate(list(grow(photos_nd, near_nk, len(photos_nd), share, seed)))
        if float(np.median(likeness_to_nearest(made_nd))) > wanted:
            low = share
        else:
            high = share
    return (low + high) / 2


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SEED = 0


@dataclass(frozen=True, eq=False)
class VectorRecipe:
    """How new vectors are made of photographs."""

    near_nk: Int64[np.ndarray, "n k"]
    share: float


def describe_likeness(photos: Photographs, texts_md: Float32[np.ndarray, "m d"]) -> tuple[dict[str, Any], VectorRecipe]:
    """The recipe, and how near pictures are to their nearest, and sentences to their best: photographs and as many new.

    Sentences are compared with the best picture, the tenth and the hundredth.
    """
    real_nd = photos.vectors_nd
    near_nk = nearest(real_nd, min(NEIGHBOURS, len(real_nd) - 1))
    recipe = VectorRecipe(near_nk, fit_share(real_nd, near_nk, SEED))
    made_nd = np.concatenate(list(grow(real_nd, near_nk, len(real_nd), recipe.share, SEED + 1)))
    found: dict[str, Any] = {"photographs": len(real_nd), "sentences": len(texts_md), "share": round(recipe.share, 4)}
    found |= {"quantiles": QUANTILES, "seed": SEED}
    for name, vectors_nd in (("real", real_nd), ("made", made_nd)):
        sorted_mn = np.sort(texts_md @ vectors_nd.T, axis=1)
        found[name] = {
            "nearest picture": _quantiles(likeness_to_nearest(vectors_nd)),
            **{f"best {k} of a sentence": _quantiles(sorted_mn[:, -k]) for k in (1, 10, 100) if k <= len(vectors_nd)},
        }
    return found, recipe


def make_vectors(photos: Photographs, recipe: VectorRecipe, count: int, work: Path) -> Float16[np.ndarray, "n d"]:
    """`count` new vectors in half precision, as a library stores them, mapped from a file that is made once."""
    stem = work / f"made-{count}-{recipe.share:.4f}"
    made = grow(photos.vectors_nd, recipe.near_nk, count, recipe.share, SEED + 2)
    return write_parts(stem, np.float16, (count, photos.vectors_nd.shape[1]), made)


def write_parts(stem: Path, dtype: Any, shape: tuple[int, ...], blocks: Iterator[np.ndarray]) -> np.ndarray:
    """An array, mapped from a file that is written block by block, once."""
    file = stem.with_name(f"{stem.name}.npy")
    if not file.exists():
        beside = stem.with_name(f"{stem.name}.part.npy")
        with beside.open("wb") as stream:
            header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(stream, header)
            for block in blocks:
                stream.write(np.ascontiguousarray(block, dtype).data)
        beside.replace(file)
    return np.asarray(np.load(file, mmap_mode="r"))


def _quantiles(values_n: Float32[np.ndarray, " n"]) -> list[float]:
    return [round(float(value), 3) for value in np.quantile(values_n, QUANTILES)]
