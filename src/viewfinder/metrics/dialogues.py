"""Metrics of whole dialogues: Hits@k, average target rank and BRI of ranks by round, and how varied questions are.

Hits@k over the rounds of dialogues, as ChatIR counts them.

    Hits@k(t) = 1/|S| * sum over s of [min over u <= t of rank_su < k]

A dialogue succeeds at the first round that brings the target among the first k, and then ends: later
ranks do not matter, so the curve never falls (Levy et al., "Chatting Makes Perfect: Chat-based
Image Retrieval", NeurIPS 2023, Sec. 4.2).

ATR: the average rank of the target after each round, counted from 1 as its paper plots it.

    ATR(t)         = 1/|S| * sum over s of (rank_st + 1)
    frozen ATR(t)  = the same, where a dialogue keeps the rank of its first hit (rank_su < k, u <= t)

Levy et al., "Chatting Makes Perfect: Chat-based Image Retrieval", NeurIPS 2023 (Sec. 4.2, Fig. 3b), does not say which
of the two it means. In the running one every dialogue goes on, so a target found early can be lost again; the frozen
one ends a dialogue where Hits@k does.

BRI, the best log rank integral of PlugIR: how high a dialogue brought its target, and how soon.

    best_st = 1 + min over u <= t of rank_su
    BRI     = 1/|S| * sum over s of 1/(T-1) * sum over t < T-1 of (ln best_st + ln best_s,t+1) / 2

the area under the curve of the best log rank by the trapezoid rule, over its length. Lower is better, 0 if every
target comes first from the first round on (Lee et al., "Interactive Text-to-Image Retrieval with Large Language
Models: A Plug-and-Play Approach", ACL 2024).

How varied a questioner is: repeated questions, and distinct words, per dialogue.

A dialogue is given as its rounds of "question? answer", without the caption. ChatIR counts exact repetitions among
the ten questions (Levy et al., NeurIPS 2023, Sec. 4.2). Its code for them was not published, and the paper quotes
1.85 to 3.44 for the weak questioners where the released FLAN-ALPACA-XXL dialogues come to 6.74 by this count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int64, Real

from viewfinder.metrics.ranks import check_depth


def carry_ranks(ranks_st: Real[np.ndarray, "s t"]) -> Float[np.ndarray, "s t"]:
    """Ranks in which a round without one (NaN) has the rank of the round before.

    A dialogue without such a round said nothing new, so its target stays where it was. Running ATR is 1 plus their
    mean over the dialogues.

    >>> carry_ranks(np.array([[30, 4, np.nan], [7, np.nan, 2]]))
    array([[30.,  4.,  4.],
           [ 7.,  7.,  2.]])

    Raises:
        ValueError: there is no dialogue or no round, the first round has no rank, or a rank is negative.
    """
    if not ranks_st.size:
        raise ValueError(f"{ranks_st.shape[0]} dialogues of {ranks_st.shape[1]} rounds: a measure needs one of each")
    wrong = np.argwhere(ranks_st < 0)
    if wrong.size:
        raise ValueError(f"rank {ranks_st[tuple(wrong[0])]}: ranks are 0 or more")
    empty = np.flatnonzero(np.isnan(ranks_st[:, 0]))
    if empty.size:
        raise ValueError(f"dialogue {empty[0]} has no rank in its first round: there is nothing to carry on")
    last_st = np.where(np.isnan(ranks_st), 0, np.arange(ranks_st.shape[1]))
    return np.take_along_axis(ranks_st, np.maximum.accumulate(last_st, axis=1), axis=1).astype(np.float64)


def has_hit(k: int, ranks_st: Real[np.ndarray, "s t"]) -> Bool[np.ndarray, "s t"]:
    """Whether each dialogue had a rank below k at round t or before (round 0: the caption); Hits@k is the mean.

    NaN marks a round that a dialogue does not have: it is no hit, and earlier hits stay.

    >>> has_hit(10, np.array([[30, 4, 50], [12, 11, 10]])).mean(axis=0)
    array([0. , 0.5, 0.5])

    Raises:
        ValueError: k is below 1, or a rank is negative.
    """
    if (ranks_st < 0).any():
        raise ValueError(f"rank {ranks_st[ranks_st < 0][0]}: ranks are 0 or more")
    return np.logical_or.accumulate(ranks_st < check_depth(k), axis=1)


def freeze_ranks(k: int, ranks_st: Real[np.ndarray, "s t"]) -> Float[np.ndarray, "s t"]:
    """0-based ranks in which a dialogue keeps the rank of its first hit from then on; frozen ATR is computed from them.

    >>> freeze_ranks(10, np.array([[30, 4, 50], [12, 11, 10]])).mean(axis=0) + 1      # the first stays at 4
    array([22. ,  8.5,  8. ])
    """
    ranks_st = carry_ranks(ranks_st)
    hit_st = has_hit(k, ranks_st)
    first_s = hit_st.argmax(axis=1)[:, None]  # 0 if there is none, and then unused
    return np.where(hit_st, np.take_along_axis(ranks_st, first_s, axis=1), ranks_st)


def best_log_rank_integral(ranks_st: Real[np.ndarray, "s t"]) -> Float[np.ndarray, " s"]:
    """One value a dialogue; BRI is their mean.

    A round that a dialogue does not have (NaN) leaves the best rank as it was.

    >>> best_log_rank_integral(np.array([[7, 0, 3]])).mean() == np.log(8) / 4      # (ln 8 + ln 1) / 2, then 0
    np.True_

    Raises:
        ValueError: there is no dialogue or only one round, or a rank is negative, or missing in round 0.
    """
    best_st = np.log(np.minimum.accumulate(carry_ranks(ranks_st), axis=1) + 1)
    if best_st.shape[1] < 2:
        raise ValueError("BRI of one round: it is the area between rounds, and needs two")
    return np.asarray((best_st[:, :-1] + best_st[:, 1:]).mean(axis=1) / 2)


WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def count_repeated_questions(dialogues: Sequence[Sequence[str]]) -> Int64[np.ndarray, " s"]:
    """How many rounds of each dialogue repeat an earlier question exactly; the figure is their mean.

    A question is the text before the first "?", or the whole round: some released questions were cut short.

    >>> count_repeated_questions([["Is it big? no", "Is it red? no", "Is it big? yes"]])
    array([1])
    """
    asked = ({text.partition("?")[0].strip() for text in rounds} for rounds in dialogues)
    return np.array([len(rounds) - len(kept) for rounds, kept in zip(dialogues, asked, strict=True)], np.int64)


def count_unique_tokens(dialogues: Sequence[Sequence[str]]) -> Int64[np.ndarray, " s"]:
    """How many different words each dialogue has, ignoring case; give questions alone to judge a questioner.

    >>> count_unique_tokens([["Is it big? no", "Is it red? no"]])      # is, it, big, no, red
    array([5])
    """
    return np.array([len(set(WORD.findall(" ".join(rounds).lower()))) for rounds in dialogues], dtype=np.int64)
