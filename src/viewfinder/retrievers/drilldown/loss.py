"""Drill-down's losses over a batch of dialogues: for finding the pictures, and for the policy that chooses slots."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from viewfinder.retrievers.drilldown.network import DrilldownNetwork, SlotStates
from viewfinder.retrievers.drilldown.settings import POLICY_WEIGHT, DrilldownLossSettings
from viewfinder.retrievers.shared.description_training import DialogueBatch
from viewfinder.retrievers.shared.network import (
    EPS,
    TRIPLET_LOSSES,
    contrastive_loss,
    paired_similarity,
    region_similarity,
)


def score_pictures(
    network: DrilldownNetwork, slots: SlotStates, vectors_nkd: Float[Tensor, "n k d"]
) -> Float[Tensor, "n b"]:
    """s(X, I) of every picture for every dialogue (Sec. 3.3)."""
    settings, (states_bmd, counts_bm) = network.settings, network.comparable_states(slots)
    found_nb = region_similarity(vectors_nkd, states_bmd, counts_bm, settings.factor)
    return found_nb / vectors_nkd.shape[1] if settings.share_of_regions else found_nb


def retrieval_loss(
    network: DrilldownNetwork, loss: DrilldownLossSettings, after: list[SlotStates], vectors_bkd: Float[Tensor, "b k d"]
) -> Float[Tensor, ""]:
    """The mean over turns, summed over the batch, of how badly pictures and dialogues find one another (Eq. 4)."""
    turns = []
    for slots in after:
        scores_bb = score_pictures(network, slots, vectors_bkd)
        if loss.kind == "contrastive":
            turns.append(contrastive_loss(scores_bb, network.log_scale.exp()).sum())
        else:
            turns.append(TRIPLET_LOSSES[loss.kind](scores_bb, loss.margin).sum())
    return torch.stack(turns).mean()


def pretraining_loss(
    network: DrilldownNetwork, loss: DrilldownLossSettings, batch: DialogueBatch
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of supervised pre-training (Sec. 3.5): slots are taken in turn (or written softly)."""
    vectors_bkd = network.project_pictures(batch.regions_bke, batch.whole_bg)
    after = network.read_dialogues(network.read(batch.said, batch.lengths_bt))
    return retrieval_loss(network, loss, after, vectors_bkd), {}


def joint_loss(
    network: DrilldownNetwork, loss: DrilldownLossSettings, batch: DialogueBatch
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of joint optimisation (Sec. 3.5): the look-ahead names the best slot, the policy learns it (Eq. 5)."""
    vectors_bkd = network.project_pictures(batch.regions_bke, batch.whole_bg)
    queries_btd = network.read(batch.said, batch.lengths_bt)
    slots, after, choosing, agrees = network.begin(len(queries_btd), queries_btd.device), [], [], []
    for turn, query_bd in enumerate(queries_btd.unbind(dim=1)):
        full = turn >= network.settings.slots
        chosen_b = None if full else network.choose_empty_slot(slots, turn)
        if full or loss.policy_turns == "all":
            # The policy learns from states it does not shape: what it reads is detached.
            logits_bm = network.policy_logits(query_bd.detach(), slots.states_bmd.detach())
            values_bm = slot_values(network, loss, slots.states_bmd.detach(), queries_btd, vectors_bkd, turn)
            best_b = values_bm.argmax(dim=-1)  # k* of Sec. 3.5
            choosing.append(cross_entropy(logits_bm, best_b, reduction="sum"))
            agrees.append((logits_bm.argmax(dim=-1) == best_b).float().mean())
            if full:
                chances_bm = torch.softmax(logits_bm.detach(), dim=-1)
                chosen_b = best_b if loss.executes == "look_ahead" else torch.multinomial(chances_bm, 1).squeeze(-1)
        assert chosen_b is not None
        slots = network.write(slots, query_bd, chosen_b)
        after.append(slots)
    found = retrieval_loss(network, loss, after, vectors_bkd)
    if not choosing:  # as many slots as turns: nothing is ever chosen
        return found, {"finding": found.detach()}
    chosen = torch.stack(choosing).mean()
    figures = {"finding": found.detach(), "choosing": chosen.detach(), "agrees": torch.stack(agrees).mean()}
    return found + POLICY_WEIGHT * chosen, figures


@torch.no_grad()
def slot_values(
    network: DrilldownNetwork,
    loss: DrilldownLossSettings,
    states_bmd: Float[Tensor, "b m d"],
    queries_btd: Float[Tensor, "b t d"],
    vectors_bkd: Float[Tensor, "b k d"],
    turn: int,
) -> Float[Tensor, "b m"]:
    """The value Q(X, k) of writing the query of `turn` into each slot (Sec. 3.5): the policy's teacher.

    The sum, over this turn and all that follow, of the gain in similarity over the states before the turn, without a
    discount (gamma = 1, Sec. 4). The paper sums the similarities themselves: the states before are the same for all
    slots, so the best slot is too. Later slots are drawn from the present policy, one draw an action. All slots count,
    empty ones too; the m alternatives of a dialogue are rolled out side by side. `vectors_bkd` are the wanted pictures'
    regions.
    """
    dialogues, slots, width = states_bmd.shape
    temperature = network.settings.factor

    def reward(alternatives_bamd: Tensor) -> Tensor:
        if loss.reward == "cosine":
            alternatives_bamd = normalize(alternatives_bamd, dim=-1, eps=EPS)
        return paired_similarity(vectors_bkd, alternatives_bamd, temperature)

    base_b1 = reward(states_bmd[:, None])
    written_bmd = network.update(queries_btd[:, turn, None].expand(states_bmd.shape), states_bmd)
    alternatives_bamd = states_bmd[:, None].expand(dialogues, slots, slots, width).clone()
    every_a = torch.arange(slots, device=states_bmd.device)
    alternatives_bamd[:, every_a, every_a] = written_bmd
    value_ba = reward(alternatives_bamd) - base_b1
    flat_nmd = alternatives_bamd.view(dialogues * slots, slots, width)
    rows_n = torch.arange(len(flat_nmd), device=states_bmd.device)
    for later in range(turn + 1, queries_btd.shape[1]):
        query_nd = queries_btd[:, later, None].expand(dialogues, slots, width).reshape(-1, width)
        chances_nm = torch.softmax(network.policy_logits(query_nd, flat_nmd), dim=-1)
        slot_n = torch.multinomial(chances_nm, 1).squeeze(-1)
        flat_nmd[rows_n, slot_n] = network.update(query_nd, flat_nmd[rows_n, slot_n])
        value_ba += reward(alternatives_bamd) - base_b1
    return value_ba
