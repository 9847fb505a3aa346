"""Folders to the picture files in them, one by one or sorted, with what could not be looked into.

Passed over are hidden names, other programs' litter, libraries of ours, and what `.viewfinderignore` says.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from viewfinder.errors import BadInput
from viewfinder.pictures import formats

_COMMON = ("jpg", "jpeg", "jpe", "png", "webp", "gif", "bmp", "tif", "tiff", "avif", "heic", "heif")
_RAW = ("dng", "cr2", "cr3", "nef", "arw", "orf", "rw2", "raf")
EXTENSIONS = frozenset({*_COMMON, *_RAW})
"""Names that say "picture", in lower case."""


@dataclass(frozen=True)
class FoundFile:
    """A file that says it is a picture; size in bytes."""

    path: Path
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class UnreadablePlace:
    """A place that could not be looked into; `path` can be printed, whatever its bytes."""

    path: Path
    reason: str


@dataclass(frozen=True)
class Scan:
    """Places below `roots` (absolute, links kept): sorted by path, each path once."""

    roots: tuple[Path, ...]
    files: tuple[FoundFile, ...]
    unreadable: tuple[UnreadablePlace, ...]


def scan(roots: Sequence[Path], *, follow_links: bool = True) -> Scan:
    """All picture files under folders, or named themselves.

    A file named as a root is taken whatever it is called; in folders the ignore rules and extensions hold,
    and a file without an extension is judged by its first bytes. A folder reached by several links is
    entered once (under its own name, where that lies under the roots); links to files are files. Without
    `follow_links` every link below the roots is reported instead, so that nothing outside them is read.

    Raises:
        BadInput: a root does not exist.
    """
    places = tuple(absolute_root(root) for root in roots)
    files: dict[str, FoundFile] = {}
    unreadable: dict[str, UnreadablePlace] = {}
    for place in walk(places, follow_links=follow_links):
        if isinstance(place, FoundFile):
            files[str(place.path)] = place
        else:
            unreadable[str(place.path)] = place
    return Scan(
        roots=places,
        files=tuple(files[path] for path in sorted(files)),
        unreadable=tuple(unreadable[path] for path in sorted(unreadable)),
    )


def walk(roots: Iterable[Path], *, follow_links: bool = True) -> Iterator[FoundFile | UnreadablePlace]:
    """Yields what `scan` finds one by one, for millions of files: in no order; a path's last time counts."""
    return _Walk(follow_links).roots([str(absolute_root(root)) for root in roots])


def printable_path(path: str | Path) -> Path:
    """The path with the bytes that are not UTF-8 written as \\xNN, so that it can be printed and stored."""
    return Path(os.fsencode(path).decode("utf-8", errors="backslashreplace"))


def is_file(path: str | Path) -> bool:
    """Whether this is a file that there is; not what cannot be a file's name, either."""
    return os.path.isfile(path)  # noqa: PTH113 (`Path` raises for some of what cannot be a name)


def absolute_root(root: Path) -> Path:
    """A root that is there, as `absolute_path` writes it. Raises BadInput."""
    if not Path(root).expanduser().exists():
        raise BadInput(
            f"no such folder or file: {printable_path(Path(root).expanduser())}; check the spelling, or quote the name"
        )
    return absolute_path(root)


def absolute_path(place: Path) -> Path:
    """A path as the user wrote it, from / on; links stay, except where ".." would step over them."""
    place = Path(place).expanduser()
    return place.resolve() if ".." in place.parts else place.absolute()


