"""Tuning of encoders other than the starter: their words are moved towards the pictures that they are said of.

With centred unit vectors t of texts and v of their pictures, A is what foretells texts from pictures, v A = s t, by
ridge regression that shrinks towards A = 1; words then become t A', which scores a picture as v A scores a text.
Foretelling pictures from texts instead costs new photographs twice as much at the same ridge. How far to shrink is
chosen on pictures that were held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int

from viewfinder.encoders.measured_scale import measure_scale
from viewfinder.encoders.scale import share_background
from viewfinder.encoders.tuned import WordHead
from viewfinder.metrics import mean_reciprocal_rank, recall_at, target_ranks
from viewfinder.search.own_scale import measure_levels

RIDGES = (3000.0, 1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0)
"""How strongly the map is held to change nothing, in mean eigenvalues of the pictures' scatter."""

FOLDS = 5
MAX_COMPARED = 4000
"""Maximum number of pictures on which that is chosen."""

MIN_SPREAD = 1e-9
"""Pictures, or texts, whose vectors are spread less are all the same: nothing is learnt from them."""

MAX_SCALED = 500
"""Pictures on which the scale of likeness is measured."""


@dataclass(frozen=True, eq=False)
class CaptionedWords:
    """Pictures and their texts in an encoder's shared space; `owners_m` numbers the picture of each text.

    `adds_mn`: what the library's own texts about the pictures add to their scores for a text, if it has any.
    """

    pictures_nd: Float32[np.ndarray, "n d"]
    texts_md: Float32[np.ndarray, "m d"]
    owners_m: Int[np.ndarray, " m"]
    adds_mn: Float32[np.ndarray, "m n"] | None = None

    def __len__(self) -> int:
        return len(self.pictures_nd)

    def of(self, rows_k: Int[np.ndarray, " k"]) -> tuple[CaptionedWords, Int[np.ndarray, " asked"]]:
        """Some of the pictures with their texts, and which texts these are."""
        place_n = np.full(len(self), -1)
        place_n[rows_k] = np.arange(len(rows_k))
        asked = np.flatnonzero(place_n[self.owners_m] >= 0)
        return CaptionedWords(self.pictures_nd[rows_k], self.texts_md[asked], place_n[self.owners_m[asked]]), asked


@dataclass(frozen=True)
class MapChoice:
    """How strongly to hold the map to what the encoder knew, None: no map; and the shares of texts that find their
    picture first, of pictures that were learnt and of others.

    `others_lose`: whether every map makes new pictures harder to find.
    """

    ridge: float | None
    own: dict[str, float]
    held_out: dict[str, float]
    others_lose: bool


class WordMaps:
    """The maps that some pictures and texts teach, for any ridge: what they have in common is computed once."""

    def __init__(self, kind: CaptionedWords, made_for: str) -> None:
        self._made_for = made_for
        weight_m1 = 1 / np.bincount(kind.owners_m)[kind.owners_m][:, None]
        weight_m1 /= weight_m1.sum()
        texts_md, seen_md = kind.texts_md.astype(np.float64), kind.pictures_nd[kind.owners_m].astype(np.float64)
        self._centre_d = (weight_m1 * texts_md).sum(axis=0)
        texts_md, seen_md = texts_md - self._centre_d, seen_md - (weight_m1 * seen_md).sum(axis=0)
        of_texts, of_seen = (float((weight_m1 * rows_md**2).sum()) for rows_md in (texts_md, seen_md))
        self.are_told_apart = min(of_texts, of_seen) > MIN_SPREAD
        weighted_dm = (weight_m1 * seen_md).T
        self._values_d, self._vectors_dd = np.linalg.eigh(weighted_dm @ seen_md)
        wanted_md = texts_md * np.sqrt(of_seen / max(of_texts, MIN_SPREAD)) - seen_md
        self._turned_dd = self._vectors_dd.T @ (weighted_dm @ wanted_md)

    def head_with(self, ridge: float) -> WordHead:
        """The map that is held to change nothing so strongly, as it will be read back."""
        held = ridge * max(float(self._values_d.mean()), MIN_SPREAD)
        adds_dd = self._vectors_dd @ (self._turned_dd / (np.maximum(self._values_d, 0) + held)[:, None])
        centre_d, adds_dd = self._centre_d.astype(np.float32), adds_dd.T.astype(np.float32)
        return WordHead(self._made_for, centre_d, adds_dd).rounded()


