"""Protocols of composed retrieval, a picture and a wanted change: Fashion IQ, CIRR, CIRCO, FashionMT, MT Fashion IQ.

Fashion IQ (Wu et al. 2021): one turn of relative feedback, and a dialogue of five with a simulator.

One turn: a candidate and its two captions, joined as "First and second" (CLIP4Cir and later work; in the paper's
Appendix B each caption is a query of its own); R@10 and R@50, both in the whole split and in the union of candidates
and targets, two galleries that the literature often mixes up. Dialogue (Sec. 5.2, Table 3): every picture of the split
is a target once, the first picture is fixed (Appendix C), a simulated user says how the target differs from what is
shown; the percentile, R@10 and R@50 after turns 1, 3 and 5. The first pictures come from
data/shuffled.<kind>.<split>.json; without that file they are drawn (`draw_first_pictures`).

CIRR (Liu et al. 2021): a reference picture and one sentence; the reference is never ranked. R@1, R@5, R@10 and R@50 in
the whole split, and R_subset@1, 2, 3 among the other five pictures of its set.

CIRCO (Baldrati et al. 2023): the same, with several right pictures a query. mAP@5, 10, 25 and 50 count all of them,
R@5, 10, 25 and 50 the one that the sentence was written about; for every semantic aspect that the file names, mAP@10.
The reference is ranked like any other picture, as in the published code; it is never a right one.

FashionMT (MAI, Chen et al. 2025) and MT Fashion IQ: every turn names a reference picture and a modification, and every
turn is judged against the picture it leads to, whereas the papers judge only the last. FashionMT: R@1, R@5, R@10, R@20
and their mean (Sec. 5.1), rollback and combination separately. MT Fashion IQ: R@5, R@8 and their mean. Pictures come
with their captions, as far as the folder has any.

Captions of FashionMT's pictures come from its transactions, the published files or captions.csv. A gallery must be
described in one manner. Transactions name few of its pictures besides the wanted ones; if the rest were described
differently (by a shop's titles, say), a system could tell the wanted ones by that alone. So of the captions that
captions.csv has for a picture, the one is used that stands where the transactions took theirs.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from viewfinder.conversation import Like
from viewfinder.data import Dropped, ReadReport, match_keys, read_captions_csv
from viewfinder.data.circo import circo_name, has_truths, list_circo_splits, read_circo
from viewfinder.data.cirr import read_cirr
from viewfinder.data.fashion_iq import (
    FashionIQ,
    fashion_kinds,
    join_captions,
    read_fashion_iq,
    read_sessions,
    read_shuffled,
    session_kinds,
)
from viewfinder.data.fashionmt import (
    Transaction,
    fashionmt_sources,
    product_of,
    read_caption_files,
    read_titles,
    read_transactions,
)
from viewfinder.evaluation.plan import COMPARER, SearchDialogue, Task
from viewfinder.wording.modifications import parse_ordinal_reference

SINGLE_TURN_METRICS = ("R@10", "R@50")
DIALOGUE_METRICS = ("P", "R@10", "R@50")


def fashioniq_splits(folder: Path) -> tuple[str, ...]:
    """The splits of a folder's Fashion IQ captions; CIRR's lie in files of a like name."""
    return tuple(sorted({split for kind in _list_kinds(folder).values() for split in kind}))


def fashioniq_tasks(folder: Path, split: str) -> list[Task]:
    """The tasks of every kind: one turn in both galleries, and the dialogue."""
    found: list[Task] = []
    for kind, known in _list_kinds(folder).items():
        if split in known:
            read, report = read_fashion_iq(folder, kind, split)
            found += [*_make_single_turn_tasks(read, report), _make_dialogue_task(folder, read, report)]
    return found


def _list_kinds(folder: Path) -> dict[str, tuple[str, ...]]:
    files = (folder / "captions").glob("cap.*.json")
    return fashion_kinds(folder) if any(not file.name.startswith("cap.rc2.") for file in files) else {}


def _make_single_turn_tasks(read: FashionIQ, report: ReadReport) -> list[Task]:
    dialogues = tuple(
        SearchDialogue(f"{number} {pair.candidate}", pair.target, (Like(pair.candidate, join_captions(pair.captions)),))
        for number, pair in enumerate(read.pairs)
        if pair.target is not None
    )
    galleries = {"split": read.gallery}
    if (union := read.union()) != read.gallery:  # if every picture is a candidate or target, the two are the same
        galleries["union"] = union
    return [
        Task(
            "fashioniq", f"{read.kind}, {name} gallery", read.split, gallery, dialogues, SINGLE_TURN_METRICS,
            "first and second joined", reports=(report,),
        )
        for name, gallery in galleries.items()
        if dialogues
    ]  # fmt: skip


def _make_dialogue_task(folder: Path, read: FashionIQ, report: ReadReport) -> Task:
    """Every picture is a target once; the folder may fix the picture that each dialogue begins with."""
    file = folder / "data" / f"shuffled.{read.kind}.{read.split}.json"
    firsts = [""] * len(read.gallery)
    if file.is_file():
        firsts = [read.gallery[place] for place in read_shuffled(file, len(read.gallery))]
    dialogues = tuple(
        SearchDialogue(picture, picture, first=first if first != picture else "")
        for picture, first in zip(read.gallery, firsts, strict=True)
    )
    return Task(
        "fashioniq", f"{read.kind}, dialogue", read.split, read.gallery, dialogues, DIALOGUE_METRICS, "simulated",
        user=COMPARER, at=(1, 3, 5), rounds=5, reports=(report,),
    )  # fmt: skip


WORLD = "cirr"
"""The folder of CIRR's files in a catalogue world, whose own `captions/` are Fashion IQ's."""

CIRR_METRICS = ("R@1", "R@5", "R@10", "R@50", "R_subset@1", "R_subset@2", "R_subset@3")


def cirr_splits(folder: Path) -> tuple[str, ...]:
    """The splits of a folder's CIRR captions."""
    return tuple(sorted(file.name.split(".")[-2] for file in (_find_home(folder) / "captions").glob("cap.rc2.*.json")))


