"""Captioned photographs of several sets, and the one split of them all."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from viewfinder.data.splits import PARTS, PHOTOGRAPHS, names_digest, part_of, read_photographs
from viewfinder.errors import BadInput

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def test_of_sixteen_pictures_about_two_are_reported_on_and_one_chooses() -> None:
    counts = Counter(part_of(f"{number}.jpg") for number in range(16_000))
    assert abs(counts["report"] - 2_000) < 150
    assert abs(counts["choose"] - 1_000) < 120


def test_a_copy_in_another_folder_and_format_is_in_the_same_part() -> None:
    assert all(part_of(f"a/{number}.jpg") == part_of(f"b/c/{number}.png") for number in range(100))


def test_a_folder_without_photographs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no captioned photographs here; one of flickr8k"):
        read_photographs(tmp_path)


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not there")
def test_the_parts_of_the_real_sets_are_all_of_them_and_share_no_picture() -> None:
    whole = read_photographs(DATA)
    parts = [read_photographs(DATA, part) for part in PARTS]
    assert list(whole) == [name for name in PHOTOGRAPHS if (DATA / name).is_dir()]
    for name, pictures in whole.items():
        names = [picture.path.name for part in parts for picture in part[name]]
        assert sorted(names) == sorted(picture.path.name for picture in pictures)
    everything = [picture for pictures in whole.values() for picture in pictures]
    assert len(names_digest(everything)) == 16
    assert names_digest(everything) == names_digest(reversed(everything))
