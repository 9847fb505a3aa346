"""What a study asks of its participants, and which picture each of them looks for with which retriever.

With two retrievers every participant meets both, on different pictures and without being told which is which; the
next participant meets the same pictures in the same order with the retrievers swapped. So after every two participants
each of their pictures was looked for once with either, and neither retriever was met earlier than the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viewfinder.errors import BadInput
from viewfinder.server.schemas.sessions import Strict
from viewfinder.server.schemas.studies import Drawn, StudyPlan


class SettledPlan(Strict):
    """A plan with what was settled when the study began: the pictures, and the collection they are ranked in."""

    plan: StudyPlan
    targets: list[str]
    pictures: int
    encoder: str


def draw_targets(ids: Sequence[str], draw: Drawn) -> list[str]:
    """Some of these pictures, the same for the same collection and seed.

    Raises:
        BadInput: there are not so many.
    """
    if draw.count > len(ids):
        raise BadInput(f"targets: {draw.count:,} are wanted, the library holds {len(ids):,} pictures")
    chosen = np.random.default_rng(draw.seed).choice(len(ids), draw.count, replace=False)
    return [ids[row] for row in chosen.tolist()]


@dataclass(frozen=True)
class AssignedTrial:
    """One trial to come: its number (from 1), the picture to look for, and which of the plan's retrievers searches."""

    number: int
    target: str
    arm: int


def participant_group(settled: SettledPlan, participant: int) -> int:
    """The group of a participant: trials of one group on one picture differ in the retriever alone."""
    return (participant - 1) // len(settled.plan.retrievers)


def assign_trials(settled: SettledPlan, participant: int) -> list[AssignedTrial]:
    """The trials of a participant (numbered from 1), in their order.

    Participants come in groups of as many as there are retrievers. A group shares its pictures (the next ones of the
    plan's list, which begins again after its end) and their order (shuffled); retrievers alternate from picture to
    picture, and who begins with which goes round within the group.
    """
    arms = len(settled.plan.retrievers)
    group = participant_group(settled, participant)
    count = len(settled.targets)
    size = min(settled.plan.per_participant or count, count)
    order = np.random.default_rng(group).permutation(size).tolist()
    return [
        AssignedTrial(place + 1, settled.targets[(group * size + which) % count], (place + participant - 1) % arms)
        for place, which in enumerate(order)
    ]
