"""Filling in region vectors: each is made once, from a file that still holds its picture, whatever happens between.

This file is also the program of a process that is killed: `python test_filling.py FOLDER`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from jaxtyping import Float16
from PIL import Image

from viewfinder.encoders.base import Encoded, Pixels
from viewfinder.errors import DiskFull, PartFailed
from viewfinder.pictures import Stretch, decode_one
from viewfinder.search.raw_vectors import RawVectors
from viewfinder.store import tables
from viewfinder.store.ingest import Ingest
from viewfinder.store.regions import RegionTable, StoredVectors, fill_regions
from viewfinder.store.reports import FillReport
from viewfinder.store.store import Store
from viewfinder.testing import ColourEncoder, draw_halves, tiny_pictures

RAW = ColourEncoder.raw_version


class Counting(ColourEncoder):
    """Counts the pictures whose regions it makes."""

    seen: list[int] = []  # noqa: RUF012 (of each test its own: see `bench`)

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        if regions:
            self.seen.append(len(batch))
        return super().pictures(batch, regions=regions)


class Bench:
    """A store that was filled from a folder of pictures."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder / "pictures"
        self.drawn = [picture.path for picture in tiny_pictures(self.folder, count)]
        self.store = Store.create(folder / "library")
        self.add()

    def add(self) -> None:
        Ingest(self.store, ColourEncoder(), workers=1).run([self.folder])

    @property
    def table(self) -> RegionTable:
        return RegionTable(self.store.folder, RAW)

    def files(self) -> dict[str, list[str]]:
        return {row.id: [file.path for file in row.files] for row in self.store.rows()}

    def id_of(self, path: Path) -> str:
        [found] = [picture for picture, paths in self.files().items() if str(path) in paths]
        return found

    def fill(self, files: Mapping[str, Sequence[str]] | None = None) -> FillReport:
        return fill_regions(self.table, Counting(), self.files() if files is None else files, workers=1)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(Counting, "seen", [])
    return Bench(tmp_path, 6)


class Spoilt(ColourEncoder):
    """Gives of the second picture a region that is no number, of the third regions that are all zero."""

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        made = super().pictures(batch, regions=regions)
        if made.regions_brd is not None:
            made.regions_brd[1, 3, 0], made.regions_brd[2] = np.nan, 0
            made.regions_brd[3, 5, 1] = -np.inf
            made.regions_brd[4, 5, 1], made.regions_brd[4, 6] = 1e6, 0  # a region may be both
        return made


def regions_in(path: Path) -> Float16[np.ndarray, "r e"]:
    """What the encoder says of the regions of one file."""
    regions_brd = ColourEncoder().pictures([decode_one(path, Stretch(12)).pixels], regions=True).regions_brd
    assert regions_brd is not None
    return np.asarray(regions_brd[0], np.float16)


def test_every_picture_gets_the_regions_that_its_file_shows(bench: Bench) -> None:
    assert bench.fill() == FillReport(6)
    found = bench.table.read([bench.id_of(path) for path in bench.drawn])
    assert found.shape == (6, 36, 3)
    np.testing.assert_array_equal(found, np.stack([regions_in(path) for path in bench.drawn]))


def test_filling_again_reads_nothing(bench: Bench) -> None:
    bench.fill()
    bench.fill()
    assert sum(Counting.seen) == 6


def test_only_what_is_missing_is_made(bench: Bench) -> None:
    some = dict(list(bench.files().items())[:2])
    assert bench.fill(some) == FillReport(2)
    assert bench.table.ids() == some.keys()
    assert bench.fill() == FillReport(4)
    assert Counting.seen == [2, 4]


def test_pictures_whose_files_are_gone_or_unreadable_or_changed_are_left_out_with_the_reason(bench: Bench) -> None:
    files = bench.files()
    bench.drawn[0].unlink()
    bench.drawn[1].write_bytes(b"no picture any more")
    Image.fromarray(draw_halves("purple", "white")).save(bench.drawn[2])
    filled = bench.fill(files)
    assert filled.made == 3
    reasons = {bad.path: bad.reason for bad in filled.left_out}
    assert reasons[bench.drawn[0]] == "gone"
    assert reasons[bench.drawn[1]] != ""
    assert reasons[bench.drawn[2]] == "another picture by now"
    assert len(reasons) == 3
    assert bench.table.ids() == {picture for picture, paths in files.items() if Path(paths[0]) in bench.drawn[3:]}


