"""An approximate index over one vector per picture: finds the pictures of a large collection that are near a query.

Every plain query is one inner product: its vector with a picture's, less its `centred` share times the picture's
background. So the background is one more number of every vector, and one index serves words and pictures. It is faiss'
IVF with two bits per number (RaBitQ): vectors near each other lie in one list, and a query looks into the lists nearest
to it. Two bits rank roughly: of a thousand candidates, which the caller scores again exactly, the best ten are those of
eight bits (`benchmarks/index_codes.py`). Their range is learnt of no picture, so later ones may be of another kind.

How many lists are looked into is measured, not assumed: `IndexCard` has the recall on queries other than those on which
the number was chosen. Lists suit the pictures for which they were chosen, so pictures that came later are measured by
themselves, too. Nothing here knows a library; faiss is imported when an index is built or read.
"""

from __future__ import annotations

import json
import math
import os
import struct
import sys
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int64, Shaped

from viewfinder.store.checked_files import note_checked, was_checked
from viewfinder.store.half_rows import HalfRows
from viewfinder.store.packed_ids import PackedIds

WIDTH_STEP = 16
"""faiss compares this many numbers of a code at once: vectors are padded with zeros."""

MAX_ADDED_AT_ONCE = 65_536
"""Pictures added to an index at once."""

TRAINED_ON, ROUNDS = 64, 10
"""Pictures per list on which the lists are chosen, and how often they are moved to the middle of theirs."""

COMPARED_AT_ONCE = 1024
"""Pictures whose nearest lists are found at once: their products stay in the processor's cache."""

ENOUGH_RECALL, ENOUGH_OF_SAYINGS = 0.98, 0.95
"""The share of the ten best pictures that an index must find on the queries on which its number of lists is chosen, and
on sayings: most of these hold for no picture, so that the best lie far apart. What people write of pictures lies
between both."""

SAME_RECALL = 0.005
"""Recalls that differ by less are alike: so many fewer of the best are found in a fraction of the lists."""

PROBES_STEP = 1.4
"""Each number of lists tried is this many times the one before."""

READ_AT_ONCE, ZIP_HEADER = 1 << 22, 30
"""Bytes of an entry that are read at once while its checksum is compared, and those that stand before its name."""

BITS, QUERY_BITS = 2, 8
"""Bits of each number of a picture, and of a query (faiss' default is 4)."""

WRITTEN_AT_ONCE = 1 << 20
"""Bytes of an index that are written at once."""

VERSION = 3
"""The version of saved indexes: one of another version is made anew."""

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
            than those on which the numbers were chosen, and again whenever pictures were added.
        recall_added: the same of queries like the pictures that were added last; None if they were not measured by
            themselves.
        queries: how many queries these were, and of what kind: "captions", "words", "sayings" or "pictures".
    """

    trained_on: int
    lists: int
    probes: int
    probes_against: int
    recall: float
    recall_against: float
    queries: tuple[int, str]
    recall_added: float | None = None

    @property
    def least_recall(self) -> float:
        """The recall of those queries that find least."""
        return min(self.recall, self.recall_against, 1.0 if self.recall_added is None else self.recall_added)


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries on which an index is measured.

    Attributes:
        against_m: in which of them something counts against pictures.
        kind: of what they are made: "captions", "words", "sayings" or "pictures".
        added_m: which are like the pictures that were added last; None: that is not asked.
        sayings_bw: what people may say to any library, on which the number of lists is chosen as well; None: nothing.
    """

    vectors_mw: Float32[np.ndarray, "m w"]
    against_m: Bool[np.ndarray, " m"]
    kind: str
    added_m: Bool[np.ndarray, " m"] | None = None
    sayings_bw: Float32[np.ndarray, "b w"] | None = None

    def __len__(self) -> int:
        return len(self.vectors_mw)

    def split(self) -> tuple[Bool[np.ndarray, " m"], Bool[np.ndarray, " m"]]:
        """Which queries are like any picture, and which like those added last."""
        added_m = np.zeros(len(self), bool) if self.added_m is None else self.added_m
        return ~added_m, added_m

    def halve(self) -> Bool[np.ndarray, " m"]:
        """Every other query of each sort."""
        half_m = np.zeros(len(self), bool)
        for group_m in self.split():
            for sort_m in (~self.against_m, self.against_m):
                half_m[np.flatnonzero(group_m & sort_m)[::2]] = True
        return half_m

    def joined(self, added: Queries) -> Queries:
        """These queries, and others that are like the pictures added last."""
        return Queries(
            np.concatenate([self.vectors_mw, added.vectors_mw]),
            np.concatenate([self.against_m, added.against_m]),
            self.kind,
            np.arange(len(self) + len(added)) >= len(self),
            self.sayings_bw,
        )