@dataclass
class _Walk:
    """One walk under way: what it remembers grows with the folders, not with the files."""

    follow_links: bool
    entered: set[tuple[int, int]] = field(default_factory=set)
    links: list[tuple[str, IgnoreRules]] = field(default_factory=list)
    ignoring: list[_IgnoreFile] = field(default_factory=list)

    def roots(self, paths: Sequence[str]) -> Iterator[FoundFile | UnreadablePlace]:
        """Folders behind links come after all others: a folder's own name wins over names that lead to it."""
        for path in paths:
            if not Path(path).is_dir():
                yield _look_at(path)
            elif is_library(path):
                yield _refuse(path, "this is a viewfinder library, not a folder of pictures")
            else:
                yield from self._walk_tree(path, IgnoreRules())
        while self.links:
            # In waves, shortest name first: of several links to one folder always the same one is followed.
            wave, self.links = sorted(self.links, key=lambda link: (len(link[0]), link[0])), []
            for path, rules in wave:
                yield from self._walk_tree(path, rules)
        for file in self.ignoring:
            if file.is_given_up:
                yield _refuse(f"{file.folder}/{IGNORE_FILE}", "ignored from some file on: its rules take too long")

    def _walk_tree(self, top: str, rules: IgnoreRules) -> Iterator[FoundFile | UnreadablePlace]:
        pending = [(top, rules)]
        while pending:
            folder, outer = pending.pop()
            try:
                pending.extend((yield from self._walk_folder(folder, outer)))
            except OSError as error:
                yield _refuse(folder, _explain_error(error))

    def _walk_folder(
        self, folder: str, outer: IgnoreRules
    ) -> Generator[FoundFile | UnreadablePlace, None, list[tuple[str, IgnoreRules]]]:
        """Yields a folder's files; returns the folders in it that are to be entered."""
        status = os.stat(folder)  # noqa: PTH116
        if (status.st_dev, status.st_ino) in self.entered or is_library(folder):
            return []
        self.entered.add((status.st_dev, status.st_ino))
        rules = outer
        try:
            rules = outer.enter(folder)
        except OSError as error:
            yield _refuse(f"{folder}/{IGNORE_FILE}", f"ignored: {_explain_error(error)}")
        except ValueError as error:
            yield _refuse(f"{folder}/{IGNORE_FILE}", f"ignored: {error}")
        if rules is not outer:
            self.ignoring.append(rules.files[-1])
        below: list[str] = []
        with os.scandir(folder) as listing:
            yield from self._walk_entries(listing, rules, below)
        return [(path, rules) for path in sorted(below)]

    def _walk_entries(
        self, listing: Iterable[os.DirEntry[str]], rules: IgnoreRules, below: list[str]
    ) -> Iterator[FoundFile | UnreadablePlace]:
        """A folder's files; the folders in it go to `below`."""
        for entry in listing:
            try:
                is_folder = entry.is_dir()
            except OSError as error:  # a link that leads to itself
                yield _refuse(entry.path, _explain_error(error))
                continue
            if rules.ignore(entry.path, folder=is_folder):
                continue
            if entry.is_symlink() and not self.follow_links:
                yield _refuse(entry.path, "a link: only folders and files themselves are added here")
            elif not is_folder:
                try:
                    if _says_picture(entry):
                        yield _look_at(entry.path)
                except OSError as error:
                    yield _refuse(entry.path, _explain_error(error))
            elif not _is_utf8(entry.name):
                yield _refuse(entry.path, "the folder's name is not valid UTF-8: rename it")
            elif entry.is_symlink():
                self.links.append((entry.path, rules))
            else:
                below.append(entry.path)


def _says_picture(entry: os.DirEntry[str]) -> bool:
    """Whether a file says it is a picture: by its extension or, without one, by its first bytes. Raises OSError."""
    extension = os.path.splitext(entry.name)[1]  # noqa: PTH122
    if extension:
        ending = extension[1:].lower()
        return ending in EXTENSIONS or (bool(ending) and formats.is_extension_of_reader(ending))
    if not entry.is_file():
        return False
    with open(entry.path, "rb") as file:  # noqa: PTH123
        start = file.read(formats.MAX_HEAD_BYTES)
    return (formats.detect_format(start) or formats.find_reader(start)) is not None


def _look_at(path: str) -> FoundFile | UnreadablePlace:
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
    return FoundFile(Path(path), status.st_size, status.st_mtime_ns)


def _refuse(path: str, reason: str) -> UnreadablePlace:
    return UnreadablePlace(printable_path(path), reason)


def _is_utf8(name: str) -> bool:
    return not any("\udc80" <= letter <= "\udcff" for letter in name)


