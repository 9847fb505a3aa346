"""The recurrent parts: a GRU cell of six maps, and a reader that stops where a sentence ends."""

from __future__ import annotations

from math import sqrt

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from viewfinder.retrievers.shared.network import UpdateCell, WordReader, initialise_network
from viewfinder.training.layers import FeedForward


@torch.no_grad()
def test_a_cell_of_zeros_halves_the_state() -> None:
    cell = UpdateCell(2)
    for parameter in cell.parameters():
        parameter.zero_()
    # keep = sigmoid(0) = 1/2 and new = tanh(0) = 0, so x' = x / 2.
    assert cell(torch.tensor([5.0, 7.0]), torch.tensor([0.4, -0.2])).tolist() == pytest.approx([0.2, -0.1])


@torch.no_grad()
def test_a_cell_that_keeps_everything_changes_nothing_and_one_that_keeps_nothing_forgets() -> None:
    cell = UpdateCell(1)
    for parameter in cell.parameters():
        parameter.zero_()
    cell.new_query.weight.fill_(1.0)
    query, state = torch.tensor([0.5]), torch.tensor([0.9])
    cell.keep_state.bias.fill_(100.0)
    assert cell(query, state).item() == pytest.approx(0.9)
    cell.keep_state.bias.fill_(-100.0)
    assert cell(query, state).item() == pytest.approx(torch.tensor(0.5).tanh().item())


@torch.no_grad()
def test_the_cell_is_torchs_gru_cell() -> None:
    torch.manual_seed(0)
    cell, known = UpdateCell(4), nn.GRUCell(4, 4)
    gates = ("reset", "keep", "new")
    known.weight_ih.copy_(torch.cat([getattr(cell, f"{gate}_query").weight for gate in gates]))
    known.weight_hh.copy_(torch.cat([getattr(cell, f"{gate}_state").weight for gate in gates]))
    known.bias_ih.copy_(torch.cat([getattr(cell, f"{gate}_query").bias for gate in gates]))
    known.bias_hh.copy_(torch.cat([getattr(cell, f"{gate}_state").bias for gate in gates]))
    query, state = torch.randn(5, 4), torch.randn(5, 4)
    torch.testing.assert_close(cell(query, state), known(query, state))


def test_what_lies_beyond_a_sentences_length_is_not_read() -> None:
    torch.manual_seed(0)
    reader = WordReader(9, 3, 4)
    lengths = torch.tensor([2, 4, 1])
    ids = torch.tensor([[5, 6, 0, 0], [1, 2, 3, 4], [7, 0, 0, 0]])
    other = torch.tensor([[5, 6, 8, 8], [1, 2, 3, 4], [7, 1, 2, 3]])
    torch.testing.assert_close(reader(ids, lengths), reader(other, lengths), rtol=0, atol=0)


def test_each_sentence_is_read_as_if_it_were_alone() -> None:
    torch.manual_seed(0)
    reader = WordReader(9, 3, 4)
    ids, lengths = torch.tensor([[5, 6, 0], [1, 2, 3], [7, 0, 0]]), torch.tensor([2, 3, 1])
    together = reader(ids, lengths)
    for row, length in enumerate(lengths.tolist()):
        outputs_1ld, _ = reader.gru(reader.embedding(ids[row : row + 1, :length]))
        torch.testing.assert_close(together[row], outputs_1ld[0, -1])


@pytest.mark.parametrize("continued", [False, True])
def test_sentences_that_begin_alike_give_the_vectors_and_gradients_of_a_packed_sequence(continued: bool) -> None:
    torch.manual_seed(0)
    reader, lengths = WordReader(4, 3, 5), torch.randint(1, 7, (60,))
    ids = torch.randint(4, (60, 6))  # of 4 words: nearly all of 60 sentences share their beginning with others
    before = torch.randn(60, 5, requires_grad=True) if continued else None
    packed = pack_padded_sequence(reader.embedding(ids), lengths, batch_first=True, enforce_sorted=False)
    expected = reader.gru(packed, before[None] if before is not None else None)[1][0]
    read, weight = reader(ids, lengths, before), torch.randn(60, 5)
    torch.testing.assert_close(read, expected)
    learnt = [*reader.parameters(), *([before] if before is not None else [])]
    torch.testing.assert_close(
        torch.autograd.grad((read * weight).sum(), learnt), torch.autograd.grad((expected * weight).sum(), learnt)
    )


def test_of_a_sentence_without_words_the_state_before_it_is_left() -> None:
    before = torch.randn(2, 4)
    found = WordReader(9, 3, 4)(torch.tensor([[5], [5]]), torch.tensor([0, 1]), before)
    assert torch.equal(found[0], before[0])
    assert not torch.equal(found[1], before[1])


def test_reading_on_is_reading_at_once() -> None:
    torch.manual_seed(0)
    reader = WordReader(9, 3, 4)
    at_once = reader(torch.tensor([[1, 2, 3, 4, 5]]), torch.tensor([5]))
    begun = reader(torch.tensor([[1, 2]]), torch.tensor([2]))
    torch.testing.assert_close(reader(torch.tensor([[3, 4, 5]]), torch.tensor([3]), begun), at_once)


@torch.no_grad()
def test_sentence_vectors_are_read_by_two_layers() -> None:
    reader = FeedForward(2, 2, 1)
    reader.inner.weight.copy_(torch.tensor([[1.0, 1.0], [1.0, -1.0]]))
    reader.outer.weight.copy_(torch.tensor([[10.0, 1.0]]))
    for bias in (reader.inner.bias, reader.outer.bias):
        bias.zero_()
    # (1, 2) -> (3, -1), cut at zero (3, 0) -> 30; (2, 1) -> (3, 1) -> 31.
    assert reader(torch.tensor([[1.0, 2.0], [2.0, 1.0]])).tolist() == [[30.0], [31.0]]


def test_matrices_start_within_xaviers_bound_and_biases_at_zero() -> None:
    torch.manual_seed(0)
    reader = WordReader(9, 3, 4)
    initialise_network(reader)
    # The three gates of a GRU are initialised as one matrix of 12 rows: sqrt(6 / (12 + 3)) for the words.
    bounds = {"gru.weight_ih_l0": sqrt(6 / 15), "gru.weight_hh_l0": sqrt(6 / 16), "embedding.weight": sqrt(6 / 12)}
    for name, parameter in reader.named_parameters():
        if "bias" in name:
            assert not parameter.any()
        else:
            assert 0.8 * bounds[name] < parameter.abs().max().item() <= bounds[name]
