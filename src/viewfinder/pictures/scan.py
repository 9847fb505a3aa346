"""Folders to the picture files in them, one by one or sorted, with what could not be looked into.

Left out are hidden names, what `left_out` knows of other programs, libraries of ours, and what `.viewfinderignore`
says; `WalkNotes` counts them, and the files that are no pictures.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from viewfinder.pictures import formats
from viewfinder.pictures.facts.stamps import make_stamp
from viewfinder.pictures.found_files import FoundFile, UnreadablePlace, absolute_root, printable_path
from viewfinder.pictures.left_out import IGNORE_FILE, NOMEDIA, NOMEDIA_FILE, SYSTEM, explain_file, explain_folder
from viewfinder.pictures.walk_notes import HIDDEN, IGNORED, LIBRARIES, WalkNotes

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from viewfinder.pictures.facts.beside import Neighbours
    from viewfinder.pictures.ignoring import IgnoreFile, IgnoreRules


@dataclass(frozen=True)
class Scan:
    """Places below `roots` (absolute, links kept): sorted by path, each path once."""

    roots: tuple[Path, ...]
    files: tuple[FoundFile, ...]
    unreadable: tuple[UnreadablePlace, ...]


def scan(
    roots: Sequence[Path],
    *,
    follow_links: bool = True,
    include: Sequence[str] = (),
    notes: WalkNotes | None = None,
) -> Scan:
    """All picture files under folders, or named themselves.

    A file named as a root is taken whatever it is called, and a folder wherever it lies. In folders the ignore rules
    and extensions hold; a file without an extension, or with one like .raw, is judged by its first bytes. A folder
    reached by several links is entered once (under its own name, where that lies under the roots); links to files are
    files. Without `follow_links` every link below the roots is reported instead, so that nothing outside them is read.
    `include` and `notes` are as in `walk`.

    Raises:
        BadInput: a root does not exist, or a pattern makes no sense.
    """
    places = tuple(absolute_root(root) for root in roots)
    files: dict[str, FoundFile] = {}
    unreadable: dict[str, UnreadablePlace] = {}
    for place in walk(places, follow_links=follow_links, include=include, notes=notes):
        if isinstance(place, FoundFile):
            files[str(place.path)] = place
        else:
            unreadable[str(place.path)] = place
    return Scan(
        roots=places,
        files=tuple(files[path] for path in sorted(files)),
        unreadable=tuple(unreadable[path] for path in sorted(unreadable)),
    )


def walk(
    roots: Iterable[Path],
    *,
    follow_links: bool = True,
    include: Sequence[str] = (),
    notes: WalkNotes | None = None,
    signature: int = 0,
) -> Iterator[FoundFile | UnreadablePlace]:
    """Yields what `scan` finds one by one, for millions of files: in no order; a path's last time counts.

    Patterns of `include`, as git has them and from each root on, take what is otherwise left out on purpose, hidden
    names as well; an ignore file still counts. `notes` is filled as the walk goes on. `signature` goes into each stamp.

    Raises:
        BadInput: a root does not exist, or a pattern makes no sense.
    """
    from viewfinder.pictures.ignoring import IgnoreRules, compile_patterns

    places = [str(absolute_root(root)) for root in roots]
    included = compile_patterns(include) if include else None
    walked = _Walk(follow_links, included, WalkNotes() if notes is None else notes, signature, IgnoreRules())
    return walked.roots(places)


class _Folder(NamedTuple):
    """A folder to be looked into: below which root it lies, the rules that hold around it, and why it was left out.

    One that was left out is entered only for what the user's patterns take; `is_included`: they took it, or one above.
    """

    path: str
    root: str
    rules: IgnoreRules
    left_out: str | None = None
    is_included: bool = False


@dataclass
class _Walk:
    """One walk under way: what it remembers grows with the folders, not with the files."""

    follow_links: bool
    included: GitIgnoreSpec | None
    notes: WalkNotes
    signature: int
    no_rules: IgnoreRules
    entered: set[tuple[int, int]] = field(default_factory=set)
    links: list[_Folder] = field(default_factory=list)
    ignoring: list[IgnoreFile] = field(default_factory=list)
    lacking: frozenset[str] = field(default_factory=formats.extensions_lacking)
    plain_stamp: int = field(init=False)
    last_named: tuple[str, Neighbours | None] | None = None

    def __post_init__(self) -> None:
        self.plain_stamp = make_stamp("", (), self.signature)

    def roots(self, paths: Sequence[str]) -> Iterator[FoundFile | UnreadablePlace]:
        """Folders behind links come after all others: a folder's own name wins over names that lead to it."""
        for path in paths:
            if not Path(path).is_dir():
                yield self._look_at_named(path)
            elif is_library(path):
                yield _refuse(path, "this is a viewfinder library, not a folder of pictures")
            else:
                yield from self._walk_tree(_Folder(path, path, self.no_rules))
        while self.links:
            # In waves, shortest name first: of several links to one folder always the same one is followed.
            wave, self.links = sorted(self.links, key=lambda link: (len(link.path), link.path)), []
            for link in wave:
                yield from self._walk_tree(link)
        for file in self.ignoring:
            if file.is_given_up:
                yield _refuse(f"{file.folder}/{IGNORE_FILE}", "ignored from some file on: its rules take too long")

    def _walk_tree(self, top: _Folder) -> Iterator[FoundFile | UnreadablePlace]:
        pending = [top]
        while pending:
            folder = pending.pop()
            try:
                pending.extend((yield from self._walk_folder(folder)))
            except OSError as error:
                yield _refuse(folder.path, _explain_error(error))

    def _walk_folder(self, folder: _Folder) -> Generator[FoundFile | UnreadablePlace, None, list[_Folder]]:
        """Yields a folder's files; returns the folders in it that are to be entered."""
        path, outer = folder.path, folder.rules
        status = os.stat(path)  # noqa: PTH116
        if (status.st_dev, status.st_ino) in self.entered:
            return []
        if is_library(path):
            self.notes.leave_out(LIBRARIES, _name_below(path, folder.root), folder=True)
            return []
        rules = outer
        try:
            rules = outer.enter(path)
        except OSError as error:
            yield _refuse(f"{path}/{IGNORE_FILE}", f"ignored: {_explain_error(error)}")
        except ValueError as error:
            yield _refuse(f"{path}/{IGNORE_FILE}", f"ignored: {error}")
        if rules is not outer:
            self.ignoring.append(rules.files[-1])
        folder = folder._replace(rules=rules)
        is_nomedia, sidecars = self._find_special_names(folder)
        is_marked = is_nomedia and path != folder.root and folder.left_out is None and not folder.is_included
        if is_marked and self._includes(folder, path, is_folder=True):
            folder = folder._replace(is_included=True)
        elif is_marked:
            self.notes.leave_out(NOMEDIA, _name_below(path, folder.root), folder=True)
            if self.included is None:
                return []
            folder = folder._replace(left_out=NOMEDIA)
        if folder.left_out is None:  # another root may name one that was left out
            self.entered.add((status.st_dev, status.st_ino))
        below: list[_Folder] = []
        with os.scandir(path) as listing:
            yield from self._walk_entries(listing, folder, sidecars, below)
        return sorted(below)

    def _find_special_names(self, folder: _Folder) -> tuple[bool, frozenset[str]]:
        """Whether a folder is marked as no gallery, and the names in it that may tell about pictures beside them.

        A pass of its own: a picture may be listed before its sidecars, and to keep the whole listing of a folder with
        a million files would take hundreds of megabytes.
        """
        from viewfinder.pictures.facts.beside import may_be_sidecar

        is_nomedia, names = False, []
        with os.scandir(folder.path) as listing:
            for entry in listing:
                if may_be_sidecar(entry.name):
                    if self._may_read_sidecar(entry, folder.rules):
                        names.append(entry.name)
                elif entry.name == NOMEDIA_FILE:
                    is_nomedia = True
        return is_nomedia, frozenset(names)

    def _may_read_sidecar(self, entry: os.DirEntry[str], rules: IgnoreRules) -> bool:
        """Whether the file may be read: not a system's own, ignored, a pipe, or a link where these are not followed."""
        is_link_refused = not self.follow_links and entry.is_symlink()
        if is_link_refused or explain_file(entry.name) is not None or not _is_utf8(entry.name):
            return False
        try:
            return entry.is_file() and not rules.ignore(entry.path, folder=False)
        except OSError:
            return False

    def _walk_entries(
        self, listing: Iterable[os.DirEntry[str]], folder: _Folder, sidecars: Collection[str], below: list[_Folder]
    ) -> Iterator[FoundFile | UnreadablePlace]:
        """A folder's files; the folders in it go to `below`."""
        neighbours = _find_neighbours(folder.path, sidecars)
        told: set[str] = set()
        rules = folder.rules
        for entry in listing:
            name = entry.name
            if name in sidecars:  # counted below, once it is known to whom they belong
                continue
            try:
                is_folder = entry.is_dir()
            except OSError as error:  # a link that leads to itself
                yield _refuse(entry.path, _explain_error(error))
                continue
            reason = explain_folder(folder.path, name) if is_folder else explain_file(name)
            if reason is not None or folder.left_out is not None or name.startswith("."):
                if not self._includes(folder, entry.path, is_folder=is_folder) or (reason == SYSTEM and not is_folder):
                    self._leave_out(entry, folder, reason or folder.left_out or HIDDEN, below, is_folder=is_folder)
                    continue
                inner = folder._replace(is_included=True)
            else:
                inner = folder
            if rules.files and rules.ignore(entry.path, folder=is_folder):
                self._leave_out(entry, folder, IGNORED, None, is_folder=is_folder)
            elif is_folder:
                if (refused := self._note_folder(entry, inner, below)) is not None:
                    yield refused
            elif (found := self._note_file(entry, inner, neighbours, told)) is not None:
                yield found
        self._count_sidecars(told)
        for name in sidecars:
            if name not in told:
                self._note_orphan(name, folder)

    def _count_sidecars(self, names: Iterable[str]) -> None:
        """Files that tell about pictures beside them, by the programs that wrote them."""
        from viewfinder.pictures.facts.beside import name_sidecar_kind

        for name in names:
            self.notes.count_sidecar(name_sidecar_kind(name))

    def _note_orphan(self, name: str, folder: _Folder) -> None:
        """A file that might tell about a picture, but belongs to none, is a file like others."""
        if folder.left_out is None and name.startswith("."):
            self.notes.leave_out(HIDDEN, _name_below(f"{folder.path}/{name}", folder.root), folder=False)
        elif folder.left_out is None:
            self.notes.pass_over(_ending_of(name))

    def _leave_out(
        self, entry: os.DirEntry[str], folder: _Folder, reason: str, below: list[_Folder] | None, *, is_folder: bool
    ) -> None:
        """Counts what is left out, unless it lies in a folder that is; with patterns, these may take a part of it.

        An ignore file's word is final: `below` is None.
        """
        if folder.left_out is None:
            self.notes.leave_out(reason, _name_below(entry.path, folder.root), folder=is_folder)
        if is_folder and below is not None and self.included is not None and not entry.is_symlink():
            below.append(folder._replace(path=entry.path, left_out=reason))

    def _note_folder(self, entry: os.DirEntry[str], folder: _Folder, below: list[_Folder]) -> UnreadablePlace | None:
        """A folder in a folder: to be entered, now or later, or why not."""
        inner = folder._replace(path=entry.path, left_out=None)
        if entry.is_symlink() and not self.follow_links:
            return _refuse(entry.path, _NO_LINKS)
        if not _is_utf8(entry.name):
            return _refuse(entry.path, "the folder's name is not valid UTF-8: rename it")
        if entry.is_symlink():
            self.links.append(inner)
        else:
            below.append(inner)
        return None

    def _note_file(
        self, entry: os.DirEntry[str], folder: _Folder, neighbours: Neighbours | None, told: set[str]
    ) -> FoundFile | UnreadablePlace | None:
        """A file in a folder: a picture with its sidecars, whose names go to `told`; None: no picture, only counted."""
        if not self.follow_links and entry.is_symlink():
            return _refuse(entry.path, _NO_LINKS)
        ending = _ending_of(entry.name)
        try:
            is_picture = _says_picture(entry, ending)
        except OSError as error:
            return _refuse(entry.path, _explain_error(error))
        if not is_picture:
            if folder.left_out is None:
                self.notes.pass_over(ending)
            return None
        self.notes.included += folder.is_included
        if ending in self.lacking:
            self.notes.miss(ending)
        beside = () if neighbours is None else neighbours.find(entry.name)
        told.update(beside)
        return self._look_at(entry.path, beside)

    def _includes(self, folder: _Folder, path: str, *, is_folder: bool) -> bool:
        """Whether the user's patterns take what is otherwise left out."""
        if self.included is None:
            return False
        return self.included.check_file(_name_below(path, folder.root) + ("/" if is_folder else "")).include is True

    def _look_at(self, path: str, sidecars: tuple[str, ...] = ()) -> FoundFile | UnreadablePlace:
        """A file that says it is a picture, or why it cannot be taken."""
        try:
            status = os.stat(path)  # noqa: PTH116
        except FileNotFoundError:
            return _refuse(path, "the link leads nowhere" if Path(path).is_symlink() else "gone since it was listed")
        except OSError as error:
            return _refuse(path, _explain_error(error))
        if not stat.S_ISREG(status.st_mode):
            return _refuse(path, "not a regular file")
        if status.st_mtime_ns >= 1 << 63:  # no table holds it
            return _refuse(path, "its time of change is after the year 2262: `touch` it")
        if not _is_utf8(path):
            return _refuse(path, "the file's name is not valid UTF-8: rename it")
        stamp = self.plain_stamp
        if sidecars:
            stamp = make_stamp(os.path.dirname(path), sidecars, self.signature)  # noqa: PTH120
        return FoundFile(Path(path), status.st_size, status.st_mtime_ns, sidecars, stamp)

    def _look_at_named(self, path: str) -> FoundFile | UnreadablePlace:
        """A file that is a root itself, as a walk through its folder would have found it."""
        parent, name = os.path.split(path)
        ending = _ending_of(name)
        if ending in self.lacking:
            self.notes.miss(ending)
        if self.last_named is None or self.last_named[0] != parent:  # a shell names the files of a folder in a row
            try:
                _, names = self._find_special_names(_Folder(parent, parent, self.no_rules))
                self.last_named = (parent, _find_neighbours(parent, names))
            except OSError:  # files may be read in a folder that may not be listed
                self.last_named = (parent, None)
        neighbours = self.last_named[1]
        beside = () if neighbours is None else neighbours.find(name)
        self._count_sidecars(beside)
        return self._look_at(path, beside)


