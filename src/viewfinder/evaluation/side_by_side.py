"""Talks of simulated users in several processes: the same talks, sooner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from viewfinder.conversation import Conversation
from viewfinder.encoders import Encoder
from viewfinder.evaluation.conversing import HeldDialogue, simulate_dialogues
from viewfinder.evaluation.plan import Plan
from viewfinder.evaluation.preparing import comparing_user, load_user_of_plan
from viewfinder.evaluation.replay import RankTable
from viewfinder.evaluation.spreading import run_in_processes
from viewfinder.evaluation.systems import load_system
from viewfinder.evaluation.task import Task
from viewfinder.evaluation.vectors import load_pictures


def simulate_in_processes(
    task: Task, plan: Plan, make_encoder: Callable[[], Encoder]
) -> tuple[RankTable, list[HeldDialogue]]:
    """Talks held in several processes: process k has every so-manieth."""
    shares = [range(first, len(task.talks), plan.processes) for first in range(min(plan.processes, len(task.talks)))]
    parts = [replace(task, talks=tuple(task.talks[at] for at in share)) for share in shares]
    best_st, worst_st = (np.empty((len(task.talks), task.rounds)) for _ in range(2))
    held = [HeldDialogue(Conversation())] * len(task.talks)
    for place, (table, some) in run_in_processes(partial(_conversing, plan, make_encoder), parts, plan.processes):
        rows = list(shares[place])
        best_st[rows], worst_st[rows] = table.best_st, table.worst_st
        for row, one in zip(rows, some, strict=True):
            held[row] = one
    return RankTable(best_st, worst_st, len(task.gallery)), held


def _conversing(
    plan: Plan, make_encoder: Callable[[], Encoder]
) -> Callable[[Task], tuple[RankTable, list[HeldDialogue]]]:
    """What leads the talks of a task, in a process of its own."""
    encoder, retriever = make_encoder(), load_system(plan.system, plan.seed, plan.checkpoint)
    user = load_user_of_plan(plan, encoder)

    def work(task: Task) -> tuple[RankTable, list[HeldDialogue]]:
        split = task.split if task.protocol == "drilldown" else None
        gallery = load_pictures(plan, encoder, retriever, split).gallery(task.gallery)
        speaker = user or comparing_user(task, plan)
        assert speaker is not None
        return simulate_dialogues(task, gallery, retriever, speaker, questioner=plan.questioner)

    return work
