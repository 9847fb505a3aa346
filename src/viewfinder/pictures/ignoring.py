"""What a scan passes over: hidden names, other programs' litter, libraries of ours, `.viewfinderignore`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

IGNORE_FILE = ".viewfinderignore"
_LITTER = frozenset({"__MACOSX", "Thumbs.db", "@eaDir"})


@dataclass(frozen=True)
class IgnoreRules:
    """The ignore files that hold in a folder: each with the folder it lies in, the outermost first."""

    files: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def entering(self, folder: str) -> IgnoreRules:
        """The rules inside `folder`: these, and those of its own ignore file if it has one.

        Raises:
            OSError: the ignore file cannot be read.
            ValueError: a line of it is no pattern.
        """
        try:
            text = Path(folder, IGNORE_FILE).read_text(encoding="utf-8-sig", errors="surrogateescape")
        except (FileNotFoundError, NotADirectoryError):
            return self
        return IgnoreRules((*self.files, (folder, GitIgnoreSpec.from_lines(text.splitlines()))))

    def ignore(self, path: str, *, folder: bool) -> bool:
        """Whether a file or folder is passed over; as in git, the innermost file with an opinion decides."""
        name = os.path.basename(path)  # noqa: PTH119 (a path object for each of a million names costs seconds)
        if name.startswith(".") or name in _LITTER:
            return True
        for base, spec in reversed(self.files):
            relative = path[len(base.rstrip("/")) + 1 :] + ("/" if folder else "")
            verdict = spec.check_file(relative).include
            if verdict is not None:
                return verdict
        return False


def is_library(folder: str) -> bool:
    """Whether a folder is a viewfinder library, whose thumbnails are nobody's pictures."""
    return Path(folder, "library.json").is_file() and Path(folder, "tables").is_dir()
