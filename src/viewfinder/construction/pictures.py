"""The pictures that samples are made of: captioned ones of a data set, those of a gallery; by their names in samples.

A name is a path below the folder that the samples are written to. Where that is not the data set's own folder, its
pictures get names in `images/`, those of a gallery in `images/gallery/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, get_args

from viewfinder.data import CaptionedPicture, ReadReport, read_coco, read_flickr8k
from viewfinder.data.splits import split_of
from viewfinder.data.truth import TRUTH_FILE
from viewfinder.encoders.features.lookup import IMAGES
from viewfinder.errors import BadInput

Part = Literal["train", "val", "test", "all"]

PARTS: tuple[Part, ...] = get_args(Part)

GALLERY = f"{IMAGES}/gallery"


@dataclass(frozen=True)
class SourcePicture:
    """A picture with its captions, and its number in the data set."""

    name: str
    file: Path
    captions: tuple[str, ...]
    number: int


def has_captions(folder: Path) -> bool:
    """Whether a folder has captions in a format that is read here."""
    return (folder / "captions.csv").is_file() or any(folder.glob("annotations/captions_*.json"))


def read_captioned(folder: Path, part: Part, *, prefix: str | None = None) -> tuple[list[SourcePicture], ReadReport]:
    """The captioned pictures of a part of a data set, and what was left out of the whole.

    Parts are by number: a world's own numbers, else places in the captions file (see `data.splits`).

    Args:
        folder: with captions.csv beside images/, or annotations/captions_*.json as COCO's.
        part: "all", or a split.
        prefix: the folder that names begin with; None: names are paths below `folder`.

    Raises:
        BadInput: no such folder, no captions, damaged ones, or no picture of this part.
    """
    if (folder / "captions.csv").is_file():
        pictures, report = read_flickr8k(folder)
    elif has_captions(folder):
        pictures, report = read_coco(folder)
    else:
        raise BadInput(
            f"{folder}: no captions here; needed are captions.csv beside images/, or annotations/captions_*.json"
        )
    numbers = _numbers(folder, pictures)
    chosen = [
        SourcePicture(sample_name(picture.path, folder, prefix), picture.path, _clean(picture.captions), number)
        for number, picture in zip(numbers, pictures, strict=True)
        if part in ("all", split_of(number))
    ]
    if not chosen:
        raise BadInput(f"{folder}: none of its {len(pictures)} captioned pictures is of the part {part!r}")
    return chosen, report


def sample_name(file: Path, folder: Path, prefix: str | None) -> str:
    """The name of a picture in samples.

    >>> named(Path("a/images/1.jpg"), Path("a"), None), named(Path("a/images/1.jpg"), Path("a"), "images/gallery")
    ('images/1.jpg', 'images/gallery/1.jpg')
    """
    key = file.relative_to(folder).as_posix() if file.is_relative_to(folder) else file.name
    return key if prefix is None else (PurePosixPath(prefix) / key.removeprefix(f"{IMAGES}/")).as_posix()


def take_evenly(pictures: Sequence[SourcePicture], count: int | None) -> list[SourcePicture]:
    """So many of them, from the first to the last."""
    if count is None or count >= len(pictures):
        return list(pictures)
    return [pictures[at * len(pictures) // count] for at in range(count)]


def files_of(pictures: Iterable[SourcePicture]) -> Mapping[str, Path]:
    """Where pictures lie, by name."""
    return {picture.name: picture.file for picture in pictures}


def _numbers(folder: Path, pictures: Sequence[CaptionedPicture]) -> list[int]:
    """A world's pictures are called by their numbers."""
    stems = [picture.path.stem for picture in pictures]
    if (folder / TRUTH_FILE).is_file() and all(stem.isdigit() for stem in stems):
        return [int(stem) for stem in stems]
    return list(range(len(pictures)))


def _clean(captions: Iterable[str]) -> tuple[str, ...]:
    return tuple(" ".join(caption.split()) for caption in captions)
