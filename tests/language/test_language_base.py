from hypothesis import given
from hypothesis import strategies as st

from viewfinder.language.base import cut_at_stop


def test_the_first_stop_that_comes_ends_the_text() -> None:
    assert cut_at_stop("one, two; three", (";", ",")) == "one"


def test_blanks_before_the_first_word_are_no_end() -> None:
    assert cut_at_stop("\n\n Is it big?\nAnswer: no", ("\n",)) == "Is it big?"


@given(st.text(), st.lists(st.text(min_size=1, max_size=3), max_size=3))
def test_what_is_left_holds_no_stop_and_begins_the_text(text: str, stop: list[str]) -> None:
    kept = cut_at_stop(text, stop)
    assert text.lstrip().startswith(kept)
    assert not any(mark in kept for mark in stop)
