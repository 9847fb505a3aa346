"""Whether a system answers as it should: with pictures when one is sought, in words when something is asked.

searches   chat-search dialogues; right if the last turn is answered with pictures
questions  about a picture of the user's own, as in visual conversation; right if the answer is words
decisions  the mean of both shares, however many dialogues each has

How much a system leans to pictures is one number, which `choose_picture_bias` chooses on validation dialogues.
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
from viewfinder.evaluation.overlap import count_seen_pictures, list_parts, refuse_seen
from viewfinder.evaluation.pictures import Pictures, load_pictures, match_pictures
from viewfinder.evaluation.plan import Notify, Plan, SearchDialogue, Task, load_system, pick_evenly, silent
from viewfinder.evaluation.protocols import chatsearch
from viewfinder.evaluation.replay import SpeakingRetriever, replay_before_last, replay_turns, with_picture_bias
from viewfinder.evaluation.results import MeasuredRun, check_options, make_measured_result, make_run
from viewfinder.evaluation.visual_conversation import make_question_turns, read_question_dialogues
from viewfinder.retrievers import AnsweringRetriever

PROTOCOL, DECISIONS = "decision", "decisions.jsonl"
LEANING, CHOSEN = "leaning", "chosen"
PICTURES, WORDS = "pictures", "words"
RIGHT = {PICTURES: "searches shown pictures", WORDS: "questions answered in words"}
BOTH = "right decisions"
DIALOGUES_PER_KIND = 500
"""Default number of dialogues per kind: a share of so many is known to within four points."""

PICTURE_BIASES = tuple(np.linspace(-12, 12, 97).tolist())
"""Picture biases that are tried: a quarter apart, from e^-12 times the chance to e^12 times."""


@dataclass(frozen=True)
class Decision:
    """A dialogue, what its last turn wants (pictures or words), and what the system answers with."""

    id: str
    wants: str
    answered: str


@dataclass(frozen=True)
class PictureBias:
    """A picture bias, and the shares of searches and questions that are answered as wanted with it."""

    picture_bias: float
    searches: float
    questions: float


def measure_decisions(plan: Plan, encoder: Encoder, out: Path, notify: Notify = silent) -> MeasuredRun[Decision]:
    """How often a system decides correctly; nothing is written.

    The manner "leaning" is a number, or "chosen": on dialogues of the validation split. Without it the system leans
    as its weights say. The plan's system, checkpoint, data, split, limit (per kind), features and seed also apply.

    Raises:
        UnknownName, BadInput: no such system, split or manner; a system that does not answer; no dialogues.
        EncoderMismatch: the system was trained on other vectors than the encoder gives.
    """
    check_options(plan, (LEANING,), PROTOCOL)
    retriever = load_system(plan.system, plan.seed, plan.checkpoint)
    asked, split = plan.options.get(LEANING, CHOSEN), plan.split or "test"
    if asked != CHOSEN and not isinstance(asked, int | float):
        raise BadInput(f"--manner {LEANING}={asked}: a number is needed, or {CHOSEN}")
    own = retriever.picture_bias if isinstance(retriever, AnsweringRetriever) else 0.0
    speaker = with_picture_bias(retriever, own if asked == CHOSEN else float(asked))
    notify(f"reading {plan.data}")
    pictures = load_pictures(plan, encoder, speaker, notify=notify)
    if plan.options.get(LEANING) == CHOSEN:
        best = choose_picture_bias(speaker, make_decision_task(plan, pictures, "val"), pictures)
        shares = f"{best.searches:.0%} of searches, {best.questions:.0%} of questions"
        notify(f"leaning {best.picture_bias:g}: on val {shares}")
        speaker = with_picture_bias(speaker, best.picture_bias)
    task = make_decision_task(plan, pictures, split)
    notify(f"{len(task.dialogues):,} dialogues, leaning {speaker.picture_bias:g}")
    gallery = pictures.gallery(task.gallery)
    shows = (speaker.shows(replay_turns(dialogue.turns, gallery, speaker)) for dialogue in task.dialogues)
    found = tuple(
        Decision(dialogue.id, dialogue.setting, PICTURES if shown else WORDS)
        for dialogue, shown in zip(task.dialogues, shows, strict=True)
    )
    of = f"{split}, {len(found):,} dialogues, leaning {speaker.picture_bias:g}"
    overlap = refuse_seen(task.title, count_seen_pictures(task.gallery, plan.data, list_parts(speaker, encoder)), plan)
    result = make_measured_result(
        task.title, count_decisions(found), [one.id for one in found], of=of, split=split, pictures=len(gallery),
        at="last turn", seed=plan.seed, left_out=task.left_out, overlap=overlap,
    )  # fmt: skip
    return MeasuredRun(make_run(plan, encoder, out, (result,)), found, DECISIONS)


def make_decision_task(plan: Plan, pictures: Pictures, split: str) -> Task:
    """Searches and questions of a split as dialogues, at most so many of each; their settings are what they want.

    Where there are no chat-search dialogues for validation, training dialogues held out from training are used.
    """
    most = plan.limit or DIALOGUES_PER_KIND
    dialogues = (*pick_evenly(_searches(plan.data, split), most), *pick_evenly(_questions(plan.data, split), most))
    named = sorted({picture for dialogue in dialogues for picture in dialogue.pictures()})
    task = match_pictures(Task(PROTOCOL, "", split, tuple(named), dialogues, ()), pictures)
    if not task.dialogues:
        raise BadInput(
            f"{plan.data}: no dialogues of {split!r} here; chatsearch/*.jsonl or dialogues/*.json are needed"
        )
    return task


def _searches(folder: Path, split: str) -> list[SearchDialogue]:
    home = folder / "chatsearch"
    samples = [sample for file in sorted(home.glob(f"*_{split}.jsonl")) for sample in read_chatsearch(file)[0]]
    if not samples and split == "val":
        training = (read_chatsearch(file)[0] for file in sorted(home.glob("*_train.jsonl")))
        samples = [sample for some in training for sample in some if split_of(sample.target) == "val"]
    return [
        SearchDialogue(sample.id, sample.target, tuple(chatsearch.make_user_turns(sample)), setting=PICTURES)
        for sample in samples
    ]


def _questions(folder: Path, split: str) -> list[SearchDialogue]:
    """One question of each dialogue: the first of the first, the second of the second and so on, wrapping around."""
    read = read_question_dialogues(folder, split)
    found = []
    for at, (name, dialogue) in enumerate((name, one) for name, several in read.items() for one in several):
        asked = replace(dialogue.rounds[at % len(dialogue.rounds)], answer="")
        turns = make_question_turns((asked,), dialogue.image)
        found.append(SearchDialogue(f"{name} {dialogue.image} {at}", dialogue.image, turns, setting=WORDS))
    return found


def count_decisions(found: Sequence[Decision]) -> dict[str, Float[np.ndarray, " s"]]:
    """One value per dialogue for each figure: 1 where it is answered as it wants, NaN where the figure does not apply.

    In the mean of both, a dialogue's weight is inverse to the number of its kind, so that the kinds weigh the same.
    """
    wants_s = np.array([one.wants for one in found])
    right_s = np.array([float(one.wants == one.answered) for one in found])
    values = {metric: np.where(wants_s == kind, right_s, np.nan) for kind, metric in RIGHT.items()}
    counts = {kind: int((wants_s == kind).sum()) for kind in RIGHT}
    if all(counts.values()):
        weights_s = np.array([len(found) / (len(RIGHT) * counts[one.wants]) for one in found])
        values[BOTH] = right_s * weights_s
    return values


def choose_picture_bias(speaker: SpeakingRetriever[Any], task: Task, pictures: Pictures) -> PictureBias:
    """The value of `PICTURE_BIASES` that answers searches and questions best, by the sum of their two shares.

    Of several that are equally good, the middle of the first consecutive run.
    """
    gallery = pictures.gallery(task.gallery)
    leaning = [with_picture_bias(speaker, each) for each in PICTURE_BIASES]

    first: dict[str, list[int]] = {kind: [] for kind in RIGHT}
    for dialogue in task.dialogues:
        # A dialogue answered with pictures stays so at every greater bias: bisection finds the least one.
        before, last = replay_before_last(dialogue.turns, gallery, speaker)
        least = bisect_left(leaning, True, key=lambda one: one.shows(one.step(before, last)))
        first[dialogue.setting].append(least)
    if not all(first.values()):
        raise BadInput(f"{task.title}: searches and questions are needed to choose a leaning; there is one kind alone")
    return pick_picture_bias(first[PICTURES], first[WORDS])


def pick_picture_bias(searches: Sequence[int], questions: Sequence[int]) -> PictureBias:
    """The best of `PICTURE_BIASES`, given for each dialogue the place of the first that answers it with pictures."""
    places_l = np.arange(len(PICTURE_BIASES))
    shown_l = (np.array(searches)[:, None] <= places_l).mean(axis=0)
    told_l = (np.array(questions)[:, None] > places_l).mean(axis=0)
    both_l = shown_l + told_l
    best = np.flatnonzero(both_l >= both_l.max() - 1e-9)
    run = best[: int(np.argmax(np.diff(best, append=len(PICTURE_BIASES) + 1) > 1)) + 1]
    middle = int(run[len(run) // 2])
    return PictureBias(PICTURE_BIASES[middle], float(shown_l[middle]), float(told_l[middle]))
