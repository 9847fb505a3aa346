"""What turns do with earlier ones, in `chat`: for programs always, for people where it was understood from words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import viewfinder.retrievers

Run = Callable[..., Any]

TURNS = (
    {"say": "a car"},
    {"like": "#2", "but": "red"},
    {"say": "I still prefer the first, with the colour of the second"},
    {"like": "#1", "turn": 2},
    {"back_to": 3},
)


@pytest.fixture
def arguments(
    monkeypatch: pytest.MonkeyPatch, looks_back: Callable[[], Any], library: Path, tmp_path: Path
) -> tuple[object, ...]:
    """A script, in a talk with a retriever that looks back."""
    monkeypatch.setitem(viewfinder.retrievers.RETRIEVERS, "looks-back", lambda checkpoint: looks_back())
    script = tmp_path / "turns.jsonl"
    script.write_text("\n".join(map(json.dumps, TURNS)))
    return ("chat", "--retriever", "looks-back", "--questioner", "none", "--script", script, "--library", library)


def test_programs_get_what_the_turn_of_a_line_does(viewfinder: Run, arguments: tuple[object, ...]) -> None:
    lines = viewfinder(*arguments, "--json").lines
    assert [line["operations"] for line in lines] == [
        [],
        [],
        [
            {"kind": "rollback", "turn": 1, "attribute": "", "words": "the first"},
            {"kind": "keep", "turn": 2, "attribute": "colour", "words": "colour of the second"},
        ],
        [{"kind": "rollback", "turn": 2, "attribute": "", "words": ""}],
        [],
    ]


def test_people_are_told_what_was_understood(viewfinder: Run, arguments: tuple[object, ...]) -> None:
    told = viewfinder(*arguments).out
    assert told.count("goes on from turn ") == 1
    assert 'goes on from turn 1 ("the first")\n' in told
    assert 'keeps the colour of turn 2 ("colour of the second")\n' in told
