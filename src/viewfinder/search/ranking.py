"""The order in which a query puts a whole collection."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Int

from viewfinder.conversation import PictureId
from viewfinder.processors import use_one_blas_thread
from viewfinder.query import Query, Ratios
from viewfinder.search.gallery import Gallery
from viewfinder.search.hits import Hit, PicturePath
from viewfinder.search.judging import judge_texts
from viewfinder.search.kernels import TIE
from viewfinder.search.near_scores import NearScores
from viewfinder.search.own_scale import OwnJudgement
from viewfinder.search.scores import MIN_SORTED, Scores, express_query, score_all
from viewfinder.search.turn_scores import score_deeper, score_turn
from viewfinder.search.verdicts import (
    MIN_MAYBE,
    Judgement,
    Verdict,
    agree_verdict,
    fall_along,
    find_unheard,
    judge_matches,
    judge_result,
    outlier_chance,
)

if TYPE_CHECKING:
    from viewfinder.search.products import Products
    from viewfinder.wording.reading import SaidReading

LIKELY_BY_FACTS = 0.9
"""The chance of a picture for which all facts hold, where nothing else was said."""

MAX_JUDGED = 1000
"""So many of the best results are judged to count how many fit."""


class Ranking:
    """A collection as a query orders it. It holds one number per picture, so use it at once and do not keep it.

    `allowed_n`: the pictures that meet the filters, None without filters. `adapters`: the turns that the retriever
    could not take as given, and what was done instead. `texts`: what was said of the wanted picture, by which it is
    judged. `reading`: how the last sentence was read. `fold`: of the pictures of one product only the best is a result.
    `settled`: the columns that filters settle, about which nothing needs to be asked.
    """

    def __init__(
        self,
        gallery: Gallery,
        query: Query,
        allowed_n: Bool[np.ndarray, " n"] | None = None,
        adapters: tuple[str, ...] = (),
        texts: Sequence[str] = (),
        reading: SaidReading | None = None,
        *,
        fold: bool = False,
        settled: frozenset[str] = frozenset(),
    ) -> None:
        query = express_query(query, gallery.measures.scale)
        self.gallery, self.query, self.adapters, self.reading = gallery, query, adapters, reading
        self.settled = settled
        self._allowed_n = allowed_n
        self.scores: Scores | NearScores = score_turn(gallery, query, allowed_n)
        self._texts = texts
        self._rows_k: Int[np.ndarray, " k"] | None = None
        self._products: Products | None = gallery.products if fold else None

    @property
    def total(self) -> int:
        """How many results there are, without rejected pictures and those that filters leave out."""
        if not self.query.looks_for_something:
            return 0
        if self._products is None:
            return self.scores.count_open(self._allowed_n)
        open_n = np.ones(len(self.gallery), bool) if self._allowed_n is None else self._allowed_n.copy()
        open_n[self.scores.excluded_k if isinstance(self.scores, NearScores) else self.scores.excluded_n] = False
        return self._products.count(np.flatnonzero(open_n))

    @property
    def missing(self) -> int:
        """How many pictures could not be searched."""
        return self.scores.missing if isinstance(self.scores, NearScores) else 0

    @property
    @use_one_blas_thread()
    def verdict(self) -> Verdict:
        """Is what the conversation asks for here at all?"""
        best = self.best(1).tolist()
        if best and self._judgement is not None:
            return agree_verdict(self._judgement.verdict, self._compute_chances(best)[0])
        return judge_result(self._compute_chances(best)[0] if best else None)

    @use_one_blas_thread()
    def count_matches(self) -> tuple[int, int]:
        """How many results are likely, and how many may be it, among the best `MAX_JUDGED`.

        Chances never rise down the list, so that looking ends at the first result which is unlikely.
        """
        looked_at = MIN_SORTED
        while True:
            rows = self.best(looked_at).tolist()
            chances = self._compute_chances(rows)
            if len(rows) < looked_at or chances[-1] < MIN_MAYBE or looked_at == MAX_JUDGED:
                matches = judge_matches(chances)
                return matches.count("likely"), matches.count("maybe")
            looked_at = min(4 * looked_at, MAX_JUDGED)

    @property
    def unheard(self) -> tuple[str, ...]:
        """If nothing is found, the words last said that the encoder does not know, unless it knows most (`Hits`)."""
        calibration, said = self.gallery.encoder.calibration, self._texts
        if calibration is None or not said or self.verdict != "nothing":
            return ()
        return find_unheard(calibration.familiar, said[-1])

    @cached_property
    def _judgement(self) -> Judgement | OwnJudgement | None:
        return judge_texts(self.gallery, self._texts, self.query, self.scores)

    def _compute_chances(self, rows: Sequence[int]) -> list[float]:
        """How likely the first hits are to be what was said; without words, how far they stand out."""
        if not rows:
            return []
        if self._judgement is None and not self._facts:
            spread = self.scores.spread
            rounded = self._round_scores(rows, 1.0)
            return [outlier_chance(score, spread.mean, spread.deviation) for score in rounded]
        said = [LIKELY_BY_FACTS] * len(rows) if self._judgement is None else self._judgement.matches(rows)
        return fall_along([chance * held for chance, held in zip(said, self._weigh_facts(rows), strict=True)])

    @cached_property
    def _facts(self) -> tuple[Ratios, ...]:
        """What the facts that were said tell, of those that hold for any picture."""
        told = (known.ratios() for known in self.query.evidence if known.is_fact and not known.is_filter)
        return tuple(ratios for ratios in told if ratios is not None)

    def _weigh_facts(self, rows: Sequence[int]) -> list[float]:
        """How much less likely pictures are to be meant than one for which all facts hold: 1 for these."""
        rows_k, lost_k = np.asarray(rows, np.int64), np.zeros(len(rows))
        for ratios in self._facts:
            lost_k += ratios.at(rows_k) - ratios.highest
        return [float(chance) for chance in np.exp(lost_k)]

    def best(self, count: int) -> Int[np.ndarray, " k"]:
        """Rows of the best pictures, ties by id; none while nothing is looked for."""
        if self._products is None:
            return self._best_pictures(count)
        looked_at = max(count, MIN_SORTED)
        while True:
            rows_k = self._best_pictures(looked_at)
            folded_k = self._products.keep_first(rows_k)
            if len(folded_k) >= count or len(rows_k) < looked_at:
                return folded_k[:count]
            looked_at *= 4

    def _best_pictures(self, count: int) -> Int[np.ndarray, " k"]:
        if not self.query.looks_for_something:
            return np.zeros(0, np.int64)
        if self._rows_k is None or count > len(self._rows_k):
            self._rows_k = self.scores.best(max(count, MIN_SORTED), self._allowed_n)
            if isinstance(self.scores, NearScores) and len(self._rows_k) < min(count, self.total):
                # Rarely does anybody look this far down.
                self.scores = score_deeper(self.gallery, self.query, self._allowed_n, count)
                self._rows_k = self.scores.best(max(count, MIN_SORTED), self._allowed_n)
        return self._rows_k[:count]

    @use_one_blas_thread()
    def hits(self, count: int, start: int = 0, *, explained: bool = False) -> tuple[Hit, ...]:
        """The best pictures after the first `start`; with their reasons only if `explained` (else `why` gives them)."""
        first_k, ids = self.best(start + count), self.gallery.snapshot.ids
        rows_k = first_k[start:]
        rows = rows_k.tolist()
        scores = self._round_scores(rows, self.query.shown_factor)
        # The first file that still exists; `os.path`, because this runs for every result.
        files = [
            next((path for path in paths if os.path.exists(path)), paths[0])  # noqa: PTH110
            for paths in self.gallery.snapshot.paths_of(rows)
        ]
        matches = judge_matches(self._compute_chances(first_k.tolist() if rows else [])[start:])
        reasons = self._explain(rows_k) if explained and rows else [{} for _ in rows]
        known = zip(rows, files, scores, matches, reasons, strict=True)
        return tuple(
            [
                Hit(start + at, ids[row], PicturePath(file), score, match, why, self.others(row))
                for at, (row, file, score, match, why) in enumerate(known, start=1)
            ]
        )

    def others(self, row: int) -> tuple[PictureId, ...]:
        """The other pictures of a result's product that meet the filters, by their paths; none without folding."""
        if self._products is None or not (rows := self._products.others(row)):
            return ()
        allowed = [other for other in rows if self._allowed_n is None or self._allowed_n[other]]
        paths = self.gallery.snapshot.paths_of(allowed)
        ids = self.gallery.snapshot.ids
        return tuple(ids[other] for _, other in sorted(zip(paths, allowed, strict=True)))

    @use_one_blas_thread()
    def why(self, ids: Sequence[PictureId]) -> dict[PictureId, dict[str, Any]]:
        """Why these pictures rank where they do (see `Hit`). Raises UnknownName: one is not in this collection."""
        rows_k = np.array(self.gallery.rows(ids), dtype=np.int64)
        return dict(zip(ids, self._explain(rows_k), strict=True)) if ids else {}

    def _explain(self, rows_k: Int[np.ndarray, " k"]) -> list[dict[str, Any]]:
        # Not above: few searches are explained.
        from viewfinder.search.explanation import explain_hits

        return explain_hits(self.gallery, self.query, rows_k, self.scores)

    @use_one_blas_thread()
    def rank_bounds(self, picture: PictureId) -> tuple[int, int]:
        """The 0-based rank of a picture in the whole collection, at best and at worst where scores tie.

        Filters do not count here; rejected pictures, and those that a "but ..." went on from, rank last.
        """
        [row] = self.gallery.rows([picture])
        scores = score_all(self.gallery, self.query, exact=True)
        if scores.excluded_n[row]:
            return len(self.gallery) - 1, len(self.gallery) - 1
        lead_n = scores.total_n - scores.total_n[row]
        lead_n[scores.excluded_n] = -np.inf
        return int(np.count_nonzero(lead_n > TIE)), int(np.count_nonzero(lead_n >= -TIE)) - 1

    def _round_scores(self, rows: Sequence[int], factor: float) -> list[float]:
        return [round(factor * score, 4) for score in self.scores.at(np.asarray(rows, np.int64)).tolist()]
