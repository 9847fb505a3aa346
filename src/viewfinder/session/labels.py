"""What is predicted of the photographs of a gallery: the labels of all facets, by the network or the encoder's words.

The network reads the starter's vectors. Where those are there, also beside another encoder's, it predicts. Any other
encoder can tell labels by their words (`questioners/zero_shot.py`). Where both can, the captions of the library decide
for each facet which tells more of what they name; without captions it is the network, which was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Float32, Int64

from viewfinder.questioners.photographs import count_mentions, facets, label_columns, photograph_labels
from viewfinder.questioners.zero_shot import (
    MIN_CAPTIONED,
    LabelCurves,
    choose_facets,
    fit_curves,
    list_phrases,
    name_phrases,
    shipped_curves,
    stand_out,
)
from viewfinder.search.gallery import MAX_KEPT_PICTURES, MAX_PICTURES_AT_ONCE, TAG_SAMPLE, Gallery
from viewfinder.search.samples import sample_rows
from viewfinder.session.predicted import can_predict, predict_labels
from viewfinder.store.snapshot import Snapshot

Source = Literal["starter", "encoder"]

MAX_CAPTIONED = 4000
"""Captioned pictures that are learnt from."""


def find_label_chances(gallery: Gallery) -> Float[np.ndarray, "n l"] | None:
    """How likely each label of all facets holds for every picture, computed once; None where nothing can tell."""
    known_nl = predict_labels(gallery, photograph_labels())
    if not can_tell_by_words(gallery):
        return known_nl
    chosen = _choose_own(gallery)
    if known_nl is not None and not chosen:
        return known_nl
    own_nl = _tell_by_words(gallery)
    if known_nl is None:
        return own_nl

    def join(_: object) -> Float[np.ndarray, "n l"]:
        joined_nl = np.array(known_nl)
        for name in chosen:
            joined_nl[:, label_columns()[name]] = own_nl[:, label_columns()[name]]
        return joined_nl

    return gallery.snapshot.derived(f"labels-{name_phrases()}-{gallery.encoder.version}", join)


def find_label_sources(gallery: Gallery) -> dict[str, Source]:
    """By facet, who tells its labels; empty where nothing can."""
    knows = can_predict(gallery, photograph_labels())
    if not can_tell_by_words(gallery):
        return {facet.name: "starter" for facet in facets()} if knows else {}
    chosen = _choose_own(gallery)
    return {facet.name: "encoder" if facet.name in chosen else "starter" for facet in facets()}


def can_tell_by_words(gallery: Gallery) -> bool:
    """Whether labels can be told by the encoder's likeness to their words; the starter's are the network's."""
    return not gallery.measures.scale.is_of_box and len(gallery) > 0


def _tell_by_words(gallery: Gallery) -> Float[np.ndarray, "n l"]:
    """The chances of all labels by their words, with what the library's captions teach."""

    def tell(_: object) -> Float[np.ndarray, "n l"]:
        standing_nl, rows_k = _stand_out(gallery), _find_captioned(gallery)
        curves = shipped_curves()
        if len(rows_k):
            curves = fit_curves(standing_nl[rows_k], _mark_labels(gallery, rows_k), curves)
        kind = np.float32 if len(gallery) <= MAX_KEPT_PICTURES else np.float16
        starts = range(0, len(gallery), MAX_PICTURES_AT_ONCE)
        blocks = (curves.chances(standing_nl[at : at + MAX_PICTURES_AT_ONCE]).astype(kind) for at in starts)
        return np.concatenate([*blocks])

    captions = "captions" if gallery.matches_words else "none"
    return gallery.snapshot.derived(f"told-{name_phrases()}-{captions}-{gallery.encoder.version}", tell)


def read_own_labels(snapshot: Snapshot) -> list[str]:
    """The facets whose labels the encoder's own words tell, as `find_label_chances` chose last; none if it never did.

    No encoder is loaded for it.
    """
    kept = (snapshot.kept(_name_choice(snapshot.space, beside=beside)) for beside in (True, False))
    found = next((choice for choice in kept if choice is not None), np.zeros(len(facets()), bool))
    return [facet.name for facet, is_own in zip(facets(), found.tolist(), strict=True) if is_own]


