"""The starter's alignment head: its arithmetic by hand, its file, and how it is fitted and refined."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from viewfinder.encoders.base import Calibration, unit_rows
from viewfinder.encoders.starter import encoder
from viewfinder.encoders.starter.encoder import (
    NAMES,
    OBJECTS,
    RAW_VERSION,
    RAW_WIDTH,
    SHIPPED_HEAD,
    VISUAL,
    Head,
    Residual,
    background_scores,
    head_input,
    load_head,
)
from viewfinder.encoders.starter.fit import (
    OWN_TEMPERATURE,
    CaptionedVectors,
    FitSettings,
    HeadCorrection,
    RefineSettings,
    add_bank,
    fit_head,
)
from viewfinder.encoders.starter.refine import contrastive_loss, train_head
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
        "bank_md": np.eye(2, dtype=np.float32),
        "labels_ld": np.zeros((0, 2), np.float32),
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


def test_known_words_add_their_vectors_as_often_as_they_are_said_and_others_nothing() -> None:
    head = tiny_head(lexicon=("red", "dog"), lexicon_wd=array([[1, 0], [0, 0.5]]))
    one_ns = array([[0, 2]])
    # (0, 1) + 2 x (1, 0) + (0, 0.5), at length one.
    expected = np.array([2, 1.5]) / math.hypot(2, 1.5)
    assert head.sentences(one_ns, ["RED dog, red 7 sky"])[0] == pytest.approx(expected)
    for unknown in (["sky"], [""], []):
        assert head.sentences(one_ns, unknown).tolist() == [[0, 1]]


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
    )
    # What is learnt says (0, 1), what it is called (1, 0): (0.5, 1) at length one.
    assert head.pictures(raw_nr)[0] == pytest.approx(np.array([0.5, 1]) / math.hypot(0.5, 1))


# -- the file


def test_a_head_is_read_back_as_it_was_saved(fitted: Head, tmp_path: Path) -> None:
    words_wd = np.ones((2, fitted.width), np.float32)
    expected = np.arange(fitted.width + 1, dtype=np.float32)
    known = Calibration((1.5, -2.25), (3.0, 0.1), (0.2, 0.3), expected, {"dog": -1.25})
    head = replace(fitted, calibration=known, lexicon=("red", "dog"), lexicon_wd=words_wd)
    head.save(tmp_path / "sub" / "head.safetensors", card={"data": "none"})
    read = load_head(tmp_path / "sub" / "head.safetensors")
    assert read.fingerprint() == head.fingerprint()
    assert (read.names_mix, read.labels) == (head.names_mix, head.labels)
    assert read.calibration is not None
    assert (read.calibration.here, read.calibration.match, read.calibration.nothing_below) == (
        known.here,
        known.match,
        known.nothing_below,
    )
    assert (read.calibration.expected.tolist(), read.calibration.familiar) == (expected.tolist(), {"dog": -1.25})
    assert read.lexicon == head.lexicon == ("red", "dog")
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


@pytest.mark.parametrize("change", [{"raw": "starter-raw-0"}, {"version": "3"}, {"raw": ""}])
def test_a_head_for_other_vectors_or_of_a_later_version_is_refused(tmp_path: Path, change: dict[str, str]) -> None:
    file = tmp_path / "head.safetensors"
    tiny_head().save(file)
    known = {"version": "2", "raw": RAW_VERSION, "names_mix": "0", "calibration": "null", "labels": "[]"}
    save_file(load_file(file), file, metadata=known | change)
    with pytest.raises(EncoderMismatch, match=r"head\.safetensors is a head for .* train or tune it again"):
        load_head(file)


def test_other_numbers_have_another_fingerprint() -> None:
    plain = tiny_head()
    assert plain.fingerprint() == tiny_head().fingerprint()
    assert plain.fingerprint() != tiny_head(visual_bias_d=array([0, 0.5])).fingerprint()


def test_the_calibration_is_no_part_of_what_names_a_head() -> None:
    known = Calibration((1.0,), (2.0,), (0.3, 0.3), np.ones(3, np.float32))
    assert tiny_head(calibration=known).fingerprint() == tiny_head().fingerprint()


def test_a_calibration_that_measured_less_is_left_out(tmp_path: Path) -> None:
    known = Calibration((1.0,), (2.0,), (0.3, 0.3), np.ones(3, np.float32))
    file = tmp_path / "head.safetensors"
    tiny_head(calibration=known).save(file)
    with safe_open(file, framework="numpy") as tensors:
        metadata = tensors.metadata()
    save_file(load_file(file), file, metadata=metadata | {"calibration": "[[1.0], [2.0], [0.3, 0.3]]"})
    read = load_head(file)
    assert (read.calibration, read.fingerprint()) == (None, tiny_head().fingerprint())


@pytest.mark.parametrize("is_own", [False, True])
def test_it_is_remembered_whether_curves_were_fitted_on_the_very_library(tmp_path: Path, is_own: bool) -> None:
    known = Calibration((1.0,), (2.0,), (0.3, 0.3), np.ones(3, np.float32), is_own=is_own)
    tiny_head(calibration=known).save(tmp_path / "head.safetensors")
    read = load_head(tmp_path / "head.safetensors").calibration
    assert read is not None
    assert read.is_own == is_own


def test_curves_of_an_earlier_viewfinder_are_not_the_librarys_own() -> None:
    shipped = load_head(SHIPPED_HEAD).calibration
    assert shipped is not None
    assert not shipped.is_own


def test_a_head_of_the_first_version_is_read_with_its_vectors_and_its_name(tmp_path: Path) -> None:
    rng, raw_nr = np.random.default_rng(4), np.random.default_rng(5).random((3, RAW_WIDTH)).astype(np.float32)
    shapes = {
        "visual_xd": (VISUAL, 4), "visual_bias_d": (4,), "sentence_mean_s": (NAMES,), "sentence_sd": (NAMES, 4),
        "names_mean_s": (NAMES,), "bank_ms": (5, NAMES), "labels_ls": (1, NAMES),
        "sentence_residual.inner_xh": (NAMES, 2), "sentence_residual.inner_bias_h": (2,),
        "sentence_residual.outer_hd": (2, 4),
        "sentence_residual.outer_bias_d": (4,),
    }  # fmt: skip
    halves = {name: rng.standard_normal(shape).astype(np.float16) for name, shape in shapes.items()}
    metadata = {"version": "1", "raw": RAW_VERSION, "names_mix": "0.5", "calibration": "[1, 2, 3]", "labels": '["red"]'}
    save_file(halves, tmp_path / "head.safetensors", metadata=metadata)
    head = load_head(tmp_path / "head.safetensors")

    # As the first version had it: all that is said goes through the two layers, and nothing is known of words.
    known = {name: half.astype(np.float32) for name, half in halves.items()}
    inner_xh, inner_h, outer_hd, outer_d = (known[name] for name in shapes if name.startswith("sentence_residual"))

    def said(sentences_ns: np.ndarray) -> np.ndarray:
        centred_ns = unit_rows(sentences_ns - known["sentence_mean_s"])
        return unit_rows(
            centred_ns @ known["sentence_sd"] + np.maximum(centred_ns @ inner_xh + inner_h, 0) @ outer_hd + outer_d
        )

    learnt_nd = unit_rows(head_input(raw_nr) @ known["visual_xd"] + known["visual_bias_d"])
    named_nd = unit_rows((raw_nr[:, VISUAL:] - known["names_mean_s"]) @ known["sentence_sd"])
    pictures_nd = unit_rows(learnt_nd + 0.5 * named_nd)
    np.testing.assert_allclose(head.pictures(raw_nr), pictures_nd, atol=1e-5)
    sentences_ns = rng.standard_normal((2, NAMES)).astype(np.float32)
    np.testing.assert_allclose(head.sentences(sentences_ns, ["a red dog", "red"]), said(sentences_ns), atol=1e-5)
    np.testing.assert_allclose(head.labels_ld, said(known["labels_ls"]), atol=1e-5)
    background_n = background_scores(pictures_nd, said(known["bank_ms"]))
    np.testing.assert_allclose(head.background(pictures_nd), background_n, atol=1e-5)
    assert (head.labels, head.calibration) == (("red",), None)
    # Its name is the hash of the numbers that were in the file then, by which libraries know their vectors.
    digest = hashlib.blake2b(digest_size=4)
    for name in sorted(halves):
        digest.update(name.encode() + halves[name].tobytes())
    assert head.fingerprint() == digest.hexdigest()


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


def test_the_bank_and_the_labels_are_read_as_any_text_is(fitted: Head) -> None:
    kind = captioned(48)
    labels_ls = kind.captions_ms[:1]
    worded = replace(fitted, lexicon=("red",), lexicon_wd=np.ones((1, fitted.width), np.float32))
    head = add_bank(worded, [replace(kind, labels=("red",), labels_ls=labels_ls)], 4)
    assert (len(head.bank_md), head.labels) == (4, ("red",))
    np.testing.assert_allclose(head.labels_ld, head.sentences(labels_ls, ["red"]), atol=1e-3)
    np.testing.assert_allclose(head.bank_md[[0, 3]], head.sentences(kind.captions_ms[[0, -1]]), atol=1e-3)


def test_taking_some_pictures_takes_their_captions_along() -> None:
    kind = replace(captioned(6), texts=tuple(map(str, range(18))))
    part = kind.of(np.array([4, 1]))
    assert len(part) == 2
    assert part.owners_m.tolist() == [1, 1, 1, 0, 0, 0]
    assert part.texts == ("3", "4", "5", "12", "13", "14")
    np.testing.assert_array_equal(part.captions_ms, np.concatenate([kind.captions_ms[3:6], kind.captions_ms[12:15]]))
    np.testing.assert_array_equal(part.raw_vnr[0, 0], kind.raw_vnr[0, 4])


def test_pictures_without_captions_are_refused() -> None:
    kind = captioned(6)
    with pytest.raises(BadInput, match="no captions to learn from"):
        replace(kind, captions_ms=kind.captions_ms[:0], owners_m=kind.owners_m[:0])


# -- refining


def test_the_loss_of_two_pairs_by_hand() -> None:
    import torch

    axes_bd, one = torch.eye(2), torch.tensor(1.0)
    loss = contrastive_loss(axes_bd, axes_bd, holds_tb=torch.eye(2), scale=one)
    # Each row of logits is (1, 0) or (0, 1): -log(e / (e + 1)), the same in both directions.
    assert float(loss) == pytest.approx(math.log(1 + math.exp(-1)))
    wrong = contrastive_loss(axes_bd, axes_bd.flip(0), holds_tb=torch.eye(2), scale=one)
    assert float(wrong) == pytest.approx(math.log(1 + math.exp(1)))


def test_a_text_that_holds_for_several_pictures_is_content_with_any() -> None:
    import torch

    # Both texts hold for both pictures: 1/2 on each, -(log p1 + log p2) / 2 with p = e / (e + 1), 1 / (e + 1).
    loss = contrastive_loss(torch.eye(2), torch.eye(2), holds_tb=torch.ones(2, 2), scale=torch.tensor(1.0))
    expected = -(math.log(math.e / (math.e + 1)) + math.log(1 / (math.e + 1))) / 2
    assert float(loss) == pytest.approx(expected)


def test_a_sharper_scale_makes_right_pairs_cheaper() -> None:
    import torch

    losses = [
        float(contrastive_loss(torch.eye(3), torch.eye(3), holds_tb=torch.eye(3), scale=torch.tensor(scale)))
        for scale in (1.0, 5.0, 20.0)
    ]
    assert losses == sorted(losses, reverse=True)


def unlearnt(count: int) -> tuple[Head, CaptionedVectors]:
    """A head for pictures of the six kinds, and others whose own texts it has not seen."""
    return fit_head([captioned(48)], SMALL), captioned(count, seed=5)


@pytest.mark.parametrize("count", [40, pytest.param(VISUAL + 60, marks=pytest.mark.long)])
def test_a_correction_foretells_the_pictures_that_it_learns_and_those_that_it_does_not(count: int) -> None:
    head, kind = unlearnt(count)
    correction, fold_n = HeadCorrection(head, kind), np.arange(count) % 4
    learnt_nd, new_nd = correction.learnt_and_new(0.1, fold_n)
    seen_nr = kind.raw_vnr[0]
    assert np.abs(correction.head_with(0.1).pictures(seen_nr) - learnt_nd).max() < 0.02  # a head has 16 bits
    # The slow way: features of the others, and a regression on them alone.
    rest, out = np.flatnonzero(fold_n != 1), fold_n == 1
    features_nx, missing_nd = correction._features_nx.astype(np.float64), correction._missing_nd
    penalty = 0.1 * np.square(features_nx).sum() / count
    gram_xx = features_nx[rest].T @ features_nx[rest] + penalty * np.eye(features_nx.shape[1])
    moved_nd = features_nx[out] @ np.linalg.solve(gram_xx, features_nx[rest].T @ missing_nd[rest])
    slow_nd = unit_rows(head.learnt(head_input(seen_nr[out])) + moved_nd)
    assert np.abs(slow_nd - new_nd[out]).max() < 1e-4


def test_pictures_that_are_learnt_lie_at_their_texts_the_less_is_kept_of_before() -> None:
    head, kind = unlearnt(40)

    def likeness(corrected: Head) -> float:
        texts_md = corrected.sentences(kind.captions_ms)
        return float((texts_md * corrected.pictures(kind.raw_vnr[0])[kind.owners_m]).sum(axis=1).mean())

    correction = HeadCorrection(head, kind)
    found = [likeness(head), *(likeness(correction.head_with(ridge)) for ridge in (10.0, 1.0, 0.01))]
    assert found == sorted(found)
    assert 1 - found[-1] < (1 - found[0]) / 2
    assert np.array_equal(correction.head_with(1.0).sentence_sd, head.sentence_sd)


def test_a_head_that_learnt_a_collection_is_read_back_with_its_bank_and_temperature(tmp_path: Path) -> None:
    head = HeadCorrection(*unlearnt(40)).head_with(0.3)
    head.save(tmp_path / "head.safetensors")
    again = load_head(tmp_path / "head.safetensors")
    assert (len(again.bank_md), again.bank_temperature) == (120, OWN_TEMPERATURE)
    assert again.fingerprint() == head.fingerprint()


def test_the_background_is_the_same_in_parts(monkeypatch: pytest.MonkeyPatch, fitted: Head) -> None:
    seen_nd = fitted.pictures(captioned(50).raw_vnr[0])
    whole_n = fitted.background(seen_nd)
    monkeypatch.setattr(encoder, "MAX_COMPARED_AT_ONCE", 7 * len(fitted.bank_md))
    assert np.allclose(fitted.background(seen_nd), whole_n, atol=1e-6)
    assert fitted.background(seen_nd[:0]).shape == (0,)


@pytest.mark.slow
def test_words_that_sentence_vectors_do_not_tell_are_learnt() -> None:
    kind = captioned(48)
    # Sentence vectors say nothing here, only the words tell what is seen.
    names = ("ant", "bee", "cow", "dog", "elk", "fox")
    texts = tuple(f"the {names[owner % KINDS]}" for owner in kind.owners_m)
    noise_ms = np.random.default_rng(3).standard_normal(kind.captions_ms.shape).astype(np.float32)
    kind = replace(kind, captions_ms=unit_rows(noise_ms), texts=texts)
    settings = RefineSettings(hidden=8, epochs=60, batch=24, lexicon=10, learning_rate=1e-2, captions=2, bank=8)
    start = fit_head([captioned(48)], SMALL)
    head = train_head(start, [kind], settings)
    assert head.lexicon == ("the", *names)
    nothing_ks = np.tile(head.sentence_mean_s, (KINDS, 1))
    likeness_kn = head.sentences(nothing_ks, names) @ head.pictures(kind.raw_vnr[0]).T
    assert (likeness_kn.argmax(axis=1) % KINDS).tolist() == list(range(KINDS))


def test_pictures_with_any_number_of_captions_are_trained_on_together(fitted: Head) -> None:
    kind = captioned(12)
    kept_m = np.flatnonzero((kind.owners_m % 4 != 1) | (np.arange(len(kind.owners_m)) % 3 == 0))
    kept_m = kept_m[kind.owners_m[kept_m] != 5]  # picture 5 has none at all, pictures 1 and 9 have one
    uneven = replace(kind, captions_ms=kind.captions_ms[kept_m], owners_m=kind.owners_m[kept_m])
    told: list[int] = []
    settings = RefineSettings(hidden=4, epochs=2, batch=8, captions=2)
    head = train_head(fitted, [uneven, captioned(10, seed=1)], settings, judge=lambda epoch, head: told.append(epoch))
    assert told == [0, 1, 2]
    assert np.isfinite(head.pictures(kind.raw_vnr[0])).all()
