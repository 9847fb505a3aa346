"""What the networks of ChatSearcher are, and how they are trained: the tables of presets.toml. No torch here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from viewfinder.errors import BadInput
from viewfinder.training.settings import TrainingSettings, check_at_least_one

StageName = Literal["language", "alignment", "instruction"]
ExampleKind = Literal["captions", "documents", "tchat", "ichat", "mchat", "visual", "edits", "requests"]
Negatives = Literal["queue", "batch", "symmetric"]

STAGES: tuple[StageName, ...] = ("language", "alignment", "instruction")
KINDS: tuple[ExampleKind, ...] = get_args(ExampleKind)

LORA_ALPHA = 16.0
"""An update of an adapter counts LORA_ALPHA / rank."""

LEAST_TEMPERATURE = 0.01
"""Of the loss over pictures, which learns it."""


@dataclass(frozen=True, kw_only=True)
class LoraSettings:
    """Low-rank adapters of all linear maps in the layers of a language model (Hu et al. 2021); 0: all of it trains."""

    rank: int = 0


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The network.

    Attributes:
        language: the language model to begin with: a folder, a .gguf file or a hub name of a Llama-like one; "": one
            is drawn, of the next six, and its pieces are learnt from the texts of the training.
        width, layers, heads, key_heads, hidden: of a language model that is drawn.
        pieces: how many pieces of texts a drawn one knows at most.
        lora: adapters instead of training a language model whole.
        longest: places of a dialogue that are read; what was said first goes out first.
        tokens: N, what the perceiver makes of a picture; 0: there is no perceiver, a picture is its global token alone.
        perceiver_width, perceiver_layers, perceiver_heads, perceiver_hidden: of the Q-Former.
        cross_every: every how manyth of its layers looks at the picture.
        perceiver: weights to begin with, BLIP-2's by folder or hub name; "": drawn.
        components: principal components that are read of a picture's raw vector; 0: all its numbers, on one scale.
        region_components: the same of a region.
        retrieval: d, numbers of the vectors that queries and pictures are compared by.
        says: whether the encoder's frozen vector of a text stands behind what a user says (ours).
    """

    language: str = ""
    width: int = 128
    layers: int = 4
    heads: int = 4
    key_heads: int = 4
    hidden: int = 352
    pieces: int = 3000
    lora: LoraSettings = field(default_factory=LoraSettings)
    longest: int = 256
    tokens: int = 4
    perceiver_width: int = 96
    perceiver_layers: int = 2
    perceiver_heads: int = 4
    perceiver_hidden: int = 192
    cross_every: int = 1
    perceiver: str = ""
    components: int = 256
    region_components: int = 128
    retrieval: int = 128
    says: bool = False

    def __post_init__(self) -> None:
        check_at_least_one(self, "width", "layers", "heads", "key_heads", "hidden", "pieces", "longest", "retrieval")
        check_at_least_one(
            self, "perceiver_width", "perceiver_layers", "perceiver_heads", "perceiver_hidden", "cross_every"
        )
        if self.width % self.heads or self.heads % self.key_heads:
            raise BadInput(
                f"width = {self.width}, heads = {self.heads}, key_heads = {self.key_heads}: each must be a multiple "
                "of the next"
            )
        if self.perceiver_width % self.perceiver_heads:
            raise BadInput(
                f"perceiver_width = {self.perceiver_width}: a multiple of perceiver_heads = {self.perceiver_heads} is "
                "needed"
            )


@dataclass(frozen=True, kw_only=True)
class LossSettings:
    """What is minimised (Sec. 4.2).

    Attributes:
        negatives: what a picture is told from: "queue", the feature queue with the batch in it; "batch", the other
            pictures of the batch; "symmetric", those, and the other way round as well (InfoNCE, FROMAGe).
        queue: pictures in the queue.
        mask_copies: whether other copies of the right picture in the queue are left out (ours).
        reduction: "tokens", the mean over words and pictures alike, as Eq. 1 sums them; or "means", the mean over
            words plus the mean over pictures.
        learns_end: whether [/IMG] is learnt to be written, too.
    """

    negatives: Negatives = "queue"
    queue: int = 1000
    mask_copies: bool = True
    reduction: Literal["tokens", "means"] = "means"
    learns_end: bool = True

    def __post_init__(self) -> None:
        check_at_least_one(self, "queue")


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """What is learnt from: how often each example of a kind comes in an epoch.

    Attributes:
        captions: a picture and its caption, in either order.
        documents: several pictures and their sentences.
        tchat, ichat, mchat: the subtasks of chat-search.
        visual: questions about a picture, and their answers.
        edits: a picture, an instruction, and the picture it leads to.
        requests: a picture's caption as what a user asks for, sometimes in two parts (ours).
    """

    captions: float = 0.0
    documents: float = 0.0
    tchat: float = 0.0
    ichat: float = 0.0
    mchat: float = 0.0
    visual: float = 0.0
    edits: float = 0.0
    requests: float = 0.0

    def __post_init__(self) -> None:
        if not self.shares or min(vars(self).values()) < 0:
            raise BadInput(f"mixture: no share may be below 0, and one must be above; kinds are {', '.join(KINDS)}")

    @property
    def shares(self) -> dict[ExampleKind, float]:
        """Those above 0."""
        return {kind: getattr(self, kind) for kind in KINDS if getattr(self, kind)}


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One of the trainings that follow each other.

    Attributes:
        name: "language": a drawn language model reads texts alone; "alignment": captions and documents, everything
            is learnt (Stage 1); "instruction": dialogues, of which the assistant's part is learnt (Stage 2).
        mixture: what is learnt from.
        batch: examples of a step.
        trains: "all"; "frozen", all but the language model, whose new pieces train; "projectors", the linear maps
            and the new pieces alone (FROMAGe).
        lessons: of an epoch, in the mixture's proportions; 0: as many as it says.
        training: optimiser, schedule, length.
    """

    name: StageName
    mixture: Mixture
    batch: int = 64
    trains: Literal["all", "frozen", "projectors"] = "all"
    lessons: int = 0
    training: TrainingSettings

    def __post_init__(self) -> None:
        check_at_least_one(self, "batch")


@dataclass(frozen=True, kw_only=True)
class Preset:
    """One table of presets.toml.

    Attributes:
        model: the network.
        loss: what is minimised.
        language, alignment, instruction: the stages; without one (None) it is left out.
        image_first: whether an answer that shows a picture begins with it, so that the first piece tells whether
            pictures or words come; else words may stand before it, as in the data.
        unpicked: whether the best picture that was shown stands in the dialogue where the user picked none.
    """

    model: ModelSettings
    loss: LossSettings = field(default_factory=LossSettings)
    language: Stage | None = None
    alignment: Stage | None = None
    instruction: Stage | None = None
    image_first: bool = True
    unpicked: bool = False

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Those that there are, in their order."""
        return tuple(stage for stage in (self.language, self.alignment, self.instruction) if stage is not None)
