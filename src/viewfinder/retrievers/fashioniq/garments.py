"""Attribute words of pictures from what a table says of them, for data sets without lists of their own.

Fashion IQ assigns a label if its word occurs in a shop's text on the product (Wu et al., CVPR 2021, Sec. 3.1). Here
labels are the values of columns and the frequent words of titles.

Garments with their raw vectors and captions: what the networks of Fashion IQ are trained on.

    garments = read_garments(plan, "train", kinds=())
    wanted_pg = garments.raw_ng[garments.pairs.target_p]

It reads folders in the format of Fashion IQ, and captioned pictures (captions.csv beside images/).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
from jaxtyping import Float32, Int

from viewfinder.data.captions import has_captioned_pictures, read_captioned
from viewfinder.data.catalogue import Catalogue, read_catalogue
from viewfinder.data.fashion_iq import fashion_kinds, read_fashion_iq
from viewfinder.data.files import read_keys
from viewfinder.data.matching import match_keys
from viewfinder.data.splits import SPLITS, split_reader
from viewfinder.encoders.features import Features
from viewfinder.errors import BadInput, UnknownName
from viewfinder.retrievers.shared.numpy_network import split_words
from viewfinder.retrievers.shared.train_plan import TrainPlan

PictureLabels = Mapping[int, tuple[str, ...]]
"""Labels or captions of each picture, by its row."""

TABLES = ("products.csv", "catalogue.csv")

VALUES = range(2, 65)
"""A column with this many values distinguishes kinds of things; one with more names single things."""

MIN_TITLES = 20
"""In how many rows' titles a word must occur to be a label."""

# Words of titles that say nothing about a picture.
_SMALL = frozenset(("a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"))

_TITLE = re.compile(r"name|title", re.IGNORECASE)


def read_labels(vectors: Features) -> PictureLabels:
    """The labels of every picture of a data set by its row; none if the folder has no table.

    Raises:
        BadInput: a damaged table (the line is named).
    """
    file = next((vectors.dataset / name for name in TABLES if (vectors.dataset / name).is_file()), None)
    if file is None:
        return {}
    catalogue = read_catalogue(file)
    paths = {vectors.dataset / key: row for row, key in enumerate(vectors.keys)}
    labels = column_labels(catalogue)
    about = match_keys([row.key for row in catalogue.rows], paths).files
    return {
        paths[path]: tuple(dict.fromkeys(word for place in places for word in labels[place]))
        for path, places in about.items()
    }


def column_labels(catalogue: Catalogue) -> list[tuple[str, ...]]:
    """The labels of every row, lower-case: values of the columns that distinguish kinds, then words of titles."""
    titles = [name for name in catalogue.attributes if _TITLE.search(name)]
    columns = []
    for name in catalogue.attributes:
        values = {row.values[name] for row in catalogue.rows if name in row.values}
        if name not in titles and len(values) in VALUES and any(map(str.isalpha, "".join(values))):
            columns.append(name)
    said = [" ".join(row.values.get(title, "") for title in titles) for row in catalogue.rows]
    telling = (
        (word for word in split_words(text) if word not in _SMALL and len(word) > 1 and not word.isdigit())
        for text in said
    )
    words = [dict.fromkeys(of_row) for of_row in telling]
    counts = Counter(word for of_row in words for word in of_row)
    found = []
    for row, of_row in zip(catalogue.rows, words, strict=True):
        own = (row.values[name].lower() for name in columns if name in row.values)
        found.append(tuple(dict.fromkeys([*own, *(word for word in of_row if counts[word] >= MIN_TITLES)])))
    return found


OTHERS = "others"
"""The kind of pictures that a folder in the format of Fashion IQ describes, but lists in none of its kinds."""


Name = TypeVar("Name", str, Path)


@dataclass(frozen=True, eq=False)
class RecordedPairs:
    """Recorded pairs by rows of `Garments`: what people said when they were shown a candidate and wanted a target."""

    target_p: Int[np.ndarray, " p"]
    candidate_p: Int[np.ndarray, " p"]
    captions: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.captions)


