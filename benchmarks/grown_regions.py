"""Collections of any size whose regions are distributed as real ones are: real pictures, recombined.

Random unit vectors are nearly orthogonal: nothing but the target resembles the query, and every shortcut finds it.
So regions of real pictures are projected onto their principal components and scaled to length 1, as by a trained
network. A grown picture takes the upper regions of one real picture and the lower ones of another, and blends in half
of a third: neighbours stay alike, and in a million pictures every real region has about 150 near-copies (cosine 0.8 or
so) that a search must tell apart.

Axes: `n` pictures, `r` regions, `e` numbers of a raw region, `d` of a projected one, `m` query vectors, `p` real
pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int

PIECE = 4096
"""Pictures that are made at a time; a multiple of what any layout takes together."""

THIRD, QUERY_NOISE = 0.5, 1.0


@dataclass(frozen=True)
class Grown:
    """A collection of `pictures`, made piece by piece and always the same."""

    real_prd: Float32[np.ndarray, "p r d"]
    pictures: int

    @staticmethod
    def of(features: Path, width: int, pictures: int) -> Grown:
        """A collection grown from a folder of `viewfinder features`, with its `regions-*.npy`."""
        [path] = features.glob("regions-*.npy")
        return Grown(principal(np.load(path, mmap_mode="r"), width), pictures)

    @property
    def regions(self) -> int:
        """Regions of a picture."""
        return int(self.real_prd.shape[1])

    @property
    def width(self) -> int:
        """Numbers of a region."""
        return int(self.real_prd.shape[2])

    def pieces(self) -> Iterator[tuple[int, Float32[np.ndarray, "n r d"]]]:
        """The row of the first picture, and the pictures, up to `PIECE` at a time."""
        for start in range(0, self.pictures, PIECE):
            yield start, self._piece(start, min(PIECE, self.pictures - start))

    def of_rows(self, rows_k: Int[np.ndarray, " k"]) -> Float32[np.ndarray, "k r d"]:
        """Some pictures, by ascending rows: made again."""
        chosen_krd = np.empty((len(rows_k), self.regions, self.width), np.float32)
        for start in np.unique(rows_k // PIECE) * PIECE:
            inside_k = rows_k // PIECE * PIECE == start
            piece_nrd = self._piece(int(start), min(PIECE, self.pictures - int(start)))
            chosen_krd[inside_k] = piece_nrd[rows_k[inside_k] - start]
        return chosen_krd

    def queries(self, count: int, vectors: int, seed: int) -> Sequence[Float32[np.ndarray, "m d"]]:
        """Queries after some picture each: every vector near another of its regions (cosines of about 0.7)."""
        random = np.random.default_rng([seed, vectors])
        targets = np.sort(random.choice(self.pictures, count, replace=False))
        spread_d = QUERY_NOISE * self._spread_d()
        queries = []
        for picture_rd in self.of_rows(targets):
            near_md = picture_rd[random.choice(self.regions, vectors, replace=False)]
            noise_md = spread_d * random.standard_normal(near_md.shape, dtype=np.float32)
            queries.append(unit(near_md + noise_md))
        return queries

    def _piece(self, start: int, count: int) -> Float32[np.ndarray, "n r d"]:
        random = np.random.default_rng([7, start])
        upper_n1, lower_n1, third_n1 = random.integers(0, len(self.real_prd), (3, count, 1))
        places_r = np.arange(self.regions)
        cut_n1 = random.integers(self.regions // 3, self.regions + 1, (count, 1))
        grown_nrd = self.real_prd[third_n1, places_r]
        grown_nrd *= THIRD
        grown_nrd += self.real_prd[np.where(places_r < cut_n1, upper_n1, lower_n1), places_r]
        return unit(grown_nrd)

    def _spread_d(self) -> Float32[np.ndarray, " d"]:
        """The deviation of real regions in each direction."""
        return np.asarray(self.real_prd[::20].std(axis=(0, 1)), np.float32)


def principal(raw_pre: Float[np.ndarray, "p r e"], width: int) -> Float32[np.ndarray, "p r d"]:
    """Regions on their first principal components, each brought to length 1."""
    sample = np.asarray(raw_pre[:: max(1, len(raw_pre) // 600)], np.float32).reshape(-1, raw_pre.shape[2])
    mean_e = sample.mean(axis=0)
    _, directions_ee = np.linalg.eigh(np.cov((sample - mean_e).T))
    first_ed = np.ascontiguousarray(directions_ee[:, ::-1][:, :width], np.float32)
    batches = (np.asarray(raw_pre[at : at + 500], np.float32) for at in range(0, len(raw_pre), 500))
    return np.concatenate([unit((batch - mean_e) @ first_ed) for batch in batches])


def unit(vectors: Float32[np.ndarray, "*n d"]) -> Float32[np.ndarray, "*n d"]:
    """Vectors brought to length 1."""
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors
