"""What fusion.py measures on: the worlds of side_by_side.py, photographs, and every score of the shipped systems.

Training scenes are not drawn, but for one in `DRAWN`, and there are only a few training transactions: nothing is learnt
from them here, and they take most of the time. All else is as in the other benchmarks, so test pictures and test
dialogues are those of side_by_side.py.

Scores are kept as `work/scores/PART/COLUMN/TASK/SYSTEM.npz`, one row a query (a dialogue up to a turn), one column a
picture; what is kept is not computed again. `about.npz` beside them says of every query what is wanted, and what the
gates may know of the conversation.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
from chat_tests import without_shown
from jaxtyping import Bool, Float, Float32, Int
from photographs import TURNS, list_pictures, of_test, write_folder
from PIL import Image
from remembering import RememberingEncoder
from rows import run
from side_by_side import READS_CAPTIONS, SHARED, TALKS, TESTS, Test, folder_name, list_test_pictures

from viewfinder.conversation import BackTo
from viewfinder.data.chatsearch import read_chatsearch
from viewfinder.data.fashionmt import Transaction
from viewfinder.data.splits import read_photographs, split_of
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation import Plan, Task
from viewfinder.evaluation.evaluate import load_tasks
from viewfinder.evaluation.pictures import load_pictures, match_pictures
from viewfinder.evaluation.plan import SearchDialogue, load_system, pick_evenly
from viewfinder.evaluation.protocols.chatsearch import make_user_turns
from viewfinder.evaluation.replay import RegionScorer, force_pictures, make_conversation, query_each_turn
from viewfinder.query import Query, RegionSpace
from viewfinder.retrievers import Retriever
from viewfinder.retrievers.one.gates import COMPOSER, WORLDS, describe_conversation
from viewfinder.search.gallery import Gallery
from viewfinder.search.scores import find_excluded, score_all
from viewfinder.worlds import write_world
from viewfinder.worlds.catalogue.items import Item
from viewfinder.worlds.catalogue.transactions import Chain, make_transactions
from viewfinder.worlds.drawing.draw import draw_scene
from viewfinder.worlds.kinds import HEIGHT, WIDTH
from viewfinder.worlds.records import file_name
from viewfinder.worlds.scene import Scene

SCENES, SCENES_SEED = 8000, 5
DRAWN = 40
"""One in so many training scenes is drawn: they say what the pictures of that world are like."""

EXAMPLES = 12
"""Training transactions of each setting: as many as a sheet shows."""

PRODUCTS = "fashion-products"


# -- folders


def make_folders(data: Path, work: Path) -> None:
    """Makes the worlds, the photographs and all vectors, as far as they are not there."""
    make_scenes(work / "scenes", data / PRODUCTS)
    make_catalogue(work / "products", data / PRODUCTS, seed=1, language="contextual", pairs=4)
    make_catalogue(work / "cirr", data / PRODUCTS, seed=0)
    chosen = [one for some in read_photographs(data, "choose").values() for one in some]
    write_folder(work / CHOSEN, [one for one in chosen if len(one.captions) >= TURNS])
    write_folder(work / "photographs", list_pictures(data)["photographs"])
    fit = [one for name, some in read_photographs(data, "fit").items() if name.startswith("flickr8k") for one in some]
    write_folder(work / "learnt-photographs", pick_evenly(fit, 400))
    for name in ("scenes", "products", CHOSEN, "photographs", "learnt-photographs"):
        if not ((vectors := work / "features" / name) / "manifest.json").is_file():
            run("features", work / name, "--out", vectors)
            print("vectors:", name, flush=True)
    if not (cirr := work / "features" / "cirr").is_dir():
        shutil.copytree(work / "features" / "products", cirr)  # links to the same photographs
    if not (work / "features" / "flickr8k" / "manifest.json").is_file():
        run("features", data / "flickr8k", "--out", work / "features" / "flickr8k")


def make_scenes(folder: Path, sprites: Path) -> None:
    """The world of scenes, of which training pictures are blank, and then taken away, but for one in `DRAWN`."""
    done = folder / "catalogue.csv"
    if not done.is_file():
        with patch("viewfinder.worlds.write.draw_scene", draw_or_not):
            write_world(folder, kind="scenes", count=SCENES, seed=SCENES_SEED, language="contextual", sprites=sprites)
    for number in range(1, SCENES + 1):
        if not is_drawn(number):
            (folder / "images" / file_name(number)).unlink(missing_ok=True)


def make_catalogue(folder: Path, sprites: Path, **made: Any) -> None:
    """A catalogue of all products, of whose training transactions there are only a few: all would take an hour."""

    def make_few(items: Sequence[Item], *given: Any) -> Iterator[tuple[Chain, Transaction]]:
        return islice(make_transactions(items, *given), EXAMPLES if items and items[0].split == "train" else None)

    if not (folder / "report.json").is_file():
        with patch("viewfinder.worlds.catalogue.write.make_transactions", make_few):
            write_world(folder, kind="catalogue", count=0, sprites=sprites, **made)


def draw_or_not(scene: Scene) -> Image.Image:
    """The picture of a scene that is looked at, a blank one of others."""
    return draw_scene(scene) if is_drawn(scene.number) else Image.new("RGB", (WIDTH, HEIGHT))


def is_drawn(number: int) -> bool:
    """Whether a scene is for validation or testing, or among the few for training."""
    return split_of(file_name(number)) != "train" or number % DRAWN == 0


# -- columns


@dataclass(frozen=True)
class Column:
    """A column of docs/systems/index.md, or another test.

    `validation` is the folder of its validation part, where that is not in the same folder. `whole`: dialogues of five
    turns, all of them.
    """

    test: Test
    validation: str = ""
    whole: bool = False


ALL_PHOTOGRAPHS = "photographs: five captions"
SMALL = "photos: five captions"
CHOSEN = "chosen-photographs"
RECORDED = {name: test for name, test in {**TESTS, **READS_CAPTIONS}.items() if not test.simulated}
COLUMNS: dict[str, Column] = {
    **{name: Column(test, CHOSEN if test.protocol == "captions" else "") for name, test in RECORDED.items()},
    ALL_PHOTOGRAPHS: Column(Test("photographs", "captions", SHARED, limit=None), CHOSEN, whole=True),
}
"""All columns of recorded dialogues; the last is the table of all photographs that nothing has learnt from."""

Part = Literal["val", "test"]
PARTS: tuple[Part, ...] = ("val", "test")
LIMITS: dict[Part, int] = {"val": 150, "test": TALKS}
"""Dialogues a task."""


def read_tasks_of(name: str, part: Part, work: Path, data: Path) -> tuple[list[Task], Plan]:
    """The tasks of a column in a part, and the plan that reads their pictures."""
    column = COLUMNS[name]
    test, validates = column.test, part == "val"
    source = column.validation if validates and column.validation else test.data
    plan = Plan(
        system="composer", data=(data if source == "flickr8k" else work) / source, protocol=test.protocol,
        task=test.task, split="val" if validates and not column.validation else None, captions=test.captions,
        limit=None if test.limit is None and not validates else LIMITS[part], features=work / "features" / source,
    )  # fmt: skip
    if test.protocol == "chatsearch" and validates:  # the galleries in its folder are those of the test
        return [read_validation_chats(plan.data, test.task or "")], plan
    tasks = load_tasks(plan)
    if test.unseen and not validates:
        seen = list_test_pictures(plan.data)
        tasks = [replace(task, dialogues=tuple(one for one in task.dialogues if one.id in seen)) for task in tasks]
    if column.whole or (validates and column.validation):
        tasks = [of_test(task, ALL_PHOTOGRAPHS) for task in tasks]
    return tasks, plan


def read_validation_chats(folder: Path, subtask: str) -> Task:
    """The validation dialogues of one kind, searched in the pictures of that part."""
    [file] = [one for one in (folder / "chatsearch").glob("*_val.jsonl") if one.stem.lower() == f"{subtask}_val"]
    samples, report = read_chatsearch(file)
    dialogues = tuple(SearchDialogue(one.id, one.target, tuple(make_user_turns(one))) for one in samples)
    names = map(file_name, range(1, SCENES + 1))
    gallery = tuple(f"images/{name}" for name in names if split_of(name) == "val")
    return Task("chatsearch", subtask, "val", gallery, dialogues, (SHARED,), last_only=True, reports=(report,))


# -- scores

FOLDERS = {"scenes": "scenes", "products": "products", "photographs": "learnt-photographs"}
"""The folders whose training pictures are what the systems have learnt from."""


@dataclass(frozen=True, eq=False)
class Queries:
    """All queries of a task: a dialogue up to one of its turns each, n pictures to search.

    Attributes:
        ids: of the dialogues; `dialogue_q` is a place among them.
        target_q: the place of the wanted picture.
        last_q: whether it is the dialogue's last turn.
        conversation_qf: what `CONVERSATION` names.
        mean_d: the mean vector of the gallery.
        captions: whether there is something written about pictures, for the system that reads it.
    """

    ids: tuple[str, ...]
    dialogue_q: Int[np.ndarray, " q"]
    target_q: Int[np.ndarray, " q"]
    last_q: Bool[np.ndarray, " q"]
    conversation_qf: Float[np.ndarray, "q f"]
    mean_d: Float[np.ndarray, " d"]
    captions: bool


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores of all pictures by one system, query by query, what it excludes, and how much it makes of a lead."""

    scores_qn: Float32[np.ndarray, "q n"]
    out_qn: Bool[np.ndarray, "q n"]
    sharpness_q: Float32[np.ndarray, " q"]
    ms_a_turn: float


