from __future__ import annotations

import json
from pathlib import Path

import pytest

from viewfinder.conversation import Answer, BackTo, Like, Say
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation.protocols import PROTOCOLS, read_tasks
from viewfinder.evaluation.protocols.chatir import make_opening_task

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is not here")


def test_a_world_of_scenes_serves_four_protocols(scenes: Path) -> None:
    titles = [task.title for task in read_tasks(scenes, None, None)]
    assert titles == [
        "drilldown, test",
        "chatir, world_test, test",
        "chatsearch, iChat, test",
        "chatsearch, mChat, test",
        "chatsearch, tChat, test",
        "captions, all",
    ]


def test_drilldown_says_ten_regions_of_every_picture(scenes: Path) -> None:
    [task] = read_tasks(scenes, "drilldown", "test")
    assert len(task.dialogues) == len(task.gallery) == 4
    assert all(len(dialogue.turns) == 10 and isinstance(dialogue.turns[0], Say) for dialogue in task.dialogues)


def test_chatir_starts_with_the_caption_and_asks_ten_times(scenes: Path) -> None:
    [task] = read_tasks(scenes, "chatir", "val")
    kinds = [type(turn) for turn in task.dialogues[0].turns]
    assert kinds == [Say] + [Answer] * 10
    assert task.first_turn == 0


def test_chat_search_goes_on_from_what_was_shown(scenes: Path) -> None:
    tasks = {task.name: task for task in read_tasks(scenes, "chatsearch", "test")}
    assert all(not dialogue.pictures()[1:] for dialogue in tasks["tChat"].dialogues)  # words alone name no picture
    assert all(isinstance(dialogue.turns[-1], Like) for dialogue in tasks["iChat"].dialogues)
    assert {task.name: len(task.gallery) for task in tasks.values()}.keys() == {"tChat", "iChat", "mChat"}


def test_a_catalogue_serves_fashion_iq_and_transactions(goods: Path) -> None:
    names = {task.protocol: 0 for task in read_tasks(goods, None, None)}
    assert {"fashioniq", "mai"} <= set(names)


def test_fashion_iq_is_one_turn_and_the_dialogue(goods: Path) -> None:
    tasks = {task.name: task for task in read_tasks(goods, "fashioniq", "train")}
    split, dialogue = (tasks[f"dresses, {gallery}"] for gallery in ("split gallery", "dialogue"))
    assert [one.target for one in dialogue.dialogues] == list(dialogue.gallery) == list(split.gallery)
    assert dialogue.user
    assert dialogue.at == (1, 3, 5)


def test_a_transaction_wants_another_picture_every_turn(goods: Path) -> None:
    tasks = {task.name: task for task in read_tasks(goods, "mai", "train")}
    dialogue = tasks["rollback"].dialogues[0]
    assert len(dialogue.turns) == len(dialogue.targets) == 3
    assert [turn.picture for turn in dialogue.turns[1:] if isinstance(turn, Like)] == list(dialogue.targets[:2])
    assert {dialogue.setting for dialogue in tasks["rollback"].dialogues} == {"rollback"}
    assert {dialogue.setting for dialogue in tasks["combination"].dialogues} == {"combination"}


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
    [task] = read_tasks(tmp_path, None, None)
    [dialogue] = task.dialogues
    assert (task.protocol, dialogue.leaves_out, len(dialogue.among)) == ("cirr", ("dev-0",), 5)


def test_captions_are_said_in_the_order_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.jpg").write_bytes(b"")
    (tmp_path / "captions.csv").write_text("image,caption\na.jpg,a dog\na.jpg,in the snow\n")
    [task] = read_tasks(tmp_path, "captions", None)
    assert task.dialogues[0].turns == (Say("a dog"), Say("in the snow"))


def captioned(folder: Path, count: int) -> Path:
    """A folder in Flickr8k's form: p00.jpg, p01.jpg ... with three captions each, two of them alike."""
    (folder / "images").mkdir()
    names = [f"p{number:02}.jpg" for number in range(count)]
    for name in names:
        (folder / "images" / name).write_bytes(b"")
    rows = [f"{name},{caption}" for name in names for caption in (f"A dog of {name}", "Snow", "snow")]
    (folder / "captions.csv").write_text("\n".join(["image,caption", *rows]) + "\n")
    return folder


