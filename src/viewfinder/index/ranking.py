"""The order in which a query puts a whole collection: hits for people, the likeliest candidates for questioners."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float32, Int

from viewfinder.conversation import Answer, Conversation, Keep, Node, PictureId, is_dont_know
from viewfinder.index.gallery import Gallery, Scores
from viewfinder.index.near_scores import NearScores
from viewfinder.index.region_scores import TIE
from viewfinder.index.rows import to_frame, to_utf8
from viewfinder.index.scores import (
    ChanceOf,
    Judgement,
    Match,
    Verdict,
    find_unheard,
    judge_matches,
    judge_result,
    texts_said,
)
from viewfinder.questioners import Candidates, PictureProjection
from viewfinder.retrievers import Query, RegionSpace

AT_LEAST = 100
"""Results sorted at once: more than are looked at, as a rule, if nothing is asked."""

CANDIDATES = 1000
"""How many of the likeliest pictures a question is about."""


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

    `turns`: what each turn adds to the score, and its share of all that is added or taken away.

    `regions`, from retrievers that compare with many vectors per picture (`RegionSpace`): `boxes` say where these lie,
    [x0, y0, x1, y1] as shares of width and height (an empty list where that is not known), and each of `slots`
    is one vector of the query: what it holds in words, the turn last written into it, how much it looks at
    each box (the weights add up to 1), and what it adds to the score.
    """

    rank: int
    id: PictureId
    path: PicturePath
    score: float
    match: Match
    why: dict[str, Any] = field(default_factory=dict, compare=False)


