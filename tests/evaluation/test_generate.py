"""Dialogues made of dialogues between a questioner and a simulated user."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from viewfinder.data.dialogues import read_dialogues, read_pool
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation import Plan
from viewfinder.evaluation.generate import (
    GenerationOrder,
    GenerationReport,
    default_dialogue_file,
    generate_dialogues,
)
from viewfinder.testing import ColourEncoder


def order(data: Path, out: Path, *, rounds: int = 3, resume: bool = False, **plan: Any) -> GenerationOrder:
    settings = {"user": "oracle", "split": "train", "questioner": f"recorded={data}", "limit": 6, **plan}
    return GenerationOrder(plan=Plan(system="composer", data=data, **settings), out=out, rounds=rounds, resume=resume)


def made(told: GenerationOrder, stop_after: int = 99) -> GenerationReport:
    asked = 0

    def should_stop() -> bool:
        nonlocal asked
        asked += 1
        return asked >= stop_after

    return generate_dialogues(told, ColourEncoder(), make_encoder=ColourEncoder, should_stop=should_stop)


def test_dialogues_are_written_as_they_are_released(scenes: Path, tmp_path: Path) -> None:
    out = tmp_path / "made_train.json"
    report = made(order(scenes, out))
    pool, _ = read_pool(scenes / "ChatIR_Protocol" / "Search_Space_train.json")
    dialogues, _ = read_dialogues(out, pool)
    recorded = {dialogue.image: dialogue for dialogue in read_dialogues(scenes / "dialogues" / "world_train.json")[0]}
    assert (report.ended, report.talks, report.questions) == (True, 6, 3.0)
    for dialogue in dialogues:
        assert dialogue.caption == recorded[dialogue.image].caption
        assert [one.question for one in dialogue.rounds] == [
            one.question for one in recorded[dialogue.image].rounds[:3]
        ]
    assert out.read_text() == json.dumps(
        [{"img": dialogue.image, "dialog": list(dialogue.strings)} for dialogue in dialogues]
    )
    assert list(tmp_path.iterdir()) == [out]


def test_a_run_that_was_stopped_goes_on_to_the_same_file(scenes: Path, tmp_path: Path) -> None:
    made(order(scenes, tmp_path / "whole.json"))
    stopped = made(order(scenes, tmp_path / "twice.json"), stop_after=2)
    assert (stopped.ended, stopped.talks, stopped.of) == (False, 2, 6)
    assert not (tmp_path / "twice.json").exists()
    report = made(order(scenes, tmp_path / "twice.json", resume=True), stop_after=5)
    assert (report.ended, report.talks) == (True, 6)  # four were left
    assert (tmp_path / "twice.json").read_bytes() == (tmp_path / "whole.json").read_bytes()


@pytest.mark.slow
def test_two_processes_write_the_same_file(scenes: Path, tmp_path: Path) -> None:
    for processes in (1, 2):
        made(order(scenes, tmp_path / f"{processes}.json", processes=processes))
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()


GENERATES = """
import sys
from pathlib import Path
from viewfinder.evaluation import Plan
from viewfinder.evaluation.generate import GenerationOrder, generate_dialogues
from viewfinder.testing import ColourEncoder
data, out = map(Path, sys.argv[1:3])
plan = Plan(system="composer", data=data, user="oracle", questioner=f"recorded={data}")
order = GenerationOrder(plan=plan, out=out, resume="--resume" in sys.argv)
generate_dialogues(order, ColourEncoder(), make_encoder=ColourEncoder)
"""


def started(scenes: Path, out: Path, *more: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", GENERATES, str(scenes), str(out), *more], env=environment)


def lines_in(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.is_file() else 0


@pytest.mark.slow
def test_what_is_killed_loses_no_dialogue_that_was_over(scenes: Path, tmp_path: Path) -> None:
    out, journal = tmp_path / "killed_train.json", tmp_path / "killed_train.json.journal"
    process = started(scenes, out)
    while process.poll() is None and lines_in(journal) < 4:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    kept = journal.read_text().splitlines()[1:]
    assert 3 <= len(kept) < 32 and not out.exists()
    # A dialogue that is changed here shows that what was over is taken from the journal, not held again.
    first = json.loads(kept[0])
    first["dialog"][1] = "was it kept? yes"
    journal.write_text("\n".join([journal.read_text().splitlines()[0], json.dumps(first), *kept[1:]]) + "\n")
    assert started(scenes, out, "--resume").wait() == 0
    dialogues, _ = read_dialogues(out)
    assert len(dialogues) == len({dialogue.image for dialogue in dialogues}) == 32  # of 39 scenes
    assert [dialogue.image for dialogue in dialogues if dialogue.strings[1] == "was it kept? yes"] == [first["img"]]


def test_a_file_that_is_there_is_left_alone(scenes: Path, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[]")
    for resume in (False, True):
        with pytest.raises(BadInput, match="there already"):
            made(order(scenes, tmp_path / "x.json", resume=resume))
    assert (tmp_path / "x.json").read_text() == "[]"


def test_a_stopped_run_is_not_overwritten_nor_continued_otherwise(scenes: Path, tmp_path: Path) -> None:
    made(order(scenes, tmp_path / "x.json"), stop_after=1)
    with pytest.raises(BadInput, match="--resume goes on"):
        made(order(scenes, tmp_path / "x.json"))
    with pytest.raises(BadInput, match="begun with rounds '3', not '4'"):
        made(order(scenes, tmp_path / "x.json", rounds=4, resume=True))


def test_a_users_manners_are_heard_in_the_dialogues(scenes: Path, tmp_path: Path) -> None:
    report = made(order(scenes, tmp_path / "x.json", options={"forgetfulness": 1.0}))
    assert report.dont_know == 1.0
    assert report.repeated == 0.0


def test_captions_begin_the_dialogues_where_there_are_no_dialogues(scenes: Path, tmp_path: Path) -> None:
    home = captioned(scenes, tmp_path / "photos")
    out = default_dialogue_file(home, "none", "annotations", "test")
    report = made(order(home, out, user="annotations", split="test", questioner="none", limit=None))
    dialogues, _ = read_dialogues(out)
    assert all((home / dialogue.image).is_file() for dialogue in dialogues)
    assert out == home / "dialogues" / "none_annotations_test.json"
    assert [dialogue.strings for dialogue in dialogues] == [(f"said first of {place}",) for place in (0, 20, 29, 38)]
    assert (report.questions, report.dont_know) == (0.0, 0.0)


def captioned(scenes: Path, home: Path) -> Path:
    """The pictures of a world as photos with two captions each."""
    home.mkdir()
    (home / "images").symlink_to(scenes / "images")
    names = sorted(file.name for file in (scenes / "images").iterdir())
    rows = [f"{name},said {when} of {place}" for place, name in enumerate(names) for when in ("first", "then")]
    (home / "captions.csv").write_text("\n".join(["image,caption", *rows]) + "\n")
    return home


def test_a_split_that_nothing_is_said_of_is_named(scenes: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"no split is called 'dev'; there are: train, val, test"):
        made(order(scenes, tmp_path / "x.json", split="dev"))
    for part in ("images", "dialogues"):
        (tmp_path / part).symlink_to(scenes / part) if part == "images" else (tmp_path / part).mkdir()
    (tmp_path / "dialogues" / "world_test.json").write_bytes((scenes / "dialogues" / "world_test.json").read_bytes())
    with pytest.raises(BadInput, match=r"of the split 'train' \(there are dialogues of: test\)"):
        made(order(tmp_path, tmp_path / "x.json", user="recorded", questioner="none"))


def test_where_nothing_can_be_written_another_place_is_asked_for(scenes: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match=r"cannot be written .*; choose another --out"):
        made(order(scenes, tmp_path / "file" / "x.json"))
