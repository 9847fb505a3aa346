"""What a Drill-down model is, and how it is trained: the tables of presets.toml. No torch here.

Every default is what the published code does; where the paper says otherwise, the paper's way is an option.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viewfinder.errors import BadInput
from viewfinder.retrievers.shared.settings import RegionSettings
from viewfinder.training.settings import TrainingSettings, check_at_least_one

Choice = Literal["circular", "learned", "sampled", "first", "random"]


@dataclass(frozen=True, kw_only=True)
class ModelSettings(RegionSettings):
    """The network and how it writes and is read.

    Attributes:
        slots: M, the number of state vectors.
        reads: a table of words and a GRU, trained here; or an encoder's frozen sentence vectors.
        sentence_hidden: between a frozen sentence vector and a query vector.
        mean_over: only slots that were written count (code), or all M from the start (paper).
        write: into one slot, or into every slot as far as the policy says.
        own_slot: how much more, as a logit, soft writing has for the slot whose turn it is: so slots become different.
        learned_scale: whether the network keeps a scale for the contrastive loss.
        choice: which slot, once all were written: t mod M, the policy's best, a draw from the policy, the first,
            any. Soft writing has no such choice.
        empty: which slot while some are empty: the next, or any of them (paper).
        policy_relu: whether logits are cut at zero (code), so that a slot may never be learnt to be chosen.
        policy_reads: the order of query and state in the policy's input.
        whole: whether the picture as a whole is one more region.
        dropout: share of the numbers that come in (raw vectors, sentence vectors) that training hides.
    """

    slots: int = 3
    width: int = 128
    reads: Literal["words", "sentences"] = "words"
    sentence_hidden: int = 256
    mean_over: Literal["written", "all"] = "written"
    write: Literal["one", "soft"] = "one"
    own_slot: float = 3.0
    learned_scale: bool = False
    choice: Choice = "circular"
    empty: Literal["next", "any"] = "next"
    policy_relu: bool = True
    policy_reads: Literal["query_state", "state_query"] = "query_state"
    whole: bool = False
    dropout: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least_one(self, "slots", "sentence_hidden")
        if not 0 <= self.dropout < 1:
            raise BadInput(f"dropout is {self.dropout}; it must be at least 0 and below 1")


@dataclass(frozen=True, kw_only=True)
class LossSettings:
    """What is minimised.

    Attributes:
        kind: the hardest decoy of the batch with a margin (published), every decoy with a margin, or all of the batch
            with a softmax.
        margin: of the first two.
        reward: of the policy's look-ahead: dot products of states as they are (code) or cosines (paper).
        executes: which slot is written in training: the look-ahead's best (code) or a draw from the policy (paper).
        discount: gamma, how much the reward of each later turn of the look-ahead counts beside the turn before it.
        policy_turns: at which turns the policy learns: from turn M on (code), or at all.
        policy_weight: mu, how much the policy's loss counts.
    """

    kind: Literal["hardest", "every", "contrastive"] = "hardest"
    margin: float = 0.2
    reward: Literal["dot", "cosine"] = "dot"
    discount: float = 1.0  # Sec. 4; the code has none, which is the same
    executes: Literal["look_ahead", "sampled"] = "look_ahead"
    policy_turns: Literal["full", "all"] = "full"
    policy_weight: float = 0.1  # Sec. 4


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A table of presets.toml.

    Attributes:
        batch: dialogues a step.
        turns: sentences of a dialogue; 0: as many as the data's protocol has.
        selects: the validation figure by which the best weights are chosen.
        fewest: how often a word must occur to have a vector.
        negated: whether dialogues also ask for things that are not there, and take that back.
        learned: the second stage, in which the policy learns; None: there is none.
    """

    model: ModelSettings
    loss: LossSettings
    training: TrainingSettings
    batch: int = 128
    turns: int = 0
    selects: Literal["loss", "recall"] = "loss"
    fewest: int = 10
    negated: bool = False
    learned: TrainingSettings | None = None

    def __post_init__(self) -> None:
        if self.batch < 2:
            raise BadInput(f"batch is {self.batch}; a dialogue needs another one to be told from")
        if self.turns < 0:
            raise BadInput(f"turns is {self.turns}; it must be at least 1, or 0 for as many as the data has")
        if self.loss.kind == "contrastive" and not self.model.learned_scale:
            raise BadInput("the contrastive loss needs a scale; set model.learned_scale")
        if not 0 <= self.loss.discount <= 1:
            raise BadInput(f"discount is {self.loss.discount}; it must be from 0 to 1")
        if self.learned is not None and self.model.write == "soft":
            raise BadInput("soft writing has no slot to choose, so there is no second stage; leave learned out")
