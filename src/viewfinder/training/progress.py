"""Progress: a bar on stderr for people; for a training also `log.jsonl`, a record a line, and TensorBoard."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol


class Report(Protocol):
    """Is told how far the work has got."""

    def __call__(self, done: int, total: int | None = None, words: str | None = None) -> None:
        """Reports `done` of `total` (None: as before), and what is being done."""
        ...


def report_tenths(
    notify: Callable[[str], None], what: str = " ", *, things: str = "pictures"
) -> Callable[[int, int], None]:
    """Reports a line at every tenth of work that is not short: "`what` 1,000 of 10,000 pictures"."""
    told = {0}

    def progress(done: int, total: int) -> None:
        tenth = 10 * done // max(total, 1)
        if total > 1000 and tenth not in told:
            told.add(tenth)
            notify(f"{what} {done:,} of {total:,} {things}")

    return progress


@contextmanager
def progress_bar(words: str, total: int | None = None, *, shown: bool) -> Iterator[Report]:
    """A bar over `total` steps (None: not known yet), removed when the work is done; silent unless `shown`."""
    if not shown or not sys.stderr.isatty():
        yield lambda done, total=None, words=None: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(words, total=total)

        def report(done: int, total: int | None = None, words: str | None = None) -> None:
            bar.update(task, completed=done, total=total, description=words)

        yield report


@dataclass(frozen=True, kw_only=True)
class LogRecord:
    """One line of the log.

    `kind` is "train" (means over the steps since the record before) or "validation"; `loss` and `lr` are None for
    the latter. `seconds` of training so far, those before an interruption included.
    """

    kind: Literal["train", "validation"]
    step: int
    epoch: int
    loss: float | None
    lr: float | None
    figures: Mapping[str, float | None]
    seconds: float


class TrainingLog:
    """Appends records; after a resume it first cuts off what was logged after the checkpoint."""

    def __init__(self, folder: Path, *, kept: int, step: int, tensorboard: bool) -> None:
        """`kept` bytes of the log, and TensorBoard's points up to `step`, are from before."""
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / "log.jsonl").open("ab")
        self._file.truncate(min(kept, self._file.tell()))
        self._board: Any = None
        if tensorboard:
            from torch.utils.tensorboard import SummaryWriter  # takes a second to import

            self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)

    def write(self, record: LogRecord) -> None:
        """Add a record; a number that is not finite is written as null, as JSON has no other word for it."""

        def finite(number: float | None) -> float | None:
            return number if number is not None and math.isfinite(number) else None

        figures = {name: finite(number) for name, number in record.figures.items()}
        line = {**vars(record), "loss": finite(record.loss), "figures": figures}
        self._file.write(json.dumps(line, allow_nan=False).encode() + b"\n")
        self._file.flush()
        if self._board is not None:
            numbers = {"loss": record.loss, "lr": record.lr, **record.figures}
            for name, number in numbers.items():
                if number is not None:
                    self._board.add_scalar(f"{record.kind}/{name}", number, record.step)

    def size(self) -> int:
        """The bytes of the log, all flushed to disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        """Flush everything to disk."""
        self.size()
        self._file.close()
        if self._board is not None:
            self._board.close()
