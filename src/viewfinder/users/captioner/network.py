"""Networks that say how a wanted picture differs from a shown one, word by word. In torch.

`TransformerCaptionerNetwork` is f_R of Fashion IQ (Wu et al., CVPR 2021, Sec. 4.1); `RecurrentCaptionerNetwork` its
baseline, the captioner of Guo et al. (NeurIPS 2018).

Axes: b pairs of pictures, t words, l tokens read from a pair, g numbers of a raw picture vector, x what is read from
it, k attributes, w width, v words of the vocabulary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout, relu

from viewfinder.errors import BadInput
from viewfinder.training.layers import (
    AttributeHead,
    Decoder,
    KeysValues,
    PictureInput,
    TokenEncoder,
    add_positions,
    sinusoid_positions,
)
from viewfinder.users.captioner.settings import CaptionerModel, PictureReading, RecurrentCaptioner, TransformerCaptioner

MOMENTUM = 0.01
"""Momentum of the pictures' batch norms, as published."""

Memory = tuple[Tensor, ...]
"""A network's encoding of pairs of pictures; only that network can read it."""


class CaptionState(ABC):
    """Captions as far as they are said: what a network need not compute again for the next word."""

    @abstractmethod
    def of(self, rows: Int[Tensor, " r"]) -> CaptionState:
        """The state of some pairs, each as often as it is named."""


class CaptionerNetwork(nn.Module, ABC):
    """Looks at a shown and a wanted picture, and predicts the next word of a caption.

    `attributes` is a frozen head, saved along; None if no attributes are read.
    """

    def __init__(self, settings: PictureReading, raw_width: int, labels: int) -> None:
        super().__init__()
        if settings.attributes and not labels:
            raise BadInput(f"{settings.attributes} attributes are to be read, but there are none: set attributes to 0")
        self.settings, self.raw_width = settings, raw_width
        self.input = PictureInput(settings.image, raw_width, settings.components)
        self.attributes = AttributeHead(labels, raw_width) if settings.attributes else None
        self.attributes_read = min(settings.attributes, labels)

    @abstractmethod
    def see(self, shown_bg: Float[Tensor, "b g"], wanted_bg: Float[Tensor, "b g"]) -> Memory:
        """Encodes pairs of pictures from their raw vectors."""

    @abstractmethod
    def begin(self, memory: Memory) -> Any:
        """The `CaptionState` in which nothing is said yet."""

    @abstractmethod
    def step(self, speech: Any, words_bt: Int[Tensor, "b t"]) -> tuple[Float[Tensor, "b t v"], Any]:
        """Logits of what follows each of the words said now, and the `CaptionState` after them."""

    def logits(self, memory: Memory, words_bt: Int[Tensor, "b t"]) -> Float[Tensor, "b t v"]:
        """Logits of what follows each word; captions begin with <start>."""
        return self.step(self.begin(memory), words_bt)[0]

    def top_attributes(self, raw_bg: Float[Tensor, "b g"]) -> Int[Tensor, "b k"]:
        """Numbers of the attributes that are read from pictures, the likeliest first."""
        assert self.attributes is not None
        return self.attributes.top(raw_bg, self.attributes_read)


