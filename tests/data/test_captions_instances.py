"""COCO's boxes: read, and named where they are damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from viewfinder.data.captions import Instance, read_instances
from viewfinder.data.files import write_json
from viewfinder.errors import BadInput

COCO = Path(__file__).resolve().parents[3] / "shared" / "data" / "coco"


def folder_with(tmp_path: Path, **changes: Any) -> Path:
    (tmp_path / "annotations").mkdir()
    (tmp_path / "train2017").mkdir()
    (tmp_path / "train2017" / "a.jpg").touch()
    data = {
        "images": [{"id": 4, "file_name": "a.jpg"}, {"id": 5, "file_name": "lost.jpg"}],
        "categories": [{"id": 18, "name": "dog"}],
        "annotations": [
            {"image_id": 4, "category_id": 18, "bbox": [1, 2, 3.5, 4], "iscrowd": 0},
            {"image_id": 4, "category_id": 18, "bbox": [0, 0, 9, 9], "iscrowd": 1},
        ],
    }
    write_json(tmp_path / "annotations" / "instances_train2017.json", data | changes)
    return tmp_path


def test_things_are_read_with_their_boxes(tmp_path: Path) -> None:
    [picture], report = read_instances(folder_with(tmp_path))
    assert picture.path == tmp_path / "train2017" / "a.jpg"
    assert picture.instances == (
        Instance("dog", (1.0, 2.0, 3.5, 4.0)),
        Instance("dog", (0.0, 0.0, 9.0, 9.0), crowd=True),
    )
    assert str(report.dropped[0].record) == "lost.jpg" and report.expected == 2


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"image_id": 9, "category_id": 18, "bbox": [0, 0, 1, 1]}, "field 'image_id': 9 is not listed in the file"),
        ({"image_id": 4, "category_id": 1, "bbox": [0, 0, 1, 1]}, "field 'category_id': 1 is not listed"),
        ({"image_id": 4, "category_id": 18, "bbox": [0, 0, 1]}, "field 'bbox': four numbers are needed"),
        ({"image_id": 4, "category_id": 18}, "field 'bbox' is needed"),
    ],
)
def test_a_damaged_record_is_named(tmp_path: Path, record: dict[str, Any], said: str) -> None:
    folder = folder_with(tmp_path, annotations=[record])
    with pytest.raises(BadInput, match=rf"instances_train2017\.json: annotations\[0\].*{said}"):
        read_instances(folder)


def test_a_folder_without_boxes_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no annotations/instances_\*\.json here"):
        read_instances(tmp_path)


@pytest.mark.data
@pytest.mark.skipif(not COCO.is_dir(), reason=f"no {COCO}")
def test_coco_itself_is_read() -> None:
    pictures, report = read_instances(COCO)
    assert len(pictures) == 80 and not report.dropped
    assert sum(len(one.instances) for one in pictures) == 739
