"""Which code of faiss suits ten million pictures? Writes results/index_codes.json, a table of docs/scale.md.

    python benchmarks/index_codes.py DATA --work FOLDER                      # a million, then ten: 11 GB of disk
    python benchmarks/index_codes.py DATA --work FOLDER --sizes 1000000 --codes "SQ 8 bits" "RaBitQ 2 bits"

The pictures are vectors distributed as those of real photographs are (`scale_vectors`), in half precision and mapped;
the queries are captions that people wrote for photographs on which nothing was fitted. Lists are chosen and pictures
assigned to them once: all codes lie in the same lists. Every candidate is scored again exactly, and that time counts.
One thread. What was measured is skipped when it is run again (`--again` measures it anew), each code in a process of
its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from freshness import RESULTS
from jaxtyping import Float32, Int64
from measuring import read_figures, time_call_and_cores, write_figures
from scale_vectors import Photographs, VectorRecipe, describe_likeness, make_vectors, read_vectors, write_parts

from viewfinder.encoders.starter import StarterEncoder
from viewfinder.search.approximate import TRAINED_ON, as_query, exact_best, padded_width, with_background
from viewfinder.search.kernels import top_k

SIZES = (1_000_000, 10_000_000)
ASKED = 300
"""Sentences that are looked for; a tenth of them once more before, to warm up."""

PROBES = (16, 32, 64, 128, 256)
CANDIDATES = (100, 300, 1000, 3000)
"""Pictures that the index returns, all of which are scored again."""

BLOCK = 65_536
SEED = 0

Index = Any
Make = Callable[[Any, int, int], Index]


def scalar_quantizer(kind: str) -> Make:
    """An index of so many bits a number, in the range of the residuals that it is trained on."""

    def make(coarse: Any, width: int, lists: int) -> Index:
        import faiss

        return faiss.IndexIVFScalarQuantizer(
            coarse, width, lists, getattr(faiss.ScalarQuantizer, kind), faiss.METRIC_INNER_PRODUCT
        )

    return make


def product_quantizer(numbers: int) -> Make:
    """An index of four bits for so many numbers together."""

    def make(coarse: Any, width: int, lists: int) -> Index:
        import faiss

        made = faiss.IndexIVFPQ(coarse, width, lists, width // numbers, 4, faiss.METRIC_INNER_PRODUCT)
        made.by_residual = True
        return made

    return make


def rabitq(bits: int) -> Make:
    """An index of so many bits a number, whose queries have eight."""

    def make(coarse: Any, width: int, lists: int) -> Index:
        import faiss

        made = faiss.IndexIVFRaBitQ(coarse, width, lists, faiss.METRIC_INNER_PRODUCT, True, bits)
        made.qb = QUERY_BITS
        return made

    return make


QUERY_BITS = 8
"""Bits of each number of a query; faiss' default is 4."""

CODES: dict[str, tuple[Make, bool, str]] = {
    "RaBitQ 1 bit": (rabitq(1), True, ""),
    "RaBitQ 2 bits": (rabitq(2), True, ""),
    "SQ 4 bits": (scalar_quantizer("QT_4bit"), False, ""),
    "SQ 8 bits": (scalar_quantizer("QT_8bit"), False, ""),
    "PQ 68 x 4 bits, fast scan": (product_quantizer(4), False, "IndexIVFPQFastScan"),
    "RaBitQ 1 bit, fast scan": (rabitq(1), True, "IndexIVFRaBitQFastScan"),
    "RaBitQ 1 bit, not rotated": (rabitq(1), False, ""),
    "PQ 136 x 4 bits, fast scan": (product_quantizer(2), False, "IndexIVFPQFastScan"),
    "RaBitQ 4 bits": (rabitq(4), True, ""),
    "RaBitQ 2 bits, fast scan": (rabitq(2), True, "IndexIVFRaBitQFastScan"),
    "RaBitQ 4 bits, fast scan": (rabitq(4), True, "IndexIVFRaBitQFastScan"),
}
"""How an index is made, whether its vectors are rotated at random, and what it is turned into for fast scans."""


