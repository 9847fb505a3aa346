"""Evaluates a system on a data set: which tasks, which pictures, replayed or with a simulated user, and the outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from viewfinder.conversation import Conversation
from viewfinder.data.dialogues import Dialogue
from viewfinder.data.files import need_folder
from viewfinder.data.truth import TRUTH_FILE
from viewfinder.encoders import Encoder
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation import deciding, grounding, visual_conversation
from viewfinder.evaluation.examples import Example, pick_examples
from viewfinder.evaluation.figures import compute_figures, mean_figures, name_figure
from viewfinder.evaluation.overlap import list_parts, measure_overlap, read_training_texts, refuse_seen
from viewfinder.evaluation.pictures import Pictures, load_pictures, load_raw_vectors, match_pictures
from viewfinder.evaluation.plan import COMPARER, Notify, Plan, Task, choose_by_title, load_system, silent
from viewfinder.evaluation.protocols import read_tasks
from viewfinder.evaluation.protocols.chatir import chatir_splits, make_opening_task
from viewfinder.evaluation.replay import RankTable, replay_task
from viewfinder.evaluation.results import MeasuredRun, Run, TaskResult, make_run, make_task_result
from viewfinder.evaluation.simulate import (
    DIED,
    HeldDialogue,
    count_questions,
    draw_first_pictures,
    is_interview,
    record_dialogue,
    simulate_dialogues,
    time_questions,
)
from viewfinder.metrics import Ties
from viewfinder.questioners import load_questioner
from viewfinder.questioners.base import prepare_questioner
from viewfinder.retrievers import Retriever
from viewfinder.users import Person, SimulatedUser, load_user
from viewfinder.worlds.making import run_in_processes

GOES_ON = "goes_on"
"""The manner that also applies to the default user of Fashion IQ's dialogue."""

OTHER_PROTOCOLS: dict[str, Callable[[Plan, Encoder, Path, Notify], MeasuredRun[Any]]] = {
    visual_conversation.PROTOCOL: visual_conversation.answer_questions,
    deciding.PROTOCOL: deciding.measure_decisions,
    grounding.PROTOCOL: grounding.ground_phrases,
}
"""The function that runs a plan, by protocol, for those that measure something other than search."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A run, and a few of its dialogues to look at."""

    run: Run
    examples: tuple[Example, ...]


def evaluate(
    plan: Plan, encoder: Encoder, out: Path, notify: Notify = silent, *,
    make_encoder: Callable[[], Encoder] | None = None,
) -> Evaluation:  # fmt: skip
    """Runs every task of the plan; nothing is written, see `write_run`.

    With several processes, each needs its own encoder: `make_encoder` makes another copy of the same one.

    Raises:
        UnknownName, BadInput: an unknown system, protocol, split or user; missing or damaged data.
    """
    retriever = load_system(plan.system, plan.seed, plan.checkpoint)
    if plan.ties not in get_args(Ties):
        raise UnknownName(f"no tie rule is called {plan.ties!r}; there are: {', '.join(get_args(Ties))}")
    for learnt_from in plan.learnt_from:
        need_folder(learnt_from)
    user = load_user_of_plan(plan, encoder)
    notify(f"reading {plan.data}")
    tasks = load_tasks(plan)
    split = next((task.split for task in tasks if task.protocol == "drilldown"), None)
    pictures = load_pictures(plan, encoder, retriever, split, notify)
    results, shown, skipped = [], [], []
    begun: dict[tuple[object, ...], str] = {}
    questioner = None if plan.questioner is None else load_questioner(plan.questioner)
    read_texts = cache(partial(read_training_texts, (plan.data, *plan.learnt_from)))
    for task in tasks:
        known = match_pictures(task, pictures, plan.limit)
        if (why := _why_skipped(known, plan, begun)) is not None:
            skipped.append(f"{task.title}: {why}")
            continue
        notify(f"{known.title}: {len(known.dialogues):,} dialogues, {len(known.gallery):,} pictures")
        texts = read_texts(known.protocol) if known.split != "train" else frozenset[str]()
        speaker = choose_speaker(known, plan, user)
        lists = list_parts(retriever, encoder, speaker, questioner)
        overlap = refuse_seen(known.title, measure_overlap(known, plan.data, lists, texts), plan)
        result, some = _evaluate_task(known, pictures, retriever, plan, speaker, make_encoder)
        results.append(replace(result, overlap=overlap))
        shown += some
    if not results:
        raise BadInput(f"{plan.data}: nothing to evaluate; {skipped[0] if skipped else 'its files hold no dialogue'}")
    return Evaluation(make_run(plan, encoder, out, results, skipped, simulated=True), tuple(shown))


