"""A library's own scale: what a score means among the pictures that are there.

A score of 0.4 may be a perfect fit among product shots and nothing special among photographs; it depends on the
encoder, on what the pictures show, on how many there are and on how one speaks. So every library is asked a few hundred
`sayings` beforehand, of which some hold there and most do not:

- The *standing* of a score is how many deviations it lies above what this very picture scores for the sayings. Kinds of
  pictures that lie elsewhere in the space, or that answer everything, thereby count the same.
- The *usual* standing is that of the ten best pictures for a saying, the median over all of them: ten pictures of a
  million stand out further than ten of three hundred, whatever is said.
- How near a text is to the sayings tells how far pictures of it must be expected to stand out.

Two logistic curves, of these features and nothing of the encoder, make chances of that: that the picture is here at
all, and that a hit is what was said. `benchmarks/verdicts_here.py` fits them in galleries of several kinds and sizes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files

import numpy as np
from jaxtyping import Float, Float32, Int64

from viewfinder.encoders.scale import BOX, Scale
from viewfinder.search.kernels import top_k
from viewfinder.search.samples import sample_rows
from viewfinder.search.verdicts import CROWD, MAX_TURNS_COUNTED, MIN_LIKELY, Verdict, mean_odds
from viewfinder.store.half_rows import HalfRows

FEATURES = ("crowd", "best", "usual", "near", "generic", "length", "turns", "rare")
"""Mean and highest standing of the ten best pictures; the usual standing; the likeness of what was said to the sayings
nearest to it and to all of them; the length of the mean of what was said; turns (5 at most); how rare its words are.
The curve of a hit also has its standing and the logarithm of its place, and every curve ends with 1."""

NEAREST = 10
"""Sayings nearest to what was said."""

COMMON = -2.7
"""Words are rare as far as the mean log10 of the share of captions that have them is below this."""

MIN_DEVIATION = 1e-3
"""A picture that scores the same for everything has this deviation: 1e-3 is noise of the encoder."""

AT_ONCE = 8192
"""Pictures whose scores for all sayings are held in memory at once: 14 MB."""

MIN_ASKED, MAX_SCORES = 54, 8_000_000
"""The usual standing is measured with so many sayings at least, and with all of them in libraries so small that no more
than these scores must be computed for it."""

MAX_SAMPLED, SAMPLE_STEP = 65_536, 4
"""Of more pictures a sample of this size is compared with a part of it, one of so many."""


@cache
def read_sayings() -> tuple[str, ...]:
    """The sayings that every library is asked."""
    lines = files("viewfinder.search").joinpath("sayings.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


@cache
def name_sayings() -> str:
    """Eight hexadecimal digits that name the sayings."""
    return hashlib.blake2b("\n".join(read_sayings()).encode(), digest_size=4).hexdigest()


@dataclass(frozen=True)
class Curves:
    """Weights of two logistic curves over `FEATURES`, the bias last, and the chance below which nothing is here.

    `here` is for what was said; `match` for a hit, whose standing and place come before the bias. `nothing_below`: for
    fragments, and for sentences.
    """

    here: tuple[float, ...]
    match: tuple[float, ...]
    nothing_below: tuple[float, float]


@cache
def read_curves() -> Curves:
    """The curves that come with the package."""
    known = json.loads(files("viewfinder.search").joinpath("own_scale.json").read_text(encoding="utf-8"))
    return Curves(tuple(known["here"]), tuple(known["match"]), (known["nothing_below"][0], known["nothing_below"][1]))


RARELY_BELOW = 0.15
"""The chance below which nothing is here in galleries unlike those that the curves were fitted in: of few pictures, or
of another encoder. Chosen on `choose` so that "nothing" is said of fewer than 5 in 100 photographs that are among the
first ten, at 30, 600 and 6,815 pictures (`benchmarks/any_encoder.py`)."""

SMALL = 100
"""Fewer pictures are a small library: the ten best of it are a good part of all, and do not stand out."""


@cache
def curves_for(pictures: int, *, of_box: bool) -> Curves:
    """The curves for a library of so many pictures; `of_box`: of an encoder with a scale like the starter's."""
    curves = read_curves()
    if of_box and pictures >= SMALL:
        return curves
    fragments, sentences = (min(limit, RARELY_BELOW) for limit in curves.nothing_below)
    return replace(curves, nothing_below=(fragments, sentences))


