"""Simulated users in live sessions: the same engine a person has, with someone who knows the target in front of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from viewfinder.conversation import Conversation
from viewfinder.errors import BadInput
from viewfinder.evaluation.replay import Progress, RankTable
from viewfinder.evaluation.task import Talk, Task
from viewfinder.gallery import Gallery
from viewfinder.measures import carried
from viewfinder.memo import StepMemo
from viewfinder.retrievers import Retriever
from viewfinder.session import Session
from viewfinder.users.base import Screen, SimulatedUser

LOOKS_AT = 10
"""Results on the screen."""


def converse(
    task: Task,
    gallery: Gallery,
    retriever: Retriever[Any],
    user: SimulatedUser,
    *,
    questioner: str | None = None,
    progress: Progress = lambda done: None,
) -> tuple[RankTable, list[Conversation]]:
    """Lets a user look for every target of the task; `gallery` holds the pictures that are ranked.

    A talk that ends early (found, or given up) keeps its last rank for the turns that are left; one that never
    began has the rank of a draw.
    """
    best_st, worst_st = (np.full((len(task.talks), task.rounds), np.nan) for _ in range(2))
    best_st[:, 0], worst_st[:, 0] = 0.0, float(len(gallery) - 1)
    conversations = []
    for number, talk in enumerate(task.talks):
        session = Session(lambda: gallery, retriever, questioner, n=LOOKS_AT, memo=StepMemo(0))
        for turn, (best, worst) in enumerate(_turns(session, talk, user, task.rounds)):
            best_st[number, turn:], worst_st[number, turn:] = float(best), float(worst)
        conversations.append(session.conversation)
        progress(number + 1)
    return RankTable(carried(best_st), carried(worst_st), len(gallery)), conversations


def _turns(session: Session, talk: Talk, user: SimulatedUser, rounds: int) -> Iterator[tuple[int, int]]:
    """The ranks of the target after every turn of one talk."""
    shown: tuple[str, ...] = (talk.first,) if talk.first else ()
    for turn in range(rounds):
        said = user.reply(talk.target, Screen(shown, session.question, turn))
        if said is None:
            return
        try:
            hits = session.take(said)
        except BadInput as error:
            raise BadInput(f"talk {talk.id}, turn {turn + 1}: {error}") from error
        yield session.rank_bounds(talk.target)
        shown = tuple(hit.id for hit in hits) or shown


def first_pictures(task: Task, seed: int) -> Task:
    """The task with a fixed first picture for every talk, another one than its target (Fashion IQ's shuffled list).

    The picture depends on the seed, the talk and the gallery's size alone, so that every system starts alike.
    """
    talks = []
    for talk in task.talks:
        digest = hashlib.blake2b(f"{seed}/{talk.id}".encode(), digest_size=8).digest()
        first = task.gallery[int.from_bytes(digest, "big") % len(task.gallery)]
        if first == talk.target:
            first = task.gallery[(task.gallery.index(first) + 1) % len(task.gallery)]
        talks.append(replace(talk, first=first))
    return replace(task, talks=tuple(talks))
