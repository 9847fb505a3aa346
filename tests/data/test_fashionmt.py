import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.data.fashionmt import (
    FashionMT,
    Transaction,
    fashionmt_sources,
    product_of,
    read_caption_files,
    read_titles,
    read_transactions,
    write_transactions,
)
from viewfinder.data.files import Dropped
from viewfinder.errors import BadInput, UnknownName
from viewfinder.wording.modifications import Modification, OrdinalReference, parse_ordinal_reference, split_modification

SAID = ("1. is darker 2. is plain ", "1. is red ", "I prefer the FIRST, and 1. is red 2. is shorter ")
TRANSACTION = Transaction("/img/a.jpg", ("/img/b.jpg", "/img/c.jpg", "/img/d.jpg"), SAID, ("a", "b", "c", "d"))


def _folder(folder: Path, *transactions: Transaction, source: str = "shoes", split: str = "test") -> Path:
    wanted = ["/img/d.jpg", "/img/a.jpg"]
    write_transactions(folder, source, split, transactions or [TRANSACTION], wanted)
    return folder


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    data, report = read_transactions(_folder(tmp_path), "shoes", "test")
    assert data == FashionMT("shoes", "test", (TRANSACTION,), ("/img/d.jpg", "/img/a.jpg"))
    assert (report.expected, report.found, report.dropped) == (1, 1, ())


def test_sources_are_told_from_the_files(tmp_path: Path) -> None:
    _folder(tmp_path, source="200k", split="train")
    assert fashionmt_sources(_folder(tmp_path)) == {"200k": ("train",), "shoes": ("test",)}
    with pytest.raises(BadInput, match=r"modifiers: no file here is called like <source>_<split>_cap.json;"):
        fashionmt_sources(tmp_path / "modifiers")


def test_a_record_has_the_published_fields(tmp_path: Path) -> None:
    records = json.loads((_folder(tmp_path) / "modifiers" / "shoes_test_cap.json").read_text())
    fields = ["ref", "tar1", "tar2", "tar3", "mod1", "mod2", "mod3", "cap0", "cap1", "cap2", "cap3"]
    assert list(records[0]) == fields
    assert (records[0]["ref"], records[0]["tar3"], records[0]["cap3"]) == ("/img/a.jpg", "/img/d.jpg", "d")
    assert (tmp_path / "modifiers" / "shoes_index_names.txt").read_text() == "/img/d.jpg\n/img/a.jpg\n"


def test_captions_may_be_absent_and_turns_more_or_fewer(tmp_path: Path) -> None:
    short = Transaction("/img/c.jpg", ("/img/a.jpg",), ("1. is red",))
    assert read_transactions(_folder(tmp_path, short), "shoes", "test")[0].transactions == (short,)


def test_pictures_are_named_by_product_where_the_gallery_is(tmp_path: Path) -> None:
    pictures = tuple(f"/img/{name}.png" for name in ("B2", "B3", "B4"))
    write_transactions(tmp_path, "Fiq", "val", [Transaction("/img/B1.png", pictures, SAID)], ["B4", "B1"])
    data, _ = read_transactions(tmp_path, "Fiq", "val")
    assert data.transactions[0].pictures == ("B1", "B2", "B3", "B4")


def test_the_wanted_picture_must_be_in_the_gallery_except_in_training(tmp_path: Path) -> None:
    other = replace(TRANSACTION, targets=("/img/b.jpg", "/img/c.jpg", "/img/e.jpg"))
    where = r"shoes_test_cap\.json: \[1\], field 'tar3': /img/e\.jpg is not among the 2 pictures of the gallery"
    with pytest.raises(BadInput, match=where):
        read_transactions(_folder(tmp_path, TRANSACTION, other), "shoes", "test")
    _folder(tmp_path, other, split="train")
    assert read_transactions(tmp_path, "shoes", "train")[0].transactions == (other,)


def test_a_picture_that_the_gallery_lists_again_is_reported(tmp_path: Path) -> None:
    names = _folder(tmp_path) / "modifiers" / "shoes_index_names.txt"
    names.write_text("/img/d.jpg\n\n/img/a.jpg\n/img/d.jpg\n")
    data, report = read_transactions(tmp_path, "shoes", "test")
    assert data.gallery == ("/img/d.jpg", "/img/a.jpg")
    assert report.dropped == (Dropped("shoes_index_names.txt: [2]", "/img/d.jpg is there already, at [0]"),)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"tar1": "b", "mod1": ""}, "field 'ref' is needed"),
        ({"ref": "a"}, r"fields tar1, mod1, tar2, mod2 \.\. are needed; it has ref"),
        ({"ref": "a", "tar2": "b", "mod2": ""}, "fields tar1, mod1"),
        ({"ref": "a", "tar1": "b"}, "field 'mod1' is needed"),
        ({"ref": "a", "tar1": "b", "mod1": "", "cap0": ""}, "field 'cap1' is needed"),
        ("a", "field 'ref' is needed"),
    ],
)
def test_a_transaction_of_the_wrong_form_is_named(tmp_path: Path, record: Any, message: str) -> None:
    (_folder(tmp_path) / "modifiers" / "shoes_test_cap.json").write_text(json.dumps([record]))
    with pytest.raises(BadInput, match=rf"shoes_test_cap\.json: \[0\]: {message}"):
        read_transactions(tmp_path, "shoes", "test")


