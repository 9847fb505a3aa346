"""Modifications as pieces of text, and a text's vector by those of its pieces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.retrievers.combiner.retriever import mean_text_vector, modification_pieces


@pytest.mark.parametrize(
    ("modification", "clauses", "whole"),
    [
        ("1. is red 2. has a 3 inch heel ", ("is red", "has a 3 inch heel"), "is red, has a 3 inch heel"),
        ("To the FIRST, but 1. is red", ("To the FIRST, but", "is red"), "To the FIRST, but is red"),
        ("but brown and longer", ("but brown and longer",), "but brown and longer"),
        ("I prefer the FIRST", ("I prefer the FIRST",), "I prefer the FIRST"),
        ("1. ", ("1.",), "1."),
        ("", ("",), ""),
    ],
)  # fmt: skip
def test_numbers_go_and_nothing_else_is_lost(modification: str, clauses: tuple[str, ...], whole: str) -> None:
    assert modification_pieces(modification, "clauses") == clauses
    assert modification_pieces(modification, "whole") == (whole,)


WORDS = st.text("abcdefgh ", min_size=1, max_size=20).map(lambda text: " ".join(text.split())).filter(bool)


@given(st.lists(WORDS, min_size=1, max_size=6))
def test_clauses_are_found_again_whatever_they_say(said: list[str]) -> None:
    numbered = " ".join(f"{number}. {clause}" for number, clause in enumerate(said, start=1))
    assert modification_pieces(numbered, "clauses") == tuple(said)
    assert modification_pieces(numbered, "whole") == (", ".join(said),)


def test_a_texts_vector_is_the_mean_of_its_pieces_at_length_one() -> None:
    found_d = mean_text_vector(np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]], np.float32))
    np.testing.assert_allclose(found_d, np.array([1.6, 0.8, 0.0]) / np.sqrt(3.2), atol=1e-6)


def test_the_vector_of_one_piece_is_its_own() -> None:
    np.testing.assert_allclose(mean_text_vector(np.array([[0.6, 0.8]], np.float32)), [0.6, 0.8], atol=1e-6)
