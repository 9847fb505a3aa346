"""The RNN baseline of Fashion IQ, which is the dialog manager of Guo et al. (NeurIPS 2018), in torch.

A turn's words go through a convolution over pairs of them; their maximum is added to the picture they were said about,
and a GRU cell carries the sum from turn to turn. Axes: b talks, l words, s numbers of a word, a attributes, g numbers
of a raw picture vector, f filters, p places that a filter sees, h numbers of a picture's vector, of the state and of a
query.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from viewfinder.retrievers.fashioniq.feedback import NO_WORD, Feedback, FeedbackNetwork
from viewfinder.retrievers.fashioniq.look import PictureEncoder
from viewfinder.retrievers.fashioniq.network import pad_numbers
from viewfinder.retrievers.fashioniq.settings import RecurrentModel
from viewfinder.retrievers.shared.network import WordVectors

PAIR = 2
"""Neighbours that a filter sees at a time."""


class RecurrentRetriever(FeedbackNetwork):
    """The network. `labels` is how many attributes there are; they are read where the settings ask for some."""

    def __init__(self, settings: RecurrentModel, raw_width: int, words: WordVectors, labels: int) -> None:
        super().__init__()
        width = settings.width
        self.settings = settings
        self.looks = PictureEncoder(settings, raw_width)
        self.words = words
        self.sentence = SentenceConvolution(settings, words.width)
        if settings.attributes:
            self.attribute = nn.Embedding(labels + 1, width, padding_idx=NO_WORD)
        self.joint = nn.Linear(width, width, bias=False)
        self.cell = nn.GRUCell(width, width, bias=False)
        self.head = nn.Linear(width, width, bias=False)

    def look(self, raw_bg: Float[Tensor, "b g"]) -> Float[Tensor, "b h"]:
        """Pictures as vectors."""
        vectors_bh: Tensor = self.looks(raw_bg)
        return vectors_bh

    def begin(self, talks: int) -> Float[Tensor, "b h"]:
        """Zeros."""
        return self.head.weight.new_zeros(talks, self.settings.width)

    def step(
        self, state: Float[Tensor, "b h"], feedback: Feedback
    ) -> tuple[Float[Tensor, "b h"], Float[Tensor, "b h"]]:
        """The state after one more turn, and the query in it."""
        words_bl = pad_numbers(feedback.words_bl, self.settings.most_words)
        said_bh = self.sentence(self.words(words_bl)) + shown_pictures(feedback)
        if self.settings.attributes:
            said_bh = said_bh + mean_attributes(
                self.attribute, pad_numbers(feedback.attributes_ba, self.settings.attributes)
            )
        state_bh = self.cell(self.joint(said_bh), state)
        return state_bh, self.looks.compared(self.head(state_bh))


class SentenceConvolution(nn.Module):
    """Word vectors to a vector of the sentence: filters, the strongest answer of each, a norm over the batch, a map.

    As published there is no ReLU, and places without a word are read as words of zeros.
    """

    def __init__(self, settings: RecurrentModel, word_width: int) -> None:
        super().__init__()
        self.over_words = settings.slides_over == "words"
        self.filters = nn.Conv1d(word_width if self.over_words else settings.most_words, settings.filters, PAIR)
        self.norm = nn.BatchNorm1d(settings.filters)
        self.out = nn.Linear(settings.filters, settings.width, bias=False)

    def forward(self, vectors_bls: Float[Tensor, "b l s"]) -> Float[Tensor, "b h"]:
        """Sentences of exactly as many places as words are read."""
        answers_bfp = self.filters(vectors_bls.transpose(1, 2) if self.over_words else vectors_bls)
        mapped_bh: Tensor = self.out(self.norm(answers_bfp.amax(dim=-1)))
        return mapped_bh


def shown_pictures(feedback: Feedback) -> Float[Tensor, "b h"]:
    """The pictures that were shown, zeros where none was."""
    return torch.where(feedback.shown_b[:, None], feedback.picture_bh, 0.0)


def mean_attributes(attribute: nn.Embedding, attributes_ba: Int[Tensor, "b a"]) -> Float[Tensor, "b h"]:
    """The mean vector of the attributes that are there, zeros where there are none."""
    count_b = (attributes_ba != NO_WORD).sum(dim=-1).clamp_min(1)
    mean_bh: Tensor = attribute(attributes_ba).sum(dim=1) / count_b[:, None]
    return mean_bh