def test_an_unknown_source_or_split_and_a_truncated_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"shoes_val_cap\.json: no such file.*there are: shoes_test_cap\.json"):
        read_transactions(_folder(tmp_path), "shoes", "val")
    file = tmp_path / "modifiers" / "shoes_test_cap.json"
    file.write_text(file.read_text()[:-5])
    with pytest.raises(BadInput, match=r"shoes_test_cap\.json, line \d+, column \d+: damaged JSON"):
        read_transactions(tmp_path, "shoes", "test")


@pytest.mark.parametrize(
    ("text", "lead", "said"),
    [
        ("1. is darker 2. has long sleeves 3. is plain ", "", ("is darker", "has long sleeves", "is plain")),
        ("I prefer the FIRST, and 1. is red", "I prefer the FIRST, and", ("is red",)),
        ("1. has a 3 inch heel 2. costs 2.50", "", ("has a 3 inch heel", "costs 2.50")),
        ("1. is red  4. keep the FIRST's sleeve", "", ("is red", "keep the FIRST's sleeve")),
        (" 4. keep the SECOND's collar", "", ("keep the SECOND's collar",)),
        ("1.is red 2.is size 4. 3. is new", "", ("is red", "is size 4.", "is new")),
        ("is red", "", ("is red",)),
        ("I like the SECOND better, and ", "I like the SECOND better, and", ()),
        (" ", "", ()),
    ],
)
def test_a_modification_is_cut_at_its_numbers_and_only_there(text: str, lead: str, said: tuple[str, ...]) -> None:
    assert split_modification(text) == Modification(lead, said)


@given(
    st.sampled_from(["", "I prefer the FIRST, and"]),
    st.lists(st.sampled_from(["is red", "has 3 buttons", "costs 9.99", "is a 2 piece", "é"]), min_size=1, max_size=5),
)
def test_clauses_that_are_numbered_come_back(lead: str, said: list[str]) -> None:
    numbered = "".join(f"{number}. {clause} " for number, clause in enumerate(said, start=1))
    assert split_modification(f"{lead} {numbered}") == Modification(lead, tuple(said))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SAID[2], OrdinalReference("rollback", (0,))),
        ("I would rather choose the SECOND, and 1. is red", OrdinalReference("rollback", (1,))),
        ("I like the SECOND better, and ", OrdinalReference("rollback", (1,))),
        ("1. is red 4. keep the FIRST's neck and keep the SECOND's hem", OrdinalReference("combination", (0, 1))),
        (
            "1. is red 4. keep the FIRST's a design, the SECOND's b design and the THIRD's c design",
            OrdinalReference("combination", (0, 1, 2)),
        ),
        ("1. is red 4. keep the SECOND's None", OrdinalReference("combination", ())),
        ("4. keep the FIRST's neck and keep the SECOND's None", OrdinalReference("combination", (0,))),
        ("1. shows FIRST AID on the chest", None),
        ("1. is darker than the first", None),
        ("", None),
    ],
)
def test_what_a_modification_says_of_earlier_pictures(text: str, expected: OrdinalReference | None) -> None:
    assert parse_ordinal_reference(text) == expected


def test_a_look_back_points_into_the_pictures_of_its_transaction() -> None:
    seen = parse_ordinal_reference(TRANSACTION.modifications[-1])
    assert seen is not None
    assert [TRANSACTION.pictures[place] for place in seen.places] == ["/img/a.jpg"]
    assert [parse_ordinal_reference(text) for text in TRANSACTION.modifications[:-1]] == [None, None]


@pytest.mark.parametrize(
    ("source", "picture", "product"),
    [
        ("FC", "/img/1234/0_front.jpg", "1234"),
        ("200k", "/img/dresses/51727804/51727804_0.jpeg", "51727804"),
        ("shoes", "/img/womens_boots/img_womens_boots_7.jpg", "img_womens_boots_7"),
        ("Fiq", "B00A", "B00A"),
    ],
)
def test_captions_are_kept_under_a_product_or_a_picture(source: str, picture: str, product: str) -> None:
    assert product_of(source, picture) == product


def test_titles_and_captions_are_read_by_product(tmp_path: Path) -> None:
    (tmp_path / "51.txt").write_text("a red dress\n")
    assert read_caption_files(tmp_path) == {"51": "a red dress"}
    file = tmp_path / "FC-caption.json"
    file.write_text('{"51": "Red Dress"}')
    assert read_titles(file) == {"51": "Red Dress"}
    file.write_text('{"51": ["Red Dress"]}')
    with pytest.raises(BadInput, match=r"FC-caption\.json: field '51' is needed \(str\)"):
        read_titles(file)
