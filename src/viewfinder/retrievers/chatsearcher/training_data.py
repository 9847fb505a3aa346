"""The training data of ChatSearcher: examples of all data sets of a plan, with the raw vectors of their pictures.

captions    captions.csv, COCO's annotations/, Conceptual Captions (.tsv, or folders as img2dataset writes them)
documents   mmc4's docs_*.jsonl; and captioned pictures of one data set, two to four combined
tchat, ichat, mchat     chatsearch/<subtask>_train.jsonl
visual      llava*.json; else dialogues about the pictures, ChatIR's or VisDial's
edits       InstructPix2Pix's folders; FashionMT's modifiers/
requests    each picture of `captions` once, as a user's request

Only a data set's training split is read; a part of it is held out for validation if the set names none. If a set has
no splits at all, its pictures are split by their names (`data.splits`); those for testing are never read.
Axes: n pictures, g width of a raw whole vector, r regions, e width of one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal, TypeVar

import numpy as np
from jaxtyping import Float16, Float32, Num

from viewfinder.data.captions import CaptionedPicture, has_captions, read_captioned
from viewfinder.data.chatsearch import ImageItem, Subtask, read_chatsearch
from viewfinder.data.dialogues import Dialogue, read_dialogues, read_visdial
from viewfinder.data.fashionmt import Transaction, fashionmt_sources, read_transactions
from viewfinder.data.picture_texts import PICTURES, read_cc3m, read_instruct_pix2pix, read_llava, read_mmc4
from viewfinder.data.splits import SPLITS, split_reader
from viewfinder.data.visual_genome import find_layout, has_split_lists
from viewfinder.data.visual_genome.regions import read_picture_ids
from viewfinder.encoders.features import Features
from viewfinder.errors import BadInput, EncoderMismatch, UnknownName
from viewfinder.retrievers.chatsearcher import examples
from viewfinder.retrievers.chatsearcher.sequence import TrainingExample, TrainingTurn
from viewfinder.retrievers.chatsearcher.settings import ChatSearcherPreset, ExampleKind
from viewfinder.retrievers.shared.train_plan import TrainPlan

Split = Literal["train", "val"]
Record = TypeVar("Record")


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Training examples of one split and all data sets.

    Attributes:
        examples: of each kind present; their pictures are named by data set and key, "scenes/images/1.jpg".
    """

    examples: Mapping[ExampleKind, tuple[TrainingExample, ...]]
    rows: Mapping[str, int]  # the row of each picture that an example shows
    raw_ng: Float32[np.ndarray, "n g"]  # raw global vectors of these pictures
    regions_nre: Float16[np.ndarray, "n r e"] | None  # their raw regions, None where these are not read
    raw_version: str  # the version of these vectors


@dataclass(frozen=True)
class _Folder:
    """A data set, and how its examples are drawn."""

    path: Path
    name: str
    split: Split
    preset: ChatSearcherPreset
    seed: int

    def rng(self, kind: ExampleKind) -> random.Random:
        """A random generator for one kind alone, so that it does not depend on which others are read."""
        return random.Random(f"viewfinder/chatsearcher/{self.seed}/{self.name}/{self.split}/{kind}")


def read_training_data(plan: TrainPlan, split: Split, preset: ChatSearcherPreset) -> TrainingData:
    """The examples of all kinds of a preset's stages in all data sets of a plan, with vectors.

    What is left out is reported. Orders, lengths and templates are drawn by the plan's seed.

    Raises:
        BadInput: two data sets have the same name, data is damaged, or there is no example of any of the kinds.
        EncoderMismatch: vectors of the data sets are of different encoders.
    """
    kinds = tuple(dict.fromkeys(kind for stage in preset.stages for kind in stage.mixture.shares))
    folders = [_Folder(path, path.resolve().name, split, preset, plan.seed) for path in plan.data]
    names = [folder.name for folder in folders]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadInput(f"{twice}: two data sets have this name, by which pictures are told apart; rename one folder")
    parts = [part for folder in folders if (part := _read_folder(plan, folder, kinds)) is not None]
    found = {kind: tuple(one for part in parts for one in part.examples.get(kind, ())) for kind in kinds}
    for kind in (kind for kind in found if not found[kind]):
        plan.notify(f"{split}: no data set has {kind}")
    if not any(found.values()):
        raise BadInput(f"{', '.join(map(str, plan.data))}: nothing for {split} of the kinds {', '.join(kinds)} here")
    if split == "train":
        shown = {picture for some in found.values() for one in some for picture in one.pictures}
        for folder in folders:
            start = f"{folder.name}/"
            plan.note_training(folder.path, [name.removeprefix(start) for name in shown if name.startswith(start)])
    return _join_parts({kind: some for kind, some in found.items() if some}, parts)


@dataclass(frozen=True, eq=False)
class _Part:
    """The examples of one data set; a picture has a name in the training data and a row in the features."""

    examples: Mapping[ExampleKind, tuple[TrainingExample, ...]]
    rows: Mapping[str, int]
    features: Features


