"""Shards of a library searched by Ray actors.

Every actor maps the same snapshot, and is asked for rows of it: by habit for its own, so that these stay in its memory,
and for those of an actor that is gone, as any of them can search any rows. Nothing is kept in an actor that is not on
disk; one that is lost is replaced. Large parts have an index each (`part_indexes.py`).

A turn asks every shard once. Those that did not answer, because an actor died, failed or is late, are asked for once
more, elsewhere. Rows that still could not be searched are told by their bounds: `Ranking.missing` counts them.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Int, Int64

from viewfinder.cluster.actors import MAX_START_S, Actors, Seat, count_cores, ray_session, start_actor
from viewfinder.cluster.part_indexes import PartIndexes, make_beside, make_index, name_part
from viewfinder.encoders import load_encoder
from viewfinder.encoders.origins import Pin
from viewfinder.errors import EncoderMismatch, LibraryError, ViewfinderError
from viewfinder.query import Query
from viewfinder.search.approximate import encode_ids
from viewfinder.search.gallery import MAX_KEPT_PICTURES, MAX_PICTURES_AT_ONCE, Gallery
from viewfinder.search.index_files import IndexedPart, pays
from viewfinder.search.kernels import TOGETHER
from viewfinder.search.shard_scores import Addition, ShardAnswer, ShardQuestion, ask_parts, split_rows, split_rows_again
from viewfinder.search.turn_scores import answer_shard
from viewfinder.store.places import local_folder, place_name
from viewfinder.store.settings import Settings
from viewfinder.store.snapshot import Snapshot
from viewfinder.store.snapshot_files import load_built_snapshot, load_snapshot

if TYPE_CHECKING:  # few parts are so large that they have an index
    from viewfinder.search.indexed_pictures import CandidateSearch, IndexedPictures

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
    `pin` says what the encoder's name stands for. `parts` are the first row of each part and that after its last;
    `paying` the numbers of those for which an index pays.
    """

    generation: str
    space: str
    encoder: str
    head: str | None
    order: str
    ids: Any
    known_as: tuple[str, ...] = ()
    pin: Pin | None = None
    parts: tuple[tuple[int, int], ...] = ()
    paying: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class _Opened:
    """A snapshot as an actor has it; `rows_n` are its rows in the driver's order, None where that is its own.

    `ids` are needed to order by them, None where rows stand so. `indexed` has the indexes of parts that were looked
    for, by number; None where there is none that serves.
    """

    gallery: Gallery
    rows_n: Int[np.ndarray, " n"] | None
    ids: Sequence[str] | None
    indexed: dict[int, IndexedPictures | None] = field(default_factory=dict)

    def find_part(self, shown: Shown, number: int) -> IndexedPart:
        """One of the parts of what is shown."""
        start, stop = shown.parts[number]
        name = name_part(number, len(shown.parts))
        if self.rows_n is None:
            return IndexedPart(name, slice(start, stop), encode_ids(self.gallery.snapshot.ids)[start:stop])
        assert self.ids is not None
        return IndexedPart(name, np.asarray(self.rows_n[start:stop], np.int64), encode_ids(self.ids[start:stop]))


@dataclass(frozen=True)
class _IdsFrom(Sequence[str]):
    """The ids from a row on; none of them is copied."""

    ids: Sequence[str]
    start: int

    def __len__(self) -> int:
        return len(self.ids) - self.start

    def __getitem__(self, place: Any) -> Any:
        return self.ids[self.start + place]


class ShardActor:
    """The actor: it answers for any rows of a library."""

    def __init__(self, place: str) -> None:
        """`place`: the library's folder, which all machines see, or its URL."""
        self._place = place
        self._opened: dict[str, _Opened] = {}
        self._indexes = PartIndexes(local_folder(place))

    def open(self, shown: Shown) -> None:
        """Maps the pictures before the first turn asks for them. Raises LibraryError, EncoderMismatch."""
        self._find_opened(shown)

    def answer(self, shown: Shown, question: ShardQuestion) -> ShardAnswer:
        """The answer for these rows. Raises as `open`."""
        found, part = self._find_opened(shown), slice(question.start, question.stop)
        rows = part if found.rows_n is None else found.rows_n[part]
        indexed = None if question.search is None else self._find_index(found, shown, question)
        ids = None if found.ids is None else _IdsFrom(found.ids, question.start)
        return answer_shard(found.gallery, question, rows, ids, indexed)

    def look_for_index(self, shown: Shown, number: int) -> bool:
        """Reads the index of a part, or begins to make it where it is due; returns whether it has one that serves."""
        found = self._find_opened(shown)
        part = found.find_part(shown, number)

        def make() -> None:
            import ray

            make_beside(ray, make_part_index, self._place, shown, number)

        def take() -> None:
            found.indexed[number] = self._indexes.find(found.gallery, part)

        indexed = found.indexed[number] = self._indexes.find_or_make(found.gallery, part, make, take)
        return indexed is not None

    def _find_index(self, found: _Opened, shown: Shown, question: ShardQuestion) -> IndexedPictures | None:
        """The index of the part that a question is about, if it has been read; else another thread begins to."""
        number = shown.parts.index((question.start, question.stop))
        if number not in shown.paying:
            return None
        if number not in found.indexed:  # the actor that this part is asked of by habit is gone
            found.indexed[number] = None
            threading.Thread(target=self.look_for_index, args=(shown, number), daemon=True).start()
        return found.indexed[number]

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


