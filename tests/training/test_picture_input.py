"""What networks read of raw vectors: as they are, on one scale, or as principal components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from viewfinder.training.layers import PictureInput, measure_scale, principal_components


def raw(count: int = 40, width: int = 6) -> np.ndarray:
    """Rows whose numbers differ in scale, and hang together."""
    rng = np.random.default_rng(4)
    return (rng.standard_normal((count, width)) @ rng.standard_normal((width, width)) * 3 + 1).astype(np.float32)


@pytest.mark.parametrize("count", [40, 4])
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_whitened_components_are_apart_and_have_the_deviation_that_is_asked_for(count: int, power: float) -> None:
    rows = raw(count)
    rows -= rows.mean(axis=0)
    components = principal_components(rows, 5, power)
    seen = rows @ components
    spread = seen.T @ seen / count
    kept = min(5, count - 1)  # rows of mean 0: one fewer than there are
    assert np.abs(spread - np.diag(np.diag(spread))).max() < 1e-3 * spread.max()
    singular = np.linalg.svd(rows, compute_uv=False)[:kept] / np.sqrt(count)
    np.testing.assert_allclose(np.sqrt(np.diag(spread))[:kept], singular ** (1 - power), rtol=1e-2)
    assert not components[:, kept:].any()


def test_a_number_that_never_differs_is_not_blown_up() -> None:
    mean, deviation = measure_scale(np.array([[1, 5], [3, 5]], np.float32))
    # All four numbers have a deviation of sqrt(11/4); a thousandth of that is the least there is.
    np.testing.assert_allclose(mean, [2, 5])
    np.testing.assert_allclose(deviation, [1, 1e-3 * np.sqrt(2.75)], rtol=1e-6)


def test_raw_vectors_are_read_as_they_are_and_leave_nothing_to_save() -> None:
    reads = PictureInput("raw", 6)
    reads.measure(raw())
    rows = torch.from_numpy(raw())
    assert reads(rows) is rows and reads.width == 6 and not reads.state_dict()


def test_standardised_vectors_have_mean_0_and_deviation_1_and_zeros_stay_zeros() -> None:
    reads = PictureInput("standardised", 6)
    reads.measure(raw())
    seen = reads(torch.cat([torch.from_numpy(raw()), torch.zeros(1, 6)])).numpy()
    np.testing.assert_allclose(seen[:-1].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(seen[:-1].std(axis=0), 1, rtol=1e-5)
    assert not seen[-1].any()


def test_whitened_vectors_are_components_of_standardised_ones() -> None:
    reads = PictureInput("whitened", 6, components=3, whitening=1.0)
    reads.measure(raw())
    seen = reads(torch.from_numpy(raw())).numpy()
    assert reads.width == 3 and reads.get_buffer("components").dtype == torch.float16
    np.testing.assert_allclose(seen.T @ seen / len(seen), np.eye(3), atol=5e-3)


@pytest.mark.parametrize("image", ["raw", "standardised", "whitened"])
def test_what_was_measured_is_saved_and_loaded_and_never_trains(image: Any) -> None:
    reads, again = (PictureInput(image, 6, components=4) for _ in range(2))
    reads.measure(raw())
    again.load_state_dict(reads.state_dict())
    rows = torch.from_numpy(raw(7))
    assert torch.equal(reads(rows), again(rows)) and not list(reads.parameters())
