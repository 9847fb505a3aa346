"""The approximate index of a library: where it lies, whether it can still be used, and how it is made or grown.

    <library>/approximate/<space>.npz      a cache: what `approximate.save_index` writes

It is made for one state of a collection and serves later ones too: pictures that it lacks are scanned beside it, those
that have gone are skipped. When it lacks 10,000 (half of `MOST_LACKING`) it grows, in its existing lists, or is rebuilt
if the collection has twice the pictures for which they were chosen. When one in twenty of its pictures has gone (half
of `MOST_GONE`) it is rebuilt. With twice as many it is no longer used. Its maker replaces the file, and searches go on
with what they have read. Collections smaller than `SMALLEST` are scanned, and so are all where faiss is missing.
"""

from __future__ import annotations

import os
import uuid
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float32

from viewfinder.encoders.base import to_file_name
from viewfinder.index.approximate import (
    ApproximateIndex,
    build_index,
    has_faiss,
    load_card,
    load_index,
    save_index,
    with_background,
)
from viewfinder.index.gallery import Gallery
from viewfinder.index.near_scores import IndexedPictures, sample_rows
from viewfinder.index.tables import private_files

APPROXIMATE = "approximate"
"""The folder in a library."""

SMALLEST = 200_000
"""From this many pictures on an index pays: below, a scan takes less than a fifth of a turn's 100 ms."""

MOST_LACKING = 20_000
"""Pictures that an index may lack: scanning them takes about as long as searching it."""

MOST_GONE = 0.1
"""The share of an index's pictures that may have gone."""

MOST_GROWN = 2
"""An index is rebuilt when a collection has this many times the pictures for which its lists were chosen."""

QUERIES = 400
"""Texts on which an index is measured; half of them choose how many lists are looked into."""

BESIDE = (0.0, 1.0, -0.3)
"""How much a picture counts beside what is said about it, in turn; the last is for a rejected one."""

AGAINST = -0.5
"""How much something counts that is said to be absent."""

WORDS = 3
"""Words of a text that stands for a caption."""

Tell = Callable[[str], None]


def index_file(folder: Path, space: str) -> Path:
    """Where the index of a space of a library lies."""
    return folder / APPROXIMATE / f"{to_file_name(space)}.npz"


def read_index(folder: Path, space: str) -> ApproximateIndex | None:
    """The index of a space; None if there is none that can be read."""
    file = index_file(folder, space)
    with suppress(OSError, ValueError, KeyError, RuntimeError, zipfile.BadZipFile):
        if file.is_file() and has_faiss():
            return load_index(file)
    return None


def read_card(folder: Path, space: str) -> dict[str, object] | None:
    """What is known about the index of a space, without reading it; None if there is none that can be read."""
    file = index_file(folder, space)
    with suppress(OSError, ValueError, KeyError, zipfile.BadZipFile):
        card, pictures = load_card(file)
        queries, kind = card.queries
        megabytes = file.stat().st_size // 1_000_000
        return {"pictures": pictures, "megabytes": megabytes, "recall": card.recall, "measured_on": f"{queries} {kind}"}
    return None


def pays(size: int) -> bool:
    """Whether a collection of this size is searched with an index, if that is possible here."""
    return size >= SMALLEST and has_faiss()


def serves(indexed: IndexedPictures | None) -> bool:
    """Whether turns are faster with this index than without."""
    return indexed is not None and len(indexed.lacking_k) <= MOST_LACKING and not _is_stale(indexed)


def is_due(indexed: IndexedPictures | None) -> bool:
    """Whether an index is to be made or grown, before the present one can no longer be used."""
    return indexed is None or len(indexed.lacking_k) > MOST_LACKING // 2 or 2 * indexed.gone > MOST_GONE * indexed.size


def _is_stale(indexed: IndexedPictures) -> bool:
    return indexed.gone > MOST_GONE * indexed.size


