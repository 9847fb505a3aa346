"""`viewfinder review`: what it refuses, a page that is served and ended, and what was kept, written."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from viewfinder.data.chatsearch import (
    ChatSample,
    ChatTurn,
    Review,
    TextItem,
    add_review,
    read_chatsearch,
    review_file,
    write_chatsearch,
)
from viewfinder.testing import tiny_pictures

Run = Callable[..., Any]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Four dialogues in words, in a folder with their pictures."""
    pictures = tiny_pictures(tmp_path / "data", 4)
    turns = (ChatTurn("user", (TextItem("something red"),)),)
    file = tmp_path / "data" / "tChat_train.jsonl"
    named = zip("abcd", pictures, strict=True)
    write_chatsearch(file, [ChatSample(name, "tChat", turns, picture.path.name) for name, picture in named])
    return file


def decided(file: Path) -> None:
    other = (ChatTurn("user", (TextItem("something blue"),)),)
    for review in (Review("a", "accepted"), Review("b", "rewritten", other), Review("c", "rejected")):
        add_review(review_file(file), review)


def test_what_was_kept_is_written_with_its_new_words(viewfinder: Run, made: Path, tmp_path: Path) -> None:
    decided(made)
    outcome = viewfinder("review", made, "--write", tmp_path / "out" / "kept.jsonl")
    assert outcome.code == 0
    assert outcome.out.endswith("kept.jsonl: 2 dialogues (1 rewritten); 1 rejected, 1 not decided yet\n")
    kept, _ = read_chatsearch(tmp_path / "out" / "kept.jsonl")
    assert [(sample.id, sample.turns[0].content[0]) for sample in kept] == [
        ("a", TextItem("something red")),
        ("b", TextItem("something blue")),
    ]


def test_the_counts_as_json(viewfinder: Run, made: Path, tmp_path: Path) -> None:
    decided(made)
    told = viewfinder("review", made, "--write", tmp_path / "kept.jsonl", "--json").json
    counts = {"accepted": 1, "rejected": 1, "rewritten": 1, "written": 2, "open": 1}
    assert told == {"file": str(tmp_path / "kept.jsonl"), **counts}


def test_nothing_kept_and_a_file_under_review_are_refused(viewfinder: Run, made: Path, tmp_path: Path) -> None:
    nothing = viewfinder("review", made, "--write", tmp_path / "kept.jsonl")
    assert (nothing.code, nothing.err.count("\n")) == (2, 1)
    assert "nothing of it was kept yet" in nothing.err
    decided(made)
    before = made.read_bytes()
    for out in (made, review_file(made)):
        refused = viewfinder("review", made, "--write", out)
        assert refused.code == 2
        assert "this is the file under review" in refused.err
    assert made.read_bytes() == before


def test_other_machines_need_a_token_before_it_starts(viewfinder: Run, made: Path, tmp_path: Path) -> None:
    outcome = viewfinder("review", made, "--host", "0.0.0.0", "--port", 0, "--library", tmp_path / "library")
    assert outcome.code == 2
    assert "viewfinder token add NAME" in outcome.err


@pytest.mark.slow
def test_a_page_is_served_and_what_was_decided_is_kept_when_it_ends(program: Run, made: Path, tmp_path: Path) -> None:
    process = program("review", made, "--port", 0, "--json")
    told = json.loads(process.stdout.readline())
    assert told["file"] == str(made)
    assert "viewfinder review" in httpx.get(told["address"], timeout=60).text
    verdict = {"verdict": "accepted", "before": None}
    answer = httpx.put(f"{told['address']}api/v1/review/dialogues/a", json=verdict, timeout=60)
    assert answer.status_code == 200
    second = program("review", made, "--port", 0)
    assert "another `viewfinder review` has this file open" in second.communicate(timeout=60)[1]
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == 0
    assert json.loads(review_file(made).read_text(encoding="utf-8"))["verdict"] == "accepted"


@pytest.mark.slow
def test_what_cannot_be_reviewed_is_said_in_one_line(viewfinder: Run, made: Path, tmp_path: Path) -> None:
    for options, complaint in (
        ((tmp_path / "none.jsonl",), "no such file"),
        ((made, "--images", tmp_path), "none of the pictures of tChat_train.jsonl is in this folder"),
    ):
        outcome = viewfinder("review", *options, "--port", 0)
        assert outcome.code == 2
        assert complaint in outcome.err
        assert outcome.err.count("\n") == 1
