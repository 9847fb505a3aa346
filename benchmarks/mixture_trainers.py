"""How each specialist reads the dialogues of mixture_lessons.py, and its own training on them.

A turn goes through the adapter that the live product uses, and what comes of it becomes the training data of the
system's own trainer, in place of that of its folders; loss, network and settings are the system's. Every batch is of
one kind of dialogues.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch
from jaxtyping import Bool, Int
from mixture_lessons import EDITS, SCENES, Lessons, Part, list_targets, list_wanted
from torch import Tensor

from viewfinder.conversation import Answer, Like, Turn
from viewfinder.data.chatsearch import ImageItem, TextItem
from viewfinder.data.dialogues import Round
from viewfinder.encoders.features import Features
from viewfinder.evaluation.plan import SearchDialogue
from viewfinder.query import ResolvedTurn
from viewfinder.retrievers import Retriever
from viewfinder.retrievers.chatir.retriever import parse_turn
from viewfinder.retrievers.chatsearcher.sequence import TrainingExample, TrainingTurn
from viewfinder.retrievers.chatsearcher.settings import ExampleKind
from viewfinder.retrievers.chatsearcher.training_data import TrainingData
from viewfinder.retrievers.fashioniq.dialogues import GarmentKind, garment_kinds
from viewfinder.retrievers.fashioniq.garments import Garments, RecordedPairs
from viewfinder.retrievers.mai.loss import TurnTargets
from viewfinder.retrievers.mai.network import NOWHERE, CaptionedGallery, MaiNetwork, encode_dialogues
from viewfinder.retrievers.mai.retriever import Mai, parse_modification
from viewfinder.retrievers.mai.settings import MaiPreset
from viewfinder.retrievers.mai.texts import modification_text
from viewfinder.retrievers.mai.train import MAX_READ_AT_ONCE as AT_ONCE
from viewfinder.retrievers.mai.train import encode_targets
from viewfinder.retrievers.shared.captioned_pictures import CaptionedPictures
from viewfinder.retrievers.shared.network import DEPTH, target_ranks
from viewfinder.retrievers.shared.numpy_network import split_words
from viewfinder.retrievers.shared.picture_dialogues import PictureDialogue, PictureDialogues, join_picture_dialogues
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.retrievers.shared.verbalize import read_picture_turn, verbalize_turn
from viewfinder.training import Batches
from viewfinder.training.checkpoints import read_tensors, write_tensors
from viewfinder.weights import NETWORK

Rows = Int[np.ndarray, " b"]
Mixture = dict[Part, tuple[Lessons, ...]]
Epochs = Callable[[int, int], Batches[Any]]


def draw_kinds(bounds: Sequence[int]) -> Callable[[int, int, Callable[[Rows, np.random.Generator], Any]], Epochs]:
    """`training.draw_epochs` where samples first, ..., last - 1 of each pair of bounds are of one kind: each batch has
    samples of one kind alone."""

    def draw_epochs(count: int, size: int, draw: Callable[[Rows, np.random.Generator], Any]) -> Epochs:
        assert count == bounds[-1], "as many samples as were counted"

        def batches(epoch: int, seed: int) -> Batches[Any]:
            def make(rows_b: Rows) -> Any:
                return draw(rows_b, np.random.default_rng([seed, epoch, int(rows_b[0])]))

            rng, whole = np.random.default_rng([seed, epoch]), []
            for first, last in pairwise(bounds):
                rows_n = first + rng.permutation(last - first)
                whole.append(rows_n[: len(rows_n) - len(rows_n) % size].reshape(-1, size))
            return Batches(rng.permutation(np.concatenate(whole)).ravel(), size, make)

        return batches

    return draw_epochs


def count_bounds(sizes: Sequence[int]) -> list[int]:
    """Where each kind begins, and where the last ends.

    >>> count_bounds([2, 3])
    [0, 2, 5]
    """
    return [0, *np.cumsum(sizes).tolist()]


def raw_of(lessons: Lessons) -> Features:
    """The raw vectors of the pictures of a kind."""
    assert isinstance(lessons.pictures.raw, Features)
    return lessons.pictures.raw


# -- ChatIR: rounds


def make_picture_dialogues(lessons: Lessons, retriever: Retriever[Any]) -> PictureDialogues:
    """What was said before each picture was wanted, as a caption and rounds."""
    found, raw = dict[str, list[tuple[str, tuple[Round, ...]]]](), raw_of(lessons)
    for target, turns in lessons.heard(retriever):
        rounds = [one for turn in turns for one in parse_turn(turn)[1]]
        at = next((at for at, one in enumerate(rounds) if not one.question), None)
        caption = "" if at is None else rounds.pop(at).answer
        found.setdefault(target, []).append((caption, tuple(Round(*one) for one in rounds)))
    keys = tuple(sorted(found))
    dialogues = tuple(
        PictureDialogue(place, caption, said) for place, key in enumerate(keys) for caption, said in found[key]
    )
    raw_ng = np.ascontiguousarray(raw.raw_nd[raw.rows(keys)], np.float32)
    return PictureDialogues(keys, raw_ng, raw.raw_version, dialogues)


def patch_chatir(mixture: Mixture, retriever: Retriever[Any]) -> Iterator[Any]:
    """What puts the mixture in place of the folders of ChatIR's trainer."""
    parts = {part: [make_picture_dialogues(one, retriever) for one in some] for part, some in mixture.items()}
    joined = {part: join_picture_dialogues(some) for part, some in parts.items()}

    def read(plan: TrainPlan, folder: Path, split: Part, pattern: str) -> PictureDialogues:
        return joined[split]

    bounds = count_bounds([len(one.keys) for one in parts["train"]])
    yield patch("viewfinder.retrievers.chatir.train.read_picture_dialogues", read)
    yield patch("viewfinder.retrievers.chatir.batches.draw_epochs", draw_kinds(bounds))


