"""Talks through a retriever that looks at regions: the first fills them in, and says how far it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import viewfinder.cli.chat
import viewfinder.retrievers
from viewfinder.encoders import load_encoder
from viewfinder.errors import BadInput
from viewfinder.worlds.write import write_world

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch, looks_at_regions: Callable[[str, int], Any]) -> None:
    """A retriever by a name; a file of weights holds the version of raw vectors that it is for."""

    def make(checkpoint: Path | None) -> Any:
        if checkpoint is not None and not checkpoint.exists():
            raise BadInput(f"{checkpoint}: no such file")
        version = load_encoder("starter").raw_version if checkpoint is None else checkpoint.read_text()
        return looks_at_regions(version, 1280)

    monkeypatch.setitem(viewfinder.retrievers.RETRIEVERS, "regions", make)


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Whether each progress bar was to be shown, then all that it was told."""
    told: list[Any] = []

    @contextmanager
    def bar(words: str, *, shown: bool) -> Iterator[Callable[[int, int], None]]:
        told.append(shown)
        yield lambda *at: told.append(at)

    monkeypatch.setattr(viewfinder.cli.chat, "progress_bar", bar)
    return told


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "turns.jsonl").write_text('{"say": "a car"}\n{"reject": [], "text": "red"}\n')
    return tmp_path / "turns.jsonl"


def test_the_first_conversation_fills_with_a_bar_and_the_second_begins_at_once(
    viewfinder: Run, library: Path, script: Path, bars: list[Any]
) -> None:
    arguments = ("chat", "--retriever", "regions", "--questioner", "none", "--script", script, "--library", library)
    first = viewfinder(*arguments)
    assert first.code == 0, first.err
    assert (bars[0], bars[1], bars[-1]) == (True, (0, 40), (40, 40))
    bars.clear()
    second = viewfinder(*arguments, "--json")
    assert bars == [False]
    assert second.lines[0]["results"][0]["path"] in first.out
    assert len(second.lines[0]["results"][0]["why"]["regions"]["slots"]) == 1
    assert viewfinder("status", "--library", library, "--json").json["with_regions"] == 40


def test_turns_that_went_through_an_adapter_are_said_to_people_and_programs(
    viewfinder: Run, library: Path, script: Path
) -> None:
    arguments = ("chat", "--retriever", "regions", "--questioner", "none", "--script", script, "--library", library)
    assert [line["adapters"] for line in viewfinder(*arguments, "--json").lines] == [[], ["drop: turn 2"]]
    assert viewfinder(*arguments).out.count("note: left out: turn 2\n") == 1


def test_a_note_of_an_earlier_turn_is_not_told_again(viewfinder: Run, library: Path, script: Path) -> None:
    with script.open("a") as turns:
        turns.write('{"say": "a house"}\n')
    arguments = ("chat", "--retriever", "regions", "--questioner", "none", "--script", script, "--library", library)
    assert viewfinder(*arguments, "--json").lines[2]["adapters"] == ["drop: turn 2"]
    assert viewfinder(*arguments).out.count("note: ") == 1


def test_weights_for_another_encoder_are_refused_in_one_line(
    viewfinder: Run, library: Path, script: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.safetensors").write_text("clip-raw-1")
    arguments = ("chat", "--retriever", "regions", "--script", script, "--library", library)
    outcome = viewfinder(*arguments, "--checkpoint", tmp_path / "mine.safetensors")
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert "was trained on clip-raw-1, and these pictures have starter-raw-1" in outcome.err
    missing = viewfinder(*arguments, "--checkpoint", tmp_path / "none.safetensors")
    assert (missing.code, missing.err.count("none.safetensors: no such file")) == (2, 1)
    assert viewfinder("status", "--library", library, "--json").json["with_regions"] == 0


def test_pictures_that_cannot_be_read_now_are_counted_in_one_line(
    viewfinder: Run, drawn: Callable[[Path, int], Path], script: Path, tmp_path: Path
) -> None:
    folder, library = drawn(tmp_path / "pictures", 4), tmp_path / "library"
    viewfinder("add", folder, "--library", library)
    (folder / "0001.png").unlink()
    (folder / "0002.png").write_bytes(b"no picture any more")
    outcome = viewfinder("chat", "--retriever", "regions", "--script", script, "--json", "--library", library)
    assert outcome.code == 0
    assert outcome.err.startswith(
        f"viewfinder: 2 pictures cannot be searched here, the first is {folder / '0001.png'} ("
    )
    assert outcome.err.count("\n") == 1
    assert viewfinder("status", "--library", library).out.count("with regions       2\n") == 1


def test_who_only_looks_at_regions_besides_says_that_pictures_are_searched_without(
    viewfinder: Run, script: Path, tmp_path: Path
) -> None:
    write_world(tmp_path / "scenes", kind="scenes", count=12, seed=1)  # where `one` asks a system that looks at them
    library, away = tmp_path / "library", min((tmp_path / "scenes" / "images").iterdir())
    viewfinder("add", away.parent, "--library", library)
    away.unlink()
    outcome = viewfinder("chat", "--retriever", "one", "-n", 12, "--script", script, "--json", "--library", library)
    assert outcome.err.startswith("viewfinder: 1 picture can only be searched without regions, the first is ")
    assert str(away) in [hit["path"] for hit in outcome.lines[0]["results"]]


def test_a_saved_conversation_is_opened_with_the_same_weights(
    viewfinder: Run, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io
    import sys

    (tmp_path / "mine.safetensors").write_text("starter-raw-1")
    file = tmp_path / "talk.json"
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"a car\nsave {file}\nopen {file}\n"))
    options = ("--retriever", "regions", "--checkpoint", tmp_path / "mine.safetensors", "--questioner", "none")
    outcome = viewfinder("chat", *options, "--json", "--library", library)
    assert outcome.code == 0, outcome.err
    said, _, opened = outcome.lines
    assert [hit["id"] for hit in opened["results"]] == [hit["id"] for hit in said["results"]]
    assert json.loads(file.read_text())["turns"][0]["say"] == "a car"
