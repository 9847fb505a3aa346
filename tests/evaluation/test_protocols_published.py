"""Protocols on sets as they are downloaded: which splits work, what is said where one does not, CIRCO's figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests import published_sets as sets
from viewfinder.conversation import Like
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation import Plan, evaluate, read_run, write_run
from viewfinder.evaluation.figures import metric_values
from viewfinder.evaluation.protocols import read_tasks
from viewfinder.evaluation.replay import RankTable
from viewfinder.testing import ColourEncoder
from viewfinder.users import Describer, Person


def _titles(folder: Path, split: str | None = None) -> list[str]:
    return [f"{task.title}: {len(task.gallery)}" for task in read_tasks(folder, None, split)]


def test_of_coco_with_one_folder_unpacked_that_folder_is_evaluated(tmp_path: Path) -> None:
    sets.write_coco(tmp_path, "train2017", range(9), pictures=False)
    sets.write_coco(tmp_path, "val2017", range(10, 30), pictures=True)
    assert _titles(tmp_path, "val2017") == ["drilldown, val2017: 20", "captions, val2017: 20"]
    assert _titles(tmp_path)[1] == "captions, all: 20"
    wanted = (
        r"no split is called 'val2014' here: found train2017 \(45 captions, 0 pictures\), val2017 \(100 captions, "
        r"20 pictures\): --split val2017; or train, val, test by the pictures' names; there are: drilldown: "
    )
    with pytest.raises(UnknownName, match=wanted):
        read_tasks(tmp_path, None, "val2014")


def test_without_any_of_its_pictures_it_is_said_what_to_unpack(tmp_path: Path) -> None:
    sets.write_coco(tmp_path, "train2017", [1], pictures=False)
    sets.write_coco(tmp_path, "val2017", [2], pictures=False)
    with pytest.raises(BadInput, match=r"found train2017 \(5 captions, 0 pictures\).*unpack their pictures beside"):
        read_tasks(tmp_path, None, None)


def test_archives_that_nobody_unpacked_are_named(tmp_path: Path) -> None:
    (tmp_path / "region_descriptions.json.zip").write_bytes(b"")
    with pytest.raises(BadInput, match=r"no data of any protocol here; unpack region_descriptions\.json\.zip first"):
        read_tasks(tmp_path, None, None)


def test_published_test_splits_are_taken_if_none_is_named(tmp_path: Path) -> None:
    home = {"train": "train2014", "restval": "val2014", "test": "val2014"}
    sets.write_coco(tmp_path, "train2014", [1, 2], pictures=True)
    sets.write_coco(tmp_path, "val2014", [20, 21, 22], pictures=True)
    sets.write_karpathy(
        tmp_path / "dataset_coco.json", {"train": [1, 2], "restval": [20], "test": [21, 22]}, homes=home
    )
    assert _titles(tmp_path) == ["drilldown, test: 2", "captions, test: 2"]
    assert _titles(tmp_path, "train") == ["drilldown, train: 3", "captions, train: 3"]
    assert _titles(tmp_path, "restval") == ["drilldown, restval: 1", "captions, restval: 1"]


def test_region_descriptions_alone_serve_drilldowns_protocol(tmp_path: Path) -> None:
    sets.write_region_descriptions(tmp_path, range(40))
    [task] = read_tasks(tmp_path, None, None)
    assert task.title == "drilldown, test" and all(one.judged == 10 for one in task.dialogues)
    with pytest.raises(UnknownName, match=r"no split is called 'dev' here: found region_descriptions\.json and 40 pic"):
        read_tasks(tmp_path, None, "dev")


# -- CIRCO: its pictures are of two colours, and a sentence asks for another one


def _write_circo(folder: Path) -> None:
    """Query 0 wants white-white (its look has one picture), query 1 one of three of the same look."""
    looks = {look: number for number, look in enumerate(sets.LOOKS)}
    count = len(sets.LOOKS)
    red = looks["red", "red"]
    same = [red, red + count, red + 2 * count]  # numbers repeat their looks
    white = looks["white", "white"]
    queries = [
        {
            "reference_img_id": looks["blue", "blue"], "target_img_id": truths[0], "relative_caption": said,
            "shared_concept": "colours", "gt_img_ids": truths, "id": number, "semantic_aspects": aspects,
        }
        for number, (truths, said, aspects) in enumerate(
            [([white], "white", ["addition"]), (same, "red", ["addition", "direct_addressing"])]
        )
    ]  # fmt: skip
    sets.write_circo(folder, queries, [*range(count), *same[1:]])


def test_circo_has_a_task_of_all_queries_and_one_for_each_aspect(tmp_path: Path) -> None:
    _write_circo(tmp_path)
    tasks = read_tasks(tmp_path, None, None)
    assert [(task.title, len(task.dialogues)) for task in tasks] == [
        ("circo, val", 2), ("circo, addition, val", 2), ("circo, direct addressing, val", 1),
    ]  # fmt: skip
    dialogue = tasks[0].dialogues[1]
    assert dialogue.turns == (Like(f"{sets.LOOKS.index(('blue', 'blue')):012d}.jpg", "red"),)
    assert len(dialogue.truths) == 3 and dialogue.truths[0] == dialogue.target
    assert dialogue.leaves_out == ()  # the reference is ranked, as in the published code


def test_the_split_with_secret_right_pictures_cannot_be_evaluated_and_that_is_said(tmp_path: Path) -> None:
    _write_circo(tmp_path)
    with pytest.raises(UnknownName, match=r"no split is called 'test' here: annotations/test\.json of CIRCO keeps its"):
        read_tasks(tmp_path, None, "test")
    (tmp_path / "annotations" / "val.json").unlink()
    with pytest.raises(BadInput, match=r"no data of circo here; annotations/test\.json of CIRCO keeps"):
        read_tasks(tmp_path, "circo", None)


def test_circo_is_evaluated_by_all_right_pictures_and_kept_with_the_run(tmp_path: Path) -> None:
    _write_circo(tmp_path / "circo")
    plan = Plan(system="clip-t", data=tmp_path / "circo", protocol="circo", task="circo val")
    run = evaluate(plan, ColourEncoder(), tmp_path / "run").run
    whole = run.tasks[0]
    assert [figure.name.metric for figure in whole.figures] == [
        "mAP@5", "mAP@10", "mAP@25", "mAP@50", "R@5", "R@10", "R@25", "R@50",
    ]  # fmt: skip
    # A word is a whole picture of its colour: white's one picture is first, red's three share the first three places.
    assert whole.ranks.truth_best_stg is not None and whole.ranks.truth_worst_stg is not None
    np.testing.assert_array_equal(whole.ranks.truth_best_stg[:, 0], [[0, np.nan, np.nan], [0, 0, 0]])
    np.testing.assert_array_equal(whole.ranks.truth_worst_stg[:, 0], [[0, np.nan, np.nan], [2, 2, 2]])
    assert {figure.measure.interval.mean for figure in whole.figures} == {1.0}
    write_run(run)
    again = read_run(tmp_path / "run").tasks[0]
    np.testing.assert_array_equal(metric_values("mAP@5", again.ranks), metric_values("mAP@5", whole.ranks))


def _never() -> Describer:
    raise AssertionError("nobody is asked")


def test_a_simulated_user_cannot_talk_in_place_of_queries_with_several_right_pictures(tmp_path: Path) -> None:
    _write_circo(tmp_path)
    plan = Plan(system="clip-t", data=tmp_path, protocol="circo", user=Person(_never))
    with pytest.raises(
        BadInput, match=r"nothing to evaluate; circo, val: it measures recorded queries.*leave out --user"
    ):
        evaluate(plan, ColourEncoder(), tmp_path / "run")


def test_a_map_is_the_mean_of_the_queries_own_values() -> None:
    """Query 0: places 1 and 4 of two, (1/1 + 2/4) / 2; query 1: place 3 of one, 1/3."""
    truths = np.array([[[0.0, 3.0]], [[2.0, np.nan]]])
    table = RankTable(truths[..., 0], truths[..., 0], 10, truth_best_stg=truths, truth_worst_stg=truths)
    np.testing.assert_allclose(metric_values("mAP@5", table), [[(1 / 1 + 2 / 4) / 2], [1 / 3]])
    np.testing.assert_allclose(metric_values("mAP@1", table), [[1.0], [0.0]])
    with pytest.raises(ValueError, match="one right picture each"):
        metric_values("mAP@5", RankTable(truths[..., 0], truths[..., 0], 10))
