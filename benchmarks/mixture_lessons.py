"""What mixture.py trains every specialist on: all training dialogues of all worlds, as turns of a conversation.

What `one`, its gates' systems and its turn network have learnt from: descriptions of scenes, dialogues about them,
tChat, iChat, mChat, edits, relative captions (Fashion IQ's and CIRR's kind), sessions, transactions, talks of five
turns with Fashion IQ's simulated user, captions of photographs and names of products. Each is a kind of its own, and a
batch is of one kind alone. The training part is learnt from, the validation part says which weights are kept.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from chat_tests import without_shown
from fusion_talks import TALKS_COLUMN, Alone, hold, open_halls
from photographs import LEARN, list_pictures, write_folder
from remembering import RememberingEncoder
from rows import run
from shipped import NAMED, make_folder
from side_by_side import TESTS

from viewfinder.conversation import Like, Say, Turn
from viewfinder.data.chatsearch import read_chatsearch
from viewfinder.data.fashionmt import read_transactions, write_transactions
from viewfinder.data.picture_texts import read_instruct_pix2pix
from viewfinder.data.splits import split_reader
from viewfinder.data.visual_genome import read_visual_genome
from viewfinder.evaluation import Plan, Task
from viewfinder.evaluation.evaluate import load_tasks
from viewfinder.evaluation.pictures import Pictures, load_pictures, match_pictures
from viewfinder.evaluation.plan import SearchDialogue, load_system
from viewfinder.evaluation.protocols.chatsearch import make_user_turns
from viewfinder.evaluation.replay import make_conversation
from viewfinder.query import ResolvedTurn
from viewfinder.retrievers import Retriever
from viewfinder.retrievers.one.gates import COMPOSER
from viewfinder.session.resolve import resolve_turn
from viewfinder.worlds.catalogue.items import read_photos
from viewfinder.worlds.catalogue.transactions import SETTINGS, make_transactions

Part = Literal["train", "val"]

TRANSACTIONS = 1200
"""Training transactions of each setting: all take an hour to make."""

MOST_VALIDATED = 150
"""Validation dialogues of a kind, evenly."""

MOST_SENTENCES = 6
"""Descriptions of one scene that a dialogue draws from."""

PRODUCTS, CIRR, SCENES, EDITS = "products", "cirr", "scenes", "edits"


@dataclass(frozen=True)
class Kind:
    """A kind of dialogues: its folder, and how it is read.

    `free`: what is said has no order, so that training may draw one.
    """

    folder: str
    protocol: str
    task: str | None = None
    free: bool = False


KINDS = {
    "scenes: descriptions": Kind(SCENES, "regions", free=True),
    "scenes: dialogues": Kind(SCENES, "chatir"),
    "tChat": Kind(SCENES, "chatsearch", "tChat"),
    "iChat": Kind(SCENES, "chatsearch", "iChat"),
    "mChat": Kind(SCENES, "chatsearch", "mChat"),
    "edits": Kind(EDITS, "edits"),
    "relative captions": Kind(PRODUCTS, "fashioniq", TESTS["fashioniq: one turn"].task),
    "cirr": Kind(CIRR, "cirr"),
    "sessions": Kind(PRODUCTS, "mai", TESTS["mai: sessions"].task),
    "rollback": Kind(PRODUCTS, "mai", "rollback"),
    "combination": Kind(PRODUCTS, "mai", "combination"),
    "talks": Kind(PRODUCTS, "talks"),
    "photographs": Kind(LEARN, "drilldown", free=True),
    "names of products": Kind(PRODUCTS, "names", free=True),
}


# -- folders


def make_folders(data: Path, work: Path, fusion: Path) -> None:
    """Makes what is missing; `fusion` is the folder of fusion.py, whose catalogue is taken, with more transactions."""
    for name in (SCENES, EDITS, NAMED):
        make_folder(name, data, work)
    write_folder(work / LEARN, list_pictures(data)[LEARN])
    for name in (PRODUCTS, CIRR):
        if not (work / name).is_dir():
            shutil.copytree(fusion / name, work / name, copy_function=os.link)
        if not (work / "features" / name).is_dir():
            shutil.copytree(fusion / "features" / name, work / "features" / name, copy_function=os.link)
    for setting in SETTINGS:
        add_transactions(data, work / PRODUCTS, setting)
    for name in (SCENES, LEARN, EDITS):
        if not ((vectors := work / "features" / name) / "manifest.json").is_file():
            run("features", work / name, "--out", vectors)
            print("vectors:", name, flush=True)
    parts: tuple[Part, ...] = ("train", "val")
    for part in parts:
        if not (file := work / f"talks-{part}.json").is_file():
            file.write_text(json.dumps(list(record_talks(fusion, part))))


def add_transactions(data: Path, folder: Path, setting: Any) -> None:
    """More transactions of the training part: the first are those that the catalogue has."""
    known, _ = read_transactions(folder, setting, "train")
    if len(known.transactions) >= TRANSACTIONS:
        return
    items = [item for item in read_photos(data / "fashion-products")[0] if item.split == "train"]
    rng = random.Random(f"viewfinder/transactions/1/{setting}/train")
    made = make_transactions(items, setting, 10 * TRANSACTIONS, rng, "contextual")
    told = [transaction for _, transaction in islice(made, TRANSACTIONS)]
    for file in (f"{setting}_train_cap.json", f"{setting}_index_names.txt"):
        (folder / "modifiers" / file).unlink()  # a link to the file of the other folder
    write_transactions(folder, setting, "train", told, known.gallery)
    print(folder.name, setting, len(told), flush=True)


def record_talks(fusion: Path, part: Part) -> Iterator[dict[str, Any]]:
    """Fashion IQ's talks of five turns that the composer leads."""
    for hall in open_halls(TALKS_COLUMN, fusion, part, (COMPOSER,)):
        talks = []
        for dialogue in hall.task.dialogues:
            *_, last = hold(hall, dialogue, Alone(COMPOSER))
            picked = [turn for turn in last.heard.turns if isinstance(turn, Like)]
            talks.append({"target": dialogue.target, "said": [(one.picture, one.text) for one in picked]})
        print(part, hall.task.name, len(talks), flush=True)
        yield {"gallery": hall.task.gallery, "talks": talks}


