"""A library searched by Ray actors: as one process searches it, also while actors die, and what is said if they do not
come back. The encoder is the one in the box, as an actor loads it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.waiting import wait_until
from viewfinder.byte_cache import ByteCache
from viewfinder.cluster import ActorShards, searching
from viewfinder.cluster.actors import Actors
from viewfinder.conversation import Like, Reject, Say, Turn
from viewfinder.errors import ViewfinderError
from viewfinder.library import Library
from viewfinder.retrievers import Composer
from viewfinder.search.gallery import Gallery
from viewfinder.search.near_scores import NearScores
from viewfinder.search.turn_scores import warm_scores
from viewfinder.session.session import Session
from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.store.store import Store

pytestmark = pytest.mark.afresh

COUNT = 1000


def fill(library: Library, first: int, count: int, seed: int) -> None:
    """Pictures that are there in eights: eight ids have one vector, and every turn is full of ties."""
    encoder, rng = library.encoder, np.random.default_rng(seed)
    vectors_nd = np.repeat(rng.standard_normal((count // 8, 256)).astype(np.float32), 8, axis=0)
    vectors_nd /= np.linalg.norm(vectors_nd, axis=1, keepdims=True)
    raw_ng = rng.standard_normal((count, encoder.pictures([]).global_bd.shape[1])).astype(np.float32)
    order = rng.permutation(count)
    rows = [
        PictureRow(
            f"p{first + at:05}", (FileRecord(f"/pictures/{first + at}.png", 1, 1),), 24, 16, "PNG", 1,
            attributes={"shelf": (f"{at % 5}",)},
        )
        for at in range(count)
    ]  # fmt: skip
    library.store.add(rows, {encoder.raw_version: raw_ng, encoder.version: vectors_nd[order]})


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    made = Library.open(tmp_path_factory.mktemp("sharded") / "library")
    fill(made, 0, COUNT, seed=0)
    return made


@pytest.fixture(scope="module")
def shards(ray: Any, library: Library) -> Iterator[ActorShards]:
    made = ActorShards(ray, library.folder, 2)
    yield made
    made.close()


@pytest.fixture
def sharded(shards: ActorShards, library: Library) -> Gallery:
    gallery = warm_scores(library.gallery_of(library.gallery().snapshot))
    shards.serve(gallery, library.settings)
    return gallery


def session(over: Gallery, n: int = 100, where: dict[str, str] | None = None) -> Session:
    return Session(over, Composer(), None, n=n, where=where, memo=ByteCache())


def check_same(parted: Gallery, scan: Gallery, *turns: Turn, where: dict[str, str] | None = None) -> None:
    """Raises AssertionError where a talk over shards is not what it is over a scan."""
    one, other = session(parted, where=where), session(scan, where=where)
    for turn in turns:
        found, expected = one.take(turn), other.take(turn)
        assert list(found) == list(expected)
        assert (found.verdict, found.missing, len(found)) == (expected.verdict, 0, 100)
    assert isinstance(one.ranking().scores, NearScores)
    assert one.ranking().best(COUNT).tolist() == other.ranking().best(COUNT).tolist()
    assert vars(one.ranking().scores.spread) == pytest.approx(vars(other.ranking().scores.spread), abs=1e-6)


def actors_of(shards: ActorShards) -> Actors:
    assert shards._actors is not None
    return shards._actors


def processes(shards: ActorShards) -> list[int]:
    """The processes of the actors."""
    import ray

    return [ray.get(seat.actor.__ray_call__.remote(lambda actor: os.getpid())) for seat in actors_of(shards).seats]


TALK = (Say("a dog in the snow"), Like("p00017", "red"), Reject(("p00003", "p00900"), "without a house"))


@pytest.mark.slow
def test_actors_answer_as_one_process_does_ties_included(sharded: Gallery, library: Library) -> None:
    check_same(sharded, library.gallery(), *TALK)
    check_same(sharded, library.gallery(), *TALK, where={"shelf": "1|3|4"})


@pytest.mark.slow
def test_an_actor_killed_in_the_middle_of_a_turn_costs_time_and_nothing_else(
    sharded: Gallery, shards: ActorShards, library: Library
) -> None:
    victim, other = processes(shards)
    os.kill(victim, signal.SIGSTOP)  # it takes the question, and dies over it
    threading.Timer(0.5, os.kill, (victim, signal.SIGKILL)).start()
    check_same(sharded, library.gallery(), TALK[0])
    assert other in processes(shards)
    assert victim not in processes(shards)
    check_same(sharded, library.gallery(), *TALK)
    wait_until(lambda: len(actors_of(shards).ready(0.0)) == 2)  # the one in its place comes up beside the turns


@pytest.mark.long
def test_an_actor_that_hangs_is_not_waited_for_any_longer(
    sharded: Gallery, shards: ActorShards, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "SHARD_PATIENCE_S", (1.0, 10.0))
    victim = processes(shards)[0]
    os.kill(victim, signal.SIGSTOP)
    check_same(sharded, library.gallery(), TALK[0])
    assert victim not in processes(shards)


@pytest.mark.slow
def test_rows_that_nobody_could_search_are_named(
    sharded: Gallery, shards: ActorShards, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One try, and an actor that is gone instead of a late one: which of two is late is the clock's to say.
    monkeypatch.setattr(searching, "SHARD_PATIENCE_S", (60.0,))
    os.kill(processes(shards)[0], signal.SIGKILL)
    found, expected = session(sharded).take(TALK[0]), session(library.gallery(), n=COUNT).take(TALK[0])
    assert found.missing == 448  # 7 steps of 64 rows
    there = set(sharded.snapshot.ids[448:])
    assert [hit.id for hit in found] == [hit.id for hit in expected if hit.id in there][:100]
    monkeypatch.undo()
    check_same(sharded, library.gallery(), TALK[0])


@pytest.mark.long
def test_where_all_actors_are_gone_the_turn_waits_for_new_ones(
    sharded: Gallery, shards: ActorShards, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "SHARD_PATIENCE_S", (10.0, 60.0))
    for process in processes(shards):
        os.kill(process, signal.SIGKILL)
    check_same(sharded, library.gallery(), TALK[0])


@pytest.mark.slow
def test_pictures_that_were_added_are_searched_by_the_same_actors(ray: Any, tmp_path: Path) -> None:
    library = Library.open(tmp_path / "library")
    fill(library, 0, 400, seed=1)
    shards = ActorShards(ray, library.folder, 1)
    try:
        before = library.gallery_of(library.gallery().snapshot)
        shards.serve(before, library.settings)
        fill(library, 400, 400, seed=2)
        after = library.gallery_of(library.gallery().snapshot)
        shards.serve(after, library.settings)
        [process] = processes(shards)
        check_same(after, library.gallery(), TALK[0])
        check_same(before, library.gallery_of(before.snapshot), TALK[0])  # a turn that has begun goes on
        assert processes(shards) == [process]
    finally:
        shards.close()


@pytest.mark.slow
def test_a_machine_whose_rows_stand_in_another_order_answers_for_the_drivers_rows(ray: Any, library: Library) -> None:
    snapshot = library.gallery().snapshot
    ids = tuple(snapshot.ids[row] for row in np.random.default_rng(0).permutation(COUNT))
    order = searching.hash_order(ids)
    shown = searching.Shown(snapshot.generation, snapshot.space, "starter", None, order, ray.put(ids))
    found = searching.open_shown(str(library.folder), shown)
    assert found.rows_n is not None
    assert [snapshot.ids[row] for row in found.rows_n.tolist()] == list(ids)
    assert found.ids == ids


@pytest.mark.long
def test_a_library_that_actors_do_not_see_is_said_at_once(ray: Any, library: Library, tmp_path: Path) -> None:
    shards = ActorShards(ray, tmp_path / "elsewhere", 1)
    began = time.monotonic()
    with pytest.raises(ViewfinderError, match=r"could not open .*elsewhere holds no library"):
        shards.serve(library.gallery_of(library.gallery().snapshot), library.settings)
    shards.close()
    assert time.monotonic() - began < 30
    assert Store.open(library.folder).ids()


def index_files_of(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.glob("approximate/*.npz") if not file.name.startswith("."))


@pytest.fixture
def few_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 300 pictures have an index."""
    pytest.importorskip("faiss", reason="the extra `scale` is not installed")
    monkeypatch.setattr(searching, "pays", lambda size: size >= 300)


