"""Fitting the alignment head: a closed form for few pictures, refined by contrast where there are many.

The closed form is ridge regression from picture features onto the mean caption of each picture, in a sentence
space whose common directions are damped (partial whitening). It has no random numbers. `calibrate` learns, on
pictures the head has not seen, what a score means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from viewfinder.encoders.base import Calibration
from viewfinder.encoders.starter.encoder import Head, head_input, unit_rows
from viewfinder.encoders.starter.network import OBJECTS, TEXTURE
from viewfinder.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """The numbers of the closed form, chosen on two folds of the training photos."""

    width: int = 256
    ridge: float = 4.0  # in units of the mean eigenvalue of the feature covariance
    whitening: float = 0.45  # 0 leaves the sentence space as it is, 1 whitens it
    whitening_floor: float = 0.1  # of the mean eigenvalue, added to each: rare directions are mostly noise
    names_mix: float = 0.5
    bank: int = 512


@dataclass(frozen=True)
class CaptionedVectors:
    """Pictures of one kind with their captions, as vectors.

    `raw_vnr` holds v views (the picture, mirrored, cropped) of n pictures; caption m belongs to picture
    `owners_m[m]`. `weight` is how much this kind counts beside the others, whatever its size. `labels` are
    words that hold for many pictures (a colour, a kind of thing), `holds_nl` says for which.
    """

    raw_vnr: Float[np.ndarray, "v n r"]
    captions_ms: Float[np.ndarray, "m s"]
    owners_m: Int[np.ndarray, " m"]
    weight: float = 1.0
    labels: tuple[str, ...] = ()
    labels_ls: Float[np.ndarray, "l s"] | None = None
    holds_nl: Bool[np.ndarray, "n l"] | None = None

    def __post_init__(self) -> None:
        if len(self.captions_ms) == 0:
            raise BadInput("no captions to learn from: give a table with an image column and a caption column")

    def of(self, rows_k: Int[np.ndarray, " k"]) -> CaptionedVectors:
        """Only the pictures in these rows."""
        position = np.full(self.raw_vnr.shape[1], -1)
        position[rows_k] = np.arange(len(rows_k))
        kept_m = position[self.owners_m] >= 0
        return replace(
            self,
            raw_vnr=self.raw_vnr[:, rows_k],
            captions_ms=self.captions_ms[kept_m],
            owners_m=position[self.owners_m[kept_m]],
            holds_nl=None if self.holds_nl is None else self.holds_nl[rows_k],
        )

    def __len__(self) -> int:
        return int(self.raw_vnr.shape[1])


def fit_head(kinds: Sequence[CaptionedVectors], settings: FitSettings | None = None) -> Head:
    """A head by ridge regression, whitening and ConSE; the first kind says where the centre of texts lies."""
    settings = settings or FitSettings()
    sentence_mean_s = kinds[0].captions_ms.mean(axis=0)
    texts = [unit_rows(kind.captions_ms - sentence_mean_s) for kind in kinds]
    sentence_sd = _partial_whitening(texts, [kind.weight for kind in kinds], settings)
    labels: dict[str, Float[np.ndarray, " s"]] = {}
    for kind in kinds:
        if kind.labels_ls is not None:
            labels = dict(zip(kind.labels, kind.labels_ls, strict=True)) | labels  # a label of two kinds is the first's
    labels_ls = np.array(list(labels.values()), dtype=np.float32).reshape(len(labels), len(sentence_mean_s))
    # The bank is an evenly spaced sample of the captions, the same number of every kind.
    each = max(settings.bank // len(kinds), 1)
    bank = [
        kind.captions_ms[np.linspace(0, len(kind.captions_ms) - 1, min(each, len(kind.captions_ms))).astype(int)]
        for kind in kinds
    ]
    visual_xd, bias_d = _ridge(kinds, [text @ sentence_sd for text in texts], settings.ridge)
    head = Head(
        visual_xd=visual_xd,
        visual_bias_d=bias_d,
        sentence_mean_s=sentence_mean_s,
        sentence_sd=sentence_sd,
        names_mean_s=kinds[0].raw_vnr[0][:, OBJECTS + TEXTURE :].astype(np.float32).mean(axis=0),
        names_mix=settings.names_mix,
        bank_ms=np.concatenate(bank),
        labels_ls=labels_ls,
        labels=tuple(labels),
    )
    return head.rounded()


def _partial_whitening(
    texts: Sequence[Float[np.ndarray, "m s"]], weights: Sequence[float], settings: FitSettings
) -> Float[np.ndarray, "s d"]:
    """The leading directions of the sentence space, each divided by a power of its spread."""
    share = np.array(weights) / np.sum(weights)
    covariance_ss = sum(part * text.T @ text / len(text) for part, text in zip(share, texts, strict=True))
    spread_s, directions_ss = np.linalg.eigh(np.asarray(covariance_ss, dtype=np.float64))
    damped_s = spread_s + settings.whitening_floor * spread_s.mean()
    map_sd = (directions_ss * damped_s ** (-settings.whitening / 2))[:, ::-1][:, : settings.width]
    # Scaled to keep mean energy, so that vectors stay well inside float16.
    scaled_sd: Float[np.ndarray, "s d"] = (map_sd / np.sqrt((map_sd**2).sum() / len(spread_s))).astype(np.float32)
    return scaled_sd


def _ridge(
    kinds: Sequence[CaptionedVectors], targets: Sequence[Float[np.ndarray, "m d"]], strength: float
) -> tuple[Float[np.ndarray, "x d"], Float[np.ndarray, " d"]]:
    """Ridge regression of each picture's mean caption on its features; every kind counts by its weight.

    Features are centred on the first kind and each part (objects, texture) is scaled to equal total spread.
    """
    anchor_nx = head_input(kinds[0].raw_vnr[0])
    mean_x = anchor_nx.mean(axis=0)
    scale_x = np.concatenate(
        [
            np.full(OBJECTS, anchor_nx[:, :OBJECTS].std() * np.sqrt(OBJECTS)),
            np.full(TEXTURE, anchor_nx[:, OBJECTS:].std() * np.sqrt(TEXTURE)),
        ]
    )
    gram_xx: Float[np.ndarray, "x x"] = np.zeros((len(mean_x), len(mean_x)))
    moment_xd: Float[np.ndarray, "x d"] = np.zeros((len(mean_x), targets[0].shape[1]))
    strengths = []
    for kind, target_md in zip(kinds, targets, strict=True):
        mean_nd = np.zeros((len(kind), target_md.shape[1]))
        np.add.at(mean_nd, kind.owners_m, target_md)
        mean_nd /= np.maximum(np.bincount(kind.owners_m, minlength=len(kind)), 1)[:, None]
        for raw_nr in kind.raw_vnr:
            features_nx = (head_input(raw_nr) - mean_x) / scale_x
            share = kind.weight / (len(kind) * len(kind.raw_vnr))
            product_xx = share * features_nx.T @ features_nx
            gram_xx += product_xx
            moment_xd += share * features_nx.T @ mean_nd
            if kind is kinds[0]:
                strengths.append(np.trace(product_xx) / kind.weight)
    first = kinds[0]
    penalty = strength * sum(strengths) / (len(first) * len(first.raw_vnr))
    solution_xd = np.linalg.solve(gram_xx + penalty * np.eye(len(gram_xx)), moment_xd) / scale_x[:, None]
    # Any common factor cancels in the unit length; this one keeps float16 far from its limits.
    solution_xd /= np.abs(solution_xd).max()
    return solution_xd.astype(np.float32), (-mean_x @ solution_xd).astype(np.float32)


def calibrate_head(held_out: Sequence[tuple[Head, CaptionedVectors, Float[np.ndarray, "a s"]]]) -> Calibration:
    """The logistic curve of (score, outlierness) on pictures that each head has not seen.

    Every caption is asked of the pictures of its fold, where one is meant; the third item are sentence vectors of
    things that are in none of them. The best hit of each query is what is judged: 1 where the picture meant came
    first, 0 where there was none to find; where another picture came first, nobody knows, and it is left out.
    """
    rows, labels = zip(*(_judged_hits(*fold) for fold in held_out), strict=True)
    features_k3 = np.concatenate(rows)
    labels_k = np.concatenate(labels)
    weights_3 = np.zeros(3)
    # Classes count the same, whatever their numbers: the prior of a user's query being answerable is unknown.
    balance_k = np.where(labels_k == 1, 0.5 / max(labels_k.sum(), 1), 0.5 / max((1 - labels_k).sum(), 1))
    for _ in range(200):  # Newton's method; the tiny ridge keeps separable data finite
        chance_k = 1 / (1 + np.exp(-features_k3 @ weights_3))
        gradient_3 = features_k3.T @ (balance_k * (chance_k - labels_k)) + 1e-4 * weights_3
        curvature_k = balance_k * chance_k * (1 - chance_k)
        hessian_33 = (features_k3 * curvature_k[:, None]).T @ features_k3 + 1e-4 * np.eye(3)
        step_3 = np.linalg.solve(hessian_33, gradient_3)
        weights_3 -= step_3
        if np.abs(step_3).max() < 1e-8:
            break
    return Calibration(*(float(weight) for weight in weights_3))


def _judged_hits(
    head: Head, fold: CaptionedVectors, absent_as: Float[np.ndarray, "a s"]
) -> tuple[Float[np.ndarray, "k 3"], Float[np.ndarray, " k"]]:
    pictures_nd = head.pictures(fold.raw_vnr[0])
    texts_md = head.sentences(np.concatenate([fold.captions_ms, absent_as]))
    scores_mn = texts_md @ pictures_nd.T - head.background(pictures_nd)
    meant_m = np.concatenate([fold.owners_m, np.full(len(absent_as), -1)])
    outliers_mn = (scores_mn - scores_mn.mean(axis=1, keepdims=True)) / scores_mn.std(axis=1, keepdims=True)
    best_m = scores_mn.argmax(axis=1)
    row_m = np.arange(len(best_m))
    judged_m = (best_m == meant_m) | (meant_m < 0)
    features_m3 = np.stack([scores_mn[row_m, best_m], outliers_mn[row_m, best_m], np.ones(len(best_m))], axis=1)
    return features_m3[judged_m], (meant_m[judged_m] >= 0).astype(np.float64)
