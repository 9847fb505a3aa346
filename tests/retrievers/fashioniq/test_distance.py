"""Squared distances as dot products of unit vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.retrievers.fashioniq.retriever import DistanceEmbedding, longest_normed_vector
from viewfinder.training.layers import Norm

LOOSE = settings(deadline=None, max_examples=50)


def test_a_vector_of_two_numbers_by_hand() -> None:
    # At most 2 long: M = |(2, 2^2 / 2)| = sqrt(8). Of [1, 1], |g|^2 / 2 = 1, and what is left is sqrt(8 - 2 - 1).
    lifting = DistanceEmbedding(2.0)
    lifted_u = lifting.pictures(np.array([[1.0, 1.0]], np.float32))[0]
    np.testing.assert_allclose(lifted_u * math.sqrt(8), [1, 1, 1, math.sqrt(5)], rtol=1e-6)
    # q = [3, 1] is 2 away: (10 - 4) / 2M.
    score = float(lifting.query(np.array([3.0, 1.0])) @ lifted_u)
    assert score == pytest.approx(6 / (2 * math.sqrt(8)), rel=1e-6)


@LOOSE
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.floats(0.01, 30.0))
def test_the_order_is_that_of_the_distances_and_lengths_are_1(seed: int, width: int, longest: float) -> None:
    rng = np.random.default_rng(seed)
    pictures_nh = rng.standard_normal((30, width))
    pictures_nh *= (longest * rng.random((30, 1))) / np.linalg.norm(pictures_nh, axis=1, keepdims=True)
    query_h = rng.standard_normal(width) * longest
    lifting = DistanceEmbedding(longest)
    lifted_nu = lifting.pictures(pictures_nh)
    np.testing.assert_allclose(np.linalg.norm(lifted_nu, axis=1), 1, atol=1e-5)
    distance_n = np.square(pictures_nh - query_h).sum(axis=1)
    found_n = 2 * lifting.scale * (lifted_nu @ lifting.query(query_h))
    np.testing.assert_allclose(
        found_n, np.square(query_h).sum() - distance_n, atol=1e-4 * lifting.scale * (1 + longest)
    )


@LOOSE
@given(st.integers(0, 2**32 - 1))
def test_a_picture_is_found_again_in_its_lifted_vector(seed: int) -> None:
    vectors_nh = np.random.default_rng(seed).standard_normal((4, 6))
    lifting = DistanceEmbedding(float(np.linalg.norm(vectors_nh, axis=1).max()))
    lifted_nu = lifting.pictures(vectors_nh)
    np.testing.assert_allclose([lifting.restore(one_u) for one_u in lifted_nu], vectors_nh, atol=1e-5)


@LOOSE
@given(st.integers(0, 2**31 - 1), st.sampled_from([2, 3, 16]))
def test_nothing_that_a_norm_makes_is_longer_than_its_bound(seed: int, width: int) -> None:
    torch.manual_seed(seed)
    norm = Norm(width)
    with torch.no_grad():
        norm.alpha.copy_(torch.randn(width))
        norm.bias.copy_(torch.randn(width))
        made_nh = norm(10 ** torch.randn(50, 1) * torch.randn(50, width))
    bound = longest_normed_vector(norm.alpha.detach().numpy(), norm.bias.detach().numpy())
    assert float(made_nh.norm(dim=1).max()) <= bound * (1 + 1e-5)


def test_the_bound_of_a_fresh_norm_is_reached() -> None:
    # [1, -1] has the mean 0 and the unbiased deviation sqrt(2): it comes out as [1, -1] / sqrt(2), of length 1.
    made_nh = Norm(2)(torch.tensor([[1.0, -1.0]])).detach()
    assert longest_normed_vector(np.ones(2), np.zeros(2)) == pytest.approx(float(made_nh.norm()), rel=1e-5)