# -- dialogues


@dataclass(frozen=True, eq=False)
class Lessons:
    """The dialogues of a kind, with the pictures that they are about: a gallery for each task."""

    name: str
    kind: Kind
    folder: Path
    features: Path
    tasks: tuple[Task, ...]
    pictures: Pictures

    def resolved_in(self, task: Task, retriever: Retriever[Any]) -> Iterator[tuple[SearchDialogue, list[ResolvedTurn]]]:
        """The dialogues of one of the tasks, and their turns as the live product resolves them for a retriever."""
        gallery = self.pictures.gallery(tuple(task.pictures()), task.captions)
        for dialogue in task.dialogues:
            conversation = make_conversation(dialogue.turns)
            nodes = [node for node in conversation.nodes if node.turn is not None]
            yield dialogue, [resolve_turn(conversation, one, gallery, reads=retriever.reads) for one in nodes]

    def heard(self, retriever: Retriever[Any]) -> Iterator[tuple[str, list[ResolvedTurn]]]:
        """Every picture that is wanted in a dialogue, and all turns up to the last one that wants it."""
        for task in self.tasks:
            for dialogue, turns in self.resolved_in(task, retriever):
                for target, count in list_wanted(dialogue):
                    yield target, turns[:count]

    def __len__(self) -> int:
        return sum(len(task.dialogues) for task in self.tasks)


