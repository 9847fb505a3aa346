"""Learning which question comes next, by imitation of talks. In torch; `questioners.trained.selector` runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, relu

from viewfinder.questioners.trained.selector import MOST_ROUNDS
from viewfinder.retrievers.shared.sentences import SentenceVectors
from viewfinder.training import Batches, shuffled
from viewfinder.tuning.pool import PoolEntry, normalized_question
from viewfinder.tuning.talks import QuestionDialogues

NOT_THERE = -100
"""The target of a question that is not in the pool; torch leaves it out."""

DEPTHS = (1, 5, 10)


class SelectorBatch(NamedTuple):
    """Talks as sentence vectors; `targets_br` are the pool's numbers of the questions."""

    captions_bs: Float[Tensor, "b s"]
    rounds_brt: Float[Tensor, "b r two_s"]
    targets_br: Int[Tensor, "b r"]


class SelectorData:
    """Talks by number, ready to be batched; the questions that are in the pool are what is to be foretold."""

    def __init__(self, talks: QuestionDialogues, pool: Sequence[PoolEntry], vectors: SentenceVectors) -> None:
        place = {question.text: at for at, question in enumerate(pool)}
        self._vectors = vectors
        self._talks = talks.dialogues
        self._longest = max(len(talk.rounds) for talk in talks.dialogues)
        self.targets_nr = np.full((len(talks), self._longest), NOT_THERE)
        for row, talk in enumerate(talks.dialogues):
            for turn, said in enumerate(talk.rounds):
                self.targets_nr[row, turn] = place.get(normalized_question(said.question), NOT_THERE)

    def batch(self, rows_b: Int[np.ndarray, " b"]) -> SelectorBatch:
        """Some of the talks."""
        talks = [self._talks[row] for row in rows_b]
        captions_bs = self._of([talk.caption for talk in talks])
        width = captions_bs.shape[1]
        rounds_brt = np.zeros((len(talks), self._longest, 2 * width), np.float32)
        for row, talk in enumerate(talks):
            rounds_brt[row, : len(talk.rounds), :width] = self._of([said.question for said in talk.rounds])
            rounds_brt[row, : len(talk.rounds), width:] = self._of([said.answer for said in talk.rounds])
        return SelectorBatch(*map(torch.from_numpy, (captions_bs, rounds_brt, self.targets_nr[rows_b])))

    def _of(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        return np.asarray(self._vectors.matrix_ns[self._vectors.rows(texts)], np.float32)

    def epoch(self, size: int, epoch: int, seed: int) -> Batches[SelectorBatch]:
        """What a `training.Job` calls batches."""
        return shuffled(len(self._talks), min(size, len(self._talks)), self.batch, epoch=epoch, seed=seed)


class SelectorNetwork(nn.Module):
    """The talk so far, as its caption, the mean of its rounds and the last of them, against every question."""

    pool_qs: Tensor
    asked_q: Tensor

    def __init__(self, pool_qs: Float[Tensor, "q s"], asked_q: Float[Tensor, " q"], hidden: int, width: int) -> None:
        super().__init__()
        sentence = pool_qs.shape[1]
        self.caption = nn.Linear(sentence, hidden, bias=False)
        self.round = nn.Linear(2 * sentence, hidden)
        self.last = nn.Linear(2 * sentence, hidden, bias=False)
        self.count = nn.Embedding(MOST_ROUNDS + 1, hidden)
        self.talk = nn.Linear(hidden, width)
        self.question = nn.Linear(sentence, width, bias=False)
        self.bias_q = nn.Parameter(torch.log(asked_q / asked_q.sum()))
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("pool_qs", pool_qs, persistent=False)
        self.register_buffer("asked_q", asked_q, persistent=False)
        nn.init.normal_(self.question.weight, std=4 / sentence**0.5)
        nn.init.normal_(self.count.weight, std=0.02)

    def forward(self, batch: SelectorBatch) -> Float[Tensor, "b r q"]:
        """For every round, how much each question is due before it."""
        rounds_brh = relu(self.round(batch.rounds_brt))
        before_brh = torch.cat([torch.zeros_like(rounds_brh[:, :1]), rounds_brh.cumsum(dim=1)[:, :-1]], dim=1)
        number_r = torch.arange(rounds_brh.shape[1], device=rounds_brh.device)
        last_brt = torch.cat([torch.zeros_like(batch.rounds_brt[:, :1]), batch.rounds_brt[:, :-1]], dim=1)
        hidden_brh = (
            self.caption(batch.captions_bs)[:, None]
            + before_brh / number_r.clamp(min=1)[:, None]
            + self.last(last_brt)
            + self.count(number_r.clamp(max=MOST_ROUNDS))
        )
        talk_brk = self.talk(self.dropout(relu(hidden_brh)))
        logits_brq: Tensor = talk_brk @ self.question(self.pool_qs).T + self.bias_q
        return logits_brq

    def arrays(self) -> dict[str, Tensor]:
        """The weights as `Selector` has them."""
        return {
            "selector.caption_hs": self.caption.weight,
            "selector.round_ht": self.round.weight,
            "selector.round_h": self.round.bias,
            "selector.last_ht": self.last.weight,
            "selector.count_nh": self.count.weight,
            "selector.talk_kh": self.talk.weight,
            "selector.talk_k": self.talk.bias,
            "selector.pool_qk": self.question(self.pool_qs),
            "selector.bias_q": self.bias_q,
        }


def selector_loss(network: nn.Module, batch: SelectorBatch) -> tuple[Tensor, Mapping[str, Tensor]]:
    """Cross-entropy of the questions that were asked, over the pool; questions outside it count nothing."""
    logits_brq = network(batch)
    return cross_entropy(logits_brq.flatten(0, 1), batch.targets_br.flatten(), ignore_index=NOT_THERE), {}


def selector_figures(network: nn.Module, data: SelectorData) -> dict[str, float]:
    """Of held-out questions that are in the pool: loss, and how many of them are among the k the network ranks first.

    "frequency@k" is the same for always ranking by how often questions are asked; "in_pool" the share of held-out
    questions that the pool has.
    """
    assert isinstance(network, SelectorNetwork)
    losses, ranks_of, common = [], [], []
    order_q = torch.argsort(torch.argsort(network.asked_q, descending=True, stable=True))
    for at in range(0, len(data.targets_nr), 64):
        batch = data.batch(np.arange(at, min(at + 64, len(data.targets_nr))))
        there = batch.targets_br != NOT_THERE
        logits_mq, targets_m = network(batch)[there], batch.targets_br[there]
        losses.append(cross_entropy(logits_mq, targets_m, reduction="none"))
        ranks_of.append((logits_mq > logits_mq.gather(1, targets_m[:, None])).sum(dim=1))
        common.append(order_q[targets_m])
    rank_m, common_m = torch.cat(ranks_of), torch.cat(common)
    figures = {"loss": torch.cat(losses).mean().item(), "in_pool": float((data.targets_nr != NOT_THERE).mean())}
    for depth in DEPTHS:
        figures[f"recall@{depth}"] = (rank_m < depth).float().mean().item()
        figures[f"frequency@{depth}"] = (common_m < depth).float().mean().item()
    return figures
