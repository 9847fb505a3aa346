"""Late fusion: the scores of several systems, summed with weights that gates give; fitted on validation.

The score of a picture is the sum over the systems s of w_s z_s, with

    z_s = (score - mean) / deviation            over the pictures that are searched, query by query; of the composer
    z_s = (score - mean) * sharpness            which says itself what a lead means: nats
    w_s = softplus(a_s + W_s x)                 x: what is known of the conversation, of the library, of the scores

and its probability is the softmax over all pictures that are searched. `a` and `W` minimise the cross entropy of the
wanted picture, every column alike, with a penalty on `W`. Half of the validation dialogues say when to stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from fusion_data import COMPARED, Queries, Scored
from jaxtyping import Bool, Float, Float32, Int
from torch.nn import functional

from viewfinder.metrics import expected_hits, score_bounds
from viewfinder.retrievers.one.gates import COMPOSER, CONVERSATION, WORLDS, compare_worlds
from viewfinder.search.scores import SAME_SCORES

DEPTH = 10

MOST_QUERIES = 250
"""Queries of a task, drawn at random, that a fit learns from, and as many that say when it stops."""

MOST_PICTURES, BEST_OF_EACH = 600, 40
"""Pictures that a fit sees of a large gallery, and how many of them are the best of each system."""

STEPS, PATIENCE = 400, 40
"""Steps of a fit at most, and how many without a gain end it."""

PENALTY = 1e-3
"""Weight of the mean square of `W`."""

MIN_SHARE = 0.05
"""Of gates that are fitted to all shipped systems, those with a smaller share of all weights are left out."""

PEAK = 4.0
"""Deviations by which the best picture stands out as a rule; what the gates know of the scores is divided by it."""

INPUTS = {
    "conversation": CONVERSATION,
    "library": (*WORLDS, "captions"),
    "peaks": tuple(f"peak of {system}" for system in COMPARED),
}
"""What gates may know, by what it is of."""

Inputs = tuple[str, ...]
NOTHING: Inputs = ()
BEFORE: Inputs = ("conversation", "library")
"""What is known before any system has run: gates that know no more can leave systems out."""
ALL: Inputs = tuple(INPUTS)


@dataclass(frozen=True, eq=False)
class Standardised:
    """The queries of one task with the scores of all systems: in nats of the composer, in deviations of others.

    `added_qn`: the nats that the turn network adds in the sum of `one`; None: it is not asked.
    """

    column: str
    queries: Queries
    worlds_w: Float[np.ndarray, " w"]
    z_qsn: Float32[np.ndarray, "q s n"]
    out_qn: Bool[np.ndarray, "q n"]
    hits_sq: Float[np.ndarray, "s q"]
    added_qn: Float32[np.ndarray, "q n"] | None = None

    @property
    def world(self) -> str:
        """The world that the library is most like."""
        return WORLDS[int(np.argmax(self.worlds_w))]

    def inputs(self, known: Inputs) -> Float32[np.ndarray, "q x"]:
        """What the gates know of each query."""
        about = self.queries
        of_library = np.append(self.worlds_w, float(about.captions))
        peak_qs = np.where(self.out_qn[:, None], -np.inf, self.z_qsn).max(axis=2) / PEAK
        found = {
            "conversation": about.conversation_qf,
            "library": np.tile(of_library, (len(about.target_q), 1)),
            "peaks": peak_qs,
        }
        rows = [found[name] for name in known]
        return np.concatenate([*rows, np.zeros((len(about.target_q), 0))], axis=1).astype(np.float32)


def standardise(
    column: str,
    queries: Queries,
    scored: Mapping[str, Scored],
    means_wd: Float32[np.ndarray, "w d"],
    asked: Mapping[str, Sequence[str]] | None = None,
) -> Standardised:
    """All systems' scores of a task on scales of their own (`z_s` above), the composer's first; one that says nothing
    adds nothing.

    What is not searched is what the dialogue shows, and what the composer excludes. `asked`: the systems that are asked
    in a world; others add nothing. None: all.
    """
    assert next(iter(scored)) == COMPOSER
    raw_qsn = np.stack([one.scores_qn for one in scored.values()], axis=1)
    z_qsn = raw_qsn - raw_qsn.mean(axis=2, keepdims=True)
    deviation_qs1 = z_qsn.std(axis=2, keepdims=True)
    unit_qs1 = np.where(deviation_qs1 > SAME_SCORES, deviation_qs1, np.inf)
    unit_qs1[:, 0, 0] = 1 / scored[COMPOSER].sharpness_q
    z_qsn /= unit_qs1
    hits_sq = np.stack([hits(one.scores_qn, queries.target_q, one.out_qn) for one in scored.values()])
    one = Standardised(
        column, queries, compare_worlds(queries.mean_d, means_wd), z_qsn, scored[COMPOSER].out_qn, hits_sq
    )
    if asked is not None:
        one.z_qsn[:, [system not in asked[one.world] for system in scored]] = 0
    return one


def hits(
    scores_qn: Float[np.ndarray, "q n"], target_q: Int[np.ndarray, " q"], out_qn: Bool[np.ndarray, "q n"]
) -> Float[np.ndarray, " q"]:
    """Whether the wanted picture of each query is among the first ten; ties count as a fraction."""
    excluded = [np.flatnonzero(out_n) for out_n in out_qn]
    best_q, worst_q = score_bounds(scores_qn, target_q, excluded=excluded, tie=1e-6)
    return expected_hits(DEPTH, best_q, worst_q)


@dataclass(frozen=True, eq=False)
class Gates:
    """Weights of all systems for a query: softplus(a + W x); `known` is what x holds."""

    known: Inputs
    a_s: Float32[np.ndarray, " s"]
    w_sx: Float32[np.ndarray, "s x"]
    held: float = np.nan  # cross entropy on the dialogues that said when to stop, in nats

    def weights(self, some: Standardised) -> Float32[np.ndarray, "q s"]:
        """The weights of the systems for every query."""
        return np.asarray(np.logaddexp(0, self.a_s + some.inputs(self.known) @ self.w_sx.T), np.float32)

    def hits(self, some: Standardised, least: float = 0.0) -> Float[np.ndarray, " q"]:
        """Whether each wanted picture is among the first ten."""
        return hits(fuse(some.z_qsn, self.kept_weights(some, least)), some.queries.target_q, some.out_qn)

    def hits_with(self, some: Standardised, least: float = 0.0) -> Float[np.ndarray, " q"]:
        """The same with what the turn network adds, if it is asked."""
        total_qn = fuse(some.z_qsn, self.kept_weights(some, least))
        if some.added_qn is not None:
            total_qn = total_qn + some.added_qn
        return hits(total_qn, some.queries.target_q, some.out_qn)

    def kept_weights(self, some: Standardised, least: float) -> Float32[np.ndarray, "q s"]:
        """The weights, 0 for systems with less than this share; the composer is never left out."""
        weight_qs = self.weights(some)
        kept_qs = weight_qs >= least * weight_qs.sum(axis=1, keepdims=True)
        kept_qs[:, 0] = True
        return np.where(kept_qs, weight_qs, np.float32(0))


def fuse(z_qsn: Float32[np.ndarray, "q s n"], weight_qs: Float32[np.ndarray, "q s"]) -> Float32[np.ndarray, "q n"]:
    """The weighted sum of standardised scores."""
    return np.asarray(np.einsum("qs,qsn->qn", weight_qs, z_qsn))


# -- fitting


@dataclass(frozen=True, eq=False)
class _Sample:
    """Queries of one column as tensors; the wanted picture stands first."""

    x_qx: torch.Tensor
    z_qsn: torch.Tensor
    closed_qn: torch.Tensor


def fit(some: Sequence[Standardised], known: Inputs, seed: int, start: Gates | None = None) -> Gates:
    """Gates that know so much, fitted on half of the dialogues of every task; the other half says when to stop.

    `start`: weights without gates, from which the gates depart.
    """
    random = np.random.default_rng(seed)
    halves: dict[str, tuple[list[_Sample], list[_Sample]]] = {}
    for one in some:
        learns_c = random.permutation(len(one.queries.ids)) < len(one.queries.ids) / 2
        learns_q = learns_c[one.queries.dialogue_q]
        for side, chosen_q in enumerate((learns_q, ~learns_q)):
            if chosen_q.any():
                rows_q = random.permutation(np.flatnonzero(chosen_q))[:MOST_QUERIES]
                sample = _take(one, rows_q, known, random)
                halves.setdefault(one.column, ([], []))[side].append(sample)
    width, systems = sum(len(INPUTS[name]) for name in known), some[0].z_qsn.shape[1]
    a_s = torch.full((systems,), -1.0) if start is None else torch.tensor(start.a_s)
    w_sx = torch.zeros(systems, width)
    a_s.requires_grad_()
    w_sx.requires_grad_()
    optimiser = torch.optim.Adam([a_s, w_sx], lr=0.05)
    best, waited = (np.inf, a_s.detach().numpy().copy(), w_sx.detach().numpy().copy()), 0
    for _ in range(STEPS):
        optimiser.zero_grad()
        for learns, _ in halves.values():
            (_loss(learns, a_s, w_sx) / len(halves)).backward()  # type: ignore[no-untyped-call]
        if width:
            (PENALTY * w_sx.square().sum()).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        with torch.no_grad():
            held = float(np.mean([float(_loss(holds, a_s, w_sx)) for _, holds in halves.values()]))
        if held < best[0] - 1e-5:
            best, waited = (held, a_s.detach().numpy().copy(), w_sx.detach().numpy().copy()), 0
        elif (waited := waited + 1) >= PATIENCE:
            break
    return Gates(known, best[1], best[2], best[0])


def _take(one: Standardised, rows_q: Int[np.ndarray, " q"], known: Inputs, random: np.random.Generator) -> _Sample:
    """Some queries, of large galleries with the best pictures of every system and some others."""
    z_qsn, out_qn = one.z_qsn[rows_q], one.out_qn[rows_q]
    target_q, n = one.queries.target_q[rows_q], one.z_qsn.shape[2]
    kept_qk = np.empty((len(rows_q), min(n, MOST_PICTURES)), np.int64)
    for row, target in enumerate(target_q):
        if n > MOST_PICTURES:
            near = np.argpartition(-z_qsn[row], BEST_OF_EACH, axis=1)[:, :BEST_OF_EACH].ravel()
            order = np.concatenate([[target], near, random.choice(n, 2 * MOST_PICTURES, replace=False)])
        else:
            order = np.concatenate([[target], np.arange(n)])
        _, first = np.unique(order, return_index=True)
        kept_qk[row] = order[np.sort(first)][: kept_qk.shape[1]]
    x_qx = one.inputs(known)[rows_q]
    taken_qsk = np.take_along_axis(z_qsn, kept_qk[:, None], axis=2)
    closed_qk = np.take_along_axis(out_qn, kept_qk, axis=1)
    closed_qk[:, 0] = False
    return _Sample(*map(torch.from_numpy, (x_qx, taken_qsk, closed_qk)))


def _loss(samples: Iterable[_Sample], a_s: torch.Tensor, w_sx: torch.Tensor) -> torch.Tensor:
    """The mean cross entropy of the wanted pictures of one column."""
    lost, count = torch.zeros(()), 0
    for one in samples:
        weight_qs = functional.softplus(a_s + one.x_qx @ w_sx.T)
        scores_qn = torch.einsum("qs,qsn->qn", weight_qs, one.z_qsn).masked_fill(one.closed_qn, -torch.inf)
        lost = lost + (scores_qn.logsumexp(dim=1) - scores_qn[:, 0]).sum()
        count += len(scores_qn)
    return lost / count


# -- a router

Kind = tuple[object, ...]
Routes = Mapping[Kind, int]
"""The number of a system for each kind of query."""


def kind_of(some: Standardised) -> list[Kind]:
    """The kind of every query: the world that the library is nearest to, and what was done."""
    about = some.queries
    world = int(np.argmax(some.worlds_w))
    found_qf = about.conversation_qf > 0
    at = {name: place for place, name in enumerate(CONVERSATION)}
    acts = ("descriptions", "answers", "picks with words", "picks without words", "looks back")
    return [
        (world, about.captions, *(bool(found_f[at[name]]) for name in acts), bool(found_f[at["turns"]]))
        for found_f in found_qf
    ]


def choose_routes(some: Sequence[Standardised]) -> dict[Kind, int]:
    """The best system on validation of every kind of query, by R@10 at the end; the composer where nothing is known."""
    found: dict[Kind, list[Float[np.ndarray, " s"]]] = {}
    for one in some:
        for kind, last, hits_s in zip(kind_of(one), one.queries.last_q, one.hits_sq.T, strict=True):
            if last:
                found.setdefault(kind, []).append(hits_s)
    return {kind: int(np.argmax(np.mean(hits, axis=0))) for kind, hits in found.items()}


def ends_of(some: Standardised) -> set[Kind]:
    """The kinds of the last turns."""
    return {kind for kind, last in zip(kind_of(some), some.queries.last_q, strict=True) if last}


def route(some: Standardised, routes: Routes) -> Float[np.ndarray, " q"]:
    """What the routed systems find, query by query."""
    chosen_q = [routes.get(kind, 0) for kind in kind_of(some)]
    return np.asarray(some.hits_sq[chosen_q, np.arange(len(chosen_q))])
