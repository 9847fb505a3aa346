"""Which articles are alike: the pairing rule of Fashion IQ (Wu et al., CVPR 2021, Sec. 3.2).

For a target the reference is the article, of the same kind and split, with the largest sum of TF-IDF weights over the
words that both titles have. The paper does not say whose weights; here they are the target's. It filters inconsistent
captions afterwards; here a reference that nothing tells from the target gives way to the next best.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Float

from viewfinder.worlds.catalogue.items import Item
from viewfinder.worlds.catalogue.statements import tell_apart

BLOCK = 256


def find_references(
    items: Sequence[Item], *, most: int, rng: random.Random, fits: Callable[[Item, Item], bool] = tell_apart
) -> dict[str, tuple[Item, ...]]:
    """For every article the `most` best references, best first, by the article's key.

    `fits(target, reference)` says which may be paired. Among equals chance decides, so that no article is the
    reference of all. An article that fits none has an empty entry.
    """
    shuffled = list(items)
    rng.shuffle(shuffled)
    found: dict[str, tuple[Item, ...]] = {}
    for target, scores_n in zip(shuffled, title_similarities([item.title for item in shuffled]), strict=True):
        found[target.key] = tuple(_best(target, shuffled, scores_n, most, fits))
    return {item.key: found[item.key] for item in items}


def _best(
    target: Item,
    items: Sequence[Item],
    scores_n: Float[np.ndarray, " n"],
    most: int,
    fits: Callable[[Item, Item], bool],
) -> Iterator[Item]:
    for place in np.argsort(-scores_n, kind="stable").tolist():
        if most == 0:
            return
        reference = items[place]
        if reference is not target and fits(target, reference):
            most -= 1
            yield reference


def title_similarities(titles: Sequence[str]) -> Iterator[Float[np.ndarray, " n"]]:
    """For every title, its sum of TF-IDF weights on the words it shares with each title, a block at a time."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    if not titles:
        return
    weights_nw = TfidfVectorizer(token_pattern=r"(?u)\b\w[\w'-]*\b").fit_transform(titles)
    there_wn = (weights_nw > 0).astype(np.float64).T.tocsc()
    for start in range(0, len(titles), BLOCK):
        yield from (weights_nw[start : start + BLOCK] @ there_wn).toarray()
