"""Annotated picture worlds: pictures whose truth is known, written in published formats.

Read it as scene (the truth) -> draw (pixels) and language (words) -> write (files).
"""

from viewfinder.data.world.draw import draw_scene
from viewfinder.data.world.language import Region, captions, regions
from viewfinder.data.world.scene import Relation, Scene, Thing, holds, sample_scene
from viewfinder.data.world.write import KINDS_OF_WORLD, WorldReport, world, write_scenes

__all__ = [
    "KINDS_OF_WORLD",
    "Region",
    "Relation",
    "Scene",
    "Thing",
    "WorldReport",
    "captions",
    "draw_scene",
    "holds",
    "regions",
    "sample_scene",
    "world",
    "write_scenes",
]
