"""The network that starts as the composer (benchmarks/turn_network.py)."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from network_data import Kind, Talks
from turn_network import WIDTH, Sizes, TurnNetwork, loss_of, score_talks

SMALL = Sizes(width=32, layers=2, heads=2, slots=3, dropout=0.0, unread=0.0, free=True)
PICTURES = 30


def make_talks(turns: list[int], seed: int = 0) -> Talks:
    """Conversations of so many turns: a sentence, and what the composer makes of it; all vectors as those of CLIP."""
    random = np.random.default_rng(seed)
    moments = sum(turns)
    dialogue_q, turn_q = np.repeat(np.arange(len(turns)), turns), np.concatenate([np.arange(turn) for turn in turns])

    def draw(rows: int) -> np.ndarray:
        vectors = random.standard_normal((rows, WIDTH)).astype(np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    return Talks(
        draw(PICTURES), (5 * random.standard_normal((moments, PICTURES))).astype(np.float32), dialogue_q, turn_q,
        random.integers(0, PICTURES, moments), draw(2 * moments), np.tile([Kind.SAID, Kind.COMPOSED], moments),
        np.repeat(turn_q, 2), np.zeros(2 * moments, int), np.repeat(dialogue_q, 2),
    )  # fmt: skip


def train(network: TurnNetwork, talks: Talks, steps: int) -> list[float]:
    """The loss before every step."""
    optimiser, lost = torch.optim.Adam(network.parameters(), 3e-3), []
    for _ in range(steps):
        loss = loss_of(network, talks, np.unique(talks.dialogue_q))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        lost.append(float(loss.detach()))
    return lost


@pytest.fixture(scope="module")
def trained() -> TurnNetwork:
    """A network that has learnt to say something of its own."""
    torch.manual_seed(0)
    network = TurnNetwork(SMALL)
    train(network, make_talks([3, 2, 3]), 10)
    return network


def test_an_untrained_network_is_the_composer() -> None:
    talks = make_talks([3, 1, 2])
    found_qn = score_talks(TurnNetwork(SMALL), talks, np.arange(3))
    assert np.abs(found_qn - talks.scores_qn).max() < 1e-6


def test_without_the_residual_it_is_not() -> None:
    talks = make_talks([2])
    found_qn = score_talks(TurnNetwork(replace(SMALL, residual=False)), talks, np.arange(1))
    assert np.abs(found_qn - talks.scores_qn).max() > 1


def test_training_lowers_the_loss() -> None:
    torch.manual_seed(0)
    lost = train(TurnNetwork(SMALL), make_talks([3, 2, 3]), 8)
    assert lost[1] < lost[0]
    assert lost[-1] < 0.9 * lost[0]


def test_a_later_turn_changes_no_earlier_query(trained: TurnNetwork) -> None:
    talks = make_talks([3])
    other_md = np.where(talks.turn_m[:, None] == 2, -talks.vectors_md, talks.vectors_md)
    before_qn, after_qn = (
        score_talks(trained, one, np.arange(1)) for one in (talks, replace(talks, vectors_md=other_md))
    )
    assert before_qn[:2] == pytest.approx(after_qn[:2], abs=1e-5)
    assert np.abs(before_qn[2] - after_qn[2]).max() > 0.01


def test_an_earlier_turn_counts_unless_history_is_left_out(trained: TurnNetwork) -> None:
    talks = make_talks([2])
    other_md = np.where((talks.turn_m == 0)[:, None], -talks.vectors_md, talks.vectors_md)
    forgetful = TurnNetwork(replace(SMALL, history=False))
    forgetful.load_state_dict(trained.state_dict())
    for network, is_heard in ((trained, True), (forgetful, False)):
        one_qn, other_qn = (
            score_talks(network, some, np.arange(1)) for some in (talks, replace(talks, vectors_md=other_md))
        )
        assert bool(np.abs(one_qn[1] - other_qn[1]).max() > 1e-3) is is_heard


def test_a_conversation_scores_as_it_does_beside_a_longer_one(trained: TurnNetwork) -> None:
    talks = make_talks([1, 4])
    alone_qn, beside_qn = (score_talks(trained, talks, np.arange(count)) for count in (1, 2))
    assert alone_qn[0] == pytest.approx(beside_qn[0], abs=1e-4)


def test_what_is_excluded_stays_so(trained: TurnNetwork) -> None:
    talks = make_talks([1])
    scores_qn = talks.scores_qn.copy()
    scores_qn[0, :4] = -np.inf
    found_qn = score_talks(trained, replace(talks, scores_qn=scores_qn), np.arange(1))
    assert np.flatnonzero(np.isneginf(found_qn[0])).tolist() == [0, 1, 2, 3]


def test_a_loss_among_some_pictures_is_that_of_a_gallery_of_these(trained: TurnNetwork) -> None:
    talks = replace(make_talks([2, 1]), target_q=np.array([4, 9, 4]))
    few = np.array([1, 4, 7, 9])
    few_talks = replace(
        talks, pictures_nd=talks.pictures_nd[few], scores_qn=talks.scores_qn[:, few], target_q=np.array([1, 3, 1])
    )
    among = loss_of(trained, talks, np.arange(2), np.array([1, 7]))  # and what is wanted
    assert float(among.detach()) == pytest.approx(float(loss_of(trained, few_talks, np.arange(2)).detach()), rel=1e-5)
