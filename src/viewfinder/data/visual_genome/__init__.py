"""Visual Genome in the on-disk layout of Drill-down (Tan et al., NeurIPS 2019)."""

from viewfinder.data.visual_genome.layout import Layout, find_layout, list_splits
from viewfinder.data.visual_genome.negation import add_negations, draw_absent_names
from viewfinder.data.visual_genome.region_features import RegionFeatures, read_global_feature, read_region_features
from viewfinder.data.visual_genome.regions import Region, RegionPicture, choose_captions, read_visual_genome
from viewfinder.data.visual_genome.scene_graphs import (
    SceneGraph,
    SceneObject,
    SceneRelation,
    keep_known,
    read_classes,
    read_scene_graph,
    scene_graph_xml,
)
from viewfinder.data.visual_genome.vocabulary import Vocabulary, build_vocabulary, read_vocabulary, tokenize

__all__ = [
    "Layout",
    "Region",
    "RegionFeatures",
    "RegionPicture",
    "SceneGraph",
    "SceneObject",
    "SceneRelation",
    "Vocabulary",
    "draw_absent_names",
    "build_vocabulary",
    "keep_known",
    "find_layout",
    "read_classes",
    "read_global_feature",
    "read_region_features",
    "read_scene_graph",
    "read_visual_genome",
    "read_vocabulary",
    "scene_graph_xml",
    "list_splits",
    "choose_captions",
    "tokenize",
    "add_negations",
]
