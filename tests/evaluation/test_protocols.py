from __future__ import annotations

import json
from pathlib import Path

import pytest

from viewfinder.conversation import Answer, BackTo, Like, Say
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation.protocols import PROTOCOLS, tasks_of

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is not here")


def test_a_world_of_scenes_serves_four_protocols(scenes: Path) -> None:
    titles = [task.title for task in tasks_of(scenes, None, None)]
    assert titles == [
        "drilldown, test",
        "chatir, world_test, test",
        "chatsearch, iChat, test",
        "chatsearch, mChat, test",
        "chatsearch, tChat, test",
        "captions, all",
    ]


def test_drilldown_says_ten_regions_of_every_picture(scenes: Path) -> None:
    [task] = tasks_of(scenes, "drilldown", "test")
    assert len(task.talks) == len(task.gallery) == 6
    assert all(len(talk.turns) == 10 and isinstance(talk.turns[0], Say) for talk in task.talks)


def test_chatir_starts_with_the_caption_and_asks_ten_times(scenes: Path) -> None:
    [task] = tasks_of(scenes, "chatir", "val")
    kinds = [type(turn) for turn in task.talks[0].turns]
    assert kinds == [Say] + [Answer] * 10
    assert task.first_turn == 0


def test_chat_search_goes_on_from_what_was_shown(scenes: Path) -> None:
    tasks = {task.name: task for task in tasks_of(scenes, "chatsearch", "test")}
    assert all(not talk.pictures()[1:] for talk in tasks["tChat"].talks)  # words alone name no picture
    assert all(isinstance(talk.turns[-1], Like) for talk in tasks["iChat"].talks)
    assert {task.name: len(task.gallery) for task in tasks.values()}.keys() == {"tChat", "iChat", "mChat"}


def test_a_catalogue_serves_fashion_iq_and_transactions(goods: Path) -> None:
    names = {task.protocol: 0 for task in tasks_of(goods, None, None)}
    assert {"fashioniq", "mai"} <= set(names)


def test_fashion_iq_is_one_turn_and_the_dialogue(goods: Path) -> None:
    tasks = {task.name: task for task in tasks_of(goods, "fashioniq", "train")}
    split, dialogue = (tasks[f"dresses, {gallery}"] for gallery in ("split gallery", "dialogue"))
    assert [talk.target for talk in dialogue.talks] == list(dialogue.gallery) == list(split.gallery)
    assert dialogue.user
    assert dialogue.at == (1, 3, 5)


def test_a_transaction_wants_another_picture_every_turn(goods: Path) -> None:
    tasks = {task.name: task for task in tasks_of(goods, "mai", "train")}
    talk = tasks["rollback"].talks[0]
    assert len(talk.turns) == len(talk.targets) == 3
    assert [turn.picture for turn in talk.turns[1:] if isinstance(turn, Like)] == list(talk.targets[:2])
    assert {talk.setting for talk in tasks["rollback"].talks} == {"rollback"}
    assert {talk.setting for talk in tasks["combination"].talks} == {"combination"}