def renew_index(folder: Path, gallery: Gallery, tell: Tell = lambda line: None) -> ApproximateIndex | None:
    """The index of a gallery, grown or rebuilt if that is due, and saved; None if another process is doing so.

    Takes a minute for a million pictures.
    """
    from filelock import FileLock, Timeout

    space, size = gallery.snapshot.space, len(gallery)
    file = index_file(folder, space)
    with private_files(folder):
        file.parent.mkdir(exist_ok=True)
    with suppress(Timeout), FileLock(file.with_suffix(".lock"), timeout=0):
        found = read_index(folder, space)
        indexed = None if found is None else IndexedPictures(found, gallery.snapshot.ids)
        if found is not None and indexed is not None and 2 * indexed.gone <= MOST_GONE * indexed.size:
            if not len(indexed.lacking_k):
                return found
            if size < MOST_GROWN * found.card.trained_on:
                tell(f"the index takes {len(indexed.lacking_k):,} more pictures")
                _grow(found, gallery, indexed)
                write_index(found, folder, space)
                return found
        tell(f"an index of {size:,} pictures is made")
        pictures = gallery.snapshot.ids, gallery.snapshot.matrix_nd, gallery.background_n
        made = build_index(*pictures, *queries_like(gallery))
        write_index(made, folder, space)
        return made
    return None


def _grow(index: ApproximateIndex, gallery: Gallery, indexed: IndexedPictures) -> None:
    rows_k = indexed.lacking_k
    ids = [gallery.snapshot.ids[row] for row in rows_k.tolist()]
    index.add(ids, with_background(gallery.snapshot.matrix_nd[rows_k], gallery.background_n[rows_k]))


def write_index(index: ApproximateIndex, folder: Path, space: str) -> None:
    """Saves an index under a temporary name and renames it, so that nobody reads half a file."""
    file = index_file(folder, space)
    with private_files(folder):
        file.parent.mkdir(exist_ok=True)
    beside = file.with_name(f".building-{os.getpid()}-{uuid.uuid4().hex[:8]}.npz")
    try:
        with private_files(folder):
            save_index(index, beside)
            beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def queries_like(gallery: Gallery) -> tuple[Float32[np.ndarray, "m w"], Bool[np.ndarray, " m"], str]:
    """Queries like those of conversations, which of them count something against pictures, and from what they are made.

    They are made from captions, else from words that hold for pictures: words lie elsewhere than pictures, so an index
    that finds the neighbours of pictures may miss those of words. Of three queries, one is what is said about a
    picture; one is that and the picture too; one is that, but neither this picture nor the word that fits it best.
    Only if there are no words at all are the queries pictures, moved a little.
    """
    snapshot, rows_k = gallery.snapshot, sample_rows(len(gallery), QUERIES)
    pictures_kd = snapshot.matrix_nd[rows_k]
    kind, texts = "captions", [next(iter(snapshot.captions(row)), "") for row in rows_k.tolist()]
    vocabulary = gallery.encoder.vocabulary
    unwanted_kd = np.roll(pictures_kd, 1, axis=0)
    if vocabulary is not None:
        best_kw = np.argsort(-(pictures_kd @ vocabulary.vectors_ld.T), axis=1)[:, :WORDS]
        unwanted_kd = vocabulary.vectors_ld[best_kw[:, 0]]
    if vocabulary is not None and sum(map(bool, texts)) < len(texts) // 2:
        kind, texts = "words", [" ".join(vocabulary.words[at] for at in best_w) for best_w in best_kw.tolist()]
    said_m = np.flatnonzero([bool(text) for text in texts])
    if len(said_m) >= 12:
        vectors_md = np.concatenate([gallery.encoder.words([texts[at]]) for at in said_m.tolist()])
        weight_m = np.resize(np.array(BESIDE, np.float32), len(said_m))
        against_m = weight_m < 0
        vectors_md = vectors_md + weight_m[:, None] * pictures_kd[said_m]
        vectors_md += AGAINST * against_m[:, None] * unwanted_kd[said_m]
        return with_background(vectors_md, np.full(len(said_m), -1.0, np.float32)), against_m, kind
    moved_kd = np.random.default_rng(0).normal(scale=0.5 / np.sqrt(pictures_kd.shape[1]), size=pictures_kd.shape)
    against_m = np.arange(len(rows_k)) % len(BESIDE) == 2
    moved_kd += AGAINST * against_m[:, None] * unwanted_kd
    return with_background(pictures_kd + moved_kd, np.zeros(len(rows_k), np.float32)), against_m, "pictures"
