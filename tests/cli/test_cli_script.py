"""Talks from a script."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viewfinder.cli.typed import parse_script_line, read_lines
from viewfinder.conversation import Conversation, Like, Reject, Say, Show

Run = Callable[..., Any]

SHOWN = Conversation().then(Say("a dog")).recorded(shown=("p", "q"), asked=None)


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., Path]:
    def write(*lines: str) -> Path:
        file = tmp_path / "turns.jsonl"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return file

    return write


def test_every_kind_of_turn_gives_a_json_line(
    viewfinder: Run, indexed: Path, script: Callable[..., Path], world: Path
) -> None:
    picture = world / "images" / "000000000003.jpg"
    turns = script(
        "# a comment",
        '{"say": "a car"}',
        "",
        '{"answer": "red"}',
        '{"like": "#2", "but": "blue"}',
        json.dumps({"show": str(picture), "but": "darker"}),
        '{"reject": ["#1"], "text": "clouds"}',
        '{"keep": "background", "turn": 1}',
        '{"back_to": 1}',
    )
    outcome = viewfinder("chat", "--script", turns, "-n", 4, "--library", indexed, "--json")
    assert outcome.code == 0
    assert [line["turn"] for line in outcome.lines] == [1, 2, 3, 4, 5, 6, 7]
    keys = {"turn", "verdict", "results", "question", "adapters", "operations", "elapsed_ms", "answer"}
    assert all(set(line) == keys for line in outcome.lines)
    assert set(outcome.lines[0]["question"]) >= {"text", "choices", "examples"}
    assert [hit["id"] for hit in outcome.lines[6]["results"]] == [hit["id"] for hit in outcome.lines[0]["results"]]


def test_a_line_may_say_what_counts_of_a_picture() -> None:
    line = '{"like": "#2", "but": "longer", "attributes": ["silk", "long sleeves"]}'
    assert parse_script_line(line, SHOWN) == Like("q", "longer", attributes=("silk", "long sleeves"))
    assert parse_script_line('{"show": "a.jpg", "attributes": []}', SHOWN) == Show("a.jpg", attributes=())


def test_a_script_skips_a_question_and_another_is_asked(
    viewfinder: Run, indexed: Path, script: Callable[..., Path]
) -> None:
    turns = script('{"say": "a car"}', '{"skip": true}', '{"answer": "don\'t know"}')
    outcome = viewfinder("chat", "--script", turns, "-n", 4, "--library", indexed, "--json")
    assert outcome.code == 0
    asked = [line["question"]["text"] for line in outcome.lines if line["question"]]
    assert len(asked) == len(set(asked)) >= 2
    assert len({tuple(hit["id"] for hit in line["results"]) for line in outcome.lines}) == 1
    told = viewfinder("chat", "--script", turns, "-n", 1, "--library", indexed).out
    assert f"2  skipped: {asked[0]}" in told
    assert "why:" not in told and "information_gain" not in told
    told = viewfinder("chat", "--script", turns, "-n", 1, "--why", "--library", indexed).out
    assert "  why: splits the " in told and "(information_gain)" in told


def test_people_read_what_was_said_and_found(viewfinder: Run, indexed: Path, script: Callable[..., Path]) -> None:
    turns = script('{"say": "a car"}', '{"like": "#2", "but": "blue"}')
    outcome = viewfinder("chat", "--script", turns, "-n", 2, "--questioner", "none", "--library", indexed)
    assert outcome.code == 0
    assert '1  "a car"' in outcome.out
    assert '2  like result 2 but "blue"' in outcome.out
    assert "?" not in outcome.out


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{say: a dog}", "not JSON"),
        ('"a dog"', "JSON object"),
        ('{"says": "a dog"}', "exactly one of"),
        ('{"like": "nobody"}', "no picture in this library has the id 'nobody'"),
        ('{"like": "#9"}', "no result 9"),
        ('{"back_to": 8}', "turn 8 does not exist"),
        ('{"say": ""}', "nothing was said"),
        ('{"show": "none.png"}', "no such image"),
        ('{"keep": "flavour", "turn": 1}', "no attribute is called 'flavour'"),
        ("[" * 100_000, "line 4"),
    ],
)
def test_a_bad_line_is_named_and_what_was_printed_stays(
    line: str, says: str, viewfinder: Run, indexed: Path, script: Callable[..., Path]
) -> None:
    turns = script('{"say": "a car"}', "# a comment", "", line, '{"say": "never reached"}')
    outcome = viewfinder("chat", "--script", turns, "-n", 2, "--library", indexed, "--json")
    assert outcome.code == 2
    assert f"{turns}, line 4: " in outcome.err
    assert says in outcome.err
    assert outcome.lines[0]["turn"] == 1
    assert list(outcome.lines[1]) == ["error"]
    assert len(outcome.lines) == 2


def test_a_line_that_is_not_utf_8_is_named(viewfinder: Run, indexed: Path, tmp_path: Path) -> None:
    file = tmp_path / "latin.jsonl"
    file.write_bytes(b'{"say": "a car"}\n{"say": "caf\xe9"}\n')
    outcome = viewfinder("chat", "--script", file, "--library", indexed)
    assert outcome.code == 2
    assert "line 2: not UTF-8" in outcome.err


def test_a_script_that_is_not_there_is_wrong_use(viewfinder: Run, indexed: Path) -> None:
    outcome = viewfinder("chat", "--script", "none.jsonl", "--library", indexed)
    assert outcome.code == 2
    assert "none.jsonl" in outcome.err


@pytest.mark.parametrize("option", ["--retriever", "--questioner"])
def test_an_unknown_name_lists_what_there_is(
    option: str, viewfinder: Run, indexed: Path, script: Callable[..., Path]
) -> None:
    outcome = viewfinder("chat", option, "nobody", "--script", script('{"say": "x"}'), "--library", indexed)
    assert outcome.code == 2
    assert "'nobody'" in outcome.err
    assert "there are: " in outcome.err


def test_what_a_retriever_cannot_use_is_said(viewfinder: Run, indexed: Path, script: Callable[..., Path]) -> None:
    turns = script('{"say": "a car"}', '{"reject": ["#1"]}')
    outcome = viewfinder("chat", "--retriever", "clip-t", "--script", turns, "--library", indexed, "--json")
    assert outcome.lines[0]["adapters"] == []
    assert "drop" in outcome.lines[1]["adapters"][0]


def test_a_script_may_come_through_a_pipe(program: Callable[..., subprocess.Popen[str]], indexed: Path) -> None:
    process = program("chat", "--script", "-", "--library", indexed, "--json", stdin=subprocess.PIPE)
    out, err = process.communicate('{"say": "a car"}\n', timeout=120)
    assert (err, process.returncode) == ("", 0)
    assert json.loads(out)["turn"] == 1


def test_a_number_sign_means_a_result_of_then(tmp_path: Path) -> None:
    assert parse_script_line('{"like": "#2"}', SHOWN) == Like("q")
    assert parse_script_line('{"reject": ["#1", "x"]}', SHOWN) == Reject(("p", "x"))
    later = SHOWN.then(Say("more")).recorded(shown=("z",), asked=None)
    assert parse_script_line('{"like": "#2", "turn": 1}', later) == Like("q", turn=1)


def test_images_are_looked_for_beside_the_script_first(tmp_path: Path) -> None:
    (tmp_path / "mine.jpg").touch()
    assert parse_script_line('{"show": "mine.jpg"}', SHOWN, tmp_path) == Show(str(tmp_path / "mine.jpg"))
    assert parse_script_line('{"show": "other.jpg"}', SHOWN, tmp_path) == Show("other.jpg")


def test_comments_and_empty_lines_keep_their_numbers(tmp_path: Path) -> None:
    file = tmp_path / "script"
    file.write_bytes(b"\xef\xbb\xbf# one\r\n\r\n  {}  \r\n")
    assert list(read_lines(file)) == [(3, "{}")]
