"""How well a search found its target, and how well a talk was led: one measure a file.

Ranks come first: `rank_bounds` counts them from vectors, `score_bounds` and `ranks` from scores. They are 0-based: 0
is the first place. `q` queries (or sessions at one round), `n` pictures, `s` sessions, `t` rounds, `e` runs.
"""

from viewfinder.metrics.average_target_rank import average_target_rank, freeze_ranks
from viewfinder.metrics.best_log_rank import best_log_rank_integral
from viewfinder.metrics.bleu import bleu
from viewfinder.metrics.bounds import Bounds, rank_bounds, score_bounds
from viewfinder.metrics.cider_d import cider_d
from viewfinder.metrics.hits import has_hit, hits_at
from viewfinder.metrics.interval import (
    Interval,
    bootstrap_interval,
    difference_interval,
    median_interval,
    seeded_interval,
)
from viewfinder.metrics.mean_reciprocal_rank import mean_reciprocal_rank
from viewfinder.metrics.name import Measure, MeasureName
from viewfinder.metrics.percentile import percentile
from viewfinder.metrics.permutation import permutation_test
from viewfinder.metrics.ranks import Ranks, Ties, ranks_between, target_ranks
from viewfinder.metrics.recall import expected_hits, recall_at
from viewfinder.metrics.repetition import count_repeated_questions, count_unique_tokens, first_question
from viewfinder.metrics.rouge_l import rouge_l
from viewfinder.metrics.rounds import carry_ranks
from viewfinder.metrics.sentences import caption_words

__all__ = [
    "Bounds",
    "Interval",
    "Measure",
    "MeasureName",
    "Ranks",
    "Ties",
    "average_target_rank",
    "best_log_rank_integral",
    "bleu",
    "bootstrap_interval",
    "caption_words",
    "carry_ranks",
    "expected_hits",
    "cider_d",
    "difference_interval",
    "freeze_ranks",
    "has_hit",
    "hits_at",
    "mean_reciprocal_rank",
    "median_interval",
    "percentile",
    "permutation_test",
    "first_question",
    "rank_bounds",
    "target_ranks",
    "ranks_between",
    "recall_at",
    "count_repeated_questions",
    "rouge_l",
    "score_bounds",
    "seeded_interval",
    "count_unique_tokens",
]