def cirr_tasks(folder: Path, split: str) -> list[Task]:
    """One task: the pairs of the split that have a target."""
    read, report = read_cirr(_find_home(folder), split)
    dialogues = tuple(
        SearchDialogue(
            str(pair.pairid), pair.target, (Like(pair.reference, pair.caption),), among=pair.candidates,
            leaves_out=(pair.reference,),
        )
        for pair in read.pairs
        if pair.target is not None
    )  # fmt: skip
    return [Task("cirr", "", split, read.gallery, dialogues, CIRR_METRICS, reports=(report,))]


def _find_home(folder: Path) -> Path:
    """The folder itself, or the one in which a catalogue world keeps its queries of this kind."""
    inner = folder / WORLD
    return inner if inner.is_dir() and not any((folder / "captions").glob("cap.rc2.*.json")) else folder


CIRCO_METRICS = tuple(f"{measure}@{k}" for measure in ("mAP", "R") for k in (5, 10, 25, 50))
ASPECT_METRICS = ("mAP@10",)


def circo_splits(folder: Path) -> tuple[str, ...]:
    """The splits of CIRCO's queries whose right pictures are known."""
    return tuple(split for split in list_circo_splits(folder) if has_truths(folder, split))


def circo_note(folder: Path) -> str:
    """What is to be said of queries whose right pictures are secret; "" if there are none."""
    secret = [split for split in list_circo_splits(folder) if not has_truths(folder, split)]
    named = ", ".join(f"annotations/{split}.json" for split in secret)
    return f"{named} of CIRCO keeps its right pictures secret: its authors' server evaluates it" if secret else ""


def circo_tasks(folder: Path, split: str) -> list[Task]:
    """A task of all queries, and one for each semantic aspect."""
    read, report = read_circo(folder, split)
    known = [one for one in read.queries if one.target is not None]
    aspects = sorted({aspect for one in known for aspect in one.aspects})
    gallery = tuple(map(circo_name, read.gallery))
    tasks = []
    for aspect in ("", *aspects):
        dialogues = tuple(
            SearchDialogue(
                str(one.id), circo_name(one.truths[0]), (Like(circo_name(one.reference), one.caption),),
                truths=tuple(map(circo_name, one.truths)),
            )
            for one in known
            if not aspect or aspect in one.aspects
        )  # fmt: skip
        metrics, name = ASPECT_METRICS if aspect else CIRCO_METRICS, aspect.replace("_", " ")
        tasks.append(Task("circo", name, split, gallery, dialogues, metrics, reports=() if aspect else (report,)))
    return tasks


FASHIONMT_METRICS = ("R@1", "R@5", "R@10", "R@20", "mean R@1,5,10,20")
MT_FASHION_IQ_METRICS = ("R@5", "R@8", "mean R@5,8")


def mai_splits(folder: Path) -> tuple[str, ...]:
    """The splits of a folder's transactions and sessions."""
    return tuple(
        sorted({split for known in _list_sources_and_kinds(folder) for some in known.values() for split in some})
    )


def mai_tasks(folder: Path, split: str) -> list[Task]:
    """One task per source of transactions and kind of sessions."""
    sources, kinds = _list_sources_and_kinds(folder)
    of_sources = [_make_transaction_task(folder, source, split) for source, known in sources.items() if split in known]
    of_kinds = [_make_session_task(folder, kind, split) for kind, known in kinds.items() if split in known]
    said = {picture: caption for task in of_sources for picture, caption in task.captions.items()}
    names = sorted(said.keys() | {picture for task in (*of_sources, *of_kinds) for picture in task.pictures()})
    others = table_captions(folder, names, said)
    own = (published_captions(folder, task.name, task.pictures()) for task in of_sources)
    captioned = [_add_captions(task, published, others) for task, published in zip(of_sources, own, strict=True)]
    return captioned + [_add_captions(task, others) for task in of_kinds]


