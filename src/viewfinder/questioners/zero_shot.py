"""Which labels of photographs hold, by an encoder's own likeness of pictures to words: no training on its vectors.

A label is said in a few phrases ("a photo taken in the mountains", "... on rocks"). What counts is how many deviations
a picture is nearer to the best of them than pictures of this library are, as with tags (`encoders/tags.py`); of
"nobody", how far it is from all others of its facet. A logistic curve makes a chance of it: sigmoid(slope z + bias).
The slope is that of the facet, measured on captioned photographs; the bias makes the label as frequent as captions of
photographs name it. A library that has captions of its own teaches both (`fit_curves`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Float32

from viewfinder.questioners.photographs import Facet, facets, label_columns

TEMPLATES = {
    "who": "a photo of {}",
    "animal": "a photo of {}",
    "number of people": "a photo of {}",
    "number of dogs": "a photo of {}",
    "doing": "a photo of somebody {}",
    "place": "a photo taken {}",
    "indoors": "a photo taken {}",
    "time of day": "a photo taken {}",
    "distance": "{}",
    "thing": "a photo with {}",
    "dog colour": "a photo of a {} dog",
    "clothes colour": "a photo of somebody in {} clothes",
}
"""How the labels of each facet are said."""

SAID = {
    ("number of people", "one"): ("one person alone",),
    ("number of people", "two"): ("two people",),
    ("number of people", "three or more"): ("several people", "a group of people"),
    ("number of dogs", "one"): ("one dog",),
    ("number of dogs", "two"): ("two dogs",),
    ("number of dogs", "three or more"): ("several dogs",),
    ("distance", "near"): ("a close-up photo of a face", "a photo taken from close up"),
    ("distance", "far away"): ("a photo of a landscape", "a photo taken from far away"),
    ("who", "a group of people"): ("a group of people", "a crowd"),
    ("animal", "a wild animal"): ("an elephant", "a giraffe", "a zebra", "a bear"),
}
"""Labels that are said otherwise than by their own words."""

MAX_NEEDED = 30.0
"""Log odds are not larger than this, nor smaller than minus this."""

MIN_CAPTIONED = 100
"""So many pictures must have captions before they teach anything."""

RIDGE = 1.0
"""How firmly a curve that is learnt from a library's captions keeps to the slope that comes with the package."""

ROUNDS = 25


@dataclass(frozen=True, eq=False)
class LabelCurves:
    """The slope and the bias of every label, in the order of `photographs.label_columns`."""

    slope_l: Float[np.ndarray, " l"]
    bias_l: Float[np.ndarray, " l"]

    def chances(self, standing_nl: Float[np.ndarray, "n l"]) -> Float32[np.ndarray, "n l"]:
        """The chance of every label."""
        logits_nl = np.clip(self.slope_l * standing_nl + self.bias_l, -MAX_NEEDED, MAX_NEEDED)
        return np.asarray(1 / (1 + np.exp(-logits_nl)), np.float32)


@cache
def list_phrases() -> tuple[tuple[str, ...], ...]:
    """The phrases that say each label of all facets; () of those that say that there is none.

    >>> list_phrases()[0], list_phrases()[label_columns()["place"]][7]
    (('a photo of a man',), ('a photo taken in the mountains', 'a photo taken on rocks'))
    """
    return tuple(
        () if label == facet.otherwise else _say_label(facet, label) for facet in facets() for label in facet.labels
    )


def _say_label(facet: Facet, label: str) -> tuple[str, ...]:
    said = SAID.get((facet.name, label))
    if facet.name == "distance" and said:
        return said
    template = TEMPLATES.get(facet.name, "a photo of {}")
    return tuple(template.format(words) for words in said or label.replace(", ", " or ").split(" or "))


@cache
def name_phrases() -> str:
    """Eight hexadecimal digits that name the phrases and the curves that come with the package."""
    known = json.dumps([list_phrases(), _read_known()])
    return hashlib.blake2b(known.encode(), digest_size=4).hexdigest()


