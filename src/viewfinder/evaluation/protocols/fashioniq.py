"""Fashion IQ's protocols (Wu et al. 2021): one turn of relative feedback, and a dialogue of five with a simulator.

One turn: a candidate and its two captions, joined as "First and second" (CLIP4Cir and later work; in the paper's
Appendix B each caption is a query of its own); R@10 and R@50, both in the whole split and in the union of candidates
and targets, which the literature often mixes up. Dialogue (Sec. 5.2, Table 3): every picture of the split is a target
once, the first picture is fixed (Appendix C), a simulated user says how the target differs from what is shown; the
percentile, R@10 and R@50 after turns 1, 3 and 5. The first pictures are those of data/shuffled.<kind>.<split>.json;
without that file they are drawn (`conversing.first_pictures`).
"""

from __future__ import annotations

from pathlib import Path

from viewfinder.conversation import Like
from viewfinder.data import ReadReport
from viewfinder.data.fashion_iq import FashionIQ, fashion_kinds, join_captions, read_fashion_iq, read_shuffled
from viewfinder.evaluation.task import COMPARER, SearchDialogue, Task

SINGLE_TURN_METRICS = ("R@10", "R@50")
DIALOGUE_METRICS = ("P", "R@10", "R@50")


def fashioniq_splits(folder: Path) -> tuple[str, ...]:
    """The splits of a folder's Fashion IQ captions; CIRR's lie in files of a like name."""
    return tuple(sorted({split for kind in _kinds(folder).values() for split in kind}))


def fashioniq_tasks(folder: Path, split: str) -> list[Task]:
    """For every kind: one turn in both galleries, and the dialogue."""
    found: list[Task] = []
    for kind, known in _kinds(folder).items():
        if split in known:
            read, report = read_fashion_iq(folder, kind, split)
            found += [*_single(read, report), _dialogue(folder, read, report)]
    return found


def _kinds(folder: Path) -> dict[str, tuple[str, ...]]:
    files = (folder / "captions").glob("cap.*.json")
    return fashion_kinds(folder) if any(not file.name.startswith("cap.rc2.") for file in files) else {}


def _single(read: FashionIQ, report: ReadReport) -> list[Task]:
    talks = tuple(
        SearchDialogue(f"{number} {pair.candidate}", pair.target, (Like(pair.candidate, join_captions(pair.captions)),))
        for number, pair in enumerate(read.pairs)
        if pair.target is not None
    )
    galleries = {"split": read.gallery}
    if (union := read.union()) != read.gallery:  # where every picture is somebody's target, the two are one
        galleries["union"] = union
    return [
        Task(
            "fashioniq", f"{read.kind}, {name} gallery", read.split, gallery, talks, SINGLE_TURN_METRICS,
            "first and second joined", reports=(report,),
        )
        for name, gallery in galleries.items()
        if talks
    ]  # fmt: skip


def _dialogue(folder: Path, read: FashionIQ, report: ReadReport) -> Task:
    talks = tuple(
        SearchDialogue(picture, picture, first=first if first != picture else "")
        for picture, first in zip(read.gallery, _firsts(folder, read), strict=True)
    )
    return Task(
        "fashioniq", f"{read.kind}, dialogue", read.split, read.gallery, talks, DIALOGUE_METRICS, "simulated",
        user=COMPARER, at=(1, 3, 5), rounds=5, reports=(report,),
    )  # fmt: skip


def _firsts(folder: Path, read: FashionIQ) -> tuple[str, ...]:
    """The picture that each talk begins with, as the folder fixes it; "" where it does not."""
    file = folder / "data" / f"shuffled.{read.kind}.{read.split}.json"
    if not file.is_file():
        return ("",) * len(read.gallery)
    return tuple(read.gallery[place] for place in read_shuffled(file, len(read.gallery)))
