"""Adding pictures: what is new is read once, what moved keeps everything, what is bad is set aside."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image

from viewfinder.cluster import embedding
from viewfinder.cluster.embedding import EmbeddingActor
from viewfinder.encoders.base import Encoded, Pixels, unit_rows
from viewfinder.errors import BadInput, PartFailed
from viewfinder.pictures import BadFile, Decoders, FoundFile, IdentifiedFile
from viewfinder.pictures.formats import READER_EXTRAS
from viewfinder.store import ingest, tables
from viewfinder.store.descriptions import record_entries
from viewfinder.store.ingest import EmbeddedFile, Ingest
from viewfinder.store.reports import AddReport
from viewfinder.store.rows import Failure, PictureRow
from viewfinder.store.store import Store
from viewfinder.testing import COLOURS, ColourEncoder, draw_halves, tiny_pictures

ENCODER = ColourEncoder()
Rows = dict[str, PictureRow]
Spoil = Callable[[np.ndarray], np.ndarray]


class Bench:
    """A store and a folder of pictures."""

    def __init__(self, folder: Path) -> None:
        self.store = Store.create(folder / "library")
        self.folder = folder / "pictures"

    def add(self, *roots: Path) -> AddReport:
        return Ingest(self.store, ENCODER, workers=1).run(roots or (self.folder,))

    def rows(self) -> Rows:
        """Pictures by id."""
        return {row.id: row for row in self.store.rows()}

    def of(self, path: Path) -> PictureRow:
        """The picture at this path."""
        [row] = [row for row in self.store.rows() if str(path) in [file.path for file in row.files]]
        return row

    def vector(self, picture: str, space: str = ENCODER.version) -> np.ndarray:
        return np.asarray(self.store.read_vectors_of(space, [picture])[0])


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def counts(report: AddReport) -> Mapping[str, int]:
    """What is not zero in a report."""
    names = ("found", "added", "changed", "moved", "unchanged", "duplicates", "quarantined")
    return {name: getattr(report, name) for name in names if getattr(report, name)}


def said(row: PictureRow) -> tuple[object, ...]:
    return row.captions, row.attributes


def rewrite(path: Path, data: bytes) -> None:
    """New content with another time of change, as an editor would leave it."""
    path.write_bytes(data)
    os.utime(path, ns=(1_000_000_000, path.stat().st_mtime_ns + 1_000_000_000))


def test_pictures_are_stored_with_facts_and_vectors_of_both_spaces(bench: Bench) -> None:
    drawn = tiny_pictures(bench.folder, 3)
    assert counts(bench.add()) == {"found": 3, "added": 3}
    row = bench.of(drawn[1].path)
    assert (row.width, row.height, row.format, row.bytes) == (24, 16, "PNG", drawn[1].path.stat().st_size)
    raw_d = ENCODER.pictures([np.asarray(Image.open(drawn[1].path).resize((12, 12), Image.Resampling.BOX))]).global_bd[
        0
    ]
    np.testing.assert_allclose(bench.vector(row.id, ENCODER.raw_version), raw_d, atol=0.05)
    assert float(bench.vector(row.id) @ ENCODER.words([drawn[1].caption])[0]) > 0.95


def test_adding_again_reads_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_pictures(bench.folder, 3)
    bench.add()
    before = bench.store.rows()
    monkeypatch.setattr(ColourEncoder, "pictures", lambda *_: pytest.fail("a picture was read"))
    assert counts(bench.add()) == {"found": 3, "unchanged": 3}
    assert bench.store.rows() == before


def test_a_touched_file_is_read_and_found_unchanged(bench: Bench) -> None:
    [drawn] = tiny_pictures(bench.folder, 1)
    bench.add()
    os.utime(drawn.path, ns=(1, 1))
    assert counts(bench.add()) == {"found": 1, "unchanged": 1}
    assert bench.of(drawn.path).files[0].mtime_ns == 1
    assert counts(bench.add()) == {"found": 1, "unchanged": 1}


def test_a_moved_and_a_renamed_picture_keep_everything(bench: Bench) -> None:
    first, second = tiny_pictures(bench.folder, 2)
    bench.add()
    record_entries(
        bench.store, {first.path: [(["a caption"], {}), ([], {"colour": "red"})], second.path: [(["another"], {})]}
    )
    before, vectors = bench.rows(), {picture: bench.vector(picture) for picture in bench.rows()}
    (bench.folder / "deep").mkdir()
    moved = first.path.rename(bench.folder / "deep" / first.path.name)
    renamed = second.path.rename(bench.folder / "another name.png")
    assert counts(bench.add()) == {"found": 2, "moved": 2}
    after = bench.rows()
    assert {picture: said(row) for picture, row in after.items()} == {p: said(row) for p, row in before.items()}
    assert {file.path for row in after.values() for file in row.files} == {str(moved), str(renamed)}
    assert all(np.array_equal(bench.vector(picture), vectors[picture]) for picture in after)


def test_two_files_that_change_places_keep_their_captions(bench: Bench) -> None:
    first, second = tiny_pictures(bench.folder, 2)
    bench.add()
    record_entries(bench.store, {first.path: [(["one"], {})], second.path: [(["two"], {})]})
    scratch = first.path.rename(bench.folder / "scratch")
    second.path.rename(first.path)
    scratch.rename(second.path)
    os.utime(first.path, ns=(5, 5))
    os.utime(second.path, ns=(6, 6))
    bench.add()
    assert bench.of(first.path).captions == ("two",)
    assert bench.of(second.path).captions == ("one",)


def test_a_picture_whose_place_is_taken_by_another_has_moved(bench: Bench) -> None:
    [drawn] = tiny_pictures(bench.folder, 1)
    bench.add()
    old = bench.of(drawn.path).id
    drawn.path.rename(bench.folder / "z.png")
    Image.fromarray(draw_halves("white", "black")).save(drawn.path)
    assert counts(bench.add()) == {"found": 2, "changed": 1, "moved": 1}
    assert bench.of(bench.folder / "z.png").id == old


def test_a_changed_file_becomes_another_picture_and_the_old_one_has_no_file(bench: Bench) -> None:
    first, second = tiny_pictures(bench.folder, 2)
    bench.add()
    old = bench.of(first.path).id
    Image.fromarray(draw_halves("purple", "white")).save(bench.folder / "new.png")
    rewrite(first.path, (bench.folder / "new.png").read_bytes())
    (bench.folder / "new.png").unlink()
    assert counts(bench.add()) == {"found": 2, "changed": 1, "unchanged": 1}
    assert bench.rows()[old].files == ()
    assert float(bench.vector(bench.of(first.path).id) @ ENCODER.words(["purple over white"])[0]) > 0.95
    assert bench.of(second.path).id in bench.rows()


def test_equal_files_are_one_picture_with_several_paths(bench: Bench) -> None:
    [drawn] = tiny_pictures(bench.folder, 1)
    copies = [shutil.copy(drawn.path, bench.folder / name) for name in ("a copy.png", "b copy.png")]
    assert counts(bench.add()) == {"found": 3, "added": 1, "duplicates": 2}
    [row] = bench.store.rows()
    assert {file.path for file in row.files} == {str(drawn.path), *map(str, copies)}
    shutil.copy(drawn.path, bench.folder / "c copy.png")
    assert counts(bench.add()) == {"found": 4, "duplicates": 1, "unchanged": 3}


def test_adding_a_folder_removes_nothing_outside_it(bench: Bench) -> None:
    inside = tiny_pictures(bench.folder / "a", 2)
    outside = tiny_pictures(bench.folder / "b", 4)
    bench.add()
    outside[3].path.unlink()
    inside[1].path.unlink()
    assert counts(bench.add(bench.folder / "a")) == {"found": 1, "unchanged": 1}
    known = {file.path for row in bench.store.rows() for file in row.files}
    assert str(outside[3].path) in known
    assert str(inside[1].path) in known  # forgetting is the work of `prune`


def test_a_bad_file_is_set_aside_and_the_others_are_taken(bench: Bench) -> None:
    tiny_pictures(bench.folder, 2)
    bad = bench.folder / "bad.png"
    bad.write_bytes(b"not a picture at all")
    (bench.folder / "empty.jpg").touch()
    report = bench.add()
    assert counts(report) == {"found": 4, "added": 2, "quarantined": 2}
    assert [Path(failure.path).name for failure in report.failures] == ["bad.png", "empty.jpg"]
    assert bench.store.failures() == report.failures


def test_a_known_bad_file_is_counted_but_not_read_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.folder.mkdir()
    (bench.folder / "bad.png").write_bytes(b"not a picture at all")
    first = bench.add()
    monkeypatch.setattr(ingest.Ingest, "_take_batch", lambda *_: pytest.fail("a file was read"))
    second = bench.add()
    assert counts(second) == counts(first) == {"found": 1, "quarantined": 1}
    assert second.failures == first.failures


def test_a_report_counts_all_failures_and_lists_the_first(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "MAX_LISTED_FAILURES", 2)
    bench.folder.mkdir()
    for name in ("a", "b", "c"):
        (bench.folder / f"{name}.png").write_bytes(b"not a picture at all")
    (bench.folder / "link.png").symlink_to(bench.folder / "gone.png")
    for _ in range(2):
        report = bench.add()
        assert counts(report) == {"found": 4, "quarantined": 4}
        assert [Path(failure.path).name for failure in report.failures] == ["link.png", "a.png"]


def test_a_file_that_is_mended_leaves_quarantine(bench: Bench) -> None:
    [drawn] = tiny_pictures(bench.folder, 1)
    whole = drawn.path.read_bytes()
    drawn.path.write_bytes(whole[:60])
    assert counts(bench.add()) == {"found": 1, "quarantined": 1}
    rewrite(drawn.path, whole)
    assert counts(bench.add()) == {"found": 1, "added": 1}
    assert bench.store.failures() == []


def test_a_link_that_leads_somewhere_again_leaves_quarantine(bench: Bench) -> None:
    [drawn] = tiny_pictures(bench.folder, 1)
    (bench.folder / "link.png").symlink_to(bench.folder / "gone.png")
    assert counts(bench.add()) == {"found": 2, "added": 1, "quarantined": 1}
    shutil.copy(drawn.path, bench.folder / "gone.png")
    assert counts(bench.add()) == {"found": 3, "unchanged": 1, "duplicates": 2}
    assert bench.store.failures() == []


def test_what_is_set_aside_elsewhere_stays_there(bench: Bench) -> None:
    tiny_pictures(bench.folder / "a", 1)
    (bench.folder / "b").mkdir()
    (bench.folder / "b" / "link.png").symlink_to(bench.folder / "gone.png")
    bench.add()
    bench.add(bench.folder / "a")
    assert [Path(failure.path).name for failure in bench.store.failures()] == ["link.png"]


def test_a_plan_says_what_would_be_read_and_writes_nothing(bench: Bench) -> None:
    tiny_pictures(bench.folder, 2)
    bench.add()
    (bench.folder / "bad.png").write_bytes(b"bad")
    bench.add()
    tiny_pictures(bench.folder / "more", 5)
    before = bench.store.rows()
    plan = Ingest(bench.store, ENCODER).plan([bench.folder])
    assert counts(plan) == {"found": 8, "added": 5, "unchanged": 2, "quarantined": 1}
    assert bench.store.rows() == before


def test_an_interrupted_run_keeps_its_batches_and_the_next_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_pictures(bench.folder, 10)
    for name, value in (("FIRST_BATCH", 4), ("MAX_BATCH", 4), ("COMMIT_EVERY_S", 1e6)):
        monkeypatch.setattr(tables, name, value)
    seen: list[tuple[int, int]] = []
    run = Ingest(bench.store, ENCODER, workers=1)
    report = run.run([bench.folder], progress=lambda *at: seen.append(at), should_stop=lambda: len(seen) == 2)
    assert report.stopped
    assert seen == [(4, 10), (8, 10)]
    assert len(bench.rows()) == report.added == 8
    assert counts(bench.add()) == {"found": 10, "added": 2, "unchanged": 8}


def test_a_crash_between_batches_loses_nothing_acknowledged(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_pictures(bench.folder, 10)
    monkeypatch.setattr(tables, "FIRST_BATCH", 4)

    def crash(done: int, total: int) -> None:
        raise RuntimeError("the power is gone")

    with pytest.raises(RuntimeError, match="the power is gone"):
        Ingest(bench.store, ENCODER, workers=1).run([bench.folder], progress=crash)
    assert len(bench.rows()) == 4
    assert len(bench.store.read_vectors(ENCODER.version)[0]) == 4
    assert counts(bench.add()) == {"found": 10, "added": 6, "unchanged": 4}


class Counting(ColourEncoder):
    """Knows how many pictures it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0
        self.more = threading.Condition()

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        with self.more:
            self.seen += len(batch)
            self.more.notify_all()
        return super().pictures(batch, regions=regions)