def _list_sources_and_kinds(folder: Path) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """The splits of each source of transactions, and of each kind of sessions."""
    sources = fashionmt_sources(folder) if any((folder / "modifiers").glob("*_*_cap.json")) else {}
    return sources, session_kinds(folder) if any((folder / "data").glob("*.*.json")) else {}


def _add_captions(task: Task, *sources: Mapping[str, str]) -> Task:
    """The task with captions of its other pictures too, each from the first source that has one."""
    known = ChainMap(*map(dict, (task.captions, *sources)))
    captions = {picture: known[picture] for picture in sorted(task.pictures()) if picture in known}
    bare = [picture for picture in task.gallery if picture not in captions]
    if not captions or not bare:
        return replace(task, captions=captions)
    why = Dropped(f"captions of {len(bare):,} pictures", f"there are none, as of {bare[0]}")
    report = ReadReport(len(task.gallery), len(task.gallery) - len(bare), (why,))
    return replace(task, captions=captions, reports=(*task.reports, report))


def _make_transaction_task(folder: Path, source: str, split: str) -> Task:
    read, report = read_transactions(folder, source, split)
    dialogues = []
    for number, one in enumerate(read.transactions):
        turns = tuple(Like(*said) for said in zip(one.pictures[:-1], one.modifications, strict=True))
        back = parse_ordinal_reference(one.modifications[-1])
        setting = "" if back is None else back.setting
        dialogues.append(SearchDialogue(str(number), one.targets[-1], turns, one.targets, setting))
    return Task(
        "mai", source, split, read.gallery, tuple(dialogues), FASHIONMT_METRICS, "whole modification", rounds=3,
        captions=transaction_captions(read.transactions), reports=(report,),
    )  # fmt: skip


def _make_session_task(folder: Path, kind: str, split: str) -> Task:
    read, report = read_sessions(folder, kind, split)
    dialogues = []
    for number, one in enumerate(read.sessions):
        turns = tuple(Like(shown.key, join_captions(shown.captions)) for shown in one.references)
        dialogues.append(SearchDialogue(str(number), one.target, turns, one.keys[1:]))
    return Task(
        "mai", f"sessions, {kind}", split, read.gallery, tuple(dialogues), MT_FASHION_IQ_METRICS, "all joined",
        last_only=True, reports=(report,),
    )  # fmt: skip


CAPTION_FOLDERS = {
    "200k": "image_captions_200k",
    "shoes": "shoes_dataset/blip2_captions_combine",
    "Fiq": "fashion-iq/blip2_captions_combine",
}
"""Folders of the published code with a text file per product or picture, by source; FC has titles instead."""


def transaction_captions(transactions: Iterable[Transaction]) -> dict[str, str]:
    """The captions in the transactions, by picture: the first, where they differ."""
    found: dict[str, str] = {}
    for one in transactions:
        for picture, caption in zip(one.pictures, one.captions, strict=False):  # there may be none at all
            if caption:
                found.setdefault(picture, caption)
    return found


def published_captions(folder: Path, source: str, names: Iterable[str]) -> dict[str, str]:
    """The captions of these pictures in the source's own files, as far as they exist."""
    titles = folder / "modifiers" / f"{source}-caption.json"
    texts = folder / CAPTION_FOLDERS.get(source, "")
    if titles.is_file():
        known = read_titles(titles)
    elif source in CAPTION_FOLDERS and texts.is_dir():
        known = read_caption_files(texts)
    else:
        return {}
    return {name: caption for name in names if (caption := known.get(product_of(source, name), ""))}


def table_captions(folder: Path, names: Sequence[str], said: Mapping[str, str]) -> dict[str, str]:
    """The captions of these pictures in the folder's captions.csv, if it exists: for each the one in the same place.

    `said` are known captions of some of the names. The place is where most of them stand; the first, if none is
    known. If they stand nowhere, the table describes pictures in another manner, and is not used.
    """
    file = folder / "captions.csv"
    if not file.is_file():
        return {}
    rows = {picture.path: picture.captions for picture in read_captions_csv(file)[0]}
    captions = {names[at]: rows[path] for path, found in match_keys(names, rows).files.items() for at in found}
    agree = Counter(captions[name].index(said[name]) for name in names if said.get(name) in captions.get(name, ()))
    if said and not agree:
        return {}
    place = min(agree, key=lambda place: (-agree[place], place), default=0)
    return {name: texts[place] for name, texts in captions.items() if place < len(texts)}
