"""How well a search found its target: ranks from scores, then one measure a file. numpy only.

Ranks are 0-based: 0 is the first place. `q` queries (or sessions at one round), `n` pictures, `s` sessions,
`t` rounds.
"""

from viewfinder.measures.hits import hits_at
from viewfinder.measures.interval import Interval, bootstrap_interval
from viewfinder.measures.mean_rank import mean_rank, median_rank
from viewfinder.measures.mean_reciprocal_rank import mean_reciprocal_rank
from viewfinder.measures.ranks import Ranks, Ties, expected_rank, pessimistic_rank, ranks
from viewfinder.measures.recall import expected_recall_at, recall_at

__all__ = [
    "Interval",
    "Ranks",
    "Ties",
    "bootstrap_interval",
    "expected_rank",
    "expected_recall_at",
    "hits_at",
    "mean_rank",
    "mean_reciprocal_rank",
    "median_rank",
    "pessimistic_rank",
    "ranks",
    "recall_at",
]
