"""FashionMT (Chen et al., "MAI: A Multi-turn Aggregation-Iteration Model", ICLR 2025): transactions of three turns
whose last turn looks back, to an earlier picture (rollback) or to parts of several (combination).

modifiers/<source>_<split>_cap.json     transactions; sources are 200k, shoes, Fiq and FC
modifiers/<source>_index_names.txt      the gallery, one picture per line (Fiq: one product)
modifiers/FC-caption.json               titles by product; other sources have one .txt per product or picture
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from viewfinder.data.files import (
    ReadReport,
    kinds_and_splits,
    need_field,
    need_folder,
    need_split_file,
    read_json,
    read_text,
    unique_keys,
    write_json,
)
from viewfinder.errors import BadInput

ORDINALS = ("FIRST", "SECOND", "THIRD")
"""What a modification calls earlier pictures: the reference, then the targets of turns 1 and 2."""

_TRANSACTION_FILE = re.compile(r"(?P<source>.+)_(?P<split>[^_]+)_cap\.json")
_NUMBER = re.compile(r"(?<![\w.])(\d+)\.(?!\d)\s*(keep the\b)?")
_ORDINAL = re.compile(rf"\b({'|'.join(ORDINALS)})\b")
_PART = re.compile(rf"\b({'|'.join(ORDINALS)})['’]s\b\s*(None\b)?")


@dataclass(frozen=True)
class Transaction:
    """One shopper's turns.

    Attributes:
        reference: the picture shown first.
        targets: the picture that each turn leads to; the last is the wanted one.
        modifications: what is said in each turn, "1. is red 2. is shorter".
        captions: of the reference, then of each target; empty if the file has none.
    """

    reference: str
    targets: tuple[str, ...]
    modifications: tuple[str, ...]
    captions: tuple[str, ...] = ()

    @property
    def pictures(self) -> tuple[str, ...]:
        """The pictures in the order of the turns: `FIRST` is at 0."""
        return (self.reference, *self.targets)


@dataclass(frozen=True)
class FashionMT:
    """One source and split; `gallery` is the source's, and belongs to the split that is evaluated (test or val)."""

    source: str
    split: str
    transactions: tuple[Transaction, ...]
    gallery: tuple[str, ...]


@dataclass(frozen=True)
class Modification:
    """What is said in a turn: numbered clauses, and the lead before them ("I prefer the FIRST, and")."""

    lead: str
    clauses: tuple[str, ...]


@dataclass(frozen=True)
class OrdinalReference:
    """The pictures of a transaction that a turn looks back to, by their place in `Transaction.pictures`."""

    setting: Literal["rollback", "combination"]
    places: tuple[int, ...]


def split_modification(modification: str) -> Modification:
    """The numbered clauses of a modification, and its lead; only the numbers are lost.

    A number opens a clause if it continues the count from 1, or stands before "keep the" (which is number 4 whatever
    came before); any other number is part of a clause. A text without such numbers is one clause, or a lead if it
    names a picture. (The published code drops the lead, cuts a clause at any digit in training, and makes an unnumbered
    text empty in evaluation.)

    >>> split_modification("I prefer the FIRST, and 1. is red 2. has a 3 inch heel ")
    Modification(lead='I prefer the FIRST, and', clauses=('is red', 'has a 3 inch heel'))
    """
    marks = list(_marks(modification))
    if not marks:
        text = modification.strip()
        alone = _ORDINAL.search(text) and not _PART.search(text)
        return Modification(text, ()) if alone else Modification("", (text,) if text else ())
    ends = [start for start, _ in marks[1:]] + [len(modification)]
    said = tuple(modification[start:end].strip() for (_, start), end in zip(marks, ends, strict=True))
    return Modification(modification[: marks[0][0]].strip(), said)


def _marks(modification: str) -> Iterator[tuple[int, int]]:
    """(start of the number, start of the clause) of every clause."""
    awaited = 1
    for match in _NUMBER.finditer(modification):
        if int(match[1]) == awaited or match[2]:
            awaited = int(match[1]) + 1
            yield match.start(), match.start(2) if match[2] else match.end()


def parse_ordinal_reference(modification: str) -> OrdinalReference | None:
    """What the published templates say of earlier pictures; None if a modification does not look back.

    "keep the FIRST's .. and the SECOND's .." combines; an ordinal in the lead rolls back. If nothing was shared, the
    published text says "keep the SECOND's None", which is not a back reference.
    Any other wording is parsed by `retrievers.shared.back_references.find_back_reference`.

    >>> parse_ordinal_reference("1. is red 4. keep the FIRST's long sleeve and keep the SECOND's None")
    OrdinalReference(setting='combination', places=(0,))
    """
    parts = list(_PART.finditer(modification))
    if parts:
        return OrdinalReference("combination", tuple(ORDINALS.index(part[1]) for part in parts if not part[2]))
    named = _ORDINAL.search(split_modification(modification).lead)
    return OrdinalReference("rollback", (ORDINALS.index(named[1]),)) if named else None


