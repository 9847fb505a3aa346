"""FashionMT (Chen et al., "MAI: A Multi-turn Aggregation-Iteration Model", ICLR 2025): transactions of three turns
whose last turn looks back, to an earlier picture (rollback) or to parts of several (combination).

modifiers/<source>_<split>_cap.json     transactions; sources are 200k, shoes, Fiq and FC
modifiers/<source>_index_names.txt      the gallery, one picture per line (Fiq: one product)
modifiers/FC-caption.json               titles by product; other sources have one .txt per product or picture
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from viewfinder.data.files import (
    ReadReport,
    drop_repeated_keys,
    list_kinds_and_splits,
    need_field,
    need_folder,
    need_split_file,
    read_json,
    read_text,
    write_json,
)
from viewfinder.errors import BadInput

_TRANSACTION_FILE = re.compile(r"(?P<source>.+)_(?P<split>[^_]+)_cap\.json")


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


def fashionmt_sources(folder: Path) -> dict[str, tuple[str, ...]]:
    """Which splits of which sources a folder has, by its transaction files: {"shoes": ("test", "train"), ..}."""
    return list_kinds_and_splits(need_folder(folder) / "modifiers", _TRANSACTION_FILE)


def read_transactions(folder: Path, source: str, split: str) -> tuple[FashionMT, ReadReport]:
    """One source and split of a FashionMT folder. The report counts transactions.

    If the gallery lists products instead of pictures (Fiq), the pictures of transactions are named by product too:
    `/img/B00A.png` is `B00A`. The split beside train is test (Fiq: val).
    """
    modifiers = need_folder(folder) / "modifiers"
    file = need_split_file(modifiers / f"{source}_{split}_cap.json", "*_*_cap.json")
    names = need_split_file(modifiers / f"{source}_index_names.txt", "*_index_names.txt")
    lines = (line.strip() for line in read_text(names).splitlines())
    listed, dropped = drop_repeated_keys(names, (line for line in lines if line))
    by_product = bool(listed) and not any("/" in name or PurePosixPath(name).suffix for name in listed)
    read = [_parse_transaction(f"{file}: [{i}]", record, by_product) for i, record in enumerate(read_json(file, list))]
    inside = frozenset(listed)
    for i, transaction in enumerate(read):
        wanted = transaction.targets[-1]
        if split != "train" and wanted not in inside:
            where = f"{file}: [{i}], field 'tar{len(transaction.targets)}'"
            what = f"{wanted} is not among the {len(inside)} pictures of the gallery"
            raise BadInput(f"{where}: {what}; take the index names that belong to this file")
    return FashionMT(source, split, tuple(read), listed), ReadReport(len(read), len(read), tuple(dropped))


def _parse_transaction(where: str, record: Any, by_product: bool) -> Transaction:
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
