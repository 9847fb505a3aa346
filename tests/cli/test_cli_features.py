"""`viewfinder features`: what it says, what it writes, and how it ends."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viewfinder import encoders
from viewfinder.encoders.features import features
from viewfinder.testing import ColourEncoder, load_colour_encoder, tiny_pictures

Run = Callable[..., Any]


@pytest.fixture
def pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(encoders, "load_encoder", load_colour_encoder)
    tiny_pictures(tmp_path / "pictures", 5)
    return tmp_path / "pictures"


def test_json_tells_what_there_is_and_where(viewfinder: Run, pictures: Path, tmp_path: Path) -> None:
    outcome = viewfinder("features", pictures, "--out", tmp_path / "out", "--workers", 1, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.json == {
        "dataset": str(pictures),
        "pictures": 5,
        "regions": 36,
        "width": 48,
        "encoder": "starter",
        "dropped": [],
        "folder": str(tmp_path / "out"),
        "data": "",
    }
    found = features(pictures, ColourEncoder(), regions=True, out=tmp_path / "out")
    assert found.regions_nre is not None and found.regions_nre.shape == (5, 36, 3)


def test_without_regions_only_global_vectors_are_made(viewfinder: Run, pictures: Path) -> None:
    outcome = viewfinder("features", pictures, "--no-regions", "--encoder", "colours", "--workers", 1)
    folder = pictures / ".viewfinder-features" / "colours-raw-1"
    assert (outcome.code, outcome.out) == (0, f"vectors of 5 pictures: 48 numbers each, in {folder}\n")
    assert not list(folder.glob("regions-*"))


def test_pictures_that_were_left_out_are_listed_and_the_exit_code_is_3(viewfinder: Run, pictures: Path) -> None:
    for number in range(12):
        (pictures / f"bad{number:02}.jpg").write_bytes(b"")
    outcome = viewfinder("features", pictures, "--workers", 1)
    lines = outcome.out.splitlines()
    assert outcome.code == 3
    assert lines[0].startswith("vectors of 5 pictures: 48 numbers each, and 36 regions, in ")
    assert lines[1].startswith("  left out: bad00.jpg: ")
    assert (len(lines), lines[-1]) == (12, "  and 2 more")
    again = viewfinder("features", pictures, "--json")
    assert (again.code, [bad["picture"] for bad in again.json["dropped"]][-1]) == (3, "bad11.jpg")


def test_a_folder_that_is_not_there_is_wrong_use(viewfinder: Run, pictures: Path) -> None:
    outcome = viewfinder("features", pictures / "nowhere")
    assert outcome.code == 2
    assert "nowhere: no such folder" in outcome.err
    assert viewfinder("features", pictures, "--workers", 0).code == 2
