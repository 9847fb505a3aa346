"""FashionMT's transactions with the rows of their pictures' vectors: what MAI and the Combiner are trained on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from viewfinder.data.fashionmt import Transaction, fashionmt_sources, read_transactions
from viewfinder.encoders.features import Features
from viewfinder.errors import UnknownName
from viewfinder.retrievers.shared.train_plan import TrainPlan

TransactionRows = tuple[Transaction, tuple[int, ...]]
"""A transaction, and the rows of its pictures."""


def read_transaction_rows(
    plan: TrainPlan, folder: Path, split: str, sources: Sequence[str], *, most: int = 0, regions: bool = False
) -> tuple[Features, list[TransactionRows], list[str]]:
    """A folder's vectors, its transactions whose pictures all have some, and the names in its sources' galleries.

    `sources`: none: all that there are; `most` transactions of each, the first ones; 0: all.

    Raises:
        UnknownName: there is no such source.
        BadInput: damaged data.
    """
    known = [source for source, splits in fashionmt_sources(folder).items() if split in splits]
    if missing := [source for source in sources if source not in known]:
        there = ", ".join(known) or "none"
        raise UnknownName(f"{folder}: no source of {split!r} is called {', '.join(missing)}; there are: {there}")
    vectors = plan.vectors(folder, regions=regions)
    found: list[TransactionRows] = []
    gallery: list[str] = []
    for source in sources or known:
        read, _ = read_transactions(folder, source, split)
        with_rows = [(one, [find_picture_row(vectors, name) for name in one.pictures]) for one in read.transactions]
        chosen = [(one, tuple(row for row in rows if row is not None)) for one, rows in with_rows if None not in rows]
        chosen = chosen[: most or None]
        plan.notify(f"{folder}, {source}, {split}: {len(chosen):,} transactions of {len(read.transactions):,}")
        found += chosen
        gallery += read.gallery
    return vectors, found, gallery


def find_picture_row(vectors: Features, name: str) -> int | None:
    """The row of a picture that FashionMT names, some with a slash before; None where it has no vector."""
    return vectors.find_row(name.lstrip("/"))