@cache
def read_lessons(work: Path, part: Part) -> tuple[Lessons, ...]:
    """All kinds."""
    encoder, regions, found = RememberingEncoder(), load_system("drilldown"), []
    for name, kind in KINDS.items():
        plan = Plan(
            system=COMPOSER, data=work / kind.folder, protocol=kind.protocol, task=kind.task, split=part,
            features=work / "features" / kind.folder,
        )  # fmt: skip
        pictures = load_pictures(plan, encoder, regions)
        limit = MOST_VALIDATED if part == "val" else None
        tasks = tuple(without_shown(match_pictures(task, pictures, limit)) for task in read_tasks(kind, plan, part))
        found.append(Lessons(name, kind, plan.data, work / "features" / kind.folder, tasks, pictures))
        print(part, name, len(found[-1]), flush=True)
    return tuple(found)


def read_tasks(kind: Kind, plan: Plan, part: Part) -> list[Task]:
    """The tasks of a kind."""
    own: dict[str, Callable[[], list[Task]]] = {
        "regions": lambda: [_describe_scenes(plan.data, part)],
        "chatsearch": lambda: [_read_chats(plan.data, kind.task or "", part)],
        "edits": lambda: [_read_edits(plan.data, part)],
        "names": lambda: load_tasks(replace(plan, data=plan.data.parent / NAMED, protocol="drilldown")),
        "talks": lambda: list(_read_talks(plan.data.parent / f"talks-{part}.json", part)),
    }
    return own[kind.protocol]() if kind.protocol in own else load_tasks(plan)


def _make_task(name: str, part: Part, gallery: Sequence[str], dialogues: Sequence[SearchDialogue]) -> Task:
    return Task("mixture", name, part, tuple(dict.fromkeys(gallery)), tuple(dialogues), ("R@10",))


def _describe_scenes(folder: Path, part: Part) -> Task:
    """Descriptions of things in each scene, drawn from all there are."""
    rng, said = np.random.default_rng(0), []
    for one in read_visual_genome(folder, part)[0]:
        assert one.path is not None
        texts = list(one.captions)
        chosen = rng.permutation(len(texts))[:MOST_SENTENCES]
        said.append(SearchDialogue(str(one.id), one.path.name, tuple(Say(texts[at]) for at in chosen)))
    return _make_task("descriptions", part, [one.target for one in said], said)


def _read_chats(folder: Path, subtask: str, part: Part) -> Task:
    samples, _ = read_chatsearch(folder / "chatsearch" / f"{subtask}_{part}.jsonl")
    held = [SearchDialogue(one.id, one.target, tuple(make_user_turns(one))) for one in samples]
    return _make_task(subtask, part, [one.target for one in held], held)


def _read_edits(folder: Path, part: Part) -> Task:
    split_of, held = split_reader(folder), []
    for pair in read_instruct_pix2pix(folder)[0]:
        if split_of(pair.source.parent.name) == part:
            before, after = (file.relative_to(folder).as_posix() for file in (pair.source, pair.target))
            held.append(SearchDialogue(f"{pair.prompt}-{pair.seed}", after, (Like(before, pair.instruction),)))
    return _make_task("edits", part, [one.target for one in held], held)


def _read_talks(file: Path, part: Part) -> Iterator[Task]:
    for number, hall in enumerate(json.loads(file.read_text())):
        held = []
        for at, talk in enumerate(hall["talks"]):
            turns: tuple[Turn, ...] = tuple(Like(picture, text) for picture, text in talk["said"])
            held.append(SearchDialogue(f"{number}-{at}", talk["target"], turns))
        yield _make_task("talks", part, hall["gallery"], held)


def list_targets(dialogue: SearchDialogue) -> tuple[str, ...]:
    """The picture that is wanted at each turn."""
    return dialogue.targets or (dialogue.target,) * len(dialogue.turns)


def list_wanted(dialogue: SearchDialogue) -> Iterator[tuple[str, int]]:
    """The pictures that are wanted in a dialogue, each with the number of turns until another one is."""
    wanted = list_targets(dialogue)
    for count, target in enumerate(wanted, start=1):
        if count == len(wanted) or wanted[count] != target:
            yield target, count
