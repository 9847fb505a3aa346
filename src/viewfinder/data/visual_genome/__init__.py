"""Visual Genome in the on-disk layout of Drill-down (Tan et al., NeurIPS 2019)."""

from viewfinder.data.visual_genome.layout import Layout, layout_at, split_names
from viewfinder.data.visual_genome.negation import absent_names, with_negations
from viewfinder.data.visual_genome.region_features import RegionFeatures, read_global_feature, read_region_features
from viewfinder.data.visual_genome.regions import (
    Region,
    RegionPicture,
    read_visual_genome,
    ten_captions,
)
from viewfinder.data.visual_genome.scene_graphs import (
    SceneGraph,
    SceneObject,
    SceneRelation,
    known_only,
    read_classes,
    read_scene_graph,
    scene_graph_xml,
)
from viewfinder.data.visual_genome.vocabulary import Vocabulary, build_vocabulary, read_vocabulary, tokens

__all__ = [
    "Layout",
    "Region",
    "RegionFeatures",
    "RegionPicture",
    "SceneGraph",
    "SceneObject",
    "SceneRelation",
    "Vocabulary",
    "absent_names",
    "build_vocabulary",
    "known_only",
    "layout_at",
    "read_classes",
    "read_global_feature",
    "read_region_features",
    "read_scene_graph",
    "read_visual_genome",
    "read_vocabulary",
    "scene_graph_xml",
    "split_names",
    "ten_captions",
    "tokens",
    "with_negations",
]
