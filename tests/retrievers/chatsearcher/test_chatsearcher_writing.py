"""Words as they are written: worked out once, and told by whole characters."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from viewfinder.retrievers.chatsearcher.retriever import LazyPieces, stream_text
from viewfinder.retrievers.chatsearcher.sequence import TextTokenizer, train_tokenizer

BYTES = TextTokenizer(train_tokenizer(["a"], 258))
"""Every byte is a piece of its own."""


def test_what_is_written_is_worked_out_once_and_only_as_far_as_somebody_reads() -> None:
    worked_out = []

    def numbers() -> Iterator[int]:
        for number in (3, 1, 2):
            worked_out.append(number)
            yield number

    written = LazyPieces(numbers())
    assert not worked_out
    assert next(iter(written)) == 3
    assert worked_out == [3]
    assert list(written) == list(written) == [3, 1, 2]
    assert worked_out == [3, 1, 2]


def test_threads_that_read_together_all_read_all_of_it() -> None:
    written = LazyPieces(iter(range(500)))
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: list(written), range(4)):
            assert found == list(range(500))


def test_a_character_of_two_pieces_is_told_when_it_is_whole() -> None:
    # " né" is a blank, n and the two bytes of é; a blank at either end is no part of a text.
    numbers = BYTES.encode("né")
    assert len(numbers) == 4
    assert list(stream_text(numbers, BYTES.decode)) == ["n", "é"]
    assert list(stream_text(numbers[:-1], BYTES.decode)) == ["n"]


@given(st.text(alphabet="ab é中\U0001f41f", max_size=12))
def test_what_is_told_is_joined_the_whole_text(text: str) -> None:
    numbers = BYTES.encode(text)
    assert "".join(stream_text(numbers, BYTES.decode)) == BYTES.decode(numbers)