@dataclass(frozen=True, eq=False)
class Lists:
    """faiss' lists of vectors that are rotated at random: their bits suit vectors in which no number is special.

    The rotation is kept with them: another machine may compute another one of the same seed.
    """

    index: Any
    rotation_ww: Float32[np.ndarray, "w w"]
    middles_lw: Float32[np.ndarray, "l w"]

    @staticmethod
    def of(sample_kw: Float32[np.ndarray, "k w"], lists: int, seed: int) -> Lists:
        """Empty lists, chosen for these vectors."""
        import faiss

        rng = np.random.default_rng(seed)
        width = sample_kw.shape[1]
        turned_ww = np.asarray(np.linalg.qr(rng.standard_normal((width, width)))[0], np.float32)
        turned_kw = np.ascontiguousarray(sample_kw @ turned_ww)
        middles_lw = choose_middles(turned_kw, lists, rng)
        coarse = faiss.IndexFlatIP(width)
        coarse.add(middles_lw)
        made = faiss.IndexIVFRaBitQ(coarse, width, lists, faiss.METRIC_INNER_PRODUCT, True, BITS)
        made.train(turned_kw)
        return Lists(made, turned_ww, middles_lw)

    def add(self, vectors_nw: Float32[np.ndarray, "n w"]) -> None:
        """Adds vectors, a block at a time."""
        import faiss

        for start in range(0, len(vectors_nw), MAX_ADDED_AT_ONCE):
            block_bw = self._turn(vectors_nw[start : start + MAX_ADDED_AT_ONCE])
            list_b = nearest_middles(block_bw, self.middles_lw)
            self.index.add_core(len(block_bw), faiss.swig_ptr(block_bw), None, faiss.swig_ptr(list_b))

    def search(
        self, queries_mw: Float32[np.ndarray, "m w"], count: int, probes: int, selector: Any = None
    ) -> Int64[np.ndarray, "m k"]:
        """Slots of about the best for every query, looked for in so many lists; -1 where there are no more."""
        import faiss

        settings: Any = faiss.IVFRaBitQSearchParameters()  # with a filter, faiss forgets what was set before
        settings.nprobe, settings.qb = probes, QUERY_BITS
        if selector is not None:
            settings.sel = selector
        _, slots_mk = self.index.search(self._turn(queries_mw), count, params=settings)
        return np.asarray(slots_mk)

    def _turn(self, vectors_nw: Float32[np.ndarray, "n w"]) -> Float32[np.ndarray, "n w"]:
        return np.ascontiguousarray(vectors_nw @ self.rotation_ww)


def choose_middles(
    sample_kw: Float32[np.ndarray, "k w"], lists: int, rng: np.random.Generator
) -> Float32[np.ndarray, "l w"]:
    """Middles of lists, of length 1, such that these vectors lie near the middle of theirs (spherical k-means)."""
    middles_lw = sample_kw[np.sort(rng.choice(len(sample_kw), lists, replace=False))]
    for _ in range(ROUNDS):
        list_k = nearest_middles(sample_kw, middles_lw)
        order_k = np.argsort(list_k, kind="stable")
        held, first = np.unique(list_k[order_k], return_index=True)
        # A list that is nearest to none begins anew at one of the vectors.
        middles_lw = sample_kw[rng.choice(len(sample_kw), lists)]
        middles_lw[held] = np.add.reduceat(sample_kw[order_k], first, axis=0)
        middles_lw /= np.maximum(np.linalg.norm(middles_lw, axis=1, keepdims=True), 1e-12)
    return middles_lw


