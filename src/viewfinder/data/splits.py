"""The one split of the project: by a hash of a picture's name, wherever it lies and whatever is made from it.

The starter's head, cut-outs for scenes, catalogues, worlds, the training readers of all systems and all tests use it,
so a product or photo that is tested on is never learnt from. Splits that a data set is published with take precedence.

Captioned photographs from several public sets are split by it for head, questions, verdicts and benchmarks, too:
`fit`, `choose` and `report` are train, val and test, whatever set a photograph is found in. What is learnt from `fit`
and chosen on `choose` has seen nothing of `report`. Sets that keep their pictures as `captions.csv` beside `images/`
are read as they are; `coco` has COCO's own format.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from viewfinder.data.captions import CaptionedPicture, read_coco, read_flickr8k
from viewfinder.errors import BadInput

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
    """The sources of each picture (a name in a data set), under names that mean the same in every data set.

    A photo or product is named by its file's stem. Drawn pictures have the same numbers in all worlds, so their names
    include the world; scenes of products are also made from these products.
    """
    world = _read_json(folder / "world.json")
    kind, seed, sprites = (world.get(name) for name in ("kind", "seed", "sprites"))
    if not world or (kind == "catalogue" and sprites):
        return {key: (PurePosixPath(key).stem,) for key in keys}
    products = _list_products(folder) if sprites else {}
    return {
        key: (f"{kind}/{seed}/{sprites or ''}/{(stem := PurePosixPath(key).stem)}", *products.get(stem, ()))
        for key in keys
    }


def _list_products(folder: Path) -> dict[str, tuple[str, ...]]:
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


# -- captioned photographs of several sets

Part = Literal["fit", "choose", "report"]

PARTS: tuple[Part, ...] = get_args(Part)

PHOTOGRAPHS = ("flickr8k", "flickr8k-more", "flickr30k-few", "coco-hf", "coco-ids", "coco", "ade20k-sequences")
"""The folders of everyday photographs to look for."""


def part_of(name: str) -> Part:
    """The part of a picture by its file's name: of 16, two are for `report`, one for `choose`, thirteen for `fit`.

    Folders and endings do not count, so a copy of a photograph elsewhere is in the same part.

    >>> [part_of(name) for name in ("images/1000268201_693b08cb0e.jpg", "7.jpg", "3.png")]
    ['fit', 'choose', 'report']
    """
    parts: dict[Split, Part] = {"train": "fit", "val": "choose", "test": "report"}
    return parts[split_of(name)]


def read_photographs(folder: Path, part: Part | None = None) -> dict[str, list[CaptionedPicture]]:
    """The captioned photographs below a folder, by set, of one part or of all; missing sets are left out.

    Raises:
        BadInput: none of `PHOTOGRAPHS` is there, or a table is damaged.
    """
    found: dict[str, list[CaptionedPicture]] = {}
    for name in PHOTOGRAPHS:
        if (folder / name).is_dir():
            pictures, _ = (read_coco if name == "coco" else read_flickr8k)(folder / name)
            found[name] = [picture for picture in pictures if part in (None, part_of(picture.path.name))]
    if not found:
        raise BadInput(f"{folder}: no captioned photographs here; one of {', '.join(PHOTOGRAPHS)} is needed")
    return found


def names_digest(pictures: Iterable[CaptionedPicture]) -> str:
    """Sixteen hexadecimal digits that identify a list of pictures, in any order: what a model card tells of its data.

    >>> names_digest([CaptionedPicture(Path("b/2.jpg"), ("x",)), CaptionedPicture(Path("1.jpg"), ("y",))])
    'fd9ed37d932d4602'
    """
    names = sorted(picture.path.name for picture in pictures)
    return hashlib.blake2b("\n".join(names).encode(), digest_size=8).hexdigest()