class Hits(tuple[Hit, ...]):
    """Results, best first, with the verdict on the whole: is what was asked for here at all?

    `missing`: pictures that could not be searched when several machines search (docs/cluster.md); else 0. `unheard`: if
    nothing is found, the words last said that the encoder does not know, unless it knows most: they may be of another
    language.
    """

    verdict: Verdict
    elapsed_ms: float
    missing: int
    unheard: tuple[str, ...]

    def __new__(  # noqa: D102
        cls,
        hits: Sequence[Hit],
        verdict: Verdict,
        elapsed_ms: float,
        missing: int = 0,
        unheard: Sequence[str] = (),
    ) -> Hits:
        made = super().__new__(cls, hits)
        made.verdict, made.elapsed_ms, made.missing, made.unheard = verdict, elapsed_ms, missing, tuple(unheard)
        return made

    def __repr__(self) -> str:
        return f"Hits({self.verdict}, {list(self)!r})"

    def to_json(self) -> dict[str, Any]:
        """Verdict, results and time, as the command line prints them; `missing` and `unheard` if there are any."""
        return {
            "verdict": self.verdict,
            "results": [{**asdict(hit), "path": str(hit.path)} for hit in self],
            "elapsed_ms": round(self.elapsed_ms, 2),
            **({"missing": self.missing} if self.missing else {}),
            **({"unheard": list(self.unheard)} if self.unheard else {}),
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


class Ranking:
    """A collection as a query orders it. It holds one number per picture, so use it at once and do not keep it.

    `allowed_n`: the pictures that meet the filters, None without filters. `adapters`: the turns that the retriever
    could not take as given, and what was done instead. `path`: the turns so far, by whose descriptions it is judged.
    """

    def __init__(
        self,
        gallery: Gallery,
        query: Query,
        allowed_n: Bool[np.ndarray, " n"] | None = None,
        adapters: tuple[str, ...] = (),
        path: Sequence[Node] = (),
    ) -> None:
        self.gallery, self.query, self.adapters = gallery, query, adapters
        self._allowed_n = allowed_n
        self.scores: Scores | NearScores = gallery.turn_scores(query, allowed_n)
        self._path = path
        self._rows_k: Int[np.ndarray, " k"] | None = None

    @property
    def total(self) -> int:
        """How many pictures are ranked, without rejected ones and those that filters leave out."""
        if not self.query.parts:
            return 0
        return self.scores.count_open(self._allowed_n)

    @property
    def missing(self) -> int:
        """How many pictures could not be searched."""
        return self.scores.missing if isinstance(self.scores, NearScores) else 0

    @property
    def verdict(self) -> Verdict:
        """Is what the conversation asks for here at all?"""
        best = self.best(1).tolist()
        if best and self._judgement is not None:
            return self._judgement.verdict
        return judge_result(self._chances(best)[0] if best else None)

    @property
    def unheard(self) -> tuple[str, ...]:
        """If nothing is found, the words last said that the encoder does not know, unless it knows most (`Hits`)."""
        calibration, said = self.gallery.encoder.calibration, texts_said(self._path)
        if calibration is None or not said or self.verdict != "nothing":
            return ()
        return find_unheard(calibration.familiar, said[-1])

    @cached_property
    def _judgement(self) -> Judgement | None:
        return self.gallery.judge(texts_said(self._path), self.query, self.scores)

    def _chances(self, rows: Sequence[int]) -> list[float]:
        """How likely pictures are to be what was said; without words, how far they stand out."""
        if not rows:
            return []
        if self._judgement is not None:
            return self._judgement.matches(rows)
        spread = self.scores.spread
        chance_of = ChanceOf(spread.mean, spread.deviation)
        return [chance_of(score) for score in self._rounded_scores(rows)]

    def best(self, count: int) -> Int[np.ndarray, " k"]:
        """Rows of the best pictures, ties by id; none while nothing is looked for."""
        if not self.query.parts:
            return np.zeros(0, np.int64)
        if self._rows_k is None or count > len(self._rows_k):
            self._rows_k = self.scores.best(max(count, AT_LEAST), self._allowed_n)
            if isinstance(self.scores, NearScores) and len(self._rows_k) < min(count, self.total):
                # Rarely does anybody look this far down: a full scan.
                self.scores = self.gallery.scores(self.query, allowed_n=self._allowed_n)
                self._rows_k = self.scores.best(max(count, AT_LEAST), self._allowed_n)
        return self._rows_k[:count]

    def hits(self, count: int, start: int = 0) -> tuple[Hit, ...]:
        """The best pictures after the first `start`, without reasons (`why` gives them)."""
        rows, ids = self.best(start + count)[start:].tolist(), self.gallery.snapshot.ids
        scores = self._rounded_scores(rows)
        # The first file that still exists; `os.path`, because this runs for every result.
        files = [
            next((path for path in paths if os.path.exists(path)), paths[0])  # noqa: PTH110
            for paths in self.gallery.snapshot.paths_of(rows)
        ]
        matches = judge_matches(self._chances(rows))
        return tuple(
            [
                Hit(start + at, ids[row], PicturePath(file), score, match)
                for at, (row, file, score, match) in enumerate(zip(rows, files, scores, matches, strict=True), start=1)
            ]
        )

    def why(self, ids: Sequence[PictureId]) -> dict[PictureId, dict[str, Any]]:
        """Why these pictures rank where they do (see `Hit`). Raises UnknownName: one is not in this collection."""
        rows_k = np.array(self.gallery.rows(ids), dtype=np.int64)
        return dict(zip(ids, self.gallery.why(self.query, rows_k, self.scores), strict=True)) if ids else {}

    def explained(self, hits: Sequence[Hit]) -> list[Hit]:
        """The first hits of this ranking with their reasons."""
        found = self.gallery.why(self.query, self.best(len(hits)), self.scores) if hits else []
        return [replace(hit, why=why) for hit, why in zip(hits, found, strict=True)]

    def rank_bounds(self, picture: PictureId) -> tuple[int, int]:
        """The 0-based rank of a picture in the whole collection, at best and at worst where scores tie.

        Filters do not count here; rejected pictures, and those that a "but ..." went on from, rank last.
        """
        [row] = self.gallery.rows([picture])
        scores = self.gallery.scores(self.query, exact=True)
        open_n = ~scores.excluded_n
        if not open_n[row]:
            return len(self.gallery) - 1, len(self.gallery) - 1
        lead_k = scores.total_n[open_n] - scores.total_n[row]
        return int((lead_k > TIE).sum()), int((lead_k >= -TIE).sum()) - 1

    def _rounded_scores(self, rows: Sequence[int]) -> list[float]:
        return [round(score, 4) for score in self.scores.at(np.asarray(rows, np.int64)).tolist()]


def select_candidates(ranking: Ranking, conversation: Conversation, *, settled: frozenset[str]) -> Candidates:
    """The likeliest pictures at the present point of a conversation; `settled`: attributes that filters settle."""
    snapshot, rows_c = ranking.gallery.snapshot, ranking.best(CANDIDATES)
    path, open_no_more = conversation.path(), set(settled)
    turns = tuple(node.turn for node in path if node.turn is not None)
    for turn in turns:
        if isinstance(turn, Keep):
            open_no_more.add(turn.attribute)
        elif isinstance(turn, Answer) and turn.question.attribute is not None and not is_dont_know(turn.text):
            open_no_more.add(turn.question.attribute)
    total_c = ranking.scores.at(rows_c)
    lead_c = (total_c - total_c[:1]).astype(np.float64)
    chances_c = np.exp(ranking.query.sharpness * lead_c)
    return Candidates(
        probabilities_c=chances_c / (chances_c.sum() or 1.0),
        vectors_cd=snapshot.matrix_nd[rows_c],
        columns={column.name: (column.values, column.first_codes_n[rows_c]) for column in snapshot.all_columns},
        said=tuple(text for turn in turns if (text := getattr(turn, "text", ""))),
        asked=tuple(node.asked for node in path if node.asked is not None),
        settled=frozenset(open_no_more),
        turns=turns,
        lookup=GalleryLookup(ranking.gallery, rows_c),
    )


class GalleryLookup:
    """The questioners' `Lookup` over some rows of a gallery."""

    def __init__(self, gallery: Gallery, rows_c: Int[np.ndarray, " c"]) -> None:
        self._gallery, self._rows_c = gallery, rows_c
        self.words = gallery.encode_texts
        self.sentences = gallery.encode_sentences
        self.sentences_version = gallery.encoder.sentences_version

    def ids(self) -> Sequence[PictureId]:
        """Their ids."""
        return [self._gallery.snapshot.ids[row] for row in self._rows_c.tolist()]

    def label_chances(self) -> Float32[np.ndarray, "c l"] | None:
        """How likely each label of `questioners.photographs` holds; None if the encoder's vectors do not tell."""
        return self._gallery.label_chances_at(self._rows_c)

    def captions(self) -> Sequence[tuple[str, ...]]:
        """What people wrote about the candidates."""
        if not self._gallery.snapshot.has_captions:
            return [()] * len(self._rows_c)
        return [tuple(self._gallery.snapshot.captions(row)) for row in self._rows_c.tolist()]

    def project(self, projection: PictureProjection) -> Float32[np.ndarray, "c k"]:
        """The candidates as a trained questioner sees them; raises EncoderMismatch as `check_fits`."""
        name, version, width = projection.name, projection.raw_version, projection.width
        space = RegionSpace(
            name, version, lambda raw: projection.project(raw.whole_ng)[:, None], 1, width, reads_regions=False
        )
        return self._gallery.block(space).vectors(self._rows_c)[:, 0]