def _read_folder(plan: TrainPlan, folder: _Folder, kinds: Sequence[ExampleKind]) -> _Part | None:
    """None if a data set has nothing; no vectors are computed for it then."""
    drafts = {kind: tuple(READERS[kind](folder)) for kind in kinds}
    if not any(drafts.values()):
        return None
    found = plan.vectors(folder.path, regions=folder.preset.model.tokens > 0)
    shown = {name for some in drafts.values() for one in some for name in one.pictures}
    rows = {}
    for name in shown:
        with suppress(UnknownName):
            rows[name] = found.row_of(name)
    called = {name: f"{folder.name}/{found.keys[row]}" for name, row in rows.items()}

    def rename_pictures(turn: TrainingTurn) -> TrainingTurn:
        items = (ImageItem(called[item.image]) if isinstance(item, ImageItem) else item for item in turn.items)
        return TrainingTurn(turn.role, tuple(items))

    kept = {
        kind: tuple(
            replace(one, turns=tuple(map(rename_pictures, one.turns)))
            for one in some
            if called.keys() >= set(one.pictures)
        )
        for kind, some in drafts.items()
    }
    for kind in (kind for kind in kinds if drafts[kind]):
        plan.notify(f"{folder.path}, {folder.split}: {len(kept[kind]):,} {kind} of {len(drafts[kind]):,} have vectors")
    return _Part(kept, {called[name]: row for name, row in rows.items()}, found)


def _join_parts(found: Mapping[ExampleKind, tuple[TrainingExample, ...]], parts: Sequence[_Part]) -> TrainingData:
    """The vectors of all shown pictures, read from disk into one array."""
    versions = list(dict.fromkeys(part.features.raw_version for part in parts))
    if len(versions) > 1:
        raise EncoderMismatch(f"data sets with vectors of {', '.join(versions)} cannot be learnt from together")
    shown = {picture for some in found.values() for one in some for picture in one.pictures}
    chosen = [sorted((row, name) for name, row in part.rows.items() if name in shown) for part in parts]
    rows = [[row for row, _ in part] for part in chosen]
    regions = [part.features.regions_nre for part in parts if part.features.regions_nre is not None]
    return TrainingData(
        found,
        {name: place for place, (_, name) in enumerate(each for part in chosen for each in part)},
        _gather_rows([part.features.raw_nd for part in parts], rows),
        _gather_rows(regions, rows) if regions else None,
        versions[0],
    )


def _gather_rows(arrays: Sequence[Num[np.ndarray, "_ ..."]], rows: Sequence[Sequence[int]]) -> Num[np.ndarray, "n ..."]:
    """Some rows of each array, one array after the other, never twice in memory."""
    out = np.empty((sum(map(len, rows)), *arrays[0].shape[1:]), arrays[0].dtype)
    at = 0
    for array, some in zip(arrays, rows, strict=True):
        np.take(array, np.array(some, np.intp), axis=0, out=out[at : at + len(some)], mode="clip")
        at += len(some)
    return out


# Readers: a data set -> examples, pictures named as in the data


def _read_captions(folder: _Folder) -> Iterator[TrainingExample]:
    rng = folder.rng("captions")
    for picture, said in _read_captioned(folder):
        for caption in said:
            yield examples.caption_example(picture, caption, first=rng.random() < 0.5)


def _read_requests(folder: _Folder) -> Iterator[TrainingExample]:
    rng = folder.rng("requests")
    return (
        examples.request_example(picture, said, rng, fragments=folder.preset.fragments)
        for picture, said in _read_captioned(folder)
    )


def _read_documents(folder: _Folder) -> Iterator[TrainingExample]:
    rng = folder.rng("documents")
    shards = sorted(folder.path.glob("docs_*.jsonl*"))
    pages = (page for shard in shards for page in read_mmc4(shard)[0])
    yield from (
        examples.web_page_example(page, rng)
        for page in _choose_by_name(folder, pages, lambda page: page.pictures[0].name)
    )
    yield from examples.group_into_pages(_read_captioned(folder), rng)


def _read_captioned(folder: _Folder) -> list[tuple[str, tuple[str, ...]]]:
    """The pictures of a split with their captions."""
    if has_captions(folder.path):
        return _choose_split(folder, read_captioned(folder.path)[0])
    return [(_name_locally(folder, picture.path), picture.captions) for picture in _read_conceptual(folder)]


def _choose_split(folder: _Folder, pictures: Sequence[CaptionedPicture]) -> list[tuple[str, tuple[str, ...]]]:
    """Those of a split by the data set's own lists (worlds have some), else by name.

    Pictures that the data set's transactions use in another split are left out.
    """
    other = {split for split in SPLITS if split != folder.split}
    elsewhere = {PurePosixPath(name).stem for one in _read_transactions(folder.path, other) for name in one.pictures}
    if has_split_lists(folder.path):
        numbers = set(read_picture_ids(find_layout(folder.path).split(folder.split)))
        chosen = [picture for picture in pictures if int(picture.path.stem) in numbers]
    else:
        chosen = list(_choose_by_name(folder, pictures, _file_of))
    return [
        (_name_locally(folder, picture.path), picture.captions)
        for picture in chosen
        if picture.path.stem not in elsewhere
    ]


