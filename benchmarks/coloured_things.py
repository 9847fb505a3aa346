"""How many of the first ten pictures are right by their captions, for every colour and thing that enough pictures have.

    python benchmarks/coloured_things.py DATA PART [LEAST]   # the photographs of `choose` or `report`
    python benchmarks/coloured_things.py DATA PART LEAST LIBRARY   # a library that has these photographs already

A picture is right for "red car" if one of its captions gives a car that colour; a van and a truck are cars, as people
name them. Captions leave colours out, so a share of what is counted as wrong is right to the eye; `there` is how many
are right at all.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, cast

import viewfinder
from viewfinder.data.splits import Part, read_photographs
from viewfinder.library import Library
from viewfinder.wording.colours import find_colours_of
from viewfinder.wording.stems import stem, stems

LEAST = 8
"""Pictures that a pair must have to be asked for."""

FIRST = 10
"""Results that are counted."""

COLOURS = {
    "black": "", "white": "", "brown": "tan beige", "red": "maroon", "blue": "navy", "green": "", "yellow": "",
    "orange": "", "pink": "", "purple": "violet", "grey": "silver",
}  # fmt: skip
"""Colours, with the other words for them."""

THINGS = {
    "car": "truck van vehicle suv taxi jeep pickup", "bus": "", "train": "locomotive tram",
    "motorcycle": "motorbike scooter", "bike": "bicycle", "boat": "kayak canoe sailboat ship raft",
    "plane": "airplane jet helicopter", "shirt": "tshirt top jersey blouse tee polo", "sweater": "sweatshirt hoodie",
    "jacket": "coat parka vest blazer", "dress": "skirt gown", "suit": "", "uniform": "outfit costume",
    "pants": "jeans trousers", "shorts": "", "hat": "cap beanie", "helmet": "", "shoes": "boots sneakers",
    "swimsuit": "bikini trunks wetsuit", "scarf": "bandanna bandana", "bag": "backpack purse suitcase", "hair": "",
    "dog": "puppy", "cat": "kitten", "horse": "", "cow": "bull", "bird": "parrot", "bear": "", "ball": "",
    "frisbee": "disc", "toy": "", "collar": "leash harness", "umbrella": "", "kite": "",
    "board": "surfboard snowboard skateboard", "balloon": "", "flag": "", "chair": "couch sofa bench", "bed": "",
    "table": "desk", "wall": "", "building": "house barn", "door": "", "curtain": "", "flower": "", "tree": "",
    "grass": "field", "sky": "", "water": "", "floor": "rug carpet", "blanket": "towel", "plate": "bowl cup mug",
    "sign": "", "tent": "", "slide": "", "fence": "",
}  # fmt: skip
"""Things, with what else people call one of them."""


class Asked(NamedTuple):
    """A colour and a thing: how many pictures have it by their captions, how many of the first ten, the verdict."""

    pair: str
    there: int
    right: int
    verdict: str


def fold_names(families: Mapping[str, str]) -> dict[str, str]:
    """The name of the family by the stem of each of its words.

    >>> fold_names({"bike": "bicycle"})
    {'bik': 'bike', 'bicycl': 'bike'}
    """
    return {stem(word): name for name, others in families.items() for word in (name, *others.split())}


COLOUR_OF, THING_OF = fold_names(COLOURS), fold_names(THINGS)


def find_pairs(caption: str) -> set[tuple[str, str]]:
    """The colours that a caption gives to things.

    >>> sorted(find_pairs("A black and white dog in front of a blue van"))
    [('black', 'dog'), ('blue', 'car'), ('white', 'dog')]
    """
    words = stems(caption)
    return {
        (colour, THING_OF[word])
        for word in set(words) & THING_OF.keys()
        for colour in find_colours_of(words, {word}, COLOUR_OF)
    }


def list_right(captions: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """The names of the pictures that are right for each pair, those that most have first."""
    right: defaultdict[str, set[str]] = defaultdict(set)
    for name, said in captions.items():
        for colour, thing in {pair for caption in said for pair in find_pairs(caption)}:
            right[f"{colour} {thing}"].add(name)
    return dict(sorted(right.items(), key=lambda item: (-len(item[1]), item[0])))


def ask_pairs(library: Library, captions: Mapping[str, Sequence[str]], least: int = LEAST) -> Iterator[Asked]:
    """Asks for every pair that at least so many pictures have; `captions` by the names of the files."""
    for pair, names in list_right(captions).items():
        if len(names) >= least:
            hits = library.chat(questioner="none", n=FIRST).say(pair)
            right = sum(Path(hit.path).name in names for hit in hits)
            yield Asked(pair, len(names), right, hits.verdict)


def write_table(asked: Sequence[Asked]) -> str:
    """A line a pair, and one for all of them, with the most that there could be."""
    lines = [
        f"{one.right:2} of {min(one.there, FIRST):2}  {one.pair:18} {one.there:4} there  {one.verdict}" for one in asked
    ]
    most = sum(min(one.there, FIRST) for one in asked)
    return "\n".join([*lines, f"{sum(one.right for one in asked)} of {most}  in all, {len(asked)} pairs"])


def main(data: str, part: str, least: str = str(LEAST), place: str = "") -> None:
    """Adds the photographs to a library of their own, unless one is named, and prints the table."""
    sets = read_photographs(Path(data), cast(Part, part))
    captions = {picture.path.name: picture.captions for pictures in sets.values() for picture in pictures}
    if place:
        print(write_table([*ask_pairs(viewfinder.open(Path(place)), captions, int(least))]))
        return
    with TemporaryDirectory() as folder:
        library = viewfinder.open(Path(folder) / "photographs.vf")
        library.add(*(picture.path for pictures in sets.values() for picture in pictures))
        print(write_table([*ask_pairs(library, captions, int(least))]))


if __name__ == "__main__":
    main(*sys.argv[1:5])
