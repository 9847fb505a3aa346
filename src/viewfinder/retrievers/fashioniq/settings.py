"""Settings of Fashion IQ's networks and of their training: the tables of presets.toml. No torch here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from viewfinder.errors import BadInput
from viewfinder.retrievers.shared.settings import WordSettings
from viewfinder.training.presets import TrainingSettings, check_settings

Modality = Literal["image", "text", "attributes"]

ROUNDS = 5
"""How many turns have an embedding of their own; later ones share the last."""

FIRST_SCALE, MAX_SCALE = 10.0, 100.0
"""The learnt factor on scores in a contrastive loss: its first and its greatest value."""


@dataclass(frozen=True, kw_only=True)
class FeedbackReading(WordSettings):
    """The inputs of a network of any kind, and how it compares; the published words are "glove".

    Attributes:
        image: what is read of a picture's raw vector: all of it, all on one scale, or its principal components.
        tokens: how a sentence is split: into words ("plain"), or into words and punctuation as nltk does, "does", "n't"
            (published; a search then needs nltk).
    """

    width: int = 256  # H, width of a picture's vector and of a query
    image: Literal["raw", "standardised", "whitened"] = "raw"
    components: int = 256  # of "whitened": how many
    words: Literal["encoder", "glove", "learned"] = "encoder"
    attributes: int = 8  # how many predicted attributes of a picture are read; 0: none
    tokens: Literal["plain", "nltk"] = "plain"
    compare: Literal["l2", "cosine"] = "l2"  # "l2", squared distance (published); or "cosine"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, "at least 1", "width", "components")
        check_settings(self, "at least 0", "attributes")


@dataclass(frozen=True, kw_only=True)
class TransformerModel(FeedbackReading):
    """The dialogue retriever over the whole history (Sec. 4.2); every default is the published code's.

    Attributes:
        layers, heads, hidden, dropout: of the encoder; the paper's hidden is 2048.
        history: "whole", every token attends to all turns so far and all are encoded again every turn (published); or
            "incremental", a turn's tokens attend to its own and earlier turns only, and are encoded once.
        positions: the published sinusoid (its exponents are twice the usual ones), or the usual one.
        turn_embeddings, modality_embeddings: whether tokens carry the turn and the kind they belong to.
        padding_mask: whether positions without a word or an attribute are left out of attention and of the mean.
        start_token: whether the words of a turn begin with <start>, a vector of zeros, so that one word less is read:
            what the published simulator says greedily.
    """

    kind: Literal["transformer"] = "transformer"
    layers: int = 6
    heads: int = 8
    hidden: int = 1024
    dropout: float = 0.0
    history: Literal["whole", "incremental"] = "whole"
    positions: Literal["published", "usual"] = "published"
    turn_embeddings: bool = False
    modality_embeddings: bool = False
    padding_mask: bool = False
    start_token: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, "at least 1", "layers", "heads", "hidden")
        if self.width % self.heads or self.width % 2:
            raise BadInput(f"a width of {self.width} must be even and a multiple of {self.heads} heads")
        if self.start_token and (self.padding_mask or self.most_words < 2):
            raise BadInput("start_token takes one of two words at least, and padding_mask would leave it out")


@dataclass(frozen=True, kw_only=True)
class RecurrentModel(FeedbackReading):
    """The RNN baseline of Guo et al. (NeurIPS 2018): a convolution over words, and a GRU over turns.

    Attributes:
        slides_over: what the convolution slides over: the words of a sentence (the paper, and the published code from
            its commit cfb90b5 on); or the dimensions of a word, with every position of a sentence as a channel of its
            own (the first commit of that code, 3cc6562).
    """

    kind: Literal["recurrent"] = "recurrent"
    filters: int = 512  # of the convolution over pairs of words
    slides_over: Literal["words", "numbers"] = "words"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, "at least 1", "filters")


@dataclass(frozen=True, kw_only=True)
class CompositionModel(FeedbackReading):
    """One turn composed of one picture and one sentence (appendix B, table 5)."""

    kind: Literal["composition"] = "composition"
    modalities: tuple[Modality, ...] = ("image", "text", "attributes")  # what is read of the turn
    gate: bool = True  # whether the text also enters the query directly, through a gate (rows A and B)
    text_width: int = 256  # of the GRU over words

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, "at least 1", "text_width")
        if not self.modalities or len(set(self.modalities)) < len(self.modalities):
            raise BadInput("modalities must name each of image, text, attributes once at most, and one at least")
        if self.gate and "text" not in self.modalities:
            raise BadInput("gate is for the text, and text is not among the modalities")
        if "attributes" not in self.modalities:
            object.__setattr__(self, "attributes", 0)
        elif not self.attributes:
            raise BadInput("attributes are among the modalities, and attributes is 0; read some, or leave them out")


Model = TransformerModel | RecurrentModel | CompositionModel


@dataclass(frozen=True, kw_only=True)
class LossSettings:
    """The loss of a turn.

    Attributes:
        kind: "triplet", [d(q, target) - d(q, random) + margin]+; "ranking", the same by likeness over all other targets
            and all other queries of the batch (the paper's single turns); or "contrastive", cross-entropy of the
            target among all targets of the batch.
    """

    kind: Literal["triplet", "ranking", "contrastive"] = "triplet"
    squared: bool = False  # triplet: squared distances (paper), else plain ones (published code)
    margin: float = 10.0  # triplet, ranking

    def __post_init__(self) -> None:
        check_settings(self, "above 0", "margin")


@dataclass(frozen=True, kw_only=True)
class PolicySettings:
    """Policy improvement after supervised training (Guo et al. 2018); with 0 epochs there is none.

    Attributes:
        epochs, learning_rate, batch: of this second stage.
    """

    epochs: int = 0
    learning_rate: float = 1e-4
    batch: int = 8
    candidates: int = 4  # how many nearest pictures are each played out to the end
    negatives: int = 5  # how many random pictures the best of them is told from
    temperature: float = 0.2  # of the softmax over negative squared distances

    def __post_init__(self) -> None:
        check_settings(self, "at least 1", "batch", "candidates", "negatives")
        if self.epochs < 0 or not min(self.learning_rate, self.temperature) > 0:
            raise BadInput("epochs are at least 0, learning_rate and temperature are above 0")


@dataclass(frozen=True, kw_only=True)
class FashionIqPreset:
    """A table of presets.toml.

    Attributes:
        kinds: kinds of the data to learn from, as its files name them; empty: all of them, in one network.
        simulator: what says how the wanted picture differs: the file of a trained captioner; "" trains one first;
            "recorded": none, training uses the recorded pairs alone, of one turn.
        selects: the validation figure by which the best weights are chosen.
    """

    model: Model
    training: TrainingSettings
    loss: LossSettings = field(default_factory=LossSettings)
    policy: PolicySettings = field(default_factory=PolicySettings)  # the second stage, of a recurrent network
    kinds: tuple[str, ...] = ()
    turns: int = 5  # of a dialogue in training; a composition has one
    simulator: str = ""
    captioner: str = "lab"  # the table of captioner.toml by which a simulator is trained, if one is
    attribute_file: str = ""  # trained attributes, for a simulator that has none; "" trains them first
    attributes: str = "lab"  # the table of attributes.toml by which they are trained, if they are
    batch: int = 64  # dialogues a step
    strangers: int = 0  # pictures of other kinds, some of each, that the contrastive loss also tells targets from
    exclude_shown: bool = False  # whether a picture is shown only once
    recorded: float = 0.0  # the share of dialogues that begin with a recorded pair and its recorded words
    described: float = 0.0  # the share of dialogues that begin with a description of the target and no picture
    attribute_dropout: float = 0.0  # the share of dialogues that are read without attributes
    selects: Literal["percentile", "recall"] = "percentile"

    def __post_init__(self) -> None:
        check_settings(self, "at least 1", "turns", "batch")
        check_settings(self, "from 0 to 1", "recorded", "described", "attribute_dropout")
        check_settings(self, "at least 0", "strangers")
        if self.recorded + self.described > 1:
            raise BadInput("recorded and described are shares of all dialogues: together at most 1")
        if self.model.kind == "composition" and self.simulator != "recorded":
            raise BadInput("a composition is trained on recorded pairs: set simulator to 'recorded' and turns to 1")
        improvable = self.model.kind == "recurrent" and self.simulator != "recorded" and not self.exclude_shown
        if self.policy.epochs and not improvable:
            raise BadInput(
                "policy improvement is of a recurrent network, with a simulator, and shows pictures again: set "
                "policy.epochs to 0"
            )
        if self.simulator == "recorded" and self.turns > 1:
            raise BadInput(f"turns is {self.turns}, and recorded pairs have one turn: set turns to 1")
