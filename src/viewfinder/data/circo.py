"""CIRCO (Baldrati et al., ICCV 2023): a picture, a sentence about a change, and every picture that is right.

annotations/<split>.json                        queries of val and test; test keeps its right pictures secret
COCO2017_unlabeled/unlabeled2017/<12 digits>.jpg           the pictures
                   annotations/image_info_unlabeled2017.json   the gallery of 123,403

The folder of the pictures may also lie beside annotations/, and so may the list of the gallery. A query is

    {"reference_img_id": 271520, "target_img_id": 355099, "relative_caption": "shows two people and ...",
     "shared_concept": "a girl with an umbrella", "gt_img_ids": [355099, 528417], "id": 0,
     "semantic_aspects": ["cardinality", "addition"]}

The target is the picture that the sentence was written about, and the first of the right ones. What reference and
target share was noted for annotators, and the published systems are not told it. Semantic aspects are in later
versions of the files alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.data.files import Dropped, ReadReport, need_field, need_folder, need_texts, read_json
from viewfinder.errors import BadInput, UnknownName

SPLITS = ("val", "test")
HOMES = ("COCO2017_unlabeled", ".")
PICTURES = "unlabeled2017"
GALLERY = "annotations/image_info_unlabeled2017.json"


@dataclass(frozen=True)
class CircoQuery:
    """One query; pictures have their COCO numbers.

    Attributes:
        id: its number in the split.
        reference: the picture that the user starts from.
        caption: what should be different.
        target: the picture the sentence was written about; None if a test split keeps it secret.
        truths: every right picture, the target first; none if they are secret.
        shared_concept: what reference and target have in common.
        aspects: what the sentence asks for: cardinality, addition, negation ...
    """

    id: int
    reference: int
    caption: str
    target: int | None
    truths: tuple[int, ...]
    shared_concept: str = ""
    aspects: tuple[str, ...] = ()


@dataclass(frozen=True)
class Circo:
    """A split: its queries, the numbers of its gallery, and the files of those pictures that are on disk.

    `is_whole`: the gallery is the published one. Without its list it is the pictures on disk and those that are named.
    """

    queries: tuple[CircoQuery, ...]
    gallery: tuple[int, ...]
    paths: Mapping[int, Path]
    is_whole: bool


def circo_name(picture: int) -> str:
    """The file of a picture.

    >>> circo_name(271520)
    '000000271520.jpg'
    """
    return f"{picture:012d}.jpg"


def list_circo_splits(folder: Path) -> tuple[str, ...]:
    """The splits whose queries a folder has; none if it is not CIRCO's."""
    return tuple(split for split in SPLITS if _begins_with(folder, split, "reference_img_id"))


def has_truths(folder: Path, split: str) -> bool:
    """Whether the right pictures of a split are in its file."""
    return _begins_with(folder, split, "gt_img_ids")


def _begins_with(folder: Path, split: str, field: str) -> bool:
    """Whether the first queries have this field: annotations/val.json may be anybody's."""
    try:
        with (folder / "annotations" / f"{split}.json").open("rb") as stream:
            return f'"{field}"'.encode() in stream.read(1 << 16)
    except OSError:
        return False


def describe_circo(folder: Path) -> str:
    """What a folder has of CIRCO, for messages; "" if it has nothing of it."""
    splits = list_circo_splits(folder)
    if not splits:
        return ""
    here = sum(1 for _ in _find_pictures(folder))
    known = [split for split in splits if has_truths(folder, split)]
    secret = "".join(f"; {split} keeps its right pictures secret" for split in splits if split not in known)
    advice = ", ".join(f"--split {split}" for split in known) or "no split can be evaluated here"
    return f"found CIRCO's {' and '.join(splits)} and {here:,} pictures: {advice}{secret}"


def _find_pictures(folder: Path) -> Iterator[Path]:
    home = next((place for home in HOMES if (place := folder / home / PICTURES).is_dir()), None)
    return iter(()) if home is None else (one for one in home.glob("*.jpg") if one.stem.isdecimal())


def read_circo(folder: Path, split: str) -> tuple[Circo, ReadReport]:
    """One split (val or test). The report counts queries, and says which pictures of the gallery are missing."""
    if split not in (known := list_circo_splits(need_folder(folder))):
        there = ", ".join(known) or "none"
        raise UnknownName(f"{folder}: no annotations/{split}.json of CIRCO here; there are: {there}")
    file = folder / "annotations" / f"{split}.json"
    queries = tuple(_parse_query(f"{file}: [{at}]", record) for at, record in enumerate(read_json(file, list)))
    paths = {int(one.stem): one for one in _find_pictures(folder)}
    named = {number for one in queries for number in (one.reference, *one.truths)}
    listed = next((place for root in HOMES if (place := folder / root / GALLERY).is_file()), None)
    notes = []
    if listed is None:
        gallery = tuple(sorted(named | paths.keys()))
        notes.append(Dropped(GALLERY, "no such file, so the gallery is the pictures that are here or named"))
    else:
        images = enumerate(need_field(str(listed), read_json(listed, dict), "images", list))
        gallery = tuple(need_field(f"{listed}: images[{at}]", one, "id", int) for at, one in images)
        if strangers := sorted(named.difference(gallery)):
            raise BadInput(f"{file}: {strangers[0]} is not among the {len(gallery):,} pictures of {listed}")
    if missing := [picture for picture in gallery if picture not in paths]:
        what = f"{len(missing):,} of {len(gallery):,} pictures of the gallery"
        notes.append(Dropped(what, f"no such file, as {PICTURES}/{circo_name(missing[0])}"))
    read = Circo(queries, gallery, dict(sorted(paths.items())), is_whole=listed is not None)
    return read, ReadReport(len(queries), len(queries), tuple(notes))


def _parse_query(where: str, record: Any) -> CircoQuery:
    truths = record.get("gt_img_ids", []) if isinstance(record, dict) else []
    if not isinstance(truths, list) or not all(isinstance(one, int) and not isinstance(one, bool) for one in truths):
        raise BadInput(f"{where}, field 'gt_img_ids': a list of numbers is needed; fetch the file again")
    target = need_field(where, record, "target_img_id", int) if truths or "target_img_id" in record else None
    if target is not None and target not in truths:
        raise BadInput(f"{where}: the target {target} is not among its gt_img_ids; fetch the file again")
    others = (one for one in truths if one != target)
    return CircoQuery(
        id=need_field(where, record, "id", int),
        reference=need_field(where, record, "reference_img_id", int),
        caption=need_field(where, record, "relative_caption", str),
        target=target,
        truths=() if target is None else tuple(dict.fromkeys((target, *others))),
        shared_concept=str(record.get("shared_concept", "")),
        aspects=need_texts(f"{where}, field 'semantic_aspects'", record.get("semantic_aspects", [])),
    )