def test_after_the_first_one_a_batch_is_stored_while_the_next_is_encoded(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_pictures(bench.folder, 12)
    monkeypatch.setattr(tables, "FIRST_BATCH", 4)
    monkeypatch.setattr(tables, "MAX_BATCH", 4)
    monkeypatch.setattr(ingest, "COMMIT_EVERY_S", 1e6)  # no reading is slow, whatever else the machine does
    encoder, stored, batches = Counting(), bench.store.add, list[int]()

    def store_when_the_next_is_encoded(*given: Any) -> None:
        batches.append(encoder.seen)
        with encoder.more:
            assert len(batches) != 2 or encoder.more.wait_for(lambda: encoder.seen == 12, timeout=60)
        stored(*given)

    monkeypatch.setattr(bench.store, "add", store_when_the_next_is_encoded)
    report = Ingest(bench.store, encoder, workers=1).run([bench.folder])
    assert counts(report) == {"found": 12, "added": 12}
    assert batches in ([4, 8, 12], [4, 12, 12]), "somebody may be waiting for the first ones"


def test_a_batch_whose_files_come_slowly_is_stored_before_the_next_is_read(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_pictures(bench.folder, 12)
    monkeypatch.setattr(tables, "FIRST_BATCH", 4)
    monkeypatch.setattr(tables, "MAX_BATCH", 4)
    monkeypatch.setattr(ingest, "COMMIT_EVERY_S", 0.0)  # any reading is slow
    monkeypatch.setattr(tables, "COMMIT_EVERY_S", 1e6)  # and no batch is made smaller for it
    encoder, seen = Counting(), list[int]()
    Ingest(bench.store, encoder, workers=1).run([bench.folder], progress=lambda *at: seen.append(encoder.seen))
    assert seen == [4, 8, 12]


def test_equal_pictures_of_neighbouring_batches_are_encoded_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *_ = tiny_pictures(bench.folder, 4)
    shutil.copy(first.path, bench.folder / "zz-copy.png")
    monkeypatch.setattr(tables, "FIRST_BATCH", 4)
    encoder = Counting()
    report = Ingest(bench.store, encoder, workers=1).run([bench.folder])
    assert counts(report) == {"found": 5, "added": 4, "duplicates": 1}
    assert encoder.seen == 4


def test_stopping_after_the_last_batch_is_no_interruption(bench: Bench) -> None:
    tiny_pictures(bench.folder, 2)
    report = Ingest(bench.store, ENCODER, workers=1).run([bench.folder], should_stop=lambda: True)
    assert not report.stopped


def test_a_folder_without_pictures_is_said(bench: Bench) -> None:
    bench.folder.mkdir()
    with pytest.raises(BadInput, match=r"no pictures in .*pictures: looked for JPEG, PNG"):
        bench.add()


def test_captions_gather_without_repeats_and_catalogue_values_are_replaced(bench: Bench) -> None:
    [drawn] = tiny_pictures(bench.folder, 1)
    bench.add()
    both = [(["one", "two"], {"a": "x"}), ([], {"a": "y", "b": "z"})]
    assert record_entries(bench.store, {drawn.path: both}) == 1
    assert record_entries(bench.store, {drawn.path: [(["two", "three"], {"a": "w"})]}) == 1
    row = bench.of(drawn.path)
    assert row.captions == ("one", "two", "three")
    assert row.attributes == {"a": ("w",), "b": ("z",)}
    assert record_entries(bench.store, {drawn.path: [(["one"], {"a": "w"})]}) == 0


def test_all_paths_of_a_picture_are_described_as_one(bench: Bench) -> None:
    [drawn] = tiny_pictures(bench.folder, 1)
    copy = Path(shutil.copy(drawn.path, bench.folder / "copy.png"))
    bench.add()
    record_entries(
        bench.store,
        {drawn.path: [([], {"season": "Summer"})], copy: [([], {"season": "Winter"}), ([], {"season": "Summer"})]},
    )
    assert set(bench.of(copy).attributes["season"]) == {"Summer", "Winter"}


def test_a_file_that_is_damaged_later_no_longer_counts_as_a_place_of_its_picture(bench: Bench) -> None:
    drawn = tiny_pictures(bench.folder, 3)
    bench.add()
    rewrite(drawn[0].path, b"no picture any more")
    assert counts(bench.add()) == {"found": 3, "unchanged": 2, "quarantined": 1}
    places = {file.path for row in bench.store.rows() for file in row.files}
    assert places == {str(picture.path) for picture in drawn[1:]}


def test_what_was_quarantined_for_want_of_a_package_is_read_again_when_it_is_there(bench: Bench) -> None:
    [picture] = tiny_pictures(bench.folder, 1)
    status = picture.path.stat()
    for reason, read in (
        (READER_EXTRAS["pillow_heif"], 1),  # installed here
        (READER_EXTRAS["pillow_jxl"], 1),
        ("HEIC pictures need an extra: pip install 'viewfinder[heic]'", 1),  # as earlier versions said it
        ("HEIC pictures need something else", 0),
        ("too many pixels: 15000 x 12000 is over the limit of 150 megapixels", 1),
        ("too many pixels: 90000 x 12000 is over the limit of 250 megapixels (VIEWFINDER_PICTURE_PIXELS)", 0),
    ):
        bench.store.delete(bench.store.ids())
        bench.store.quarantine([Failure(str(picture.path), status.st_size, status.st_mtime_ns, reason)])
        assert counts(bench.add()) == {"found": 1, **({"added": 1} if read else {"quarantined": 1})}, reason
        assert len(bench.store.failures()) == 1 - read


def test_what_is_met_besides_pictures_is_in_the_report_of_a_run_and_of_a_plan(bench: Bench) -> None:
    [picture] = tiny_pictures(bench.folder, 1)
    for name in (f"{picture.path.name}.xmp", "film.mp4", "notes.txt", ".hidden.jpg", "#recycle/old.jpg"):
        (bench.folder / name).parent.mkdir(exist_ok=True)
        (bench.folder / name).write_bytes(b"x")
    for report in (Ingest(bench.store, ENCODER).plan([bench.folder]), bench.add(), bench.add()):
        assert report.passed_over == {"videos": 1, ".txt": 1}
        assert report.sidecars == {"XMP": 1}
        assert {reason: (it.folders, it.files) for reason, it in report.left_out.items()} == {
            "hidden": (0, 1),
            "trash": (1, 0),
        }


def test_a_folder_without_pictures_is_told_by_what_is_in_it(bench: Bench) -> None:
    (bench.folder / "#recycle").mkdir(parents=True)
    for name in ("a.mp4", "b.mov", "c.txt"):
        (bench.folder / name).write_bytes(b"x")
    with pytest.raises(BadInput) as caught:
        bench.add()
    assert str(caught.value).startswith(
        f"no pictures in {bench.folder}: 2 videos, 1 .txt; left out 1 folder of the trash: --include GLOB takes them; "
        "looked for JPEG"
    )


def test_patterns_take_what_is_left_out_and_one_that_takes_nothing_is_noted(bench: Bench) -> None:
    tiny_pictures(bench.folder, 1)
    tiny_pictures(bench.folder / "#recycle", 2)
    report = Ingest(bench.store, ENCODER, workers=1, include=["#recycle/"]).run([bench.folder])
    assert (report.added + report.duplicates, report.included, report.notes) == (3, 2, [])
    report = Ingest(bench.store, ENCODER, workers=1, include=["#recicle/"]).run([bench.folder])
    assert report.notes == ["include '#recicle/': nothing that is otherwise left out matches"]


# -- vectors that are none


class SpoiltEncoder(ColourEncoder):
    """Gives of pictures of some colours, by the first pixel, what no vector may hold."""

    spoilt: ClassVar[dict[str, Spoil]] = {}
    in_space = False
    """Spoils the vectors that `project` gives rather than the raw ones."""

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        made = super().pictures(batch, regions=regions)
        if self.in_space or not batch:
            return made
        return Encoded(self.spoil(made.global_bd), made.regions_brd)

    def project(self, raw_nd: np.ndarray) -> np.ndarray:
        made_nd = super().project(raw_nd)
        return self.spoil(made_nd) if self.in_space else made_nd

    def spoil(self, rows_nd: np.ndarray) -> np.ndarray:
        spoilt_nd, tops_n3 = rows_nd.copy(), unit_rows(rows_nd[:, :3])
        for colour, spoil in self.spoilt.items():
            meant_n = tops_n3 @ unit_rows(np.array(COLOURS[colour]) / 255 - 0.5) > 0.99
            spoilt_nd[meant_n] = spoil(spoilt_nd[meant_n])
        return spoilt_nd


def set_one(value: float) -> Spoil:
    def spoil(rows_nd: np.ndarray) -> np.ndarray:
        rows_nd[:, 1] = value
        return rows_nd

    return spoil


SPOILS: dict[str, tuple[Spoil, str]] = {
    "not a number": (set_one(float("nan")), "it holds what is not a number"),
    "infinite": (set_one(float("-inf")), "it holds an infinite number"),
    "too large for half precision": (set_one(1e5), "it holds 1e+05, more than half precision has"),
    "zero": (lambda rows_nd: rows_nd * 0, "all its numbers are zero there"),
    "too small for half precision": (lambda rows_nd: rows_nd * 1e-9, "all its numbers are zero there"),
}


@pytest.mark.parametrize("in_space", [False, True])
def test_pictures_without_a_usable_vector_are_set_aside_by_name(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, in_space: bool
) -> None:
    drawn = tiny_pictures(bench.folder, 64)
    colours = sorted({picture.top for picture in drawn})[: len(SPOILS)]
    kinds = dict(zip(colours, SPOILS, strict=True))
    monkeypatch.setattr(SpoiltEncoder, "spoilt", {colour: SPOILS[kind][0] for colour, kind in kinds.items()})
    monkeypatch.setattr(SpoiltEncoder, "in_space", in_space)
    expected = {str(one.path): SPOILS[kinds[one.top]][1] for one in drawn if one.top in kinds}
    copied = next(one for one in drawn if one.top in kinds)
    shutil.copy(copied.path, bench.folder / "copy.png")
    expected[str(bench.folder / "copy.png")] = expected[str(copied.path)]
    report = Ingest(bench.store, SpoiltEncoder(), workers=1).run((bench.folder,))
    assert counts(report) == {"found": 65, "added": 65 - len(expected), "quarantined": len(expected)}
    assert {failure.path: failure.reason for failure in bench.store.failures()} == {
        path: f"no vector: colours gave one that cannot be used ({why})" for path, why in expected.items()
    }
    for space in (ENCODER.raw_version, ENCODER.version):
        ids, matrix_nd = bench.store.read_vectors(space)
        assert set(ids) == set(bench.rows())
        assert np.isfinite(matrix_nd).all()
        assert matrix_nd.any(axis=1).all()


def test_what_an_actor_embedded_is_set_aside_by_the_process_that_writes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    class InThisProcess:
        """An embedder that is one actor, without Ray."""

        def embed(self, files: Iterable[FoundFile]) -> Iterator[EmbeddedFile | IdentifiedFile | BadFile]:
            actor = EmbeddingActor("colours")
            yield from actor.embed(list(files))
            actor.close()

    drawn = tiny_pictures(bench.folder, 16)
    bad = {str(one.path) for one in drawn if one.top == drawn[0].top}
    monkeypatch.setattr(embedding, "load_encoder", lambda name: SpoiltEncoder())
    monkeypatch.setattr(SpoiltEncoder, "spoilt", {drawn[0].top: SPOILS["infinite"][0]})
    report = Ingest(bench.store, ENCODER, embedder=InThisProcess()).run((bench.folder,))
    assert counts(report) == {"found": 16, "added": 16 - len(bad), "quarantined": len(bad)}
    assert {failure.path for failure in bench.store.failures()} == bad


def test_an_encoder_that_was_mended_takes_what_was_set_aside(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = tiny_pictures(bench.folder, 12)
    monkeypatch.setattr(SpoiltEncoder, "spoilt", {drawn[0].top: SPOILS["not a number"][0]})
    first = Ingest(bench.store, SpoiltEncoder(), workers=1).run((bench.folder,))
    bad = sum(one.top == drawn[0].top for one in drawn)
    assert first.quarantined == bad
    assert counts(bench.add()) == {"found": 12, "added": bad, "unchanged": 12 - bad}
    assert bench.store.failures() == []


def test_copies_in_the_next_batch_are_set_aside_too(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    [drawn] = tiny_pictures(bench.folder, 1)
    for number in range(5):
        shutil.copy(drawn.path, bench.folder / f"copy {number}.png")
    monkeypatch.setattr(tables, "FIRST_BATCH", 1)
    monkeypatch.setattr(tables, "MAX_BATCH", 1)
    monkeypatch.setattr(SpoiltEncoder, "spoilt", {drawn.top: SPOILS["zero"][0]})
    report = Ingest(bench.store, SpoiltEncoder(), workers=1).run((bench.folder,))
    assert counts(report) == {"found": 6, "quarantined": 6}
    assert bench.store.rows() == []


def test_what_is_not_one_vector_a_picture_is_the_encoders_fault_not_the_librarys(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_pictures(bench.folder, 2)
    monkeypatch.setattr(ColourEncoder, "project", lambda self, raw_nd: np.ones((1, 48), np.float32))
    with pytest.raises(
        PartFailed, match=r"the encoder colours: one vector a picture is needed, 2 in all, and it gave .*\(1, 48\)"
    ):
        bench.add()
    monkeypatch.undo()
    assert counts(bench.add()) == {"found": 2, "added": 2}


def test_as_many_decoders_are_started_as_processors_may_be_used(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    class CountedDecoders(Decoders):
        def __init__(self, workers: int, **settings: Any) -> None:
            started.append(workers)
            super().__init__(1, **settings)

    monkeypatch.setattr(ingest, "count_processors", lambda: 3)
    monkeypatch.setattr(ingest, "Decoders", CountedDecoders)
    tiny_pictures(bench.folder, 2)
    Ingest(bench.store, ENCODER).run([bench.folder])
    assert started == [3]
