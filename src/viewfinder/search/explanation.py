"""`Hit.why`: what each turn and each system adds to a score, and where each part of a query looks, as JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from viewfinder.query import Opinion, Part, Query, RegionSpace, Term
from viewfinder.search.gallery import Gallery
from viewfinder.search.near_scores import NearScores
from viewfinder.search.regions import compute_attention, find_block, find_boxes
from viewfinder.search.scores import Scores, find_standing, measure_likeness, positive_weight, weigh_term


def explain_hits(
    gallery: Gallery, query: Query, rows_k: Int[np.ndarray, " k"], scores: Scores | NearScores | None = None
) -> list[dict[str, Any]]:
    """Why these pictures are hits: `turns`, `systems` where several are asked (both by `explain_turns`), and `regions`
    where the query has them.

    Given the `scores` of the same query, rank fusion needs no second pass over all pictures.
    """
    # A system that says the same of all pictures adds nothing to any.
    heard = tuple(each for each in query.opinions if find_standing(gallery, each.query) is not None)
    query = replace(query, opinions=heard)
    shares_kp = query.shown_factor * share_parts(gallery, query, rows_k, scores)
    adds_ke = query.shown_factor * share_evidence(gallery, query, rows_k)
    found = explain_turns(query, np.concatenate([shares_kp, adds_ke], axis=1))
    if isinstance(query.space, RegionSpace) and query.parts:
        _add_regions(found, gallery, query, rows_k, shares_kp)
    for term, adds_k in zip(query.terms, adds_ke.T, strict=True):
        if isinstance(term, Opinion) and isinstance(term.query.space, RegionSpace) and term.query.space.reads_regions:
            shares_ks = _share_opinion(gallery, term, rows_k, adds_k, query.sharpness / query.shown_factor)
            _add_regions(found, gallery, term.query, rows_k, shares_ks)
            break  # one system is shown looking
    return found


def _add_regions(
    found: list[dict[str, Any]],
    gallery: Gallery,
    query: Query,
    rows_k: Int[np.ndarray, " k"],
    shares_kp: Float[np.ndarray, "k parts"],
) -> None:
    """Adds to each entry where the parts of a query in a `RegionSpace` look."""
    assert isinstance(query.space, RegionSpace)
    looks = zip(found, rows_k.tolist(), shares_kp, compute_attention(gallery, query, rows_k), strict=True)
    for entry, row, shares_p, attention_pr in looks:
        boxes_r4 = find_boxes(gallery, row, query.space)
        entry["regions"] = explain_regions(query, shares_p, attention_pr, boxes_r4)


def share_parts(
    gallery: Gallery, query: Query, rows_k: Int[np.ndarray, " k"], scores: Scores | NearScores | None = None
) -> Float[np.ndarray, "k parts"]:
    """The share of each part in the score of these pictures; with `share_evidence` rows sum to the scores.

    `scores` as for `explain_hits`.
    """
    if not query.parts:
        return np.zeros((len(rows_k), 0))
    if not isinstance(query.space, RegionSpace):
        weight, vectors_kd = positive_weight(query), gallery.snapshot.matrix_nd[rows_k]
        shares = [part.weight * measure_likeness(gallery, part, rows_k, vectors_kd) / weight for part in query.parts]
        return np.stack(shares, axis=1)
    from viewfinder.search.late_interaction import region_shares

    block = find_block(gallery, query.space)
    if query.compare != "rank_fusion":
        return region_shares(query, query.space, block.at(rows_k)).T
    if not isinstance(scores, Scores) or scores.adds_pn is None:
        return region_shares(query, query.space, block)[:, rows_k].T
    return scores.adds_pn[:, rows_k].T


def share_evidence(gallery: Gallery, query: Query, rows_k: Int[np.ndarray, " k"]) -> Float[np.ndarray, "k evidence"]:
    """The share of each answer that counts as evidence, then of opinions and of word matches, in these scores."""
    shares_ke = np.zeros((len(rows_k), len(query.terms)), np.float32)
    for at, term in enumerate(query.terms):
        # Nothing where there are no ratios: what they were about has gone.
        if (ratios := weigh_term(gallery, term)) is not None:
            shares_ke[:, at] = ratios.at(rows_k) / np.float32(query.sharpness)
    return shares_ke


def _share_opinion(
    gallery: Gallery,
    opinion: Opinion,
    rows_k: Int[np.ndarray, " k"],
    adds_k: Float[np.ndarray, " k"],
    sharpness: float,
) -> Float[np.ndarray, "k parts"]:
    """The share of each part of an opinion's query in what the opinion adds to these pictures.

    It counts by how far it is above the mean of all pictures, which is taken from all parts alike.
    """
    standing = find_standing(gallery, opinion.query)
    assert standing is not None
    shares_kp = share_parts(gallery, opinion.query, rows_k) * (opinion.nats / (standing.deviation * sharpness))
    taken_k = (shares_kp.sum(axis=1) - adds_k) / shares_kp.shape[1]
    return np.asarray(shares_kp - taken_k[:, None])


def explain_turns(query: Query, shares_kp: Float[np.ndarray, "k parts"]) -> list[dict[str, Any]]:
    """The shares of each hit's score as JSON: per turn, what it said and what it added; where other systems have
    opinions, the same per turn and system. Parts first, then the query's terms."""
    terms: tuple[Part | Term, ...] = (*query.parts, *query.terms)
    lines: dict[tuple[int, str], list[int]] = {}  # a turn and a system, "" for what was said itself
    for at, term in enumerate(terms):
        lines.setdefault((term.turn, term.system if isinstance(term, Opinion) else ""), []).append(at)
    lines = dict(sorted(lines.items(), key=lambda line: (line[0][0], line[0][1] != "")))
    # All but the shares is alike for all hits. Labels each once: several slots may hold parts of the same.
    labels = [list(dict.fromkeys(terms[at].label for at in among)) for among in lines.values()]
    turns = {turn: [at for at, line in enumerate(lines) if line[0] == turn] for turn, _ in lines}
    said = {turn: [label for at in among for label in labels[at]] for turn, among in turns.items()}
    found: list[dict[str, Any]] = []
    for share_p in shares_kp:
        adds_l = np.array([share_p[among].sum() for among in lines.values()])
        shown_l = round_together(adds_l, 4)
        adds_t, shown_t = (np.array([of_l[among].sum() for among in turns.values()]) for of_l in (adds_l, shown_l))
        told = zip(said.items(), _list_adds(adds_t, shown_t), strict=True)
        entry = {"turns": [{"turn": turn, "parts": list(parts), **adds} for (turn, parts), adds in told]}
        if query.opinions:
            by_line = zip(lines, labels, _list_adds(adds_l, shown_l), strict=True)
            entry["systems"] = [
                {"system": system, "turn": turn, "parts": list(parts), **adds}
                for (turn, system), parts, adds in by_line
            ]
        found.append(entry)
    return found


