"""Which sidecars belong to a picture: names as programs and Google's exports make them."""

from __future__ import annotations

import json
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.pictures.facts import takeout
from viewfinder.pictures.facts.beside import Neighbours, is_sidecar_name, may_be_sidecar, read_sidecar
from viewfinder.pictures.facts.model import Fact

LONG = "Urlaub in Knaufspesch in der Schneifel (38).JPG"
DIGITS = "123456789123456789123456789123456789"
EMOJI = "😀😃😄😁😆😅😂🤣🥲☺️😊😇🙂🙃😉😌😍🥰😘😗😙😚😋"

PAIRS = [
    ("a.jpg", "a.jpg.json"),
    ("a.jpg", "a.jpg.supplemental-metadata.json"),
    ("a.jpg", "A.JPG.supplemental-metadata.json"),
    ("Screenshot_20190317-234331.jpg", "Screenshot_20190317-234331.jpg.supplemental-me.json"),
    ("D7157814-D2D5-4A62-AFCE-9CF465CB7D66.jpeg", "D7157814-D2D5-4A62-AFCE-9CF465CB7D66.jpeg.supp.json"),
    ("Screenshot_20220207_102421_com.snapchat.an.jpg", "Screenshot_20220207_102421_com.snapchat.an.jpg.json"),
    ("Screenshot_20220207_102421_com.snapchat.a.jpg", "Screenshot_20220207_102421_com.snapchat.a.jpg..json"),
    (LONG, "Urlaub in Knaufspesch in der Schneifel (38).JP.json"),
    ("PXL_20230809_203449253.LONG_EXPOSURE-02.ORIGINA.jpg", "PXL_20230809_203449253.LONG_EXPOSURE-02.ORIGIN.json"),
    (f"{EMOJI}😛.jpg", f"{EMOJI}.json"),
    ("a(1).jpg", "a.jpg(1).json"),
    ("a(1).jpg", "a.jpg.supplemental-metadata(1).json"),
    ("a(12).jpg", "a.jpg.suppl(12).json"),
    ("IMG_4081(1).jpg", "IMG_4081.JPG(1).json"),
    ("image(2).png", "image(2).png.supplemental-metadata.json"),
    ("PXL_1.MP(1).jpg", "PXL_1.MP.jpg.supplemental-metadata(1).json"),
    ("21.12(1).11 - 1", "21.12.11 - 1.supplemental-metadata(1).json"),
    (
        "Backyard_ceremony_wedding_photography_xxxxxxx_m(494).jpg",
        "Backyard_ceremony_wedding_photography_xxxxxxx_(494).json",
    ),
    ("13039_327707840323_537645323_9470255_27214_n(1).jpg", "13039_327707840323_537645323_9470255_27214_n.j(1).json"),
    (
        "original_1d4caa6f-16c6-4c3d-901b-9387de10e528_P.jpg",
        "original_1d4caa6f-16c6-4c3d-901b-9387de10e528_.json",
    ),
    (
        "original_1d4caa6f-16c6-4c3d-901b-9387de10e528_P(1).jpg",
        "original_1d4caa6f-16c6-4c3d-901b-9387de10e528_.json",
    ),
    *((f"a{edited}.jpg", "a.jpg.json") for edited in takeout.EDITED),
    ("a-edited.jpg", "a.HEIC.supplemental-metadata.json"),
    ("a-EDITED(1).jpg", "a.jpg.supplemental-metadata(1).json"),
    ("image(3)-edited.jpg", "image.jpg(3).json"),
    (unicodedata.normalize("NFD", "Café-modifié.jpg"), "Café.jpg.json"),
    (f"{'x' * 43}-edi.jpg", f"{'x' * 43}.jp.json"),
    (f"{DIGITS}_DSCN0091(1).JPG", f"{DIGITS}_DSCN0091.JP.supplemental-meta(1).json"),
    (f"{DIGITS}_DSCN0091-ha edit.JPG", f"{DIGITS}_DSCN0091.JP.supplemental-meta.json"),
    (f"{DIGITS}_DSCN0091-ha edit(1).JPG", f"{DIGITS}_DSCN0091.JP.supplemental-meta(1).json"),
    (f"{DIGITS}_DSCN0098-ha(1).JPG", f"{DIGITS}_DSCN0098.JPG.su(1).json"),
    ("a.jpg", "a.jpg.metadata.json"),
    ("a.jpg", "a.HEIC.json"),
    ("a.jpg", "a.json"),
    ("2013-08-22(1).png", "2013-08-22(1).json"),
    ("21.12.11 - 1.jpg", "21.12.11 - 1.json"),
    ("a-edited.jpg", "a.dng.supplemental-metadata.json"),
]

