"""Which file a key means: by path, by the end of a path, by name, or by name without suffix."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_MAX_SHOWN = 8


@dataclass(frozen=True)
class Ambiguity:
    """A key that fits `count` files equally well; `paths` shows the first of them."""

    key: str
    count: int
    paths: tuple[Path, ...]


@dataclass(frozen=True)
class Matches:
    """The outcome of `match_keys`.

    Attributes:
        files: positions of the keys that match a file, by file.
        unmatched: positions of the keys that match no file.
        ambiguous: keys that fit several files; those that fit wholly are matched to each of them.
    """

    files: dict[Path, list[int]]
    unmatched: tuple[int, ...]
    ambiguous: tuple[Ambiguity, ...]


@dataclass(frozen=True)
class Found:
    """Files that fit a key equally well; of a partial fit only the first few are kept."""

    count: int = 0
    paths: tuple[Path, ...] = ()
    depth: int = 0
    whole: bool = False


_NOTHING = Found()


def match_keys(keys: Sequence[str], paths: Iterable[Path]) -> Matches:
    """Match keys to files; time grows as (keys + files) x log(files).

    A key fits a file whose name is the last part of the key, or, if there is none, whose name without suffix
    is; only where neither is, capitals are disregarded. Of several such files, those match whose folders agree with the
    key furthest back. A key fits *wholly* if it is the end of the path, or the path is the end of it (so `a/1.jpg`,
    `1.jpg` and `1` fit `/data/a/1.jpg` wholly). A key that fits only in part (`/old/place/1.jpg`) counts if it points
    to a single file for which no key fits wholly and none fits further.

    >>> match_keys(["1.jpg", "b/2"], [Path("a/1.jpg"), Path("a/2.png"), Path("b/2.png")]).files
    {PosixPath('a/1.jpg'): [0], PosixPath('b/2.png'): [1]}
    """
    return FileIndex(paths).match(keys)


class FileIndex:
    """Files by the ends of their paths, to look keys up one by one or to match many (see `match_keys`)."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._split = [(path, _split_path(str(path))) for path in dict.fromkeys(paths)]
        self._found: dict[str, Found] = {}

    def __len__(self) -> int:
        return len(self._split)

    def __contains__(self, path: str) -> bool:
        """Whether there is a file of exactly this path."""
        return path in self._texts

    @property
    def paths(self) -> list[Path]:
        """The files, each once, in the order given."""
        return [path for path, _ in self._split]

    def find(self, key: str) -> Found:
        """The files that a key fits best; none if there is no file of its name."""
        if (known := self._found.get(key)) is not None:
            return known
        parts = _split_path(key)
        if not parts or parts[-1].casefold() not in self._names:  # most cells of a table: nothing to remember
            return _NOTHING
        found = self._found[key] = self._look_up(parts)
        return found

    def match(self, keys: Sequence[str]) -> Matches:
        """The files that each of several keys means, as `match_keys` says."""
        ambiguous = [
            Ambiguity(key, found.count, found.paths[:_MAX_SHOWN])
            for key, found in ((key, self.find(key)) for key in dict.fromkeys(keys))
            if found.count > 1
        ]
        # How well the best key fits each file: (wholly, number of parts).
        best: dict[Path, tuple[bool, int]] = {}
        for found in (self.find(key) for key in dict.fromkeys(keys)):
            for path in found.paths if found.whole or found.count == 1 else ():
                best[path] = max(best.get(path, (False, 0)), (found.whole, found.depth))
        files: dict[Path, list[int]] = {}
        unmatched: list[int] = []
        for position, key in enumerate(keys):
            found = self.find(key)
            if found.whole or (found.count == 1 and best[found.paths[0]] == (False, found.depth)):
                for path in found.paths:
                    files.setdefault(path, []).append(position)
            else:
                unmatched.append(position)
        return Matches(files, tuple(unmatched), tuple(ambiguous))

    def _look_up(self, parts: tuple[str, ...]) -> Found:
        for endings in self._endings:
            if (found := endings.longest(parts)).count:
                return found
        folded = tuple(part.casefold() for part in parts)
        for endings in self._folded_endings:
            if (found := endings.longest(folded)).count:
                return found
        return Found()

    @cached_property
    def _texts(self) -> frozenset[str]:
        return frozenset(str(path) for path, _ in self._split)

    @cached_property
    def _names(self) -> frozenset[str]:
        names = (parts[-1].casefold() for _, parts in self._split if parts)
        return frozenset(text for name in names for text in (name, name.rpartition(".")[0]) if text)

    @cached_property
    def _endings(self) -> tuple[_Endings, _Endings]:
        return _Endings(self._split), _Endings(self._split, without_suffix=True)

    @cached_property
    def _folded_endings(self) -> tuple[_Endings, _Endings]:
        folded = [(path, tuple(part.casefold() for part in parts)) for path, parts in self._split]
        return _Endings(folded), _Endings(folded, without_suffix=True)


class _Endings:
    """Paths written backwards ("1.jpg/a/data/") and sorted, so that paths with the same ending are adjacent."""

    def __init__(self, paths: Iterable[tuple[Path, Sequence[str]]], *, without_suffix: bool = False) -> None:
        entries: list[tuple[str, Path]] = []
        for path, parts in paths:
            stem = parts[-1].rpartition(".")[0] if without_suffix and parts else ""
            entries.append((_reverse_path([*parts[:-1], stem] if stem else parts), path))
        entries.sort(key=lambda entry: entry[0])
        self._texts = [text for text, _ in entries]
        self._paths = [path for _, path in entries]

    def longest(self, parts: tuple[str, ...]) -> Found:
        """The files that agree with the longest ending of the key (whole keys are the usual case)."""
        if not parts or not self._run(_reverse_path(parts[-1:])):
            return Found()
        depth = next(depth for depth in range(len(parts), 0, -1) if self._run(_reverse_path(parts[-depth:])))
        start = _reverse_path(parts[-depth:])
        run = self._run(start)
        if depth < len(parts) and self._texts[run[0]] == start:  # the whole path is the end of the key
            run = range(run[0], bisect_right(self._texts, start))
            return Found(len(run), tuple(self._paths[run.start : run.stop]), depth, whole=True)
        whole = depth == len(parts)
        shown = run if whole else run[:_MAX_SHOWN]
        return Found(len(run), tuple(self._paths[shown.start : shown.stop]), depth, whole)

    def _run(self, start: str) -> range:
        return range(bisect_left(self._texts, start), bisect_left(self._texts, start + "\U0010ffff"))


def _split_path(path: str) -> tuple[str, ...]:
    """The parts of a path, however the disk, Windows or a Mac (decomposed accents) writes it."""
    normal = unicodedata.normalize("NFC", path).replace("\\", "/")
    return tuple(part for part in normal.split("/") if part not in {"", "."})


def _reverse_path(parts: Sequence[str]) -> str:
    return "".join(f"{part}/" for part in reversed(parts))
