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

from viewfinder.index.chances import LIKELY, MAYBE, ChanceOf, Match, Verdict, judge_match, judge_result
from viewfinder.index.columns import AttributeColumn
from viewfinder.index.exact import dot_scores, top_k
from viewfinder.index.gallery import Gallery, Scores
from viewfinder.index.gallery_regions import Boxed, RawVectors, check_fits
from viewfinder.index.interaction import (
    attention_weights,
    late_interaction,
    late_interaction_coarse,
    late_interaction_near,
    query_vector_scores,
    rank_fusion,
    single_vector_scores,
)
from viewfinder.index.lance import Store
from viewfinder.index.plain import PlainSum, contrast_scores, sum_plain_parts, vocabulary_vectors
from viewfinder.index.regions import RegionBlock, RegionCodes, tile_batches, tile_regions
from viewfinder.index.rows import Failure, FileRecord, PictureRow
from viewfinder.index.snapshot import Snapshot, load_built_snapshot, load_snapshot, read_generation
from viewfinder.index.why import explain_turns

__all__ = [
    "AttributeColumn",
    "Boxed",
    "ChanceOf",
    "Failure",
    "FileRecord",
    "Gallery",
    "LIKELY",
    "MAYBE",
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
    "read_generation",
    "tile_batches",
    "late_interaction",
    "late_interaction_coarse",
    "late_interaction_near",
    "query_vector_scores",
    "load_snapshot",
    "load_built_snapshot",
    "judge_match",
    "single_vector_scores",
    "sum_plain_parts",
    "rank_fusion",
    "tile_regions",
    "vocabulary_vectors",
    "top_k",
    "judge_result",
]
