"""Which scenes are alike, by their truth: the neighbours from which reference pictures are chosen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from viewfinder.worlds.scene import Scene

BLOCK = 4096
"""Neighbours are looked for among so many scenes at a time, so that the work grows with their number only."""

PLACE, KIND, COLOURED, LIGHT = 2, 2, 1, 1
"""What it counts to share a place, a kind, a kind in the same colour, the light; whole numbers keep sums exact."""


def nearest_scenes(scenes: Sequence[Scene], *, most: int, least: float) -> list[tuple[int, ...]]:
    """For each scene, the positions of those most like it (nearest first) whose likeness is `least` or more.

    Where none is that near, the nearest is given all the same; a scene alone has none. Likeness is the cosine of
    what is counted above, 0 to 1.
    """
    found: list[tuple[int, ...]] = []
    for start in range(0, len(scenes), BLOCK):
        block = scenes[start : start + BLOCK]
        likeness_nn = _likeness(block)
        np.fill_diagonal(likeness_nn, -1.0)
        for likeness_n in likeness_nn:
            # Sorted as a whole: equal likeness must give the same order everywhere.
            order = np.argsort(-likeness_n, kind="stable")[: min(most, len(block) - 1)]
            near = [start + int(at) for at in order if likeness_n[at] >= least]
            found.append(tuple(near or [start + int(at) for at in order[:1]]))
    return found


def scene_likeness(a: Scene, b: Scene) -> float:
    """How alike two scenes are, 0 to 1."""
    return float(_likeness([a, b])[0, 1])


def _likeness(scenes: Sequence[Scene]) -> Float[np.ndarray, "n n"]:
    features = [_features(scene) for scene in scenes]
    columns = {name: at for at, name in enumerate(sorted({name for row in features for name in row}))}
    values_nf = np.zeros((len(scenes), len(columns)))
    for row, named in zip(values_nf, features, strict=True):
        row[[columns[name] for name in named]] = list(named.values())
    lengths_n = np.sqrt((values_nf**2).sum(axis=1))
    likeness_nn: Float[np.ndarray, "n n"] = values_nf @ values_nf.T / np.outer(lengths_n, lengths_n)
    return likeness_nn


def _features(scene: Scene) -> dict[str, int]:
    things = {f"kind/{thing.kind}": KIND for thing in scene.things}
    coloured = {f"coloured/{thing.colour}/{thing.kind}": COLOURED for thing in scene.things}
    return {f"place/{scene.place}": PLACE, f"light/{scene.light}": LIGHT, **things, **coloured}
