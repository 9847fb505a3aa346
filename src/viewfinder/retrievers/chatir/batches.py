"""Talks as batches of tensors: which are read, how far, what of them is hidden, and the pictures they are about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viewfinder.retrievers.chatir.masks import VisibleParts, draw_masks
from viewfinder.retrievers.chatir.settings import Masking
from viewfinder.retrievers.chatir.texts import informative_rounds
from viewfinder.retrievers.shared.talks import PictureDialogues
from viewfinder.training import Batches, shuffled

VALIDATED = 1000
"""Pictures that validation takes, evenly; the talk of each is looked for among all of them."""

Numbers = Int[np.ndarray, " b"]


class ChatirBatch(NamedTuple):
    """Dialogues as a network's `read` takes them, and what is known of the picture of each."""

    seen_bx: Float[Tensor, "b x"]
    said: tuple[Tensor, ...]


@runtime_checkable
class DialogueTensors(Protocol):
    """How talks become what a network's `read` takes."""

    @property
    def columns(self) -> int:
        """How many rounds of a talk are read at most, the last of those that are given."""
        ...

    def __call__(
        self, talks_b: Numbers, rounds_b: Numbers, there: VisibleParts, rng: np.random.Generator | None
    ) -> tuple[Tensor, ...]:
        """Some talks as far as their first `rounds_b` rounds that say something (`texts.told`), and of the `columns`
        last of these what is there.

        Words are hidden by draws of `rng`, where that is the strategy; None: none.
        """
        ...


@dataclass(frozen=True, eq=False)
class ChatirBatches:
    """Batches of one split.

    Attributes:
        talks: what was said of which picture.
        speech: reads these talks.
        seen_px: what is known of every picture: its vector where that stays as it is, else its raw vector.
        rounds: how far a talk is read at most.
        masking, share: what training hides.
        unasked: the share of rounds that training reads as if they had been said without being asked.
    """

    talks: PictureDialogues
    speech: DialogueTensors
    seen_px: Float[Tensor, "p x"]
    rounds: int
    masking: Masking = "none"
    share: float = 0.0
    unasked: float = 0.0

    def epochs(self, size: int) -> Callable[[int, int], Batches[ChatirBatch]]:
        """What a `training.Job` calls batches: (epoch, seed) -> the batches, always the same ones.

        In an epoch every picture comes once, with one of its talks, up to a round that is drawn, captions included.
        """

        def batches(epoch: int, seed: int) -> Batches[ChatirBatch]:
            def make(pictures_b: Numbers) -> ChatirBatch:
                return self._drawn(pictures_b, np.random.default_rng([seed, epoch, int(pictures_b[0])]))

            return shuffled(len(self.talks.keys), size, make, epoch=epoch, seed=seed)

        return batches

    def fixed(self, rounds: int, size: int, most: int = VALIDATED) -> Iterator[ChatirBatch]:
        """The first talk about each of `most` pictures, taken evenly, up to this round; nothing is hidden."""
        count = min(len(self.talks.keys), most)
        chosen = np.linspace(0, len(self.talks.keys) - 1, count).round().astype(np.intp)
        for at in range(0, count, size):
            pictures_b = chosen[at : at + size]
            talks_b = self._numbers[self._first_p[pictures_b]]
            yield self._batch(pictures_b, talks_b, np.minimum(self._rounds_d[talks_b], rounds), None)

    def _drawn(self, pictures_b: Numbers, rng: np.random.Generator) -> ChatirBatch:
        which_b, far_b = rng.random((2, len(pictures_b)))
        talks_b = self._numbers[self._first_p[pictures_b] + (which_b * self._count_p[pictures_b]).astype(np.intp)]
        most_b = np.minimum(self._rounds_d[talks_b], self.rounds)
        return self._batch(pictures_b, talks_b, (far_b * (most_b + 1)).astype(np.intp), rng)

    def _batch(
        self, pictures_b: Numbers, talks_b: Numbers, rounds_b: Numbers, rng: np.random.Generator | None
    ) -> ChatirBatch:
        columns, told_b = self.speech.columns, self._told_dr[talks_b, rounds_b]
        share, unasked = (0.0, 0.0) if rng is None else (self.share, self.unasked)
        drawn = np.random.default_rng(0) if rng is None else rng
        there = draw_masks(self.masking, share, np.minimum(told_b, columns), columns, drawn)
        asked_bt = there.questions_bt & (drawn.random(there.questions_bt.shape) >= unasked)
        said = self.speech(talks_b, told_b, there._replace(questions_bt=asked_bt), rng)
        return ChatirBatch(self.seen_px[torch.from_numpy(pictures_b)], said)

    @property
    def longest(self) -> int:
        """The rounds of the longest talk."""
        return int(self._rounds_d.max())

    # -- the talks as numbers

    @cached_property
    def _rounds_d(self) -> Numbers:
        return np.array([len(talk.rounds) for talk in self.talks.talks], np.intp)

    @cached_property
    def _told_dr(self) -> Int[np.ndarray, "d r"]:
        """How many of a talk's first rounds say something."""
        told_dr = np.zeros((len(self.talks), self.longest + 1), np.intp)
        for number, talk in enumerate(self.talks.talks):
            rounds = [(said.question, said.answer) for said in talk.rounds]
            told_dr[number, 1 : len(rounds) + 1] = np.cumsum([len(informative_rounds([one])) for one in rounds])
        return told_dr

    @cached_property
    def _numbers(self) -> Numbers:
        """The talks, those about the first picture first."""
        return np.argsort([talk.picture for talk in self.talks.talks], kind="stable")

    @cached_property
    def _count_p(self) -> Numbers:
        return np.bincount([talk.picture for talk in self.talks.talks], minlength=len(self.talks.keys))

    @cached_property
    def _first_p(self) -> Numbers:
        """Where in `_numbers` the talks about each picture begin."""
        return np.asarray(np.cumsum(self._count_p) - self._count_p)
