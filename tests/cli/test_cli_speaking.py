"""`chat` with a retriever that speaks: its words, its leaning, and results only where they are others."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viewfinder.cli.output import print_pieces
from viewfinder.retrievers import RETRIEVERS

Run = Callable[..., Any]

SAID = "I have heard 'a car' 'is it red?'."


@pytest.fixture
def conversation(
    viewfinder: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch, talker: Callable[..., Any]
) -> Callable[..., Any]:
    """Types lines into `chat` with a retriever that speaks."""
    monkeypatch.setitem(RETRIEVERS, "talker", lambda checkpoint: talker())

    def typed(*lines: str, options: tuple[object, ...] = ()) -> Any:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        chat = ("chat", "--retriever", "talker", "--questioner", "none", "-n", 3, *options, "--library", indexed)
        return viewfinder(*chat)

    return typed


def numbered(out: str) -> list[str]:
    """The lines that are results."""
    return [line for line in out.splitlines() if line[:1].isdigit()]


def test_words_are_told_and_the_results_are_not_repeated(conversation: Callable[..., Any]) -> None:
    told = conversation("a car", "is it red?").out
    assert f"\nanswer: {SAID}\n" in told
    assert len(numbered(told)) == 3


def test_results_that_are_not_on_the_screen_come_with_the_words(conversation: Callable[..., Any]) -> None:
    told = conversation("a car?", "a dog", "a cat", "back 1").out
    assert told.startswith("answer: I have heard 'a car?'.\n")
    assert len(numbered(told)) == 4 * 3
    assert told.count("answer: ") == 2


def test_programs_get_the_answer_of_every_turn(conversation: Callable[..., Any]) -> None:
    first, second = conversation("a car", "is it red?", options=("--json",)).lines
    assert (first["answer"], second["answer"]) == ({"with": "pictures", "text": ""}, {"with": "words", "text": SAID})
    assert [hit["id"] for hit in first["results"]] == [hit["id"] for hit in second["results"]]


def test_who_does_not_speak_has_no_answer(conversation: Callable[..., Any]) -> None:
    outcome = conversation("a car?", options=("--json", "--retriever", "composer"))
    assert outcome.lines[0]["answer"] is None


def test_the_leaning_is_an_option_and_a_command(conversation: Callable[..., Any], tmp_path: Path) -> None:
    lines = ("a car", "is it red?", "leaning -9", "a dog", f"save {tmp_path}/talk.json", f"open {tmp_path}/talk.json")
    taken = conversation(*lines, options=("--json", "--leaning", "2")).lines
    assert [line["answer"]["with"] for line in taken if "answer" in line] == ["pictures", "pictures", "words", "words"]
    assert taken[2] == {"leaning": -9.0}
    assert conversation("leaning 0.5").out == "leaning 0.5 from now on\n"


@pytest.mark.parametrize("leaning", ["1", "nan"])
def test_a_leaning_that_means_nothing_is_said_before_the_first_turn(
    conversation: Callable[..., Any], leaning: str
) -> None:
    retriever = ("--retriever", "composer") if leaning == "1" else ()
    outcome = conversation("a car", options=("--leaning", leaning, *retriever))
    assert (outcome.code, outcome.out) == (2, "")
    assert "leaning" in outcome.err


def test_scripts_have_the_words_too(conversation: Callable[..., Any], tmp_path: Path) -> None:
    script = tmp_path / "turns.jsonl"
    script.write_text("\n".join(json.dumps({"say": text}) for text in ("a car", "is it red?")))
    told = conversation(options=("--script", script)).out
    assert f'2  "is it red?"\nanswer: {SAID}\n' in told


def test_a_line_of_pieces_ends_even_if_it_breaks_off(capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> Any:
        yield "two\nlines\x1b[2J"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        print_pieces("answer: ", broken())
    assert capsys.readouterr().out == "answer: two lines [2J\n"
