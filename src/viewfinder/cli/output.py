"""Output of the verbs: JSON for programs, a line for each object; tables and lines for people."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from viewfinder.search.hits import Hits

VERDICT_LINES = {"found": "", "unsure": "Perhaps one of these:", "nothing": "Nothing like that here. The nearest are:"}
MATCH_STYLES = {"likely": "green", "maybe": "yellow", "unlikely": "dim"}
PLAIN_WIDTH = 10_000
"""Characters a line may have in a pipe or a file: paths are not broken there."""


def print_json(data: Any) -> None:
    """One JSON object on one line."""
    typer.echo(json.dumps(data, ensure_ascii=False, allow_nan=False))


_CONTROLS = {*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_ESCAPES = {code: chr(code).encode("unicode_escape").decode("ascii") for code in _CONTROLS}


def escape_controls(text: str) -> str:
    """The text with control characters as escapes: a file's name cannot break a table, nor speak to the terminal.

    >>> escape_controls("a\\nb")
    'a\\\\nb'
    """
    return text.translate(_ESCAPES)


def print_line(line: str = "") -> None:
    """One line for people."""
    typer.echo(escape_controls(line))


def print_pieces(before: str, pieces: Iterable[str]) -> None:
    """One line for people, whose pieces are shown as they come; line breaks in it are blanks."""
    try:
        for piece in chain((before,), pieces):
            typer.echo("".join(letter if letter.isprintable() else " " for letter in piece), nl=False)
    finally:  # also after Ctrl-C, what follows begins a new line
        typer.echo()


def print_result(as_json: bool, record: Any, *lines: str) -> None:
    """Prints the result of a verb: a record for programs, or these lines for people."""
    if as_json:
        print_json(record)
        return
    for line in lines:
        print_line(line)


def print_note(line: str) -> None:
    """One line beside the results, on stderr."""
    typer.echo(escape_controls(line), err=True)


REPORT_AFTER_S, REPORT_EVERY_S = 3.0, 10.0
"""After how many seconds a wait is reported, and how often again."""


@contextmanager
def reporting_wait(what: str, *, shown: bool) -> Iterator[None]:
    """Reports a long wait on stderr: what for, how long so far, and how long in the end."""
    over, began = threading.Event(), time.monotonic()

    def tell() -> None:
        pause = REPORT_AFTER_S
        while not over.wait(pause):
            pause = REPORT_EVERY_S
            print_note(f"viewfinder: {what}: {time.monotonic() - began:.0f} s so far")

    teller = threading.Thread(target=tell, daemon=True)
    if shown:
        teller.start()
    try:
        yield
    finally:
        over.set()
        if shown:
            teller.join()
    if shown and (seconds := time.monotonic() - began) > REPORT_AFTER_S:
        print_note(f"viewfinder: {what} took {seconds:.0f} s")


def make_notifier(as_json: bool) -> Callable[[str], None]:
    """A function that prints a line of progress on stderr; with `as_json` it does nothing."""
    return (lambda line: None) if as_json else print_note


def list_first(lines: Sequence[str], at_most: int = 10) -> list[str]:
    """Some of these lines, indented, and how many more there are."""
    more = [f"  and {len(lines) - at_most:,} more"] if len(lines) > at_most else []
    return [*(f"  {line}" for line in lines[:at_most]), *more]


def list_figures(figures: Mapping[str, float]) -> list[str]:
    """A line a figure."""
    return [f"  {name}: {figure:.4f}" for name, figure in figures.items()]


def print_rich(renderable: Any) -> None:
    """A rich table, tree or text; coloured on a terminal only."""
    from io import StringIO

    from rich.console import Console

    text = StringIO()
    terminal = sys.stdout.isatty()
    console = Console(file=text, force_terminal=terminal or None, width=None if terminal else PLAIN_WIDTH)
    console.print(renderable, soft_wrap=True)
    typer.echo("\n".join(line.rstrip() for line in text.getvalue().rstrip("\n").split("\n")))


def plain_text(text: str, style: str = "") -> Any:
    """A text that rich prints as it is: brackets in a path are no markup."""
    from rich.text import Text

    return Text(escape_controls(text), style=style)


@dataclass(frozen=True)
class Styled:
    """A text of a table in a style of rich, which counts on a terminal only."""

    text: str
    style: str


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str | Styled]]) -> None:
    """A table of texts; into a pipe or a file without rich, which takes longer to import than to print."""
    cells = [[cell if isinstance(cell, Styled) else Styled(cell, "") for cell in row] for row in rows]
    if not sys.stdout.isatty():
        plain = [list(columns), *([escape_controls(cell.text) for cell in row] for row in cells)]
        if all(text.isascii() for row in plain for text in row[:-1]):  # other letters may be two columns wide
            for line in align_columns(plain):
                typer.echo(line)
            return
    from rich.table import Table

    table = Table(*columns, box=None, pad_edge=False)
    for row in cells:
        table.add_row(*(plain_text(cell.text, cell.style) for cell in row))
    print_rich(table)


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of texts below each other, two blanks between columns.

    >>> align_columns([("#", "path"), ("10", "a.jpg")])
    ['#   path', '10  a.jpg']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def describe_head(hits: Hits) -> list[str]:
    """What is said of all results before the first: how the words were read, and whether anything is like them."""
    lines = []
    if hits.missing:
        away = count_noun(hits.missing, "picture")
        lines.append(f"note: {away} could not be searched: a part of the cluster is away")
    if hits.reading is not None:
        lines.append(f"Searching for: {hits.reading.describe()}")
    if not len(hits):
        return [*lines, "No results."]
    if VERDICT_LINES[hits.verdict]:
        lines.append(VERDICT_LINES[hits.verdict])
    if hits.unheard:
        lines.append(
            f"(The search does not know {', '.join(hits.unheard)}: it understands English; `viewfinder encoders` names "
            "one for other languages, multilingual.)"
        )
    return lines


def print_hits(hits: Hits) -> None:
    """The verdict, then a line a result: number, match, score, path (where it lay, if it is gone)."""
    for line in describe_head(hits):
        print_line(line)
    if not len(hits):
        return
    is_list = all("captured" in hit.why for hit in hits)  # by date: nothing was compared
    rows: list[Sequence[str | Styled]] = []
    for hit in hits:
        more = f" (and {len(hit.others)} more of it)" if hit.others else ""
        path = f"{hit.path}{more}" if hit.path.exists() else Styled(f"{hit.path} (not here){more}", "dim")
        if is_list:
            rows.append((str(hit.rank), hit.why["captured"] or "", path))
        else:
            rows.append((str(hit.rank), Styled(hit.match, MATCH_STYLES[hit.match]), f"{hit.score:.3f}", path))
    print_table(("#", "captured", "path") if is_list else ("#", "match", "score", "path"), rows)


def count_noun(count: int, noun: str) -> str:
    """A number with its noun.

    >>> count_noun(1, "picture"), count_noun(1200, "picture"), count_noun(2, "copy")
    ('1 picture', '1,200 pictures', '2 copies')
    """
    plural = f"{noun.removesuffix('y')}ies" if noun.endswith(("py", "ry")) else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
