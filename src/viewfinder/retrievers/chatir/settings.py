"""Settings of a dialogue encoder and of its training: the tables of presets.toml. No torch here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viewfinder.errors import BadInput
from viewfinder.training.presets import TrainingSettings, check_settings

Masking = Literal["none", "captions", "questions", "answers", "rounds", "tokens"]

MASKED_SHARE = 0.2
"""The share that training hides (ChatIR, Sec. 5)."""

MAX_SCALE = 100.0
"""The greatest factor on scores in the contrastive loss; the scale is learnt."""

PROBE = "a picture"
"""An encoder's vector of these words identifies its space: stored in weights that search in that space."""


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The network: F, which reads a dialogue, and the space of pictures that it maps to.

    Attributes:
        reads: frozen sentence vectors of caption, questions and answers; or the tokens of one long text (published).
        width, layers, heads, hidden: of the transformer over sentence vectors.
        image: the space of pictures: "whitened", principal components of the training pictures' raw vectors, brought
            closer to one scale; "shared", the encoder's own, as published; "learned", a linear map trained with the
            network. The first two are frozen.
        text_model: tokens: a folder of transformers, a name on its hub, or "minilm", the all-MiniLM-L6-v2 built in.
        separator: tokens: "comma" writes "caption, question? answer, ..." (published code), "sep" has the tokenizer's
            separator between all of them (paper).
        verbatim: tokens: every round is read as it was said, including "don't know" and questions without a question
            mark, and too long a text loses its end (published code); else uninformative rounds are dropped, and the
            oldest ones if the text is too long.
    """

    reads: Literal["sentences", "tokens"] = "sentences"
    width: int = 256
    layers: int = 2
    heads: int = 4
    hidden: int = 512
    dropout: float = 0.1  # of both transformers, in training
    pooling: Literal["mean", "first"] = "mean"  # of the last states: the mean, or the first ([CLS], published)
    rounds: int = 10  # how many of the last questions and answers are read beside the caption; 0: the caption alone
    image: Literal["whitened", "shared", "learned"] = "whitened"
    image_width: int = 256  # width of that space; "shared" has the encoder's own
    text_model: str = "minilm"
    keep_layers: int = 0  # tokens: how many of its first layers are kept; 0: all
    train_layers: int = 0  # tokens: how many last layers train, with what follows them; 0: everything, embeddings too
    separator: Literal["comma", "sep"] = "comma"
    most_tokens: int = 200  # tokens of a text
    verbatim: bool = False

    def __post_init__(self) -> None:
        check_settings(self, "at least 1", "width", "layers", "heads", "hidden", "image_width")
        check_settings(self, "at least 0", "rounds", "keep_layers", "train_layers")
        if self.width % self.heads:
            raise BadInput(f"{self.heads} heads cannot share a width of {self.width}; choose a multiple")
        check_settings(self, "at least 0 and below 1", "dropout")
        if self.most_tokens < 8:
            raise BadInput(f"most_tokens is {self.most_tokens}; a caption needs 8 at least")
        if self.verbatim and self.reads != "tokens":
            raise BadInput("verbatim is for whole texts; set reads to 'tokens', or leave it out")


@dataclass(frozen=True, kw_only=True)
class ChatirLossSettings:
    """The loss of a training.

    Attributes:
        kind: "surrogate" of Recall@K, dialogues looking for pictures (paper), for a network that starts from trained
            weights; or "contrastive", both ways (said to be what the authors ran).
    """

    kind: Literal["surrogate", "contrastive"] = "surrogate"
    temperature: float = 0.01  # surrogate: of the sigmoid of two scores, which counts who is ahead

    def __post_init__(self) -> None:
        check_settings(self, "above 0", "temperature")


@dataclass(frozen=True, kw_only=True)
class ChatirPreset:
    """A table of presets.toml.

    Attributes:
        unasked: the share of rounds that training reads without their question, as a search reads unasked
            statements.
    """

    model: ModelSettings
    loss: ChatirLossSettings
    training: TrainingSettings
    batch: int = 256  # dialogues a step, over all processes
    rounds: int = 10  # a dialogue is read up to a random round, at most this one; 0: captions only
    mask: Masking = "captions"  # what training hides a fifth of
    unasked: float = 0.0
    dialogues: str = "*"  # which dialogues of the data to learn from; see `shared.picture_dialogues`
    selects: Literal["loss", "recall"] = "recall"  # the validation figure by which the best weights are chosen

    def __post_init__(self) -> None:
        if self.batch < 2:
            raise BadInput(f"batch is {self.batch}; a dialogue needs another one to be told from")
        check_settings(self, "at least 0", "rounds")
        check_settings(self, "at least 0 and below 1", "unasked")
