"""Annotated picture worlds: pictures whose truth is known, written in published formats.

Read it as stock (what there is: drawn kinds, or products) -> scene (the truth) -> drawing (pixels) and grammar (words:
language, questions and dialogues, chatsearch, edits) -> records -> write (files). A world of articles is in catalogue.
"""

from viewfinder.worlds.making import WorldReport, choose_workers
from viewfinder.worlds.write import WORLD_WRITERS, write_scenes, write_world

__all__ = ["WORLD_WRITERS", "WorldReport", "choose_workers", "write_scenes", "write_world"]
