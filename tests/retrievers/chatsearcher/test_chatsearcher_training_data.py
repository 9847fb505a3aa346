"""What is learnt from: lessons of data sets in all formats, with the vectors of their pictures; none for testing."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewfinder.data.chatsearch import SUBTASKS, ChatSample, ChatTurn, ImageItem, TextItem, write_chatsearch
from viewfinder.data.dialogues import Round, make_dialogue, write_dialogues
from viewfinder.data.fashionmt import Transaction, write_transactions
from viewfinder.data.files import write_json
from viewfinder.data.splits import split_of
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.retrievers.chatsearcher.settings import (
    KINDS,
    ChatSearcherPreset,
    ChatSearcherSettings,
    ExampleKind,
    Mixture,
    Stage,
)
from viewfinder.retrievers.chatsearcher.training_data import TrainingData, read_training_data
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import ColourEncoder, TinyPicture, tiny_pictures
from viewfinder.training.presets import TrainingSettings

ENCODER = ColourEncoder()
COUNT = 26
"""Pictures of each folder: twenty for training, two for validation (places 6 and 19), four for testing."""


def plan(*data: Path, told: list[str] | None = None, seed: int = 0) -> TrainPlan:
    lines = [] if told is None else told
    return TrainPlan(
        system="chatsearcher", data=data, preset="lab", out=data[0] / "out", encoder=ENCODER, notify=lines.append,
        seed=seed,
    )  # fmt: skip


def material(
    *data: Path, split: Any = "train", kinds: Sequence[ExampleKind] = KINDS, regions: bool = False,
    told: list[str] | None = None, seed: int = 0, **known: Any,
) -> TrainingData:  # fmt: skip
    mixture = Mixture(**dict.fromkeys(kinds, 1.0))
    stage = Stage(name="instruction", mixture=mixture, training=TrainingSettings(learning_rate=1.0, steps=1))
    model = ChatSearcherSettings(tokens=4 if regions else 0)
    preset = ChatSearcherPreset(model=model, instruction=stage, **known)
    return read_training_data(plan(*data, told=told, seed=seed), split, preset)


def write_csv(folder: Path, pictures: list[TinyPicture]) -> None:
    with (folder / "captions.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("image", "caption"), *((one.path.name, one.caption) for one in pictures)])


@pytest.fixture(scope="module")
def captioned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captions, chats of all kinds, and talks."""
    folder = tmp_path_factory.mktemp("lessons") / "captioned"
    pictures = tiny_pictures(folder / "images", COUNT)
    write_csv(folder, pictures)
    for home in ("chatsearch", "dialogues"):
        (folder / home).mkdir()
    names = [f"images/{one.path.name}" for one in pictures]
    for subtask in SUBTASKS:
        for split in ("train", "test"):
            samples = [
                ChatSample(str(at), subtask, (ChatTurn("user", (TextItem(f"{split} {at}"),)),), name)
                for at, name in enumerate(names)
            ]
            write_chatsearch(folder / "chatsearch" / f"{subtask}_{split}.jsonl", samples)
    for split in ("train", "val", "test"):
        dialogues = [make_dialogue(names[0], "a", [Round(f"{split}?", "yes")])]
        write_dialogues(folder / "dialogues" / f"gpt_{split}.json", dialogues)
    return folder


def test_pictures_are_called_by_data_set_and_have_the_vectors_of_their_files(captioned: Path) -> None:
    found = material(captioned, kinds=("captions",), regions=True)
    vectors = plan(captioned).vectors(captioned, regions=True)
    assert vectors.regions_nre is not None and found.regions_nre is not None
    assert sorted(found.rows.values()) == list(range(len(found.raw_ng))) == list(range(len(found.regions_nre)))
    for name, row in found.rows.items():
        there = vectors.row_of(name.removeprefix("captioned/"))
        assert np.array_equal(found.raw_ng[row], vectors.raw_nd[there])
        assert np.array_equal(found.regions_nre[row], vectors.regions_nre[there])


@pytest.mark.parametrize(("split", "count"), [("train", 21), ("val", 2)])
def test_captions_are_those_of_the_split(captioned: Path, split: Any, count: int) -> None:
    found = material(captioned, split=split, kinds=("captions",))
    names = [lesson.pictures[0] for lesson in found.examples["captions"]]
    assert len(names) == count and all(split_of(name) == split for name in names)


def test_of_chats_those_about_pictures_of_validation_are_held_out_and_those_for_testing_are_left_alone(
    captioned: Path,
) -> None:
    train, val = (
        [lesson.texts for lesson in material(captioned, split=split).examples["ichat"]] for split in ("train", "val")
    )
    assert val == [("train 22",), ("train 23",)]
    assert sorted(train + val) == sorted((f"train {at}",) for at in range(COUNT))


