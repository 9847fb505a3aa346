import gzip
import json
from pathlib import Path
from unicodedata import normalize

import pyarrow as pa
import pytest
from pyarrow import parquet

from viewfinder.data.tables import MAX_MENDED_LINE, make_rows_table, read_any_table
from viewfinder.errors import BadInput


def _file(folder: Path, content: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_told_from_the_header_or_from_a_first_line(tmp_path: Path, delimiter: str) -> None:
    content = f"foto{delimiter}farbe\n1.jpg{delimiter}rot\n"
    for text in (content, f"sep={delimiter}\r\n{content}"):
        table = read_any_table(_file(tmp_path, text))
        assert (table.columns, table.rows) == (("foto", "farbe"), [["1.jpg", "rot"]])


def test_a_named_column_tells_the_delimiter(tmp_path: Path) -> None:
    path = _file(tmp_path, "Foto;a, b, c\n1.jpg;x, y, z\n")
    assert read_any_table(path).columns == ("Foto;a", "b", "c")
    assert read_any_table(path, ["foto"]).columns == ("Foto", "a, b, c")


def test_the_rows_tell_the_delimiter_where_the_header_has_others_too(tmp_path: Path) -> None:
    table = read_any_table(_file(tmp_path, "Foto;a, b, c, d\n1.jpg;x\n2.jpg;y, z\n"))
    assert (table.columns, table.rows[1]) == (("Foto", "a, b, c, d"), ["2.jpg", "y, z"])


def test_a_quotation_mark_that_never_ends_costs_its_own_line_only(tmp_path: Path) -> None:
    text = 'image,text\n1.jpg,"two\nlines"\n2.jpg,"lost\n3.jpg,c\n4.jpg,"d, e"\n5.jpg,"f\n6.jpg,g\n'
    table = read_any_table(_file(tmp_path, text))
    assert table.rows == [["1.jpg", "two\nlines"], ["3.jpg", "c"], ["4.jpg", "d, e"], ["6.jpg", "g"]]
    assert [one.record for one in table.dropped] == ["line 4", "line 7"]
    assert table.lines == [2, 5, 6, 8]


def test_quotation_marks_that_are_not_doubled_are_read_as_they_are_meant(tmp_path: Path) -> None:
    table = read_any_table(_file(tmp_path, 'image,text,size\n1.jpg,"a 5" disk, big",3\n2.jpg,"b" c,4\n'))
    assert table.rows == [["1.jpg", 'a 5" disk, big', "3"]]
    assert [one.record for one in table.dropped] == ["line 3"]


def test_a_long_damaged_line_is_not_mended(tmp_path: Path) -> None:
    table = read_any_table(_file(tmp_path, f'image,text\n1.jpg,"a" b{"x" * MAX_MENDED_LINE}"\n2.jpg,c\n'))
    assert table.rows == [["2.jpg", "c"]]


def test_columns_of_the_very_same_name_are_one_with_several_values(tmp_path: Path) -> None:
    table = read_any_table(_file(tmp_path, "id,additional,additional\n1,a.jpg,b.jpg\n2,c.jpg,\n"))
    assert table.columns == ("id", "additional")
    assert table.rows == [["1", "a.jpg; b.jpg"], ["2", "c.jpg"]]
    assert table.lists == {(0, 1): ("a.jpg", "b.jpg")}
    with pytest.raises(BadInput, match="the column 'ID' is there twice"):
        read_any_table(_file(tmp_path, "id,ID\n1,2\n"))


@pytest.mark.parametrize(
    "text",
    [
        '[{"file": "1.jpg", "price": 12.50}, {"file": "2.jpg"}]',
        '{"total": 2, "products": [{"file": "1.jpg", "price": 12.50}, {"file": "2.jpg"}]}',
        '{"file": "1.jpg", "price": 12.50}\n\n{"file": "2.jpg"}\n',
        '{"1.jpg": {"price": 12.50}, "2.jpg": {}}',
    ],
)
@pytest.mark.parametrize("name", ["t.json", "t.txt"])
def test_json_is_told_by_what_it_holds_and_numbers_stay_as_written(tmp_path: Path, text: str, name: str) -> None:
    table = read_any_table(_file(tmp_path, text, name))
    assert (table.columns, table.rows) == (("file", "price"), [["1.jpg", "12.50"], ["2.jpg", ""]])


def test_one_json_line_is_a_table_of_one_row(tmp_path: Path) -> None:
    table = read_any_table(_file(tmp_path, '{"file": "1.jpg", "text": "a. b"}', "t.jsonl"))
    assert table.rows == [["1.jpg", "a. b"]]


def test_captions_by_name_of_file_are_a_table(tmp_path: Path) -> None:
    table = read_any_table(_file(tmp_path, json.dumps({"a.jpg": "a dog", "b.jpg": ["a cat", "two"]}), "t.json"))
    assert (table.columns, table.rows) == (("file", "caption"), [["a.jpg", "a dog"], ["b.jpg", "a cat; two"]])
    assert table.lists == {(1, 1): ("a cat", "two")}


def test_packed_json_lines_are_unpacked(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress(b'{"file": "1.jpg"}\n{"file": "2.jpg"}\n'))
    assert read_any_table(tmp_path / "t.jsonl.gz").rows == [["1.jpg"], ["2.jpg"]]


def test_objects_become_columns_and_deep_ones_stay_text(tmp_path: Path) -> None:
    deep: object = "end"
    for _ in range(30):
        deep = {"a": deep}
    table = read_any_table(
        _file(tmp_path, json.dumps([{"file": "1.jpg", "x": deep, "y": [{"s": 1}, {"s": 2}]}]), "t.json")
    )
    assert table.columns[1].count(".") <= 9
    assert table.rows[0][1].endswith("}")
    assert table.lists[0, 2] == ("1", "2")


def test_more_columns_than_any_table_has_are_refused(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps({f"c{row}-{at}": 1 for at in range(100)}) for row in range(60))
    with pytest.raises(BadInput, match="more than 5,000 different columns"):
        read_any_table(_file(tmp_path, lines, "t.jsonl"))


def test_parquet_has_lists_structures_and_dates_but_no_bytes(tmp_path: Path) -> None:
    rows = [
        {"file": "1.jpg", "tags": ["a", "b"], "image": {"bytes": b"\xff", "path": "p.jpg"}, "price": 2.5, "sale": True},
        {"file": "2.jpg", "tags": None, "image": {"bytes": b"\xff", "path": None}, "price": None, "sale": False},
    ]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    table = read_any_table(tmp_path / "t.parquet")
    assert table.columns == ("file", "tags", "image.path", "price", "sale")
    assert table.rows == [["1.jpg", "a; b", "p.jpg", "2.5", "true"], ["2.jpg", "", "", "", "false"]]
    assert table.lists == {(0, 1): ("a", "b")}
    with pytest.raises(BadInput, match="no such file"):
        read_any_table(tmp_path / "none.parquet")


def test_a_letter_with_a_mark_is_the_same_however_a_program_writes_it(tmp_path: Path) -> None:
    content = "foto;Größe;Tags\n1.jpg;Süß;grün\n"
    tables = [read_any_table(_file(tmp_path, normalize(form, content))) for form in ("NFC", "NFD")]
    rows = [{normalize("NFD", "Größe"): [normalize("NFD", "Süß"), "x"]}]
    assert (tables[0].columns, tables[0].rows) == (tables[1].columns, tables[1].rows)
    assert make_rows_table("catalogue", rows).lists == {(0, 0): ("Süß", "x")}
