"""COCO's instances (Lin et al., ECCV 2014): a box and a category for every thing of a picture.

    annotations/instances_<split>.json    beside the pictures of a split, <split>/ or images/

A box is x, y, width and height in pixels of the picture; a crowd's is around many things at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.data.files import need_folder
from viewfinder.data.records import need_field, read_mapping
from viewfinder.data.report import Dropped, ReadReport
from viewfinder.errors import BadInput


@dataclass(frozen=True)
class Instance:
    """A thing, or a crowd of them."""

    category: str
    box: tuple[float, float, float, float]
    crowd: bool = False


@dataclass(frozen=True)
class InstancePicture:
    """A picture file, and everything that is marked in it."""

    path: Path
    instances: tuple[Instance, ...]


def read_instances(folder: Path) -> tuple[list[InstancePicture], ReadReport]:
    """The pictures of all `annotations/instances_*.json` of a folder. The report counts pictures.

    Raises:
        BadInput: no such folder or files, or a damaged record (file, record and field are named).
    """
    files = sorted(need_folder(folder).glob("annotations/instances_*.json"))
    if not files:
        raise BadInput(f"{folder}: no annotations/instances_*.json here, so nothing is marked in its pictures")
    found: dict[Path, tuple[Instance, ...]] = {}
    for file in files:
        split = folder / file.stem.removeprefix("instances_")
        home = split if split.is_dir() else folder / "images"
        found |= {home / name: things for name, things in _by_picture(file).items()}
    pictures = [InstancePicture(path, things) for path, things in found.items() if path.is_file()]
    dropped = tuple(Dropped(path.name, "no such file") for path in found if not path.is_file())
    return pictures, ReadReport(len(found), len(pictures), dropped)


def _by_picture(file: Path) -> dict[str, tuple[Instance, ...]]:
    data = read_mapping(file)
    names = _named(file, data, "images", "file_name")
    categories = _named(file, data, "categories", "name")
    things: dict[str, list[Instance]] = {name: [] for name in names.values()}
    for at, record in enumerate(need_field(str(file), data, "annotations", list)):
        where = f"{file}: annotations[{at}]"
        picture = _meant(where, record, "image_id", names)
        category = _meant(where, record, "category_id", categories)
        things[picture].append(Instance(category, _box(where, record), bool(record.get("iscrowd"))))
    return {name: tuple(some) for name, some in things.items()}


def _named(file: Path, data: Mapping[str, Any], key: str, field: str) -> dict[int, str]:
    records = enumerate(need_field(str(file), data, key, list))
    return {
        need_field(f"{file}: {key}[{at}]", one, "id", int): need_field(f"{file}: {key}[{at}]", one, field, str)
        for at, one in records
    }


def _meant(where: str, record: Any, field: str, names: Mapping[int, str]) -> str:
    number = need_field(where, record, field, int)
    if number not in names:
        raise BadInput(f"{where}, field {field!r}: {number} is not listed in the file; fetch the file again")
    return names[number]


def _box(where: str, record: Any) -> tuple[float, float, float, float]:
    numbers = need_field(where, record, "bbox", list)
    if len(numbers) != 4 or not all(isinstance(number, int | float) for number in numbers):
        raise BadInput(f"{where}, field 'bbox': four numbers are needed, not {numbers!r:.60}; fetch the file again")
    x, y, width, height = map(float, numbers)
    return x, y, width, height
