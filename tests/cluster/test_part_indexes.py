"""The indexes of parts as an actor keeps them, without a cluster."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from viewfinder.cluster.part_indexes import PartIndexes, make_index, name_part
from viewfinder.evaluation.pictures import Pictures
from viewfinder.search.gallery import Gallery
from viewfinder.search.index_files import IndexedPart, index_file
from viewfinder.testing import ColourEncoder

pytest.importorskip("faiss", reason="the extra `scale` is not installed")

COUNT, HALF = 600, 300


def gallery() -> Gallery:
    vectors_nd = np.random.default_rng(0).standard_normal((COUNT, 48)).astype(np.float32)
    vectors_nd /= np.linalg.norm(vectors_nd, axis=1, keepdims=True)
    return Pictures(tuple(f"{at:05}" for at in range(COUNT)), vectors_nd, ColourEncoder()).gallery()


def part_of(over: Gallery, number: int) -> IndexedPart:
    rows_p = slice(number * HALF, (number + 1) * HALF)
    return IndexedPart(name_part(number, 2), rows_p, over.snapshot.ids[rows_p])


def nothing() -> None:
    pass


def test_a_part_finds_its_own_pictures_by_the_index_that_was_made_for_it(tmp_path: Path) -> None:
    over = gallery()
    for number in (0, 1):
        make_index(tmp_path, over, part_of(over, number))
    indexed = PartIndexes(tmp_path).find(over, part_of(over, 1))
    assert indexed is not None
    assert (indexed.size, indexed.gone, len(indexed.lacking_k)) == (HALF, 0, 0)
    picture = HALF + 17  # the 18th of the second part is the best for its own vector
    query_w = np.zeros(indexed.index.lists.rotation_ww.shape[0], np.float32)
    query_w[:48] = over.snapshot.matrix_nd[picture]
    assert 17 in indexed.best(query_w, 20)


@pytest.mark.skipif(not hasattr(os, "nice"), reason="this system has no such priorities")
def test_who_makes_an_index_keeps_its_own_priority(tmp_path: Path) -> None:
    before = os.nice(0)
    make_index(tmp_path, over := gallery(), part_of(over, 0))
    assert os.nice(0) == before


def test_a_part_without_an_index_has_none_and_one_that_is_damaged_is_as_none(tmp_path: Path) -> None:
    over = gallery()
    part, indexes = part_of(over, 0), PartIndexes(tmp_path)
    assert indexes.find(over, part) is None
    make_index(tmp_path, over, part)
    assert indexes.find(over, part) is not None  # the file is new
    index_file(tmp_path, over.snapshot.space, part.name).write_bytes(b"no index")
    assert indexes.find(over, part) is None


def test_who_wants_an_index_that_is_being_made_is_told_when_it_is_there(tmp_path: Path) -> None:
    over = gallery()
    part, indexes, may_go_on = part_of(over, 0), PartIndexes(tmp_path), threading.Event()
    told, made = [threading.Event() for _ in range(2)], []

    def make() -> None:
        may_go_on.wait(60)
        made.append(1)
        make_index(tmp_path, over, part)

    for event in told:
        assert indexes.find_or_make(over, part, make, event.set) is None
    may_go_on.set()
    assert all(event.wait(60) for event in told)
    assert made == [1]
    assert indexes.find_or_make(over, part, make, nothing) is not None
    assert made == [1]


def test_an_index_that_cannot_be_made_is_tried_again_when_it_is_next_looked_for(tmp_path: Path) -> None:
    over = gallery()
    indexes, tries = PartIndexes(tmp_path), []

    def fail() -> None:
        tries.append(1)
        raise OSError("No space left on device")

    for count in (1, 2):
        told = threading.Event()
        assert indexes.find_or_make(over, part_of(over, 0), fail, told.set) is None
        assert told.wait(60)
        assert len(tries) == count


def test_an_index_of_a_part_takes_what_came(tmp_path: Path) -> None:
    over = gallery()
    less = IndexedPart(name_part(1, 2), slice(HALF, COUNT - 50), over.snapshot.ids[HALF : COUNT - 50])
    make_index(tmp_path, over, less)
    indexes = PartIndexes(tmp_path)
    indexed = indexes.find(over, part_of(over, 1))
    assert indexed is not None
    assert indexed.lacking_k.tolist() == list(range(250, 300))  # of the part's 300
    make_index(tmp_path, over, part_of(over, 1))
    indexed = indexes.find(over, part_of(over, 1))
    assert indexed is not None
    assert (len(indexed.lacking_k), indexed.index.card.trained_on) == (0, 250)  # it grew
