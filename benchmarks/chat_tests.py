"""The tests of a system that talks and retrieves, for chatsearcher.py; each test writes a run folder, once.

chat        the three tasks of ChatSearch: whole dialogues, all test samples, R@1, R@5, R@10; pictures that a dialogue
            showed are left out of its gallery, since a row that looks for similar pictures would find them first
last turn   mChat with the last turn alone: what the talk before it is worth
captions    from a first caption to its photo, among pictures that no training has seen: zero-shot text-to-image
cirr        CIRR's protocol, on product photos
visual      questions about a picture, answered in words
decision    whether it shows pictures when asked for them, and words when asked a question
grounding   the part of a picture that a phrase is about, retrieved among crops
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from rows import is_measured, keep_tasks

from viewfinder.data.captions import read_captioned
from viewfinder.data.splits import split_of
from viewfinder.encoders import Encoder, load_encoder
from viewfinder.evaluation import Plan, Run, Task, compute_figures, evaluate, read_run, replay_task, write_run
from viewfinder.evaluation.deciding import measure_decisions
from viewfinder.evaluation.evaluate import load_tasks
from viewfinder.evaluation.grounding import ground_phrases
from viewfinder.evaluation.overlap import list_parts, measure_overlap, read_training_texts
from viewfinder.evaluation.pictures import load_pictures, match_pictures
from viewfinder.evaluation.plan import SearchDialogue, load_system
from viewfinder.evaluation.replay import force_pictures
from viewfinder.evaluation.results import describe_machine, describe_provenance, make_task_result, write_measured_run
from viewfinder.evaluation.visual_conversation import answer_questions

CAPTIONED = ("flickr8k", "scenes")
SEEN_PICTURES = 100
"""Pictures of the test of visual conversation, with about ten questions each."""


@dataclass(frozen=True)
class Place:
    """The folders of all data sets, of their vectors, and of the runs."""

    work: Path
    folders: Mapping[str, Path]

    @property
    def features(self) -> Path:
        """Vectors, a folder a data set."""
        return self.work / "features"

    def plan(self, system: str, data: str, weights: Path | None, protocol: str | None = None) -> Plan:
        """A system on a data set."""
        return Plan(
            system=system, data=self.folders[data], protocol=protocol, checkpoint=weights,
            features=self.features / data,
        )  # fmt: skip


@dataclass(frozen=True)
class MeasuredRow:
    """A system with its weights (None: nothing was trained), where its runs go, and its row and seed."""

    system: str
    weights: Path | None
    folder: Path
    place: Place
    name: str
    seed: int

    def plan(self, data: str, protocol: str | None = None) -> Plan:
        """The system on a data set."""
        return self.place.plan(self.system, data, self.weights, protocol)


@cache
def encoder() -> Encoder:
    """The one that all of it is about."""
    return load_encoder("starter")


def print_line(line: str) -> None:
    """Prints a line of progress."""
    print("   ", line, flush=True)


def rank_chat(row: MeasuredRow, out: Path) -> None:
    """All three tasks; pictures are always shown."""
    replay_tasks(row.plan("scenes", "chatsearch"), out, without_shown)


def without_shown(task: Task) -> Task:
    """The task with every picture that a dialogue shows left out of its ranking, but for those that it looks for."""
    return replace(task, dialogues=tuple(map(_without_shown, task.dialogues)))


def _without_shown(dialogue: SearchDialogue) -> SearchDialogue:
    shown = replace(dialogue, among=(), targets=()).pictures()
    wanted = {dialogue.target, *dialogue.targets}
    return replace(dialogue, leaves_out=tuple(dict.fromkeys(name for name in shown if name not in wanted)))


def rank_last_turn(row: MeasuredRow, out: Path) -> None:
    """mChat with the last turn alone; pictures that were shown before are not searched either."""
    plan = replace(row.plan("scenes", "chatsearch"), task="mchat")

    def drop_history(task: Task) -> Task:
        whole = without_shown(task)
        return replace(whole, dialogues=tuple(replace(one, turns=one.turns[-1:]) for one in whole.dialogues))

    replay_tasks(plan, out, drop_history)


def rank_captions(data: str) -> Callable[[MeasuredRow, Path], None]:
    """One data set's test pictures by the first caption of each."""

    def run(row: MeasuredRow, out: Path) -> None:
        replay_tasks(row.plan(data, "captions"), out, lambda task: of_test_split(task, row.place.folders[data], data))

    return run


