"""A dialogue as one sequence: pieces of texts, and pictures as [IMG] CLS q1..qN [/IMG] (Sec. 4.1). No torch.

    USER: <text> [IMG] CLS q1..qN [/IMG] ASSISTANT: <text> [IMG] CLS q1..qN [/IMG] </s>

Token numbers: 0 to v - 1 are the pieces of the tokenizer, then [IMG], [/IMG], which are written too; CLS, the slots
q1..qN and, if a user's words are followed by their frozen sentence vector, SAID, which are only read.
Axes: l positions, v pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Int

from viewfinder.data.chatsearch import ImageItem, TextItem

Role = Literal["user", "assistant", "document"]
Item = TextItem | ImageItem

MIN_TOGETHER = 2
"""How often two pieces must occur together to become one."""


@dataclass(frozen=True)
class TokenizerRecord:
    """A tokenizer as stored on a card.

    Attributes:
        begin, end: the numbers of the pieces before a dialogue and after an answer.
    """

    json: str = field(repr=False)  # the whole tokenizer.json
    begin: int
    end: int
    count: int  # how many pieces the language model knows; at least as many as the tokenizer


class TextTokenizer:
    """Splits texts into pieces, and joins pieces again."""

    def __init__(self, record: TokenizerRecord) -> None:
        from tokenizers import Tokenizer

        self.begin, self.end, self.count = record.begin, record.end, record.count
        self._tokenizer: Any = Tokenizer.from_str(record.json)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True  # a typed "</s>" is four characters, not an end

    def encode(self, text: str) -> list[int]:
        """The numbers of a text's pieces, without a beginning or end."""
        found: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return found

    def decode(self, numbers: Sequence[int]) -> str:
        """The text of some pieces."""
        return str(self._tokenizer.decode(list(numbers), skip_special_tokens=True)).strip()


def train_tokenizer(texts: Iterable[str], most: int) -> TokenizerRecord:
    """A tokenizer of the pieces that are frequent in texts, in lower case, at most `most`.

    All bytes are among them, so that any text can be read.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    tokenizer: Any = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer: Any = trainers.BpeTrainer(
        vocab_size=most,
        min_frequency=MIN_TOGETHER,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    count = int(tokenizer.get_vocab_size())
    return TokenizerRecord(tokenizer.to_str(), tokenizer.token_to_id("<s>"), tokenizer.token_to_id("</s>"), count)


@dataclass(frozen=True)
class TrainingTurn:
    """The words and pictures of one side's turn, in order; or a whole document."""

    role: Role
    items: tuple[Item, ...]


@dataclass(frozen=True)
class TrainingExample:
    """A dialogue or a document to learn from; `kind` is its name in a mixture."""

    turns: tuple[TrainingTurn, ...]
    kind: str

    @property
    def pictures(self) -> tuple[str, ...]:
        """The pictures it shows, in order."""
        return tuple(item.image for turn in self.turns for item in turn.items if isinstance(item, ImageItem))

    @property
    def texts(self) -> tuple[str, ...]:
        """Its texts, in order."""
        return tuple(item.text for turn in self.turns for item in turn.items if isinstance(item, TextItem))


@dataclass(frozen=True, eq=False)
class TokenSequence:
    """A piece of a sequence.

    Attributes:
        learnt_l: whether writing it is learnt: a piece of text, [IMG] and [/IMG] by the text head, CLS as the picture
            to retrieve.
    """

    numbers_l: Int[np.ndarray, " l"]  # the token at each position
    learnt_l: Bool[np.ndarray, " l"]
    pictures: tuple[str, ...] = ()  # those shown, in order
    said: tuple[str, ...] = ()  # the texts whose vectors stand at SAID, in order

    def __len__(self) -> int:
        return len(self.numbers_l)


class SequenceCodec:
    """Encodes turns as tokens, and decodes them to words."""

    def __init__(self, record: TokenizerRecord, tokens: int, *, says: bool = False) -> None:
        """`tokens`: N; `says`: whether a user's words are followed by their sentence vector."""
        self.tokenizer = TextTokenizer(record)
        self.tokens, self.says = tokens, says
        self.img = self.tokenizer.count
        self.end = self.img + 1
        self.cls = self.img + 2
        self.slots = tuple(range(self.img + 3, self.img + 3 + tokens))
        self.said = self.img + 3 + tokens

    def begin(self) -> TokenSequence:
        """The beginning of every dialogue and document."""
        return _make_sequence([self.tokenizer.begin], learnt=False)

    def encode_user(self, items: Sequence[Item]) -> TokenSequence:
        """A turn of the user, up to where the answer begins. None of it is learnt."""
        parts = [self._encode_text("USER:", learnt=False), *self._encode_items(items, learnt=False)]
        words = " ".join(item.text for item in items if isinstance(item, TextItem))
        if self.says and words:
            parts.append(_make_sequence([self.said], learnt=False, said=(words,)))
        return join_sequences([*parts, self._encode_text("ASSISTANT:", learnt=False)])

    def encode_answer(self, items: Sequence[Item]) -> TokenSequence:
        """The answer, with its end; if pictures were shown and none was picked, the end alone."""
        return join_sequences(
            [*self._encode_items(items, learnt=True), _make_sequence([self.tokenizer.end], learnt=bool(items))]
        )

    def encode_picture(self, key: str, *, learnt: bool) -> TokenSequence:
        """A picture; if it is learnt, so are its [IMG], CLS and [/IMG], but none of its slots (Eq. 1)."""
        found = _make_sequence([self.img, self.cls, *self.slots, self.end], learnt=learnt, pictures=(key,))
        found.learnt_l[2:-1] = False
        return found

    def encode_example(self, example: TrainingExample) -> TokenSequence:
        """A whole dialogue or document."""
        turns = (
            self.encode_user(turn.items) if turn.role == "user" else self.encode_answer(turn.items)
            for turn in example.turns
        )
        return join_sequences([self.begin(), *turns])

    def decode(self, numbers: Iterable[int]) -> str:
        """Pieces as words; other numbers are left out."""
        return self.tokenizer.decode([number for number in numbers if number < self.img])

    def _encode_items(self, items: Sequence[Item], *, learnt: bool) -> list[TokenSequence]:
        return [
            self._encode_text(item.text, learnt=learnt)
            if isinstance(item, TextItem)
            else self.encode_picture(item.image, learnt=learnt)
            for item in items
        ]

    def _encode_text(self, text: str, *, learnt: bool) -> TokenSequence:
        return _make_sequence(self.tokenizer.encode(text), learnt=learnt)


def join_sequences(parts: Sequence[TokenSequence]) -> TokenSequence:
    """Parts of a sequence, one after the other."""
    return TokenSequence(
        np.concatenate([part.numbers_l for part in parts]),
        np.concatenate([part.learnt_l for part in parts]),
        tuple(picture for part in parts for picture in part.pictures),
        tuple(text for part in parts for text in part.said),
    )


def _make_sequence(
    numbers: Sequence[int], *, learnt: bool, pictures: tuple[str, ...] = (), said: tuple[str, ...] = ()
) -> TokenSequence:
    return TokenSequence(np.array(numbers, np.int64), np.full(len(numbers), learnt), pictures, said)