NOT_PAIRS = [
    ("DSC_0103.JPG", "DSC_0103.JPG(1).json"),
    ("DSC_0104(1).JPG", "DSC_0104.JPG.json"),
    ("DSC_0102(1).JPG", "DSC_0102.JPG(2).json"),
    ("PXL_20211013_220651958.jpg", "PXL_20211013_220651983.jpg.json"),
    ("PXL_20220405_090123741.PORTRAIT-modifié.jpg", "PXL_20220405_090123740.PORTRAIT.jpg.json"),
    (
        "Backyard_ceremony_wedding_photography_xxxxxxx_m(185).jpg",
        "Backyard_ceremony_wedding_photography_xxxxxxx_(494).json",
    ),
    ("IMG_1.jpg", "IMG_1.MP4.json"),
    ("IMG_1-edited.jpg", "IMG_1.MP4.json"),
    ("IMG_1.jpg", "IMG_1.PNG.json"),
    ("IMG_1.png", "IMG_1.HEIC.json"),
    ("IMG_1.jpg", "IMG_10.jpg.json"),
    ("a.jpg", "a.jpg.txt"),
    ("-edited.jpg", ".jpg.json"),
]


@pytest.mark.parametrize(("picture", "sidecar"), PAIRS)
def test_google_s_json_is_found_under_all_its_names(picture: str, sidecar: str) -> None:
    assert Neighbours.of([picture, sidecar, "other.jpg", "other.jpg.json"]).find(picture) == (sidecar,)


@pytest.mark.parametrize(("picture", "sidecar"), NOT_PAIRS)
def test_google_s_json_of_another_picture_is_not_taken(picture: str, sidecar: str) -> None:
    assert Neighbours.of([picture, sidecar]).find(picture) == ()


def test_a_json_whose_own_picture_is_there_is_not_lent_to_one_of_the_same_stem() -> None:
    names = ["IMG_1.HEIC", "IMG_1.jpg", "IMG_1.HEIC.json"]
    assert Neighbours.of(names).find("IMG_1.HEIC") == ("IMG_1.HEIC.json",)
    assert Neighbours.of(names).find("IMG_1.jpg") == ()


def test_an_edited_picture_shares_the_json_of_an_original_in_another_format() -> None:
    names = ["IMG_1.HEIC", "IMG_1-edited.jpg", "IMG_1.HEIC.supplemental-metadata.json", "IMG_1.MP4"]
    assert Neighbours.of(names).find("IMG_1-edited.jpg") == ("IMG_1.HEIC.supplemental-metadata.json",)


def test_a_live_photo_s_still_has_the_json_and_the_video_its_own_if_it_has_one() -> None:
    names = ["IMG_1.HEIC", "IMG_1.MP4", "IMG_1.MP4.json", "IMG_1.HEIC.supplemental-metadata.json"]
    assert Neighbours.of(names).find("IMG_1.HEIC") == ("IMG_1.HEIC.supplemental-metadata.json",)


def test_a_picture_s_own_json_counts_before_that_of_its_original_or_number() -> None:
    names = ["a-edited.jpg.json", "a.jpg.json", "a(1).jpg.json", "a.jpg(1).json"]
    assert Neighbours.of(names).find("a-edited.jpg") == ("a-edited.jpg.json",)
    assert Neighbours.of(names).find("a(1).jpg") == ("a(1).jpg.json",)


