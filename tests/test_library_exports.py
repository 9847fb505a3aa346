"""Tables as shops, photo programs and data hubs export them, in their layouts, added to a library of pictures."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

import viewfinder.library
from viewfinder.errors import BadInput
from viewfinder.library import Library
from viewfinder.testing import COLOURS, load_colour_encoder

Fill = Callable[..., Library]
needs_exiftool = pytest.mark.skipif(shutil.which("exiftool") is None, reason="exiftool is not installed")


@pytest.fixture
def fill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fill:
    """A library of small pictures with the given names, each of another colour."""
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)

    def make(*names: str) -> Library:
        for number, name in enumerate(names):
            path = tmp_path / "pictures" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            picture = Image.new("RGB", (16, 12), list(COLOURS.values())[number % len(COLOURS)])
            picture.putpixel((0, 0), (number, number, 200))
            picture.save(path)
        library = Library.open(tmp_path / "library")
        library.add(tmp_path / "pictures", workers=1)
        return library

    return make


def write_csv(path: Path, columns: Sequence[str], *rows: Sequence[str], delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, delimiter=delimiter).writerows([columns, *rows])
    return path


def said(library: Library, column: str) -> dict[str, tuple[str, ...]]:
    """The values of a column by name of file."""
    return {row.path.name: tuple(row.attributes.get(column, ())) for row in library}


def found(library: Library, **where: str) -> set[str]:
    return {hit.path.name for hit in library.find("red", n=50, where=where, fold=False)}


# -- shops

SHOPIFY = [
    *("Handle", "Title", "Body (HTML)", "Vendor", "Product Category", "Type", "Tags", "Published", "Option1 Name"),
    *("Option1 Value", "Variant SKU", "Variant Price", "Image Src", "Image Position", "Image Alt Text"),
    *("Variant Image", "Status"),
]


def shopify(path: Path) -> Path:
    """Two products: three sizes and two pictures; one size and one picture whose name the shop has encoded."""
    cdn = "https://cdn.shopify.com/s/files/1/0012/products/"
    blue = (
        *("blue-shirt", "Shirt, blue", "<p>Cotton &amp; linen</p>", "Acme", "Apparel & Accessories > Clothing"),
        *("Shirts", "sale, summer", "TRUE"),
    )
    hat = ("hat", "Hat", "", "Acme", "Apparel & Accessories", "Hats", "summer", "TRUE", "Title", "Default Title")
    empty = ["blue-shirt", *[""] * 7]
    return write_csv(
        path,
        SHOPIFY,
        [*blue, "Size", "S", "BS-S", "19.90", f"{cdn}shirt_front.jpg?v=169", "1", "front", "", "active"],
        [*empty, "", "M", "BS-M", "21.50", f"{cdn}shirt_back.jpg?v=169", "2", "back", "", ""],
        [*empty, "", "L", "BS-L", "23.00", "", "", "", "", ""],
        [*hat, "HAT", "9.00", f"{cdn}straw%20hat_1024x1024.jpg?v=3", "1", "", "", "active"],
    )


def test_a_shopify_export_names_pictures_by_address_and_later_rows_go_on_with_a_product(
    fill: Fill, tmp_path: Path
) -> None:
    library = fill("shirt_front.jpg", "shirt_back.jpg", "straw hat.jpg", "other.jpg")
    report = library.add(catalogue=shopify(tmp_path / "products_export.csv"))
    assert (report.described, report.notes) == (3, [])
    names = {"shirt_front.jpg", "shirt_back.jpg"}
    assert said(library, "Title") == {
        **dict.fromkeys(names, ("Shirt, blue",)), "straw hat.jpg": ("Hat",), "other.jpg": ()
    }  # fmt: skip
    assert found(library, Tags="sale") == names
    assert found(library, **{"Product Category": "Clothing"}) == names
    assert said(library, "Option1 Value")["shirt_back.jpg"] == ("S", "M", "L")
    assert said(library, "Image Alt Text")["shirt_back.jpg"] == ("back",)
    assert said(library, "Body (HTML)")["shirt_front.jpg"] == ("Cotton & linen",)
    assert found(library, **{"Variant Price": "23..24"}) == names


def test_the_pictures_of_a_product_are_one_result_that_names_the_others(fill: Fill, tmp_path: Path) -> None:
    library = fill("shirt_front.jpg", "shirt_back.jpg", "straw hat.jpg", "other.jpg")
    library.add(catalogue=shopify(tmp_path / "products_export.csv"))
    ids = {row.path.name: row.id for row in library}
    hits = library.find("red", n=10)
    shirt = next(hit for hit in hits if hit.path.name.startswith("shirt"))
    assert sorted(hit.path.name.partition("_")[0] for hit in hits) == ["other.jpg", "shirt", "straw hat.jpg"]
    assert {shirt.id, *shirt.others} == {ids["shirt_front.jpg"], ids["shirt_back.jpg"]}
    assert [hit.rank for hit in hits] == [1, 2, 3]
    every = library.find("red", n=10, fold=False)
    assert len(every) == 4
    assert not any(hit.others for hit in every)
    # The best picture of the product stands for it, and as many results come as are asked for.
    assert shirt.id == next(hit.id for hit in every if hit.path.name.startswith("shirt"))
    assert len(library.find("red", n=3)) == 3
    assert hits.to_json()["results"][shirt.rank - 1]["others"] == list(shirt.others)
    assert "others" not in every.to_json()["results"][0]


GOOGLE = [
    *("id", "title", "description", "link", "image_link", "additional_image_link", "availability", "price", "brand"),
    *("product_type", "item_group_id"),
]


def test_a_google_feed_has_further_pictures_and_prices_with_currency(fill: Fill, tmp_path: Path) -> None:
    library = fill("a1.jpg", "a2.jpg", "a3.jpg", "b1.jpg", "c1.jpg")
    cdn = "https://img.example/p/"
    feed = write_csv(
        tmp_path / "feed.tsv",
        GOOGLE,
        ["SKU1", "Shirt, blue", "Fine, soft", "https://s.example/1", f"{cdn}a1.jpg", f"{cdn}a2.jpg,{cdn}a3.jpg",
         "in_stock", "15.00 USD", "Acme", "Clothing > Shirts", ""],
        ["SKU2", "Hat, red", "Warm", "https://s.example/2", f"{cdn}b1.jpg", "", "in_stock", "1,250.00 USD", "Acme",
         "Clothing > Hats", "G7"],
        ["SKU3", "Hat, blue", "Warm", "https://s.example/3", f"{cdn}c1.jpg", "", "out_of_stock", "9.50 USD", "Acme",
         "Clothing > Hats", "G7"],
        delimiter="\t",
    )  # fmt: skip
    report = library.add(catalogue=feed)
    assert (report.described, report.notes) == (5, [])
    assert found(library, price="10..20") == {"a1.jpg", "a2.jpg", "a3.jpg"}
    assert found(library, price="1000..") == {"b1.jpg"}
    assert found(library, product_type="hats") == {"b1.jpg", "c1.jpg"}
    assert said(library, "title")["b1.jpg"] == ("Hat, red",)
    assert {len(hit.others) for hit in library.find("red")} == {1, 2}  # variants of one group are one product
    assert len(library.find("red")) == 2


WOOCOMMERCE = (
    "ID,Type,SKU,Name,Published,Description,Regular price,Categories,Tags,Images,Attribute 1 name,Attribute 1 value(s)"
)


def test_a_woocommerce_export_has_several_pictures_in_a_cell(fill: Fill, tmp_path: Path) -> None:
    library = fill("cup-1.jpg", "cup-2.jpg", "44.jpg", "pot.jpg")
    home = "https://shop.example/wp-content/uploads/2024/05"
    export = write_csv(
        tmp_path / "wc-product-export.csv",
        WOOCOMMERCE.split(","),
        ["44", "simple", "", "Cup, white", "1", "A cup.\nWhite.", "4,50", "Kitchen > Cups, Gifts", "new, white",
         f"{home}/cup-1.jpg, {home}/cup-2.jpg, {home}/cup-3.jpg", "Colour", "White, Blue"],
        ["45", "simple", "P-1", "Pot", "1", "A pot.", "12", "Kitchen", "new", f"{home}/pot-300x300.jpg", "", ""],
        ["46", "simple", "P-2", "Lid", "1", "A lid.", "3", "Kitchen", "", f"{home}/lid.jpg", "", ""],
    )  # fmt: skip
    report = library.add(catalogue=export)
    assert report.described == 3
    assert report.notes == [f"wc-product-export.csv: about no picture in the library: 2 (first: {home}/cup-3.jpg)"]
    assert said(library, "Name") == {
        **dict.fromkeys(("cup-1.jpg", "cup-2.jpg"), ("Cup, white",)), "pot.jpg": ("Pot",), "44.jpg": ()
    }  # fmt: skip
    assert said(library, "Categories")["cup-1.jpg"] == ("Kitchen", "Cups", "Gifts")
    assert said(library, "Attribute 1 value(s)")["cup-2.jpg"] == ("White", "Blue")
    assert found(library, **{"Regular price": "4..5"}) == {"cup-1.jpg", "cup-2.jpg"}
    assert len(library.find("red", n=10)) == 3


def test_an_etsy_listing_has_a_column_for_each_picture(fill: Fill, tmp_path: Path) -> None:
    library = fill("il_1.jpg", "il_2.jpg", "il_3.jpg")
    columns = ["TITLE", "DESCRIPTION", "PRICE", "CURRENCY_CODE", "TAGS", "MATERIALS", "IMAGE1", "IMAGE2", "SKU"]
    at = "https://i.etsystatic.com/1/r/il"
    rows = [
        ["Ring, silver", "Made by hand, in silver.", "39.00", "EUR", "ring,silver_ring", "silver", f"{at}/il_1.jpg",
         f"{at}/il_2.jpg", "R1"],
        ["Bowl", "A bowl.", "12.00", "EUR", "bowl", "clay,glaze", f"{at}/il_3.jpg", "", ""],
    ]  # fmt: skip
    assert library.add(catalogue=write_csv(tmp_path / "EtsyListingsDownload.csv", columns, *rows)).described == 3
    assert said(library, "TITLE")["il_2.jpg"] == ("Ring, silver",)
    assert said(library, "TAGS")["il_1.jpg"] == ("ring", "silver_ring")
    assert len(library.find("red", n=10)) == 2


def test_a_magento_export_has_paths_of_its_own(fill: Fill, tmp_path: Path) -> None:
    library = fill("mb01-blue-0.jpg", "mb01-blue-1.jpg")
    columns = ["sku", "categories", "name", "price", "base_image", "base_image_label", "additional_images"]
    row = ["24-MB01", "Default Category/Gear,Default Category/Gear/Bags", "Duffle Bag", "34.0000",
           "/m/b/mb01-blue-0.jpg", "", "/m/b/mb01-blue-0.jpg,/m/b/mb01-blue-1.jpg"]  # fmt: skip
    assert library.add(catalogue=write_csv(tmp_path / "catalog_product.csv", columns, row)).described == 2
    assert said(library, "categories")["mb01-blue-1.jpg"] == ("Default Category/Gear", "Default Category/Gear/Bags")
    [hit] = library.find("red")
    assert len(hit.others) == 1


def test_the_list_of_products_of_a_shops_api_is_a_table(fill: Fill, tmp_path: Path) -> None:
    library = fill("mug.jpg", "mug2.jpg", "jar.jpg")
    products = [
        {"id": 1, "title": "Mug, red", "tags": ["kitchen", "gifts, small"], "images": [
            {"id": 7, "src": "https://cdn.example/mug.jpg?v=1"}, {"id": 8, "src": "https://cdn.example/mug2.jpg?v=1"}]},
        {"id": 2, "title": "Jar", "tags": ["kitchen"], "price": {"value": 12.50, "currency": "EUR"}, "images": [
            {"id": 9, "src": "https://cdn.example/jar.jpg?v=1"}]},
    ]  # fmt: skip
    (tmp_path / "products.json").write_text(json.dumps({"products": products}))
    assert library.add(catalogue=tmp_path / "products.json").described == 3
    assert said(library, "tags")["mug2.jpg"] == ("kitchen", "gifts, small")
    assert said(library, "price.value")["jar.jpg"] == ("12.5",)
    assert len(library.find("red")) == 2


# -- photo programs and data hubs


@needs_exiftool
@pytest.mark.parametrize("kind", ["-csv", "-json"])
def test_the_output_of_exiftool_is_a_catalogue(fill: Fill, tmp_path: Path, kind: str) -> None:
    library = fill("beach/a.jpg", "b.jpg", "sub/a.jpg")
    pictures = tmp_path / "pictures"
    words = ["-overwrite_original", "-keywords=sea", "-keywords=sun", "-XMP:Rating=4"]
    subprocess.run(["exiftool", *words, str(pictures / "beach/a.jpg")], check=True, capture_output=True)
    subprocess.run(["exiftool", "-overwrite_original", "-keywords=sea", str(pictures / "b.jpg")], check=True,
                   capture_output=True)  # fmt: skip
    library.add(pictures, workers=1)
    made = subprocess.run(["exiftool", kind, "-r", "."], cwd=pictures, check=True, capture_output=True).stdout
    table = tmp_path / f"exif{kind.replace('-', '.')}"
    table.write_bytes(made)
    report = library.add(catalogue=table)
    assert (report.described, report.notes) == (3, [])
    of_path = {row.path.relative_to(pictures).as_posix(): row.attributes for row in library}
    assert of_path["beach/a.jpg"]["Keywords"] == ("sea", "sun")
    assert of_path["b.jpg"]["Keywords"] == ("sea",)
    assert "Keywords" not in of_path["sub/a.jpg"]
    assert of_path["beach/a.jpg"]["Rating"] == ("4",)


def hub_rows() -> list[dict[str, Any]]:
    return [
        {"file_name": "train/0001.png", "text": "a red thing", "tags": ["red", "thing"], "label": 1},
        {"file_name": "train/0002.png", "text": "a blue thing", "tags": ["blue"], "label": 0},
    ]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "json"])
def test_the_metadata_of_an_image_folder_are_catalogue_and_captions(fill: Fill, tmp_path: Path, kind: str) -> None:
    library = fill("train/0001.png", "train/0002.png", "test/0001.png")
    table = tmp_path / "pictures" / f"metadata.{kind}"
    rows = hub_rows()
    if kind == "csv":
        plain = [["; ".join(it) if isinstance(it, list) else str(it) for it in row.values()] for row in rows]
        write_csv(table, list(rows[0]), *plain)
    elif kind == "parquet":
        extra = [{**row, "thumb": {"bytes": b"\xff\xd8", "path": None}} for row in rows]
        parquet.write_table(pa.Table.from_pylist(extra), table)
    else:
        text = "\n".join(map(json.dumps, rows)) if kind == "jsonl" else json.dumps(rows, indent=1)
        table.write_text(text)
    report = library.add(captions=table, catalogue=table)
    assert (report.described, report.notes) == (2, [])
    of_path = {row.path.relative_to(tmp_path / "pictures").as_posix(): row for row in library}
    assert of_path["train/0001.png"].captions == ("a red thing",)
    assert of_path["train/0001.png"].attributes["tags"] == ("red", "thing")
    assert of_path["train/0002.png"].attributes["label"] == ("0",)
    assert of_path["test/0001.png"].captions == ()


def test_metadata_in_each_folder_mean_the_pictures_beside_them(fill: Fill, tmp_path: Path) -> None:
    library = fill("train/0001.png", "test/0001.png")
    for split in ("train", "test"):
        table = write_csv(tmp_path / "pictures" / split / "metadata.csv", ["file_name", "split"], ["0001.png", split])
        assert library.add(catalogue=table).described == 1
    assert {row.path.parent.name: row.attributes["split"] for row in library} == {
        "train": ("train",),
        "test": ("test",),
    }


# -- which column


@pytest.mark.parametrize("column", ["SourceFile", "Image Src", "Foto", "image url", "FileName", "x"])
def test_the_key_is_the_column_whose_values_are_pictures_whatever_it_is_called(
    fill: Fill, tmp_path: Path, column: str
) -> None:
    library = fill("1.png", "2.png")
    table = write_csv(tmp_path / "t.csv", ["size", column, "colour"], ["3", "1.png", "red"], ["4", "2.PNG", "blue"])
    assert library.add(catalogue=table).described == 2
    assert said(library, "colour") == {"1.png": ("red",), "2.png": ("blue",)}


def test_a_named_column_is_the_key_though_another_would_be_told(fill: Fill, tmp_path: Path) -> None:
    library = fill("1.png", "2.png")
    table = write_csv(tmp_path / "t.csv", ["image", "opposite"], ["1.png", "2.png"])
    assert library.add(catalogue=table, key="Opposite").described == 1
    assert said(library, "image") == {"1.png": (), "2.png": ("1.png",)}
    with pytest.raises(BadInput, match=r"there is no column called 'photo'; this table has: image, opposite"):
        library.add(catalogue=table, key=["image", "photo"])


def test_a_column_of_the_usual_name_counts_only_if_its_values_are_pictures(fill: Fill, tmp_path: Path) -> None:
    library = fill("1.png", "2.png")
    table = write_csv(tmp_path / "t.csv", ["id", "photo"], ["9001", "2.png"], ["9002", "1.png"])
    library.add(catalogue=table)
    assert said(library, "id") == {"1.png": ("9002",), "2.png": ("9001",)}


def test_a_table_about_no_picture_is_refused_and_nothing_is_changed(fill: Fill, tmp_path: Path) -> None:
    library = fill("1.png", "2.png", "3.png", "4.png")
    before = list(library)
    (tmp_path / "more").mkdir()
    Image.new("RGB", (9, 9), "pink").save(tmp_path / "more" / "5.png")
    rows = [[f"x{number}.png", "red"] for number in range(9)]
    with pytest.raises(BadInput) as error:
        library.add(tmp_path / "more", catalogue=write_csv(tmp_path / "t.csv", ["photo", "colour"], *rows), workers=1)
    told = str(error.value)
    assert "'photo' has 'x0.png', 'x1.png', 'x2.png', but the files are '" in told
    assert told.count(".png'") == 6
    assert "--key COLUMN" in told
    assert "\n" not in told
    assert list(library) == before


# -- damage


def test_a_bad_row_is_reported_and_the_others_are_taken(fill: Fill, tmp_path: Path) -> None:
    library = fill("1.png", "2.png", "3.png", "4.png")
    table = tmp_path / "t.csv"
    table.write_text('file,size,colour\n1.png,"a 5" disk",red\n2.png,S\n3.png,"S,blue\n4.png,M,green,,\n')
    report = library.add(catalogue=table)
    assert report.described == 2
    assert said(library, "size") == {"1.png": ('a 5" disk',), "2.png": (), "3.png": (), "4.png": ("M",)}
    [note] = report.notes
    assert note.startswith("t.csv: left out: 2 (first: line 3: 2 fields, but the header has 3; line 4: damaged CSV (")


def test_many_bad_rows_are_counted(fill: Fill, tmp_path: Path) -> None:
    library = fill("1.png")
    table = tmp_path / "t.jsonl"
    table.write_text("\n".join(['{"file": "1.png", "a": 1}', *['{"file": "x"'] * 1200, '["file"]', '{"a": 2}']))
    report = library.add(catalogue=table)
    assert report.described == 1
    [note] = report.notes
    assert note.startswith("t.jsonl: left out: 1,202 (first: line 2: damaged JSON (")
    assert note.count("damaged JSON") == 5


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("t.parquet", b"PAR1 and no more", "damaged Parquet"),
        ("t.json", b'[{"file": "1.png"', r"line 1, column \d+: damaged JSON"),
        ("t.json", b'{"a": [{"x": 1}], "b": [{"x": 1}]}', r"it holds several \(a, b\)"),
        ("t.json", b"[" * 100_000, "nested too deeply"),
        ("t.xlsx", b"PK", "this is a spreadsheet, not a table of text; save it as CSV"),
        ("t.csv", b"file,a\n1.png\n2.png\n", "none of 2 rows can be read; line 2: 1 fields"),
        ("t.jsonl.gz", b"no gzip", "cannot be unpacked"),
    ],
)
def test_a_damaged_table_is_refused_in_one_line(
    fill: Fill, tmp_path: Path, name: str, content: bytes, complaint: str
) -> None:
    library = fill("1.png")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=complaint) as error:
        library.add(catalogue=tmp_path / name)
    assert "\n" not in str(error.value)
    assert "b'" not in str(error.value)


# -- values


def test_tags_are_split_as_their_column_is_written_and_names_are_not(fill: Fill, tmp_path: Path) -> None:
    library = fill("1.png", "2.png", "3.png")
    columns = ["file", "Tags", "product", "artikel", "note", "themen"]
    table = write_csv(
        tmp_path / "t.csv",
        columns,
        ["1.png", "red|small, new", "Shirt, blue", "Hemd, blau", "Nice, but small. Try it, please.", "sun; sea"],
        ["2.png", "red", "Shirt, red", "Hemd, rot", "Warm, soft", "sea"],
        ["3.png", "small|red", "Hat, blue", "Hut, blau", "Warm", "sea; city; sun"],
    )
    library.add(catalogue=table)
    assert said(library, "Tags")["1.png"] == ("red", "small, new")
    assert said(library, "product")["2.png"] == ("Shirt, red",)
    assert said(library, "artikel")["1.png"] == ("Hemd, blau",)
    assert said(library, "note")["2.png"] == ("Warm, soft",)
    assert said(library, "themen")["3.png"] == ("sea", "city", "sun")
    assert found(library, themen="sun") == {"1.png", "3.png"}


@pytest.mark.parametrize(
    ("prices", "least", "most"),
    [
        (("15.00 USD", "1,299.00 USD"), "1299", "1299"),
        (("1.234,50 €", "1.299 €"), "1299", "1299"),
        (("USD 15", "CHF 1'299.-"), "1299", "1299"),
        (("12.-", "1 299,00 kr"), "1299", "1299"),
    ],
)
def test_prices_with_a_currency_are_numbers(
    fill: Fill, tmp_path: Path, prices: tuple[str, str], least: str, most: str
) -> None:
    library = fill("1.png", "2.png")
    rows: list[Mapping[str, object]] = [{"file": f"{at}.png", "price": price} for at, price in enumerate(prices, 1)]
    library.add(catalogue=rows)
    assert found(library, price=f"{least}..{most}") == {"2.png"}


def test_lists_of_ones_own_rows_stay_lists(fill: Fill) -> None:
    library = fill("1.png", "2.png")
    library.add(catalogue=[{"file": "1.png", "tags": ["a, b", "c"]}, {"file": "2.png", "tags": None}])
    assert said(library, "tags") == {"1.png": ("a, b", "c"), "2.png": ()}
