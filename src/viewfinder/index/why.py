"""Why a picture is a hit, as JSON: what each turn adds to its score, and what each slot of a query looks at."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from viewfinder.retrievers import Query


def explain_turns(query: Query, shares_p: Float[np.ndarray, " parts"]) -> dict[str, Any]:
    """The shares of one hit's score as JSON: per turn, what it said and what it added."""
    turns: dict[int, dict[str, Any]] = {}
    for part, share in zip(query.parts, shares_p, strict=True):
        entry = turns.setdefault(part.turn, {"turn": part.turn, "parts": [], "adds": 0.0})
        if part.label not in entry["parts"]:  # several slots may hold a little of the same
            entry["parts"].append(part.label)
        entry["adds"] += float(share)
    whole = sum(abs(entry["adds"]) for entry in turns.values()) or 1.0
    return {
        "turns": [
            {**entry, "adds": round(entry["adds"], 4), "share": round(entry["adds"] / whole, 3)}
            for entry in turns.values()
        ]
    }


def explain_regions(
    query: Query,
    shares_p: Float[np.ndarray, " parts"],
    attention_pr: Float[np.ndarray, "parts r"],
    boxes_r4: Float[np.ndarray, "_boxes 4"],
) -> dict[str, Any]:
    """What every part of a query looks at in one hit, to be drawn over the picture (the paper's figure 4).

    `boxes`: [x0, y0, x1, y1] as shares of width and height, one a region (none where they are not known); `slots`:
    per part what was said, in which turn, one weight a region, which add up to 1, and what it adds to the score.
    """
    return {
        "boxes": [[round(edge, 3) for edge in box] for box in boxes_r4.tolist()],
        "slots": [
            {
                "said": part.label,
                "turn": part.turn,
                "weights": round_to_thousandths(weights_r),
                "adds": round(float(share), 4),
            }
            for part, weights_r, share in zip(query.parts, attention_pr, shares_p, strict=True)
        ],
    }


def round_to_thousandths(weights_r: Float[np.ndarray, " r"]) -> list[float]:
    """Weights that add up to 1 with 3 decimals, still adding up to 1: the largest remainders are rounded up.

    >>> thousandths(np.array([1 / 3, 1 / 3, 1 / 3]))
    [0.334, 0.333, 0.333]
    """
    scaled_r = weights_r.astype(np.float64) / weights_r.sum(dtype=np.float64) * 1000
    whole_r = np.floor(scaled_r)
    short = 1000 - int(whole_r.sum())
    whole_r[np.argsort(whole_r - scaled_r, kind="stable")[:short]] += 1
    return [count / 1000 for count in whole_r.tolist()]