def test_names_that_differ_in_capitals_only_each_have_their_own() -> None:
    names = ["a.jpg", "A.JPG", "a.jpg.json", "A.JPG.json", "A.JPG.xmp", "a.jpg.xmp"]
    assert Neighbours.of(names).find("a.jpg") == ("a.jpg.xmp", "a.jpg.json")
    assert Neighbours.of(names).find("A.JPG") == ("A.JPG.xmp", "A.JPG.json")


def test_an_xmp_of_the_whole_name_counts_before_one_that_all_pictures_of_the_stem_share() -> None:
    names = ["a.CR2", "a.jpg", "a.XMP", "a.jpg.xmp", "a_01.jpg.xmp", "ab.xmp", "a.jpg.json"]
    assert Neighbours.of(names).find("a.jpg") == ("a.jpg.xmp", "a.XMP", "a.jpg.json")
    assert Neighbours.of(names).find("a.CR2") == ("a.XMP",)


def test_an_album_s_file_goes_with_pictures_that_have_a_json_and_in_no_other_folder() -> None:
    names = ["a.jpg", "b.jpg", "c.jpg", "a.jpg.json", "c.json", "Metadaten.json"]
    assert Neighbours.of(names).find("a.jpg") == ("a.jpg.json", "Metadaten.json")
    assert Neighbours.of(names).find("b.jpg") == ()
    assert Neighbours.of(names).find("c.jpg") == ("c.json",)
    cut = f"{LONG[:46]}.json"
    assert Neighbours.of([LONG, cut, "metadata.json"]).find(LONG) == (cut, "metadata.json")


def test_only_names_that_say_so_are_sidecars_for_sure() -> None:
    sure = ["a.xmp", "a.jpg.XMP", "a.jpg.json", "a.MP4.json", "a.s.json", "a.jpg(1).json", "metadata.json"]
    other = ["a.json", "package.json", "a.jpg", "xmp", ".json", "annotations.json", "a.xml"]
    assert [name for name in sure + other if is_sidecar_name(name)] == sure


def find_slowly(picture: str, names: list[str]) -> set[str]:
    """All JSON of a picture by the plain rules, each name made and compared: no cut names, no other extensions."""
    ends = ["", *("." + "supplemental-metadata"[:length] for length in range(22))]
    stem, _, extension = picture.rpartition(".")
    wanted = {f"{picture}{end}.json" for end in ends}
    if stem.endswith(")") and stem[stem.rfind("(") + 1 : -1].isdecimal():
        start, number = stem[: stem.rfind("(")], stem[stem.rfind("(") :]
        wanted |= {f"{start}.{extension}{end}{number}.json" for end in ends if start}
    return {name for name in names if name.lower() in {one.lower() for one in wanted}}


STEMS = st.sampled_from(["a", "b", "ab", "a(1)", "a(2)", "b(1)", "IMG_1", "IMG_1(1)"])
PICTURES = st.builds("{}.{}".format, STEMS, st.sampled_from(["jpg", "JPG", "png"]))
ENDS = st.sampled_from(["", ".", ".s", ".suppl", ".supplemental-metadata", ".supplemental-metadata(1)", "(1)", "(2)"])
JSONS = st.builds("{}{}.json".format, PICTURES, ENDS)


@given(pictures=st.lists(PICTURES, unique=True), jsons=st.lists(JSONS, unique=True))
def test_a_look_up_finds_one_of_what_a_slow_search_of_all_names_finds(pictures: list[str], jsons: list[str]) -> None:
    neighbours = Neighbours.of([*pictures, *jsons])
    for picture in pictures:
        slowly = find_slowly(picture, jsons)
        found = neighbours.find(picture)
        assert len(found) <= 1
        assert set(found) <= slowly if slowly else all(name.rpartition(".")[0] not in slowly for name in found)
        assert not slowly or found