@cache
def _read_known() -> Mapping[str, Mapping[str, Sequence[float] | float]]:
    """By facet its slope, and how often captions of a photograph name each of its labels."""
    text = files("viewfinder.questioners").joinpath("zero_shot.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


@cache
def shipped_curves() -> LabelCurves:
    """The curves that come with the package: `benchmarks/any_encoder.py --fit` measures them."""
    known = _read_known()
    shares_l = np.array([share for facet in facets() for share in _as_list(known["shares"][facet.name])])
    slopes = known["slopes"]
    slope_l = np.array([_as_number(slopes[facet.name]) for facet in facets() for _ in facet.labels])
    return LabelCurves(slope_l, find_bias(slope_l, shares_l))


def _as_list(value: Sequence[float] | float) -> Sequence[float]:
    assert isinstance(value, Sequence)
    return value


def _as_number(value: Sequence[float] | float) -> float:
    assert isinstance(value, int | float)
    return float(value)


def find_bias(slope_l: Float[np.ndarray, " l"], share_l: Float[np.ndarray, " l"]) -> Float[np.ndarray, " l"]:
    """The biases with which labels hold as often as `share_l` where z is normal with deviation 1.

    The mean of sigmoid(slope z + bias) is close to sigmoid(bias / sqrt(1 + pi slope^2 / 8)) (MacKay 1992).

    >>> find_bias(np.array([0.0, 2.0]), np.array([0.5, 0.1])).round(3).tolist()
    [0.0, -3.523]
    """
    share_l = np.clip(share_l, 1e-4, 1 - 1e-4)
    return np.asarray(np.log(share_l / (1 - share_l)) * np.sqrt(1 + math.pi * slope_l**2 / 8))


def stand_out(
    vectors_nd: Float[np.ndarray, "n d"], phrases_pd: Float[np.ndarray, "p d"], sample_kd: Float[np.ndarray, "k d"]
) -> Float32[np.ndarray, "n l"]:
    """How many deviations each picture is nearer to each label than the pictures of `sample_kd` are.

    `phrases_pd` are the vectors of all `list_phrases`, one after the other. The deviation is that of all phrases of a
    facet together, else noise of what is nowhere would count as much as what is.
    """
    likeness_np, usual_kp = vectors_nd @ phrases_pd.T, sample_kd @ phrases_pd.T
    apart_np, deviation_p = likeness_np - usual_kp.mean(axis=0), usual_kp.std(axis=0)
    found_nl = np.zeros((len(vectors_nd), len(list_phrases())), np.float32)
    places = _place_phrases()
    for facet in facets():
        columns = label_columns()[facet.name]
        own = [places[at] for at in range(columns.start, columns.stop) if len(places[at])]
        unit = max(float(np.sqrt((deviation_p[np.concatenate(own)] ** 2).mean())), 1e-6)
        for at in range(columns.start, columns.stop):
            if len(places[at]):
                found_nl[:, at] = apart_np[:, places[at]].max(axis=1) / unit
        if facet.otherwise is not None:
            last = columns.start + facet.labels.index(facet.otherwise)
            others = [at for at in range(columns.start, columns.stop) if at != last]
            found_nl[:, last] = -found_nl[:, others].max(axis=1)
    return found_nl


@cache
def _place_phrases() -> tuple[np.ndarray, ...]:
    """Where the phrases of each label stand among all."""
    ends = np.cumsum([0, *map(len, list_phrases())]).tolist()
    return tuple(np.arange(a, b) for a, b in pairwise(ends))


# -- what captions teach


def fit_curves(
    standing_nl: Float[np.ndarray, "n l"], holds_nl: Bool[np.ndarray, "n l"], before: LabelCurves
) -> LabelCurves:
    """The curves of labels that hold for these pictures, kept near those before: a label that is rare tells little."""
    slope_l, bias_l = before.slope_l.astype(np.float64).copy(), before.bias_l.astype(np.float64).copy()
    for at in range(standing_nl.shape[1]):
        slope_l[at], bias_l[at] = fit_curve(
            standing_nl[:, at].astype(np.float64), holds_nl[:, at], float(slope_l[at]), float(bias_l[at])
        )
    return LabelCurves(slope_l, bias_l)


def fit_curve(
    standing_n: Float[np.ndarray, " n"], holds_n: Bool[np.ndarray, " n"], slope: float, bias: float
) -> tuple[float, float]:
    """Slope and bias of the likeliest logistic curve, with a normal prior around those given (Newton's method)."""
    rows_n2 = np.stack([standing_n, np.ones(len(standing_n))], axis=1)
    before_2 = np.array([slope, bias])
    found_2 = before_2.copy()
    for _ in range(ROUNDS):
        chance_n = 1 / (1 + np.exp(-np.clip(rows_n2 @ found_2, -MAX_NEEDED, MAX_NEEDED)))
        pull_2 = rows_n2.T @ (chance_n - holds_n) + RIDGE * (found_2 - before_2)
        curve_22 = (rows_n2 * (chance_n * (1 - chance_n))[:, None]).T @ rows_n2 + RIDGE * np.eye(2)
        step_2 = np.linalg.solve(curve_22, pull_2)
        found_2 -= step_2 * min(1.0, 2.0 / max(float(np.abs(step_2).max()), 1e-9))
        if np.abs(step_2).max() < 1e-6:
            break
    return float(found_2[0]), float(found_2[1])


def measure_likelihood(chances_nl: Float[np.ndarray, "n l"], holds_nl: Bool[np.ndarray, "n l"]) -> dict[str, float]:
    """By facet the mean over pictures of log2 P(the labels that hold): 0 of a perfect prediction, else below."""
    sure_nl = np.clip(chances_nl.astype(np.float64), 1e-4, 1 - 1e-4)
    bits_nl = np.where(holds_nl, np.log2(sure_nl), np.log2(1 - sure_nl))
    return {name: float(bits_nl[:, columns].sum(axis=1).mean()) for name, columns in label_columns().items()}


def choose_facets(
    own_nl: Float[np.ndarray, "n l"],
    others_nl: Float[np.ndarray, "n l"],
    holds_nl: Bool[np.ndarray, "n l"],
) -> frozenset[str]:
    """The facets for which the first chances tell more of what captions name than the second."""
    own, others = measure_likelihood(own_nl, holds_nl), measure_likelihood(others_nl, holds_nl)
    return frozenset(name for name in own if own[name] > others[name])
