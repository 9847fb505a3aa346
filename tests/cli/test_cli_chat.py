"""The conversation at the prompt."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.vision_server import Reply, serve_vision

Run = Callable[..., Any]


@pytest.fixture
def conversation(viewfinder: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Types lines into `chat` through a pipe."""

    def typed(*lines: str, options: tuple[str, ...] = ()) -> Any:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return viewfinder("chat", "-n", 3, *options, "--library", indexed)

    return typed


def test_results_are_numbered_and_questions_lettered(conversation: Callable[..., Any]) -> None:
    lines = conversation("a car").out.splitlines()
    assert [line[0] for line in lines if line[:1].isdigit()] == ["1", "2", "3"]
    question = next(number for number, line in enumerate(lines) if line.startswith("? "))
    assert lines[question + 1].startswith("  a) ")


def test_letters_answer_the_question(conversation: Callable[..., Any]) -> None:
    outcome = conversation("a car", "b", options=("--json",))
    choice = outcome.lines[0]["question"]["choices"][1]
    parts = [part for entry in outcome.lines[1]["results"][0]["why"]["turns"] for part in entry["parts"]]
    assert outcome.lines[1]["turn"] == 2
    assert any(choice in part for part in parts)


LABORATORY = re.compile(
    r"composer|clip-t|information_gain|\bbits\b|embedding|retriever|questioner|adapter", re.IGNORECASE
)


@pytest.mark.parametrize("retriever", ["composer", "clip-t"])
def test_nobody_reads_words_of_the_laboratory_who_did_not_ask_for_details(
    conversation: Callable[..., Any], retriever: str
) -> None:
    said = (
        "a car",
        "b",
        "2 of turn 1 with silk but blue",
        "not 1 3",
        "keep colour of turn 1",
        "skip",
        "undo",
        "why 1",
        "tree",
    )
    told = conversation(*said, options=("--retriever", retriever))
    assert "left out: the attributes in turn" in told.out
    assert LABORATORY.findall(told.out + told.err) == []
    asked = conversation("a car", options=("--why",))
    assert "information_gain" in asked.out
    assert "bits" in asked.out


def test_what_a_picked_picture_is_to_have_is_a_wish_where_no_attributes_are_read(
    conversation: Callable[..., Any],
) -> None:
    told = conversation("a car", "2 with silk but blue", "tree")
    assert "left out" not in told.out
    assert 'like result 2 but "with silk but blue"' in told.out


def test_who_starts_over_in_one_line_with_a_description_has_begun_anew(conversation: Callable[..., Any]) -> None:
    told = conversation("a car", "start over, a tree", "tree")
    said = ('1  "a car"', "2  back to 0", '3  "a tree"  <- here')
    assert all(line.endswith(end) for line, end in zip(told.out.splitlines()[-3:], said, strict=True))


def test_why_shows_what_each_turn_adds(conversation: Callable[..., Any]) -> None:
    outcome = conversation("a car", "2 but blue", "why 1")
    rows = outcome.out.splitlines()[-2:]
    assert [row.split()[0] for row in rows] == ["1", "2"]
    assert "a car" in rows[0]
    assert "blue" in rows[1]
    assert rows[1].endswith("%")


