from pathlib import Path

import pytest

from viewfinder.data.matching import FileIndex
from viewfinder.data.picture_keys import PictureFinder, choose_key_columns
from viewfinder.data.tables import make_rows_table
from viewfinder.errors import BadInput

FILES = [
    Path("/pics/a/red hat.jpg"),
    Path("/pics/b/2.jpg"),
    Path("/pics/b/shirt_front.jpg"),
    Path("/pics/Smith, John.png"),
]


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("https://cdn.example/x/red%20hat.jpg?v=17#top", "red hat.jpg"),
        ("//cdn.example/x/shirt_front.jpg?width=900", "shirt_front.jpg"),
        ("https://cdn.example/shirt_front_1024x1024.jpg", "shirt_front.jpg"),
        ("https://shop.example/uploads/shirt_front-300x300.jpg", "shirt_front.jpg"),
        ("https://shop.example/image.php?file=a/2.jpg&w=9", "2.jpg"),
        ("file:///home/ann/red%20hat.jpg", "red hat.jpg"),
        ("C:\\pics\\b\\2.jpg", "2.jpg"),
        ("RED HAT.JPG", "red hat.jpg"),
        ("shirt_front", "shirt_front.jpg"),
        ("Smith, John.png", "Smith, John.png"),
        ("http://[broken/2.jpg", "2.jpg"),
    ],
)
def test_a_cell_means_a_picture_as_a_path_a_name_or_an_address(cell: str, name: str) -> None:
    index = FileIndex(FILES)
    [key] = PictureFinder(index).find(cell)
    assert [path.name for path in index.find(key).paths] == [name]


@pytest.mark.parametrize("cell", ["", "3.jpg", "https://cdn.example/", "a hat, in red, of 2, for me", "jpg", ",;|"])
def test_a_cell_that_names_no_picture_finds_none(cell: str) -> None:
    assert PictureFinder(FileIndex(FILES)).find(cell) == ()


@pytest.mark.parametrize("separator", [",", ", ", ";", "|", "\n", " "])
def test_a_cell_may_name_several_pictures(separator: str) -> None:
    home = "https://cdn.example/"
    cell = separator.join([f"{home}2.jpg", f"{home}none.jpg", f"{home}shirt_front.jpg"])
    assert PictureFinder(FileIndex(FILES)).find(cell) == (f"{home}2.jpg", f"{home}none.jpg", f"{home}shirt_front.jpg")


def test_a_picture_beside_the_table_comes_before_others_of_its_name() -> None:
    index = FileIndex([Path("/pics/train/1.png"), Path("/pics/test/1.png")])
    assert PictureFinder(index, Path("/pics/test")).find("1.png") == ("/pics/test/1.png",)
    assert PictureFinder(index, Path("/pics")).find("1.png") == ("1.png",)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # what files are called like counts for more than numbers that some of them happen to have
        ([{"id": "2", "src": "red hat.jpg"}, {"id": "3", "src": "shirt_front.jpg"}], ("src",)),
        # the usual names come first where their values are pictures
        ([{"photo": "2.jpg", "file": "red hat.jpg"}], ("file",)),
        # further columns of pictures, but not what is said of pictures
        ([{"id": "2", "image_link": "http://x/2.jpg", "additional_image_link": "http://x/red%20hat.jpg", "alt": "2"}],
         ("id", "image_link", "additional_image_link")),
        # another picture that a picture has to do with
        ([{"image": "2.jpg", "other_image": "red hat.jpg"}], ("image",)),
        ([{"size": "L", "sku": "shirt_front"}, {"size": "M", "sku": "none"}], ("sku",)),
        ([{"id": "7"}], ()),
    ],
)  # fmt: skip
def test_the_columns_that_name_pictures_are_told_from_their_values(
    rows: list[dict[str, str]], expected: tuple[str, ...]
) -> None:
    table = make_rows_table("t", rows)
    assert tuple(table.columns[at] for at in choose_key_columns(table, PictureFinder(FileIndex(FILES)))) == expected


def test_a_named_column_must_be_there() -> None:
    table = make_rows_table("t", [{"a": "2.jpg"}])
    assert choose_key_columns(table, PictureFinder(FileIndex(FILES)), ["A"]) == (0,)
    with pytest.raises(BadInput, match="t: there is no column called 'b'; this table has: a"):
        choose_key_columns(table, PictureFinder(FileIndex(FILES)), ["b"])


def test_one_row_of_many_that_is_about_a_picture_is_found() -> None:
    table = make_rows_table("t", [{"n": str(at + 10_000), "pic": f"{at}.jpg"} for at in range(5_000)])
    finder = PictureFinder(FileIndex([Path("/pics/4321.jpg")]))
    assert choose_key_columns(table, finder) == (1,)