Loaders = Mapping[str, Callable[[], Retriever[Any]]]
"""How systems are loaded, by the name of their scores."""

COMPARED = (COMPOSER, "clip-t", "clip-ti", "drilldown", "chatir", "fashioniq", "mai", "chatsearcher")
"""The shipped systems that are compared and added up, the composer first."""

SHIPPED: Loaders = {system: partial(load_system, system) for system in COMPARED}

AS_THEY_ARE: Mapping[str, str] = MappingProxyType({system: system for system in COMPARED})
"""Under which names the scores of the systems are that are added up: these."""


def score_columns(
    work: Path, data: Path, parts: Sequence[Part], names: Sequence[str], loaders: Loaders = SHIPPED
) -> None:
    """Scores all columns by systems, as far as that is not done."""
    encoder = RememberingEncoder()
    for name in names:
        for part in parts:
            home = work / "scores" / part / folder_name(name)
            if part == "val" and name == SMALL:  # its photographs are among those of the other
                continue
            if all((home / f"{system}.done").is_file() for system in loaders):
                continue
            tasks, plan = read_tasks_of(name, part, work, data)
            score_systems(f"{part} {name}", home, tasks, plan, encoder, partial(reuse_scores, home, name), loaders)


def score_systems(
    title: str, home: Path, tasks: Sequence[Task], plan: Plan, encoder: RememberingEncoder,
    reuse: Callable[[str], bool] = lambda system: False, loaders: Loaders = SHIPPED,
) -> None:  # fmt: skip
    """Scores the tasks of a column by systems, as far as that is not done; `reuse` takes scores from elsewhere."""
    for system, load in loaders.items():
        if (home / f"{system}.done").is_file() or reuse(system):
            continue
        retriever = force_pictures(load())
        pictures = load_pictures(plan, encoder, retriever)
        for number, task in enumerate(tasks):
            known = without_shown(match_pictures(task, pictures, plan.limit))
            place = home / str(number)
            place.mkdir(parents=True, exist_ok=True)
            gallery = pictures.gallery(tuple(known.pictures()), known.captions if plan.captions else None)
            if not (place / "about.npz").is_file():
                captions = plan.captions and bool(known.captions)
                write_queries(place, list_queries(known, gallery, captions=captions))
            scored = score_task(known, gallery, retriever)
            write_scores(place, system, scored)
            print(title, number, system, scored.scores_qn.shape, f"{scored.ms_a_turn:.1f} ms", flush=True)
        (home / f"{system}.done").touch()


