"""viewfinder.pictures.decode"""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from viewfinder.pictures.fits import picture_id


def test_the_id_is_the_128_bit_blake2b_hash_as_a_uuid() -> None:
    # computed with `b2sum -l 128`
    assert picture_id(b"") == str(uuid.UUID("cae66941d9efbd404e4d88758ea67670"))


@given(st.binary(), st.binary())
def test_ids_are_equal_exactly_where_contents_are(one: bytes, other: bytes) -> None:
    assert (picture_id(one) == picture_id(other)) == (one == other)
