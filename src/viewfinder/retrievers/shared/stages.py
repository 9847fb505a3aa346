"""Training on dialogues about described pictures, as far as it is the same for all systems. In torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from viewfinder.data.visual_genome import Vocabulary
from viewfinder.errors import EncoderMismatch
from viewfinder.retrievers.shared.described import build_caption_vocabulary, join_captioned_pictures
from viewfinder.retrievers.shared.dialogues import (
    DescriptionDialogues,
    DialogueBatch,
    SentenceVectorSpeech,
    WordNumberSpeech,
    measure_recalls,
)
from viewfinder.retrievers.shared.inputs import InputWidths
from viewfinder.retrievers.trainers import TrainPlan
from viewfinder.training import Card, TrainingJob, TrainingResult, TrainingSettings, read_card
from viewfinder.training.weights import check_card

Heard = TypeVar("Heard")


@dataclass(frozen=True, eq=False)
class DescriptionData:
    """What is learnt from: dialogues of both splits, the widths of what comes in, and what a retriever must know."""

    train: DescriptionDialogues
    val: DescriptionDialogues
    inputs: InputWidths
    vocabulary: Vocabulary
    sentences_version: str

    @property
    def raw_version(self) -> str:
        """Which raw vectors of pictures these are."""
        return self.train.described.raw_version

    def card(self) -> dict[str, Any]:
        """What a network's card says of it."""
        return {
            "words": list(self.vocabulary.words),
            "sentences_version": self.sentences_version,
            "regions": self.train.described.region_shape[0],
        }


def read_start_card(plan: TrainPlan) -> Card | None:
    """The card of the weights to begin with, if the plan names any.

    Raises:
        BadInput: there is no such file, or it is of another system.
    """
    if plan.start is None:
        return None
    card = read_card(plan.start)
    check_card(plan.start, card, system=plan.system)
    return card


def read_description_data(
    plan: TrainPlan,
    *,
    reads: Literal["words", "sentences"],
    turns: int,
    fewest: int,
    negated: bool,
    whole: bool,
    regions: bool = True,
    start: Card | None = None,
) -> DescriptionData:
    """The data of a plan, in words or in frozen sentence vectors.

    Args:
        plan: which data, and of which encoder.
        reads: what a sentence is to the network.
        turns: sentences of a dialogue; 0: as many as the data's protocol has.
        fewest: how often a word must occur to have a vector of its own.
        negated: whether dialogues also ask for things that are not there, and take that back.
        whole: whether vectors of whole pictures are needed.
        regions: whether vectors of regions are needed.
        start: of a network to go on from, whose words are kept.

    Raises:
        BadInput, UnknownName, EncoderMismatch: data that cannot serve.
    """
    sets = {
        split: join_captioned_pictures([plan.read(folder, split, whole=whole, negated=negated) for folder in plan.data])
        for split in ("train", "val")
    }
    if turns:
        sets = {split: replace(described, turns=turns) for split, described in sets.items()}
    vocabulary, sentences, version = Vocabulary(()), 0, ""
    speech: WordNumberSpeech | SentenceVectorSpeech
    if reads == "words":
        known = None if start is None else Vocabulary(tuple(start.settings["words"]))
        vocabulary = known or build_caption_vocabulary(*plan.data, fewest=fewest)
        speech = WordNumberSpeech(vocabulary)
    else:
        vectors = plan.sentences(sorted({text for described in sets.values() for text in described.texts()}))
        speech, sentences, version = SentenceVectorSpeech(vectors), vectors.matrix_ns.shape[1], vectors.version
        if start is not None and start.settings["sentences_version"] != version:
            raise EncoderMismatch(
                f"{plan.start}: reads sentence vectors of {start.settings['sentences_version']!r}, and this encoder's "
                f"are {version!r}; use the encoder it was trained with"
            )
    train, val = (DescriptionDialogues(sets[split], speech, regions) for split in ("train", "val"))
    widths = InputWidths(sets["train"].region_shape[1], sets["train"].raw_width, sentences, len(vocabulary))
    return DescriptionData(train, val, widths, vocabulary, version)


@dataclass(frozen=True, kw_only=True)
class TrainingStage:
    """One training of a network: what is minimised, with which numbers, and what chooses the best weights.

    `card` is for the weights that come out; `selects` names a figure of `validate`.
    """

    network: nn.Module
    card: Card
    loss: Callable[[nn.Module, DialogueBatch], tuple[Tensor, Mapping[str, Tensor]]]
    validate: Callable[[nn.Module], dict[str, float]]
    training: TrainingSettings
    batch: int
    selects: Literal["loss", "recall"]


def run_stage(plan: TrainPlan, material: DescriptionData, stage: TrainingStage, out: Path) -> TrainingResult:
    """Train the network as it is, in the folder `out`."""
    job = TrainingJob(
        network=stage.network,
        batches=material.train.epochs(stage.batch),
        loss=stage.loss,
        settings=replace(stage.training, seed=plan.seed),
        card=stage.card,
        validate=stage.validate,
        selects=stage.selects,
        higher=stage.selects == "recall",
        may_leave_unused=True,
    )
    return plan.fit(job, out)


def validate_dialogues(
    dialogues: DescriptionDialogues,
    size: int,
    device: torch.device,
    take: Callable[[DialogueBatch], tuple[Float[Tensor, "b k d"], Heard, Tensor]],
    score: Callable[[Heard, Float[Tensor, "n k d"]], Sequence[Float[Tensor, "n b"]]],
) -> dict[str, float]:
    """The loss over batches of `size`, and recall among all of the pictures, of the protocol's fixed dialogues.

    Args:
        dialogues: of the validation split.
        size: of a batch.
        device: where the network is.
        take: a batch to the vectors of its pictures, what is kept of its dialogues, and their loss, summed.
        score: what was kept, and the vectors of all pictures, to the scores after every turn.
    """
    vectors, kept, lost = [], [], []
    for given in dialogues.fixed(size):
        vectors_bkd, heard, loss = take(DialogueBatch(*(tensor.to(device) for tensor in given)))
        vectors.append(vectors_bkd)
        kept.append(heard)
        lost.append(float(loss) / len(vectors_bkd))
    vectors_nkd = torch.cat(vectors)
    by_turn = zip(*(score(heard, vectors_nkd) for heard in kept), strict=True)
    return {"loss": float(np.mean(lost)), **measure_recalls([torch.cat(scores, dim=1) for scores in by_turn])}