def test_questions_follow_a_search_in_the_share_that_is_asked_for(captioned: Path) -> None:
    [own] = material(captioned, kinds=("visual",)).examples["visual"]
    [found] = material(captioned, kinds=("visual",), found_first=1.0).examples["visual"]
    assert own.texts == ("train?", "yes") and own.turns[0].role == "user" and len(own.turns) == 2
    assert found.texts[1:3] == own.texts and found.turns[1].items == (ImageItem(own.pictures[0]),)
    assert found.pictures[0] == own.pictures[0]


def test_dialogues_are_those_of_the_split(captioned: Path) -> None:
    for split in ("train", "val"):
        assert [lesson.texts for lesson in material(captioned, split=split).examples["visual"]] == [
            (f"{split}?", "yes")
        ]


def test_every_captioned_picture_is_asked_for_once(captioned: Path) -> None:
    found = material(captioned, kinds=("requests", "captions")).examples
    asked = [lesson.pictures for lesson in found["requests"]]
    assert len(asked) == len(set(asked)) == 21
    assert set(asked) == {lesson.pictures for lesson in found["captions"]}


def test_pictures_stand_before_their_captions_or_behind_them(captioned: Path) -> None:
    found = material(captioned, kinds=("captions",)).examples["captions"]
    assert {isinstance(example.turns[0].items[0], ImageItem) for example in found} == {False, True}


def test_a_kind_is_drawn_alike_whatever_else_is_read(captioned: Path) -> None:
    alone, among = material(captioned, kinds=("documents",)), material(captioned)
    assert alone.examples["documents"] == among.examples["documents"]
    assert alone.examples != material(captioned, kinds=("documents",), seed=1).examples


def test_a_kind_that_is_nowhere_is_told_and_left_out(captioned: Path) -> None:
    told: list[str] = []
    found = material(captioned, told=told)
    assert "edits" not in found.examples and "train: no data set has edits" in told
    with pytest.raises(BadInput, match="nothing for train of the kinds edits"):
        material(captioned, kinds=("edits",))


def test_a_lesson_whose_picture_has_no_vector_is_left_out_and_told(captioned: Path, tmp_path: Path) -> None:
    folder, told = tmp_path / "lost", list[str]()
    [picture] = tiny_pictures(folder / "images", 1)
    (folder / "dialogues").mkdir()
    dialogues = [make_dialogue(name, "a", [Round("what?", "it")]) for name in (picture.path.name, "gone.png")]
    write_dialogues(folder / "dialogues" / "gpt_train.json", dialogues)
    found = material(folder, kinds=("visual",), told=told)
    assert [lesson.pictures for lesson in found.examples["visual"]] == [(f"lost/images/{picture.path.name}",)]
    assert f"{folder}, train: 1 visual of 2 have vectors" in told


