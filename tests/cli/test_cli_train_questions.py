"""`viewfinder train questions`: what it refuses at once, and learning from a small world."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viewfinder import encoders
from viewfinder.testing import load_colour_encoder

Run = Callable[..., Any]

SMALL = ("--set", "answers.epochs=2", "--set", "selector.epochs=1", "--set", "pool.fewest=2")


@pytest.fixture
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """No network is loaded: what fails before that must not need one."""
    monkeypatch.setattr(encoders, "load_encoder", load_colour_encoder)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ((), "no dialogues here; needed is dialogues/*.json"),
        (("--start", "best.safetensors"), "--start is for retrievers"),
        (("--preset", "huge"), "no preset is called 'huge'; there are: lab, photos"),
        (("--set", "pool.rounds=3"), "pool.rounds: no such key"),
    ],
)
def test_what_cannot_be_meant_is_one_line(
    options: tuple[str, ...], reason: str, viewfinder: Run, colours: None, tmp_path: Path
) -> None:
    outcome = viewfinder("train", "questions", "--data", tmp_path, "--out", tmp_path / "out", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1 and reason in outcome.err
    assert not (tmp_path / "out").exists()


def test_a_training_of_questions_is_not_overwritten(
    viewfinder: Run, world: Path, colours: None, tmp_path: Path
) -> None:
    earlier = tmp_path / "out" / "answers" / "checkpoints"
    earlier.mkdir(parents=True)
    (earlier / "00000010.safetensors").write_bytes(b"")
    outcome = viewfinder("train", "questions", "--data", world, "--out", tmp_path / "out")
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1 and "--resume" in outcome.err


@pytest.mark.slow
def test_a_world_is_learnt_from_and_the_next_command_is_named(viewfinder: Run, world: Path, tmp_path: Path) -> None:
    command = ("train", "questions", "--data", world, "--out", tmp_path / "out", *SMALL, "--seed", "2")
    learnt = viewfinder(*command)
    assert learnt.code == 0, learnt.err
    file = tmp_path / "out" / "questions.safetensors"
    first, *figures, last = learnt.out.splitlines()
    assert first.startswith(f"{file}: ") and "are foretold from pictures" in first
    assert any(line.startswith("  selector/recall@1: ") for line in figures)
    assert last == f"next: viewfinder chat --questioner pool={file}"
    again = viewfinder(*command, "--resume", "--json")
    assert again.code == 0, again.err
    assert again.json["file"] == str(file) and again.json["questions"] > 10
