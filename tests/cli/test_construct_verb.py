"""`viewfinder construct`, on the drawn world."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viewfinder.data.chatsearch import read_chatsearch

Run = Callable[..., Any]


def test_a_world_becomes_dialogues_and_the_next_step_is_named(viewfinder: Run, world: Path, tmp_path: Path) -> None:
    outcome = viewfinder("construct", world, "--out", tmp_path, "--split", "test", "--pipelines", "text,merge")
    assert outcome.code == 0
    first = outcome.out.splitlines()[0]
    assert first == "text: 4 dialogues"
    assert f"viewfinder review {tmp_path / 'chatsearch' / 'tChat_test.jsonl'} --images {tmp_path}" in outcome.out
    samples, report = read_chatsearch(tmp_path / "chatsearch" / "tChat_test.jsonl")
    assert len(samples) == 4 and not report.dropped
    assert all((tmp_path / sample.target).is_file() for sample in samples)


def test_what_was_made_and_dropped_is_told_to_programs(viewfinder: Run, world: Path, tmp_path: Path) -> None:
    done = viewfinder(
        "construct", world, "--out", tmp_path, "--count", "4", "--pipelines", "mdc-i", "--threshold", "0.95", "--json"
    ).json
    assert done["ended"] and done["pictures"] == 4 and done["generator"] == "world"
    assert done["made"]["mdc-i"] + sum(done["dropped"]["mdc-i"].values()) == 4
    assert done["files"] == ["chatsearch/iChat_train.jsonl"]


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [
        ("--pipelines", "mdc-x", "no such pipeline; there are: text, mdc-i, mdc-t, mdc-t-single, merge"),
        ("--split", "dev", "no such split; there are: train, val, test, all"),
        ("--generator", "nothing.gguf", "there is no language model"),
    ],
)
def test_a_name_that_does_not_exist_is_wrong_use(
    viewfinder: Run, world: Path, tmp_path: Path, option: str, value: str, complaint: str
) -> None:
    outcome = viewfinder("construct", world, "--out", tmp_path, option, value)
    assert outcome.code == 2
    assert complaint in outcome.err


def test_a_misspelt_folder_is_not_made(viewfinder: Run, tmp_path: Path) -> None:
    outcome = viewfinder("construct", tmp_path / "misspelt")
    assert outcome.code == 2
    assert [*tmp_path.iterdir()] == []


def test_what_lay_in_a_folder_stays_when_constructing_fails(viewfinder: Run, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "notes.txt").write_text("mine")
    assert viewfinder("construct", tmp_path / "data").code == 2
    assert [file.name for file in (tmp_path / "data").iterdir()] == ["notes.txt"]