def test_a_picture_of_which_one_copy_is_left_is_made_from_that(bench: Bench) -> None:
    wanted = bench.id_of(bench.drawn[0])
    copies = [Path(shutil.copy(bench.drawn[0], bench.folder / name)) for name in ("x.png", "y.png")]
    bench.add()
    files = bench.files()
    bench.drawn[0].unlink()
    copies[0].write_bytes(b"damaged")
    assert bench.fill(files) == FillReport(6)
    np.testing.assert_array_equal(bench.table.read([wanted])[0], regions_in(copies[1]))


def test_a_file_that_comes_back_is_made_by_the_next_filling(bench: Bench) -> None:
    away = bench.drawn[0].rename(bench.folder.parent / "away.png")
    assert bench.fill().made == 5
    away.rename(bench.drawn[0])
    assert bench.fill() == FillReport(1)


def test_where_no_file_is_left_no_table_is_made(bench: Bench) -> None:
    files = bench.files()
    shutil.rmtree(bench.folder)
    filled = bench.fill(files)
    assert (filled.made, len(filled.left_out)) == (0, 6)
    assert bench.table.shape() is None


def test_progress_counts_batches_those_left_out_included(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("FIRST_BATCH", 2), ("MAX_BATCH", 2), ("COMMIT_EVERY_S", 1e6)):
        monkeypatch.setattr(tables, name, value)
    bench.drawn[3].write_bytes(b"damaged")
    told: list[tuple[int, int]] = []
    fill_regions(bench.table, ColourEncoder(), bench.files(), workers=1, progress=lambda *at: told.append(at))
    assert told == [(0, 6), (2, 6), (4, 6), (6, 6)]


def test_an_error_between_batches_keeps_what_was_acknowledged(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "FIRST_BATCH", 4)

    def full(done: int, total: int) -> None:
        if done:
            raise DiskFull("the disk is full")

    with pytest.raises(DiskFull):
        fill_regions(bench.table, ColourEncoder(), bench.files(), workers=1, progress=full)
    assert len(bench.table.ids()) == 4
    assert bench.fill() == FillReport(2)


def test_pictures_can_be_added_while_others_are_filled(bench: Bench) -> None:
    with bench.store.writing():  # as `add` does for as long as it takes
        assert bench.fill() == FillReport(6)


def test_of_two_that_fill_one_waits_and_tells_how_far_the_other_is(bench: Bench) -> None:
    files, told = bench.files(), list[tuple[int, int]]()
    first = dict(list(files.items())[:4])
    with ExitStack() as other:
        other.enter_context(bench.table.filling(1.0))
        encoded = ColourEncoder().pictures([draw_halves("red", "blue")] * 4, regions=True).regions_brd
        assert encoded is not None
        bench.table.add(list(first), encoded)

        def progress(done: int, total: int) -> None:
            told.append((done, total))
            other.close()  # the other is done

        assert fill_regions(bench.table, ColourEncoder(), files, workers=1, progress=progress) == FillReport(2)
    assert told == [(4, 6), (0, 2), (2, 2)]


# -- raw vectors