# -- Drill-down: sentences


@dataclass(frozen=True, eq=False)
class SaidPictures(CaptionedPictures):
    """Dialogues in place of captions: each entry is a picture and what was said of it; drawn anew where it has no
    order, else as it was said, from longer ones some of the turns."""

    free_n: Bool[np.ndarray, " n"] | None = None

    def dialogue(self, position: int, rng: np.random.Generator | None = None) -> tuple[str, ...]:
        """The sentences for `turns` turns."""
        said = self.sentences[position]
        assert self.free_n is not None
        if self.free_n[position]:
            return super().dialogue(position, rng)
        if len(said) > self.turns and rng is not None:
            said = tuple(said[at] for at in sorted(rng.permutation(len(said))[: self.turns]))
        return tuple(said[turn % len(said)] for turn in range(self.turns))


def make_said_pictures(lessons: Lessons, retriever: Retriever[Any]) -> SaidPictures:
    """What was said before each picture was wanted, in sentences."""
    raw, keys, said = raw_of(lessons), list[str](), list[tuple[str, ...]]()
    for target, turns in lessons.heard(retriever):
        if sentences := tuple(one for turn in turns for one in verbalize_turn(turn).sentences):
            keys.append(target)
            said.append(sentences)
    assert raw.regions_nre is not None
    rows_n = raw.rows(keys)
    return SaidPictures(
        tuple(keys), tuple(said), max(map(len, said)), raw.raw_version, ((raw.raw_nd, raw.regions_nre),), rows_n,
        np.zeros_like(rows_n), np.full(len(keys), lessons.kind.free),
    )  # fmt: skip


def join_said(parts: Sequence[SaidPictures]) -> SaidPictures:
    """All kinds as one."""
    return SaidPictures(
        tuple(key for part in parts for key in part.keys),
        tuple(said for part in parts for said in part.sentences),
        max(part.turns for part in parts),
        parts[0].raw_version,
        tuple(block for part in parts for block in part.blocks),
        np.concatenate([part.rows_n for part in parts]),
        np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
        np.concatenate([part.free_n for part in parts if part.free_n is not None]),
    )


def patch_drilldown(mixture: Mixture, retriever: Retriever[Any]) -> Iterator[Any]:
    """What puts the mixture in place of the folders of Drill-down's trainer."""
    parts = {part: [make_said_pictures(one, retriever) for one in some] for part, some in mixture.items()}
    joined = {part: join_said(some) for part, some in parts.items()}

    def read(plan: TrainPlan, folder: Path, split: Part, *, whole: bool = False) -> CaptionedPictures:
        return joined[split]

    home = "viewfinder.retrievers.shared.description_training"
    yield patch(f"{home}.read_captioned_pictures", read)
    yield patch(f"{home}.draw_epochs", draw_kinds(count_bounds([len(one) for one in parts["train"]])))


