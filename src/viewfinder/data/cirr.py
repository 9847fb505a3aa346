"""CIRR (Liu et al., ICCV 2021): a picture, a sentence about what should change, and the picture that is wanted.

captions/cap.rc2.<split>.json          queries; test1 has no targets
image_splits/split.rc2.<split>.json    the gallery: name -> path of the picture
img_raw/                               the pictures, if available

Every query belongs to a set of six similar pictures, its reference among them; R_subset ranks within that set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.data.files import (
    Dropped,
    ReadReport,
    need_field,
    need_folder,
    need_split_file,
    need_texts,
    read_json,
    write_json,
)
from viewfinder.errors import BadInput

VERSION = "rc2"


@dataclass(frozen=True)
class CirrPair:
    """One query and what it is about; pictures have the names of the gallery.

    Attributes:
        pairid: its number, unique across all splits; CIRR's evaluation server requires it.
        reference: the picture that the user starts from.
        caption: what should be different.
        target: the picture that is wanted; None if a test split keeps it secret.
        members: the set of six similar pictures, reference and target among them.
        soft_targets: annotators' grades of pictures of the set as targets (1, 0.5 or -1), as the file has them.
    """

    pairid: int
    reference: str
    caption: str
    target: str | None
    members: tuple[str, ...]
    soft_targets: Mapping[str, float]

    @property
    def candidates(self) -> tuple[str, ...]:
        """The members without the reference, which R_subset ranks."""
        return tuple(member for member in self.members if member != self.reference)


@dataclass(frozen=True)
class Cirr:
    """A split: its pairs and its gallery, in the order of their files.

    `paths` has a file for every picture that is on disk.
    """

    pairs: tuple[CirrPair, ...]
    gallery: tuple[str, ...]
    paths: Mapping[str, Path]


def read_cirr(folder: Path, split: str) -> tuple[Cirr, ReadReport]:
    """One split (train, val or test1) of CIRR. The report counts pairs.

    Pictures are looked for in `img_raw/`, else in the folder itself. Those without a file stay in the gallery;
    the report names them, unless there are no pictures at all.
    """
    file = need_split_file(need_folder(folder) / "captions" / f"cap.{VERSION}.{split}.json", "cap.*.json")
    gallery_file = need_split_file(folder / "image_splits" / f"split.{VERSION}.{split}.json", "split.*.json")
    listed = read_json(gallery_file, dict)
    files = {name: need_field(str(gallery_file), listed, name, str) for name in listed}
    secret = split.startswith("test")
    pairs = tuple(_parse_pair(file, i, record, files, secret=secret) for i, record in enumerate(read_json(file, list)))
    root = folder / "img_raw" if (folder / "img_raw").is_dir() else folder
    paths = {name: root / path for name, path in files.items() if (root / path).is_file()}
    missing = [name for name in files if name not in paths] if paths else []
    dropped = tuple(Dropped(name, f"no file {files[name]}; the gallery keeps the name") for name in missing)
    return Cirr(pairs, tuple(files), paths), ReadReport(len(pairs), len(pairs), dropped)


def write_cirr(folder: Path, split: str, pairs: Iterable[CirrPair], paths: Mapping[str, str]) -> None:
    """Writes a split as `read_cirr` reads it; `paths` has the file of every gallery picture, below the folder.

    Pairs with the same members belong to one set. A ValueError names a picture that is not where it should be.
    """
    sets: dict[tuple[str, ...], int] = {}
    records = [_record(pair, sets, paths) for pair in pairs]
    write_json(folder / f"captions/cap.{VERSION}.{split}.json", records)
    write_json(folder / f"image_splits/split.{VERSION}.{split}.json", dict(paths))


def _record(pair: CirrPair, sets: dict[tuple[str, ...], int], paths: Mapping[str, str]) -> dict[str, Any]:
    named = (pair.reference, *(() if pair.target is None else (pair.target,)))
    if lost := [name for name in named if name not in pair.members]:
        raise ValueError(f"pair {pair.pairid}: {lost[0]} is not a member of its own set")
    if lost := [name for name in pair.members if name not in paths]:
        raise ValueError(f"pair {pair.pairid}: {lost[0]} is not in the gallery")
    image_set: dict[str, Any] = {"id": sets.setdefault(pair.members, len(sets)), "members": list(pair.members)}
    image_set["reference_rank"] = pair.members.index(pair.reference)
    record: dict[str, Any] = {"pairid": pair.pairid, "reference": pair.reference}
    if pair.target is not None:
        image_set["target_rank"] = pair.members.index(pair.target)
        record |= {"target_hard": pair.target, "target_soft": dict(pair.soft_targets)}
    return {**record, "caption": pair.caption, "img_set": image_set}


def _parse_pair(file: Path, position: int, record: Any, gallery: Mapping[str, str], *, secret: bool) -> CirrPair:
    pairid = need_field(f"{file}: [{position}]", record, "pairid", int)
    where = f"{file}: [{position}], pairid {pairid}"
    image_set = need_field(where, record, "img_set", dict)
    soft = need_field(where, record, "target_soft", dict) if "target_soft" in record else {}
    if not all(isinstance(value, int | float) for value in soft.values()):
        raise BadInput(f"{where}: field 'target_soft' needs a number for every picture; fetch or write the file again")
    pair = CirrPair(
        pairid=pairid,
        reference=need_field(where, record, "reference", str),
        caption=need_field(where, record, "caption", str),
        target=None if secret and "target_hard" not in record else need_field(where, record, "target_hard", str),
        members=need_texts(f"{where}, field 'members'", image_set.get("members")),
        soft_targets={name: float(value) for name, value in soft.items()},
    )
    named = [("reference", pair.reference), ("target_hard", pair.target), *(("members", name) for name in pair.members)]
    for field, name in named:
        if name is not None and name not in gallery:
            what = f"{file}: pairid {pair.pairid}, field {field!r}: {name} is not among the {len(gallery)} pictures"
            raise BadInput(f"{what} of the gallery; take the split that belongs to it")
    return pair
