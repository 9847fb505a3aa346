"""The layout of region vectors: tiles of pictures, as one flat matrix that can be mapped; the same in 8 bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from jaxtyping import Float32

from viewfinder.index import region_scores
from viewfinder.index.region_scores import RegionBlock, RegionCodes, tile_batches

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
    assert len(block) == 0 and block.codes.pictures == 0 and block.at(np.arange(0)).parts[0].shape[1:3] == (3, 2)


def test_codes_count_steps_from_128_region_by_region() -> None:
    codes = RegionBlock.of(np.array([[[0.5, -1.0], [0.0, 1.0]], [[0.25, 0.0], [-0.5, 0.0]]])).codes
    assert codes.step == pytest.approx(1 / 127)
    # 0.5 is 63.5 steps and 0.25 31.75: halves go to the even number.
    [part] = codes.parts
    assert part[:, :2].tolist() == [[[192, 1], [160, 128]], [[128, 255], [64, 128]]]
    assert codes.pictures == 2 and (part[:, 2:] == 128).all()


def test_codes_of_many_tiles_keep_pictures_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(region_scores, "TILE", 2)
    monkeypatch.setattr(region_scores, "CODED", 6)
    codes = RegionCodes.of(RegionBlock.of(numbered(11)), step=1.0)
    assert [part.shape for part in codes.parts] == [(3, 6, 2), (3, 4, 2), (3, 2, 2)]
    joined = np.concatenate([part.transpose(1, 0, 2) for part in codes.parts])[:11]
    assert (joined.astype(int) - 128).tolist() == numbered(11).tolist()
    assert RegionCodes.of(RegionBlock.of(300 * numbered(2)), step=1.0).parts[0].max() == 255  # no more can be told
