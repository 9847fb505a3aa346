"""CIRR's protocol (Liu et al. 2021): a reference picture and one sentence; the reference is never ranked.

R@1, R@5, R@10 and R@50 in the whole split, and R_subset@1, 2, 3 among the other five pictures of its set.
"""

from __future__ import annotations

from pathlib import Path

from viewfinder.conversation import Like
from viewfinder.data.cirr import read_cirr
from viewfinder.evaluation.task import SearchDialogue, Task

WORLD = "cirr"
"""Where a catalogue world has them: its own `captions/` are Fashion IQ's."""

CIRR_METRICS = ("R@1", "R@5", "R@10", "R@50", "R_subset@1", "R_subset@2", "R_subset@3")


def cirr_splits(folder: Path) -> tuple[str, ...]:
    """The splits of a folder's CIRR captions."""
    return tuple(sorted(file.name.split(".")[-2] for file in (_home(folder) / "captions").glob("cap.rc2.*.json")))


def cirr_tasks(folder: Path, split: str) -> list[Task]:
    """One task: the pairs of the split that have a target."""
    read, report = read_cirr(_home(folder), split)
    talks = tuple(
        SearchDialogue(
            str(pair.pairid),
            pair.target,
            (Like(pair.reference, pair.caption),),
            among=pair.candidates,
            leaves_out=(pair.reference,),
        )
        for pair in read.pairs
        if pair.target is not None
    )
    return [Task("cirr", "", split, read.gallery, talks, CIRR_METRICS, reports=(report,))]


def _home(folder: Path) -> Path:
    """The folder itself, or the one in which a catalogue world has its queries of this kind."""
    inner = folder / WORLD
    return inner if inner.is_dir() and not any((folder / "captions").glob("cap.rc2.*.json")) else folder
