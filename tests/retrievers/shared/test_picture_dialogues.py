"""Talks with the vectors of their pictures, from all kinds of data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewfinder.data.dialogues import Round, make_dialogue, write_dialogues
from viewfinder.errors import BadInput, EncoderMismatch, UnknownName
from viewfinder.retrievers.shared.picture_dialogues import (
    PictureDialogue,
    PictureDialogues,
    join_picture_dialogues,
    read_picture_dialogues,
)
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import ColourEncoder, tiny_pictures

ENCODER = ColourEncoder()
BIG = (Round("is it big?", "no"),)


def read(
    folder: Path,
    split: str,
    encoder: ColourEncoder = ENCODER,
    pattern: str = "*",
    notify: Callable[[str], None] = lambda line: None,
) -> PictureDialogues:
    given: dict[str, Any] = {"preset": "lab", "out": folder / "out", "encoder": encoder, "notify": notify}
    return read_picture_dialogues(TrainPlan(system="chatir", data=(folder,), **given), folder, split, pattern)


def pictures(folder: Path, count: int = 4) -> list[str]:
    return [one.path.name for one in tiny_pictures(folder / "images", count)]


def asked(folder: Path, name: str, images: list[str], *, path: str = "images/{}") -> None:
    """A file of dialogues, each "NAME: IMAGE" with one round."""
    (folder / "dialogues").mkdir(exist_ok=True)
    dialogues = [make_dialogue(path.format(image), f"{name}: {image}", BIG) for image in images]
    write_dialogues(folder / "dialogues" / f"{name}.json", dialogues)


def captioned(folder: Path, names: list[str]) -> None:
    rows = [f"{name},{number} of {name}" for name in names for number in ("one", "two")]
    (folder / "captions.csv").write_text("\n".join(["image,caption", *rows]))


def test_dialogues_come_with_the_vectors_of_their_pictures(tmp_path: Path) -> None:
    names = pictures(tmp_path)
    asked(tmp_path, "people_train", [names[2], names[0]])
    dialogues = read(tmp_path, "train", ENCODER)
    assert dialogues.keys == (f"images/{names[0]}", f"images/{names[2]}")
    assert dialogues.dialogues == (
        PictureDialogue(1, f"people_train: {names[2]}", BIG),
        PictureDialogue(0, f"people_train: {names[0]}", BIG),
    )
    found = read(tmp_path, "train", ENCODER).raw_ng
    np.testing.assert_array_equal(dialogues.raw_ng, found)
    assert dialogues.raw_ng.shape == (2, 48) and not np.array_equal(found[0], found[1])


def test_several_files_may_speak_of_one_picture(tmp_path: Path) -> None:
    names = pictures(tmp_path)
    asked(tmp_path, "people_train", names[:2])
    asked(tmp_path, "made_train", names[1:2])
    dialogues = read(tmp_path, "train", ENCODER)
    assert [
        [dialogue.caption for dialogue in dialogues.dialogues if dialogue.picture == row]
        for row in range(len(dialogues.keys))
    ] == [
        [f"people_train: {names[0]}"],
        [f"made_train: {names[1]}", f"people_train: {names[1]}"],
    ]


def test_a_pattern_chooses_files_and_validation_takes_all_where_none_is_called_so(tmp_path: Path) -> None:
    names = pictures(tmp_path)
    for name in ("people_train", "made-a_train", "made-b_train", "people_val"):
        asked(tmp_path, name, names[:1])

    def chosen(split: str, pattern: str) -> list[str]:
        return [dialogue.caption.split(":")[0] for dialogue in read(tmp_path, split, ENCODER, pattern).dialogues]

    assert chosen("train", "made-*") == ["made-a_train", "made-b_train"]
    assert chosen("train", "people, made-b") == ["made-b_train", "people_train"]
    assert chosen("val", "made-*") == ["people_val"]
    with pytest.raises(
        BadInput, match=r"no dialogues of 'train' called 'others'; needed are dialogues/NAME_train.json"
    ):
        chosen("train", "others")


def test_captions_begin_dialogues_in_which_the_others_follow_unasked(tmp_path: Path) -> None:
    names = pictures(tmp_path, 24)
    captioned(tmp_path, names)
    dialogues = read(tmp_path, "val", ENCODER)
    assert dialogues.keys == (f"images/{names[22]}", f"images/{names[23]}")  # by a hash of their names
    said = [(f"one of {names[at]}", f"two of {names[at]}") for at in (22, 23)]
    assert dialogues.dialogues == (
        PictureDialogue(0, said[0][0], (Round("", said[0][1]),)),
        PictureDialogue(0, said[0][1], (Round("", said[0][0]),)),
        PictureDialogue(1, said[1][0], (Round("", said[1][1]),)),
        PictureDialogue(1, said[1][1], (Round("", said[1][0]),)),
    )
    assert len(read(tmp_path, "train", ENCODER).keys) == 19  # three more are for testing


def test_captions_can_be_asked_for_where_dialogues_are_and_are_split_like_them(tmp_path: Path) -> None:
    names = pictures(tmp_path, 13)
    captioned(tmp_path, names)
    asked(tmp_path, "people_train", names[3:4])
    (tmp_path / "ChatIR_Protocol").mkdir()
    (tmp_path / "ChatIR_Protocol" / "Search_Space_train.json").write_text(json.dumps([f"images/{names[3]}"]))
    assert read(tmp_path, "train", ENCODER).dialogues[0].rounds == BIG
    found = read(tmp_path, "train", ENCODER, "captions")
    assert [dialogue.caption for dialogue in found.dialogues] == [f"one of {names[3]}", f"two of {names[3]}"]
    assert len(read(tmp_path, "train", ENCODER, "people,captions").dialogues) == 3


def test_visdial_is_read_and_its_pictures_are_found_by_their_numbers(tmp_path: Path) -> None:
    [name] = pictures(tmp_path, 1)
    (tmp_path / "images" / name).rename(tmp_path / "images" / "000000000007.png")
    turns = [{"question": 0, "answer": 0}]
    record = {"image_id": 7, "caption": "red", "dialog": turns}
    data = {"data": {"questions": ["is it big"], "answers": ["no"], "dialogs": [record]}}
    (tmp_path / "visdial").mkdir()
    (tmp_path / "visdial" / "visdial_1.0_train.json").write_text(json.dumps(data))
    dialogues = read(tmp_path, "train", ENCODER)
    assert (dialogues.keys, dialogues.dialogues) == (("images/000000000007.png",), (PictureDialogue(0, "red", BIG),))


def test_what_has_no_picture_is_left_out_and_told(tmp_path: Path) -> None:
    names = pictures(tmp_path)
    asked(tmp_path, "people_train", [names[0], "gone.png"])
    lines: list[str] = []
    assert len(read(tmp_path, "train", ENCODER, notify=lines.append)) == 1
    assert any("1 dialogues are about pictures without vectors" in line for line in lines)
    asked(tmp_path, "people_train", ["gone.png"])
    with pytest.raises(BadInput, match=r"none of the 1 pictures has vectors; are its images there\?"):
        read(tmp_path, "train", ENCODER)


def test_rewritten_dialogues_are_no_dialogues(tmp_path: Path) -> None:
    asked(tmp_path, "x_reconed_train", pictures(tmp_path)[:1])
    with pytest.raises(BadInput, match="no dialogues of 'train'"):
        read(tmp_path, "train", ENCODER)


def test_an_unknown_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no split is called 'dev'; there are: train, val, test"):
        read(tmp_path, "dev", ENCODER)


def test_sets_are_put_together_each_with_its_own_pictures(tmp_path: Path) -> None:
    for name in ("one", "two"):
        asked(tmp_path / name, "people_train", pictures(tmp_path / name)[:2])
    parts = [read(tmp_path / name, "train", ENCODER) for name in ("one", "two")]
    whole = join_picture_dialogues(parts)
    assert [dialogue.picture for dialogue in whole.dialogues] == [0, 1, 2, 3]
    np.testing.assert_array_equal(whole.raw_ng[2:], parts[1].raw_ng)
    other = read(tmp_path / "two", "train", ColourEncoder(raw_version="colours-raw-2"))
    with pytest.raises(EncoderMismatch, match="colours-raw-1, colours-raw-2 cannot be learnt from together"):
        join_picture_dialogues([parts[0], other])
