from __future__ import annotations

from math import exp, log, sqrt

import pytest

from viewfinder.metrics import cider_d


def test_two_sentences_of_one_word_worked_by_hand() -> None:
    # Each word is in the references of one sentence of two: weight ln 2. The cosine of single words is 1, there
    # are no longer n-grams: a mean of 1/4 over n, times 10. The second says nothing that its reference says.
    assert cider_d(["dog", "dog"], [["dog"], ["cat"]]).tolist() == pytest.approx([10 / 4, 0])


def test_a_word_that_all_references_have_is_worth_nothing() -> None:
    # "a" is in both: weight ln 2 - ln 2 = 0. Of "a dog" there remain "dog" and the pair "a dog".
    found_s = cider_d(["a dog", "a"], [["a dog"], ["a cat"]])
    assert found_s.tolist() == pytest.approx([10 * (1 + 1) / 4, 0])


def test_a_repeated_word_is_clipped_and_another_length_costs() -> None:
    # Said: dog twice, weight 2 ln 2; meant: dog once, ln 2. Clipped: ln 2 * ln 2 / (2 ln 2 * ln 2) = 1/2. The pair
    # "dog dog" is not meant. One bigram against none: exp(-1 / 72).
    assert cider_d(["dog dog", "x"], [["dog"], ["cat"]])[0] == pytest.approx(10 / 4 * exp(-1 / 72) * 1 / 2)


def test_the_mean_over_references_is_taken() -> None:
    # N = 2 and every word is in one sentence's references: weight ln 2 each. "red dog" against "red dog": 1 for
    # words, 1 for the pair. Against "dog": words 1 / sqrt(2), no pair, one bigram more.
    found = cider_d(["red dog", "x"], [["red dog", "dog"], ["cat"]])[0]
    assert found == pytest.approx((10 * 2 / 4 + 10 / 4 * exp(-1 / 72) / sqrt(2)) / 2)


def test_a_word_of_no_reference_makes_the_vector_longer() -> None:
    # N = 3. "dog" is in one sentence's references, weight ln 3; "blue" in none, counted as in one: ln 3 as well.
    # Said (ln 3, ln 3), meant (ln 3): cosine 1 / sqrt(2); one bigram against none.
    found = cider_d(["blue dog", "x", "y"], [["dog"], ["cat"], ["cow"]])[0]
    assert log(3) * log(3) / (sqrt(2) * log(3) * log(3)) == pytest.approx(1 / sqrt(2))
    assert found == pytest.approx(10 / 4 * exp(-1 / 72) / sqrt(2))


def test_a_sentence_as_its_only_reference_scores_ten() -> None:
    sentences = ["a red dog runs fast", "two cats sleep in here"]
    assert cider_d(sentences, [[one] for one in sentences]).tolist() == pytest.approx([10, 10])


def test_a_corpus_of_one_sentence_has_no_rare_words() -> None:
    assert cider_d(["a dog"], [["a dog"]]).tolist() == [0]
