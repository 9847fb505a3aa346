"""A bar with the time that is left, on stderr if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Report(Protocol):
    """Told how far the work is."""

    def __call__(self, done: int, total: int | None = None, words: str | None = None) -> None:
        """`done` of `total` (None: as before), and what is being done."""
        ...


@contextmanager
def progress_bar(words: str, total: int | None = None, *, shown: bool) -> Iterator[Report]:
    """A bar over `total` steps (None: not known yet), gone when the work is done; silent unless `shown`."""
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
