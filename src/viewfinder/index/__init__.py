"""What is stored of pictures, how it is scored for a query, and the order that results.

store, tables, rows   the store of record: Lance tables inside a library folder (Lance is imported when first used)
ingest, removal   pictures into it, and out of it; grounding: which part of a picture answers which words
snapshot, snapshot_files, growing_arrays   `Snapshot`: what searching reads, one space of a library; how it lies on
    disk and grows, columns included
raw_vectors   the vectors from which trained systems make their own; regions, made when first needed
gallery       `Gallery`: a snapshot seen through its encoder; it scores pictures for a query
shard_scores  merges the answers of several machines into one (`viewfinder.cluster`)
approximate, index_files   the index of a large collection, and where it lies; near_scores: turns over it
scores, region_scores   the kernels, for one vector per picture and for many; what a score means, and why
ranking       `Ranking`: the order of a gallery for one query; `Hits`; candidates for questioners
turns         looks up what a turn refers to; the cache of retrievers' states
"""

from viewfinder.index.gallery import Gallery
from viewfinder.index.raw_vectors import RawVectors, check_fits
from viewfinder.index.region_scores import (
    RegionBlock,
    late_interaction,
    query_vector_scores,
    rank_fusion,
    single_vector_scores,
)
from viewfinder.index.rows import Failure, FileRecord, PictureRow
from viewfinder.index.scores import Verdict, dot_scores, sum_plain_parts, top_k
from viewfinder.index.snapshot import Snapshot, read_generation
from viewfinder.index.snapshot_files import load_built_snapshot, load_snapshot
from viewfinder.index.store import Store

__all__ = [
    "Failure",
    "FileRecord",
    "Gallery",
    "PictureRow",
    "RawVectors",
    "RegionBlock",
    "Snapshot",
    "Store",
    "Verdict",
    "check_fits",
    "dot_scores",
    "late_interaction",
    "load_built_snapshot",
    "load_snapshot",
    "query_vector_scores",
    "rank_fusion",
    "read_generation",
    "single_vector_scores",
    "sum_plain_parts",
    "top_k",
]
