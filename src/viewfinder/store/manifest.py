"""The manifest of one run of `add`: which files were found, and which are known, in a temporary file.

It is a private database of SQLite, which holds 2 MB of it in memory however many files there are, and unlinks its file
as soon as it is open: nothing is left of it, even after kill -9. Texts lie in it as `pack_text` makes them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.errors import DiskFull
from viewfinder.pictures import FoundFile, UnreadablePlace, can_be_read_now
from viewfinder.pictures.pixel_hashes import split_pixel_hash
from viewfinder.store.rows import Failure, pack_text, unpack_text
from viewfinder.store.store import Store

MAX_PLACES = 10_000
"""Unreadable places that are in memory at once."""

_TABLES = """
PRAGMA journal_mode = OFF; -- nothing is ever rolled back
CREATE TABLE found (
    path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, stamp INTEGER, sidecars TEXT, facts_only INTEGER
) WITHOUT ROWID;
CREATE TABLE unreadable (path TEXT PRIMARY KEY, reason TEXT) WITHOUT ROWID;
CREATE TABLE pictures (id TEXT PRIMARY KEY, has_vector INTEGER, pixels TEXT) WITHOUT ROWID;
CREATE TABLE files (path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, stamp INTEGER, picture TEXT) WITHOUT ROWID;
CREATE TABLE aside (
    path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, stamp INTEGER, sidecars TEXT, facts_only INTEGER
) WITHOUT ROWID;
CREATE TABLE failures (path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, reason TEXT) WITHOUT ROWID;
"""

_UNCHANGED = "FROM found NATURAL JOIN files JOIN pictures ON id = picture WHERE has_vector"
_SAME_BYTES = (
    "SELECT path FROM found JOIN files USING (path, size, mtime_ns) JOIN pictures ON id = picture WHERE has_vector"
)
_STILL_FAILED = "FROM found NATURAL JOIN failures WHERE NOT can_be_read_now(reason)"


@dataclass(frozen=True)
class Matched:
    """Counts of the places found, which add up to `found`; `failures` are the first bad files that did not change.

    `to_reread`: the files among those `to_read` of which only the facts are to be read.
    """

    found: int
    unreadable: int
    unchanged: int
    still_failed: int
    to_read: int
    failures: list[Failure]
    to_reread: int = 0


class Manifest:
    """Known files (`learn`) and those found now (`find`), out of which `match` takes all that need not be read."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("")  # a temporary file of SQLite's own
        self._database.executescript(_TABLES)
        self._database.create_function("can_be_read_now", 1, lambda reason: can_be_read_now(unpack_text(reason)))

    @staticmethod
    @contextmanager
    def opened() -> Iterator[Manifest]:
        """An empty manifest, closed afterwards. Raises DiskFull: there is no place for its file."""
        manifest = Manifest()
        try:
            yield manifest
        except sqlite3.OperationalError as error:
            raise DiskFull(
                f"the list of files has no place among the temporary files ({error}): "
                "free some space, or set SQLITE_TMPDIR to a folder that has more, and add the same again"
            ) from error
        finally:
            manifest._database.close()

    def learn(self, store: Store, space: str) -> None:
        """Takes in what a library knows: pictures, their files, which of them have a vector in `space`; failures."""
        import pyarrow.compute as pc

        many = self._database.executemany
        for batch in store.stream_files():
            ids, files = batch["id"], pc.list_flatten(batch["files"])
            pixels = batch["pixels"].to_pylist() if "pixels" in batch.schema.names else [None] * len(ids)
            many("INSERT OR REPLACE INTO pictures VALUES (?, 0, ?)", zip(ids.to_pylist(), pixels, strict=True))
            columns = [pc.struct_field(files, name).to_pylist() for name in ("path", "size", "mtime_ns")]
            columns += [_list_stamps(batch), ids.take(pc.list_parent_indices(batch["files"])).to_pylist()]
            many("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", zip(*columns, strict=True))
        for batch in store.stream_vector_ids(space):
            many("UPDATE pictures SET has_vector = 1 WHERE id = ?", ((picture,) for picture in batch["id"].to_pylist()))
        self.add_failures(store.stream_failures())

    def find(self, places: Iterable[FoundFile | UnreadablePlace], settings_stamp: int = 0) -> None:
        """Takes in what lies below the roots; a place may come twice.

        `settings_stamp` stands for what is the same for all files: the readers of facts, and what the library keeps.
        """
        execute, statement = self._database.execute, "INSERT OR REPLACE INTO found VALUES (?, ?, ?, ?, ?, 0)"
        usual = _to_signed(settings_stamp)  # of most files nothing lies beside them
        for place in places:
            path = pack_text(str(place.path))
            if isinstance(place, FoundFile):
                stamp = usual if not place.stamp else _to_signed(place.stamp ^ settings_stamp)
                sidecars = json.dumps(place.sidecars) if place.sidecars else ""
                execute(statement, (path, place.size, place.mtime_ns, stamp, sidecars))
            else:
                self._execute("INSERT OR REPLACE INTO unreadable VALUES (?, ?)", path, pack_text(place.reason))

    def match(self, most: int) -> Matched:
        """Takes out of what was found the files that need not be read again; lists `most` failures, by path."""
        [[files, unreadable]] = self._database.execute(
            "SELECT (SELECT count(*) FROM found), (SELECT count(*) FROM unreadable)"
        )
        unchanged = self._execute(f"DELETE FROM found WHERE path IN (SELECT path {_UNCHANGED})")
        again = self._execute(f"UPDATE found SET facts_only = 1 WHERE path IN ({_SAME_BYTES})")
        listed = f"SELECT path, size, mtime_ns, reason {_STILL_FAILED} ORDER BY path LIMIT ?"
        failures = list(map(_to_failure, self._database.execute(listed, (most,))))
        failed = self._execute(f"DELETE FROM found WHERE path IN (SELECT path {_STILL_FAILED})")
        if files > unchanged + failed:  # `picture_with` needs it, and for a million pictures it takes a second
            self._execute("CREATE INDEX by_pixels ON pictures (pixels)")
        return Matched(files + unreadable, unreadable, unchanged, failed, files - unchanged - failed, failures, again)

    # -- while files are read

    def to_read(self) -> Iterator[FoundFile]:
        """The files that are left to be read, by path."""
        yield from map(_to_file, self._database.execute("SELECT * FROM found ORDER BY path"))

    def put_aside(self, file: FoundFile) -> None:
        """Keeps a file for later, to be read with its pixels: it is another picture, though its time is the same."""
        sidecars = json.dumps(file.sidecars) if file.sidecars else ""
        row = pack_text(str(file.path)), file.size, file.mtime_ns, file.stamp, sidecars
        self._execute("INSERT OR REPLACE INTO aside VALUES (?, ?, ?, ?, ?, 0)", *row)

    def list_rounds(self) -> Iterator[Iterator[FoundFile]]:
        """The files to be read, and once these are done those that were put aside meanwhile, if any."""
        yield self.to_read()
        if self._database.execute("SELECT 1 FROM aside LIMIT 1").fetchall():
            yield map(_to_file, self._database.execute("SELECT * FROM aside ORDER BY path"))

    def unreadable(self) -> Iterator[list[Failure]]:
        """The places that could not be looked into, by path, some thousands at a time."""
        rows = self._database.execute("SELECT path, 0, 0, reason FROM unreadable ORDER BY path")
        while chunk := rows.fetchmany(MAX_PLACES):
            yield list(map(_to_failure, chunk))

    def places_no_longer_found(self) -> Iterator[Path]:
        """Known places, not files, that could not be looked into, and were not found so now."""
        places = (
            "SELECT path FROM failures WHERE size = 0 AND mtime_ns = 0 AND path NOT IN (SELECT path FROM unreadable)"
        )
        for (path,) in self._database.execute(places):
            yield Path(unpack_text(path))

    def picture_at(self, path: str) -> str | None:
        """The id of the picture that is known to lie there."""
        row = self._database.execute("SELECT picture FROM files WHERE path = ?", (pack_text(path),)).fetchone()
        return None if row is None else str(row[0])

    def pixel_hash_of(self, picture: str) -> str:
        """A picture's pixel hash; "" if that, or the picture, is not known."""
        row = self._database.execute("SELECT pixels FROM pictures WHERE id = ?", (picture,)).fetchone()
        return str(row[0]) if row is not None and row[0] else ""

    def picture_with(self, pixel_hash: str) -> str | None:
        """The first of the pictures that have the same pixels, turned or not; None: there is none."""
        if not (pixels := split_pixel_hash(pixel_hash)[0]):
            return None
        found = "SELECT min(id) FROM pictures WHERE pixels >= ? AND pixels < ?"
        [[picture]] = self._database.execute(found, (f"{pixels}/", f"{pixels}0"))  # "0" comes after "/"
        return None if picture is None else str(picture)

    def has_vector(self, picture: str) -> bool | None:
        """Whether the picture has a vector; None: it is not known."""
        row = self._database.execute("SELECT has_vector FROM pictures WHERE id = ?", (picture,)).fetchone()
        return None if row is None else bool(row[0])

    def has_failed(self, path: str) -> bool:
        """Whether the file is known to be bad."""
        return bool(self._database.execute("SELECT 1 FROM failures WHERE path = ?", (pack_text(path),)).fetchall())

    def put_file(self, path: str, picture: str) -> None:
        """From now on this picture lies there."""
        self._execute("INSERT OR REPLACE INTO files VALUES (?, 0, 0, 0, ?)", pack_text(path), picture)

    def remove_file(self, path: str) -> None:
        """From now on no picture lies there."""
        self._execute("DELETE FROM files WHERE path = ?", pack_text(path))

    def add_vectors(self, pictures: Iterable[tuple[str, str]]) -> None:
        """From now on these pictures have vectors, and these pixel hashes."""
        self._database.executemany("INSERT OR REPLACE INTO pictures VALUES (?, 1, ?)", pictures)

    def put_pixel_hash(self, picture: str, pixel_hash: str) -> None:
        """From now on a picture's pixel hash is known."""
        self._execute("UPDATE pictures SET pixels = ? WHERE id = ?", pixel_hash, picture)

    def add_failures(self, failures: Iterable[Failure]) -> None:
        """From now on these are known to be bad; a file's last reason counts."""
        rows = ((pack_text(it.path), it.size, it.mtime_ns, pack_text(it.reason)) for it in failures)
        self._database.executemany("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)", rows)

    def _execute(self, statement: str, *values: str | int) -> int:
        """Returns how many rows that changed."""
        return self._database.execute(statement, values).rowcount


