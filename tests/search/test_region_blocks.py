"""The layout of region vectors: tiles of pictures, as one flat matrix that can be mapped; the same in 8 bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from jaxtyping import Float32

from viewfinder.search import region_scores
from viewfinder.search.region_scores import GROUPS, RegionBlock, RegionCodes, group_means, tile_batches

Array = Float32[np.ndarray, "..."]


@pytest.fixture
def tiles_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(region_scores, "TILE", 2)


def numbered(pictures: int, of_each: int = 3) -> Array:
    """Vector k of picture n is [n, k]."""
    grid = np.meshgrid(np.arange(pictures), np.arange(of_each), indexing="ij")
    return np.stack(grid, axis=-1).astype(np.float32)


def tile_regions(regions_nrd: Array) -> Array:
    return tile_batches([regions_nrd], *regions_nrd.shape)


@pytest.mark.usefixtures("tiles_of_two")
def test_a_tile_goes_region_by_region_and_number_by_number() -> None:
    whole = [0, 1, 0, 0, *[0, 1, 1, 1], *[0, 1, 2, 2]]  # region 0: first numbers of pictures 0 and 1, second numbers
    left = [2, 0, *[2, 1], *[2, 2]]
    assert tile_regions(numbered(3)).ravel().tolist() == whole + left


@pytest.mark.usefixtures("tiles_of_two")
@pytest.mark.parametrize("sizes", [(5,), (1, 1, 1, 1, 1), (3, 2), (0, 4, 1)])
def test_pictures_may_come_in_batches_of_any_size(sizes: tuple[int, ...]) -> None:
    batches = np.split(numbered(5), np.cumsum(sizes)[:-1])
    assert tile_batches(batches, 5, 3, 2).tolist() == tile_regions(numbered(5)).tolist()


@pytest.mark.parametrize("pictures", [4, 6])
def test_batches_that_are_not_as_many_pictures_as_was_said_are_refused(pictures: int) -> None:
    with pytest.raises(ValueError, match=f"5 pictures came instead of {pictures}"):
        tile_batches([numbered(3), numbered(2)], pictures, 3, 2)


@pytest.mark.usefixtures("tiles_of_two")
def test_a_mapped_file_is_read_in_place(tmp_path: Path) -> None:
    np.save(tmp_path / "flat.npy", tile_regions(numbered(3, of_each=4)))
    flat_fd = np.load(tmp_path / "flat.npy", mmap_mode="r")
    block = RegionBlock.mapped(flat_fd, 4)
    full, last = block.parts
    assert full.shape == last.shape == (1, 4, 2, 2)
    assert np.shares_memory(full, flat_fd) and not last[..., 1].any()


@pytest.mark.usefixtures("tiles_of_two")
def test_a_block_knows_its_pictures_and_gives_those_asked_for() -> None:
    block, rows_k = RegionBlock.of(numbered(5)), np.array([4, 0, 4, 3])
    assert len(block) == 5
    assert block.vectors(rows_k).tolist() == numbered(5)[rows_k].tolist()
    assert block.at(rows_k).vectors(np.arange(4)).tolist() == numbered(5)[rows_k].tolist()


def test_half_precision_becomes_single() -> None:
    assert tile_regions(numbered(2).astype(np.float16)).tolist() == tile_regions(numbered(2)).tolist()


def test_rows_that_are_not_whole_pictures_are_refused() -> None:
    with pytest.raises(ValueError, match="7 rows are not whole pictures of 2 regions"):
        RegionBlock.mapped(np.zeros((7, 3), dtype=np.float32), 2)


def test_an_empty_collection_has_no_pictures() -> None:
    block = RegionBlock.of(numbered(0))
    assert len(block) == len(block.codes) == len(block.groups) == 0
    assert block.at(np.arange(0)).parts[0].shape[1:3] == (3, 2)


def test_codes_count_steps_from_128_a_step_for_each_picture() -> None:
    codes = RegionBlock.of(np.array([[[0.5, -1.0], [0.0, 1.0]], [[0.25, 0.0], [-0.5, 0.0]]])).codes
    assert codes.steps_n.tolist() == pytest.approx([1 / 127, 0.5 / 127])
    # 0.5 is 63.5 of the first picture's steps, and so is 0.25 of the second's: halves go to the even number.
    assert codes.codes_nrd.tolist() == [[[192, 1], [128, 255]], [[192, 128], [1, 128]]]


def test_codes_of_many_tiles_keep_pictures_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(region_scores, "TILE", 2)
    monkeypatch.setattr(region_scores, "READ", 4)
    codes = RegionBlock.of(numbered(11)).codes
    np.testing.assert_allclose(
        (codes.codes_nrd.astype(np.float32) - 128) * codes.steps_n[:, None, None], numbered(11), atol=66 / 254
    )
    chosen = codes.at(np.array([7, 2]))
    assert chosen.codes_nrd.tolist() == codes.codes_nrd[[7, 2]].tolist()
    assert chosen.steps_n.tolist() == codes.steps_n[[7, 2]].tolist()


def test_of_a_picture_without_length_every_code_is_the_middle() -> None:
    codes = RegionCodes.of(np.zeros((1, 2, 3), np.float32))
    assert codes.codes_nrd.tolist() == [[[128] * 3] * 2] and codes.steps_n.tolist() == [1.0]


def test_groups_are_the_means_of_similar_regions() -> None:
    # Three near (1, 0) and one near (0, 1): the first and the last region begin the groups.
    regions_1rd = np.array([[[1.0, 0.0], [0.9, 0.1], [0.8, 0.2], [0.0, 1.0]]], np.float32)
    np.testing.assert_allclose(group_means(regions_1rd, groups=2), [[[0.9, 0.1], [0.0, 1.0]]], atol=1e-6)


def test_a_picture_of_few_regions_is_its_own_groups() -> None:
    assert group_means(numbered(3), groups=3).tolist() == numbered(3).tolist()


def test_what_is_kept_of_a_block_is_computed_for_the_new_pictures_alone() -> None:
    kept: dict[str, np.ndarray] = {}

    def keep(name: str, compute: Callable[[int], np.ndarray]) -> np.ndarray:
        known = kept.get(name)
        kept[name] = compute(0) if known is None else np.concatenate([known, compute(len(known))])
        return kept[name]

    regions_nrd = np.random.default_rng(0).standard_normal((9, 12, 4)).astype(np.float32)
    first = replace(RegionBlock.of(regions_nrd[:5]), keep=keep)
    assert len(first.groups) == len(first.codes) == 5
    grown, fresh = replace(RegionBlock.of(regions_nrd), keep=keep), RegionBlock.of(regions_nrd)
    for name in ("codes", "groups"):
        assert getattr(grown, name).codes_nrd.tolist() == getattr(fresh, name).codes_nrd.tolist()
        assert getattr(grown, name).steps_n.tolist() == getattr(fresh, name).steps_n.tolist()
    assert sorted(kept) == ["codes", "codes-steps", f"groups-{GROUPS}", f"groups-{GROUPS}-steps"]
