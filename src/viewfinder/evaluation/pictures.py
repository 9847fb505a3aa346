"""The pictures of a data set as a gallery in memory: what a system is evaluated on, without a library on disk.

Their vectors are those that the system needs: cached, provided by the user, from a library, or from a detector.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from viewfinder.data import Dropped, ReadReport, match_keys, read_catalogue
from viewfinder.encoders import Encoder
from viewfinder.encoders.features import Features, PictureFile, features, read_vectors
from viewfinder.encoders.features.compute import PictureVectors, Read, find_pictures, finish_rows, write_rows
from viewfinder.encoders.features.store import claim_folder, read_manifest
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.evaluation.plan import Notify, Plan, Task, pick_evenly, silent
from viewfinder.library import Library
from viewfinder.query import RegionSpace
from viewfinder.retrievers import Retriever
from viewfinder.retrievers.shared.captioned_pictures import DETECTOR_VERSION, read_detector_features
from viewfinder.search.gallery import Gallery
from viewfinder.search.raw_vectors import RawVectors
from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.store.snapshot import Snapshot
from viewfinder.training.progress import report_tenths


@dataclass(frozen=True, eq=False)
class Pictures:
    """Pictures by key, in key order, with their vectors in the encoder's space and what a catalogue says of them.

    `files` says where a picture is, for reports; a picture without a file is only a vector. `raw` is where raw
    vectors come from, for systems that make their own spaces from them.
    """

    keys: tuple[str, ...]
    vectors_nd: Float32[np.ndarray, "n d"]
    encoder: Encoder
    files: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    raw: RawVectors | None = None

    def __post_init__(self) -> None:
        if list(self.keys) != sorted(set(self.keys)):
            raise ValueError("keys must be sorted, and no two alike: rows are found by bisection")
        if len(self.keys) != len(self.vectors_nd):
            raise BadInput(f"{len(self.vectors_nd)} vectors for {len(self.keys)} pictures: give one vector a picture")

    def gallery(self, keys: Sequence[str] | None = None, captions: Mapping[str, str] | None = None) -> Gallery:
        """All pictures, or those with these keys, as a gallery to search; `captions` by key, for some or all."""
        chosen = None if keys is None else frozenset(keys)
        rows = [row for row, key in enumerate(self.keys) if chosen is None or key in chosen]
        return Gallery(self._snapshot(rows, captions or {}), self.encoder, self.raw)

    def named(self, names: Sequence[str]) -> dict[str, str]:
        """Keys by the names that a data set's files use: whole keys, their endings, or file names without suffix."""
        known = frozenset(self.keys)
        found = {name: name for name in names if name in known}
        others = [name for name in names if name not in known]
        for path, positions in match_keys(others, map(Path, self.keys)).files.items():
            found |= {others[position]: path.as_posix() for position in positions}
        return found

    def _snapshot(self, rows: Sequence[int], captions: Mapping[str, str]) -> Snapshot:
        from viewfinder.store.rows import build_columns, pictures_to_arrow

        keys = [self.keys[row] for row in rows]
        pictures = [
            PictureRow(
                key, (FileRecord(self.files.get(key, key), 0, 0),), 0, 0, "", 0,
                captions=(captions[key],) if captions.get(key) else (), attributes=self.attributes.get(key, {}),
            )
            for key in keys
        ]  # fmt: skip
        matrix_nd = self.vectors_nd if len(rows) == len(self.keys) else self.vectors_nd[np.asarray(rows, np.int64)]
        said = [captions.get(key, "") for key in keys] if captions else []
        mark = hashlib.blake2b("\n".join([self.encoder.version, *keys, *said]).encode(), digest_size=16).hexdigest()
        table = pictures_to_arrow(pictures)
        return Snapshot(
            np.ascontiguousarray(matrix_nd, dtype=np.float32), table, build_columns(table),
            space=self.encoder.version, generation=mark, folder=None,
        )  # fmt: skip


