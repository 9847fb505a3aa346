"""What files say is kept with their pictures, and an edited file is still its picture."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from PIL.ExifTags import IFD, Base
from PIL.PngImagePlugin import PngInfo

from viewfinder.cluster import embedding
from viewfinder.cluster.embedding import EmbeddingActor
from viewfinder.errors import BadInput
from viewfinder.library import Library
from viewfinder.pictures import BadFile, FoundFile, IdentifiedFile, Stretch, decode_one, formats
from viewfinder.pictures.facts.model import NAMES, Fact
from viewfinder.store import ingest, known_facts
from viewfinder.store.descriptions import record_entries
from viewfinder.store.ingest import EmbeddedFile, Ingest
from viewfinder.store.kept_encoders import SAME_VECTOR
from viewfinder.store.known_facts import complete_facts, parse_leave_out, stamp_settings
from viewfinder.store.removal import Selection, remove_pictures
from viewfinder.store.reports import AddReport
from viewfinder.store.rows import FileRecord, PictureRow, build_columns, pictures_from_arrow, pictures_to_arrow
from viewfinder.store.settings import SETTINGS, read_settings, write_settings
from viewfinder.store.snapshot_files import load_snapshot
from viewfinder.store.store import Store
from viewfinder.store.tables import Tables
from viewfinder.testing import COLOURS, FINE, ColourEncoder, draw_halves

ENCODER = ColourEncoder()
PAIRS = [(top, bottom) for top in COLOURS for bottom in COLOURS if top != bottom]
clock = iter(range(1_000_000_000, 2_000_000_000))


def say_keywords(words: Sequence[str], rating: str = "") -> str:
    """An XMP packet with keywords and a rating."""
    items = "".join(f"<rdf:li>{word}</rdf:li>" for word in words)
    stars = f"<xmp:Rating>{rating}</xmp:Rating>" if rating else ""
    return (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/">'
        f"<dc:subject><rdf:Bag>{items}</rdf:Bag></dc:subject>{stars}</rdf:Description></rdf:RDF></x:xmpmeta>"
    )


def write_picture(path: Path, number: int, words: Sequence[str] = (), rating: str = "", turn: int = 1) -> Path:
    """A PNG file of one of `PAIRS` that says these keywords: the same pixels each time, and another time of change."""
    path.parent.mkdir(parents=True, exist_ok=True)
    said, notes = PngInfo(), Image.Exif()
    if words or rating:
        said.add_itxt("XML:com.adobe.xmp", say_keywords(words, rating))
    if turn != 1:
        notes[0x0112] = turn
    image = Image.fromarray(draw_halves(*PAIRS[number % len(PAIRS)]))
    image.save(path, pnginfo=said, exif=notes if turn != 1 else None)
    set_time(path)
    return path


def set_time(path: Path) -> None:
    """Another time of change, as a later edit leaves it."""
    os.utime(path, ns=(1, next(clock)))


class Bench:
    """A store and a folder of pictures."""

    def __init__(self, folder: Path) -> None:
        self.store = Store.create(folder / "library")
        self.folder = folder / "pictures"
        self.folder.mkdir()

    def add(self, leave_out: Sequence[str] = ()) -> AddReport:
        return Ingest(self.store, ENCODER, workers=1, leave_out=leave_out).run([self.folder])

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
    names = ("found", "added", "changed", "moved", "unchanged", "reread", "duplicates", "quarantined")
    return {name: getattr(report, name) for name in names if getattr(report, name)}


def words_of(row: PictureRow, name: str = "keywords") -> list[str]:
    return [value for fact in row.known if fact.name == name for value in fact.values]


def test_what_a_file_says_is_kept_with_its_source(bench: Bench) -> None:
    path = write_picture(bench.folder / "a.png", 0, ["beach", "summer"], "4")
    bench.add()
    row = bench.of(path)
    assert words_of(row) == ["beach", "summer"]
    assert words_of(row, "rating") == ["4"]
    assert all("XMP" in fact.source for fact in row.known)
    assert row.pixels is not None
    assert row.pixels.endswith("/1")
    assert row.files[0].stamp is not None


def test_new_keywords_leave_the_picture_its_id_its_words_and_its_vectors(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_picture(bench.folder / "a.png", 0, ["beach"])
    bench.add()
    record_entries(bench.store, {path: [(["my caption"], {"colour": "red", "sku": "X1"})]})
    before, vector = bench.of(path), bench.vector(bench.of(path).id)
    write_picture(path, 0, ["beach", "dog"], "5")
    monkeypatch.setattr(ColourEncoder, "pictures", lambda *_: pytest.fail("a picture was encoded"))
    report = bench.add()
    assert counts(report) == {"found": 1, "changed": 1}
    assert report.notes == []
    after = bench.of(path)
    assert (after.id, after.captions, after.attributes) == (before.id, before.captions, before.attributes)
    assert words_of(after) == ["beach", "dog"]
    assert words_of(after, "rating") == ["5"]
    assert after.bytes == path.stat().st_size
    assert np.array_equal(bench.vector(after.id), vector)
    assert len(bench.store.rows()) == 1
    assert counts(bench.add()) == {"found": 1, "unchanged": 1}


FORMATS = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp", "HEIF": "heic", "TIFF": "tif"}


@pytest.mark.skipif(shutil.which("exiftool") is None, reason="edits the files with exiftool, which is not installed")
@pytest.mark.parametrize("format_name", FORMATS)
def test_an_edit_by_another_program_keeps_everything(bench: Bench, format_name: str) -> None:
    if format_name == "HEIF":
        formats.register_heif()
    path = bench.folder / f"a.{FORMATS[format_name]}"
    Image.fromarray(draw_halves("red", "blue", size=(64, 48))).save(path, format_name)
    bench.add()
    record_entries(bench.store, {path: [(["my caption"], {"colour": "red"})]})
    before, vector = bench.of(path), bench.vector(bench.of(path).id)
    for told in (["-XMP-dc:Subject=beach", "-XMP-xmp:Rating=3"], ["-XMP-dc:Subject+=dog", "-XMP-xmp:Rating=5"]):
        subprocess.run(["exiftool", "-q", "-overwrite_original", *told, str(path)], check=True)
        set_time(path)
        assert counts(bench.add()) == {"found": 1, "changed": 1}
        after = bench.of(path)
        assert (after.id, after.captions, after.attributes) == (before.id, before.captions, before.attributes)
        assert np.array_equal(bench.vector(after.id), vector)
    assert words_of(after) == ["beach", "dog"]
    assert words_of(after, "rating") == ["5"]
    assert len(bench.store.rows()) == 1


def test_a_copy_with_other_keywords_is_the_same_picture(bench: Bench) -> None:
    first = write_picture(bench.folder / "a.png", 0, ["beach"])
    bench.add()
    second = write_picture(bench.folder / "b.png", 0, ["Beach", "dog"])
    assert counts(bench.add()) == {"found": 2, "unchanged": 1, "duplicates": 1}
    assert bench.of(first) == bench.of(second)
    assert words_of(bench.of(first)) == ["beach", "dog"]  # each once


def test_copies_that_come_at_once_are_one_picture(bench: Bench) -> None:
    for number in range(3):
        write_picture(bench.folder / f"{number}.png", 0, [f"word{number}"])
    assert counts(bench.add()) == {"found": 3, "added": 1, "duplicates": 2}
    [row] = bench.store.rows()
    assert words_of(row) == ["word0", "word1", "word2"]


@pytest.mark.parametrize(
    ("sent", "taken"), [("IMG-20180203-WA0001.png", "z.png"), ("IMG-20180203-WA0001.png", "A.png")]
)
def test_the_cameras_date_comes_before_that_of_a_messengers_copy_wherever_it_lies(
    bench: Bench, sent: str, taken: str
) -> None:
    write_picture(bench.folder / sent, 0)
    bench.add()
    assert bench.of(bench.folder / sent).captured == "2018-02-03"
    exif = Image.Exif()
    exif[IFD.Exif] = {Base.DateTimeOriginal: "2017:12:25 10:00:00"}
    Image.open(bench.folder / sent).save(bench.folder / taken, exif=exif)
    assert counts(bench.add()) == {"found": 2, "unchanged": 1, "duplicates": 1}
    row = bench.of(bench.folder / taken)
    assert (row.captured, words_of(row, "captured")) == ("2017-12-25T10:00:00", ["2017-12-25T10:00:00"])
    assert build_columns(pictures_to_arrow([row]))["year"].values == ("2017",)
    remove_pictures(bench.store, Selection.of(bench.store, [bench.folder / taken]), dry_run=False)
    assert bench.of(bench.folder / sent).captured == "2018-02-03"


def test_a_city_that_somebody_wrote_comes_before_one_that_was_looked_up_for_a_copy() -> None:
    looked_up = FileRecord("a.jpg", 1, 1, 0, (Fact("city", ("Paris",), "GPS (GeoNames)"),))
    written = FileRecord("b.jpg", 1, 1, 0, (Fact("city", ("Lutetia",), "XMP photoshop:City"),))
    row = PictureRow("id", (looked_up, written), 1, 1, "JPEG", 1)
    assert words_of(row, "city") == ["Lutetia"]
    [again] = pictures_from_arrow(pictures_to_arrow([row]))
    assert again == row
    assert build_columns(pictures_to_arrow([row]))["city"].values == ("Lutetia",)


def test_a_picture_that_was_renamed_and_edited_has_moved(bench: Bench) -> None:
    path = write_picture(bench.folder / "a.png", 0, ["beach"])
    bench.add()
    record_entries(bench.store, {path: [(["my caption"], {})]})
    path.unlink()
    renamed = write_picture(bench.folder / "b.png", 0, ["dog"])
    assert counts(bench.add()) == {"found": 1, "moved": 1}
    assert bench.of(renamed).captions == ("my caption",)
    assert words_of(bench.of(renamed)) == ["dog"]


def test_a_picture_that_was_turned_keeps_its_words_and_gets_another_vector(bench: Bench) -> None:
    path = write_picture(bench.folder / "a.png", 0)
    bench.add()
    record_entries(bench.store, {path: [(["my caption"], {})]})
    before, vector = bench.of(path), bench.vector(bench.of(path).id)
    bench.store.write_space("another", [([before.id], np.ones((1, 3), np.float32))])
    write_picture(path, 0, turn=6)
    assert counts(bench.add()) == {"found": 1, "changed": 1}
    after = bench.of(path)
    assert (after.id, after.captions) == (before.id, ("my caption",))
    assert (after.width, after.height) == (before.height, before.width)
    assert str(after.pixels).endswith("/6")
    assert not np.allclose(bench.vector(after.id), vector, atol=0.05)
    assert bench.store.ids_with_vectors("another") == set()  # made anew before it is used
    assert counts(bench.add()) == {"found": 1, "unchanged": 1}


def test_other_pixels_in_an_old_place_are_told(bench: Bench) -> None:
    paths = [write_picture(bench.folder / f"{name}.png", number) for number, name in enumerate("abc")]
    bench.add()
    columns = {"colour": "red", "size": "big"}
    record_entries(bench.store, {paths[0]: [(["one"], {})], paths[1]: [(["two", "three"], columns)]})
    for number, path in enumerate(paths):
        write_picture(path, 10 + number)
    report = bench.add()
    assert counts(report) == {"found": 3, "changed": 3}
    assert report.notes == [
        f"{paths[0]} holds another picture now: 1 caption of the former one was left behind",
        f"{paths[1]} holds another picture now: 2 captions and 2 columns of the former one were left behind",
    ]
    assert bench.of(paths[0]).captions == ()


def test_a_picture_that_made_place_and_is_elsewhere_is_not_told(bench: Bench) -> None:
    path = write_picture(bench.folder / "a.png", 0)
    bench.add()
    record_entries(bench.store, {path: [(["one"], {})]})
    path.rename(bench.folder / "z.png")
    write_picture(path, 1)
    assert bench.add().notes == []
    assert bench.of(bench.folder / "z.png").captions == ("one",)


def test_only_the_facts_are_read_where_nothing_but_a_setting_changed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_picture(bench.folder / "a.png", 0, ["beach"], "4")
    bench.add()
    before = bench.of(path)
    monkeypatch.setattr(ColourEncoder, "pictures", lambda *_: pytest.fail("a picture was encoded"))
    assert counts(bench.add(["keywords"])) == {"found": 1, "unchanged": 1, "reread": 1}
    assert (words_of(bench.of(path)), words_of(bench.of(path), "rating")) == ([], ["4"])
    assert counts(bench.add(["keywords"])) == {"found": 1, "unchanged": 1}
    assert counts(bench.add()) == {"found": 1, "unchanged": 1, "reread": 1}
    assert bench.of(path) == before


def test_pixels_that_changed_behind_an_unchanged_time_are_found_with_the_facts(bench: Bench) -> None:
    first, last = (write_picture(bench.folder / name, number) for number, name in enumerate(("a.png", "z.png")))
    bench.add()
    record_entries(bench.store, {first: [(["one"], {})], last: [(["two"], {})]})
    status = last.stat()
    data = write_picture(bench.folder / "new.png", 7).read_bytes()
    (bench.folder / "new.png").unlink()
    last.write_bytes(data + bytes(status.st_size - len(data)))  # some bytes after the end do a PNG no harm
    os.utime(last, ns=(1, status.st_mtime_ns))
    assert counts(bench.add()) == {"found": 2, "unchanged": 2}
    report = bench.add(["rating"])
    assert counts(report) == {"found": 2, "unchanged": 1, "reread": 1, "changed": 1}
    assert bench.of(last).captions == ()
    assert len(report.notes) == 1


def test_memory_of_pictures_left_behind_is_bounded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "MAX_LISTED_LEFT_BEHIND", 2)
    paths = [write_picture(bench.folder / f"{number}.png", number) for number in range(4)]
    bench.add()
    record_entries(bench.store, {path: [(["one"], {})] for path in paths})
    for number, path in enumerate(paths):
        write_picture(path, 10 + number)
    notes = bench.add().notes
    assert len(notes) == 3
    assert notes[-1] == "and 2 more such files"


# -- a slow and obvious model

NAMES_OF_FILES = ("a.png", "b.png", "deep/c.png", "deep/d.png")
words = st.lists(st.sampled_from(["beach", "dog", "sun"]), max_size=2, unique=True).map(tuple)
files = st.sampled_from(NAMES_OF_FILES)
steps = st.one_of(
    st.tuples(st.just("write"), files, st.integers(0, 4), words),
    st.tuples(st.just("edit"), files, st.just(0), words),
    st.tuples(st.just("move"), files, st.integers(0, 3), words),
    st.tuples(st.just("copy"), files, st.integers(0, 3), words),
    st.tuples(st.just("delete"), files, st.just(0), words),
    st.tuples(st.just("describe"), files, st.just(0), words),
    st.tuples(st.just("add"), files, st.just(0), words),
)


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(drawn=st.lists(steps, min_size=4, max_size=24))
def test_any_edits_moves_and_copies_leave_words_with_pixels(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[str, str, int, tuple[str, ...]]]
) -> None:
    """Pixels are a picture: what was said of them once is said of them ever after, wherever they lie."""
    bench = Bench(tmp_path_factory.mktemp("model"))
    disk: dict[str, tuple[int, tuple[str, ...]]] = {}  # file -> what is painted on it, and its keywords
    known: dict[str, int] = {}  # file -> what was painted on it at the last `add`
    said: dict[int, set[str]] = {}  # painting -> captions
    ids: dict[int, str] = {}  # painting -> id
    for what, name, number, keywords in [*drawn, ("add", "", 0, ()), ("add again", "", 0, ())]:
        path, other = bench.folder / name, NAMES_OF_FILES[number % 4]
        if what == "write" or (what == "edit" and name in disk):
            disk[name] = (number if what == "write" else disk[name][0], keywords)
            write_picture(path, disk[name][0], keywords)
        elif what in ("move", "copy") and name in disk and name != other:
            (bench.folder / other).parent.mkdir(exist_ok=True)
            shutil.copy2(path, bench.folder / other)
            disk[other] = disk[name]
            if what == "move":
                path.unlink()
                del disk[name]
        elif what == "delete" and name in disk:
            path.unlink()
            del disk[name]
        elif what == "describe" and disk.get(name, (-1,))[0] == known.get(name):
            caption = f"caption {len(said)} of {name}"
            record_entries(bench.store, {path: [([caption], {})]})
            said.setdefault(known[name], set()).add(caption)
        elif what.startswith("add") and disk:
            report = bench.add()
            assert (
                report.found
                == len(disk)
                == sum((report.added, report.changed, report.moved, report.unchanged, report.duplicates))
            )
            if what == "add again":
                assert report.unchanged == len(disk)
            known = {name: painted for name, (painted, _) in disk.items()}
            for at, (painted, told) in disk.items():
                row = bench.of(bench.folder / at)
                assert ids.setdefault(painted, row.id) == row.id
                assert set(row.captions) == said.get(painted, set())
                [file] = [file for file in row.files if file.path == str(bench.folder / at)]
                assert [value for fact in file.facts for value in fact.values] == list(told)
                top, bottom = PAIRS[painted]
                assert float(bench.vector(row.id) @ ENCODER.words([f"{top} over {bottom}"])[0]) > 0.95
            assert len(set(ids.values())) == len(ids)


# -- libraries of earlier viewfinders


def make_old(library: Library) -> None:
    """Takes from a library what those of an earlier viewfinder do not have."""
    with library.store.writing():
        table = library.store._tables.change("pictures")
        table.drop_columns(["pixels", "stamps", "facts"])
        library.store._tables.record()
        settings_now = read_settings(library.folder / SETTINGS)
        write_settings(library.folder, replace(settings_now, format=1))


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A library of an earlier viewfinder with three described pictures."""
    monkeypatch.setattr("viewfinder.library.load_encoder", lambda *_, **__: ENCODER)
    library = Library.open(tmp_path / "library")
    paths = [write_picture(tmp_path / "pictures" / f"{name}.png", number, [name]) for number, name in enumerate("abc")]
    library.add(tmp_path / "pictures", captions=[{"file": str(path), "caption": path.stem * 3} for path in paths])
    make_old(library)
    return Library.open(tmp_path / "library")


