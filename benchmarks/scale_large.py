"""Ten million pictures: what an index costs, and opening a library and its first turns: results/scale_large.json.

    python benchmarks/scale_large.py DATA --work FOLDER --only index         # 6 GB of disk, 2 GB of memory
    python benchmarks/scale_large.py DATA --work FOLDER --only library       # 30 GB of disk, 4 GB of memory, hours
    python benchmarks/scale_large.py DATA --work FOLDER --only snapshot
    python benchmarks/scale_large.py DATA --work FOLDER --only open added

`index` makes one of mapped vectors (`scale_vectors`), without a library, and notes processor time, the most private
memory, and recall: on its card, and of captions that people wrote for photographs on which nothing was fitted.
`library` makes a library as `scale.py` does, and its index; `snapshot` makes its snapshot anew; `open` opens it in a
new process and takes turns. Captions and names of files are not looked up in it: their words are read once a
snapshot, at length. Private is what lies in no file.
"""

from __future__ import annotations

import argparse
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
from freshness import RESULTS
from jaxtyping import Float32
from measuring import read_figures, time_call_and_cores, write_figures
from scale import open_library
from scale_vectors import describe_likeness, make_vectors, read_vectors, write_parts

import viewfinder
from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Say
from viewfinder.encoders.scale import BOX
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.library import Library
from viewfinder.retrievers import Composer
from viewfinder.search.approximate import (
    ApproximateIndex,
    Queries,
    as_query,
    build_index,
    exact_best,
    load_index,
    save_index,
    with_background,
)
from viewfinder.search.gallery import Gallery
from viewfinder.search.index_files import AGAINST, BESIDE, QUERIES, WORDS, read_index, renew_index
from viewfinder.search.indexed_pictures import IndexedPictures
from viewfinder.session.session import Session
from viewfinder.store.packed_ids import PackedIds
from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.store.snapshot_files import find_snapshot, load_snapshot

SIZE = 10_000_000
ASKED = 300
"""Captions for which the index is asked, and turns taken."""

ADDED = 1000
"""Pictures that come at once to a library that is there."""

PROBES = (16, 32, 64, 128)
BLOCK = 65_536


