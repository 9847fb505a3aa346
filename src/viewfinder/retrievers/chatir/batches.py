"""Dialogues as batches of tensors: which are read, how far, what of them is hidden, and the pictures they are about.

A dialogue becomes frozen sentence vectors, or the tokens of one long text. Training hides a share of its captions,
questions, answers, rounds or tokens (ChatIR, Levy et al. 2023, Sec. 5): each unit is drawn separately and goes with its
separator. Not everything is ever hidden: a caption only if rounds are left, and at least one of several words or
tokens stays. In torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viewfinder.encoders.features.sentences import SentenceVectors
from viewfinder.retrievers.chatir.network import TextModel
from viewfinder.retrievers.chatir.retriever import DialogueTokens, RoundText, informative_rounds
from viewfinder.retrievers.chatir.settings import MASKED_SHARE, Masking, ModelSettings
from viewfinder.retrievers.shared.picture_dialogues import PictureDialogue, PictureDialogues
from viewfinder.training import Batches, draw_epochs

MASK = "[MASK]"
"""The mask that replaces a hidden word in texts."""

VARIANTS = 4
"""How many ways the words of a text are hidden; each has a sentence vector of its own."""

MAX_VALIDATED = 1000
"""How many evenly spaced pictures validation takes; each one's dialogue looks for it among all of them."""

Unit = TypeVar("Unit")
Numbers = Int[np.ndarray, " b"]


class VisibleParts(NamedTuple):
    """The parts of b dialogues that are not hidden: captions, and of t rounds the questions and the answers."""

    captions_b: Bool[np.ndarray, " b"]
    questions_bt: Bool[np.ndarray, "b t"]
    answers_bt: Bool[np.ndarray, "b t"]


def draw_masks(
    masking: Masking, share: float, rounds_b: Numbers, columns: int, rng: np.random.Generator
) -> VisibleParts:
    """Draws which parts of dialogues stay visible, by their numbers of rounds; tokens are not hidden here.

    Every strategy draws equally many numbers, so that dialogues are the same whatever is hidden of them.
    """
    read_bt = np.arange(columns) < rounds_b[:, None]
    hidden_bt = rng.random(read_bt.shape) < share
    hidden_b = (rng.random(len(rounds_b)) < share) & (rounds_b > 0)
    return VisibleParts(
        captions_b=~hidden_b if masking == "captions" else np.ones(len(rounds_b), bool),
        questions_bt=read_bt & ~hidden_bt if masking in ("questions", "rounds") else read_bt,
        answers_bt=read_bt & ~hidden_bt if masking in ("answers", "rounds") else read_bt,
    )


def mask_units(units: Sequence[Unit], mask: Unit, share: float, rng: np.random.Generator) -> list[Unit]:
    """Words or tokens with a share of them replaced by the mask; of several, at least one stays.

    >>> mask_units("a dog on a sofa".split(), "[MASK]", 0.5, np.random.default_rng(1))
    ['a', 'dog', '[MASK]', 'a', '[MASK]']
    """
    hidden = rng.random(len(units)) < share
    if len(units) > 1 and hidden.all():
        hidden[rng.integers(len(units))] = False
    return [mask if gone else unit for unit, gone in zip(units, hidden, strict=True)]


def dialogue_rounds(dialogue: PictureDialogue, *, verbatim: bool = False) -> tuple[RoundText, ...]:
    """The rounds of a dialogue that say something, as a search would get them."""
    return informative_rounds(((said.question, said.answer) for said in dialogue.rounds), verbatim=verbatim)


