"""Visual Genome as it is downloaded: region_descriptions.json alone, and pictures in VG_100K and VG_100K_2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import published_sets as sets
from viewfinder.data.files import CHUNK, read_json_records
from viewfinder.data.splits import split_of
from viewfinder.data.visual_genome import describe_regions, has_split_lists, list_splits, read_visual_genome
from viewfinder.errors import BadInput, UnknownName

NUMBERS = range(2400, 2440)


def test_without_lists_pictures_are_split_by_their_ids(tmp_path: Path) -> None:
    sets.write_region_descriptions(tmp_path, NUMBERS)
    assert list_splits(tmp_path) == ("train", "val", "test") and not has_split_lists(tmp_path)
    read = {split: read_visual_genome(tmp_path, split)[0] for split in ("train", "val", "test")}
    assert sorted(one.id for some in read.values() for one in some) == list(NUMBERS)
    assert all(split_of(f"{one.id}.jpg") == split for split, some in read.items() for one in some)
    first = read["train"][0]
    assert first.path is not None and first.path.is_file()
    assert first.path.parent.name == "VG_100K_2" and first.captions[1].strip().endswith("part 1")
    assert {one.path.parent.name for one in read["train"] if one.path} == {"VG_100K", "VG_100K_2"}
    assert describe_regions(tmp_path) == (
        "found region_descriptions.json and 40 pictures of Visual Genome, split by the hash of their ids: "
        "--split train, --split val, --split test"
    )


def test_split_lists_hold_where_they_are(tmp_path: Path) -> None:
    sets.write_region_descriptions(tmp_path, NUMBERS)
    (tmp_path / "caches").mkdir()
    (tmp_path / "caches" / "vg_test.txt").write_text("2410\n2402\n99\n")
    pictures, report = read_visual_genome(tmp_path, "test")
    assert [one.id for one in pictures] == [2410, 2402]
    assert ("picture 99", "no record of it in region_descriptions.json") in [
        (one.record, one.reason) for one in report.dropped
    ]
    with pytest.raises(UnknownName, match="no list vg_train"):
        read_visual_genome(tmp_path, "train")


def test_pictures_with_too_few_phrases_are_left_out_and_reported(tmp_path: Path) -> None:
    sets.write_region_descriptions(tmp_path, NUMBERS, phrases=9)
    pictures, report = read_visual_genome(tmp_path, "val")
    assert pictures == [] and report.expected and "9 distinct captions, 10 are needed" in report.dropped[-1].reason


def test_a_list_larger_than_what_is_read_at_once_is_read_record_by_record(tmp_path: Path) -> None:
    """Records end anywhere in a chunk, one is longer than a chunk, and blanks stand between them."""
    records = [{"id": number, "text": "x" * (7919 * number % 40_000)} for number in range(150)]
    records.insert(50, {"id": -1, "text": "é" * (2 * CHUNK)})
    file = tmp_path / "list.json"
    file.write_text(" [" + " ,\n ".join(json.dumps(one, ensure_ascii=False) for one in records) + " ]\n")
    assert file.stat().st_size > 4 * CHUNK
    assert [record for _, record in read_json_records(file)] == records
    file.write_text("[]")
    assert list(read_json_records(file)) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"id": 1}', "a JSON list is needed"),
        ('[{"id": 1}, {"id": 2', r"\[1\]: damaged JSON"),
        ('[{"id": 1}', r"\[1\]: damaged JSON"),
        ("[" * 200_000, r"\[0\]: damaged JSON \(nested too deeply\)"),
    ],
)
def test_a_damaged_list_is_named(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "list.json"
    file.write_text(text)
    with pytest.raises(BadInput, match=reason):
        list(read_json_records(file))


def test_a_damaged_region_is_named(tmp_path: Path) -> None:
    sets.write_region_descriptions(tmp_path, [2403])
    file = tmp_path / "region_descriptions.json"
    file.write_text(file.read_text().replace('"phrase"', '"frase"', 1))
    split = split_of("2403.jpg")
    with pytest.raises(BadInput, match=r"region_descriptions\.json: \[0\]\.regions\[0\]: field 'phrase' is needed"):
        read_visual_genome(tmp_path, split)
