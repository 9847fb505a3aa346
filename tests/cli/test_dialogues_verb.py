"""`viewfinder dialogues`, and its conversations in `evaluate`, on the drawn world with an encoder of colours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from viewfinder.data.dialogues import read_dialogues
from viewfinder.testing import load_colour_encoder

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewfinder.encoders.load_encoder", load_colour_encoder)


DOG = "Is there a dog?"


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    """Forty pictures; the captions of every fourth tell of a dog."""
    folder = tmp_path / "photographs"
    (folder / "images").mkdir(parents=True)
    rows = ["image,caption"]
    for number in range(40):
        Image.new("RGB", (8, 8)).save(folder / "images" / f"{number}.jpg")
        rows.append(f"{number}.jpg,{'a dog on a beach' if number % 4 == 0 else 'a man in a street'}")
    (folder / "captions.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture
def home(world: Path, tmp_path: Path) -> Path:
    """The world, with dialogues of its own beside those that are made."""
    folder = tmp_path / "home"
    folder.mkdir()
    for part in world.iterdir():
        if part.name != "dialogues":
            (folder / part.name).symlink_to(part)
    (folder / "dialogues").mkdir()
    for file in (world / "dialogues").iterdir():
        (folder / "dialogues" / file.name).write_bytes(file.read_bytes())
    return folder


def made(viewfinder: Run, home: Path, *more: str) -> Any:
    return viewfinder("dialogues", "--data", home, "--questioner", f"recorded={home}", "--limit", "2", *more)


def test_dialogues_go_where_training_finds_them(viewfinder: Run, home: Path) -> None:
    outcome = made(viewfinder, home, "--rounds", "2")
    out = home / "dialogues" / "recorded_oracle_train.json"
    assert outcome.code == 0
    assert outcome.out.splitlines()[0] == f"2 dialogues, 2.0 questions each: {out}"
    assert "viewfinder train chatir" in outcome.out and "dialogues=recorded_oracle*" in outcome.out
    assert [len(conversation.rounds) for conversation in read_dialogues(out)[0]] == [2, 2]


def test_captions_answer_questions_about_photographs_for_training(viewfinder: Run, photographs: Path) -> None:
    outcome = viewfinder("dialogues", "--data", photographs, "--questioner", "captions", "--rounds", "3")
    out = photographs / "dialogues" / "captions_train.json"
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1].startswith("learn from them: viewfinder train chatsearcher")
    dialogues, _ = read_dialogues(out)
    assert {one.image for one in dialogues} <= {f"images/{number}.jpg" for number in range(40)}
    assert max(len(one.rounds) for one in dialogues) == 3
    answers = Counter(one.answer for dialogue in dialogues for one in dialogue.rounds if one.question == DOG)
    assert answers["yes"] == answers["no"] > 0
    assert "there already" in viewfinder("dialogues", "--data", photographs, "--questioner", "captions").err


def test_a_folder_without_captions_or_truth_says_what_it_lacks(
    viewfinder: Run, photographs: Path, tmp_path: Path
) -> None:
    oracle = viewfinder("dialogues", "--data", photographs)
    assert oracle.code == 2
    assert "'annotations' knows their captions" in oracle.err
    bare = viewfinder("dialogues", "--data", tmp_path, "--questioner", "captions")
    assert bare.code == 2
    assert "no captions here" in bare.err


def test_what_was_made_is_measured_like_any_dialogues(viewfinder: Run, home: Path, tmp_path: Path) -> None:
    record = made(viewfinder, home, "--name", "made", "--split", "test", "--json").json
    assert (record["ended"], record["talks"], record["questions"]) == (True, 2, 10.0)
    arguments = ("--data", home, "--protocol", "chatir", "--out", tmp_path / "run", "--json")
    tasks = viewfinder("evaluate", "clip-t", *arguments).json["tasks"]
    assert {task["title"]: task["talks"] for task in tasks} == {
        "chatir, made_test, test": 2,
        "chatir, world_test, test": 4,
    }


def test_a_file_is_not_overwritten(viewfinder: Run, home: Path) -> None:
    assert made(viewfinder, home).code == 0
    outcome = made(viewfinder, home)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1 and "there already" in outcome.err


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--questioner", "nobody", "no questioner is called 'nobody'"),
        ("--user", "martian", "no simulated user is called 'martian'"),
        ("--split", "dev", "no split is called 'dev'"),
        ("--retriever", "bm25", "no system is called 'bm25'"),
        ("--manner", "policy=describes", "this user answers nothing"),
    ],
)
def test_what_cannot_be_meant_is_one_line(viewfinder: Run, home: Path, option: str, value: str, said: str) -> None:
    outcome = made(viewfinder, home, option, value)
    assert outcome.code == 2
    assert said in outcome.err.splitlines()[-1]
    assert not list(home.glob("dialogues/*.journal"))


def test_evaluate_prints_and_keeps_what_was_asked(viewfinder: Run, home: Path, tmp_path: Path) -> None:
    arguments = ("--protocol", "chatir", "--user", "oracle", "--questioner", f"recorded={home}", "--limit", "3")
    outcome = viewfinder("evaluate", "clip-t", "--data", home, "--out", tmp_path / "run", *arguments)
    assert outcome.code == 0
    rows = {line.split("  ")[0] for line in outcome.out.splitlines()}
    assert {"questions", "repeated questions", "unique tokens", "don't know", "by another"} <= rows
    assert "choosing a question took" in outcome.out
    assert [len(conversation.rounds) for conversation in read_dialogues(tmp_path / "run" / "dialogues.json")[0]] == [
        10
    ] * 3


def test_a_pool_is_a_list_of_pictures(viewfinder: Run, home: Path, tmp_path: Path) -> None:
    pool = tmp_path / "pool.json"
    pool.write_text(str([f"images/{number:012}.jpg" for number in range(1, 36)]).replace("'", '"'))
    arguments = ("--data", home, "--pool", pool, "--split", "val", "--out", tmp_path / "run", "--json")
    [task] = viewfinder("evaluate", "clip-t", *arguments).json["tasks"]
    assert (task["gallery"], task["talks"]) == (35, 3)
