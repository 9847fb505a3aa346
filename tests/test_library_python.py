"""Libraries as Python has things: with, len, iteration, paths, tables, images in memory."""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

import viewfinder
import viewfinder.library
from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Show
from viewfinder.errors import BadInput, LibraryError, NotALibrary, ViewfinderError
from viewfinder.library import Library
from viewfinder.retrievers import Composer
from viewfinder.search.hits import Hit, Hits, PicturePath
from viewfinder.session.session import Session
from viewfinder.store.rows import FileRecord, PictureRow, describe_pictures
from viewfinder.testing import TinyPicture, draw_halves, load_colour_encoder, tiny_pictures


@pytest.fixture(autouse=True)
def colours_for_an_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever encoder a library names, it is given the one that knows colours only."""
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "library"


def filled(home: Path, count: int) -> tuple[Library, list[TinyPicture]]:
    """A library of tiny pictures, which lie beside it."""
    drawn = tiny_pictures(home.parent / "pictures", count)
    library = Library.open(home)
    library.add(home.parent / "pictures", workers=1)
    return library, drawn


def write_table(file: Path, *rows: str) -> Path:
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


def test_a_library_closes_itself_counts_and_gives_its_pictures(home: Path) -> None:
    with viewfinder.open(home) as empty:
        assert len(empty) == 0 and list(empty) == [] and empty
    filled(home, 4)
    with viewfinder.open(home) as library:
        assert len(library) == 4
        assert [picture.id for picture in library] == [row.id for row in library.store.rows()]
        hits = library.find("red")
        assert {picture.path for picture in library} == {Path(hit.path) for hit in hits}
        chat = library.chat()
        chat.like(next(iter(library)))
    after: list[Callable[[], object]] = [
        lambda: library.find("red"),
        lambda: len(library),
        lambda: list(library),
        lambda: chat.say("red"),
    ]
    for closed in after:
        with pytest.raises(LibraryError, match=r"was closed: open it again with viewfinder.open"):
            closed()
    library.close()


def test_a_hit_has_a_path_that_is_also_the_text_it_was(home: Path) -> None:
    library, drawn = filled(home, 3)
    [hit] = library.find(drawn[1].caption, n=1)
    assert isinstance(hit.path, Path)
    for same in (drawn[1].path, str(drawn[1].path)):
        assert hit.path == same and same == hit.path
    assert hit.path in {str(drawn[1].path)} and hit.path in [drawn[1].path]
    assert (hit.path.suffix, hit.path.exists(), hit.path.parent) == (".png", True, home.parent / "pictures")
    assert hit.path.endswith(".png") and drawn[1].top in hit.path  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(hit)) == copy.deepcopy(hit) == hit
    with pytest.raises(AttributeError):
        hit.path.nothing  # type: ignore[attr-defined]  # noqa: B018
    assert json.loads(json.dumps(library.find("red").to_json()))["results"][0]["rank"] == 1


def test_hits_and_pictures_become_tables(home: Path) -> None:
    library, drawn = filled(home, 3)
    rows = [f"{picture.path.name},{picture.top},x" for picture in drawn]
    library.add(
        catalogue=write_table(home.parent / "catalogue.csv", "file,top,width", *rows, f"{drawn[0].path.name},pale,y"),
        captions=write_table(home.parent / "captions.csv", "file,caption", f"{drawn[0].path.name},two colours"),
    )
    hits = library.find("red", n=2)
    table = hits.to_arrow()
    assert table.column_names == ["rank", "id", "path", "score", "match"]
    assert table.to_pylist() == [
        {"rank": hit.rank, "id": hit.id, "path": str(hit.path), "score": hit.score, "match": hit.match} for hit in hits
    ]
    known = {row["id"]: row for row in library.to_arrow().to_pylist()}
    first = next(picture for picture in library if picture.path == drawn[0].path)
    assert len(known) == 3
    assert known[first.id]["captions"] == ["two colours"] and known[first.id]["paths"] == [str(drawn[0].path)]
    assert known[first.id]["top"] == f"{drawn[0].top}; pale"
    assert (known[first.id]["width"], known[first.id]["width*"]) == (24, "x; y")
    assert len(Library.open(home.parent / "empty").to_arrow()) == 0


def test_file_names_that_are_no_text_are_in_tables_with_question_marks() -> None:
    broken = os.fsdecode(b"/pictures/caf\xe9.png")
    hits = Hits([Hit(1, "a", PicturePath(broken), 0.5, "maybe")], "unsure", 1.0)
    row = PictureRow("a", (FileRecord(broken, 1, 1),), 24, 16, "PNG", 1)
    for table in (hits.to_arrow(), describe_pictures([row])):
        assert table.column("path").to_pylist() == ["/pictures/caf?.png"]


def test_frames_need_pandas_and_say_so(home: Path) -> None:
    library, _ = filled(home, 2)
    if importlib.util.find_spec("pandas") is None:
        for frame in (library.to_pandas, library.find("red").to_pandas):
            with pytest.raises(ViewfinderError, match="to_pandas needs pandas: `pip install pandas`"):
                frame()
    else:
        assert library.find("red").to_pandas()["rank"].tolist() == [1, 2]
        assert len(library.to_pandas()) == 2


def test_images_in_memory_find_what_their_files_find(home: Path) -> None:
    library, drawn = filled(home, 20)
    with Image.open(drawn[3].path) as image:
        image.load()
    pixels = np.asarray(image.convert("RGB"))
    expected = library.find(like=drawn[3].path)
    alpha = np.dstack([pixels, np.full(pixels.shape[:2], 255, np.uint8)])
    for same in (image, image.convert("RGBA"), pixels, alpha, np.asfortranarray(pixels), pixels[::1]):
        found = library.find(like=same)
        assert [(hit.id, hit.match) for hit in found] == [(hit.id, hit.match) for hit in expected]
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-3)
    grey = library.find(like=np.full((30, 20), 250, np.uint8))
    assert grey == library.find(like=np.full((30, 20, 3), 250, np.uint8))


def test_a_photograph_in_memory_is_turned_upright_and_laid_on_white(home: Path) -> None:
    library, _ = filled(home, 64)
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    turned = Image.fromarray(draw_halves("blue", "red", size=(64, 48)))
    turned.save(home.parent / "turned.jpg", exif=exif, quality=95)
    with Image.open(home.parent / "turned.jpg") as image:
        for same in (image, home.parent / "turned.jpg"):
            assert "red-blue" in library.find(like=same, n=1)[0].path
    nothing = np.zeros((20, 20, 4), np.uint8)  # transparent
    assert library.find(like=nothing, n=1) == library.find(like=np.full((20, 20), 255, np.uint8), n=1)


def test_an_image_that_cannot_be_read_is_refused(home: Path) -> None:
    library, _ = filled(home, 1)
    rng = np.random.default_rng(1)
    Image.fromarray(rng.integers(0, 255, (200, 200, 3), np.uint8)).save(home.parent / "whole.jpg")
    (home.parent / "cut.jpg").write_bytes((home.parent / "whole.jpg").read_bytes()[:5000])
    with (
        Image.open(home.parent / "cut.jpg") as cut,
        pytest.raises(BadInput, match=r"this image cannot be read: .*trunc"),
    ):
        library.find(like=cut)
    with pytest.raises(BadInput, match="this image cannot be read"):
        library.find(like=cut)  # and closed


def test_a_conversation_goes_on_from_images_in_memory(home: Path) -> None:
    library, _ = filled(home, 20)
    pixels = draw_halves("green", "white", size=(40, 30))
    chat, other = library.chat(questioner=None), library.chat(questioner=None)
    assert chat.show(pixels, "but black") == other.like(Image.fromarray(pixels), "but black")
    assert chat.say("red") == other.say("red")
    assert chat.keep("colour", 1) == other.keep("colour", 1)
    [shown] = {node.turn.pixels_ref for node in chat.conversation.nodes if isinstance(node.turn, Show)}
    assert shown.startswith("pixels:")
    # Elsewhere the pixels are not known: that is said, and the rest counts.
    later = Session(library, Composer(), None, conversation=chat.conversation, memo=ByteCache())
    assert later.say("blue")
    assert [note for note in later.adapters if "no such image" in note]


def test_a_library_tunes_itself(home: Path) -> None:
    library, _ = filled(home, 1)
    table = write_table(home.parent / "captions.csv", "file,caption", "a.png,red")
    with pytest.raises(BadInput, match="0 pictures with captions were found; tuning needs at least 20"):
        library.tune(captions=str(table))  # it came as far as that


def test_results_are_the_same_in_another_process(home: Path) -> None:
    library, _ = filled(home, 3)
    hits = library.find("red over blue", n=2)
    for again in (pickle.loads(pickle.dumps(hits)), copy.copy(hits), copy.deepcopy(hits)):
        assert again == hits and again.to_json() == hits.to_json()


def test_a_library_is_opened_anew_where_it_is_unpickled(home: Path) -> None:
    library, _ = filled(home, 3)
    again = pickle.loads(pickle.dumps(library))
    assert again is not library
    assert again.find("red over blue")[0].id == library.find("red over blue")[0].id


def test_a_library_that_is_gone_is_not_made_where_it_is_unpickled(home: Path) -> None:
    library, _ = filled(home, 3)
    packed = pickle.dumps(library)
    home.rename(home.parent / "elsewhere")
    with pytest.raises(ViewfinderError, match=f"there is no library in {home}"):
        pickle.loads(packed)


def test_a_library_says_where_it_is_and_stays_there_when_the_program_goes_elsewhere(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(home, 3)
    monkeypatch.chdir(home.parent)
    library = viewfinder.open(home.name)
    monkeypatch.chdir("/")
    assert len(library) == 3 and repr(library) == f"<Library {home}>"


class Frame:
    """A table as pandas has it: iterating gives the names of its columns."""

    columns = ("id", "price")

    def __init__(self, rows: list[dict[str, object]]) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def to_dict(self, orient: str) -> list[dict[str, object]]:
        assert orient == "records"
        return self.rows


def test_tables_of_other_packages_are_taken_as_they_are(home: Path) -> None:
    library, _ = filled(home, 3)
    row = next(iter(library))
    for price, table in ((5, pa.table({"id": [row.id], "price": [5]})), (7, Frame([{"id": row.id, "price": 7}]))):
        assert library.add(catalogue=table).described == 1
        assert library[row.id].attributes["price"] == (str(price),)


def test_a_mapping_of_columns_is_no_list_of_rows(home: Path) -> None:
    library, _ = filled(home, 1)
    with pytest.raises(BadInput, match="catalogue: a list of rows is needed"):
        library.add(catalogue={"id": ["a"], "price": [5]})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "ask",
    [
        lambda library: library.find("red over blue"),
        lambda library: library.status(),
        list,
        lambda library: library["an id"],
        lambda library: library.failures(),
        lambda library: library.verify(),
        lambda library: library.encoders(),
        lambda library: library.to_arrow(),
        lambda library: library.add(library.folder.parent / "pictures", workers=1),
    ],
)
def test_a_library_whose_disk_is_gone_is_said_so_and_nothing_is_made_in_its_place(
    home: Path, ask: Callable[[Library], object]
) -> None:
    library, _ = filled(home, 2)
    library.find("red over blue")
    home.rename(home.parent / "unplugged")
    with pytest.raises(NotALibrary, match=f"{home} holds no library: check the path"):
        ask(library)
    assert not home.exists()
    (home.parent / "unplugged").rename(home)
    assert len(library.find("red over blue")) == 2


@pytest.mark.parametrize("rows", [("{0},5", "{1},7"), ("5,{0}",)])
def test_a_table_without_the_names_of_its_columns_loses_no_row_to_them(home: Path, rows: tuple[str, ...]) -> None:
    library, drawn = filled(home, 2)
    table = write_table(home.parent / "table.csv", *(row.format(*(it.path.name for it in drawn)) for row in rows))
    told = f"table.csv, line 1: '{drawn[0].path.name}' is a picture, and no name of a column"
    with pytest.raises(BadInput, match=re.escape(told)):
        library.add(catalogue=table)
