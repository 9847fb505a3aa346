"""Rows of pictures in snapshots, for a repair of a table of pictures that has lost some.

Snapshots are ordered by what they hold, not by their times, which a copy of a library need not keep. Each says which
state of the tables it shows; those of earlier viewfinders only have that state hashed in their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from viewfinder.store.checksums import map_sealed
from viewfinder.store.growing_arrays import count_rows
from viewfinder.store.rows import PictureRow, pictures_from_arrow
from viewfinder.store.snapshot import SNAPSHOT_FORMAT, find_last_written_version, read_filled_mark
from viewfinder.store.snapshot_files import GENERATION, MATRIX, TABLE, name_snapshot
from viewfinder.store.tables import PICTURES, SPACES, read_growth


@dataclass(frozen=True)
class SnapshotRows:
    """Pictures of one snapshot.

    Attributes:
        are_present: the table of pictures last said the same of them.
        are_all: it is whole, and shows the last state: no other picture had files and a vector.
    """

    rows: Sequence[PictureRow]
    are_present: bool = False
    are_all: bool = False


def read_snapshot_rows(folder: Path) -> Iterator[SnapshotRows]:
    """The pictures that a library's snapshots know: first those of the state that was written last."""
    states = _find_grown_states(folder)
    versions = {state.split(":")[0]: -place for place, state in reversed(list(enumerate(states)))}
    names = _name_states(folder, states)
    ranked = []
    for home in sorted((folder / "snapshots").glob("*-*")):
        rows, is_whole = _read_rows(home)
        version = _read_version(home) or names.get(home.name.split("-")[0])
        if version in versions:
            rank = (2, versions[version], len(rows))
        elif version is not None and version.isdigit():
            rank = (1, int(version), len(rows))
        else:  # of an earlier viewfinder: people add more often than they take away
            rank = (0, sum(len(row.captions) + len(row.attributes) for row in rows), len(rows))
        is_last = is_whole and rank[:2] == (2, 0)
        ranked.append((rank, SnapshotRows(rows, are_present=version in versions, are_all=is_last)))
    yield from (found for _, found in sorted(ranked, key=lambda each: each[0], reverse=True))


def _find_grown_states(folder: Path) -> list[str]:
    """The last state of the tables, then earlier ones from which it differs by added pictures alone."""
    last = find_last_written_version(folder, PICTURES)
    if last is None:
        return []
    state, growth = f"{last}:{find_last_written_version(folder, SPACES)}", read_growth(folder)
    found = [state]
    while state in growth and growth[state][0] not in found:
        state = growth[state][0]
        found.append(state)
    return found


def _name_states(folder: Path, states: Sequence[str]) -> Mapping[str, str]:
    """The version of the pictures by the first half of the name that a snapshot of these states has."""
    return {
        name_snapshot(f"{SNAPSHOT_FORMAT}:{state}:{filled}:").split("-")[0]: state.split(":")[0]
        for state in states
        for filled in ("0", read_filled_mark(folder))
    }


def _read_version(home: Path) -> str | None:
    """The version of the table of pictures that a snapshot shows; None if it does not say."""
    with suppress(OSError, ValueError):
        return bytes(map_sealed(home / GENERATION)).decode("utf-8", "surrogatepass").split(":")[1]
    return None


def _read_rows(home: Path) -> tuple[list[PictureRow], bool]:
    """The pictures in those files of a snapshot that are as they were written, and whether that is all of it."""
    import pyarrow as pa

    rows = list[PictureRow]()
    for file in sorted(home.glob(TABLE.format("*"))):
        with suppress(OSError, ValueError):
            rows += pictures_from_arrow(pa.ipc.open_file(pa.py_buffer(map_sealed(file))).read_all())
    with suppress(OSError, ValueError, KeyError):
        return rows, sum(count_rows(home / MATRIX)) == len(rows)
    return rows, False
