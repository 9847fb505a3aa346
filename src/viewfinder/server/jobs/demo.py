"""The drawn pictures of the demo, in the process of a job: added to a library to try it with, and removed again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from viewfinder.store.places import DEMO

if TYPE_CHECKING:
    from viewfinder.library import Library

PICTURES, SEED = 300, 7
"""As `viewfinder demo` draws them."""


def draw_demo(library: Library) -> tuple[list[Path], Path]:
    """Draws the pictures, unless they are there; returns their folder, and the catalogue that tells what is on them."""
    from viewfinder.worlds import write_scenes

    world = library.folder.resolve() / DEMO
    catalogue = world / "catalogue.csv"
    if not catalogue.exists():  # it is written last
        shutil.rmtree(world, ignore_errors=True)
        write_scenes(world, count=PICTURES, seed=SEED, workers=1)
    return [world / "images"], catalogue


def remove_demo(library: Library) -> list[str]:
    """Forgets the pictures of the demo and deletes their files; returns the ids of those that are gone."""
    world = library.folder.resolve() / DEMO
    images = world / "images"
    known = any(Path(file.path).is_relative_to(images) for row in library.store.rows() for file in row.files)
    gone = library.remove(images) if known else []
    shutil.rmtree(world, ignore_errors=True)
    return gone
