"""A system over a data set: which tasks, which pictures, replayed or with a simulated user, and what came out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from viewfinder.data import Dropped, ReadReport
from viewfinder.data.truth import TRUTH_FILE
from viewfinder.encoders import Encoder
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation.conversing import converse, first_pictures
from viewfinder.evaluation.examples import Example, examples
from viewfinder.evaluation.figures import figures
from viewfinder.evaluation.pictures import Pictures
from viewfinder.evaluation.plan import Plan, Told
from viewfinder.evaluation.protocols import tasks_of
from viewfinder.evaluation.replay import replay
from viewfinder.evaluation.results import CHECKPOINT, Provenance, Run, TaskResult, described_machine, result_of
from viewfinder.evaluation.systems import load_system, weights_mark
from viewfinder.evaluation.task import COMPARER, Task
from viewfinder.evaluation.vectors import pictures_of
from viewfinder.measures import Ties
from viewfinder.questioners import load_questioner
from viewfinder.retrievers import Retriever
from viewfinder.users import SimulatedUser, load_user

TIES: tuple[Ties, ...] = ("expected", "optimistic", "pessimistic")
"""Rules that the bounds of a rank tell; argsort is a draw, which they do not."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A run and a few of its talks to look at."""

    run: Run
    examples: tuple[Example, ...]


def evaluate(plan: Plan, encoder: Encoder, out: Path, told: Told = lambda line: None) -> Evaluation:
    """Runs every task of the plan; nothing is written, see `write_run`.

    Raises:
        UnknownName, BadInput: an unknown system, protocol, split or user; data that is missing or damaged.
    """
    retriever = load_system(plan.system, plan.seed, plan.checkpoint)
    if plan.ties not in TIES:
        raise UnknownName(f"no tie rule is called {plan.ties!r}; there are: {', '.join(TIES)}")
    user = _user(plan)
    told(f"reading {plan.data}")
    tasks = tasks_of(plan.data, plan.protocol, plan.split)
    split = next((task.split for task in tasks if task.protocol == "drilldown"), None)
    pictures = pictures_of(plan, encoder, retriever, split, told)
    results, shown, skipped = [], [], []
    for task in tasks:
        known = _limited(_known(task, pictures), plan.limit)
        if (why := _not_possible(known, plan)) is not None:
            skipped.append(f"{task.title}: {why}")
            continue
        told(f"{known.title}: {len(known.talks):,} talks, {len(known.gallery):,} pictures")
        result, some = _run(known, pictures, retriever, plan, user or _needed_user(known, plan))
        results.append(result)
        shown += some
    if not results:
        raise BadInput(f"{plan.data}: nothing to evaluate; {skipped[0] if skipped else 'its files hold no talk'}")
    run = Run(out, _provenance(plan, encoder), described_machine(), tuple(results), tuple(skipped))
    return Evaluation(run, tuple(shown))


def _not_possible(task: Task, plan: Plan) -> str | None:
    """Why a task cannot be run, if so."""
    if not task.talks or len(task.gallery) < 2:
        return "fewer than two of the pictures that its talks name are here"
    if task.user and plan.user is None and not (plan.data / TRUTH_FILE).is_file():
        return "a simulated user must talk, and there is no world's truth to make one of; see --user"
    return None


def _provenance(plan: Plan, encoder: Encoder) -> Provenance:
    """What a run says of its plan; options are named where they are not as usual."""
    options = {
        CHECKPOINT: plan.checkpoint and weights_mark(plan.checkpoint),
        "limit": plan.limit,
        "catalogue": plan.catalogue and plan.catalogue.name,
        **plan.manners,
    }
    return Provenance(
        system=plan.system,
        data=plan.data.resolve().name,
        encoder=encoder.version,
        user=plan.user or "",
        questioner=plan.questioner or "",
        seed=plan.seed,
        options={name: str(value) for name, value in options.items() if value is not None},
    )


def _run(
    task: Task, pictures: Pictures, retriever: Retriever[Any], plan: Plan, user: SimulatedUser | None
) -> tuple[TaskResult, list[Example]]:
    """One task: its ranks and figures, and the first talks to look at."""
    if user is not None:
        task = first_pictures(task, plan.seed) if task.user else task
        gallery = pictures.gallery(task.gallery)
        table, conversations = converse(task, gallery, retriever, user, questioner=plan.questioner)
    else:
        gallery = pictures.gallery(tuple(task.pictures()))
        table = replay(task, gallery, retriever)
        conversations = None
    shown = examples(task, gallery, retriever, conversations, table, pictures.files)
    return result_of(task, table, figures(task, table, plan.ties)), shown


def _user(plan: Plan) -> SimulatedUser | None:
    """The user that the plan asks for, before anything long begins.

    Raises:
        UnknownName: there is no such user or questioner.
        BadInput: what only a user can do is asked for, but no user.
    """
    if plan.questioner is not None:
        load_questioner(plan.questioner)
    if plan.user is None:
        if plan.manners or plan.questioner is not None:
            raise BadInput("manners and a questioner are for a simulated user: name one, for example --user oracle")
        return None
    settings = plan.manners if plan.user == "recorded" else {"seed": plan.seed, **plan.manners}
    return load_user(plan.user, plan.data, **settings)


def _needed_user(task: Task, plan: Plan) -> SimulatedUser | None:
    """Who talks where nothing is recorded: one picture is shown at a time, until it is the wanted one."""
    if task.user == COMPARER:
        return load_user("oracle", plan.data, seed=plan.seed, policy="compares", looks_at=1)
    return None


def _known(task: Task, pictures: Pictures) -> Task:
    """The task with the names its files use for pictures replaced by keys; what has no picture is reported."""
    names = pictures.named(sorted(task.pictures()))
    known = task.renamed(names)
    lost = len(task.talks) - len(known.talks)
    if not lost:
        return known
    missing = sorted(task.pictures() - set(names))
    why = Dropped(f"{lost:,} talks", f"they name pictures that are not here, such as {missing[0] if missing else '?'}")
    report = ReadReport(len(task.talks), len(known.talks), (why,))
    return replace(known, reports=(*known.reports, report))


def _limited(task: Task, limit: int | None) -> Task:
    if limit is None or limit >= len(task.talks):
        return task
    chosen = np.linspace(0, len(task.talks) - 1, limit).round().astype(int)
    return replace(task, talks=tuple(task.talks[at] for at in chosen))