# -- Fashion IQ: how the wanted picture differs from one, or what it is like


def make_garments(some: Sequence[Lessons], retriever: Retriever[Any]) -> Garments:
    """Each task as a kind of garments: words on a picture as a recorded pair, other words as descriptions."""
    kinds, rows, keys = list[str](), list[np.ndarray](), list[str]()
    descriptions, pairs = list[tuple[str, ...]](), list[tuple[int, int, tuple[str, ...]]]()
    for lessons in some:
        raw = raw_of(lessons)
        for number, task in enumerate(lessons.tasks):
            said, compared = dict[str, list[str]](), list[tuple[str, str, str]]()
            for dialogue, turns in lessons.resolved_in(task, retriever):
                for target, turn in zip(list_targets(dialogue), turns, strict=True):
                    read = read_picture_turn(turn, exclude_shown=True)
                    if read.picture is None or read.picture.id is None:
                        said.setdefault(target, []).append(read.text)
                    elif read.text and read.picture.id != target:
                        compared.append((target, read.picture.id, read.text))
                        if lessons.kind.folder in (SCENES, EDITS):  # no simulated user knows these
                            said.setdefault(target, []).append(read.text)
            names = sorted({*said, *(key for target, seen, _ in compared for key in (target, seen))})
            place = {name: len(keys) + at for at, name in enumerate(names)}
            kinds.append(f"{lessons.name} {number}")
            rows.append(np.asarray(raw.raw_nd[raw.rows(names)], np.float32))
            keys += names
            descriptions += [tuple(dict.fromkeys(filter(None, said.get(name, ())))) for name in names]
            pairs += [(place[target], place[seen], (text,)) for target, seen, text in compared]
    return Garments(
        keys=tuple(keys),
        raw_ng=np.concatenate(rows),
        raw_version=raw_of(some[0]).raw_version,
        kinds=tuple(kinds),
        kind_n=np.repeat(np.arange(len(kinds)), [len(one) for one in rows]),
        descriptions=tuple(descriptions),
        labels=((),) * len(keys),
        pairs=RecordedPairs(
            np.array([target for target, _, _ in pairs], np.intp), np.array([seen for _, seen, _ in pairs], np.intp),
            tuple(said for _, _, said in pairs),
        ),
    )  # fmt: skip


def patch_fashioniq(mixture: Mixture, retriever: Retriever[Any]) -> Iterator[Any]:
    """What puts the mixture in place of the folders of Fashion IQ's trainer, whose batches are of one kind anyway.

    The simulated user, who has learnt from products, says nothing of scenes.
    """
    found = {part: make_garments(some, retriever) for part, some in mixture.items()}
    spoken = {
        f"{one.name} {number}"
        for one in mixture["train"]
        for number in range(len(one.tasks))
        if one.kind.folder not in (SCENES, EDITS)
    }

    def read(plan: TrainPlan, split: Part, kinds: Sequence[str]) -> Garments:
        return found[split]

    def make_kinds(*given: Any) -> tuple[GarmentKind, ...]:
        return tuple(one if one.kind in spoken else replace(one, says=None) for one in garment_kinds(*given))

    home = "viewfinder.retrievers.fashioniq.train"
    yield patch(f"{home}.read_garments", read)
    yield patch(f"{home}.garment_kinds", make_kinds)


def list_texts_of(mixture: Mixture) -> Iterator[str]:
    """All that is said in the training part."""
    for lessons in mixture["train"]:
        for task in lessons.tasks:
            for dialogue in task.dialogues:
                for turn in dialogue.turns:
                    yield getattr(turn, "text", "") or ""
                    yield turn.question.text if isinstance(turn, Answer) else ""


def widen_vocabulary(shipped: Path, mixture: Mixture, out: Path) -> Path:
    """The shipped weights with the words of the mixture, whose vectors are the encoder's, on their card."""
    tensors, record = read_tensors(shipped, schema=NETWORK)
    new = {word for text in list_texts_of(mixture) for word in split_words(text)}
    record["settings"]["vocabulary"] = sorted({*record["settings"]["vocabulary"], *new})
    whole = {name: one.float() if one.is_floating_point() else one for name, one in tensors.items()}
    write_tensors(out, whole, record, schema=NETWORK)
    return out


