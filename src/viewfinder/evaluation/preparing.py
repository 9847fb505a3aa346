"""What a plan comes to: its tasks, cut to the pictures that are there and to its limit, and who talks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from viewfinder.data import Dropped, ReadReport
from viewfinder.errors import BadInput
from viewfinder.evaluation.pictures import Pictures
from viewfinder.evaluation.plan import Plan
from viewfinder.evaluation.protocols import tasks_of
from viewfinder.evaluation.protocols.chatir import opening_task
from viewfinder.evaluation.protocols.chatir import splits as dialogue_splits
from viewfinder.evaluation.task import COMPARER, Task
from viewfinder.questioners import load_questioner
from viewfinder.questioners.fallback import prepare
from viewfinder.users import Person, SimulatedUser, load_user


def tasks_for(plan: Plan) -> list[Task]:
    """The tasks of the plan. Captions are enough for a questioner to begin with, where there are no dialogues."""
    if plan.protocol == "chatir" and plan.questioner is not None and not dialogue_splits(plan.data):
        return [opening_task(plan.data, plan.split or "test", pool=plan.pool)]
    return tasks_of(plan.data, plan.protocol, plan.split, plan.pool)


def user_of(plan: Plan) -> SimulatedUser | None:
    """The user that the plan asks for, before anything long begins.

    Raises:
        UnknownName: there is no such user or questioner.
        BadInput: what only a user can do is asked for, but no user.
    """
    if plan.questioner is not None:
        prepare(load_questioner(plan.questioner))  # a language model may have to be loaded
    if plan.user is None:
        if plan.manners or plan.questioner is not None:
            raise BadInput("manners and a questioner are for a simulated user: name one, for example --user oracle")
        return None
    settings = plan.manners if plan.user == "recorded" else {"seed": plan.seed, **plan.manners}
    user = load_user(plan.user, plan.data, **settings)
    if plan.questioner is not None and isinstance(user, Person) and user.manners.policy in {"compares", "describes"}:
        raise BadInput(f"--manner policy={user.manners.policy}: this user answers nothing; leave out --questioner")
    return user


def needed_user(task: Task, plan: Plan) -> SimulatedUser | None:
    """Who talks where nothing is recorded: one picture is shown at a time, until it is the wanted one."""
    if task.user == COMPARER:
        return load_user("oracle", plan.data, seed=plan.seed, policy="compares", looks_at=1)
    return None


def known_task(task: Task, pictures: Pictures) -> Task:
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


def limited(task: Task, limit: int | None) -> Task:
    """The task with so many talks at most, taken evenly."""
    if limit is None or limit >= len(task.talks):
        return task
    chosen = np.linspace(0, len(task.talks) - 1, limit).round().astype(int)
    return replace(task, talks=tuple(task.talks[at] for at in chosen))