def nearest_middles(
    vectors_nw: Float32[np.ndarray, "n w"], middles_lw: Float32[np.ndarray, "l w"]
) -> Int64[np.ndarray, " n"]:
    """The list of the largest inner product for every vector; faiss' own way takes longer (`findings/`)."""
    starts = range(0, len(vectors_nw), COMPARED_AT_ONCE)
    found = [(vectors_nw[start : start + COMPARED_AT_ONCE] @ middles_lw.T).argmax(axis=1) for start in starts]
    return np.concatenate([np.empty(0, np.int64), *found])


class ApproximateIndex:
    """Pictures by slot, in the order in which they were added; `ids` are theirs."""

    def __init__(self, lists: Lists, ids_s: Shaped[np.ndarray, " s"], card: IndexCard) -> None:
        self.lists = lists
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
        deeper: int = 1,
    ) -> Int64[np.ndarray, " k"]:
        """Slots of about the best `count` pictures (of those allowed), best first; fewer where there are fewer.

        `against`: whether a part of the query counts against pictures. `deeper`: into that many times as many lists.
        """
        import faiss

        probes = min(deeper * (self.card.probes_against if against else self.card.probes), self.card.lists)
        selector = None
        if allowed_s is not None:
            # If few are allowed, the best of them lie in lists further away: as many of them are compared as of all
            # without a filter, and going over the others of a list costs a fiftieth of that.
            share = max(float(allowed_s.mean()), 1e-6)
            probes = min(math.ceil(probes / share), self.card.lists)
            bits = np.packbits(allowed_s, bitorder="little")
            selector = faiss.IDSelectorBitmap(len(allowed_s), faiss.swig_ptr(bits))
        slots_1k = self.lists.search(query_w[None], count, probes, selector)
        return np.asarray(slots_1k[0][slots_1k[0] >= 0])

    def add(self, ids: Sequence[str] | Shaped[np.ndarray, " n"], vectors_nw: Float32[np.ndarray, "n w"]) -> None:
        """Adds pictures to the existing lists. No search may run meanwhile."""
        self.lists.add(vectors_nw)
        self.ids_s = np.concatenate([self.ids_s, encode_ids(ids)])


def encode_ids(ids: Sequence[str] | Shaped[np.ndarray, " s"]) -> Shaped[np.ndarray, " s"]:
    """Ids as an array that takes a third of the memory and sorts in the same order; mapped if a snapshot's are."""
    if isinstance(ids, np.ndarray):  # it is one
        return ids
    if isinstance(ids, PackedIds):
        return ids.encode()
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
    ids: Sequence[str] | Shaped[np.ndarray, " n"],
    matrix_nd: Float[np.ndarray, "n d"] | HalfRows,
    background_n: Float[np.ndarray, " n"],
    queries: Queries,
    *,
    lists: int | None = None,
    seed: int = 0,
) -> ApproximateIndex:
    """An index of all pictures; they are read a block at a time, so that mapped ones need not fit into memory.

    Recall is measured on the queries; half of them choose how many lists are looked into: so many that queries like the
    pictures added last find as much as others. At least four are needed, two of either sort.
    """
    rng = np.random.default_rng(seed)
    count = len(matrix_nd)
    lists = max(round(math.sqrt(count)), 1) if lists is None else lists
    sample_k = np.sort(rng.choice(count, min(count, lists * TRAINED_ON), replace=False))
    made = Lists.of(with_background(matrix_nd[sample_k], background_n[sample_k]), lists, seed)
    for start in range(0, count, MAX_ADDED_AT_ONCE):
        block = slice(start, start + MAX_ADDED_AT_ONCE)
        made.add(with_background(matrix_nd[block], background_n[block]))
    best_mk = exact_best(matrix_nd, background_n, queries.vectors_mw, min(MEASURED_AT, count))
    chooses_m = queries.halve()
    probes, probes_against = (
        _choose_probes(made, queries, best_mk, chooses_m & (queries.against_m == against)) for against in (False, True)
    )
    if (sayings_bw := queries.sayings_bw) is not None:
        best_bk = exact_best(matrix_nd, background_n, sayings_bw, min(MEASURED_AT, count))
        for_sayings = _find_fewest(made, [(sayings_bw, best_bk)], ENOUGH_OF_SAYINGS)
        probes, probes_against = max(probes, for_sayings), max(probes_against, for_sayings)
    card = IndexCard(count, lists, probes, probes_against, 0.0, 0.0, (0, queries.kind))
    found = ApproximateIndex(made, encode_ids(ids), card)
    found.card = _measure(found, queries, best_mk, ~chooses_m)
    return found