def load_tasks(plan: Plan) -> list[Task]:
    """The tasks of the plan. Where there are no dialogues, captions are enough for a questioner to begin with."""
    if plan.protocol == "chatir" and plan.questioner is not None and not chatir_splits(plan.data):
        found = [make_opening_task(plan.data, plan.split or "test", pool=plan.pool)]
    else:
        found = read_tasks(plan.data, plan.protocol, plan.split, plan.pool)
    return choose_by_title([(task.title, task) for task in found], plan.task)


def load_user_of_plan(plan: Plan, encoder: Encoder) -> SimulatedUser | None:
    """The user that the plan asks for, checked before anything slow begins. A captioner looks at the plan's pictures.

    Raises:
        UnknownName: there is no such user or questioner.
        BadInput: the plan asks for what only a user can do, but names no user.
    """
    if plan.questioner is not None:
        prepare_questioner(load_questioner(plan.questioner))  # a language model may have to be loaded
    if plan.user is None:
        if plan.options.keys() - {GOES_ON} or plan.questioner is not None:
            raise BadInput("manners and a questioner are for a simulated user: name one, for example --user oracle")
        return None
    is_made = not isinstance(plan.user, str | type) and isinstance(plan.user, SimulatedUser)
    settings: dict[str, Any] = {} if is_made or plan.user == "recorded" else {"seed": plan.seed}
    settings |= plan.options
    if plan.user == "captioner":
        settings["vectors"] = load_raw_vectors(plan, encoder)
    user = load_user(plan.user, plan.data, **settings)
    if plan.questioner is not None and isinstance(user, Person) and user.style.policy in {"compares", "describes"}:
        raise BadInput(f"--manner policy={user.style.policy}: this user answers nothing; leave out --questioner")
    return user


def choose_speaker(task: Task, plan: Plan, user: SimulatedUser | None) -> SimulatedUser | None:
    """The user who talks in a task; None if its recorded dialogues are replayed.

    Where nothing is recorded and no user is named (Fashion IQ's dialogue), it is one who sees one picture at a time and
    compares. As in the official code this user, and the captioner, talk on when the wanted picture is shown, unless the
    plan sets `goes_on`.
    """
    if task.user != COMPARER:
        return user
    goes_on = plan.options.get(GOES_ON, True)
    if user is None:
        return load_user("oracle", plan.data, seed=plan.seed, policy="compares", looks_at=1, goes_on=goes_on)
    if plan.user == "captioner" and isinstance(user, Person):
        return replace(user, style=replace(user.style, goes_on=goes_on))
    return user


def _why_skipped(task: Task, plan: Plan, begun: dict[tuple[object, ...], str]) -> str | None:
    """Why a task is not run, if it is not; `begun` notes how its dialogues begin.

    Files of dialogues about the same pictures often begin alike, and their interviews would then be identical.
    """
    if not task.dialogues or len(task.gallery) < 2:
        return "fewer than two of the pictures that its dialogues name are here"
    if task.user and plan.user is None and not (plan.data / TRUTH_FILE).is_file():
        return "a simulated user must talk, and there is no world's truth to make one of; see --user"
    if plan.user is not None and any(one.among or one.truths for one in task.dialogues):
        return "it measures recorded queries, each with its own similar or right pictures; leave out --user"
    if is_interview(task, plan.questioner):
        beginnings = ((dialogue.target, dialogue.turns[0]) for dialogue in task.dialogues)
        before = begun.setdefault((task.gallery, *beginnings), task.title)
        if before != task.title:
            return f"its dialogues begin as those of {before}, and so would go on alike"
    return None


