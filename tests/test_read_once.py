"""What is said is read once: a later turn reads no earlier one again. Counted, so that no clock decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

import viewfinder.library
from viewfinder.byte_cache import ByteCache
from viewfinder.library import Library
from viewfinder.query import LikelihoodRatios
from viewfinder.questioners import photographs
from viewfinder.questioners.photographs import Facet, read_facets
from viewfinder.retrievers import Composer
from viewfinder.search.written_words import WordIndex
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings
from viewfinder.session import evidence
from viewfinder.session.session import Session
from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.testing import COLOURS, ColourEncoder, draw_halves, load_colour_encoder
from viewfinder.wording import clauses

TURNS = 24
"""More than any number of texts that was ever kept by count."""

LOOKS = [(top, bottom) for top in COLOURS for bottom in COLOURS]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Pictures of two colours, each with a caption and two columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        library, encoder = Library.open(tmp_path_factory.mktemp("read-once") / "library.vf"), ColourEncoder()
        rows = [
            PictureRow(
                f"p{at:03}", (FileRecord(f"/nowhere/{at}.png", 1, 1),), 24, 16, "PNG", 1,
                captions=(f"{top} over {bottom} number {at}",), attributes={"top": (top,), "bottom": (bottom,)},
            )
            for at, (top, bottom) in enumerate(LOOKS)
        ]  # fmt: skip
        raw_nd = encoder.pictures([draw_halves(*look) for look in LOOKS]).global_bd
        library.store.add(rows, {encoder.raw_version: raw_nd, encoder.version: encoder.project(raw_nd)})
        library.switch(encoder.version, None)
        yield library


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often texts and answers were read, states queried and weights computed for all pictures."""
    counted: Counter[str] = Counter()

    def count(owner: Any, name: str) -> None:
        real: Callable[..., Any] = getattr(owner, name)

        def counting(*args: Any, **kwargs: Any) -> Any:
            counted[name] += 1
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, name, counting)

    for owner, name in (
        (WordIndex, "find"), (WordIndex, "likelihood_ratios"), (evidence, "find_model"), (Facet, "find_labels"),
        (Composer, "step"), (Composer, "query"),
    ):  # fmt: skip
        count(owner, name)
    clauses.split_clauses.cache_clear()
    read_facets.cache_clear()
    return counted


def text(turn: int) -> str:
    """What is said at a turn, and at no other; it takes nothing back, or else what is left would be read as well."""
    return f"{list(COLOURS)[turn % len(COLOURS)]} number {turn}, no stripes"


def test_a_session_reads_what_is_remembered_once(library: Library, calls: Counter[str]) -> None:
    chat = library.chat()
    for turn in range(1, TURNS + 1):
        if turn % 4 == 0 and chat.question is not None:
            chat.answer(chat.question.choices[0])
        else:
            chat.say(text(turn))
    assert calls["find"] == calls["likelihood_ratios"] <= TURNS
    assert calls["find_model"] <= TURNS // 4
    assert calls["step"] <= TURNS
    assert calls["query"] <= TURNS + 1
    assert calls["find_labels"] <= 2 * len(photographs.facets()) * TURNS
    assert clauses.split_clauses.cache_info().misses <= TURNS


def test_over_http_every_turn_reads_what_it_says_and_nothing_else(library: Library, calls: Counter[str]) -> None:
    app, here = create_app(library, ServerSettings(_env_file=None)), ("127.0.0.1", 50000)
    with TestClient(app, base_url="http://localhost:8008", client=here) as client:
        talks = [client.post("/api/v1/sessions", json={}).raise_for_status().json()["id"] for _ in range(3)]
        spent = []
        for turn in range(1, TURNS + 1):
            before = Counter(calls)
            misses = clauses.split_clauses.cache_info().misses
            for at, talk in enumerate(talks):  # others talk meanwhile
                said = {"say": f"{at} {text(turn)}"}
                client.post(f"/api/v1/sessions/{talk}/turns", json=said).raise_for_status()
                client.get(f"/api/v1/sessions/{talk}/turns/{turn}/events").raise_for_status()
            spent.append({**(calls - before), "split": clauses.split_clauses.cache_info().misses - misses})
    # A belief says what would be left without one of its clauses: that is read as well, once for each clause.
    assert all(one["split"] <= 3 * len(talks) for one in spent), spent
    assert all(one["find"] == len(talks) for one in spent), spent
    assert all(one["step"] == len(talks) for one in spent), spent
    assert all(one == spent[5] for one in spent[5:]), spent[5:]


def test_what_was_read_is_bounded_and_read_again_where_it_has_gone(library: Library, calls: Counter[str]) -> None:
    gallery, memo = library.gallery(), ByteCache()
    kept = [Session(gallery, Composer(), None, memo=memo).say(text(turn)) for turn in range(8)]
    read = calls["find"]
    gallery.memory.limit(1)  # keeps the newest alone
    again = [Session(gallery, Composer(), None, memo=memo).say(text(turn)) for turn in range(8)]
    assert calls["find"] > read
    assert len(gallery.memory) == 1
    assert [[(hit.id, hit.score, hit.match) for hit in hits] for hits in kept] == [
        [(hit.id, hit.score, hit.match) for hit in hits] for hits in again
    ]


@pytest.mark.parametrize("share", [0.0, 0.02, 0.9])
def test_ratios_of_few_pictures_add_what_those_of_all_add(share: float) -> None:
    rng, pictures = np.random.default_rng(5), 1000
    rows_k = np.flatnonzero(rng.random(pictures) < share)
    nats_k = rng.random(len(rows_k)).astype(np.float32) + np.float32(0.1)
    nats_n = np.zeros(pictures, np.float32)
    nats_n[rows_k] = nats_k
    ratios = LikelihoodRatios.of(nats_k, rows_k, pictures)
    total_n = rng.random(pictures).astype(np.float32)
    expected_n = total_n + nats_n / np.float32(7.3)
    ratios.add_to(total_n, 7.3)
    np.testing.assert_array_equal(total_n, expected_n)
    some_r = rng.integers(pictures, size=50)
    np.testing.assert_array_equal(ratios.at(some_r), nats_n[some_r])
    assert (ratios.rows_k is None) == (share == 0.9)
    assert ratios.is_nothing == (share == 0)