# -- MAI: modifications of a picture, or of none


class MixedDialogues(NamedTuple):
    """MAI's `ModificationDialogues`, where the wanted picture of a turn is not always that of the next one."""

    pictures_bp: Tensor
    words_bnl: Tensor
    seen_bp: Tensor
    captioned_bp: Tensor
    back_b: Tensor
    recalled_bp: Tensor
    recall_bl: Tensor
    drawn_b: Tensor
    targets_bn: Tensor

    @property
    def turns(self) -> int:
        """How many turns each has."""
        return int(self.words_bnl.shape[1])


@dataclass(frozen=True)
class Modifications:
    """A dialogue: at each turn the row of the picture that it is about (None: of none), its words, and the row of the
    wanted one; which places of earlier pictures the last turn recalls."""

    seen: tuple[int | None, ...]
    texts: tuple[str, ...]
    targets: tuple[int, ...]
    recalled: tuple[int, ...] = ()


MOST_TURNS = 5
"""Turns of a dialogue that MAI learns from; of longer ones some, and the last."""
FREE_TURNS = 3
"""The same, where what is said has no order."""


@dataclass(frozen=True, eq=False)
class MixedTransactions:
    """All kinds as MAI's trainer reads them: dialogues of one kind and length stand together."""

    raw_ng: np.ndarray
    regions_nre: None
    raw_version: str
    captions: tuple[str, ...]
    said: tuple[Modifications, ...]
    bounds: tuple[int, ...]

    def vocabulary(self) -> tuple[str, ...]:
        """That of the weights is kept."""
        raise AssertionError("it starts from weights")


def make_modifications(some: Sequence[Lessons], retriever: Retriever[Any]) -> MixedTransactions:
    """All dialogues as modifications."""
    assert isinstance(retriever, Mai)
    rows, captions = list[np.ndarray](), list[str]()
    groups: dict[tuple[str, int], list[Modifications]] = {}
    for lessons in some:
        place: dict[str, int] = {}
        texts: dict[str, str] = {}
        first = sum(map(len, rows))
        for task in lessons.tasks:
            texts |= task.captions
            for dialogue, turns in lessons.resolved_in(task, retriever):
                one = read_modifications(dialogue, turns, retriever, place)
                one = shorten(one, FREE_TURNS if lessons.kind.free else MOST_TURNS)
                moved = replace(
                    one, seen=tuple(None if row is None else first + row for row in one.seen),
                    targets=tuple(first + row for row in one.targets),
                )  # fmt: skip
                groups.setdefault((lessons.name, len(one.texts)), []).append(moved)
        rows.append(np.asarray(raw_of(lessons).raw_nd[raw_of(lessons).rows(place)], np.float32))
        captions += [texts.get(key, "") for key in place]
    return MixedTransactions(
        np.concatenate(rows), None, raw_of(some[0]).raw_version, tuple(captions),
        tuple(one for group in groups.values() for one in group),
        tuple(count_bounds([len(group) for group in groups.values()])),
    )  # fmt: skip


def read_modifications(
    dialogue: SearchDialogue, turns: Sequence[ResolvedTurn], mai: Mai, place: dict[str, int]
) -> Modifications:
    """The turns of a dialogue as MAI's retriever reads them; `place` gets the row of every picture that is new."""

    def row(key: str) -> int:
        return place.setdefault(key, len(place))

    pictured, parsed = list[int](), []
    for turn in turns:
        parsed.append(parse_modification(turn, pictured, mai.settings, exclude_shown=True))
        if parsed[-1].names_picture:
            pictured.append(turn.number)
    names = [None if one.picture is None else one.picture.id for one in parsed]
    recalled = [picture.id for _, picture in parsed[-1].recalled]
    return Modifications(
        tuple(None if name is None else row(name) for name in names),
        tuple(modification_text(one.text, mai.settings.texts) for one in parsed),
        tuple(row(target) for target in list_targets(dialogue)),
        tuple(names.index(name) for name in recalled if name in names),
    )


