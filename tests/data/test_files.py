from pathlib import Path

import pytest

from viewfinder.data.files import read_json, read_table, read_text
from viewfinder.errors import BadInput


def _file(folder: Path, content: str | bytes) -> Path:
    path = folder / "table.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_told_from_the_header(tmp_path: Path, delimiter: str) -> None:
    table = read_table(_file(tmp_path, f"image{delimiter}caption\n1.jpg{delimiter}a dog\n"))
    assert (table.columns, table.rows) == (("image", "caption"), [["1.jpg", "a dog"]])


def test_a_comma_in_a_header_with_semicolons_does_not_count(tmp_path: Path) -> None:
    table = read_table(_file(tmp_path, "id;name, short;size, in cm, of all\n1;a;2\n"))
    assert table.columns == ("id", "name, short", "size, in cm, of all")


def test_quoted_cells_may_hold_delimiters_quotes_and_line_breaks(tmp_path: Path) -> None:
    table = read_table(_file(tmp_path, 'image,text\r\n1.jpg,"a ""big"" dog,\nand a cat"\r\n2.jpg,x\u2028y\r\n'))
    assert table.rows == [["1.jpg", 'a "big" dog,\nand a cat'], ["2.jpg", "x\u2028y"]]
    assert table.lines == [2, 4]


def test_a_byte_order_mark_does_not_belong_to_the_first_column(tmp_path: Path) -> None:
    assert read_table(_file(tmp_path, b"\xef\xbb\xbfimage,text\n1.jpg,a\n")).columns == ("image", "text")


def test_a_row_with_a_field_too_many_is_named_by_its_line(tmp_path: Path) -> None:
    path = _file(tmp_path, 'image,text\n1.jpg,"two\nlines"\n\n2.jpg,a,b\n')
    with pytest.raises(BadInput, match=r"table\.csv, line 5: 3 fields, but the header has 2"):
        read_table(path)


def test_a_quote_that_never_ends_is_named_by_the_line_on_which_it_begins(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"line 3: damaged CSV"):
        read_table(_file(tmp_path, 'image,text\n1.jpg,a\n2.jpg,"b\n3.jpg,c\n'))


def test_a_column_that_is_there_twice_in_any_case_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"line 1: the column 'Colour' is there twice"):
        read_table(_file(tmp_path, "id,colour,Colour\n1,a,b\n"))


@pytest.mark.parametrize("content", ["", "\n\n", ",,\n"])
def test_a_file_without_a_header_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(BadInput, match=r"line 1: a header"):
        read_table(_file(tmp_path, content)).need(("image",))


def test_text_that_is_not_utf8_is_named_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"line 2: this is not UTF-8"):
        read_text(_file(tmp_path, "image,text\n1.jpg,café\n".encode("latin-1")))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_table_may_be_as_a_spreadsheet_program_exports_it(tmp_path: Path, encoding: str) -> None:
    table = read_table(_file(tmp_path, "id\tFarbe\r\n1.jpg\tweiß\r\n".encode(encoding)))
    assert (table.columns, table.rows) == (("id", "Farbe"), [["1.jpg", "weiß"]])


def test_a_spreadsheet_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "products.XLSX").write_bytes(b"PK\x03\x04")
    with pytest.raises(BadInput, match=r"products\.XLSX: this is a spreadsheet, not a table of text; save it as CSV"):
        read_table(tmp_path / "products.XLSX")


def test_a_missing_file_and_a_folder_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        read_text(tmp_path / "none.csv")
    with pytest.raises(BadInput, match="cannot be read"):
        read_text(tmp_path)


def test_truncated_json_is_named_by_file_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "captions_x.json"
    path.write_text('{"images": [\n {"id": 1, "file_na')
    with pytest.raises(BadInput, match=r"captions_x\.json, line 2, column \d+: damaged JSON"):
        read_json(path, dict)
    path.write_text("[" * 200_000)
    with pytest.raises(BadInput, match="nested too deeply"):
        read_json(path, dict)
