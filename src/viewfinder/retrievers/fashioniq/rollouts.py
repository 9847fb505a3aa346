"""Talks with a simulated user, which training and validation hold: what is shown next is what was found last. In torch.

Axes: b talks, t turns, n garments of the kind that the talks are about, h numbers of a query and of a picture's vector.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viewfinder.retrievers.fashioniq.feedback import NO_WORD, Feedback, FeedbackNetwork
from viewfinder.retrievers.fashioniq.loss import feedback_turn_loss, likeness
from viewfinder.retrievers.fashioniq.settings import Preset
from viewfinder.retrievers.fashioniq.shelves import (
    FeedbackDialogues,
    GarmentKind,
    Places,
    split_dialogues,
    validation_dialogues,
)

DEPTH = 10
"""Validation's recall is that among so many."""

AT_ONCE = 128
"""Talks that validation holds at a time."""

TOLD = (1, 3, 5)
"""Turns whose figures validation tells, as the paper's tables do."""


class RolloutTurn(NamedTuple):
    """What came of a turn: queries, and how near the pictures of the kind are to them (without gradients).

    Pictures that are not to be shown any more are infinitely far, but for the target, which may still be found.
    """

    queries_bh: Float[Tensor, "b h"]
    scores_bn: Float[Tensor, "b n"]


def roll_out(
    network: FeedbackNetwork, shelf: GarmentKind, talks: FeedbackDialogues, *, exclude_shown: bool, state: Any = None
) -> Iterator[RolloutTurn]:
    """The talks turn by turn; after each the best picture is shown, even if it is the target (published).

    The pictures of the kind are embedded once, by the weights as they are; their vectors get no gradients, those of
    the pictures that are shown do. Talks that go on from others begin with their `state`.
    """
    with torch.no_grad():
        gallery_nh = network.looks.projected(shelf.read_nx)
    state = network.begin(len(talks.shown_b)) if state is None else state
    shown_b, seen_b = talks.shown_b, talks.seen_b
    passed_bn = torch.zeros(len(shown_b), len(shelf), dtype=torch.bool, device=shown_b.device)
    for turn in range(talks.words_btl.shape[1]):
        state, queries_bh = network.step(state, make_feedback(network, shelf, talks, turn, shown_b, seen_b))
        scores_bn = likeness(queries_bh.detach(), gallery_nh, network.looks.compare)
        if exclude_shown:
            passed_bn = passed_bn | (_at(shown_b, len(shelf)) & seen_b[:, None])
        wanted_bn = _at(talks.wanted_bt[:, turn], len(shelf))
        yield RolloutTurn(queries_bh, scores_bn.masked_fill(passed_bn & ~wanted_bn, -torch.inf))
        shown_b = scores_bn.masked_fill(passed_bn, -torch.inf).argmax(dim=1)
        seen_b = torch.ones_like(seen_b)


def make_feedback(
    network: FeedbackNetwork,
    shelf: GarmentKind,
    talks: FeedbackDialogues,
    turn: int,
    shown_b: Places,
    seen_b: Bool[Tensor, " b"],
) -> Feedback:
    """A turn as the network reads it: what is said of the pictures that are shown, and what these look like."""
    attributes_ba = shelf.attributes_na[shown_b].masked_fill(~(talks.attributed_b & seen_b)[:, None], NO_WORD)
    shown_bh = network.looks.projected(shelf.read_nx[shown_b])
    return Feedback(feedback_words(shelf, talks, turn, shown_b), attributes_ba, shown_bh, seen_b)


def feedback_words(shelf: GarmentKind, talks: FeedbackDialogues, turn: int, shown_b: Places) -> Int[Tensor, "b l"]:
    """What is said in a turn; a simulated user is asked where nothing is given."""
    words_bl = talks.words_btl[:, turn]
    asked_a = (~talks.given_bt[:, turn]).nonzero()[:, 0]
    if len(asked_a) and shelf.says is not None:
        rows = (shelf.row_n[places_b[asked_a]] for places_b in (shown_b, talks.wanted_bt[:, turn]))
        words_bl = words_bl.index_copy(0, asked_a, shelf.says(*rows).to(words_bl.device))
    return words_bl


