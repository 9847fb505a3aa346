"""A collection cut into shards, simulated event by event: how long answers take, and how often a shard is missing.

A query reaches a coordinator, which asks one replica of every shard. A replica is a machine with a few cores and one
queue, first come first served; a scan takes one core. A replica that fails answers nothing and loses its queue; the
coordinator learns of that a while later. If a shard has not answered in time, the coordinator asks another replica of
it as well, and the first answer counts. Nothing here reads a clock, a disk or a result: times in seconds come in and
go out.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import simpy

    Steps = Generator[simpy.Event, Any, None]

DrawScans = Callable[[random.Random, int], Sequence[float]]
"""Seconds of scanning one query on so many shards."""

DrawSeconds = Callable[[random.Random], float]


def always(seconds: float) -> DrawSeconds:
    """Work that takes the same time whenever it is done."""
    return lambda rng: seconds


@dataclass(frozen=True)
class Failures:
    """Replicas fail and come back, both after exponential times; they are still asked for `noticed_s`."""

    up_s: float
    repair_s: float
    noticed_s: float = 0.0

    @property
    def share_down(self) -> float:
        """The share of time that a replica is down."""
        return self.repair_s / (self.up_s + self.repair_s)


@dataclass(frozen=True)
class Fleet:
    """A fleet of machines: shards, replicas of each, cores of each, how long work takes, and what goes wrong.

    `hedge_s`: how long a shard may take before another replica of it is asked as well; None: never.
    `deadline_s`: when the answer goes out without the shards that are missing. Where replicas fail it must be finite:
    nothing else ends the wait for a shard that is lost.
    """

    shards: int
    draw_scans: DrawScans
    replicas: int = 1
    cores: int = 1
    draw_coordinator: DrawSeconds = field(default=always(0.0))
    failures: Failures | None = None
    hedge_s: float | None = None
    deadline_s: float = math.inf

    def __post_init__(self) -> None:
        if self.failures is not None and self.deadline_s == math.inf:
            raise ValueError("where replicas fail, answers need a deadline_s")


@dataclass(frozen=True)
class Answers:
    """The answers to queries, in the order they came in: seconds to each, and shards missing from it."""

    seconds: list[float] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)

    @property
    def share_incomplete(self) -> float:
        """The share of answers that lack a shard."""
        return sum(count > 0 for count in self.missing) / len(self.missing)


def simulate_fleet(fleet: Fleet, queries_per_s: float, queries: int, *, warm_up: int = 0, seed: int = 0) -> Answers:
    """Poisson arrivals at a fleet; the first `warm_up` answers, of queues that were empty before, are left out.

    Replicas are up or down at the start as they would be found after a long time.
    """
    import simpy

    rng = random.Random(seed)
    env = simpy.Environment()
    shards = [[_Replica(env, fleet, rng) for _ in range(fleet.replicas)] for _ in range(fleet.shards)]
    found: list[tuple[float, int]] = [(0.0, 0)] * (warm_up + queries)

    def answer(number: int) -> Steps:
        began, coordinating = env.now, fleet.draw_coordinator(rng)
        asked = [
            env.process(_ask_shard(env, fleet, replicas, scan_s, rng))
            for replicas, scan_s in zip(shards, fleet.draw_scans(rng, fleet.shards), strict=True)
        ]
        yield env.all_of(asked)
        found[number] = (env.now - began + coordinating, sum(not one.value for one in asked))

    def arrive() -> Steps:
        answers = []
        for number in range(len(found)):
            yield env.timeout(rng.expovariate(queries_per_s))
            answers.append(env.process(answer(number)))
        yield env.all_of(answers)

    env.run(until=env.process(arrive()))
    kept = found[warm_up:]
    return Answers([seconds for seconds, _ in kept], [missing for _, missing in kept])


class _Replica:
    """One machine with one shard."""

    def __init__(self, env: simpy.Environment, fleet: Fleet, rng: random.Random) -> None:
        import simpy

        self._env = env
        self._cores = simpy.Resource(env, fleet.cores)
        self._life = 0  # counts failures: requests from before a failure are lost
        self.is_up = self.is_thought_up = True
        if fleet.failures is not None:
            self.is_up = self.is_thought_up = rng.random() >= fleet.failures.share_down
            env.process(self._live(fleet.failures, rng))

    def scan(self, answered: simpy.Event, scan_s: float) -> Steps:
        """Waits for a core and scans, unless the answer came from elsewhere meanwhile."""
        life = self._life
        with self._cores.request() as core:
            yield core
            if not self.is_up or self._life != life or answered.triggered:
                return
            yield self._env.timeout(scan_s)
        if self._life == life and not answered.triggered:
            answered.succeed()

    def _live(self, failures: Failures, rng: random.Random) -> Steps:
        while True:
            if self.is_up:
                yield self._env.timeout(rng.expovariate(1 / failures.up_s))
                self.is_up, self._life = False, self._life + 1
                self._env.process(self._be_missed(self._life, failures.noticed_s))
            yield self._env.timeout(rng.expovariate(1 / failures.repair_s))
            self.is_up = self.is_thought_up = True

    def _be_missed(self, life: int, noticed_s: float) -> Steps:
        yield self._env.timeout(noticed_s)
        if self._life == life and not self.is_up:
            self.is_thought_up = False


def _ask_shard(
    env: simpy.Environment, fleet: Fleet, replicas: Sequence[_Replica], scan_s: float, rng: random.Random
) -> Generator[simpy.Event, Any, bool]:
    """Asks one replica, chosen without looking at queues, and after each `hedge_s` another; whether one answered."""
    choice = [replica for replica in replicas if replica.is_thought_up]
    if not choice:
        return False
    rng.shuffle(choice)
    answered = env.event()
    # Flat lists of events: a condition inside another one is released when the outer one ends.
    deadline = () if fleet.deadline_s == math.inf else (env.timeout(fleet.deadline_s),)
    env.process(choice[0].scan(answered, scan_s))
    for other in choice[1:]:
        if fleet.hedge_s is None:
            break
        hedge = env.timeout(fleet.hedge_s)
        yield env.any_of([answered, *deadline, hedge])
        if not hedge.processed:
            break
        env.process(other.scan(answered, fleet.draw_scans(rng, 1)[0]))
    yield env.any_of([answered, *deadline])
    return bool(answered.triggered)


# -- how long work takes


def lognormal_of(median_s: float, p99_s: float) -> DrawSeconds:
    """The lognormal distribution with this median and this 99th percentile."""
    middle, width = math.log(median_s), math.log(p99_s / median_s) / NORMAL_P99
    return lambda rng: rng.lognormvariate(middle, width)


NORMAL_P99 = 2.3263478740408408
"""The 99th percentile of the standard normal distribution."""


def with_stragglers(draw: DrawSeconds, share: float, factor: float) -> DrawScans:
    """Independent times of shards, of which some few take `factor` times as long."""

    def scans(rng: random.Random, shards: int) -> list[float]:
        return [draw(rng) * (factor if rng.random() < share else 1.0) for _ in range(shards)]

    return scans


def resampled(measured: Sequence[Sequence[float]]) -> DrawScans:
    """Times drawn from measured ones: for all shards of a query those of one measured query, as they hang together."""

    def scans(rng: random.Random, shards: int) -> Sequence[float]:
        return rng.choice(measured)[:shards]

    return scans


# -- what queues do in theory


def mean_seconds_mmc(arrivals_per_s: float, served_per_s: float, servers: int = 1) -> float:
    """Mean time in an M/M/c queue: waiting (Erlang's C) and service. Raises ValueError: more comes than goes."""
    offered = arrivals_per_s / served_per_s
    if offered >= servers:
        raise ValueError(f"{arrivals_per_s} a second come in, {servers} x {served_per_s} go out at most")
    all_busy = offered**servers / math.factorial(servers) * servers / (servers - offered)
    some_free = sum(offered**busy / math.factorial(busy) for busy in range(servers))
    waits = all_busy / (some_free + all_busy)
    return waits / (servers * served_per_s - arrivals_per_s) + 1 / served_per_s


def share_incomplete_in_theory(shards: int, replicas: int, share_down: float) -> float:
    """The share of answers that lack a shard, if failures are noticed at once."""
    return float(1 - (1 - share_down**replicas) ** shards)
