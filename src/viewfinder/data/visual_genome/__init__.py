"""Visual Genome in the on-disk layout of Drill-down (Tan et al., NeurIPS 2019)."""

from viewfinder.data.visual_genome.features import read_global_feature, read_region_features
from viewfinder.data.visual_genome.regions import (
    choose_captions,
    describe_regions,
    find_layout,
    has_split_lists,
    list_splits,
    read_visual_genome,
)
from viewfinder.data.visual_genome.words import (
    Vocabulary,
    build_vocabulary,
    read_vocabulary,
    tokenize,
)

__all__ = [
    "Vocabulary",
    "build_vocabulary",
    "choose_captions",
    "describe_regions",
    "find_layout",
    "has_split_lists",
    "list_splits",
    "read_global_feature",
    "read_region_features",
    "read_visual_genome",
    "read_vocabulary",
    "tokenize",
]
