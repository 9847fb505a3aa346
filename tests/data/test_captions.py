import json
from pathlib import Path
from typing import Any

import pytest

from viewfinder.data import CaptionedPicture, Dropped, read_captions_csv, read_coco, read_flickr8k
from viewfinder.errors import BadInput

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
needs_data = [pytest.mark.data, pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is not here")]


def _touch(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"")


def _coco(folder: Path, split: str, images: Any, annotations: Any) -> Path:
    (folder / "annotations").mkdir(parents=True, exist_ok=True)
    file = folder / "annotations" / f"captions_{split}.json"
    file.write_text(json.dumps({"images": images, "annotations": annotations}))
    return folder


class TestRealData:
    pytestmark = needs_data

    def test_every_photograph_of_flickr8k_has_its_five_captions(self) -> None:
        photographs = len([*(SHARED / "flickr8k" / "images").glob("*.jpg")])
        pictures, report = read_flickr8k(SHARED / "flickr8k")
        assert (report.expected, report.found, report.dropped) == (photographs, photographs, ())
        assert {len(picture.captions) for picture in pictures} == {5}
        assert all(picture.path.is_file() for picture in pictures)
        assert pictures[0].path.name == "1001773457_577c3a7d70.jpg"
        assert pictures[0].captions[0] == "A black dog and a spotted dog are fighting"

    def test_coco_has_80_photographs_with_five_captions_each(self) -> None:
        pictures, report = read_coco(SHARED / "coco")
        assert (report.expected, report.found, report.dropped) == (80, 80, ())
        assert {len(picture.captions) for picture in pictures} == {5}
        assert all(picture.path.is_file() and picture.path.parent.name == "train2017" for picture in pictures)
        # 50 captions of the file have blanks around them.
        assert all(caption == caption.strip() != "" for picture in pictures for caption in picture.captions)


def test_flickr_pictures_without_a_file_or_a_caption_are_reported(tmp_path: Path) -> None:
    _touch(tmp_path / "images", "1.jpg", "3.jpg")
    (tmp_path / "captions.csv").write_text('image,caption\n1.jpg,a dog\n2.jpg,a cat\n3.jpg," "\n1.jpg,brown\n')
    pictures, report = read_flickr8k(tmp_path)
    assert pictures == [CaptionedPicture(tmp_path / "images/1.jpg", ("a dog", "brown"))]
    assert (report.expected, report.found) == (3, 1)
    assert set(report.dropped) == {
        Dropped("line 4", "empty caption"),
        Dropped("2.jpg", "no such file"),
        Dropped("3.jpg", "no caption"),
    }


def test_a_csv_of_ones_own_may_call_its_columns_in_several_ways(tmp_path: Path) -> None:
    _touch(tmp_path / "pics", "1.jpg")
    csv = tmp_path / "mine.csv"
    csv.write_text("Nr;TEXT;File\n1;a dog;pics/1.jpg\n2;in the snow;pics/1.jpg\n3;a cat;elsewhere/2.jpg\n")
    pictures, report = read_captions_csv(csv)
    assert pictures == [
        CaptionedPicture(tmp_path / "pics/1.jpg", ("a dog", "in the snow")),
        CaptionedPicture(Path("elsewhere/2.jpg"), ("a cat",)),
    ]
    assert (report.expected, report.found) == (2, 2)


def test_a_csv_without_captions_is_refused_with_what_it_has(tmp_path: Path) -> None:
    csv = tmp_path / "mine.csv"
    csv.write_text("image,words\n1.jpg,a dog\n")
    with pytest.raises(BadInput, match=r"column named caption or text is needed; this file has: image, words"):
        read_captions_csv(csv)


def test_coco_reads_every_split_and_falls_back_to_the_images_folder(tmp_path: Path) -> None:
    _touch(tmp_path / "val", "1.jpg")
    _touch(tmp_path / "images", "2.jpg")
    _coco(tmp_path, "val", [{"id": 1, "file_name": "1.jpg"}], [{"image_id": 1, "caption": "a dog "}])
    _coco(tmp_path, "extra", [{"id": 2, "file_name": "2.jpg"}], [{"image_id": 2, "caption": "a cat"}])
    pictures, _ = read_coco(tmp_path)
    assert pictures == [
        CaptionedPicture(tmp_path / "images/2.jpg", ("a cat",)),
        CaptionedPicture(tmp_path / "val/1.jpg", ("a dog",)),
    ]


def test_coco_annotations_without_a_picture_or_a_text_are_reported(tmp_path: Path) -> None:
    _touch(tmp_path / "images", "1.jpg")
    images = [{"id": 1, "file_name": "1.jpg"}, {"id": 2, "file_name": "2.jpg"}]
    said = [(1, "a dog"), (9, "nobody"), (1, "  "), (2, "gone")]
    _coco(tmp_path, "x", images, [{"image_id": i, "caption": caption} for i, caption in said])
    pictures, report = read_coco(tmp_path)
    assert [picture.captions for picture in pictures] == [("a dog",)]
    assert report.expected == 2
    assert [(drop.record, drop.reason) for drop in report.dropped] == [
        ("captions_x.json: annotations[1]", "image_id 9 is not among the images"),
        ("captions_x.json: annotations[2]", "empty caption"),
        ("2.jpg", "no such file"),
    ]


@pytest.mark.parametrize(
    ("images", "annotations", "record"),
    [
        ([{"id": "1", "file_name": "1.jpg"}], [], r"images\[0\]: field 'id' is needed"),
        ([{"id": 1}], [], r"images\[0\]: field 'file_name' is needed"),
        ([], [{"image_id": 1, "caption": "a"}, {"image_id": 1}], r"annotations\[1\]: field 'caption' is needed"),
        ([], ["a dog"], r"annotations\[0\]: field 'image_id' is needed"),
        ({}, [], r"field 'images' is needed \(list\)"),
    ],
)
def test_a_coco_record_of_the_wrong_form_is_named(tmp_path: Path, images: Any, annotations: Any, record: str) -> None:
    _touch(tmp_path / "images")
    with pytest.raises(BadInput, match=rf"captions_x\.json: {record}"):
        read_coco(_coco(tmp_path, "x", images, annotations))


def test_a_truncated_coco_file_is_named(tmp_path: Path) -> None:
    folder = _coco(tmp_path, "x", [{"id": 1, "file_name": "1.jpg"}], [])
    file = folder / "annotations/captions_x.json"
    file.write_text(file.read_text()[:-9])
    with pytest.raises(BadInput, match=r"captions_x\.json, line 1, column \d+: damaged JSON"):
        read_coco(folder)


def test_a_folder_that_is_missing_or_not_coco_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such folder"):
        read_coco(tmp_path / "none")
    with pytest.raises(BadInput, match="not a COCO folder"):
        read_coco(tmp_path)
    with pytest.raises(BadInput, match=r"captions\.csv: no such file"):
        read_flickr8k(tmp_path)