def test_captions_are_turns_of_drilldown_split_by_their_names(tmp_path: Path) -> None:
    home = captioned(tmp_path, 26)
    [test], [val], [train] = (read_tasks(home, "drilldown", split) for split in ("test", "val", "train"))
    assert test.gallery == ("p00.jpg", "p10.jpg", "p16.jpg", "p25.jpg")
    assert val.gallery == ("p17.jpg", "p23.jpg")
    assert len(train.gallery) == 20
    assert test.dialogues[0].turns == (Say("a dog of p00.jpg"), Say("snow"))


def test_captioned_pictures_serve_both_protocols(tmp_path: Path) -> None:
    titles = [task.title for task in read_tasks(captioned(tmp_path, 26), None, None)]
    assert titles == ["drilldown, test", "captions, all"]


@needs_data
@pytest.mark.data
def test_flickr8k_is_five_turns_in_three_parts() -> None:
    tasks = {split: read_tasks(SHARED / "flickr8k", "drilldown", split)[0] for split in ("train", "val", "test")}
    assert {split: len(task.dialogues) for split, task in tasks.items()} == {"train": 487, "val": 43, "test": 65}
    assert {dialogue.judged for dialogue in tasks["test"].dialogues} <= {4, 5}


def test_a_split_that_is_not_there_is_named_with_those_that_are(scenes: Path) -> None:
    with pytest.raises(UnknownName, match=r"no split is called 'dev'; there are: drilldown: train, val, test"):
        read_tasks(scenes, "drilldown", "dev")


def test_an_unknown_protocol_is_named(scenes: Path) -> None:
    with pytest.raises(UnknownName, match=f"there are: {', '.join(PROTOCOLS)}"):
        read_tasks(scenes, "trec", None)


def test_a_folder_without_data_says_where_to_read_on(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no data of any protocol here; see docs/data\.md"):
        read_tasks(tmp_path, None, None)


def test_dialogues_without_a_pool_are_refused(tmp_path: Path) -> None:
    (tmp_path / "dialogues").mkdir()
    (tmp_path / "dialogues" / "x.json").write_text(json.dumps([{"img": "a.jpg", "dialog": ["a dog"]}]))
    with pytest.raises(BadInput, match="Search_Space"):
        read_tasks(tmp_path, "chatir", None)


def pooled(folder: Path, wanted: str, **pools: list[str]) -> Path:
    """A folder with one dialogue about a picture, and pools by name."""
    for part in ("dialogues", "ChatIR_Protocol"):
        (folder / part).mkdir()
    (folder / "dialogues" / "x.json").write_text(json.dumps([{"img": wanted, "dialog": ["a dog", "is it big? no"]}]))
    for name, pool in pools.items():
        (folder / "ChatIR_Protocol" / f"Search_Space_{name}.json").write_text(json.dumps(pool))
    return folder


@pytest.mark.parametrize("name", ["val_50k", "val", "Flickr30k", "COCO_5k", "5k"])
def test_a_pool_names_the_split_or_none(tmp_path: Path, name: str) -> None:
    [task] = read_tasks(pooled(tmp_path, "a", **{name: ["b", "a"]}), "chatir", None)
    assert task.gallery == ("b", "a")


@pytest.mark.parametrize("name", ["test", "train_50k"])
def test_the_pool_of_another_split_is_not_taken(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match=r"no ChatIR_Protocol/Search_Space_val\.json here"):
        read_tasks(pooled(tmp_path, "a", **{name: ["b", "a"]}), "chatir", None)


def test_of_several_pools_the_smallest_with_all_targets_is_that_of_the_file(tmp_path: Path) -> None:
    home = pooled(tmp_path, "a", val_5k=["b", "c"], val_30k=["b", "c", "a"], val_50k=["d", "b", "c", "a"])
    [task] = read_tasks(home, "chatir", None)
    assert len(task.gallery) == 3


def test_a_target_that_no_pool_has_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"x\.json: \[0\], field 'img': a is not among the 2 pictures"):
        read_tasks(pooled(tmp_path, "a", val_5k=["b"], val_30k=["b", "c"]), "chatir", None)


