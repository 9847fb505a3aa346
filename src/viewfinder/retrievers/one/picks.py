"""What the turn network learns from: pictures that are picked with words, and the picture that is wanted then.

Relative captions of Fashion IQ's and CIRR's layouts, sessions of MT Fashion IQ, and transactions of FashionMT.

    [read] = read_picks(plan, "train")     # a folder each
    read.tasks[0].dialogues[0].turns       # (Like("images/1163.jpg", "is red and has long sleeves"),)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int

from viewfinder.conversation import Like
from viewfinder.data.cirr import VERSION, read_cirr
from viewfinder.data.fashion_iq import fashion_kinds, join_captions, read_fashion_iq, read_sessions, session_kinds
from viewfinder.data.fashionmt import fashionmt_sources, read_transactions
from viewfinder.errors import BadInput
from viewfinder.retrievers.one.turn_network import Tokens
from viewfinder.retrievers.shared.train_plan import TrainPlan

ALL_SESSIONS = "all"
"""The kind of MT Fashion IQ that holds the sessions of every other kind."""


@dataclass(frozen=True)
class PickDialogue:
    """Pictures that are picked with words, turn by turn, and the one that is wanted after each turn."""

    turns: tuple[Like, ...]
    targets: tuple[str, ...]

    @property
    def pictures(self) -> tuple[str, ...]:
        """All that it names."""
        return (*(turn.picture for turn in self.turns), *self.targets)


@dataclass(frozen=True)
class PickTask:
    """Dialogues of one kind, and the gallery in which pictures are wanted."""

    name: str
    gallery: tuple[str, ...]
    dialogues: tuple[PickDialogue, ...]


@dataclass(frozen=True, eq=False)
class FolderPicks:
    """The tasks of a data set and split, with the keys and vectors of all pictures that they name or search."""

    keys: tuple[str, ...]
    vectors_nd: Float32[np.ndarray, "n d"]
    tasks: tuple[PickTask, ...]


@dataclass(frozen=True, eq=False)
class Moment:
    """A turn as the network reads it, in a gallery.

    Attributes:
        turns: the tokens of all picks so far.
        wanted, out_k: the rows of the picture that is wanted, and of those that the composer excludes.
        nats: the composer's scores of some rows.
    """

    turns: tuple[Tokens, ...]
    wanted: int
    out_k: Int[np.ndarray, " k"]
    nats: Callable[[Int[np.ndarray, " r"]], Float32[np.ndarray, " r"]]


@dataclass(frozen=True, eq=False)
class RecordedTask:
    """The turns of a task, and the rows of its gallery among all pictures of its data set.

    `pictures_nd` are vectors, times what the search multiplies the likeness of two pictures by.
    """

    name: str
    pictures_nd: Float32[np.ndarray, "n d"]
    gallery_g: Int[np.ndarray, " g"]
    moments: tuple[Moment, ...]


Record = Callable[[FolderPicks], list[RecordedTask]]
"""Says dialogues to the composer."""


def read_picks(plan: TrainPlan, split: str) -> list[FolderPicks]:
    """The dialogues of a split in all data sets of a plan whose pictures are all there; what is left out is reported.

    Raises:
        BadInput: data is missing or damaged, or there are no such dialogues.
    """
    found = [read for folder in plan.data if (read := _read_folder(plan, folder, split)) is not None]
    if not found:
        raise BadInput(
            f"{', '.join(map(str, plan.data))}: no picture is picked with words for {split!r}, or none of these has a "
            f"file; needed are images/, and captions of Fashion IQ or CIRR (captions/cap.*.{split}.json) or sessions "
            f"(data/*.{split}.json, modifiers/*_{split}_cap.json)"
        )
    return found


def _read_folder(plan: TrainPlan, folder: Path, split: str) -> FolderPicks | None:
    """What one data set has; None: nothing."""
    tasks = list(list_tasks(folder, split))
    if not tasks:
        return None
    features = plan.vectors(folder)
    names = {name for task in tasks for name in task.gallery}
    names.update(name for task in tasks for one in task.dialogues for name in one.pictures)
    rows = {name: row for name in names if (row := features.find_row(name.lstrip("/"))) is not None}
    key_of = {name: features.keys[row] for name, row in rows.items()}
    known = [_rename(task, key_of) for task in tasks]
    for before, task in zip(tasks, known, strict=True):
        plan.notify(f"{folder}, {task.name}, {split}: {len(task.dialogues):,} dialogues of {len(before.dialogues):,}")
    known = [task for task in known if task.dialogues]
    if not known:
        return None
    if split == "train":
        plan.note_training(folder, {key for task in known for one in task.dialogues for key in one.pictures})
    used = sorted(set(rows.values()))
    vectors_nd = np.asarray(plan.encoder.project(np.asarray(features.raw_nd[used])), np.float32)
    return FolderPicks(tuple(features.keys[row] for row in used), vectors_nd, tuple(known))


def _rename(task: PickTask, key_of: dict[str, str]) -> PickTask:
    """The task with keys for names, as far as there are any; what is wanted is searched as well."""
    dialogues = tuple(
        PickDialogue(
            tuple(Like(key_of[turn.picture], turn.text) for turn in one.turns),
            tuple(key_of[name] for name in one.targets),
        )
        for one in task.dialogues
        if all(name in key_of for name in one.pictures)
    )
    gallery = {key_of[name] for name in task.gallery if name in key_of}
    gallery.update(key for one in dialogues for key in one.targets)
    return PickTask(task.name, tuple(sorted(gallery)), dialogues)


def list_tasks(folder: Path, split: str) -> Iterator[PickTask]:
    """The dialogues of a split in a folder; none, where it has no such files. Raises BadInput: damaged files."""
    yield from _list_fashion_iq(folder, split)
    yield from _list_cirr(folder, split)
    yield from _list_sessions(folder, split)
    yield from _list_transactions(folder, split)


def _list_fashion_iq(folder: Path, split: str) -> Iterator[PickTask]:
    files = [file for file in (folder / "captions").glob("cap.*.json") if not file.name.startswith(f"cap.{VERSION}.")]
    for kind, splits in fashion_kinds(folder).items() if files else ():
        if split in splits:
            read, _ = read_fashion_iq(folder, kind, split)
            dialogues = tuple(
                PickDialogue((Like(pair.candidate, join_captions(pair.captions)),), (pair.target,))
                for pair in read.pairs
                if pair.target is not None and pair.captions
            )
            yield PickTask(kind, read.gallery, dialogues)


def _list_cirr(folder: Path, split: str) -> Iterator[PickTask]:
    # A catalogue of `viewfinder world` keeps these in a folder of their own.
    for home in (folder, folder / "cirr"):
        if (home / "captions" / f"cap.{VERSION}.{split}.json").is_file():
            read, _ = read_cirr(home, split)
            dialogues = tuple(
                PickDialogue((Like(pair.reference, pair.caption),), (pair.target,))
                for pair in read.pairs
                if pair.target is not None
            )
            yield PickTask("cirr", read.gallery, dialogues)


def _list_sessions(folder: Path, split: str) -> Iterator[PickTask]:
    files = [one for one in (folder / "data").glob(f"*.{split}.json") if not one.name.startswith("shuffled.")]
    kinds = session_kinds(folder) if files else {}
    for kind in [ALL_SESSIONS] if ALL_SESSIONS in kinds else kinds:
        if split in kinds[kind]:
            read, _ = read_sessions(folder, kind, split)
            dialogues = tuple(
                PickDialogue(
                    tuple(Like(shown.key, join_captions(shown.captions)) for shown in one.references), one.keys[1:]
                )
                for one in read.sessions
            )
            yield PickTask(f"sessions, {kind}", read.gallery, dialogues)


def _list_transactions(folder: Path, split: str) -> Iterator[PickTask]:
    sources = fashionmt_sources(folder) if any((folder / "modifiers").glob(f"*_{split}_cap.json")) else {}
    for source, splits in sources.items():
        if split in splits:
            read, _ = read_transactions(folder, source, split)
            dialogues = tuple(
                PickDialogue(
                    tuple(Like(*said) for said in zip(one.pictures[:-1], one.modifications, strict=True)), one.targets
                )
                for one in read.transactions
            )
            yield PickTask(source, read.gallery, dialogues)