def fashionmt_sources(folder: Path) -> dict[str, tuple[str, ...]]:
    """Which splits of which sources a folder has, by its transaction files: {"shoes": ("test", "train"), ..}."""
    return kinds_and_splits(need_folder(folder) / "modifiers", _TRANSACTION_FILE)


def read_transactions(folder: Path, source: str, split: str) -> tuple[FashionMT, ReadReport]:
    """One source and split of a FashionMT folder. The report counts transactions.

    If the gallery lists products instead of pictures (Fiq), the pictures of transactions are named by product too:
    `/img/B00A.png` is `B00A`. The split beside train is test (Fiq: val).
    """
    modifiers = need_folder(folder) / "modifiers"
    file = need_split_file(modifiers / f"{source}_{split}_cap.json", "*_*_cap.json")
    names = need_split_file(modifiers / f"{source}_index_names.txt", "*_index_names.txt")
    lines = (line.strip() for line in read_text(names).splitlines())
    listed, dropped = unique_keys(names, (line for line in lines if line))
    by_product = bool(listed) and not any("/" in name or PurePosixPath(name).suffix for name in listed)
    read = [_transaction(f"{file}: [{i}]", record, by_product) for i, record in enumerate(read_json(file, list))]
    inside = frozenset(listed)
    for i, transaction in enumerate(read):
        wanted = transaction.targets[-1]
        if split != "train" and wanted not in inside:
            where = f"{file}: [{i}], field 'tar{len(transaction.targets)}'"
            what = f"{wanted} is not among the {len(inside)} pictures of the gallery"
            raise BadInput(f"{where}: {what}; take the index names that belong to this file")
    return FashionMT(source, split, tuple(read), listed), ReadReport(len(read), len(read), tuple(dropped))


def _transaction(where: str, record: Any, by_product: bool) -> Transaction:
    reference = need_field(where, record, "ref", str)
    turns = [turn for turn in range(1, len(record) + 1) if f"tar{turn}" in record or f"mod{turn}" in record]
    if turns != list(range(1, len(turns) + 1)) or not turns:
        raise BadInput(f"{where}: fields tar1, mod1, tar2, mod2 .. are needed; it has {', '.join(record)}")
    captioned = any(f"cap{place}" in record for place in range(len(turns) + 1))
    targets, said = ([need_field(where, record, f"{name}{turn}", str) for turn in turns] for name in ("tar", "mod"))
    captions = [need_field(where, record, f"cap{place}", str) for place in (0, *turns)] if captioned else []
    names = [PurePosixPath(name).stem if by_product else name for name in (reference, *targets)]
    return Transaction(names[0], tuple(names[1:]), tuple(said), tuple(captions))


def write_transactions(
    folder: Path, source: str, split: str, transactions: Iterable[Transaction], gallery: Sequence[str]
) -> None:
    """Write one source and split, and the gallery of the source, in the layout of `modifiers/`."""
    modifiers = folder / "modifiers"
    records = [
        {
            "ref": one.reference,
            **{f"tar{turn}": target for turn, target in enumerate(one.targets, 1)},
            **{f"mod{turn}": words for turn, words in enumerate(one.modifications, 1)},
            **{f"cap{place}": caption for place, caption in enumerate(one.captions)},
        }
        for one in transactions
    ]
    write_json(modifiers / f"{source}_{split}_cap.json", records, indent=4)
    names = "".join(f"{name}\n" for name in gallery)
    (modifiers / f"{source}_index_names.txt").write_text(names, encoding="utf-8")


def product_of(source: str, picture: str) -> str:
    """The name under which a picture's caption is kept: its folder (FC), the part before "_" (200k), or its stem."""
    path = PurePosixPath(picture)
    if source == "FC":
        return path.parent.name
    return path.stem.split("_")[0] if source == "200k" else path.stem


def read_titles(file: Path) -> dict[str, str]:
    """`FC-caption.json`: the title of every product."""
    titles = read_json(file, dict)
    return {product: need_field(str(file), titles, product, str) for product in titles}


def read_caption_files(folder: Path) -> dict[str, str]:
    """Captions kept as one `<product or picture>.txt` each, as in 200k, shoes and Fiq."""
    return {file.stem: read_text(file).strip() for file in sorted(need_folder(folder).glob("*.txt"))}
