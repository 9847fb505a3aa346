"""Annotated picture worlds: pictures whose truth is known, written in published formats.

Read it as stock (what there is: drawn kinds, or products) -> scene (the truth) -> draw (pixels) and language,
dialogues, chatsearch (words) -> making (one picture) -> write (files).
"""

from viewfinder.data.splits import SPLITS, split_of
from viewfinder.worlds.chatsearch import Pictured, chat_samples
from viewfinder.worlds.dialogues import scene_dialogue
from viewfinder.worlds.draw import draw_scene
from viewfinder.worlds.folder import WorldReport
from viewfinder.worlds.language import Region, captions, regions
from viewfinder.worlds.records import picture_truth
from viewfinder.worlds.scene import Relation, Scene, Thing, holds, sample_scene
from viewfinder.worlds.stock import DRAWN, Stock, stock_of
from viewfinder.worlds.write import KINDS_OF_WORLD, world, write_scenes

__all__ = [
    "DRAWN",
    "KINDS_OF_WORLD",
    "SPLITS",
    "Pictured",
    "Region",
    "Relation",
    "Scene",
    "Stock",
    "Thing",
    "WorldReport",
    "captions",
    "chat_samples",
    "draw_scene",
    "holds",
    "picture_truth",
    "regions",
    "sample_scene",
    "scene_dialogue",
    "split_of",
    "stock_of",
    "world",
    "write_scenes",
]
