"""The training data of MAI: FashionMT's transactions with the raw vectors of their pictures, as numbers. In torch.

Axes: s transactions, p pictures of one, n turns, l words; rows are those of the pictures.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float16, Float32, Int
from torch import Tensor

from viewfinder.data.captions import has_captions, read_captioned
from viewfinder.data.fashionmt import Transaction
from viewfinder.data.splits import split_reader
from viewfinder.encoders.features import Features
from viewfinder.errors import BadInput
from viewfinder.retrievers.mai.network import NOWHERE, ModificationDialogues
from viewfinder.retrievers.mai.settings import MaiPreset, Model
from viewfinder.retrievers.mai.texts import draw_clauses, modification_text
from viewfinder.retrievers.shared.numpy_network import split_words
from viewfinder.retrievers.shared.train_plan import TrainPlan, read_transaction_rows
from viewfinder.wording.modifications import ORDINALS, parse_ordinal_reference, split_modification

TURNS, STARTS = 3, 4
"""Turns of a dialogue about captioned pictures, and how many dialogues start with each picture."""


@dataclass(frozen=True, eq=False)
class TransactionTexts:
    """A transaction in words: what is said at each turn, and of which pictures, by their rows.

    `short` is the same with only some of the clauses, as people speak; `back` the place of the picture to which the
    last turn goes back, `recalled` the places of those whose attributes it keeps. `drawn_from` is what was said with
    all its numbers, if training draws clauses from it (`Model.texts`).
    """

    rows: tuple[int, ...]
    texts: tuple[str, ...]
    short: tuple[str, ...]
    back: int = NOWHERE
    recalled: tuple[int, ...] = ()
    drawn_from: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class TrainingTransactions:
    """Transactions of one split and all sources.

    Attributes:
        raw_ng, regions_nre: raw vectors of the pictures they are about, and their regions if these are read.
    """

    raw_ng: Float32[np.ndarray, "n g"]
    regions_nre: Float16[np.ndarray, "n r e"] | None
    raw_version: str  # the version of these vectors
    captions: tuple[str, ...]  # of each picture, "" if there is none
    said: tuple[TransactionTexts, ...]  # the transactions

    def vocabulary(self) -> tuple[str, ...]:
        """All words that are read, sorted."""
        texts = (*ORDINALS, *self.captions, *(text for one in self.said for text in one.texts + one.drawn_from))
        return tuple(sorted({word for text in texts for word in split_words(text)}))


def read_training_transactions(plan: TrainPlan, split: str, preset: MaiPreset) -> TrainingTransactions:
    """The transactions of a split in all data sets of a plan; what is left out is reported.

    A folder without transactions that holds captioned pictures gives dialogues about
    these, one picture after the other, each turn describing the next one.

    Raises:
        UnknownName: no data set has such a source or split.
        BadInput: data is missing or damaged, or no transaction's pictures are there.
    """
    parts = []
    for folder in plan.data:
        captioned = has_captions(folder) and not any((folder / "modifiers").glob("*_*_cap.json"))
        parts.append((_read_captioned if captioned else _read_recorded)(plan, folder, split, preset))
    if not any(part.said for part in parts):
        raise BadInput(
            f"{', '.join(map(str, plan.data))}: no transactions of {split!r}, or none whose pictures all have vectors"
        )
    firsts = np.cumsum([0, *(len(part.captions) for part in parts)]).tolist()
    regions = [part.regions_nre for part in parts if part.regions_nre is not None]
    return TrainingTransactions(
        np.concatenate([part.raw_ng for part in parts]),
        np.concatenate(regions) if regions else None,
        parts[0].raw_version,
        tuple(caption for part in parts for caption in part.captions),
        tuple(
            replace(one, rows=tuple(first + row for row in one.rows))
            for part, first in zip(parts, firsts, strict=False)
            for one in part.said
        ),
    )


def _read_recorded(plan: TrainPlan, folder: Path, split: str, preset: MaiPreset) -> TrainingTransactions:
    """The transactions of a folder of FashionMT."""
    regions = preset.model.image != "whole"
    found, transactions, _ = read_transaction_rows(plan, folder, split, preset.sources, regions=regions)
    captions = {row: said for one, rows in transactions for row, said in zip(rows, one.captions, strict=False)}
    rows_n = sorted({row for _, rows in transactions for row in rows})
    place = {row: at for at, row in enumerate(rows_n)}
    said = tuple(transaction_texts(one, tuple(place[row] for row in rows), preset.model) for one, rows in transactions)
    return _take_rows(preset, found, rows_n, tuple(captions.get(row, "") for row in rows_n), said)


def _read_captioned(plan: TrainPlan, folder: Path, split: str, preset: MaiPreset) -> TrainingTransactions:
    """`STARTS` dialogues a picture, drawn with a seed of their own. A picture's caption is its first one."""
    found = plan.vectors(folder, regions=preset.model.image != "whole")
    pictures, _ = read_captioned(folder)
    known: dict[int, tuple[str, ...]] = {}
    split_of = split_reader(folder)
    for picture in pictures:
        if split_of(picture.path) == split and picture.captions and (row := found.find_row(picture.path)) is not None:
            known[row] = tuple(caption.lower() for caption in picture.captions)
    if split == "train":
        plan.note_training(folder, [found.keys[row] for row in known])
    rows_n, sentences = list(known), list(known.values())
    rng, count = np.random.default_rng(len(known)), len(known)
    said = []
    for number in range(STARTS * count):
        rows = (number % count, *rng.integers(count, size=TURNS).tolist())
        texts = tuple(str(rng.choice(sentences[row][-4:])) for row in rows[1:])
        said.append(TransactionTexts(rows, texts, texts, drawn_from=texts))
    plan.notify(f"{folder}, {split}: {len(said):,} dialogues about captioned pictures")
    return _take_rows(preset, found, rows_n, tuple(one[0] for one in sentences), tuple(said))


