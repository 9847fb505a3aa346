"""How the pictures of FashionMT come to their captions, and who gets to read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import viewfinder.retrievers
from viewfinder.conversation import Like
from viewfinder.data import read_captions_csv
from viewfinder.data.fashionmt import Transaction, write_transactions
from viewfinder.errors import BadInput
from viewfinder.evaluation import Evaluation, Plan, Task, evaluate
from viewfinder.evaluation.protocols import read_tasks
from viewfinder.query import NOTHING_MORE, Query, Reads, ResolvedTurn
from viewfinder.testing import ColourEncoder

NAMES = tuple(f"/img/{letter}.jpg" for letter in "abcdef")
TITLES = {name: f"Shop item {name[5]}" for name in NAMES}
SENTENCES = {name: f"a shoe of kind {name[5]}" for name in NAMES}


def shop(folder: Path, *, captions: bool = True, source: str = "shoes") -> Path:
    """One transaction over the first four of six pictures."""
    said = tuple(SENTENCES[name] for name in NAMES[:4]) if captions else ()
    modifications = ("1. is red", "1. is shorter", "I prefer the FIRST, and 1. is blue")
    write_transactions(folder, source, "test", [Transaction(NAMES[0], NAMES[1:4], modifications, said)], NAMES)
    return folder


def table(folder: Path, *columns: dict[str, str]) -> None:
    """A captions.csv with a row a caption."""
    rows = [f"{name[5:]},{column[name]}" for name in NAMES for column in columns]
    (folder / "captions.csv").write_text("\n".join(["image,caption", *rows]) + "\n")


def captions_in(folder: Path) -> dict[str, str]:
    [task] = read_tasks(folder, "mai", "test")
    return dict(task.captions)


def test_transactions_bring_the_captions_of_their_pictures_and_it_is_said_how_many_are_without(tmp_path: Path) -> None:
    [task] = read_tasks(shop(tmp_path), "mai", "test")
    assert task.captions == {name: SENTENCES[name] for name in NAMES[:4]}
    assert str(task.reports[-1]) == (
        "4 of 6 found, 1 left out (first: captions of 2 pictures: there are none, as of /img/e.jpg)"
    )


def test_a_folder_without_captions_has_none_and_that_needs_no_remark(tmp_path: Path) -> None:
    [task] = read_tasks(shop(tmp_path, captions=False), "mai", "test")
    assert task.captions == {}
    assert len(task.reports) == 1


@pytest.mark.parametrize("columns", [(TITLES, SENTENCES), (SENTENCES, TITLES)])
def test_all_pictures_are_described_in_the_manner_of_the_transactions(
    tmp_path: Path, columns: tuple[dict[str, str], ...]
) -> None:
    # A wanted picture must not be known from the others by who wrote about it.
    table(shop(tmp_path), *columns)
    assert captions_in(tmp_path) == SENTENCES


def test_a_table_that_describes_otherwise_is_left_alone(tmp_path: Path) -> None:
    table(shop(tmp_path), TITLES)
    assert captions_in(tmp_path) == {name: SENTENCES[name] for name in NAMES[:4]}


def test_where_transactions_say_nothing_the_first_caption_of_the_table_is_taken(tmp_path: Path) -> None:
    table(shop(tmp_path, captions=False), TITLES, SENTENCES)
    assert captions_in(tmp_path) == TITLES


def test_published_files_describe_the_rest_of_a_gallery(tmp_path: Path) -> None:
    texts = shop(tmp_path) / "shoes_dataset" / "blip2_captions_combine"
    texts.mkdir(parents=True)
    for name in NAMES:
        (texts / f"{name[5]}.txt").write_text(f"file of {name[5]}\n")
    table(tmp_path, SENTENCES)
    expected = {name: SENTENCES[name] if name in NAMES[:4] else f"file of {name[5]}" for name in NAMES}
    assert captions_in(tmp_path) == expected


def test_titles_of_products_describe_fashion_captioning(tmp_path: Path) -> None:
    folder = shop(tmp_path, captions=False, source="FC")
    (folder / "modifiers" / "FC-caption.json").write_text(json.dumps({"img": "Red Shoe", "other": "Blue Shoe"}))
    assert captions_in(folder) == dict.fromkeys(NAMES, "Red Shoe")  # the product is the picture's folder
    (folder / "modifiers" / "FC-caption.json").write_text(json.dumps({"img": 5}))
    with pytest.raises(BadInput, match=r"FC-caption.json.*img"):
        captions_in(folder)


def test_a_world_describes_every_picture_as_its_transactions_do(goods: Path) -> None:
    written = {picture.path.name: picture.captions for picture in read_captions_csv(goods / "captions.csv")[0]}
    stems = {Path(name).stem: captions for name, captions in written.items()}
    for task in read_tasks(goods, "mai", "train"):
        assert task.captions.keys() == task.pictures()
        assert all(caption == stems[Path(name).stem][1] for name, caption in task.captions.items())


@dataclass
class ReadsCaptions:
    """Finds nothing, and notes the captions of the pictures that turns name."""

    heard: list[str] = field(default_factory=list)
    name: str = "reads"
    reads: Reads = NOTHING_MORE

    def begin(self) -> int:
        return 0

    def step(self, state: int, turn: ResolvedTurn) -> int:
        self.heard += [picture.caption for picture in turn.pictures]
        return state + 1

    def query(self, state: int) -> Query:
        return Query(())


@pytest.fixture
def measured(goods: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Evaluation, Any]]:
    """Evaluates on the first transactions of a world; gives the reader of captions too."""

    def run(system: str = "reads", **plan: Any) -> tuple[Evaluation, ReadsCaptions]:
        reader = ReadsCaptions()
        monkeypatch.setitem(viewfinder.retrievers.RETRIEVERS, "reads", lambda checkpoint: reader)
        wanted = Plan(system=system, data=goods, protocol="mai", split="train", task="rollback", limit=5, **plan)
        return evaluate(wanted, ColourEncoder(), tmp_path / "run"), reader

    return run


def rollback(folder: Path) -> Task:
    return next(task for task in read_tasks(folder, "mai", "train") if task.name == "rollback")


def test_systems_read_the_captions_of_references_unless_that_is_switched_off(
    goods: Path, measured: Callable[..., tuple[Evaluation, Any]]
) -> None:
    evaluation, reader = measured()
    captions = rollback(goods).captions
    dialogues = [
        dialogue for dialogue in rollback(goods).dialogues if dialogue.id in evaluation.run.tasks[0].dialogue_ids
    ]
    references = {turn.picture for dialogue in dialogues for turn in dialogue.turns if isinstance(turn, Like)}
    assert set(reader.heard) == {captions[picture] for picture in references}
    assert "captions" not in evaluation.run.provenance.options
    evaluation, reader = measured(captions=False)
    assert set(reader.heard) == {""}
    assert evaluation.run.provenance.options["captions"] == "no"


def test_captions_change_nothing_for_a_system_that_reads_none(
    measured: Callable[..., tuple[Evaluation, Any]],
) -> None:
    with_them, without = (measured("composer", captions=captions)[0].run.tasks[0] for captions in (True, False))
    np.testing.assert_array_equal(with_them.ranks.best_st, without.ranks.best_st)


def test_a_user_who_is_asked_talks_about_pictures_that_nobody_described(
    measured: Callable[..., tuple[Evaluation, Any]],
) -> None:
    plan = {"user": "oracle", "questioner": "information_gain"}
    runs = [measured("composer", captions=captions, **plan)[0].run for captions in (True, False)]
    with_them, without = (run.tasks[0] for run in runs)
    assert with_them.asked
    np.testing.assert_array_equal(with_them.ranks.best_st, without.ranks.best_st)