def test_why_has_a_line_for_each_system_that_is_asked(
    viewfinder: Run, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chat(lines: str, *options: str) -> Any:
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        return viewfinder("chat", "--retriever", "one", "--questioner", "none", *options, "--library", library)

    rows = chat("a car\n2 but blue\nwhy 1\n").out.partition("share\n")[2].splitlines()
    own, others = (
        [row for row in rows if (" makes of all that was said " in row) == is_other] for is_other in (False, True)
    )
    assert [row.split()[0] for row in rows] == ["1", "2", *["all"] * (len(rows) - 2)]
    assert [words in row for words, row in zip(("a car", "blue"), own, strict=True)] == [True, True]
    assert len(others) >= 2 and len({row.split()[2] for row in others}) == len(others)
    [found] = chat("a car\n", "--json").lines
    for hit in found["results"]:
        assert sum(entry["adds"] for entry in hit["why"]["systems"]) == pytest.approx(hit["score"], abs=1e-4)


def test_the_tree_shows_branches_and_where_one_is(conversation: Callable[..., Any]) -> None:
    outcome = conversation("a car", "2 but blue", "back 1", "at night", "tree", options=("--questioner", "none"))
    tree = outcome.out[outcome.out.index("0  start") :].splitlines()
    assert [line.strip("│├└─ ") for line in tree] == [
        "0  start",
        '1  "a car"',
        '2  like result 2 but "blue"',
        "3  back to 1",
        '4  "at night"  <- here',
    ]


def test_replies_do_what_they_say_and_the_tree_tells(conversation: Callable[..., Any]) -> None:
    said = ("a car", "the second one", "wrong", "undo", "second one but blue", "tree")
    outcome = conversation(*said, options=("--questioner", "none"))
    tree = outcome.out[outcome.out.index("0  start") :].splitlines()
    assert [line.strip("│├└─ ") for line in tree] == [
        "0  start",
        '1  "a car"',
        "2  like result 2",
        "3  none of these",
        "4  back to 2",
        '5  like result 2 but "blue"  <- here',
    ]


def test_wrong_is_no_answer_to_a_question_and_shows_other_pictures(conversation: Callable[..., Any]) -> None:
    first, second = conversation("a car", "wrong", options=("--json",)).lines
    assert not {hit["id"] for hit in first["results"]} & {hit["id"] for hit in second["results"]}


def test_how_a_sentence_was_read_is_printed(conversation: Callable[..., Any]) -> None:
    assert "car, for cra" in conversation("do you have a photo of a red cra?", options=("--questioner", "none")).out


def test_a_conversation_is_saved_and_taken_up_again(conversation: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    first = conversation("a car", "1 but blue", f"save {file}", options=("--json",))
    assert [turn.get("say") for turn in json.loads(file.read_text())["turns"]] == ["a car", None]
    second = conversation(f"open {file}", options=("--json",))
    assert second.lines[0]["turn"] == 3
    assert [hit["id"] for hit in second.lines[0]["results"]] == [hit["id"] for hit in first.lines[1]["results"]]


def test_a_file_that_is_no_conversation_is_said_so(conversation: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[]")
    outcome = conversation(f"open {tmp_path / 'other.json'}", f"open {tmp_path / 'none.json'}", "quit")
    assert outcome.code != 0
    assert "no conversation that was saved here" in outcome.err
    assert "none.json" in outcome.err


def test_a_line_that_cannot_be_taken_does_not_end_the_conversation(conversation: Callable[..., Any]) -> None:
    outcome = conversation("99", "why 1", "keep colour", "a car", options=("--json",))
    assert outcome.code == 2
    assert [next(iter(line)) for line in outcome.lines] == ["error", "error", "error", "turn"]
    assert outcome.lines[3]["turn"] == 1


def test_help_names_what_can_be_typed(conversation: Callable[..., Any]) -> None:
    outcome = conversation("help")
    assert all(word in outcome.out for word in ("but", "without", "keep", "back", "why", "save", "quit"))


def test_previews_are_half_blocks(conversation: Callable[..., Any]) -> None:
    outcome = conversation("a car", options=("--preview",))
    assert outcome.out.count("▀") > 3 * 32 * 8
    assert "\x1b[38;2;" in outcome.out


@pytest.mark.slow
def test_a_terminal_has_a_prompt_and_remembers_lines(indexed: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from viewfinder.cli import main; main()", "chat", "--library", str(indexed)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "XDG_STATE_HOME": str(tmp_path / "state")},
        start_new_session=True,
    )
    os.close(theirs)
    seen = _read_until(ours, "> ")
    assert "40 pictures" in seen
    os.write(ours, b"a red car\n")
    assert "path" in _read_until(ours, "\n> ")
    os.write(ours, b"quit\n")
    assert process.wait(120) == 0
    os.close(ours)
    assert "a red car" in (tmp_path / "state" / "viewfinder" / "history").read_text()


@pytest.mark.slow
def test_who_types_on_while_a_language_model_hangs_has_results_at_once(indexed: Path, tmp_path: Path) -> None:
    """The model takes a connection and never says a word."""
    ours, theirs = pty.openpty()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        model = f"http://127.0.0.1:{silent.getsockname()[1]}/v1#silent"
        program = "from viewfinder.cli import main; main()"
        process = subprocess.Popen(
            [sys.executable, "-c", program, "chat", "--library", str(indexed), "--questioner", f"llm={model}"],
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            env={**os.environ, "TERM": "xterm", "XDG_STATE_HOME": str(tmp_path / "state")},
        )  # fmt: skip
        os.close(theirs)
        _read_until(ours, "> ")
        os.write(ours, b"a red car\n")
        assert "path" in _read_until(ours, "(thinking of a question; you may go on)")
        started = time.monotonic()
        os.write(ours, b"quit\n")
        assert process.wait(120) == 0
        assert time.monotonic() - started < 8  # the model has ten seconds to answer
    os.close(ours)


def _read_until(terminal: int, text: str, seconds: float = 120) -> str:
    seen, end = "", time.monotonic() + seconds
    while text not in seen.replace("\r", "").replace("\x1b[?2004h", ""):
        assert time.monotonic() < end, seen
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 65536).decode(errors="replace")
    return seen


def test_a_model_is_asked_about_the_results_and_answers_one_by_one(conversation: Callable[..., Any]) -> None:
    said: list[Reply] = ["No.", "Yes, a red one.", (429, {"Retry-After": "9"}, b"{}")]
    with serve_vision(lambda jpeg, number: said[number]) as vision:
        options = ("--questioner", "none", "--describer", f"{vision.url}#tiny")
        outcome = conversation("a car", "ask is there another car?", options=options)
        assert outcome.out.splitlines()[-4:] == [
            "1  No.", "2  Yes, a red one.", "3  (the model is busy: ask again later)",
            "   (tiny says so: a machine, which may be wrong)",
        ]  # fmt: skip
        asked = vision.asked[0]["messages"][0]["content"][0]["text"]
        assert asked.startswith("is there another car?")
        assert len(set(vision.pictures)) == 3
        said[2] = "Perhaps."
        vision.asked.clear()
        *_, last = conversation("a car", "ask is it wet?", options=(*options, "--json")).lines
        assert (last["asked"], last["said"], last["by"]) == ("is it wet?", "Perhaps.", "tiny")


def test_without_a_model_or_results_there_is_nobody_to_ask(conversation: Callable[..., Any]) -> None:
    assert "viewfinder chat --describer http://HOST/v1#MODEL" in conversation("a car", "ask is it wet?").err
    options = ("--describer", "http://192.0.2.7/v1#tiny")
    outcome = conversation("ask is it wet?", options=options)
    assert "describe what you are looking for first" in outcome.err
    assert "leave this machine, small, for 192.0.2.7" in outcome.err
    assert conversation(options=("--describer", "tiny")).code == 2