def choose_map(
    kind: CaptionedWords,
    sayings_bd: Float32[np.ndarray, "b d"],
    made_for: str,
    *,
    sharpness: float,
    ridges: Sequence[float] = RIDGES,
    seed: int = 0,
) -> MapChoice:
    """The map that finds own and new pictures best together, new ones never worse than without.

    A picture counts as new if it is in another fold than those learnt; it is sought among all the others. `sayings_bd`
    tell what pictures score for anything at all, `sharpness` is what makes nats of likeness on the starter's scale.
    """
    fold_n = np.random.default_rng(seed).permutation(len(kind)) % FOLDS
    fold_m = fold_n[kind.owners_m]
    first, reciprocal = _measure(kind, [None] * FOLDS, fold_m, sayings_bd, sharpness)
    best = reciprocal * 2, MapChoice(None, {"shipped": first}, {"shipped": first}, others_lose=True)
    whole = WordMaps(kind, made_for)
    if not whole.are_told_apart:
        return best[1]
    without = [WordMaps(_take(kind, fold_m != fold), made_for) for fold in range(FOLDS)]
    others_lose = True
    for ridge in ridges:
        new_first, new = _measure(kind, [maps.head_with(ridge) for maps in without], fold_m, sayings_bd, sharpness)
        if new < reciprocal or new_first < first:
            continue
        others_lose = False
        own_first, own = _measure(kind, [whole.head_with(ridge)] * FOLDS, fold_m, sayings_bd, sharpness)
        if own + new > best[0]:
            figures = {"shipped": first, "tuned": own_first}, {"shipped": first, "tuned": new_first}
            best = own + new, MapChoice(ridge, *figures, others_lose=False)
    found = best[1]
    return MapChoice(found.ridge, found.own, found.held_out, others_lose)


def _take(kind: CaptionedWords, of_m: np.ndarray) -> CaptionedWords:
    """Some of the texts, with all pictures."""
    return CaptionedWords(kind.pictures_nd, kind.texts_md[of_m], kind.owners_m[of_m])


def _measure(
    kind: CaptionedWords,
    heads: Sequence[WordHead | None],
    fold_m: Int[np.ndarray, " m"],
    sayings_bd: Float32[np.ndarray, "b d"],
    sharpness: float,
) -> tuple[float, float]:
    """The share of texts that find their picture first, and the mean reciprocal rank; each fold with its own head."""
    ranks = []
    for fold, head in enumerate(heads):
        rows = np.flatnonzero(fold_m == fold)
        if not len(rows):
            continue
        texts_kd, asked_bd = kind.texts_md[rows], sayings_bd
        if head is not None:
            texts_kd, asked_bd = head.map(texts_kd), head.map(asked_bd)
        levels_n2 = measure_levels(kind.pictures_nd, asked_bd)
        some_nd, some_n = kind.pictures_nd[:MAX_SCALED], levels_n2[:MAX_SCALED, 1]
        scale = measure_scale(some_nd, some_n, asked_bd)
        background_n = share_background(levels_n2[:, 0], float(np.median(levels_n2[:, 0])))
        scores_kn = scale.words * (texts_kd @ kind.pictures_nd.T - background_n)
        if kind.adds_mn is not None:
            scores_kn = scores_kn + kind.adds_mn[rows] / np.float32(sharpness)
        ranks.append(target_ranks(scores_kn, kind.owners_m[rows]))
    ranks_m = np.concatenate(ranks)
    return float(recall_at(1, ranks_m)), mean_reciprocal_rank(ranks_m)
