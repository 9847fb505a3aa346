"""A retriever for tests, whose turns do something with earlier ones. Servers of tests have it too."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Literal

from viewfinder.conversation import Keep, Like
from viewfinder.query import Operation, Query, ResolvedTurn
from viewfinder.retrievers import Composer

PLACES = {"first": 1, "second": 2, "third": 3}
NAMED = re.compile(r"(?:(?P<attribute>\w+) of )?the (?P<place>first|second|third)")


class LooksBack:
    """The composer, which also tells what a turn does with earlier ones: "the second" is turn 2."""

    name = "looks-back"
    looks_back = True

    def __init__(self) -> None:
        self._composer = Composer()
        self.reads = self._composer.reads

    def begin(self) -> tuple[Any, tuple[Operation, ...]]:
        return self._composer.begin(), ()

    def step(self, state: tuple[Any, tuple[Operation, ...]], turn: ResolvedTurn) -> tuple[Any, tuple[Operation, ...]]:
        return self._composer.step(state[0], turn), tuple(operations_of(turn))

    def query(self, state: tuple[Any, tuple[Operation, ...]]) -> Query:
        return replace(self._composer.query(state[0]), operations=state[1])


def operations_of(turn: ResolvedTurn) -> list[Operation]:
    match turn.turn:
        case Keep(attribute, at):
            return [Operation("keep", at, attribute)]
        case Like(turn=int(at)):
            return [Operation("rollback", at)]
    named = NAMED.finditer(getattr(turn.turn, "text", ""))
    return [_operation(found) for found in named if PLACES[found["place"]] < turn.number]


def _operation(found: re.Match[str]) -> Operation:
    kind: Literal["keep", "rollback"] = "keep" if found["attribute"] else "rollback"
    return Operation(kind, PLACES[found["place"]], found["attribute"] or "", found[0])
