"""A system over a data set: which tasks, which pictures, replayed or with a simulated user, and what came out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from viewfinder.data.truth import TRUTH_FILE
from viewfinder.encoders import Encoder
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation.asked import question_times, question_values, record_dialogue
from viewfinder.evaluation.conversing import draw_first_pictures, is_interview, simulate_dialogues
from viewfinder.evaluation.examples import Example, pick_examples
from viewfinder.evaluation.figures import compute_figures, figures_of_values
from viewfinder.evaluation.pictures import Pictures
from viewfinder.evaluation.plan import Notify, Plan
from viewfinder.evaluation.preparing import (
    comparing_user,
    limit_dialogues,
    load_tasks,
    load_user_of_plan,
    match_pictures,
)
from viewfinder.evaluation.replay import replay_task
from viewfinder.evaluation.results import Run, TaskResult, describe_machine, task_result
from viewfinder.evaluation.side_by_side import simulate_in_processes
from viewfinder.evaluation.systems import load_system
from viewfinder.evaluation.task import Task
from viewfinder.evaluation.values import provenance_of
from viewfinder.evaluation.vectors import load_pictures
from viewfinder.metrics import Ties
from viewfinder.retrievers import Retriever
from viewfinder.users import SimulatedUser

TIES: tuple[Ties, ...] = ("expected", "optimistic", "pessimistic")
"""Rules that the bounds of a rank tell; argsort is a draw, which they do not."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A run and a few of its talks to look at."""

    run: Run
    examples: tuple[Example, ...]


def evaluate(
    plan: Plan,
    encoder: Encoder,
    out: Path,
    told: Notify = lambda line: None,
    *,
    make_encoder: Callable[[], Encoder] | None = None,
) -> Evaluation:
    """Runs every task of the plan; nothing is written, see `write_run`.

    Several processes need an encoder each: `make_encoder` makes the same one once more.

    Raises:
        UnknownName, BadInput: an unknown system, protocol, split or user; data that is missing or damaged.
    """
    retriever = load_system(plan.system, plan.seed, plan.checkpoint)
    if plan.ties not in TIES:
        raise UnknownName(f"no tie rule is called {plan.ties!r}; there are: {', '.join(TIES)}")
    user = load_user_of_plan(plan, encoder)
    told(f"reading {plan.data}")
    tasks = load_tasks(plan)
    split = next((task.split for task in tasks if task.protocol == "drilldown"), None)
    pictures = load_pictures(plan, encoder, retriever, split, told)
    results, shown, skipped = [], [], []
    begun: dict[tuple[object, ...], str] = {}
    for task in tasks:
        known = limit_dialogues(match_pictures(task, pictures), plan.limit)
        if (why := _not_possible(known, plan) or _same_interviews(known, plan, begun)) is not None:
            skipped.append(f"{task.title}: {why}")
            continue
        told(f"{known.title}: {len(known.talks):,} talks, {len(known.gallery):,} pictures")
        speaker = user or comparing_user(known, plan)
        if speaker is None:
            result, some = _replayed(known, pictures, retriever, plan)
        else:
            result, some = _talked(known, pictures, retriever, plan, speaker, make_encoder)
        results.append(result)
        shown += some
    if not results:
        raise BadInput(f"{plan.data}: nothing to evaluate; {skipped[0] if skipped else 'its files hold no talk'}")
    run = Run(out, provenance_of(plan, encoder, simulated=True), describe_machine(), tuple(results), tuple(skipped))
    return Evaluation(run, tuple(shown))


def _not_possible(task: Task, plan: Plan) -> str | None:
    """Why a task cannot be run, if so."""
    if not task.talks or len(task.gallery) < 2:
        return "fewer than two of the pictures that its talks name are here"
    if task.user and plan.user is None and not (plan.data / TRUTH_FILE).is_file():
        return "a simulated user must talk, and there is no world's truth to make one of; see --user"
    return None


def _same_interviews(task: Task, plan: Plan, begun: dict[tuple[object, ...], str]) -> str | None:
    """Why interviews need not be held, if so: files of dialogues about the same pictures often begin alike."""
    if not is_interview(task, plan.questioner):
        return None
    before = begun.setdefault((task.gallery, *((talk.target, talk.turns[0]) for talk in task.talks)), task.title)
    return None if before == task.title else f"its talks begin as those of {before}, and so would go on alike"


def _replayed(
    task: Task, pictures: Pictures, retriever: Retriever[Any], plan: Plan
) -> tuple[TaskResult, list[Example]]:
    """A task whose talks were recorded: its ranks and figures, and the first talks to look at."""
    gallery = pictures.gallery(tuple(task.pictures()), task.captions if plan.captions else None)
    table = replay_task(task, gallery, retriever)
    shown = pick_examples(task, gallery, retriever, None, table, pictures.files)
    return task_result(task, table, compute_figures(task, table, plan.ties)), shown


def _talked(
    task: Task,
    pictures: Pictures,
    retriever: Retriever[Any],
    plan: Plan,
    user: SimulatedUser,
    make_encoder: Callable[[], Encoder] | None,
) -> tuple[TaskResult, list[Example]]:
    """A task in which a simulated user talks: the same, and what was asked."""
    task = draw_first_pictures(task, plan.seed) if task.user else task
    gallery = pictures.gallery(task.gallery)
    if plan.processes > 1 and make_encoder is not None:
        table, held = simulate_in_processes(task, plan, make_encoder)
    else:
        table, held = simulate_dialogues(task, gallery, retriever, user, questioner=plan.questioner)
    talks = [one.conversation for one in held]
    shown = pick_examples(task, gallery, retriever, talks, table, pictures.files)
    result = task_result(task, table, compute_figures(task, table, plan.ties))
    if plan.questioner is None:
        return result, shown
    asked = question_values(held, plan.questioner)
    dialogues = tuple(record_dialogue(talk.target, said) for talk, said in zip(task.talks, talks, strict=True))
    return replace(
        result,
        figures=(*result.figures, *figures_of_values(task, table, asked)),
        asked=asked,
        times=question_times(held),
        dialogues=dialogues if is_interview(task, plan.questioner) else (),
    ), shown
