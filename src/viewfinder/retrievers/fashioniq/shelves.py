"""What talks in training are about: the garments of one kind, what people said of them, and how talks begin. In torch.

A talk is about one kind, and garments are numbered within it. Axes: n garments of a kind, x numbers that a network
reads of a picture, a attributes, p recorded pairs, c sentences, l words, b talks, t turns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viewfinder.data.fashion_iq import join_captions, shuffle_first_pictures
from viewfinder.errors import BadInput
from viewfinder.retrievers.fashioniq.garments import Garments
from viewfinder.retrievers.fashioniq.settings import Preset
from viewfinder.retrievers.shared.network import WordNumbers
from viewfinder.training import Batches
from viewfinder.training.batches import count_processes

Places = Int[Tensor, " b"]
"""A garment of each talk, by its number within the kind."""

SimulateFeedback = Callable[[Int[Tensor, " b"], Int[Tensor, " b"]], Int[Tensor, "b l"]]
"""A simulated user, who is shown the first garments and wants the second (rows of `Garments`): numbers of words."""

FIRST_PICTURES = 0
"""The seed of the first pictures in validation."""


@dataclass(frozen=True, eq=False)
class SentenceTable:
    """Sentences about each of several things (garments, or pairs): those about thing i from `first_n[i]` on."""

    words_cl: Int[Tensor, "c l"]
    first_n: Int[Tensor, " n"]
    count_n: Int[Tensor, " n"]

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], words: WordNumbers) -> SentenceTable:
        """What `texts` say of each thing; there may be nothing."""
        count_n = torch.tensor([len(some) for some in texts], dtype=torch.long)
        words_cl = words([text for some in texts for text in some])
        # The last row is for things of which nothing is said.
        return cls(torch.nn.functional.pad(words_cl, (0, 0, 0, 1)), count_n.cumsum(0) - count_n, count_n)

    def sentences(self, things_b: Places, which_b: Places) -> Int[Tensor, "b l"]:
        """Sentence 0, 1, ... about some things; after the last comes the first again."""
        count_b = self.count_n[things_b]
        row_b = self.first_n[things_b] + which_b % count_b.clamp_min(1)
        return self.words_cl[torch.where(count_b > 0, row_b, -1)]


@dataclass(frozen=True, eq=False)
class GarmentKind:
    """The garments of one kind.

    Attributes:
        kind: its name.
        row_n: which rows of `Garments` they are.
        read_nx: what the network's `looks.input` reads of their pictures.
        attributes_na: numbers of their predicted attributes.
        target_p, candidate_p: recorded pairs.
        recorded: what people said of each pair, see `wordings`.
        described: what is said of each garment on its own.
        says: who says how the wanted garment differs; None: nobody, what is said describes the wanted one.
    """

    kind: str
    row_n: Int[Tensor, " n"]
    read_nx: Float[Tensor, "n x"]
    attributes_na: Int[Tensor, "n a"]
    target_p: Int[Tensor, " p"]
    candidate_p: Int[Tensor, " p"]
    recorded: SentenceTable
    described: SentenceTable
    says: SimulateFeedback | None

    def __len__(self) -> int:
        return len(self.row_n)


def garment_kinds(
    garments: Garments,
    read_nx: Float[Tensor, "n x"],
    attributes_na: Int[Tensor, "n a"],
    words: WordNumbers,
    says: SimulateFeedback | None,
) -> tuple[GarmentKind, ...]:
    """The garments of a split by kind; who simulates users does so for kinds with recorded pairs only."""
    place_n = np.zeros(len(garments), np.intp)
    for number in range(len(garments.kinds)):
        rows = garments.gallery_of(number)
        place_n[rows] = np.arange(len(rows))
    pair_kind_p = garments.kind_n[garments.pairs.target_p]
    shelves = []
    for number, kind in enumerate(garments.kinds):
        rows, pairs = garments.gallery_of(number), np.flatnonzero(pair_kind_p == number)
        shelves.append(
            GarmentKind(
                kind=kind,
                row_n=torch.from_numpy(rows),
                read_nx=read_nx[rows],
                attributes_na=attributes_na[rows],
                target_p=torch.from_numpy(place_n[garments.pairs.target_p[pairs]]),
                candidate_p=torch.from_numpy(place_n[garments.pairs.candidate_p[pairs]]),
                recorded=SentenceTable.of([pair_wordings(garments.pairs.captions[pair]) for pair in pairs], words),
                described=SentenceTable.of([garments.descriptions[row] for row in rows], words),
                says=says if len(pairs) else None,
            )
        )
    return tuple(shelves)


def pair_wordings(captions: Sequence[str]) -> tuple[str, ...]:
    """What may be said of a pair: "1 and 2", "2 and 1", "1", "2" (as CLIP4Cir learns, Baldrati et al. 2022)."""
    return tuple(join_captions(order) for order in (captions, captions[::-1], captions[:1], captions[-1:]))


class FeedbackDialogues(NamedTuple):
    """Talks about one kind, before the first turn.

    Attributes:
        shelf: the number of the kind.
        wanted_bt: the garment that is wanted in each turn: the same one, where no mind changes.
        shown_b: the garments that are shown first, where `seen_b`; else the talk begins without a picture.
        others_bt: garments that each turn tells the target from.
        words_btl: what is said, where `given_bt`; else a simulated user says it.
        attributed_b: whether attributes are read.
    """

    shelf: int
    wanted_bt: Int[Tensor, "b t"]
    shown_b: Places
    seen_b: Bool[Tensor, " b"]
    others_bt: Int[Tensor, "b t"]
    words_btl: Int[Tensor, "b t l"]
    given_bt: Bool[Tensor, "b t"]
    attributed_b: Bool[Tensor, " b"]

    @property
    def targets_b(self) -> Places:
        """The garments that are wanted in the end."""
        return self.wanted_bt[:, -1]


def dialogue_batches(
    shelves: Sequence[GarmentKind], preset: Preset
) -> Callable[[int, int], Batches[FeedbackDialogues]]:
    """What a `training.Job` calls batches: (epoch, seed) -> the batches, always the same ones.

    An epoch has as many talks as there are garments, as far as they fill batches; targets are drawn with replacement.

    Raises:
        BadInput: there are fewer garments than a batch has talks, or the processes cannot share a batch.
    """
    count, size = sum(map(len, shelves)), preset.batch
    if count < size or size % count_processes():
        raise BadInput(
            f"a batch of {size} does not go with {count} garments and {count_processes()} process(es); change batch"
        )

    def batches(epoch: int, seed: int) -> Batches[FeedbackDialogues]:
        def make(numbers_b: Int[np.ndarray, " b"]) -> FeedbackDialogues:
            return draw_dialogues(
                shelves, preset, len(numbers_b), np.random.default_rng([seed, epoch, int(numbers_b[0])])
            )

        return Batches(np.arange(count - count % size), size // count_processes(), make)

    return batches


def draw_dialogues(
    shelves: Sequence[GarmentKind], preset: Preset, size: int, rng: np.random.Generator
) -> FeedbackDialogues:
    """Talks about a kind that is drawn, the likelier the more garments it has."""
    sizes = np.array([len(shelf) for shelf in shelves])
    number = int(rng.choice(len(shelves), p=sizes / sizes.sum()))
    shelf, turns = shelves[number], preset.turns
    targets_b, shown_b, which_b = (_any(rng, count, size) for count in (len(shelf), len(shelf), 2**31))
    others_bt = _any(rng, len(shelf), size, turns)
    begins_b, attributed_b = torch.from_numpy(rng.random((2, size)))
    recorded_b = begins_b < (1.0 if preset.simulator == "recorded" else preset.recorded)
    recorded_b &= len(shelf.target_p) > 0
    if len(shelf.target_p):
        pairs_b = _any(rng, len(shelf.target_p), size)
        targets_b = torch.where(recorded_b, shelf.target_p[pairs_b], targets_b)
        shown_b = torch.where(recorded_b, shelf.candidate_p[pairs_b], shown_b)
    described_b = (begins_b >= preset.recorded) & (begins_b < preset.recorded + preset.described)
    described_b &= ~recorded_b & (shelf.described.count_n[targets_b] > 0)
    wanted_bt = _wanted(shelf, preset, targets_b, rng)
    # What is said where nobody simulates users.
    described = (shelf.described.sentences(wanted_bt[:, turn], which_b + turn) for turn in range(turns))
    words_btl = torch.stack(list(described), dim=1)
    if len(shelf.target_p):
        words_btl[:, 0] = torch.where(recorded_b[:, None], shelf.recorded.sentences(pairs_b, which_b), words_btl[:, 0])
    given_bt = torch.full((size, turns), shelf.says is None)
    given_bt[:, 0] |= recorded_b | described_b
    return FeedbackDialogues(
        number,
        wanted_bt,
        shown_b,
        ~described_b,
        others_bt,
        words_btl,
        given_bt,
        attributed_b >= preset.attribute_dropout,
    )


def _wanted(shelf: GarmentKind, preset: Preset, first_b: Places, rng: np.random.Generator) -> Int[Tensor, "b t"]:
    """What is wanted in each turn: the first ones, and from some turn on others where minds change."""
    wanted_bt = first_b[:, None].repeat(1, preset.turns)
    if not preset.changes or preset.turns == 1:
        return wanted_bt
    changes_b = torch.from_numpy(rng.random(len(first_b))) < preset.changes
    turn_b = 1 + _any(rng, preset.turns - 1, len(first_b))
    later_bt = (torch.arange(preset.turns) >= turn_b[:, None]) & changes_b[:, None]
    return torch.where(later_bt, _any(rng, len(shelf), len(first_b))[:, None], wanted_bt)


def other_kinds_pictures(
    shelves: Sequence[GarmentKind], talks: FeedbackDialogues, count: int
) -> Float[Tensor, "m x"] | None:
    """What a network reads of about `count` pictures of other kinds than the talks', some of each; None: of none.

    They follow from what was drawn for the talks, so nothing more is.
    """
    others = [shelf for number, shelf in enumerate(shelves) if number != talks.shelf]
    if not others or not count:
        return None
    drawn_m = talks.others_bt.flatten()[: math.ceil(count / len(others))]
    return torch.cat([shelf.read_nx[drawn_m % len(shelf)] for shelf in others])


def validation_dialogues(shelves: Sequence[GarmentKind], preset: Preset) -> Iterator[FeedbackDialogues]:
    """The talks of validation, those about one kind together: nothing is drawn.

    Every garment is wanted once, and a fixed other one shown first. Where training has recorded pairs alone, these are
    the talks, and both captions are said.
    """
    for number, shelf in enumerate(shelves):
        if preset.simulator == "recorded" and len(shelf.target_p):
            targets_b, shown_b = shelf.target_p, shelf.candidate_p
            first_bl = shelf.recorded.sentences(torch.arange(len(targets_b)), torch.zeros_like(targets_b))
            words_btl = first_bl[:, None].expand(-1, preset.turns, -1)
        else:
            targets_b = torch.arange(len(shelf))
            shown_b = torch.tensor(shuffle_first_pictures(len(shelf), FIRST_PICTURES))
            turns = range(preset.turns)
            words_btl = torch.stack(
                [shelf.described.sentences(targets_b, torch.full_like(targets_b, turn)) for turn in turns], dim=1
            )
        given_b = torch.full_like(targets_b, shelf.says is None or preset.simulator == "recorded").bool()
        yield FeedbackDialogues(
            shelf=number,
            wanted_bt=targets_b[:, None].expand(-1, preset.turns),
            shown_b=shown_b,
            seen_b=torch.ones_like(given_b),
            others_bt=targets_b[:, None].expand(-1, preset.turns),
            words_btl=words_btl,
            given_bt=given_b[:, None].expand(-1, preset.turns),
            attributed_b=torch.ones_like(given_b),
        )


def split_dialogues(talks: FeedbackDialogues, size: int) -> Iterator[FeedbackDialogues]:
    """The same talks, at most `size` at a time."""
    for at in range(0, len(talks.targets_b), size):
        yield FeedbackDialogues(talks.shelf, *(part[at : at + size] for part in talks[1:]))


def move_kind(shelf: GarmentKind, device: torch.device) -> GarmentKind:
    """The same on another device."""

    def there(value: Any) -> Any:
        if isinstance(value, SentenceTable):
            return SentenceTable(*(there(getattr(value, item.name)) for item in fields(SentenceTable)))
        return value.to(device) if isinstance(value, Tensor) else value

    parts: dict[str, Any] = {item.name: there(getattr(shelf, item.name)) for item in fields(GarmentKind)}
    return GarmentKind(**parts)


def _any(rng: np.random.Generator, count: int, *shape: int) -> Int[Tensor, ...]:
    """Whole numbers below `count`."""
    return torch.from_numpy(rng.integers(count, size=shape))
