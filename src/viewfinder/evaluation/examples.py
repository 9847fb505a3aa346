"""A few talks of a run as a reader wants to see them: what was said, what was on the screen, where the target was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viewfinder.conversation import Answer, BackTo, Conversation, Like, Turn
from viewfinder.evaluation.replay import RankTable, queries
from viewfinder.evaluation.task import Talk, Task
from viewfinder.gallery import Gallery
from viewfinder.retrievers import Retriever

TALKS = 4
"""Talks shown of a task, taken evenly."""

PICTURES = 6
"""Results shown of a turn."""


Told = list[tuple[Turn, tuple[str, ...]]]
"""Turns, and what was on the screen after each."""


@dataclass(frozen=True)
class ExampleTurn:
    """One turn: the words, the picture they go with (a file), the results (files), and the target's place from 1."""

    said: str
    picture: str
    shown: tuple[str, ...]
    place: float


@dataclass(frozen=True)
class Example:
    """One talk of a task."""

    task: str
    talk: str
    target: str
    turns: tuple[ExampleTurn, ...]


def examples(
    task: Task,
    gallery: Gallery,
    conversations: Sequence[Conversation] | None,
    table: RankTable,
    files: Mapping[str, str],
    retriever: Retriever[Any] | None = None,
) -> list[Example]:
    """Some talks of a task: as they were held, or (recorded ones) said to the retriever once more."""
    step = max(1, len(task.talks) // TALKS)
    found = []
    for number in range(0, len(task.talks), step)[:TALKS]:
        talk = task.talks[number]
        if conversations is not None:
            told = _held(conversations[number])
        else:
            told = _replayed(task, talk, gallery, retriever) if retriever is not None else []
        places = (table.best_st[number] + table.worst_st[number]) / 2 + 1
        turns = tuple(
            ExampleTurn(words(turn), _picture(turn, files), tuple(files.get(one, "") for one in shown), float(place))
            for (turn, shown), place in zip(told, places, strict=False)
        )
        found.append(Example(task.title, talk.id, files.get(talk.target, ""), turns))
    return found


def words(turn: Turn) -> str:
    """A turn as a line of a talk."""
    match turn:
        case Answer(question, text):
            return f"{question.text} - {text}"
        case Like(text=text):
            return f"but {text}" if text else "this one"
        case _:
            return str(getattr(turn, "text", ""))


def _held(talk: Conversation) -> Told:
    nodes = [node for node in talk.nodes if node.turn is not None and not isinstance(node.turn, BackTo)]
    return [(node.turn, node.shown[:PICTURES]) for node in nodes if node.turn is not None]


def _replayed(task: Task, talk: Talk, gallery: Gallery, retriever: Retriever[Any]) -> Told:
    """The turns of a recorded talk, and what a person would have seen of the task's gallery after each."""
    ranked = frozenset(task.gallery)
    said = [turn for turn in talk.turns if not isinstance(turn, BackTo)]
    told: Told = []
    for turn, query in zip(said, queries(talk, gallery, retriever), strict=True):
        best = gallery.best(gallery.scores(query), len(gallery)).tolist()
        ids = (gallery.snapshot.ids[row] for row in best)
        told.append((turn, tuple(one for one in ids if one in ranked)[:PICTURES]))
    return told


def _picture(turn: Turn, files: Mapping[str, str]) -> str:
    return files.get(turn.picture, "") if isinstance(turn, Like) else ""
