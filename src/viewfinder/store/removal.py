"""Forgetting pictures: those that are named, with the copies that a library keeps of them, and those that are gone."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from viewfinder.errors import BadInput, UnknownName, check_named, check_type
from viewfinder.pictures import absolute_path
from viewfinder.pictures.thumbnails import SIZES, THUMBNAILS, thumbnail_path
from viewfinder.store.objects import original_name, parse_url
from viewfinder.store.places import SENT, find_bucket
from viewfinder.store.rows import PictureRow, keep_files
from viewfinder.store.store import Store


@dataclass(frozen=True)
class Selection:
    """Pictures by their ids, and all files at or below some places, as the store names them."""

    ids: frozenset[str]
    places: frozenset[str]

    @staticmethod
    def of(store: Store, pictures: Sequence[PictureRow | str | Path]) -> Selection:
        """The selection that rows, ids and paths make; a text is a path if no picture has it as its id."""
        for picture in pictures:
            check_type("picture", picture, PictureRow, str, Path)
            check_named("picture", picture)
        named = [it.id if isinstance(it, PictureRow) else it for it in pictures]
        ids = frozenset(row.id for row in store.rows_of([it for it in named if isinstance(it, str)]))
        return Selection(ids, frozenset(name_place(it) for it in named if it not in ids))

    def find(self, store: Store) -> tuple[list[PictureRow], list[str]]:
        """The pictures that are meant, or files of which are, and the files in quarantine that are.

        Raises UnknownName: there is nothing at or below a place.
        """
        if not self.places:
            return store.rows_of(sorted(self.ids)), []
        rows, failures = store.rows(), [failure.path for failure in store.failures()]
        known = [*(file.path for row in rows for file in row.files), *failures]
        if unknown := sorted(self.places.difference(*map(name_folders, known))):
            raise UnknownName(f"nothing in this library is, or lies below, {unknown[0]}: give ids or paths of pictures")
        meant = [row for row in rows if row.id in self.ids or any(self.covers(file.path) for file in row.files)]
        return meant, [path for path in failures if self.covers(path)]

    def covers(self, path: str) -> bool:
        """Whether a file, or a folder, is or lies below one of the places."""
        return not self.places.isdisjoint(name_folders(path))

    def leave(self, row: PictureRow) -> PictureRow:
        """A row without the files that are meant."""
        kept = [] if row.id in self.ids else [file for file in row.files if not self.covers(file.path)]
        return keep_files(row, kept)


class Pruned(list[str]):
    """Ids of pictures of which no file is left; `refused`, after a dry run, why they would stay all the same."""

    refused: str | None = None


def prune_pictures(store: Store, roots: Sequence[str], *, dry_run: bool, force: bool) -> Pruned:
    """Forgets files that are gone; returns the ids of pictures of which no file is left.

    Raises BadInput, unless `force`: so much is gone that a drive may be unplugged. A dry run returns it as `refused`.
    """
    rows = store.rows()
    left = [keep_files(row, [it for it in row.files if not store.has_lost(it.path)]) for row in rows]
    gone = Pruned(row.id for row in left if not row.files)
    if gone and not force:
        gone.refused = _explain_refusal(roots, rows, left)
    if not dry_run:
        if gone.refused is not None:
            raise BadInput(gone.refused)
        _forget_rows(store, rows, left, [it.path for it in store.failures() if not os.path.lexists(it.path)])
    return gone


def remove_pictures(store: Store, meant: Selection, *, dry_run: bool) -> list[str]:
    """Forgets a selection; returns the ids of pictures of which no file is left. Raises UnknownName: see `find`."""
    rows, failures = meant.find(store)
    left = [meant.leave(row) for row in rows]
    gone = [row for row, rest in zip(rows, left, strict=True) if not rest.files]
    if not dry_run:
        delete_copies(store.folder, gone)  # before the rows: what is cut short can be repeated
        _forget_rows(store, rows, left, failures)
    return [row.id for row in gone]


def _forget_rows(store: Store, rows: Sequence[PictureRow], left: Sequence[PictureRow], failures: Sequence[str]) -> None:
    """Stores what is left of rows, takes failures out of quarantine, and gives the room back."""
    store.delete([row.id for row in left if not row.files])
    store.replace([new for new, old in zip(left, rows, strict=True) if new.files and new.files != old.files])
    store.forget_failures(failures)
    store.compact()


def _explain_refusal(roots: Sequence[str], before: Sequence[PictureRow], after: Sequence[PictureRow]) -> str | None:
    """Why so much is not forgotten: nothing is left of a folder that was added, or of half of all pictures."""
    advice = "is a drive unplugged? If they are to be forgotten, `viewfinder prune --force` does it"
    for root in roots:
        known, there = (
            sum(file.path.startswith(f"{root.rstrip('/')}/") for row in rows for file in row.files)
            for rows in (before, after)
        )
        if known and not there:
            return f"nothing is left of {root}, where {known:,} pictures were: {advice}"
    if 2 * (gone := sum(not row.files for row in after)) > len(after):
        return f"{gone:,} of {len(after):,} pictures are gone: {advice}"
    return None


def name_place(path: str | Path) -> str:
    """A file or folder as the store names it, whether it is still there or not; a URL keeps one slash.

    >>> name_place("/photos/2019/"), name_place("s3://photos/2019")
    ('/photos/2019', 's3:/photos/2019')
    """
    return str(absolute_path(Path(path)) if (url := parse_url(path)) is None else Path(url))


def name_folders(path: str) -> Iterator[str]:
    """A path and all folders above it.

    >>> list(name_folders("/photos/2019/1.jpg"))
    ['/photos/2019/1.jpg', '/photos/2019', '/photos', '/']
    """
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield "/"


def delete_copies(folder: Path, rows: Sequence[PictureRow]) -> None:
    """Deletes what a library itself keeps of pictures: what a server was sent, small copies, originals in a bucket.

    All other files are the user's own and never touched, also where they lie in the library's folder.
    """
    sent, files = folder.resolve() / SENT, [(row.id, Path(it.path)) for row in rows for it in row.files]
    copies = _list_thumbnails([row.id for row in rows])
    # Another picture's id is the name of a copy that was sent with other metadata.
    copies += [f"{SENT}/{file.name}" for _, file in files if file.parent == sent and is_id(file.stem)]
    bucket = find_bucket(folder)
    if bucket is not None:
        bucket.delete_files([*copies, *(original_name(row.id) for row in rows)])
        return
    for name in copies:
        (folder / name).unlink(missing_ok=True)


def is_id(name: str) -> bool:
    """Whether a name is written as the ids of pictures are (`pictures.picture_id`)."""
    return re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", name) is not None


def delete_thumbnails(folder: Path, pictures: Sequence[str]) -> None:
    """Deletes the small copies of pictures, which are made again when they are wanted."""
    copies = _list_thumbnails(pictures)
    if (bucket := find_bucket(folder)) is not None:
        bucket.delete_files(copies)
        return
    for name in copies:
        (folder / name).unlink(missing_ok=True)


def _list_thumbnails(pictures: Sequence[str]) -> list[str]:
    return [str(thumbnail_path(Path(THUMBNAILS), picture, size)) for picture in pictures for size in SIZES]
