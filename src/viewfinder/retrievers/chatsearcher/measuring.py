"""What validation measures of ChatSearcher, and how much it is to lean to pictures. In torch.

Axes: q pictures that are looked for, n pictures among which, k answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from viewfinder.retrievers.chatsearcher.batch import SentenceLookup, SequenceBatch
from viewfinder.retrievers.chatsearcher.course import StageExamples
from viewfinder.retrievers.chatsearcher.looks import PictureFeatures
from viewfinder.retrievers.chatsearcher.material import TrainingData
from viewfinder.retrievers.chatsearcher.network import ChatSearcherNetwork
from viewfinder.retrievers.chatsearcher.sequence import SequenceCodec
from viewfinder.retrievers.chatsearcher.settings import Stage

DEPTH = 10
"""Validation's recall is that among so many."""

MOST = 200
"""Lessons of a kind that are measured, the first ones."""

AT_ONCE = 64

Roll = Callable[[ChatSearcherNetwork, PictureFeatures, SequenceBatch], tuple[Tensor, dict[str, Tensor]]]


@dataclass(frozen=True, eq=False)
class ValidationExamples:
    """The lessons that a stage is measured on, in batches of one kind."""

    course: StageExamples
    kinds: tuple[tuple[str, tuple[int, ...]], ...]

    @staticmethod
    def of(
        stage: Stage, val: TrainingData, codec: SequenceCodec, longest: int, sentences: SentenceLookup | None
    ) -> ValidationExamples:
        """Of a stage.

        Raises:
            BadInput: there are no lessons.
        """
        first = {kind: lessons[:MOST] for kind, lessons in val.lessons.items()}
        course = StageExamples.of(stage, first, codec, val.rows, longest, sentences)
        numbers, kinds = iter(range(len(course.lessons))), []
        for kind, count in course.counts.items():
            own = [next(numbers) for _ in range(count)]
            kinds += [(kind, tuple(own[at : at + AT_ONCE])) for at in range(0, count, AT_ONCE)]
        return ValidationExamples(course, tuple(kinds))


def validate_stage(
    network: ChatSearcherNetwork, looks: PictureFeatures, exam: ValidationExamples, roll: Roll
) -> dict[str, float]:
    """The loss, and R@10 of the last picture of every lesson among all those that are wanted, as mean over kinds."""
    queries: dict[str, list[Tensor]] = {}
    rows: dict[str, list[Tensor]] = {}
    losses = []
    for kind, numbers in exam.kinds:
        batch = _on(network, exam.course.batch(np.array(numbers)))
        loss, _ = roll(network, looks, batch)
        losses.append(float(loss) * len(numbers))
        last_q = _last_wanted(batch)
        if len(last_q):
            states_ph = network(batch, looks.of(batch.rows_c)).flatten(0, 1)
            queries.setdefault(kind, []).append(network.queries(states_ph[batch.cls_c[last_q] - 1]))
            rows.setdefault(kind, []).append(batch.rows_c[last_q])
    figures = {"loss": sum(losses) / max(len(exam.course.lessons), 1)}
    if not rows:
        return figures
    gallery_n = torch.unique(torch.cat([row for some in rows.values() for row in some]))  # sorted
    pictures_nd = network.pictures(looks.whole_nx[gallery_n])
    for kind, found in queries.items():
        figures[f"recall_{kind}"] = recall_among(
            torch.cat(found) @ pictures_nd.T, torch.searchsorted(gallery_n, torch.cat(rows[kind]))
        )
    of_kinds = [figure for name, figure in figures.items() if name.startswith("recall_")]
    return {**figures, "recall": sum(of_kinds) / len(of_kinds)}


def recall_among(scores_qn: Float[Tensor, "q n"], right_q: Tensor, depth: int = DEPTH) -> float:
    """The share of queries whose picture is among the best."""
    own_q1 = scores_qn.gather(1, right_q[:, None])
    # Not "more than": a network whose numbers are none must not seem to find everything.
    better_q = (~(scores_qn <= own_q1)).sum(dim=1)
    return float((better_q < depth).double().mean())


