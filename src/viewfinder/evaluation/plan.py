"""What to evaluate and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viewfinder.metrics import Ties

Notify = Callable[[str], None]
"""Called with a line whenever a stage is reached."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to evaluate and how.

    Attributes:
        system: a retriever, or "random".
        data: the folder of the data set.
        protocol, split: None: all protocols that find their files there; the test split, or else validation.
        task: words; of the tasks those alone that have them all in their title. None: all tasks.
        user: a simulated user that talks in place of what is recorded; None: only where a task needs one.
        manners: settings of the user, see `users.Manners`.
        questioner: what the system asks with, when a user talks. By ChatIR's protocol the user then only answers.
        pool: a file that lists the pictures to search in, in place of those of ChatIR's protocol.
        vectors: a file of image vectors to use in place of the data set's own pictures.
        catalogue: a table whose columns the system may use; None: it sees pixels alone.
        features: where the vectors of the data set's pictures are kept; None: beside the data.
        captions: whether systems may read what is written about pictures, where the protocol has that and talks are
            replayed; those of simulated users, and what is asked in them, are about pictures that nobody described.
        ties: the rule for equal scores: expected, optimistic (Fashion IQ's own) or pessimistic.
        limit: talks a task, taken evenly; None: all.
        checkpoint: a system's trained weights; None: those in the box.
        processes: how many lead talks at once, where a user talks; the figures do not depend on it.
    """

    system: str
    data: Path
    protocol: str | None = None
    split: str | None = None
    task: str | None = None
    user: str | None = None
    manners: Mapping[str, Any] = field(default_factory=dict)
    questioner: str | None = None
    pool: Path | None = None
    vectors: Path | None = None
    catalogue: Path | None = None
    features: Path | None = None
    captions: bool = True
    ties: Ties = "expected"
    limit: int | None = None
    seed: int = 0
    checkpoint: Path | None = None
    processes: int = 1
