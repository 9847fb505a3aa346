"""The approximate index of a library: where it lies, whether it can still be used, and how it is made or grown.

    <library>/approximate/<space>.npz               a cache: what `approximate.save_index` writes
    <library>/approximate/<space>.part-2-of-4.npz   the same over a part of the pictures, which an actor searches

It is made for one state of a collection and serves later ones too: pictures that it lacks are scanned beside it, those
that have gone are skipped. When it lacks 10,000 (half of `MAX_LACKING`) it grows, in its existing lists, or is rebuilt
if the collection has twice the pictures for which they were chosen, or if it is measured to find too little of what it
took in. When one in twenty of its pictures has gone (half of `MAX_GONE`) it is rebuilt. With twice as many it is no
longer used. Its maker replaces the file, and searches go on with what they have read. Collections smaller than
`MIN_INDEXED` are scanned, and so are all where faiss is missing, or where the file is not as it was written: nothing
about a cache is an error.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Float32, Int64, Shaped

from viewfinder.encoders.base import to_file_name
from viewfinder.search.gallery import Gallery
from viewfinder.search.own_scale import read_sayings
from viewfinder.search.samples import sample_rows
from viewfinder.store.half_rows import HalfRows, Vectors
from viewfinder.store.tables import private_files

if TYPE_CHECKING:  # few collections are so large that any of this is needed
    from viewfinder.search.approximate import ApproximateIndex, Queries
    from viewfinder.search.indexed_pictures import IndexedPictures

APPROXIMATE = "approximate"
"""The folder in a library."""

MIN_INDEXED = 200_000
"""From this many pictures on an index pays: below, a scan takes less than a fifth of a turn's 100 ms."""

MAX_LACKING = 20_000
"""Pictures that an index may lack: scanning them takes about as long as searching it."""

MAX_GONE = 0.1
"""The share of an index's pictures that may have gone."""

MAX_GROWN = 2
"""An index is rebuilt when a collection has this many times the pictures for which its lists were chosen."""

MIN_RECALL = 0.96
"""An index that took in pictures is rebuilt if some sort of queries finds less of its ten best pictures.

At least `approximate.ENOUGH_RECALL` is aimed at when it is built, and measured with an error of 0.005.
"""

SAYINGS = 100
"""Sayings on which the number of lists is chosen."""

QUERIES = 400
"""Texts on which an index is measured; half of them choose how many lists are looked into."""

MIN_MEASURED = 12
"""Pictures that must have been added before queries like them are measured by themselves."""

BUILDING = ".building-"
"""Begins the name of a file that is being written."""

DEAD_S = 3600
"""A file that is being written is what a killed process left when nothing has been written to it for so long."""

BESIDE = (0.0, 1.0, -0.3)
"""How much a picture counts beside what is said about it, in turn; the last is for a rejected one."""

AGAINST = -0.5
"""How much something counts that is said to be absent."""

WORDS = 3
"""Words of a text that stands for a caption."""

Tell = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class IndexedPart:
    """The pictures of a gallery over which there is an index of its own.

    Attributes:
        name: names its file beside that of all pictures; "" is all.
        rows_p: their rows.
        ids: their ids, in the same order, as texts or as `approximate.encode_ids` has them.
    """

    name: str
    rows_p: slice | Int64[np.ndarray, " p"]
    ids: Sequence[str] | Shaped[np.ndarray, " p"]

    @staticmethod
    def of_all(gallery: Gallery) -> IndexedPart:
        """All pictures."""
        return IndexedPart("", slice(0, len(gallery)), gallery.snapshot.ids)

    def locate(self, places_k: Int64[np.ndarray, " k"] | None = None) -> Int64[np.ndarray, " k"]:
        """The rows in the gallery of the pictures at these places of the part; of all of them by default."""
        if isinstance(self.rows_p, slice):
            starts_at = self.rows_p.start
            return np.arange(starts_at, self.rows_p.stop) if places_k is None else places_k + starts_at
        return self.rows_p if places_k is None else np.asarray(self.rows_p[places_k])


