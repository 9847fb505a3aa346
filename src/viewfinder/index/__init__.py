"""Where representations and payload live, and how they are compared.

exact     the scoring kernels of one vector a picture: dot products, the best k (numpy)
regions   `RegionBlock`: many vectors a picture, laid out for scoring
interaction   the scoring kernels over them: late interaction, rank fusion (numpy, ONNX Runtime)
tables    opening Lance tables, and its errors as ours
region_table  raw region vectors, in a table of their own
lance     `Store`, the store of record: Lance tables inside a library folder (imports Lance when first used)
rows      what the store knows of a picture besides its vectors
snapshot  what searching reads: one space of a library as memory-mapped files
columns   catalogue columns and facts of a snapshot, for filters and questions

A snapshot of a library seen through its encoder: scores of a query, what they mean, and why.

gallery  `Gallery`: pictures to search in
regions  many vectors a picture: where raw vectors come from, the block of a trained system, its scores
attributes  what a predictor sees in pictures
plain    one vector a picture: the parts of a query that are one scan, and those compared through words
chances  what a score means: chances, matches, the verdict
why      what each turn adds, and what each slot looks at, as JSON
"""

from viewfinder.index.gallery import Gallery, Scores
from viewfinder.index.raw_vectors import Boxed, RawVectors, check_fits
from viewfinder.index.region_scores import (
    RegionBlock,
    RegionCodes,
    attention_weights,
    late_interaction,
    late_interaction_coarse,
    query_vector_scores,
    rank_fusion,
    single_vector_scores,
    tile_batches,
    tile_regions,
)
from viewfinder.index.rows import AttributeColumn, Failure, FileRecord, PictureRow
from viewfinder.index.scores import (
    LIKELY,
    MAYBE,
    ChanceOf,
    Match,
    PlainSum,
    Verdict,
    contrast_scores,
    dot_scores,
    explain_turns,
    judge_matches,
    judge_result,
    late_interaction_near,
    sum_plain_parts,
    top_k,
    vocabulary_vectors,
)
from viewfinder.index.snapshot import Snapshot, load_built_snapshot, load_snapshot, read_generation
from viewfinder.index.store import Store

__all__ = [
    "LIKELY",
    "MAYBE",
    "AttributeColumn",
    "Boxed",
    "ChanceOf",
    "Failure",
    "FileRecord",
    "Gallery",
    "Match",
    "PictureRow",
    "PlainSum",
    "RawVectors",
    "RegionBlock",
    "RegionCodes",
    "Scores",
    "Snapshot",
    "Store",
    "Verdict",
    "attention_weights",
    "check_fits",
    "contrast_scores",
    "dot_scores",
    "explain_turns",
    "judge_matches",
    "judge_result",
    "late_interaction",
    "late_interaction_coarse",
    "late_interaction_near",
    "load_built_snapshot",
    "load_snapshot",
    "query_vector_scores",
    "rank_fusion",
    "read_generation",
    "single_vector_scores",
    "sum_plain_parts",
    "tile_batches",
    "tile_regions",
    "top_k",
    "vocabulary_vectors",
]
