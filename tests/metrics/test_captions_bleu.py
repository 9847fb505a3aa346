from __future__ import annotations

from math import exp

import pytest
from sacrebleu import corpus_bleu

from viewfinder.metrics import bleu


def test_shares_of_common_runs_are_multiplied() -> None:
    # Words: 5 of 5 stand in the reference. Pairs: "the cat", "on the", "the mat" of 4 (not "cat on").
    # Triples: "on the mat" of 3. Fours: none of 2. The reference is one word longer.
    found_n = bleu(["the cat on the mat"], [["the cat is on the mat"]])
    shorter = exp(1 - 6 / 5)
    expected = [shorter * 1, shorter * (1 * 3 / 4) ** (1 / 2), shorter * (1 * 3 / 4 * 1 / 3) ** (1 / 3), 0]
    assert found_n.tolist() == pytest.approx(expected)


def test_a_repeated_word_counts_as_often_as_one_reference_has_it() -> None:
    # "the" stands twice in the first reference, once in the second: 2 of 7 count (Papineni et al., section 2.1).
    found_n = bleu(["the the the the the the the"], [["the cat is on the mat", "there is a cat on the mat"]])
    assert found_n[0] == pytest.approx(2 / 7)


def test_the_nearest_long_reference_counts_and_the_shorter_of_two() -> None:
    # 3 words; references of 2 and 4 are as near, and 2 is taken: no penalty.
    assert bleu(["a b c"], [["a b", "a b c d"]])[0] == 1
    assert bleu(["a b c"], [["a b c d", "a b c d e f"]])[0] == pytest.approx(exp(1 - 4 / 3))


def test_the_corpus_is_counted_as_one() -> None:
    # 1 of 1 words in the first sentence, 1 of 3 in the second: 2 of 4, not the mean of 1 and 1/3.
    assert bleu(["a", "b c d"], [["a"], ["b x y"]])[0] == pytest.approx(2 / 4)


def test_sentences_may_have_different_numbers_of_references() -> None:
    assert bleu(["a b c d", "e f g h"], [["x", "a b c d"], ["e f g h"]]).tolist() == [1, 1, 1, 1]


def test_sacrebleu_gives_the_same_from_its_front_door() -> None:
    sentences = ["a red dress with a belt", "is much longer and darker than before", "the sleeves are short"]
    references = [["a red dress with a black belt"], ["is longer and darker than before"], ["the sleeves are short"]]
    theirs = corpus_bleu(sentences, [[one[0] for one in references]], tokenize="none", smooth_method="none")
    assert bleu(sentences, references)[3] == pytest.approx(theirs.score / 100)


def test_nothing_said_scores_nothing() -> None:
    assert bleu([""], [["a dog"]]).tolist() == [0, 0, 0, 0]
