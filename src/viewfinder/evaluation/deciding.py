"""Whether a system answers as it should: with pictures where one is looked for, in words where something is asked.

searches   chat-search dialogues; right if the last turn is answered with pictures
questions  about a picture of the user's own, as in visual conversation; right if the answer is words
decisions  the mean of both shares, whatever their numbers

How much a system leans to pictures is one number, which `choose_leaning` chooses on talks of the validation split.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from viewfinder.data.chatsearch import read_chatsearch
from viewfinder.data.splits import split_of
from viewfinder.encoders import Encoder
from viewfinder.errors import BadInput
from viewfinder.evaluation.pictures import Pictures
from viewfinder.evaluation.plan import Plan, Told
from viewfinder.evaluation.preparing import known_task
from viewfinder.evaluation.protocols import chatsearch
from viewfinder.evaluation.results import Run, described_machine
from viewfinder.evaluation.speaking import Speaker, leaning_to, state_after, state_before
from viewfinder.evaluation.systems import load_system
from viewfinder.evaluation.task import Talk, Task
from viewfinder.evaluation.values import Measured, check_manners, evenly, provenance_of, task_of_values
from viewfinder.evaluation.vectors import pictures_of
from viewfinder.evaluation.visual_conversation import dialogues_of, turns_of
from viewfinder.retrievers import AnsweringRetriever

PROTOCOL, DECISIONS = "decision", "decisions.jsonl"
LEANING, CHOSEN = "leaning", "chosen"
PICTURES, WORDS = "pictures", "words"
RIGHT = {PICTURES: "searches shown pictures", WORDS: "questions answered in words"}
BOTH = "right decisions"
ENOUGH = 500
"""Talks of a kind unless told otherwise: a share of them is known to four points."""

LEANINGS = tuple(np.linspace(-12, 12, 97).tolist())
"""Leanings that are tried: a quarter apart, from e^-12 times the chance to e^12 times."""


@dataclass(frozen=True)
class Decided:
    """A talk, what its last turn wants (pictures or words), and what the system answers with."""

    id: str
    wants: str
    answered: str


@dataclass(frozen=True)
class Leaning:
    """A leaning, and the shares of searches and questions that are answered as wanted with it."""

    leaning: float
    searches: float
    questions: float


def decide(plan: Plan, encoder: Encoder, out: Path, told: Told = lambda line: None) -> Measured[Decided]:
    """How often a system decides rightly; nothing is written.

    The manner "leaning" is a number, or "chosen": on talks of the validation split. Without it the system leans as
    its weights say. Of the plan count also system, checkpoint, data, split, limit (talks of a kind), features, seed.

    Raises:
        UnknownName, BadInput: no such system, split or manner; a system that does not answer; no talks.
        EncoderMismatch: the system was trained on other vectors than the encoder gives.
    """
    speaker = _speaker(plan)
    split = plan.split or "test"
    told(f"reading {plan.data}")
    pictures = pictures_of(plan, encoder, speaker, told=told)
    if plan.manners.get(LEANING) == CHOSEN:
        best = choose_leaning(speaker, talks_of(plan, pictures, "val"), pictures)
        told(f"leaning {best.leaning:g}: on val {best.searches:.0%} of searches, {best.questions:.0%} of questions")
        speaker = leaning_to(speaker, best.leaning)
    task = talks_of(plan, pictures, split)
    told(f"{len(task.talks):,} talks, leaning {speaker.leaning:g}")
    gallery = pictures.gallery(task.gallery)
    found = tuple(
        Decided(talk.id, talk.setting, PICTURES if speaker.shows(state_after(talk.turns, gallery, speaker)) else WORDS)
        for talk in task.talks
    )
    result = task_of_values(
        task.title,
        values_of(found),
        [one.id for one in found],
        of=f"{split}, {len(found):,} talks, leaning {speaker.leaning:g}",
        split=split,
        pictures=len(gallery),
        at="last turn",
        seed=plan.seed,
        left_out=tuple(str(report) for report in task.reports if report.dropped),
    )
    return Measured(Run(out, provenance_of(plan, encoder), described_machine(), (result,)), found, DECISIONS)


def _speaker(plan: Plan) -> Speaker[Any]:
    check_manners(plan, (LEANING,), PROTOCOL)
    retriever = load_system(plan.system, plan.seed, plan.checkpoint)
    asked = plan.manners.get(LEANING, CHOSEN)
    if asked != CHOSEN and not isinstance(asked, int | float):
        raise BadInput(f"--manner {LEANING}={asked}: a number is needed, or {CHOSEN}")
    own = retriever.leaning if isinstance(retriever, AnsweringRetriever) else 0.0
    return leaning_to(retriever, own if asked == CHOSEN else float(asked))


# -- talks


def talks_of(plan: Plan, pictures: Pictures, split: str) -> Task:
    """Searches and questions of a split as talks, so many of each at most; their settings are what they want.

    Where no chat-search dialogues are for validation, those for training that are held out of it are.

    Raises:
        BadInput: there are none of either.
    """
    most = plan.limit or ENOUGH
    talks = (*evenly(_searches(plan.data, split), most), *evenly(_questions(plan.data, split), most))
    named = sorted({picture for talk in talks for picture in talk.pictures()})
    task = known_task(Task(PROTOCOL, "", split, tuple(named), talks, ()), pictures)
    if not task.talks:
        raise BadInput(f"{plan.data}: no talks of {split!r} here; chatsearch/*.jsonl or dialogues/*.json are needed")
    return task


def _searches(folder: Path, split: str) -> list[Talk]:
    home = folder / "chatsearch"
    samples = [sample for file in sorted(home.glob(f"*_{split}.jsonl")) for sample in read_chatsearch(file)[0]]
    if not samples and split == "val":
        training = (read_chatsearch(file)[0] for file in sorted(home.glob("*_train.jsonl")))
        samples = [sample for some in training for at, sample in enumerate(some) if split_of(at) == "val"]
    return [Talk(sample.id, sample.target, tuple(chatsearch.turns_of(sample)), setting=PICTURES) for sample in samples]


def _questions(folder: Path, split: str) -> list[Talk]:
    """One question of each dialogue: the first of the first, the second of the second and so on, round and round."""
    talks = [(name, talk) for name, several in dialogues_of(folder, split).items() for talk in several]
    found = []
    for at, (name, talk) in enumerate(talks):
        one = talk.rounds[at % len(talk.rounds)]
        asked = turns_of((replace(one, answer=""),), talk.image)
        found.append(Talk(f"{name} {talk.image} {at}", talk.image, asked, setting=WORDS))
    return found


# -- figures


def values_of(found: Sequence[Decided]) -> dict[str, Float[np.ndarray, " s"]]:
    """A value a talk for each figure: 1 where it is answered as it wants, NaN where a figure is not about it.

    In the mean of both kinds each talk weighs as much as there are few of its kind, so that the kinds weigh the same.
    """
    wants_s = np.array([one.wants for one in found])
    right_s = np.array([float(one.wants == one.answered) for one in found])
    values = {metric: np.where(wants_s == kind, right_s, np.nan) for kind, metric in RIGHT.items()}
    counts = {kind: int((wants_s == kind).sum()) for kind in RIGHT}
    if all(counts.values()):
        weights_s = np.array([len(found) / (len(RIGHT) * counts[one.wants]) for one in found])
        values[BOTH] = right_s * weights_s
    return values


# -- choosing


def choose_leaning(speaker: Speaker[Any], task: Task, pictures: Pictures) -> Leaning:
    """The leaning of `LEANINGS` with which searches and questions are answered best, their two shares added up.

    Of several that are equally good the one in the middle of the first that follow each other.
    """
    gallery = pictures.gallery(task.gallery)
    leaning = [leaning_to(speaker, each) for each in LEANINGS]

    def least(talk: Talk) -> int:
        """The first leaning with which it is answered with pictures, by halves: with every later one it is, too."""
        before, last = state_before(talk.turns, gallery, speaker)
        return bisect_left(range(len(LEANINGS)), True, key=lambda at: leaning[at].shows(leaning[at].step(before, last)))

    first = {kind: [least(talk) for talk in task.talks if talk.setting == kind] for kind in RIGHT}
    if not all(first.values()):
        raise BadInput(f"{task.title}: searches and questions are needed to choose a leaning; there is one kind alone")
    return best_leaning(first[PICTURES], first[WORDS])


def best_leaning(searches: Sequence[int], questions: Sequence[int]) -> Leaning:
    """The best of `LEANINGS`, given the first one with which each talk is answered with pictures, by its place."""
    places_l = np.arange(len(LEANINGS))
    shown_l = (np.array(searches)[:, None] <= places_l).mean(axis=0)
    told_l = (np.array(questions)[:, None] > places_l).mean(axis=0)
    both_l = shown_l + told_l
    best = np.flatnonzero(both_l >= both_l.max() - 1e-9)
    run = best[: int(np.argmax(np.diff(best, append=len(LEANINGS) + 1) > 1)) + 1]
    middle = int(run[len(run) // 2])
    return Leaning(LEANINGS[middle], float(shown_l[middle]), float(told_l[middle]))
