from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from viewfinder.metrics import rouge_l

WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=7)


def test_the_longest_common_subsequence_gives_precision_and_recall() -> None:
    # "police the gunman" against "police killed the gunman": 3 words in order; P = 3/3, R = 3/4.
    expected = (1 + 1.2**2) * 1 * 0.75 / (0.75 + 1.2**2 * 1)
    assert rouge_l(["police the gunman"], [["police killed the gunman"]]).tolist() == pytest.approx([expected])
    # "the gunman police": "the gunman" alone is in order; P = 2/3, R = 2/4.
    expected = (1 + 1.2**2) * (2 / 3) * 0.5 / (0.5 + 1.2**2 * (2 / 3))
    assert rouge_l(["the gunman police"], [["police killed the gunman"]]).tolist() == pytest.approx([expected])


def test_precision_and_recall_may_come_from_different_references() -> None:
    # Against "a b": P = 2/4, R = 2/2. Against "a b c x y z": P = 3/4, R = 3/6. So P = 3/4 and R = 1; beta 1: 2PR/(P+R).
    assert rouge_l(["a b c d"], [["a b", "a b c x y z"]], beta=1.0).tolist() == pytest.approx([2 * 0.75 / 1.75])


def test_no_common_word_and_no_word_score_nothing() -> None:
    assert rouge_l(["a", "", "a"], [["b"], ["a"], [""]]).tolist() == [0, 0, 0]


def test_one_reference_and_beta_one_are_what_rouge_score_gives() -> None:
    sentence, reference = "the brown dog jumps over a log", "the quick brown fox jumps over the lazy log"
    theirs = RougeScorer(["rougeL"]).score(reference, sentence)["rougeL"].fmeasure
    assert rouge_l([sentence], [[reference]], beta=1.0)[0] == pytest.approx(theirs)


@settings(deadline=None)
@given(WORDS, WORDS)
def test_the_subsequence_is_the_longest(said: list[str], meant: list[str]) -> None:
    @cache
    def longest(i: int, j: int) -> int:
        if i == len(said) or j == len(meant):
            return 0
        if said[i] == meant[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    common = longest(0, 0)
    expected = 2 * common / (len(said) + len(meant))  # the F-measure of common/said and common/meant
    assert rouge_l([" ".join(said)], [[" ".join(meant)]], beta=1.0)[0] == pytest.approx(expected)
