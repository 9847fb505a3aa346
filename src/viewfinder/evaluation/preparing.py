"""What a plan comes to: its tasks, cut to the pictures that are there and to its limit, and who talks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from viewfinder.data import Dropped, ReadReport
from viewfinder.encoders import Encoder
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation.pictures import Pictures
from viewfinder.evaluation.plan import Plan
from viewfinder.evaluation.protocols import read_tasks
from viewfinder.evaluation.protocols.chatir import chatir_splits as dialogue_splits
from viewfinder.evaluation.protocols.chatir import opening_task
from viewfinder.evaluation.task import COMPARER, SearchDialogue, Task
from viewfinder.evaluation.values import pick_evenly
from viewfinder.evaluation.vectors import load_raw_vectors
from viewfinder.questioners import load_questioner
from viewfinder.questioners.base import prepare_questioner
from viewfinder.users import Person, SimulatedUser, load_user


def load_tasks(plan: Plan) -> list[Task]:
    """The tasks of the plan. Captions are enough for a questioner to begin with, where there are no dialogues.

    Raises:
        UnknownName, BadInput: as `tasks_of`; or no task has the plan's words in its title.
    """
    if plan.protocol == "chatir" and plan.questioner is not None and not dialogue_splits(plan.data):
        found = [opening_task(plan.data, plan.split or "test", pool=plan.pool)]
    else:
        found = read_tasks(plan.data, plan.protocol, plan.split, plan.pool)
    wanted = (plan.task or "").lower().split()
    chosen = [task for task in found if all(word in _title_words(task) for word in wanted)]
    if not chosen:
        titles = "; ".join(task.title for task in found)
        raise UnknownName(f"no task has {plan.task!r} in its title; there are: {titles}")
    return chosen


def _title_words(task: Task) -> list[str]:
    return task.title.lower().replace(",", " ").split()


def load_user_of_plan(plan: Plan, encoder: Encoder) -> SimulatedUser | None:
    """The user that the plan asks for, before anything long begins. A captioner looks at the plan's pictures.

    Raises:
        UnknownName: there is no such user or questioner.
        BadInput: what only a user can do is asked for, but no user.
    """
    if plan.questioner is not None:
        prepare_questioner(load_questioner(plan.questioner))  # a language model may have to be loaded
    if plan.user is None:
        if plan.manners or plan.questioner is not None:
            raise BadInput("manners and a questioner are for a simulated user: name one, for example --user oracle")
        return None
    settings: dict[str, Any] = {} if plan.user == "recorded" else {"seed": plan.seed}
    settings |= plan.manners
    if plan.user == "captioner":
        settings["vectors"] = load_raw_vectors(plan, encoder)
    user = load_user(plan.user, plan.data, **settings)
    if plan.questioner is not None and isinstance(user, Person) and user.manners.policy in {"compares", "describes"}:
        raise BadInput(f"--manner policy={user.manners.policy}: this user answers nothing; leave out --questioner")
    return user


def comparing_user(task: Task, plan: Plan) -> SimulatedUser | None:
    """Who talks where nothing is recorded: one picture is shown at a time, until it is the wanted one."""
    if task.user == COMPARER:
        return load_user("oracle", plan.data, seed=plan.seed, policy="compares", looks_at=1)
    return None


def match_pictures(task: Task, pictures: Pictures) -> Task:
    """The task with the names its files use for pictures replaced by keys; what has no picture is reported.

    A talk that misses nothing but the picture it begins with is held: it begins with another.
    """
    names = pictures.named(sorted(task.pictures()))
    firsts = sum(bool(talk.first) and talk.first not in names for talk in task.talks)
    known = replace(task, talks=tuple(_with_first(talk, names) for talk in task.talks)).renamed(names)
    why = [Dropped(f"the first pictures of {firsts:,} talks", "they are not here; others are drawn")] if firsts else []
    if lost := len(task.talks) - len(known.talks):
        missing = sorted(task.pictures() - set(names))
        such = f"such as {missing[0] if missing else '?'}"
        why.append(Dropped(f"{lost:,} talks", f"they name pictures that are not here, {such}"))
    if not why:
        return known
    return replace(known, reports=(*known.reports, ReadReport(len(task.talks), len(known.talks), tuple(why))))


def _with_first(talk: SearchDialogue, names: Mapping[str, str]) -> SearchDialogue:
    return talk if talk.first in names else replace(talk, first="")


def limit_dialogues(task: Task, limit: int | None) -> Task:
    """The task with so many talks at most, taken evenly."""
    return replace(task, talks=tuple(pick_evenly(task.talks, limit)))