def shorten(one: Modifications, most: int) -> Modifications:
    """Only the first turns and the last, if there are more than so many."""
    if len(one.texts) <= most:
        return one
    kept = [*range(most - 1), len(one.texts) - 1]
    return Modifications(
        tuple(one.seen[at] for at in kept), tuple(one.texts[at] for at in kept), tuple(one.targets[at] for at in kept)
    )


@dataclass(frozen=True, eq=False)
class MixedSampler:
    """MAI's `DialogueSampler` for all kinds."""

    some: MixedTransactions
    words_nl: Tensor
    first_s: np.ndarray  # of each dialogue, its first text
    captions_nl: Tensor
    recall_sl: Tensor  # no caption is recalled as a text: zeros

    @classmethod
    def of(cls, some: MixedTransactions, words: Callable[[Sequence[str]], Tensor]) -> MixedSampler:
        """`words`: from texts to the numbers of what is read of them."""
        counts = [len(one.texts) for one in some.said]
        texts = [text for one in some.said for text in one.texts]
        nothing_sl = torch.zeros(len(counts), 1, dtype=torch.long)
        return cls(some, words(texts), np.cumsum([0, *counts[:-1]]), words(some.captions), nothing_sl)

    def __len__(self) -> int:
        return len(self.some.said)

    def draw(self, preset: MaiPreset, rows_b: Rows, rng: np.random.Generator) -> MixedDialogues:
        """Dialogues for training: some pictures have no caption."""
        whole = self.recorded(rows_b)
        captioned_bp = torch.from_numpy(rng.random(whole.pictures_bp.shape) >= preset.caption_dropout)
        return whole._replace(captioned_bp=captioned_bp & whole.seen_bp)

    def recorded(self, rows_b: Rows) -> MixedDialogues:
        """Dialogues of one length as they were recorded."""
        said = [self.some.said[row] for row in rows_b]
        turns = len(said[0].texts)
        seen_bp = torch.tensor([[row is not None for row in one.seen] + [True] for one in said])
        at_bn = torch.from_numpy(self.first_s[rows_b])[:, None] + torch.arange(turns)
        return MixedDialogues(
            pictures_bp=torch.tensor([[*(row or 0 for row in one.seen), one.targets[-1]] for one in said]),
            words_bnl=self.words_nl[at_bn],
            seen_bp=seen_bp,
            captioned_bp=seen_bp,
            back_b=torch.full((len(said),), NOWHERE),
            recalled_bp=torch.tensor([[place in one.recalled for place in range(turns + 1)] for one in said]),
            recall_bl=torch.zeros(len(said), 1, dtype=torch.long),
            drawn_b=torch.zeros(len(said), dtype=torch.long),
            targets_bn=torch.tensor([one.targets for one in said]),
        )


def measure_mixed(network: MaiNetwork, gallery: CaptionedGallery, sampler: MixedSampler) -> dict[str, float]:
    """R@10 among all validation pictures at the end of dialogues, the mean over groups of a kind and a length."""
    count, found = len(gallery.captions_nl), []
    every = [torch.arange(at, min(at + AT_ONCE, count)) for at in range(0, count, AT_ONCE)]
    parts = [network.encode_pictures(gallery.pictures.take(some), gallery.captions_nl[some]) for some in every]
    pictures_nd = torch.cat(parts)[:, 0]
    for first, end in pairwise(sampler.some.bounds):
        dialogues = sampler.recorded(np.arange(first, end))
        *_, encoded = encode_dialogues(network, gallery, dialogues)  # type: ignore[arg-type]
        ranks_b = target_ranks(encoded.queries_bd @ pictures_nd.T, dialogues.targets_bn[:, -1])
        found.append(float((ranks_b < DEPTH).double().mean()))
    return {"recall": float(np.mean(found))}


