"""Readers of captioned pictures: Flickr8k, COCO, and a CSV of the user's own.

Readers return the pictures in the order in which the file first names them, captions likewise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.data.files import KEY_COLUMNS, Table, need_folder, read_json, read_table
from viewfinder.data.report import Dropped, ReadReport
from viewfinder.errors import BadInput

CAPTION_COLUMNS = ("caption", "text")


@dataclass(frozen=True)
class CaptionedPicture:
    """A picture file and what people said about it; at least one caption, none empty."""

    path: Path
    captions: tuple[str, ...]


def read_flickr8k(folder: Path) -> tuple[list[CaptionedPicture], ReadReport]:
    """Flickr8k (Hodosh et al. 2013) as `captions.csv` (image,caption; a row a caption) beside `images/`.

    Raises:
        BadInput: no such folder, or a damaged captions.csv (the line is named).
    """
    table = read_table(need_folder(folder) / "captions.csv")
    captions, dropped = _grouped(table)
    return _on_disk({need_folder(folder / "images") / name: said for name, said in captions.items()}, dropped)


def read_captions_csv(path: Path) -> tuple[list[CaptionedPicture], ReadReport]:
    """A CSV with a column image, file, path or id and one named caption or text; several rows a picture.

    A picture is looked for beside the CSV; where it is not there its path stays as the file has it, to be
    matched with the pictures of a library (`match_keys`).

    Raises:
        BadInput: a missing column, or damage (the line is named).
    """
    captions, dropped = _grouped(read_table(path))
    pictures = [CaptionedPicture(_beside(path, name), tuple(said)) for name, said in captions.items() if said]
    dropped += [Dropped(name, "no caption") for name, said in captions.items() if not said]
    return pictures, ReadReport(len(captions), len(pictures), tuple(dropped))


def read_coco(folder: Path) -> tuple[list[CaptionedPicture], ReadReport]:
    """COCO captions: every `annotations/captions_<split>.json`, pictures in `<split>/` or else in `images/`.

    Raises:
        BadInput: no such folder, no captions file, damaged JSON, or a record of the wrong form (which is
            named by its position or id).
    """
    files = sorted(need_folder(folder).glob("annotations/captions_*.json"))
    if not files:
        raise BadInput(f"{folder}: no annotations/captions_*.json here, so this is not a COCO folder")
    captions: dict[Path, list[str]] = {}
    dropped: list[Dropped] = []
    for file in files:
        of_file, left_out = _coco_captions(file)
        split = folder / file.stem.removeprefix("captions_")
        pictures = split if split.is_dir() else need_folder(folder / "images")
        captions |= {pictures / name: said for name, said in of_file.items()}
        dropped += left_out
    return _on_disk(captions, dropped)


def _grouped(table: Table) -> tuple[dict[str, list[str]], list[Dropped]]:
    """Captions by picture, as a table with one row a caption has them."""
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


def _on_disk(
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


def _beside(csv: Path, name: str) -> Path:
    beside = csv.parent / name
    return beside if beside.is_file() else Path(name)


def _coco_captions(file: Path) -> tuple[dict[str, list[str]], list[Dropped]]:
    """Captions by file name; annotations without a picture or a text are left out."""
    data = read_json(file)
    names: dict[int, str] = {}
    for item in _records(file, data, "images", {"id": int, "file_name": str}):
        names[item["id"]] = item["file_name"]
    captions: dict[str, list[str]] = {name: [] for name in names.values()}
    dropped: list[Dropped] = []
    records = _records(file, data, "annotations", {"image_id": int, "caption": str})
    for i, item in enumerate(records):
        picture, caption, record = item["image_id"], item["caption"].strip(), f"{file.name}: annotations[{i}]"
        if picture not in names:
            dropped.append(Dropped(record, f"image_id {picture} is not among the images"))
        elif not caption:
            dropped.append(Dropped(record, "empty caption"))
        else:
            captions[names[picture]].append(caption)
    return captions, dropped


def _records(file: Path, data: Any, key: str, fields: Mapping[str, type]) -> list[dict[str, Any]]:
    """The list `data[key]`, every record of it with these fields."""
    records = data.get(key) if isinstance(data, dict) else None
    if not isinstance(records, list):
        raise BadInput(f"{file}: a list {key!r} is needed, as COCO's own caption files have it")
    for position, record in enumerate(records):
        for name, kind in fields.items():
            value = record.get(name) if isinstance(record, dict) else None
            if not isinstance(value, kind):
                raise BadInput(f"{file}: {key}[{position}] needs {name!r} ({kind.__name__}); it has {value!r}")
    return records