def _read_conceptual(folder: _Folder) -> Iterator[CaptionedPicture]:
    """Conceptual Captions: tables of pictures, or folders of pictures with a .txt each."""
    tables = sorted(folder.path.glob("*.tsv"))
    held_out = [table for table in tables if "val" in table.stem.lower()]
    for table in tables:
        pictures = read_cc3m(table)[0]
        if not held_out:
            yield from _choose_by_name(folder, pictures, _file_of)
        elif (table in held_out) == (folder.split == "val"):
            yield from pictures
    if any(text.with_suffix(ending).is_file() for text in folder.path.glob("*/*.txt") for ending in PICTURES):
        yield from _choose_by_name(folder, read_cc3m(folder.path)[0], _file_of)


def _read_chats(folder: _Folder, subtask: Subtask) -> Iterator[TrainingExample]:
    home = folder.path / "chatsearch"
    own, training = (home / f"{subtask}_{split}.jsonl" for split in (folder.split, "train"))
    validation = home / f"{subtask}_val.jsonl"
    if validation.is_file():  # as worlds have
        samples = read_chatsearch(own)[0] if own.is_file() else []
    else:
        found = read_chatsearch(training)[0] if training.is_file() else []
        samples = list(_choose_by_name(folder, found, lambda sample: sample.target, held_out=True))
    for sample in samples:
        yield examples.chat_example(sample, image_first=folder.preset.image_first)


def _read_visual(folder: _Folder) -> Iterator[TrainingExample]:
    rng = folder.rng("visual")
    for file in sorted(folder.path.glob("llava*.json")):
        for sample in _choose_by_name(folder, read_llava(file)[0], lambda one: one.image or one.id, held_out=True):
            yield from examples.split_into_examples(
                sample.turns, (ImageItem(sample.image),) if sample.image else (), rng
            )
    dialogues: list[Dialogue] = []
    files = sorted(folder.path.glob(f"dialogues/*_{folder.split}.json"))
    for file in files:
        dialogues += read_dialogues(file)[0]
    name = f"visdial_1.0_{folder.split}.json"
    if not files and any((home / name).is_file() for home in (folder.path, folder.path / folder.split)):
        dialogues += read_visdial(folder.path, folder.split)[0]
    for dialogue in dialogues:
        yield from examples.dialogue_examples(
            dialogue, rng, found_first=folder.preset.found_first, others=dialogues, fragments=folder.preset.fragments
        )


def _read_edits(folder: _Folder) -> Iterator[TrainingExample]:
    rng = folder.rng("edits")
    if (folder.path / "seeds.json").is_file() or any(folder.path.glob("*/prompt.json")):
        pairs, _ = read_instruct_pix2pix(folder.path)
        # By the folder of the pair: pairs of one prompt lie together, and a world numbers its pairs by it.
        for pair in _choose_by_name(folder, pairs, lambda pair: pair.source.parent.name):
            words = examples.reword_instruction(pair.instruction, examples.OF_COMMANDS, rng)
            yield examples.edit_example(_name_locally(folder, pair.source), words, _name_locally(folder, pair.target))
    for one in _read_transactions(folder.path, {folder.split}):
        yield from examples.transaction_examples(one, rng)


def _read_transactions(folder: Path, splits: Collection[str]) -> Iterator[Transaction]:
    """FashionMT's transactions of some splits, if there are any."""
    if any(folder.glob("modifiers/*_cap.json")):
        for source, there in fashionmt_sources(folder).items():
            for split in (split for split in there if split in splits):
                yield from read_transactions(folder, source, split)[0].transactions


def _file_of(picture: CaptionedPicture) -> Path:
    return picture.path


def _choose_by_name(
    folder: _Folder, records: Iterable[Record], name: Callable[[Record], str | Path], *, held_out: bool = False
) -> Iterator[Record]:
    """The records of a split, by the names of their pictures; `held_out`: all but validation's are for training."""
    split_of = split_reader(folder.path)
    for record in records:
        split = split_of(name(record))
        if split == folder.split or (held_out and split == "test" and folder.split == "train"):
            yield record


def _name_locally(folder: _Folder, path: Path) -> str:
    """A picture's name in its data set."""
    return path.relative_to(folder.path).as_posix() if path.is_relative_to(folder.path) else path.as_posix()


READERS: Mapping[ExampleKind, Callable[[_Folder], Iterator[TrainingExample]]] = {
    "captions": _read_captions,
    "documents": _read_documents,
    "tchat": partial(_read_chats, subtask="tChat"),
    "ichat": partial(_read_chats, subtask="iChat"),
    "mchat": partial(_read_chats, subtask="mChat"),
    "visual": _read_visual,
    "edits": _read_edits,
    "requests": _read_requests,
}
