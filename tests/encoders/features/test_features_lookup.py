"""Which row is which picture's: by key, by the end of a key, without suffix, by file."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.encoders.features import DroppedPicture, Features, PictureFile
from viewfinder.errors import BadInput, UnknownName


def _features(*keys: str, dataset: Path = Path("/data"), dropped: tuple[DroppedPicture, ...] = ()) -> Features:
    raw_nd = np.arange(len(keys), dtype=np.float32)[:, None]
    return Features(tuple(sorted(keys)), raw_nd, "raw-1", dataset=dataset, dropped=dropped, folder=dataset)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("images/a/1.jpg", 0),
        ("a/1.jpg", 0),
        ("a/1", 0),
        ("images/b/1.jpg", 1),
        ("2.png", 2),
        ("2", 2),
        (Path("/data/images/b/1.jpg"), 1),
        (Path("images/b/1.jpg"), 1),
    ],
)
def test_a_picture_may_be_named_in_any_way_that_is_clear(name: str | Path, row: int) -> None:
    assert _features("images/a/1.jpg", "images/b/1.jpg", "images/c/2.png").row_of(name) == row


def test_a_key_wins_over_the_ends_of_longer_ones() -> None:
    found = _features("images/1.jpg", "images/a/1.jpg", "images/a/images/1.jpg")
    assert (found.row_of("1.jpg"), found.row_of("images/1.jpg"), found.row_of("a/1.jpg")) == (0, 0, 1)


def test_a_name_that_several_pictures_have_is_refused() -> None:
    found = _features("a/1.jpg", "b/1.jpg", "c/2.jpg", "c/2.png")
    with pytest.raises(BadInput, match=r"1\.jpg may be 2 pictures of /data \(a/1\.jpg, b/1\.jpg\)"):
        found.row_of("1.jpg")
    with pytest.raises(BadInput, match=r"2 may be 2 pictures"):
        found.row_of("2")
    assert found.row_of("2.png") == 3


def test_the_first_picture_without_features_is_named_with_the_reason_if_there_is_one() -> None:
    found = _features("1.jpg", "2.jpg", dropped=(DroppedPicture(PictureFile("3.jpg", 0, 0), "the file is empty"),))
    assert found.rows(["2.jpg", "1", "2"]).tolist() == [1, 0, 1]
    assert found.raw_nd[found.rows(["2", "1"])].tolist() == [[1.0], [0.0]]
    with pytest.raises(UnknownName, match=r"^3\.jpg: there are no features .* \(the file is empty\)$"):
        found.rows(["1.jpg", "3.jpg", "4.jpg"])
    with pytest.raises(UnknownName, match=r"^4\.jpg: there are no features of such a picture in /data$"):
        found.rows(["4.jpg", "3.jpg"])


def test_no_names_are_no_rows() -> None:
    rows = _features("1.jpg").rows([])
    assert rows.tolist() == [] and np.issubdtype(rows.dtype, np.integer)


PARTS = st.sampled_from(["a", "b", "images"])
KEYS = st.builds(
    lambda folders, name, suffix: "/".join([*folders, name + suffix]),
    st.lists(PARTS, max_size=2),
    PARTS,
    st.sampled_from([".jpg", ".png"]),
)


@given(st.sets(KEYS, min_size=1, max_size=8))
def test_every_key_leads_to_its_own_row(keys: set[str]) -> None:
    found = _features(*keys)
    assert [found.row_of(key) for key in found.keys] == list(range(len(keys)))
    for name in {key.rpartition("/")[2] for key in keys}:
        fitting = [row for row, key in enumerate(found.keys) if f"/{key}".endswith(f"/{name}")]
        if len(fitting) == 1:
            assert found.row_of(name) == fitting[0]
