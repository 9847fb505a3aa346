"""Training on dialogues that describe pictures: what Drill-down and its baselines share. In torch.

Input widths and scales, dialogues as batches of tensors, the stages of a training, and validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from viewfinder.data.visual_genome import Vocabulary
from viewfinder.encoders.features.sentences import SentenceVectors
from viewfinder.metrics import score_bounds
from viewfinder.retrievers.shared.captioned_pictures import (
    CaptionedPictures,
    Positions,
    build_description_vocabulary,
    join_captioned_pictures,
    read_captioned_pictures,
)
from viewfinder.retrievers.shared.network import InputWidths
from viewfinder.retrievers.shared.settings import DescriptionPreset
from viewfinder.retrievers.shared.train_plan import TrainPlan, check_start_sentences
from viewfinder.training import Card, TrainingJob, TrainingResult, TrainingSettings, draw_epochs
from viewfinder.training.layers import measure_scale

Heard = TypeVar("Heard")


@dataclass(frozen=True, eq=False)
class DescriptionData:
    """The training data: dialogues of both splits, the input widths, and what a retriever must know."""

    train: DescriptionDialogues
    val: DescriptionDialogues
    inputs: InputWidths
    vocabulary: Vocabulary
    sentences_version: str
    raw_version: str


def read_description_data(
    plan: TrainPlan,
    preset: DescriptionPreset,
    start: Card | None,
    *,
    reads: Literal["words", "sentences"] = "words",
    whole: bool,
    regions: bool = True,
) -> DescriptionData:
    """The data of a plan, in words or in frozen sentence vectors.

    `whole` and `regions` say which vectors of pictures are needed; `start` is the card of a network to continue from,
    whose words are kept.

    Raises:
        BadInput, UnknownName, EncoderMismatch: the data cannot be used.
    """
    sets = []
    for split in ("train", "val"):
        joined = join_captioned_pictures([read_captioned_pictures(plan, at, split, whole=whole) for at in plan.data])
        sets.append(replace(joined, turns=preset.turns or joined.turns))
    vocabulary, sentences, version = Vocabulary(()), 0, ""
    speech: WordNumberSpeech | SentenceVectorSpeech
    if reads == "words":
        known = None if start is None else Vocabulary.of_settings(start.settings)
        vocabulary = known or build_description_vocabulary(*plan.data, fewest=preset.fewest)
        speech = WordNumberSpeech(vocabulary)
    else:
        vectors = plan.sentences(sorted({text for described in sets for text in described.texts()}))
        speech, sentences, version = SentenceVectorSpeech(vectors), vectors.matrix_ns.shape[1], vectors.version
        if start is not None and plan.start is not None:
            check_start_sentences(plan.start, start, version)
    train, val = (DescriptionDialogues(described, speech, regions) for described in sets)
    widths = InputWidths(sets[0].region_shape[1], sets[0].raw_width, sentences, len(vocabulary))
    return DescriptionData(train, val, widths, vocabulary, version, sets[0].raw_version)


def run_stage(
    plan: TrainPlan,
    preset: DescriptionPreset,
    data: DescriptionData,
    out: Path,
    *,
    network: nn.Module,
    settings: Mapping[str, Any],
    loss: Callable[[Any, DialogueBatch], tuple[Tensor, Mapping[str, Tensor]]],
    validate: Callable[[Any], dict[str, float]],
    training: TrainingSettings,
    selects: Literal["loss", "recall"],
) -> TrainingResult:
    """Train a network from its present weights, in the folder `out`; `settings` go on the card of the new weights."""
    known = {
        **settings,
        **data.vocabulary.settings,
        "sentences_version": data.sentences_version,
        "regions": data.train.described.region_shape[0],
    }
    job = TrainingJob(
        network=network,
        batches=draw_epochs(len(data.train.described), preset.batch, data.train.batch),
        loss=loss,
        settings=training,
        card=Card(system=plan.system, preset=plan.preset, encoder=data.raw_version, settings=known),
        validate=validate,
        selects=selects,
        higher=selects == "recall",
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
    """The loss over batches of `size`, and recall among all pictures, for the protocol's fixed dialogues.

    `take`: from a batch to the vectors of its pictures, what is kept of its dialogues, and their summed loss. `score`:
    from what was kept and the vectors of all pictures to the scores after every turn.
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


MAX_VALIDATED = 1000
"""How many evenly spaced dialogues validation takes; each looks for its picture among those of all of them."""

DEPTHS = (1, 5, 10)


class DialogueBatch(NamedTuple):
    """Dialogues with the pictures they are about.

    `said` holds word numbers (b t l) with their counts, or sentence vectors (b t s), whose counts are 1.
    """

    regions_bke: Float[Tensor, "b k e"]
    whole_bg: Float[Tensor, "b g"]
    said: Float[Tensor, "b t s"] | Int[Tensor, "b t l"]
    lengths_bt: Int[Tensor, "b t"]


