"""Repair of a library: its tables (`repair_tables`), then what is made from them, then its settings.

Each step may be repeated after a kill; what it drops stands in the journal before (`repair_journal`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from viewfinder.encoders.base import Encoder, to_file_name
from viewfinder.errors import BadInput, LibraryError, NotALibrary
from viewfinder.store.ingest import Ingest
from viewfinder.store.kept_encoders import Sameness, compare_encoder, has_old_space, take_recognised
from viewfinder.store.places import find_bucket
from viewfinder.store.repair_journal import BEFORE, RepairJournal, end_repair, go_on_with_repair
from viewfinder.store.repair_tables import repair_tables
from viewfinder.store.reports import Progress, RepairReport
from viewfinder.store.server_database import find_database_damage, set_database_aside
from viewfinder.store.settings import (
    FORMAT_WITH_FACTS,
    LIBRARY_FORMAT,
    SETTINGS,
    Settings,
    read_settings,
    replace_active,
    write_settings,
)
from viewfinder.store.snapshot_files import load_snapshot
from viewfinder.store.spaces import accepts, build_space, find_damaged_heads, has_space
from viewfinder.store.store import Store
from viewfinder.store.tables import FILLED, REGIONS_PREFIX, REPAIR, TABLES, Tables
from viewfinder.store.verification import find_problems

CACHES = ("snapshots", "approximate")
"""Folders of a library that are made anew."""


def repair_library(
    folder: Path, encoder: str | None, load_encoder: Callable[[Settings], Encoder], progress: Progress | None
) -> RepairReport:
    """Repairs the library in a folder; `encoder` names its encoder if nothing else does.

    Raises:
        NotALibrary: there are no tables.
        BadInput: nothing says with which encoder it was made.
        LibraryError: it lies in a bucket.
    """
    if (bucket := find_bucket(folder)) is not None:
        raise LibraryError(
            f"{bucket.url} lies in a bucket, which keeps its files whole itself: mend what is missing with "
            "`viewfinder add`, or copy an earlier version of the bucket back"
        )
    if not any(place.is_dir() for place in (folder / TABLES, folder / REPAIR / BEFORE)):
        raise NotALibrary(f"{folder} holds no library, or nothing that is left of one: check the path")
    with (store := Store(folder)).writing(), Tables(folder).translating_errors():
        journal = go_on_with_repair(folder)
        settings = _salvage_settings(folder, encoder, journal)
        repair_tables(folder, journal)
        store.reopen()
        if lost := find_database_damage(folder):
            journal.note_lost_once("the server's database", lost)
            journal.save(folder)
            set_database_aside(folder)
        settings = _repair_heads(folder, settings, journal)
        loaded = load_encoder(settings)
        settings = _repair_vectors(store, loaded, settings, journal, progress)
        if any(name.startswith(REGIONS_PREFIX) for name in journal.lost_rows):
            (folder / TABLES / FILLED).unlink(missing_ok=True)
            journal.note_mended("regions of pictures, made again when they are needed")
        if journal.report != RepairReport():
            journal.save(folder)  # with what the settings lose
        for cache in CACHES:
            shutil.rmtree(folder / cache, ignore_errors=True)
        if store.has_facts():
            least = LIBRARY_FORMAT if any(row.machine for row in store.rows()) else FORMAT_WITH_FACTS
            settings = replace(settings, format=max(settings.format, least))
        write_settings(folder, settings)
        if settings.space is not None or has_space(store, loaded):
            load_snapshot(folder, settings.space or loaded.version)
        for problem in find_problems(store, settings, lambda: loaded, is_in_repair=True):
            journal.note_lost(problem)
        end_repair(folder)
    return journal.report


def _salvage_settings(folder: Path, encoder: str | None, journal: RepairJournal) -> Settings:
    """The settings from `library.json`, else from its copy, else from the tables. Raises NewerLibrary, BadInput."""
    for file in (folder / SETTINGS, folder / TABLES / SETTINGS):
        with suppress(NotALibrary):
            settings = read_settings(file)
            if file.parent != folder:
                journal.note_mended("library.json, from its copy")
            return settings
    if encoder is None and not any((folder / TABLES).glob("vectors.starter-raw*")):
        raise BadInput(f"nothing in {folder} says which encoder it was made with: name it with --encoder")
    journal.note_mended("library.json, from the tables")
    return Settings(encoder or "starter")


def _repair_heads(folder: Path, settings: Settings, journal: RepairJournal) -> Settings:
    damaged = find_damaged_heads(folder, settings)
    if settings.previous is not None and settings.previous[1] in damaged:
        settings = _forget_previous(settings, journal)
    if settings.head in damaged:
        journal.note_lost(f"the tuned head {settings.head}: the shipped one is used, `viewfinder tune` makes another")
        journal.save(folder)
        (folder / str(settings.head)).unlink(missing_ok=True)
        settings = replace(settings, head=None, space=None)
    return settings


def _repair_vectors(
    store: Store, encoder: Encoder, settings: Settings, journal: RepairJournal, progress: Progress | None
) -> Settings:
    """Makes lost raw vectors again from the files; then the active space.

    Not where the encoder is another model than the one that made them: then a space without all pictures could become
    the active one. `find_problems` tells it.
    """
    for former in settings.known_as:  # where the list of spaces was made anew, from the names of files
        if former in (spaces := store.spaces()) and encoder.raw_version not in spaces:
            store.name_alike(former, encoder.raw_version)
    kept = settings.active
    if kept.space in store.spaces() and not (accepts(kept, encoder) or has_old_space(kept, encoder)):
        if compare_encoder(store, kept, encoder) is not Sameness.RECOGNISED:
            return settings
        settings = replace_active(settings, take_recognised(store, kept, encoder))
    rows = store.rows()
    lacking = {row.id for row in rows} - store.ids_with_vectors(encoder.raw_version)
    files = [Path(file.path) for row in rows if row.id in lacking for file in row.files]
    if there := [file for file in files if file.exists()]:
        Ingest(store, encoder).run(there, progress=progress)
    still = lacking - store.ids_with_vectors(encoder.raw_version)
    if lacking - still:
        journal.note_mended(f"vectors of {len(lacking - still):,} pictures, from their files")
    if still:
        journal.note_lost(f"vectors of {len(still):,} pictures whose files are gone: `viewfinder prune` forgets them")
    if not (with_raw := store.ids_with_vectors(encoder.raw_version)):
        return settings
    made = store.ids_with_vectors(encoder.version)
    if with_raw - made or f"vectors.{to_file_name(encoder.version)}" in journal.lost_rows:
        build_space(store, encoder)
        journal.note_mended(f"the space {encoder.version}, from raw vectors")
    if settings.previous is not None and settings.previous[0] not in store.spaces():
        settings = _forget_previous(settings, journal)
    return replace(settings, space=encoder.version)


def _forget_previous(settings: Settings, journal: RepairJournal) -> Settings:
    journal.note_lost("what `viewfinder tune --undo` would go back to")
    return replace(settings, previous=None)