def match_pictures(task: Task, pictures: Pictures, limit: int | None = None) -> Task:
    """The task with the names its files use for pictures replaced by keys; what has no picture is reported.

    A dialogue that lacks only its first picture is kept: it begins with another. At most `limit` of the remaining
    dialogues are taken, evenly spaced.
    """
    names = pictures.named(sorted(task.pictures()))
    held = tuple(one if one.first in names else replace(one, first="") for one in task.dialogues)
    firsts = sum(before.first != after.first for before, after in zip(task.dialogues, held, strict=True))
    known = replace(task, dialogues=held).renamed(names)
    why = [Dropped(f"first pictures of {firsts:,} dialogues", "not here; others are drawn")] if firsts else []
    if lost := len(task.dialogues) - len(known.dialogues):
        missing = sorted(task.pictures() - set(names))
        such = f"such as {missing[0] if missing else '?'}"
        why.append(Dropped(f"{lost:,} dialogues", f"they name pictures that are not here, {such}"))
    report = ReadReport(len(task.dialogues), len(known.dialogues), tuple(why))
    reports = (*known.reports, report) if why else known.reports
    return replace(known, dialogues=tuple(pick_evenly(known.dialogues, limit)), reports=reports)


def load_pictures(
    plan: Plan, encoder: Encoder, retriever: Retriever[Any], split: str | None = None, notify: Notify = silent
) -> Pictures:
    """The pictures of a data set: their vectors, and what a catalogue beside them says.

    Regions are computed when the system first needs them. `split` is that of Drill-down's protocol, for a system that
    was trained on a detector's regions.

    Raises:
        BadInput: no pictures there, or vectors of another width than the encoder's.
        EncoderMismatch: the system was trained on other vectors than the encoder gives.
    """
    space = retriever.reads.space
    needs = retriever.reads.regions or retriever.reads.named_regions
    may_need = retriever.reads.regions_in is not None and retriever.reads.regions_version in (None, encoder.version)
    regions = needs or may_need
    if plan.vectors is not None:
        if needs:
            raise BadInput(f"--vectors {plan.vectors}: one vector a picture, but {plan.system_name} looks at regions")
        return _read_given_vectors(plan.vectors, encoder)
    if space is not None and space.raw_version == DETECTOR_VERSION:
        return _read_detected(plan, encoder, space, split, notify)
    if space is not None and space.raw_version != encoder.raw_version:
        raise EncoderMismatch(
            f"{plan.system_name} was trained on vectors of {space.raw_version}, not {encoder.raw_version} "
            f"({encoder.name}): name its encoder with --encoder, or other weights with --checkpoint"
        )
    notify("vectors of its pictures, with regions" if regions else "vectors of its pictures")
    try:
        cached = features(plan.data, encoder, regions=regions, out=plan.features, progress=report_tenths(notify))
    except BadInput as error:
        advice = "" if regions else "; or give the pictures' vectors with --vectors FILE"
        raise BadInput(f"{error}{advice}") from error
    files = {key: str(plan.data / key) for key in cached.keys}
    attributes = {} if plan.catalogue is None else _read_attributes(plan.catalogue, cached.keys)
    vectors_nd = encoder.project(np.asarray(cached.raw_nd)).astype(np.float32)
    return Pictures(cached.keys, vectors_nd, encoder, files, attributes, cached)


def load_raw_vectors(plan: Plan, encoder: Encoder) -> Callable[[Sequence[str]], Float32[np.ndarray, "n g"]]:
    """The source of raw vectors of the plan's pictures by their keys; nothing is read until it is asked."""

    @cache
    def known() -> Features:
        if plan.vectors is None:
            return features(plan.data, encoder, out=plan.features)
        raw = _read_given_vectors(plan.vectors, encoder).raw
        if not isinstance(raw, Features):
            raise BadInput(
                f"--vectors {plan.vectors}: {plan.user_name} needs what {encoder.raw_version} sees; leave it out"
            )
        return raw

    return lambda keys: np.asarray(known().raw_nd[known().rows(keys)], np.float32)


