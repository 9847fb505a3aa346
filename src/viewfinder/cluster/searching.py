"""Shards of a library searched by Ray actors.

Every actor maps the same snapshot, and is asked for rows of it: by habit for its own, so that these stay in its memory,
and for those of an actor that is gone, as any of them can search any rows. Nothing is kept in an actor that is not on
disk; one that is lost is replaced.

A turn asks every shard once. Those that did not answer, because an actor died, failed or is late, are asked for once
more, elsewhere. Rows that still could not be searched are told by their bounds: `Ranking.missing` counts them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32, Int

from viewfinder.cluster.actors import Actors, Seat, count_cores, ray_session, start_actor
from viewfinder.encoders import load_encoder
from viewfinder.encoders.origins import Pin
from viewfinder.errors import EncoderMismatch, LibraryError, ViewfinderError
from viewfinder.query import Query
from viewfinder.search.gallery import MAX_KEPT_PICTURES, MAX_PICTURES_AT_ONCE, Gallery
from viewfinder.search.kernels import TOGETHER
from viewfinder.search.shard_scores import ShardAnswer, ShardQuestion, split_rows
from viewfinder.search.turn_scores import answer_shard
from viewfinder.store.places import local_folder, place_name
from viewfinder.store.settings import Settings
from viewfinder.store.snapshot_files import load_built_snapshot, load_snapshot

SHARD_PATIENCE_S = (10.0, 10.0)
"""The time for which a turn waits for its shards, and then for those that are asked for once more."""

MAX_TURNS_AT_ONCE = 2
"""Turns that an actor works on at the same time: the next snapshot may be opened beside one."""

MAX_OPEN_SNAPSHOTS = 2
"""Snapshots that an actor keeps open: turns that have begun go on with the one before."""


@dataclass(frozen=True)
class Shown:
    """The pictures that are searched: a snapshot by its generation, and the encoder they are seen through.

    `order` is a hash of the ids in the driver's order of rows; `ids` refers to these, for a machine whose own snapshot
    of a bucket has them in another order. `known_as` are versions of the encoder that made the space, besides its name;
    `pin` says what the encoder's name stands for.
    """

    generation: str
    space: str
    encoder: str
    head: str | None
    order: str
    ids: Any
    known_as: tuple[str, ...] = ()
    pin: Pin | None = None


@dataclass(frozen=True, eq=False)
class _Opened:
    """A snapshot as an actor has it; `rows_n` are its rows in the driver's order, None where that is its own."""

    gallery: Gallery
    rows_n: Int[np.ndarray, " n"] | None
    ids: Sequence[str] | None


class ShardActor:
    """The actor: it answers for any rows of a library."""

    def __init__(self, place: str) -> None:
        """`place`: the library's folder, which all machines see, or its URL."""
        self._place = place
        self._opened: dict[str, _Opened] = {}

    def open(self, shown: Shown) -> None:
        """Maps the pictures before the first turn asks for them. Raises LibraryError, EncoderMismatch."""
        self._find_opened(shown)

    def answer(self, shown: Shown, question: ShardQuestion) -> ShardAnswer:
        """The answer for these rows. Raises as `open`."""
        found, part = self._find_opened(shown), slice(question.start, question.stop)
        rows = part if found.rows_n is None else found.rows_n[part]
        return answer_shard(found.gallery, question, rows, None if found.ids is None else found.ids[part])

    def _find_opened(self, shown: Shown) -> _Opened:
        known = self._opened.get(shown.generation)
        if known is None:
            known = self._opened[shown.generation] = open_shown(self._place, shown)
            for generation in list(self._opened)[:-MAX_OPEN_SNAPSHOTS]:
                self._opened.pop(generation, None)
        return known


def open_shown(place: str, shown: Shown) -> _Opened:
    """The pictures that a driver searches, as this machine has them.

    Raises:
        LibraryError: this machine sees another state of the library.
        EncoderMismatch: its encoder is not the one that made the vectors.
    """
    folder = local_folder(place)
    snapshot = load_built_snapshot(folder, shown.generation)
    if snapshot is None:  # of a bucket every machine has its own
        snapshot = load_snapshot(folder, shown.space)
    if snapshot.generation != shown.generation:
        raise LibraryError(f"{place} has changed since the search began, or is not the same folder on all machines")
    head = None if shown.head is None else folder / shown.head
    encoder = load_encoder(shown.encoder, head_file=head, pin=shown.pin, may_fetch=shown.pin is not None)
    if encoder.version not in (shown.space, *shown.known_as):
        raise EncoderMismatch(
            f"the encoder {shown.encoder} on this machine is {encoder.version}, not {shown.space}, which made the "
            f"vectors of {place}: put the same model on all machines"
        )
    gallery = Gallery(snapshot, encoder)
    if hash_order(snapshot.ids) == shown.order:
        return _Opened(gallery, None, snapshot.ids_to_order)
    import ray

    ids: Sequence[str] = ray.get(shown.ids)
    return _Opened(gallery, np.array(gallery.rows(ids), np.int64), ids)


