"""Training a Combiner on pictures of one colour over another."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.training_log import read_log
from viewfinder.conversation import Like
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.query import Picture, ResolvedTurn
from viewfinder.retrievers import load_retriever
from viewfinder.retrievers.combiner.retriever import Combiner
from viewfinder.retrievers.combiner.train import (
    NO_TURN,
    EncodedTransactions,
    make_batch,
    mark_found,
    tell_targets_apart,
)
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.retrievers.trainers import train_system
from viewfinder.testing import ColourEncoder
from viewfinder.weights import read_card, read_weights

Plans = Callable[..., TrainPlan]
ENCODER = ColourEncoder()


@pytest.fixture(scope="module")
def out(combiner_plan: Plans, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training of four epochs."""
    folder = tmp_path_factory.mktemp("combiner")
    assert train_system(combiner_plan(folder)).step == 20
    return folder


def test_the_loss_falls_and_what_was_trained_goes_on_from_pictures(out: Path) -> None:
    records = [record for record in read_log(out / "log.jsonl") if record.kind == "train"]
    lost = [record.loss for record in records if record.loss is not None]
    assert lost[-1] < 0.8 * lost[0]  # means over the last epoch and the first
    found = load_retriever("combiner", out / "best.safetensors")
    assert isinstance(found, Combiner)
    drawn = Picture("p1", {"global": ENCODER.words(["red over blue"])[0]})
    state = found.step(found.begin(), ResolvedTurn(Like("p1", "is green"), 1, ENCODER.words, "is green", (drawn,)))
    [part] = found.query(state).parts
    assert (part.kind, part.turn, part.label) == ("picture", 1, "is green")
    assert part.vector_d is not None
    assert np.linalg.norm(part.vector_d) == pytest.approx(1, abs=1e-5)


def test_the_card_says_what_a_search_must_know(out: Path) -> None:
    card = read_card(out / "best.safetensors")
    assert (card.system, card.preset, card.encoder) == ("combiner", "lab", ENCODER.version)
    assert card.settings.keys() == {"model", "scale", "exclude_shown"}
    assert card.figures.keys() == {"loss", "recall", "first", "last"}


def test_searching_with_a_combiner_needs_no_torch(out: Path) -> None:
    code = f"""import sys
from pathlib import Path
from viewfinder.retrievers import load_retriever
retriever = load_retriever("combiner", Path({str(out / "best.safetensors")!r}))
retriever.query(retriever.begin())
print("torch" in sys.modules)"""
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert said.strip() == "False"


def test_an_interrupted_training_of_a_combiner_ends_with_the_same_numbers(
    out: Path, combiner_plan: Plans, tmp_path: Path
) -> None:
    asked: Iterator[bool] = iter([False, False, True])
    stopped = train_system(combiner_plan(tmp_path, should_stop=lambda: next(asked)))
    assert (stopped.ended, stopped.step) == ("asked", 3)
    resumed = train_system(combiner_plan(tmp_path, resume=True))
    assert read_weights(resumed.best).fingerprint == read_weights(out / "best.safetensors").fingerprint


def test_a_training_may_begin_with_weights_whose_sizes_it_keeps(
    out: Path, combiner_plan: Plans, tmp_path: Path
) -> None:
    first = out / "best.safetensors"
    second = train_system(combiner_plan(tmp_path / "second", "model.hidden=7", "training.epochs=1", start=first))
    assert read_card(second.best).settings["model"] == read_card(first).settings["model"]
    other = ColourEncoder(channels=(1.0, 0.5, 1.0))
    with pytest.raises(EncoderMismatch, match="trained on vectors of the encoder 'colours-raw-1-1-1-1'"):
        train_system(combiner_plan(tmp_path / "third", start=first, encoder=other))


def test_a_folder_without_transactions_is_refused(tmp_path: Path, combiner_plan: Plans) -> None:
    with pytest.raises(BadInput, match="modifiers"):
        train_system(combiner_plan(tmp_path / "out", data=(tmp_path,)))


def some_turns(rng: np.random.Generator) -> EncodedTransactions:
    """Six transactions over twenty pictures, of which fifteen are in the gallery; every other one ends early."""
    pictures_nd = rng.standard_normal((20, 5)).astype(np.float32)
    target_st = rng.integers(5, 20, (6, 3))
    target_st[::2, 2] = NO_TURN
    text_st = np.where(target_st == NO_TURN, NO_TURN, rng.integers(0, 4, (6, 3)))
    texts_xd = rng.standard_normal((4, 5)).astype(np.float32)
    return EncodedTransactions(pictures_nd, texts_xd, np.arange(5, 20), text_st + 1, text_st, target_st)


def test_recall_is_that_of_ranking_the_gallery_picture_by_picture() -> None:
    rng = np.random.default_rng(0)
    turns = some_turns(rng)
    queries_std = rng.standard_normal((6, 3, 5)).astype(np.float32)
    found_st = mark_found(queries_std, turns)
    for dialogue in range(6):
        for turn in range(3):
            wanted = turns.target_st[dialogue, turn]
            if wanted == NO_TURN:
                assert np.isnan(found_st[dialogue, turn])
                continue
            scores = {row: float(queries_std[dialogue, turn] @ turns.pictures_nd[row]) for row in turns.gallery_g}
            rank = sum(score > scores[wanted] for score in scores.values())
            assert found_st[dialogue, turn] == (rank < 10)
    assert 0 < np.nanmean(found_st) < 1


def test_a_target_that_is_anothers_too_counts_as_wrong_or_not_at_all() -> None:
    logits = torch.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    rows = torch.tensor([7, 7, 8])
    e = math.e
    left_out = (2 * math.log((e + 1) / e) + math.log((e**2 + 2) / e**2)) / 3
    wrong = (2 * math.log((2 * e + 1) / e) + math.log((e**2 + 2) / e**2)) / 3
    assert tell_targets_apart(logits, rows, "left_out").item() == pytest.approx(left_out)
    assert tell_targets_apart(logits, rows, "wrong").item() == pytest.approx(wrong)


def test_a_batch_has_the_vectors_of_its_transactions() -> None:
    turns = some_turns(np.random.default_rng(1))
    batch = make_batch(turns, np.array([3, 1]))
    assert batch.rows_bt.tolist() == turns.target_st[[3, 1]].tolist()
    np.testing.assert_array_equal(batch.texts_btd[0, 1], turns.texts_xd[turns.text_st[3, 1]])
    np.testing.assert_array_equal(batch.pictures_btd[1, 2], turns.pictures_nd[turns.reference_st[1, 2]])
    np.testing.assert_array_equal(batch.targets_btd[1, 0], turns.pictures_nd[turns.target_st[1, 0]])
