"""Recorded dialogues through a retriever: the rank of every target after every turn.

A turn is processed as it is live (`resolve_turn`, `step`, `query`), except that nothing is displayed. So all queries
of a task are known before the first is scored, and are scored in blocks. Systems that answer in words also do so here
without a session.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float, Float32, Int

from viewfinder.conversation import BackTo, Conversation, Node, Turn
from viewfinder.errors import BadInput
from viewfinder.evaluation.plan import Task
from viewfinder.metrics import rank_bounds, score_bounds
from viewfinder.query import Query, RegionSpace, ResolvedTurn
from viewfinder.retrievers import AnsweringRetriever, Retriever
from viewfinder.search.gallery import Gallery
from viewfinder.search.kernels import TIE
from viewfinder.search.region_scores import RegionBlock, query_vector_scores, rank_fusion
from viewfinder.search.regions import find_block
from viewfinder.search.scores import express_query, score_all, sum_plain_parts
from viewfinder.session.resolve import resolve_turn

MAX_QUERIES_AT_ONCE = 4096
"""Queries held in memory before they are scored."""

MAX_VECTORS_AT_ONCE = 64
"""Region vectors in one product: with 36 regions, the similarities to 2,000 pictures are 18 MB."""

WORDS_ALONE, PICTURES_ALONE = -math.inf, math.inf
"""Picture biases with which every answer is in words, or in pictures."""

State = TypeVar("State")


@dataclass(frozen=True, eq=False)
class RankTable:
    """0-based ranks of the target, best and worst case where scores tie; NaN: the dialogue has no such turn.

    `subset_*` are the ranks within the dialogue's own subset, where the protocol has subsets. `truth_*` are those of
    all right pictures, the target first, where it has several; NaN beyond a dialogue's last one.
    """

    best_st: Float[np.ndarray, "s t"]
    worst_st: Float[np.ndarray, "s t"]
    gallery_size: int
    subset_best_st: Float[np.ndarray, "s t"] | None = None
    subset_worst_st: Float[np.ndarray, "s t"] | None = None
    truth_best_stg: Float[np.ndarray, "s t g"] | None = None
    truth_worst_stg: Float[np.ndarray, "s t g"] | None = None


@dataclass(frozen=True, eq=False)
class _Asked:
    """One query to score: its dialogue and turn, and the rows of its target, excluded and other right pictures."""

    dialogue: int
    turn: int
    query: Query
    target: int
    without: tuple[int, ...]
    among: tuple[int, ...]
    truths: tuple[int, ...] = ()


def replay_task(task: Task, gallery: Gallery, retriever: Retriever[Any]) -> RankTable:
    """Says every dialogue of the task to the retriever and ranks the task's gallery after each turn.

    `gallery` holds every picture of the task, ranked or only named. A rank counts the pictures of the task's gallery
    that score higher; excluded pictures come last.
    """
    scorer = _Scorer(gallery, np.sort(np.array([gallery.row(picture) for picture in task.gallery], dtype=np.int64)))

    def asked() -> Iterator[_Asked]:
        for number, dialogue in enumerate(task.dialogues):
            without, among = (
                tuple(scorer.position[row] for picture in some if (row := gallery.row(picture)) in scorer.position)
                for some in (dialogue.leaves_out, dialogue.among)
            )
            queries = query_each_turn(make_conversation(dialogue.turns), gallery, retriever)
            for turn, (_, query) in enumerate(queries):
                wanted = dialogue.targets[turn] if dialogue.targets else dialogue.target
                target = scorer.position[gallery.row(wanted)]
                truths = tuple(scorer.position[gallery.row(picture)] for picture in dialogue.truths)
                yield _Asked(number, turn, query, target, without, among, truths)

    turns = max((dialogue.judged for dialogue in task.dialogues), default=0)
    most = max((len(dialogue.truths) for dialogue in task.dialogues), default=0)
    best_st, worst_st, *more = scorer.rank_all(asked(), (len(task.dialogues), turns), most)
    subsets, truths = more[:2], more[2:]
    has_subsets = any(dialogue.among for dialogue in task.dialogues)
    return RankTable(
        best_st, worst_st, len(task.gallery), *(subsets if has_subsets else (None, None)),
        *(truths if most else (None, None)),
    )  # fmt: skip


def rank_queries(
    gallery: Gallery, targets: Sequence[str], turns: int, said: Iterable[tuple[int, int, Query]]
) -> tuple[Float[np.ndarray, "s t"], Float[np.ndarray, "s t"]]:
    """Ranks of the targets among all pictures, best and worst case where scores tie; NaN: no such turn.

    `said` are queries as they come, each with its dialogue and turn (from 0).
    """
    scorer = _Scorer(gallery, np.arange(len(gallery)))
    position_s = [scorer.position[gallery.row(target)] for target in targets]
    asked = (_Asked(dialogue, turn, query, position_s[dialogue], (), ()) for dialogue, turn, query in said)
    best_st, worst_st, *_ = scorer.rank_all(asked, (len(targets), turns))
    return best_st, worst_st


def make_conversation(turns: Sequence[Turn]) -> Conversation:
    """Makes a conversation of turns, in which nothing was displayed."""
    return reduce(Conversation.then, turns, Conversation())


def query_each_turn(
    conversation: Conversation, gallery: Gallery, retriever: Retriever[Any]
) -> Iterator[tuple[Node, Query]]:
    """The nodes of a conversation that say something, and what the retriever searches for at each.

    A retriever that may answer in words shows pictures nevertheless: ranks are what is measured.
    """
    retriever = force_pictures(retriever)
    states: list[Any] = []
    for node in conversation.nodes:
        if node.turn is None:
            states.append(retriever.begin())
        elif isinstance(node.turn, BackTo):
            states.append(states[node.parent])
        else:
            turn = resolve_turn(conversation, node, gallery, reads=retriever.reads)
            states.append(retriever.step(states[node.parent], turn))
            query = retriever.query(states[-1])
            # Of others the probabilities alone would change, and ranks need none.
            yield node, express_query(query, gallery.measures.scale) if query.on_box_scale else query


class _Scorer:
    """Ranks targets among some rows of a gallery; `position` is where a row stands among them."""

    def __init__(self, gallery: Gallery, ranked_n: Int[np.ndarray, " n"]) -> None:
        self._gallery = gallery
        self._ranked_n = ranked_n
        self.position = {int(row): position for position, row in enumerate(ranked_n)}
        self._of_regions: dict[str, RegionScorer] = {}
        whole = len(ranked_n) == len(gallery) and bool((ranked_n == np.arange(len(gallery))).all())
        matrix_nd: Float32[np.ndarray, "n d"] = np.asarray(gallery.snapshot.matrix_nd, np.float32)
        self._matrix_nd = matrix_nd if whole else matrix_nd[ranked_n]

    def rank_all(
        self, asked: Iterator[_Asked], shape: tuple[int, int], truths: int = 0
    ) -> list[Float[np.ndarray, ...]]:
        """The ranks of queries as they come, scored in blocks: best, worst, the same within their subsets, and those
        of every right picture (at most `truths`)."""
        tables = [np.full(shape, np.nan) for _ in range(4)] + [np.full((*shape, truths), np.nan) for _ in range(2)]
        while waiting := list(islice(asked, MAX_QUERIES_AT_ONCE)):
            # A query that says nothing is a plain one too: one dot product, with zeros.
            plain = [
                one for one in waiting if not (one.truths or one.query.opinions or sum_plain_parts(one.query).others)
            ]
            if plain:
                best_q, worst_q = self._rank_plain(plain)
                for one, best, worst in zip(plain, best_q, worst_q, strict=True):
                    tables[0][one.dialogue, one.turn], tables[1][one.dialogue, one.turn] = best, worst
            ranked = frozenset(map(id, plain))
            for one, scores_n in self._score_batch([one for one in waiting if one.among or id(one) not in ranked]):
                subsets = [] if id(one) in ranked else [(0, self._out(one))]
                if one.among:
                    subsets.append((2, np.setdiff1d(np.arange(len(self._ranked_n)), np.asarray(one.among))))
                for first, out_k in subsets:
                    bounds = score_bounds(scores_n[None], np.array([one.target]), excluded=[out_k], tie=TIE)
                    for table, (rank,) in zip(tables[first:], bounds, strict=False):
                        table[one.dialogue, one.turn] = rank
                for place, truth in enumerate(one.truths):
                    bounds = score_bounds(scores_n[None], np.array([truth]), excluded=[self._out(one)], tie=TIE)
                    for table, (rank,) in zip(tables[4:], bounds, strict=True):
                        table[one.dialogue, one.turn, place] = rank
        return tables

    def _score_batch(self, asked: Sequence[_Asked]) -> Iterator[tuple[_Asked, Float32[np.ndarray, " n"]]]:
        """The queries with the scores of all ranked pictures: region queries in batches, others as in live use."""
        in_space: dict[str, tuple[RegionSpace, list[_Asked]]] = {}
        for one in asked:
            space = one.query.space
            if isinstance(space, RegionSpace) and one.query.parts:
                in_space.setdefault(space.name, (space, []))[1].append(one)
            else:
                yield one, score_all(self._gallery, one.query).total_n[self._ranked_n]
        for name, (space, alike) in in_space.items():
            if name not in self._of_regions:
                self._of_regions[name] = RegionScorer(self._gallery, space, self._ranked_n)
            scores = self._of_regions[name].scores([one.query for one in alike])
            yield from zip(alike, scores, strict=True)

    def _rank_plain(self, asked: Sequence[_Asked]) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
        width = self._matrix_nd.shape[1]
        sums = [sum_plain_parts(one.query) for one in asked]
        vectors_qd = np.stack([np.zeros(width, np.float32) if s.vector_d is None else s.vector_d for s in sums])
        centred_q = np.array([s.centred for s in sums], np.float32)
        best_q, worst_q = rank_bounds(
            vectors_qd,
            self._matrix_nd,
            np.array([one.target for one in asked]),
            bias_n=-self._gallery.measures.background_n[self._ranked_n] if centred_q.any() else None,
            bias_weight_q=centred_q if centred_q.any() else None,
            excluded=[self._out(one) for one in asked],
            tie=TIE,
        )
        return best_q.astype(np.float64), worst_q.astype(np.float64)

    def _out(self, one: _Asked) -> Int[np.ndarray, " k"]:
        """Positions that come last for this query: excluded by the dialogue, or left out by the protocol."""
        rows = (self._gallery.snapshot.row_of(picture) for picture in one.query.excluded)
        excluded = {self.position[row] for row in rows if row is not None and row in self.position}
        return np.array(sorted(excluded.union(one.without)), dtype=np.int64)


class RegionScorer:
    """Scores of some rows of a gallery in one space, for many queries at once; ranks are fused among these rows alone.

    A state keeps most of its vectors from one turn to the next. So each distinct vector of a run of queries is compared
    with the pictures once, and every query's score is assembled from the results.
    """

    def __init__(self, gallery: Gallery, space: RegionSpace, ranked_n: Int[np.ndarray, " n"]) -> None:
        block = find_block(gallery, space)
        whole = len(ranked_n) == len(block) and bool((ranked_n == np.arange(len(block))).all())
        self._block: RegionBlock = block if whole else block.at(ranked_n)
        self._temperature = space.temperature

    def scores(self, queries: Sequence[Query]) -> Iterator[Float32[np.ndarray, " n"]]:
        """The scores of each query in turn, as `score_all` gives them."""
        for run in split_into_runs(queries):
            vectors_md, shares_qm = _stack(run)
            alike_mn = query_vector_scores(self._block, vectors_md, temperature=self._temperature)
            if run[0].compare == "rank_fusion":  # minus the rank as a share of the pictures
                alike_mn = np.stack([rank_fusion(alike_n[None]) for alike_n in alike_mn])
            yield from shares_qm @ alike_mn


def split_into_runs(queries: Sequence[Query]) -> Iterator[list[Query]]:
    """Queries in order, split where the way to compare changes or their distinct vectors become too many."""
    run: list[Query] = []
    known: set[bytes] = set()
    for query in queries:
        own = {_vector(part.vector_d).tobytes() for part in query.parts}
        if run and (query.compare != run[0].compare or len(known | own) > MAX_VECTORS_AT_ONCE):
            yield run
            run, known = [], set()
        run.append(query)
        known |= own
    if run:
        yield run


def _stack(run: Sequence[Query]) -> tuple[Float32[np.ndarray, "m d"], Float32[np.ndarray, "q m"]]:
    """The distinct vectors of some queries, and the weight of each in each query's score."""
    place: dict[bytes, int] = {}
    vectors: list[Float32[np.ndarray, " d"]] = []
    entries: list[tuple[int, int, float]] = []
    for number, query in enumerate(run):
        fused = query.compare == "rank_fusion"
        whole = (float(len(query.parts)) if fused else sum(part.weight for part in query.parts)) or 1.0
        for part in query.parts:
            vector_d = _vector(part.vector_d)
            at = place.setdefault(vector_d.tobytes(), len(vectors))
            if at == len(vectors):
                vectors.append(vector_d)
            entries.append((number, at, (1.0 if fused else part.weight) / whole))
    shares_qm = np.zeros((len(run), len(vectors)), np.float32)
    for number, at, share in entries:
        shares_qm[number, at] += share
    return np.stack(vectors), shares_qm


