from collections import Counter
from pathlib import Path

import pytest

from viewfinder.data import CatalogueRow, Dropped, read_catalogue, read_products
from viewfinder.errors import BadInput

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
needs_data = [pytest.mark.data, pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is not here")]


def _csv(folder: Path, text: str) -> Path:
    path = folder / "catalogue.csv"
    path.write_text(text, encoding="utf-8")
    return path


class TestRealProducts:
    pytestmark = needs_data

    def test_the_catalogue_has_8082_rows_and_leaves_na_out(self) -> None:
        catalogue = read_catalogue(SHARED / "fashion-products/products.csv")
        assert (catalogue.report.expected, catalogue.report.found, catalogue.report.dropped) == (
            8082,
            8082,
            (),
        )
        assert len(catalogue.attributes) == 9
        given = Counter(name for row in catalogue.rows for name in row.values)
        # Three products have no colour and eight no usage: "NA" in the file.
        assert (given["gender"], given["baseColour"], given["usage"]) == (8082, 8079, 8074)

    def test_every_product_photo_finds_its_row_by_its_stem(self) -> None:
        catalogue = read_catalogue(SHARED / "fashion-products/products.csv")
        found = catalogue.matches((SHARED / "fashion-products/images").iterdir())
        assert (len(found.rows), found.unmatched, found.ambiguous) == (8082, (), ())
        assert all([row.key for row in rows] == [path.stem] for path, rows in found.rows.items())

    def test_products_are_captioned_by_their_names(self) -> None:
        products, report = read_products(SHARED / "fashion-products")
        assert (report.expected, report.found, report.dropped) == (8082, 8082, ())
        assert products[0].captions == ("Palm Tree Girls Sp Jace Sko White Skirts",)
        assert len({product.captions for product in products}) == 6163
        assert all(product.path.is_file() for product in products)


def test_cells_that_say_nothing_are_left_out(tmp_path: Path) -> None:
    catalogue = read_catalogue(_csv(tmp_path, "image,colour,size\n1.jpg,NA, L \n2.jpg,red,\n"))
    assert catalogue.rows == (CatalogueRow("1.jpg", {"size": "L"}), CatalogueRow("2.jpg", {"colour": "red"}))


def test_the_key_column_is_image_then_file_then_path_then_id(tmp_path: Path) -> None:
    catalogue = read_catalogue(_csv(tmp_path, "ID;Path;FILE\n7;a/1.jpg;1.jpg\n"))
    assert catalogue.attributes == ("ID", "Path")
    assert catalogue.rows == (CatalogueRow("1.jpg", {"ID": "7", "Path": "a/1.jpg"}),)


def test_rows_without_a_key_and_columns_without_a_name_are_reported(tmp_path: Path) -> None:
    catalogue = read_catalogue(_csv(tmp_path, ",id,colour,\n0,1,red,\n1,,blue,\n"))  # nothing is lost of column 4
    assert catalogue.rows == (CatalogueRow("1", {"colour": "red"}),)
    assert (catalogue.report.expected, catalogue.report.found) == (2, 1)
    assert catalogue.report.dropped == (
        Dropped("column 1", "has no name"),
        Dropped("line 3", "names no picture: its id is empty"),
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name,colour\na,red\n", "line 1: a column named image or file or path or id is needed"),
        ("id,colour,colour\n1,red,blue\n", "line 1: the column 'colour' is there twice"),
        ("id,colour\n1,red\n2\n", "line 3: 1 fields, but the header has 2"),
        ("id,colour\n1,red\n2,blue,green\n", "line 3: 3 fields, but the header has 2"),
    ],
)
def test_a_damaged_catalogue_is_named_by_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(BadInput, match=rf"catalogue\.csv, {complaint}"):
        read_catalogue(_csv(tmp_path, text))


def test_several_rows_about_one_picture_are_all_kept(tmp_path: Path) -> None:
    catalogue = read_catalogue(_csv(tmp_path, "image,shop\n1.jpg,a\nimages/1.jpg,b\n3.jpg,c\n"))
    found = catalogue.matches([Path("/x/images/1.jpg"), Path("/x/images/2.jpg")])
    assert {path.name: [row.values["shop"] for row in rows] for path, rows in found.rows.items()} == {
        "1.jpg": ["a", "b"]
    }
    assert [row.key for row in found.unmatched] == ["3.jpg"]


def test_products_without_a_photo_or_a_name_are_reported(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for name in ("1.jpg", "3.jpg"):
        (tmp_path / "images" / name).write_bytes(b"")
    (tmp_path / "products.csv").write_text("id,productDisplayName\n1,Shirt\n2,Hat\n3,NA\n")
    products, report = read_products(tmp_path)
    assert [product.captions for product in products] == [("Shirt",)]
    assert report.dropped == (
        Dropped("2", "no such file: images/2.jpg"),
        Dropped("3", "no productDisplayName"),
    )