def patch_mai(mixture: Mixture, retriever: Retriever[Any]) -> Iterator[Any]:
    """What puts the mixture in place of the folders of MAI's trainer."""
    found = {part: make_modifications(some, retriever) for part, some in mixture.items()}

    def read(plan: TrainPlan, split: Part, preset: MaiPreset) -> MixedTransactions:
        return found[split]

    def encode_wanted(
        network: MaiNetwork, gallery: CaptionedGallery, dialogues: MixedDialogues, settings: Any
    ) -> TurnTargets:
        wanted_bp = torch.cat([dialogues.pictures_bp[:, :1], dialogues.targets_bn], dim=1)
        return encode_targets(network, gallery, dialogues._replace(pictures_bp=wanted_bp), settings)  # type: ignore[arg-type]

    home = "viewfinder.retrievers.mai.train"
    yield patch(f"{home}.read_training_transactions", read)
    yield patch(f"{home}.DialogueSampler", MixedSampler)
    yield patch(f"{home}.encode_targets", encode_wanted)
    yield patch(f"{home}.measure_recall", measure_mixed)
    yield patch(f"{home}.draw_epochs", draw_kinds(found["train"].bounds))


# -- ChatSearcher: a dialogue with pictures in it


def make_examples(lessons: Lessons, prefix: str) -> Iterator[TrainingExample]:
    """What was said before each picture was wanted, from both sides, and the picture as the last answer."""
    kind = example_kind(lessons.name)
    for task in lessons.tasks:
        for dialogue in task.dialogues:
            for target, count in list_wanted(dialogue):
                said = [one for turn in dialogue.turns[:count] for one in speak_turn(turn, prefix)]
                answer = TrainingTurn("assistant", (ImageItem(f"{prefix}{target}"),))
                yield TrainingExample((*said[1:], answer), kind)


def speak_turn(turn: Turn, prefix: str) -> Iterator[TrainingTurn]:
    """What the system asked before a turn, and what the user says, a picture first."""
    asked = turn.question.text if isinstance(turn, Answer) else ""
    yield TrainingTurn("assistant", (TextItem(asked),) if asked else ())
    seen = (ImageItem(f"{prefix}{turn.picture}"),) if isinstance(turn, Like) else ()
    text = getattr(turn, "text", "") or ""
    yield TrainingTurn("user", (*seen, *((TextItem(text),) if text else ())))


EXAMPLE_KINDS: dict[str, ExampleKind] = {
    "scenes: dialogues": "visual", "tChat": "tchat", "iChat": "ichat", "mChat": "mchat",
    **dict.fromkeys(
        ("edits", "relative captions", "cirr", "sessions", "rollback", "combination", "talks"), "edits"
    ),
}  # fmt: skip
"""As which of its own kinds ChatSearcher reads the dialogues; all others as requests."""


def example_kind(name: str) -> ExampleKind:
    """That of a kind of dialogues."""
    return EXAMPLE_KINDS.get(name, "requests")


def make_training_data(some: Sequence[Lessons], rng: np.random.Generator) -> TrainingData:
    """All dialogues as ChatSearcher's examples, with the vectors and regions of their pictures."""
    examples: dict[ExampleKind, list[TrainingExample]] = defaultdict(list)
    rows: dict[str, int] = {}
    whole, regions = list[np.ndarray](), list[np.ndarray]()
    for lessons in some:
        prefix, raw = f"{lessons.folder.name}/", raw_of(lessons)
        own = list(make_examples(lessons, prefix))
        for one in own:
            examples[example_kind(lessons.name)].append(one)
        names = sorted({name for one in own for name in one.pictures} - rows.keys())
        rows |= {name: len(rows) + at for at, name in enumerate(names)}
        at_n = raw.rows([name.removeprefix(prefix) for name in names])
        assert raw.regions_nre is not None
        whole.append(np.asarray(raw.raw_nd[at_n], np.float32))
        regions.append(raw.regions_nre[at_n])
    return TrainingData(
        {kind: tuple(of_kind[at] for at in rng.permutation(len(of_kind))) for kind, of_kind in examples.items()},
        rows, np.concatenate(whole), np.concatenate(regions), raw_of(some[0]).raw_version,
    )  # fmt: skip


def patch_chatsearcher(mixture: Mixture, retriever: Retriever[Any]) -> Iterator[Any]:
    """What puts the mixture in place of the folders of ChatSearcher's trainer; its negatives are a queue of pictures of
    all kinds, and so are its batches."""

    def read(plan: TrainPlan, split: Part, preset: Any) -> TrainingData:
        return make_training_data(mixture[split], np.random.default_rng(0))

    yield patch("viewfinder.retrievers.chatsearcher.train.read_training_data", read)