def _evaluate_task(
    task: Task, pictures: Pictures, retriever: Retriever[Any], plan: Plan, user: SimulatedUser | None,
    make_encoder: Callable[[], Encoder] | None,
) -> tuple[TaskResult, list[Example]]:  # fmt: skip
    """The figures of a task, and a few of its dialogues: replayed, or held by a simulated user."""
    held: list[HeldDialogue] | None = None
    if user is None:
        gallery = pictures.gallery(tuple(task.pictures()), task.captions if plan.captions else None)
        table = replay_task(task, gallery, retriever)
    else:
        task = draw_first_pictures(task, plan.seed) if task.user else task
        gallery = pictures.gallery(task.gallery)
        if plan.processes > 1 and make_encoder is not None:
            table, held = _simulate_in_processes(task, plan, make_encoder)
        else:
            table, held = simulate_dialogues(task, gallery, retriever, user, questioner=plan.questioner)
    conversations = None if held is None else [one.conversation for one in held]
    shown = pick_examples(task, gallery, retriever, conversations, table, pictures.files)
    result = make_task_result(task, table, compute_figures(task, table, plan.ties))
    if held is None or plan.questioner is None:
        return result, shown
    asked = count_questions(held, plan.questioner)
    recorded: tuple[Dialogue, ...] = ()
    if is_interview(task, plan.questioner):
        pairs = zip(task.dialogues, held, strict=True)
        recorded = tuple(record_dialogue(dialogue.target, one.conversation) for dialogue, one in pairs)
    named = name_figure(task, table, "any", None, "", "none")
    figures = (*result.figures, *mean_figures(asked, named))
    return replace(result, figures=figures, asked=asked, times=time_questions(held), dialogues=recorded), shown


def _simulate_in_processes(
    task: Task, plan: Plan, make_encoder: Callable[[], Encoder]
) -> tuple[RankTable, list[HeldDialogue]]:
    """Process k of n holds every n-th dialogue, starting at the k-th."""
    count = len(task.dialogues)
    shares = [range(first, count, plan.processes) for first in range(min(plan.processes, count))]
    parts = [replace(task, dialogues=tuple(task.dialogues[at] for at in share)) for share in shares]
    best_st, worst_st = (np.empty((count, task.rounds)) for _ in range(2))
    held = [HeldDialogue(Conversation())] * count
    make = partial(_make_simulator, plan, make_encoder)
    for place, (table, some) in run_in_processes(make, parts, plan.processes, died=DIED):
        rows = list(shares[place])
        best_st[rows], worst_st[rows] = table.best_st, table.worst_st
        for row, one in zip(rows, some, strict=True):
            held[row] = one
    return RankTable(best_st, worst_st, len(task.gallery)), held


def _make_simulator(
    plan: Plan, make_encoder: Callable[[], Encoder]
) -> Callable[[Task], tuple[RankTable, list[HeldDialogue]]]:
    """Makes the function that holds the dialogues of a task in a worker process."""
    encoder, retriever = make_encoder(), load_system(plan.system, plan.seed, plan.checkpoint)
    user = load_user_of_plan(plan, encoder)

    def simulate(task: Task) -> tuple[RankTable, list[HeldDialogue]]:
        split = task.split if task.protocol == "drilldown" else None
        gallery = load_pictures(plan, encoder, retriever, split).gallery(task.gallery)
        speaker = choose_speaker(task, plan, user)
        assert speaker is not None
        return simulate_dialogues(task, gallery, retriever, speaker, questioner=plan.questioner)

    return simulate
