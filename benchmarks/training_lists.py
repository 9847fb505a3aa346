"""Writes the lists of what shipped weights were trained on, beside those whose own file has none.

    python benchmarks/training_lists.py DATA

The starter's head and the labels of photographs were fitted together on the part `fit` of every set in DATA (see
CONTRIBUTING.md); their list is written only if the digest of each set's names matches the one in the head's metadata.

The weights of Fashion IQ, its captioner, MAI and ChatSearcher are older than the project's split, on which shipped.py
trains. Their list is made by the rules of that time, and the counts of their cards must come out: articles of a
catalogue were split by a hash of their number modulo 13, all else by its position in its file modulo 13. What cannot be
made again is bounded from above, and the list says "at most":

scenes, edits     products were cut out for any split: all products
flickr8k          515 of 669 photographs; 74 of them, of the official test split, have left the data since, and the
                  positions of the others are lost: all 595 that remain, and the name of the official list for the 74
MAI's catalogue   products that stand in no transaction are listed as well

Drawn pictures need no names: they are scenes of listed products. The weights are not touched.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from safetensors import safe_open

from viewfinder.data import read_coco, read_flickr8k, read_products
from viewfinder.data.splits import OFFICIAL_TEST, names_digest, part_of, read_photographs
from viewfinder.encoders.starter.encoder import SHIPPED_HEAD
from viewfinder.questioners.photographs import SHIPPED_LABELS
from viewfinder.retrievers.chatsearcher.retriever import SHIPPED as CHATSEARCHER
from viewfinder.retrievers.fashioniq.retriever import SHIPPED as FASHION_IQ
from viewfinder.retrievers.mai.retriever import SHIPPED as MAI
from viewfinder.training.weights import NETWORK, TrainingList, read_record, write_list_beside
from viewfinder.users.captioner.captioner import SHIPPED as CAPTIONER
from viewfinder.worlds.catalogue.items import Item, read_photos

PRODUCTS = "fashion-products"
OF = 13
"""Of so many in a row, one was for validation and two for testing until the one split came (commit 311d91e)."""

HELD_OUT = (3, 6, 9)

KINDS = ("Tshirts", "Shirts", "Casual Shoes")
"""The kinds of the catalogue that the captioner knows."""


@dataclass(frozen=True)
class Names:
    """Names that weights were trained on, how many of their card they are, and of what."""

    of: str
    names: frozenset[str]
    at_most: bool = False

    def expect(self, count: int) -> Names:
        """Itself; raises SystemExit if it is not so many."""
        if len(self.names) != count:
            raise SystemExit(f"{self.of}: {len(self.names)} names, and the card has {count}; the data have changed")
        return self


def main() -> None:
    """Compares, and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder that holds flickr8k/, coco/ ... and fashion-products/")
    data = parser.parse_args().data
    write_starter(data)
    for weights, parts in list_shipped(data).items():
        if read_record(weights, NETWORK)[0].get("trained_on"):
            print(f"{weights}: has a list of its own")
            continue
        at_most = any(part.at_most for part in parts)
        listed = TrainingList.of(frozenset().union(*(part.names for part in parts)), at_most=at_most)
        write(weights, listed, [f"{part.of}: {'at most ' * part.at_most}{len(part.names)} names" for part in parts])


def write(weights: Path, listed: TrainingList, remarks: Sequence[str]) -> None:
    """The list beside weights, below what it is of."""
    file = write_list_beside(weights, listed, remarks)
    print(f"{file}: {len(listed)} names, {file.stat().st_size} bytes, list {listed.digest}")


def write_starter(data: Path) -> None:
    """The list of the starter's head, which is also that of the labels predicted from its vectors."""
    sets = read_photographs(data, "fit")
    sets[PRODUCTS] = [one for one in read_products(data / PRODUCTS)[0] if part_of(one.path.name) == "fit"]
    with safe_open(str(SHIPPED_HEAD), framework="numpy") as tensors:
        known = tensors.metadata() or {}
    for name, found in sorted(sets.items()):
        if known.get(f"{name}: {len(found)} pictures") != names_digest(found):
            raise SystemExit(f"{name}: these are not the {len(found)} pictures that the head was fitted on")
        print(f"{name}: {len(found)} pictures, as in the head")
    listed = TrainingList.of(one.path.stem for found in sets.values() for one in found)
    for weights in (SHIPPED_HEAD, SHIPPED_LABELS):
        write(weights, listed, [f"{name}: {len(found)} names" for name, found in sorted(sets.items())])


def list_shipped(data: Path) -> dict[Path, tuple[Names, ...]]:
    """What each older shipped system was trained on, as far as it can be known."""
    items = read_photos(data / PRODUCTS)[0]
    of_kinds = Names(
        "T-shirts, shirts and casual shoes", keys(items, lambda at, one: one.kind in KINDS and by_key(one))
    )
    others = Names("other products", keys(items, lambda at, one: one.kind not in KINDS and by_place(at)))
    articles = Names("products", keys(items, lambda at, one: by_key(one)), at_most=True)
    whole = frozenset(one.path.stem for one in read_products(data / PRODUCTS)[0])
    cut_out = Names("products, whole or cut out", whole, at_most=True)
    photographs = frozenset(one.path.stem for one in read_flickr8k(data / "flickr8k")[0])
    flickr8k = Names("Flickr8k", photographs | {OFFICIAL_TEST}, at_most=True).expect(596)
    pictures = enumerate(read_coco(data / "coco")[0])
    coco = Names("COCO", frozenset(one.path.stem for at, one in pictures if by_place(at))).expect(62)
    return {
        CAPTIONER: (of_kinds.expect(2389),),
        FASHION_IQ: (of_kinds, others.expect(6183 - 2389), flickr8k),
        MAI: (articles.expect(6223), flickr8k),
        CHATSEARCHER: (cut_out.expect(8082), flickr8k, coco),
    }


def keys(items: Sequence[Item], chosen: Callable[[int, Item], bool]) -> frozenset[str]:
    """Those of some articles, by their places and what they are."""
    return frozenset(one.key for at, one in enumerate(items) if chosen(at, one))


def by_place(place: int) -> bool:
    """Whether a picture at this place in its file was for training."""
    return place % OF not in HELD_OUT


def by_key(item: Item) -> bool:
    """Whether an article of a catalogue was for training."""
    return by_place(int.from_bytes(hashlib.blake2b(item.key.encode(), digest_size=8).digest()))


if __name__ == "__main__":
    main()
