"""The networks of Fashion IQ (Wu et al., CVPR 2021): feedback on pictures in, queries out, turn by turn. In torch.

`TransformerRetriever` is f_D of Sec. 4.2, over all that is said and shown. `RecurrentRetriever` is its baseline, the
dialog manager of Guo et al. (NeurIPS 2018). `CompositionRetriever` is for single turns (appendix B, table 5).

Axes: b dialogues, l words or tokens so far, s width of a word, a attributes, t tokens of a turn (of a composition:
width of a sentence), g width of a raw picture vector, h width of a token, of a state, of a picture's vector and of a
query, f filters, p positions that a filter sees, j width of all that a composition reads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import normalize, pad, relu
from torch.nn.utils.rnn import pack_padded_sequence

from viewfinder.retrievers.fashioniq.settings import (
    ROUNDS,
    CompositionModel,
    FeedbackReading,
    Modality,
    RecurrentModel,
    TransformerModel,
)
from viewfinder.retrievers.shared.network import EPS, WordVectors
from viewfinder.retrievers.shared.numpy_network import NO_WORD
from viewfinder.training.layers import (
    AttributeHead,
    KeysValues,
    Norm,
    PictureInput,
    TokenEncoder,
    add_positions,
    sinusoid_positions,
)

SEPARATOR, WORD, ATTRIBUTE, IMAGE = range(4)
"""The kinds of tokens, as `modalities` numbers them."""

EMBEDDED = 0.02
"""The initial deviation of turn and modality embeddings."""

PAIR = 2
"""How many neighbouring words a filter sees at a time."""


class PictureEncoder(nn.Module):
    """A raw vector through a linear map, then through a norm ("l2") or scaled to length 1 ("cosine").

    The norm bounds the length of every vector: a search needs this, as it takes dot products of unit vectors.
    """

    def __init__(self, settings: FeedbackReading, raw_width: int) -> None:
        super().__init__()
        self.compare = settings.compare
        self.input = PictureInput(settings.image, raw_width, settings.components)
        self.project = nn.Linear(self.input.width, settings.width, bias=False)
        if settings.compare == "l2":
            self.norm = Norm(settings.width)

    def forward(self, raw_bg: Float[Tensor, "b g"]) -> Float[Tensor, "b h"]:
        """Pictures as vectors."""
        return self.project_input(self.input(raw_bg))

    def project_input(self, read_bx: Float[Tensor, "b x"]) -> Float[Tensor, "b h"]:
        """Pictures as vectors, from what `input` reads of them, which never changes in a training."""
        projected_bh: Tensor = self.project(read_bx)
        if self.compare == "cosine":
            return normalize(projected_bh, dim=-1, eps=EPS)
        return self.norm(projected_bh)  # type: ignore[no-any-return]

    def normalize_query(self, query_bh: Float[Tensor, "b h"]) -> Float[Tensor, "b h"]:
        """A query in the form that is compared with pictures: of length 1 for "cosine"."""
        return normalize(query_bh, dim=-1, eps=EPS) if self.compare == "cosine" else query_bh


class Feedback(NamedTuple):
    """One turn of several dialogues: numbers of words and of the shown picture's attributes, `NO_WORD` after the last;
    what `looks` made of the picture (anything where there is none); and whether one was shown."""

    words_bl: Int[Tensor, "b l"]
    attributes_ba: Int[Tensor, "b a"]
    picture_bh: Float[Tensor, "b h"]
    shown_b: Bool[Tensor, " b"]


class FeedbackNetwork(nn.Module, ABC):
    """A network that looks for pictures by relative feedback.

    `looks` makes vectors of pictures; `attributes` predicts their attributes, frozen, and is set by training so that it
    is saved too; `log_scale` is the logarithm of a contrastive loss's factor on scores.
    """

    looks: PictureEncoder
    attributes: AttributeHead | None

    def __init__(self) -> None:
        super().__init__()
        self.attributes = None
        self.log_scale = nn.Parameter(torch.zeros(()))

    @abstractmethod
    def begin(self, dialogues: int) -> Any:
        """The state of dialogues before anything is said."""

    @abstractmethod
    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Float[Tensor, "b h"]]:
        """The state after one more turn, and the query in it; gradients go back through all turns."""


class TokenHistory(NamedTuple):
    """Dialogues so far.

    Attributes:
        tokens_blh: for a "whole" history the tokens, which are encoded again with every turn; else none.
    """

    turns: int  # how many turns each has
    there_bl: Bool[Tensor, "b l"]  # which of the tokens so far are read
    tokens_blh: Float[Tensor, "b whole h"]
    seen: tuple[KeysValues, ...]  # for an "incremental" one what later tokens attend to, an entry a layer; else none
    summed_bh: Float[Tensor, "b h"]  # for an "incremental" one the sum of the encoded tokens


class TransformerRetriever(FeedbackNetwork):
    """f_D (Sec. 4.2): a transformer over all that is said and shown; `labels` is how many attributes there are.

    A turn is read as tokens, always at the same positions: a separator, its words, attributes of the shown picture, the
    picture.
    """

    def __init__(self, settings: TransformerModel, raw_width: int, words: WordVectors, labels: int) -> None:
        super().__init__()
        width = settings.width
        self.settings = settings
        self.looks = PictureEncoder(settings, raw_width)
        self.words = words
        self.word = nn.Linear(words.width, width)
        self.word_norm = Norm(width)
        if settings.attributes:
            self.attribute = nn.Embedding(labels + 1, width, padding_idx=NO_WORD, scale_grad_by_freq=True)
            self.attribute_norm = Norm(width)
        if settings.turn_embeddings:
            self.turns = nn.Parameter(EMBEDDED * torch.randn(ROUNDS, width))
        if settings.modality_embeddings:
            self.modalities = nn.Parameter(EMBEDDED * torch.randn(IMAGE + 1, width))
        self.encoder = TokenEncoder(width, settings.layers, settings.heads, settings.hidden, settings.dropout)
        self.head = nn.Linear(width, width)

    def begin(self, dialogues: int) -> TokenHistory:
        """Dialogues before anything is said."""
        width, weight = self.settings.width, self.head.weight
        return TokenHistory(
            turns=0,
            there_bl=torch.ones(dialogues, 0, dtype=torch.bool, device=weight.device),
            tokens_blh=weight.new_zeros(dialogues, 0, width),
            seen=(),
            summed_bh=weight.new_zeros(dialogues, width),
        )

    def step(self, state: TokenHistory, feedback: Feedback) -> tuple[TokenHistory, Float[Tensor, "b h"]]:
        """The dialogues after one more turn, and their queries."""
        tokens_bth, own_bt = self.tokens(state.turns, feedback)
        there_bl = torch.cat([state.there_bl, own_bt], dim=1)
        whole = self.settings.history == "whole"
        asking = (there_bl if whole else tokens_bth).shape[1]
        mask = there_bl[:, None].expand(-1, asking, -1) if self.settings.padding_mask else None  # None: all is seen
        if whole:
            tokens_blh, seen = torch.cat([state.tokens_blh, tokens_bth], dim=1), state.seen
            summed_bh = _sum_tokens(self.encoder(tokens_blh, mask), there_bl)
        else:
            tokens_blh = state.tokens_blh
            encoded_bth, seen = self.encoder.step(tokens_bth, state.seen or None, mask)
            summed_bh = state.summed_bh + _sum_tokens(encoded_bth, own_bt)
        query_bh = self.looks.normalize_query(self.head(relu(summed_bh / there_bl.sum(dim=1, keepdim=True))))
        return TokenHistory(state.turns + 1, there_bl, tokens_blh, seen, summed_bh), query_bh

    def tokens(self, turn: int, feedback: Feedback) -> tuple[Float[Tensor, "b t h"], Bool[Tensor, "b t"]]:
        """The tokens of turn 0, 1, ..., and which of them are read: without a padding mask, all."""
        settings, shown_b1 = self.settings, feedback.shown_b[:, None]
        words_bl = pad_numbers(feedback.words_bl, settings.most_words - settings.start_token)
        words_bl = pad(words_bl, (int(settings.start_token), 0), value=NO_WORD)
        kinds = [
            # A vector of zeros comes out of the norm as its bias.
            (SEPARATOR, self.word_norm.bias.expand(len(shown_b1), 1, -1), torch.ones_like(shown_b1)),
            (WORD, self.word_norm(self.word(self.words(words_bl))), words_bl != NO_WORD),
        ]
        if settings.attributes:
            attributes_ba = pad_numbers(feedback.attributes_ba, settings.attributes)
            read_bah = self.attribute_norm(self.attribute(attributes_ba))
            kinds.append((ATTRIBUTE, read_bah, attributes_ba != NO_WORD))
        kinds.append((IMAGE, torch.where(shown_b1, feedback.picture_bh, 0.0)[:, None], shown_b1))
        tokens_bth = torch.cat([tokens for _, tokens, _ in kinds], dim=1)
        there_bt = torch.cat([there for _, _, there in kinds], dim=1)
        if settings.modality_embeddings:
            tokens_bth = tokens_bth + self.modalities[[kind for kind, _, there in kinds for _ in range(there.shape[1])]]
        if settings.turn_embeddings:
            tokens_bth = tokens_bth + self.turns[min(turn, ROUNDS - 1)]
        first, last = turn * tokens_bth.shape[1], (turn + 1) * tokens_bth.shape[1]
        places_lh = sinusoid_positions(last, settings.width, published=settings.positions == "published")
        placed_bth = add_positions(tokens_bth, places_lh[first:].to(self.head.weight.device))
        return placed_bth, there_bt if settings.padding_mask else torch.ones_like(there_bt)


def pad_numbers(numbers_bl: Int[Tensor, "b _"], count: int) -> Int[Tensor, "b {count}"]:
    """The first `count` numbers of each row, with `NO_WORD` after them where there are fewer."""
    return pad(numbers_bl[:, :count], (0, max(0, count - numbers_bl.shape[1])), value=NO_WORD)


def _sum_tokens(tokens_blh: Float[Tensor, "b l h"], there_bl: Bool[Tensor, "b l"]) -> Float[Tensor, "b h"]:
    """The sum of the tokens that are there."""
    return torch.einsum("blh,bl->bh", tokens_blh, there_bl.to(tokens_blh.dtype))


class RecurrentRetriever(FeedbackNetwork):
    """The dialog manager of Guo et al.: words go through a convolution over pairs of them; its strongest responses are
    added to the picture that the words are about; a GRU cell over turns. `labels`: how many attributes there are."""

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

    def begin(self, dialogues: int) -> Float[Tensor, "b h"]:
        """Zeros."""
        return self.head.weight.new_zeros(dialogues, self.settings.width)

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
        return state_bh, self.looks.normalize_query(self.head(state_bh))


class SentenceConvolution(nn.Module):
    """Word vectors to a vector of the sentence: filters, the strongest response of each, a batch norm, a linear map.

    As published there is no ReLU. Positions without a word are read as words of zeros; in the published code they are
    read as word 0, whose vector is learnt like those of the others.
    """

    def __init__(self, settings: RecurrentModel, word_width: int) -> None:
        super().__init__()
        self.over_words = settings.slides_over == "words"
        self.filters = nn.Conv1d(word_width if self.over_words else settings.most_words, settings.filters, PAIR)
        self.norm = nn.BatchNorm1d(settings.filters)
        self.out = nn.Linear(settings.filters, settings.width, bias=False)

    def forward(self, vectors_bls: Float[Tensor, "b l s"]) -> Float[Tensor, "b h"]:
        """Sentences of exactly as many positions as words are read."""
        answers_bfp = self.filters(vectors_bls.transpose(1, 2) if self.over_words else vectors_bls)
        mapped_bh: Tensor = self.out(self.norm(answers_bfp.amax(dim=-1)))
        return mapped_bh


def shown_pictures(feedback: Feedback) -> Float[Tensor, "b h"]:
    """The shown pictures, zeros where none was shown."""
    return torch.where(feedback.shown_b[:, None], feedback.picture_bh, 0.0)


def mean_attributes(attribute: nn.Embedding, attributes_ba: Int[Tensor, "b a"]) -> Float[Tensor, "b h"]:
    """The mean vector of the attributes present, zeros where there are none."""
    count_b = (attributes_ba != NO_WORD).sum(dim=-1).clamp_min(1)
    mean_bh: Tensor = attribute(attributes_ba).sum(dim=1) / count_b[:, None]
    return mean_bh


class CompositionRetriever(FeedbackNetwork):
    """One turn, composed of a picture and a sentence (appendix B, table 5).

        C to F    query = joint([picture; sentence; attributes]) of those that are read: two linear maps with a ReLU
        A and B   query = sigmoid(gate([...])) * through(sentence) + joint([...])   after Vo et al. (TIRG, CVPR 2019),
                  who pass the picture through where these pass the sentence

    `labels` is how many attributes there are; they are read if they are among the modalities.
    """

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

    def begin(self, dialogues: int) -> tuple[()]:
        """Nothing: a turn is read alone."""
        return ()

    def step(self, state: tuple[()], feedback: Feedback) -> tuple[tuple[()], Float[Tensor, "b h"]]:
        """The query of one turn, whatever was said before it."""
        read = {modality: self._read_modality(modality, feedback) for modality in self.settings.modalities}
        joined_bj = torch.cat(list(read.values()), dim=-1)
        query_bh = self.joint(joined_bj)
        if self.settings.gate:
            query_bh = query_bh + torch.sigmoid(self.gate(joined_bj)) * self.through(read["text"])
        return (), self.looks.normalize_query(query_bh)

    def _read_modality(self, modality: Modality, feedback: Feedback) -> Float[Tensor, "b w"]:
        """The vector of one modality, in its own width."""
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
