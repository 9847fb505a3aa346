"""The transformer over a dialogue, against the published formulas written out, and what its options do."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from viewfinder.errors import BadInput
from viewfinder.retrievers.fashioniq.network import Feedback, TransformerRetriever, pad_numbers
from viewfinder.retrievers.fashioniq.settings import TransformerModel
from viewfinder.retrievers.shared.network import WordVectors
from viewfinder.training.layers import sinusoid_positions

SMALL: dict[str, Any] = {"width": 16, "heads": 2, "layers": 2, "hidden": 24, "most_words": 3, "attributes": 2}
MODERN: dict[str, Any] = {
    "history": "incremental", "padding_mask": True, "turn_embeddings": True, "modality_embeddings": True,
    "compare": "cosine",
}  # fmt: skip
RAW_WIDTH = 12
DIALOGUES = 4


def network(**options: Any) -> TransformerRetriever:
    torch.manual_seed(1)
    settings = TransformerModel(**(SMALL | options))
    made = TransformerRetriever(settings, RAW_WIDTH, WordVectors(settings, torch.randn(9, 7), 9), 5)
    with torch.no_grad():  # so that no part is hidden by how it begins
        for name, parameter in made.named_parameters():
            if name.endswith(("bias", "turns", "modalities")):
                parameter.normal_()
    return made


def feedback(made: TransformerRetriever, seed: int) -> Feedback:
    """Words (one to three), two attributes, and a picture, in all dialogues."""
    torch.manual_seed(seed)
    words_bl = torch.randint(1, 10, (DIALOGUES, 3)) * (torch.arange(3) <= torch.randint(0, 3, (DIALOGUES, 1)))
    shown_bh = made.looks(torch.randn(DIALOGUES, RAW_WIDTH))
    return Feedback(words_bl, torch.randint(1, 6, (DIALOGUES, 2)), shown_bh, torch.ones(DIALOGUES, dtype=torch.bool))


def queries(made: TransformerRetriever, turns: list[Feedback]) -> list[Float[Tensor, "b h"]]:
    state, found = made.begin(DIALOGUES), []
    for turn in turns:
        state, query_bh = made.step(state, turn)
        found.append(query_bh)
    return found


def test_the_published_form_is_its_formulas() -> None:
    made = network()
    turns = [feedback(made, seed) for seed in range(3)]
    tokens = []
    for turn in turns:
        tokens += [
            made.word_norm(torch.zeros(DIALOGUES, 1, 16)),
            made.word_norm(made.word(made.words.table[turn.words_bl])),
            made.attribute_norm(made.attribute.weight[turn.attributes_ba]),
            turn.picture_bh[:, None],
        ]
    tokens_blh = torch.cat(tokens, dim=1)
    assert tokens_blh.shape[1] == 3 * (1 + 3 + 2 + 1)
    encoded_blh = made.encoder(math.sqrt(16) * tokens_blh + sinusoid_positions(21, 16))
    expected_bh = made.head(torch.relu(encoded_blh.mean(dim=1)))
    assert torch.allclose(queries(made, turns)[-1], expected_bh, atol=1e-5)


@torch.no_grad()
def test_a_start_token_is_a_word_of_zeros_before_one_word_less() -> None:
    made = network(start_token=True)
    turn = feedback(made, 0)._replace(words_bl=torch.tensor([[1, 2, 3], [4, 5, 0], [6, 0, 0], [0, 0, 0]]))
    read = torch.tensor([[0, 1, 2], [0, 4, 5], [0, 6, 0], [0, 0, 0]])
    expected, found = (
        one.tokens(0, said)[0] for one, said in ((network(), turn._replace(words_bl=read)), (made, turn))
    )
    torch.testing.assert_close(found, expected)
    with pytest.raises(BadInput, match="start_token"):
        TransformerModel(start_token=True, padding_mask=True)


@pytest.mark.parametrize("masked", [True, False])
def test_an_incremental_history_is_a_whole_one_whose_turns_look_back_only(masked: bool) -> None:
    made = network(**MODERN | {"padding_mask": masked})
    turns = [feedback(made, seed) for seed in range(4)]
    tokens = [made.tokens(number, turn) for number, turn in enumerate(turns)]
    tokens_blh, there_bl = (torch.cat(parts, dim=1) for parts in zip(*tokens, strict=True))
    turn_l = torch.arange(4).repeat_interleave(7)
    mask_bll = (turn_l[:, None] >= turn_l) & there_bl[:, None]
    encoded_blh = made.encoder(tokens_blh, mask_bll)
    for number, query_bh in enumerate(queries(made, turns)):
        heard_bl1 = (there_bl & (turn_l <= number))[..., None]
        mean_bh = (encoded_blh * heard_bl1).sum(dim=1) / heard_bl1.sum(dim=1)
        expected_bh = torch.nn.functional.normalize(made.head(torch.relu(mean_bh)), dim=-1)
        assert torch.allclose(query_bh, expected_bh, atol=1e-5)


def test_only_a_whole_history_lets_earlier_turns_look_at_later_ones() -> None:
    for history, same in (("incremental", True), ("whole", False)):
        made = network(history=history)
        one, two, other = (feedback(made, seed) for seed in range(3))
        seen = []
        for later in (two, other):  # what the encoder makes of the first turn, told by what it sums up to
            state = made.begin(DIALOGUES)
            for turn in (one, later):
                state, _ = made.step(state, turn)
            layers = state.seen
            seen.append(layers[-1].values_bnlv[:, :, :7] if layers else made.encoder(state.tokens_blh)[:, :7])
        assert torch.allclose(seen[0], seen[1], atol=1e-6) == same


def test_places_without_words_matter_only_without_a_padding_mask() -> None:
    for masked, same in ((True, True), (False, False)):
        made = network(padding_mask=masked)
        turn = feedback(made, 0)
        nothing_bl = torch.zeros(DIALOGUES, 3, dtype=torch.long)
        before = made.step(made.begin(DIALOGUES), turn._replace(words_bl=nothing_bl))[1]
        with torch.no_grad():
            made.word.bias.normal_()  # of this the vectors of missing words are made
        after = made.step(made.begin(DIALOGUES), turn._replace(words_bl=nothing_bl))[1]
        assert torch.allclose(before, after, atol=1e-6) == same


@pytest.mark.parametrize("options", [{}, MODERN])
def test_what_is_not_shown_is_not_read(options: dict[str, Any]) -> None:
    made = network(**options)
    turn = feedback(made, 0)._replace(shown_b=torch.tensor([True, False, True, False]))
    other = turn._replace(picture_bh=torch.full_like(turn.picture_bh, 9.0))
    (before,), (after,) = queries(made, [turn]), queries(made, [other])
    assert (before == after).all(dim=1).tolist() == [False, True, False, True]


def test_dialogues_do_not_touch_one_another() -> None:
    made = network(**MODERN).eval()
    turns = [feedback(made, seed) for seed in range(3)]
    together = queries(made, turns)[-1]
    state = made.begin(1)
    for turn in turns:
        state, alone_1h = made.step(state, Feedback(*(part[2:3] for part in turn)))
    assert torch.allclose(alone_1h, together[2:3], atol=1e-6)


def test_turns_after_the_last_known_one_share_its_embedding() -> None:
    made = network(**MODERN)
    turn = feedback(made, 0)
    places_lh = sinusoid_positions(8 * 7, 16)
    # Of 5 turns each has an embedding of its own: that of the fifth is shared by the eighth.
    first, fifth, eighth = (made.tokens(number, turn)[0] - places_lh[7 * number :][:7] for number in (0, 4, 7))
    assert torch.allclose(fifth, eighth, atol=1e-5)
    assert not torch.allclose(first, fifth, atol=1e-2)


def test_every_part_learns_from_the_last_turn_but_frozen_words() -> None:
    made = network(**MODERN | {"compare": "l2"})
    last_bh = queries(made, [feedback(made, seed) for seed in range(3)])[-1]
    torch.autograd.backward(last_bh.square().sum())
    still = {name for name, parameter in made.named_parameters() if parameter.grad is None or not parameter.grad.any()}
    # What is added to all keys alike cancels out in the softmax of attention.
    assert {name for name in still if "key.bias" not in name} <= {"log_scale"}
    assert made.attribute.weight.grad is not None
    assert not made.attribute.weight.grad[0].any()


def test_rows_are_cut_or_filled_to_a_number_of_words() -> None:
    numbers_bl = torch.tensor([[4, 5, 6]])
    assert pad_numbers(numbers_bl, 2).tolist() == [[4, 5]]
    assert pad_numbers(numbers_bl, 5).tolist() == [[4, 5, 6, 0, 0]]
