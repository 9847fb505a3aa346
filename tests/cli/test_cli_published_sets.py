"""The verbs on sets as they are downloaded: what of them is here, what is missing, which split works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import published_sets as sets
from viewfinder import encoders
from viewfinder.testing import load_colour_encoder

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def _colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "load_encoder", load_colour_encoder)


@pytest.fixture
def half_coco(tmp_path: Path) -> Path:
    """Both caption files, and the pictures of one."""
    folder = tmp_path / "coco"
    sets.write_coco(folder, "train2017", range(9), pictures=False)
    sets.write_coco(folder, "val2017", range(10, 20), pictures=True)
    return folder


FOUND = (
    "found train2017 (45 captions, 0 pictures), val2017 (50 captions, 10 pictures): "
    "--split val2017; or train, val, test by the pictures' names"
)


def test_features_says_what_was_found_and_which_split_works(viewfinder: Run, half_coco: Path) -> None:
    outcome = viewfinder("features", half_coco, "--no-regions", "--workers", 1)
    assert outcome.code == 0 and outcome.out.splitlines()[1] == f"data: {FOUND}"
    assert viewfinder("features", half_coco, "--no-regions", "--json").json["data"] == FOUND


def test_features_of_captions_without_pictures_says_what_to_unpack(viewfinder: Run, tmp_path: Path) -> None:
    sets.write_coco(tmp_path / "coco", "val2017", [1], pictures=False)
    outcome = viewfinder("features", tmp_path / "coco", "--workers", 1)
    assert outcome.code != 0
    assert "no pictures in this folder; found val2017 (5 captions, 0 pictures): unpack their pictures" in outcome.err


def test_damaged_captions_do_not_cost_the_vectors(viewfinder: Run, half_coco: Path) -> None:
    (half_coco / "annotations" / "captions_val2017.json").write_text("{")
    outcome = viewfinder("features", half_coco, "--no-regions", "--workers", 1)
    assert outcome.code == 0 and "captions_val2017.json, line 1, column 2: damaged JSON" in outcome.out


def test_evaluate_says_which_split_works_and_evaluates_it(viewfinder: Run, half_coco: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    command = ("evaluate", "clip-t", "--data", half_coco, "--protocol", "captions", "--out", tmp_path / "run")
    wrong = viewfinder(*command, "--split", "val2014")
    assert wrong.code != 0 and f"no split is called 'val2014' here: {FOUND}" in wrong.err
    [task] = viewfinder(*command, "--split", "val2017", "--json").json["tasks"]
    assert (task["title"], task["talks"], task["gallery"]) == ("captions, val2017", 10, 10)
    assert "45 captions of 9 pictures not here; the pictures belong in train2017/" in task["left_out"][0]


def _layouts(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Ten pictures in every layout: their folder, and the file of their captions."""
    names = {f"{number}.jpg": number for number in range(10)}
    coco, flickr8k, kaggle, results, karpathy, genome = (folder / name for name in "abcdef")
    sets.write_coco(coco, "val2014", range(10), pictures=True)
    sets.draw_all(flickr8k / "Flicker8k_Dataset", names)
    sets.write_tokens(flickr8k / "Flickr8k.token.txt", names)
    sets.draw_all(kaggle / "Images", names)
    sets.write_kaggle_captions(kaggle / "captions.txt", names)
    sets.draw_all(results / "flickr30k_images", names)
    sets.write_kaggle_results(results / "results.csv", names, broken="3.jpg")
    sets.draw_all(karpathy / "images", names)
    sets.write_karpathy(karpathy / "dataset_flickr8k.json", {"train": range(5), "test": range(5, 10)})
    sets.write_region_descriptions(genome, range(10), phrases=5)
    return {
        "coco": (coco / "val2014", coco / "annotations" / "captions_val2014.json"),
        "flickr8k": (flickr8k, flickr8k / "Flickr8k.token.txt"),
        "kaggle": (kaggle, kaggle / "captions.txt"),
        "results": (results, results / "results.csv"),
        "karpathy": (karpathy, karpathy / "dataset_flickr8k.json"),
        "genome": (genome, genome / "region_descriptions.json"),
        "folder": (flickr8k, flickr8k),
    }


@pytest.mark.parametrize("layout", ["coco", "flickr8k", "kaggle", "results", "karpathy", "genome", "folder"])
def test_add_takes_the_captions_of_a_published_file_or_folder(viewfinder: Run, tmp_path: Path, layout: str) -> None:
    pictures, captions = _layouts(tmp_path / "sets")[layout]
    library = tmp_path / "library"
    outcome = viewfinder("add", pictures, "--captions", captions, "--library", library, "--workers", 1, "--json")
    assert outcome.code == 0, outcome.err
    assert viewfinder("status", "--library", library, "--json").json["with_captions"] == 10
