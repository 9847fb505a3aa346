"""JSON lines: what is written is read back; a damaged line is named."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.data.files import parse_json_lines, read_jsonl, write_jsonl
from viewfinder.errors import BadInput

VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5)


@given(st.lists(st.dictionaries(st.text(), VALUES), max_size=5))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, object]]
) -> None:
    file = tmp_path_factory.mktemp("jsonl") / "some.jsonl"
    write_jsonl(file, records)
    assert list(read_jsonl(file)) == list(enumerate(records, start=1))
    assert [place.name for place in file.parent.iterdir()] == ["some.jsonl"]


def test_blank_lines_are_counted_but_not_read(tmp_path: Path) -> None:
    (tmp_path / "some.jsonl").write_bytes(b'\xef\xbb\xbf{"a": 1}\n\n{"a": 2}\r\n')
    assert list(read_jsonl(tmp_path / "some.jsonl")) == [(1, {"a": 1}), (3, {"a": 2})]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"a": ', "line 2, column 7: damaged JSON"),
        (b"[1, 2]", "line 2: a JSON object is needed, this is '[1, 2]'"),
        (b'{"a": "\xff"}', "line 2: this is not UTF-8"),
        (b'{"a": ' + b"[" * 100_000, "line 2: damaged JSON"),
    ],
)
def test_a_damaged_line_is_named(line: bytes, why: str) -> None:
    with pytest.raises(BadInput, match=r"^some file, ") as caught:
        list(parse_json_lines([b"{}\n", line], where="some file"))
    assert why in str(caught.value)


def test_a_compressed_file_is_read_and_a_truncated_one_is_named(tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl.gz"
    file.write_bytes(gzip.compress(b'{"a": 1}\n{"a": 2}\n'))
    assert [record for _, record in read_jsonl(file)] == [{"a": 1}, {"a": 2}]
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(BadInput, match=r"some\.jsonl\.gz: cannot be read .*; fetch the file again"):
        list(read_jsonl(file))
    with pytest.raises(BadInput, match=r"none\.jsonl: no such file"):
        list(read_jsonl(tmp_path / "none.jsonl"))
