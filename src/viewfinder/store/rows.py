"""Facts about pictures beside their vectors: rows, their Arrow form, columns for filters and questions."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, zip_longest
from os.path import split
from pathlib import Path, PurePath
from typing import Any
from unicodedata import normalize

import numpy as np
from jaxtyping import Bool, Float64, Int32, Int64

from viewfinder.errors import UnknownName, ViewfinderError
from viewfinder.pictures.facts.model import LIST_NAMES, NAMES, Fact, find_value, merge_copies, rank_doubt
from viewfinder.store.tables import FAILURES, PICTURES, table_schema
from viewfinder.wording.numbers import to_number


@dataclass(frozen=True)
class FileRecord:
    """One file that holds a picture, as it was when it was read; `mtime_ns` is its time of change.

    Attributes:
        stamp: stands for all that told of the picture beside the file itself (`FoundFile.stamp`); None: its facts were
            never read, by an earlier viewfinder.
        facts: what it and its sidecars say of the picture.
    """

    path: str
    size: int
    mtime_ns: int
    stamp: int | None = None
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class PictureRow:
    """One picture: where it lies, what is known about it, and what the user's catalogue says.

    `width` and `height` are upright pixels, `captured` an ISO date ("2019-07-14T10:03:00"), `attributes` catalogue
    columns; several catalogue rows for one picture give several values. Without files, the picture is gone but still
    known. `pixels` is the hash of its data without metadata, and its orientation (`identity.hash_pixels`); None: not
    known, as of pictures that an earlier viewfinder added. `machine` are facts of `MACHINE_NAMES`, which no file tells;
    one without values says that there was nothing to be told.
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
    pixels: str | None = None
    machine: tuple[Fact, ...] = ()

    @property
    def known(self) -> tuple[Fact, ...]:
        """What its files, their sidecars and machines say of it, each with its source, in the order of
        `facts.model.NAMES`."""
        return (*merge_copies(file.facts for file in self.files), *(fact for fact in self.machine if fact.values))

    @property
    def path(self) -> Path:
        """The first of its files. Raises IndexError: there is none."""
        return Path(self.files[0].path)


@dataclass(frozen=True)
class Failure:
    """A file that could not become a picture, as it was at that time, and the reason."""

    path: str
    size: int
    mtime_ns: int
    reason: str


def to_values(value: object) -> tuple[str, ...]:
    """A picture's values in a catalogue column, from one value, or a list or tuple of several; None is none.

    >>> to_values(12.5), to_values(["red", "blue", "red"]), to_values(None)
    (('12.5',), ('red', 'blue'), ())
    """
    several = value if isinstance(value, list | tuple) else (value,)
    texts = (str(one).strip() for one in several if one is not None)
    return tuple(dict.fromkeys(filter(None, texts)))


OF_PIXELS = -1
"""In the place of a file's number: facts that a machine told of the picture itself."""


def pictures_to_arrow(rows: Sequence[PictureRow]) -> Any:
    """Rows as an Arrow table."""
    import pyarrow as pa

    items = [
        vars(row)
        | {
            "files": [{"path": pack_text(it.path), "size": it.size, "mtime_ns": it.mtime_ns} for it in row.files],
            "stamps": [it.stamp for it in row.files],
            "facts": [
                {
                    "file": number,
                    "name": fact.name,
                    "source": pack_text(fact.source),
                    "values": [pack_text(value) for value in fact.values],
                }
                for number, fact in (*_order_facts(row.files), *((OF_PIXELS, fact) for fact in row.machine))
            ],
            "captured": row.captured and pack_text(row.captured),
            "camera": row.camera and pack_text(row.camera),
            "captions": [pack_text(caption) for caption in row.captions],
            "attributes": json.dumps({name: list(values) for name, values in row.attributes.items()}),
        }
        for row in rows
    ]
    return pa.Table.from_pylist(items, schema=table_schema(PICTURES))


