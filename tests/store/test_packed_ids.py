"""Ids as Arrow keeps them, against the tuple of texts that they stand for."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from viewfinder.store import packed_ids
from viewfinder.store.packed_ids import PackedIds, take_ids

TEXTS = ("a1", "b2", "c3", "d4", "e5")


def packed(*pieces: tuple[str, ...]) -> PackedIds:
    return PackedIds(pa.chunked_array([pa.array(piece, pa.string()) for piece in pieces], pa.string()))


def test_they_are_read_like_a_tuple_of_texts() -> None:
    ids = packed(TEXTS[:2], (), TEXTS[2:])
    assert [ids[row] for row in range(-5, 5)] == [*TEXTS, *TEXTS]
    assert (len(ids), tuple(ids), ids[1:3], ids[::2]) == (5, TEXTS, ("b2", "c3"), ("a1", "c3", "e5"))
    assert ids == TEXTS and ids != TEXTS[:4] and ids != (*TEXTS[:4], "x") and "c3" in ids and ids.index("d4") == 3
    with pytest.raises(IndexError, match="row 5 of 5 pictures"):
        ids[5]


def test_a_part_of_a_column_has_its_own_rows() -> None:
    column = pa.chunked_array([pa.array(TEXTS), pa.array(["ü", "g7"])]).slice(1, 5)
    assert tuple(PackedIds(column)) == ("b2", "c3", "d4", "e5", "ü")


def test_all_are_read_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_ids, "AT_ONCE", 2)
    assert tuple(packed(TEXTS, TEXTS)) == TEXTS + TEXTS


def test_ids_of_one_length_become_bytes_without_a_copy_and_others_by_one() -> None:
    alike, unlike = packed(TEXTS), packed(("a", "bcd", ""))
    assert alike.encode().tolist() == [b"a1", b"b2", b"c3", b"d4", b"e5"]
    assert not alike.encode().flags.owndata
    assert unlike.encode().tolist() == [b"a", b"bcd", b""]
    assert packed(TEXTS, ("f6",)).encode().tolist()[-2:] == [b"e5", b"f6"]
    assert np.asarray(packed().encode()).shape == (0,)


@pytest.mark.parametrize("rows", [[], [0], [6, 0, 3, 3, 5], list(range(7))])
def test_some_are_taken_in_the_order_that_is_asked_for(rows: list[int]) -> None:
    column = pa.chunked_array([pa.array(["x", *TEXTS[:3]]), pa.array([], pa.string()), pa.array(["ü", "g7", "", "h"])])
    ids = PackedIds(column.slice(1))
    expected = [tuple(ids)[row] for row in rows]
    assert take_ids(ids, np.array(rows, np.int64)) == take_ids(tuple(ids), np.array(rows, np.int64)) == expected


def test_another_process_gets_a_tuple() -> None:
    assert pickle.loads(pickle.dumps(packed(TEXTS))) == TEXTS