def _to_file(row: tuple[str, int, int, int, str, int]) -> FoundFile:
    path, size, mtime_ns, stamp, sidecars, facts_only = row
    names = tuple(json.loads(sidecars)) if sidecars else ()
    return FoundFile(Path(unpack_text(path)), size, mtime_ns, names, stamp, bool(facts_only))


def _to_signed(stamp: int) -> int:
    """64 bits as tables hold them: with a sign."""
    stamp &= (1 << 64) - 1
    return stamp - (1 << 64) if stamp >= 1 << 63 else stamp


def _list_stamps(batch: Any) -> list[int | None]:
    """The stamp of each file of a batch, None for those that an earlier viewfinder wrote."""
    counts = batch["files"].value_lengths().to_pylist()
    if "stamps" not in batch.schema.names:
        return [None] * sum(counts)
    stamps = batch["stamps"]
    if not stamps.null_count and stamps.value_lengths().to_pylist() == counts:
        return list(stamps.flatten().to_pylist())
    listed = zip(stamps.to_pylist(), counts, strict=True)
    return [stamp for known, count in listed for stamp in [*(known or ()), *[None] * count][:count]]


def _to_failure(row: tuple[str, int, int, str]) -> Failure:
    path, size, mtime_ns, reason = row
    return Failure(unpack_text(path), size, mtime_ns, unpack_text(reason))
