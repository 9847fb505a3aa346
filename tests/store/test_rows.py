"""Rows to Arrow and back."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from viewfinder.store.rows import (
    Failure,
    FileRecord,
    PictureRow,
    failures_from_arrow,
    failures_to_arrow,
    pictures_from_arrow,
    pictures_to_arrow,
)
from viewfinder.store.snapshot import TextLists

TEXTS = st.text("aé日 \"'\\\0\n\udc80\udcff", max_size=8)  # lone surrogates: file names may hold them
FILES = st.tuples(TEXTS, st.integers(0, 2**62), st.integers(-(2**62), 2**62))
# Plain values, made into rows by the test: the type checker of the test run draws random numbers of its
# own when a row is made, which hypothesis does not allow inside strategies.
ROWS = st.fixed_dictionaries(
    {
        "id": st.uuids().map(str),
        "width": st.integers(1, 2**31 - 1),
        "height": st.integers(1, 2**31 - 1),
        "format": st.sampled_from(["JPEG", "PNG"]),
        "bytes": st.integers(0, 2**62),
        "captured": st.none() | st.just("2019-07-14T10:03:00"),
        "camera": st.none() | TEXTS,
        "captions": st.lists(TEXTS, max_size=3).map(tuple),
        "attributes": st.dictionaries(TEXTS, st.lists(TEXTS, max_size=3).map(tuple), max_size=3),
    }
)


@given(st.lists(st.tuples(ROWS, st.lists(FILES, max_size=3)), max_size=3))
def test_any_pictures_come_back_from_arrow(
    drawn: list[tuple[dict[str, Any], list[tuple[str, int, int]]]],
) -> None:
    rows = [PictureRow(files=tuple(FileRecord(*file) for file in files), **values) for values, files in drawn]
    assert pictures_from_arrow(pictures_to_arrow(rows)) == rows


def test_failures_come_back_by_path() -> None:
    failures = [Failure("/b\udcff.jpg", 3, 4, 'no "end"'), Failure('"a".jpg', 1, 2, "cut short")]
    assert failures_from_arrow(failures_to_arrow(failures)) == failures[::-1]


@given(st.lists(st.lists(TEXTS, max_size=4), min_size=1, max_size=6), st.data())
def test_lists_of_texts_read_row_by_row_are_those_that_were_written(lists: list[list[str]], data: Any) -> None:
    rows = [
        PictureRow(str(at), tuple(FileRecord(text, 1, 1) for text in texts), 1, 1, "PNG", 1, captions=tuple(texts))
        for at, texts in enumerate(lists)
    ]
    start = data.draw(st.integers(0, len(rows) - 1))
    table = pictures_to_arrow(rows).slice(start)  # a part of a table keeps the buffers of the whole
    paths, captions = TextLists(table["files"], "path"), TextLists(table["captions"])
    for at, texts in enumerate(lists[start:]):
        assert paths.at(at) == captions.at(at) == tuple(texts)
