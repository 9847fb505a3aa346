"""Some Ray actors of one kind: one that cannot be relied on is replaced, and asked again when it is ready."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from viewfinder.cluster.ray_session import STARTED_S

_LOG = logging.getLogger("viewfinder.cluster")


@dataclass(eq=False)
class Seat:
    """An actor, and what tells when it can be asked: a reference, None once it can."""

    actor: Any
    opening: Any


def start_actor(ray: Any, kind: type, *given: Any, concurrency: int = 1) -> Any:
    """An actor of a class, with a core to itself; it is not waited for."""
    return ray.remote(num_cpus=1, max_concurrency=concurrency)(kind).remote(*given)


class Actors:
    """The actors that do one thing for this process; for all of its threads."""

    def __init__(self, ray: Any, count: int, start: Callable[[], Seat], what: str) -> None:
        """`what`: what they do, for the log."""
        self._ray, self._start, self._what = ray, start, what
        self._lock = threading.Lock()
        self._seats = [start() for _ in range(count)]

    @property
    def seats(self) -> list[Seat]:
        """All of them; one that is replaced leaves its place in this order to the next."""
        with self._lock:
            return list(self._seats)

    def close(self) -> None:
        """Ends them."""
        with self._lock:
            seats, self._seats = self._seats, []
        for seat in seats:
            self._ray.kill(seat.actor)

    def settle(self, opening: Mapping[Any, Seat]) -> str:
        """Waits until calls that make actors ready are done; "" where one of them is, else why none is.

        Who is late joins when it is ready.
        """
        done, late = self._ray.wait(list(opening), num_returns=len(opening), timeout=STARTED_S)
        for reference in late:
            opening[reference].opening = reference
        failures = [failure for reference in done if (failure := self.failure(reference, opening[reference]))]
        for reference in done:
            opening[reference].opening = None
        if len(failures) < len(done):
            return ""
        return failures[0] if failures else f"none was ready within {STARTED_S:g} s: has the cluster free cores?"

    def ready(self, patience_s: float) -> list[Seat]:
        """Those that can be asked; where there are none, the first that can within this time."""
        waited = {seat.opening: seat for seat in self.seats if seat.opening is not None}
        none_yet = len(waited) == len(self.seats)
        if waited:
            done, _ = self._ray.wait(
                list(waited), num_returns=1 if none_yet else len(waited), timeout=patience_s if none_yet else 0
            )
            for reference in done:
                if not self.failure(reference, waited[reference]):
                    waited[reference].opening = None
        return [seat for seat in self.seats if seat.opening is None]

    def failure(self, reference: Any, seat: Seat) -> str:
        """What went wrong with a call that is done, "" if nothing did; then the actor is replaced."""
        try:
            self._ray.get(reference)
        except Exception as error:  # of whatever kind: somebody else is asked
            said = str(error.cause if isinstance(error, self._ray.exceptions.RayTaskError) else error)
            why = " ".join(said.split())[:300] or type(error).__name__
            self.replace(seat, why)
            return why
        return ""

    def replace(self, seat: Seat, why: str) -> None:
        """Another actor in the place of this one."""
        with self._lock:
            if seat not in self._seats:  # another thread was first, or all are ended
                return
            self._seats[self._seats.index(seat)] = self._start()
        _LOG.warning("an actor that %s is replaced: %s", self._what, why)
        self._ray.kill(seat.actor)