def _order_facts(files: Sequence[FileRecord]) -> list[tuple[int, Fact]]:
    """The facts of a picture's files, each with the number of its file: the first of a name is the one that counts."""
    told = [(number, fact) for number, file in enumerate(files) for fact in file.facts]
    return told if len(files) == 1 else sorted(told, key=lambda it: (NAMES.index(it[1].name), rank_doubt(it[1])))


def keep_files(row: PictureRow, kept: Sequence[FileRecord]) -> PictureRow:
    """The row with some of its files, and the date and the camera that these tell; with none it stays as it was."""
    left = replace(row, files=tuple(kept))
    if not kept or left.files == row.files or any(file.stamp is None for file in kept):  # None: facts are not read yet
        return left
    return replace(left, captured=find_value(left.known, "captured"), camera=find_value(left.known, "camera"))


def describe_pictures(rows: Sequence[PictureRow]) -> Any:
    """Pictures as an Arrow table for people's own use: facts, then one column of texts per catalogue column.

    Several values of a picture are joined by "; ". A catalogue column with the name of one of the first facts, up to
    the captions, gets a star after it; of those after these (`KNOWN`, as far as any file tells them) it is the fact.
    """
    import pyarrow as pa

    facts: dict[str, Any] = {
        "id": pa.array([row.id for row in rows], pa.string()),
        "path": pa.array([to_utf8(str(row.path)) for row in rows], pa.string()),
        "paths": pa.array([[to_utf8(it.path) for it in row.files] for row in rows], pa.list_(pa.string())),
        **{
            name: pa.array([getattr(row, name) for row in rows], pa.int64() if name != "format" else pa.string())
            for name in ("width", "height", "format", "bytes")
        },
        **{
            name: pa.array([text and to_utf8(text) for text in (getattr(row, name) for row in rows)], pa.string())
            for name in ("captured", "camera")
        },
        "captions": pa.array([[to_utf8(it) for it in row.captions] for row in rows], pa.list_(pa.string())),
    }
    catalogue = sorted({name for row in rows for name in row.attributes})
    told: dict[str, list[list[str]]] = {}
    for place, row in enumerate(rows):
        for fact in row.known:
            if fact.name in KNOWN:
                told.setdefault(fact.name, [[] for _ in rows])[place] += map(to_utf8, fact.values)
    for name in (name for name in KNOWN if name in told):
        values = ["; ".join(given) or None for given in told[name]]
        facts[f"{name}*" if name in catalogue else name] = pa.array(values, pa.string())
    for name in catalogue:
        values = ["; ".join(map(to_utf8, row.attributes.get(name, ()))) or None for row in rows]
        facts[f"{name}*" if name in facts and name not in told else name] = pa.array(values, pa.string())
    return pa.table(facts)


def list_fact_names(rows: Sequence[PictureRow]) -> list[str]:
    """The names of the facts that files tell of any of these pictures, in the order of `facts.model.NAMES`."""
    told = {fact.name for row in rows for facts in (*(file.facts for file in row.files), row.machine) for fact in facts}
    return [name for name in NAMES if name in told]


def to_frame(table: Any) -> Any:
    """An Arrow table as a pandas DataFrame. Raises ViewfinderError: pandas is not installed."""
    try:
        return table.to_pandas()
    except ModuleNotFoundError as error:
        raise ViewfinderError("to_pandas needs pandas: `pip install pandas`, or take to_arrow") from error


def to_utf8(text: str) -> str:
    """The text, with question marks for what UTF-8 cannot encode: file names need not be text."""
    return text.encode("utf-8", "replace").decode("utf-8")


def pictures_from_arrow(table: Any) -> list[PictureRow]:
    """Rows of an Arrow table, in its order."""
    return [
        PictureRow(
            **{name: value for name, value in item.items() if name not in ("stamps", "facts")}
            | {
                "files": _read_files(item),
                "machine": _read_machine_facts(item),
                "captured": item["captured"] and unpack_text(item["captured"]),
                "camera": item["camera"] and unpack_text(item["camera"]),
                "captions": tuple(map(unpack_text, item["captions"])),
                "attributes": {name: tuple(values) for name, values in json.loads(item["attributes"]).items()},
            }
        )
        for item in table.to_pylist()
    ]