def _name_choice(version: str, *, beside: bool) -> str:
    return f"chosen-{name_phrases()}-{'beside' if beside else 'alone'}-{version}"


def _choose_own(gallery: Gallery) -> frozenset[str]:
    """The facets whose labels the encoder's own words tell better than the network, or alone."""

    def choose(_: object) -> Bool[np.ndarray, " facets"]:
        known_nl, rows_k = predict_labels(gallery, photograph_labels()), _find_captioned(gallery)
        if known_nl is None or not len(rows_k):
            return np.full(len(facets()), known_nl is None)
        holds_kl, standing_kl = _mark_labels(gallery, rows_k), _stand_out(gallery)[rows_k]
        sure_kl = np.clip(np.asarray(known_nl[rows_k], np.float64), 1e-4, 1 - 1e-4)
        logits_kl, as_is = (
            np.log(sure_kl / (1 - sure_kl)),
            LabelCurves(*np.array([[1.0], [0.0]]) * np.ones(sure_kl.shape[1])),
        )
        chosen = choose_facets(
            cross_fit(standing_kl, holds_kl, shipped_curves()), cross_fit(logits_kl, holds_kl, as_is), holds_kl
        )
        return np.array([facet.name in chosen for facet in facets()])

    beside = can_predict(gallery, photograph_labels())
    found = gallery.snapshot.derived(_name_choice(gallery.encoder.version, beside=beside), choose).tolist()
    return frozenset(facet.name for facet, is_own in zip(facets(), found, strict=True) if is_own)


def cross_fit(
    standing_kl: Float[np.ndarray, "k l"], holds_kl: Bool[np.ndarray, "k l"], before: LabelCurves
) -> Float32[np.ndarray, "k l"]:
    """The chances of each half of the pictures by curves that the other half taught."""
    chances_kl = np.zeros(standing_kl.shape, np.float32)
    for half in (slice(0, None, 2), slice(1, None, 2)):
        other = slice(1 - (half.start or 0), None, 2)
        chances_kl[half] = fit_curves(standing_kl[other], holds_kl[other], before).chances(standing_kl[half])
    return chances_kl


def _stand_out(gallery: Gallery) -> Float32[np.ndarray, "n l"]:
    phrases = [phrase for said in list_phrases() for phrase in said]
    phrases_pd = gallery.snapshot.derived_of_texts(
        f"phrases-{name_phrases()}-{gallery.encoder.version}",
        lambda: gallery.encode_texts(phrases).astype(np.float32),
    )
    matrix_nd = gallery.snapshot.matrix_nd
    sample_kd = np.asarray(matrix_nd[sample_rows(len(gallery), TAG_SAMPLE)], np.float32)
    starts = range(0, len(gallery), MAX_PICTURES_AT_ONCE)
    return np.concatenate(
        [stand_out(matrix_nd[at : at + MAX_PICTURES_AT_ONCE], phrases_pd, sample_kd) for at in starts]
    )


def _find_captioned(gallery: Gallery) -> Int64[np.ndarray, " k"]:
    """Pictures with captions that may teach; none where there are too few, or where captions must not be looked at."""
    snapshot = gallery.snapshot
    if not (gallery.matches_words and snapshot.has_captions):
        return np.zeros(0, np.int64)
    rows_k = sample_rows(len(gallery), 4 * MAX_CAPTIONED)
    found = [row for row in rows_k.tolist() if any(snapshot.captions(row))][:MAX_CAPTIONED]
    return np.array(found if len(found) >= MIN_CAPTIONED else [], np.int64)


def _mark_labels(gallery: Gallery, rows_k: Sequence[int] | Int64[np.ndarray, " k"]) -> Bool[np.ndarray, "k l"]:
    """Which labels the captions of these pictures name."""
    return np.stack([count_mentions(tuple(gallery.snapshot.captions(int(row)))) for row in rows_k]) > 0