def hash_order(ids: Sequence[str]) -> str:
    """A hash of ids in their order."""
    return hashlib.blake2b("\n".join(ids).encode(), digest_size=16).hexdigest()


class ActorShards:
    """The actors that search one library, for the process that answers its users; for all of its threads."""

    def __init__(self, ray: Any, folder: Path, shards: int | None = None) -> None:
        """`shards`: how many actors; by default one for every free core of the cluster."""
        self._ray, self._place = ray, place_name(folder)
        self.count = shards or count_cores(ray)
        self._actors: Actors | None = None
        self._shown: Shown | None = None

    @staticmethod
    @contextmanager
    def connect(address: str, folder: Path, shards: int | None = None) -> Iterator[ActorShards]:
        """Actors of the cluster at an address, which end with this. Raises as `ray_session`."""
        with ray_session(address) as ray, closing(ActorShards(ray, folder, shards)) as found:
            yield found

    def serve(self, gallery: Gallery, settings: Settings) -> None:
        """From now on the actors search this gallery for turns, unless it is empty or lies nowhere on disk.

        Raises:
            ViewfinderError: none of them could open its snapshot; the line says why.
        """
        snapshot = gallery.snapshot
        if snapshot.folder is None or not len(snapshot):
            return
        ids, order = self._ray.put(snapshot.ids), hash_order(snapshot.ids)
        shown = Shown(
            snapshot.generation, snapshot.space, settings.encoder, settings.head, order, ids, settings.known_as,
            settings.pin,
        )  # fmt: skip
        self._shown = shown  # what an actor opens that begins from now on
        if self._actors is None:
            self._actors = Actors(self._ray, self.count, self._start_actor, f"searches {self._place}")
            opening = {seat.opening: seat for seat in self._actors.seats}
        else:
            opening = {seat.actor.open.remote(shown): seat for seat in self._actors.seats}
        if why := self._actors.settle(opening):
            raise ViewfinderError(f"the actors of the cluster could not open {self._place}: {why}")
        # So that products over a part come out as over the whole, to the last bit.
        step = MAX_PICTURES_AT_ONCE if len(snapshot) > MAX_KEPT_PICTURES else TOGETHER
        gallery.shards = ShardsOf(self, shown, tuple(split_rows(len(snapshot), self.count, step)))

    def close(self) -> None:
        """Ends the actors."""
        if self._actors is not None:
            self._actors.close()

    def ask(self, shown: Shown, questions: Sequence[ShardQuestion]) -> dict[int, ShardAnswer]:
        """Answers to questions, by their place; a question that no actor could answer is left out."""
        assert self._actors is not None
        answers: dict[int, ShardAnswer] = {}
        for patience_s in SHARD_PATIENCE_S:
            asked = self._send_questions(
                shown, {place: it for place, it in enumerate(questions) if place not in answers}, patience_s
            )
            done, late = self._ray.wait(list(asked), num_returns=len(asked), timeout=patience_s) if asked else ([], [])
            for reference in done:
                place, seat = asked[reference]
                if not self._actors.failure(reference, seat):
                    answers[place] = self._ray.get(reference)
            for reference in late:
                self._actors.replace(asked[reference][1], f"no answer within {patience_s:g} s")
            if len(answers) == len(questions):
                break
        return answers

    def _send_questions(
        self, shown: Shown, questions: Mapping[int, ShardQuestion], patience_s: float
    ) -> dict[Any, tuple[int, Seat]]:
        """Asks an actor each question, by habit the same one; by reference, what was asked of whom."""
        assert self._actors is not None
        asked: dict[Any, tuple[int, Seat]] = {}
        ready, usual = self._actors.ready(patience_s), self._actors.seats
        for place, question in questions.items() if ready else ():
            seat = usual[place % len(usual)] if usual else ready[0]
            if seat not in ready:
                seat = ready[place % len(ready)]
            asked[seat.actor.answer.remote(shown, question)] = (place, seat)
        return asked

    def _start_actor(self) -> Seat:
        actor = start_actor(self._ray, ShardActor, self._place, concurrency=MAX_TURNS_AT_ONCE)
        return Seat(actor, actor.open.remote(self._shown))


@dataclass(frozen=True, eq=False)
class ShardsOf:
    """The parts of one gallery, as its turns ask for them (`shard_scores.Shards`)."""

    actors: ActorShards
    shown: Shown
    parts: tuple[slice, ...]

    def ask(
        self, query: Query, prior_n: Float32[np.ndarray, " n"] | None, open_n: Bool[np.ndarray, " n"] | None
    ) -> tuple[list[ShardAnswer], list[slice]]:
        """Answers of shards, in the order of their rows; and the rows that no actor could search."""
        compared = Query(query.parts, query.space, query.compare)  # the rest is in `prior_n` and `open_n`
        questions = [
            ShardQuestion(
                compared,
                part.start,
                part.stop,
                None if prior_n is None else prior_n[part],
                None if open_n is None else open_n[part],
            )
            for part in self.parts
        ]
        answers = self.actors.ask(self.shown, questions)
        lost = [part for place, part in enumerate(self.parts) if place not in answers]
        return [answers[place] for place in sorted(answers)], lost