def of_test_split(task: Task, folder: Path, data: str) -> Task:
    """The task with the test pictures alone, one caption each."""
    names = [picture.path.name for picture in read_captioned(folder)[0]]
    chosen = {name for name in names if split_of(name) == "test"}
    talks = tuple(replace(talk, turns=talk.turns[:1]) for talk in task.dialogues if Path(talk.target).name in chosen)
    gallery = tuple(picture for picture in task.gallery if Path(picture).name in chosen)
    return replace(task, name=data, split="test", dialogues=talks, gallery=gallery)


def replay_tasks(plan: Plan, out: Path, changed: Callable[[Task], Task], reader: Encoder | None = None) -> None:
    """Recorded talks of all tasks of a plan, which are changed first; read by the starter or another encoder."""
    reader = reader or encoder()
    system = force_pictures(load_system(plan.system, plan.seed, plan.checkpoint))
    results = []
    for task in load_tasks(plan):
        pictures = load_pictures(plan, reader, system, notify=print_line)
        known = changed(match_pictures(task, pictures, plan.limit))
        print_line(f"{known.title}: {len(known.dialogues):,} talks, {len(known.gallery):,} pictures")
        gallery = pictures.gallery(tuple(known.pictures()), known.captions if plan.captions else None)
        table = replay_task(known, gallery, system)
        texts = read_training_texts((plan.data, *plan.learnt_from), known.protocol)
        overlap = measure_overlap(known, plan.data, list_parts(system, reader), texts)
        results.append(replace(make_task_result(known, table, compute_figures(known, table)), overlap=overlap))
    write_run(Run(out, describe_provenance(plan, reader), describe_machine(), tuple(results)))


def rank_cirr(row: MeasuredRow, out: Path) -> None:
    """One turn about a picture; nothing was learnt of these subsets."""
    write_run(evaluate(row.plan("cirr", "cirr"), encoder(), out, print_line).run)


def ask_about_pictures(row: MeasuredRow, out: Path) -> None:
    """Questions about pictures of the test split."""
    plan = replace(row.plan("scenes", "visual"), limit=SEEN_PICTURES)
    write_measured_run(answer_questions(plan, encoder(), out, print_line))


def judge_decisions(row: MeasuredRow, out: Path) -> None:
    """Decisions with the leaning of the weights, which was chosen on validation talks."""
    write_measured_run(
        measure_decisions(replace(row.plan("scenes", "decision"), limit=500), encoder(), out, print_line)
    )


def ground(data: str, pictures: int, proposals: str) -> Callable[[MeasuredRow, Path], None]:
    """Phrases of so many pictures of a data set, among windows or the boxes of a detector."""

    def run(row: MeasuredRow, out: Path) -> None:
        plan = replace(row.plan(data, "grounding"), limit=pictures, options={"proposals": proposals})
        write_measured_run(ground_phrases(plan, encoder(), out, print_line))

    return run


TESTS: dict[str, Callable[[MeasuredRow, Path], None]] = {
    "chat": rank_chat,
    "last turn": rank_last_turn,
    **{f"captions, {data}": rank_captions(data) for data in CAPTIONED},
    "cirr": rank_cirr,
    "visual": ask_about_pictures,
    "decision": judge_decisions,
    "grounding, scenes, boxes": ground("scenes", 100, "boxes"),
    "grounding, scenes, windows": ground("scenes", 10, "windows"),
    "grounding, coco, boxes": ground("coco", 80, "boxes"),
}
NEEDS = {"cirr": "cirr"}
"""Folders without which a test waits."""


def measure(row: MeasuredRow, name: str) -> None:
    """A test, unless it is done or its data are not there yet."""
    out = row.folder / name
    if is_measured(out) or (name in NEEDS and not row.place.folders[NEEDS[name]].is_dir()):
        return
    print(f"{row.folder.name}: {name}", flush=True)
    TESTS[name](row, out)
    if name in RANKED:
        keep(row, name, out)


RANKED = ("chat", "last turn", "cirr", *(f"captions, {data}" for data in CAPTIONED))


def keep(row: MeasuredRow, name: str, out: Path, benchmark: str = "chatsearcher", data: str = "") -> None:
    """Keeps the ranks of a test, of each task by itself; the last turn alone is a row beside the whole dialogue's."""
    done = f" evaluate DATA --rows '{row.name}'" if not data else " DATA --only claims"
    for task in read_run(out).tasks:
        test = task.title.split(", ")[1] if name in ("chat", "last turn") else name
        kept_as = f"{row.name}, last turn alone" if name == "last turn" else row.name
        keep_tasks(
            benchmark, data + test, kept_as, row.seed, [task], f"python benchmarks/{benchmark}.py{done}",
            weights=[row.weights] if row.weights else [], training=row.folder if row.weights else None,
        )  # fmt: skip
