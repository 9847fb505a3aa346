"""Texts as pieces of a tokeniser, in training and at search alike. No torch here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

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
