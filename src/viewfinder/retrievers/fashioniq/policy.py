"""Policy improvement: after supervised training, learn which picture is worth showing (Guo et al. 2018,
model-based policy improvement).

A frozen copy of the network names its nearest pictures. Each of them is shown to the simulated user, and from there the
copy holds the talk to its end. The one after which the target ranks best is what the network is to come near to, rather
than to random ones, beside the target itself. How pictures look stays as it is. In torch.

Axes: b talks, k candidates, o random pictures, c choices (the best candidate, and random pictures), n garments of the
kind that the talks are about, h numbers of a query and of a picture's vector.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from viewfinder.retrievers.fashioniq.loss import likeness
from viewfinder.retrievers.fashioniq.recurrent import RecurrentRetriever
from viewfinder.retrievers.fashioniq.rollouts import make_feedback, rank_percentile, roll_out, target_ranks
from viewfinder.retrievers.fashioniq.settings import PolicySettings, Preset
from viewfinder.retrievers.fashioniq.shelves import FeedbackDialogues, GarmentKind, dialogue_batches, move_kind
from viewfinder.retrievers.fashioniq.train import FashionIqTrainingData, make_job
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.training import Constant, TrainingResult


def improve_policy(plan: TrainPlan, preset: Preset, material: FashionIqTrainingData) -> TrainingResult:
    """The second stage, in OUT/policy, from the network as it is; validated as the first."""
    first, policy = make_job(plan, preset, material), preset.policy
    frozen = copy.deepcopy(material.network).requires_grad_(False).eval()

    @cache
    def on(device: torch.device) -> tuple[GarmentKind, ...]:
        frozen.to(device)
        return tuple(move_kind(shelf, device) for shelf in material.train)

    def lost(module: nn.Module, talks: FeedbackDialogues) -> tuple[Tensor, dict[str, Tensor]]:
        assert isinstance(module, RecurrentRetriever) and isinstance(frozen, RecurrentRetriever)
        return policy_loss(module, frozen, on(module.log_scale.device)[talks.shelf], talks, policy)

    settings = replace(
        first.settings, learning_rate=policy.learning_rate, epochs=policy.epochs, steps=None, schedule=Constant()
    )
    second = replace(
        first,
        batches=dialogue_batches(material.train, replace(preset, batch=policy.batch)),
        loss=lost,
        settings=settings,
        trainable=_trains,
    )
    return plan.fit(second, plan.out / "policy")


def _trains(name: str) -> bool:
    """Whether a parameter is trained: what looks at pictures is not."""
    return not name.startswith("looks.") and name != "log_scale"


def policy_loss(
    network: RecurrentRetriever,
    frozen: RecurrentRetriever,
    shelf: GarmentKind,
    talks: FeedbackDialogues,
    policy: PolicySettings,
) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
    """The loss of talks, summed over turns; and "percentile", the mean of P over turns, as they find their targets.

    After every turn the best candidate is shown (published): talks are those that the network is to learn to hold.
    """
    size, turns = talks.given_bt.shape
    state, frozen_state = network.begin(size), frozen.begin(size)
    shown_b, seen_b = talks.shown_b, talks.seen_b
    lost, percentiles = [], []
    with torch.no_grad():
        gallery_nh = frozen.looks.projected(shelf.read_nx)
    for turn in range(turns):
        with torch.no_grad():
            feedback = make_feedback(frozen, shelf, talks, turn, shown_b, seen_b)
            frozen_state, frozen_bh = frozen.step(frozen_state, feedback)
            nearness_bn = likeness(frozen_bh, gallery_nh, frozen.looks.compare)
            candidates_bk = nearness_bn.topk(min(policy.candidates, len(shelf)), dim=1).indices
            ranks_bk = try_candidates(frozen, shelf, talks, turn, frozen_state, candidates_bk)
            best_b = candidates_bk.gather(1, ranks_bk.argmin(dim=1, keepdim=True))[:, 0]
        state, queries_bh = network.step(state, feedback)
        others_bo = torch.randint(len(shelf), (size, policy.negatives), device=best_b.device)
        choices_bch = gallery_nh[torch.cat([best_b[:, None], others_bo], dim=1)]
        lost.append(choice_loss(queries_bh, choices_bch, gallery_nh[talks.targets_b], policy.temperature))
        scores_bn = likeness(queries_bh.detach(), gallery_nh, network.looks.compare)
        percentiles.append(rank_percentile(target_ranks(scores_bn, talks.targets_b), len(shelf)).mean())
        shown_b, seen_b = best_b, torch.ones_like(seen_b)
    return torch.stack(lost).sum(), {"percentile": torch.stack(percentiles).mean()}


def try_candidates(
    frozen: RecurrentRetriever,
    shelf: GarmentKind,
    talks: FeedbackDialogues,
    turn: int,
    state_bh: Float[Tensor, "b h"],
    candidates_bk: Int[Tensor, "b k"],
) -> Int[Tensor, "b k"]:
    """How the target ranks in the turns after this one, summed, where a candidate is shown now.

    As published talks are held for one turn more than they have, so that what is shown last counts too.
    """
    turns, count = talks.given_bt.shape[1], candidates_bk.shape[1]
    rest = [min(later, turns - 1) for later in range(turn + 1, turns + 1)]
    shown = talks._replace(seen_b=torch.ones_like(talks.seen_b), words_btl=talks.words_btl[:, rest])
    shown = shown._replace(given_bt=talks.given_bt[:, rest], wanted_bt=talks.wanted_bt[:, rest])
    each = FeedbackDialogues(talks.shelf, *(part.repeat_interleave(count, dim=0) for part in shown[1:]))
    each = each._replace(shown_b=candidates_bk.flatten())
    held = roll_out(frozen, shelf, each, exclude_shown=False, state=state_bh.repeat_interleave(count, dim=0))
    return torch.stack([target_ranks(found.scores_bn, each.targets_b) for found in held]).sum(dim=0).view(-1, count)


def choice_loss(
    queries_bh: Float[Tensor, "b h"],
    choices_bch: Float[Tensor, "b c h"],
    targets_bh: Float[Tensor, "b h"],
    temperature: float,
) -> Float[Tensor, ""]:
    """Cross-entropy of the first choice over -d^2 / temperature, plus d^2 to the target; means over talks.

    d^2 is the squared distance of the query (Guo et al. 2018, and their code for the second term).
    """
    logits_bc = -(queries_bh[:, None] - choices_bch).square().sum(dim=-1) / temperature
    first_b = torch.zeros(len(queries_bh), dtype=torch.long, device=queries_bh.device)
    to_target_b = (queries_bh - targets_bh).square().sum(dim=-1)
    return cross_entropy(logits_bc, first_b) + to_target_b.mean()
