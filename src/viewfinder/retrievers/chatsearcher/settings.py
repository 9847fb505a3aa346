"""Settings of ChatSearcher's networks and of their training: the tables of presets.toml. No torch here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from viewfinder.errors import BadInput
from viewfinder.training.presets import TrainingSettings, check_settings

StageName = Literal["language", "alignment", "instruction", "comparison"]
ExampleKind = Literal["captions", "documents", "tchat", "ichat", "mchat", "visual", "edits", "requests"]
Negatives = Literal["queue", "batch", "symmetric"]

STAGES: tuple[StageName, ...] = ("language", "alignment", "instruction", "comparison")
KINDS: tuple[ExampleKind, ...] = get_args(ExampleKind)

LORA_ALPHA = 16.0
"""An adapter's update is scaled by LORA_ALPHA / rank."""

MAX_AGE = 7
"""The greatest age of a text or picture that a query points back at: how many others came after it, at most this."""

MIN_TEMPERATURE = 0.01
"""The lowest temperature of the loss over pictures, which learns it."""


@dataclass(frozen=True, kw_only=True)
class LoraSettings:
    """Low-rank adapters on all linear maps in a language model's layers (Hu et al. 2021); 0: the whole model trains."""

    rank: int = 0


@dataclass(frozen=True, kw_only=True)
class ChatSearcherSettings:
    """The network.

    Attributes:
        language: the language model to start from: a folder, a .gguf file or a hub name of a Llama-like one; "": one
            is randomly initialised from the next six settings, and its pieces are learnt from the training texts.
        width, layers, heads, key_heads, hidden: of a randomly initialised language model.
        tokens: N, the perceiver's tokens for a picture; 0: no perceiver, a picture is its global token alone.
        perceiver_width, perceiver_layers, perceiver_heads, perceiver_hidden: of the Q-Former.
        components: principal components that are read of a picture's raw vector; 0: all its numbers, on one scale.
    """

    language: str = ""
    width: int = 128
    layers: int = 4
    heads: int = 4
    key_heads: int = 4
    hidden: int = 352
    pieces: int = 3000  # how many pieces a randomly initialised one knows at most
    lora: LoraSettings = field(default_factory=LoraSettings)  # adapters, instead of training the whole language model
    longest: int = 256  # positions of a dialogue that are read; the oldest words are dropped first
    tokens: int = 4
    perceiver_width: int = 96
    perceiver_layers: int = 2
    perceiver_heads: int = 4
    perceiver_hidden: int = 192
    cross_every: int = 1  # the interval between its layers that look at the picture
    perceiver: str = ""  # weights to start from, BLIP-2's by folder or hub name; "": random
    components: int = 256
    region_components: int = 128  # the same for a region
    retrieval: int = 128  # d, width of the vectors by which queries and pictures are compared
    says: bool = False  # whether the encoder's frozen vector of a text follows what a user says (ours)
    points: bool = False  # whether a query points back at what was said and shown, whose vectors it adds (ours)
    match: int = 0  # with it, how many numbers tell whether the text fits the picture before it (ours); 0: nothing does

    @property
    def compares(self) -> bool:
        """Whether there is something to learn in the stage "comparison"."""
        return self.match > 0 or self.points

    def __post_init__(self) -> None:
        may_be_zero = ("tokens", "components", "region_components", "match")
        counts = (name for name, value in vars(self).items() if type(value) is int and name not in may_be_zero)
        check_settings(self, "at least 1", *counts)
        if self.width % self.heads or self.heads % self.key_heads:
            sizes = f"width = {self.width}, heads = {self.heads}, key_heads = {self.key_heads}"
            raise BadInput(f"{sizes}: each must be a multiple of the next")
        if self.match and not self.says:
            raise BadInput(f"match = {self.match}: what is said is compared by its vector; says = true is needed")
        if self.perceiver_width % self.perceiver_heads:
            heads = f"perceiver_heads = {self.perceiver_heads}"
            raise BadInput(f"perceiver_width = {self.perceiver_width}: a multiple of {heads} is needed")


