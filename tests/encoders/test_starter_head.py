"""The starter's alignment head: its arithmetic by hand, its file, and how it is fitted, calibrated and refined."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from viewfinder.encoders.base import Calibration
from viewfinder.encoders.starter.encoder import (
    VISUAL,
    Head,
    Residual,
    background_scores,
    head_input,
    load_head,
    unit_rows,
)
from viewfinder.encoders.starter.fit import (
    CaptionedVectors,
    FitSettings,
    calibrate_head,
    fit_head,
)
from viewfinder.encoders.starter.network import NAMES, OBJECTS, RAW_VERSION, RAW_WIDTH
from viewfinder.encoders.starter.refine import RefineSettings, contrastive_loss, refine_head
from viewfinder.errors import BadInput, EncoderMismatch

SMALL = FitSettings(width=16, bank=8, names_mix=0.0)
KINDS = 6


def captioned(count: int, seed: int = 0) -> CaptionedVectors:
    """Pictures of six kinds, three captions each: what is seen and what is said both come from the kind."""
    rng = np.random.default_rng(seed)
    world = np.random.default_rng(99)
    seen_kr = world.random((KINDS, RAW_WIDTH)).astype(np.float32)
    said_ks = world.standard_normal((KINDS, NAMES)).astype(np.float32)
    kind_n = np.arange(count) % KINDS
    raw_nr = seen_kr[kind_n] + 0.3 * rng.random((count, RAW_WIDTH)).astype(np.float32)
    owners_m = np.repeat(np.arange(count), 3)
    own_ms = np.repeat(rng.standard_normal((count, NAMES)), 3, axis=0)
    captions_ms = said_ks[kind_n[owners_m]] + 0.3 * own_ms + 0.3 * rng.standard_normal((len(owners_m), NAMES))
    return CaptionedVectors(raw_nr[None], unit_rows(captions_ms).astype(np.float32), owners_m)


def array(numbers: list[Any]) -> np.ndarray:
    return np.array(numbers, np.float32)


def tiny_head(**changes: Any) -> Head:
    """A head for sentences of two numbers, which it leaves as they are."""
    known: dict[str, Any] = {
        "visual_xd": np.zeros((VISUAL, 2), np.float32),
        "visual_bias_d": np.zeros(2, np.float32),
        "sentence_mean_s": np.zeros(2, np.float32),
        "sentence_sd": np.eye(2, dtype=np.float32),
        "names_mean_s": np.zeros(2, np.float32),
        "names_mix": 0.0,
        "bank_ms": np.eye(2, dtype=np.float32),
        "labels_ls": np.zeros((0, 2), np.float32),
    }
    return Head(**(known | changes))


@pytest.fixture(scope="module")
def fitted() -> Head:
    return fit_head([captioned(48)], SMALL)


# -- arithmetic


def test_unit_brings_rows_to_length_one_and_leaves_zeros() -> None:
    rows_nd = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])
    assert unit_rows(rows_nd).tolist() == [[0.6, 0.8], [0.0, 0.0], [0.0, -1.0]]


def test_the_background_is_the_log_of_the_mean_exponential() -> None:
    pictures_nd, bank_md = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [0.5, 0.5]])
    # Scores 1 and 0.5, temperature 0.5: 0.5 x log((exp(1 / 0.5) + exp(0.5 / 0.5)) / 2); the second scores 0 and 0.
    first = 0.5 * math.log((math.exp(2) + math.exp(1)) / 2)
    assert background_scores(pictures_nd, bank_md, temperature=0.5) == pytest.approx([first, 0.0])


def test_the_background_of_large_scores_does_not_overflow() -> None:
    value = background_scores(np.array([[1000.0]]), np.array([[1.0], [-1.0]]))
    assert value == pytest.approx([1000 - 0.1 * math.log(2)])


def test_a_hub_that_is_near_every_text_has_a_higher_background() -> None:
    bank_md = unit_rows(np.array([[1.0, 0.2], [1.0, -0.2], [1.0, 0.0]]))
    hub, other = background_scores(np.array([[1.0, 0.0], [0.0, 1.0]]), bank_md)
    assert hub > other


def test_sentences_are_centred_then_mapped_then_brought_to_length_one() -> None:
    head = tiny_head(sentence_mean_s=array([1, 0]), sentence_sd=array([[0, 2], [1, 0]]))
    # (4, 4) - (1, 0) = (3, 4), at length one (0.6, 0.8); times the map: (0.8, 1.2); at length one again.
    expected = np.array([0.8, 1.2]) / math.hypot(0.8, 1.2)
    assert head.sentences(array([[4, 4]]))[0] == pytest.approx(expected)


def test_a_residual_adds_a_network_of_two_layers() -> None:
    residual = Residual(array([[1, 0], [0, 1]]), array([0, -1]), array([[2, 0], [0, 3]]), array([0.5, 0]))
    # relu((1, 0.5) + (0, -1)) = (1, 0); times the outer map (2, 0); plus the bias (2.5, 0).
    assert residual(array([[1, 0.5]])).tolist() == [[2.5, 0.0]]
    head = tiny_head(sentence_residual=residual)
    assert head.sentences(array([[0, 2]]))[0] == pytest.approx(np.array([0.5, 1]) / math.hypot(0.5, 1))


def test_square_roots_are_taken_of_the_objects_only() -> None:
    raw_nr = np.full((1, RAW_WIDTH), 4.0, np.float32)
    raw_nr[0, 0] = -1.0
    seen_nx = head_input(raw_nr)
    assert seen_nx.shape == (1, VISUAL)
    assert (seen_nx[0, 0], seen_nx[0, 1], seen_nx[0, OBJECTS]) == (0.0, 2.0, 4.0)


def test_raw_vectors_of_another_width_are_refused() -> None:
    with pytest.raises(EncoderMismatch, match=f"have 7 numbers, {RAW_VERSION} has {RAW_WIDTH}"):
        head_input(np.zeros((1, 7), np.float32))


def test_class_names_count_by_their_mix() -> None:
    raw_nr = np.zeros((1, RAW_WIDTH), np.float32)
    raw_nr[0, VISUAL] = 1.0  # the first of the numbers that stand for class names
    head = tiny_head(
        visual_bias_d=array([0, 1]),
        sentence_mean_s=np.zeros(NAMES, np.float32),
        sentence_sd=np.eye(NAMES, 2, dtype=np.float32),
        names_mean_s=np.zeros(NAMES, np.float32),
        names_mix=0.5,
        bank_ms=np.zeros((1, NAMES), np.float32),
        labels_ls=np.zeros((0, NAMES), np.float32),
    )
    # What is learnt says (0, 1), what it is called (1, 0): (0.5, 1) at length one.
    assert head.pictures(raw_nr)[0] == pytest.approx(np.array([0.5, 1]) / math.hypot(0.5, 1))


# -- the file


def test_a_head_is_read_back_as_it_was_saved(fitted: Head, tmp_path: Path) -> None:
    head = replace(fitted, calibration=Calibration(1.5, -2.25, 3.0))
    head.save(tmp_path / "sub" / "head.safetensors", card={"data": "none"})
    read = load_head(tmp_path / "sub" / "head.safetensors")
    assert read.fingerprint() == head.fingerprint()
    assert (read.calibration, read.names_mix, read.labels) == (head.calibration, head.names_mix, head.labels)
    raw_nr = captioned(6).raw_vnr[0]
    np.testing.assert_array_equal(read.pictures(raw_nr), head.pictures(raw_nr))


def test_transposed_arrays_are_written_as_they_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    # What torch gives: views whose memory lies the other way round.
    inner_xh, outer_hd = rng.random((3, 2)).astype(np.float32).T, rng.random((2, 3)).astype(np.float32).T
    residual = Residual(inner_xh, np.zeros(3, np.float32), outer_hd, np.zeros(2, np.float32))
    head = tiny_head(sentence_sd=array([[1, 2], [3, 4]]).T, sentence_residual=residual)
    head.save(tmp_path / "head.safetensors")
    read = load_head(tmp_path / "head.safetensors")
    assert read.sentence_sd.tolist() == [[1, 3], [2, 4]]
    assert read.sentence_residual is not None
    np.testing.assert_allclose(read.sentence_residual.inner_xh, inner_xh, atol=1e-3)
    np.testing.assert_allclose(read.sentence_residual.outer_hd, outer_hd, atol=1e-3)
    assert read.fingerprint() == head.fingerprint()


def test_rounding_gives_the_head_that_will_be_read_back(tmp_path: Path) -> None:
    head = tiny_head(sentence_sd=array([[1 / 3, 0.1], [0.7, 1e-3]]), names_mix=1 / 3)
    head.save(tmp_path / "head.safetensors")
    read, rounded = load_head(tmp_path / "head.safetensors"), head.rounded()
    np.testing.assert_array_equal(read.sentence_sd, rounded.sentence_sd)
    assert read.names_mix == rounded.names_mix == 1 / 3
    assert not np.array_equal(rounded.sentence_sd, head.sentence_sd)


@pytest.mark.parametrize("change", [{"raw": "starter-raw-0"}, {"version": "2"}, {"raw": ""}])
def test_a_head_for_other_vectors_or_of_a_later_version_is_refused(tmp_path: Path, change: dict[str, str]) -> None:
    file = tmp_path / "head.safetensors"
    tiny_head().save(file)
    known = {"version": "1", "raw": RAW_VERSION, "names_mix": "0", "calibration": "[0, 0, 0]", "labels": "[]"}
    save_file(load_file(file), file, metadata=known | change)
    with pytest.raises(EncoderMismatch, match=r"head\.safetensors is a head for .* train or tune it again"):
        load_head(file)


def test_other_numbers_have_another_fingerprint() -> None:
    plain = tiny_head()
    assert plain.fingerprint() == tiny_head().fingerprint()
    assert plain.fingerprint() != tiny_head(visual_bias_d=array([0, 0.5])).fingerprint()


# -- fitting


def test_a_fitted_head_finds_pictures_it_has_not_seen(fitted: Head) -> None:
    unseen = captioned(12, seed=7)
    likeness_mn = fitted.sentences(unseen.captions_ms) @ fitted.pictures(unseen.raw_vnr[0]).T
    right_m = likeness_mn.argmax(axis=1) % KINDS == unseen.owners_m % KINDS
    assert right_m.mean() > 0.9


def test_fitting_twice_gives_the_same_numbers(fitted: Head) -> None:
    assert fit_head([captioned(48)], SMALL).fingerprint() == fitted.fingerprint()


def test_the_whole_head_is_small_and_in_float16(fitted: Head, tmp_path: Path) -> None:
    fitted.save(tmp_path / "head.safetensors")
    arrays = load_file(tmp_path / "head.safetensors")
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.float16)}
    assert all(np.isfinite(array).all() for array in arrays.values())
    assert fitted.width == 16


def test_taking_some_pictures_takes_their_captions_along() -> None:
    kind = captioned(6)
    part = kind.of(np.array([4, 1]))
    assert len(part) == 2
    assert part.owners_m.tolist() == [1, 1, 1, 0, 0, 0]
    np.testing.assert_array_equal(part.captions_ms, np.concatenate([kind.captions_ms[3:6], kind.captions_ms[12:15]]))
    np.testing.assert_array_equal(part.raw_vnr[0, 0], kind.raw_vnr[0, 4])


def test_pictures_without_captions_are_refused() -> None:
    kind = captioned(6)
    with pytest.raises(BadInput, match="no captions to learn from"):
        replace(kind, captions_ms=kind.captions_ms[:0], owners_m=kind.owners_m[:0])


# -- calibrating


def test_the_calibration_is_the_optimum_of_its_logistic_loss(fitted: Head) -> None:
    asked = captioned(12, seed=7)
    absent_as = unit_rows(np.random.default_rng(5).standard_normal((30, NAMES)).astype(np.float32))
    found = calibrate_head([(fitted, asked, absent_as)])
    weights_3 = np.array([found.score_weight, found.outlier_weight, found.bias])
    # Slow and obvious: every query's best hit, judged by hand; at the optimum the gradient is the ridge's pull.
    pictures_nd = fitted.pictures(asked.raw_vnr[0])
    background_n = fitted.background(pictures_nd)
    rows, labels = [], []
    queries = [(text, int(owner)) for text, owner in zip(asked.captions_ms, asked.owners_m, strict=True)]
    for text_s, meant in [*queries, *((text, -1) for text in absent_as)]:
        scores_n = pictures_nd @ fitted.sentences(text_s[None])[0] - background_n
        best = int(scores_n.argmax())
        if meant in (best, -1):
            rows.append([scores_n[best], (scores_n[best] - scores_n.mean()) / scores_n.std(), 1.0])
            labels.append(float(meant >= 0))
    features_k3, labels_k = np.array(rows), np.array(labels)
    chance_k = 1 / (1 + np.exp(-features_k3 @ weights_3))
    share_k = np.where(labels_k == 1, 0.5 / labels_k.sum(), 0.5 / (1 - labels_k).sum())
    gradient_3 = features_k3.T @ (share_k * (chance_k - labels_k))
    assert gradient_3 == pytest.approx(-1e-4 * weights_3, abs=1e-5)
    assert chance_k[labels_k == 1].mean() > 0.5 > chance_k[labels_k == 0].mean()


# -- refining


def test_the_loss_of_two_pairs_by_hand() -> None:
    import torch

    axes_bd, one = torch.eye(2), torch.tensor(1.0)
    loss = contrastive_loss(axes_bd, axes_bd, holds_bb=torch.eye(2), scale=one)
    # Each row of logits is (1, 0) or (0, 1): -log(e / (e + 1)), the same in both directions.
    assert float(loss) == pytest.approx(math.log(1 + math.exp(-1)))
    wrong = contrastive_loss(axes_bd, axes_bd.flip(0), holds_bb=torch.eye(2), scale=one)
    assert float(wrong) == pytest.approx(math.log(1 + math.exp(1)))


def test_a_text_that_holds_for_several_pictures_is_content_with_any() -> None:
    import torch

    # Both texts hold for both pictures: 1/2 on each, -(log p1 + log p2) / 2 with p = e / (e + 1), 1 / (e + 1).
    loss = contrastive_loss(torch.eye(2), torch.eye(2), holds_bb=torch.ones(2, 2), scale=torch.tensor(1.0))
    expected = -(math.log(math.e / (math.e + 1)) + math.log(1 / (math.e + 1))) / 2
    assert float(loss) == pytest.approx(expected)


def test_a_sharper_scale_makes_right_pairs_cheaper() -> None:
    import torch

    losses = [
        float(contrastive_loss(torch.eye(3), torch.eye(3), holds_bb=torch.eye(3), scale=torch.tensor(scale)))
        for scale in (1.0, 5.0, 20.0)
    ]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.slow
def test_refining_starts_from_the_closed_form_and_keeps_the_best(fitted: Head) -> None:
    settings = RefineSettings(hidden=8, epochs=2, batch=32, held_out=0.25)
    poor = replace(fitted, visual_xd=-fitted.visual_xd, visual_bias_d=-fitted.visual_bias_d)
    told: list[tuple[int, float]] = []
    kind = captioned(36)
    refined = refine_head(poor, kind, SMALL, settings, report=lambda *at: told.append(at))
    assert [epoch for epoch, _ in told] == [0, 1, 2]
    assert set(refined.held_out) == {"shipped", "closed form", "refined"}
    assert refined.chosen == max(refined.held_out, key=lambda name: (refined.held_out[name], name == "closed form"))
    assert refined.held_out["closed form"] == told[0][1] > refined.held_out["shipped"]
    again = refine_head(poor, kind, SMALL, settings)
    assert again.head.fingerprint() == refined.head.fingerprint()


@pytest.mark.slow
def test_a_head_that_nothing_beats_is_kept(fitted: Head) -> None:
    kind = captioned(24)
    hopeless = FitSettings(width=1, bank=8, names_mix=0.0, ridge=1e6)
    refined = refine_head(fitted, kind, hopeless, RefineSettings(hidden=2, epochs=1, batch=16, learning_rate=1e-9))
    assert refined.chosen == "shipped"
    assert refined.head is fitted
