"""What is minimised at a turn, with numbers that can be followed by hand."""

from __future__ import annotations

import math
from typing import Any, get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from viewfinder.retrievers.mai.loss import (
    TurnTargets,
    add_noise,
    alignment_loss,
    batch_classification_loss,
    best_token_loss,
    mix_rows,
    modification_turn_loss,
)
from viewfinder.retrievers.mai.network import EncodedTurns, FusedTokens
from viewfinder.retrievers.mai.settings import EVERY_TERM, MaiLossSettings, Noise, Term

TWO = torch.tensor(2.0)
QUERIES = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
PICTURES = torch.tensor([[0.6, 0.8], [0.0, 1.0]])
MODIFICATIONS = torch.tensor([[0.8, 0.6], [-1.0, 0.0]])
CAPTIONS = torch.tensor([[0.0, 1.0], [0.6, -0.8]])
TOKENS = torch.tensor([[[1.0, 3.0], [3.0, 5.0]], [[0.0, 0.0], [2.0, 2.0]]])
PROMPTS = torch.tensor([[[2.0, 2.0]], [[1.0, 2.0]]])

TURNED = EncodedTurns(QUERIES, FusedTokens(TOKENS, torch.zeros(2, 2)), 2 * TOKENS)
TARGETS = TurnTargets(PICTURES[:, None], MODIFICATIONS, CAPTIONS)
OF_TERMS: dict[Term, tuple[Tensor, Tensor]] = {
    "query_target": (QUERIES, PICTURES),
    "query_caption": (QUERIES, CAPTIONS),
    "modification_target": (MODIFICATIONS, PICTURES),
    "modification_caption": (MODIFICATIONS, CAPTIONS),
}


def lost(terms: tuple[Term, ...] = EVERY_TERM, targets: TurnTargets = TARGETS, **known: Any) -> float:
    return float(modification_turn_loss(MaiLossSettings(terms=terms, **known), TWO, TURNED, targets))


def test_each_query_chooses_its_own_target_among_those_of_the_batch() -> None:
    """Rows of 2 a b^T: (1.2, 0), of which the first is right, and (1.6, 2), of which the second is."""
    expected = (math.log(1 + math.exp(-1.2)) + math.log(1 + math.exp(-0.4))) / 2
    assert float(batch_classification_loss(QUERIES, PICTURES, TWO)) == pytest.approx(expected)
    # The other way round it is another: columns, of pictures that choose queries.
    expected = (math.log(1 + math.exp(0.4)) + math.log(1 + math.exp(-2.0))) / 2
    assert float(batch_classification_loss(PICTURES, QUERIES, TWO)) == pytest.approx(expected)


def test_of_several_vectors_of_a_picture_the_best_counts_for_each_query() -> None:
    vectors_bkd = torch.tensor([[[0.0, 0.0], [0.6, 0.8]], [[0.3, 1.0], [0.5, 0.0]]])
    # The first query: 0.6 and 0.5; the second: 0.8 and 1.
    expected = (math.log(1 + math.exp(-0.2)) + math.log(1 + math.exp(-0.4))) / 2
    assert float(best_token_loss(QUERIES, vectors_bkd, TWO)) == pytest.approx(expected)
    assert torch.equal(
        best_token_loss(QUERIES, PICTURES[:, None], TWO), batch_classification_loss(QUERIES, PICTURES, TWO)
    )


def test_the_mean_token_is_to_be_like_the_mean_prompt() -> None:
    """(2, 4) and (1, 1) against (2, 2) and (1, 2): (0 + 4 + 0 + 1) / 4; prompts do not come to meet the tokens."""
    tokens_bth, prompts_bph = TOKENS.clone().requires_grad_(), PROMPTS.clone().requires_grad_()
    loss = alignment_loss(tokens_bth, prompts_bph)
    assert loss.item() == pytest.approx(1.25)
    torch.autograd.backward(loss)
    assert tokens_bth.grad is not None
    assert tokens_bth.grad[0].tolist() == [[0.0, 0.5], [0.0, 0.5]]  # 2 * 2 / 4, by two tokens
    assert prompts_bph.grad is None


@pytest.mark.parametrize("term", get_args(Term))
def test_every_term_compares_what_it_is_called(term: Term) -> None:
    one, other = OF_TERMS[term]
    assert lost((term,)) == pytest.approx(float(batch_classification_loss(one, other, TWO)))


@pytest.mark.parametrize("term", get_args(Term))
def test_every_term_can_be_left_out(term: Term) -> None:
    others: tuple[Term, ...] = tuple(other for other in EVERY_TERM if other != term)
    assert lost() == pytest.approx(sum(lost((one,)) for one in EVERY_TERM))
    assert lost(others) == pytest.approx(lost() - lost((term,)))


def test_terms_of_texts_that_are_not_there_are_left_out() -> None:
    assert lost(targets=TurnTargets(PICTURES[:, None])) == pytest.approx(lost(("query_target",)))
    alone = TurnTargets(PICTURES[:, None], captions_bd=CAPTIONS)
    assert lost(targets=alone) == pytest.approx(lost(("query_target", "query_caption")))


