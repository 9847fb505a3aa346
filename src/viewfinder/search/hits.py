"""Results of a search, as people and programs see them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from viewfinder.conversation import PictureId
from viewfinder.search.verdicts import Match, Verdict
from viewfinder.store.rows import to_frame, to_utf8

if TYPE_CHECKING:
    from viewfinder.wording.reading import SaidReading

if sys.platform == "win32":
    from pathlib import WindowsPath as _Path
else:
    from pathlib import PosixPath as _Path


class PicturePath(_Path):
    """The path of a picture's file: a `pathlib.Path` that also behaves as a string, which it once was.

    It equals the string and has its hash, as every path has from Python 3.12 on.

    >>> path = PicturePath("/pictures/dog.jpg")
    >>> path.name, path == "/pictures/dog.jpg", path in {"/pictures/dog.jpg"}, path.endswith(".jpg")
    ('dog.jpg', True, True, True)
    """

    def __eq__(self, other: object) -> bool:
        return str(self) == other if isinstance(other, str) else super().__eq__(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __contains__(self, text: str) -> bool:
        return text in str(self)

    if not TYPE_CHECKING:  # a misspelt name is still found by a type checker

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):  # what `Path` caches and has not computed yet
                raise AttributeError(name)
            return getattr(str(self), name)


@dataclass(frozen=True)
class Hit:
    """One result: `rank` from 1, `path` the first file that exists, `why` the reasons for the score, as JSON.

    Ranks that people see count from 1, as this one does; `Session.rank_of` and all measures count from 0.

        {"turns": [{"turn": 1, "parts": ["a red car"], "adds": 0.31, "share": 1.0}],
         "regions": {"boxes": [[0.0, 0.0, 0.167, 0.167], ...],
                     "slots": [{"said": "a red car", "turn": 1, "weights": [0.004, ...], "adds": 0.31}]}}

    `turns`: what each turn adds to the score, and its share of all that is added or taken away. The sum is the score.
    `systems`, from retrievers that ask others (`Query.opinions`): the same, but what each of these systems adds is an
    entry of its own, with the name as `system`, which is "" in those of what was said itself.

    `regions`, from retrievers that compare with many vectors per picture (`RegionSpace`): `boxes` say where these lie,
    [x0, y0, x1, y1] as shares of width and height (an empty list where that is not known), and each of `slots`
    is one vector of the query: what it holds in words, the turn last written into it, how much it looks at
    each box (the weights add up to 1), and what it adds to the score.

    `others`: the other pictures of the same product, if a catalogue tells products and the search folds them.
    `fields`: the columns of the catalogue that were asked for, each with the picture's values.
    """

    rank: int
    id: PictureId
    path: PicturePath
    score: float
    match: Match
    why: dict[str, Any] = field(default_factory=dict, compare=False)
    others: tuple[PictureId, ...] = ()
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)


class Hits(tuple[Hit, ...]):
    """Results, best first, with the verdict on the whole: is what was asked for here at all?

    `missing`: pictures that could not be searched when several machines search (docs/cluster.md); else 0. `unheard`: if
    nothing is found, the words last said that the encoder does not know, unless it knows most: they may be of another
    language. `reading`: how the last sentence was read, if not just as it stands.
    """

    verdict: Verdict
    elapsed_ms: float
    missing: int
    unheard: tuple[str, ...]
    reading: SaidReading | None

    def __new__(  # noqa: D102
        cls,
        hits: Sequence[Hit],
        verdict: Verdict,
        elapsed_ms: float,
        missing: int = 0,
        unheard: Sequence[str] = (),
        reading: SaidReading | None = None,
    ) -> Hits:
        made = super().__new__(cls, hits)
        made.verdict, made.elapsed_ms, made.missing, made.unheard = verdict, elapsed_ms, missing, tuple(unheard)
        made.reading = reading
        return made

    def __repr__(self) -> str:
        return f"Hits({self.verdict}, {list(self)!r})"

    def __reduce__(self) -> tuple[type[Hits], tuple[Any, ...]]:
        return Hits, (tuple(self), self.verdict, self.elapsed_ms, self.missing, self.unheard, self.reading)

    def to_json(self) -> dict[str, Any]:
        """Verdict, results and time, as the command line prints them; `missing` and `unheard` if there are any."""
        return {
            "verdict": self.verdict,
            "results": [_hit_to_json(hit) for hit in self],
            "elapsed_ms": round(self.elapsed_ms, 2),
            **({"missing": self.missing} if self.missing else {}),
            **({"unheard": list(self.unheard)} if self.unheard else {}),
            **({"reading": self.reading.to_json()} if self.reading else {}),
        }

    def to_arrow(self) -> Any:
        """An Arrow table with one row per hit: rank (from 1), id, path, score, match; without reasons."""
        import pyarrow as pa

        return pa.table(
            {
                "rank": pa.array([hit.rank for hit in self], pa.int64()),
                "id": pa.array([hit.id for hit in self], pa.string()),
                "path": pa.array([to_utf8(str(hit.path)) for hit in self], pa.string()),
                "score": pa.array([hit.score for hit in self], pa.float64()),
                "match": pa.array([hit.match for hit in self], pa.string()),
            }
        )

    def to_pandas(self) -> Any:
        """`to_arrow` as a pandas DataFrame. Raises ViewfinderError: pandas is not installed."""
        return to_frame(self.to_arrow())


def _hit_to_json(hit: Hit) -> dict[str, Any]:
    record = {**asdict(hit), "path": str(hit.path), "others": list(hit.others)}
    for name in ("others", "fields"):
        if not record[name]:
            del record[name]
    return record
