"""Captioned photographs from several public sets, split once for everything: head, questions, verdicts, benchmarks.

`fit`, `choose` and `report` are the splits train, val and test of `splits.split_of`, whatever set a photograph is found
in: what is learnt from `fit` and chosen on `choose` has seen nothing of `report`. Sets that keep their pictures as
`captions.csv` beside `images/` are read as they are; `coco` has COCO's own format.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args

from viewfinder.data.captions import CaptionedPicture, read_coco, read_flickr8k
from viewfinder.data.splits import Split, split_of
from viewfinder.errors import BadInput

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
