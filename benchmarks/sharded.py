"""What does a cluster cost whose shards have an index each? Writes results/sharded.json, tables of docs/cluster.md.

    python benchmarks/sharded.py DATA --work FOLDER          # a million pictures: 3 GB of disk, half an hour
    python benchmarks/sharded.py DATA --work FOLDER --only fleet

`shards` measures what one shard takes of a core for every kind of turn, at several sizes, by its index and by a scan,
and what it finds of the scan's ten best; `recall` that of many
sentences; `messages` what questions and answers of 32 shards weigh, and what packing
and merging them takes; `actors` searches the million by four actors of this machine, beside a simulation of the same;
`fleet` only computes: a hundred million on 32 shards. Costs are seconds of a core (CPU time), so they also hold on a
busy machine; waiting times do not, and the load of the machine stands beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from capacity import ALL_PICTURES, SHARDS, line_through, simulate_shards
from capacity_model import Fleet, always, resampled, simulate_fleet
from freshness import RESULTS
from measuring import read_figures, time_call_and_cores, write_figures
from scale import kinds_of_turns, open_library, without_index
from scale_vectors import describe_likeness, make_vectors, read_vectors
from threadpoolctl import threadpool_limits

import viewfinder
from viewfinder.byte_cache import ByteCache
from viewfinder.cluster import LOCAL, ActorShards, ray_session
from viewfinder.cluster.part_indexes import name_part
from viewfinder.cluster.searching import ShardsOf
from viewfinder.conversation import Say
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.library import Library
from viewfinder.query import Query
from viewfinder.retrievers import Composer
from viewfinder.search.approximate import as_query, exact_best
from viewfinder.search.gallery import MAX_PICTURES_AT_ONCE, Gallery
from viewfinder.search.index_files import IndexedPart, read_index, renew_index
from viewfinder.search.indexed_pictures import CandidateSearch, IndexedPictures
from viewfinder.search.kernels import top_k
from viewfinder.search.near_scores import CANDIDATES
from viewfinder.search.shard_scores import (
    Addition,
    Estimates,
    ShardAnswer,
    ShardQuestion,
    ask_parts,
    make_near_answer,
    merge_answers,
    split_rows,
)
from viewfinder.search.turn_scores import MAX_COMPUTED, answer_shard, warm_scores
from viewfinder.session.session import Session

ALL = 1_000_000
DIVIDED = (4, 2, 1)
"""Into how many shards the pictures are divided, of which the first is measured."""

KINDS = (
    "a description",
    "a third description",
    "three rejected",
    "a picture picked",
    "an answer",
    "half allowed",
    "tenth allowed",
)
BUT = "but red"
ASKED_FOR_RECALL = 200
ACTORS = 4
ASKED = 40
LOADS, FLEET_LOADS = (0.2, 0.4), (0.2, 0.6)
"""Shares of what the actors can answer, one question after the other; and of what a simulated replica can."""


def main() -> None:
    """Run every part, or those named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--divided", type=int, nargs="*", default=DIVIDED)
    parser.add_argument("--asked", type=int, default=ASKED)
    parser.add_argument("--out", type=Path, default=RESULTS / "sharded.json")
    given = parser.parse_args()
    results = read_figures(given.out)
    for name in given.only:
        with threadpool_limits(1, user_api="blas"):
            PARTS[name](results, given)
        results["load"] = {**results.get("load", {}), name: round(os.getloadavg()[0], 1)}
        write_figures("sharded", results, given.out, [name])
        print(name, json.dumps(results[name], indent=1), flush=True)


@dataclass(frozen=True, eq=False)
class Collection:
    """The pictures, and sentences that people wrote about others."""

    library: Library
    captions: tuple[tuple[str, ...], ...]


@cache
def open_collection(data: Path, work: Path) -> Collection:
    """A million vectors distributed as those of real photographs are, as a library."""
    encoder = StarterEncoder()
    photos, folder = read_vectors(data.resolve(), work, encoder), work / str(ALL)
    if (folder / "made").exists():
        return Collection(viewfinder.open(folder / "library"), photos.captions)
    texts_md = encoder.words([said[0] for said in photos.captions][-200:])
    vectors_nd = make_vectors(photos, describe_likeness(photos, texts_md)[1], ALL, work)
    return Collection(open_library(vectors_nd, folder), photos.captions)