def test_several_data_sets_are_one_material(captioned: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write_csv(other, tiny_pictures(other / "images", COUNT))
    both, alone = material(captioned, other, kinds=("captions",)), material(captioned, kinds=("captions",))
    assert len(both.rows) == len(both.raw_ng) == 42
    assert both.examples["captions"][:21] == alone.examples["captions"]
    for name in alone.rows:
        twin = name.replace("captioned/", "other/")
        for picture in (name, twin):
            assert np.array_equal(both.raw_ng[both.rows[picture]], alone.raw_ng[alone.rows[name]])


def test_two_data_sets_of_one_name_are_refused(captioned: Path, tmp_path: Path) -> None:
    twin = tmp_path / "captioned"
    twin.mkdir()
    with pytest.raises(BadInput, match="captioned: two data sets have this name"):
        material(captioned, twin)


def test_edits_of_instruct_pix2pix_go_by_the_folders_of_their_prompts(tmp_path: Path) -> None:
    for number in range(13):
        home = tmp_path / "ip2p" / f"{number:07}"
        files = [one.path for one in tiny_pictures(home, 2)]
        write_json(home / "prompt.json", {"input": "a", "edit": f"Make it {number}", "output": "b"})
        for which, file in enumerate(files):
            file.rename(home / f"5_{which}.jpg")
    write_json(tmp_path / "ip2p" / "seeds.json", [[f"{number:07}", ["5"]] for number in range(13)])
    [held_out] = material(tmp_path / "ip2p", split="val", kinds=("edits",)).examples["edits"]
    assert held_out.pictures == ("ip2p/0000001/5_0.jpg", "ip2p/0000001/5_1.jpg")
    assert "make it 1" in held_out.texts[0]
    assert len(material(tmp_path / "ip2p", kinds=("edits",)).examples["edits"]) == 9  # 0, 2 and 7 are for testing


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Goods with captions, and transactions for training and for testing; pictures 20 to 23 are for testing."""
    folder = tmp_path / "shop"
    pictures = tiny_pictures(folder / "images", COUNT)
    write_csv(folder, pictures)
    names = [f"images/{one.path.name}" for one in pictures]
    (folder / "modifiers").mkdir()
    for split, first in (("train", 0), ("test", 20)):
        one = Transaction(names[first], tuple(names[first + 1 : first + 4]), ("1. is red", "1. is blue", "1. is green"))
        write_transactions(folder, "goods", split, [one], names)
    return folder


def test_transactions_for_training_are_edits(shop: Path) -> None:
    found = material(shop, kinds=("edits",)).examples["edits"]
    numbers = [tuple(int(Path(name).name[:4]) for name in lesson.pictures) for lesson in found]
    assert numbers == [(0, 1), (1, 2), (2, 3)]


def test_pictures_of_transactions_for_testing_are_not_captioned_in_training(shop: Path) -> None:
    found = material(shop, kinds=("captions", "documents"))
    numbers = {int(Path(name).name[:4]) for name in found.rows}
    assert numbers == set(range(20)) - {10, 16, 18} | {24, 25}  # 22 and 23 are for validation, 10, 16, 18 for testing


def test_the_lists_of_a_world_say_which_pictures_are_for_training(tmp_path: Path) -> None:
    folder = tmp_path / "world"
    files = [one.path for one in tiny_pictures(folder / "images", 3)]
    for home in ("caches", "rg_jsons", "annotations"):
        (folder / home).mkdir()
    for number, file in enumerate(files, start=1):
        file.rename(folder / "images" / f"{number:012}.jpg")
    (folder / "caches" / "vg_train.txt").write_text("2\n")
    (folder / "caches" / "vg_val.txt").write_text("1\n3\n")
    images = [{"id": number, "file_name": f"{number:012}.jpg"} for number in (1, 2, 3)]
    said = [{"image_id": number, "id": number, "caption": f"no. {number}"} for number in (1, 2, 3)]
    write_json(folder / "annotations" / "captions_world.json", {"images": images, "annotations": said})
    for split, texts in (("train", {("no. 2",)}), ("val", {("no. 1",), ("no. 3",)})):
        assert {
            lesson.texts for lesson in material(folder, split=split, kinds=("captions",)).examples["captions"]
        } == texts


def test_dialogues_of_llava_and_pages_of_mmc4_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "web"
    files = [one.path.name for one in tiny_pictures(folder / "images", 2)]
    said = [{"from": "human", "value": "<image>\nWhat is it?"}, {"from": "gpt", "value": "It is red."}]
    write_json(folder / "llava_instruct.json", [{"id": "1", "image": files[0], "conversations": said}])
    picture = {"image_name": files[1], "matched_text_index": 0, "matched_sim": 0.3}
    page = {"url": "", "text_list": ["Look.", "Bye."], "image_info": [picture]}
    (folder / "docs_no_face_shard_0_v3.jsonl").write_text(json.dumps(page) + "\n")
    found = material(folder, kinds=("visual", "documents"))
    [dialogue], [document] = found.examples["visual"], found.examples["documents"]
    assert (dialogue.pictures, dialogue.texts) == ((f"web/images/{files[0]}",), ("What is it?", "It is red."))
    assert (document.pictures, document.texts) == ((f"web/images/{files[1]}",), ("Look.", "Bye."))


@pytest.mark.parametrize("tables", [("Train", "Validation"), ("all",)])
def test_tables_of_conceptual_captions_are_split_as_they_are_called_or_by_name(
    tmp_path: Path, tables: tuple[str, ...]
) -> None:
    folder = tmp_path / "cc3m"
    files = [one.path.name for one in tiny_pictures(folder / "images", 24)]
    for table in tables:
        rows = "".join(f"{table} {at}\timages/{name}\n" for at, name in enumerate(files))
        (folder / f"{table}_GCC.tsv").write_text(rows)
    said = {
        split: [lesson.texts[0] for lesson in material(folder, split=split, kinds=("captions",)).examples["captions"]]
        for split in ("train", "val")
    }
    if len(tables) == 1:
        train = [f"all {at}" for at in range(22) if at not in (10, 16, 18)]  # these are for testing
        assert said == {"train": train, "val": ["all 22", "all 23"]}
    else:
        assert said == {"train": [f"Train {at}" for at in range(24)], "val": [f"Validation {at}" for at in range(24)]}


def test_vectors_of_two_encoders_are_not_mixed(
    captioned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    write_csv(other, tiny_pictures(other / "images", COUNT))
    computed = TrainPlan.vectors

    def vectors(self: TrainPlan, folder: Path, *, regions: bool = False) -> Any:
        found = computed(self, folder, regions=regions)
        return replace(found, raw_version="detector-1") if folder == other else found

    monkeypatch.setattr(TrainPlan, "vectors", vectors)
    with pytest.raises(EncoderMismatch, match=r"colours-raw-1, detector-1"):
        material(captioned, other, kinds=("captions",))
