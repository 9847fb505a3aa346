"""Pictures and what is known of them, taken along as files."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests.server.taking.conftest import Served
from viewfinder.library import Library
from viewfinder.pictures import picture_id
from viewfinder.pictures.facts.xmp import read_xmp
from viewfinder.server.taking import archives
from viewfinder.server.taking.archives import LEFT_OUT, Lost, Member, Names, make_safe, stream_archive
from viewfinder.server.taking.routes import PIECE, join_pieces
from viewfinder.server.taking.sidecars import stream_sidecars, write_sidecar
from viewfinder.server.taking.tables import guard_cell
from viewfinder.testing import TinyPicture

Draw = Callable[..., tuple[Library, list[TinyPicture]]]


def fetch(served: Any, **asked: Any) -> Any:
    """The answer to the second of the two requests that an export takes."""
    answer = served.ask("GET", served.post("/exports", asked)["address"])
    assert answer.status_code == 200, answer.text
    return answer


def unpack(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {info.filename: archive.read(info) for info in archive.infolist()}


def test_a_zip_has_the_files_as_they_are_with_their_times_and_its_size_is_known_before(served: Served) -> None:
    os.utime(served.files[3], (1_500_000_000, 1_500_000_000))  # touched, and the same
    made = served.post("/exports", {"pictures": served.ids[3:6], "as": "zip"})
    assert (made["pictures"], made["missing"], made["name"]) == (3, 0, "pictures.zip")
    answer = served.ask("GET", made["address"])
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"] == 'attachment; filename="pictures.zip"'
    assert int(answer.headers["content-length"]) == made["bytes"] == len(answer.content)
    assert unpack(answer.content) == {file.name: file.read_bytes() for file in served.files[3:6]}
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        told = archive.infolist()[0].date_time
    assert abs(time_of(told) - served.files[3].stat().st_mtime) <= 2


def time_of(told: tuple[int, int, int, int, int, int]) -> float:
    from time import mktime

    return mktime((*told, 0, 0, -1))


def test_what_has_vanished_or_changed_is_told_in_the_archive(served: Served) -> None:
    served.files[0].unlink()
    served.files[1].write_bytes(b"a secret where the picture was")
    told = PngInfo()
    told.add_text("Title", "a boat")
    with Image.open(served.files[2]) as image:  # the same picture with other words
        image.save(served.files[2], pnginfo=told)
    asked = [*served.ids[:4], "00000000-0000-0000-0000-000000000000"]
    made = served.post("/exports", {"pictures": asked, "as": "zip"})
    assert (made["pictures"], made["missing"], made["bytes"]) == (4, 1, None)
    found = unpack(served.ask("GET", made["address"]).content)
    text = found.pop(LEFT_OUT).decode()
    assert found == {file.name: file.read_bytes() for file in served.files[2:4]}
    for line in (
        f"{served.files[0].name}: no file of it is there any more",
        f"{served.files[1].name}: {served.files[1].name} has changed",
        f"{asked[-1]}: it is not in the library any more",
    ):
        assert line in text
    assert "secret" not in text and "/" not in text.replace("\r\n", "")


def test_names_in_an_archive_are_safe_and_each_is_there_once() -> None:
    names = Names()
    given = [
        "a.jpg",
        "A.JPG",
        "a.jpg",
        "a (2).jpg",
        "../a.jpg",
        "/etc/passwd",
        "con.jpg",
        "",
        "..",
        LEFT_OUT,
        "x" * 400 + ".jpeg",
    ]
    taken = [names.take(name) for name in given]
    assert taken[:5] == ["a.jpg", "A (2).JPG", "a (3).jpg", "a (2) (2).jpg", ".._a.jpg"]
    assert len({name.casefold() for name in taken}) == len(taken)
    assert taken[-1].endswith(".jpeg") and len(taken[-1]) == archives.MAX_NAME_BYTES


@given(st.lists(st.text(max_size=30) | st.sampled_from(["a.jpg", "A.jpg", "a (2).jpg", "\ud800.png"]), max_size=12))
def test_no_name_is_a_path_or_given_out_twice(given: list[str]) -> None:
    names = Names()
    taken = [names.take(name) for name in given]
    assert len({name.casefold() for name in taken}) == len(given)
    for name in taken:
        assert name == make_safe(name) and name not in ("", ".", "..") and not set(name) & set('/\\:\0\n"<>|?*')
        assert name.encode("utf-8")


def test_two_pictures_of_one_name_are_both_there(tmp_path: Path, draw: Draw, serve: Callable[..., Served]) -> None:
    library, drawings = draw(2)
    (tmp_path / "more").mkdir()
    twin = tmp_path / "more" / drawings[0].path.name
    Image.new("RGB", (40, 30), "orange").save(twin)
    library.add(tmp_path / "more", workers=1)
    served = serve(library, drawings)
    found = unpack(fetch(served, pictures=[served.ids[0], picture_id(twin.read_bytes())], **{"as": "zip"}).content)
    assert list(found.values()) == [drawings[0].path.read_bytes(), twin.read_bytes()]
    assert list(found) == [twin.name, f"{twin.stem} (2){twin.suffix}"]


def test_two_thousand_pictures_go_out_without_staying_in_memory(tmp_path: Path) -> None:
    """At no time is there more than a piece of the archive, and some hundred bytes for each member."""
    file, count = tmp_path / "p.jpg", 2_000
    file.write_bytes(np.random.default_rng(1).bytes(200_000))
    plan: list[Member | Lost] = [Member(str(number), f"{number}.jpg", str(file)) for number in range(count)]
    library: Any = None  # nothing has to be looked for
    tracemalloc.start()
    try:
        pieces, size = stream_archive(library, plan)
        assert size is not None and size > count * 200_000
        sent = most = 0
        planned, _ = tracemalloc.get_traced_memory()
        while piece := join_pieces(pieces):
            assert len(piece) < 2 * PIECE
            sent += len(piece)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sent == size
    assert planned < 4_000_000 and most < planned + 8_000_000 < size / 30


def test_sidecars_go_out_one_after_another() -> None:
    made = 0

    def named() -> Any:
        nonlocal made
        for number in range(2_000):
            made += 1
            yield f"{number}.xmp", write_sidecar(rating=3)

    pieces = stream_sidecars(named())
    next(pieces)
    assert made == 1
    whole = b"".join([b"", *pieces])
    assert made == 2_000 and len(whole) < 2_000_000


HOSTILE = [
    "=1+1",
    "@SUM(A1)",
    "-2+3",
    "\t=1",
    " =1",
    "a\nb",
    'say "x", y',
    "＝1",
    "<b>&amp;</b>",
    "雪",
    "]]>",
    "\x07bell",
]


def test_a_table_has_what_is_known_and_no_formula(served: Served) -> None:
    served.post("/marks", {"pictures": [served.ids[1]], "favourite": True, "stars": 4})
    for name in HOSTILE[:3]:
        id = served.post("/albums", {"name": name})["id"]
        served.post(f"/albums/{id}/pictures", {"add": [served.ids[1]]})
    answer = fetch(served, pictures=served.ids[:3], **{"as": "csv"})
    assert answer.headers["content-type"].startswith("text/csv") and answer.content.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"), newline="")))
    assert [row["id"] for row in rows] == served.ids[:3]
    drawing = served.drawings[1]
    assert (rows[1]["name"], rows[1]["colour"], rows[1]["captions"]) == (
        drawing.path.name,
        drawing.top,
        drawing.caption,
    )
    assert (rows[1]["favourite"], rows[1]["stars"], rows[0]["favourite"], rows[0]["stars"]) == ("yes", "4", "", "0")
    assert rows[1]["albums"] == "'-2+3; =1+1; @SUM(A1)"
    assert rows[1]["path"] == str(drawing.path) and "rank" not in rows[1]
    assert not any(value.startswith(("=", "+", "@")) for row in rows for value in row.values())


@pytest.mark.parametrize("text", HOSTILE)
def test_what_looks_like_a_formula_has_an_apostrophe_before_it(text: str) -> None:
    guarded = guard_cell(text)
    assert guarded in (text, f"'{text}")
    assert not guarded.strip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "＝"))


def test_a_conversations_pictures_come_with_rank_and_score(served: Served) -> None:
    session = served.post("/sessions", {"name": "red ones", "questioner": "none"})["id"]
    served.post(f"/sessions/{session}/turns", {"say": "red"})
    shown = served.get(f"/sessions/{session}/turns/1")["results"]
    told = fetch(served, session=session, n=3, **{"as": "json"})
    assert told.headers["content-disposition"] == 'attachment; filename="red ones.json"'
    found = told.json()
    assert [(it["id"], it["rank"], it["score"], it["match"]) for it in found["pictures"]] == [
        (hit["id"], hit["rank"], hit["score"], hit["match"]) for hit in shown[:3]
    ]
    assert found["missing"] == [] and found["pictures"][0]["columns"]["colour"]
    served.fails(404, "POST", "/exports", {"session": session, "turn": 9, "as": "csv"})
    whole = served.post("/exports", {"session": session, "as": "csv"})
    assert whole["pictures"] == 8 and whole["bytes"] is None


def test_an_album_is_taken_along_by_its_name_and_only_with_the_fields_that_are_wanted(served: Served) -> None:
    id = served.post("/albums", {"name": "Köln: a/b"})["id"]
    served.post(f"/albums/{id}/pictures", {"add": [served.ids[2], served.ids[0]]})
    answer = fetch(served, album=id, fields=["colour", "name"], **{"as": "csv"})
    assert "Koln_ a_b.csv" in answer.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"), newline="")))
    assert rows == [{"name": served.drawings[at].path.name, "colour": served.drawings[at].top} for at in (2, 0)]
    told = served.fails(422, "POST", "/exports", {"album": id, "as": "csv", "fields": ["nonsense"]})
    assert "nonsense" in told["detail"] and "colour" in told["detail"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"as": "zip"},
        {"as": "zip", "pictures": []},
        {"as": "rar", "pictures": ["x"]},
        {"pictures": ["x"]},
        {"as": "csv", "pictures": ["x"], "album": "x"},
        {"as": "csv", "pictures": ["x"], "n": 3},
        {"as": "csv", "session": "x", "n": 10_001},
        {"as": "csv", "pictures": ["x"], "more": 1},
    ],
)
def test_what_is_no_export_is_refused(unchanged: Served, wrong: dict[str, Any]) -> None:
    unchanged.fails(422, "POST", "/exports", wrong)


def test_an_empty_album_is_nothing_to_take_along(served: Served) -> None:
    id = served.post("/albums", {"name": "empty"})["id"]
    assert "nothing" in served.fails(422, "POST", "/exports", {"album": id, "as": "zip"})["detail"]


def test_files_need_the_scope_lists_do_not_and_an_export_is_its_makers(served: Served) -> None:
    reader, taker = served.someone("reader", "read"), served.someone("taker", "read", "download")
    asked = {"pictures": served.ids[:2]}
    assert "'download'" in reader.fails(403, "POST", "/exports", {**asked, "as": "zip"})["detail"]
    lists = reader.post("/exports", {**asked, "as": "json"})["address"]
    told = reader.get(lists)
    assert len(told["pictures"]) == 2 and "path" not in told["pictures"][0]
    assert "/tmp" not in json.dumps(told)
    reader.fails(422, "POST", "/exports", {**asked, "as": "csv", "fields": ["path"]})
    archive = taker.post("/exports", {**asked, "as": "zip"})["address"]
    assert len(unpack(taker.ask("GET", archive).content)) == 2
    taker.fails(404, "GET", lists)
    reader.fails(404, "GET", archive)
    for id in ("nobody", "00000000-0000-0000-0000-000000000000", "%00"):
        served.fails(404, "GET", f"/exports/{id}")


def read_back(content: bytes) -> dict[str, tuple[str, ...]]:
    return {fact.name: fact.values for fact in read_xmp(content, "XMP")}


def test_a_sidecar_says_what_is_known_in_words_that_this_program_reads_again(served: Served) -> None:
    id = served.post("/albums", {"name": "Best of <all> & more"})["id"]
    served.post(f"/albums/{id}/pictures", {"add": [served.ids[1]]})
    served.post("/marks", {"pictures": [served.ids[1]], "stars": 4})
    answer = fetch(served, pictures=served.ids[:2], **{"as": "xmp"})
    assert answer.headers["content-disposition"] == 'attachment; filename="pictures xmp.zip"'
    found = unpack(answer.content)
    assert list(found) == [f"{file.name}.xmp" for file in served.files[:2]]
    drawing, told = served.drawings[1], read_back(found[f"{served.files[1].name}.xmp"])
    assert told["rating"] == ("4",) and told["keywords"] == (drawing.top,)
    assert told["description"] == (drawing.caption,) and told["album"] == ("Best of <all> & more",)
    assert "rating" not in read_back(found[f"{served.files[0].name}.xmp"])


@given(st.lists(st.text(min_size=1, max_size=20), max_size=4), st.text(max_size=40))
def test_whatever_texts_hold_a_sidecar_is_xml(texts: list[str], description: str) -> None:
    from defusedxml.ElementTree import fromstring

    for hostile in (HOSTILE, texts):
        content = write_sidecar(
            keywords=hostile, persons=hostile, albums=hostile, title=description, description=description
        )
        assert fromstring(content).tag == "{adobe:ns:meta/}xmpmeta"
    assert {'say "x", y', "雪", "]]>"} <= set(read_back(write_sidecar(keywords=HOSTILE))["keywords"])


@pytest.mark.skipif(shutil.which("exiftool") is None, reason="exiftool is not here")
def test_exiftool_reads_a_sidecar(tmp_path: Path) -> None:
    file = tmp_path / "a.jpg.xmp"
    words = [text for text in HOSTILE if text == text.strip() and "\n" not in text and "\x07" not in text]
    file.write_bytes(
        write_sidecar(
            keywords=words, rating=4, title="A & B", description="two\nlines", persons=["Ada"], albums=["Best"]
        )
    )
    command = ["exiftool", "-j", "-validate", "-warning", "-XMP:all", str(file)]
    [told] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert "Warning" not in told
    assert (told["Rating"], told["Title"], told["Description"]) == (4, "A & B", "two\nlines")
    assert told["Subject"] == words and told["PersonInImage"] in ("Ada", ["Ada"])
    assert told["CollectionName"] in ("Best", ["Best"])