class TransformerCaptionerNetwork(CaptionerNetwork):
    """The published captioner (Wu et al., Sec. 4.1): an encoder of pictures and attributes, a decoder of words.

    The two pictures become one token, and attributes are 8 more per picture, all with positions, as in the paper and
    the published simulator. (The published training folder has one token of the difference of all scores instead.)
    """

    def __init__(self, settings: TransformerCaptioner, raw_width: int, vocabulary_size: int, labels: int) -> None:
        super().__init__(settings, raw_width, labels)
        self.share, self.join = settings.dropout, torch.sub if settings.join == "subtract" else torch.mul
        width, read = settings.width, self.input.width
        self.shown_norm, self.wanted_norm = (nn.BatchNorm1d(read, momentum=MOMENTUM) for _ in range(2))
        self.shown, self.wanted = nn.Linear(read, width), nn.Linear(read, width)
        if self.attributes_read:
            self.shown_attributes, self.wanted_attributes = (
                nn.Embedding(labels + 1, width, padding_idx=0) for _ in range(2)
            )
        sizes = (width, settings.layers, settings.heads, settings.hidden, settings.dropout)
        self.encoder, self.decoder = TokenEncoder(*sizes), Decoder(*sizes)
        self.words = nn.Embedding(vocabulary_size, width)
        self.out = nn.Linear(width, vocabulary_size)
        places = max(settings.most_words, settings.learnt_words + 1, 1 + 2 * self.attributes_read)
        self.register_buffer("places", sinusoid_positions(places, width), persistent=False)

    def see(self, shown_bg: Float[Tensor, "b g"], wanted_bg: Float[Tensor, "b g"]) -> Memory:
        """One tensor, the encoded tokens (b l w)."""
        shown_bw = self.shown(self.shown_norm(self.input(shown_bg)))
        wanted_bw = self.wanted(self.wanted_norm(self.input(wanted_bg)))
        tokens_blw = self.join(shown_bw, wanted_bw)[:, None]
        if self.attributes_read:
            shown_bkw = self.shown_attributes(self.top_attributes(shown_bg))
            wanted_bkw = self.wanted_attributes(self.top_attributes(wanted_bg))
            tokens_blw = torch.cat([tokens_blw, shown_bkw, wanted_bkw], dim=1)
        return (self.encoder(self._add_places(tokens_blw, 0)),)

    def begin(self, memory: Memory) -> TransformerCaptionState:
        """Nothing said; keys and values of what is read, shared by every word."""
        return TransformerCaptionState(self.decoder.seen(memory[0]))

    def step(
        self, speech: TransformerCaptionState, words_bt: Int[Tensor, "b t"]
    ) -> tuple[Float[Tensor, "b t v"], TransformerCaptionState]:
        """Decodes words after those that were said, of which only keys and values are needed."""
        words_btw = self._add_places(self.words(words_bt), speech.length)
        read_btw, said = self.decoder.step(words_btw, speech.memory, speech.said)
        return self.out(read_btw), TransformerCaptionState(speech.memory, said)

    def _add_places(self, tokens_blw: Float[Tensor, "b l w"], first: int) -> Float[Tensor, "b l w"]:
        places_lw = self.get_buffer("places")[first : first + tokens_blw.shape[1]]
        return dropout(add_positions(tokens_blw, places_lw), self.share, self.training)


@dataclass(frozen=True, eq=False)
class TransformerCaptionState(CaptionState):
    """Keys and values, one entry per layer: of what was read from the pictures, and of any words said so far."""

    memory: tuple[KeysValues, ...]
    said: tuple[KeysValues, ...] | None = None

    @property
    def length(self) -> int:
        """The number of words said, <start> counted."""
        return self.said[0].keys_bnlv.shape[2] if self.said else 0

    def of(self, rows: Int[Tensor, " r"]) -> TransformerCaptionState:
        """See `CaptionState`."""
        said = None if self.said is None else tuple(seen.of(rows) for seen in self.said)
        return TransformerCaptionState(tuple(seen.of(rows) for seen in self.memory), said)


@dataclass(frozen=True, eq=False)
class RecurrentCaptionState(CaptionState):
    """The tokens that are attended to, their keys, and the state of the LSTM."""

    memory_blw: Float[Tensor, "b l w"]
    keys_blw: Float[Tensor, "b l w"]
    hidden_bw: Float[Tensor, "b w"]
    cell_bw: Float[Tensor, "b w"]

    def of(self, rows: Int[Tensor, " r"]) -> RecurrentCaptionState:
        """See `CaptionState`."""
        return RecurrentCaptionState(
            self.memory_blw[rows], self.keys_blw[rows], self.hidden_bw[rows], self.cell_bw[rows]
        )