def _read_files(item: Mapping[str, Any]) -> tuple[FileRecord, ...]:
    """The files of a picture; tables of an earlier viewfinder have neither their stamps nor their facts."""
    files, stamps = item["files"], item.get("stamps") or ()
    facts: list[list[Fact]] = [[] for _ in files]
    for it in item.get("facts") or ():
        if it["file"] != OF_PIXELS:
            facts[it["file"]].append(_read_fact(it))
    return tuple(
        FileRecord(unpack_text(it["path"]), it["size"], it["mtime_ns"], stamp, tuple(known))
        for it, known, (stamp, _) in zip(files, facts, zip_longest(stamps, files), strict=True)
    )


def _read_machine_facts(item: Mapping[str, Any]) -> tuple[Fact, ...]:
    return tuple(_read_fact(it) for it in item.get("facts") or () if it["file"] == OF_PIXELS)


def _read_fact(item: Mapping[str, Any]) -> Fact:
    return Fact(item["name"], tuple(map(unpack_text, item["values"])), unpack_text(item["source"]))


def complete_table(table: Any) -> Any:
    """A table of pictures with all columns, empty where one of an earlier viewfinder lacks them."""
    import pyarrow as pa

    for column in table_schema(PICTURES):
        if column.name not in table.schema.names:
            table = table.append_column(column, pa.nulls(table.num_rows, column.type))
    return table


def failures_to_arrow(failures: Sequence[Failure]) -> Any:
    """Failures as an Arrow table."""
    import pyarrow as pa

    items = [vars(it) | {"path": pack_text(it.path), "reason": pack_text(it.reason)} for it in failures]
    return pa.Table.from_pylist(items, schema=table_schema(FAILURES))


def failures_from_arrow(table: Any) -> list[Failure]:
    """Failures of an Arrow table, by path."""
    texts = ({**item, **{name: unpack_text(item[name]) for name in ("path", "reason")}} for item in table.to_pylist())
    return sorted((Failure(**item) for item in texts), key=lambda failure: failure.path)


