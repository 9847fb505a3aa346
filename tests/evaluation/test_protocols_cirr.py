"""CIRR's protocol on the folder of a catalogue world, whose own captions are Fashion IQ's."""

from __future__ import annotations

from pathlib import Path

from viewfinder.conversation import Like
from viewfinder.data.cirr import CirrPair, write_cirr
from viewfinder.evaluation.evaluate import OTHER_PROTOCOLS
from viewfinder.evaluation.protocols import OTHERS, read_tasks

PAIR = CirrPair(3, "a", "is red", "b", ("a", "b", "c"), {"b": 1.0})
PATHS = {name: f"../images/{name}.jpg" for name in "abc"}


def test_a_worlds_queries_are_found_below_cirr(tmp_path: Path) -> None:
    write_cirr(tmp_path / "cirr", "test", [PAIR], PATHS)
    [task] = read_tasks(tmp_path, "cirr", None)
    [dialogue] = task.dialogues
    assert task.title == "cirr, test" and task.gallery == ("a", "b", "c")
    assert dialogue.turns == (Like("a", "is red"),) and dialogue.leaves_out == ("a",)
    assert (dialogue.target, dialogue.among) == ("b", ("b", "c"))


def test_a_folder_of_cirr_itself_is_read_as_it_is(tmp_path: Path) -> None:
    write_cirr(tmp_path / "cirr", "test", [PAIR], PATHS)
    write_cirr(tmp_path, "val", [PAIR, PAIR], PATHS)
    [task] = read_tasks(tmp_path, "cirr", None)
    assert task.split == "val" and len(task.dialogues) == 2


def test_the_protocols_that_are_named_are_those_there_are() -> None:
    assert set(OTHERS) == set(OTHER_PROTOCOLS)
