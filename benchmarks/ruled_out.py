"""What is found after words rule something out ("not black", "without stripes")? Writes results/ruled_out.json.

    python benchmarks/ruled_out.py DATA [--fusion FOLDER]      # FOLDER: that of fusion.py, which is made

Searches of products of all kinds: a thing is described, and something that some of these have is ruled out, at once, in
the next turn, or with the first result that has it. What a product has is what its catalogue row and title say. Counted
are those of the first ten that have it, and those that are the thing. "All hear it": `one`, if its other systems heard
such words as well.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from freshness import RESULTS
from fusion_data import PRODUCTS
from machine import describe_host
from measuring import write_json
from mixed_products import WISHES, read_mixed_tasks
from product_wishes import open_shop
from rows import estimate_mean

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Like, Reject, Say, Turn
from viewfinder.data.splits import Split
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation.pictures import load_pictures, match_pictures
from viewfinder.retrievers import load_retriever
from viewfinder.session.session import Session
from viewfinder.worlds.catalogue.items import Item

MIN_OF_KIND, MIN_WITH, MIN_WITHOUT = 15, 4, 10
"""Products of the kind that is described, and of these that have what is ruled out, and that do not."""

PATTERNS = {"striped": "stripes", "checked": "checks", "printed": "a print", "floral": "flowers"}
"""How a pattern is ruled out."""

FIRST, PICKED = 10, "the first that has it"

WAYS: Mapping[str, tuple[str, Callable[[], AbstractContextManager[Any]]]] = {
    "composer": ("composer", nullcontext),
    "all hear it": (
        "one", lambda: patch("viewfinder.retrievers.one.retriever.leave_wanted", lambda resolved: resolved.turn)
    ),
    "one": ("one", nullcontext),
}  # fmt: skip
"""The retriever of each way, and what is otherwise while it searches."""


@dataclass(frozen=True)
class Search:
    """A kind of product, as it is said, and the word of a facet that is ruled out."""

    noun: str
    facet: str
    word: str

    @property
    def scripts(self) -> Mapping[str, tuple[Turn, ...]]:
        """What is said, in each form."""
        described = Say(f"a {self.noun}")
        spoken = f"without {PATTERNS[self.word]}" if self.facet == "pattern" else f"not {self.word}"
        return {
            "described": (described,),
            "said at once": (Say(f"a {self.noun}, {spoken}"),),
            "said next": (described, Say(spoken)),
            "rejected in words": (described, Reject((), PATTERNS.get(self.word, self.word))),
            "picked": (described, Like(PICKED, f"but {spoken}")),
        }


def main() -> None:
    """Search, count, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--fusion", type=Path, default=Path("runs/fusion"))
    given = parser.parse_args()
    data = given.data.resolve()
    parts = {part: measure(part, given.fusion, data) for part in ("val", "test")}
    write_json(RESULTS / "ruled_out.json", {"parts": parts, "machine": describe_host()})


def measure(part: Split, fusion: Path, data: Path) -> dict[str, Any]:
    """Every way and form, among the products of a part."""
    [task], plan = read_mixed_tasks(WISHES, part, fusion, data)
    retrievers = {name: load_retriever(name) for name in ("composer", "one")}
    pictures = load_pictures(plan, StarterEncoder(), retrievers["composer"])
    gallery = pictures.gallery(match_pictures(task, pictures).gallery)
    items = {item.key: item for item in open_shop(data / PRODUCTS, part).items}
    searches = list_searches(list(items.values()))
    counted: dict[str, dict[str, list[tuple[int, int]]]] = {}
    for way, (name, change) in WAYS.items():
        with change():
            for search, (form, turns) in [(one, script) for one in searches for script in one.scripts.items()]:
                session = Session(gallery, retrievers[name], None, n=FIRST, memo=ByteCache())
                shown = search_to_end(session, turns, search, items)
                count = sum(has(item, search) for item in shown), sum(item.noun == search.noun for item in shown)
                counted.setdefault(form, {}).setdefault(way, []).append(count)
        print(part, way, {form: np.mean(ways[way], axis=0).round(2).tolist() for form, ways in counted.items()})
    forms = {form: {way: summarise(ways[way], ways["composer"]) for way in WAYS} for form, ways in counted.items()}
    return {"searches": len(searches), "products": len(items), "forms": forms}


def list_searches(items: Sequence[Item]) -> list[Search]:
    """Every kind of product with every colour and pattern that enough of them have, and enough have not."""
    found = []
    for noun in sorted({item.noun for item in items}):
        some = [item for item in items if item.noun == noun]
        words = {(facet, word) for item in some for facet, word in item.words if facet in ("colour", "pattern")}
        for facet, word in sorted(words):
            if facet == "pattern" and word not in PATTERNS:
                continue
            search = Search(noun, facet, word)
            having = sum(has(item, search) for item in some)
            if len(some) >= MIN_OF_KIND and having >= MIN_WITH and len(some) - having >= MIN_WITHOUT:
                found.append(search)
    return found


def has(item: Item, search: Search) -> bool:
    """Whether a product has what is ruled out."""
    return search.word in item.by_facet.get(search.facet, ())


def search_to_end(session: Session, turns: Sequence[Turn], search: Search, items: Mapping[str, Item]) -> list[Item]:
    """What is shown after the last turn."""
    ids: list[str] = []
    for turn in turns:
        said = turn
        if isinstance(turn, Like):
            said = replace(turn, picture=next((one for one in ids if has(items[Path(one).stem], search)), ids[0]))
        ids = [hit.id for hit in session.search(said)]
    return [items[Path(one).stem] for one in ids]


def summarise(counts: Sequence[tuple[int, int]], composer: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """How many of the first ten have what is ruled out, and are of the kind; and to the composer's."""
    these_s2, own_s2 = np.array(counts, float), np.array(composer, float)
    return {
        "has it": estimate_mean(these_s2[None, :, 0]),
        "has it, to the composer": estimate_mean((these_s2 - own_s2)[None, :, 0]),
        "of the kind": estimate_mean(these_s2[None, :, 1]),
    }


if __name__ == "__main__":
    main()
