"""Raw vectors on one scale: mean 0 and deviation 1 as measured, and what is not there stays zeros."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from viewfinder.retrievers.shared.captioned_pictures import CaptionedPictures
from viewfinder.retrievers.shared.description_training import measure_scales
from viewfinder.retrievers.shared.network import add_scale, scale_raw


def described(raw_ng: np.ndarray, regions_nre: np.ndarray) -> CaptionedPictures:
    count = len(raw_ng)
    block = (raw_ng.astype(np.float32), regions_nre.astype(np.float16))
    names = tuple(map(str, range(count)))
    return CaptionedPictures(
        names, (("said",),) * count, 1, "raw-1", (block,), np.arange(count), np.zeros(count, np.intp)
    )


def test_measured_scales_bring_raw_vectors_to_mean_0_and_deviation_1() -> None:
    rng = np.random.default_rng(0)
    data = described(rng.normal(3.0, 5.0, (40, 2)), rng.normal(-1.0, 2.0, (40, 6, 3)))
    network = nn.Module()
    add_scale(network, "regions", 3)
    add_scale(network, "whole", 2)
    measure_scales(network, data)
    regions = scale_raw(network, "regions", torch.from_numpy(data.regions_of(range(40)))).reshape(-1, 3)
    whole = scale_raw(network, "whole", torch.from_numpy(data.globals_of(range(40))))
    for rows in (regions, whole):
        torch.testing.assert_close(rows.mean(dim=0), torch.zeros(rows.shape[1]), atol=1e-4, rtol=0)
        torch.testing.assert_close(rows.std(dim=0, correction=0), torch.ones(rows.shape[1]), atol=1e-4, rtol=0)


def test_a_number_that_never_differs_is_not_blown_up() -> None:
    data = described(np.array([[1.0, 7.0], [-1.0, 7.0]]), np.zeros((2, 1, 1)))
    network = nn.Module()
    add_scale(network, "whole", 2)
    measure_scales(network, data)
    found = scale_raw(network, "whole", torch.tensor([[1.0, 7.0 + 1e-4]]))
    assert found[0, 0].item() == 1.0
    assert abs(found[0, 1].item()) < 0.1


def test_a_scale_that_was_not_measured_changes_nothing() -> None:
    network = nn.Module()
    add_scale(network, "regions", 3)
    raw = torch.randn(2, 5, 3)
    torch.testing.assert_close(scale_raw(network, "regions", raw), raw)


def test_a_missing_vector_stays_zeros_whatever_the_mean() -> None:
    network = nn.Module()
    add_scale(network, "regions", 2)
    network.get_buffer("regions_mean").fill_(3.0)
    assert scale_raw(network, "regions", torch.tensor([[0.0, 0.0], [3.0, 4.0]])).tolist() == [[0.0, 0.0], [0.0, 1.0]]
