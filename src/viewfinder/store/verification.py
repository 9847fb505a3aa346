"""Verification of a library: damaged files, lost files, pictures without vectors and vectors without pictures."""

from __future__ import annotations

from collections.abc import Callable

from viewfinder.encoders.base import Encoder
from viewfinder.encoders.vectors import find_unusable
from viewfinder.errors import LibraryBusy, LibraryError, ViewfinderError
from viewfinder.store.kept_encoders import compare_encoder, explain_mismatch, has_old_space
from viewfinder.store.server_database import find_database_damage
from viewfinder.store.settings import Settings
from viewfinder.store.spaces import accepts, find_damaged_heads
from viewfinder.store.store import Store
from viewfinder.store.tables import REPAIR


def find_problems(
    store: Store, settings: Settings, load_encoder: Callable[[], Encoder], *, is_in_repair: bool = False
) -> list[str]:
    """Everything in a library that is not as it should be, one line each; damaged files alone, if there are any."""
    if problems := [f"damaged: {file}" for file in (*store.find_damage(), *find_damaged_heads(store.folder, settings))]:
        return problems
    encoder: Encoder | None
    try:
        encoder = load_encoder()  # not before: its head may be damaged
    except ViewfinderError as error:  # its files are gone, perhaps; the pictures can be looked at without it
        encoder, problems = None, [str(error)]
    if not is_in_repair and (store.folder / REPAIR).exists():
        problems.append("a repair was interrupted: `viewfinder repair` goes on with it")
    rows = store.rows()
    for row in rows:
        problems += [f"gone: {file.path}" for file in row.files if store.has_lost(file.path)]
    ids = {row.id for row in rows}
    # Other spaces may lag behind: `switch` completes one before it becomes active.
    kept = settings.active
    if encoder is None:
        spaces = {space for space in (kept.raw, kept.space) if space is not None}
    elif has_old_space(kept, encoder):
        spaces = {encoder.raw_version, str(kept.space)}
    elif not accepts(kept, encoder):  # what searches next tells whether it is the same all the same
        spaces = {str(kept.space)}
        problems.append(str(explain_mismatch(kept, encoder, compare_encoder(store, kept, encoder))))
    else:
        spaces = {encoder.raw_version, encoder.version}
    for space in sorted(spaces) if ids else ():
        there, matrix_nd = store.read_vectors(space)
        problems += [f"no vector in {space}: {picture}" for picture in sorted(ids.difference(there))]
        problems += [  # as earlier versions stored them
            f"no usable vector in {space}: {there[row]}: {why}: `viewfinder remove` it and add its file again"
            for row, why in find_unusable(matrix_nd).items()
        ]
    if without := _find_orphans(store):
        problems.append(
            f"no picture for {len(without):,} vectors (the first: {without[0]}); an `add` that was cut short "
            "leaves such, and lost pictures do: `viewfinder add` their folders again, `viewfinder repair` clears "
            "the rest"
        )
    store.pictures_with_regions()  # can they be read? Missing regions are made when needed
    store.failures()
    if not is_in_repair and find_database_damage(store.folder):
        problems.append(
            "the server's database, with its conversations and tokens, is damaged: restore a copy of it, or "
            "`viewfinder repair` moves it aside"
        )
    return problems


def _find_orphans(store: Store) -> list[str]:
    """Ids of vectors without a picture, sorted; none of a batch that is being added."""
    if not store.vectors_without_picture():
        return []
    try:
        with store.writing(timeout=0):
            return sorted(store.vectors_without_picture())
    except LibraryBusy:  # another process adds: what is not acknowledged yet is no problem
        return []
    except LibraryError:  # a disk that may only be read has no writer
        return sorted(store.vectors_without_picture())