def _list_adds(adds_l: Float[np.ndarray, " l"], shown_l: Float[np.ndarray, " l"]) -> list[dict[str, float]]:
    """What is added, as it is shown, and its share of all that is added or taken away."""
    whole = float(np.abs(adds_l).sum()) or 1.0
    return [
        {"adds": round(shown, 4), "share": round(add / whole, 3)}
        for add, shown in zip(adds_l.tolist(), shown_l.tolist(), strict=True)
    ]


def explain_regions(
    query: Query,
    shares_p: Float[np.ndarray, " parts"],
    attention_pr: Float[np.ndarray, "parts r"],
    boxes_r4: Float[np.ndarray, "_boxes 4"],
) -> dict[str, Any]:
    """`Hit.why["regions"]`: what every part of a query looks at in one hit (Tan et al. 2019, figure 4)."""
    return {
        "boxes": [[round(edge, 3) for edge in box] for box in boxes_r4.tolist()],
        "slots": [
            {"said": part.label, "turn": part.turn, "weights": round_to_thousandths(weights_r), "adds": round(share, 4)}
            for part, weights_r, share in zip(query.parts, attention_pr, shares_p.tolist(), strict=True)
        ],
    }


def round_to_thousandths(weights_r: Float[np.ndarray, " r"]) -> list[float]:
    """Weights that add up to 1 with 3 decimals, still adding up to 1.

    >>> round_to_thousandths(np.array([1 / 3, 1 / 3, 1 / 3]))
    [0.334, 0.333, 0.333]
    """
    rounded_r = round_together(weights_r.astype(np.float64) / weights_r.sum(dtype=np.float64), 3)
    return [float(weight) for weight in rounded_r]


def round_together(numbers_r: Float[np.ndarray, " r"], decimals: int) -> Float[np.ndarray, " r"]:
    """Numbers with so many decimals that add up to their sum with as many: the largest remainders are rounded up.

    >>> round_together(np.array([0.25, -0.125, 0.25]), 1).tolist()
    [0.3, -0.1, 0.2]
    """
    scale = 10**decimals
    scaled_r = numbers_r.astype(np.float64) * scale
    whole_r = np.floor(scaled_r)
    short = round(float(scaled_r.sum())) - int(whole_r.sum())
    whole_r[np.argsort(whole_r - scaled_r, kind="stable")[:short]] += 1
    return np.asarray(whole_r / scale)