def measure_index(
    index: ApproximateIndex,
    row_s: Int64[np.ndarray, " s"],
    matrix_nd: Float[np.ndarray, "n d"] | HalfRows,
    background_n: Float[np.ndarray, " n"],
    queries: Queries,
) -> IndexCard:
    """The card of an index with what all of these queries find now; `row_s`: the row of the picture in each slot."""
    best_mk = exact_best(matrix_nd, background_n, queries.vectors_mw, min(MEASURED_AT, len(matrix_nd)))
    return _measure(index, queries, best_mk, np.ones(len(queries), bool), row_s)


def _measure(
    index: ApproximateIndex,
    queries: Queries,
    best_mk: Int64[np.ndarray, "m k"],
    measured_m: Bool[np.ndarray, " m"],
    row_s: Int64[np.ndarray, " s"] | None = None,
) -> IndexCard:
    """The card with what the queries find, those that are measured; None: the slots are the rows."""
    share_m = np.zeros(len(queries), np.float32)
    for against, probes in ((False, index.card.probes), (True, index.card.probes_against)):
        asked_m = measured_m & (queries.against_m == against)
        share_m[asked_m] = _recalls(index.lists, queries.vectors_mw[asked_m], best_mk[asked_m], probes, row_s)
    first_m, added_m = (measured_m & group_m for group_m in queries.split())
    return replace(
        index.card,
        recall=_mean(share_m[first_m & ~queries.against_m]),
        recall_against=_mean(share_m[first_m & queries.against_m]),
        recall_added=_mean(share_m[added_m]) if added_m.any() else None,
        queries=(int(measured_m.sum()), queries.kind),
    )


def _choose_probes(
    lists: Lists, queries: Queries, best_mk: Int64[np.ndarray, "m k"], chooses_m: Bool[np.ndarray, " m"]
) -> int:
    """The fewest lists with which the queries that choose find enough, those of either kind of picture."""
    groups = [chosen_m for group_m in queries.split() if (chosen_m := chooses_m & group_m).any()]
    return _find_fewest(lists, [(queries.vectors_mw[one_m], best_mk[one_m]) for one_m in groups], ENOUGH_RECALL)


def _find_fewest(
    lists: Lists,
    groups: Sequence[tuple[Float32[np.ndarray, "m w"], Int64[np.ndarray, "m k"]]],
    enough: float,
) -> int:
    """The fewest lists with which every group of queries, each with its best pictures, finds enough of them.

    Where all lists do not find enough, the fewest that find as much as all, but for `SAME_RECALL`.
    """

    probes, tried = 1, list[tuple[int, list[float]]]()
    while True:
        recalls = [float(_recalls(lists, vectors_mw, best_mk, probes).mean()) for vectors_mw, best_mk in groups]
        tried.append((probes, recalls))
        if min(recalls, default=1.0) >= enough:
            return probes
        if probes == lists.index.nlist:
            break
        probes = min(math.ceil(probes * PROBES_STEP), lists.index.nlist)
    # What all lists do not find is lost in the codes, and fewer find as much.
    return next(
        fewest
        for fewest, found in tried
        if all(one >= most - SAME_RECALL for one, most in zip(found, recalls, strict=True))
    )


def exact_best(
    matrix_nd: Float[np.ndarray, "n d"] | HalfRows,
    background_n: Float[np.ndarray, " n"],
    queries_mw: Float32[np.ndarray, "m w"],
    count: int,
) -> Int64[np.ndarray, "m k"]:
    """Rows of the best pictures for every query, by a scan of all, in no order."""
    scores: list[np.ndarray] = []
    rows: list[np.ndarray] = []
    for start in range(0, len(matrix_nd), MAX_ADDED_AT_ONCE):
        block = slice(start, start + MAX_ADDED_AT_ONCE)
        scores_mb = queries_mw @ with_background(matrix_nd[block], background_n[block]).T
        best_mk = np.argpartition(-scores_mb, min(count, scores_mb.shape[1]) - 1, axis=1)[:, :count]
        scores.append(np.take_along_axis(scores_mb, best_mk, axis=1))
        rows.append(best_mk + start)
    scores_mc, rows_mc = np.concatenate(scores, axis=1), np.concatenate(rows, axis=1)
    best_mk = np.argpartition(-scores_mc, count - 1, axis=1)[:, :count]
    return np.asarray(np.take_along_axis(rows_mc, best_mk, axis=1), np.int64)


