"""How long do pictures that were added take until turns see them? The part `snapshot` of results/scale.json.

    python benchmarks/scale_snapshot.py DATA --work FOLDER --sizes 50000 200000      # `scale.py` runs it, too

The pictures have random vectors and each a caption that people wrote for a photograph. What is timed ends where a turn
begins: with a warmed gallery, index included where a collection of this size has one. Libraries stay in FOLDER.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from freshness import RESULTS
from machine import describe_host
from measuring import read_figures, time_call_and_cores, write_json

import viewfinder
from viewfinder.data.splits import read_photographs
from viewfinder.library import Library
from viewfinder.search.turn_scores import warm_scores
from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.store.snapshot_files import load_snapshot

SIZES = (50_000, 200_000, 1_000_000)
ADDED = 1_000
"""Pictures that come at once to a snapshot that is there."""

TIMES = 3
"""How often they come: files of pictures are joined with later ones, so not every time costs the same."""

WIDTH, BATCH = 256, 20_000


def main() -> None:
    """Measure the sizes that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--out", type=Path, default=RESULTS / "scale.json")
    given = parser.parse_args()
    results = read_figures(given.out) or {"sizes": {}}
    for size in given.sizes:
        found = measure_snapshot(given.data, given.work, size)
        results["sizes"].setdefault(str(size), {})["snapshot"] = found
        write_json(given.out, results)
        print(size, json.dumps(found, indent=1), flush=True)


def measure_snapshot(data: Path, work: Path, size: int) -> dict[str, Any]:
    """Seconds until turns see a library of which nothing was read, then a thousand pictures more, thrice; and bytes.

    It has `size` pictures in the end: 200,000 are not made more, beyond which other things are derived of them.
    """
    few = size - TIMES * ADDED
    captions = [said for found in read_photographs(data).values() for picture in found for said in picture.captions]
    library = captioned_library(work / f"captioned-{few}", captions, few)
    folder, space = library.folder / "snapshots", library.encoder.version
    shutil.rmtree(folder, ignore_errors=True)
    library.encoder.words(["a dog"])  # its networks are read
    made, made_at_work = time_seconds(lambda: warm_scores(library.gallery()))
    written_at_first = size_of(folder)
    library.build_index()
    warm_scores(library.gallery())
    stored, shown, written = [], [], []
    ids = [f"new{at:029x}" for at in range(TIMES * ADDED)]
    for start in range(0, len(ids), ADDED):
        before = size_of(folder)
        new = partial(add_pictures, library, ids[start : start + ADDED], captions, seed=start + 1)
        stored.append(time_seconds(new)[0])
        shown.append(time_seconds(lambda: warm_scores(library.gallery())))
        written.append(size_of(folder) - before)
        assert library.gallery().snapshot.ordered == few, "it has grown"
    library.store.delete(ids)
    load_snapshot(library.folder, space)  # without them, for the next run
    return {
        "made_s": round(made, 1), "made_cpu_s": round(made_at_work, 1), "made_MB": round(written_at_first / 1e6),
        "added": ADDED, "stored_s": [round(wall, 2) for wall in stored],
        "shown_s": [round(wall, 2) for wall, _ in shown], "shown_cpu_s": [round(cpu, 2) for _, cpu in shown],
        "written_MB": [round(size / 1e6, 1) for size in written], "machine": describe_host(),
    }  # fmt: skip


def captioned_library(folder: Path, captions: Sequence[str], size: int) -> Library:
    """A library of captioned pictures without files; made once."""
    library = viewfinder.open(folder / "library")
    if not (folder / "made").exists():
        for start in range(0, size, BATCH):
            ids = [f"{at:032x}" for at in range(start, min(start + BATCH, size))]
            add_pictures(library, ids, captions, seed=start)
        library.switch(library.encoder.version, None)
        (folder / "made").touch()
    return library


def add_pictures(library: Library, ids: Sequence[str], captions: Sequence[str], seed: int) -> None:
    """Stores pictures with random vectors, each with one of the captions."""
    rng = np.random.default_rng(seed)
    said = rng.integers(len(captions), size=len(ids)).tolist()
    rows = [
        PictureRow(name, (FileRecord(f"/nowhere/{name}.jpg", 1, 1),), 224, 224, "JPEG", 1, captions=(captions[at],))
        for name, at in zip(ids, said, strict=True)
    ]
    vectors_nd = rng.standard_normal((len(ids), WIDTH), np.float32)
    vectors_nd /= np.linalg.norm(vectors_nd, axis=1, keepdims=True)
    library.store.add(rows, {library.encoder.version: vectors_nd})


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder; what several names lead to counts once."""
    found = (file.stat() for file in folder.rglob("*") if file.is_file())
    return sum({status.st_ino: status.st_size for status in found}.values())


def time_seconds(work: Callable[[], object]) -> tuple[float, float]:
    """The seconds that something took, and how long this process was at work for it."""
    _, spent_ms, worked_ms = time_call_and_cores(work)
    return spent_ms / 1000, worked_ms / 1000


if __name__ == "__main__":
    main()
