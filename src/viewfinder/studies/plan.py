"""The schemas of a study, and the assignment of pictures and retrievers to participants.

Schemas for participants name no retriever, no file, no score and no place of the target.

With two retrievers every participant meets both, on different pictures and without being told which is which; the
next participant meets the same pictures in the same order with the retrievers swapped. So after every two participants
each of their pictures was looked for once with either, and neither retriever was met earlier than the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, Field, StringConstraints, model_validator

from viewfinder.errors import BadInput
from viewfinder.metrics.intervals import SEPARATOR
from viewfinder.server.conversations.schemas import Id, Name, Strict

Kind = Literal["describe", "answer", "feedback"]


def _check_nul(text: str) -> str:
    if "\0" in text:  # which PostgreSQL keeps in no text
        raise ValueError("text without NUL")
    return text


def _check_line(text: str) -> str:
    if not text.isprintable() or SEPARATOR.strip() in text:
        raise ValueError("one line of text without |, as figures are named after it")
    return text


LongText = Annotated[str, StringConstraints(max_length=20_000), AfterValidator(_check_nul)]
OneLine = StringConstraints(min_length=1, max_length=200, strip_whitespace=True)
Line = Annotated[str, OneLine, AfterValidator(_check_line)]


class Drawn(Strict):
    """So many pictures of the library, drawn at random."""

    count: int = Field(ge=1, le=10_000)
    seed: int = Field(0, ge=0, le=2**32 - 1)


class StudyPlan(Strict):
    """A study.

    `task`: describe the picture (Drill-down's study), answer questions about it (ChatIR's; the first round is a
    description, its round 0), or say how it differs from results (Fashion IQ, MAI). `target`: it stays in view, or is
    shown for some `seconds` before the first round and then has to be remembered. `targets`: the pictures to look for.
    `per_participant`: how many of them each participant gets; by default all. `rounds`: turns that a participant has
    for a picture. `retrievers`: one, or two to be compared blind. `n`: results in view after a turn.
    """

    name: Line
    consent: Annotated[LongText, StringConstraints(min_length=1)]
    instructions: LongText = ""
    task: Kind = "describe"
    target: Literal["shown", "remembered"] = "shown"
    seconds: float = Field(10.0, gt=0, le=3600)
    targets: Annotated[list[Id], Field(min_length=1, max_length=10_000)] | Drawn
    per_participant: int | None = Field(None, ge=1, le=1000)
    rounds: int = Field(5, ge=1, le=50)
    retrievers: list[Name] = Field(["composer"], min_length=1, max_length=2)
    questioner: Name = "information_gain"
    n: int = Field(5, ge=1, le=100)

    @model_validator(mode="after")
    def _check_plan(self) -> StudyPlan:
        if len(set(self.retrievers)) < len(self.retrievers):
            raise ValueError("retrievers: two different ones are needed for a comparison")
        if isinstance(self.targets, list) and len(set(self.targets)) < len(self.targets):
            raise ValueError("targets: a picture is named twice")
        if self.task == "answer" and self.questioner == "none":
            raise ValueError("questioner: a questioner must ask where participants are to answer")
        return self

    @property
    def asks(self) -> str:
        """The questioner; "none", unless the task is to answer."""
        return self.questioner if self.task == "answer" else "none"


class StudyCounts(BaseModel):
    """How far a study is."""

    participants: int
    trials: int = Field(description="trials that have ended")
    unfinished: int = Field(description="trials that have not")


class Study(BaseModel):
    """A study, for those who run it. `pictures`: size of the collection when it began, in which targets are ranked."""

    id: str
    plan: StudyPlan
    targets: list[str]
    pictures: int
    open: bool
    created: datetime
    counts: StudyCounts


class StudyList(BaseModel):
    """All studies, the newest first."""

    studies: list[Study]


class PublicStudy(BaseModel):
    """A study, for those who may take part."""

    id: str
    name: str
    consent: str
    instructions: str
    task: Kind
    target: Literal["shown", "remembered"]
    seconds: float | None = Field(description="how long a picture to remember is in view")
    rounds: int
    trials: int = Field(description="pictures that each participant looks for")
    open: bool
    participants: int


class Consent(Strict):
    """The consent text was read and agreed to."""

    agreed: Literal[True]


class SeenPicture(BaseModel):
    """A picture as a participant sees it; it is at /api/v1/pictures/{id}/thumbnail."""

    id: str
    width: int
    height: int


class TrialTurn(BaseModel):
    """A turn of this trial: `pictures` are those liked or rejected, `question` what an answer is to."""

    kind: Literal["say", "answer", "like", "reject"]
    text: str
    pictures: list[str]
    question: str | None


class Asked(BaseModel):
    """The question that waits for an answer; a free answer is always possible."""

    text: str
    choices: list[str]


class Trial(BaseModel):
    """One picture to look for.

    `target` is null before the trial has started, and once the picture has to be remembered; `seconds_left` says for
    how long such a picture is still in view. `results` is null before the first turn.
    """

    id: str
    number: int
    task: Kind
    started: bool
    target: SeenPicture | None
    seconds_left: float | None
    rounds_left: int
    said: list[TrialTurn]
    results: list[SeenPicture] | None
    question: Asked | None


class Participation(BaseModel):
    """How far a participant is; `trial` is null when all is done."""

    id: str
    done: int
    of: int
    trial: Trial | None


class TrialEnd(Strict):
    """The picture was found (one of those that were shown), or not."""

    found: Id | None = None


class FigureOut(BaseModel):
    """A mean (or median) with its 95 % bootstrap interval over trials."""

    metric: str
    at: str
    mean: float
    low: float
    high: float
    trials: int


class ArmFigures(BaseModel):
    """One retriever. `found` counts what participants said, the other metrics where the target stood.

    Places count from 1; a trial that ended early keeps its last place for the rounds that are left.
    """

    retriever: str
    trials: int
    outcomes: dict[str, int]
    median_seconds: float | None
    figures: list[FigureOut]


class DifferenceOut(BaseModel):
    """A figure of the second retriever beside the first's, on the pictures that both were used for.

    `difference`, `low` and `high` are second minus first; `p_value` is that of a paired permutation test.
    """

    metric: str
    at: str
    pairs: int
    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float


class StudyFigures(BaseModel):
    """The results so far. `count`: every trial that has ended, or the best of each picture and retriever."""

    name: str
    count: Literal["every", "best"]
    pictures: int
    arms: list[ArmFigures]
    differences: list[DifferenceOut]


class SettledPlan(Strict):
    """A plan with what was settled when the study began: the pictures, and the collection they are ranked in."""

    plan: StudyPlan
    targets: list[str]
    pictures: int
    encoder: str


def draw_targets(ids: Sequence[str], draw: Drawn) -> list[str]:
    """Some of these pictures, the same for the same collection and seed; BadInput where there are not so many."""
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
