"""What a reader of data found, what it left out, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dropped:
    """One record (a picture, a row, an annotation) that was left out, and the reason."""

    record: str
    reason: str


@dataclass(frozen=True)
class ReadReport:
    """The account of one reading.

    Attributes:
        expected: items that the data set says it has, None where it does not say.
        found: items that were returned.
        dropped: records left out. A dropped row or annotation need not cost a whole item.
    """

    expected: int | None
    found: int
    dropped: tuple[Dropped, ...] = ()

    def __str__(self) -> str:
        of = "" if self.expected is None else f" of {self.expected}"
        what = "noted" if self.found == self.expected else "left out"  # a whole reading may have remarks
        why = "" if not self.dropped else f", {len(self.dropped)} {what} (first: {self.dropped[0].record}: "
        return f"{self.found}{of} found" + (f"{why}{self.dropped[0].reason})" if why else "")
