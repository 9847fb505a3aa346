"""One turn, composed of a picture and a sentence: the single-turn models of Fashion IQ (appendix B, table 5), in torch.

    C to F    query = joint([picture; sentence; attributes]) of those that are read: two linear maps, a ReLU between
    A and B   query = sigmoid(gate([...])) * through(sentence) + joint([...])   after Vo et al. (TIRG, CVPR 2019), who
              let the picture through where these let the sentence

Axes: b talks, l words, s numbers of a word, t numbers of a sentence, a attributes, g numbers of a raw picture vector, j
numbers of all that is read, h numbers of a picture's vector and of a query.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from viewfinder.retrievers.fashioniq.feedback import NO_WORD, Feedback, FeedbackNetwork
from viewfinder.retrievers.fashioniq.look import PictureEncoder
from viewfinder.retrievers.fashioniq.network import pad_numbers
from viewfinder.retrievers.fashioniq.recurrent import mean_attributes, shown_pictures
from viewfinder.retrievers.fashioniq.settings import CompositionModel, Modality
from viewfinder.retrievers.shared.network import WordVectors


class CompositionRetriever(FeedbackNetwork):
    """The network. `labels` is how many attributes there are; they are read where they are among the modalities."""

    def __init__(self, settings: CompositionModel, raw_width: int, words: WordVectors, labels: int) -> None:
        super().__init__()
        width, read = settings.width, settings.modalities
        self.settings = settings
        self.looks = PictureEncoder(settings, raw_width)
        if "text" in read:
            self.words = words
            self.sentence = SentenceGru(words.width, settings.text_width)
        if "attributes" in read:
            self.attribute = nn.Embedding(labels + 1, width, padding_idx=NO_WORD)
        joined = sum(settings.text_width if modality == "text" else width for modality in read)
        self.joint = nn.Sequential(nn.Linear(joined, width), nn.ReLU(), nn.Linear(width, width))
        if settings.gate:
            self.gate = nn.Linear(joined, width)
            self.through = nn.Linear(settings.text_width, width)

    def look(self, raw_bg: Float[Tensor, "b g"]) -> Float[Tensor, "b h"]:
        """Pictures as vectors."""
        vectors_bh: Tensor = self.looks(raw_bg)
        return vectors_bh

    def begin(self, talks: int) -> tuple[()]:
        """Nothing: a turn is read alone."""
        return ()

    def step(self, state: tuple[()], feedback: Feedback) -> tuple[tuple[()], Float[Tensor, "b h"]]:
        """The query of one turn, whatever was said before it."""
        read = {modality: self._read(modality, feedback) for modality in self.settings.modalities}
        joined_bj = torch.cat(list(read.values()), dim=-1)
        query_bh = self.joint(joined_bj)
        if self.settings.gate:
            query_bh = query_bh + torch.sigmoid(self.gate(joined_bj)) * self.through(read["text"])
        return (), self.looks.compared(query_bh)

    def _read(self, modality: Modality, feedback: Feedback) -> Float[Tensor, "b w"]:
        """What is read of one modality, in its own width."""
        if modality == "image":
            return shown_pictures(feedback)
        if modality == "attributes":
            return mean_attributes(self.attribute, pad_numbers(feedback.attributes_ba, self.settings.attributes))
        words_bl = pad_numbers(feedback.words_bl, self.settings.most_words)
        read_bt: Tensor = self.sentence(self.words(words_bl), words_bl != NO_WORD)
        return read_bt


class SentenceGru(nn.Module):
    """Word vectors to a vector of the sentence: the output of a GRU at the last word."""

    def __init__(self, word_width: int, width: int) -> None:
        super().__init__()
        self.gru = nn.GRU(word_width, width, batch_first=True)

    def forward(self, vectors_bls: Float[Tensor, "b l s"], there_bl: Bool[Tensor, "b l"]) -> Float[Tensor, "b t"]:
        """Sentences of any length; one without words is read as a single word of zeros."""
        lengths_b = there_bl.sum(dim=1).clamp_min(1)
        packed = pack_padded_sequence(vectors_bls, lengths_b.cpu(), batch_first=True, enforce_sorted=False)
        last_1bt: Tensor = self.gru(packed)[1]
        return last_1bt[0]
