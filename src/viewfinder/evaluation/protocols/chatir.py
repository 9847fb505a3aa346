"""ChatIR's protocol (Levy et al. 2023): a caption (round 0), then ten questions and answers, in a large pool.

Hits@10 accumulates over the rounds, Recall@K does not; the mean rank is given for talks that all go on, and for
talks that end at their first hit. BRI is PlugIR's measure over the whole talk (Lee et al. 2024).
"""

from __future__ import annotations

from pathlib import Path

from viewfinder.conversation import Answer, BackTo, Question, Say, Turn
from viewfinder.data.dialogues import Dialogue, read_dialogues, read_pool
from viewfinder.errors import BadInput
from viewfinder.evaluation.task import Talk, Task

METRICS = ("Hits@10", "R@1", "R@5", "R@10", "rank", "rank frozen@10", "BRI")


def splits(folder: Path) -> tuple[str, ...]:
    """The splits of a folder's dialogue files."""
    return tuple(sorted({_split_of(file) for file in (folder / "dialogues").glob("*.json")}))


def tasks(folder: Path, split: str) -> list[Task]:
    """One task a dialogue file of the split; files that name no split are all of `val`, as those released.

    Raises:
        BadInput: no pool of the split, or a damaged file.
    """
    files = [file for file in sorted((folder / "dialogues").glob("*.json")) if _split_of(file) == split]
    pool = _pool(folder, split) if files else ()
    return [_task(file, split, pool) for file in files]


def _task(file: Path, split: str, pool: tuple[str, ...]) -> Task:
    dialogues, report = read_dialogues(file, pool=pool)
    talks = tuple(Talk(str(number), talk.image, _turns(talk)) for number, talk in enumerate(dialogues))
    name = file.stem
    return Task("chatir", name, split, pool, talks, METRICS, first_turn=0, rounds=11, reports=(report,))


def _turns(dialogue: Dialogue) -> tuple[Turn, ...]:
    if dialogue.rewritten:  # every string is a whole query, in place of the one before
        first, *others = map(Say, dialogue.strings)
        return (first, *(turn for other in others for turn in (BackTo(0), other)))
    answers = (Answer(Question(said.question, by="recorded"), said.answer) for said in dialogue.rounds)
    return (Say(dialogue.caption), *answers)


def _split_of(file: Path) -> str:
    last = file.stem.rpartition("_")[2]
    return last if last in {"train", "val", "test"} else "val"


def _pool(folder: Path, split: str) -> tuple[str, ...]:
    files = sorted((folder / "ChatIR_Protocol").glob(f"Search_Space_*{split}*.json"))
    if not files:
        raise BadInput(f"{folder}: no ChatIR_Protocol/Search_Space_{split}*.json here; the pool to search in is needed")
    return read_pool(files[0])[0]
