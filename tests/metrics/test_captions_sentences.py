from __future__ import annotations

from collections import Counter

import pytest

from viewfinder.metrics.captions import check_sentences, ngrams


def test_every_run_of_words_is_counted() -> None:
    found = ngrams("a b a b", longest=2)
    assert found == Counter({("a",): 2, ("b",): 2, ("a", "b"): 2, ("b", "a"): 1})
    assert ngrams("one") == Counter({("one",): 1})
    assert ngrams("") == Counter()


def test_sentences_without_references_are_refused() -> None:
    with pytest.raises(ValueError, match="0 sentences, 0 lists"):
        check_sentences([], [])
    with pytest.raises(ValueError, match="2 sentences, 1 lists"):
        check_sentences(["a", "b"], [["a"]])
    with pytest.raises(ValueError, match="references of sentence 1"):
        check_sentences(["a", "b"], [["a"], []])
    with pytest.raises(ValueError, match="references of sentence 0: 'a dog', but a list"):
        check_sentences(["a"], ["a dog"])
