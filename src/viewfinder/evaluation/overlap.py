"""What a test shares with training: targets with the pictures of weights and encoder, texts with training texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from viewfinder.conversation import Answer, Like, Reject, Say, Turn
from viewfinder.data.splits import name_pictures
from viewfinder.encoders import Encoder
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation.plan import Plan, Task
from viewfinder.evaluation.protocols import read_tasks
from viewfinder.retrievers import Retriever
from viewfinder.training.training_list import TrainingList

WEIGHTS, ENCODER = "the weights", "the encoder's head"


@dataclass(frozen=True)
class Overlap:
    """How much of a test was seen before.

    Attributes:
        targets: how many different pictures are wanted.
        seen: by trained part (`WEIGHTS`, `ENCODER`), how many of these are among its training pictures, or show a
            product that is; None: it has no list of them. Untrained parts are left out.
        texts, repeated: how many different texts the dialogues have, and how many of them occur word for word in
            training dialogues of the same data; 0 texts: nothing to compare.
    """

    targets: int
    seen: Mapping[str, int | None] = field(default_factory=dict)
    texts: int = 0
    repeated: int = 0

    @property
    def flags(self) -> tuple[str, ...]:
        """What a reader must know, one line each; none if nothing is shared."""
        lines = []
        for who, count in self.seen.items():
            if count is None:
                lines.append(f"overlap: unknown, {who} came without a list of training pictures")
            elif count:
                lines.append(f"overlap: {_percent(count, self.targets)} of targets were training pictures of {who}")
        if self.repeated:
            lines.append(
                f"overlap: {_percent(self.repeated, self.texts)} of test texts occur word for word in training"
            )
        return tuple(lines)

    @property
    def refused(self) -> str | None:
        """Why this is not a clean test of the system: the first flag about pictures; None: it is clean."""
        return next((line for line in self.flags if "texts" not in line), None)


def _percent(part: int, whole: int) -> str:
    """A percentage that is never rounded to none or all.

    >>> _percent(1, 3), _percent(1, 1000), _percent(999, 1000), _percent(3, 3)
    ('33 %', 'under 1 %', 'over 99 %', '100 %')
    """
    share = round(100 * part / whole)
    return "under 1 %" if share == 0 else "over 99 %" if share == 100 and part < whole else f"{share} %"


def measure_overlap(
    task: Task, folder: Path, retriever: Retriever[Any], encoder: Encoder, training_texts: frozenset[str]
) -> Overlap:
    """What a task of a data set shares with the training of a system and of its encoder.

    A part without `trained_on` (from another package) counts as trained on unknown pictures.
    """
    wanted = {key for one in task.dialogues for key in (one.target, *one.targets)}
    texts = texts_of(task) if training_texts else frozenset[str]()
    shared = count_seen_pictures(wanted, folder, list_parts(retriever, encoder))
    return replace(shared, texts=len(texts), repeated=len(texts & training_texts))


def list_parts(retriever: Retriever[Any], encoder: Encoder) -> dict[str, Any]:
    """The trained parts that a retriever's results depend on, by the names that flags use."""
    # Otherwise the search runs in a space of the weights, made from raw vectors.
    by_head = retriever.reads.space is None
    return {WEIGHTS: retriever, **({ENCODER: encoder} if by_head else {})}


def count_seen_pictures(pictures: Collection[str], folder: Path, parts: Mapping[str, Any]) -> Overlap:
    """How many pictures of a data set each part was trained on, by its `trained_on`."""
    lists = {who: getattr(part, "trained_on", "") for who, part in parts.items()}
    names = name_pictures(folder, sorted(pictures))
    seen = {
        who: TrainingList.decode(listed).count_seen(names.values()) if listed else None
        for who, listed in lists.items()
        if listed is not None
    }
    return Overlap(len(pictures), seen)


def refuse_seen(title: str, overlap: Overlap, plan: Plan) -> Overlap:
    """The same overlap; raises BadInput where the plan refuses it."""
    if plan.refuse_overlap and overlap.refused is not None:
        raise BadInput(f"{title}: {overlap.refused}; take other weights or data, or leave out --refuse-overlap")
    return overlap


def read_training_texts(folder: Path, protocol: str) -> frozenset[str]:
    """What dialogues of a protocol say in the training split of a data set; nothing if it has none."""
    try:
        tasks = read_tasks(folder, protocol, "train")
    except (BadInput, UnknownName):
        return frozenset()
    return frozenset[str]().union(*map(texts_of, tasks))


def texts_of(task: Task) -> frozenset[str]:
    """What the dialogues of a task say of pictures, in lower case and with single blanks."""
    said = (_text_of(turn) for dialogue in task.dialogues for turn in dialogue.turns)
    return frozenset(" ".join(text.lower().split()) for text in said if text)


def _text_of(turn: Turn) -> str:
    return turn.text if isinstance(turn, Say | Like | Reject | Answer) else ""