def test_a_pool_of_ones_own_takes_the_place_of_the_folders(tmp_path: Path) -> None:
    home = pooled(tmp_path, "a", val=["a", "b"])
    own = tmp_path / "own.json"
    own.write_text(json.dumps(["c", "a", "d"]))
    [task] = read_tasks(home, None, None, own)
    assert (task.protocol, task.gallery) == ("chatir", ("c", "a", "d"))
    with pytest.raises(BadInput, match="the pool of drilldown is part of its protocol"):
        read_tasks(home, "drilldown", None, own)


def test_dialogues_of_questioners_begin_as_the_recorded_ones_do(scenes: Path) -> None:
    [recorded], opened = read_tasks(scenes, "chatir", "test"), make_opening_task(scenes, "test", 5)
    assert [(dialogue.target, dialogue.turns[0]) for dialogue in recorded.dialogues] == [
        (dialogue.target, *dialogue.turns) for dialogue in opened.dialogues
    ]
    assert opened.gallery == tuple(dialogue.target for dialogue in recorded.dialogues)
    assert opened.interviews and opened.rounds == 6  # the description, and five questions


def test_captioned_pictures_are_described_by_their_first_caption(tmp_path: Path) -> None:
    task = make_opening_task(captioned(tmp_path, 26), "val")
    assert [dialogue.target for dialogue in task.dialogues] == ["images/p17.jpg", "images/p23.jpg"]
    assert [dialogue.turns for dialogue in task.dialogues] == [(Say("A dog of p17.jpg"),), (Say("A dog of p23.jpg"),)]


def test_visdial_tells_what_was_said_first(tmp_path: Path) -> None:
    data = {"questions": [], "answers": [], "dialogs": [{"image_id": 7, "caption": "a dog", "dialog": []}]}
    (tmp_path / "visdial_1.0_val.json").write_text(json.dumps({"data": data}))
    [dialogue] = make_opening_task(tmp_path, "val").dialogues
    assert (dialogue.target, dialogue.turns) == ("val/images/VisualDialog_val2018_000000000007.jpg", (Say("a dog"),))


def test_dialogues_made_of_captioned_pictures_are_searched_among_those_of_their_split(tmp_path: Path) -> None:
    home = captioned(tmp_path, 26)
    (home / "dialogues").mkdir()
    made = [{"img": "images/p17.jpg", "dialog": ["a dog", "is it big? no"]}]
    (home / "dialogues" / "made_val.json").write_text(json.dumps(made))
    [task] = read_tasks(home, "chatir", None)
    assert task.gallery == ("images/p17.jpg", "images/p23.jpg")


@needs_data
@pytest.mark.data
def test_the_released_dialogues_are_2064_dialogues_of_11_rounds_in_a_pool_of_50000() -> None:
    tasks = read_tasks(SHARED / "chatir", "chatir", None)
    assert len(tasks) == 5
    assert {len(task.dialogues) for task in tasks} == {2064}
    assert {dialogue.judged for task in tasks for dialogue in task.dialogues} == {11}
    assert {len(task.gallery) for task in tasks} == {50_000}


@needs_data
@pytest.mark.data
def test_rewritten_dialogues_start_afresh_every_round(tmp_path: Path) -> None:
    (tmp_path / "ChatIR_Protocol").symlink_to(SHARED / "chatir" / "ChatIR_Protocol")
    (tmp_path / "dialogues").symlink_to(SHARED / "plugir" / "dialogues")
    rewritten = next(task for task in read_tasks(tmp_path, "chatir", "val") if task.name.endswith("_reconed"))
    turns = rewritten.dialogues[0].turns
    assert [type(turn) for turn in turns[:4]] == [Say, BackTo, Say, BackTo]
    assert rewritten.dialogues[0].judged == 11


@needs_data
@pytest.mark.data
def test_fashion_iq_has_the_official_pairs_and_galleries() -> None:
    sizes = {
        task.name: (len(task.dialogues), len(task.gallery)) for task in read_tasks(SHARED / "fashion-iq", None, "val")
    }
    assert sizes["dress, split gallery"] == (2017, 3817)
    assert sizes["shirt, split gallery"] == (2038, 6346)
    assert sizes["toptee, union gallery"] == (1961, 2902)


@needs_data
@pytest.mark.data
def test_multi_turn_sessions_are_all_there() -> None:
    tasks = {task.name: task for task in read_tasks(SHARED / "mt-fashion-iq", "mai", "val")}
    assert len(tasks["sessions, all"].dialogues) == 2400
