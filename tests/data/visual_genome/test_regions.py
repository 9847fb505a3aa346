import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewfinder.data.visual_genome import choose_captions, list_splits, read_visual_genome
from viewfinder.data.visual_genome.regions import SceneGraph, SceneObject, scene_graph_xml
from viewfinder.errors import BadInput, UnknownName

TWELVE = tuple(f"caption {letter}" for letter in "abcdefghijkl")


def regions_of(phrases: Sequence[str], first_id: int = 1) -> list[dict[str, Any]]:
    """A region a phrase, ids descending: as in the published files, the order is not that of the ids."""
    last = first_id + len(phrases) - 1
    return [
        {
            "region_id": last - i,
            "phrase": phrase,
            **{"x": 3, "y": 4, "width": 90, "height": 60},
            "objects": [{"object_id": 11}],
            "relationships": [{"relationship_id": 2}],
        }
        for i, phrase in enumerate(phrases)
    ]


class Disk:
    """A small data set in Drill-down's layout, filled picture by picture."""

    def __init__(self, root: Path, caches: Path) -> None:
        self.root, self.caches = root, caches
        for folder in (root / "rg_jsons", root / "sg_xmls", caches):
            folder.mkdir(parents=True, exist_ok=True)

    def picture(self, number: int, phrases: Sequence[str] = TWELVE, things: Sequence[str] = ("kite",)) -> None:
        (self.root / "rg_jsons" / f"{number}.json").write_text(json.dumps({"regions": regions_of(phrases)}))
        objects = tuple(SceneObject(name, i, (1.0, 1.0, 9.0, 9.0)) for i, name in enumerate(things))
        graph = scene_graph_xml(SceneGraph(number, 640, 480, objects))
        (self.root / "sg_xmls" / f"{number}.xml").write_text(graph)

    def lists(self, ids: Sequence[int], *, split: str = "val", objects: str = "yolk\nkite,kites\n") -> None:
        (self.caches / f"vg_{split}.txt").write_text("".join(f"{number}\n" for number in ids))
        (self.caches / "vg_objects_vocab_1600.txt").write_text(objects)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path, tmp_path / "caches")


def test_captions_are_lower_case_without_repetitions_and_by_region_id(disk: Disk) -> None:
    # File order a .. l has the ids 13 .. 1; the second "Caption A" (id 12) goes, the first (id 13) stays.
    disk.picture(5, ("Caption A", "CAPTION a", *TWELVE[1:]))
    disk.lists([5])
    (picture,), report = read_visual_genome(disk.root, "val")
    assert picture.id == 5
    assert picture.captions == (*reversed(TWELVE[1:]), "caption a")
    assert [region.region_id for region in picture.regions] == [*range(1, 12), 13]
    assert [(note.record, note.reason) for note in report.dropped] == [("5.json", "1 repeated captions")]


def test_a_region_knows_its_box(disk: Disk) -> None:
    disk.picture(5)
    disk.lists([5])
    (picture,), _ = read_visual_genome(disk.root, "val")
    region = picture.regions[0]
    assert region.box == (3.0, 4.0, 90.0, 60.0)


def test_every_rule_that_leaves_a_picture_out_is_reported(disk: Disk) -> None:
    disk.picture(1)
    disk.picture(2, (*TWELVE[:9], "CAPTION A"))
    disk.picture(3, things=("unicorn",))
    disk.picture(4)
    (disk.root / "sg_xmls" / "4.xml").unlink()
    disk.lists([1, 2, 3, 4, 99, 1])
    pictures, report = read_visual_genome(disk.root, "val")
    assert [picture.id for picture in pictures] == [1]
    assert (report.expected, report.found) == (6, 1)
    assert {note.record: note.reason for note in report.dropped} == {
        "val: picture 1": "listed twice",
        "2.json": "1 repeated captions",
        "picture 2": "9 distinct captions, 10 are needed",
        "picture 3": "no object that is on the list",
        "picture 4": "no scene graph in sg_xmls/",
        "picture 99": "no rg_jsons/99.json",
    }


def test_an_alias_of_a_class_is_on_the_list(disk: Disk) -> None:
    disk.picture(1, things=("unicorn", "Kites"))
    disk.lists([1])
    (picture,), _ = read_visual_genome(disk.root, "val")
    assert picture.objects == ("kites",)


@pytest.mark.parametrize("missing", ["vg_objects_vocab_1600.txt", "sg_xmls"])
def test_without_list_or_graphs_the_rule_is_not_applied_and_the_report_says_so(disk: Disk, missing: str) -> None:
    disk.picture(1, things=())
    disk.lists([1])
    if missing == "sg_xmls":
        (disk.root / "sg_xmls" / "1.xml").unlink()
        (disk.root / "sg_xmls").rmdir()
    else:
        (disk.caches / missing).unlink()
    pictures, report = read_visual_genome(disk.root, "val")
    assert len(pictures) == 1
    assert [note.record for note in report.dropped] == [missing]
    assert "the rule of at least one listed object was not applied" in report.dropped[0].reason


