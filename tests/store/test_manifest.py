"""The manifest of a run of `add`: it says what slow and obvious code says, and its memory does not grow."""

from __future__ import annotations

import os
import sys
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.errors import DiskFull
from viewfinder.pictures import FoundFile, UnreadablePlace
from viewfinder.store.ingest import Ingest
from viewfinder.store.known_facts import stamp_settings
from viewfinder.store.manifest import Manifest, _to_signed
from viewfinder.store.rows import Failure, FileRecord, PictureRow, pictures_to_arrow
from viewfinder.store.store import Store
from viewfinder.testing import ColourEncoder

TOO_MANY = "too many pixels: 15000 x 12000 is over the limit of 150 megapixels"
"""A reason that is none any more: the limit is another by now."""


class Known(Store):
    """A store that knows these pictures, vectors and failures, and has no tables; without `stamps` an older one."""

    def __init__(
        self, rows: Sequence[PictureRow], vectors: Sequence[str], failures: Sequence[Failure], *, stamps: bool = True
    ) -> None:
        super().__init__(Path("nowhere"))
        self._known, self._stamps = (rows, vectors, failures), stamps

    def stream_files(self) -> Iterator[Any]:
        columns = ["id", "files", "pixels", "stamps"][: 4 if self._stamps else 2]
        yield from pictures_to_arrow(self._known[0]).select(columns).to_batches(max_chunksize=2)

    def stream_vector_ids(self, space: str) -> Iterator[Any]:
        yield pa.record_batch({"id": pa.array(self._known[1], pa.string())})

    def stream_failures(self) -> Iterator[Failure]:
        yield from self._known[2]


def row(picture: str, files: Sequence[FileRecord]) -> PictureRow:
    return PictureRow(picture, tuple(files), 4, 3, "JPEG", 100)


names = st.sampled_from(["/a", "/a b", "/a/b.jpg", "/é", "/\U0001f600", "/ｚ", '/"quoted"', "/'", "s3:/bucket/a.jpg"])
odd_names = st.one_of(names, st.sampled_from(["/\udcff", '"', "/\0"]))
numbers = st.integers(0, 2)
stamps = st.sampled_from([0, 1, (1 << 64) - 1])
known_stamps = st.sampled_from([None, 0, 1, -1])
files = st.builds(FileRecord, odd_names, numbers, numbers, known_stamps)
failures = st.builds(Failure, odd_names, numbers, numbers, st.sampled_from(["not a picture", TOO_MANY, "\udcff"]))
places = st.one_of(
    st.builds(FoundFile, names.map(Path), numbers, numbers, st.sampled_from([(), ("a.xmp", "\udcff.json")]), stamps),
    st.builds(UnreadablePlace, names.map(Path), st.just("permission denied")),
)


@settings(max_examples=100)
@given(
    st.lists(st.lists(files, max_size=3), max_size=5),
    st.sets(st.sampled_from("01234x")),
    st.lists(failures, max_size=4, unique_by=lambda failure: failure.path),
    st.lists(places, max_size=8),
    st.booleans(),
    st.sampled_from([0, 1]),
)
def test_what_is_matched_is_what_dictionaries_say(
    known: list[list[FileRecord]],
    vectors: set[str],
    failed: list[Failure],
    seen: list[FoundFile | UnreadablePlace],
    has_stamps: bool,
    settings_stamp: int,
) -> None:
    once = {file.path: (str(number), file) for number, some in enumerate(known) for file in some}
    rows = [
        row(str(number), [file for owner, file in once.values() if owner == str(number)])
        for number in range(len(known))
    ]
    found = {str(place.path): place for place in seen if isinstance(place, FoundFile)}
    unreadable = {str(place.path) for place in seen if isinstance(place, UnreadablePlace)}
    to_read, again, unchanged = [], [], 0
    for path, place in sorted(found.items()):
        picture, file = once.get(path, ("", None))
        failure = {it.path: it for it in failed}.get(path)
        stamp = place.stamp ^ settings_stamp
        stamp -= 1 << 64 if stamp >> 63 else 0
        is_same = file is not None and (file.size, file.mtime_ns) == (place.size, place.mtime_ns)
        if file is not None and picture in vectors and is_same and has_stamps and file.stamp == stamp:
            unchanged += 1
        elif picture in vectors and is_same:
            to_read.append(replace(place, stamp=stamp, facts_only=True))
        elif (
            failure is not None
            and (failure.size, failure.mtime_ns) == (place.size, place.mtime_ns)
            and failure.reason != TOO_MANY
        ):
            again.append(failure)
        else:
            to_read.append(replace(place, stamp=stamp))
    with Manifest.opened() as manifest:
        manifest.learn(Known(rows, sorted(vectors), failed, stamps=has_stamps), "space")
        manifest.find(seen, settings_stamp)
        matched = manifest.match(1)
        assert list(manifest.to_read()) == to_read
        assert (matched.unchanged, matched.still_failed, matched.to_read) == (unchanged, len(again), len(to_read))
        assert matched.to_reread == sum(file.facts_only for file in to_read)
        assert (matched.found, matched.unreadable) == (len(found) + len(unreadable), len(unreadable))
        assert matched.failures == again[:1]
        assert [it.path for some in manifest.unreadable() for it in some] == sorted(unreadable)
        mended = {it.path for it in failed if not it.size and not it.mtime_ns} - unreadable
        assert set(map(str, manifest.places_no_longer_found())) == mended
        assert {path: manifest.picture_at(path) for path in once} == {path: owner for path, (owner, _) in once.items()}
        assert all(manifest.has_vector(it.id) == (it.id in vectors) for it in rows)
        assert all(manifest.has_failed(it.path) for it in failed)
        assert manifest.has_vector("x") is None  # a vector whose picture was never acknowledged


