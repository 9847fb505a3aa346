"""What a Combiner is trained on: FashionMT's transactions as vectors of the encoder's shared space. No torch here.

Axes: s transactions, t turns, n pictures, x distinct modifications, g pictures of a gallery, d numbers of the space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Int

from viewfinder.data.fashionmt import Transaction, fashionmt_sources, parse_back_reference, read_transactions
from viewfinder.encoders.base import Encoder
from viewfinder.encoders.features import Features
from viewfinder.errors import BadInput, UnknownName
from viewfinder.retrievers.combiner.settings import ModelSettings, Preset
from viewfinder.retrievers.combiner.texts import mean_text_vector, split_modification
from viewfinder.retrievers.trainers import TrainPlan

NO_TURN = -1
"""In place of a row: the transaction is over."""

Vectors = dict[str, Float32[np.ndarray, " d"]]
"""Vectors of texts."""

AT_ONCE = 512
"""Texts that are encoded together."""


@dataclass(frozen=True, eq=False)
class RecordedTransactions:
    """Transactions of one split.

    Attributes:
        pictures_nd: vectors of all pictures they are about, and of the galleries of their sources.
        gallery_g: the rows of those among which targets are looked for: the galleries, and the targets.
        transactions: each as it is in its file, and the rows of its pictures.
    """

    pictures_nd: Float32[np.ndarray, "n d"]
    gallery_g: Int[np.ndarray, " g"]
    transactions: tuple[tuple[Transaction, tuple[int, ...]], ...]

    def texts(self) -> Iterable[str]:
        """All modifications."""
        return (said for one, _ in self.transactions for said in one.modifications)


@dataclass(frozen=True, eq=False)
class EncodedTransactions:
    """The same, turn by turn: rows of pictures and of distinct texts, `NO_TURN` after the last turn.

    `reference_st` is the picture that a turn is read with, `target_st` the one that it leads to.
    """

    pictures_nd: Float32[np.ndarray, "n d"]
    texts_xd: Float32[np.ndarray, "x d"]
    gallery_g: Int[np.ndarray, " g"]
    reference_st: Int[np.ndarray, "s t"]
    text_st: Int[np.ndarray, "s t"]
    target_st: Int[np.ndarray, "s t"]

    def __len__(self) -> int:
        return len(self.target_st)

    @classmethod
    def of(cls, recorded: RecordedTransactions, vectors: Vectors, model: ModelSettings) -> EncodedTransactions:
        """`vectors`: those of all pieces of all texts."""
        texts = sorted(set(recorded.texts()))
        row_of = {text: row for row, text in enumerate(texts)}
        of_pieces = ([vectors[piece] for piece in split_modification(text, model.texts)] for text in texts)
        found = recorded.transactions
        return cls(
            recorded.pictures_nd,
            np.stack([mean_text_vector(np.stack(known)) for known in of_pieces]),
            recorded.gallery_g,
            _padded([reference_rows(one, rows, model) for one, rows in found]),
            _padded([[row_of[said] for said in one.modifications] for one, _ in found]),
            _padded([rows[1:] for _, rows in found]),
        )


def read_recorded(plan: TrainPlan, split: str, preset: Preset) -> RecordedTransactions:
    """The transactions of a split in all data sets of a plan; what is left out is told.

    Raises:
        UnknownName: a data set has no such source.
        BadInput: data that is missing or damaged, or no transaction whose pictures are all there.
    """
    vectors: list[Float32[np.ndarray, "m d"]] = []
    gallery: set[int] = set()
    found: list[tuple[Transaction, tuple[int, ...]]] = []
    first = 0
    for folder in plan.data:
        part = _part(plan, folder, split, preset)
        rows = sorted(part.gallery.union(*(its_rows for _, its_rows in part.transactions)))
        place = {row: first + at for at, row in enumerate(rows)}
        found += [(one, tuple(place[row] for row in its_rows)) for one, its_rows in part.transactions]
        gallery |= {place[row] for row in part.gallery}
        vectors.append(np.asarray(plan.encoder.project(part.features.raw_nd[rows]), np.float32))
        first += len(rows)
    if not found:
        raise BadInput(
            f"{', '.join(map(str, plan.data))}: no transaction of {split!r} has all its pictures; needed are "
            f"modifiers/<source>_{split}_cap.json and images/"
        )
    wanted = {row for _, its_rows in found for row in its_rows[1:]}
    return RecordedTransactions(np.concatenate(vectors), np.array(sorted(gallery | wanted), np.intp), tuple(found))


class _Part(NamedTuple):
    """Transactions of a folder whose pictures have vectors, with their rows there; and the rows of the galleries."""

    features: Features
    transactions: list[tuple[Transaction, tuple[int, ...]]]
    gallery: set[int]


def _part(plan: TrainPlan, folder: Path, split: str, preset: Preset) -> _Part:
    known = [source for source, splits in fashionmt_sources(folder).items() if split in splits]
    if missing := [source for source in preset.sources if source not in known]:
        there = ", ".join(known) or "none"
        raise UnknownName(f"{folder}: no source of {split!r} is called {', '.join(missing)}; there are: {there}")
    part = _Part(plan.vectors(folder), [], set())
    for source in preset.sources or known:
        read_all, _ = read_transactions(folder, source, split)
        rows = _rows(
            part.features, {*read_all.gallery, *(name for one in read_all.transactions for name in one.pictures)}
        )
        part.gallery.update(rows[name] for name in read_all.gallery if name in rows)
        with_vectors = [one for one in read_all.transactions if all(name in rows for name in one.pictures)]
        chosen = with_vectors[: preset.transactions or None]
        part.transactions.extend((one, tuple(rows[name] for name in one.pictures)) for one in chosen)
        plan.told(f"{folder}, {source}, {split}: {len(chosen):,} transactions of {len(read_all.transactions):,}")
    return part


def _rows(vectors: Features, names: Iterable[str]) -> dict[str, int]:
    """The rows of those pictures that have vectors; FashionMT begins some names with a slash."""
    rows: dict[str, int] = {}
    for name in names:
        with suppress(UnknownName):
            rows[name] = vectors.row_of(name.lstrip("/"))
    return rows


def reference_rows(one: Transaction, rows: Sequence[int], model: ModelSettings) -> list[int]:
    """The picture that each turn is read with: the one it is said of, or an earlier one to which it goes back."""
    found = []
    for turn, said in enumerate(one.modifications):
        back = parse_back_reference(said) if model.rollback == "replace" else None
        goes_back = back is not None and back.setting == "rollback" and back.places[0] <= turn
        found.append(rows[back.places[0] if back is not None and goes_back else turn])
    return found


def encode_texts(texts: Iterable[str], encoder: Encoder, told: Callable[[str], None]) -> Vectors:
    """The vectors of texts in the shared space, each once; every tenth of the work is told."""
    wanted = sorted(set(texts))
    found: Vectors = {}
    tenth = -1
    for at in range(0, len(wanted), AT_ONCE):
        some = wanted[at : at + AT_ONCE]
        found |= dict(zip(some, np.asarray(encoder.words(some), np.float32), strict=True))
        if 10 * len(found) // len(wanted) > tenth:
            tenth = 10 * len(found) // len(wanted)
            told(f"texts: {len(found):,} of {len(wanted):,}")
    return found


def _padded(rows: Sequence[Sequence[int]]) -> Int[np.ndarray, "s t"]:
    """Rows of different lengths as one table."""
    table_st = np.full((len(rows), max(map(len, rows))), NO_TURN, np.intp)
    for at, row in enumerate(rows):
        table_st[at, : len(row)] = row
    return table_st
