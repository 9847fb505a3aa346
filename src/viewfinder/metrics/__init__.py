"""How well a search found its target, and how well a dialogue was led.

Ranks come first: `rank_bounds` counts them from vectors, `score_bounds` and `target_ranks` from scores. They are
0-based: 0 is the first place. `q` queries (or sessions at one round), `n` pictures, `s` sessions, `t` rounds, `e` runs.
"""

from viewfinder.metrics.average_precision import average_precision
from viewfinder.metrics.captions import bleu, cider_d, count_repeated_questions, count_unique_tokens, rouge_l
from viewfinder.metrics.intervals import (
    Interval,
    Measure,
    MeasureName,
    bootstrap_interval,
    correct_holm,
    difference_interval,
    median_interval,
    permutation_test,
    seeded_interval,
    seeded_test,
)
from viewfinder.metrics.ranks import (
    Ties,
    best_log_rank_integral,
    carry_ranks,
    expected_hits,
    freeze_ranks,
    has_hit,
    mean_reciprocal_rank,
    percentile,
    rank_bounds,
    ranks_between,
    recall_at,
    score_bounds,
    target_ranks,
)

__all__ = [
    "Interval", "Measure", "MeasureName", "Ties", "average_precision", "best_log_rank_integral", "bleu",
    "bootstrap_interval", "carry_ranks", "cider_d", "correct_holm", "count_repeated_questions",
    "count_unique_tokens", "difference_interval", "expected_hits", "freeze_ranks", "has_hit",
    "mean_reciprocal_rank", "median_interval", "percentile", "permutation_test", "rank_bounds", "ranks_between",
    "recall_at", "rouge_l", "score_bounds", "seeded_interval", "seeded_test", "target_ranks",
]  # fmt: skip