class SentenceTensors:
    """Dialogues as sentence vectors: of captions, and of questions with their answers. What is missing is zeros.

    `columns` is how many rounds are read at most: the last of those given.
    """

    verbatim = False

    def __init__(
        self,
        dialogues: PictureDialogues,
        vectors: Callable[[Sequence[str]], SentenceVectors],
        rounds: int,
        hidden: float = 0.0,
    ) -> None:
        """`vectors`: of texts; `rounds`: how many are read; `hidden`: the share of words that training hides."""
        captions = [dialogue.caption for dialogue in dialogues.dialogues]
        said = [dialogue_rounds(dialogue) for dialogue in dialogues.dialogues]
        texts = sorted({*captions, *(text for rounds in said for one in rounds for text in one)} - {""})
        variants = []  # every text with some words hidden, in a few fixed ways
        for text in texts if hidden else ():
            rng = np.random.default_rng(int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big"))
            variants.append([" ".join(mask_units(text.split(), MASK, hidden, rng)) for _ in range(VARIANTS)])
        known = vectors(sorted({*texts, *(text for some in variants for text in some)}))
        self.version, self.width = known.version, known.matrix_ns.shape[1]
        self.columns = min(rounds, max(map(len, said)))
        self._matrix_ns = torch.from_numpy(np.concatenate([np.zeros_like(known.matrix_ns[:1]), known.matrix_ns]))
        row_of = {"": 0} | {text: row for row, text in enumerate(known.texts, start=1)}
        self._captions_d = np.array([row_of[text] for text in captions], np.intp)
        self._questions_dr, self._answers_dr = (
            _pad_rows([[row_of[one[part]] for one in rounds] for rounds in said]) for part in (0, 1)
        )
        self._variants_nk = np.tile(np.arange(len(known) + 1)[:, None], VARIANTS)
        for text, some in zip(texts, variants, strict=bool(hidden)):
            self._variants_nk[row_of[text]] = [row_of[variant] for variant in some]
        self._lonely_d = np.array([len(text.split()) < 2 for text in captions])
        self._hides = hidden > 0

    def __call__(
        self, dialogues_b: Numbers, rounds_b: Numbers, there: VisibleParts, rng: np.random.Generator | None
    ) -> tuple[Tensor, ...]:
        """Vectors of captions (b s), of questions and answers (b t 2s), and which of both are there (b 1+t).

        Dialogues are read up to their first `rounds_b` rounds that say something; of these, the last `columns`. Words
        are hidden by draws of `rng`, if that is the strategy; None: none are hidden.
        """
        column_bt = np.maximum(rounds_b - self.columns, 0)[:, None] + np.arange(self.columns)
        captions_b = self._captions_d[dialogues_b] * there.captions_b
        questions_bt = self._questions_dr[dialogues_b[:, None], column_bt] * there.questions_bt
        answers_bt = self._answers_dr[dialogues_b[:, None], column_bt] * there.answers_bt
        there_bc = np.concatenate([captions_b[:, None] > 0, (questions_bt > 0) | (answers_bt > 0)], axis=1)
        if self._hides and rng is not None:
            alone_b = self._lonely_d[dialogues_b] & ~there_bc[:, 1:].any(axis=1)
            captions_b = np.where(alone_b, captions_b, self._hide_words(captions_b, rng))
            questions_bt, answers_bt = self._hide_words(questions_bt, rng), self._hide_words(answers_bt, rng)
        captions_bs, questions_bts, answers_bts = (
            self._matrix_ns[torch.from_numpy(rows)].float() for rows in (captions_b, questions_bt, answers_bt)
        )
        return captions_bs, torch.cat([questions_bts, answers_bts], dim=-1), torch.from_numpy(there_bc)

    def _hide_words(self, rows: Int[np.ndarray, "*b"], rng: np.random.Generator) -> Int[np.ndarray, "*b"]:
        return np.asarray(self._variants_nk[rows, rng.integers(VARIANTS, size=rows.shape)])


class TokenTensors:
    """Dialogues as the tokens of one text each: see `DialogueTokens`."""

    def __init__(
        self, dialogues: PictureDialogues, text: TextModel, settings: ModelSettings, hidden: float = 0.0
    ) -> None:
        """`hidden`: the share of tokens that training hides."""
        self._tokens = DialogueTokens(text.tokenizer, text.separator, settings)
        self.columns, self._hidden, self.verbatim = settings.rounds, hidden, settings.verbatim
        self._mask: int = self._tokens.tokenizer.token_to_id(text.mask)
        self._dialogues = [
            (dialogue.caption, dialogue_rounds(dialogue, verbatim=self.verbatim)) for dialogue in dialogues.dialogues
        ]
        texts = sorted({text for caption, said in self._dialogues for text in (caption, *chain.from_iterable(said))})
        self._known = dict(zip(texts, self._tokens.cut(texts), strict=True)) | {"": []}

    def __call__(
        self, dialogues_b: Numbers, rounds_b: Numbers, there: VisibleParts, rng: np.random.Generator | None
    ) -> tuple[Tensor, ...]:
        """Token numbers (b l), padded with zeros, and their mask (b l); otherwise as `SentenceTensors`."""
        rows = [
            self._join_tokens(dialogue, rounds, VisibleParts(*(one[row] for one in there)), rng)
            for row, (dialogue, rounds) in enumerate(zip(dialogues_b.tolist(), rounds_b.tolist(), strict=True))
        ]
        lengths_b = np.array([len(ids) for ids in rows])
        return torch.from_numpy(_pad_rows(rows)), torch.from_numpy(np.arange(lengths_b.max()) < lengths_b[:, None])

    def _join_tokens(
        self, dialogue: int, rounds: int, there: VisibleParts, rng: np.random.Generator | None
    ) -> list[int]:
        """The tokens of one dialogue, some of them hidden."""
        text, said = self._dialogues[dialogue]
        caption = self._known[text] if there.captions_b else []
        shown = [
            [self._known[one.question] if question else [], self._known[one.answer] if answer else []]
            for one, question, answer in zip(
                said[max(rounds - self.columns, 0) : rounds], there.questions_bt, there.answers_bt, strict=False
            )
        ]
        alone = len(caption) < 2 and not any(part for one in shown for part in one)
        if rng is not None and self._hidden and not alone:
            caption = mask_units(caption, self._mask, self._hidden, rng)
            shown = [[mask_units(part, self._mask, self._hidden, rng) for part in one] for one in shown]
        return self._tokens.join(caption, shown)


def _pad_rows(rows: Sequence[Sequence[int]]) -> Int[np.ndarray, "d r"]:
    """Lists of numbers as one table, padded with zeros; at least one column."""
    table_dr = np.zeros((len(rows), max(1, *map(len, rows))), np.intp)
    for row, numbers in enumerate(rows):
        table_dr[row, : len(numbers)] = numbers
    return table_dr


class ChatirBatch(NamedTuple):
    """Dialogues as a network's `encode_dialogues` takes them, and what is known of the picture of each."""

    pictures_bx: Float[Tensor, "b x"]
    dialogues: tuple[Tensor, ...]


class ChatirBatches:
    """Batches of one split."""

    def __init__(
        self,
        dialogues: PictureDialogues,
        tensors: SentenceTensors | TokenTensors,
        pictures_px: Float[Tensor, "p x"],
        rounds: int,
        masking: Masking = "none",
        unasked: float = 0.0,
        share: float = MASKED_SHARE,
    ) -> None:
        """Batches of dialogues, read up to `rounds`; training hides a `share` of what `masking` says.

        `pictures_px` is what is known of every picture: its vector if that is frozen, else its raw vector; `unasked`
        the share of rounds that training reads without their question.
        """
        self._tensors, self._pictures_px, self._rounds = tensors, pictures_px, rounds
        self._masking, self._share, self._unasked = masking, share, unasked
        pictures = [dialogue.picture for dialogue in dialogues.dialogues]
        self._numbers = np.argsort(pictures, kind="stable")  # those about the first picture first
        self._count_p = np.bincount(pictures, minlength=len(dialogues.keys))
        self._first_p = np.cumsum(self._count_p) - self._count_p
        self._rounds_d = np.array([len(dialogue.rounds) for dialogue in dialogues.dialogues], np.intp)
        self.longest = int(self._rounds_d.max())
        # How many of a dialogue's first rounds say something.
        self._informative_dr = np.zeros((len(dialogues), self.longest + 1), np.intp)
        for number, dialogue in enumerate(dialogues.dialogues):
            alone = [[(said.question, said.answer)] for said in dialogue.rounds]
            told = [len(informative_rounds(one, verbatim=tensors.verbatim)) for one in alone]
            self._informative_dr[number, 1 : len(told) + 1] = np.cumsum(told)

    def epoch(self, size: int, epoch: int, seed: int) -> Batches[ChatirBatch]:
        """The `batches` of a `TrainingJob`, always the same ones.

        In an epoch every picture comes once, with one of its dialogues, up to a random round, round 0 included.
        """

        def draw_batch(pictures_b: Numbers, rng: np.random.Generator) -> ChatirBatch:
            which_b, far_b = rng.random((2, len(pictures_b)))
            number_b = (which_b * self._count_p[pictures_b]).astype(np.intp)
            dialogues_b = self._numbers[self._first_p[pictures_b] + number_b]
            most_b = np.minimum(self._rounds_d[dialogues_b], self._rounds)
            return self._make_batch(pictures_b, dialogues_b, (far_b * (most_b + 1)).astype(np.intp), rng)

        return draw_epochs(len(self._count_p), size, draw_batch)(epoch, seed)

    def fixed(self, rounds: int, size: int) -> Iterator[ChatirBatch]:
        """The first dialogue about each of some evenly spaced pictures, up to this round; nothing is hidden."""
        count = min(len(self._count_p), MAX_VALIDATED)
        chosen = np.linspace(0, len(self._count_p) - 1, count).round().astype(np.intp)
        for at in range(0, count, size):
            pictures_b = chosen[at : at + size]
            dialogues_b = self._numbers[self._first_p[pictures_b]]
            yield self._make_batch(pictures_b, dialogues_b, np.minimum(self._rounds_d[dialogues_b], rounds), None)

    def _make_batch(
        self, pictures_b: Numbers, dialogues_b: Numbers, rounds_b: Numbers, rng: np.random.Generator | None
    ) -> ChatirBatch:
        columns, told_b = self._tensors.columns, self._informative_dr[dialogues_b, rounds_b]
        share, unasked = (0.0, 0.0) if rng is None else (self._share, self._unasked)
        drawn = np.random.default_rng(0) if rng is None else rng
        there = draw_masks(self._masking, share, np.minimum(told_b, columns), columns, drawn)
        asked_bt = there.questions_bt & (drawn.random(there.questions_bt.shape) >= unasked)
        parts = self._tensors(dialogues_b, told_b, there._replace(questions_bt=asked_bt), rng)
        return ChatirBatch(self._pictures_px[torch.from_numpy(pictures_b)], parts)
