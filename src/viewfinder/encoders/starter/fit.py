"""Fitting the alignment head: a closed form, which is the start of the shipped head's contrastive training (`refine`).

The closed form is ridge regression from picture features onto the mean caption of each picture, in a sentence
space whose common directions are damped (partial whitening). It has no random numbers.

A collection with texts of its own corrects the shipped head, also in a closed form (`HeadCorrection`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from viewfinder.encoders.base import unit_rows
from viewfinder.encoders.starter.encoder import OBJECTS, TEXTURE, Head, head_input
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


@dataclass(frozen=True, kw_only=True)
class RefineSettings:
    """The numbers of the contrastive training (`refine`); `tuning.starter.TRAINED` has those of the shipped head."""

    hidden: int = 768
    epochs: int = 40
    batch: int = 512
    captions: int = 1  # of each picture in a batch, at most
    learning_rate: float = 3e-4
    weight_decay: float = 0.05
    dropout: float = 0.3  # of what is seen; of what is said, a fifth of it
    hidden_dropout: float = 0.3
    temperature: float = 0.05
    labels: float = 0.4  # share of captions replaced by a label
    lexicon: int = 0  # words with vectors, at most
    word_dropout: float = 0.3
    bank: int = 512
    seed: int = 0


@dataclass(frozen=True)
class CaptionedVectors:
    """Pictures of one kind with their captions, as vectors.

    `raw_vnr` holds v views (the picture, mirrored, cropped) of n pictures; caption m belongs to picture
    `owners_m[m]`, and `texts` has its words, or is empty. `weight` is how much this kind counts relative to the others,
    whatever its size. `labels` are words that hold for many pictures (a colour, a kind of thing), and `holds_nl` says
    for which.
    """

    raw_vnr: Float[np.ndarray, "v n r"]
    captions_ms: Float[np.ndarray, "m s"]
    owners_m: Int[np.ndarray, " m"]
    texts: tuple[str, ...] = ()
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
            texts=tuple(text for text, kept in zip(self.texts, kept_m, strict=False) if kept),
            holds_nl=None if self.holds_nl is None else self.holds_nl[rows_k],
        )

    def __len__(self) -> int:
        return int(self.raw_vnr.shape[1])


def fit_head(kinds: Sequence[CaptionedVectors], settings: FitSettings | None = None) -> Head:
    """A head by ridge regression, whitening and ConSE; the first kind defines the centre of the texts."""
    settings = settings or FitSettings()
    sentence_mean_s = kinds[0].captions_ms.mean(axis=0)
    texts = [unit_rows(kind.captions_ms - sentence_mean_s) for kind in kinds]
    sentence_sd = _whiten_partly(texts, [kind.weight for kind in kinds], settings)
    visual_xd, bias_d = _fit_ridge(kinds, [text @ sentence_sd for text in texts], settings.ridge)
    head = Head(
        visual_xd=visual_xd,
        visual_bias_d=bias_d,
        sentence_mean_s=sentence_mean_s,
        sentence_sd=sentence_sd,
        names_mean_s=kinds[0].raw_vnr[0][:, OBJECTS + TEXTURE :].astype(np.float32).mean(axis=0),
        names_mix=settings.names_mix,
        bank_md=np.zeros((0, settings.width), np.float32),
        labels_ld=np.zeros((0, settings.width), np.float32),
    )
    return add_bank(head, kinds, settings.bank)


def add_bank(head: Head, kinds: Sequence[CaptionedVectors], size: int) -> Head:
    """The head with a bank of about `size` captions and the labels of these kinds, as it will be read back."""
    head = head.rounded()
    # The bank is an evenly spaced sample of the captions, with the same number from every kind.
    each = max(size // len(kinds), 1)
    bank: list[Float[np.ndarray, "m d"]] = []
    labels: dict[str, Float[np.ndarray, " d"]] = {}
    for kind in kinds:
        row_k = np.linspace(0, len(kind.captions_ms) - 1, min(each, len(kind.captions_ms))).astype(int)
        bank.append(head.sentences(kind.captions_ms[row_k], [kind.texts[row] for row in row_k] if kind.texts else ()))
        if kind.labels_ls is not None:
            vectors_ld = head.sentences(kind.labels_ls, kind.labels)
            labels = dict(zip(kind.labels, vectors_ld, strict=True)) | labels  # shared labels are the first's
    labels_ld = np.array(list(labels.values()), dtype=np.float32).reshape(len(labels), head.width)
    return replace(head, bank_md=np.concatenate(bank), labels=tuple(labels), labels_ld=labels_ld).rounded()


def _whiten_partly(
    texts: Sequence[Float[np.ndarray, "m s"]], weights: Sequence[float], settings: FitSettings
) -> Float[np.ndarray, "s d"]:
    """The leading directions of the sentence space, each divided by a power of its spread."""
    share = np.array(weights) / np.sum(weights)
    covariance_ss = sum(part * text.T @ text / len(text) for part, text in zip(share, texts, strict=True))
    spread_s, directions_ss = np.linalg.eigh(np.asarray(covariance_ss, dtype=np.float64))
    damped_s = spread_s + settings.whitening_floor * spread_s.mean()
    map_sd = (directions_ss * damped_s ** (-settings.whitening / 2))[:, ::-1][:, : settings.width]
    # Scaled to keep the mean energy, so that vectors stay well within float16.
    scaled_sd: Float[np.ndarray, "s d"] = (map_sd / np.sqrt((map_sd**2).sum() / len(spread_s))).astype(np.float32)
    return scaled_sd


def _fit_ridge(
    kinds: Sequence[CaptionedVectors], targets: Sequence[Float[np.ndarray, "m d"]], strength: float
) -> tuple[Float[np.ndarray, "x d"], Float[np.ndarray, " d"]]:
    """Ridge regression of each picture's mean caption on its features; each kind counts by its weight.

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
    # Any common factor cancels at unit length; this one stays far from the limits of float16.
    solution_xd /= np.abs(solution_xd).max()
    return solution_xd.astype(np.float32), (-mean_x @ solution_xd).astype(np.float32)