def rollout_loss(
    network: FeedbackNetwork,
    shelf: GarmentKind,
    talks: FeedbackDialogues,
    preset: Preset,
    strangers_mx: Float[Tensor, "m x"] | None = None,
) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
    """The loss of talks, summed over turns; and "percentile", the mean of P over turns, as they find their targets.

    `strangers_mx`: pictures of other kinds that the targets are told from, where the loss is contrastive.
    """
    strangers_mh = None if strangers_mx is None else network.looks.projected(strangers_mx)
    lost, percentiles = [], []
    for turn, found in enumerate(roll_out(network, shelf, talks, exclude_shown=preset.exclude_shown)):
        others_bh = network.looks.projected(shelf.read_nx[talks.others_bt[:, turn]])
        targets_b = talks.wanted_bt[:, turn]
        targets_bh = network.looks.projected(shelf.read_nx[targets_b])
        rows = (found.queries_bh, targets_bh, others_bh, targets_b)
        lost.append(feedback_turn_loss(preset.loss, network.looks.compare, network.log_scale, *rows, strangers_mh))
        percentiles.append(rank_percentile(target_ranks(found.scores_bn, targets_b), len(shelf)).mean())
    return torch.stack(lost).sum(), {"percentile": torch.stack(percentiles).mean()}


def measure_rollouts(network: FeedbackNetwork, shelves: Sequence[GarmentKind], preset: Preset) -> dict[str, float]:
    """What validation measures in its fixed talks, as means over all of them.

    "percentile" is the mean over turns of P = 1 - rank / garments of the kind, "recall" that of Recall@10; and both
    after turns 1, 3 and 5.
    """
    ranks_t: list[list[Tensor]] = [[] for _ in range(preset.turns)]
    percentiles_t: list[list[Tensor]] = [[] for _ in range(preset.turns)]
    for whole in validation_dialogues(shelves, preset):
        shelf = shelves[whole.shelf]
        for talks in split_dialogues(whole, AT_ONCE):
            for turn, found in enumerate(roll_out(network, shelf, talks, exclude_shown=preset.exclude_shown)):
                rank_b = target_ranks(found.scores_bn, talks.wanted_bt[:, turn])
                ranks_t[turn].append(rank_b)
                percentiles_t[turn].append(rank_percentile(rank_b, len(shelf)))
    recall_t = [float((torch.cat(some) < DEPTH).double().mean()) for some in ranks_t]
    percentile_t = [float(torch.cat(some).double().mean()) for some in percentiles_t]
    told = [turn for turn in TOLD if turn <= preset.turns]
    return {
        "percentile": sum(percentile_t) / preset.turns,
        "recall": sum(recall_t) / preset.turns,
        **{f"percentile_{turn}": percentile_t[turn - 1] for turn in told},
        **{f"recall_{turn}": recall_t[turn - 1] for turn in told},
    }


def target_ranks(scores_bn: Float[Tensor, "b n"], targets_b: Places) -> Int[Tensor, " b"]:
    """How many pictures are strictly nearer than the target (published: ties favour the target)."""
    return (scores_bn > scores_bn.gather(1, targets_b[:, None])).sum(dim=1)


def rank_percentile(ranks_b: Int[Tensor, " b"], pictures: int) -> Float[Tensor, " b"]:
    """P = 1 - rank / pictures, from 0 to 1."""
    return 1 - ranks_b / pictures


def _at(places_b: Places, pictures: int) -> Bool[Tensor, "b n"]:
    """Where the picture of each talk is."""
    return torch.arange(pictures, device=places_b.device) == places_b[:, None]