def index_file(folder: Path, space: str, part: str = "") -> Path:
    """Where the index of a space of a library lies, or of a part of it that has this name."""
    return folder / APPROXIMATE / f"{to_file_name(space)}{part and f'.{part}'}.npz"


def read_index(folder: Path, space: str, width: int, *, grows: bool = False, part: str = "") -> ApproximateIndex | None:
    """The index of a space of vectors of this width; None if there is none that can be used. To one that `grows`,
    pictures may be added."""
    from viewfinder.search.approximate import UnusableIndex, has_faiss, load_index

    file = index_file(folder, space, part)
    with suppress(OSError, UnusableIndex):
        if file.is_file() and has_faiss():
            return load_index(file, width, grows=grows)
    return None


def read_card(folder: Path, space: str) -> dict[str, object] | None:
    """The card of the index of a space, without reading the index; None if there is none that can be used."""
    from viewfinder.search.approximate import UnusableIndex, load_card

    file = index_file(folder, space)
    with suppress(OSError, UnusableIndex):
        if file.is_file():
            card, pictures = load_card(file)
            queries, kind = card.queries
            return {
                "pictures": pictures,
                "megabytes": file.stat().st_size // 1_000_000,
                "recall": card.recall,
                "recall_against": card.recall_against,
                "recall_added": card.recall_added,
                "measured_on": f"{queries} {kind}",
            }
    return None


def pays(size: int) -> bool:
    """Whether a collection of this size is searched with an index, if that is possible here."""
    if size < MIN_INDEXED:
        return False
    from viewfinder.search.approximate import has_faiss

    return has_faiss()


def serves(indexed: IndexedPictures | None) -> bool:
    """Whether turns are faster with this index than without."""
    return indexed is not None and len(indexed.lacking_k) <= MAX_LACKING and not _is_stale(indexed)


def is_due(indexed: IndexedPictures | None) -> bool:
    """Whether an index is to be made or grown, before the present one can no longer be used."""
    return indexed is None or len(indexed.lacking_k) > MAX_LACKING // 2 or 2 * indexed.gone > MAX_GONE * indexed.size


def _is_stale(indexed: IndexedPictures) -> bool:
    return indexed.gone > MAX_GONE * indexed.size


def renew_index(
    folder: Path,
    gallery: Gallery,
    tell: Tell = lambda line: None,
    part: IndexedPart | None = None,
    *,
    waits: bool = False,
) -> ApproximateIndex | None:
    """The index of a gallery or a part, grown or rebuilt if that is due, and saved; None if another process is doing so
    and this one does not wait.

    Takes a minute for a million pictures.
    """
    from filelock import FileLock, Timeout

    from viewfinder.search.approximate import build_index
    from viewfinder.search.indexed_pictures import IndexedPictures

    part = IndexedPart.of_all(gallery) if part is None else part
    space, matrix_nd = gallery.snapshot.space, _take_vectors(gallery, part)
    file = index_file(folder, space, part.name)
    with private_files(folder):
        file.parent.mkdir(exist_ok=True)
    with suppress(Timeout), FileLock(file.with_suffix(".lock"), timeout=-1 if waits else 0):
        _remove_leftovers(file)
        found = read_index(folder, space, matrix_nd.shape[1], grows=True, part=part.name)
        indexed = None if found is None else IndexedPictures(found, part.ids)
        if found is not None and indexed is not None and not len(indexed.lacking_k) and not _will_be_stale(indexed):
            return found
        added_k = np.empty(0, np.int64) if indexed is None else indexed.lacking_k
        grown = None if found is None or indexed is None else _grow(found, gallery, part, indexed, tell)
        if grown is None:
            tell(f"an index of {len(part.ids):,} pictures is made")
            queries = _queries_of_both(gallery, part, added_k, QUERIES)
            grown = build_index(part.ids, matrix_nd, gallery.measures.background_n[part.rows_p], queries)
        write_index(grown, folder, space, part.name)
        return grown
    return None