@dataclass(frozen=True, eq=False)
class Garments:
    """The pictures of one split, a row each; a picture of two kinds has two rows.

    Attributes:
        descriptions: captions of each picture on its own, lower-case; there may be none, as with labels and pairs.
    """

    keys: tuple[str, ...]  # the pictures' names, as `features` has them
    raw_ng: Float32[np.ndarray, "n g"]
    raw_version: str
    kinds: tuple[str, ...]  # names, as in the files; picture i is of `kinds[kind_n[i]]`
    kind_n: Int[np.ndarray, " n"]
    descriptions: tuple[tuple[str, ...], ...]
    labels: tuple[tuple[str, ...], ...]  # attribute words of each picture, lower-case
    pairs: RecordedPairs

    def __len__(self) -> int:
        return len(self.keys)

    def gallery_of(self, kind: int) -> Int[np.ndarray, " m"]:
        """The rows of a kind: the gallery for its pictures."""
        return np.flatnonzero(self.kind_n == kind)


def read_garments(plan: TrainPlan, split: str, kinds: tuple[str, ...]) -> Garments:
    """The pictures of a split in all data sets of a plan; what is left out is reported.

    A folder in the format of Fashion IQ has the kinds for which there is captions/cap.<kind>.<split>.json, with their
    pairs; and descriptions, if there is a captions.csv. Any other folder is one kind, named after it, without pairs;
    its pictures are split by a hash of their names (`data.splits`).

    `kinds`: which of the kinds; empty: all but "others", the pictures of captions.csv that are of no kind.

    Raises:
        UnknownName: there is no such kind or split.
        BadInput: data is missing or damaged, or no picture has vectors.
    """
    if split not in SPLITS:
        raise UnknownName(f"no split is called {split!r}; there are: {', '.join(SPLITS)}")
    there = {folder: _list_kinds(folder, split) for folder in plan.data}
    known = tuple(dict.fromkeys(kind for found in there.values() for kind in found))
    for kind in kinds:
        if kind not in known:
            raise UnknownName(f"no kind of the {split!r} data is called {kind!r}; there are: {', '.join(known)}")
    wanted = kinds or tuple(kind for kind in known if kind != OTHERS)
    parts: list[_Part] = []
    for folder in plan.data:
        if not (chosen := [kind for kind in wanted if kind in there[folder]]):
            continue
        source = _Source(folder, split, plan.vectors(folder), plan.notify)
        for kind in chosen:
            part = source.part(kind)
            plan.notify(f"{folder}, {kind}, {split}: {len(part.rows):,} pictures, {len(part.pairs):,} pairs")
            parts += [part] if part.rows else []
            if split == "train":
                plan.note_training(folder, [part.vectors.keys[row] for row in part.rows])
    if not parts:
        raise BadInput(
            f"{', '.join(map(str, plan.data))}: no pictures of {split!r} have vectors; are the images there?"
        )
    return _join_parts(parts)


def _list_kinds(folder: Path, split: str) -> list[str]:
    """The kinds of a folder that have data in a split."""
    described = has_captioned_pictures(folder)
    if _is_fashion_iq(folder):
        kinds = [kind for kind, splits in fashion_kinds(folder).items() if split in splits]
        return [*kinds, OTHERS] if described else kinds
    if described:
        return [folder.resolve().name]
    raise BadInput(
        f"{folder}: nothing to learn from here; needed are captions/cap.<kind>.<split>.json and image_splits/ as "
        "Fashion IQ's, or captions.csv beside images/"
    )


def _is_fashion_iq(folder: Path) -> bool:
    try:
        return bool(fashion_kinds(folder))
    except BadInput:
        return False


Pairs = tuple[tuple[int, int, tuple[str, ...]], ...]
"""Targets and candidates with what was said."""


@dataclass(frozen=True, eq=False)
class _Part:
    """The pictures of one kind in one folder, by rows of its vectors; pairs by position among these pictures."""

    kind: str
    vectors: Features
    rows: tuple[int, ...]
    descriptions: tuple[tuple[str, ...], ...]
    labels: tuple[tuple[str, ...], ...]
    pairs: Pairs


