"""The overlap of a test with training: of targets with the pictures of all trained parts, of texts with their texts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from viewfinder.conversation import Answer, Like, Reject, Say
from viewfinder.data.splits import name_pictures
from viewfinder.encoders import Encoder
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation.plan import Plan, Task
from viewfinder.evaluation.protocols import read_tasks
from viewfinder.questioners import Questioner, find_training_list
from viewfinder.retrievers import Retriever
from viewfinder.users import SimulatedUser
from viewfinder.weights import TrainingList

WEIGHTS, ENCODER = "the weights", "the encoder's head"
USER, QUESTIONER = "the simulated user", "the questioner"


@dataclass(frozen=True)
class Overlap:
    """How much of a test was seen before.

    Attributes:
        targets: how many different pictures are wanted.
        seen: by trained part (`WEIGHTS`, `ENCODER`, `USER`, `QUESTIONER`), how many of these are among its training
            pictures, or show a product that is; None: it has no list of them. Untrained parts are left out.
        at_most: the parts of which an upper bound is counted: their lists have more than they were trained on.
        texts, repeated: how many different texts the dialogues have, and how many of them occur word for word in
            training dialogues of the same data; 0 texts: nothing to compare.
    """

    targets: int
    seen: Mapping[str, int | None] = field(default_factory=dict)
    texts: int = 0
    repeated: int = 0
    at_most: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "at_most", tuple(self.at_most))  # results.json has a list

    @property
    def flags(self) -> tuple[str, ...]:
        """Warnings for readers of the figures, one line each; none if nothing is shared."""
        lines = []
        for who, count in self.seen.items():
            if count is None:
                lines.append(f"overlap: unknown, {who} came without a list of training pictures")
            elif count:
                share = f"{'at most ' if who in self.at_most else ''}{_percent(count, self.targets)}"
                lines.append(f"overlap: {share} of targets were training pictures of {who}")
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
    task: Task, folder: Path, lists: Mapping[str, str | None], training_texts: frozenset[str] = frozenset()
) -> Overlap:
    """Measures how much a task of a data set shares with the training of all parts (`list_parts`)."""
    wanted = {key for one in task.dialogues for key in (one.target, *one.targets)}
    texts = collect_texts(task) if training_texts else frozenset[str]()
    shared = count_seen_pictures(wanted, folder, lists)
    return replace(shared, texts=len(texts), repeated=len(texts & training_texts))


def list_parts(
    retriever: Retriever[Any], encoder: Encoder, user: SimulatedUser | None = None, questioner: Questioner | None = None
) -> dict[str, str | None]:
    """The lists of the parts that results depend on, by the names that flags use; "": unknown, None: not trained.

    A retriever or encoder without `trained_on` (from another package) counts as trained on unknown pictures, a user or
    questioner without it as not trained.
    """
    lists: dict[str, str | None] = {WEIGHTS: getattr(retriever, "trained_on", "")}
    if retriever.reads.space is None:  # otherwise the search runs in a space of the weights, made from raw vectors
        lists[ENCODER] = getattr(encoder, "trained_on", "")
    if user is not None:
        lists[USER] = getattr(user, "trained_on", None)
    if questioner is not None:
        lists[QUESTIONER] = find_training_list(questioner, encoder.raw_version)
    return lists


def count_seen_pictures(pictures: Collection[str], folder: Path, lists: Mapping[str, str | None]) -> Overlap:
    """How many pictures of a data set each part was trained on, by its list."""
    names = list(name_pictures(folder, sorted(pictures)).values())
    known = {who: listed and TrainingList.decode(listed) for who, listed in lists.items() if listed is not None}
    seen = {
        who: listed.count_seen(names) if isinstance(listed, TrainingList) else None for who, listed in known.items()
    }
    at_most = tuple(who for who, listed in known.items() if isinstance(listed, TrainingList) and listed.at_most)
    return Overlap(len(pictures), seen, at_most=at_most)


def refuse_seen(title: str, overlap: Overlap, plan: Plan) -> Overlap:
    """Returns the overlap, or raises BadInput if the plan refuses it."""
    if plan.refuse_overlap and overlap.refused is not None:
        raise BadInput(f"{title}: {overlap.refused}; take other weights or data, or leave out --refuse-overlap")
    return overlap


def read_training_texts(folders: Iterable[Path], protocol: str) -> frozenset[str]:
    """The texts of a protocol's dialogues in the training splits of data sets; one without such a split is skipped."""
    found = frozenset[str]()
    for folder in folders:
        with suppress(BadInput, UnknownName):
            found = found.union(*map(collect_texts, read_tasks(folder, protocol, "train")))
    return found


def collect_texts(task: Task) -> frozenset[str]:
    """The texts of a task's dialogues, in lower case and with single blanks."""
    turns = (turn for dialogue in task.dialogues for turn in dialogue.turns)
    said = (turn.text for turn in turns if isinstance(turn, Say | Like | Reject | Answer))
    return frozenset(" ".join(text.lower().split()) for text in said if text)
