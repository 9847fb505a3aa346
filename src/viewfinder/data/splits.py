"""The one split of the project: by a hash of a picture's name, wherever it lies and whatever is made from it.

The starter's head, cut-outs for scenes, catalogues, worlds, the training readers of all systems and all tests use it,
so a product or photo that is tested on is never learnt from. Splits that a data set is published with take precedence:
Karpathy's (restval is for training), Flickr8k's lists (dev is for validation), COCO's train and val, if both are here.
Of a set of which only one split is here, the pictures are split by their names.

Captioned photographs from several public sets are split by it for head, questions, verdicts and benchmarks, too:
`fit`, `choose` and `report` are train, val and test, whatever set a photograph is found in. What is learnt from `fit`
and chosen on `choose` has seen nothing of `report`. Sets that keep their pictures as `captions.csv` beside `images/`
are read as they are; `coco` has COCO's own format.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from viewfinder.data.captions import (
    CaptionedPicture,
    count_things,
    find_captions,
    has_own_splits,
    read_captioned_set,
    read_coco,
    read_flickr8k,
    read_lists,
)
from viewfinder.errors import BadInput, UnknownName

Split = Literal["train", "val", "test"]

SPLITS: tuple[Split, ...] = get_args(Split)

RULE = "blake2b of the file's stem modulo 16: 0 and 1 test, 2 val, others train"
"""The rule in words, for manifests."""


def split_of(name: str | Path) -> Split:
    """The split of a picture by its file's name: 13 of 16 for training, 1 for validation, 2 for testing.

    Folders and endings do not count, so a copy of a photograph elsewhere is in the same split, and a product is where
    its photograph is.

    >>> [split_of(name) for name in ("images/1000268201_693b08cb0e.jpg", "7.jpg", "3.png", "3")]
    ['train', 'val', 'test', 'test']
    """
    place = int.from_bytes(hashlib.blake2b(PurePosixPath(name).stem.encode(), digest_size=8).digest()) % 16
    return "test" if place < 2 else "val" if place == 2 else "train"


def split_reader(folder: Path) -> Callable[[str | Path], Split | None]:
    """`split_of` for the pictures of a folder; those that the set is published in a split with are in that one.

    None: the set lists what is for training, and a picture is in none of its splits.
    """
    if has_own_splits(folder):
        found = survey_captions(folder)
        roles, is_complete = found.roles, found.is_complete
    else:
        roles = {name: _ROLES[split] for name, split in read_lists(folder).items()}
        is_complete = "train" in roles.values()
    if not roles:
        return split_of
    return lambda name: roles.get(PurePosixPath(name).name) or (None if is_complete else split_of(name))


@dataclass(frozen=True)
class PartFound:
    """A published part of a captioned set: how many captions and pictures it has, and how many of these are here."""

    name: str
    captions: int
    pictures: int
    here: int

    def __str__(self) -> str:
        return f"{self.name or 'others'} ({self.counts})"

    @property
    def counts(self) -> str:
        """How much of it is here, in words."""
        return f"{count_things(self.captions, 'caption')}, {count_things(self.here, 'picture')}"


@dataclass(frozen=True)
class CaptionsFound:
    """What a folder has of a captioned set.

    Attributes:
        parts: as published, in the order of the set.
        roles: what the pictures are for by the set's own splits, by the names of their files; empty: it has none, or
            too little of them is here.
        is_complete: whether pictures without a role are for nothing; else they are split by name.
    """

    parts: tuple[PartFound, ...]
    roles: Mapping[str, Split] = field(default_factory=dict, repr=False)
    is_complete: bool = False

    @property
    def has_pictures(self) -> bool:
        """Whether any of the captioned pictures is here."""
        return any(one.here for one in self.parts)

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of splits that have pictures here, as `choose_split` takes them."""
        used = Counter(self.roles.values())
        ours = [split for split in SPLITS if used[split] or (self.has_pictures and not self.is_complete)]
        return tuple(dict.fromkeys((*ours, *(one.name for one in self.parts if one.name and one.here))))

    def __str__(self) -> str:
        """One line: what was found, and which splits work."""
        is_one = len(self.parts) == 1 and not self.parts[0].name
        found = f"found {self.parts[0].counts if is_one else ', '.join(map(str, self.parts))}"
        if not self.has_pictures:
            return f"{found}: unpack their pictures beside them"
        by_name = () if self.is_complete else SPLITS
        own = ", ".join(f"--split {split}" for split in self.splits if split not in by_name)
        ours = f"{', '.join(by_name)} by the pictures' names" if by_name else ""
        return f"{found}: {'; or '.join(filter(None, (own, ours)))}"


def survey_captions(folder: Path) -> CaptionsFound:
    """What a folder has of a captioned set, read once while its files stay the same.

    Raises as `read_captioned_set`.
    """
    places = find_captions(folder)
    marks = tuple((str(place), place.stat().st_mtime_ns) for place in places)
    return _survey(folder, marks)


@lru_cache(maxsize=16)
def _survey(folder: Path, marks: tuple[tuple[str, int], ...]) -> CaptionsFound:
    found = read_captioned_set(folder)
    pictures, here = Counter(found.parts.values()), Counter(found.parts[name] for name in found.files)
    captions: Counter[str] = Counter()
    for name, said in found.captions.items():
        captions[found.parts[name]] += len(said)
    parts = tuple(PartFound(part, captions[part], pictures[part], here[part]) for part in found.homes)
    roles = _roles_of(parts, listed=found.listed)
    names = {
        found.files[name].name: role
        for name, part in found.parts.items()
        if name in found.files and (role := roles.get(part)) is not None
    }
    return CaptionsFound(parts, names, is_complete="train" in roles.values())


_PART = re.compile(r"(train|restval|val|dev|test)(\d{4})?")
_ROLES: dict[str, Split] = {"train": "train", "restval": "train", "val": "val", "dev": "val", "test": "test"}


def _roles_of(parts: Sequence[PartFound], *, listed: bool) -> dict[str, Split]:
    """What each part is for. Parts that are files of their own count if pictures of two are here, of one year."""
    found = {one.name: match for one in parts if (match := _PART.fullmatch(one.name)) and (listed or one.here)}
    if listed:
        return {name: _ROLES[match[1]] for name, match in found.items()}
    for year in sorted({match[2] or "" for match in found.values()}, reverse=True):
        of_year = {name: _ROLES[match[1]] for name, match in found.items() if (match[2] or "") == year}
        if "train" in of_year.values() and len(set(of_year.values())) > 1:
            return of_year
    return {}


def choose_split(folder: Path, pictures: Iterable[CaptionedPicture], split: str) -> list[CaptionedPicture]:
    """The captioned pictures of a split: train, val or test as `split_reader` says, or one of the set's own names.

    Raises:
        UnknownName: there are none; the message says what is here.
    """
    split_of_folder = split_reader(folder)
    chosen = [one for one in pictures if (split_of_folder(one.path) if split in SPLITS else one.split) == split]
    if not chosen and split not in (found := survey_captions(folder)).splits:
        there = ", ".join(found.splits) or "none"
        raise UnknownName(f"{folder}: no split is called {split!r}; there are: {there} ({found})")
    return chosen


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
