"""What Picasa's file of a folder says of each picture in it."""

from __future__ import annotations

import time
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from viewfinder.pictures.facts.beside import Neighbours, read_sidecar
from viewfinder.pictures.facts.model import Fact
from viewfinder.pictures.facts.picasa import read_picasa

FOLDER = """[Picasa]\r
name=Summer\r
[Contacts2]\r
b8e4117cf1d6615b=Ada Lovelace;;\r
8e62b2035b74b477=Дочь;ada@example.org;\r
[.album:604c294a68b0de9cc9222c4714f289d5]\r
name=Best = of\r
token=604c294a68b0de9cc9222c4714f289d5\r
[a.jpg]\r
star=yes\r
faces=rect64(3f845bcb59418507),b8e4117cf1d6615b;rect64(3f845bcb59418507),ffffffffffffffff;rect64(1),8E62B2035B74B477\r
albums=604c294a68b0de9cc9222c4714f289d5,0\r
geotag=48.137, -11.5\r
backuphash=36003\r
[b.png]\r
caption=Am Meer (Köln)\r
keywords=sun, sand,,\r
[c.jpg]\r
rotate=rotate(1)\r
"""


def test_each_picture_has_its_own_section_with_star_people_albums_and_place() -> None:
    assert read_picasa(FOLDER.encode(), ".picasa.ini", "A.JPG") == [
        Fact("keywords", ("favorite",), ".picasa.ini: star"),
        Fact("persons", ("Ada Lovelace", "Дочь"), ".picasa.ini: faces"),
        Fact("album", ("Best = of",), ".picasa.ini: albums"),
        Fact("latitude", ("48.137",), ".picasa.ini: geotag"),
        Fact("longitude", ("-11.5",), ".picasa.ini: geotag"),
    ]
    assert read_picasa(FOLDER.encode(), "x", "c.jpg") == read_picasa(FOLDER.encode(), "x", "d.jpg") == []


def test_captions_and_keywords_are_read_in_utf_8_and_in_the_code_page_before() -> None:
    for coding in ("utf-8", "cp1252"):
        data = FOLDER.replace("Дочь", "Tochter").encode(coding)
        assert read_picasa(data, "p", "b.png") == [
            Fact("description", ("Am Meer (Köln)",), "p: caption"),
            Fact("keywords", ("sun", "sand"), "p: keywords"),
        ]


def test_the_folder_s_file_is_a_sidecar_of_every_picture_and_read_with_its_name(tmp_path: Path) -> None:
    (tmp_path / ".picasa.ini").write_text("[a.jpg]\nstar=yes\n")
    assert Neighbours.of(["a.jpg", ".picasa.ini", "a.xmp"]).find("a.jpg") == ("a.xmp", ".picasa.ini")
    assert [fact.values for fact in read_sidecar(tmp_path / ".picasa.ini", "a.jpg")] == [("favorite",)]
    assert read_sidecar(tmp_path / ".picasa.ini", "b.jpg") == read_sidecar(tmp_path / ".picasa.ini") == ()


@given(st.binary(max_size=400), st.text(max_size=20))
def test_any_bytes_at_all_are_borne(data: bytes, picture: str) -> None:
    read_picasa(data, "p", picture)
    read_picasa(b"[a]\n" + data, "p", "a")


def test_a_file_made_to_cost_time_costs_little() -> None:
    faces = ";".join(["rect64(1),b8e4117cf1d6615b"] * 20_000)
    data = f"[Contacts2]\nb8e4117cf1d6615b=Ada;;\n[a]\nfaces={faces}\nalbums={',' * 500_000}\n".encode()
    started = time.process_time()
    read_picasa(data + b"[" * 500_000, "p", "a")
    assert time.process_time() - started < 2
