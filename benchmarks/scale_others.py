"""Other engines on the vectors of benchmarks/scale.py: each is built from all and gives the ten best of a query."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float32

from viewfinder.processors import count_processors

Engine = Callable[[np.ndarray], np.ndarray]
PROBES = 32
TRAINED_A_LIST = 60
"""Pictures a list that faiss chooses its lists by."""
LANCE_MULTIPLE = 8
"""LanceDB's RaBitQ takes vectors of a multiple of so many numbers; zeros are added, which change no inner product."""
USEARCH_EXPANSION = 256
"""How many pictures a search of the graph keeps in view: more find more, and take longer."""
MAX_QDRANT_PICTURES = 50_000
"""Qdrant's embedded client is meant for small collections, and says so above 20,000."""


def faiss_alone(vectors_nw: Float32[np.ndarray, "n w"], work: Path, library: Path) -> Engine | None:
    """faiss with lists and 8 bits a number, in memory, whose order is taken as it is."""
    import faiss

    width, lists = vectors_nw.shape[1], max(round(len(vectors_nw) ** 0.5), 1)
    index: Any = faiss.index_factory(width, f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
    index.train(vectors_nw[:: max(len(vectors_nw) // (TRAINED_A_LIST * lists), 1)])
    index.add(vectors_nw)
    index.nprobe = PROBES
    return lambda query_w: np.asarray(index.search(query_w[None], 10)[1][0])


def lance(
    kind: Literal["IVF_SQ", "IVF_RQ"], vectors_nw: Float32[np.ndarray, "n w"], work: Path, library: Path
) -> Engine | None:
    """LanceDB with an index of its own, refined by exact scores."""
    import lancedb
    import pyarrow as pa

    folder = work / "lance"
    shutil.rmtree(folder, ignore_errors=True)
    width = -(-vectors_nw.shape[1] // LANCE_MULTIPLE) * LANCE_MULTIPLE
    added = ((0, 0), (0, width - vectors_nw.shape[1]))

    def batches() -> Iterator[Any]:
        for start in range(0, len(vectors_nw), 50_000):
            block_bw = np.pad(vectors_nw[start : start + 50_000], added)
            flat = pa.FixedSizeListArray.from_arrays(pa.array(block_bw.reshape(-1)), width)
            rows = pa.array(np.arange(start, start + len(block_bw)))
            yield pa.record_batch([rows, flat], names=["row", "vector"])

    schema = pa.schema([("row", pa.int64()), ("vector", pa.list_(pa.float32(), width))])
    table = lancedb.connect(folder).create_table("vectors", batches(), schema=schema)
    lists = max(round(len(vectors_nw) ** 0.5), 1)
    table.create_index(metric="dot", vector_column_name="vector", index_type=kind, num_partitions=lists)
    table.optimize()

    def search(query_w: np.ndarray) -> np.ndarray:
        asked: Any = table.search(np.pad(query_w, added[1]))
        found = asked.distance_type("dot").nprobes(PROBES).refine_factor(10).limit(10)
        return np.asarray(found.select(["row", "_distance"]).to_arrow()["row"].to_numpy())

    return search


def usearch(vectors_nw: Float32[np.ndarray, "n w"], work: Path, library: Path) -> Engine | None:
    """USearch's graph of vectors in half precision, in memory; its own numbers but for how far it looks."""
    if find_spec("usearch") is None:
        return None
    from usearch.index import Index

    index = Index(ndim=vectors_nw.shape[1], metric="ip", dtype="f16", expansion_search=USEARCH_EXPANSION)
    for start in range(0, len(vectors_nw), 50_000):
        block_bw = vectors_nw[start : start + 50_000]
        index.add(np.arange(start, start + len(block_bw)), block_bw, threads=count_processors())
    return lambda query_w: np.asarray(index.search(query_w, 10).keys)


def qdrant(vectors_nw: Float32[np.ndarray, "n w"], work: Path, library: Path) -> Engine | None:
    """Qdrant's embedded client, in memory."""
    if find_spec("qdrant_client") is None or len(vectors_nw) > MAX_QDRANT_PICTURES:
        return None
    from qdrant_client import QdrantClient, models

    warnings.simplefilter("ignore")
    client = QdrantClient(":memory:")
    shape = models.VectorParams(size=vectors_nw.shape[1], distance=models.Distance.DOT)
    client.create_collection("vectors", vectors_config=shape)
    for start in range(0, len(vectors_nw), 10_000):
        block = vectors_nw[start : start + 10_000]
        client.upsert("vectors", models.Batch(ids=list(range(start, start + len(block))), vectors=block.tolist()))
    return lambda query_w: np.array(
        [point.id for point in client.query_points("vectors", query=query_w.tolist(), limit=10).points]
    )


OTHERS: dict[str, Callable[[Float32[np.ndarray, "n w"], Path, Path], Engine | None]] = {
    "faiss alone": faiss_alone,
    "LanceDB": partial(lance, "IVF_SQ"),
    "LanceDB, RaBitQ": partial(lance, "IVF_RQ"),
    "USearch": usearch,
    "Qdrant, embedded": qdrant,
}