def pack_text(text: str) -> str:
    """The text in a form that Arrow and SQL filters accept; `unpack_text` gives it back.

    File names need not be valid unicode: Python then represents them with lone surrogates, which no Arrow string can
    hold. Such texts (and those that look like a packed one) are stored as a JSON literal.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(text)
    return json.dumps(text) if text.startswith('"') or "\0" in text else text


def unpack_text(stored: str) -> str:
    """The text that `pack_text` stored."""
    return str(json.loads(stored)) if stored.startswith('"') else stored


FACTS = ("format", "year", "month", "camera", "folder")
"""Columns of every collection; a catalogue column of the same name takes precedence."""

CAPTURED, FILE, UNDER = "captured", "file", "under"
"""Facts to filter by that are not offered as columns: most days, and all file names, have one picture."""

KNOWN = tuple(name for name in NAMES if name not in {CAPTURED, "text boxes", *FACTS})
"""Columns of collections whose files, sidecars or machines tell them; those of the catalogue take precedence, too."""

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


FEW_KINDS, MAX_KINDS = 20, 500
"""With so few values a column may tell kinds of pictures apart, however few pictures there are; with more none does."""


@dataclass(frozen=True)
class AttributeColumn:
    """One column: picture i has the values of `codes[offsets[i]:offsets[i + 1]]`, in the order given.

    `values` stand most frequent first. `offsets` has one entry more than there are pictures. `of_files`: files fill it,
    not the catalogue.
    """

    name: str
    values: tuple[str, ...]
    offsets: Int64[np.ndarray, " bounds"]
    codes: Int32[np.ndarray, " c"]
    of_files: bool = False

    @staticmethod
    def of(name: str, values_of_pictures: Sequence[Sequence[str]]) -> AttributeColumn:
        """A column of these values; empty ones are left out, repeated ones count once per picture."""
        kept = [list(dict.fromkeys(filter(None, map(str.strip, given)))) for given in values_of_pictures]
        counts = Counter(value for given in kept for value in given)
        values = tuple(sorted(counts, key=lambda value: (-counts[value], value)))
        code = {value: number for number, value in enumerate(values)}
        offsets = np.zeros(len(kept) + 1, dtype=np.int64)
        np.cumsum([len(given) for given in kept], out=offsets[1:])
        codes = np.array([code[value] for given in kept for value in given], dtype=np.int32)
        return AttributeColumn(name, values, offsets, codes)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, rows_k: Int64[np.ndarray, " k"]) -> AttributeColumn:
        """The column of these pictures, each as often as it is given."""
        counts_k = np.diff(self.offsets)[rows_k]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts_k)])
        # Where each code comes from: the start of its picture in the source, plus its distance from the start in the
        # result.
        sources_c = np.repeat(self.offsets[:-1][rows_k] - offsets[:-1], counts_k) + np.arange(offsets[-1])
        return replace(self, offsets=offsets, codes=self.codes[sources_c]).sort_by_frequency()

    def sort_by_frequency(self) -> AttributeColumn:
        """This column with its values in the documented order, without those that no picture has."""
        counts_v = np.bincount(self.codes, minlength=len(self.values)).tolist()
        held = [code for code, count in enumerate(counts_v) if count]
        order = sorted(held, key=lambda code: (-counts_v[code], self.values[code]))
        if order == list(range(len(self.values))):
            return self
        place_v = np.zeros(len(self.values), np.int32)
        place_v[order] = np.arange(len(order), dtype=np.int32)
        return replace(self, values=tuple(self.values[code] for code in order), codes=place_v[self.codes])

    @cached_property
    def rows(self) -> Int64[np.ndarray, " c"]:
        """The picture each code belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.offsets))

    @cached_property
    def _has_one_each(self) -> bool:
        """Whether every picture has exactly one value: then the codes are those of the rows."""
        return len(self.codes) == len(self) and bool((self.offsets[:-1] == np.arange(len(self))).all())

    def mark(self, chosen_v: Bool[np.ndarray, " v"]) -> Bool[np.ndarray, " n"]:
        """Whether each picture has one of the values that are chosen."""
        if chosen_v.all():
            return np.asarray(self.offsets[1:] > self.offsets[:-1])
        if self._has_one_each:
            return np.asarray(chosen_v[self.codes])
        # A picture's codes stand together: none of them is chosen where the count of chosen ones does not rise.
        count_c = np.zeros(len(self.codes) + 1, np.int32)
        np.cumsum(chosen_v[self.codes], dtype=np.int32, out=count_c[1:])
        count_n = count_c[self.offsets]
        return np.asarray(count_n[1:] > count_n[:-1])

    def find_first_codes(self, rows_k: Int64[np.ndarray, " k"]) -> Int32[np.ndarray, " k"]:
        """The first value of each of these pictures, -1 where nothing is known."""
        starts_k = self.offsets[rows_k]
        known_k = self.offsets[rows_k + 1] > starts_k
        first_k = np.full(len(rows_k), -1, np.int32)
        first_k[known_k] = self.codes[starts_k[known_k]]
        return first_k

    @cached_property
    def first_codes_n(self) -> Int32[np.ndarray, " n"]:
        """Each picture's first value, -1 where nothing is known."""
        if self._has_one_each:
            return self.codes
        first_n = np.full(len(self), -1, dtype=np.int32)
        known_n = np.diff(self.offsets) > 0
        first_n[known_n] = self.codes[self.offsets[:-1][known_n]]
        return first_n

    @cached_property
    def tells_kinds(self) -> bool:
        """Whether one would choose among its values: they are few, or each stands for several pictures. Names do not,
        nor does free text."""
        known = int((np.diff(self.offsets) > 0).sum())
        return 0 < len(self.values) <= max(FEW_KINDS, min(known // 2, MAX_KINDS))

    @cached_property
    def numbers_v(self) -> Float64[np.ndarray, " v"] | None:
        """The number that each value is (`to_number`); None if one is none, or there is no value."""
        numbers: list[float] = []
        for value in self.values:
            if (number := to_number(value)) is None:
                return None
            numbers.append(number)
        return np.array(numbers) if numbers else None

    def of_row(self, row: int) -> tuple[str, ...]:
        """The values of one picture."""
        return tuple(self.values[code] for code in self.codes[self.offsets[row] : self.offsets[row + 1]])

    def mask(self, condition: str) -> Bool[np.ndarray, " n"]:
        """Whether pictures meet a condition: a value, or alternatives as in `red|blue`, ranges and dates among them.

        A range `LOW..HIGH` includes both ends, and one may be left out; a date may be a year, a month or a day
        (`2019-07..2020`); `<50`, `<=50`, `>50` and `>=50` are bounds. A text that is itself a value of the column means
        that value; capitals do not matter. A number means the values that are this number, however they are written.

        Raises:
            UnknownName: no picture meets one of the alternatives; the message lists values.
        """
        chosen_v = np.zeros(len(self.values), bool)
        chosen_v[self._find_codes(condition)] = True
        return self.mark(chosen_v)

    def find_values(self, condition: str) -> tuple[str, ...]:
        """The values that meet a condition, as `mask` reads it. Raises UnknownName as it does."""
        return tuple(self.values[code] for code in self._find_codes(condition))

    def _find_codes(self, condition: str) -> list[int]:
        wanted = [] if self._has_days else self._codes_of(condition)
        return wanted or [code for part in condition.split("|") for code in self._need_codes(part)]

    @property
    def _has_days(self) -> bool:
        """Whether its values are days, or years and months where no more is known: these are no values of their own."""
        return self.of_files and self.name == CAPTURED

    def _codes_of(self, value: str) -> list[int]:
        sought = fold_case(value.strip())
        return [code for code, known in enumerate(self.values) if fold_case(known) == sought]

    def _need_codes(self, part: str) -> list[int]:
        """The codes of the values that one alternative means."""
        codes = [] if self._has_days else self._codes_of(part)
        low, dots, high = (end.strip() for end in part.partition(".."))
        if not codes and (low or high) and (dots or is_date(to_day(low))):
            codes = [code for code, known in enumerate(self.values) if is_between(known, low, high if dots else low)]
        if not codes and (bound := re.fullmatch(r"\s*([<>]=?)\s*(.+?)\s*", part)) is not None:
            codes = [code for code, known in enumerate(self.values) if is_beyond(known, *bound.groups())]
        if not codes and (number := to_number(part)) is not None:  # however it is written: 12.5 is "12,50 €"
            codes = [code for code, known in enumerate(self.values) if to_number(known) == number]
        if not codes:
            if low and high and is_between(low, high, "") and not is_between(high, low, ""):
                raise UnknownName(f"{self.name} = {part.strip()!r}: write the lower end first: {high}..{low}")
            listed = ", ".join(self.values[:10]) + (", ..." if len(self.values) > 10 else "")
            raise UnknownName(
                f"no picture has {self.name} = {part.strip()!r}; known are: {listed or 'no values at all'}"
            )
        return codes

    def count_values(self) -> list[tuple[str, int]]:
        """Every value with the number of pictures that have it, the most frequent first."""
        counts_v = np.bincount(self.codes, minlength=len(self.values))
        return list(zip(self.values, counts_v.tolist(), strict=True))


COLUMNS_AT_ONCE = 65_536
"""Pictures of which columns are made together: texts of so many are in memory at once."""


def build_columns(table: Any) -> dict[str, AttributeColumn]:
    """The columns of pictures in Arrow, by name, as `stream_columns` has them."""
    return {column.name: column for column in stream_columns(table)}


def stream_columns(table: Any) -> Iterator[AttributeColumn]:
    """The columns of pictures in Arrow: those of the catalogue by name, then those of files whose names these leave.

    Of files these are all `FACTS`, and the `KNOWN` that any picture has. Pictures are read some at a time, and texts
    that many of these share are read once: a million pictures take seconds.
    """
    catalogue, of_files = dict[str, _JoinedColumn](), dict[str, _JoinedColumn]()
    for start in range(0, max(table.num_rows, 1), COLUMNS_AT_ONCE):
        block = complete_table(table.slice(start, COLUMNS_AT_ONCE))
        told = _build_fact_columns(block) | _build_known_columns(block)
        for joined, columns in ((catalogue, _build_catalogue_columns(block)), (of_files, told)):
            for name, column in columns.items():
                joined.setdefault(name, _JoinedColumn(name)).append(start, column)
    taken = {name.casefold() for name in catalogue}
    for name in sorted(catalogue):
        yield catalogue.pop(name).finish(table.num_rows)
    for name in (*FACTS, *KNOWN):
        if name in of_files and name not in taken:
            yield replace(of_files.pop(name).finish(table.num_rows), of_files=True)


class _JoinedColumn:
    """A column that is put together from those of some pictures after others."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._code: dict[str, int] = {}
        self._counts: list[tuple[int, Int32[np.ndarray, " n"]]] = []
        self._codes: list[Int32[np.ndarray, " c"]] = []

    def append(self, start: int, column: AttributeColumn) -> None:
        """Adds the column of the pictures from this row on; those before it that were not given have no values."""
        code_v = np.array([self._code.setdefault(value, len(self._code)) for value in column.values], np.int32)
        self._counts.append((start, np.diff(column.offsets).astype(np.int32)))
        self._codes.append(code_v[column.codes])

    def finish(self, pictures: int) -> AttributeColumn:
        """The column of so many pictures."""
        offsets = np.zeros(pictures + 1, np.int64)
        for start, counts_k in self._counts:
            offsets[start + 1 : start + 1 + len(counts_k)] = counts_k
        np.cumsum(offsets, out=offsets)
        codes = np.concatenate([np.zeros(0, np.int32), *self._codes])
        return AttributeColumn(self.name, tuple(self._code), offsets, codes).sort_by_frequency()


def _build_catalogue_columns(table: Any) -> dict[str, AttributeColumn]:
    """The columns of the catalogue of pictures in Arrow."""
    texts, row_to_text = _find_distinct(table["attributes"].combine_chunks())
    stored = [json.loads(text) for text in texts]
    names = {name for values in stored for name in values}
    return {
        name: AttributeColumn.of(name, [values.get(name, ()) for values in stored]).take(row_to_text) for name in names
    }


def _build_known_columns(table: Any) -> dict[str, AttributeColumn]:
    """The columns of `KNOWN` that any of these pictures in Arrow has."""
    facts = table["facts"].combine_chunks()
    told = facts.flatten()
    names_f, codes_f = _encode_texts(told.field("name"))
    counts_n = np.nan_to_num(facts.value_lengths().to_numpy(zero_copy_only=False)).astype(np.int64)
    rows_f = np.repeat(np.arange(len(counts_n)), counts_n)
    values = told.field("values")
    parents_v = _list_parents(values)
    texts, codes_v = _encode_texts(values.flatten())
    told_v = [to_utf8(unpack_text(text)) if text.startswith('"') else text for text in texts]
    if told_v != texts:  # what is no text may look the same
        place: dict[str, int] = {}
        codes_v = np.array([place.setdefault(text, at) for at, text in enumerate(told_v)], np.int64)[codes_v]
    columns = {}
    for name in KNOWN:
        if name in names_f:
            of_name_v = codes_f[parents_v] == names_f.index(name)
            columns[name] = _join_values(name, rows_f[parents_v[of_name_v]], codes_v[of_name_v], told_v, len(counts_n))
    return columns


def _join_values(
    name: str, rows_v: Int64[np.ndarray, " v"], codes_v: Int64[np.ndarray, " v"], texts: Sequence[str], pictures: int
) -> AttributeColumn:
    """A column of these values of these rows, ascending; a picture has a value once, and of one file if it has one."""
    if name in LIST_NAMES:
        chosen_u = np.sort(np.unique(rows_v * len(texts) + codes_v, return_index=True)[1])
    else:
        chosen_u = np.flatnonzero(np.diff(rows_v, prepend=-1))
    rows_u, codes_u = rows_v[chosen_u], codes_v[chosen_u]
    offsets = np.zeros(pictures + 1, np.int64)
    np.cumsum(np.bincount(rows_u, minlength=pictures), out=offsets[1:])
    used, small_u = np.unique(codes_u, return_inverse=True)
    values = tuple(texts[code] for code in used.tolist())
    return AttributeColumn(name, values, offsets, small_u.astype(np.int32)).sort_by_frequency()


def _encode_texts(array: Any) -> tuple[list[str], Int64[np.ndarray, " n"]]:
    """The distinct texts of an Arrow array without nulls, and which of them each entry is."""
    encoded = array.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)


def _list_parents(lists: Any) -> Int64[np.ndarray, " v"]:
    """The list that each entry of an Arrow array of lists, none of them null, is of."""
    return np.repeat(np.arange(len(lists), dtype=np.int64), lists.value_lengths().to_numpy().astype(np.int64))


def list_file_names(files: Any) -> list[tuple[str, ...]]:
    """The names of the files of pictures in Arrow, without their folders."""
    return [tuple(to_utf8(split(unpack_text(it["path"]))[1]) for it in some) for some in files.to_pylist()]


def _build_fact_columns(table: Any) -> dict[str, AttributeColumn]:
    """The `FACTS` of pictures in Arrow."""
    import pyarrow.compute as pc

    whole = {name: table[name].combine_chunks() for name in ("format", "camera", "captured", "files")}
    formats, row_to_format = _find_distinct(whole["format"])
    cameras, row_to_camera = _find_distinct(whole["camera"])
    # A packed text begins with a quotation mark.
    months, row_to_month = _find_distinct(pc.utf8_slice_codeunits(pc.utf8_ltrim(whole["captured"], '"'), 0, 7))
    dates = [split_date(month) for month in months]
    folders, row_to_folders = _find_distinct_folders(whole["files"])
    return {
        "format": AttributeColumn.of("format", [(text or "",) for text in formats]).take(row_to_format),
        "year": AttributeColumn.of("year", [(year or "",) for year, _ in dates]).take(row_to_month),
        "month": AttributeColumn.of("month", [(month or "",) for _, month in dates]).take(row_to_month),
        "camera": AttributeColumn.of("camera", [(unpack_text(text or ""),) for text in cameras]).take(row_to_camera),
        "folder": AttributeColumn.of("folder", folders).take(row_to_folders),
    }


def _find_distinct(array: Any) -> tuple[list[Any], Int64[np.ndarray, " n"]]:
    """The distinct entries of an Arrow array, including None, and which of them each row has."""
    encoded = array.dictionary_encode(null_encoding="encode")
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)


def _find_distinct_folders(files: Any) -> tuple[list[tuple[str, ...]], Int64[np.ndarray, " n"]]:
    """The distinct lists of folder names in which the files of one picture lie, and which list each picture has."""
    paths, file_to_path = _find_distinct(files.flatten().field("path"))
    parents = [split(unpack_text(path))[0] for path in paths]
    # bytes of a name that are not valid unicode become question marks
    name_of = {parent: to_utf8(PurePath(parent).name) for parent in set(parents)}
    names = [name_of[parents[path]] for path in file_to_path.tolist()]
    ends = np.cumsum([0, *files.value_lengths().to_pylist()]).tolist()
    place: dict[tuple[str, ...], int] = {}
    rows = [place.setdefault(tuple(names[low:high]), len(place)) for low, high in pairwise(ends)]
    return list(place), np.array(rows, np.int64)


def fold_case(text: str) -> str:
    """A text without capitals, and with each letter in one way: in names of files a Mac writes "ü" as "u" and dots."""
    return text.casefold() if text.isascii() else normalize("NFC", text).casefold()


def find_column(names: Iterable[str], wanted: str) -> str:
    """The column that a user means: the exact name, or the first that differs only in capitals. Raises UnknownName."""
    listed = list(names)
    if wanted in listed:
        return wanted
    for name in listed:
        if fold_case(name) == fold_case(wanted.strip()):
            return name
    raise UnknownName(f"there is no column called {wanted!r}; there are: {', '.join(listed)}")


def is_date(text: str) -> bool:
    """Whether a text is a year, a month or a day in ISO format.

    >>> is_date("2019-07"), is_date("19.99")
    (True, False)
    """
    return re.fullmatch(r"\d{4}(-\d{2}(-\d{2})?)?", text) is not None


_DAY = re.compile(r"(?:(?P<d>\d\d?)\.(?P<m>\d\d?)\.(?P<y>\d{4})|(\d{4})[/.](\d\d?)[/.](\d\d?))(?:[ T,].*)?")


def to_day(text: str) -> str:
    """A date in ISO format (a day, month or year), if a text is one that can be read in one way only; else the text.

    >>> to_day("31.12.2023"), to_day("2024/3/1 12:30"), to_day("2024-03-01T12:30"), to_day("3/4/2024")
    ('2023-12-31', '2024-03-01', '2024-03-01', '3/4/2024')
    """
    if (found := _DAY.fullmatch(text.strip())) is None:
        return text[:10] if is_date(text[:10]) else text
    year, month, day = found.group("y", "m", "d") if found["y"] else found.group(4, 5, 6)
    return f"{year}-{month:0>2}-{day:0>2}"


def is_between(value: str, low: str, high: str) -> bool:
    """Whether a value lies in a range of numbers or of dates, ends included; an empty end is open.

    >>> is_between("12,50 €", "10", "20"), is_between("2020-12-31", "2019-07", "2020"), is_between("red", "10", "")
    (True, True, False)
    """
    number = to_number(value)
    least, most = to_number(low) if low else -math.inf, to_number(high) if high else math.inf
    if number is not None and least is not None and most is not None:
        return least <= number <= most
    day, low, high = to_day(value), to_day(low), to_day(high)
    return all(map(is_date, filter(None, (day, low, high)))) and low <= day and (not high or day[: len(high)] <= high)


def is_beyond(value: str, sign: str, bound: str) -> bool:
    """Whether a number or a date lies below or above a bound: `<`, `<=`, `>` or `>=`.

    >>> is_beyond("49.90", "<", "50"), is_beyond("2008-05-03", ">", "2008-05"), is_beyond("2008-05-03", ">=", "2008-05")
    (True, False, True)
    """
    number, limit = to_number(value), to_number(bound)
    day, edge = to_day(value), to_day(bound)
    if number is not None and limit is not None:
        is_equal, is_less = number == limit, number < limit
    elif is_date(edge) and is_date(day):
        is_equal, is_less = day[: len(edge)] == edge, day[: len(edge)] < edge
    else:
        return False
    return sign.endswith("=") if is_equal else is_less == (sign[0] == "<")


def split_date(captured: str | None) -> tuple[str | None, str | None]:
    """Year and name of the month of an ISO date, as far as they are known (EXIF's colons are understood too).

    >>> split_date("2019-07-14T10:03:00"), split_date("2019")
    (('2019', 'July'), ('2019', None))
    """
    found = re.match(r"(\d{4})(?:[-:](\d{2})|$)", captured or "")
    if not found or not 1 <= int(found[2] or 1) <= 12:
        return None, None
    return found[1], None if found[2] is None else MONTHS[int(found[2]) - 1]