def make_part_index(library: Library, gallery: Gallery, part: IndexedPart) -> tuple[IndexedPictures, dict[str, Any]]:
    """The index of a part, made unless it is there; what making it took, if it was made."""
    space, width = gallery.snapshot.space, gallery.snapshot.matrix_nd.shape[1]
    made: dict[str, Any] = {}
    if (index := read_index(library.folder, space, width, part=part.name)) is None:
        _, _, cpu_ms = time_call_and_cores(lambda: renew_index(library.folder, gallery, part=part))
        index = read_index(library.folder, space, width, part=part.name)
        made = {"made_cpu_s": round(cpu_ms / 1000, 1)}
    assert index is not None, "it has just been made"
    card = index.card
    made |= {"lists": card.lists, "probes": [card.probes, card.probes_against]}
    return IndexedPictures(index, part.ids), made | {"recall": [card.recall, card.recall_against]}


# -- one shard


@dataclass
class OneShard:
    """A shard that is timed, by its index and by a scan; the turn sees the answer of its index."""

    gallery: Gallery
    part: slice
    indexed: IndexedPictures
    may_index: bool = True
    is_indexed: bool = True
    index_ms: list[float] = field(default_factory=list)
    scan_ms: list[float] = field(default_factory=list)
    same: list[float] = field(default_factory=list)
    weights: list[tuple[int, int]] = field(default_factory=list)

    def ask(
        self,
        query: Query,
        prior: Addition | None,
        allowed_n: np.ndarray | None,
        excluded_k: np.ndarray,
        search: CandidateSearch | None,
    ) -> tuple[list[ShardAnswer], list[slice]]:
        """The answer of the index, timed beside that of a scan."""
        [question] = ask_parts([self.part], query, prior, allowed_n, excluded_k, search)
        packed = pickle.dumps(question)
        asked = pickle.loads(packed)
        answer, _, index_ms = time_call_and_cores(
            lambda: answer_shard(self.gallery, asked, self.part, None, self.indexed)
        )
        scan, _, scan_ms = time_call_and_cores(
            lambda: answer_shard(self.gallery, pickle.loads(packed), self.part, None, None)
        )
        self.index_ms.append(index_ms)
        self.scan_ms.append(scan_ms)
        self.weights.append((len(packed), len(pickle.dumps(answer))))
        ten, expected = (rows_of_best(it, asked) for it in (answer, scan))
        self.same.append(float(np.isin(expected, ten).mean()) if len(expected) else 1.0)
        return [answer], []


def rows_of_best(answer: ShardAnswer, question: ShardQuestion) -> np.ndarray:
    """The ten best open pictures of an answer; where something is still to be computed, by what is hoped of them."""
    by_c = answer.total_c if answer.hope_c is None else answer.hope_c
    open_c = question.find_open(answer.rows_c - question.start)
    return np.asarray(answer.rows_c[top_k(by_c, 10, allowed_n=open_c)])


def measure_shards(results: dict[str, Any], given: argparse.Namespace) -> None:
    """What one shard takes of a core, by kind of turn and size."""
    collection = open_collection(given.data, given.work)
    gallery = without_index(collection.library)
    found = results.setdefault("shards", {"asked": given.asked, "sizes": {}})
    for count in given.divided:
        rows_p = split_rows(ALL, count, MAX_PICTURES_AT_ONCE)[0]
        part, size = IndexedPart(name_part(0, count), rows_p, gallery.snapshot.ids[rows_p]), rows_p.stop
        indexed, made = make_part_index(collection.library, gallery, part)
        found["sizes"][str(size)] = made | {"kinds": dict(_measure_kinds(collection, gallery, part, indexed, given))}
        print(size, json.dumps(found["sizes"][str(size)]), flush=True)


