"""Visual Genome in the on-disk layout of Drill-down (Tan et al., NeurIPS 2019)."""

from viewfinder.data.visual_genome.features import RegionFeatures, read_global_feature, read_region_features
from viewfinder.data.visual_genome.regions import (
    Layout,
    Region,
    RegionPicture,
    choose_captions,
    find_layout,
    list_splits,
    read_visual_genome,
)
from viewfinder.data.visual_genome.scene_graphs import (
    SceneGraph,
    SceneObject,
    SceneRelation,
    keep_known,
    read_classes,
    read_scene_graph,
    scene_graph_xml,
)
from viewfinder.data.visual_genome.words import (
    Vocabulary,
    add_negations,
    build_vocabulary,
    draw_absent_names,
    read_vocabulary,
    tokenize,
)

__all__ = [
    "Layout",
    "Region",
    "RegionFeatures",
    "RegionPicture",
    "SceneGraph",
    "SceneObject",
    "SceneRelation",
    "Vocabulary",
    "add_negations",
    "build_vocabulary",
    "choose_captions",
    "draw_absent_names",
    "find_layout",
    "keep_known",
    "list_splits",
    "read_classes",
    "read_global_feature",
    "read_region_features",
    "read_scene_graph",
    "read_visual_genome",
    "read_vocabulary",
    "scene_graph_xml",
    "tokenize",
]
