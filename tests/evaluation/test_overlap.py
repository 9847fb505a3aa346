from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from viewfinder.conversation import Like, Say
from viewfinder.data.dialogues import write_pool
from viewfinder.evaluation.overlap import (
    ENCODER,
    QUESTIONER,
    USER,
    WEIGHTS,
    Overlap,
    collect_texts,
    list_parts,
    measure_overlap,
    read_training_texts,
)
from viewfinder.evaluation.plan import SearchDialogue, Task
from viewfinder.query import Reads
from viewfinder.questioners import NoQuestions
from viewfinder.retrievers import Composer
from viewfinder.testing import ColourEncoder
from viewfinder.weights import TrainingList

TASK = Task(
    "drilldown", "", "test", ("a.jpg", "b.jpg", "c.jpg", "d.jpg"),
    (
        SearchDialogue("1", "a.jpg", (Say("A  red boat"), Say("two sails"))),
        SearchDialogue("2", "b.jpg", (Say("a red boat"),)),
        SearchDialogue("3", "a.jpg", (Like("d.jpg", "but blue"),), targets=("c.jpg",)),
    ), ("R@1",),
)  # fmt: skip


def trained(trained_on: str) -> Any:
    """A retriever of the encoder's own space with such a list."""
    return SimpleNamespace(reads=Reads(), trained_on=trained_on)


def encoder(trained_on: str) -> Any:
    return SimpleNamespace(trained_on=trained_on, raw_version="raw-1")


def test_targets_are_counted_each_once_and_those_that_were_learnt_from_are_told(tmp_path: Path) -> None:
    weights, head = TrainingList.of(["a", "c", "d"]).encode(), TrainingList.of(["x"]).encode()
    found = measure_overlap(TASK, tmp_path, list_parts(trained(weights), encoder(head)))
    assert found == Overlap(3, {WEIGHTS: 2, ENCODER: 0})  # a, b and c are wanted; d is only shown
    assert found.flags == ("overlap: 67 % of targets were training pictures of the weights",)
    assert found.refused == found.flags[0]


def test_who_has_no_list_is_never_silently_clean(tmp_path: Path) -> None:
    found = measure_overlap(TASK, tmp_path, list_parts(trained(""), ColourEncoder()))
    assert found.seen == {WEIGHTS: None, ENCODER: None}
    assert found.flags[0] == "overlap: unknown, the weights came without a list of training pictures"
    assert found.refused is not None


def test_what_was_not_trained_is_not_flagged(tmp_path: Path) -> None:
    clean = TrainingList.of(["x"]).encode()
    found = measure_overlap(TASK, tmp_path, list_parts(Composer(), encoder(clean)))
    assert found == Overlap(3, {ENCODER: 0}) and found.flags == () and found.refused is None


def test_texts_that_training_has_word_for_word_are_counted_each_once(tmp_path: Path) -> None:
    assert collect_texts(TASK) == {"a red boat", "two sails", "but blue"}
    clean = TrainingList.of(["x"]).encode()
    found = measure_overlap(TASK, tmp_path, list_parts(Composer(), encoder(clean)), frozenset({"a red boat", "a dog"}))
    assert (found.texts, found.repeated) == (3, 1)
    assert found.flags == ("overlap: 33 % of test texts occur word for word in training",)
    assert found.refused is None  # the pictures are others


@pytest.mark.parametrize(("repeated", "share"), [(1, "under 1 %"), (999, "over 99 %"), (1000, "100 %")])
def test_a_share_is_never_rounded_to_none_or_all(repeated: int, share: str) -> None:
    assert Overlap(1, {}, 1000, repeated).flags == (f"overlap: {share} of test texts occur word for word in training",)


def test_the_simulated_user_and_the_questioner_are_counted_too(tmp_path: Path) -> None:
    captioner, asks = (SimpleNamespace(trained_on=TrainingList.of(names).encode()) for names in (["a"], ["b", "c"]))
    clean = TrainingList.of(["x"]).encode()
    lists = list_parts(trained(clean), encoder(clean), captioner, asks)
    assert measure_overlap(TASK, tmp_path, lists).flags == (
        "overlap: 33 % of targets were training pictures of the simulated user",
        "overlap: 67 % of targets were training pictures of the questioner",
    )
    assert measure_overlap(TASK, tmp_path, {USER: ""}).flags == (
        "overlap: unknown, the simulated user came without a list of training pictures",
    )
    ruled = list_parts(trained(clean), encoder(clean), SimpleNamespace(), NoQuestions())
    assert (ruled[USER], ruled[QUESTIONER]) == (None, None)  # rules were not trained
    assert measure_overlap(TASK, tmp_path, ruled).seen == {WEIGHTS: 0, ENCODER: 0}


def test_of_an_upper_bound_the_share_is_at_most(tmp_path: Path) -> None:
    listed = TrainingList.of(["a", "b"], at_most=True).encode()
    found = measure_overlap(TASK, tmp_path, {WEIGHTS: listed, ENCODER: TrainingList.of(["a"]).encode()})
    assert found.at_most == (WEIGHTS,)
    assert found.flags == (
        "overlap: at most 67 % of targets were training pictures of the weights",
        "overlap: 33 % of targets were training pictures of the encoder's head",
    )
    none = measure_overlap(TASK, tmp_path, {WEIGHTS: TrainingList.of(["x"], at_most=True).encode()})
    assert none.flags == () and none.refused is None  # not one of more than were seen


def test_a_data_set_without_training_dialogues_has_no_training_texts(tmp_path: Path) -> None:
    assert read_training_texts([tmp_path], "drilldown") == frozenset()


def test_training_texts_are_those_of_all_folders_that_were_learnt_from(tmp_path: Path) -> None:
    for name, caption in (("one", "a red boat"), ("two", "a  Dog")):
        (tmp_path / name / "dialogues").mkdir(parents=True)
        file = tmp_path / name / "dialogues" / "talks_train.json"
        file.write_text(json.dumps([{"img": "images/1.jpg", "dialog": [caption, "is it big? no"]}]))
        (tmp_path / name / "ChatIR_Protocol").mkdir()
        write_pool(tmp_path / name / "ChatIR_Protocol" / "Search_Space_train.json", ["images/1.jpg"])
    found = read_training_texts([tmp_path, tmp_path / "one", tmp_path / "two"], "chatir")
    assert {"a red boat", "a dog"} <= found