@given(st.lists(st.text(max_size=60), max_size=20), st.text(max_size=60))
def test_any_names_at_all_are_borne(names: list[str], picture: str) -> None:
    ends = [f"{name}{end}" for name in names for end in (".json", ".xmp", "(1).json")]
    assert set(Neighbours.of([*names, *ends]).find(picture)) <= {*names, *ends}


def test_a_folder_of_a_hundred_thousand_names_takes_seconds_and_keeps_only_sidecars() -> None:
    names = [f"IMG_{number:06}.jpg" for number in range(60_000)]
    names += [f"IMG_{number:06}.jpg.supplemental-metadata.json" for number in range(40_000)]
    started = time.process_time()
    neighbours = Neighbours.of(names)
    found = sum(bool(neighbours.find(name)) for name in names[:60_000])
    assert found == 40_000
    assert time.process_time() - started < 20
    assert sum(map(len, neighbours.json.values())) == 40_000


def test_what_is_found_is_read_as_the_picture_s(tmp_path: Path) -> None:
    said = {"title": "a.jpg", "photoTakenTime": {"timestamp": "1563098580"}}
    (tmp_path / "a.jpg.supplemental-metadata.json").write_text(json.dumps(said))
    (tmp_path / "metadata.json").write_text(json.dumps({"title": "Summer", "date": {}}))
    sidecars = Neighbours.of([path.name for path in tmp_path.iterdir()]).find("a-edited.jpg")
    facts = [fact for name in sidecars for fact in read_sidecar(tmp_path / name, "a-edited.jpg")]
    assert [(fact.name, fact.values) for fact in facts] == [
        ("captured", ("2019-07-14T10:03:00+00:00",)),
        ("album", ("Summer",)),
    ]


def test_names_given_in_two_parts_are_as_good_as_in_one() -> None:
    names = ["IMG_1.HEIC", "IMG_1.jpg", "IMG_1.HEIC.json", "b.jpg", "b.HEIC.json", "b.xmp"]
    whole = Neighbours.of(names)
    parts = Neighbours.of(filter(may_be_sidecar, names), (name for name in names if not may_be_sidecar(name)))
    assert [parts.find(name) for name in names] == [whole.find(name) for name in names]


def make_xmp(inside: str) -> bytes:
    return (
        "<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'"
        " xmlns:dc='http://purl.org/dc/elements/1.1/'><rdf:Description rdf:about=''>"
        f"{inside}</rdf:Description></rdf:RDF></x:xmpmeta>"
    ).encode()


def test_an_xmp_beside_a_picture_is_read_with_its_name_as_the_source(tmp_path: Path) -> None:
    words = "<dc:subject><rdf:Bag><rdf:li>beach</rdf:li><rdf:li>sun</rdf:li></rdf:Bag></dc:subject>"
    (tmp_path / "a.jpg.xmp").write_bytes(make_xmp(words))
    assert read_sidecar(tmp_path / "a.jpg.xmp") == (Fact("keywords", ("beach", "sun"), "a.jpg.xmp: dc:subject"),)


@pytest.mark.parametrize(
    "data",
    [
        b"not XML",
        make_xmp("<dc:subject>")[:-40],
        b"<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>" + b"<!ENTITY b '&a;&a;&a;&a;'>" * 3 + b"]>" + make_xmp("&b;"),
        make_xmp("<dc:a>" * 100_000),
        b"\x00" * 1_000_000,
    ],
)
def test_a_damaged_or_hostile_xmp_gives_nothing_and_takes_no_time(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.xmp").write_bytes(data)
    started = time.process_time()
    assert read_sidecar(tmp_path / "a.xmp") == ()
    assert time.process_time() - started < 5


def test_names_that_are_not_unicode_are_borne_and_matched() -> None:
    odd = "caf\udce9" + "x" * 60 + ".jpg"
    assert Neighbours.of([odd, f"{odd}.json", f"{odd}.xmp"]).find(odd) == (f"{odd}.xmp", f"{odd}.json")
    assert Neighbours.of([odd, f"{odd[:46]}.json", ".picasa.ini"]).find(odd) == (f"{odd[:46]}.json", ".picasa.ini")
