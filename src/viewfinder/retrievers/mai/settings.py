"""Settings of MAI's networks and of their training: the tables of presets.toml. No torch here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from viewfinder.errors import BadInput
from viewfinder.retrievers.shared.settings import WordSettings
from viewfinder.training.presets import TrainingSettings, check_settings

MemoryKind = Literal["none", "concatenation", "lstm", "gru", "ntm", "mio"]
Treatment = Literal["replace", "ignore", "random", "blend"]
Term = Literal["query_target", "query_caption", "modification_target", "modification_caption"]
Combination = Literal["seen", "official_fc", "official_fiq"]
TextForm = Literal["whole", "official"]
Noise = Literal["", "mixing", "normal", "uniform", "product"]

WHITENING = 0.5
"""How far the components of pictures are brought to one scale, 0 to 1."""

WHOLE_TOKENS = 4
"""How many tokens the whole vector of a picture becomes."""

SLOTS = 16
"""Of the memory "ntm"."""

MAX_SCALE = 100.0
"""The greatest factor on cosines."""

EVERY_TERM: tuple[Term, ...] = ("query_target", "query_caption", "modification_target", "modification_caption")


@dataclass(frozen=True, kw_only=True)
class Iteration:
    """Multi-turn iterative optimisation (MIO): which of the tokens before and after a turn are kept.

    Attributes:
        density: "tcformer", exp of minus the mean squared distance to the nearest `neighbours`, including itself, with
            distances divided by the root of the width; or "paper", the same with plain distances, excluding itself.
        distance: a token's distance "denser", to the nearest denser token (for the densest: to the farthest);
            or "nearest", to the nearest token (the paper's words).
        detach_earlier: whether tokens from before a turn get no gradient when they are kept (published code).
    """

    density: Literal["tcformer", "paper"] = "tcformer"
    distance: Literal["denser", "nearest"] = "denser"
    neighbours: int = 5  # of density; the paper takes as many as tokens are kept
    drop: float = 0.0  # share of the tokens dropped for low density alone, before the rest are scored (paper)
    detach_earlier: bool = False

    def __post_init__(self) -> None:
        check_settings(self, "at least 1", "neighbours")
        if not 0 <= self.drop <= 0.5:
            raise BadInput(f"drop is {self.drop}; it must be from 0 to 0.5: half of the tokens are to be kept")


@dataclass(frozen=True, kw_only=True)
class Model(WordSettings):
    """A Q-Former that reads pictures and texts, and what is carried from turn to turn.

    Attributes:
        width, layers, heads, hidden, dropout: of the Q-Former.
        image: what is read of a picture: its whole vector, its regions, or both.
        texts: how a modification is read: "whole"; or "official", two of its numbered clauses and nothing before
            them: the first and the last; in training any two, or any one and the last if that is the fourth.
        clean_words: how many words of a text in pieces are read (published: 50); 0: all.
        components, region_components: principal components that are read of either; 0: all numbers, unchanged.
        stages: "two", caption first, modification second (TSA: BSA, then MSA); "one", the modification alone; "sprc",
            the modification with the picture and once more without, and pictures by all their tokens.
        targets: what target pictures are read with: a "text", which is their caption or empty; or "official",
            nothing, as SPRC's published code does: the learned tokens and the picture alone.
        memory: what is carried: nothing, all tokens, a recurrent state, a memory that is written to, or MIO's choice.
        query: "cls", the state at the beginning of the modification (published code); or "fused", tokens (paper).
        captions: whether captions of pictures are read; with "sprc" in a stage before its own two, so that it gets
            what MAI gets.
        recall: how a combination reads earlier pictures: their "captions" as one text (published), or the "pictures"
            themselves, one after the other.
        combination: what reads them, and of which pictures. "seen": the tokens that have seen the turn's own picture,
            those that are named. "official_fc": the tokens that MIO kept before, all pictures before the turn's own,
            which is not read (published code, source FC). "official_fiq": the tokens that MIO keeps after the turn's
            own picture, all pictures and that one (published code, source Fiq).
    """

    width: int = 64
    layers: int = 2
    heads: int = 2
    hidden: int = 128
    dropout: float = 0.0
    cross_every: int = 2  # tokens look at the picture in every so many layers, from the first on
    tokens: int = 32  # learned queries, and carried tokens; `prompts` are read with a text alone
    prompts: int = 8
    projection: int = 64  # width of a query's and a picture's vector
    image: Literal["whole", "regions", "both"] = "whole"
    components: int = 256
    region_components: int = 64
    image_width: int = 0  # width of a picture's token; 0: the same as `width`. BLIP-2's weights fix it.
    word_width: int = 64
    tokeniser: str = ""  # of words "pieces": a name or folder for transformers
    most_words: int = 32
    texts: TextForm = "whole"
    clean_words: int = 0
    qformer: str = ""  # a name or folder of BLIP-2's weights to start from, with these sizes; "": random
    stages: Literal["one", "two", "sprc"] = "two"
    targets: Literal["text", "official"] = "text"
    memory: MemoryKind = "mio"
    iteration: Iteration = field(default_factory=Iteration)
    query: Literal["cls", "fused"] = "cls"
    captions: bool = True
    recall: Literal["captions", "pictures"] = "captions"
    combination: Combination = "seen"
    rollback: Treatment = "replace"  # how the picture is treated when a turn goes back to an earlier one

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, "at least 1", "width", "layers", "heads", "hidden", "cross_every", "projection")
        check_settings(self, "at least 1", "tokens", "prompts")
        if self.width % self.heads:
            raise BadInput(f"a width of {self.width} must be a multiple of {self.heads} heads")
        check_settings(self, "from 0 to 1", "dropout")
        if min(self.components, self.region_components, self.image_width, self.clean_words) < 0:
            raise BadInput("components, region_components, image_width and clean_words are at least 0")
        if (self.words == "pieces") != bool(self.tokeniser):
            raise BadInput("words 'pieces' and a tokeniser go together: set both or neither")
        if self.qformer and self.words != "pieces":
            raise BadInput(f"weights of BLIP-2 (qformer) read pieces, and words is {self.words!r}: set it to 'pieces'")
        if self.stages == "one" and self.captions:
            raise BadInput("captions are read in a stage of their own, and stages is 'one': set captions to false")
        if self.stages == "sprc" and self.query != "cls":
            raise BadInput("stages 'sprc' queries by 'cls'")
        if self.targets == "official" and (self.stages != "sprc" or self.captions):
            raise BadInput("targets 'official' are SPRC's, without captions: set stages to 'sprc', captions to false")
        official = (self.stages, self.memory, self.captions, self.recall) == ("two", "mio", True, "captions")
        if self.combination != "seen" and not official:
            raise BadInput(
                f"combination {self.combination!r} has captions recalled by what MIO kept: set stages to 'two', memory "
                "to 'mio', captions to true and recall to 'captions'"
            )

    @property
    def two_stages(self) -> bool:
        """Whether a picture is read before the modification: with its caption, or without."""
        return self.stages == "two" or self.captions

    @property
    def read_width(self) -> int:
        """The width of a picture's token."""
        return self.image_width or self.width


@dataclass(frozen=True, kw_only=True)
class MaiLossSettings:
    """The loss of a turn.

    Attributes:
        terms: of the cyclic combination loss; "query_target" alone is the usual contrastive loss.
        noise: what training does against the gap between pictures and texts: "mixing" of pairs of queries and
            targets; or noise on modifications, N(0, 1), U(-1, 1), or the product of both.
        alignment: what SPRC's third loss compares: the tokens of the query with the prompts, both as last "read" with
            the modification; or "official", the tokens of the first reading with the unread prompts.
        sprc_weights: of SPRC's second and third loss (published: 1 and 1 for Fashion IQ, 0.4 and 0.4 for CIRR).
    """

    terms: tuple[Term, ...] = EVERY_TERM
    scale: float = 20.0  # the factor on cosines; `learned_scale`: whether it is learnt, up to `MAX_SCALE`
    learned_scale: bool = True
    noise: Noise = ""
    alignment: Literal["read", "official"] = "read"
    sprc_weights: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        check_settings(self, "above 0", "scale")
        if min(self.sprc_weights) < 0:
            raise BadInput(f"sprc_weights are {self.sprc_weights}; they must be at least 0")
        if not self.terms or len(set(self.terms)) < len(self.terms):
            raise BadInput(f"terms must name each of {', '.join(EVERY_TERM)} once at most, and one at least")


@dataclass(frozen=True, kw_only=True)
class MaiPreset:
    """A table of presets.toml.

    Attributes:
        selects: the validation figure by which the best weights are chosen; "bare" ones are for pictures without
            captions, and are measured if some captions are dropped.
    """

    model: Model
    training: TrainingSettings
    loss: MaiLossSettings = field(default_factory=MaiLossSettings)
    sources: tuple[str, ...] = ()  # sources of the data to learn from; empty: all of them
    batch: int = 64  # transactions a step
    caption_dropout: float = 0.0  # the share of pictures read without their caption, like most live ones
    described: float = 0.0  # the share of first turns that describe the wanted picture and name no picture
    clauses: float = 0.0  # the share of modifications with only some clauses said, as people do
    exclude_shown: bool = False  # whether search leaves out a picture once the user said how the wanted one differs
    selects: Literal["recall", "recall_last", "bare_recall"] = "recall"

    def __post_init__(self) -> None:
        check_settings(self, "at least 1", "batch")
        check_settings(self, "from 0 to 1", "caption_dropout", "described", "clauses")
        if self.selects == "bare_recall" and not self.caption_dropout:
            raise BadInput("selects 'bare_recall' is measured where captions are dropped: set caption_dropout above 0")