def test_cirr_takes_the_reference_out_of_ranking_and_subset(tmp_path: Path) -> None:
    members = [f"dev-{number}" for number in range(6)]
    pair = {
        "pairid": 7,
        "reference": "dev-0",
        "target_hard": "dev-3",
        "target_soft": {"dev-3": 1.0},
        "caption": "has two dogs",
        "img_set": {"id": 1, "members": members, "reference_rank": 0, "target_rank": 3},
    }
    for folder, name, content in (
        ("captions", "cap.rc2.val.json", [pair]),
        ("image_splits", "split.rc2.val.json", {name: f"./dev/{name}.png" for name in members}),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(json.dumps(content))
    [task] = tasks_of(tmp_path, None, None)
    [talk] = task.talks
    assert (task.protocol, talk.leaves_out, len(talk.among)) == ("cirr", ("dev-0",), 5)


def test_captions_are_said_in_the_order_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.jpg").write_bytes(b"")
    (tmp_path / "captions.csv").write_text("image,caption\na.jpg,a dog\na.jpg,in the snow\n")
    [task] = tasks_of(tmp_path, "captions", None)
    assert task.talks[0].turns == (Say("a dog"), Say("in the snow"))


def captioned(folder: Path, count: int) -> Path:
    """A folder in Flickr8k's form: p00.jpg, p01.jpg ... with three captions each, two of them alike."""
    (folder / "images").mkdir()
    names = [f"p{number:02}.jpg" for number in range(count)]
    for name in names:
        (folder / "images" / name).write_bytes(b"")
    rows = [f"{name},{caption}" for name in names for caption in (f"A dog of {name}", "Snow", "snow")]
    (folder / "captions.csv").write_text("\n".join(["image,caption", *rows]) + "\n")
    return folder


def test_captions_are_turns_of_drilldown_split_by_their_place(tmp_path: Path) -> None:
    # Of 13 in a row, places 3 and 9 are for testing and 6 for validation.
    home = captioned(tmp_path, 26)
    [test], [val], [train] = (tasks_of(home, "drilldown", split) for split in ("test", "val", "train"))
    assert test.gallery == ("p03.jpg", "p09.jpg", "p16.jpg", "p22.jpg")
    assert val.gallery == ("p06.jpg", "p19.jpg")
    assert len(train.gallery) == 20
    assert test.talks[0].turns == (Say("a dog of p03.jpg"), Say("snow"))


def test_captioned_pictures_serve_both_protocols(tmp_path: Path) -> None:
    titles = [task.title for task in tasks_of(captioned(tmp_path, 26), None, None)]
    assert titles == ["drilldown, test", "captions, all"]


@needs_data
@pytest.mark.data
def test_flickr8k_is_five_turns_in_three_parts() -> None:
    tasks = {split: tasks_of(SHARED / "flickr8k", "drilldown", split)[0] for split in ("train", "val", "test")}
    assert {split: len(task.talks) for split, task in tasks.items()} == {"train": 515, "val": 51, "test": 103}
    assert {talk.judged for talk in tasks["test"].talks} <= {4, 5}


def test_a_split_that_is_not_there_is_named_with_those_that_are(scenes: Path) -> None:
    with pytest.raises(UnknownName, match=r"no split is called 'dev'; there are: drilldown: train, val, test"):
        tasks_of(scenes, "drilldown", "dev")


def test_an_unknown_protocol_is_named(scenes: Path) -> None:
    with pytest.raises(UnknownName, match=f"there are: {', '.join(PROTOCOLS)}"):
        tasks_of(scenes, "trec", None)


def test_a_folder_without_data_says_where_to_read_on(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no data of any protocol here; see docs/data\.md"):
        tasks_of(tmp_path, None, None)


def test_dialogues_without_a_pool_are_refused(tmp_path: Path) -> None:
    (tmp_path / "dialogues").mkdir()
    (tmp_path / "dialogues" / "x.json").write_text(json.dumps([{"img": "a.jpg", "dialog": ["a dog"]}]))
    with pytest.raises(BadInput, match="Search_Space"):
        tasks_of(tmp_path, "chatir", None)


@needs_data
@pytest.mark.data
def test_the_released_dialogues_are_2064_talks_of_11_rounds_in_a_pool_of_50000() -> None:
    tasks = tasks_of(SHARED / "chatir", "chatir", None)
    assert len(tasks) == 5
    assert {len(task.talks) for task in tasks} == {2064}
    assert {talk.judged for task in tasks for talk in task.talks} == {11}
    assert {len(task.gallery) for task in tasks} == {50_000}


@needs_data
@pytest.mark.data
def test_rewritten_dialogues_start_afresh_every_round(tmp_path: Path) -> None:
    (tmp_path / "ChatIR_Protocol").symlink_to(SHARED / "chatir" / "ChatIR_Protocol")
    (tmp_path / "dialogues").symlink_to(SHARED / "plugir" / "dialogues")
    rewritten = next(task for task in tasks_of(tmp_path, "chatir", "val") if task.name.endswith("_reconed"))
    turns = rewritten.talks[0].turns
    assert [type(turn) for turn in turns[:4]] == [Say, BackTo, Say, BackTo]
    assert rewritten.talks[0].judged == 11


@needs_data
@pytest.mark.data
def test_fashion_iq_has_the_official_pairs_and_galleries() -> None:
    sizes = {task.name: (len(task.talks), len(task.gallery)) for task in tasks_of(SHARED / "fashion-iq", None, "val")}
    assert sizes["dress, split gallery"] == (2017, 3817)
    assert sizes["shirt, split gallery"] == (2038, 6346)
    assert sizes["toptee, union gallery"] == (1961, 2902)


@needs_data
@pytest.mark.data
def test_multi_turn_sessions_are_all_there() -> None:
    tasks = {task.name: task for task in tasks_of(SHARED / "mt-fashion-iq", "mai", "val")}
    assert len(tasks["sessions, all"].talks) == 2400