def _join_parts(parts: Sequence[_Part]) -> Garments:
    kinds = tuple(dict.fromkeys(part.kind for part in parts))
    firsts = np.cumsum([0, *(len(part.rows) for part in parts)]).tolist()
    pairs = [
        (first + target, first + candidate, said)
        for part, first in zip(parts, firsts, strict=False)
        for target, candidate, said in part.pairs
    ]
    return Garments(
        keys=tuple(part.vectors.keys[row] for part in parts for row in part.rows),
        raw_ng=np.concatenate([part.vectors.raw_nd[np.array(part.rows, np.intp)] for part in parts]),
        raw_version=parts[0].vectors.raw_version,
        kinds=kinds,
        kind_n=np.repeat([kinds.index(part.kind) for part in parts], [len(part.rows) for part in parts]),
        descriptions=tuple(said for part in parts for said in part.descriptions),
        labels=tuple(words for part in parts for words in part.labels),
        pairs=RecordedPairs(
            np.array([target for target, _, _ in pairs], np.intp),
            np.array([candidate for _, candidate, _ in pairs], np.intp),
            tuple(said for _, _, said in pairs),
        ),
    )


@dataclass(frozen=True, eq=False)
class _Source:
    """One folder being read; pictures are rows of its vectors."""

    folder: Path
    split: str
    vectors: Features
    notify: Callable[[str], None]

    def part(self, kind: str) -> _Part:
        """The pictures of a kind of the folder, with what is said of them."""
        said, of_split = self._captioned
        pairs: Pairs = ()
        labels: PictureLabels = {}
        if not _is_fashion_iq(self.folder):
            rows, labels = of_split, self._table
        elif kind == OTHERS:
            # Described, but in no gallery; without labels, as labels of the kinds may differ from a table's.
            files = sorted((self.folder / "image_splits").glob("split.*.json"))
            taken = {row for file in files for row in self._find_rows(read_keys(file)[0]).values()}
            rows = [row for row in of_split if row not in taken]
        else:
            rows, labels, pairs = self._read_kind(kind)
        descriptions = tuple(said.get(row, ()) for row in rows)
        return _Part(kind, self.vectors, tuple(rows), descriptions, tuple(labels.get(row, ()) for row in rows), pairs)

    def _read_kind(self, kind: str) -> tuple[list[int], PictureLabels, Pairs]:
        """A kind of a folder in the format of Fashion IQ: its gallery, its labels, its pairs by position.

        Labels are all types of words except the first, the kind of garment; without such a file, those of the table.
        """
        found, report = read_fashion_iq(self.folder, kind, self.split)
        if report.dropped:
            self.notify(f"{self.folder}, {kind}, {self.split}: {report}")
        rows = self._find_rows(found.gallery)
        if lost := len(found.gallery) - len(rows):
            self.notify(f"{self.folder}, {kind}, {self.split}: {lost:,} pictures have no vectors and are left out")
        places = {key: place for place, key in enumerate(rows)}
        pairs = tuple(
            (places[pair.target], places[pair.candidate], pair.captions)
            for pair in found.pairs
            if pair.captions and pair.target in places and pair.candidate in places
        )
        words = found.attributes
        labels = {
            row: tuple(dict.fromkeys(word.lower() for of_type in words.get(key, ())[1:] for word in of_type))
            for key, row in rows.items()
        }
        return list(rows.values()), labels if words else self._table, pairs

    def _find_rows(self, names: Iterable[Name]) -> dict[Name, int]:
        """The rows of those pictures that have vectors."""
        return {name: row for name in names if (row := self.vectors.find_row(name)) is not None}

    @cached_property
    def _table(self) -> PictureLabels:
        return read_labels(self.vectors)

    @cached_property
    def _captioned(self) -> tuple[PictureLabels, list[int]]:
        """The captions of each picture, by its row; and the rows of the pictures of the split."""
        if not has_captioned_pictures(self.folder):
            return {}, []
        pictures, report = read_captioned(self.folder)
        if report.dropped:
            self.notify(f"{self.folder}, captions: {report}")
        rows = self._find_rows(picture.path for picture in pictures)
        said = {
            rows[picture.path]: tuple(dict.fromkeys(caption.lower() for caption in picture.captions))
            for picture in pictures
            if picture.path in rows
        }
        split_of = split_reader(self.folder)
        of_split = [picture.path for picture in pictures if split_of(picture.path) == self.split]
        return said, [rows[path] for path in of_split if path in rows]