def _take_vectors(gallery: Gallery, part: IndexedPart) -> Vectors:
    """The vectors of a part as they are kept: ten million are 10 GB in float32, and are read some after others."""
    matrix_nd = gallery.snapshot.matrix_nd
    return matrix_nd.part(part.rows_p) if isinstance(matrix_nd, HalfRows) else matrix_nd[part.rows_p]


def _will_be_stale(indexed: IndexedPictures) -> bool:
    return 2 * indexed.gone > MAX_GONE * indexed.size


def _queries_of_both(gallery: Gallery, part: IndexedPart, added_k: Int64[np.ndarray, " k"], count: int) -> Queries:
    """So many queries about any pictures of a part, and so many about those at these places, unless they are few."""
    queries = queries_like(gallery, part.locate() if part.name else None, count)
    if len(added_k) < MIN_MEASURED:
        return queries
    return queries.joined(queries_like(gallery, part.locate(added_k), count))


def _grow(
    index: ApproximateIndex, gallery: Gallery, part: IndexedPart, indexed: IndexedPictures, tell: Tell
) -> ApproximateIndex | None:
    """The index with the pictures that it lacks, measured again; None if it is to be rebuilt.

    New pictures may be of another kind than those for which the lists were chosen. Then they lie in few lists, or far
    from the middle of any, and queries miss them.
    """
    from viewfinder.search.approximate import encode_ids, measure_index, with_background
    from viewfinder.search.indexed_pictures import IndexedPictures

    if _will_be_stale(indexed) or len(part.ids) >= MAX_GROWN * index.card.trained_on:
        return None
    rows_k = indexed.lacking_k
    tell(f"the index takes {len(rows_k):,} more pictures")
    matrix_nd, background_n = _take_vectors(gallery, part), gallery.measures.background_n[part.rows_p]
    index.add(encode_ids(part.ids)[rows_k], with_background(matrix_nd[rows_k], background_n[rows_k]))
    grown = IndexedPictures(index, part.ids)
    queries = _queries_of_both(gallery, part, rows_k, QUERIES // 2)  # none of them is needed to choose anything
    index.card = measure_index(index, grown.row_s.astype(np.int64), matrix_nd, background_n, queries)
    if index.card.least_recall >= MIN_RECALL:
        return index
    tell(f"with them it finds only {index.card.least_recall:.1%} of what it should")
    return None


def _remove_leftovers(file: Path) -> None:
    """Removes what killed processes were writing; the caller holds the lock of this index."""
    for path in file.parent.glob(f"{BUILDING}*.npz"):
        with suppress(OSError):
            if path == _building(file) or time.time() - path.stat().st_mtime > DEAD_S:
                path.unlink()


def _building(file: Path) -> Path:
    return file.with_name(f"{BUILDING}{file.name}")


def write_index(index: ApproximateIndex, folder: Path, space: str, part: str = "") -> None:
    """Saves an index under a temporary name and renames it, so that no process reads half a file, even after the
    machine has lost its power; the caller holds the lock of this index.
    """
    from viewfinder.search.approximate import save_index

    file = index_file(folder, space, part)
    with private_files(folder):
        file.parent.mkdir(exist_ok=True)
    beside = _building(file)
    try:
        with private_files(folder):
            save_index(index, beside)
            beside.replace(file)
        _sync_folder(file.parent)
    finally:
        beside.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Puts the names in a folder on the disk: a file that was renamed may else be an empty one after a crash."""
    with suppress(OSError):  # some systems open no folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def queries_like(gallery: Gallery, of_k: Int64[np.ndarray, " k"] | None = None, count: int = QUERIES) -> Queries:
    """Queries like those of conversations about the pictures in these rows (default: about any).

    They are made from captions, else from words that hold for pictures, or from the sayings that fit them best: words
    lie elsewhere than pictures, so an index that finds the neighbours of pictures may miss those of words. Of three
    queries, one is what is said about a picture; one is that and the picture too; one is that, but neither this picture
    nor the word that fits it best. Only if there are no words at all are the queries pictures, moved a little.
    """
    from viewfinder.search.approximate import Queries, with_background

    snapshot = gallery.snapshot
    rows_k = sample_rows(len(gallery), count) if of_k is None else of_k[sample_rows(len(of_k), count)]
    pictures_kd = snapshot.matrix_nd[rows_k]
    kind, texts = "captions", [next(iter(snapshot.captions(row)), "") for row in rows_k.tolist()]
    vocabulary = gallery.encoder.vocabulary
    unwanted_kd = np.roll(pictures_kd, 1, axis=0)
    if vocabulary is not None:
        best_kw = np.argsort(-(pictures_kd @ vocabulary.vectors_ld.T), axis=1)[:, :WORDS]
        unwanted_kd = vocabulary.vectors_ld[best_kw[:, 0]]
    if vocabulary is not None and sum(map(bool, texts)) < len(texts) // 2:
        kind, texts = "words", [" ".join(vocabulary.words[at] for at in best_w) for best_w in best_kw.tolist()]
    if vocabulary is None and not gallery.measures.scale.is_of_box:
        fits_k2 = choose_sayings(pictures_kd @ gallery.measures.sayings_bd.T)
        unwanted_kd = gallery.measures.sayings_bd[fits_k2[:, 1]]
        if sum(map(bool, texts)) < len(texts) // 2:
            kind, texts = "sayings", [read_sayings()[at] for at in fits_k2[:, 0].tolist()]
    said_m = np.flatnonzero([bool(text) for text in texts])
    if len(said_m) >= MIN_MEASURED:
        vectors_md = np.concatenate([gallery.encoder.words([texts[at]]) for at in said_m.tolist()])
        weight_m = np.resize(np.array(BESIDE, np.float32), len(said_m))
        against_m = weight_m < 0
        beside = gallery.measures.scale.pictures / gallery.measures.scale.words  # as `express_query` weighs pictures
        vectors_md = vectors_md + beside * weight_m[:, None] * pictures_kd[said_m]
        vectors_md += AGAINST * against_m[:, None] * unwanted_kd[said_m]
        said_mw = with_background(vectors_md, np.full(len(said_m), -1.0, np.float32))
        return Queries(said_mw, against_m, kind, sayings_bw=_sample_sayings(gallery))
    moved_kd = np.random.default_rng(0).normal(scale=0.5 / np.sqrt(pictures_kd.shape[1]), size=pictures_kd.shape)
    against_m = np.arange(len(rows_k)) % len(BESIDE) == 2
    moved_kd += AGAINST * against_m[:, None] * unwanted_kd
    return Queries(with_background(pictures_kd + moved_kd, np.zeros(len(rows_k), np.float32)), against_m, "pictures")


def _sample_sayings(gallery: Gallery) -> Float32[np.ndarray, "b w"]:
    """Sayings of all kinds as an index reads them: comparing them with all pictures takes its time."""
    from viewfinder.search.approximate import with_background

    sayings_bd = gallery.measures.sayings_bd[sample_rows(len(gallery.measures.sayings_bd), SAYINGS)]
    return with_background(sayings_bd, np.full(len(sayings_bd), -1.0, np.float32))


def choose_sayings(likeness_kb: Float[np.ndarray, "k b"]) -> Int64[np.ndarray, "k 2"]:
    """For every picture the saying that fits it best of those that no picture before it took, and the next one.

    A saying fits as far as it fits the picture better than others: some fit everything. Once all are taken, they are
    free again.
    """
    fits_kb = likeness_kb - likeness_kb.mean(axis=0)
    chosen, free_b = [], np.ones(fits_kb.shape[1], bool)
    for fits_b in fits_kb:
        if free_b.sum() < 2:
            free_b[:] = True
        best, following = np.argsort(np.where(free_b, -fits_b, np.inf), kind="stable")[:2].tolist()
        chosen.append((best, following))
        free_b[best] = False
    return np.array(chosen, np.int64).reshape(-1, 2)
