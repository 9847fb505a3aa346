"""What training hides of a dialogue (ChatIR, Levy et al. 2023, Sec. 5): a share of its captions, questions, answers,
rounds or tokens.

A unit is hidden with its separator, each by a draw of its own. Never is everything hidden: a caption only where rounds
are left, of several words or tokens at least one stays.

How talks become tensors: as frozen sentence vectors, or as the tokens of one long text. In torch.

Talks as batches of tensors: which are read, how far, what of them is hidden, and the pictures they are about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viewfinder.encoders.features.sentences import SentenceVectors
from viewfinder.retrievers.chatir.network import TextModel
from viewfinder.retrievers.chatir.retriever import RoundText, informative_rounds
from viewfinder.retrievers.chatir.settings import Masking, ModelSettings
from viewfinder.retrievers.shared.picture_dialogues import PictureDialogue, PictureDialogues
from viewfinder.training import Batches, shuffled

MASK = "[MASK]"
"""What stands for a word that is hidden, in texts."""


class VisibleParts(NamedTuple):
    """What is left of b dialogues: captions, and of t rounds the questions and the answers."""

    captions_b: Bool[np.ndarray, " b"]
    questions_bt: Bool[np.ndarray, "b t"]
    answers_bt: Bool[np.ndarray, "b t"]


def draw_masks(
    masking: Masking, share: float, rounds_b: Int[np.ndarray, " b"], columns: int, rng: np.random.Generator
) -> VisibleParts:
    """What is left of dialogues with these numbers of rounds; of tokens nothing is hidden here.

    Every strategy draws as many numbers, so that dialogues are the same ones whatever is hidden of them.
    """
    read_bt = np.arange(columns) < rounds_b[:, None]
    hidden_bt = rng.random(read_bt.shape) < share
    hidden_b = (rng.random(len(rounds_b)) < share) & (rounds_b > 0)
    return VisibleParts(
        captions_b=~hidden_b if masking == "captions" else np.ones(len(rounds_b), bool),
        questions_bt=read_bt & ~hidden_bt if masking in ("questions", "rounds") else read_bt,
        answers_bt=read_bt & ~hidden_bt if masking in ("answers", "rounds") else read_bt,
    )


def mask_words(text: str, share: float, rng: np.random.Generator) -> str:
    """The text with a share of its words replaced by "[MASK]"; of several one at least stays.

    >>> masked_words("a dog on a sofa", 0.5, np.random.default_rng(1))
    'a dog [MASK] a [MASK]'
    """
    words = text.split()
    hidden = _hidden(len(words), share, rng)
    return " ".join(MASK if gone else word for word, gone in zip(words, hidden, strict=True))


def mask_tokens(ids: Sequence[int], mask: int, share: float, rng: np.random.Generator) -> list[int]:
    """Token numbers with a share of them replaced by that of the mask; of several one at least stays."""
    hidden = _hidden(len(ids), share, rng)
    return [mask if gone else number for number, gone in zip(ids, hidden, strict=True)]


def _hidden(count: int, share: float, rng: np.random.Generator) -> list[bool]:
    hidden = rng.random(count) < share
    if count > 1 and hidden.all():
        hidden[rng.integers(count)] = False
    return [bool(gone) for gone in hidden]


VARIANTS = 4
"""Ways in which the words of a text are hidden; each has a sentence vector of its own."""

Tokens = Sequence[int]
Numbers = Int[np.ndarray, " b"]
Vectors = Callable[[Sequence[str]], SentenceVectors]
"""Texts to sentence vectors."""


def dialogue_rounds(talk: PictureDialogue) -> tuple[RoundText, ...]:
    """The rounds of a talk that say something, as a search would be given them."""
    return informative_rounds((said.question, said.answer) for said in talk.rounds)


class SentenceTensors:
    """Talks as sentence vectors: of captions, and of questions with their answers. What is not there is zeros."""

    def __init__(self, talks: PictureDialogues, vectors: Vectors, rounds: int, hidden: float = 0.0) -> None:
        """`rounds`: how many are read, the last ones; `hidden`: the share of words that training hides."""
        captions = [talk.caption for talk in talks.talks]
        said = [dialogue_rounds(talk) for talk in talks.talks]
        texts = sorted({*captions, *(text for talk in said for one in talk for text in one)} - {""})
        variants = [_variants(text, hidden) for text in texts] if hidden else []
        known = vectors(sorted({*texts, *(text for some in variants for text in some)}))
        self.version, self.width = known.version, known.matrix_ns.shape[1]
        self.columns = min(rounds, max(map(len, said)))
        self._matrix_ns = torch.from_numpy(np.concatenate([np.zeros_like(known.matrix_ns[:1]), known.matrix_ns]))
        row_of = {"": 0} | {text: row for row, text in enumerate(known.texts, start=1)}
        self._captions_d = np.array([row_of[text] for text in captions], np.intp)
        self._questions_dr, self._answers_dr = (
            _table([[row_of[one[part]] for one in talk] for talk in said]) for part in (0, 1)
        )
        self._variants_nk = np.tile(np.arange(len(known) + 1)[:, None], VARIANTS)
        for text, some in zip(texts, variants, strict=bool(hidden)):
            self._variants_nk[row_of[text]] = [row_of[variant] for variant in some]
        self._lonely_d = np.array([len(text.split()) < 2 for text in captions])
        self._hides = hidden > 0

    def __call__(
        self, talks_b: Numbers, rounds_b: Numbers, there: VisibleParts, rng: np.random.Generator | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Vectors of captions (b s), of questions and answers (b t 2s), and which of both are there (b 1+t)."""
        column_bt = np.maximum(rounds_b - self.columns, 0)[:, None] + np.arange(self.columns)
        captions_b = self._captions_d[talks_b] * there.captions_b
        questions_bt = self._questions_dr[talks_b[:, None], column_bt] * there.questions_bt
        answers_bt = self._answers_dr[talks_b[:, None], column_bt] * there.answers_bt
        there_bc = np.concatenate([captions_b[:, None] > 0, (questions_bt > 0) | (answers_bt > 0)], axis=1)
        if self._hides and rng is not None:
            alone_b = self._lonely_d[talks_b] & ~there_bc[:, 1:].any(axis=1)
            captions_b = np.where(alone_b, captions_b, self._masked(captions_b, rng))
            questions_bt, answers_bt = self._masked(questions_bt, rng), self._masked(answers_bt, rng)
        rounds_bts = torch.cat([self._vectors(questions_bt), self._vectors(answers_bt)], dim=-1)
        return self._vectors(captions_b), rounds_bts, torch.from_numpy(there_bc)

    def _masked(self, rows: Int[np.ndarray, "*b"], rng: np.random.Generator) -> Int[np.ndarray, "*b"]:
        return np.asarray(self._variants_nk[rows, rng.integers(VARIANTS, size=rows.shape)])

    def _vectors(self, rows: Int[np.ndarray, "*b"]) -> Tensor:
        return self._matrix_ns[torch.from_numpy(rows)].float()