def main() -> None:
    """Measure the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--only", nargs="*", choices=sorted(PARTS), default=list(PARTS))
    parser.add_argument("--out", type=Path, default=RESULTS / "scale_large.json")
    given = parser.parse_args()
    results = read_figures(given.out)
    for part in given.only:
        before = psutil.getloadavg()[1]
        results[part] = PARTS[part](given)
        # How many processes wanted a core, over the five minutes before and at the end: seconds depend on it.
        results.setdefault("load", {})[part] = [round(before, 1), round(psutil.getloadavg()[1], 1)]
        write_figures("scale_large", results, given.out, [part])
        print(part, json.dumps(results[part], indent=1), flush=True)


@contextmanager
def watched_memory() -> Iterator[dict[str, int]]:
    """The most private memory of this process within the block, in MB, looked at every second."""
    found, ended = {"most_private_MB": 0}, threading.Event()

    def watch() -> None:
        while not ended.wait(1):
            found["most_private_MB"] = max(found["most_private_MB"], memory_now()["private_MB"])

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield found
    finally:
        ended.set()
        watcher.join()


def memory_now() -> dict[str, int]:
    """The memory of this process."""
    used = psutil.Process().memory_info()
    return {"resident_MB": used.rss // 1_000_000, "private_MB": (used.rss - used.shared) // 1_000_000}


# -- the index by itself


def measure_index_alone(given: argparse.Namespace) -> dict[str, Any]:
    """What an index of so many vectors costs, and what it finds."""
    encoder = StarterEncoder()
    photos = read_vectors(given.data.resolve(), given.work, encoder)
    texts = [said[0] for said in photos.captions]
    recipe = describe_likeness(photos, encoder.words(texts[-200:]))[1]
    vectors_nd = make_vectors(photos, recipe, given.size, given.work)
    folder = given.work / f"codes-{given.size}"
    folder.mkdir(exist_ok=True)
    blocks = (np.asarray(vectors_nd[start : start + BLOCK], np.float32) for start in range(0, given.size, BLOCK))
    background_n = write_parts(folder / "background", np.float32, (given.size,), map(encoder.background, blocks))
    queries, ids = queries_of_words(encoder, vectors_nd), numbered_ids(given.size)
    before = memory_now()["private_MB"]
    with watched_memory() as memory:
        made, wall_ms, cpu_ms = time_call_and_cores(build_index, ids, vectors_nd, background_n, queries)
        save_index(made, folder / "index.npz")
    mapped, read_ms, _ = time_call_and_cores(load_index, folder / "index.npz", vectors_nd.shape[1])
    asked_mw = np.stack([as_query(vector_d, 1.0) for vector_d in encoder.words(texts[:ASKED])])
    best_mk = exact_best(vectors_nd, background_n, asked_mw, 10)
    recalls = {}
    for probes in PROBES:
        found_mk = mapped.lists.search(asked_mw, 1000, probes)
        recalls[str(probes)] = round(float(np.mean([np.isin(*pair).mean() for pair in zip(best_mk, found_mk)])), 4)  # noqa: B905
    card = made.card
    return {
        "pictures": given.size, "made_s": round(wall_ms / 1000), "made_cpu_s": round(cpu_ms / 1000),
        "private_before_MB": before, **memory, "bytes": (folder / "index.npz").stat().st_size,
        "mapped_s": round(read_ms / 1000, 2), "lists": card.lists, "probes": [card.probes, card.probes_against],
        "recall": [card.recall, card.recall_against], "measured_on": list(card.queries),
        "recall_of_captions": recalls,
    }  # fmt: skip


def queries_of_words(encoder: StarterEncoder, vectors_nd: np.ndarray) -> Queries:
    """Queries as `index_files.queries_like` makes them of the words that fit pictures best, without a library."""
    rows_k = np.sort(np.random.default_rng(0).choice(len(vectors_nd), QUERIES, replace=False))
    pictures_kd = np.asarray(vectors_nd[rows_k], np.float32)
    assert encoder.vocabulary is not None
    words, words_ld = encoder.vocabulary.words, encoder.vocabulary.vectors_ld
    best_kw = np.argsort(-(pictures_kd @ words_ld.T), axis=1)[:, :WORDS]
    vectors_kd = np.concatenate([encoder.words([" ".join(words[at] for at in best_w)]) for best_w in best_kw.tolist()])
    weight_k = np.resize(np.array(BESIDE, np.float32), QUERIES)
    against_k = weight_k < 0
    vectors_kd = vectors_kd + BOX.pictures / BOX.words * weight_k[:, None] * pictures_kd
    vectors_kd += AGAINST * against_k[:, None] * words_ld[best_kw[:, 0]]
    return Queries(with_background(vectors_kd, np.full(QUERIES, -1.0, np.float32)), against_k, "words")


def numbered_ids(size: int) -> PackedIds:
    """The ids of so many pictures, as a snapshot has them."""
    names = b"".join("".join(f"{at:032x}" for at in range(*block)).encode() for block in _blocks(size))
    ends = pa.py_buffer(np.arange(size + 1, dtype=np.int32) * 32)
    return PackedIds(pa.chunked_array([pa.StringArray.from_buffers(size, ends, pa.py_buffer(names))]))


def _blocks(size: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + BLOCK, size)) for start in range(0, size, BLOCK))


# -- a library


def make_library(given: argparse.Namespace) -> dict[str, Any]:
    """A library of so many pictures, its snapshot and its index, each made once; how long the last two took."""
    encoder = StarterEncoder()
    photos = read_vectors(given.data.resolve(), given.work, encoder)
    recipe = describe_likeness(photos, encoder.words([said[0] for said in photos.captions[-200:]]))[1]
    library = open_library(make_vectors(photos, recipe, given.size, given.work), given.work / str(given.size))
    gallery = Gallery(load_snapshot(library.folder, encoder.version), encoder)
    with watched_memory() as memory:
        _, wall_ms, cpu_ms = time_call_and_cores(renew_index, library.folder, gallery)
    index = {"s": round(wall_ms / 1000), "cpu_s": round(cpu_ms / 1000), **memory}
    return {"pictures": len(gallery), "index": index}


def make_snapshot(given: argparse.Namespace) -> dict[str, Any]:
    """The first snapshot of a library, and what is computed once of its pictures; those that were there go."""
    library = viewfinder.open(given.work / str(given.size) / "library")
    encoder = library.encoder
    shutil.rmtree(library.folder / "snapshots", ignore_errors=True)
    before = memory_now()["private_MB"]
    with watched_memory() as memory:
        snapshot, wall_ms, cpu_ms = time_call_and_cores(load_snapshot, library.folder, encoder.version)
    made = {"s": round(wall_ms / 1000), "cpu_s": round(cpu_ms / 1000), "private_before_MB": before, **memory}
    assert snapshot.folder is not None
    size = sum(file.stat().st_size for file in snapshot.folder.iterdir())
    gallery = Gallery(snapshot, encoder)
    with watched_memory() as memory:
        _, wall_ms, cpu_ms = time_call_and_cores(lambda: (gallery.measures.own_scale, gallery.measures.moments))
    measures = {"s": round(wall_ms / 1000), "cpu_s": round(cpu_ms / 1000), **memory}
    return {"pictures": len(snapshot), "bytes": size, **made, "measures": measures}


def measure_opening(given: argparse.Namespace) -> dict[str, Any]:
    """Seconds, processor seconds and memory after every step of opening a library, and of turns."""
    started, at_work, steps = time.perf_counter(), time.process_time(), {}

    def step(name: str, work: Callable[[], Any]) -> Any:
        result = work()
        spent = {"s": round(time.perf_counter() - started, 2), "cpu_s": round(time.process_time() - at_work, 2)}
        steps[name] = {**spent, **memory_now()}
        print(name, steps[name], flush=True)
        return result

    folder = given.work / str(given.size) / "library"
    encoder = step("encoder", lambda: viewfinder.open(folder).encoder)
    step("first words", lambda: encoder.words(["a dog"]))
    snapshot = step("snapshot", lambda: find_snapshot(folder, encoder.version))
    gallery = Gallery(snapshot, encoder)
    step("background", lambda: gallery.measures.background_n)
    index = step("index", lambda: read_index(folder, encoder.version, snapshot.matrix_nd.shape[1]))
    gallery.indexed = step("ids compared", lambda: IndexedPictures(index, snapshot.ids))
    step("own scale", lambda: gallery.measures.own_scale)
    step("moments", lambda: gallery.measures.moments)
    walls, worked = [], []
    photos = read_vectors(given.data.resolve(), given.work, encoder)
    for at, said in enumerate(photos.captions[:ASKED]):
        session = Session(gallery, Composer(), None, memo=ByteCache())
        _, wall_ms, cpu_ms = time_call_and_cores(session.search, Say(said[1]))
        walls.append(wall_ms)
        worked.append(cpu_ms)
        if at + 1 in (1, 50, ASKED):
            step(f"{at + 1} turns", lambda: None)
    return {
        "pictures": len(snapshot),
        "steps": steps,
        "turn": _quantiles(walls[20:]),
        "turn_cpu": _quantiles(worked[20:]),
    }


def measure_adding(given: argparse.Namespace) -> list[dict[str, float]]:
    """Seconds until a thousand more pictures are stored, and until turns see them, twice in one process.

    The first time it also reads the tables, to compare their checksums.
    """
    folder = given.work / str(given.size) / "library"
    library = viewfinder.open(folder)
    encoder, found = library.encoder, []
    index = read_index(folder, encoder.version, load_snapshot(folder, encoder.version).matrix_nd.shape[1])
    assert index is not None
    for seed in (library.store.count(), library.store.count() + 1):
        vectors_nd = np.random.default_rng(seed).standard_normal((ADDED, len(encoder.words(["a dog"])[0])), np.float32)
        vectors_nd /= np.linalg.norm(vectors_nd, axis=1, keepdims=True)
        rows = [
            PictureRow(f"{seed:012x}{at:020x}", (FileRecord(f"/nowhere/{at}.jpg", 1, 1),), 224, 224, "JPEG", 1)
            for at in range(ADDED)
        ]
        _, stored_ms, stored_cpu_ms = time_call_and_cores(library.store.add, rows, {encoder.version: vectors_nd})
        _, shown_ms, worked_ms = time_call_and_cores(show_pictures, library, index)
        found.append(
            {
                "stored_s": round(stored_ms / 1000, 1),
                "stored_cpu_s": round(stored_cpu_ms / 1000, 1),
                "shown_s": round(shown_ms / 1000, 1),
                "shown_cpu_s": round(worked_ms / 1000, 1),
            }
        )
    return found


def show_pictures(library: Library, index: ApproximateIndex) -> None:
    """All that a turn over the newest snapshot waits for."""
    gallery = Gallery(load_snapshot(library.folder, library.encoder.version), library.encoder)
    gallery.indexed = IndexedPictures(index, gallery.snapshot.ids)
    gallery.measures.own_scale  # noqa: B018
    gallery.measures.moments  # noqa: B018


def _quantiles(times: list[float]) -> dict[str, float]:
    times_t: Float32[np.ndarray, " t"] = np.asarray(times, np.float32)
    return {"p50_ms": round(float(np.median(times_t)), 1), "p95_ms": round(float(np.quantile(times_t, 0.95)), 1)}


PARTS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "index": measure_index_alone,
    "library": make_library,
    "snapshot": make_snapshot,
    "open": measure_opening,
    "added": measure_adding,
}


if __name__ == "__main__":
    main()
