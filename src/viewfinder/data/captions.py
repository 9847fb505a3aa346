"""Readers of captioned pictures (Flickr8k, COCO, a CSV of the user's own), and of the things marked in COCO's.

Readers return the pictures in the order in which the file first names them, captions likewise. If a data set does not
say which pictures are for training, validation and testing, `splits.split_of` does.

COCO's instances (Lin et al., ECCV 2014) have a box and a category for every thing in a picture.

    annotations/instances_<split>.json    beside the pictures of a split, <split>/ or images/

A box is x, y, width and height in pixels of the picture; a crowd's box encloses many things at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.data.files import (
    KEY_COLUMNS,
    Dropped,
    ReadReport,
    Table,
    need_field,
    need_folder,
    read_json,
    read_table,
)
from viewfinder.errors import BadInput

CAPTION_COLUMNS = ("caption", "text")


@dataclass(frozen=True)
class CaptionedPicture:
    """A picture file and what people said about it; at least one caption, none empty."""

    path: Path
    captions: tuple[str, ...]


def read_flickr8k(folder: Path) -> tuple[list[CaptionedPicture], ReadReport]:
    """Flickr8k (Hodosh et al. 2013) as `captions.csv` (image,caption; one row per caption) beside `images/`."""
    table = read_table(need_folder(folder) / "captions.csv")
    captions, dropped = _group_captions(table)
    return _keep_on_disk({need_folder(folder / "images") / name: said for name, said in captions.items()}, dropped)


def read_captions_csv(source: Path | Table) -> tuple[list[CaptionedPicture], ReadReport]:
    """A CSV, or a table of one's own, with a column image, file, path or id and one named caption or text.

    A picture may have several rows. Pictures are looked for beside the CSV. The path of one that is not there stays as
    it is in the file, to be matched with the pictures of a library (`match_keys`).

    Raises:
        BadInput: a missing column, or damage (the line is named).
    """
    table = source if isinstance(source, Table) else read_table(source)
    captions, dropped = _group_captions(table)
    pictures = [
        CaptionedPicture(beside if (beside := table.path.parent / name).is_file() else Path(name), tuple(said))
        for name, said in captions.items()
        if said
    ]
    dropped += [Dropped(name, "no caption") for name, said in captions.items() if not said]
    return pictures, ReadReport(len(captions), len(pictures), tuple(dropped))


def read_coco(folder: Path) -> tuple[list[CaptionedPicture], ReadReport]:
    """COCO captions: every `annotations/captions_<split>.json`, with pictures in `<split>/` or else in `images/`."""
    captions: dict[Path, list[str]] = {}
    dropped: list[Dropped] = []
    for file, pictures in _coco_files(folder, "captions", "so this is not a COCO folder"):
        of_file, left_out = _coco_captions(file)
        captions |= {need_folder(pictures) / name: said for name, said in of_file.items()}
        dropped += left_out
    return _keep_on_disk(captions, dropped)


def has_captions(folder: Path) -> bool:
    """Whether a folder holds captions like Flickr8k's (captions.csv) or COCO's."""
    return (folder / "captions.csv").is_file() or any(folder.glob("annotations/captions_*.json"))


def read_captioned(folder: Path) -> tuple[list[CaptionedPicture], ReadReport]:
    """The captioned pictures of such a folder, in the order of its files."""
    return read_flickr8k(folder) if (folder / "captions.csv").is_file() else read_coco(folder)


def _coco_files(folder: Path, kind: str, complaint: str) -> list[tuple[Path, Path]]:
    """Every `annotations/<kind>_<split>.json`, and the folder of its pictures."""
    files = sorted(need_folder(folder).glob(f"annotations/{kind}_*.json"))
    if not files:
        raise BadInput(f"{folder}: no annotations/{kind}_*.json here, {complaint}")
    splits = [folder / file.stem.removeprefix(f"{kind}_") for file in files]
    return [(file, split if split.is_dir() else folder / "images") for file, split in zip(files, splits, strict=True)]


def _group_captions(table: Table) -> tuple[dict[str, list[str]], list[Dropped]]:
    """Captions by picture, from a table with one row per caption."""
    key, caption = table.need(KEY_COLUMNS), table.need(CAPTION_COLUMNS)
    captions: dict[str, list[str]] = {}
    dropped: list[Dropped] = []
    for line, row in zip(table.lines, table.rows, strict=True):
        if not row[key]:
            dropped.append(Dropped(f"line {line}", "names no picture"))
            continue
        said = captions.setdefault(row[key], [])
        if row[caption]:
            said.append(row[caption])
        else:
            dropped.append(Dropped(f"line {line}", "empty caption"))
    return captions, dropped


def _keep_on_disk(
    captions: Mapping[Path, list[str]], dropped: Iterable[Dropped]
) -> tuple[list[CaptionedPicture], ReadReport]:
    """The pictures that have a file and a caption; the others are reported."""
    pictures: list[CaptionedPicture] = []
    left_out = list(dropped)
    there = {file for folder in {path.parent for path in captions} for file in folder.glob("*")}
    for path, said in captions.items():
        if path not in there and not path.is_file():
            left_out.append(Dropped(path.name, "no such file"))
        elif not said:
            left_out.append(Dropped(path.name, "no caption"))
        else:
            pictures.append(CaptionedPicture(path, tuple(said)))
    return pictures, ReadReport(len(captions), len(pictures), tuple(left_out))


def _coco_captions(file: Path) -> tuple[dict[str, list[str]], list[Dropped]]:
    """Captions by file name; annotations without a picture or a text are left out."""
    data = read_json(file, dict)
    names = _coco_names(file, data, "images", "file_name")
    captions: dict[str, list[str]] = {name: [] for name in names.values()}
    dropped: list[Dropped] = []
    for i, item in enumerate(need_field(str(file), data, "annotations", list)):
        where = f"{file}: annotations[{i}]"
        picture, caption = need_field(where, item, "image_id", int), need_field(where, item, "caption", str).strip()
        if picture not in names:
            dropped.append(Dropped(f"{file.name}: annotations[{i}]", f"image_id {picture} is not among the images"))
        elif not caption:
            dropped.append(Dropped(f"{file.name}: annotations[{i}]", "empty caption"))
        else:
            captions[names[picture]].append(caption)
    return captions, dropped


def _coco_names(file: Path, data: Mapping[str, Any], key: str, field: str) -> dict[int, str]:
    """`field` of the records `data[key]`, by their ids."""
    records = enumerate(need_field(str(file), data, key, list))
    return {
        need_field(f"{file}: {key}[{at}]", one, "id", int): need_field(f"{file}: {key}[{at}]", one, field, str)
        for at, one in records
    }


@dataclass(frozen=True)
class Instance:
    """A thing, or a crowd of them."""

    category: str
    box: tuple[float, float, float, float]
    crowd: bool = False


@dataclass(frozen=True)
class InstancePicture:
    """A picture file, and everything marked in it, of the categories that are marked at all."""

    path: Path
    instances: tuple[Instance, ...]
    categories: frozenset[str]


def read_instances(folder: Path) -> tuple[list[InstancePicture], ReadReport]:
    """The pictures of all `annotations/instances_*.json` of a folder. The report counts pictures."""
    found: dict[Path, InstancePicture] = {}
    for file, home in _coco_files(folder, "instances", "so nothing is marked in its pictures"):
        found |= {one.path: one for one in _coco_instances(file, home)}
    pictures = [one for path, one in found.items() if path.is_file()]
    dropped = tuple(Dropped(path.name, "no such file") for path in found if not path.is_file())
    return pictures, ReadReport(len(found), len(pictures), dropped)


def _coco_instances(file: Path, home: Path) -> list[InstancePicture]:
    data = read_json(file, dict)
    names = _coco_names(file, data, "images", "file_name")
    categories = _coco_names(file, data, "categories", "name")
    things: dict[str, list[Instance]] = {name: [] for name in names.values()}
    for at, record in enumerate(need_field(str(file), data, "annotations", list)):
        where = f"{file}: annotations[{at}]"
        picture, category = (
            _need_listed(where, record, field, known)
            for field, known in (("image_id", names), ("category_id", categories))
        )
        box = need_field(where, record, "bbox", list)
        if len(box) != 4 or not all(isinstance(number, int | float) for number in box):
            raise BadInput(f"{where}, field 'bbox': four numbers are needed, not {box!r:.60}; fetch the file again")
        x, y, width, height = map(float, box)
        things[picture].append(Instance(category, (x, y, width, height), bool(record.get("iscrowd"))))
    known = frozenset(categories.values())
    return [InstancePicture(home / name, tuple(some), known) for name, some in things.items()]


def _need_listed(where: str, record: Any, field: str, names: Mapping[int, str]) -> str:
    number = need_field(where, record, field, int)
    if number not in names:
        raise BadInput(f"{where}, field {field!r}: {number} is not listed in the file; fetch the file again")
    return names[number]