def _measure_kinds(
    collection: Collection, gallery: Gallery, part: IndexedPart, indexed: IndexedPictures, given: argparse.Namespace
) -> Iterator[tuple[str, dict[str, Any]]]:
    kinds = kinds_of_turns(given.asked, 0)
    for name in (*KINDS, BUT):
        make, where, _ = kinds[name]
        over = collection.library.gallery_of(gallery.snapshot)
        assert isinstance(part.rows_p, slice)
        over.indexed, over.shards = None, (shard := OneShard(gallery, part.rows_p, indexed))
        warm_scores(over)
        around_ms: list[float] = []
        asked = max(given.asked // (1 if name == KINDS[0] else 4), 4)
        for at in range(-2, asked):  # two to warm up
            session = Session(over, Composer(), None, where=where, memo=ByteCache())
            *before, last = make(collection.captions[at % len(collection.captions)], over)
            for turn in before:
                session.take(turn)
            before_count = len(shard.index_ms)
            _, _, spent_ms = time_call_and_cores(session.take, last)
            if at < 0 or len(shard.index_ms) == before_count:
                continue
            here = sum((*shard.index_ms[before_count:], *shard.scan_ms[before_count:]))
            around_ms.append(spent_ms - here)
            shard.index_ms[before_count:] = [sum(shard.index_ms[before_count:])]
            shard.scan_ms[before_count:] = [sum(shard.scan_ms[before_count:])]
            shard.same[before_count:] = shard.same[before_count : before_count + 1]
            shard.weights[before_count:] = shard.weights[before_count : before_count + 1]
            _keep_last(shard, len(around_ms))
        sent, answered = (statistics.median(it) for it in zip(*shard.weights, strict=True))
        yield (
            name,
            {
                "turns": len(around_ms),
                "index_ms": round(statistics.median(shard.index_ms), 2),
                "index_p95_ms": round(float(np.percentile(shard.index_ms, 95)), 2),
                "scan_ms": round(statistics.median(shard.scan_ms), 2),
                "around_ms": round(statistics.median(around_ms), 2),
                "same": round(statistics.fmean(shard.same), 4),
                "question_bytes": int(sent),
                "answer_bytes": int(answered),
            },
        )


def _keep_last(shard: OneShard, count: int) -> None:
    """Leaves out what earlier turns of a conversation took."""
    for kept in (shard.index_ms, shard.scan_ms, shard.same, shard.weights):
        del kept[:-count]


def measure_recall(results: dict[str, Any], given: argparse.Namespace) -> None:
    """What the indexes of the same shards find of the ten best of sentences that people wrote."""
    collection = open_collection(given.data, given.work)
    gallery = without_index(collection.library)
    words = gallery.encoder.words
    queries_mw = np.stack([as_query(words([said[0]])[0], 1.0) for said in collection.captions[:ASKED_FOR_RECALL]])
    rows = {}
    for count in given.divided:
        rows_p = split_rows(ALL, count, MAX_PICTURES_AT_ONCE)[0]
        part = IndexedPart(name_part(0, count), rows_p, gallery.snapshot.ids[rows_p])
        index = make_part_index(collection.library, gallery, part)[0].index
        found_mk = index.lists.search(queries_mw, CANDIDATES, index.card.probes)
        matrix_nd, background_n = gallery.snapshot.matrix_nd[rows_p], gallery.measures.background_n[rows_p]
        best_mk = exact_best(matrix_nd, background_n, queries_mw, 10)
        shares = [np.isin(best_k, found_k).mean() for best_k, found_k in zip(best_mk, found_mk, strict=True)]
        error = float(np.std(shares, ddof=1)) / len(shares) ** 0.5
        rows[str(rows_p.stop)] = {"recall": round(float(np.mean(shares)), 4), "error": round(error, 4)}
    results["recall"] = {"sentences": len(queries_mw), "sizes": rows}


# -- messages


def measure_messages(results: dict[str, Any], given: argparse.Namespace) -> None:
    """What packing and merging of the answers of 32 shards takes, with and without what is computed later."""
    rows = {
        "a description": _measure_messages(given.asked, is_computed=False),
        "an answer": _measure_messages(given.asked, is_computed=True),
    }
    results["messages"] = {"shards": SHARDS, "rows": rows}


def _measure_messages(repeats: int, *, is_computed: bool) -> dict[str, Any]:
    rng, parts = np.random.default_rng(0), split_rows(ALL_PICTURES, SHARDS, MAX_PICTURES_AT_ONCE)
    count = MAX_COMPUTED if is_computed else CANDIDATES
    query_w = rng.standard_normal(272).astype(np.float32)
    keeps = MAX_COMPUTED if is_computed else None
    search = CandidateSearch(((query_w, count),), False, 1, CANDIDATES, keeps, is_computed)
    questions = [ShardQuestion(Query(()), part.start, part.stop, search=search) for part in parts]
    answers = []
    for question in questions:
        rows_c = np.sort(rng.choice(question.stop - question.start, count, replace=False))
        total_c, hope_c = rng.standard_normal((2, count)).astype(np.float32)
        answers.append(
            make_near_answer(rows_c, total_c, hope_c if is_computed else None, question, None, is_indexed=True)
        )
    packed = [pickle.dumps(answer) for answer in answers]

    def nothing(rows_r: np.ndarray) -> np.ndarray:
        return np.zeros(len(rows_r), np.float32)

    def merge() -> object:
        return merge_answers(
            [pickle.loads(one) for one in packed],
            [],
            size=ALL_PICTURES,
            excluded_k=np.zeros(0, np.int64),
            allowed_n=None,
            score=nothing,
            ids=None,
            search=search,
            estimates=Estimates(lambda: (0.0, 1.0), nothing if is_computed else None),
        )

    asks = [time_call_and_cores(lambda: [pickle.dumps(one) for one in questions])[2] for _ in range(repeats)]
    merges = [time_call_and_cores(merge)[2] for _ in range(repeats)]
    return {
        "asking_ms": round(statistics.median(asks), 3),
        "merging_ms": round(statistics.median(merges), 3),
        "question_bytes": len(pickle.dumps(questions[0])),
        "answer_bytes": len(packed[0]),
    }


# -- four actors


@dataclass
class Recorded:
    """The shards of a cluster, and what they were asked."""

    shards: ShardsOf
    asked: list[list[ShardQuestion]] = field(default_factory=list)

    @property
    def may_index(self) -> bool:
        """As the shards."""
        return self.shards.may_index

    @property
    def is_indexed(self) -> bool:
        """As the shards."""
        return self.shards.is_indexed

    def ask(self, *given: Any) -> tuple[list[ShardAnswer], list[slice]]:
        """Asks the shards, and keeps the questions."""
        self.asked.append(ask_parts(self.shards.parts, *given))
        return self.shards.ask(*given)


def measure_actors(results: dict[str, Any], given: argparse.Namespace) -> None:
    """Four actors search a quarter of a million each: what turns find, take of cores, and wait for."""
    collection = open_collection(given.data, given.work)
    library = collection.library
    gallery = without_index(library)
    parts = split_rows(ALL, ACTORS, MAX_PICTURES_AT_ONCE)
    made = []
    for number, part in enumerate(parts):
        known = IndexedPart(name_part(number, ACTORS), part, gallery.snapshot.ids[part])
        made.append(make_part_index(library, gallery, known)[1])
    with ray_session(LOCAL, cpus=ACTORS) as ray, closing(ActorShards(ray, library.folder, ACTORS)) as actors:
        over = library.gallery_of(gallery.snapshot)
        actors.serve(warm_scores(over), library.settings)
        assert isinstance(over.shards, ShardsOf) and over.has_index, "the actors have not read their indexes"
        warm_scores(over)
        shards = over.shards
        found: dict[str, Any] = {"actors": ACTORS, "pictures": ALL, "indexes": made}
        found |= _compare_ways(ray, actors, shards, library, over, collection.captions, given.asked)
        found["loads"] = _load_actors(ray, actors, shards, over, collection.captions, given.asked)
    results["actors"] = found


def _compare_ways(
    ray: Any,
    actors: ActorShards,
    shards: ShardsOf,
    library: Library,
    over: Gallery,
    captions: Sequence[Sequence[str]],
    asked: int,
) -> dict[str, Any]:
    """Descriptions by the indexes of actors, and by their scans: the same texts, first the one and then the other."""
    scanning = library.gallery_of(over.snapshot)
    scanning.indexed, scanning.shards = (
        None,
        ShardsOf(shards.actors, replace(shards.shown, paying=frozenset()), shards.parts),
    )
    warm_scores(scanning)
    ways = {"index": over, "scan": scanning}
    spent: dict[str, list[tuple[float, float, float]]] = {way: [] for way in ways}
    hits: dict[str, list[list[str]]] = {way: [] for way in ways}
    for at in range(-3, asked):
        for way, gallery in ways.items():
            session = Session(gallery, Composer(), None, memo=ByteCache())
            began = _processor_seconds(ray, actors)
            result, wall_ms, here_ms = time_call_and_cores(session.search, Say(captions[at % len(captions)][1]))
            if at >= 0:
                spent[way].append((wall_ms, here_ms, 1000 * (_processor_seconds(ray, actors) - began)))
                hits[way].append([hit.id for hit in result[:10]])
    same = [len({*one} & {*other}) / 10 for one, other in zip(hits["index"], hits["scan"], strict=True)]
    found: dict[str, Any] = {"turns": asked, "same": round(statistics.fmean(same), 4)}
    for way, times in spent.items():
        wall, here, there = (statistics.median(it) for it in zip(*times, strict=True))
        found[way] = {"wall_ms": round(wall, 1), "server_ms": round(here, 1), "actors_ms": round(there, 1)}
    return found


def _processor_seconds(ray: Any, actors: ActorShards) -> float:
    """The processor time of all actors so far."""
    assert actors._actors is not None
    asked = [seat.actor.__ray_call__.remote(lambda actor: time.process_time()) for seat in actors._actors.seats]
    return float(sum(ray.get(asked)))


def _load_actors(
    ray: Any, actors: ActorShards, shards: ShardsOf, over: Gallery, captions: Sequence[Sequence[str]], asked: int
) -> dict[str, Any]:
    """The shards' part of descriptions under a Poisson load, beside the simulation of the same.

    The simulation knows what single shards take while nothing waits. Four actors share two cores: it has two machines,
    of which each answers for two shards, one after the other.
    """
    recorded = Recorded(shards)
    over.shards = recorded
    for said in captions[50 : 50 + asked]:
        Session(over, Composer(), None, memo=ByteCache()).search(Say(said[2]))
    over.shards = shards
    questions = [one for one in recorded.asked if one[0].search is not None]
    assert actors._actors is not None
    seats, shown = actors._actors.seats, shards.shown

    def ask_alone(one: list[ShardQuestion]) -> list[float]:
        spent = []
        for seat, question in zip(seats, one, strict=True):
            began = time.perf_counter()
            ray.get(seat.actor.answer.remote(shown, question))
            spent.append(time.perf_counter() - began)
        return spent

    rng, rows = random.Random(0), {}
    for load in LOADS:
        alone = [ask_alone(one) for one in questions]
        pairs = [[one[0] + one[1], one[2] + one[3]] for one in alone]
        rate = load / statistics.fmean(max(pair) for pair in pairs)
        real = _ask_at_times(lambda one: actors.ask(shown, one), questions, [rng.expovariate(rate) for _ in questions])
        alone += [ask_alone(one) for one in questions]
        pairs = [[one[0] + one[1], one[2] + one[3]] for one in alone]
        fleet = Fleet(2, resampled(pairs), draw_coordinator=always(0.0))
        told = {"measured": real, "simulated": simulate_fleet(fleet, rate, 4000, warm_up=100).seconds}
        rows[str(load)] = {
            "alone_ms": round(1000 * statistics.median(it for one in alone for it in one), 1),
            "others_running": round(os.getloadavg()[0], 1),
            **{
                way: {f"p{share}_ms": round(1000 * float(np.percentile(times, share)), 1) for share in (50, 95)}
                for way, times in told.items()
            },
        }
    return {"questions": len(questions), "rows": rows}


def _ask_at_times(
    ask: Callable[[list[ShardQuestion]], object], questions: Sequence[list[ShardQuestion]], waits_s: Sequence[float]
) -> list[float]:
    """Seconds from when each question was due until all shards had answered it, whatever else is being answered."""
    due = time.perf_counter() + 0.1 + np.cumsum(waits_s)
    spent = [0.0] * len(questions)

    def answer(number: int) -> None:
        ask(questions[number])
        spent[number] = time.perf_counter() - due[number]

    threads = [threading.Thread(target=answer, args=(number,)) for number in range(len(questions))]
    for number, thread in enumerate(threads):
        time.sleep(max(0.0, due[number] - time.perf_counter()))
        thread.start()
    for thread in threads:
        thread.join()
    return spent


# -- a hundred million


def compute_fleet(results: dict[str, Any], given: argparse.Namespace) -> None:
    """A hundred million pictures on 32 shards, from the costs measured above."""
    del given
    sizes = results["shards"]["sizes"]
    costs = {int(size): found["kinds"][KINDS[0]] for size, found in sizes.items()}
    start_ms, slope_ms = line_through([(size, cost["index_ms"]) for size, cost in costs.items()])
    shard_ms = start_ms + slope_ms * ALL_PICTURES / SHARDS
    messages = results["messages"]["rows"][KINDS[0]]
    around_ms = max(cost["around_ms"] for cost in costs.values())  # at the other sizes a sentence's vector is at hand
    around_ms += messages["asking_ms"] + messages["merging_ms"]
    found = simulate_shards(shard_ms / 1000, around_ms / 1000, most_replicas=2, loads=FLEET_LOADS)
    found |= {
        "start_ms": round(start_ms, 2),
        "ns_a_picture": round(1e6 * slope_ms, 2),
        "around_ms": round(around_ms, 1),
    }
    results["fleet"] = found


PARTS: dict[str, Callable[[dict[str, Any], argparse.Namespace], None]] = {
    "shards": measure_shards,
    "recall": measure_recall,
    "messages": measure_messages,
    "actors": measure_actors,
    "fleet": compute_fleet,
}

if __name__ == "__main__":
    main()
