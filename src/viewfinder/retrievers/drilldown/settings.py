"""Settings of a Drill-down model and of its training: the tables of presets.toml. No torch here.

Every default is what the published code does; where the paper differs, the paper's way is an option.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viewfinder.errors import BadInput
from viewfinder.retrievers.shared.settings import DescriptionPreset, RegionSettings
from viewfinder.training.presets import TrainingSettings, check_settings

Choice = Literal["circular", "learned", "sampled", "first", "random"]

OWN_SLOT = 3.0
"""The logit that soft writing adds for the slot whose turn it is: without it, all slots would become alike."""

POLICY_WEIGHT = 0.1
"""mu (Sec. 4): how much the policy's loss counts beside that of finding the pictures."""


@dataclass(frozen=True, kw_only=True)
class DrilldownSettings(RegionSettings):
    """The network and how it writes and is read.

    Attributes:
        reads: a table of words and a GRU, trained here; or an encoder's frozen sentence vectors.
        mean_over: only slots that were written count (code), or all M from the start (paper).
        choice: which slot, once all were written: t mod M, the policy's best, a draw from the policy, the first,
            any. Soft writing has no such choice.
        policy_reads: the order of query and state in the policy's input.
    """

    slots: int = 3  # M, the number of state vectors
    width: int = 128
    reads: Literal["words", "sentences"] = "words"
    sentence_hidden: int = 256  # between a frozen sentence vector and a query vector
    mean_over: Literal["written", "all"] = "written"
    write: Literal["one", "soft"] = "one"  # into one slot, or into every slot by the policy's share
    learned_scale: bool = False  # whether the network keeps a scale for the contrastive loss
    choice: Choice = "circular"
    empty: Literal["next", "any"] = "next"  # which slot while some are empty: the next, or any of them (paper)
    policy_relu: bool = True  # whether logits are cut at zero (code): choosing some slot may then never be learnt
    policy_reads: Literal["query_state", "state_query"] = "query_state"
    whole: bool = False  # whether the whole picture is one more region
    dropout: float = 0.0  # share of the input numbers (raw vectors, sentence vectors) that training drops

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, "at least 1", "slots", "sentence_hidden")
        check_settings(self, "at least 0 and below 1", "dropout")


@dataclass(frozen=True, kw_only=True)
class DrilldownLossSettings:
    """The losses of both stages.

    Attributes:
        kind: the hardest decoy of the batch with a margin (published), every decoy with a margin, or all of the batch
            with a softmax.
        reward: of the policy's look-ahead: dot products of unscaled states (code) or cosines (paper).
        executes: which slot is written in training: the look-ahead's best (code) or a draw from the policy (paper).
    """

    kind: Literal["hardest", "every", "contrastive"] = "hardest"
    margin: float = 0.2  # of the first two kinds
    reward: Literal["dot", "cosine"] = "dot"
    executes: Literal["look_ahead", "sampled"] = "look_ahead"
    policy_turns: Literal["full", "all"] = "full"  # at which turns the policy learns: from turn M on (code), or at all


@dataclass(frozen=True, kw_only=True)
class DrilldownPreset(DescriptionPreset):
    """A table of presets.toml."""

    model: DrilldownSettings
    loss: DrilldownLossSettings
    learned: TrainingSettings | None = None  # the second stage, in which the policy learns; None: no second stage

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loss.kind == "contrastive" and not self.model.learned_scale:
            raise BadInput("the contrastive loss needs a scale; set model.learned_scale")
        if self.learned is not None and self.model.write == "soft":
            raise BadInput("soft writing has no slot to choose, so there is no second stage; leave learned out")
