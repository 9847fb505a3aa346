from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from viewfinder.construction.setup import SourcePicture, read_captioned
from viewfinder.data.splits import split_of
from viewfinder.errors import BadInput
from viewfinder.worlds.making import take_evenly

MakeFolder = Callable[[Path, int], Path]


def test_a_worlds_pictures_have_its_own_numbers(scenes: Path) -> None:
    pictures, report = read_captioned(scenes, "val")
    assert [picture.number for picture in pictures] == [14, 17, 18]
    assert report.found == 40
    assert [len(picture.captions) for picture in pictures] == [5, 5, 5]


def test_other_pictures_are_numbered_by_their_place(tmp_path: Path, coloured: MakeFolder) -> None:
    folder = coloured(tmp_path, 20)
    pictures, _ = read_captioned(folder, "test", prefix="images/gallery")
    assert [picture.number for picture in pictures] == [
        at for at, file in enumerate(sorted((folder / "images").iterdir())) if split_of(file) == "test"
    ]
    assert pictures[0].name == f"images/gallery/{pictures[0].file.name}"


def test_a_caption_over_several_lines_is_one_sentence(tmp_path: Path, coloured: MakeFolder) -> None:
    folder = coloured(tmp_path, 1)
    [file] = (folder / "images").iterdir()
    (folder / "captions.csv").write_text(f'image,caption\n{file.name},"two\n  lines"\n')
    assert read_captioned(folder, "all")[0][0].captions == ("two lines",)


def test_a_part_without_pictures_is_named(tmp_path: Path, coloured: MakeFolder) -> None:
    with pytest.raises(BadInput, match="none of its 2 captioned pictures is of the part 'val'"):
        read_captioned(coloured(tmp_path, 2), "val")


def test_pictures_are_taken_evenly() -> None:
    pictures = [SourcePicture(str(at), Path(str(at)), ("x",), at) for at in range(10)]
    assert [picture.number for picture in take_evenly(pictures, 4)] == [0, 2, 5, 7]
    assert take_evenly(pictures, 30) == take_evenly(pictures, None) == pictures
