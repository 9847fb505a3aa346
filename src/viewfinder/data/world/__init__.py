"""Annotated picture worlds: pictures whose truth is known, written in published formats.

Read it as stock (what there is: drawn kinds, or products) -> scene (the truth) -> draw (pixels) and language,
dialogues, chatsearch (words) -> making (one picture) -> write (files).
"""

from viewfinder.data.splits import SPLITS, split_of
from viewfinder.data.world.chatsearch import Pictured, chat_samples
from viewfinder.data.world.dialogues import scene_dialogue
from viewfinder.data.world.draw import draw_scene
from viewfinder.data.world.folder import WorldReport
from viewfinder.data.world.language import Region, captions, regions
from viewfinder.data.world.records import picture_truth
from viewfinder.data.world.scene import Relation, Scene, Thing, holds, sample_scene
from viewfinder.data.world.stock import DRAWN, Stock, stock_of
from viewfinder.data.world.write import KINDS_OF_WORLD, world, write_scenes

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
