"""How well a search found its target, and how well a talk was led: one measure a file.

Ranks come first: `rank_bounds` counts them from vectors, `score_bounds` and `ranks` from scores. They are 0-based: 0
is the first place. `q` queries (or sessions at one round), `n` pictures, `s` sessions, `t` rounds, `e` runs.
"""

from viewfinder.measures.average_target_rank import average_target_rank, frozen
from viewfinder.measures.best_log_rank import best_log_rank_integral
from viewfinder.measures.bleu import bleu
from viewfinder.measures.bounds import Bounds, rank_bounds, score_bounds
from viewfinder.measures.cider_d import cider_d
from viewfinder.measures.hits import has_hit, hits_at
from viewfinder.measures.interval import (
    Interval,
    bootstrap_interval,
    difference_interval,
    median_interval,
    seeded_interval,
)
from viewfinder.measures.mean_reciprocal_rank import mean_reciprocal_rank
from viewfinder.measures.name import Measure, MeasureName
from viewfinder.measures.percentile import percentile
from viewfinder.measures.permutation import permutation_test
from viewfinder.measures.ranks import Ranks, Ties, ranks, ranks_within
from viewfinder.measures.recall import chance_below, recall_at
from viewfinder.measures.repetition import question_of, repeated_questions, unique_tokens
from viewfinder.measures.rouge_l import rouge_l
from viewfinder.measures.rounds import carried
from viewfinder.measures.sentences import caption_words

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
    "carried",
    "chance_below",
    "cider_d",
    "difference_interval",
    "frozen",
    "has_hit",
    "hits_at",
    "mean_reciprocal_rank",
    "median_interval",
    "percentile",
    "permutation_test",
    "question_of",
    "rank_bounds",
    "ranks",
    "ranks_within",
    "recall_at",
    "repeated_questions",
    "rouge_l",
    "score_bounds",
    "seeded_interval",
    "unique_tokens",
]
