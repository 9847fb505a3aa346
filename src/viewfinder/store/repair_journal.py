"""Safety of a repair that is interrupted: it works on a copy, and keeps a journal of its findings.

    <library>/repair/tables/       tables that are being mended: links to the files of `tables/`, which stay
                     report.json   the journal, written before anything of the library is changed
                     before/       the tables as they were; removed when the whole repair is done

The copy is mended and on the disk, and the journal too, before the folders change places in two renames: a repair that
is killed before them begins anew with untouched tables, one that was killed between them does the second.
All that follows (vectors from files, spaces from vectors) is derived from what the tables lack, so it goes on where it
stopped. The journal goes last: while it is there, `tables.check_repaired` keeps others from using a library that is
half repaired, and no line of the report is forgotten.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from viewfinder.store.checksums import LANCE_FOLDERS, map_sealed, seal
from viewfinder.store.reports import RepairReport
from viewfinder.store.tables import GROWTH, REPAIR, REPORT, TABLES, private_files
from viewfinder.whole_files import sync, write_file

BEFORE = "before"
_TOLD_NOTHING = "what an interrupted repair had found before this one: its report was damaged"


@dataclass
class RepairJournal:
    """The report so far of all attempts at one repair, and what later steps must know.

    Attributes:
        lost_rows: rows that tables have lost; None if nothing says how many there were.
        reverted: tables that are as they were before the last write.
    """

    report: RepairReport = field(default_factory=RepairReport)
    lost_rows: dict[str, int | None] = field(default_factory=dict)
    reverted: set[str] = field(default_factory=set)

    def note_mended(self, line: str) -> None:
        """Adds a line unless an earlier attempt has."""
        if line not in self.report.mended:
            self.report.mended.append(line)

    def note_lost(self, line: str) -> None:
        """Adds a line unless an earlier attempt has."""
        if line not in self.report.lost:
            self.report.lost.append(line)

    def note_lost_once(self, what: str, line: str) -> None:
        """Adds a line unless there is one that begins with the same words."""
        if not any(known.startswith(what) for known in self.report.lost):
            self.report.lost.append(line)

    def note_damaged(self, files: list[str]) -> None:
        """Adds the names of damaged files."""
        self.report.damaged = list(dict.fromkeys([*self.report.damaged, *files]))

    def save(self, folder: Path) -> None:
        """Writes the journal so that a power cut cannot take it back; before anything that it tells is dropped."""
        home = folder / REPAIR
        with private_files(folder):
            home.mkdir(exist_ok=True)
            told = {
                "report": asdict(self.report), "lost_rows": self.lost_rows, "reverted": sorted(self.reverted),
            }  # fmt: skip
            write_file(home / REPORT, seal(json.dumps(told).encode()), lasting=True)
        sync(folder)


def go_on_with_repair(folder: Path) -> RepairJournal:
    """The journal of a repair that was interrupted, an empty one if there was none; the library has its tables again.

    The caller holds the library for writing.
    """
    home = folder / REPAIR
    if (home / BEFORE).is_dir() and (home / TABLES).is_dir():  # killed between the two renames
        _put_in_place(folder)
    if (home / BEFORE).is_dir() and not (folder / TABLES).is_dir():
        (home / BEFORE).rename(folder / TABLES)
    _remove_folder(home / TABLES)  # not complete, and what it was made from is untouched
    if not (home / REPORT).exists():
        _remove_folder(home)
        return RepairJournal()
    try:
        told = json.loads(bytes(map_sealed(home / REPORT)))
        return RepairJournal(RepairReport(**told["report"]), told["lost_rows"], set(told["reverted"]))
    except (ValueError, KeyError, TypeError):
        return RepairJournal(RepairReport(lost=[_TOLD_NOTHING]))


@contextmanager
def mend_copy(folder: Path, journal: RepairJournal) -> Iterator[Path]:
    """A folder with a copy of the library's tables, which takes their place at the end: whole, or not at all.

    Until then the library is untouched, whatever is raised. Raises OSError: there is no room for it.
    """
    home = folder / REPAIR
    _remove_folder(home / BEFORE)  # of an attempt that was completed: where both are, the copy is complete
    try:
        with private_files(folder):
            _link_tables(folder / TABLES, home / TABLES)
            yield home
        sync_tree(home / TABLES)
        journal.save(folder)
    except BaseException:
        _remove_folder(home / TABLES)  # a kill leaves it to the next repair
        raise
    (folder / TABLES).rename(home / BEFORE)
    sync(home)
    _put_in_place(folder)


def end_repair(folder: Path) -> None:
    """Forgets the tables as they were, then the journal: the repair is done."""
    home = folder / REPAIR
    if home.exists():
        _remove_folder(home / BEFORE)
        (home / REPORT).unlink(missing_ok=True)
        sync(home)
        _remove_folder(home)


def sync_tree(folder: Path) -> None:
    """Waits until all files below a folder, and their names, are on the disk."""
    for place, _, files in os.walk(folder):
        for name in files:
            sync(Path(place, name))
        sync(Path(place))


def _put_in_place(folder: Path) -> None:
    (folder / REPAIR / TABLES).rename(folder / TABLES)
    sync(folder)
    sync(folder / REPAIR)


def _link_tables(source: Path, target: Path) -> None:
    """Links the files that Lance never changes, and copies the rest.

    What grew between two states is left out: versions that are mended take numbers that others had.
    """
    for place, _, files in os.walk(source):
        inside = Path(place).relative_to(source)
        (target / inside).mkdir(parents=True, exist_ok=True)
        is_lance = len(inside.parts) > 1 and inside.parts[1] in LANCE_FOLDERS
        for name in files:
            if inside.parts or name != GROWTH:
                _link_or_copy(Path(place, name), target / inside / name, may_link=is_lance and "hint" not in name)


def _link_or_copy(source: Path, target: Path, *, may_link: bool) -> None:
    if may_link:
        with suppress(OSError):  # a file system without links
            os.link(source, target)
            return
    shutil.copy2(source, target)


def _remove_folder(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
