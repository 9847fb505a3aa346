"""CIRCO's queries, in its layout: several right pictures each, a test split that keeps them secret, COCO's pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import published_sets as sets
from viewfinder.data.circo import CircoQuery, describe_circo, has_truths, list_circo_splits, read_circo
from viewfinder.errors import BadInput, UnknownName


def query(number: int = 0, **changes: Any) -> dict[str, Any]:
    return {
        "reference_img_id": 1,
        "target_img_id": 2,
        "relative_caption": "is blue below",
        "shared_concept": "a red half",
        "gt_img_ids": [2, 3],
        "id": number,
        "semantic_aspects": ["negation"],
        **changes,
    }


def test_a_query_has_all_its_right_pictures_the_target_first(tmp_path: Path) -> None:
    sets.write_circo(tmp_path, [query(), query(1, gt_img_ids=[4, 2], semantic_aspects=[])], [1, 2, 3, 4, 5])
    read, report = read_circo(tmp_path, "val")
    assert read.queries[0] == CircoQuery(0, 1, "is blue below", 2, (2, 3), "a red half", ("negation",))
    assert read.queries[1].truths == (2, 4)
    assert read.gallery == (1, 2, 3, 4, 5) and read.is_whole
    assert read.paths[5] == tmp_path / "COCO2017_unlabeled/unlabeled2017/000000000005.jpg"
    assert (report.expected, report.found, report.dropped) == (2, 2, ())


def test_the_test_split_keeps_its_right_pictures_secret(tmp_path: Path) -> None:
    sets.write_circo(tmp_path, [query()], [1, 2, 3])
    [secret] = read_circo(tmp_path, "test")[0].queries
    assert (secret.target, secret.truths, secret.aspects) == (None, (), ())
    assert list_circo_splits(tmp_path) == ("val", "test")
    assert [has_truths(tmp_path, split) for split in ("val", "test")] == [True, False]
    assert describe_circo(tmp_path) == (
        "found CIRCO's val and test and 3 pictures: --split val; test keeps its right pictures secret"
    )


def test_earlier_files_without_semantic_aspects_are_read(tmp_path: Path) -> None:
    record = query()
    del record["semantic_aspects"]
    sets.write_circo(tmp_path, [record], [1, 2, 3])
    assert read_circo(tmp_path, "val")[0].queries[0].aspects == ()


def test_pictures_may_lie_beside_the_annotations_and_missing_ones_are_counted(tmp_path: Path) -> None:
    sets.write_circo(tmp_path, [query()], [1, 2, 3, 4])
    (tmp_path / "COCO2017_unlabeled" / "unlabeled2017").rename(tmp_path / "unlabeled2017")
    for number in (3, 4):
        (tmp_path / "unlabeled2017" / f"{number:012d}.jpg").unlink()
    read, report = read_circo(tmp_path, "val")
    assert sorted(read.paths) == [1, 2] and read.gallery == (1, 2, 3, 4)
    assert [(one.record, one.reason) for one in report.dropped] == [
        ("2 of 4 pictures of the gallery", "no such file, as unlabeled2017/000000000003.jpg")
    ]


def test_without_the_list_of_the_gallery_it_is_what_is_here_or_named_and_that_is_said(tmp_path: Path) -> None:
    sets.write_circo(tmp_path, [query()], [1, 2, 9])
    (tmp_path / "COCO2017_unlabeled/annotations/image_info_unlabeled2017.json").unlink()
    read, report = read_circo(tmp_path, "val")
    assert read.gallery == (1, 2, 3, 9) and not read.is_whole
    assert report.dropped[0].record == "annotations/image_info_unlabeled2017.json"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"target_img_id": 5}, r"the target 5 is not among its gt_img_ids"),
        ({"gt_img_ids": [2, "3"]}, r"field 'gt_img_ids': a list of numbers is needed"),
        ({"reference_img_id": "1"}, r"field 'reference_img_id' is needed \(int\)"),
        ({"gt_img_ids": [2, 77]}, r"77 is not among the 3 pictures of .*image_info_unlabeled2017\.json"),
        ({"semantic_aspects": "addition"}, r"field 'semantic_aspects': a list of texts is needed"),
    ],
)
def test_a_damaged_query_is_named(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    sets.write_circo(tmp_path, [query(**changes)], [1, 2, 3])
    with pytest.raises(BadInput, match=rf"val\.json.*{reason}"):
        read_circo(tmp_path, "val")


def test_other_annotations_are_not_circos(tmp_path: Path) -> None:
    (tmp_path / "annotations").mkdir()
    (tmp_path / "annotations" / "val.json").write_text(json.dumps([{"caption": "a dog"}]))
    assert list_circo_splits(tmp_path) == () and describe_circo(tmp_path) == ""
    with pytest.raises(UnknownName, match="there are: none"):
        read_circo(tmp_path, "val")
