"""Pictures of the library as an assistant sees them: one alone, or those of an answer on one sheet."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from viewfinder.errors import PictureError
from viewfinder.mcp.images import draw_sheet, shrink_picture
from viewfinder.server.problems import Problem

if TYPE_CHECKING:
    from viewfinder.mcp.visit import Visit
    from viewfinder.server.conversations.schemas import Hit

SHEET_SIZE, SHOWN_SIZE = 320, 1280
"""Pixels of the small copies that are drawn from; they are those of the page."""


async def draw_hits(visit: Visit, hits: Sequence[Hit]) -> Sequence[bytes]:
    """One sheet of pictures, numbered by their rank; none where there are none."""
    if not hits:
        return ()
    copies = await asyncio.gather(*(_find_copy(visit, hit.id) for hit in hits))
    return (await visit.services.thumbnails.aside.run(draw_sheet, copies, hits[0].rank),)


async def read_picture(visit: Visit, picture: str) -> bytes:
    """A picture as a small JPEG.

    Raises:
        Problem: 404, 410: it is not in the library, or no file of it is there.
        PictureError: its files have changed.
    """
    thumbnails = visit.services.thumbnails
    ready = await visit.services.pool.run(thumbnails.find_copy, picture, SHOWN_SIZE)
    copy = ready if isinstance(ready, bytes) else await thumbnails.make_copy(ready, SHOWN_SIZE)
    return await thumbnails.aside.run(shrink_picture, copy)


async def _find_copy(visit: Visit, picture: str) -> bytes | None:
    """A small copy for the sheet; None if the picture cannot be read any more."""
    thumbnails = visit.services.thumbnails
    with suppress(Problem, PictureError):
        ready = await visit.services.pool.run(thumbnails.find_copy, picture, SHEET_SIZE)
        return ready if isinstance(ready, bytes) else await thumbnails.make_copy(ready, SHEET_SIZE)
    return None
