"""The folders of a collection as a tree, by names alone: where the tree itself stands on this machine is not told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath


@dataclass
class _Folder:
    is_filled: bool = False
    inner: dict[str, _Folder] = field(default_factory=dict)


def name_folders(folders: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """For each folder that pictures lie in, itself and the folders around it, as paths below the innermost with all.

    Folders that hold nothing but one other are left out at the top, so that two places on a machine are two names.

    >>> name_folders(["/photos/2008", "/photos/2008/Italy", "/photos/2009"])
    {'/photos/2008': ('2008',), '/photos/2008/Italy': ('2008', '2008/Italy'), '/photos/2009': ('2009',)}
    """
    given = list(folders)
    top = _Folder()
    for folder in given:
        at = top
        for part in PurePath(folder).parts:
            at = at.inner.setdefault(part, _Folder())
        at.is_filled = True
    root, skipped = _skip_empty(top)
    starts = _name_starts(root)
    named: dict[str, tuple[str, ...]] = {}
    for folder in given:
        parts = PurePath(folder).parts[skipped:]
        if not parts:
            named[folder] = ()
            continue
        first, depth = starts[parts[0]]
        rest = parts[1 + depth :]
        named[folder] = tuple("/".join((first, *rest[:count])) for count in range(len(rest) + 1))
    return named


def _skip_empty(folder: _Folder) -> tuple[_Folder, int]:
    """The first folder on the way down that has pictures, or several folders, and how many were passed."""
    passed = 0
    while not folder.is_filled and len(folder.inner) == 1:
        [folder] = folder.inner.values()
        passed += 1
    return folder, passed


def _name_starts(root: _Folder) -> Mapping[str, tuple[str, int]]:
    """Names of the folders at the top, each with how many below it were passed: two of one name are told apart."""
    starts: dict[str, tuple[str, int]] = {}
    taken: set[str] = set()
    for part, inner in root.inner.items():
        name, passed, at = part, 0, inner
        while not at.is_filled and len(at.inner) == 1:
            [(name, at)] = at.inner.items()
            passed += 1
        whole, number = name, 2
        while whole in taken:
            whole, number = f"{name} ({number})", number + 1
        taken.add(whole)
        starts[part] = (whole, passed)
    return starts
