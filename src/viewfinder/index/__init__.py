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

from viewfinder.index.chances import LIKELY, MAYBE, ChanceOf, Match, Verdict, match_of, verdict_of
from viewfinder.index.columns import AttributeColumn
from viewfinder.index.exact import dot_scores, top_k
from viewfinder.index.gallery import Gallery, Scores
from viewfinder.index.gallery_regions import Boxed, RawVectors, check_fits
from viewfinder.index.interaction import (
    attention,
    late_interaction,
    late_interaction_coarse,
    late_interaction_near,
    likeness,
    only_vectors,
    rank_fusion,
)
from viewfinder.index.lance import Store
from viewfinder.index.plain import PlainSum, contrast, plain_sum, said_of
from viewfinder.index.regions import RegionBlock, RegionCodes, laid_out, region_major
from viewfinder.index.rows import Failure, FileRecord, PictureRow
from viewfinder.index.snapshot import Snapshot, generation, load, load_built
from viewfinder.index.why import explained

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
    "attention",
    "check_fits",
    "contrast",
    "dot_scores",
    "explained",
    "generation",
    "laid_out",
    "late_interaction",
    "late_interaction_coarse",
    "late_interaction_near",
    "likeness",
    "load",
    "load_built",
    "match_of",
    "only_vectors",
    "plain_sum",
    "rank_fusion",
    "region_major",
    "said_of",
    "top_k",
    "verdict_of",
]
