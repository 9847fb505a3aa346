"""Pictures read, decoded and embedded by Ray actors, and written by one process.

An actor gets some files at a time, and gives what the process that adds them would have made of each. Only that
process writes, by what the files hold: so files of which an actor died, and that another was given again, are written
once, and an actor holds nothing that could be lost with it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from viewfinder.cluster.actors import MAX_START_S, Actors, Seat, count_cores, ray_session, start_actor
from viewfinder.encoders import load_encoder
from viewfinder.encoders.origins import Pin
from viewfinder.encoders.vectors import check_rows
from viewfinder.errors import ViewfinderError
from viewfinder.pictures import BadFile, DecodedFile, Decoders, FoundFile, IdentifiedFile, Outcome
from viewfinder.pictures.decode import explain_too_large, read_limits
from viewfinder.plugins import naming_parts
from viewfinder.scratch import scratch_folder
from viewfinder.store.ingest import EmbeddedFile
from viewfinder.store.objects import parse_url, read_picture

MAX_FILES_AT_ONCE = 16
"""Files that an actor is given at a time: about half a second of work, two batches of the shipped encoder."""

MAX_TASKS_AN_ACTOR = 2
"""Such tasks that an actor has at once, so that it never waits for the next."""

MAX_DEATHS = 5
"""Actors that may die while they hold some files, before these are given up."""

NO_PIXELS = np.zeros((0, 0, 3), np.uint8)
"""Stands for the pixels of an embedded picture, which are no longer needed."""


class EmbeddingActor:
    """The actor: an encoder of its own, and a process that decodes for it."""

    def __init__(self, encoder: str, pin: Pin | None = None) -> None:
        """`encoder`: its name, and what it stands for; the heads of tuned libraries come later, where vectors are
        written.
        """
        self._encoder = load_encoder(encoder) if pin is None else load_encoder(encoder, pin=pin)
        self._decoders = Decoders(1, fit=self._encoder.fit)
        self._encoder.pictures([])

    def open(self) -> None:
        """Done when it is ready."""

    def close(self) -> None:
        """Ends the process that decodes, where the actor does not end itself."""
        self._decoders.close()

    def embed(self, files: Sequence[FoundFile]) -> list[EmbeddedFile | IdentifiedFile | BadFile]:
        """Each file as its picture's raw vector and facts, in their order, or as what is wrong with it.

        Of files that are `facts_only`, the facts alone.
        """
        with scratch_folder("fetched") as scratch:
            places = [_fetch_file(file, scratch / str(number)) for number, file in enumerate(files)]
            decoded = iter(list(self._decoders.read(place for place in places if isinstance(place, FoundFile))))
            outcomes = [place if isinstance(place, BadFile) else next(decoded) for place in places]
        pictures = [outcome for outcome in outcomes if isinstance(outcome, DecodedFile)]
        with naming_parts():  # the error travels as its text
            made = self._encoder.pictures([picture.pixels for picture in pictures]).global_bd
        raw = iter(check_rows(made, len(pictures), self._encoder))  # what cannot be used is found where it is written
        return [_name_outcome(outcome, file, raw) for outcome, file in zip(outcomes, files, strict=True)]


def _fetch_file(file: FoundFile, place: Path) -> FoundFile | BadFile:
    """The file on this machine; an object is fetched to `place`. A BadFile says why it cannot be."""
    if parse_url(file.path) is None:
        return file
    if file.size > (limits := read_limits()).max_bytes:
        return BadFile(file.path, file.size, file.mtime_ns, explain_too_large(file.size, limits))
    try:
        place.write_bytes(read_picture(file.path))
    except OSError as error:
        return BadFile(file.path, file.size, file.mtime_ns, " ".join(str(error).split())[:300].lower())
    return replace(file, path=place)


def _name_outcome(outcome: Outcome, file: FoundFile, raw: Iterator[Any]) -> EmbeddedFile | IdentifiedFile | BadFile:
    """An outcome under the name that the file was found by; `raw`: vectors of the pictures that are left."""
    is_object = parse_url(file.path) is not None
    size, mtime_ns = (file.size, file.mtime_ns) if is_object else (outcome.size, outcome.mtime_ns)
    if not isinstance(outcome, DecodedFile):
        return replace(outcome, path=file.path, size=size, mtime_ns=mtime_ns)
    return EmbeddedFile(
        file.path, outcome.id, size, mtime_ns, NO_PIXELS, outcome.facts, np.asarray(next(raw), np.float32),
        known=outcome.known, pixel_hash=outcome.pixel_hash,
    )  # fmt: skip


@dataclass(eq=False)
class _Task:
    """Some files on their way; `tries` counts the actors that died while they held them."""

    files: Sequence[FoundFile]
    seat: Seat
    reference: Any
    tries: int = 0


class ActorEmbedder:
    """Actors that embed, for one run of adding (`ingest.Embedder`)."""

    def __init__(self, ray: Any, encoder: str, actors: int | None = None, pin: Pin | None = None) -> None:
        """`actors`: how many; by default one for every free core. Raises ViewfinderError: none of them starts."""
        self._ray, self._encoder, self._pin = ray, encoder, pin
        self.actors = Actors(ray, actors or count_cores(ray), self._start_actor, "embeds pictures")
        if why := self.actors.settle({seat.opening: seat for seat in self.actors.seats}):
            self.actors.close()
            raise ViewfinderError(f"no actor of the cluster could begin to embed pictures: {why}")

    @staticmethod
    @contextmanager
    def connect(
        address: str, encoder: str, actors: int | None = None, pin: Pin | None = None
    ) -> Iterator[ActorEmbedder]:
        """Actors of the cluster at an address, which end with this. Raises as `ray_session`."""
        with ray_session(address) as ray:
            made = ActorEmbedder(ray, encoder, actors, pin)
            with closing(made.actors):
                yield made

    def embed(self, files: Iterable[FoundFile]) -> Iterator[EmbeddedFile | IdentifiedFile | BadFile]:
        """One outcome a file, in their order.

        Raises:
            ViewfinderError: one actor after the other died, or what an actor could not do; the line says it.
        """
        drawn = iter(files)
        waiting = iter(lambda: list(islice(drawn, MAX_FILES_AT_ONCE)), [])
        under_way = deque[_Task]()
        while True:
            while len(under_way) < MAX_TASKS_AN_ACTOR * len(self.actors.seats) and (some := next(waiting, None)):
                under_way.append(self._give_files(some, under_way))
            if not under_way:
                return
            yield from self._await_result(under_way[0], under_way)
            under_way.popleft()

    def _await_result(self, task: _Task, under_way: Sequence[_Task]) -> list[EmbeddedFile | IdentifiedFile | BadFile]:
        errors = self._ray.exceptions
        while True:
            try:
                found: list[EmbeddedFile | IdentifiedFile | BadFile] = self._ray.get(task.reference)
                return found
            except errors.RayTaskError as error:
                raise ViewfinderError(" ".join(str(error.cause or error).split())[:300]) from error
            except errors.RayError as error:  # the actor is gone, or its machine with what it had found
                why = " ".join(str(error).split())[:300]
                self.actors.replace(task.seat, why)
                for lost in [it for it in under_way if it.seat is task.seat]:
                    if lost.tries >= MAX_DEATHS:
                        raise ViewfinderError(
                            f"{lost.tries + 1} actors died over {lost.files[0].path}: {why}"
                        ) from error
                    again = self._give_files(lost.files, [it for it in under_way if it is not lost])
                    lost.seat, lost.reference, lost.tries = again.seat, again.reference, lost.tries + 1

    def _give_files(self, files: Sequence[FoundFile], under_way: Sequence[_Task]) -> _Task:
        """Gives files to the actor that has the least to do."""
        ready = self.actors.ready(MAX_START_S)
        if not ready:
            raise ViewfinderError(
                "all actors of the cluster are gone: what was added stays, add the same again to go on"
            )
        load = Counter(task.seat for task in under_way)
        seat = min(ready, key=lambda seat: load[seat])
        return _Task(files, seat, seat.actor.embed.remote(files))

    def _start_actor(self) -> Seat:
        actor = start_actor(self._ray, EmbeddingActor, self._encoder, self._pin)
        return Seat(actor, actor.open.remote())
