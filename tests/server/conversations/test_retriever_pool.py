"""Retrievers that read regions: refused, ready, and going on while pictures are added."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import viewfinder.library
import viewfinder.retrievers
from viewfinder.library import Library
from viewfinder.server.conversations import pools
from viewfinder.server.conversations.pools import RetrieverPool
from viewfinder.server.problems import Problem
from viewfinder.testing import ColourEncoder, load_colour_encoder, tiny_pictures


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks_at_regions: Callable[[str, int], Any]) -> Library:
    """Six drawings, and a retriever called `regions`; two pictures without regions are few."""
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    monkeypatch.setattr(pools, "MAX_MADE_IN_A_TURN", 2)
    reader = looks_at_regions(ColourEncoder.raw_version, 3)
    monkeypatch.setitem(viewfinder.retrievers.RETRIEVERS, "regions", lambda checkpoint: reader)
    library = Library.open(tmp_path / "library.vf")
    tiny_pictures(tmp_path / "pictures", 6)
    library.add(tmp_path / "pictures", workers=1)
    return library


def test_a_retriever_goes_on_with_the_pictures_it_has_seen_while_others_are_added(
    library: Library, tmp_path: Path
) -> None:
    ready = RetrieverPool(library)
    library.prepare(ready.retriever("regions"))
    assert len(ready.gallery("regions")) == 6
    tiny_pictures(tmp_path / "pictures", 9)
    library.add(tmp_path / "pictures", workers=1)
    assert (len(ready.gallery("regions")), len(ready.gallery("composer"))) == (6, 9)
    with pytest.raises(Problem, match="3 pictures have none yet"):
        RetrieverPool(library).gallery("regions")  # it has seen none
    library.prepare(ready.retriever("regions"))
    assert len(ready.gallery("regions")) == 9


def test_a_few_pictures_without_regions_are_seen_to_at_once(library: Library, tmp_path: Path) -> None:
    ready = RetrieverPool(library)
    library.prepare(ready.retriever("regions"))
    tiny_pictures(tmp_path / "pictures", 8)
    library.add(tmp_path / "pictures", workers=1)
    assert ready.count_missing(library.gallery()) == 2
    assert len(ready.gallery("regions")) == 8
    assert ready.count_missing(library.gallery()) == 0


def test_pictures_whose_files_are_gone_hold_nobody_up(library: Library, tmp_path: Path) -> None:
    for file in (tmp_path / "pictures").iterdir():
        file.unlink()
    assert RetrieverPool(library).count_missing(library.gallery()) == 0
    assert len(RetrieverPool(library).gallery("regions")) == 6


def test_a_turn_does_not_wait_long_for_vectors_that_another_makes(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "OTHERS_VECTORS_S", 0.01)
    ready = RetrieverPool(library)
    library.prepare(ready.retriever("regions"))
    with ready._making, pytest.raises(Problem, match="for the first time") as caught:
        ready.gallery("regions")
    assert (caught.value.status, caught.value.headers) == (503, {"Retry-After": "5"})
    assert len(ready.gallery("regions")) == 6


def test_without_pictures_there_is_nothing_to_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    ready = RetrieverPool(Library.open(tmp_path / "library.vf"))
    with pytest.raises(Problem, match=r"^there are no pictures yet") as caught:
        ready.gallery("composer")
    assert caught.value.kind == "no-pictures"
    assert {info.name for info in ready.list_all().retrievers if info.ready} >= {"composer", "clip-t"}