def make_part_index(place: str, shown: Shown, number: int) -> None:
    """Makes or grows the index of a part, in a process of its own. Raises as `open_shown`."""
    found = open_shown(place, shown)
    make_index(local_folder(place), found.gallery, found.find_part(shown, number))


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
        self._first_ids: tuple[str, ...] = ()
        self._with_index: set[int] = set()

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
        parts = self._split(snapshot)
        paying = frozenset(number for number, part in enumerate(parts) if pays(part.stop - part.start))
        shown = Shown(
            snapshot.generation, snapshot.space, settings.encoder, settings.head, order, ids, settings.known_as,
            settings.pin, tuple((part.start, part.stop) for part in parts), paying,
        )  # fmt: skip
        self._shown = shown  # what an actor opens that begins from now on
        if self._actors is None:
            self._actors = Actors(self._ray, self.count, self._start_actor, f"searches {self._place}")
            opening = {seat.opening: seat for seat in self._actors.seats}
        else:
            opening = {seat.actor.open.remote(shown): seat for seat in self._actors.seats}
        if why := self._actors.settle(opening):
            raise ViewfinderError(f"the actors of the cluster could not open {self._place}: {why}")
        self._look_for_indexes(shown)
        gallery.shards = ShardsOf(self, shown, tuple(parts))

    def _split(self, snapshot: Snapshot) -> list[slice]:
        """The parts of a snapshot: where they began before, as long as they are about equal, so that an index of one
        serves when the collection has grown."""
        size = len(snapshot)
        # So that products over a part come out as over the whole, to the last bit.
        step = MAX_PICTURES_AT_ONCE if size > MAX_KEPT_PICTURES else TOGETHER
        parts = None
        if pays(size // self.count):
            parts = split_rows_again(size, snapshot.rows_of(self._first_ids), self.count, step)
        if parts is None:
            parts = split_rows(size, self.count, step)
            self._first_ids = tuple(snapshot.ids[part.start] for part in parts)
            self._with_index = set()
        return parts

    def _look_for_indexes(self, shown: Shown) -> None:
        """Has every large part's actor read its index, or begin to make it."""
        assert self._actors is not None
        seats = self._actors.ready(0.0)
        if not seats or not shown.paying:
            return
        asked = {
            seats[number % len(seats)].actor.look_for_index.remote(shown, number): number for number in shown.paying
        }
        done, _ = self._ray.wait(list(asked), num_returns=len(asked), timeout=MAX_START_S)
        for reference in done:
            with suppress(Exception):  # an actor that has just gone: its part is scanned until there is another
                if self._ray.get(reference):
                    self._with_index.add(asked[reference])

    def has_indexes(self, numbers: frozenset[int]) -> bool:
        """Whether all parts of these numbers were once searched with an index: one that is lost comes again."""
        return numbers <= self._with_index

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
                    if answers[place].is_indexed:
                        self._with_index.add(place)
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

    @property
    def may_index(self) -> bool:
        """As `Shards` says."""
        return bool(self.shown.paying)

    @property
    def is_indexed(self) -> bool:
        """As `Shards` says."""
        return self.may_index and self.actors.has_indexes(self.shown.paying)

    def ask(
        self,
        query: Query,
        prior: Addition | None,
        allowed_n: Bool[np.ndarray, " n"] | None,
        excluded_k: Int64[np.ndarray, " k"],
        search: CandidateSearch | None,
    ) -> tuple[list[ShardAnswer], list[slice]]:
        """Answers of shards, in the order of their rows; and the rows that no actor could search."""
        answers = self.actors.ask(self.shown, ask_parts(self.parts, query, prior, allowed_n, excluded_k, search))
        lost = [part for place, part in enumerate(self.parts) if place not in answers]
        return [answers[place] for place in sorted(answers)], lost
