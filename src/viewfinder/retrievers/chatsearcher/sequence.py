"""Texts as pieces of a tokeniser, in training and at search alike. No torch here.

A talk as one sequence of places: pieces of texts, and pictures as [IMG] CLS q1..qN [/IMG] (Sec. 4.1). No torch.

    USER: <text> [IMG] CLS q1..qN [/IMG] ASSISTANT: <text> [IMG] CLS q1..qN [/IMG] </s>

Numbers of places: 0 to v - 1 are the pieces of the tokeniser, then [IMG], [/IMG], which are written too; CLS, the
slots q1..qN and, where what a user says is followed by its frozen sentence vector, SAID, which are only read.
Axes: l places, v pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Int

from viewfinder.data.chatsearch import ImageItem, TextItem

FEWEST = 2
"""How often two pieces must stand together to become one."""


@dataclass(frozen=True)
class TokenizerRecord:
    """A tokeniser as a card has it.

    Attributes:
        json: the whole of tokenizer.json.
        begin, end: the numbers of the pieces before a talk and after an answer.
        count: how many pieces the language model knows; at least those of the tokeniser.
    """

    json: str = field(repr=False)
    begin: int
    end: int
    count: int


class TextTokenizer:
    """Cuts texts into pieces, and puts pieces together again."""

    def __init__(self, tokeniser: TokenizerRecord) -> None:
        from tokenizers import Tokenizer

        self.begin, self.end, self.count = tokeniser.begin, tokeniser.end, tokeniser.count
        self._tokeniser: Any = Tokenizer.from_str(tokeniser.json)
        self._tokeniser.no_padding()
        self._tokeniser.no_truncation()
        self._tokeniser.encode_special_tokens = True  # "</s>" that somebody types is four signs, no end

    def numbers(self, text: str) -> list[int]:
        """The numbers of a text's pieces, none for a beginning or an end."""
        found: list[int] = self._tokeniser.encode(text, add_special_tokens=False).ids
        return found

    def text(self, numbers: Sequence[int]) -> str:
        """The words that pieces make."""
        return str(self._tokeniser.decode(list(numbers), skip_special_tokens=True)).strip()


