import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from viewfinder.data import read_catalogue, read_coco
from viewfinder.data.world import regions, sample_scene, world, write_scenes
from viewfinder.data.world.kinds import HEIGHT, KINDS, WIDTH
from viewfinder.errors import BadInput, UnknownName

COUNT = 6


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("world") / "small"
    write_scenes(out, count=COUNT, seed=3)
    return out


def _files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_the_report_counts_what_was_written(tmp_path: Path) -> None:
    seen: list[int] = []
    report = world(tmp_path / "w", kind="scenes", count=3, seed=3, progress=seen.append)
    scenes = [sample_scene(seed=3, number=number) for number in range(1, 4)]
    assert (report.pictures, report.captions, seen) == (3, 15, [1, 2, 3])
    assert report.things == sum(len(scene.things) for scene in scenes)
    assert report.regions == sum(len(regions(scene)) for scene in scenes)


def test_a_seed_gives_the_same_bytes_every_time(small: Path, tmp_path: Path) -> None:
    write_scenes(tmp_path / "again", count=COUNT, seed=3)
    assert _files(tmp_path / "again") == _files(small)
    write_scenes(tmp_path / "other", count=2, seed=4)
    assert not {name for name, data in _files(tmp_path / "other").items() if data == _files(small)[name]}


def test_a_picture_does_not_depend_on_how_many_there_are(small: Path, tmp_path: Path) -> None:
    write_scenes(tmp_path / "few", count=2, seed=3)
    few, many = _files(tmp_path / "few"), _files(small)
    pictures = [name for name in few if name.startswith(("images", "rg_jsons"))]
    assert len(pictures) == 4 and all(few[name] == many[name] for name in pictures)
    for name in ("captions_world.json", "instances_world.json"):
        a, b = json.loads(few[f"annotations/{name}"]), json.loads(many[f"annotations/{name}"])
        assert a["annotations"] == b["annotations"][: len(a["annotations"])]
    assert many["catalogue.csv"].startswith(few["catalogue.csv"])


def test_the_coco_reader_reads_a_world(small: Path) -> None:
    pictures, report = read_coco(small)
    assert (report.expected, report.found, report.dropped) == (COUNT, COUNT, ())
    assert {len(picture.captions) for picture in pictures} == {5}
    assert pictures[0].path == small / "images/000000000001.jpg"


def test_the_catalogue_of_a_world_matches_its_pictures(small: Path) -> None:
    catalogue = read_catalogue(small / "catalogue.csv")
    found = catalogue.matches((small / "images").iterdir())
    assert (len(found.rows), found.unmatched, found.ambiguous) == (COUNT, (), ())
    scene = sample_scene(seed=3, number=1)
    values = found.rows[small / "images/000000000001.jpg"][0].values
    assert (values["background"], values["light"]) == (scene.place, scene.light)
    assert (values["main_object"], values["objects"]) == (scene.main().kind, str(len(scene.things)))


def test_instances_are_the_truth_in_cocos_form(small: Path) -> None:
    data = json.loads((small / "annotations/instances_world.json").read_text())
    names = {category["id"]: category["name"] for category in data["categories"]}
    assert list(names.values()) == list(KINDS)
    truth = [(s.number, t) for s in (sample_scene(seed=3, number=k) for k in range(1, COUNT + 1)) for t in s.things]
    assert len({item["id"] for item in data["annotations"]}) == len(data["annotations"]) == len(truth)
    for item, (number, thing) in zip(data["annotations"], truth, strict=True):
        assert (item["image_id"], names[item["category_id"]], item["bbox"]) == (
            number,
            thing.kind,
            [*thing.box],
        )
        assert item["attributes"]["colour"] == thing.colour
        x, y, width, height = item["bbox"]
        assert 0 <= x <= x + width <= WIDTH and 0 <= y <= y + height <= HEIGHT


def test_region_files_refer_to_the_instances(small: Path) -> None:
    data = json.loads((small / "annotations/instances_world.json").read_text())
    boxes = {item["id"]: item["bbox"] for item in data["annotations"]}
    for number in range(1, COUNT + 1):
        record = json.loads((small / f"rg_jsons/{number}.json").read_text())
        assert len({region["phrase"].lower() for region in record["regions"]}) >= 10
        assert len({region["region_id"] for region in record["regions"]}) == len(record["regions"])
        for region in record["regions"]:
            assert {
                "region_id",
                "phrase",
                "x",
                "y",
                "width",
                "height",
                "objects",
                "relationships",
            } <= region.keys()
            ids = [item["object_id"] for item in region["objects"]]
            assert all(boxes[item["object_id"]] == [item[k] for k in ("x", "y", "width", "height")]
                       for item in region["objects"])  # fmt: skip
            for relation in region["relationships"]:
                assert {relation["subject_id"], relation["object_id"]} == set(ids)


def test_pictures_are_jpegs_of_the_drawn_pixels(small: Path) -> None:
    from viewfinder.data.world import draw_scene

    with Image.open(small / "images/000000000002.jpg") as picture:
        assert (picture.format, picture.size, picture.mode) == ("JPEG", (WIDTH, HEIGHT), "RGB")
        read = np.asarray(picture).astype(int)
    drawn = np.asarray(draw_scene(sample_scene(seed=3, number=2))).astype(int)
    assert np.abs(read - drawn).mean() < 4


def test_an_interrupted_world_is_finished_by_the_same_call(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "w"

    def stop(written: int) -> None:
        if written == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_scenes(out, count=COUNT, seed=3, progress=stop)
    write_scenes(out, count=COUNT, seed=3)
    assert _files(out) == _files(small)


def test_a_folder_with_something_else_in_it_is_left_alone(small: Path, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(BadInput, match="not empty"):
        write_scenes(tmp_path, count=1, seed=1)
    assert _files(tmp_path) == {"letter.txt": b"dear"}
    with pytest.raises(BadInput, match="not empty"):
        write_scenes(small, count=COUNT, seed=4)
    with pytest.raises(BadInput, match="this is a file"):
        write_scenes(tmp_path / "letter.txt", count=1, seed=1)


@pytest.mark.parametrize("count", [0, -3, 1_000_001])
def test_a_count_out_of_range_is_refused(tmp_path: Path, count: int) -> None:
    with pytest.raises(BadInput, match=f"--count {count}: ask for 1 to 1000000"):
        write_scenes(tmp_path / "w", count=count, seed=1)
    assert not (tmp_path / "w").exists()


def test_an_unknown_kind_of_world_is_answered_with_the_kinds_there_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no kind of world is called 'catalog'; there are: scenes"):
        world(tmp_path, kind="catalog", count=1, seed=1)


def test_a_folder_that_cannot_be_made_is_named() -> None:
    with pytest.raises(BadInput, match=r"/proc/viewfinder-world.*: cannot be written .*; choose another folder"):
        write_scenes(Path("/proc/viewfinder-world"), count=1, seed=1)


TIMED = """
import sys, time
from pathlib import Path
from viewfinder.data.world import write_scenes
begin = time.process_time()
write_scenes(Path(sys.argv[1]), count=30, seed=8)
print(time.process_time() - begin)
"""


def test_a_picture_takes_less_than_a_fifth_of_a_second(tmp_path: Path) -> None:
    # In a process of its own, because the type checks of the test run would be most of what is measured.
    command = [sys.executable, "-c", TIMED, str(tmp_path / "w")]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3] / "src")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert float(done.stdout) < 30 / 5  # that is 300 pictures in under 60 s
