"""How talks become tensors: as frozen sentence vectors, or as the tokens of one long text. In torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from viewfinder.retrievers.chatir.masks import VisibleParts, mask_tokens, mask_words
from viewfinder.retrievers.chatir.settings import ModelSettings
from viewfinder.retrievers.chatir.text_model import TextModel
from viewfinder.retrievers.chatir.texts import RoundText, informative_rounds
from viewfinder.retrievers.shared.sentences import SentenceVectors
from viewfinder.retrievers.shared.talks import PictureDialogue, PictureDialogues

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
