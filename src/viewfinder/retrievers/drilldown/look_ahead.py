"""The policy's teacher: which slot, if this query went there, would serve the rest of the dialogue best.

Tan et al. 2019, Sec. 3.5: the value Q(X, k) of writing into slot k is the discounted sum of rewards until the end of
the dialogue, when later slots are drawn from the present policy; one draw an action. Nothing here has a gradient.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from viewfinder.retrievers.drilldown.network import DrilldownNetwork
from viewfinder.retrievers.drilldown.settings import LossSettings
from viewfinder.retrievers.shared.network import EPS, paired_similarity


@torch.no_grad()
def slot_values(
    network: DrilldownNetwork,
    loss: LossSettings,
    states_bmd: Float[Tensor, "b m d"],
    queries_btd: Float[Tensor, "b t d"],
    vectors_bkd: Float[Tensor, "b k d"],
    turn: int,
) -> Float[Tensor, "b m"]:
    """The value of writing the query of `turn` into each slot; `vectors_bkd` are the wanted pictures' regions.

    The sum, over this turn and all that follow, of discount^(turns ahead) times the gain in similarity over the states
    before the turn. The paper sums the similarities themselves: the states before are the same for all slots, so the
    best slot is too. All slots count, empty ones too. The m alternatives of a dialogue are rolled out side by side.
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
        value_ba += loss.discount ** (later - turn) * (reward(alternatives_bamd) - base_b1)
    return value_ba
