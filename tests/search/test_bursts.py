"""Pictures of one burst: of one folder, seconds apart, and near in looks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import viewfinder.library
from viewfinder.library import Library
from viewfinder.search.bursts import MAX_BURST, number_bursts
from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.testing import COLOURS, ColourEncoder, draw_halves, load_colour_encoder

Taken = tuple[str, str | None, tuple[str, str]]
"""A file, when it was taken, and the colours of it."""

NAMES = list(COLOURS)
RED, BLUE = (NAMES[0], NAMES[1]), (NAMES[3], NAMES[4])
OTHERS: list[Taken] = [
    (f"/o/{at}.png", None, (top, bottom))
    for at, (top, bottom) in enumerate((top, bottom) for top in NAMES[:6] for bottom in NAMES[2:6])
]


def shelve(folder: Path, taken: Sequence[Taken], monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    library, encoder = Library.open(folder / "library.vf"), ColourEncoder()
    rows = [
        PictureRow(f"p{at:04}", (FileRecord(path, 1, 1),), 24, 16, "PNG", 1, captured=moment)
        for at, (path, moment, _) in enumerate(taken)
    ]
    looks = {colours: encoder.pictures([draw_halves(*colours)]).global_bd[0] for _, _, colours in taken}
    raw_nd = np.stack([looks[colours] for _, _, colours in taken])
    library.store.add(rows, {encoder.raw_version: raw_nd, encoder.version: encoder.project(raw_nd)})
    library.switch(encoder.version, None)
    return library


def find_bursts(folder: Path, taken: Sequence[Taken], monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The files of each burst."""
    snapshot = shelve(folder, [*taken, *OTHERS], monkeypatch).gallery().snapshot
    number_n = number_bursts(snapshot)
    paths = [str(paths[0]) for paths in snapshot.paths_of(range(len(snapshot)))]
    return [{paths[row] for row in np.flatnonzero(number_n == number)} for number in range(number_n.max() + 1)]


def test_alike_pictures_of_one_moment_and_folder_are_a_burst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Taken] = [
        ("/a/1.png", "2019-07-14T10:03:00", RED),
        ("/a/2.png", "2019-07-14T10:03:02", RED),
        ("/a/3.png", "2019-07-14T10:03:11", RED),
        ("/a/late.png", "2019-07-14T10:03:30", RED),
        ("/a/unlike.png", "2019-07-14T10:03:01", BLUE),
        ("/b/elsewhere.png", "2019-07-14T10:03:05", BLUE),
        ("/a/day.png", "2019-07-14", RED),
        ("/a/undated.png", None, RED),
    ]
    # What was taken between two of them is none of theirs, and parts them.
    assert find_bursts(tmp_path, taken, monkeypatch) == []
    alike = [each for each in taken if each[2] == RED]
    assert find_bursts(tmp_path / "again", alike, monkeypatch) == [{"/a/1.png", "/a/2.png", "/a/3.png"}]


def test_copies_of_the_very_same_moment_are_one_wherever_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Taken] = [
        ("/a/1.png", "2019-07-14T10:03:00", RED),
        ("/edited/1.png", "2019-07-14T10:03:00", RED),
        ("/edited/other.png", "2019-07-14T10:03:01", RED),
    ]
    [burst] = find_bursts(tmp_path, taken, monkeypatch)
    assert burst >= {"/a/1.png", "/edited/1.png"}


def test_a_film_in_pictures_is_several_bursts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many: list[Taken] = [
        (f"/a/{at}.png", f"2019-07-14T10:{at // 60:02}:{at % 60:02}", RED) for at in range(MAX_BURST + 5)
    ]
    assert sorted(map(len, find_bursts(tmp_path, many, monkeypatch))) == [5, MAX_BURST]


def test_a_search_folds_a_burst_and_says_what_is_behind_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Taken] = [(f"/a/{at}.png", f"2019-07-14T10:03:{at:02}", RED) for at in range(4)]
    library = shelve(tmp_path, [*taken, *OTHERS], monkeypatch)
    best = library.find(f"{RED[0]} over {RED[1]}", n=3)[0]
    assert len(best.others) == 3
    assert len(library.find(f"{RED[0]} over {RED[1]}", n=100)) == 1 + len(OTHERS)
    assert len(library.find(f"{RED[0]} over {RED[1]}", n=100, fold=False)) == 4 + len(OTHERS)
