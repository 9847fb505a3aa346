"""ChatIR's protocol (Levy et al. 2023): a caption (round 0), then ten questions and answers, in a large pool.

Hits@10 accumulates over the rounds (Sec. 4.2), Recall@K does not; the mean rank is given for dialogues that all go on,
and for dialogues that end at their first hit. BRI is PlugIR's measure over the whole dialogue (Lee et al. 2024). With a
questioner the same captions begin the dialogues, it asks its own questions after that, and ten rounds are held
whatever is found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from viewfinder.conversation import Answer, BackTo, Question, Say, Turn
from viewfinder.data import ReadReport
from viewfinder.data.captions import has_captions, read_captioned
from viewfinder.data.dialogues import Dialogue, read_dialogues, read_pool, read_visdial
from viewfinder.data.splits import SPLITS, choose_split
from viewfinder.errors import BadInput
from viewfinder.evaluation.plan import SearchDialogue, Task

METRICS = ("Hits@10", "R@1", "R@5", "R@10", "rank", "rank frozen@10", "BRI")
ROUNDS = 10
POOLS = "ChatIR_Protocol/Search_Space_*.json"
_WORDS = re.compile(r"[^\W_]+")

Pool = tuple[str, ...]


def chatir_splits(folder: Path) -> tuple[str, ...]:
    """The splits of a folder's dialogue files."""
    return tuple(sorted({_split_of(file) for file in (folder / "dialogues").glob("*.json")}))


def chatir_tasks(folder: Path, split: str, pool: Path | None = None) -> list[Task]:
    """One task per dialogue file of the split; files that name no split count as `val`, like the released ones.

    `pool` is a file that lists the pictures to search, in place of the folder's own.
    """
    pools = _pools(folder, split) if pool is None else [read_pool(pool)[0]]
    return [_task(file, split, pools) for file in _files(folder, split)]


def make_opening_task(folder: Path, split: str, rounds: int = ROUNDS, pool: Path | None = None) -> Task:
    """A task whose dialogues have only their beginning, for a questioner to go on: one for each picture of a split.

    Taken from the folder's dialogues of the split, or VisDial's, or from captions (the first of each picture); split
    as for training. The pictures of the split are searched, unless `pool` lists others.
    """
    said, report = _openings(folder, split)
    gallery = tuple(said) if pool is None else read_pool(pool)[0]
    dialogues = tuple(
        SearchDialogue(str(number), image, (Say(text),)) for number, (image, text) in enumerate(said.items())
    )
    return _interviews("openings", split, gallery, dialogues, rounds, report)


def _openings(folder: Path, split: str) -> tuple[dict[str, str], tuple[ReadReport, ...]]:
    """The first description of each picture of a split, by its name there."""
    if files := _files(folder, split):
        read = [read_dialogues(file) for file in files]
    elif any((place / f"visdial_1.0_{split}.json").is_file() for place in (folder, folder / split)):
        read = [read_visdial(folder, split)]
    elif has_captions(folder):
        return _read_first_captions(folder, split)
    else:
        there = ", ".join(chatir_splits(folder))
        raise BadInput(
            f"{folder}: nothing is said here of pictures of the split {split!r}"
            f"{f' (there are dialogues of: {there})' if there else ''}; needed are dialogues/*_{split}.json, "
            "captions (captions.csv beside images/, annotations/captions_*.json, Flickr8k's or Karpathy's files)"
        )
    said: dict[str, str] = {}
    for dialogues, _ in read:
        for dialogue in dialogues:
            said.setdefault(dialogue.image, dialogue.caption)
    return said, tuple(report for _, report in read)


def _read_first_captions(folder: Path, split: str) -> tuple[dict[str, str], tuple[ReadReport, ...]]:
    pictures, report = read_captioned(folder)
    chosen = choose_split(folder, pictures, split)
    return {picture.path.relative_to(folder).as_posix(): picture.captions[0] for picture in chosen}, (report,)


def _task(file: Path, split: str, pools: Sequence[Pool]) -> Task:
    """The file belongs to the smallest pool that holds every target."""
    recorded, report = read_dialogues(file)
    wanted = {one.image for one in recorded}
    pool = min((pool for pool in pools if wanted.issubset(pool)), key=len, default=None)
    if pool is None:
        read_dialogues(file, pool=max(pools, key=lambda pool: len(wanted.intersection(pool))))  # says what is missing
    assert pool is not None
    dialogues = tuple(SearchDialogue(str(number), one.image, _turns(one)) for number, one in enumerate(recorded))
    return _interviews(file.stem, split, pool, dialogues, ROUNDS, (report,))


def _interviews(
    name: str, split: str, pool: Pool, dialogues: tuple[SearchDialogue, ...], rounds: int,
    reports: tuple[ReadReport, ...],
) -> Task:  # fmt: skip
    return Task(
        "chatir", name, split, pool, dialogues, METRICS, first_turn=0, rounds=rounds + 1, interviews=True,
        reports=reports,
    )  # fmt: skip


def _turns(dialogue: Dialogue) -> tuple[Turn, ...]:
    if dialogue.rewritten:  # every string is a whole query, in place of the one before
        first, *others = map(Say, dialogue.strings)
        return (first, *(turn for other in others for turn in (BackTo(0), other)))
    answers = (Answer(Question(said.question, by="recorded"), said.answer) for said in dialogue.rounds)
    return (Say(dialogue.caption), *answers)


def _files(folder: Path, split: str) -> list[Path]:
    return [file for file in sorted((folder / "dialogues").glob("*.json")) if _split_of(file) == split]


def _split_of(file: Path) -> str:
    last = file.stem.rpartition("_")[2]
    return last if last in SPLITS else "val"


def _pools(folder: Path, split: str) -> list[Pool]:
    """The pools that name the split; if none does, those that name no split at all (COCO_5k, Flickr30k_30k).

    For a captioned folder without pools, in which dialogues were made, the pictures of the split.
    """
    words = {file: frozenset(_WORDS.findall(file.stem)) for file in sorted(folder.glob(POOLS))}
    named = [file for file, said in words.items() if split in said]
    chosen = named or [file for file, said in words.items() if not said.intersection(SPLITS)]
    if not chosen and has_captions(folder):
        return [tuple(_read_first_captions(folder, split)[0])]
    if not chosen:
        raise BadInput(
            f"{folder}: no {POOLS.replace('*', split)} here; a list of the pictures to search in is needed: "
            "put it there, or name it with --pool"
        )
    return [read_pool(file)[0] for file in chosen]
