"""What `.viewfinderignore` passes over, and what the user's own patterns take: rules as git has them, within limits.

Imported only where folders are walked: pathspec takes a while, and a search needs none of it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from viewfinder.errors import BadInput
from viewfinder.pictures.left_out import IGNORE_FILE

MAX_RULE_BYTES, MAX_RULES, MAX_DEEP = 100_000, 1_000, 2
"""The most that an ignore file may hold: bytes, lines, and `**` in a line."""

MAX_RULES_S, MAX_RULES_A_NAME_S = 5.0, 0.001
"""The time that an ignore file's rules may take, in all and for every name that is looked up."""


class Rule(GitIgnoreSpecPattern):
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
class IgnoreFile:
    """The rules of one folder, and how long they have taken."""

    folder: str
    spec: GitIgnoreSpec
    spent: float = 0.0
    asked: int = 0

    @property
    def is_given_up(self) -> bool:
        """Whether they have taken so long that they count no more."""
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

    files: tuple[IgnoreFile, ...] = ()

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
        spec = GitIgnoreSpec.from_lines(Rule, lines, backend="simple")
        return IgnoreRules((*self.files, IgnoreFile(folder, spec)))

    def ignore(self, path: str, *, folder: bool) -> bool:
        """Whether a file or folder is passed over; as in git, the innermost file with an opinion decides."""
        for file in reversed(self.files):
            if (verdict := file.verdict(path, folder=folder)) is not None:
                return verdict
        return False


def compile_patterns(patterns: Sequence[str]) -> GitIgnoreSpec:
    """The user's patterns of what is to be taken all the same. Raises BadInput: one makes no sense."""
    if not all(map(str.strip, patterns)):
        raise BadInput("include '' matches nothing: write a pattern as .gitignore has them, like 'a/*/b'")
    # In a file a line with # is a remark; here it is a disk station's #recycle.
    lines = [f"\\{pattern}" if pattern.startswith("#") else pattern for pattern in patterns]
    try:
        return GitIgnoreSpec.from_lines(Rule, lines, backend="simple")
    except ValueError as error:
        raise BadInput(f"include: {error}; write patterns as .gitignore has them, like 'a/*/b'") from error