@dataclass(frozen=True, kw_only=True)
class ChatSearcherLossSettings:
    """The loss of a stage (Sec. 4.2).

    Attributes:
        negatives: what a picture is told from: "queue", the feature queue including the batch; "batch", the other
            pictures of the batch; "symmetric", those, in both directions (InfoNCE, FROMAGe).
        reduction: "tokens", the mean over words and pictures alike, as Eq. 1 sums them; or "means", the mean over
            words plus the mean over pictures.
    """

    negatives: Negatives = "queue"
    queue: int = 1000  # pictures in the queue
    reduction: Literal["tokens", "means"] = "means"

    def __post_init__(self) -> None:
        check_settings(self, "at least 1", "queue")


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """The training data: how often each example of a kind comes in an epoch."""

    captions: float = 0.0  # a picture and its caption, in either order
    documents: float = 0.0  # several pictures and their sentences
    tchat: float = 0.0  # this and the next two: the subtasks of chat-search
    ichat: float = 0.0
    mchat: float = 0.0
    visual: float = 0.0  # questions about a picture, and their answers
    edits: float = 0.0  # a picture, an instruction, and the picture it leads to
    requests: float = 0.0  # a picture's caption as a user's request, sometimes in two parts (ours)

    def __post_init__(self) -> None:
        if not self.shares or min(vars(self).values()) < 0:
            raise BadInput(f"mixture: no share may be below 0, and one must be above; kinds are {', '.join(KINDS)}")

    @property
    def shares(self) -> dict[ExampleKind, float]:
        """Those above 0."""
        return {kind: getattr(self, kind) for kind in KINDS if getattr(self, kind)}


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One of the consecutive trainings.

    Attributes:
        name: "language": a randomly initialised language model reads texts alone; "alignment": captions and documents,
            everything is learnt (Stage 1); "instruction": dialogues, whose assistant's part is learnt (Stage 2);
            "comparison": dialogues, too, but only the parts that compare texts with pictures learn (`match` and
            `points`, ours).
        trains: "all"; "frozen", all but the language model, whose new pieces train; "projectors", only the linear maps
            and the new pieces (FROMAGe).
    """

    name: StageName
    mixture: Mixture  # the training data
    batch: int = 64  # examples of a step
    trains: Literal["all", "frozen", "projectors"] = "all"
    lessons: int = 0  # of an epoch, in the mixture's proportions; 0: as many as the mixture says
    training: TrainingSettings  # optimiser, schedule, length

    def __post_init__(self) -> None:
        check_settings(self, "at least 1", "batch")


@dataclass(frozen=True, kw_only=True)
class ChatSearcherPreset:
    """One table of presets.toml.

    Attributes:
        language, alignment, instruction, comparison: the stages; None leaves one out.
        image_first: whether an answer that shows a picture begins with it, so that the first piece tells whether
            pictures or words come; else words may precede it, as in the data.
        asks_best: whether a question that follows a search is read as one about the best picture shown (ours).
        found_first: which share of the questions about a picture is learnt as following a search for it (ours).
        fragments: which share of what is searched for by captions is learnt as said in a few words (ours).
    """

    model: ChatSearcherSettings  # the network
    loss: ChatSearcherLossSettings = field(default_factory=ChatSearcherLossSettings)  # what is minimised
    language: Stage | None = None
    alignment: Stage | None = None
    instruction: Stage | None = None
    comparison: Stage | None = None
    image_first: bool = True
    asks_best: bool = False
    found_first: float = 0.0
    fragments: float = 0.0

    def __post_init__(self) -> None:
        for name, share in (("found_first", self.found_first), ("fragments", self.fragments)):
            if not 0 <= share <= 1:
                raise BadInput(f"{name} = {share}: a share is needed, from 0 to 1")

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages that exist, in order."""
        compares = self.comparison if self.model.compares else None
        stages = (self.language, self.alignment, self.instruction, compares)
        return tuple(stage for stage in stages if stage is not None)