class RecurrentCaptionerNetwork(CaptionerNetwork):
    """An LSTM that attends to the wanted picture and to what is new in it (Show, attend and tell, Xu et al. 2015).

    Guo et al. attend to places of feature maps [wanted; wanted - shown]. We have one vector per picture, so here the
    two halves are two tokens, each with its own linear layer; attributes, if they are read, are further tokens.
    """

    def __init__(self, settings: RecurrentCaptioner, raw_width: int, vocabulary_size: int, labels: int) -> None:
        super().__init__(settings, raw_width, labels)
        width, read, self.share = settings.width, self.input.width, settings.dropout
        self.wanted, self.difference = nn.Linear(read, width), nn.Linear(read, width)
        if self.attributes_read:
            self.shown_attributes, self.wanted_attributes = (
                nn.Embedding(labels + 1, width, padding_idx=0) for _ in range(2)
            )
        self.first = nn.Linear(width, 2 * width)
        self.key, self.ask, self.weigh = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 1)
        self.words = nn.Embedding(vocabulary_size, width)
        self.cell = nn.LSTMCell(2 * width, width)
        self.out = nn.Linear(width, vocabulary_size)

    def see(self, shown_bg: Float[Tensor, "b g"], wanted_bg: Float[Tensor, "b g"]) -> Memory:
        """One tensor, the tokens that are attended to (b l w)."""
        shown_bx, wanted_bx = self.input(shown_bg), self.input(wanted_bg)
        pictures_blw = torch.stack([self.wanted(wanted_bx), self.difference(wanted_bx - shown_bx)], dim=1)
        tokens = [self._drop_out(relu(pictures_blw))]
        if self.attributes_read:
            tokens.append(self.shown_attributes(self.top_attributes(shown_bg)))
            tokens.append(self.wanted_attributes(self.top_attributes(wanted_bg)))
        return (torch.cat(tokens, dim=1),)

    def begin(self, memory: Memory) -> RecurrentCaptionState:
        """The state made from the mean of the tokens."""
        [memory_blw] = memory
        hidden_bw, cell_bw = self.first(memory_blw.mean(dim=1)).tanh().chunk(2, dim=1)
        return RecurrentCaptionState(memory_blw, self.key(memory_blw), hidden_bw, cell_bw)

    def step(
        self, speech: RecurrentCaptionState, words_bt: Int[Tensor, "b t"]
    ) -> tuple[Float[Tensor, "b t v"], RecurrentCaptionState]:
        """Word by word: each attends with the state before it."""
        hidden_bw, cell_bw = speech.hidden_bw, speech.cell_bw
        states: list[Tensor] = []
        for word_bw in self._drop_out(self.words(words_bt)).unbind(dim=1):
            attended_bw = self._attend(speech, hidden_bw)
            hidden_bw, cell_bw = self.cell(torch.cat([word_bw, attended_bw], dim=1), (hidden_bw, cell_bw))
            states.append(hidden_bw)
        logits_btv = self.out(self._drop_out(torch.stack(states, dim=1)))
        return logits_btv, RecurrentCaptionState(speech.memory_blw, speech.keys_blw, hidden_bw, cell_bw)

    def _attend(self, speech: RecurrentCaptionState, hidden_bw: Float[Tensor, "b w"]) -> Float[Tensor, "b w"]:
        weights_bl1 = self.weigh((speech.keys_blw + self.ask(hidden_bw)[:, None]).tanh()).softmax(dim=1)
        attended_bw: Tensor = (weights_bl1 * speech.memory_blw).sum(dim=1)
        return attended_bw

    def _drop_out(self, tokens: Float[Tensor, "*b w"]) -> Float[Tensor, "*b w"]:
        return dropout(tokens, self.share, self.training)


def make_captioner(model: CaptionerModel, raw_width: int, vocabulary_size: int, labels: int) -> CaptionerNetwork:
    """An untrained network, in torch's own initial state; the vocabulary's special words count.

    `labels` are the attributes that its head predicts; BadInput if the model reads some and there are none.
    """
    if isinstance(model, TransformerCaptioner):
        return TransformerCaptionerNetwork(model, raw_width, vocabulary_size, labels)
    return RecurrentCaptionerNetwork(model, raw_width, vocabulary_size, labels)
