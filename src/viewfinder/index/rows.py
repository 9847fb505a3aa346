"""What the store knows of a picture besides its vectors, and how that lies in an Arrow table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class FileRecord:
    """One file that holds a picture, as it was when it was read; `mtime_ns` is its time of change."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class PictureRow:
    """One picture: where it lies, what is known of it, what the user's catalogue says of it.

    `width` and `height` are upright pixels, `captured` an ISO date ("2019-07-14T10:03:00"), `attributes`
    catalogue columns; several catalogue rows for one picture give several values. No files: the picture is
    gone, but known.
    """

    id: str
    files: tuple[FileRecord, ...]
    width: int
    height: int
    format: str
    bytes: int
    captured: str | None = None
    camera: str | None = None
    captions: tuple[str, ...] = ()
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """A file that could not become a picture, as it was then, and why."""

    path: str
    size: int
    mtime_ns: int
    reason: str


def pictures_schema() -> Any:
    """The Arrow schema of the table `pictures`."""
    import pyarrow as pa

    file = pa.struct([("path", pa.string()), ("size", pa.int64()), ("mtime_ns", pa.int64())])
    return pa.schema(
        [
            ("id", pa.string()),
            ("files", pa.list_(file)),
            ("width", pa.int32()),
            ("height", pa.int32()),
            ("format", pa.string()),
            ("bytes", pa.int64()),
            ("captured", pa.string()),
            ("camera", pa.string()),
            ("captions", pa.list_(pa.string())),
            ("attributes", pa.string()),
        ]
    )


def failures_schema() -> Any:
    """The Arrow schema of the table `failures`."""
    import pyarrow as pa

    return pa.schema([("path", pa.string()), ("size", pa.int64()), ("mtime_ns", pa.int64()), ("reason", pa.string())])


def pictures_to_arrow(rows: Sequence[PictureRow]) -> Any:
    """Rows as an Arrow table."""
    import pyarrow as pa

    return pa.Table.from_pylist([_picture_to_dict(row) for row in rows], schema=pictures_schema())


def pictures_from_arrow(table: Any) -> list[PictureRow]:
    """Rows of an Arrow table, in its order."""
    return [_picture_from_dict(item) for item in table.to_pylist()]


def failures_to_arrow(failures: Sequence[Failure]) -> Any:
    """Failures as an Arrow table."""
    import pyarrow as pa

    items = [
        {"path": pack_text(it.path), "size": it.size, "mtime_ns": it.mtime_ns, "reason": pack_text(it.reason)}
        for it in failures
    ]
    return pa.Table.from_pylist(items, schema=failures_schema())


def failures_from_arrow(table: Any) -> list[Failure]:
    """Failures of an Arrow table, by path."""
    found = [
        Failure(unpack_text(item["path"]), item["size"], item["mtime_ns"], unpack_text(item["reason"]))
        for item in table.to_pylist()
    ]
    return sorted(found, key=lambda failure: failure.path)


class TextLists:
    """A column of lists of packed texts, for who reads rows one by one: several times faster than Arrow's own rows."""

    def __init__(self, column: Any, field: str | None = None) -> None:
        """`field`: of lists of structs, the one that holds the texts."""
        lists = column.combine_chunks()
        lists = lists.chunk(0) if hasattr(lists, "num_chunks") else lists
        self._ends = lists.offsets.to_numpy()
        self._texts = lists.values if field is None else lists.values.field(field)

    def __len__(self) -> int:
        """The texts of all rows."""
        return int(self._ends[-1] - self._ends[0])

    def at(self, row: int) -> tuple[str, ...]:
        """The texts of a row."""
        places = range(int(self._ends[row]), int(self._ends[row + 1]))
        return tuple(unpack_text(self._texts[place].as_py()) for place in places)


def pack_text(text: str) -> str:
    """The text in a form that Arrow and SQL filters accept; `unpack_text` gives it back.

    File names need not be valid unicode: Python then gives them lone surrogates, which no Arrow string can
    hold. Such texts (and those that would look like a packed one) are stored as a JSON literal.
    """
    if text.startswith('"') or "\0" in text or not _is_encodable(text):
        return json.dumps(text)
    return text


def unpack_text(stored: str) -> str:
    """The text that `pack_text` stored."""
    return str(json.loads(stored)) if stored.startswith('"') else stored


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _pack_optional(text: str | None) -> str | None:
    return None if text is None else pack_text(text)


def _unpack_optional(stored: str | None) -> str | None:
    return None if stored is None else unpack_text(stored)


def _picture_to_dict(row: PictureRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "files": [{"path": pack_text(it.path), "size": it.size, "mtime_ns": it.mtime_ns} for it in row.files],
        "width": row.width,
        "height": row.height,
        "format": row.format,
        "bytes": row.bytes,
        "captured": _pack_optional(row.captured),
        "camera": _pack_optional(row.camera),
        "captions": [pack_text(caption) for caption in row.captions],
        "attributes": json.dumps({name: list(values) for name, values in row.attributes.items()}),
    }


def _picture_from_dict(item: Mapping[str, Any]) -> PictureRow:
    attributes = json.loads(item["attributes"])
    return PictureRow(
        id=item["id"],
        files=tuple(FileRecord(unpack_text(it["path"]), it["size"], it["mtime_ns"]) for it in item["files"]),
        width=item["width"],
        height=item["height"],
        format=item["format"],
        bytes=item["bytes"],
        captured=_unpack_optional(item["captured"]),
        camera=_unpack_optional(item["camera"]),
        captions=tuple(unpack_text(caption) for caption in item["captions"]),
        attributes={name: tuple(values) for name, values in attributes.items()},
    )