def _recalls(
    lists: Lists,
    queries_mw: Float32[np.ndarray, "m w"],
    best_mk: Int64[np.ndarray, "m k"],
    probes: int,
    row_s: Int64[np.ndarray, " s"] | None = None,
) -> Float32[np.ndarray, " m"]:
    """The share of its best pictures that each query finds."""
    if not len(queries_mw):
        return np.empty(0, np.float32)
    found_mk = lists.search(queries_mw, MEASURED_FROM, probes)
    if row_s is not None:
        found_mk = np.where(found_mk >= 0, row_s[found_mk], -1)
    shares = [np.isin(best_k, found_k).mean() for best_k, found_k in zip(best_mk, found_mk, strict=True)]
    return np.asarray(shares, np.float32)


def _mean(share_m: Float32[np.ndarray, " m"]) -> float:
    return round(float(share_m.mean()), 4) if len(share_m) else 1.0


class UnusableIndex(Exception):
    """A saved index that is damaged, of another version, or of another collection: make it anew."""


def save_index(index: ApproximateIndex, file: Path) -> None:
    """Writes an index; when this returns it is on the disk. A zip file's own checksums reveal damage.

    It is an npz file, whose largest array is written piece by piece: no second index is in memory meanwhile.
    """
    card = np.array(json.dumps(asdict(index.card)))
    small = {"version": np.array(VERSION), "pictures": np.array(len(index)), "card": card}
    with file.open("wb") as stream:
        with zipfile.ZipFile(stream, "w") as stored:
            for name, array in {**small, "rotation": index.lists.rotation_ww, "ids": index.ids_s}.items():
                with stored.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, np.asarray(array), allow_pickle=False)
            with stored.open("index.npy", "w", force_zip64=True) as entry:
                header = {"descr": "|u1", "fortran_order": False, "shape": (_count_bytes(index.lists.index),)}
                np.lib.format.write_array_header_1_0(entry, header)
                _write_lists(index.lists.index, entry.write)
        stream.flush()
        os.fsync(stream.fileno())


def _write_lists(lists: Any, write: Callable[[bytes], object]) -> None:
    import faiss

    make: Any = faiss.PyCallbackIOWriter  # type: ignore[attr-defined]  # its stubs do not know it
    faiss.write_index(lists, make(write, WRITTEN_AT_ONCE))


def _count_bytes(lists: Any) -> int:
    sizes: list[int] = []
    _write_lists(lists, lambda written: sizes.append(len(written)))
    return sum(sizes)


def load_index(file: Path, width: int, *, grows: bool = False) -> ApproximateIndex:
    """An index as it was saved, over vectors of this width. Raises UnusableIndex: anything about it is wrong.

    It is mapped, so that a search has in memory what it looked into, and processes share it; one that `grows` is read.
    """
    import faiss

    try:
        card, pictures = load_card(file)
        is_mapped = not grows and sys.platform != "win32"  # which does not replace a file that is mapped
        checksums = _list_checksums(file)
        # One that grows is written again, so that damage would last: it is compared here.
        is_checked = is_mapped and was_checked(file, checksums, partial(_is_whole, file))
        with file.open("rb") as stream, np.load(stream) as stored:
            rotation_ww = stored["rotation"]
            ids_s = _map_entry(file, "ids", is_checked=is_checked) if is_mapped else stored["ids"]
        index = _read_index(file, is_mapped=is_mapped, is_checked=is_checked)
        inverted: Any = getattr(index, "invlists", None)
        code: Any = getattr(index, "rabitq", None)
        padded = padded_width(width)
        fits = (
            isinstance(index, faiss.IndexIVFRaBitQ)
            and (index.d, index.nlist, code.nb_bits) == (padded, card.lists, BITS)
            and (rotation_ww.shape, rotation_ww.dtype) == ((padded, padded), np.float32)
            and index.ntotal == inverted.compute_ntotal() == pictures
            and ids_s.shape == (pictures,)
            and ids_s.dtype.kind == "S"
        )
    except UnusableIndex:
        raise
    except Exception as error:  # numpy, zip and faiss raise anything on bytes that they did not write
        raise UnusableIndex(f"{file}: {error}") from error
    if not fits:
        raise UnusableIndex(f"{file}: its parts do not fit each other, or the collection")
    if is_mapped:  # then all of it was read
        note_checked(file, checksums)
    middles_lw = index.quantizer.reconstruct_n(0, index.nlist)
    return ApproximateIndex(Lists(index, rotation_ww, middles_lw), ids_s, card)


