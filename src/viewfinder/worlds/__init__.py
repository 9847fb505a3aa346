"""Annotated picture worlds: pictures whose truth is known, written in published formats.

Read it as stock (what there is: drawn kinds, or products) -> scene (the truth) -> drawing (pixels) and grammar (words:
language, questions and dialogues, chatsearch, edits) -> records -> write (files). A world of articles is in catalogue.
"""

from viewfinder.data.captions import SPLITS
from viewfinder.worlds.dialogues import scene_dialogue
from viewfinder.worlds.drawing.draw import draw_scene
from viewfinder.worlds.language import caption_scene, describe_regions
from viewfinder.worlds.making import WorldReport
from viewfinder.worlds.records import picture_truth
from viewfinder.worlds.scene import sample_scene
from viewfinder.worlds.stock import stock_of
from viewfinder.worlds.write import WORLD_WRITERS, write_scenes, write_world

__all__ = [
    "SPLITS",
    "WORLD_WRITERS",
    "WorldReport",
    "caption_scene",
    "describe_regions",
    "draw_scene",
    "picture_truth",
    "sample_scene",
    "scene_dialogue",
    "stock_of",
    "write_scenes",
    "write_world",
]
