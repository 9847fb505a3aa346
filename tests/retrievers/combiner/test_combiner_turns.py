"""Transactions as vectors, turn by turn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from viewfinder.data.fashionmt import Transaction, write_transactions
from viewfinder.errors import BadInput, UnknownName
from viewfinder.retrievers.combiner.retriever import mean_text_vector, modification_pieces
from viewfinder.retrievers.combiner.settings import CombinerPreset, CombinerSettings
from viewfinder.retrievers.combiner.train import (
    NO_TURN,
    PRESETS,
    EncodedTransactions,
    encode_texts,
    read_recorded,
    reference_rows,
)
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import ColourEncoder, tiny_pictures
from viewfinder.training import load_preset

Plans = Callable[..., TrainPlan]
ENCODER = ColourEncoder()


def preset(*overrides: str) -> CombinerPreset:
    return load_preset(PRESETS, "lab", CombinerPreset, overrides)


def turns_of(plan: TrainPlan, split: str, *overrides: str) -> EncodedTransactions:
    recorded, model = read_recorded(plan, split, preset(*overrides)), preset(*overrides).model
    wanted = [piece for text in recorded.texts for piece in modification_pieces(text, model.texts)]
    return EncodedTransactions.of(recorded, encode_texts(wanted, ENCODER, lambda line: None), model)


def folder_of(folder: Path, *transactions: Transaction, names: tuple[str, ...]) -> Path:
    """A folder with these transactions in both splits, about three drawings; `names` is their gallery."""
    for one, name in zip(tiny_pictures(folder / "drawn", 3), "abc", strict=True):
        (folder / "images").mkdir(exist_ok=True)
        one.path.rename(folder / "images" / f"{name}.png")
    for split in ("train", "val"):
        write_transactions(folder, "shoes", split, transactions, names)
    return folder


def test_every_turn_has_its_picture_its_text_and_its_target(combiner_plan: Plans, combiner_data: Path) -> None:
    turns = turns_of(combiner_plan(combiner_data / "out"), "train")
    drawn = sorted((combiner_data / "images").iterdir())
    assert len(turns) == 40
    # Pictures are in the order of their names; the first two turns go on from the picture before, the last goes back.
    assert turns.reference_st[:2].tolist() == [[0, 1, 0], [1, 2, 2]]
    assert turns.target_st[:2].tolist() == [[1, 2, 3], [2, 3, 4]]
    top, bottom = drawn[1].stem.split("-")[1:]
    expected_d = mean_text_vector(ENCODER.words([f"is {top} over {bottom}", "is small"]))
    np.testing.assert_allclose(turns.texts_xd[turns.text_st[0, 0]], expected_d, atol=1e-6)


@pytest.mark.parametrize(
    ("said", "replaced", "ignored"),
    [
        ("I prefer the FIRST, and 1. is red", 10, 12),
        ("I prefer the SECOND, and 1. is red", 11, 12),
        ("I prefer the THIRD, and 1. is red", 12, 12),
        ("1. is red 4. keep the FIRST's colour", 12, 12),
        ("1. is red", 12, 12),
    ],
)
def test_only_a_turn_that_goes_back_is_read_with_an_earlier_picture(said: str, replaced: int, ignored: int) -> None:
    one = Transaction("a", ("b", "c", "d"), ("1. is blue", "1. is long", said))
    for how, expected in (("replace", replaced), ("ignore", ignored)):
        assert reference_rows(one, (10, 11, 12, 13), preset(f"model.rollback={how}").model) == [10, 11, expected]


def test_what_the_dialogue_has_not_come_to_yet_is_not_looked_at() -> None:
    one = Transaction("a", ("b", "c"), ("I prefer the THIRD, and 1. is blue", "1. is long"))
    assert reference_rows(one, (10, 11, 12), CombinerSettings(rollback="replace")) == [10, 11]


def test_shorter_transactions_end_earlier(tmp_path: Path, combiner_plan: Plans) -> None:
    long = Transaction("a.png", ("b.png", "c.png"), ("1. is red", "1. is blue"))
    short = Transaction("c.png", ("a.png",), ("1. is blue",))
    data = folder_of(tmp_path, long, short, names=("a.png", "c.png"))
    turns = turns_of(combiner_plan(tmp_path / "out", data=(data,)), "train")
    assert turns.target_st.tolist() == [[1, 2], [0, NO_TURN]]
    assert turns.text_st[0, 1] == turns.text_st[1, 0] != NO_TURN


def test_targets_are_looked_for_in_the_gallery_and_are_always_part_of_it(tmp_path: Path, combiner_plan: Plans) -> None:
    one = Transaction("/a.png", ("/b.png", "/c.png"), ("1. is red", "1. is blue"))
    data = folder_of(tmp_path, one, names=("/c.png",))
    turns = turns_of(combiner_plan(tmp_path / "out", data=(data,)), "val")
    assert turns.gallery_g.tolist() == [1, 2]


def test_transactions_of_pictures_that_are_not_there_are_left_out_and_told(
    tmp_path: Path, combiner_plan: Plans
) -> None:
    here, gone = (Transaction("a.png", (target,), ("1. is red",)) for target in ("b.png", "z.png"))
    told: list[str] = []
    plan = combiner_plan(
        tmp_path / "out", data=(folder_of(tmp_path, here, gone, names=("b.png", "z.png")),), notify=told.append
    )
    assert len(read_recorded(plan, "train", preset()).transactions) == 1
    assert told[-1].endswith("shoes, train: 1 transactions of 2")
    with pytest.raises(
        BadInput, match="no transaction of 'test' has all its pictures; needed are modifiers/<source>_test"
    ):
        read_recorded(plan, "test", preset())


def test_as_many_transactions_of_a_source_are_read_as_are_asked_for(combiner_plan: Plans, tmp_path: Path) -> None:
    plan = combiner_plan(tmp_path)
    assert len(read_recorded(plan, "train", preset("transactions=7")).transactions) == 7
    assert len(read_recorded(plan, "train", preset('sources=["flags"]')).transactions) == 40
    with pytest.raises(UnknownName, match="no source of 'train' is called shoes; there are: flags"):
        read_recorded(plan, "train", preset('sources=["shoes"]'))


def test_several_folders_are_one_training(tmp_path: Path, combiner_plan: Plans, combiner_data: Path) -> None:
    one = Transaction("a.png", ("b.png", "c.png", "a.png"), ("1. is red", "1. is blue", "1. is red"))
    data = folder_of(tmp_path, one, names=("a.png",))
    turns = turns_of(combiner_plan(tmp_path / "out", data=(combiner_data, data)), "val")
    first = turns_of(combiner_plan(tmp_path / "out"), "val")
    assert (len(turns), len(turns.gallery_g)) == (len(first) + 1, len(first.gallery_g) + 3)
    before = len(first.pictures_nd)
    assert turns.reference_st[-1].tolist() == [before, before + 1, before + 2]
    alone_nd = turns_of(combiner_plan(tmp_path / "out", data=(data,)), "val").pictures_nd
    np.testing.assert_array_equal(turns.pictures_nd[before:], alone_nd)


def test_every_text_is_encoded_once() -> None:
    told: list[str] = []
    many = [f"red {number}" for number in range(1099)]
    found = encode_texts([*many, "red", "blue", "red"], ENCODER, told.append)
    assert told == [f"encoded {count} of 1,101 texts" for count in ("512", "1,024", "1,101")]
    np.testing.assert_allclose(np.stack([found["blue"], found["red"]]), ENCODER.words(["blue", "red"]), atol=1e-6)