def test_what_happens_meanwhile_is_known_and_does_not_change_what_is_to_be_read() -> None:
    seen = [FoundFile(Path(f"/{name}"), 1, 1) for name in "abc"]
    with Manifest.opened() as manifest:
        manifest.learn(Known([row("A", [FileRecord("/old", 1, 1)])], ["A"], []), "space")
        manifest.find(seen)
        manifest.match(1)
        drawn = []
        for file in manifest.to_read():
            drawn.append(file)
            manifest.put_file(str(file.path), "A")
            manifest.add_failures([Failure("/c", 1, 1, "not a picture")])
        assert drawn == seen
        manifest.remove_file("/old")
        manifest.add_vectors([("B", "0b1f/6")])
        assert [manifest.picture_at(path) for path in ("/a", "/old")] == ["A", None]
        assert [manifest.has_vector(picture) for picture in "AB"] == [True, True]
        assert manifest.pixel_hash_of("B") == "0b1f/6"
        assert [manifest.has_failed(path) for path in ("/a", "/c")] == [False, True]


def many(count: int) -> Iterator[FoundFile]:
    return (FoundFile(Path(f"/photographs/{number:09d}.jpg"), 1, 1) for number in range(count))


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_file_has_no_name_so_that_nothing_is_left_of_it() -> None:
    with Manifest.opened() as manifest:
        manifest._database.execute("PRAGMA cache_size = 10")
        manifest.find(many(2000))  # more than these pages hold
        opened = [place.readlink().name for place in Path("/proc/self/fd").iterdir() if place.is_symlink()]
    assert [name for name in opened if name.startswith("etilqs") and name.endswith("(deleted)")]


def test_too_little_space_for_temporary_files_is_said() -> None:
    with pytest.raises(DiskFull, match=r"no place among the temporary files \(database or disk is full\): free"):  # noqa: SIM117
        with Manifest.opened() as manifest:
            manifest._database.execute("PRAGMA max_page_count = 20")
            manifest.find(many(2000))


class KnownByHalf(Known):
    """A store that knows every second file of a folder, and one in ten as bad; made up while it is read."""

    def __init__(self, folder: Path, count: int) -> None:
        super().__init__([], [], [])
        self._paths = folder, count

    def stream_files(self) -> Iterator[Any]:
        folder, count = self._paths
        stamp = _to_signed(stamp_settings(()))
        for start in range(0, count, 1000):
            known = range(start, start + 1000, 2)
            files = [[{"path": f"{folder}/{it:06d}.jpg", "size": 0, "mtime_ns": 1}] for it in known]
            stamps = [[stamp] for _ in known]
            yield pa.record_batch({"id": [f"{it:036d}" for it in known], "files": files, "stamps": stamps})

    def stream_vector_ids(self, space: str) -> Iterator[Any]:
        return (batch.select(["id"]) for batch in self.stream_files())

    def stream_failures(self) -> Iterator[Failure]:
        folder, count = self._paths
        return (Failure(f"{folder}/{it:06d}.jpg", 0, 1, "not a picture") for it in range(1, count, 10))


def peak_bytes(folder: Path, count: int) -> int:
    """The most that Python holds while a folder of so many files is walked and matched."""
    folder.mkdir()
    for number in range(count):
        os.mknod(folder / f"{number:06d}.jpg")
        os.utime(folder / f"{number:06d}.jpg", ns=(1, 1))
    tracemalloc.start()
    report = Ingest(KnownByHalf(folder, count), ColourEncoder()).plan([folder])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (report.unchanged, report.quarantined, report.added) == (count // 2, count // 10, count * 4 // 10)
    return peak


@pytest.mark.long
def test_memory_does_not_grow_with_the_files_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "intern", str)  # pathlib does it; the interpreter's table of 2 MB is made anew at times
    peak_bytes(tmp_path / "first", 1000)  # what is imported meanwhile
    few, more = peak_bytes(tmp_path / "few", 2_000), peak_bytes(tmp_path / "more", 20_000)
    assert more - few < 200_000, f"{(more - few) / 18_000:.0f} bytes a file"
