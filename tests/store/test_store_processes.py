"""The store with several processes: readers beside a writer, and writers that are killed at random moments.

This file is also the program of those processes: `python test_store_processes.py write|read FOLDER ...`.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.store.snapshot_files import load_snapshot
from viewfinder.store.store import Store

BATCH = 4
ROUNDS = 3
"""How often a reader looks at least."""
SPACES = {"raw": 12, "joined": 6}


def batch_ids(number: int) -> list[str]:
    return [f"{number:05}-{part}" for part in range(BATCH)]


def vector_of(picture_id: str, space: str) -> np.ndarray:
    """The one right vector of a picture: whatever is read can be checked against it."""
    seed = zlib.crc32(f"{space}:{picture_id}".encode())
    return np.random.default_rng(seed).standard_normal(SPACES[space]).astype(np.float16)


def picture(picture_id: str, caption: str = "") -> PictureRow:
    files = (FileRecord(f"/photos/{picture_id}.jpg", 1, 2),)
    return PictureRow(picture_id, files, 4, 3, "JPEG", 1, captions=(caption,) if caption else ())


def add_batch(store: Store, number: int) -> None:
    ids = batch_ids(number)
    vectors = {space: np.stack([vector_of(name, space) for name in ids]) for space in SPACES}
    store.add([picture(name) for name in ids], vectors)


def check_vectors(ids: Sequence[str], matrix_nd: np.ndarray, space: str) -> None:
    for name, vector_d in zip(ids, matrix_nd, strict=True):
        np.testing.assert_array_equal(vector_d, vector_of(name, space).astype(matrix_nd.dtype))


def write(folder: Path, start: int) -> None:
    """Adds batch after batch until killed, says which are acknowledged; captions and compacts in between."""
    store = Store.create(folder)
    store.ids()
    print("ready", flush=True)
    for number in range(start, start + 10_000):
        add_batch(store, number)
        print(f"added {number}", flush=True)
        if number % 3 == 2:
            store.replace([picture(name, "seen") for name in batch_ids(number)])
            print(f"captioned {number}", flush=True)
        if number % 5 == 4:
            store.compact()


def read(folder: Path) -> None:
    """Reads again and again, once more when the file `stop` is there; it sees complete, right pictures, never less."""
    store, rounds, before, last = Store.open(folder), 0, 0, False
    print("ready", flush=True)
    while not last:
        last = (folder / "stop").exists()
        known = store.ids()
        ids, matrix_nd = store.read_vectors("raw")
        assert set(known) <= set(ids), "a picture without its vector"
        assert len(known) >= before, "a picture that was there is gone"
        check_vectors(ids[-2 * BATCH :], matrix_nd[-2 * BATCH :], "raw")
        snapshot = load_snapshot(folder, "joined")
        assert len(snapshot) >= len(known), "a snapshot of an older state than was asked for"
        check_vectors(snapshot.ids[-2 * BATCH :], snapshot.matrix_nd[-2 * BATCH :], "joined")
        rounds, before = rounds + 1, len(known)
        if rounds == ROUNDS:
            print("enough", flush=True)
    print(f"pictures {before}", flush=True)


def start(*arguments: object) -> subprocess.Popen[str]:
    """Another process running this file, once it says that it is ready."""
    command = [sys.executable, __file__, *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        raise AssertionError(process.communicate()[1])
    return process


@pytest.mark.slow
@pytest.mark.long
def test_two_readers_beside_a_writer_see_complete_pictures_only(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    add_batch(store, 0)
    with ThreadPoolExecutor(2) as pool:
        readers = list(pool.map(lambda _: start("read", tmp_path), range(2)))
    for number in range(1, 20):
        add_batch(store, number)
        if number % 7 == 0:
            store.compact()
    read = [reader.stdout.readline() for reader in readers if reader.stdout]
    (tmp_path / "stop").touch()
    for reader in readers:
        said, complaints = reader.communicate(timeout=60)
        assert reader.returncode == 0, complaints
        assert said == f"pictures {20 * BATCH}\n"
    assert read == ["enough\n"] * 2


def kill_soon(folder: Path, first: int, moment: float) -> dict[str, int]:
    """Runs a writer, kills it `moment` seconds after it began, and returns the last acknowledgements."""
    writer = start("write", folder, first)
    assert writer.stdout is not None
    timer = threading.Timer(moment, writer.kill)
    timer.start()
    acknowledged = {"added": first - 1, "captioned": -1}
    for line in writer.stdout:
        if line.endswith("\n"):
            verb, number = line.split()
            acknowledged[verb] = int(number)
    assert writer.wait() == -9, writer.communicate()[1]
    writer.communicate()
    timer.cancel()
    return acknowledged


def check_everything_acknowledged(folder: Path, acknowledged: dict[str, int]) -> None:
    store = Store.open(folder)
    rows = {row.id: row for row in store.rows()}
    expected = {name for number in range(acknowledged["added"] + 1) for name in batch_ids(number)}
    assert expected <= rows.keys()
    assert all(rows[name].captions == ("seen",) for name in batch_ids(acknowledged["captioned"]) if name in rows)
    assert len(rows) % BATCH == 0, "a batch that is there in part"
    for space in SPACES if rows else ():  # a first batch that was never acknowledged may have made no space
        ids, matrix_nd = store.read_vectors(space)
        assert ids == sorted(rows)
        check_vectors(ids, matrix_nd, space)


def kill_again_and_again(folder: Path, times: int, seed: int) -> int:
    """Kills `times` writers on one library, each going on where the last was; number of batches."""
    chance, first, longest = random.Random(seed), 0, 0.4
    for _ in range(times):
        acknowledged = kill_soon(folder, first, chance.uniform(0.0, longest))
        check_everything_acknowledged(folder, acknowledged)
        if acknowledged["added"] < first:
            longest *= 1.5  # a busy machine writes nothing in that time, and what is not begun cannot be lost
        first = acknowledged["added"] + 1
    return first


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "kills"), [((1,), 3), pytest.param((1, 2), 11, marks=pytest.mark.long)])
def test_nothing_acknowledged_is_lost_in_kills_at_random_moments(
    tmp_path: Path, seeds: tuple[int, ...], kills: int
) -> None:
    with ThreadPoolExecutor(2) as pool:
        batches = list(pool.map(lambda seed: kill_again_and_again(tmp_path / str(seed), kills, seed), seeds))
    for seed, added in zip(seeds, batches, strict=True):
        assert added >= kills // 2, "hardly anything was written between the kills"
        store = Store.open(tmp_path / str(seed))
        add_batch(store, added)  # which the last killed writer may have begun
        store.compact()
        assert store.ids() == sorted(set(store.ids()))
        check_everything_acknowledged(store.folder, {"added": added, "captioned": -1})


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        read(Path(sys.argv[2]))