def test_an_old_library_is_opened_searched_and_described_as_it_is(old: Library) -> None:
    hits = old.find("red over green")
    assert len(hits) == 3
    assert not old.store.has_facts()
    row = next(iter(old))
    assert (row.pixels, row.known) == (None, ())
    old.describe(row.id, captions=["another"])
    assert old[row.id].captions == ("another",)
    assert old.verify() == []
    assert old.show(row.id).facts == ()
    assert (old.settings.format, old.store.has_facts()) == (1, False)  # an earlier viewfinder can still open it


def test_an_old_library_gets_facts_with_the_next_add_and_no_new_vectors(
    old: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {row.id: row for row in old}
    vectors = old.store.read_vectors(ENCODER.version)
    monkeypatch.setattr(ColourEncoder, "pictures", lambda *_: pytest.fail("a picture was encoded") if _[-1] else None)
    report = old.add(tmp_path / "pictures")
    assert counts(report) == {"found": 3, "unchanged": 3}
    assert report.notes == ["what is known of 3 files that an earlier viewfinder added was read for the first time"]
    after = {row.id: row for row in old}
    assert after.keys() == before.keys()
    for picture, row in after.items():
        assert row.captions == before[picture].captions
        assert row.pixels is not None
        assert words_of(row) == [Path(row.files[0].path).stem]
    again = old.store.read_vectors(ENCODER.version)
    assert again[0] == vectors[0]
    assert np.array_equal(again[1], vectors[1])
    assert old.settings.format == 2
    assert counts(old.add(tmp_path / "pictures")) == {"found": 3, "unchanged": 3}
    assert [len(old.find("red", where={"keywords": name})) for name in "abc"] == [1, 1, 1]


def test_a_file_that_was_edited_before_an_old_library_knew_its_pixels_keeps_its_words(
    old: Library, tmp_path: Path
) -> None:
    path = write_picture(tmp_path / "pictures" / "a.png", 0, ["other", "words"])
    write_picture(tmp_path / "pictures" / "b.png", 9)
    report = old.add(tmp_path / "pictures")
    assert counts(report) == {"found": 3, "changed": 2, "unchanged": 1}
    [row] = [row for row in old if row.files[0].path == str(path)]
    assert row.captions == ("aaa",)
    assert words_of(row) == ["other", "words"]
    assert [note for note in report.notes if "another picture" in note] == [
        f"{tmp_path / 'pictures' / 'b.png'} holds another picture now: 1 caption of the former one was left behind"
    ]
    assert len(list(old)) == 3


def write_photograph(path: Path, words: str) -> Path:
    """A JPEG file of noise that an eighth reads otherwise than a quarter does: the same pixels each time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    notes = Image.Exif()
    notes[Base.ImageDescription] = words
    noise = np.random.default_rng(0).integers(0, 256, (17, 17, 3), dtype=np.uint8)
    Image.fromarray(noise).resize((170, 170), Image.Resampling.NEAREST).save(path, exif=notes)
    set_time(path)
    return path


def test_an_edited_photograph_is_recognised_though_an_earlier_viewfinder_decoded_it_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = ColourEncoder(fit=Stretch(FINE, eighth=5 / 3))
    path = write_photograph(tmp_path / "pictures" / "a.jpg", "one")
    before, now = (encoder.pictures([decode_one(path, encoder.fit).pixels]).global_bd for encoder in (ENCODER, quick))
    assert np.linalg.norm(before - now) > 10 * SAME_VECTOR * np.linalg.norm(before)
    monkeypatch.setattr("viewfinder.library.load_encoder", lambda *_, **__: ENCODER)
    library = Library.open(tmp_path / "library")
    library.add(tmp_path / "pictures", captions=[{"file": str(path), "caption": "a walk"}])
    make_old(library)
    monkeypatch.setattr("viewfinder.library.load_encoder", lambda *_, **__: quick)
    library = Library.open(tmp_path / "library")
    [picture] = [row.id for row in library]
    write_photograph(path, "two")
    report = library.add(tmp_path / "pictures")
    assert counts(report) == {"found": 1, "changed": 1}
    assert [(row.id, row.captions) for row in library] == [(picture, ("a walk",))]
    assert np.allclose(library.store.read_vectors_of(quick.raw_version, [picture]), before, atol=1e-3)


def test_a_killed_upgrade_goes_on(old: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "make_room_for_facts", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        old.add(tmp_path / "pictures")
    monkeypatch.undo()
    monkeypatch.setattr("viewfinder.library.load_encoder", lambda *_, **__: ENCODER)
    again = Library.open(old.folder)
    assert len(again.find("red")) == 3
    assert counts(again.add(tmp_path / "pictures")) == {"found": 3, "unchanged": 3}
    assert again.store.has_facts()


# -- columns and settings


def test_what_files_say_is_columns_of_lists(bench: Bench) -> None:
    write_picture(bench.folder / "a.png", 0, ["beach", "summer", "Dog"], "4")
    write_picture(bench.folder / "b.png", 1, ["dog"], "5")
    write_picture(bench.folder / "c.png", 2)
    bench.add()
    snapshot = load_snapshot(bench.store.folder, ENCODER.version)
    named = {snapshot.ids[row]: Path(snapshot.paths(row)[0]).stem for row in range(3)}

    def meeting(**where: str) -> str:
        return "".join(sorted(named[snapshot.ids[row]] for row in np.flatnonzero(snapshot.where(where))))

    assert meeting(keywords="beach") == "a"
    assert meeting(keywords="DOG") == "ab"
    assert meeting(keywords="beach|dog") == "ab"
    assert meeting(rating="4..5") == "ab"
    assert meeting(rating="5") == "b"
    assert meeting(file="c.png") == "c"
    assert snapshot.file_columns >= {"keywords", "rating", "format"}
    assert "persons" not in snapshot.columns()
    assert snapshot.column("persons").values == ()


def test_a_column_of_the_catalogue_hides_that_of_files(bench: Bench) -> None:
    path = write_picture(bench.folder / "a.png", 0, ["beach"])
    write_picture(bench.folder / "b.png", 1, ["dog"])
    bench.add()
    record_entries(bench.store, {path: [([], {"Keywords": "shop"})]})
    snapshot = load_snapshot(bench.store.folder, ENCODER.version)
    assert snapshot.column("keywords").values == ("shop",)
    assert "Keywords" in snapshot.columns()
    assert not snapshot.file_columns & {"keywords", "Keywords"}


def test_facts_to_be_left_out_are_named_or_refused() -> None:
    assert parse_leave_out(["Longitude", "latitude"]) == ("latitude", "longitude")
    assert parse_leave_out(["none"]) == ()
    with pytest.raises(BadInput, match="leave out 'gps': there is no such fact; there are: captured, title"):
        parse_leave_out(["gps"])
    with pytest.raises(BadInput):
        parse_leave_out(["none", "gps"])


def test_settings_and_readers_have_stamps_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    stamps = {stamp_settings(()), stamp_settings(("keywords",))}
    monkeypatch.setattr(known_facts, "READERS_VERSION", 99)
    stamps.add(stamp_settings(()))
    monkeypatch.setattr(known_facts, "are_places_installed", lambda: not known_facts.__dict__)
    assert len(stamps | {stamp_settings(())}) >= 3
    assert stamp_settings(("keywords", "rating")) == stamp_settings(("rating", "keywords"))


def test_coordinates_get_places_also_where_they_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def name_places(coordinates: Sequence[tuple[float, float]]) -> list[tuple[Fact, ...]]:
        asked.append(list(coordinates))
        return [(Fact("city", ("Lisbon",), "GPS"), Fact("country", ("Portugal",), "GPS")) for _ in coordinates]

    monkeypatch.setattr(known_facts, "name_places", name_places)
    here = (Fact("latitude", ("38.7",), "EXIF"), Fact("longitude", ("-9.1",), "EXIF"))
    told = complete_facts(
        [(), here, (*here, Fact("city", ("Lisboa",), "IPTC")), (here[0],), (here[0], Fact("longitude", ("x",), ""))],
        ["latitude", "longitude"],
    )
    assert asked == [[(38.7, -9.1), (38.7, -9.1)]]
    assert [[(fact.name, *fact.values) for fact in facts] for facts in told] == [
        [],
        [("city", "Lisbon"), ("country", "Portugal")],
        [("city", "Lisboa"), ("country", "Portugal")],
        [],
        [],
    ]


def test_a_library_keeps_its_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewfinder.library.load_encoder", lambda *_, **__: ENCODER)
    library = Library.open(tmp_path / "library")
    folder = write_picture(tmp_path / "pictures" / "a.png", 0, ["beach"], "4").parent
    library.add(folder, leave_out=["rating"])
    assert {fact.name for row in library for fact in row.known} == {"keywords"}
    library = Library.open(tmp_path / "library")
    library.add(folder)
    assert library.settings.leave_out == ("rating",)
    assert (library.status()["facts_of_files"], library.status()["facts_left_out"]) == (["keywords"], ["rating"])
    library.add(folder, leave_out=["none"])
    assert {fact.name for row in library for fact in row.known} == {"keywords", "rating"}
    assert set(NAMES) >= {"keywords", "rating"}


def test_all_that_is_known_of_a_picture_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewfinder.library.load_encoder", lambda *_, **__: ENCODER)
    library = Library.open(tmp_path / "library")
    path = write_picture(tmp_path / "pictures" / "a.png", 0, ["beach"], "4")
    library.add(path.parent, captions=[{"file": "a.png", "caption": "mine"}], catalogue=[{"file": "a.png", "sku": "1"}])
    [row] = list(library)
    shown = library.show(path)
    assert shown == library.show(row.id) == library.show(row)
    assert (shown.is_in_library, shown.captions, shown.attributes) == (True, ("mine",), {"sku": ("1",)})
    assert [(fact.name, fact.values) for fact in shown.facts] == [("keywords", ("beach",)), ("rating", ("4",))]
    stranger = write_picture(tmp_path / "elsewhere.png", 3, ["dog"])
    alone = library.show(stranger)
    assert (alone.is_in_library, alone.width, alone.format) == (False, 24, "PNG")
    assert [fact.values for fact in alone.facts] == [("dog",)]
    write_picture(path, 0)
    assert "has changed" in library.show(path).note
    assert shown.to_json()["facts"][0]["values"] == ["beach"]


@pytest.mark.parametrize("last", range(1, 9))
def test_an_add_that_is_cut_short_at_any_write_is_completed_by_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    edited, turned, taken = (write_picture(bench.folder / f"{name}.png", at) for at, name in enumerate("abc"))
    bench.add()
    record_entries(bench.store, {path: [([path.stem], {})] for path in (edited, turned, taken)})
    before = {path: bench.of(path) for path in (edited, turned, taken)}
    old_vector = bench.vector(before[turned].id)
    write_picture(edited, 0, ["dog"])
    write_picture(turned, 1, turn=3)
    write_picture(taken, 8)
    write_picture(bench.folder / "d.png", 9, ["new"])
    writes, change = iter(range(1, 100)), Tables.change

    def change_until(self: Tables, name: str) -> object:
        if next(writes) >= last:
            raise KeyboardInterrupt
        return change(self, name)

    monkeypatch.setattr(Tables, "change", change_until)
    with suppress(KeyboardInterrupt):
        bench.add()
    monkeypatch.undo()
    bench.add()
    assert counts(bench.add()) == {"found": 4, "unchanged": 4}
    for path in (edited, turned):
        assert (bench.of(path).id, bench.of(path).captions) == (before[path].id, (path.stem,))
    assert words_of(bench.of(edited)) == ["dog"]
    assert str(bench.of(turned).pixels).endswith("/3")
    assert not np.allclose(bench.vector(before[turned].id), old_vector, atol=0.05)
    assert bench.of(taken).id != before[taken].id
    assert sorted(path.name for path in bench.folder.iterdir()) == ["a.png", "b.png", "c.png", "d.png"]
    assert len(bench.store.rows()) == 5  # with the one that has no file


def test_what_an_actor_reads_of_files_is_kept_and_facts_alone_where_these_are_asked_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    class InThisProcess:
        """An embedder that is one actor, without Ray."""

        def embed(self, files: Iterable[FoundFile]) -> Iterator[EmbeddedFile | IdentifiedFile | BadFile]:
            actor = EmbeddingActor("colours")
            outcomes = actor.embed(list(files))
            kinds.extend(type(outcome).__name__ for outcome in outcomes)
            yield from outcomes
            actor.close()

    monkeypatch.setattr(embedding, "load_encoder", lambda name: ENCODER)
    path, kinds = write_picture(bench.folder / "a.png", 0, ["beach"]), list[str]()
    for leave_out in ((), ("keywords",), ()):
        Ingest(bench.store, ENCODER, embedder=InThisProcess(), leave_out=leave_out).run([bench.folder])
        assert words_of(bench.of(path)) == ([] if leave_out else ["beach"])
    assert kinds == ["EmbeddedFile", "IdentifiedFile", "IdentifiedFile"]


def test_without_the_package_a_report_says_what_would_name_the_places(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = Image.new("RGB", (16, 16), "red")
    notes = Image.Exif()
    notes.get_ifd(0x8825).update({1: "N", 2: (38.0, 42.0, 0.0), 3: "W", 4: (9.0, 6.0, 0.0)})
    picture.save(bench.folder / "lisbon.jpg", exif=notes)
    monkeypatch.setattr(known_facts, "are_places_installed", lambda: False)
    [note] = bench.add().notes
    assert note.startswith("1 GPS position")
    assert "viewfinder[places]" in note
    monkeypatch.setattr(known_facts, "are_places_installed", lambda: True)
    assert bench.add().notes == []
