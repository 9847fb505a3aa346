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
"""

from viewfinder.stores.columns import AttributeColumn
from viewfinder.stores.exact import dot_scores, top_k
from viewfinder.stores.interaction import (
    attention,
    late_interaction,
    late_interaction_coarse,
    late_interaction_near,
    likeness,
    only_vectors,
    rank_fusion,
)
from viewfinder.stores.lance import Store
from viewfinder.stores.regions import RegionBlock, RegionCodes, laid_out, region_major
from viewfinder.stores.rows import Failure, FileRecord, PictureRow
from viewfinder.stores.snapshot import Snapshot, generation, load, load_built

__all__ = [
    "AttributeColumn",
    "Failure",
    "FileRecord",
    "PictureRow",
    "RegionBlock",
    "RegionCodes",
    "Snapshot",
    "Store",
    "attention",
    "dot_scores",
    "generation",
    "laid_out",
    "late_interaction",
    "late_interaction_coarse",
    "late_interaction_near",
    "likeness",
    "load",
    "load_built",
    "only_vectors",
    "rank_fusion",
    "region_major",
    "top_k",
]
