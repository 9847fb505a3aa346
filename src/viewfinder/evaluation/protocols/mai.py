"""The protocols of multi-turn composed retrieval: FashionMT (MAI, Chen et al. 2025) and MT Fashion IQ.

Every turn names a reference picture and a modification, and every turn is judged against what it leads to, where
the papers judge the last alone. FashionMT: R@1, R@5, R@10, R@20 and their mean (Sec. 5.1), rollback and combination
apart. MT Fashion IQ: R@5, R@8 and their mean. Pictures come with their captions, as far as the folder has any.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from viewfinder.conversation import Like
from viewfinder.data import Dropped, ReadReport
from viewfinder.data.fashion_iq import Session, join_captions, read_sessions, session_kinds
from viewfinder.data.fashionmt import Transaction, fashionmt_sources, parse_back_reference, read_transactions
from viewfinder.evaluation.protocols.mai_captions import published_captions, table_captions, transaction_captions
from viewfinder.evaluation.task import SearchDialogue, Task

FASHIONMT_METRICS = ("R@1", "R@5", "R@10", "R@20", "mean R@1,5,10,20")
MT_FASHION_IQ_METRICS = ("R@5", "R@8", "mean R@5,8")


def mai_splits(folder: Path) -> tuple[str, ...]:
    """The splits of a folder's transactions and sessions."""
    known = (*_sources(folder).values(), *_kinds(folder).values())
    return tuple(sorted({split for splits_of_one in known for split in splits_of_one}))


def mai_tasks(folder: Path, split: str) -> list[Task]:
    """One task a source of transactions and a kind of sessions."""
    of_sources = [_transactions(folder, source, split) for source, known in _sources(folder).items() if split in known]
    of_kinds = [_sessions(folder, kind, split) for kind, known in _kinds(folder).items() if split in known]
    said = {picture: caption for task in of_sources for picture, caption in task.captions.items()}
    names = sorted(said.keys() | {picture for task in (*of_sources, *of_kinds) for picture in task.pictures()})
    others = table_captions(folder, names, said)
    of_sources = [
        _captioned(task, published_captions(folder, task.name, task.pictures()), others) for task in of_sources
    ]
    return of_sources + [_captioned(task, {}, others) for task in of_kinds]


def _captioned(task: Task, *sources: Mapping[str, str]) -> Task:
    """The task with captions of its other pictures too, from the first source that has one."""
    known = ChainMap(*map(dict, (task.captions, *sources)))
    captions = {picture: known[picture] for picture in sorted(task.pictures()) if picture in known}
    bare = [picture for picture in task.gallery if picture not in captions]
    if not captions or not bare:
        return replace(task, captions=captions)
    why = Dropped(f"captions of {len(bare):,} pictures", f"there are none, as of {bare[0]}")
    report = ReadReport(len(task.gallery), len(task.gallery) - len(bare), (why,))
    return replace(task, captions=captions, reports=(*task.reports, report))


def _sources(folder: Path) -> dict[str, tuple[str, ...]]:
    return fashionmt_sources(folder) if any((folder / "modifiers").glob("*_*_cap.json")) else {}


def _kinds(folder: Path) -> dict[str, tuple[str, ...]]:
    return session_kinds(folder) if any((folder / "data").glob("*.*.json")) else {}


def _transactions(folder: Path, source: str, split: str) -> Task:
    read, report = read_transactions(folder, source, split)
    talks = tuple(_transaction(number, one) for number, one in enumerate(read.transactions))
    task = Task(
        "mai", source, split, read.gallery, talks, FASHIONMT_METRICS, "whole modification", rounds=3, reports=(report,)
    )
    return replace(task, captions=transaction_captions(read.transactions))


def _transaction(number: int, one: Transaction) -> SearchDialogue:
    turns = tuple(Like(*said) for said in zip(one.pictures[:-1], one.modifications, strict=True))
    back = parse_back_reference(one.modifications[-1])
    return SearchDialogue(str(number), one.targets[-1], turns, one.targets, "" if back is None else back.setting)


def _sessions(folder: Path, kind: str, split: str) -> Task:
    read, report = read_sessions(folder, kind, split)
    talks = tuple(_session(number, one) for number, one in enumerate(read.sessions))
    name = f"sessions, {kind}"
    return Task(
        "mai", name, split, read.gallery, talks, MT_FASHION_IQ_METRICS, "all joined", last_only=True, reports=(report,)
    )


def _session(number: int, one: Session) -> SearchDialogue:
    turns = tuple(Like(shown.key, join_captions(shown.captions)) for shown in one.references)
    return SearchDialogue(str(number), one.target, turns, one.keys[1:])