def measure_levels(
    vectors_nd: Float32[np.ndarray, "n d"] | HalfRows, sayings_bd: Float32[np.ndarray, "b d"]
) -> Float32[np.ndarray, "n 2"]:
    """Mean and deviation of each picture's likeness to the sayings."""
    mean_d = sayings_bd.mean(axis=0)
    # |R v|^2 = |(S - mean) v|^2 for every v: the deviation without a number for every saying.
    root_rd = np.asarray(np.linalg.qr(sayings_bd - mean_d, mode="r")) / np.float32(math.sqrt(len(sayings_bd)))
    levels_n2 = np.zeros((len(vectors_nd), 2), np.float32)
    for at in range(0, len(vectors_nd), AT_ONCE):
        vectors_kd = np.asarray(vectors_nd[at : at + AT_ONCE], np.float32)
        levels_n2[at : at + AT_ONCE, 0] = vectors_kd @ mean_d
        levels_n2[at : at + AT_ONCE, 1] = np.linalg.norm(vectors_kd @ root_rd.T, axis=1)
    return levels_n2


def measure_usual(
    vectors_nd: Float32[np.ndarray, "n d"] | HalfRows,
    background_n: Float32[np.ndarray, " n"],
    levels_n2: Float32[np.ndarray, "n 2"],
    sayings_bd: Float32[np.ndarray, "b d"],
) -> float:
    """The median, over the sayings, of the mean standing of the `CROWD` pictures with the best scores; 0 of none.

    For a large collection it is estimated from a sample: the best of many grow with the root of the logarithm of their
    number.
    """
    if len(vectors_nd) > MAX_SAMPLED:
        rows_k = sample_rows(len(vectors_nd), MAX_SAMPLED)
        vectors_kd = np.asarray(vectors_nd[rows_k], np.float32)
        of_all, of_some = (
            _measure_usual(vectors_kd[::step], background_n[rows_k][::step], levels_n2[rows_k][::step], sayings_bd)
            for step in (1, SAMPLE_STEP)
        )
        some, of_sample, whole = (
            math.sqrt(math.log(count)) for count in (MAX_SAMPLED / SAMPLE_STEP, MAX_SAMPLED, len(vectors_nd))
        )
        return of_all + (of_all - of_some) * (whole - of_sample) / (of_sample - some)
    return _measure_usual(vectors_nd, background_n, levels_n2, sayings_bd) if len(vectors_nd) else 0.0


