"""A few talks of a run as a reader wants to see them: what was said, what was on the screen, where the target was.

For systems that look at regions also where in the wanted picture each of their vectors looked (figure 4 of Tan et al.
2019).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.conversation import Answer, Conversation, Like, Node, Turn
from viewfinder.evaluation.replay import RankTable, query_each_turn, recorded_conversation
from viewfinder.evaluation.task import SearchDialogue, Task
from viewfinder.index import Gallery
from viewfinder.retrievers import Query, RegionSpace, Retriever

TALKS = 4
"""Talks shown of a task, taken evenly."""

PICTURES = 6
"""Results shown of a turn."""


@dataclass(frozen=True, eq=False)
class SlotAttention:
    """What one vector of a query looks at in the wanted picture: a weight a region, which add up to 1.

    `said` is what the vector holds; `fresh` says that the turn just said went into it.
    """

    said: str
    fresh: bool
    weights_r: Float32[np.ndarray, " r"]


@dataclass(frozen=True, eq=False)
class QueryAttention:
    """All vectors of a query, and where the regions lie: (x0, y0, x1, y1) as shares of width and height."""

    boxes_r4: Float[np.ndarray, "r 4"]
    slots: tuple[SlotAttention, ...]


@dataclass(frozen=True)
class ExampleTurn:
    """One turn: the words, the picture they go with (a file), the results (files), and the target's place from 1.

    `looks` is None for systems that look at whole pictures only.
    """

    said: str
    picture: str
    shown: tuple[str, ...]
    place: float
    looks: QueryAttention | None = None


@dataclass(frozen=True)
class Example:
    """One talk of a task."""

    task: str
    talk: str
    target: str
    turns: tuple[ExampleTurn, ...]


def pick_examples(
    task: Task,
    gallery: Gallery,
    retriever: Retriever[Any],
    conversations: Sequence[Conversation] | None,
    table: RankTable,
    files: Mapping[str, str],
) -> list[Example]:
    """Some talks of a task: as they were held, or (recorded ones, None) said to the retriever once more."""
    step = max(1, len(task.talks) // TALKS)
    found = []
    for number in range(0, len(task.talks), step)[:TALKS]:
        talk = task.talks[number]
        held = conversations[number] if conversations is not None else None
        turns = []
        places = (table.best_st[number] + table.worst_st[number]) / 2 + 1
        asked = query_each_turn(recorded_conversation(talk) if held is None else held, gallery, retriever)
        for (node, query), place in zip(asked, places, strict=False):
            assert node.turn is not None
            shown = _results(task, gallery, query) if held is None else node.shown[:PICTURES]
            turns.append(
                ExampleTurn(
                    turn_line(node.turn),
                    _picture(node.turn, files),
                    tuple(files.get(one, "") for one in shown),
                    float(place),
                    _looks(node, query, gallery, talk),
                )
            )
        found.append(Example(task.title, talk.id, files.get(talk.target, ""), tuple(turns)))
    return found


def turn_line(turn: Turn) -> str:
    """A turn as a line of a talk."""
    match turn:
        case Answer(question, text):
            return f"{question.text} - {text}"
        case Like(text=text):
            return f"but {text}" if text else "this one"
        case _:
            return str(getattr(turn, "text", ""))


def _results(task: Task, gallery: Gallery, query: Query) -> tuple[str, ...]:
    """What a person would have seen of the task's gallery."""
    ranked = frozenset(task.gallery)
    ids = (gallery.snapshot.ids[row] for row in gallery.best(gallery.scores(query), len(gallery)).tolist())
    return tuple(one for one in ids if one in ranked)[:PICTURES]


def _looks(node: Node, query: Query, gallery: Gallery, talk: SearchDialogue) -> QueryAttention | None:
    """What the query's vectors look at in the wanted picture; None where there are no regions to look at."""
    if not isinstance(query.space, RegionSpace) or not query.parts:
        return None
    row = gallery.row(talk.target)
    boxes_r4 = gallery.boxes(row, query.space)
    if len(boxes_r4) < 2:
        return None
    [attention_pr] = gallery.attention(query, np.array([row]))
    slots = (
        SlotAttention(part.label, part.turn == node.number, w_r)
        for part, w_r in zip(query.parts, attention_pr, strict=True)
    )
    return QueryAttention(boxes_r4, tuple(slots))


def _picture(turn: Turn, files: Mapping[str, str]) -> str:
    return files.get(turn.picture, "") if isinstance(turn, Like) else ""
