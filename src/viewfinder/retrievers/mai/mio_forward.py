"""`mio` without torch, for one talk: which tokens of several turns are kept.

Axes: t tokens, h numbers of a token, k tokens that are kept.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32, Int

from viewfinder.retrievers.mai.settings import Iteration


def numpy_select_tokens(
    tokens_th: Float[np.ndarray, "t h"], count: int, settings: Iteration
) -> Float32[np.ndarray, "k h"]:
    """The `count` tokens that stand for all, in their order."""
    return np.asarray(tokens_th[numpy_choose_places(tokens_th, count, settings)], np.float32)


def numpy_choose_places(tokens_th: Float[np.ndarray, "t h"], count: int, settings: Iteration) -> Int[np.ndarray, " k"]:
    """`mio.chosen`: the places of the kept tokens, in rising order; ties to earlier ones."""
    apart_tt = numpy_token_distances(tokens_th)
    if settings.density == "tcformer":
        apart_tt /= np.float32(tokens_th.shape[1] ** 0.5)
    density_t = numpy_token_log_densities(apart_tt, settings)
    peaks_t = numpy_peak_distances(apart_tt, density_t, settings)
    lowest = np.finfo(np.float32).min
    score_t = np.where(peaks_t > 0, density_t + np.log(np.maximum(peaks_t, np.finfo(np.float32).tiny)), lowest)
    dropped = min(int(settings.drop * len(tokens_th)), len(tokens_th) - count)
    if dropped > 0:
        score_t[(-density_t).argsort(kind="stable")[-dropped:]] = -np.inf
    return np.sort((-score_t).argsort(kind="stable")[:count])


def numpy_token_distances(tokens_th: Float[np.ndarray, "t h"]) -> Float32[np.ndarray, "t t"]:
    """`mio.distances`: how far apart any two tokens are."""
    tokens_th = np.asarray(tokens_th, np.float32)
    tokens_th = tokens_th - tokens_th.mean(axis=0)
    square_t = np.square(tokens_th).sum(axis=1)
    square_tt = square_t[:, None] + square_t - 2 * (tokens_th @ tokens_th.T)
    np.fill_diagonal(square_tt, 0.0)
    return np.asarray(np.sqrt(np.maximum(square_tt, 0)))


def numpy_token_log_densities(apart_tt: Float[np.ndarray, "t t"], settings: Iteration) -> Float[np.ndarray, " t"]:
    """`mio.log_densities`: minus the mean squared distance to the nearest neighbours."""
    itself = int(settings.density == "paper")
    last = min(settings.neighbours + itself, len(apart_tt))
    near_tk = np.sort(apart_tt, axis=1)[:, itself:last]
    return np.asarray(-np.square(near_tk).mean(axis=1))


def numpy_peak_distances(
    apart_tt: Float[np.ndarray, "t t"], density_t: Float[np.ndarray, " t"], settings: Iteration
) -> Float[np.ndarray, " t"]:
    """`mio.peaks`: the distance of each token that makes it a peak."""
    place_t = np.arange(len(apart_tt))
    if settings.distance == "nearest":
        return np.asarray(np.where(place_t[:, None] == place_t, np.inf, apart_tt).min(axis=1))
    denser_tt = density_t > density_t[:, None]
    denser_tt |= (density_t == density_t[:, None]) & (place_t < place_t[:, None])
    nearest_t = np.where(denser_tt, apart_tt, np.inf).min(axis=1)
    return np.asarray(np.where(np.isinf(nearest_t), apart_tt.max(axis=1), nearest_t))
