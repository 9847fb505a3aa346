"""Where representations and payload live, and how they are compared.

exact     the scoring kernels: dot products, the best k, late interaction (numpy)
lance     `Store`, the store of record: Lance tables inside a library folder (imports Lance when first used)
rows      what the store knows of a picture besides its vectors
snapshot  what searching reads: one space of a library as memory-mapped files
columns   catalogue columns and facts of a snapshot, for filters and questions
"""

from viewfinder.stores.columns import AttributeColumn
from viewfinder.stores.exact import RegionBlock, dot_scores, late_interaction, late_interaction_top, top_k
from viewfinder.stores.lance import Store
from viewfinder.stores.rows import Failure, FileRecord, PictureRow
from viewfinder.stores.snapshot import Snapshot, generation, load

__all__ = [
    "AttributeColumn",
    "Failure",
    "FileRecord",
    "PictureRow",
    "RegionBlock",
    "Snapshot",
    "Store",
    "dot_scores",
    "generation",
    "late_interaction",
    "late_interaction_top",
    "load",
    "top_k",
]
