"""A system over a data set: which tasks, which pictures, replayed or with a simulated user, and what came out.

What a plan comes to: its tasks, cut to the pictures that are there and to its limit, and who dialogues.

Dialogues of simulated users in several processes: the same dialogues, sooner.

The protocols that measure something else than a search, by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from viewfinder.conversation import Conversation
from viewfinder.data.truth import TRUTH_FILE
from viewfinder.encoders import Encoder
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation import deciding, grounding, visual_conversation
from viewfinder.evaluation.deciding import measure_decisions
from viewfinder.evaluation.examples import Example, pick_examples
from viewfinder.evaluation.figures import compute_figures, figures_of_values
from viewfinder.evaluation.grounding import ground_phrases
from viewfinder.evaluation.pictures import Pictures, load_pictures, load_raw_vectors, match_pictures
from viewfinder.evaluation.plan import (
    COMPARER,
    Notify,
    Plan,
    Task,
    limit_dialogues,
    load_system,
)
from viewfinder.evaluation.protocols import read_tasks
from viewfinder.evaluation.protocols.chatir import chatir_splits as dialogue_splits
from viewfinder.evaluation.protocols.chatir import opening_task
from viewfinder.evaluation.replay import RankTable, replay_task
from viewfinder.evaluation.results import MeasuredRun, Run, TaskResult, describe_machine, provenance_of, task_result
from viewfinder.evaluation.simulate import (
    HeldDialogue,
    draw_first_pictures,
    is_interview,
    question_times,
    question_values,
    record_dialogue,
    run_in_processes,
    simulate_dialogues,
)
from viewfinder.evaluation.visual_conversation import answer_questions
from viewfinder.metrics import Ties
from viewfinder.questioners import load_questioner
from viewfinder.questioners.base import prepare_questioner
from viewfinder.retrievers import Retriever
from viewfinder.users import Person, SimulatedUser, load_user

TIES: tuple[Ties, ...] = ("expected", "optimistic", "pessimistic")
"""Rules that the bounds of a rank tell; argsort is a draw, which they do not."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A run and a few of its dialogues to look at."""

    run: Run
    examples: tuple[Example, ...]


