"""The files of a run: samples, galleries, the pictures of both, and a record of how they were made.

<out>/chatsearch/<subtask>_<split>.jsonl    samples, as `data.chatsearch` reads them
                 gallery_<subtask>.txt      pictures to look among, of the splits test and all
      images/                               links to (or copies of) pictures that lie elsewhere
      construct/<split>.json                how they were made; which files are ours to write again
                journal.jsonl               what models wrote
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from viewfinder.construction.order import ConstructionOrder
from viewfinder.construction.pictures import Part
from viewfinder.construction.pipelines import SUBTASK_OF
from viewfinder.data.chatsearch import ChatSample, Subtask, write_chatsearch, write_gallery
from viewfinder.data.records import read_mapping, write_json
from viewfinder.data.review import review_file
from viewfinder.errors import BadInput

CHATSEARCH = "chatsearch"
RECORDS = "construct"
SCHEMA = "viewfinder/construct"

SEARCHED: tuple[Part, ...] = ("test", "all")
"""Splits with galleries: a folder has one gallery a subtask, and what is for training or validation needs none."""


def journal_file(out: Path) -> Path:
    """Where what models wrote is kept."""
    return out / RECORDS / "journal.jsonl"


def subtasks(order: ConstructionOrder) -> tuple[Subtask, ...]:
    """The subtasks of the pipelines that are asked for."""
    return tuple(dict.fromkeys(SUBTASK_OF[pipeline] for pipeline in order.pipelines))


def samples_file(order: ConstructionOrder, subtask: Subtask) -> Path:
    """The file of a subtask's samples."""
    return order.out / CHATSEARCH / f"{subtask}_{order.split}.jsonl"


def check_free(order: ConstructionOrder) -> None:
    """Whether the files may be written: none is there, or an earlier run of ours wrote it and nobody reviewed it.

    Raises:
        BadInput: else.
    """
    record = _record_file(order)
    ours = set(read_mapping(record).get("files", ())) if record.is_file() else set()
    for subtask in subtasks(order):
        file = samples_file(order, subtask)
        if file.is_file() and file.relative_to(order.out).as_posix() not in ours:
            raise BadInput(f"{file}: there already, and not by this verb; choose another --out or --split")
        if review_file(file).is_file():
            raise BadInput(f"{file}: a person has reviewed it already; choose another --out, or remove its review")
        gallery = order.out / CHATSEARCH / f"gallery_{subtask}.txt"
        if order.split in SEARCHED and not file.is_file() and gallery.is_file():
            raise BadInput(f"{gallery}: there already, of other samples; choose another --out")


def write_samples(
    order: ConstructionOrder, samples: Iterable[ChatSample], gallery: Sequence[str], files: Mapping[str, Path]
) -> tuple[str, ...]:
    """Writes samples and galleries, and brings the pictures that they name; gives the files' paths below `out`."""
    (order.out / CHATSEARCH).mkdir(parents=True, exist_ok=True)
    known = list(samples)
    written: list[Path] = []
    pictures: dict[str, None] = {}
    for subtask in subtasks(order):
        own = [sample for sample in known if sample.subtask == subtask]
        listed = _listed(order, own, gallery)
        pictures |= dict.fromkeys(name for sample in own for name in (*sample.images(), sample.target))
        if order.split in SEARCHED and listed:
            written.append(write_gallery(order.out / CHATSEARCH, subtask, listed))
            pictures |= dict.fromkeys(listed)
        if not order.in_place:
            _bring(order.out, {name: files[name] for name in pictures})
        write_chatsearch(samples_file(order, subtask), own)
        written.append(samples_file(order, subtask))
    return tuple(file.relative_to(order.out).as_posix() for file in written)


def write_record(order: ConstructionOrder, made: Mapping[str, Any]) -> None:
    """How the files were made; files of earlier runs of this split stay ours."""
    file = _record_file(order)
    before = read_mapping(file).get("files", []) if file.is_file() else []
    write_json(file, {"schema": SCHEMA, **made, "files": sorted({*before, *made["files"]})}, indent=2)


def _record_file(order: ConstructionOrder) -> Path:
    return order.out / RECORDS / f"{order.split}.json"


def _listed(order: ConstructionOrder, samples: Sequence[ChatSample], gallery: Sequence[str]) -> tuple[str, ...]:
    """The pictures of a gallery file: those of the samples, and unless told otherwise all that could be found."""
    own = [name for sample in samples for name in (sample.target, *sample.images())]
    return tuple(sorted({*own, *(() if order.only_targets else gallery)}))


def _bring(out: Path, files: Mapping[str, Path]) -> None:
    """Pictures under their names: hard links where that is possible."""
    for name, file in files.items():
        place = out / name
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(file, place)
            except OSError:  # another disk
                shutil.copy2(file, place)