@pytest.mark.parametrize(
    ("root", "caches"),
    [(".", "caches"), (".", "data/caches"), ("vg", "caches"), ("data/vg", "data/caches"), ("vg", "vg/caches")],
)
def test_the_usual_places_are_found(tmp_path: Path, root: str, caches: str) -> None:
    disk = Disk(tmp_path / root, tmp_path / caches)
    disk.picture(1)
    disk.lists([1])
    pictures, _ = read_visual_genome(tmp_path, "val")
    assert [picture.id for picture in pictures] == [1]
    assert list_splits(tmp_path) == ("val",)


def test_caches_beside_the_folder_are_found(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "vg", tmp_path / "caches")
    disk.picture(1)
    disk.lists([1])
    assert len(read_visual_genome(tmp_path / "vg", "val")[0]) == 1


@pytest.mark.parametrize("name", ["images/7.jpg", "images/000000000007.jpg", "VG_100K/7.jpg", "VG_100K_2/7.jpg"])
def test_a_picture_is_found_and_a_missing_one_reported(disk: Disk, name: str) -> None:
    disk.picture(7)
    disk.picture(8)
    disk.lists([7, 8])
    file = disk.root / name
    file.parent.mkdir()
    file.touch()
    pictures, report = read_visual_genome(disk.root, "val")
    assert [picture.path for picture in pictures] == [file, None]
    assert [note.record for note in report.dropped] == ["8.jpg"]


def test_no_pictures_at_all_are_nothing_to_report(disk: Disk) -> None:
    disk.picture(7)
    disk.lists([7])
    (picture,), report = read_visual_genome(disk.root, "val")
    assert picture.path is None
    assert report.dropped == ()


def test_an_unknown_split_is_answered_with_those_there_are(disk: Disk) -> None:
    disk.lists([], split="train")
    disk.lists([], split="test")
    with pytest.raises(UnknownName, match=r"no list vg_dev\.txt here, so no split 'dev'; there are: train, test"):
        read_visual_genome(disk.root, "dev")
    assert list_splits(disk.root) == ("train", "test")


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="this is not Visual Genome"):
        read_visual_genome(tmp_path, "val")
    assert list_splits(tmp_path) == ()


def test_a_line_that_is_no_id_is_named(disk: Disk) -> None:
    disk.lists([1])
    (disk.caches / "vg_val.txt").write_text("1\n\n2.5\n")
    with pytest.raises(BadInput, match=r"vg_val\.txt, line 3: the id of a picture is needed, this is '2\.5'"):
        read_visual_genome(disk.root, "val")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"phrase": None}, r"5\.json: regions\[3\]: field 'phrase' is needed \(str\)"),
        ({"region_id": "x"}, r"5\.json: regions\[3\]: field 'region_id' is needed"),
        ({"width": [1]}, r"5\.json: regions\[3\]: field 'width' is needed"),
    ],
)
def test_a_damaged_region_is_named(disk: Disk, changes: dict[str, Any], message: str) -> None:
    disk.picture(5)
    disk.lists([5])
    records = regions_of(TWELVE)
    records[3] |= changes
    (disk.root / "rg_jsons" / "5.json").write_text(json.dumps({"regions": records}))
    with pytest.raises(BadInput, match=message):
        read_visual_genome(disk.root, "val")


def test_a_truncated_region_file_is_named(disk: Disk) -> None:
    disk.picture(5)
    disk.lists([5])
    file = disk.root / "rg_jsons" / "5.json"
    file.write_text(file.read_text()[:200])
    with pytest.raises(BadInput, match=r"5\.json, line 1, column \d+: damaged JSON"):
        read_visual_genome(disk.root, "val")


def test_the_scene_graph_of_another_picture_is_refused(disk: Disk) -> None:
    disk.picture(5)
    disk.picture(6)
    disk.lists([5])
    (disk.root / "sg_xmls" / "6.xml").replace(disk.root / "sg_xmls" / "5.xml")
    with pytest.raises(BadInput, match=r"5\.xml: field 'image_id' is 6, not 5"):
        read_visual_genome(disk.root, "val")


def test_ten_captions_are_the_first_ten_or_any_ten_without_repetition(disk: Disk) -> None:
    disk.picture(5)
    disk.lists([5])
    (picture,), _ = read_visual_genome(disk.root, "val")
    assert choose_captions(picture) == picture.captions[:10]
    drawn = choose_captions(picture, np.random.default_rng(0))
    assert drawn == choose_captions(picture, np.random.default_rng(0))
    assert len(set(drawn)) == 10
    assert set(drawn) <= set(picture.captions)
    starts = {choose_captions(picture, np.random.default_rng(seed))[0] for seed in range(200)}
    assert starts == set(picture.captions)
    with pytest.raises(ValueError, match="picture 5 has 12 captions, 13 are needed"):
        choose_captions(picture, turns=13)