def _measure_usual(
    vectors_nd: Float32[np.ndarray, "n d"] | HalfRows,
    background_n: Float32[np.ndarray, " n"],
    levels_n2: Float32[np.ndarray, "n 2"],
    sayings_bd: Float32[np.ndarray, "b d"],
) -> float:
    step = max(len(sayings_bd) * len(vectors_nd) // MAX_SCORES, 1)
    asked_bd = sayings_bd[:: min(step, max(len(sayings_bd) // MIN_ASKED, 1))]
    best_bk = np.zeros((len(asked_bd), 0), np.float32)
    standing_bk = best_bk
    for at in range(0, len(vectors_nd), AT_ONCE):
        rows = slice(at, at + AT_ONCE)
        score_bk = asked_bd @ np.asarray(vectors_nd[rows], np.float32).T - background_n[rows]
        best_rows_bk = _find_best(score_bk)
        score_bk = np.take_along_axis(score_bk, best_rows_bk, axis=1)
        background_bk, levels_bk2 = background_n[rows][best_rows_bk], levels_n2[rows][best_rows_bk]
        stands_bk = _stand(score_bk, background_bk, levels_bk2[..., 0], levels_bk2[..., 1])
        best_bk, standing_bk = np.concatenate([best_bk, score_bk], 1), np.concatenate([standing_bk, stands_bk], 1)
    standing_bk = np.take_along_axis(standing_bk, _find_best(best_bk), axis=1)
    return float(np.median(standing_bk.mean(axis=1)))


def _find_best(score_bk: Float32[np.ndarray, "b k"]) -> Int64[np.ndarray, "b c"]:
    """The places of the `CROWD` best in each row, in any order."""
    count = min(CROWD, score_bk.shape[1])
    return np.asarray(np.argpartition(-score_bk, count - 1, axis=1)[:, :count], np.int64)


def _stand(
    scores: Float[np.ndarray, "*k"],
    background: Float[np.ndarray, "*k"],
    mean: Float[np.ndarray, "*k"],
    deviation: Float[np.ndarray, "*k"],
) -> Float[np.ndarray, "*k"]:
    # The likeness to sayings is known without the background, which is the same for all of them.
    return np.asarray((scores + background - mean) / np.maximum(deviation, MIN_DEVIATION))


@dataclass(frozen=True, eq=False)
class OwnScale:
    """The scale of one library: the sayings' vectors, every picture's levels and background, the usual standing."""

    sayings_bd: Float32[np.ndarray, "b d"]
    levels_n2: Float32[np.ndarray, "n 2"]
    background_n: Float32[np.ndarray, " n"]
    usual: float

    @staticmethod
    def of(
        vectors_nd: Float32[np.ndarray, "n d"],
        background_n: Float32[np.ndarray, " n"],
        sayings_bd: Float32[np.ndarray, "b d"],
    ) -> OwnScale:
        """The scale of these pictures."""
        levels_n2 = measure_levels(vectors_nd, sayings_bd)
        usual = measure_usual(vectors_nd, background_n, levels_n2, sayings_bd)
        return OwnScale(sayings_bd, levels_n2, background_n, usual)

    def stand(self, scores_k: Float[np.ndarray, " k"], rows_k: Int64[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
        """How many deviations these scores lie above what these pictures score for the sayings."""
        levels_k2 = np.asarray(self.levels_n2[rows_k], np.float64)
        return _stand(scores_k.astype(np.float64), self.background_n[rows_k], levels_k2[:, 0], levels_k2[:, 1])


def own_features(
    scale: OwnScale,
    standing_c: Float[np.ndarray, " c"],
    texts_md: Float[np.ndarray, "m d"],
    familiar: float | None,
    of_encoder: Scale = BOX,
) -> Float[np.ndarray, " f"]:
    """The `FEATURES` of what was said.

    `standing_c` are the standings of the `CROWD` best pictures, `familiar` is as `mean_familiarity` has it (None: it is
    not known how common words are). `of_encoder` brings the likeness of texts to the scale of the curves.
    """
    said_d = texts_md.mean(axis=0)
    likeness_b = scale.sayings_bd @ said_d
    nearest_k = likeness_b[top_k(likeness_b.astype(np.float32), NEAREST)]
    slope, offset = of_encoder.texts
    rare = 0.0 if familiar is None else max(COMMON - familiar, 0.0)
    return np.array(
        [
            standing_c.mean(), standing_c.max(), scale.usual, slope * float(nearest_k.mean()) + offset,
            slope * float(likeness_b.mean()) + offset, measure_length(texts_md, of_encoder),
            min(len(texts_md), MAX_TURNS_COUNTED), rare,
        ],
        np.float64,
    )  # fmt: skip


def measure_length(texts_md: Float[np.ndarray, "m d"], scale: Scale = BOX) -> float:
    """The length of the mean of what was said, as it would be on the scale of the box.

    Of m unit vectors that are alike by c on average it is sqrt((1 + (m - 1) c) / m).
    """
    length, count = float(np.linalg.norm(texts_md.mean(axis=0))), len(texts_md)
    if scale.is_of_box or count < 2:
        return length
    alike = (length**2 * count - 1) / (count - 1)
    return math.sqrt(max((1 + (count - 1) * scale.move_texts(alike)) / count, 0.0))


def logistic(logits_k: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
    """Chances of log odds; nothing overflows."""
    return np.asarray(1 / (1 + np.exp(-np.clip(logits_k, -50.0, 50.0))))


@dataclass(frozen=True, eq=False)
class OwnJudgement:
    """What was said, judged on a library's own scale; otherwise as `verdicts.Judgement`.

    `in_sentences`: whether people spoke in sentences, which have a limit of their own.
    """

    curves: Curves
    scale: OwnScale
    features_f: Float[np.ndarray, " f"]
    in_sentences: bool
    scores_at: Callable[[Int64[np.ndarray, " k"]], Float[np.ndarray, " k"]]
    written_n: Float32[np.ndarray, " n"] | None = None

    @cached_property
    def chance(self) -> float:
        """The chance that what was said is here."""
        # If it is here, any picture may be meant: the mean over all of them.
        written = 0.0 if self.written_n is None else mean_odds(self.written_n)
        *weights_f, bias = self.curves.here
        return float(logistic(np.array([np.dot(weights_f, self.features_f) + bias + written]))[0])

    @property
    def verdict(self) -> Verdict:
        """Whether what was said is here: found if that is likelier than not."""
        if self.chance < self.curves.nothing_below[self.in_sentences]:
            return "nothing"
        return "found" if self.chance >= MIN_LIKELY else "unsure"

    def matches(self, rows: Sequence[int]) -> list[float]:
        """The chances of the first hits, in their order: of two that stand alike the one shown first is likelier."""
        rows_k = np.asarray(rows, np.int64)
        *weights_f, standing, place, bias = self.curves.match
        logits_k = standing * self.scale.stand(self.scores_at(rows_k), rows_k)
        logits_k += place * np.log(np.arange(1, len(rows) + 1)) + np.dot(weights_f, self.features_f) + bias
        if self.written_n is not None:
            logits_k += self.written_n[rows_k]
        return [float(chance) for chance in logistic(logits_k)]
