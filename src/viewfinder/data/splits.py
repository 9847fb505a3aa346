"""The one split of the project: by a hash of a picture's name, wherever it lies and whatever is made from it.

The starter's head, cut-outs for scenes, catalogues, worlds, the training readers of all systems and all tests use it,
so a product or photo that is tested on is never learnt from. Splits that a data set is published with take precedence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

Split = Literal["train", "val", "test"]

SPLITS: tuple[Split, ...] = get_args(Split)

RULE = "blake2b of the file's stem modulo 16: 0 and 1 test, 2 val, others train"
"""The rule in words, for manifests."""

OFFICIAL_TEST = "Flickr_8k.testImages.txt"
"""The published list of Flickr8k's test pictures, if it is beside `captions.csv`."""


def split_of(name: str | Path) -> Split:
    """The split of a picture by its file's name: 13 of 16 for training, 1 for validation, 2 for testing.

    Folders and endings do not count, so a copy of a photograph elsewhere is in the same split, and a product is where
    its photograph is.

    >>> [split_of(name) for name in ("images/1000268201_693b08cb0e.jpg", "7.jpg", "3.png", "3")]
    ['train', 'val', 'test', 'test']
    """
    place = int.from_bytes(hashlib.blake2b(PurePosixPath(name).stem.encode(), digest_size=8).digest()) % 16
    return "test" if place < 2 else "val" if place == 2 else "train"


def split_reader(folder: Path) -> Callable[[str | Path], Split]:
    """`split_of` for the pictures of a folder; those that it lists as official test pictures are for testing."""
    official = read_official_test(folder)
    return lambda name: "test" if PurePosixPath(name).name in official else split_of(name)


def read_official_test(folder: Path) -> frozenset[str]:
    """The pictures that a folder lists as official test pictures, by their files' names; none without a list."""
    listed = folder / OFFICIAL_TEST
    return frozenset(listed.read_text(encoding="utf-8").split()) if listed.is_file() else frozenset()


def name_pictures(folder: Path, keys: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """What each picture (a name in a data set) is made from, by names that mean the same in every data set.

    A photo or product is named by its file's stem. Drawn pictures have the same numbers in all worlds, so their names
    include the world; scenes of products are also made from these products.
    """
    world = _read_json(folder / "world.json")
    kind, seed, sprites = (world.get(name) for name in ("kind", "seed", "sprites"))
    if not world or (kind == "catalogue" and sprites):
        return {key: (PurePosixPath(key).stem,) for key in keys}
    products = _products(folder) if sprites else {}
    return {
        key: (f"{kind}/{seed}/{sprites or ''}/{(stem := PurePosixPath(key).stem)}", *products.get(stem, ()))
        for key in keys
    }


def _products(folder: Path) -> dict[str, tuple[str, ...]]:
    """The products in each scene of a world, by the stem of its picture."""
    found: dict[str, list[str]] = {}
    for one in _read_json(folder / "annotations" / "instances_world.json").get("annotations", ()):
        if product := one.get("attributes", {}).get("product"):
            found.setdefault(f"{one['image_id']:012d}", []).append(product)
    return {stem: tuple(dict.fromkeys(some)) for stem, some in found.items()}


def _read_json(file: Path) -> Mapping[str, Any]:
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}