class TokenTensors:
    """Talks as the tokens of one text each: as `texts.joined` writes it, without the oldest rounds if it is too long.

    Texts are cut into tokens one by one, which for WordPiece gives what the whole would.
    """

    def __init__(self, talks: PictureDialogues, text: TextModel, settings: ModelSettings, hidden: float = 0.0) -> None:
        """`hidden`: the share of tokens that training hides."""
        from tokenizers import Tokenizer

        tokenizer: Any = Tokenizer.from_str(text.tokenizer)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self.columns, self._most, self._hidden = settings.rounds, settings.most_tokens, hidden
        self._together = settings.separator == "comma"
        self._mask: int = tokenizer.token_to_id(text.mask)
        self._before, self._after = _ends(tokenizer)
        self._talks = [(talk.caption, dialogue_rounds(talk)) for talk in talks.talks]
        texts = sorted({text for caption, said in self._talks for text in (caption, *chain.from_iterable(said))})
        found = tokenizer.encode_batch([*texts, ","], add_special_tokens=False)
        self._known = {text: one.ids for text, one in zip(texts, found, strict=False)} | {"": []}
        self._between = found[-1].ids if self._together else [tokenizer.token_to_id(text.separator)]

    def __call__(
        self, talks_b: Numbers, rounds_b: Numbers, there: VisibleParts, rng: np.random.Generator | None
    ) -> tuple[Tensor, Tensor]:
        """Numbers of tokens (b l), filled up with zeros, and where there are any (b l)."""
        rows = [
            self._ids(talk, rounds, VisibleParts(*(one[row] for one in there)), rng)
            for row, (talk, rounds) in enumerate(zip(talks_b.tolist(), rounds_b.tolist(), strict=True))
        ]
        lengths_b = np.array([len(ids) for ids in rows])
        return torch.from_numpy(_table(rows)), torch.from_numpy(np.arange(lengths_b.max()) < lengths_b[:, None])

    def _ids(self, talk: int, rounds: int, there: VisibleParts, rng: np.random.Generator | None) -> list[int]:
        """The tokens of one talk."""
        caption, said = self._talks[talk]
        known = self._known[caption] if there.captions_b else []
        kept = [
            [self._known[one.question] if question else [], self._known[one.answer] if answer else []]
            for one, question, answer in zip(
                said[max(rounds - self.columns, 0) : rounds], there.questions_bt, there.answers_bt, strict=False
            )
        ]
        alone = len(known) < 2 and not any(part for one in kept for part in one)
        if rng is not None and self._hidden and not alone:
            known = mask_tokens(known, self._mask, self._hidden, rng)
            kept = [[mask_tokens(part, self._mask, self._hidden, rng) for part in one] for one in kept]
        return self._fitted(known, kept)

    def _fitted(self, caption: Tokens, rounds: Sequence[Sequence[Tokens]]) -> list[int]:
        """Caption and rounds with what comes between them; the oldest rounds go where all would be too long."""
        room = self._most - len(self._before) - len(self._after)
        for first in range(max(len(rounds), 1)):
            ids = self._joined(caption, rounds[first:])
            if len(ids) <= room:
                break
        return [*self._before, *ids[:room], *self._after]

    def _joined(self, caption: Tokens, rounds: Sequence[Sequence[Tokens]]) -> list[int]:
        units = [[*chain.from_iterable(one)] for one in rounds] if self._together else chain.from_iterable(rounds)
        found = [unit for unit in (caption, *units) if unit]
        return [*chain.from_iterable([*self._between, *unit] for unit in found)][len(self._between) :]


def _ends(tokenizer: Any) -> tuple[list[int], list[int]]:
    """What a tokenizer puts before and after a text."""
    whole = tokenizer.encode("a")
    first = whole.special_tokens_mask.index(0)
    last = len(whole.ids) - whole.special_tokens_mask[::-1].index(0)
    return whole.ids[:first], whole.ids[last:]


def _variants(text: str, share: float) -> list[str]:
    """The text with some words hidden, in a few ways that are always the same."""
    seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
    rng = np.random.default_rng(seed)
    return [mask_words(text, share, rng) for _ in range(VARIANTS)]


def _table(rows: Sequence[Sequence[int]]) -> Int[np.ndarray, "d r"]:
    """Lists of numbers as one table, filled up with zeros; one column at least."""
    table_dr = np.zeros((len(rows), max(1, *map(len, rows))), np.intp)
    for row, numbers in enumerate(rows):
        table_dr[row, : len(numbers)] = numbers
    return table_dr


VALIDATED = 1000
"""Pictures that validation takes, evenly; the talk of each is looked for among all of them."""


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
