"""How fast, and how well, is a large collection searched? Writes results/scale.json, the figures of docs/scale.md.

    python benchmarks/scale.py DATA --work FOLDER             # DATA holds flickr8k/, flickr8k-more/ ...
    python benchmarks/scale.py DATA --work FOLDER --sizes 10000000           # 30 GB of disk, 8 GB of memory, an hour

The pictures are vectors distributed as those of real photographs are (`scale_vectors`). The queries are captions that
people wrote for photographs on which nothing was fitted. Everything is measured side by side in one run, in turn,
because machines differ and drift; CPU time of this process stands beside the milliseconds. Vectors and libraries stay
in FOLDER for the next run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from freshness import RESULTS
from jaxtyping import Bool, Float16
from machine import describe_host
from measuring import read_figures, time_call, time_call_and_cores, write_figures
from scale_others import OTHERS
from scale_snapshot import measure_snapshot
from scale_vectors import describe_likeness, make_vectors, read_vectors

import viewfinder
from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Answer, Like, Question, Reject, Say, Turn
from viewfinder.encoders import Encoder
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.library import Library
from viewfinder.processors import count_processors
from viewfinder.questioners.names import load_questioner
from viewfinder.questioners.photographs import facets
from viewfinder.retrievers import Composer
from viewfinder.search.approximate import as_query, build_index, encode_ids, with_background
from viewfinder.search.gallery import Gallery
from viewfinder.search.index_files import queries_like, renew_index, write_index
from viewfinder.search.indexed_pictures import IndexedPictures
from viewfinder.search.kernels import dot_scores, top_k
from viewfinder.search.turn_scores import warm_scores
from viewfinder.session.session import Session
from viewfinder.store.half_rows import take_rows
from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.store.snapshot_files import GROWS_FROM

SHARES = {"half": 0.5, "tenth": 0.1, "hundredth": 0.01, "thousandth": 0.001}
"""Catalogue columns, and the share of pictures that have the value "yes" in each; those of `<name> alike` are alike."""

SIZES = (10_000, 50_000, 200_000, 1_000_000)

MAX_BUT_PICTURES, FEW_BUT = 200_000, 5
"""Pictures up to which "but red" is compared with a scan many times: it takes ten seconds a million; and how often in
larger collections."""

DEEP = 10_000
"""The last result of a page that is far down."""

MAX_COLUMNS_PICTURES = 3_000_000
"""Pictures up to which a library has all columns of `SHARES`; a larger one has the two of a tenth."""

LARGE_FROM, LEFT_OUT = 3_000_000, ("snapshot", "others")
"""Collections of so many pictures go without these parts: other engines want all vectors in memory, and
`scale_large.py` measures the snapshot."""

MADE_AT_ONCE = 20_000
"""Pictures that come into a library at once."""


def main() -> None:
    """Run every part for every size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--asked", type=int, default=100, help="queries a figure")
    parser.add_argument(
        "--without",
        nargs="*",
        default=[],
        help="parts to leave out",
        choices=["snapshot", "index", "turns", "others", "kinds", "deep"],
    )
    parser.add_argument("--engines", nargs="*", choices=sorted(OTHERS), default=list(OTHERS), help="other engines")
    parser.add_argument("--out", type=Path, default=RESULTS / "scale.json")
    parser.add_argument("--memory-of", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if len(given.sizes) > 1:
        # Each in a process of its own: the encoder would remember the sentences of one size at the next.
        at = sys.argv.index("--sizes") if "--sizes" in sys.argv else len(sys.argv)
        words = [*sys.argv[:at], *sys.argv[at + 1 + len(given.sizes) :]]
        for size in given.sizes:
            subprocess.run([sys.executable, *words, "--sizes", str(size)], check=True)
        return
    encoder = StarterEncoder()
    photos = read_vectors(given.data.resolve(), given.work, encoder)
    if given.memory_of:
        print(json.dumps(memory_here(given.memory_of, [said[0] for said in photos.captions[:50]])))
        return
    results = read_figures(given.out) or {"sizes": {}}
    texts = [said[0] for said in photos.captions]
    texts_md = encoder.words(texts[-200:])
    results["likeness"], made_by = describe_likeness(photos, texts_md)
    for size in given.sizes:
        vectors_nd = make_vectors(photos, made_by, size, given.work)
        library = open_library(vectors_nd, given.work / str(size))
        found: dict[str, Any] = results["sizes"].setdefault(str(size), {})
        without = {*given.without, *(LEFT_OUT if size >= LARGE_FROM else ("snapshot",) if size < GROWS_FROM else ())}
        if "snapshot" not in without:
            found["snapshot"] = measure_snapshot(given.data, given.work, size)
        if "index" not in without:
            found.update(index_of(library))
        if "turns" not in without:
            found["turns"] = turns(library, texts, given.asked)
        if "others" not in without:
            asked = texts[-given.asked :]
            found.setdefault("others", {}).update(
                others(library, encoder, asked, given.work / str(size), given.engines)
            )
        if "kinds" not in without:
            found["kinds"] = kinds(library, photos.captions, given.asked)
        if "deep" not in without:
            found["deep"] = measure_deep(library, photos.captions)
        found |= {"machine": describe_host(), "load": [round(load, 1) for load in os.getloadavg()]}
        found["threads"] = int(os.environ.get("OMP_NUM_THREADS", count_processors()))
        found["memory"] = memory_of(given.data, given.work, library.folder)
        write_figures("scale", results, given.out, [f"sizes.{size}"])
        print(size, json.dumps(found, indent=1), flush=True)


def open_library(vectors_nd: Float16[np.ndarray, "n d"], folder: Path) -> Library:
    """A library of pictures that are vectors and catalogue columns, with no files behind them; made once, resumable."""
    library = viewfinder.open(folder / "library")
    if (folder / "made").exists():
        return library
    flags = columns_of(vectors_nd)
    first = library.store.count() if any(library.folder.glob("tables/pictures.lance")) else 0
    for start in range(first, len(vectors_nd), MADE_AT_ONCE):
        rows = [
            PictureRow(
                f"{at:032x}", (FileRecord(f"/nowhere/{at}.jpg", 1, 1),), 224, 224, "JPEG", 1,
                attributes={name: ("yes" if has_n[at] else "no",) for name, has_n in flags.items()},
            )
            for at in range(start, min(start + MADE_AT_ONCE, len(vectors_nd)))
        ]  # fmt: skip
        library.store.add(rows, {library.encoder.version: vectors_nd[start : start + len(rows)]})
    library.switch(library.encoder.version, None)
    (folder / "made").touch()
    return library


def columns_of(vectors_nd: Float16[np.ndarray, "n d"]) -> dict[str, Bool[np.ndarray, " n"]]:
    """Which pictures have the value of each column: at random, and those nearest to a direction."""
    rng = np.random.default_rng(0)
    found: dict[str, Bool[np.ndarray, " n"]] = {}
    for name, share in SHARES.items():
        if len(vectors_nd) > MAX_COLUMNS_PICTURES and name != "tenth":
            continue
        found[name] = rng.random(len(vectors_nd)) < share
        middle_d = np.asarray(vectors_nd[rng.integers(len(vectors_nd), size=20)], np.float32).mean(axis=0)
        blocks = (vectors_nd[start : start + MADE_AT_ONCE] for start in range(0, len(vectors_nd), MADE_AT_ONCE))
        likeness_n = np.concatenate([np.asarray(block_bd, np.float32) @ middle_d for block_bd in blocks])
        found[f"{name} alike"] = likeness_n >= np.quantile(likeness_n, 1 - share)
    return found


def with_index(library: Library) -> Gallery:
    """The library as it is searched with an index, however few pictures it has."""
    gallery = library.gallery_of(library.gallery().snapshot)
    index = renew_index(library.folder, gallery)
    assert index is not None, "another process makes the index"
    gallery.indexed = IndexedPictures(index, gallery.snapshot.ids)
    return warm_scores(gallery)


def without_index(library: Library) -> Gallery:
    """The library as it is searched by scans."""
    gallery = library.gallery_of(library.gallery().snapshot)
    gallery.indexed = None
    return warm_scores(gallery)


def index_of(library: Library) -> dict[str, Any]:
    """How long an index takes to make, and to take one picture in a hundred more; what its card says."""
    gallery = without_index(library)
    ids_n, vectors_nd = encode_ids(gallery.snapshot.ids), gallery.snapshot.matrix_nd
    background_n, known = gallery.measures.background_n, len(gallery) - len(gallery) // 100
    asked = queries_like(gallery)
    vectors_kd = take_rows(vectors_nd, slice(known))
    made, spent = time_call(build_index, ids_n[:known], vectors_kd, background_n[:known], asked)
    _, grown = time_call(made.add, ids_n[known:], with_background(vectors_nd[known:], background_n[known:]))
    write_index(made, library.folder, gallery.snapshot.space)
    card = made.card
    return {
        "made_s": round(spent / 1000, 1), "grown_by": len(gallery) - known, "grown_s": round(grown / 1000, 2),
        "lists": card.lists, "probes": [card.probes, card.probes_against],
        "recall": [card.recall, card.recall_against], "measured_on": list(card.queries),
    }  # fmt: skip


def turns(library: Library, captions: Sequence[str], asked: int) -> dict[str, Any]:
    """First results of a turn that says a caption never said before, with the index and by a scan, in turn."""
    near, scan = with_index(library), without_index(library)
    spent: dict[str, list[tuple[float, float]]] = {"index": [], "scan": [], "words": [], "product": []}
    encoder, matrix_nd = near.encoder, near.snapshot.matrix_nd
    for at in range(asked):
        new = captions[4 * at : 4 * at + 3]
        vector_1d = note_time(spent["words"], encoder.words, [new[0]])
        note_time(spent["product"], lambda vector_d: top_k(dot_scores(matrix_nd, vector_d), 10), vector_1d[0])
        for name, gallery, text in (("index", near, new[1]), ("scan", scan, new[2])):
            note_time(spent[name], Session(gallery, Composer(), None, memo=ByteCache()).search, Say(text))
    return {name: medians(times[asked // 5 :]) for name, times in spent.items()}


def others(
    library: Library, encoder: Encoder, captions: Sequence[str], work: Path, engines: Sequence[str]
) -> dict[str, Any]:
    """The ten best pictures by faiss alone and by other engines, on the same vectors and queries, in turn."""
    gallery = without_index(library)
    vectors_nw = with_background(gallery.snapshot.matrix_nd[:], gallery.measures.background_n)
    queries_mw = np.stack([as_query(encoder.words([text])[0], 1.0) for text in captions])
    found: dict[str, Any] = {}
    for name in engines:
        engine, spent = time_call(OTHERS[name], vectors_nw, work, library.folder)
        if engine is None:
            continue
        times: list[tuple[float, float]] = []
        rows = [note_time(times, engine, query_w) for query_w in queries_mw]
        best = [top_k(vectors_nw @ query_w, 10) for query_w in queries_mw]
        recall = float(np.mean([np.isin(best_k, rows_k).mean() for best_k, rows_k in zip(best, rows, strict=True)]))
        found[name] = {
            "made_s": round(spent / 1000, 1),
            "recall": round(recall, 4),
            **medians(times[len(times) // 5 :]),
        }
        print(name, found[name], flush=True)
    return found


def kinds(library: Library, captions: Sequence[Sequence[str]], asked: int) -> dict[str, Any]:
    """Every kind of turn with the index and by a scan: hits that are the same, verdicts, milliseconds.

    `asking` is what the question after the turn takes with the index.
    """
    near, scan = with_index(library), without_index(library)
    questioner = load_questioner("information_gain", tags=near.tags)
    found = {}
    for name, (make, where, count) in kinds_of_turns(asked, len(near)).items():
        if not {*where} <= {*near.snapshot.columns()}:  # a large library has few
            continue
        same, verdicts = [], []
        spent: dict[str, list[tuple[float, float]]] = {"index": [], "asking": [], "scan": []}
        for at in range(count):
            script, hits = make(captions[at], scan), {}
            for which, gallery in (("index", near), ("scan", scan)):
                asks = questioner if which == "index" else None
                session = Session(gallery, Composer(), asks, where=where, memo=ByteCache())
                for turn in script[:-1]:  # as people do, who see what each turn finds and is asked
                    session.search(turn)
                    session.follow_up()
                hits[which] = note_time(spent[which], session.search, script[-1])
                if which == "index":
                    note_time(spent["asking"], session.follow_up)
            ids = [{hit.id for hit in hits[which]} for which in ("index", "scan")]
            same.append(len(ids[0] & ids[1]) / max(len(ids[1]), 1))
            verdicts.append(hits["index"].verdict == hits["scan"].verdict)
        found[name] = {
            "asked": count, "recall": round(statistics.mean(same), 4), "verdicts": round(statistics.mean(verdicts), 4),
            **{which: medians(times) for which, times in spent.items()},
        }  # fmt: skip
        print(name, found[name], flush=True)
    return found


Script = Callable[[Sequence[str], Gallery], list[Turn]]


def kinds_of_turns(asked: int, size: int) -> dict[str, tuple[Script, dict[str, str], int]]:
    """Conversations whose last turn is of a kind: how they go, what is filtered by, and how many there are."""

    def best(gallery: Gallery, text: str, count: int) -> tuple[str, ...]:
        return tuple(hit.id for hit in Session(gallery, Composer(), None, n=count, memo=ByteCache()).search(Say(text)))

    def answered(said: Sequence[str], gallery: Gallery) -> list[Turn]:
        facet = facets()[len(said[0]) % len(facets())]
        question = Question(facet.question, (*facet.labels[:4], "something else", "don't know"), attribute=facet.name)
        return [Say(said[0]), Answer(question, facet.labels[len(said[1]) % min(len(facet.labels), 4)])]

    is_it = Question("Is it of the tenth?", ("yes", "no", "don't know"), attribute="tenth")
    few = max(asked // 5, 1)
    found: dict[str, tuple[Script, dict[str, str], int]] = {
        "a description": (lambda said, gallery: [Say(said[0])], {}, 2 * asked),
        "one in new words": (lambda said, gallery: [Say(f"{said[-1]} {said[0]}")], {}, few),
        "a third description": (lambda said, gallery: [Say(text) for text in said[:3]], {}, few),
        "three rejected": (lambda said, gallery: [Say(said[0]), Reject(best(gallery, said[0], 3))], {}, few),
        "all of a page rejected, without people": (
            lambda said, gallery: [Say(said[0]), Reject(best(gallery, said[0], 10), "without people")], {}, few,
        ),
        "a picture picked": (lambda said, gallery: [Say(said[0]), Like(best(gallery, said[0], 2)[1])], {}, few),
        "an answer": (answered, {}, few),
        "an answer that the catalogue tells, true of a tenth": (
            lambda said, gallery: [Say(said[0]), Answer(is_it, "yes")], {}, few,
        ),
    }  # fmt: skip
    found["but red"] = (
        lambda said, gallery: [Say(said[0]), Like(best(gallery, said[0], 2)[1], "red")], {},
        max(asked // 10, 1) if size <= MAX_BUT_PICTURES else FEW_BUT,
    )  # fmt: skip
    for name in SHARES:
        for column in (name, f"{name} alike"):
            found[f"{column} allowed"] = (lambda said, gallery: [Say(said[0])], {column: "yes"}, few)
    return found


def measure_deep(library: Library, captions: Sequence[Sequence[str]]) -> dict[str, dict[str, float]]:
    """The rank of any picture, and a page far down, after a description, an answer and a picture with a change."""
    near, found = with_index(library), {}
    talks = kinds_of_turns(1, len(near))
    rng = np.random.default_rng(0)
    for name, repeats in (("a description", 20), ("an answer", 10), ("but red", 2)):
        make, where, _ = talks[name]
        ranks: list[tuple[float, float]] = []
        pages: list[tuple[float, float]] = []
        for at in range(repeats):
            session = Session(near, Composer(), None, where=where, memo=ByteCache())
            for turn in make(captions[at], near):
                session.search(turn)
            note_time(pages, session.ranking().hits, 10, DEEP - 10)
            note_time(ranks, session.rank_bounds, near.snapshot.ids[int(rng.integers(len(near)))])
        found[f"rank_of after {name}"] = medians(ranks)
        found[f"the page of the {DEEP:,}th result after {name}"] = medians(pages)
    print(found, flush=True)
    return found


# -- memory


def memory_of(data: Path, work: Path, library: Path) -> dict[str, Any]:
    """Megabytes of a process that opens a library and takes fifty turns, and then `talks_` of all kinds."""
    command = [sys.executable, __file__, str(data), "--work", str(work), "--memory-of", str(library)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(said.strip().splitlines()[-1]))


def memory_here(library: Path, captions: Sequence[str]) -> dict[str, Any]:
    """Opens a library, takes turns and returns this process's memory; `private` is what lies in no file.

    Pages of files count as unique where no other process maps them, so that `uss` would depend on who else runs.
    """
    opened = viewfinder.open(library)
    for text in captions:
        Session(opened.gallery(), Composer(), None).search(Say(text))
    after_turns = _measure_memory()
    questioner = load_questioner("information_gain", tags=opened.gallery().tags)
    for text in captions:
        session = Session(opened.gallery(), Composer(), questioner)
        best = session.search(Say(text))[0].id
        asked = session.follow_up()
        if asked is not None:
            session.search(Answer(asked, asked.choices[0]))
        session.search(Reject((best,), "without people"))
        session.search(Like(best, "red"))
        session.search(Say("12345.jpg"))
    return after_turns | {f"talks_{name}": value for name, value in _measure_memory().items()}


def _measure_memory() -> dict[str, int]:
    used = psutil.Process().memory_info()
    return {"resident_MB": used.rss // 1_000_000, "private_MB": (used.rss - used.shared) // 1_000_000}


# -- time


def note_time(times: list[tuple[float, float]], work: Callable[..., Any], *given: Any) -> Any:
    """Returns the result of a call, and adds to `times` how long it took and how long this process was at work."""
    result, *spent = time_call_and_cores(work, *given)
    times.append((spent[0], spent[1]))
    return result


def medians(times: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Median and nineteen in twenty of milliseconds, and the median at work."""
    walls = sorted(wall for wall, _ in times)
    return {
        "ms": round(statistics.median(walls), 2),
        "p95_ms": round(walls[min(int(len(walls) * 0.95), len(walls) - 1)], 2),
        "cpu_ms": round(statistics.median(cpu for _, cpu in times), 2),
    }


if __name__ == "__main__":
    main()
