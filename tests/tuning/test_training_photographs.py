"""The predictor of what photographs show: learnt from captions, and kept in half precision."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from viewfinder.encoders.starter.encoder import NAMES, RAW_WIDTH, VISUAL, Head
from viewfinder.encoders.starter.fit import CaptionedVectors
from viewfinder.questioners.photographs import SYSTEM, facets, label_chances, label_columns
from viewfinder.tuning import photographs
from viewfinder.tuning.photographs import LabelSettings, bits_told, fit_labels, train_labels
from viewfinder.weights import read_card, read_weights

QUICK = LabelSettings(hidden=16, epochs=20, batch=50, learning_rate=0.02, dropout=0.1, seeds=2)


def test_a_toy_problem_is_learnt() -> None:
    # Three labels: the sign of the first number, both of two signs, and a coin.
    rng, started = np.random.default_rng(0), time.process_time()
    vectors_nd = rng.standard_normal((800, 4)).astype(np.float32) * 3 + 1
    signs_nd = vectors_nd > 1
    holds_nl = np.stack([signs_nd[:, 0], signs_nd[:, 1] & signs_nd[:, 2], rng.random(800) < 0.5], axis=1)
    views_vnd = np.stack([vectors_nd, vectors_nd + rng.normal(0, 0.1, vectors_nd.shape).astype(np.float32)])
    arrays = fit_labels(views_vnd[:, :600], holds_nl[:600], np.ones(600), QUICK)
    assert time.process_time() - started < 20  # a second on a machine that does nothing else
    # Sure of the first two labels: 1 bit, and H(1/4) = 0.81; of the coin there is nothing to be known.
    told = bits_told(arrays, vectors_nd[600:], holds_nl[600:])
    assert 1.3 < told < 1.81
    right_l = ((label_chances(arrays, vectors_nd[600:]) > 0.5) == holds_nl[600:]).mean(axis=0)
    assert right_l[:2].min() > 0.9
    again = fit_labels(views_vnd[:, :600], holds_nl[:600], np.ones(600), QUICK)
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)


def test_labels_of_photographs_are_learnt_from_their_captions_and_kept(tmp_path: Path) -> None:
    # The first class name is seen on every other photograph; there a dog is said to run.
    raw_nr = np.zeros((40, RAW_WIDTH), np.float32)
    raw_nr[::2, VISUAL], raw_nr[1::2, VISUAL + 1] = 1.0, 1.0
    texts = tuple(text for at in range(40) for text in 5 * [("a dog runs", "a man sits")[at % 2]])
    captions_ms, owners_m = np.zeros((200, NAMES), np.float32), np.repeat(np.arange(40), 5)
    head = Head(
        visual_xd=np.zeros((VISUAL, 2), np.float32),
        visual_bias_d=np.zeros(2, np.float32),
        sentence_mean_s=np.zeros(NAMES, np.float32),
        sentence_sd=np.eye(NAMES, 2, dtype=np.float32),
        names_mean_s=np.zeros(NAMES, np.float32),
        names_mix=1.0,
        bank_md=np.eye(2, dtype=np.float32),
        labels_ld=np.zeros((0, 2), np.float32),
    )
    kind = CaptionedVectors(raw_nr[None], captions_ms, owners_m, texts)
    told = train_labels(head, kind, kind, tmp_path / "photographs.safetensors", "a list")
    card = read_card(tmp_path / "photographs.safetensors")
    assert (card.system, card.trained_on) == (SYSTEM, "a list")
    assert card.figures == pytest.approx({"bits told, choose": told})
    kept = read_weights(tmp_path / "photographs.safetensors")
    doing = next(facet for facet in facets() if facet.name == "doing")
    runs_n = label_chances(kept.arrays, head.pictures(raw_nr))[
        :, label_columns()["doing"].start + doing.labels.index("running")
    ]
    assert runs_n[::2].min() > runs_n[1::2].max() + 0.1


def test_bits_are_those_beyond_how_often_a_label_holds() -> None:
    # Two labels, each true of half: one foretold with 3/4 where it holds and 1/4 where not, one not foretold at all.
    arrays = {
        "mean_d": np.zeros(1), "deviation_d": np.ones(1), "inner_dh": np.array([[1.0, -1.0]]), "inner_h": np.zeros(2),
        "outer_hl": np.array([[np.log(3), 0.0], [-np.log(3), 0.0]]), "outer_l": np.zeros(2),
    }  # fmt: skip
    vectors_nd = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    holds_nl = np.array([[True, True], [True, False], [False, True], [False, False]])
    # Log2(3/4) + 1 = 0.585.
    assert bits_told(arrays, vectors_nd, holds_nl) == pytest.approx(1 + np.log2(0.75), abs=1e-6)


def test_a_label_holds_where_any_caption_names_it() -> None:
    captions = [["a dog runs"], ["a man", "snow", "a field", "a boy", "a hill"]]
    holds_nl = photographs._mark_labels(captions)
    doing, place = (next(facet for facet in facets() if facet.name == name) for name in ("doing", "place"))
    assert holds_nl[:, label_columns()["doing"].start + doing.labels.index("running")].tolist() == [True, False]
    assert holds_nl[:, label_columns()["place"].start + place.labels.index("in the snow")].tolist() == [False, True]