@pytest.mark.slow
@pytest.mark.usefixtures("few_pay")
def test_actors_make_an_index_of_their_parts_keep_it_and_let_it_grow(ray: Any, tmp_path: Path) -> None:
    library = Library.open(tmp_path / "library")
    fill(library, 0, COUNT, seed=3)
    scan = library.gallery_of(library.gallery().snapshot)
    with closing(ActorShards(ray, library.folder, 2)) as shards:
        first = warm_scores(library.gallery_of(scan.snapshot))
        shards.serve(first, library.settings)
        assert first.shards is not None and first.shards.may_index
        check_same(first, scan, TALK[0])  # by a scan where there is none yet
        wait_until(lambda: check_near(first, scan) and first.has_index)
        [one, other] = index_files_of(library.folder)
        assert one.endswith(".part-1-of-2.npz") and other.endswith(".part-2-of-2.npz")
        os.kill(processes(shards)[0], signal.SIGKILL)
        assert check_near(first, scan)  # the actor that is left scans that part, or has read its index
        assert first.has_index
    fill(library, COUNT, 200, seed=4)
    with closing(ActorShards(ray, library.folder, 2)) as shards:
        before = warm_scores(library.gallery_of(scan.snapshot))
        shards.serve(before, library.settings)
        assert before.has_index  # another server finds the files
        after = warm_scores(library.gallery_of(library.gallery().snapshot))
        shards.serve(after, library.settings)
        assert isinstance(after.shards, searching.ShardsOf)
        assert [part.start for part in after.shards.parts] == [0, 448]
        assert after.has_index
        assert check_near(after, library.gallery())


