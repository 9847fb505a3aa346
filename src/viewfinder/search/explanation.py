"""`Hit.why`: what each turn adds to a score, and which region each part of a query looks at, as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from viewfinder.query import Part, Query, RegionSpace, Term
from viewfinder.search.gallery import Gallery
from viewfinder.search.near_scores import NearScores
from viewfinder.search.regions import compute_attention, find_block, find_boxes
from viewfinder.search.scores import Scores, find_standing, measure_likeness, positive_weight, weigh_term


def explain_hits(
    gallery: Gallery, query: Query, rows_k: Int[np.ndarray, " k"], scores: Scores | NearScores | None = None
) -> list[dict[str, Any]]:
    """Why these pictures are hits: `turns` (`explain_turns`), and `regions` where the query has them.

    Given the `scores` of the same query, rank fusion needs no second pass over all pictures.
    """
    shares_kp = share_parts(gallery, query, rows_k, scores)
    found = explain_turns(query, np.concatenate([shares_kp, share_evidence(gallery, query, rows_k)], axis=1))
    if isinstance(query.space, RegionSpace) and query.parts:
        _add_regions(found, gallery, query, rows_k, shares_kp)
    for opinion in query.opinions:
        looking, standing = opinion.query, find_standing(gallery, opinion.query)
        if isinstance(looking.space, RegionSpace) and looking.space.reads_regions and standing is not None:
            scale = opinion.nats / (standing.deviation * query.sharpness)
            _add_regions(found, gallery, looking, rows_k, scale * share_parts(gallery, looking, rows_k))
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


def explain_turns(query: Query, shares_kp: Float[np.ndarray, "k parts"]) -> list[dict[str, Any]]:
    """The shares of each hit's score as JSON: per turn, what it said and what it added. Parts first, then the
    query's terms."""
    terms: tuple[Part | Term, ...] = (*query.parts, *query.terms)
    # All but the shares is alike for all hits. Labels each once: several slots may hold parts of the same.
    labels: dict[int, dict[str, None]] = {}
    for term in terms:
        labels.setdefault(term.turn, {})[term.label] = None
    place = {turn: at for at, turn in enumerate(labels)}
    adds_tk = np.zeros((len(labels), len(shares_kp)))
    for term, share_k in zip(terms, shares_kp.T, strict=True):
        adds_tk[place[term.turn]] += share_k
    by_turn = sorted(place.items())
    found = []
    for adds in adds_tk.T.tolist():
        whole = sum(map(abs, adds)) or 1.0
        turns = [
            {
                "turn": turn,
                "parts": list(labels[turn]),
                "adds": round(adds[at], 4),
                "share": round(adds[at] / whole, 3),
            }
            for turn, at in by_turn
        ]
        found.append({"turns": turns})
    return found


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
    """Weights that add up to 1 with 3 decimals, still adding up to 1: the largest remainders are rounded up.

    >>> round_to_thousandths(np.array([1 / 3, 1 / 3, 1 / 3]))
    [0.334, 0.333, 0.333]
    """
    scaled_r = weights_r.astype(np.float64) / weights_r.sum(dtype=np.float64) * 1000
    whole_r = np.floor(scaled_r)
    short = 1000 - int(whole_r.sum())
    whole_r[np.argsort(whole_r - scaled_r, kind="stable")[:short]] += 1
    return [count / 1000 for count in whole_r.tolist()]
