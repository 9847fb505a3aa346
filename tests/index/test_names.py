"""Space names as file names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.errors import BadInput
from viewfinder.index.names import from_file_name, to_file_name


@given(st.text(min_size=1, max_size=12))
def test_any_name_comes_back_from_its_file_name(name: str) -> None:
    encoded = to_file_name(name)
    assert re.fullmatch(r"[a-z0-9._-]+", encoded)
    assert from_file_name(encoded) == name


def test_names_that_differ_in_capitals_only_have_files_that_differ_in_more() -> None:
    assert to_file_name("CLIP").casefold() != to_file_name("clip").casefold()


@pytest.mark.parametrize("name", ["", "x" * 201])
def test_a_name_without_or_with_too_many_letters_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="cannot name a space"):
        to_file_name(name)
