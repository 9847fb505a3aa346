"""Space names as file names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.encoders.base import to_file_name
from viewfinder.errors import BadInput


@given(st.text(min_size=1, max_size=12))
def test_any_name_can_be_told_from_its_file_name(name: str) -> None:
    encoded = to_file_name(name)
    assert re.fullmatch(r"[a-z0-9._-]+", encoded)
    raw = re.sub(rb"_([0-9a-f]{2})", lambda found: bytes([int(found[1], 16)]), encoded.encode())
    assert raw.decode("utf-8", "surrogatepass") == name


def test_names_that_differ_in_capitals_only_have_files_that_differ_in_more() -> None:
    assert to_file_name("CLIP").casefold() != to_file_name("clip").casefold()


@pytest.mark.parametrize("name", ["", "x" * 201])
def test_a_name_without_or_with_too_many_letters_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="cannot name a space"):
        to_file_name(name)