def _read_index(file: Path, *, is_mapped: bool, is_checked: bool) -> Any:
    """The index in a file; of one that is mapped only what is looked at is read."""
    import faiss

    begin, _, _ = _find_entry(file, "index", is_checked=is_checked)
    before = np.empty(begin, np.uint8)
    stream: Any = faiss.FileIOReader(str(file))
    stream(faiss.swig_ptr(before), 1, len(before))  # faiss maps from where its reader stands
    index: Any = faiss.read_index(stream, faiss.IO_FLAG_MMAP if is_mapped else 0)
    if is_mapped:
        # Else every search starts threads that read lists ahead.
        inverted: Any = faiss.downcast_InvertedLists(index.invlists)
        inverted.prefetch_nthread = 0
    return index


def _map_entry(file: Path, name: str, *, is_checked: bool) -> np.memmap[Any, Any]:
    """An array in a file of arrays, mapped."""
    begin, shape, dtype = _find_entry(file, name, is_checked=is_checked)
    return np.memmap(file, dtype, "r", begin, shape)


def _list_checksums(file: Path) -> list[int]:
    """The checksums of the arrays in a file of arrays."""
    with zipfile.ZipFile(file) as stored:
        return [entry.CRC for entry in stored.infolist()]


def _is_whole(file: Path) -> bool:
    """Whether all arrays in a file of arrays are as they were written; if not, the file goes."""
    with suppress(zipfile.BadZipFile, EOFError), zipfile.ZipFile(file) as stored:
        if stored.testzip() is None:
            return True
    file.unlink()
    return False


def _find_entry(file: Path, name: str, *, is_checked: bool) -> tuple[int, tuple[int, ...], Any]:
    """Where an array in a file of arrays begins, its shape and type, once its checksum was compared.

    The entries are not compressed.
    """
    with zipfile.ZipFile(file) as stored:
        with stored.open(f"{name}.npy") as entry:
            while not is_checked and entry.read(READ_AT_ONCE):
                pass
        start = stored.getinfo(f"{name}.npy").header_offset
    with file.open("rb") as stream:
        stream.seek(start)
        header = stream.read(ZIP_HEADER)
        stream.seek(start + ZIP_HEADER + sum(struct.unpack("<HH", header[-4:])))  # the lengths of its name and more
        np.lib.format.read_magic(stream)
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        return stream.tell(), shape, dtype


def load_card(file: Path) -> tuple[IndexCard, int]:
    """The card of a saved index, and how many pictures it has, without reading the index. Raises as `load_index`."""
    try:
        with file.open("rb") as stream, np.load(stream) as stored:
            version, card, pictures = int(stored["version"]), json.loads(str(stored["card"])), int(stored["pictures"])
        found = IndexCard(**card | {"queries": tuple(card["queries"])})
        is_whole = version == VERSION and card.keys() == {field.name for field in fields(IndexCard)}
        number, kind = found.queries
        is_sane = (
            all(1 <= probes <= found.lists for probes in (found.probes, found.probes_against))
            and pictures >= found.trained_on > 0
            and 0 <= found.least_recall <= 1
            and number >= 0
            and isinstance(kind, str)
        )
    except Exception as error:  # see `load_index`
        raise UnusableIndex(f"{file}: {error}") from error
    if not (is_whole and is_sane):
        raise UnusableIndex(f"{file}: of version {version}, or its card is not as it is written now")
    return found, pictures