def check_near(parted: Gallery, scan: Gallery) -> bool:
    """Whether a talk over shards finds what it finds over a scan, but for a few; ties in another order."""
    one, other = session(parted), session(scan)
    for turn in TALK:
        found, expected = one.take(turn), other.take(turn)
        scores, expected_scores = ([hit.score for hit in hits] for hits in (found, expected))
        assert np.abs(np.subtract(scores[:20], expected_scores[:20])).max() < 0.02
        assert (found.verdict, found.missing, len(found)) == (expected.verdict, 0, 100)
    return True


@pytest.mark.slow
@pytest.mark.usefixtures("few_pay")
def test_a_part_is_the_same_pictures_on_a_machine_whose_rows_stand_in_another_order(
    ray: Any, library: Library, tmp_path: Path
) -> None:
    snapshot = library.gallery().snapshot
    ids = tuple(snapshot.ids[row] for row in np.random.default_rng(0).permutation(COUNT))
    shown = searching.Shown(
        snapshot.generation, snapshot.space, "starter", None, searching.hash_order(ids), ray.put(ids),
        parts=((0, 448), (448, COUNT)), paying=frozenset({0, 1}),
    )  # fmt: skip
    searching.make_part_index(str(library.folder), shown, 0)
    actor = searching.ShardActor(str(library.folder))
    assert actor.look_for_index(shown, 0)
    found = searching.open_shown(str(library.folder), shown)
    part = found.find_part(shown, 0)
    assert [key.decode() for key in np.asarray(part.ids).tolist()] == list(ids[:448])
    assert [snapshot.ids[row] for row in part.locate().tolist()] == list(ids[:448])