def _find_neighbours(folder: str, sidecars: Collection[str]) -> Neighbours | None:
    """To whom the sidecars in a folder belong; None without any. Raises OSError."""
    from viewfinder.pictures.facts.beside import Neighbours, may_be_sidecar

    def list_others() -> Iterator[str]:
        with os.scandir(folder) as listing:
            yield from (entry.name for entry in listing if not may_be_sidecar(entry.name))

    return Neighbours.of(sidecars, list_others()) if sidecars else None


_NO_LINKS = "a link: only folders and files themselves are added here"


def _ending_of(name: str) -> str:
    """What follows a name's last dot, in lower case; empty for a hidden name without another dot."""
    dot = name.rfind(".")
    return name[dot + 1 :].lower() if dot > 0 else ""


def _name_below(path: str, root: str) -> str:
    """A path as it is told and as patterns see it: from its root on, printable."""
    return path[len(root.rstrip("/")) + 1 :].encode("utf-8", "backslashreplace").decode() or path


def _says_picture(entry: os.DirEntry[str], ending: str) -> bool:
    """Whether a file says it is a picture: by its extension or, if need be, by its first bytes. Raises OSError."""
    if ending in formats.EXTENSIONS:
        return True
    if ending not in formats.AMBIGUOUS_EXTENSIONS:
        return formats.is_extension_of_reader(ending)
    if entry.name.endswith(".") or not entry.is_file():
        return False
    with open(entry.path, "rb") as file:  # noqa: PTH123
        start = file.read(formats.MAX_HEAD_BYTES)
    return (formats.detect_format(start) or formats.find_reader(start)) is not None


def _refuse(path: str, reason: str) -> UnreadablePlace:
    return UnreadablePlace(printable_path(path), reason)


def _is_utf8(name: str) -> bool:
    return name.isascii() or not any("\udc80" <= letter <= "\udcff" for letter in name)


def _explain_error(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def is_library(folder: str) -> bool:
    """Whether a folder is a viewfinder library, whose thumbnails are no pictures to be added."""
    return Path(folder, "library.json").is_file() and Path(folder, "tables").is_dir()