def main() -> None:
    """Measure the codes that were asked for, and have not been measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--codes", nargs="*", default=list(CODES), choices=list(CODES), metavar="CODE")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS / "index_codes.json")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure_code(given.measure, given.work / f"codes-{given.sizes[0]}")))
        return
    encoder = StarterEncoder()
    photos = read_vectors(given.data.resolve(), given.work, encoder)
    queries_md = encoder.words([said[0] for said in photos.captions[:ASKED]])
    made_by = describe_likeness(photos, queries_md)[1]
    results = read_figures(given.out) or {"sizes": {}}
    for size in given.sizes:
        folder = given.work / f"codes-{size}"
        folder.mkdir(parents=True, exist_ok=True)
        found = results["sizes"].setdefault(str(size), {"codes": {}})
        found |= prepare(photos, made_by, encoder, queries_md, size, folder)
        for name in given.codes:
            if name in found["codes"] and not given.again:
                continue
            command = [sys.executable, __file__, str(given.data), "--work", str(given.work), "--sizes", str(size)]
            said = subprocess.run([*command, "--measure", name], check=True, capture_output=True, text=True).stdout
            found["codes"][name] = json.loads(said.strip().splitlines()[-1])
            print(size, name, json.dumps(found["codes"][name]), flush=True)
            write_figures("index_codes", results, given.out)


# -- what all codes share


def prepare(
    photos: Photographs,
    recipe: VectorRecipe,
    encoder: StarterEncoder,
    queries_md: Float32[np.ndarray, "m d"],
    size: int,
    folder: Path,
) -> dict[str, Any]:
    """Vectors, their background, the lists, the list of every picture, queries and their ten best, each made once."""
    done = folder / "prepared.json"
    if done.exists():
        return dict(json.loads(done.read_text()))
    import faiss

    faiss.omp_set_num_threads(1)
    width, lists = photos.vectors_nd.shape[1], max(round(size**0.5), 1)
    vectors_nd = make_vectors(photos, recipe, size, folder.parent)
    backgrounds = (encoder.background(block_bd) for block_bd in read_blocks(vectors_nd))
    background_n = write_parts(folder / "background", np.float32, (size,), backgrounds)
    queries_mw = np.stack([as_query(query_d, 1.0) for query_d in queries_md])
    np.save(folder / "queries.npy", queries_mw)
    if not (folder / "best.npy").exists():
        np.save(folder / "best.npy", exact_best(vectors_nd, background_n, queries_mw, 10))
    sample_k = np.sort(np.random.default_rng(SEED).choice(size, min(size, lists * TRAINED_ON), replace=False))
    sample_kw = with_background(np.asarray(vectors_nd[sample_k], np.float32), background_n[sample_k])
    np.save(folder / "sample.npy", sample_kw)
    trained_s = 0.0
    if not (folder / "centroids.npy").exists():
        started = time.process_time()
        lists_of = faiss.Kmeans(
            padded_width(width), lists, niter=10, seed=SEED + 1, spherical=True,
            max_points_per_centroid=TRAINED_ON, min_points_per_centroid=1,
        )  # fmt: skip
        lists_of.train(sample_kw)
        np.save(folder / "centroids.npy", np.asarray(lists_of.centroids))
        trained_s = time.process_time() - started
    coarse = faiss.IndexFlatIP(padded_width(width))
    coarse.add(np.load(folder / "centroids.npy"))
    started = time.process_time()
    assigned = (
        coarse.search(with_background(block_bd, background_n[start : start + len(block_bd)]), 1)[1][:, 0]
        for start, block_bd in zip(range(0, size, BLOCK), read_blocks(vectors_nd), strict=True)
    )
    write_parts(folder / "list", np.int64, (size,), assigned)
    found = {
        "lists": lists, "asked": len(queries_mw), "seed": SEED, "share": round(recipe.share, 4),
        "trained_cpu_s": round(trained_s, 1), "assigned_cpu_s": round(time.process_time() - started, 1),
    }  # fmt: skip
    done.write_text(json.dumps(found))
    return found


def read_blocks(vectors_nd: np.ndarray) -> Iterator[Float32[np.ndarray, "b d"]]:
    """Mapped vectors, a block at a time in single precision."""
    for start in range(0, len(vectors_nd), BLOCK):
        yield np.asarray(vectors_nd[start : start + BLOCK], np.float32)


# -- one code


def measure_code(name: str, folder: Path) -> dict[str, Any]:
    """Bytes a picture, processor time to code all, and recall and time for every number of lists and candidates."""
    import faiss

    faiss.omp_set_num_threads(1)
    make, is_rotated, fast = CODES[name]
    (vectors,) = folder.parent.glob(f"made-{folder.name.removeprefix('codes-')}-*.npy")
    vectors_nd = np.load(vectors, mmap_mode="r")
    background_n, list_n = np.load(folder / "background.npy"), np.load(folder / "list.npy")
    queries_mw, best_mk = np.load(folder / "queries.npy"), np.load(folder / "best.npy")
    width = queries_mw.shape[1]
    turned_ww = rotation(width) if is_rotated else None
    coarse = faiss.IndexFlatIP(width)
    coarse.add(turn(np.load(folder / "centroids.npy"), turned_ww))
    index = make(coarse, width, coarse.ntotal)
    started = time.process_time()
    index.train(turn(np.load(folder / "sample.npy"), turned_ww))
    reserve(index, list_n)
    start = 0
    for block_bd in read_blocks(vectors_nd):
        end = start + len(block_bd)
        block_bw = turn(with_background(block_bd, background_n[start:end]), turned_ww)
        row_b = np.arange(start, end)
        index.add_core(end - start, *map(faiss.swig_ptr, (block_bw, row_b, list_n[start:end])))
        start = end
    if fast:
        index = getattr(faiss, fast)(index)
        if hasattr(index, "qb"):
            index.qb = QUERY_BITS
    coded_s = time.process_time() - started
    used = psutil.Process().memory_full_info().uss
    curve = [
        measure_point(index, queries_mw, turned_ww, best_mk, vectors_nd, background_n, probes, candidates)
        for probes in PROBES
        for candidates in CANDIDATES
    ]
    inverted = faiss.downcast_InvertedLists(index.invlists)
    return {
        "bytes": round(count_bytes(index) / len(vectors_nd), 1),
        "can_be_mapped": isinstance(inverted, faiss.ArrayInvertedLists),
        "coded_cpu_s": round(coded_s, 1),
        "private_MB": round(used / 1e6),
        "curve": curve,
    }


def rotation(width: int) -> Float32[np.ndarray, "w w"]:
    """A random rotation: RaBitQ assumes that no direction is special."""
    return np.linalg.qr(np.random.default_rng(SEED).standard_normal((width, width)))[0].astype(np.float32)


def turn(vectors_nw: Float32[np.ndarray, "n w"], turned_ww: Float32[np.ndarray, "w w"] | None) -> np.ndarray:
    """Vectors, rotated if the code wants them so."""
    return vectors_nw if turned_ww is None else np.ascontiguousarray(vectors_nw @ turned_ww)


def reserve(index: Index, list_n: Int64[np.ndarray, " n"]) -> None:
    """Gives every list the room that it will need: lists that grow take up to twice as much."""
    for number, count in enumerate(np.bincount(list_n, minlength=index.nlist).tolist()):
        index.invlists.resize(number, count)
        index.invlists.resize(number, 0)


def measure_point(
    index: Index,
    queries_mw: Float32[np.ndarray, "m w"],
    turned_ww: Float32[np.ndarray, "w w"] | None,
    best_mk: Int64[np.ndarray, "m k"],
    vectors_nd: np.ndarray,
    background_n: Float32[np.ndarray, " n"],
    probes: int,
    candidates: int,
) -> dict[str, Any]:
    """Recall of the exact ten and time of a query, with so many lists and candidates."""
    import faiss

    if hasattr(index, "rabitq"):
        params: Any = faiss.IVFRaBitQSearchParameters()
        params.qb, params.nprobe = QUERY_BITS, probes
    else:
        params = faiss.SearchParametersIVF()
        params.nprobe = probes
    width = vectors_nd.shape[1]

    def search(query_w: Float32[np.ndarray, " w"]) -> Int64[np.ndarray, " k"]:
        _, rows_1k = index.search(turn(query_w[None], turned_ww), candidates, params=params)
        rows_c = np.sort(rows_1k[0][rows_1k[0] >= 0])
        exact_c = np.asarray(vectors_nd[rows_c], np.float32) @ query_w[:width] + query_w[width] * background_n[rows_c]
        return np.asarray(rows_c[top_k(exact_c, 10)])

    shares, walls, worked = [], [], []
    for query_w in queries_mw[: ASKED // 10]:
        search(query_w)
    for query_w, best_k in zip(queries_mw, best_mk, strict=True):
        found_k, wall_ms, cpu_ms = time_call_and_cores(search, query_w)
        shares.append(np.isin(best_k, found_k).mean())
        walls.append(wall_ms)
        worked.append(cpu_ms)
    return {
        "probes": probes, "candidates": candidates,
        "recall": round(float(np.mean(shares)), 4),
        "error": round(float(np.std(shares) / len(shares) ** 0.5), 4),
        "ms": round(float(np.median(walls)), 2), "p95_ms": round(float(np.quantile(walls, 0.95)), 2),
        "cpu_ms": round(float(np.median(worked)), 2),
    }  # fmt: skip


def count_bytes(index: Index) -> int:
    """The bytes of a saved index."""
    import faiss

    total = 0

    def count(written: bytes) -> None:
        nonlocal total
        total += len(written)

    writer = faiss.PyCallbackIOWriter(count, 1 << 20)  # type: ignore[attr-defined]  # its stubs do not know it
    faiss.write_index(index, writer)
    del writer
    return total


if __name__ == "__main__":
    main()
