"""Dialogues about described pictures as batches of tensors, and how well a network finds the pictures. In torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viewfinder.data.visual_genome import Vocabulary
from viewfinder.metrics import score_bounds
from viewfinder.retrievers.shared.described import CaptionedPictures
from viewfinder.retrievers.shared.sentences import SentenceVectors
from viewfinder.training import Batches, shuffled

VALIDATED = 1000
"""Dialogues that validation takes, evenly; each is looked for among the pictures of all of them."""

DEPTHS = (1, 5, 10)

Talk = tuple[str, ...]


class DialogueBatch(NamedTuple):
    """Dialogues with the pictures they are about.

    `said` holds the numbers of words (b t l) with their counts, or sentence vectors (b t s), whose counts are 1.
    """

    regions_bke: Float[Tensor, "b k e"]
    whole_bg: Float[Tensor, "b g"]
    said: Float[Tensor, "b t s"] | Int[Tensor, "b t l"]
    lengths_bt: Int[Tensor, "b t"]


@runtime_checkable
class Speech(Protocol):
    """How sentences become tensors."""

    def __call__(self, talks: Sequence[Talk]) -> tuple[Tensor, Int[Tensor, "b t"]]:
        """What a `Batch` holds of talks with equally many sentences: `said` and `lengths_bt`."""
        ...


class WordNumberSpeech:
    """Sentences as the numbers of their words, padded with zeros."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._known: dict[str, list[int]] = {}

    def __call__(self, talks: Sequence[Talk]) -> tuple[Int[Tensor, "b t l"], Int[Tensor, "b t"]]:
        """Numbers (b t l) and their counts."""
        ids = [[self._ids(sentence) for sentence in talk] for talk in talks]
        lengths_bt = np.array([[len(sentence) for sentence in talk] for talk in ids])
        said_btl = np.zeros((*lengths_bt.shape, lengths_bt.max()), np.int64)
        for row, talk in enumerate(ids):
            for turn, sentence in enumerate(talk):
                said_btl[row, turn, : len(sentence)] = sentence
        return torch.from_numpy(said_btl), torch.from_numpy(lengths_bt)

    def _ids(self, sentence: str) -> list[int]:
        if sentence not in self._known:
            self._known[sentence] = self._vocabulary.encode(sentence)
        return self._known[sentence]


class SentenceVectorSpeech:
    """Sentences as frozen sentence vectors."""

    def __init__(self, vectors: SentenceVectors) -> None:
        self._vectors = vectors

    def __call__(self, talks: Sequence[Talk]) -> tuple[Float[Tensor, "b t s"], Int[Tensor, "b t"]]:
        """Vectors (b t s), and ones."""
        said = np.stack([self._vectors.matrix_ns[self._vectors.rows(talk)] for talk in talks])
        return torch.from_numpy(said.astype(np.float32)), torch.ones(said.shape[:2], dtype=torch.int64)


@dataclass(frozen=True, eq=False)
class DescriptionDialogues:
    """Batches of one split; without `reads_regions`, pictures have none (b 0 0), and none are read from disk."""

    described: CaptionedPictures
    speech: Speech
    reads_regions: bool = True

    def batch(self, positions: Sequence[int], rng: np.random.Generator | None = None) -> DialogueBatch:
        """The dialogues about some pictures: drawn sentences, or without `rng` the protocol's fixed ones."""
        regions_bke = self.described.regions_of(positions) if self.reads_regions else np.zeros((len(positions), 0, 0))
        return DialogueBatch(
            torch.from_numpy(np.asarray(regions_bke, np.float32)),
            torch.from_numpy(self.described.globals_of(positions)),
            *self.speech([self.described.talk(position, rng) for position in positions]),
        )

    def epochs(self, size: int) -> Callable[[int, int], Batches[DialogueBatch]]:
        """What a `training.Job` calls batches: (epoch, seed) -> the batches, always the same ones."""

        def batches(epoch: int, seed: int) -> Batches[DialogueBatch]:
            def make(rows_b: Int[np.ndarray, " b"]) -> DialogueBatch:
                return self.batch(rows_b.tolist(), np.random.default_rng([seed, epoch, int(rows_b[0])]))

            return shuffled(len(self.described), size, make, epoch=epoch, seed=seed)

        return batches

    def fixed(self, size: int, most: int = VALIDATED) -> Iterator[DialogueBatch]:
        """The protocol's own dialogues about `most` of the pictures, taken evenly, in batches."""
        count = min(len(self.described), most)
        chosen = np.linspace(0, len(self.described) - 1, count).round().astype(int).tolist()
        for at in range(0, count, size):
            yield self.batch(chosen[at : at + size])


def measure_recalls(scores: Sequence[Float[Tensor, "n n"]]) -> Mapping[str, float]:
    """How well dialogues find their pictures: `scores[turn][picture, dialogue]`, the diagonal belongs together.

    "recall" is the mean of R@1, R@5 and R@10 over all turns, which the published code selects by; "first" and "last"
    are R@10 at these turns. Ties count half.
    """
    hits_tk = []
    for scores_nb in scores:
        found_bn = scores_nb.T.float().cpu().numpy()
        best_b, worst_b = score_bounds(found_bn, np.arange(len(found_bn)))
        rank_b = (best_b + worst_b) / 2
        hits_tk.append([float((rank_b < depth).mean()) for depth in DEPTHS])
    return {"recall": float(np.mean(hits_tk)), "first": hits_tk[0][-1], "last": hits_tk[-1][-1]}
