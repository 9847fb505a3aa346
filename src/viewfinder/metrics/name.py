"""The full name of a figure: what was measured, where, on what, and by which rules.

"R@10" alone says little: Fashion IQ's is 10 points apart between two galleries that are often mixed up, and one
rule for ties beats another without a better search. So a figure is never written down without its gallery, split,
caption and tie rule, and two figures are compared only if their names are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from viewfinder.metrics.intervals import Interval

SEPARATOR = " | "
"""Between the parts of a name, where they are joined in one line; no part may hold it."""


@dataclass(frozen=True, kw_only=True)
class MeasureName:
    """What a figure is called.

    Attributes:
        metric: the measure and its depth, such as "R@10", "Hits@10", "ATR frozen at 10", "P".
        at: the moment, such as "turn 3", "round 10" or "last turn".
        gallery: which pictures are ranked, and how many: "test, 1000 pictures".
        split: the part of the data that the sessions come from.
        caption: what was made of captions, such as "first two joined"; "none" where there are none.
        ties: the tie rule, or "none" where nothing is ranked.

    Raises:
        ValueError: a part is empty, has blanks around it or more than one line, or holds " | ".
    """

    metric: str
    at: str
    gallery: str
    split: str
    caption: str
    ties: str

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value or value != value.strip() or SEPARATOR in value or not value.isprintable():
                raise ValueError(f"{name}={value!r}: every part of a name is one line of text without {SEPARATOR!r}")


@dataclass(frozen=True)
class Measure:
    """A figure under its full name: the mean with its interval, and over how many sessions."""

    name: MeasureName
    interval: Interval
    sessions: int

    def to_json(self) -> dict[str, object]:
        """A flat record: the parts of the name, then the figures."""
        return {**asdict(self.name), **asdict(self.interval), "sessions": self.sessions}

    @classmethod
    def from_json(cls, record: Mapping[str, object]) -> Measure:
        """The measure written by `to_json`.

        Raises:
            ValueError: a part is missing, unknown or of another kind.
        """
        rest = dict(record)
        sessions = rest.pop("sessions", None)
        found: list[float] = []
        for part in ("mean", "low", "high"):
            value = rest.pop(part, None)
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise ValueError(f"{part}={value!r}: a measure has a number there")
            found.append(float(value))
        parts = {field.name for field in fields(MeasureName)}
        if set(rest) != parts:
            raise ValueError(f"a name has the parts {sorted(parts)}, this record has {sorted(rest)}")
        texts = {part: value for part, value in rest.items() if isinstance(value, str)}
        if wrong := sorted(parts - set(texts)):
            raise ValueError(f"{wrong[0]}={rest[wrong[0]]!r}: the parts of a name are text")
        if type(sessions) is not int or sessions < 1:
            raise ValueError(f"sessions={sessions!r}: a measure says over how many sessions it is")
        return cls(MeasureName(**texts), Interval(*found), sessions)
