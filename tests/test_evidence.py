"""What is kept of benchmarks, and what claims.py says of it, each by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from rows import DEPTH, UNTRAINED, KeptRow, facts_of, read_facts, read_ranks, write_ranks, write_results

from viewfinder.errors import BadInput

FACTS = {"command": "python benchmarks/made.py", "commit": "0", "weights": [], "date": "2026-11-23", "flags": []}


def kept(ids: str, values: Sequence[object], seeds: tuple[int, ...] = (UNTRAINED,)) -> KeptRow:
    """A row of conversations named by a letter each; values are [seeds, conversations, turns]."""
    return KeptRow(tuple(ids), seeds, np.array(values, dtype=np.int32))


def write(folder: Path, test: str, row: str, found: KeptRow, gallery: int = 500) -> None:
    write_ranks("made", test, row, found, gallery=gallery, facts=FACTS, results=folder)


def test_rows_and_seeds_are_kept_beside_those_that_are_there(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", kept("ab", [[[0, 2], [4, -1]]], (0,)))
    write(tmp_path, "talks", "theirs", kept("ba", [[[6, 8], [1, 3]]]))
    write(tmp_path, "talks", "ours", kept("ab", [[[2, 2], [2, -1]]], (2,)))
    rows = read_ranks("made", tmp_path)["talks"]
    assert rows["ours"].seeds == (0, 2)
    assert rows["ours"].values_ect.tolist() == [[[0, 2], [4, -1]], [[2, 2], [2, -1]]]
    assert rows["theirs"].ids == ("a", "b")
    assert rows["theirs"].values_ect.tolist() == [[[1, 3], [6, 8]]]
    assert read_facts("made", tmp_path)["kept"]["talks"]["rows"]["ours"] == FACTS


def test_a_row_of_fewer_conversations_has_none_of_the_others(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", kept("ab", [[[0], [4]]]))
    write(tmp_path, "talks", "slow", kept("b", [[[2]]]))
    assert read_ranks("made", tmp_path)["talks"]["slow"].values_ect.tolist() == [[[-1], [2]]]


def test_ranks_that_no_claim_tells_apart_are_kept_as_one(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", kept("ab", [[[2 * DEPTH - 1], [2 * DEPTH + 7]]]))
    assert read_ranks("made", tmp_path)["talks"]["ours"].values_ect.tolist() == [[[2 * DEPTH - 1], [2 * DEPTH]]]


def test_values_that_are_no_ranks_are_kept_as_they_are(tmp_path: Path) -> None:
    write(tmp_path, "captions", "ours", KeptRow(("a",), (0,), np.array([[[312.5]]], dtype=np.float32)))
    assert read_ranks("made", tmp_path)["captions"]["ours"].values_ect.tolist() == [[[312.5]]]


def test_rows_of_another_gallery_are_not_put_beside_each_other(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", kept("a", [[[0]]]))
    with pytest.raises(BadInput, match="501 pictures to search in, but 500"):
        write(tmp_path, "talks", "theirs", kept("a", [[[0]]]), gallery=501)


def test_what_is_known_of_ranks_stays_when_a_benchmark_writes_its_figures(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", kept("a", [[[0]]]))
    write_results("made", {"rows": {}}, tmp_path)
    assert set(read_facts("made", tmp_path)) == {"rows", "kept"}


def test_weights_are_known_by_their_hash(tmp_path: Path) -> None:
    (tmp_path / "best").write_bytes(b"abc")
    assert facts_of("x", [tmp_path / "best"])["weights"] == ["ba7816bf"]
