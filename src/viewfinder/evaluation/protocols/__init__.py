"""The protocols of the five papers, by name: what they read from a folder, and the tasks they make from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from viewfinder.data.files import need_folder
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation.plan import Task
from viewfinder.evaluation.protocols import chatir, chatsearch, composed, drilldown

OTHERS = ("visual", "decision", "grounding")
"""Protocols that measure something other than search, see `evaluate.OTHER_PROTOCOLS`."""

ARCHIVES = frozenset({".zip", ".tar", ".gz", ".tgz"})

PREFERRED = ("test", "val", "all")
"""Splits to evaluate on if none is named: the first that exists."""


@dataclass(frozen=True)
class Protocol:
    """`splits` of a folder (none: it has no data for this protocol), and the `tasks` of one of them.

    `note` is one line about what a folder has of the protocol's data, for one who asks for a split in vain, or "".
    """

    splits: Callable[[Path], tuple[str, ...]]
    tasks: Callable[[Path, str], list[Task]]
    note: Callable[[Path], str] = lambda folder: ""


PROTOCOLS: dict[str, Protocol] = {
    "drilldown": Protocol(drilldown.drilldown_splits, drilldown.drilldown_tasks, drilldown.drilldown_note),
    "chatir": Protocol(chatir.chatir_splits, chatir.chatir_tasks),
    "fashioniq": Protocol(composed.fashioniq_splits, composed.fashioniq_tasks),
    "chatsearch": Protocol(chatsearch.chatsearch_splits, chatsearch.chatsearch_tasks),
    "mai": Protocol(composed.mai_splits, composed.mai_tasks),
    "cirr": Protocol(composed.cirr_splits, composed.cirr_tasks),
    "circo": Protocol(composed.circo_splits, composed.circo_tasks, composed.circo_note),
    "captions": Protocol(drilldown.caption_splits, drilldown.caption_tasks, drilldown.caption_note),
}


def read_tasks(folder: Path, protocol: str | None, split: str | None, pool: Path | None = None) -> list[Task]:
    """The tasks of a folder: of one protocol, or of all that find their files there.

    Without a split, each protocol takes its test split, or else the one for validation. `pool`, a file that lists the
    pictures to search, is for ChatIR's protocol; with it, no other is read.

    Raises:
        UnknownName: there is no such protocol, or none of them has such a split.
        BadInput: the folder holds no data of a protocol, or damaged data.
    """
    need_folder(folder)
    if protocol is not None and protocol not in PROTOCOLS:
        raise UnknownName(f"no protocol is called {protocol!r}; there are: {', '.join((*PROTOCOLS, *OTHERS))}")
    if pool is not None and protocol not in {None, "chatir"}:
        raise BadInput(f"--pool {pool}: the pool of {protocol} is part of its protocol; chatir takes another one")
    names = [protocol] if protocol is not None else ["chatir"] if pool is not None else list(PROTOCOLS)
    splits = {name: known for name in names if (known := PROTOCOLS[name].splits(folder))}
    if not splits:
        asked = "any protocol" if protocol is None else protocol
        packed = sorted(file.name for file in folder.iterdir() if file.suffix in ARCHIVES)
        notes = "".join(f"; {note}" for name in names if (note := PROTOCOLS[name].note(folder)))
        notes += f"; unpack {', '.join(packed[:4])} first" if packed else ""
        raise BadInput(f"{folder}: no data of {asked} here{notes}; see docs/data.md for the files that each one reads")
    if split is None:
        chosen = {name: next((one for one in PREFERRED if one in known), known[0]) for name, known in splits.items()}
    else:
        chosen = {name: split for name, known in splits.items() if split in known}
    if not chosen:
        there = "; ".join(f"{name}: {', '.join(known)}" for name, known in splits.items())
        notes = "; ".join(filter(None, (PROTOCOLS[name].note(folder) for name in names)))
        raise UnknownName(f"{folder}: no split is called {split!r}{notes and f' here: {notes}'}; there are: {there}")
    if pool is not None:
        return chatir.chatir_tasks(folder, chosen["chatir"], pool)
    return [task for name, one in chosen.items() for task in PROTOCOLS[name].tasks(folder, one)]
