"""An approximate index over one vector per picture: finds the pictures of a large collection that are near a query.

Every plain query is one inner product: its vector with a picture's, less its `centred` share times the picture's
background. So the background is one more number of every vector, and one index serves words and pictures. It is faiss'
IVF with 8 bits per number: vectors near each other lie in one list, and a query looks into the lists nearest to it. The
caller scores what it finds again, exactly.

How many lists are looked into is measured, not assumed: `IndexCard` has the recall on queries other than those on which
the number was chosen. Nothing here knows a library; faiss is imported when an index is built or read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int64, Shaped

WIDTH_STEP = 16
"""faiss compares this many numbers of a code at once: vectors are padded with zeros."""

AT_ONCE = 65_536
"""Pictures added to an index at once."""

TRAINED_ON = 64
"""Pictures per list on which the lists are chosen."""

ENOUGH_RECALL = 0.98
"""The share of the ten best pictures that an index must find on the queries on which its number of lists is chosen."""

PROBES_STEP = 1.4
"""Each number of lists tried is this many times the one before."""

MEASURED_AT = 10
MEASURED_FROM = 1000
"""Pictures asked for when recall is measured: as many as a turn asks for."""


def has_faiss() -> bool:
    """Whether faiss is installed; it is not imported."""
    return find_spec("faiss") is not None


@dataclass(frozen=True)
class IndexCard:
    """Describes an index, and what was measured of it.

    Attributes:
        trained_on: for how many pictures its lists were chosen.
        lists, probes, probes_against: how many there are; how many a query looks into, and one that something counts
            against: the pictures it finds lie in more of them.
        recall, recall_against: the share of the ten best pictures that such queries find, measured on other queries
            than those on which the numbers were chosen.
        queries: how many queries these were, and of what kind: "captions", "words" or "pictures".
    """

    trained_on: int
    lists: int
    probes: int
    probes_against: int
    recall: float
    recall_against: float
    queries: tuple[int, str]


class ApproximateIndex:
    """Pictures by slot, in the order in which they were added; `ids` are theirs."""

    def __init__(self, index: Any, ids_s: Shaped[np.ndarray, " s"], card: IndexCard) -> None:
        self._index = index
        self.ids_s = ids_s
        self.card = card

    def __len__(self) -> int:
        return len(self.ids_s)

    def search(
        self,
        query_w: Float32[np.ndarray, " w"],
        count: int,
        *,
        against: bool = False,
        allowed_s: Bool[np.ndarray, " s"] | None = None,
    ) -> Int64[np.ndarray, " k"]:
        """Slots of about the best `count` pictures (of those allowed), best first; fewer where there are fewer.

        `against`: whether a part of the query counts against pictures.
        """
        import faiss

        probes = self.card.probes_against if against else self.card.probes
        params = _search_parameters(nprobe=probes)
        if allowed_s is not None:
            # If few are allowed, the best of them lie in lists further away.
            share = max(float(allowed_s.mean()), 1e-6)
            probes = min(math.ceil(probes / math.sqrt(share)), self.card.lists)
            bits = np.packbits(allowed_s, bitorder="little")
            selector = faiss.IDSelectorBitmap(len(allowed_s), faiss.swig_ptr(bits))
            params = _search_parameters(nprobe=probes, sel=selector)
        _, slots_1k = self._index.search(query_w[None], count, params=params)
        return np.asarray(slots_1k[0][slots_1k[0] >= 0])

    def add(self, ids: Sequence[str], vectors_nw: Float32[np.ndarray, "n w"]) -> None:
        """Adds pictures to the existing lists. Nobody may search meanwhile."""
        for start in range(0, len(ids), AT_ONCE):
            self._index.add(vectors_nw[start : start + AT_ONCE])
        self.ids_s = np.concatenate([self.ids_s, encode_ids(ids)])


def encode_ids(ids: Sequence[str]) -> Shaped[np.ndarray, " s"]:
    """Ids as an array that takes a third of the memory and sorts in the same order."""
    return np.asarray([picture.encode() for picture in ids], dtype=np.bytes_)


def padded_width(width: int) -> int:
    """The width of such a vector with the background and padding."""
    return math.ceil((width + 1) / WIDTH_STEP) * WIDTH_STEP


def with_background(
    vectors_nd: Float[np.ndarray, "n d"], background_n: Float[np.ndarray, " n"]
) -> Float32[np.ndarray, "n w"]:
    """Vectors as an index stores them."""
    found_nw = np.zeros((len(vectors_nd), padded_width(vectors_nd.shape[1])), np.float32)
    found_nw[:, : vectors_nd.shape[1]] = vectors_nd
    found_nw[:, vectors_nd.shape[1]] = background_n
    return found_nw


def as_query(vector_d: Float[np.ndarray, " d"], centred: float) -> Float32[np.ndarray, " w"]:
    """A query as an index reads it."""
    return np.asarray(with_background(vector_d[None], np.array([-centred], np.float32))[0])


def build_index(
    ids: Sequence[str],
    matrix_nd: Float[np.ndarray, "n d"],
    background_n: Float[np.ndarray, " n"],
    queries_mw: Float32[np.ndarray, "m w"],
    against_m: Bool[np.ndarray, " m"],
    kind: str,
    *,
    lists: int | None = None,
    seed: int = 0,
) -> ApproximateIndex:
    """An index of all pictures.

    Recall is measured on `queries_mw`, which are of this `kind`; half of them choose the number of lists. In those of
    `against_m` something counts against pictures. At least four queries are needed, two of either sort.
    """
    import faiss

    rng = np.random.default_rng(seed)
    count = len(matrix_nd)
    lists = max(round(math.sqrt(count)), 1) if lists is None else lists
    sample_k = np.sort(rng.choice(count, min(count, lists * TRAINED_ON), replace=False))
    width = queries_mw.shape[1]
    made = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatIP(width), width, lists, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    made.cp.niter, made.cp.seed = 10, seed + 1
    made.cp.max_points_per_centroid, made.cp.min_points_per_centroid = TRAINED_ON, 1
    made.train(with_background(matrix_nd[sample_k], background_n[sample_k]))
    for start in range(0, count, AT_ONCE):
        block = slice(start, start + AT_ONCE)
        made.add(with_background(matrix_nd[block], background_n[block]))
    best_mk = exact_best(matrix_nd, background_n, queries_mw, min(MEASURED_AT, count))
    probes, recall = _choose_probes(made, queries_mw[~against_m], best_mk[~against_m])
    probes_against, recall_against = _choose_probes(made, queries_mw[against_m], best_mk[against_m])
    judged = (len(queries_mw) // 2, kind)
    card = IndexCard(count, lists, probes, probes_against, round(recall, 4), round(recall_against, 4), judged)
    return ApproximateIndex(made, encode_ids(ids), card)


def _choose_probes(
    index: Any, queries_mw: Float32[np.ndarray, "m w"], best_mk: Int64[np.ndarray, "m k"]
) -> tuple[int, float]:
    """The fewest lists with which every other query finds enough, and the recall with them on the rest."""
    probes = 1
    while probes < index.nlist and _recall(index, queries_mw[::2], best_mk[::2], probes) < ENOUGH_RECALL:
        probes = min(math.ceil(probes * PROBES_STEP), index.nlist)
    return probes, _recall(index, queries_mw[1::2], best_mk[1::2], probes)


def exact_best(
    matrix_nd: Float[np.ndarray, "n d"],
    background_n: Float[np.ndarray, " n"],
    queries_mw: Float32[np.ndarray, "m w"],
    count: int,
) -> Int64[np.ndarray, "m k"]:
    """Rows of the best pictures for every query, by a scan of all, in no order."""
    scores: list[np.ndarray] = []
    rows: list[np.ndarray] = []
    for start in range(0, len(matrix_nd), AT_ONCE):
        block = slice(start, start + AT_ONCE)
        scores_mb = queries_mw @ with_background(matrix_nd[block], background_n[block]).T
        best_mk = np.argpartition(-scores_mb, min(count, scores_mb.shape[1]) - 1, axis=1)[:, :count]
        scores.append(np.take_along_axis(scores_mb, best_mk, axis=1))
        rows.append(best_mk + start)
    scores_mc, rows_mc = np.concatenate(scores, axis=1), np.concatenate(rows, axis=1)
    best_mk = np.argpartition(-scores_mc, count - 1, axis=1)[:, :count]
    return np.asarray(np.take_along_axis(rows_mc, best_mk, axis=1), np.int64)


def _recall(
    index: Any, queries_mw: Float32[np.ndarray, "m w"], best_mk: Int64[np.ndarray, "m k"], probes: int
) -> float:
    _, found_mk = index.search(queries_mw, MEASURED_FROM, params=_search_parameters(nprobe=probes))
    return float(np.mean([np.isin(best_k, found_k).mean() for best_k, found_k in zip(best_mk, found_mk, strict=True)]))


def _search_parameters(**settings: Any) -> Any:
    import faiss

    make: Any = faiss.SearchParametersIVF  # whose own type stubs know none of its settings
    return make(**settings)


def save_index(index: ApproximateIndex, file: Path) -> None:
    """Writes an index; a zip file's own checksums reveal damage."""
    import faiss

    np.savez(
        file,
        index=faiss.serialize_index(index._index),
        ids=index.ids_s,
        pictures=len(index),
        card=np.array(json.dumps(asdict(index.card))),
    )


def load_index(file: Path) -> ApproximateIndex:
    """An index as it was saved. Raises OSError; ValueError, KeyError, zipfile.BadZipFile: the file is damaged."""
    import faiss

    with np.load(file) as stored:
        index, ids_s = faiss.deserialize_index(stored["index"]), stored["ids"]
    return ApproximateIndex(index, ids_s, load_card(file)[0])


def load_card(file: Path) -> tuple[IndexCard, int]:
    """The card of a saved index, and how many pictures it has, without reading the index. Raises as `load_index`."""
    with np.load(file) as stored:
        card, pictures = json.loads(str(stored["card"])), int(stored["pictures"])
    return IndexCard(**card | {"queries": tuple(card["queries"])}), pictures
