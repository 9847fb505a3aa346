"""viewfinder.pictures.facts.raw_files"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.pictures.facts.tagged_pictures import crw, exif_block, jpeg, mrw, raf, tiff_block
from viewfinder.pictures.facts.embedded import read_embedded

TAKEN = "2003:07:14 10:03:00"
FILES = {
    "raf": raf(jpeg(exif=exif_block(DateTimeOriginal=TAKEN, Make="Maker", Model="Model 1"))),
    "mrw": mrw(tiff_block(DateTimeOriginal=TAKEN, Make="Maker", Model="Model 1")),
    "x3f": b"FOVb" + bytes(400) + jpeg(exif=exif_block(DateTimeOriginal=TAKEN, Make="Maker", Model="Model 1")),
    "crw": crw(b"Maker\0Model 1\0\0", 1_058_176_980),
    "rw2": tiff_block(magic=b"IIU\0", DateTimeOriginal=TAKEN, Make="Maker", Model="Model 1"),
    "orf": tiff_block(magic=b"IIRO", DateTimeOriginal=TAKEN, Make="Maker", Model="Model 1"),
    "nef": tiff_block(DateTimeOriginal=TAKEN, Make="Maker", Model="Model 1"),
}


@pytest.mark.parametrize("ending", FILES)
def test_the_date_and_the_camera_of_every_makers_file_are_found(ending: str) -> None:
    told = {fact.name: fact.values for fact in read_embedded(FILES[ending], "RAW")}
    assert told == {"captured": ("2003-07-14T10:03:00",), "camera": ("Maker Model 1",)}


@pytest.mark.parametrize("ending", sorted(set(FILES) - {"x3f"}))  # of that there is only a preview here
def test_exiftool_finds_the_same_in_these_files(ending: str, tmp_path: Path) -> None:
    if shutil.which("exiftool") is None:
        pytest.skip("not installed: exiftool")
    file = tmp_path / f"a.{ending}"
    file.write_bytes(FILES[ending])
    told = subprocess.run(
        ["exiftool", "-json", "-n", str(file)], capture_output=True, check=False, env=os.environ | {"TZ": "UTC"}
    )
    [entry] = json.loads(told.stdout)
    assert (entry["DateTimeOriginal"], entry["Make"], entry["Model"]) == (TAKEN, "Maker", "Model 1")


@pytest.mark.parametrize("ending", FILES)
def test_one_that_is_cut_off_is_read_without_complaint(ending: str) -> None:
    for end in range(0, len(FILES[ending]), 7):
        read_embedded(FILES[ending][:end], "RAW")


def test_directories_of_a_crw_that_hold_themselves_are_left() -> None:
    data = bytearray(crw(b"Maker\0Model 1\0\0", 1_058_176_980))
    entry = data.index(b"\x0a\x30")
    data[entry + 2 : entry + 10] = (len(data) - 26).to_bytes(4, "little") + bytes(4)  # the whole block, in itself
    read_embedded(bytes(data), "RAW")