BANK_OF_OWN = 16_384
"""The most texts in the bank of a head that has learnt a collection."""

OWN_TEMPERATURE = 0.05
"""Temperature of their softmax: with 0.1, pictures that lie at their texts still get in the way of new ones."""


class HeadCorrection:
    """Teaches a head the pictures of one collection: its picture side is moved towards their own texts.

    It is a ridge regression from what the head reads of a picture onto the difference to its texts. The text side
    stays, so that words keep their meaning; with a large `ridge` the head stays as it is, with a small one the learnt
    pictures lie at their texts. The background is then computed from the collection's own texts, so that what lies at
    one text does not get in the way of texts about other, newer pictures. The effect on pictures that were not learnt
    needs no second fit: a ridge regression predicts each fold from the others by its hat matrix.
    """

    def __init__(self, head: Head, kind: CaptionedVectors) -> None:
        self.head, self.kind = head, kind
        read_nx = head_input(kind.raw_vnr[0])
        self._mean_x = read_nx.mean(axis=0)
        spread = [read_nx[:, part].std() + 1e-6 for part in (slice(0, OBJECTS), slice(OBJECTS, None))]
        self._scale_x = np.repeat(spread, [OBJECTS, TEXTURE]) * np.sqrt(
            np.repeat([OBJECTS, TEXTURE], [OBJECTS, TEXTURE])
        )
        features_nx = ((read_nx - self._mean_x) / self._scale_x).astype(np.float32)
        self._features_nx = np.concatenate([features_nx, np.ones((len(kind), 1), np.float32)], axis=1)
        self._learnt_nd = head.learnt(read_nx)
        self.texts_md = head.sentences(kind.captions_ms, kind.texts)
        own_nd = np.zeros_like(self._learnt_nd)
        np.add.at(own_nd, kind.owners_m, self.texts_md)
        length_n1 = np.linalg.norm(self._learnt_nd, axis=1, keepdims=True)
        self._missing_nd = unit_rows(own_nd) * length_n1 - self._learnt_nd
        self._unit = float(np.square(self._features_nx).sum() / len(kind))

    def head_with(self, ridge: float) -> Head:
        """The corrected head, as it will be read back. `ridge` counts in mean squared lengths of features."""
        features_nx, penalty = self._features_nx.astype(np.float64), ridge * self._unit
        if len(features_nx) < features_nx.shape[1]:
            within_nn = features_nx @ features_nx.T
            within_nn[np.diag_indices_from(within_nn)] += penalty
            moved_xd = features_nx.T @ np.linalg.solve(within_nn, self._missing_nd)
        else:
            gram_xx = features_nx.T @ features_nx
            gram_xx[np.diag_indices_from(gram_xx)] += penalty
            moved_xd = np.linalg.solve(gram_xx, features_nx.T @ self._missing_nd)
        matrix_xd, bias_d = moved_xd[:-1] / self._scale_x[:, None], moved_xd[-1]
        corrected = replace(
            self.head,
            visual_xd=(self.head.visual_xd + matrix_xd).astype(np.float32),
            visual_bias_d=(self.head.visual_bias_d + bias_d - self._mean_x @ matrix_xd).astype(np.float32),
            bank_md=self.texts_md[
                np.linspace(0, len(self.texts_md) - 1, min(len(self.texts_md), BANK_OF_OWN)).astype(int)
            ],
            bank_temperature=OWN_TEMPERATURE,
            calibration=None,
            known_as="",
        )
        return corrected.rounded()

    def learnt_and_new(
        self, ridge: float, fold_n: Int[np.ndarray, " n"]
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n d"]]:
        """The pictures' vectors if they are learnt, and if their fold is left out; `head_with` a ridge."""
        powers_e, directions_ne = self._eigen
        shares_e = powers_e / (powers_e + ridge * self._unit)
        moved_nd = (directions_ne * shares_e) @ (directions_ne.T @ self._missing_nd)
        new_nd = np.empty_like(moved_nd)
        for fold in np.unique(fold_n):
            own_ke = directions_ne[rows_k := np.flatnonzero(fold_n == fold)]
            left_kk = np.eye(len(rows_k)) - (own_ke * shares_e) @ own_ke.T
            new_nd[rows_k] = self._missing_nd[rows_k] - np.linalg.solve(left_kk, (self._missing_nd - moved_nd)[rows_k])
        return unit_rows(self._learnt_nd + moved_nd), unit_rows(self._learnt_nd + new_nd)

    @cached_property
    def _eigen(self) -> tuple[Float[np.ndarray, " e"], Float[np.ndarray, "n e"]]:
        """Eigenvalues of the features' products, and the orthonormal directions of the pictures that belong to them."""
        features_nx = self._features_nx.astype(np.float64)
        if len(features_nx) < features_nx.shape[1]:
            powers_e, directions_ne = np.linalg.eigh(features_nx @ features_nx.T)
            return np.maximum(powers_e, 0.0), directions_ne
        powers_e, of_features_xe = np.linalg.eigh(features_nx.T @ features_nx)
        powers_e = np.maximum(powers_e, 1e-9)
        return powers_e, features_nx @ of_features_xe / np.sqrt(powers_e)