def _explain_error(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


IGNORE_FILE = ".viewfinderignore"
_LITTER = frozenset({"__MACOSX", "Thumbs.db", "@eaDir"})


MAX_RULE_BYTES, MAX_RULES, MAX_DEEP = 100_000, 1_000, 2
"""The most that an ignore file may hold: bytes, lines, and `**` in a line."""

MAX_RULES_S, MAX_RULES_A_NAME_S = 5.0, 0.001
"""The time that an ignore file's rules may take, in all and for every name that is looked up."""


class _Rule(GitIgnoreSpecPattern):
    """A line of an ignore file, as git has it, but one that fails in a time linear in the name.

    Between two stars of one name the first place that fits is as good as any, so nothing is tried twice: `*a` twenty
    times would otherwise take years of a long name.
    """

    __slots__ = ()

    @classmethod
    def pattern_to_regex(cls, pattern: str) -> tuple[str | None, bool | None]:  # type: ignore[override]
        """The expression, and whether it takes or gives back; None for a line that says nothing. Raises ValueError."""
        if pattern.count("**") > MAX_DEEP:
            raise ValueError(f"{pattern[:40]!r} has more than {MAX_DEEP} times **")
        regex, include = super().pattern_to_regex(pattern)
        if regex is None:
            return regex, include
        start, *pieces = regex.split(_STAR)
        parts = [f"(?>{_STAR}?{piece})" if "/" not in piece.replace("[^/]", "") else _STAR + piece for piece in pieces]
        return "".join((start, *parts)), include


_STAR = "[^/]*"


@dataclass(eq=False)
class _IgnoreFile:
    """The rules of one folder, and how long they have taken."""

    folder: str
    spec: GitIgnoreSpec
    spent: float = 0.0
    asked: int = 0

    @property
    def is_given_up(self) -> bool:
        return self.spent > MAX_RULES_S + MAX_RULES_A_NAME_S * self.asked

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """Whether the path is passed over; None where the rules say nothing, or took too long before."""
        if self.is_given_up:
            return None
        started = perf_counter()
        relative = path[len(self.folder.rstrip("/")) + 1 :] + ("/" if folder else "")
        verdict = self.spec.check_file(relative).include
        self.spent, self.asked = self.spent + perf_counter() - started, self.asked + 1
        return verdict


@dataclass(frozen=True)
class IgnoreRules:
    """The ignore files that hold in a folder, the outermost first."""

    files: tuple[_IgnoreFile, ...] = ()

    def enter(self, folder: str) -> IgnoreRules:
        """The rules inside `folder`: these, and those of its ignore file. Raises OSError, ValueError."""
        file = f"{folder}/{IGNORE_FILE}"
        try:
            status = os.stat(file)  # noqa: PTH116
        except (FileNotFoundError, NotADirectoryError):
            return self
        if not stat.S_ISREG(status.st_mode):  # a pipe would be waited for, a device may have no end
            raise ValueError("not a regular file")
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as opened:
            content = opened.read(MAX_RULE_BYTES + 1)
        lines = content.decode("utf-8-sig", "surrogateescape").splitlines()
        if len(content) > MAX_RULE_BYTES or len(lines) > MAX_RULES:
            raise ValueError(f"over the limit of {MAX_RULES:,} lines and {MAX_RULE_BYTES // 1000} kB")
        spec = GitIgnoreSpec.from_lines(_Rule, lines, backend="simple")
        return IgnoreRules((*self.files, _IgnoreFile(folder, spec)))

    def ignore(self, path: str, *, folder: bool) -> bool:
        """Whether a file or folder is passed over; as in git, the innermost file with an opinion decides."""
        name = os.path.basename(path)  # noqa: PTH119 (a path object for each of a million names costs seconds)
        if name.startswith(".") or name in _LITTER:
            return True
        for file in reversed(self.files):
            if (verdict := file.verdict(path, folder=folder)) is not None:
                return verdict
        return False


def is_library(folder: str) -> bool:
    """Whether a folder is a viewfinder library, whose thumbnails are no pictures to be added."""
    return Path(folder, "library.json").is_file() and Path(folder, "tables").is_dir()
