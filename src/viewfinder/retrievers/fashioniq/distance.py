"""Squared distances as dot products of unit vectors, which is what a gallery compares.

A picture g becomes [g, |g|^2 / 2, rest] / M, where M is as long as the first two can be and `rest` fills up to length
1; a query q becomes [q, -1, 0]. Their dot product is (|q|^2 - |q - g|^2) / 2M: the nearest picture has the highest.
Axes: n pictures, h numbers of a vector, u = h + 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32

EXTRA_WIDTH = 2
"""Numbers that a lifted vector has more."""


@dataclass(frozen=True)
class DistanceEmbedding:
    """How vectors are lifted that are at most `longest` long."""

    longest: float

    @property
    def scale(self) -> float:
        """M."""
        return math.hypot(self.longest, self.longest**2 / 2)

    @property
    def sharpness(self) -> float:
        """What a score is multiplied by to be minus the squared distance, but for what is the same for all pictures."""
        return 2 * self.scale

    def pictures(self, vectors_nh: Float[np.ndarray, "n h"]) -> Float32[np.ndarray, "n u"]:
        """Pictures, each at length 1."""
        half_n1 = np.square(vectors_nh).sum(axis=1, keepdims=True) / 2
        short_n1 = self.scale**2 - 2 * half_n1 - half_n1**2
        rest_n1 = np.sqrt(np.maximum(short_n1, 0))  # below 0 by rounding at most
        return np.asarray(np.concatenate([vectors_nh, half_n1, rest_n1], axis=1) / self.scale, np.float32)

    def query(self, query_h: Float[np.ndarray, " h"]) -> Float32[np.ndarray, " u"]:
        """A query."""
        return np.asarray([*query_h, -1, 0], np.float32)

    def lowered(self, lifted_u: Float[np.ndarray, " u"]) -> Float32[np.ndarray, " h"]:
        """A picture's vector as it was before."""
        return np.asarray(lifted_u[:-EXTRA_WIDTH] * self.scale, np.float32)


def longest_normed_vector(alpha_h: Float[np.ndarray, " h"], bias_h: Float[np.ndarray, " h"]) -> float:
    """How long a vector can be that comes out of a `networks.transformer.Norm`.

    By the unbiased deviation a vector comes to a length of at most sqrt(h - 1), before it is scaled and moved.
    """
    scaled = float(np.abs(alpha_h).max()) * math.sqrt(max(len(alpha_h) - 1, 0))
    return scaled + float(np.linalg.norm(bias_h))