Speech = Callable[[Sequence[Sequence[str]]], tuple[Tensor, Int[Tensor, "b t"]]]
"""From dialogues with equally many sentences to the `said` and `lengths_bt` of a batch."""


@dataclass(frozen=True, eq=False)
class WordNumberSpeech:
    """Sentences as word numbers (b t l), padded with zeros, and their counts."""

    vocabulary: Vocabulary
    known: dict[str, list[int]] = field(default_factory=dict)

    def __call__(self, dialogues: Sequence[Sequence[str]]) -> tuple[Int[Tensor, "b t l"], Int[Tensor, "b t"]]:
        """Numbers and counts."""
        for sentence in {sentence for dialogue in dialogues for sentence in dialogue} - self.known.keys():
            self.known[sentence] = self.vocabulary.encode(sentence)
        lengths_bt = np.array([[len(self.known[sentence]) for sentence in dialogue] for dialogue in dialogues])
        said_btl = np.zeros((*lengths_bt.shape, lengths_bt.max()), np.int64)
        for row, dialogue in enumerate(dialogues):
            for turn, sentence in enumerate(dialogue):
                said_btl[row, turn, : lengths_bt[row, turn]] = self.known[sentence]
        return torch.from_numpy(said_btl), torch.from_numpy(lengths_bt)


@dataclass(frozen=True, eq=False)
class SentenceVectorSpeech:
    """Sentences as frozen sentence vectors (b t s), and ones."""

    vectors: SentenceVectors

    def __call__(self, dialogues: Sequence[Sequence[str]]) -> tuple[Float[Tensor, "b t s"], Int[Tensor, "b t"]]:
        """Vectors and ones."""
        said = np.stack([self.vectors.matrix_ns[self.vectors.rows(dialogue)] for dialogue in dialogues])
        return torch.from_numpy(said.astype(np.float32)), torch.ones(said.shape[:2], dtype=torch.int64)


@dataclass(frozen=True, eq=False)
class DescriptionDialogues:
    """Batches of one split; without `reads_regions`, pictures have no regions (b 0 0), and none are read from disk."""

    described: CaptionedPictures
    speech: Speech
    reads_regions: bool = True

    def batch(self, positions: Positions, rng: np.random.Generator | None = None) -> DialogueBatch:
        """The dialogues about some pictures: randomly drawn sentences, or without `rng` the protocol's fixed ones."""
        regions_bke = self.described.regions_of(positions) if self.reads_regions else np.zeros((len(positions), 0, 0))
        return DialogueBatch(
            torch.from_numpy(np.asarray(regions_bke, np.float32)),
            torch.from_numpy(self.described.globals_of(positions)),
            *self.speech([self.described.dialogue(int(position), rng) for position in positions]),
        )

    def fixed(self, size: int, most: int = MAX_VALIDATED) -> Iterator[DialogueBatch]:
        """The protocol's own dialogues about at most `most` evenly spaced pictures, in batches."""
        count = min(len(self.described), most)
        chosen = np.linspace(0, len(self.described) - 1, count).round().astype(int).tolist()
        for at in range(0, count, size):
            yield self.batch(chosen[at : at + size])


def measure_recalls(scores: Sequence[Float[Tensor, "n n"]]) -> Mapping[str, float]:
    """How well dialogues find their pictures: `scores[turn][picture, dialogue]`; the diagonal holds the right pairs.

    "recall" is the mean of R@1, R@5 and R@10 over all turns, by which the published code selects; "first" and "last"
    are R@10 at these turns. Ties count half.
    """
    hits_tk = []
    for scores_nb in scores:
        found_bn = scores_nb.T.float().cpu().numpy()
        best_b, worst_b = score_bounds(found_bn, np.arange(len(found_bn)))
        rank_b = (best_b + worst_b) / 2
        hits_tk.append([float((rank_b < depth).mean()) for depth in DEPTHS])
    return {"recall": float(np.mean(hits_tk)), "first": hits_tk[0][-1], "last": hits_tk[-1][-1]}


MAX_MEASURED_PICTURES = 1000
"""How many pictures the mean and deviation of raw vectors are estimated from."""


def measure_scales(network: nn.Module, described: CaptionedPictures) -> None:
    """Sets the network's scales so that raw vectors of the training set have mean 0 and deviation 1."""
    some = np.linspace(0, len(described) - 1, min(MAX_MEASURED_PICTURES, len(described))).round().astype(int).tolist()
    for name, read in (("regions", described.regions_of), ("whole", described.globals_of)):
        if hasattr(network, f"{name}_mean"):
            raw = read(some)
            mean_e, deviation_e = measure_scale(raw.reshape(-1, raw.shape[-1]))
            network.get_buffer(f"{name}_mean").copy_(torch.from_numpy(mean_e))
            network.get_buffer(f"{name}_deviation").copy_(torch.from_numpy(deviation_e))