def take_from_library(library: Library, dataset: Path, encoder: Encoder, place: Path, notify: Notify = silent) -> bool:
    """Copies a library's vectors of a data set's pictures into a folder of features; False: it has none.

    `features` then finds them in `place`, and computes what the library lacks (regions, unless it has them for all).
    They get a folder of their own: a library keeps raw vectors in half precision, a data set in single.
    """
    if library.encoder.raw_version != encoder.raw_version:
        found_there = library.encoder.raw_version
        notify(f"{library.folder}: its vectors are {found_there}, not {encoder.raw_version}; they are computed")
        return False
    found, _ = find_pictures(dataset)
    rows = library.store.rows()
    id_of = {(os.path.realpath(file.path), file.size, file.mtime_ns): row.id for row in rows for file in row.files}
    files = ((os.path.realpath(dataset / source.key), source.size, source.mtime_ns) for source in found)
    ids = {source: id_of[file] for source, file in zip(found, files, strict=True) if file in id_of}
    if lacking := len(found) - len(ids):
        notify(f"{library.folder}: {lacking:,} of {len(found):,} pictures are not there as they are now; computed")
    if not ids:
        return False
    regions = library.store.pictures_with_regions().issuperset(ids.values())
    with claim_folder(place):
        before = read_manifest(place, encoder.raw_version)
        # Vectors without regions are replaced by those with them, unless the data set's own may be there.
        better = regions and place.is_relative_to(library.folder)
        if before is not None and ("regions" in before.arrays or not better):
            return True

        def read(rest: Sequence[PictureFile]) -> Iterator[list[Read]]:
            waiting = iter(rest)
            raw = library.gallery().raw
            assert raw is not None, "a library has its raw vectors"
            for raw_bg, regions_bre in raw.batches([ids[source] for source in rest], regions=regions):
                vectors = map(PictureVectors, raw_bg, repeat(None) if regions_bre is None else regions_bre)
                yield [(next(waiting), one) for one in vectors]

        plan = json.dumps([str(library.folder), encoder.raw_version, regions])
        outcomes = write_rows(place, plan, list(ids), read, report_tenths(notify))
        finish_rows(place, encoder.raw_version, encoder.name, outcomes)
    return True


def _read_given_vectors(file: Path, encoder: Encoder) -> Pictures:
    """Vectors that the user provides; they are also the raw ones if the encoder does not distinguish them."""
    names, vectors_nd = read_vectors(file)
    width = encoder.words(["a picture"]).shape[1]
    if vectors_nd.shape[1] != width:
        raise BadInput(
            f"{file}: vectors of {vectors_nd.shape[1]} numbers, but words have {width} "
            f"with {encoder.name}; name the encoder that made them with --encoder"
        )
    order = sorted(range(len(names)), key=names.__getitem__)
    keys, sorted_nd = tuple(names[at] for at in order), np.asarray(vectors_nd[order], np.float32)
    raw = Features(keys, sorted_nd, encoder.raw_version) if encoder.raw_version == encoder.version else None
    return Pictures(keys, sorted_nd, encoder, raw=raw)


def _read_detected(plan: Plan, encoder: Encoder, space: RegionSpace, split: str | None, notify: Notify) -> Pictures:
    """The pictures that a detector has processed; in the encoder's space of words they are zeros."""
    if split is None:
        raise BadInput(
            f"{plan.data}: {plan.system_name} reads the regions of Visual Genome's detector: there are none here"
        )
    notify(f"regions of its {split} pictures, as the detector found them")
    whole = not space.reads_regions or (space.has_whole and space.regions > 1)
    found = read_detector_features(plan.data, split, whole=whole, out=plan.features, progress=report_tenths(notify))
    files = {key: str(file) for key in found.keys if (file := plan.data / key).is_file()}
    blank_nd = np.zeros((len(found), encoder.words(["a picture"]).shape[1]), np.float32)
    return Pictures(found.keys, blank_nd, encoder, files, raw=found)


def _read_attributes(catalogue: Path, keys: Sequence[str]) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """The attributes of each picture in a catalogue; several rows give several values."""
    said: dict[str, dict[str, tuple[str, ...]]] = {}
    for path, rows in read_catalogue(catalogue).matches(map(Path, keys)).rows.items():
        values = said.setdefault(path.as_posix(), {})
        for row in rows:
            for column, value in row.values.items():
                values[column] = (*values.get(column, ()), value)
    return said
