"""`Hit.why`: what each turn adds to a score, and which region each part of a query looks at, as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from viewfinder.query import Evidence, Part, Query, WordMatch


def explain_turns(query: Query, shares_kp: Float[np.ndarray, "k parts"]) -> list[dict[str, Any]]:
    """The shares of each hit's score as JSON: per turn, what it said and what it added. Parts first, then evidence,
    then word matches."""
    terms: tuple[Part | Evidence | WordMatch, ...] = (*query.parts, *query.evidence, *query.word_matches)
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
