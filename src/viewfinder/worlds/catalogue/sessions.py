"""Sessions of two to four turns, as MT Fashion IQ has them: from like to like, until the wanted article is reached."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import pairwise

from viewfinder.data.mt_fashion_iq import Reference, Session
from viewfinder.worlds.catalogue.items import Item
from viewfinder.worlds.catalogue.relative import CaptionTally, relative_captions

TURNS = {2: 0.75, 3: 0.19, 4: 0.06}
"""How many sessions have how many turns, about as in the published set (2.3 on average)."""

FEWEST = 2
CHOICES = 8
"""How many references of an article are considered, so that a path need not end where two are each other's best."""


def make_session(
    target: Item, references: Mapping[str, tuple[Item, ...]], tally: CaptionTally, rng: random.Random
) -> Session | None:
    """A session that ends at `target`, walked backwards from it; None where there are no two turns.

    Every picture is the best reference, not yet in the session, of the one it leads to. `references` has them by key.
    """
    turns = rng.choices(list(TURNS), list(TURNS.values()))[0]
    path = [target]
    while len(path) <= turns:
        before = next((item for item in references[path[0].key] if item not in path), None)
        if before is None:
            break
        path.insert(0, before)
    if len(path) <= FEWEST:
        return None
    shown = tuple(
        Reference(item.key, relative_captions(following, item, tally, rng), _address(item))
        for item, following in pairwise(path)
    )
    return Session(shown, target.key, _address(target))


def _address(item: Item) -> str:
    return f"images/{item.image}"
