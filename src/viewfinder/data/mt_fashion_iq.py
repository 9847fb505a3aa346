"""MT Fashion IQ (Yuan and Lam, "Conversational Fashion Image Retrieval via Multiturn Natural Language Feedback",
SIGIR 2021): sessions of several turns over the products of Fashion IQ.

data/<kind>.<split>.json                  sessions; the kind "all" holds those of every other
image_splits/split.<kind>.<split>.json    the gallery
attr/asin2attr.<kind>.<split>.new.json    attribute words by type
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viewfinder.data.fashion_iq import (
    Attributes,
    need_in_gallery,
    non_empty_captions,
    read_attributes,
    report_empty_captions,
)
from viewfinder.data.files import need_folder
from viewfinder.data.records import (
    keys_with_pictures,
    kinds_and_splits,
    need_field,
    need_split_file,
    need_texts,
    read_keys,
    read_list,
    report_missing,
    write_json,
)
from viewfinder.data.report import Dropped, ReadReport
from viewfinder.errors import BadInput

_SESSION_FILE = re.compile(r"(?!shuffled\.)(.+)\.([^.]+)\.json")


@dataclass(frozen=True)
class Reference:
    """A product that is shown, and what is said of it: captions that lead to the next one."""

    key: str
    captions: tuple[str, ...]
    url: str = ""


@dataclass(frozen=True)
class Session:
    """Products in the order of the turns, and the one at which the last captions point."""

    references: tuple[Reference, ...]
    target: str
    url: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """The products of the session, the target last."""
        return (*(shown.key for shown in self.references), self.target)


@dataclass(frozen=True)
class MultiTurnFashionIQ:
    """One kind and split: its sessions, the gallery, and attributes where the folder has them."""

    kind: str
    split: str
    sessions: tuple[Session, ...]
    gallery: tuple[str, ...]
    attributes: Attributes = field(default_factory=dict)


def session_kinds(folder: Path) -> dict[str, tuple[str, ...]]:
    """Which splits of which kinds a folder has, told from its session files: {"all": ("train", "val"), ..}.

    Raises:
        BadInput: no such folder, or no `data/<kind>.<split>.json` in it.
    """
    return kinds_and_splits(need_folder(folder) / "data", _SESSION_FILE)


def read_sessions(
    folder: Path, kind: str, split: str, *, pictures: Path | None = None
) -> tuple[MultiTurnFashionIQ, ReadReport]:
    """One kind and split of an MT Fashion IQ folder. The report counts sessions.

    Most sessions have two to four turns of two captions. The few with other numbers are kept as they are; an empty
    caption, and a product that the gallery lists again, cost only themselves.

    Args:
        folder: with `data/` and `image_splits/`.
        kind: dress, shirt, toptee, all, or what else the folder has.
        split: train or val.
        pictures: a folder of `<key>.jpg` or `<key>.png`; sessions and gallery entries without one are left out.

    Raises:
        UnknownName: there is no such kind or split.
        BadInput: damaged JSON, a record of another form, or a product that is not in the gallery (file, record and
            field are named).
    """
    gallery_file = need_folder(folder) / "image_splits" / f"split.{kind}.{split}.json"
    file = need_split_file(folder / "data" / f"{kind}.{split}.json", "*.*.json")
    gallery, dropped = read_keys(need_split_file(gallery_file, "split.*.json"))
    inside, there = frozenset(gallery), keys_with_pictures(pictures, gallery)
    sessions: list[Session] = []
    records = read_list(file)
    for i, record in enumerate(records):
        session, empty = _session(file, i, record, inside)
        lost = report_missing(f"{file.name}: [{i}]", session.keys, there)
        dropped += lost + empty
        if not lost:
            sessions.append(session)
    for key in gallery:
        dropped += report_missing(f"{gallery_file.name}: {key}", [key], there)
    shown = tuple(key for key in gallery if key in there)
    found = MultiTurnFashionIQ(kind, split, tuple(sessions), shown, read_attributes(folder, kind, split))
    return found, ReadReport(len(records), len(sessions), tuple(dropped))


def _session(file: Path, i: int, record: Any, gallery: frozenset[str]) -> tuple[Session, list[Dropped]]:
    """A record `{"target": [url, key], "reference": [[url, captions, key], ...]}`, and its empty captions."""
    shown = need_field(f"{file}: [{i}]", record, "reference", list)
    if not shown:
        raise BadInput(f"{file}: [{i}], field 'reference': at least one turn is needed; write the record again")
    references: list[Reference] = []
    dropped: list[Dropped] = []
    for k, turn in enumerate(shown):
        at = f"[{i}], field 'reference'[{k}]"
        url, captions, key = _parts(f"{file}: {at}", turn, "[url, captions, key]", 3)
        said = need_texts(f"{file}: {at}", captions)
        dropped += report_empty_captions(f"{file.name}: {at}", said)
        references.append(Reference(need_in_gallery(gallery, f"{file}: {at}", key), non_empty_captions(said), url))
    target = f"{file}: [{i}], field 'target'"
    url, key = _parts(target, record.get("target"), "[url, key]", 2)
    return Session(tuple(references), need_in_gallery(gallery, target, key), url), dropped


def _parts(where: str, value: Any, form: str, count: int) -> list[Any]:
    """The parts of a list that stands for a picture: a url first, a key last."""
    parts = value if isinstance(value, list) else []
    if len(parts) != count or not isinstance(parts[0], str) or not isinstance(parts[-1], str):
        raise BadInput(f"{where}: {form} is needed, this is {str(value)[:60]}; fetch or write the file again")
    return parts


def write_sessions(
    folder: Path,
    kind: str,
    split: str,
    sessions: Iterable[Session],
    gallery: Sequence[str],
    attributes: Mapping[str, Sequence[Sequence[str]]],
) -> None:
    """Write one kind and split in the published layout; no attributes file where `attributes` is empty."""
    write_json(folder / "data" / f"{kind}.{split}.json", [_record(session) for session in sessions])
    write_json(folder / "image_splits" / f"split.{kind}.{split}.json", list(gallery))
    if attributes:
        words = {key: [list(of_type) for of_type in types] for key, types in attributes.items()}
        write_json(folder / "attr" / f"asin2attr.{kind}.{split}.new.json", words)


def _record(session: Session) -> dict[str, Any]:
    return {
        "target": [session.url, session.target],
        "reference": [[shown.url, list(shown.captions), shown.key] for shown in session.references],
    }
