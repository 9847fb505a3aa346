"""What lies in a folder of features: a manifest, and arrays that are mapped into memory."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from viewfinder.encoders.features.lookup import DroppedPicture, PictureFile
from viewfinder.errors import BadInput, EncoderMismatch

MANIFEST = "manifest.json"
FORMAT = 1


@dataclass(frozen=True)
class ArrayFile:
    """An .npy file beside the manifest, and what must be in it."""

    file: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Manifest:
    """What is there: row i is the picture `sources[i]`."""

    raw_version: str
    sources: tuple[PictureFile, ...]
    dropped: tuple[DroppedPicture, ...]
    raw: ArrayFile
    regions: ArrayFile | None
    boxes: ArrayFile | None = None


def read_manifest(folder: Path, raw_version: str) -> Manifest | None:
    """What an earlier call left, None if there is nothing yet.

    Raises:
        BadInput: the manifest is damaged.
        EncoderMismatch: another encoder made these features.
    """
    file = folder / MANIFEST
    if not file.is_file():
        return None
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        made_by, version = data["raw_version"], data["format"]
        if version == FORMAT and made_by == raw_version:
            return Manifest(
                made_by,
                tuple(PictureFile(*item) for item in data["pictures"]),
                tuple(DroppedPicture(PictureFile(*item), reason) for *item, reason in data["dropped"]),
                _array(data["global"]),
                _array(data["regions"]) if data["regions"] else None,
                _array(data["boxes"]) if data.get("boxes") else None,
            )
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{file}: damaged ({error!r:.80}); {repair_advice(folder)}") from error
    if made_by != raw_version:
        raise EncoderMismatch(f"{folder}: these are features of {made_by}, not {raw_version}; name another --out")
    raise BadInput(f"{file}: written by another version of viewfinder (format {version}); {repair_advice(folder)}")


def _array(data: dict[str, Any]) -> ArrayFile:
    return ArrayFile(str(data["file"]), tuple(map(int, data["shape"])), str(data["dtype"]))


def repair_advice(folder: Path) -> str:
    """What to do about damage, as the end of a message."""
    return f"delete {folder} and repeat the command"


def map_array(folder: Path, array: ArrayFile) -> np.ndarray:
    """An array of the folder, mapped into memory.

    Raises:
        BadInput: it is missing, cut off, or not what the manifest says.
    """
    file = folder / array.file
    try:
        values: np.ndarray = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise BadInput(f"{file}: missing or damaged ({error}); {repair_advice(folder)}") from error
    if (values.shape, values.dtype) != (array.shape, np.dtype(array.dtype)):
        raise BadInput(
            f"{file}: holds {values.dtype} {values.shape}, but {MANIFEST} says {array.dtype} {array.shape}; "
            + repair_advice(folder)
        )
    return values


def manifest_json(manifest: Manifest, encoder: str) -> str:
    """What `read_manifest` reads; `encoder` is for people."""
    notes = {
        "format": FORMAT,
        "encoder": encoder,
        "raw_version": manifest.raw_version,
        "global": asdict(manifest.raw),
        "regions": None if manifest.regions is None else asdict(manifest.regions),
        "boxes": None if manifest.boxes is None else asdict(manifest.boxes),
        "dropped": [(*astuple(bad.source), bad.reason) for bad in manifest.dropped],
        "pictures": [astuple(source) for source in manifest.sources],
    }
    return json.dumps(notes, ensure_ascii=False)


def write_whole(file: Path, parts: Iterable[bytes]) -> None:
    """The whole file or none of it, whatever happens meanwhile."""
    unfinished = file.with_name(f".{file.name}.new")
    with unfinished.open("wb") as stream:
        for part in parts:
            stream.write(part)
        stream.flush()
        os.fsync(stream.fileno())
    unfinished.replace(file)