def _take_rows(
    preset: MaiPreset, found: Features, rows_n: list[int], captions: tuple[str, ...], said: tuple[TransactionTexts, ...]
) -> TrainingTransactions:
    """Transactions about some rows of the vectors of a data set."""
    regions_nre = None
    if preset.model.image != "whole" and found.regions_nre is not None:
        regions_nre = np.asarray(found.regions_nre[rows_n])
    return TrainingTransactions(
        np.asarray(found.raw_nd[rows_n], np.float32), regions_nre, found.raw_version, captions, said
    )


def transaction_texts(one: Transaction, rows: tuple[int, ...], settings: Model) -> TransactionTexts:
    """A transaction as it is read; which clauses of a short form are left out depends only on the words.

    A combination recalls the pictures that it names; or all pictures so far, depending on `Model.combination`.
    """
    back = parse_ordinal_reference(one.modifications[-1])
    combines = back is not None and back.setting == "combination"
    # A turn cannot look back to the picture that it asks for.
    places = () if back is None else tuple(place for place in back.places if place < len(one.targets))
    if combines and places and settings.combination != "seen":
        places = tuple(range(len(one.targets) - (settings.combination == "official_fc")))
    return TransactionTexts(
        rows,
        tuple(modification_text(modification, settings.texts) for modification in one.modifications),
        tuple(modification_text(shorten_modification(modification)) for modification in one.modifications),
        NOWHERE if combines or not places else places[0],
        places if combines else (),
        one.modifications if settings.texts == "official" else (),
    )


def shorten_modification(modification: str) -> str:
    """One or two of the clauses that are not about earlier pictures, and all that are.

    >>> shorten_modification("I prefer the FIRST, and 1. is red")
    'I prefer the FIRST, and 1. is red'
    """
    read_as = split_modification(modification)
    change = [clause for clause in read_as.clauses if not clause.startswith("keep the")]
    rng = random.Random(modification)
    chosen = rng.sample(change, min(len(change), rng.randint(1, 2)))
    kept = [clause for clause in read_as.clauses if clause in chosen or clause not in change]
    return " ".join((read_as.lead, *(f"{number}. {clause}" for number, clause in enumerate(kept, start=1)))).strip()