def test_the_three_losses_of_sprc_are_added() -> None:
    sprc = TurnTargets(PICTURES[:, None], MODIFICATIONS, prompts_bph=PROMPTS)
    first = float(batch_classification_loss(QUERIES, PICTURES, TWO))
    second = float(batch_classification_loss(MODIFICATIONS, PICTURES, TWO))
    assert lost(targets=sprc) == pytest.approx(first + second + 1.25)


def test_the_losses_of_sprc_are_weighted_and_official_alignment_is_of_the_first_reading() -> None:
    """Twice the tokens, (4, 8) and (2, 2), against (2, 2) and (1, 2): (4 + 36 + 1 + 0) / 4."""
    sprc = TurnTargets(PICTURES[:, None], MODIFICATIONS, prompts_bph=PROMPTS)
    first = float(batch_classification_loss(QUERIES, PICTURES, TWO))
    second = float(batch_classification_loss(MODIFICATIONS, PICTURES, TWO))
    assert lost(targets=sprc, sprc_weights=(0.5, 0.4)) == pytest.approx(first + 0.5 * second + 0.4 * 1.25)
    assert lost(targets=sprc, alignment="official") == pytest.approx(first + second + 10.25)


def test_rows_are_mixed_with_the_next_by_their_shares() -> None:
    """The first is 1/4 itself and 3/4 the last, the second itself."""
    rows_bd = torch.tensor([[4.0, 0.0], [0.0, 8.0]])
    assert mix_rows(rows_bd, torch.tensor([0.25, 1.0])).tolist() == [[1.0, 6.0], [0.0, 8.0]]
    rows_bkd = torch.stack([rows_bd, -rows_bd], dim=1)
    assert mix_rows(rows_bkd, torch.tensor([0.25, 1.0]))[0].tolist() == [[1.0, 6.0], [-1.0, -6.0]]


def test_mixing_mixes_queries_and_pictures_alike_and_nothing_else() -> None:
    torch.manual_seed(4)
    share_b = torch.rand(2)
    pair = float(batch_classification_loss(mix_rows(QUERIES, share_b), mix_rows(PICTURES, share_b), TWO))
    others = sum(lost((term,)) for term in EVERY_TERM if term != "query_target")
    torch.manual_seed(4)
    assert lost(noise="mixing") == pytest.approx(pair + others)
    assert pair != pytest.approx(lost(("query_target",)))


def test_mixing_mixes_all_vectors_of_a_picture_of_sprc() -> None:
    vectors_bkd = torch.tensor([[[0.0, 0.0], [0.6, 0.8]], [[0.3, 1.0], [0.5, 0.0]]])
    torch.manual_seed(4)
    share_b = torch.rand(2)
    expected = float(best_token_loss(mix_rows(QUERIES, share_b), mix_rows(vectors_bkd, share_b), TWO))
    torch.manual_seed(4)
    sprc = TurnTargets(vectors_bkd, MODIFICATIONS, prompts_bph=PROMPTS)
    mixed_too = float(best_token_loss(MODIFICATIONS, vectors_bkd, TWO)) + 1.25
    assert lost(targets=sprc, noise="mixing") == pytest.approx(expected + mixed_too)


@pytest.mark.parametrize("kind", ["", "mixing"])
def test_without_noise_places_stay_as_they_are(kind: Noise) -> None:
    assert add_noise(TOKENS, kind) is TOKENS


@pytest.mark.parametrize(("kind", "deviation"), [("normal", 1.0), ("uniform", 3**-0.5), ("product", 3**-0.5)])
def test_noise_is_in_units_of_the_root_mean_square(kind: Noise, deviation: float) -> None:
    """Places of 4 everywhere, noise half as large; a uniform number from -1 to 1 has a variance of 1/3."""
    torch.manual_seed(0)
    added = add_noise(torch.full((200, 100, 10), 4.0), kind) - 4
    assert float(added.mean()) == pytest.approx(0.0, abs=0.02)
    assert float(added.std()) == pytest.approx(2 * deviation, rel=0.02)
    assert (float(added.abs().max()) <= 2.0) == (kind == "uniform")


@given(st.integers(1, 4), st.integers(1, 3))
def test_targets_are_parted_by_turn(dialogues: int, turns: int) -> None:
    """All turns of a dialogue, one dialogue after another: talk 10s, turn 1s."""
    number_c = torch.tensor([10.0 * dialogue + turn for dialogue in range(dialogues) for turn in range(turns)])
    parted = TurnTargets(number_c[:, None, None], number_c[:, None]).of_turns(turns)
    for turn, targets in enumerate(parted):
        expected = [10.0 * dialogue + turn for dialogue in range(dialogues)]
        assert targets.pictures_bkd.flatten().tolist() == expected
        assert targets.modifications_bd is not None
        assert targets.modifications_bd.flatten().tolist() == expected
        assert targets.captions_bd is None and targets.prompts_bph is None
    assert len(parted) == turns