def test_raw_vectors_come_in_any_order_a_batch_at_a_time(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewfinder.store.regions.MAX_READ", 4)
    bench.fill()
    raw = StoredVectors(bench.store, ColourEncoder().raw_version, ColourEncoder)
    assert isinstance(raw, RawVectors)
    ids = [bench.id_of(path) for path in reversed(bench.drawn)]
    parts = list(raw.batches(ids, regions=True))
    assert [len(global_bg) for global_bg, _ in parts] == [4, 2]
    expected_nd = bench.store.read_vectors_of(RAW, ids).astype(np.float32)
    np.testing.assert_array_equal(np.concatenate([global_bg for global_bg, _ in parts]), expected_nd)
    regions_nre = np.concatenate([regions_bre for _, regions_bre in parts if regions_bre is not None])
    np.testing.assert_array_equal(regions_nre, bench.table.read(ids))


def test_whole_pictures_alone_need_no_regions(bench: Bench) -> None:
    raw, ids = StoredVectors(bench.store, ColourEncoder().raw_version, ColourEncoder), sorted(bench.files())
    [(global_bg, regions_bre)] = raw.batches(ids, regions=False)
    assert (global_bg.shape, regions_bre, bench.table.shape()) == ((6, 48), None, None)


def test_regions_that_are_missing_are_made_before_they_are_read(bench: Bench) -> None:
    raw = StoredVectors(bench.store, ColourEncoder().raw_version, ColourEncoder)
    [(_, regions_bre)] = raw.batches([bench.id_of(bench.drawn[0])], regions=True)
    assert regions_bre is not None
    np.testing.assert_array_equal(regions_bre[0], regions_in(bench.drawn[0]))
    assert len(bench.table.ids()) == 1
    Image.fromarray(draw_halves("purple", "white", size=(30, 30))).save(bench.folder / "late.png")
    bench.add()
    [(_, regions_bre)] = raw.batches([bench.id_of(bench.folder / "late.png"), "pruned meanwhile"], regions=True)
    assert regions_bre is not None
    np.testing.assert_array_equal(regions_bre[0], regions_in(bench.folder / "late.png"))
    assert not regions_bre[1].any()


def test_where_nothing_can_be_read_there_are_zeros_of_the_right_shape(bench: Bench) -> None:
    ids = sorted(bench.files())
    shutil.rmtree(bench.folder)
    [(_, regions_bre)] = StoredVectors(bench.store, ColourEncoder().raw_version, ColourEncoder).batches(
        ids, regions=True
    )
    assert regions_bre is not None
    assert regions_bre.shape == (6, 36, 3)
    assert not regions_bre.any()


# -- kill -9


def kill_after(folder: Path, batches: int, seconds: float) -> int:
    """Kills a process that fills, a moment after so many batches; how many pictures it said were done."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        lines: Iterator[str] = iter(process.stdout)
        acknowledged = 0
        for _ in range(batches + 1):  # the first says that none is done yet
            acknowledged = int(next(lines))
        time.sleep(seconds)
        process.kill()
        return max([acknowledged, *(int(line) for line in lines if line.endswith("\n"))])


@pytest.mark.slow
def test_after_kill_9_nothing_acknowledged_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counting, "seen", [])
    bench = Bench(tmp_path, 24)
    before: set[str] = set()
    for batches, seconds in ((1, 0.0), (3, 0.023)):
        made = kill_after(bench.store.folder, batches, seconds)
        known = set(bench.table.ids())
        assert before <= known
        assert made <= len(known) - len(before) <= made + 2  # two pictures a batch: one may be done and not yet said
        before = known
    left = 24 - len(before)
    assert 0 < left < 24
    assert bench.fill() == FillReport(left)
    assert sum(Counting.seen) == left
    some = bench.drawn[::5]
    found = bench.table.read([bench.id_of(path) for path in some])
    np.testing.assert_array_equal(found, np.stack([regions_in(path) for path in some]))


def main(folder: str) -> None:
    """Fills a store, two pictures a batch, and says how many are done."""
    tables.FIRST_BATCH = tables.MAX_BATCH = 2
    store = Store.open(Path(folder))
    files = {row.id: [file.path for file in row.files] for row in store.rows()}

    def progress(done: int, total: int) -> None:
        print(done, flush=True)
        time.sleep(0.01)

    fill_regions(RegionTable(store.folder, RAW), ColourEncoder(), files, workers=1, progress=progress)


if __name__ == "__main__":
    main(sys.argv[1])


def test_pictures_whose_regions_are_no_numbers_are_left_out_by_name(bench: Bench) -> None:
    files = bench.files()
    filled = fill_regions(bench.table, Spoilt(), files, workers=1)
    pictures = list(files)
    assert filled.made == 3
    assert {file.path: file.reason for file in filled.left_out} == {
        Path(files[pictures[at]][0]): f"no vector: colours gave one that cannot be used ({why})"
        for at, why in ((1, "a region's is not finite"), (2, "all regions' are zero"), (3, "a region's is not finite"))
    }
    assert bench.table.ids() == {pictures[at] for at in (0, 4, 5)}
    assert np.isfinite(bench.table.read(pictures)).all()
    assert bench.fill().made == 3  # with an encoder that was mended


def test_an_encoder_without_regions_is_named(bench: Bench) -> None:
    class Without(ColourEncoder):
        def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
            return super().pictures(batch)

    with pytest.raises(
        PartFailed,
        match=r"the encoder colours .*: regions of 6 pictures are needed, a matrix each, and it gave nothing",
    ):
        fill_regions(bench.table, Without(), bench.files(), workers=1)
