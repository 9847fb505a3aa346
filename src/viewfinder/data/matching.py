"""Which file a row of a table means: by path, by the end of a path, by name, or by name without suffix."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_LAST = "\U0010ffff"
_SHOWN = 8


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
        files: positions of the keys that mean a file, by file.
        unmatched: positions of the keys that mean no file.
        ambiguous: keys that fit several files; those that fit wholly are matched to each of them.
    """

    files: dict[Path, list[int]]
    unmatched: tuple[int, ...]
    ambiguous: tuple[Ambiguity, ...]


@dataclass(frozen=True)
class _Found:
    """Files that fit a key equally well; of a fit in part only the first few are kept."""

    count: int = 0
    paths: tuple[Path, ...] = ()
    depth: int = 0
    whole: bool = False


def match_keys(keys: Sequence[str], paths: Iterable[Path]) -> Matches:
    """Match keys with files; time grows as (keys + files) x log(files).

    A key fits a file whose name is the last part of the key, or, if there is none, whose name without suffix
    is. Of several such files the ones are meant whose folders agree with the key furthest back. A key fits
    *wholly* if it is the end of the path, or the path the end of it (so `a/1.jpg`, `1.jpg` and `1` fit
    `/data/a/1.jpg` wholly). One that fits in part only (`/old/place/1.jpg`) counts if it points to a single
    file for which there is no key that fits wholly and none that fits further.

    >>> match_keys(["1.jpg", "b/2"], [Path("a/1.jpg"), Path("a/2.png"), Path("b/2.png")]).files
    {PosixPath('a/1.jpg'): [0], PosixPath('b/2.png'): [1]}
    """
    index = _Index(paths)
    answers: dict[str, _Found] = {}
    ambiguous: list[Ambiguity] = []
    for key in keys:
        if key not in answers:
            found = answers[key] = index.find(key)
            if found.count > 1:
                ambiguous.append(Ambiguity(key, found.count, found.paths[:_SHOWN]))
    found_k = [answers[key] for key in keys]
    best = _best_depths(answers.values())
    files: dict[Path, list[int]] = {}
    unmatched: list[int] = []
    for position, found in enumerate(found_k):
        meant = _meant(found, best)
        for path in meant:
            files.setdefault(path, []).append(position)
        if not meant:
            unmatched.append(position)
    return Matches(files, tuple(unmatched), tuple(ambiguous))


def _best_depths(answers: Iterable[_Found]) -> dict[Path, tuple[bool, int]]:
    """How well the best key fits each file: (wholly, number of parts)."""
    best: dict[Path, tuple[bool, int]] = {}
    for found in answers:
        if found.whole or found.count == 1:
            for path in found.paths:
                best[path] = max(best.get(path, (False, 0)), (found.whole, found.depth))
    return best


def _meant(found: _Found, best: dict[Path, tuple[bool, int]]) -> tuple[Path, ...]:
    if found.whole:
        return found.paths
    if found.count == 1 and best[found.paths[0]] == (False, found.depth):
        return found.paths
    return ()


class _Index:
    """Paths written backwards ("1.jpg/a/data/") and sorted: all that end alike lie side by side."""

    def __init__(self, paths: Iterable[Path]) -> None:
        unique = [(path, _parts(str(path))) for path in dict.fromkeys(paths)]
        self._by_name = _Endings([(_backwards(parts), path) for path, parts in unique])
        self._by_stem = _Endings([(_backwards(_without_suffix(parts)), path) for path, parts in unique])

    def find(self, key: str) -> _Found:
        parts = _parts(key)
        found = self._by_name.longest(parts)
        return found if found.count else self._by_stem.longest(parts)


class _Endings:
    def __init__(self, entries: list[tuple[str, Path]]) -> None:
        entries.sort(key=lambda entry: entry[0])
        self._texts = [text for text, _ in entries]
        self._paths = [path for _, path in entries]

    def longest(self, parts: tuple[str, ...]) -> _Found:
        """The files that agree with the longest end of the key (whole keys are the usual case)."""
        if not parts or not self._run(_backwards(parts[-1:])):
            return _Found()
        depth = next(depth for depth in range(len(parts), 0, -1) if self._run(_backwards(parts[-depth:])))
        start = _backwards(parts[-depth:])
        run = self._run(start)
        if depth < len(parts) and self._texts[run[0]] == start:  # the whole path is the end of the key
            run = range(run[0], bisect_right(self._texts, start))
            return _Found(len(run), self._at(run), depth, whole=True)
        whole = depth == len(parts)
        return _Found(len(run), self._at(run if whole else run[:_SHOWN]), depth, whole)

    def _run(self, start: str) -> range:
        return range(bisect_left(self._texts, start), bisect_left(self._texts, start + _LAST))

    def _at(self, positions: range) -> tuple[Path, ...]:
        return tuple(self._paths[i] for i in positions)


def _parts(path: str) -> tuple[str, ...]:
    """The parts of a path as the disk, Windows or a Mac (decomposed accents) may write it."""
    normal = unicodedata.normalize("NFC", path).replace("\\", "/")
    return tuple(part for part in normal.split("/") if part not in {"", "."})


def _without_suffix(parts: tuple[str, ...]) -> tuple[str, ...]:
    stem = parts[-1].rpartition(".")[0] if parts else ""
    return (*parts[:-1], stem) if stem else parts


def _backwards(parts: Sequence[str]) -> str:
    return "".join(f"{part}/" for part in reversed(parts))