def evaluate(
    plan: Plan,
    encoder: Encoder,
    out: Path,
    notify: Notify = lambda line: None,
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
    notify(f"reading {plan.data}")
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
        notify(f"{known.title}: {len(known.dialogues):,} talks, {len(known.gallery):,} pictures")
        speaker = user or comparing_user(known, plan)
        if speaker is None:
            result, some = _replayed(known, pictures, retriever, plan)
        else:
            result, some = _talked(known, pictures, retriever, plan, speaker, make_encoder)
        results.append(result)
        shown += some
    if not results:
        raise BadInput(f"{plan.data}: nothing to evaluate; {skipped[0] if skipped else 'its files hold no dialogue'}")
    run = Run(out, provenance_of(plan, encoder, simulated=True), describe_machine(), tuple(results), tuple(skipped))
    return Evaluation(run, tuple(shown))


def _not_possible(task: Task, plan: Plan) -> str | None:
    """Why a task cannot be run, if so."""
    if not task.dialogues or len(task.gallery) < 2:
        return "fewer than two of the pictures that its talks name are here"
    if task.user and plan.user is None and not (plan.data / TRUTH_FILE).is_file():
        return "a simulated user must talk, and there is no world's truth to make one of; see --user"
    return None


def _same_interviews(task: Task, plan: Plan, begun: dict[tuple[object, ...], str]) -> str | None:
    """Why interviews need not be held, if so: files of dialogues about the same pictures often begin alike."""
    if not is_interview(task, plan.questioner):
        return None
    before = begun.setdefault((task.gallery, *((dialogue.target, dialogue.turns[0]) for dialogue in task.dialogues)), task.title)
    return None if before == task.title else f"its talks begin as those of {before}, and so would go on alike"


def _replayed(
    task: Task, pictures: Pictures, retriever: Retriever[Any], plan: Plan
) -> tuple[TaskResult, list[Example]]:
    """A task whose dialogues were recorded: its ranks and figures, and the first dialogues to look at."""
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
    """A task in which a simulated user dialogues: the same, and what was asked."""
    task = draw_first_pictures(task, plan.seed) if task.user else task
    gallery = pictures.gallery(task.gallery)
    if plan.processes > 1 and make_encoder is not None:
        table, held = simulate_in_processes(task, plan, make_encoder)
    else:
        table, held = simulate_dialogues(task, gallery, retriever, user, questioner=plan.questioner)
    conversations = [one.conversation for one in held]
    shown = pick_examples(task, gallery, retriever, conversations, table, pictures.files)
    result = task_result(task, table, compute_figures(task, table, plan.ties))
    if plan.questioner is None:
        return result, shown
    asked = question_values(held, plan.questioner)
    recorded = tuple(
        record_dialogue(dialogue.target, said) for dialogue, said in zip(task.dialogues, conversations, strict=True)
    )
    return replace(
        result,
        figures=(*result.figures, *figures_of_values(task, table, asked)),
        asked=asked,
        times=question_times(held),
        dialogues=recorded if is_interview(task, plan.questioner) else (),
    ), shown


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
        if plan.options or plan.questioner is not None:
            raise BadInput("manners and a questioner are for a simulated user: name one, for example --user oracle")
        return None
    settings: dict[str, Any] = {} if plan.user == "recorded" else {"seed": plan.seed}
    settings |= plan.options
    if plan.user == "captioner":
        settings["vectors"] = load_raw_vectors(plan, encoder)
    user = load_user(plan.user, plan.data, **settings)
    if plan.questioner is not None and isinstance(user, Person) and user.manners.policy in {"compares", "describes"}:
        raise BadInput(f"--manner policy={user.manners.policy}: this user answers nothing; leave out --questioner")
    return user


def comparing_user(task: Task, plan: Plan) -> SimulatedUser | None:
    """Who dialogues where nothing is recorded: one picture is shown at a time, until it is the wanted one."""
    if task.user == COMPARER:
        return load_user("oracle", plan.data, seed=plan.seed, policy="compares", looks_at=1)
    return None


def simulate_in_processes(
    task: Task, plan: Plan, make_encoder: Callable[[], Encoder]
) -> tuple[RankTable, list[HeldDialogue]]:
    """Dialogues held in several processes: process k has every so-manieth."""
    shares = [range(first, len(task.dialogues), plan.processes) for first in range(min(plan.processes, len(task.dialogues)))]
    parts = [replace(task, dialogues=tuple(task.dialogues[at] for at in share)) for share in shares]
    best_st, worst_st = (np.empty((len(task.dialogues), task.rounds)) for _ in range(2))
    held = [HeldDialogue(Conversation())] * len(task.dialogues)
    for place, (table, some) in run_in_processes(partial(_conversing, plan, make_encoder), parts, plan.processes):
        rows = list(shares[place])
        best_st[rows], worst_st[rows] = table.best_st, table.worst_st
        for row, one in zip(rows, some, strict=True):
            held[row] = one
    return RankTable(best_st, worst_st, len(task.gallery)), held


def _conversing(
    plan: Plan, make_encoder: Callable[[], Encoder]
) -> Callable[[Task], tuple[RankTable, list[HeldDialogue]]]:
    """What leads the dialogues of a task, in a process of its own."""
    encoder, retriever = make_encoder(), load_system(plan.system, plan.seed, plan.checkpoint)
    user = load_user_of_plan(plan, encoder)

    def work(task: Task) -> tuple[RankTable, list[HeldDialogue]]:
        split = task.split if task.protocol == "drilldown" else None
        gallery = load_pictures(plan, encoder, retriever, split).gallery(task.gallery)
        speaker = user or comparing_user(task, plan)
        assert speaker is not None
        return simulate_dialogues(task, gallery, retriever, speaker, questioner=plan.questioner)

    return work


OTHER_PROTOCOLS: dict[str, Callable[[Plan, Encoder, Path, Notify], MeasuredRun[Any]]] = {
    visual_conversation.PROTOCOL: answer_questions,
    deciding.PROTOCOL: measure_decisions,
    grounding.PROTOCOL: ground_phrases,
}
"""What runs a plan; see `write_measured`."""

SHARES = frozenset(
    {visual_conversation.ACCURACY, visual_conversation.TEXT_ONLY, visual_conversation.MAJORITY}
    | {visual_conversation.BY_KIND, deciding.BOTH, *deciding.RIGHT.values()}
    | {grounding.GROUNDED, grounding.CLIP, grounding.LARGEST, grounding.RANDOM, grounding.BEST}
)
"""Their figures: each lies between 0 and 1."""
