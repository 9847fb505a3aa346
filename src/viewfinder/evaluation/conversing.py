"""Simulated users in live sessions: the same engine a person has, with someone who knows the target in front of it.

There are two ways of talking. A user on their own says what a person would, looks at the results, and ends when the
wanted picture is among them. In an interview (ChatIR) the talk begins with a given description, the questioner asks,
the user only answers, and it goes on to the last round whatever was found.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from viewfinder.conversation import Conversation, Question, Turn
from viewfinder.errors import BadInput
from viewfinder.evaluation.answering import answer_question
from viewfinder.evaluation.replay import Progress, RankTable, rank_queries
from viewfinder.evaluation.speaking import pictures_only
from viewfinder.evaluation.task import SearchDialogue, Task
from viewfinder.index import Gallery
from viewfinder.index.turns import ByteCache
from viewfinder.metrics import carry_ranks
from viewfinder.retrievers import Query, Retriever
from viewfinder.session import Session
from viewfinder.users.base import Screen, SimulatedUser

RESULTS_SHOWN = 10
"""Results on the screen."""


@dataclass(frozen=True, eq=False)
class HeldDialogue:
    """A talk as it was held, and how long each of its questions took to choose, in milliseconds.

    Not counted is the first question of a process, for which things are read and made that are kept after that.
    """

    conversation: Conversation
    asking_ms: tuple[float, ...] = ()


def simulate_dialogues(
    task: Task,
    gallery: Gallery,
    retriever: Retriever[Any],
    user: SimulatedUser,
    *,
    questioner: str | None = None,
    progress: Progress = lambda done: None,
) -> tuple[RankTable, list[HeldDialogue]]:
    """Lets a user look for every target of the task; `gallery` holds the pictures that are ranked.

    A talk that ends early (found, given up, or nothing left to ask) keeps its last rank for the turns that are left;
    one that never began has the rank of a draw.
    """
    held: list[HeldDialogue] = []

    def queries() -> Iterator[tuple[int, int, Query]]:
        for number, talk in enumerate(task.talks):
            live = SimulatedSession(gallery, retriever, questioner)
            take_turns = live.interview if is_interview(task, questioner) else live.talk
            for turn, query in enumerate(take_turns(talk, user, task.rounds)):
                yield number, turn, query
            held.append(live.held)
            progress(number + 1)

    best_st, worst_st = rank_queries(gallery, [talk.target for talk in task.talks], task.rounds, queries())
    if held:
        held[0] = replace(held[0], asking_ms=held[0].asking_ms[1:])
    never_s = np.isnan(best_st[:, 0])
    best_st[never_s, 0], worst_st[never_s, 0] = 0.0, float(len(gallery) - 1)
    return RankTable(carry_ranks(best_st), carry_ranks(worst_st), len(gallery)), held


def is_interview(task: Task, questioner: str | None) -> bool:
    """Whether the user only answers; a questioner that is called "none" asks nothing, and leaves the description."""
    return task.interviews and questioner is not None


@dataclass(eq=False)
class SimulatedSession:
    """One talk in a session of its own, in which every turn is answered with pictures."""

    gallery: Gallery
    retriever: Retriever[Any]
    questioner: str | None = None
    _asking_ms: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        shows = pictures_only(self.retriever)
        self._session = Session(self.gallery, shows, self.questioner, n=RESULTS_SHOWN, memo=ByteCache())

    @property
    def held(self) -> HeldDialogue:
        """The talk so far."""
        return HeldDialogue(self._session.conversation, tuple(self._asking_ms))

    def talk(self, talk: SearchDialogue, user: SimulatedUser, rounds: int) -> Iterator[Query]:
        """What is looked for after every turn of a user on their own."""
        shown: tuple[str, ...] = (talk.first,) if talk.first else ()
        for number in range(rounds):
            said = user.reply(talk.target, Screen(shown, self._asked(), number))
            if said is None:
                return
            shown = self._take(talk, said) or shown
            yield self._session.last_query

    def interview(self, talk: SearchDialogue, user: SimulatedUser, rounds: int) -> Iterator[Query]:
        """What is looked for after the description, and after every answer."""
        self._take(talk, talk.turns[0])
        yield self._session.last_query
        for number in range(1, rounds):
            question = self._asked()
            if question is None:
                return
            self._take(talk, answer_question(user, talk.target, question, number))
            yield self._session.last_query

    def _asked(self) -> Question | None:
        started = time.perf_counter()
        question = self._session.follow_up()
        if question is not None:
            self._asking_ms.append((time.perf_counter() - started) * 1000)
        return question

    def _take(self, talk: SearchDialogue, said: Turn) -> tuple[str, ...]:
        """Says it; gives what is shown."""
        try:
            return tuple(hit.id for hit in self._session.search(said))
        except BadInput as error:
            turn = len(self._session.conversation) + 1
            raise BadInput(f"talk {talk.id}, turn {turn}: {error}") from error


def draw_first_pictures(task: Task, seed: int) -> Task:
    """The task with a fixed first picture for every talk that has none, another one than its target.

    The picture depends on the seed, the talk and the gallery's size alone, so that every system starts alike.
    """
    talks = []
    for talk in task.talks:
        if talk.first:  # the data set fixes it (Fashion IQ's shuffled list)
            talks.append(talk)
            continue
        digest = hashlib.blake2b(f"{seed}/{talk.id}".encode(), digest_size=8).digest()
        first = task.gallery[int.from_bytes(digest, "big") % len(task.gallery)]
        if first == talk.target:
            first = task.gallery[(task.gallery.index(first) + 1) % len(task.gallery)]
        talks.append(replace(talk, first=first))
    return replace(task, talks=tuple(talks))
