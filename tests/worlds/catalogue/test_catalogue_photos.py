import csv
from pathlib import Path

import pytest
from PIL import Image

from viewfinder.errors import BadInput
from viewfinder.worlds.catalogue.items import (
    COLUMNS,
    attribute_lists,
    item_truth,
    name_kind,
    read_photos,
    read_title_words,
)

ROWS = [
    ("7", "Men", "Apparel", "Topwear", "Shirts", "Navy Blue", "Fall", "2011", "Sports", "Lee Men Striped Shirt"),
    ("8", "Women", "Apparel", "Topwear", "Tops", "NA", "Summer", "2012", "NA", "W Women Top"),
    ("9", "Women", "Apparel", "Topwear", "Tops", "Red", "Summer", "2012", "Casual", "Its twin"),
    ("10", "Men", "Footwear", "Shoes", "Heels", "Red", "Summer", "2012", "Casual", "No photo"),
    ("11", "Men", "Footwear", "Shoes", "Heels", "Red", "Summer", "2012", "Casual", "Damaged photo"),
    ("../8", "Men", "Footwear", "Shoes", "Heels", "Red", "Summer", "2012", "Casual", "Elsewhere"),
    ("7", "Men", "Footwear", "Shoes", "Heels", "Red", "Summer", "2012", "Casual", "Again"),
    ("12", "Men", "Footwear", "NA", "Heels", "Red", "Summer", "2012", "Casual", "No subcategory"),
]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    with (tmp_path / "products.csv").open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *ROWS])
    Image.new("RGB", (8, 8), (1, 2, 90)).save(tmp_path / "images/7.jpg")
    for twin in ("8", "9"):
        Image.new("RGB", (8, 8), (200, 2, 9)).save(tmp_path / f"images/{twin}.jpg")
    (tmp_path / "images/11.jpg").write_bytes(b"not a picture")
    return tmp_path


def test_rows_become_articles(shop: Path) -> None:
    shirt, top = read_photos(shop)[0]
    assert (shirt.key, shirt.kind, shirt.family, shirt.noun) == ("7", "Shirts", "Topwear", "shirt")
    assert shirt.words == (
        ("kind", "shirt"),
        ("colour", "navy blue"),
        ("usage", "sporty"),
        ("audience", "men"),
        ("season", "fall"),
        ("pattern", "striped"),
    )
    assert top.words == (("kind", "top"), ("audience", "women"), ("season", "summer"))
    assert dict(top.row)["baseColour"] == "NA"


def test_what_cannot_be_used_is_left_out_with_its_reason(shop: Path) -> None:
    reasons = [(drop.record, drop.reason.split(" (")[0]) for drop in read_photos(shop)[1]]
    assert reasons == [
        ("9", "the same file as images/8.jpg"),
        ("10", "no such file: images/10.jpg"),
        ("11", "images/11.jpg is no picture"),
        ("../8", "its id is no file name"),
        ("7", "its id is there twice"),
        ("12", "no subCategory"),
    ]


def test_attributes_come_in_five_types(shop: Path) -> None:
    shirt = read_photos(shop)[0][0]
    assert attribute_lists(shirt) == (("shirt",), ("navy blue", "striped"), (), (), (), ("sporty", "men", "fall"))
    truth = item_truth(shirt)
    assert (truth.image, truth.category, truth.attributes["colour"]) == ("7.jpg", "Shirts", ("navy blue",))
    assert truth.attributes["texture"] == ("navy blue", "striped")


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("U.S. Polo Assn. Men Stripes Brown Polo Tshirt", [("pattern", "striped"), ("neck", "polo collar")]),
        ("U.S. Polo Assn. Men Check Shirt", [("pattern", "checked")]),  # a brand is no collar
        ("Arrow Men Formal Red Tie+Cufflink+Pocket square - Combo Pack", []),
        ("Wrangler Men Printed Stripe Shirt", [("pattern", "printed"), ("pattern", "striped")]),
        ("Hanes Men Sleeveless V Neck Red T-shirt", [("sleeves", "sleeveless"), ("neck", "v-neck")]),
        ("Skechers Women Leatherette Shoes", [("fabric", "leatherette")]),  # not leather
        ("Nike Women Dri-Fit Tee", []),
    ],
)
def test_names_give_away_what_their_words_say(title: str, words: list[tuple[str, str]]) -> None:
    assert read_title_words(title) == words


@pytest.mark.parametrize(
    ("kind", "noun"),
    [("Dresses", "dress"), ("Watches", "watch"), ("Flip Flops", "flip flops"), ("Ties", "tie"), ("Jeans", "jeans")],
)
def test_kinds_become_nouns(kind: str, noun: str) -> None:
    assert name_kind(kind) == noun


def test_a_table_without_a_column_is_refused(shop: Path) -> None:
    (shop / "products.csv").write_text("id,articleType,productDisplayName\n7,Shirts,Lee Shirt\n")
    with pytest.raises(BadInput, match=r"products\.csv, line 1: a column named subCategory is needed"):
        read_photos(shop)


def test_a_folder_without_a_usable_photo_is_refused(shop: Path) -> None:
    for file in (shop / "images").iterdir():
        file.unlink()
    with pytest.raises(BadInput, match=r"no usable photo \(no such file: images/7\.jpg\)"):
        read_photos(shop)
    with pytest.raises(BadInput, match="no such folder"):
        read_photos(shop / "nowhere")