@torch.no_grad()
def choose_picture_bias(
    network: ChatSearcherNetwork, looks: PictureFeatures, exam: ValidationExamples, default: float
) -> float:
    """What to add to the score of [IMG] so that answers begin with pictures where those of validation do.

    It is measured at the beginning of every answer; answers in pictures and in words weigh alike.
    """
    found = [
        _margins(network, looks, _on(network, exam.course.batch(np.array(numbers))), exam.course.codec)
        for _, numbers in exam.kinds
    ]
    margins_k = torch.cat([margins for margins, _ in found]).double().cpu().numpy()
    shows_k = torch.cat([shows for _, shows in found]).cpu().numpy()
    return best_threshold(margins_k[shows_k], margins_k[~shows_k]) if 0 < shows_k.sum() < len(shows_k) else default


def best_threshold(shows_i: Float64[np.ndarray, " i"], says_j: Float64[np.ndarray, " j"]) -> float:
    """What to add so that as many of the first as possible are at least 0, and as many of the second below.

    >>> threshold(np.array([-1.0, 2.0]), np.array([-5.0, -3.0]))
    2.0
    """
    marks = np.unique(np.concatenate([shows_i, says_j]))
    between = np.concatenate([[marks[0] - 1], (marks[1:] + marks[:-1]) / 2, [marks[-1] + 1]])
    right = [(shows_i >= mark).mean() + (says_j < mark).mean() for mark in between]
    return -float(between[int(np.argmax(right))])


def _margins(
    network: ChatSearcherNetwork, looks: PictureFeatures, batch: SequenceBatch, codec: SequenceCodec
) -> tuple[Float[Tensor, " k"], Bool[Tensor, " k"]]:
    """How much better [IMG] is than any other piece, where an answer of a batch begins; whether it does with [IMG]."""
    states_blh = network(batch, looks.of(batch.rows_c))
    before_bl = torch.nn.functional.pad(batch.learnt_bl[:, :-1], (1, 0))
    begins_bl = batch.learnt_bl & ~before_bl & _is_new_answer(batch, codec)
    at_k = begins_bl.flatten().nonzero().flatten()
    scores_kv = network.words(states_blh.flatten(0, 1)[at_k - 1])
    own_k = scores_kv[:, codec.img].clone()
    scores_kv[:, codec.img] = -torch.inf
    return own_k - scores_kv.amax(dim=1), batch.numbers_bl.flatten()[at_k] == codec.img


def _is_new_answer(batch: SequenceBatch, codec: SequenceCodec) -> Bool[Tensor, "b l"]:
    """Not where only the slots of a picture lie before."""
    after_slots_bl = torch.zeros_like(batch.learnt_bl)
    inside = torch.tensor([codec.cls, *codec.slots], device=batch.numbers_bl.device)
    after_slots_bl[:, 1:] = torch.isin(batch.numbers_bl[:, :-1], inside)
    ends_bl = torch.zeros_like(batch.learnt_bl)
    ends_bl[:, 1:] = batch.numbers_bl[:, :-1] == codec.end
    return ~after_slots_bl & ~ends_bl


def _last_wanted(batch: SequenceBatch) -> Tensor:
    """Of each sequence the last picture that is looked for."""
    wanted_q = batch.wanted_c.nonzero().flatten()
    sequence_q = batch.cls_c[wanted_q] // batch.numbers_bl.shape[1]
    is_last_q = torch.ones_like(sequence_q, dtype=torch.bool)
    is_last_q[:-1] = sequence_q[:-1] != sequence_q[1:]
    return wanted_q[is_last_q]


def _on(network: ChatSearcherNetwork, batch: SequenceBatch) -> SequenceBatch:
    return SequenceBatch(*(tensor.to(network.log_temperature.device) for tensor in batch))