def _vector(vector_d: Float[np.ndarray, " d"] | None) -> Float32[np.ndarray, " d"]:
    assert vector_d is not None, "parts of kind regions have a vector"
    return np.ascontiguousarray(vector_d, dtype=np.float32)


# -- systems that answer


@runtime_checkable
class SpeakingRetriever(Retriever[State], AnsweringRetriever[State], Protocol[State]):
    """A retriever that answers."""


def with_picture_bias(retriever: Retriever[Any], pictures: float) -> SpeakingRetriever[Any]:
    """A retriever that answers, with this picture bias.

    Raises:
        BadInput: it never answers in words.
    """
    if not isinstance(retriever, AnsweringRetriever):
        raise BadInput(f"{retriever.name} only finds pictures; name a system that answers, for example chatsearcher")
    biased = retriever.with_picture_bias(pictures)
    assert isinstance(biased, SpeakingRetriever), "what speaks does so with any bias"
    return biased


def force_pictures(retriever: Retriever[Any]) -> Retriever[Any]:
    """A copy of a retriever that answers every turn with pictures; one that always does so is returned as it is."""
    return with_picture_bias(retriever, PICTURES_ALONE) if isinstance(retriever, AnsweringRetriever) else retriever


def replay_before_last(
    turns: Sequence[Turn], gallery: Gallery, retriever: Retriever[State]
) -> tuple[State, ResolvedTurn]:
    """The state of a retriever after all but the last of these turns, and the last; nothing is displayed between."""
    conversation = make_conversation(turns)
    resolved = [resolve_turn(conversation, node, gallery, reads=retriever.reads) for node in conversation.nodes[1:]]
    return reduce(retriever.step, resolved[:-1], retriever.begin()), resolved[-1]


def replay_turns(turns: Sequence[Turn], gallery: Gallery, retriever: Retriever[State]) -> State:
    """The state of a retriever after these turns."""
    return retriever.step(*replay_before_last(turns, gallery, retriever))


def reply_to_last(turns: Sequence[Turn], gallery: Gallery, speaker: SpeakingRetriever[Any]) -> str:
    """The answer of a speaker to the last of these turns."""
    return "".join(speaker.reply(replay_turns(turns, gallery, speaker))).strip()