def reuse_scores(home: Path, name: str, system: str) -> bool:
    """Links the scores of a system that does not read what is written about pictures, from the column without."""
    if name not in READS_CAPTIONS or system == "mai":
        return False
    plain = home.parent / folder_name(name.partition(",")[0])
    for file in plain.glob(f"*/{system}.npz"):
        (home / file.parent.name).mkdir(parents=True, exist_ok=True)
        (home / file.parent.name / file.name).hardlink_to(file)
    (home / f"{system}.done").touch()
    return True


@cache
def mean_vectors(work: Path) -> Float32[np.ndarray, "w d"]:
    """The mean vector of training pictures of each world."""
    encoder, found = StarterEncoder(), []
    for world in WORLDS:
        folder = FOLDERS[world]
        plan = Plan(system="composer", data=work / folder, features=work / "features" / folder)
        pictures = load_pictures(plan, encoder, load_system("composer"))
        learnt = [row for row, key in enumerate(pictures.keys) if split_of(key) == "train"]
        found.append(pictures.vectors_nd[learnt].mean(axis=0))
    return np.stack(found)


def score_task(
    task: Task, gallery: Gallery, retriever: Retriever[Any], regions: dict[str, RegionScorer] | None = None
) -> Scored:
    """The scores of the task's gallery after every turn of every dialogue; `regions` keeps what scores spaces."""
    ranked_n = np.sort(np.array(gallery.rows(task.gallery), np.int64))
    place = {int(row): at for at, row in enumerate(ranked_n)}
    regions = {} if regions is None else regions
    scores, out, sharpness = [], [], list[float]()
    started = time.perf_counter()
    for dialogue in task.dialogues:
        conversation = make_conversation(dialogue.turns)
        queries = [query for _, query in query_each_turn(conversation, gallery, retriever)]
        scores += score_queries(queries, gallery, ranked_n, regions)
        sharpness += [query.sharpness for query in queries]
        for query in queries:
            rows = {*gallery.rows(dialogue.leaves_out), *map(int, find_excluded(gallery, query))}
            out_n = np.zeros(len(ranked_n), bool)
            out_n[[place[row] for row in rows if row in place]] = True
            out.append(out_n)
    spent_ms = 1000 * (time.perf_counter() - started)
    scores_qn = np.stack(scores).astype(np.float32)
    return Scored(scores_qn, np.stack(out), np.array(sharpness, np.float32), spent_ms / len(scores))


