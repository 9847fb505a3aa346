"""How texts become the vector of a talk: by frozen sentence vectors in numpy, or by a text encoder in torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32

from viewfinder.retrievers.base import SentenceEncoder
from viewfinder.retrievers.chatir.forward import encode_caption, encode_dialogue, encode_round
from viewfinder.retrievers.chatir.settings import ModelSettings
from viewfinder.retrievers.chatir.texts import RoundText, fit_dialogue, last_rounds
from viewfinder.retrievers.shared.forward import Arrays, check_sentences
from viewfinder.training.weights import Weights

PartKind = Literal["caption", "round"]


@dataclass(frozen=True, eq=False)
class DialoguePart:
    """A piece of a talk: its texts, and what the transformer reads of them (None where it reads the whole text)."""

    said: RoundText
    token_w: Float32[np.ndarray, " w"] | None = None


@runtime_checkable
class Reader(Protocol):
    """Reads a talk piece by piece."""

    def piece(self, said: RoundText, kind: PartKind, sentences: SentenceEncoder | None) -> DialoguePart:
        """A piece of the talk, encoded as far as it can be on its own."""
        ...

    def vector(self, caption: DialoguePart | None, rounds: Sequence[DialoguePart]) -> Float32[np.ndarray, " d"]:
        """The unit vector of a talk, of whose rounds the oldest may be left out."""
        ...


def build_reader(weights: Weights, settings: ModelSettings) -> Reader:
    """What reads talks with these weights."""
    if settings.reads == "tokens":
        return TokenReader(weights, settings)
    return SentenceReader(weights.arrays, settings, weights.card.settings["sentences_version"])


class SentenceReader:
    """Reads the frozen vectors of caption, questions and answers: each is encoded once, when it is said."""

    def __init__(self, arrays: Arrays, settings: ModelSettings, version: str) -> None:
        self._arrays, self._settings, self._version = arrays, settings, version

    def piece(self, said: RoundText, kind: PartKind, sentences: SentenceEncoder | None) -> DialoguePart:
        """A piece and its token.

        Raises:
            EncoderMismatch: the session's sentence vectors are of another version.
        """
        known = check_sentences(sentences, self._version)
        answer_s = known.encode([said.answer])[0]
        if kind == "caption":
            return DialoguePart(said, encode_caption(self._arrays, answer_s))
        question_s = known.encode([said.question])[0] if said.question else np.zeros_like(answer_s)
        return DialoguePart(said, encode_round(self._arrays, question_s, answer_s))

    def vector(self, caption: DialoguePart | None, rounds: Sequence[DialoguePart]) -> Float32[np.ndarray, " d"]:
        """The caption and the last rounds, as many as the network has places for."""
        tokens = [piece.token_w for piece in last_rounds(rounds, self._settings.rounds) if piece.token_w is not None]
        return encode_dialogue(self._arrays, self._settings, caption.token_w if caption else None, tokens)


class TokenReader:
    """Reads the talk as one text, from its beginning at every turn: the published way.

    The weights hold the text encoder, and their card under "text" what `text_model.TextModel.record` says. torch
    and transformers are imported when they are loaded.
    """

    def __init__(self, weights: Weights, settings: ModelSettings) -> None:
        import torch
        from tokenizers import Tokenizer

        from viewfinder.retrievers.chatir.network import TokenDialogueEncoder
        from viewfinder.retrievers.chatir.text_model import build_text_encoder

        text = weights.card.settings["text"]
        self._settings, self._mark = settings, str(text["mark"])
        self._tokenizer = Tokenizer.from_str(text["tokenizer"])
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._network = TokenDialogueEncoder(
            settings, len(weights.arrays.get("whole_mean", ())), build_text_encoder(text["config"])
        )
        self._network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.arrays.items()})
        self._network.eval()

    def piece(self, said: RoundText, kind: PartKind, sentences: SentenceEncoder | None) -> DialoguePart:
        """A piece as it was said: tokens are read in their context only."""
        return DialoguePart(said)

    def vector(self, caption: DialoguePart | None, rounds: Sequence[DialoguePart]) -> Float32[np.ndarray, " d"]:
        """The caption and the last rounds, as many as there are tokens for."""
        import torch

        said = [piece.said for piece in last_rounds(rounds, self._settings.rounds)]
        most, separator = self._settings.most_tokens, self._settings.separator
        text = fit_dialogue(caption.said.answer if caption else "", said, self._count, most, separator, self._mark)
        ids = self._tokenizer.encode(text).ids
        ids_1l = torch.tensor([ids if len(ids) <= most else [*ids[: most - 1], ids[-1]]])
        with torch.no_grad():
            vector_1d = self._network.read(ids_1l, torch.ones_like(ids_1l, dtype=torch.bool))
        return np.asarray(vector_1d[0].numpy(), np.float32)

    def _count(self, text: str) -> int:
        return len(self._tokenizer.encode(text).ids)
