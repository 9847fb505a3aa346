"""The networks in torch and at work: the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from viewfinder.data.dialogues import Round, make_dialogue
from viewfinder.encoders.features.sentences import SentenceVectors
from viewfinder.questioners.trained import MAX_ROUNDS, NO_PICTURES, SYSTEM, QuestionSelector, load_trained_questions
from viewfinder.testing import ColourEncoder
from viewfinder.training import Card, seed_all
from viewfinder.training.checkpoints import save_network
from viewfinder.tuning.dialogues import QuestionDialogues
from viewfinder.tuning.pool import PoolSettings, build_pool
from viewfinder.tuning.question_networks import (
    NOT_THERE,
    AnswerColumns,
    AnswerData,
    AnswerNetwork,
    SelectorBatch,
    SelectorData,
    SelectorNetwork,
    answer_figures,
    calibrate_answers,
)

SMALL = PoolSettings(fewest=2, fewest_meant=2)
ENCODER = ColourEncoder()


def dialogues(tmp_path: Path, *rounds: Round) -> tuple[QuestionDialogues, SentenceVectors]:
    """One dialogue of these rounds about each of three pictures: red, blue and green."""
    said = [make_dialogue(f"{colour}.png", colour, rounds) for colour in ("red", "blue", "green")]
    seen = QuestionDialogues(tuple(said), ENCODER.words(["red", "blue", "green"]).astype(np.float16), np.arange(3))
    return seen, SentenceVectors.of([*seen.texts, "yes", "no"], ENCODER, tmp_path)


def test_the_selector_at_work_gives_the_numbers_of_the_trained_one() -> None:
    seed_all(1)
    network = SelectorNetwork(torch.randn(7, 6), torch.arange(1.0, 8.0), hidden=5, width=3).eval()
    captions_bs, rounds_brt = torch.randn(2, 6), torch.randn(2, MAX_ROUNDS + 3, 12)
    with torch.no_grad():
        wanted_brq = network(SelectorBatch(captions_bs, rounds_brt, torch.zeros(2, MAX_ROUNDS + 3, dtype=torch.long)))
        selector = QuestionSelector.of({name: array.numpy() for name, array in network.arrays().items()})
    for row in range(2):
        for heard in range(MAX_ROUNDS + 3):
            rounds_rt = rounds_brt[row, :heard].numpy()
            found_q = selector.logits(captions_bs[row].numpy(), rounds_rt[:, :6], rounds_rt[:, 6:])
            assert found_q == pytest.approx(wanted_brq[row, heard].numpy(), abs=1e-5)


def test_questions_outside_the_pool_are_no_targets(tmp_path: Path) -> None:
    seen, vectors = dialogues(tmp_path, Round("any red?", "yes"), Round("What?", "red"), Round("any red?", "yes"))
    pool = [question for question in build_pool(seen.dialogues, SMALL) if question.text == "any red?"]
    data = SelectorData(seen, pool, vectors)
    assert data.targets_nr.tolist() == [[0, NOT_THERE, 0]] * 3
    batch = data.batch(np.array([2]))
    assert batch.captions_bs.shape == (1, 48) and batch.rounds_brt.shape == (1, 3, 96)


def test_answers_are_found_in_other_words_and_unknown_ones_left_out(tmp_path: Path) -> None:
    rounds = [Round("any red?", "yes"), Round("is there any red?", "no"), Round("any red?", "can't tell")]
    seen, vectors = dialogues(tmp_path, *rounds)
    pool = build_pool(seen.dialogues, SMALL)
    data = AnswerData(seen, pool, AnswerColumns(pool, vectors))
    # Of each picture two answers to question 0: "no" and "yes" are as frequent, so they stand in order of the alphabet.
    assert data.samples_n3.tolist() == [[row, 0, answer] for row in range(3) for answer in (1, 0)]


def test_a_calibrated_network_is_no_worse_on_held_out_answers(tmp_path: Path) -> None:
    seen, vectors = dialogues(tmp_path, Round("any red?", "yes"), Round("is there any red?", "no"))
    pool = build_pool(seen.dialogues, SMALL)
    columns = AnswerColumns(pool, vectors)
    seed_all(0)
    network = AnswerNetwork(columns, seen.raw_mg, hidden=4, width=3).eval()
    data = AnswerData(seen, pool, columns)
    before = answer_figures(network, data)["loss"]
    beta = calibrate_answers(network, data)
    # Answers that no picture decides are best foretold by saying as little of pictures as is allowed.
    assert beta == pytest.approx(0.05) and answer_figures(network, data)["loss"] <= before
    assert answer_figures(network, data)["baseline"] == 0.5


def test_a_network_of_something_else_is_no_pool(tmp_path: Path) -> None:
    other = tmp_path / "other.safetensors"
    save_network(other, torch.nn.Linear(1, 1), Card(system="drilldown", preset="lab", encoder=NO_PICTURES))
    with pytest.raises(Exception, match="a network of drilldown, not of questions"):
        load_trained_questions(other)
    save_network(other, torch.nn.Linear(1, 1), Card(system=SYSTEM, preset="", encoder=NO_PICTURES))
    with pytest.raises(Exception, match=f"{other}: damaged"):
        load_trained_questions(other)
    with pytest.raises(Exception, match="no such file"):
        load_trained_questions(tmp_path / "none.safetensors")