def score_queries(
    queries: Sequence[Query], gallery: Gallery, ranked_n: Int[np.ndarray, " n"], regions: dict[str, RegionScorer]
) -> list[Float32[np.ndarray, " n"]]:
    """The scores of some rows of a gallery for queries of one retriever; `regions` keeps what scores its space."""
    found: list[Float32[np.ndarray, " n"]] = []
    for query in queries:
        if not query.parts:
            found.append(np.zeros(len(ranked_n), np.float32))
        elif isinstance(query.space, RegionSpace):
            if query.space.name not in regions:
                regions[query.space.name] = RegionScorer(gallery, query.space, ranked_n)
            found += regions[query.space.name].scores([query])
        else:
            found.append(score_all(gallery, query).total_n[ranked_n])
    return found


def list_queries(task: Task, gallery: Gallery, *, captions: bool) -> Queries:
    """The queries of a task."""
    ranked_n = np.sort(np.array(gallery.rows(task.gallery), np.int64))
    at = {int(row): position for position, row in enumerate(ranked_n)}
    dialogue_q, target_q, last_q, conversation_qf = [], [], [], []
    for number, dialogue in enumerate(task.dialogues):
        assert not any(isinstance(turn, BackTo) for turn in dialogue.turns), "recorded dialogues go straight on"
        for turn in range(len(dialogue.turns)):
            wanted = dialogue.targets[turn] if dialogue.targets else dialogue.target
            dialogue_q.append(number)
            target_q.append(at[gallery.row(wanted)])
            last_q.append(turn + 1 == len(dialogue.turns))
            conversation_qf.append(describe_conversation(dialogue.turns[: turn + 1]))
    return Queries(
        tuple(one.id for one in task.dialogues), np.array(dialogue_q), np.array(target_q), np.array(last_q),
        np.array(conversation_qf, np.float32), gallery.snapshot.matrix_nd[ranked_n].mean(axis=0),
        captions,
    )  # fmt: skip


def write_queries(place: Path, queries: Queries) -> None:
    """Writes what is known of queries into a folder."""
    np.savez(
        place / "about.npz", ids=np.array(queries.ids), dialogue_q=queries.dialogue_q, target_q=queries.target_q,
        last_q=queries.last_q, conversation_qf=queries.conversation_qf, mean_d=queries.mean_d,
        captions=queries.captions,
    )  # fmt: skip


def write_scores(place: Path, system: str, scored: Scored) -> None:
    """Writes the scores of a system into the folder of its queries."""
    np.savez(
        place / f"{system}.npz", scores_qn=scored.scores_qn, out_qn=np.packbits(scored.out_qn, axis=1),
        sharpness_q=scored.sharpness_q, ms_a_turn=scored.ms_a_turn,
    )  # fmt: skip


def read_column(
    work: Path, part: Part, name: str, members: Mapping[str, str] = AS_THEY_ARE
) -> Iterator[tuple[Queries, dict[str, Scored]]]:
    """What is kept of a column, task by task; `members`: systems, and under which names their scores are."""
    for place in list_places(work, part, name):
        with np.load(place / "about.npz") as about:
            queries = Queries(
                tuple(map(str, about["ids"])), about["dialogue_q"], about["target_q"], about["last_q"],
                about["conversation_qf"], about["mean_d"], bool(about["captions"]),
            )  # fmt: skip
        yield queries, {system: read_scores(place, kept_as) for system, kept_as in members.items()}


def read_scores(place: Path, system: str) -> Scored:
    """What `write_scores` wrote."""
    with np.load(place / f"{system}.npz") as kept:
        scores_qn = kept["scores_qn"]
        out_qn = np.unpackbits(kept["out_qn"], axis=1, count=scores_qn.shape[1]).astype(bool)
        return Scored(scores_qn, out_qn, kept["sharpness_q"], float(kept["ms_a_turn"]))


def list_places(work: Path, part: Part, name: str) -> list[Path]:
    """The folders of the tasks of a column."""
    home = work / "scores" / part / folder_name(name)
    return sorted((one for one in home.iterdir() if one.is_dir()), key=lambda one: int(one.name))
