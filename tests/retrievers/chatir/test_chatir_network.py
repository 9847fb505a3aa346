"""The dialogue encoder in torch: what it reads, what it must not see, and where it puts pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import TypeCheckError
from torch import Tensor, nn

from viewfinder.retrievers.chatir.network import (
    MAX_TEXTS_AT_ONCE,
    SentenceDialogueEncoder,
    TokenDialogueEncoder,
    build_text_encoder,
)
from viewfinder.retrievers.chatir.settings import PROBE, ModelSettings
from viewfinder.testing import ColourEncoder

SMALL = ModelSettings(width=8, heads=2, hidden=12, rounds=3, image_width=5, dropout=0.5)
BERT = {
    "model_type": "bert",
    "vocab_size": 20,
    "hidden_size": 8,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 12,
}


def network(**changes: Any) -> SentenceDialogueEncoder:
    torch.manual_seed(1)
    return SentenceDialogueEncoder(replace(SMALL, **changes), raw_width=6, sentence_width=4).eval()


def said(there: list[list[bool]]) -> tuple[Tensor, Tensor, Tensor]:
    """Dialogues of drawn sentence vectors."""
    torch.manual_seed(2)
    return torch.randn(len(there), 4), torch.randn(len(there), len(there[0]) - 1, 8), torch.tensor(there)


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_a_dialogue_is_read_as_if_it_were_alone(pooling: str) -> None:
    """Nothing of what is not there, and nothing of its neighbours, has a part in it."""
    reads = network(pooling=pooling)
    captions, rounds, there = said([[True, True, True, False], [True, False, False, False], [False, True, False, True]])
    together = reads.encode_dialogues(captions, rounds, there)
    for row in range(3):
        other = torch.where(there[row, 1:, None], rounds[row], torch.full_like(rounds[row], 99.0))[None]
        alone = reads.encode_dialogues(captions[row : row + 1], other, there[row : row + 1])
        torch.testing.assert_close(together[row], alone[0])
    torch.testing.assert_close(together.norm(dim=1), torch.ones(3))


def test_the_order_of_rounds_counts() -> None:
    captions, rounds, there = said([[True, True, True, True]])
    reads = network()
    assert (
        reads.encode_dialogues(captions, rounds, there) - reads.encode_dialogues(captions, rounds.flip(1), there)
    ).abs().max() > 1e-3


def test_captions_alone_are_read_by_a_network_without_rounds() -> None:
    reads = network(rounds=0)
    captions, rounds, there = said([[True], [True]])
    assert reads.encode_dialogues(captions, rounds, there).shape == (2, 5)
    assert not hasattr(reads, "round")


def test_training_drops_numbers_and_a_search_does_not() -> None:
    captions, rounds, there = said([[True, True, True, True]])
    reads = network()
    torch.testing.assert_close(
        reads.encode_dialogues(captions, rounds, there), reads.encode_dialogues(captions, rounds, there)
    )
    reads.train()
    assert not torch.equal(
        reads.encode_dialogues(captions, rounds, there), reads.encode_dialogues(captions, rounds, there)
    )


def test_every_weight_has_a_part_in_the_vector() -> None:
    reads = network(pooling="mean")
    torch.autograd.backward(reads.encode_dialogues(*said([[True, True, True, True]])).sum())
    silent = [name for name, weight in reads.named_parameters() if weight.grad is None]
    assert silent == ["log_scale"]


# -- tokens


def texts(count: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(3)
    lengths = torch.arange(count) * 7 % 5 + 2
    there = torch.arange(6) < lengths[:, None]
    return torch.randint(1, 20, (count, 6)) * there, there


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_texts_of_any_length_are_read_as_if_alone(pooling: str) -> None:
    settings = ModelSettings(reads="tokens", image_width=5, pooling="first" if pooling == "first" else "mean")
    torch.manual_seed(1)
    reads = TokenDialogueEncoder(settings, 6, build_text_encoder(BERT)).eval()
    ids, there = texts(MAX_TEXTS_AT_ONCE + 3)
    together = reads.encode_dialogues(ids, there)
    for row, length in enumerate(there.sum(dim=1).tolist()):
        alone = reads.encode_dialogues(ids[row : row + 1, :length], there[row : row + 1, :length])
        torch.testing.assert_close(together[row], alone[0], atol=1e-5, rtol=1e-4)


def test_of_a_text_encoder_the_last_layers_train() -> None:
    reads = TokenDialogueEncoder(ModelSettings(reads="tokens", train_layers=1), 6, build_text_encoder(BERT))
    trained = {name.split(".")[0] if "layer." not in name else name.split(".")[3] for name in names(reads)}
    assert trained == {"log_scale", "2", "out"}
    assert len(names(TokenDialogueEncoder(ModelSettings(reads="tokens"), 6, build_text_encoder(BERT)))) > 40


def names(reads: TokenDialogueEncoder) -> list[str]:
    return [name for name, _ in reads.named_parameters() if reads.trains(name)]


# -- pictures


def raw(count: int = 40, width: int = 6) -> np.ndarray:
    """Rows whose numbers differ in scale, and hang together."""
    rng = np.random.default_rng(4)
    return (rng.standard_normal((count, width)) @ rng.standard_normal((width, width)) * 3 + 1).astype(np.float32)


def test_pictures_that_were_measured_lie_around_the_origin_and_no_picture_stays_zeros() -> None:
    reads = network(image="whitened")
    reads.measure_pictures(raw(), ColourEncoder())
    vectors = reads.encode_pictures(torch.from_numpy(np.concatenate([raw(), np.zeros((1, 6), np.float32)]))).detach()
    torch.testing.assert_close(vectors[:-1].norm(dim=1), torch.ones(40))
    assert vectors[:-1].mean(dim=0).norm() < 0.3
    assert not vectors[-1].any()


def test_a_space_that_is_learnt_has_weights_and_one_that_is_shared_takes_vectors_as_they_come() -> None:
    learned, shared = network(image="learned"), network(image="shared", image_width=48)
    assert isinstance(learned.project, nn.Linear)
    shared.measure_pictures(raw(), ColourEncoder())
    torch.testing.assert_close(shared.encode_pictures(torch.tensor([[3.0, 4.0]])), torch.tensor([[0.6, 0.8]]))
    np.testing.assert_allclose(shared.get_buffer("shared_probe").numpy(), ColourEncoder().words([PROBE])[0])


def test_vectors_of_another_width_are_refused_before_anything_is_computed() -> None:
    with pytest.raises((RuntimeError, TypeCheckError)):
        network().encode_pictures(torch.zeros(2, 7) + 1)