@dataclass(frozen=True, eq=False)
class DialogueSampler:
    """Transactions as numbers, from which dialogues are drawn.

    `recall_sl` are the captions of what the last turn recalls, as one text, "first: .. second: ..".
    """

    pictures_sp: Int[Tensor, "s p"]
    words_snl: Int[Tensor, "s n l"]
    short_snl: Int[Tensor, "s n l"]
    back_s: Int[Tensor, " s"]
    recalled_sp: Bool[Tensor, "s p"]
    recall_sl: Int[Tensor, "s l"]
    captions_nl: Int[Tensor, "_n l"]
    drawn_from: tuple[tuple[str, ...], ...] = ()  # by transaction, see `TransactionTexts`
    words: Callable[[Sequence[str]], Int[Tensor, "c l"]] | None = None  # turns them into numbers

    @classmethod
    def of(
        cls, transactions: TrainingTransactions, words: Callable[[Sequence[str]], Int[Tensor, "c l"]]
    ) -> DialogueSampler:
        """`words`: from texts to the numbers of what is read of them.

        Raises:
            BadInput: transactions have different numbers of turns.
        """
        said = transactions.said
        if len({len(one.texts) for one in said}) > 1:
            raise BadInput("transactions have different numbers of turns; train on sources that have the same")
        turns = len(said[0].texts)
        return cls(
            torch.tensor([one.rows for one in said]),
            words([text for one in said for text in one.texts]).reshape(len(said), turns, -1),
            words([text for one in said for text in one.short]).reshape(len(said), turns, -1),
            torch.tensor([one.back for one in said]),
            torch.tensor([[place in one.recalled for place in range(turns + 1)] for one in said]),
            words([recalled_captions(one, transactions.captions) for one in said]),
            words(transactions.captions),
            tuple(one.drawn_from for one in said),
            words,
        )

    def __len__(self) -> int:
        return len(self.pictures_sp)

    def draw(self, preset: MaiPreset, rows_b: Int[np.ndarray, " b"], rng: np.random.Generator) -> ModificationDialogues:
        """Dialogues for training: some pictures have no caption, some dialogues begin with a description."""
        whole = self.recorded(rows_b)
        captioned_bp = torch.from_numpy(rng.random(whole.pictures_bp.shape) >= preset.caption_dropout)
        described_b = torch.from_numpy(rng.random(len(rows_b)) < preset.described)
        described_b &= (whole.back_b != 0) & ~whole.recalled_bp[:, 0]  # an unseen picture cannot be gone back to
        recall_bl = whole.recall_bl * (captioned_bp | ~whole.recalled_bp).all(dim=1)[:, None]
        shortened_bn = torch.from_numpy(rng.random(whole.words_bnl.shape[:2]) < preset.clauses)
        short_bnl = self.short_snl[torch.from_numpy(np.asarray(rows_b, np.int64))]
        words_bnl = whole.words_bnl
        if preset.model.texts == "official":
            assert self.words is not None
            said = [draw_clauses(text, rng) for row in rows_b for text in self.drawn_from[row]]
            words_bnl = self.words(said).reshape(words_bnl.shape)
        seen_bp, words_bnl = whole.seen_bp.clone(), torch.where(shortened_bn[..., None], short_bnl, words_bnl)
        seen_bp[:, 0] = ~described_b
        words_bnl[:, 0] = torch.where(described_b[:, None], self.captions_nl[whole.pictures_bp[:, 1]], words_bnl[:, 0])
        return whole._replace(
            captioned_bp=captioned_bp & seen_bp, recall_bl=recall_bl, seen_bp=seen_bp, words_bnl=words_bnl
        )

    def recorded(self, rows_b: Int[np.ndarray, " b"]) -> ModificationDialogues:
        """Dialogues as they were recorded. What "random" goes back to depends only on the transaction."""
        rows = torch.from_numpy(np.asarray(rows_b, np.int64))
        turns = self.words_snl.shape[1]
        drawn = [np.random.default_rng([1, int(row)]).integers(max(turns - 1, 1)) for row in rows]
        return ModificationDialogues(
            pictures_bp=self.pictures_sp[rows],
            words_bnl=self.words_snl[rows],
            seen_bp=torch.ones(len(rows), turns + 1, dtype=torch.bool),
            captioned_bp=torch.ones(len(rows), turns + 1, dtype=torch.bool),
            back_b=self.back_s[rows],
            recalled_bp=self.recalled_sp[rows],
            recall_bl=self.recall_sl[rows],
            drawn_b=torch.tensor(drawn, dtype=torch.long),
        )


def recalled_captions(one: TransactionTexts, captions: Sequence[str]) -> str:
    """The captions that a transaction recalls: "FIRST: <caption> SECOND: <caption>"; "" if one is missing.

    >>> recalled_captions(TransactionTexts((0, 1), (), (), recalled=(0,)), ("a red shirt", "a cap"))
    'FIRST: a red shirt'
    """
    found = [(ORDINALS[place], captions[one.rows[place]]) for place in one.recalled]
    return " ".join(f"{ordinal}: {caption}" for ordinal, caption in found) if all(c for _, c in found) else ""