def train_tokenizer(texts: Iterable[str], most: int) -> TokenizerRecord:
    """A tokeniser of the pieces that are frequent in texts; all bytes are among them, so that any text can be read.

    Args:
        texts: to learn from, in lower case or not: pieces are.
        most: how many pieces at most.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    tokeniser: Any = Tokenizer(models.BPE())
    tokeniser.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokeniser.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokeniser.decoder = decoders.ByteLevel()
    trainer: Any = trainers.BpeTrainer(
        vocab_size=most,
        min_frequency=FEWEST,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokeniser.train_from_iterator(texts, trainer)
    count = int(tokeniser.get_vocab_size())
    return TokenizerRecord(tokeniser.to_str(), tokeniser.token_to_id("<s>"), tokeniser.token_to_id("</s>"), count)


Role = Literal["user", "assistant", "document"]
Item = TextItem | ImageItem

NO_PICTURE = -1


@dataclass(frozen=True)
class ExampleTurn:
    """What one side says and shows, in order; or a whole document."""

    role: Role
    items: tuple[Item, ...]


@dataclass(frozen=True)
class TrainingExample:
    """A talk or a document to learn from; `kind` is its name in a mixture."""

    turns: tuple[ExampleTurn, ...]
    kind: str

    @property
    def pictures(self) -> tuple[str, ...]:
        """The pictures it shows, in order."""
        items = (item for turn in self.turns for item in turn.items)
        return tuple(item.image for item in items if isinstance(item, ImageItem))

    @property
    def texts(self) -> tuple[str, ...]:
        """Its texts, in order."""
        items = (item for turn in self.turns for item in turn.items)
        return tuple(item.text for item in items if isinstance(item, TextItem))


@dataclass(frozen=True, eq=False)
class TokenSequence:
    """A piece of a sequence.

    Attributes:
        numbers_l: what stands at each place.
        picture_l: of CLS and the slots, whose: its place in `pictures`; else `NO_PICTURE`.
        learnt_l: whether it is learnt to be written: a piece of text, [IMG] and [/IMG] by the text head, CLS as the
            picture that is retrieved.
        pictures: those that are shown, in order.
        said: the texts whose vectors stand at SAID, in order.
    """

    numbers_l: Int[np.ndarray, " l"]
    picture_l: Int[np.ndarray, " l"]
    learnt_l: Bool[np.ndarray, " l"]
    pictures: tuple[str, ...] = ()
    said: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.numbers_l)


class SequenceCodec:
    """Turns to places, and back to words."""

    def __init__(self, tokeniser: TokenizerRecord, tokens: int, *, says: bool = False, learns_end: bool = True) -> None:
        """`tokens`: N; `says`: whether a user's words are followed by their sentence vector."""
        self.pieces = TextTokenizer(tokeniser)
        self.tokens, self.says, self.learns_end = tokens, says, learns_end
        self.img = self.pieces.count
        self.end = self.img + 1
        self.cls = self.img + 2
        self.slots = tuple(range(self.img + 3, self.img + 3 + tokens))
        self.said = self.img + 3 + tokens

    @property
    def written(self) -> int:
        """How many numbers the text head knows: the pieces, [IMG] and [/IMG]."""
        return self.img + 2

    def begin(self) -> TokenSequence:
        """What every talk and document begins with."""
        return _plain([self.pieces.begin], learnt=False)

    def user(self, items: Sequence[Item]) -> TokenSequence:
        """What the user says, up to where the answer begins. `[IMG]` among it is not learnt."""
        parts = [self._text("USER:", learnt=False), *self._items(items, learnt=False)]
        words = " ".join(item.text for item in items if isinstance(item, TextItem))
        if self.says and words:
            parts.append(TokenSequence(*_marks([self.said], learnt=False), said=(words,)))
        return join_sequences([*parts, self._text("ASSISTANT:", learnt=False)])

    def answer(self, items: Sequence[Item], *, ends: bool = True) -> TokenSequence:
        """What is answered, with the end of the answer; of pictures that nobody picked there is the end alone."""
        return join_sequences([*self._items(items, learnt=True), *([self.close(learnt=bool(items))] if ends else [])])

    def close(self, *, learnt: bool = True) -> TokenSequence:
        """The end of an answer or a document."""
        return _plain([self.pieces.end], learnt=learnt)

    def picture(self, key: str, *, learnt: bool) -> TokenSequence:
        """A picture; where it is learnt, its [IMG] is, and its CLS, but none of its slots."""
        numbers_l, _, learnt_l = _marks([self.img, self.cls, *self.slots, self.end], learnt=learnt)
        picture_l = np.array([NO_PICTURE, *([0] * (1 + self.tokens)), NO_PICTURE])
        learnt_l[2 : 2 + self.tokens] = False
        learnt_l[-1] = learnt and self.learns_end
        return TokenSequence(numbers_l, picture_l, learnt_l, (key,))

    def lesson(self, lesson: TrainingExample) -> TokenSequence:
        """A whole talk or document."""
        return join_sequences([self.begin(), *map(self._turn, lesson.turns)])

    def text(self, numbers: Iterable[int]) -> str:
        """Pieces as words; other numbers are left out."""
        return self.pieces.text([number for number in numbers if number < self.img])

    # -- inside

    def _turn(self, turn: ExampleTurn) -> TokenSequence:
        return self.user(turn.items) if turn.role == "user" else self.answer(turn.items)

    def _items(self, items: Sequence[Item], *, learnt: bool) -> list[TokenSequence]:
        return [
            self._text(item.text, learnt=learnt)
            if isinstance(item, TextItem)
            else self.picture(item.image, learnt=learnt)
            for item in items
        ]

    def _text(self, text: str, *, learnt: bool) -> TokenSequence:
        return _plain(self.pieces.numbers(text), learnt=learnt)


def join_sequences(parts: Sequence[TokenSequence]) -> TokenSequence:
    """Parts of a sequence, one after the other."""
    firsts = np.cumsum([0, *(len(part.pictures) for part in parts)])
    shifted = [
        np.where(part.picture_l == NO_PICTURE, NO_PICTURE, part.picture_l + first)
        for part, first in zip(parts, firsts, strict=False)
    ]
    return TokenSequence(
        np.concatenate([part.numbers_l for part in parts]),
        np.concatenate(shifted),
        np.concatenate([part.learnt_l for part in parts]),
        tuple(picture for part in parts for picture in part.pictures),
        tuple(text for part in parts for text in part.said),
    )


def _plain(numbers: Sequence[int], *, learnt: bool) -> TokenSequence:
    return TokenSequence(*_marks(numbers, learnt=learnt))


def _marks(
    numbers: Sequence[int], *, learnt: bool
) -> tuple[Int[np.ndarray, " l"], Int[np.ndarray, " l"], Bool[np.ndarray, " l"]]:
    numbers_l = np.array(numbers, np.int64)
    return numbers_l, np.full(len(numbers_l), NO_PICTURE), np.full(len(numbers_l), learnt)
