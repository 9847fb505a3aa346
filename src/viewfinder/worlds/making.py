"""Tools for every kind of world: a folder of its own, and processes that draw one picture after the other."""

from __future__ import annotations

import csv
import errno
import json
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar, cast

from viewfinder.data.files import write_json
from viewfinder.data.splits import RULE
from viewfinder.errors import BadInput, DiskFull, ViewfinderError
from viewfinder.processors import count_processors
from viewfinder.whole_files import replace_file
from viewfinder.worlds.stock import Stock, stock_of
from viewfinder.worlds.words import Language

WorkItem = TypeVar("WorkItem")
Result = TypeVar("Result")

MARKER = "world.json"
MAX_PICTURES = 1_000_000

MIN_PICTURES_FOR_PROCESSES = 100
"""Pictures from which on several processes are worth their start."""

Progress = Callable[[int], None]
"""Called with the number of pictures written so far."""


@dataclass(frozen=True)
class WorldReport:
    """Where a world was written, and counts of its contents; 0 for contents that its kind does not have.

    `chats` are chat-search samples; `pairs`, `sessions` and `transactions` are Fashion IQ's, MT Fashion IQ's and
    FashionMT's, `queries` CIRR's; `edits` are pairs of InstructPix2Pix.
    """

    out: Path
    kind: str
    seed: int
    pictures: int
    captions: int
    regions: int = 0
    things: int = 0
    dialogues: int = 0
    chats: int = 0
    pairs: int = 0
    sessions: int = 0
    transactions: int = 0
    queries: int = 0
    edits: int = 0


@contextmanager
def claim_world_folder(out: Path, made: Mapping[str, Any], folders: Sequence[str]) -> Iterator[None]:
    """Claims a folder while a world is written: new, empty, or begun by the same call (`made` tells calls apart).

    Raises:
        BadInput: it is a file, holds something else, or cannot be written.
        DiskFull: the disk is full.
    """
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out}: this is a file; name a folder for the world")
    if out.is_dir() and any(out.iterdir()) and _read_marker(out / MARKER) != made:
        raise BadInput(f"{out}: this folder is not empty; name an empty or a new one")
    try:
        for folder in folders:
            (out / folder).mkdir(parents=True, exist_ok=True)
        write_json(out / MARKER, made)
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(f"{out}: the disk is full; make room and repeat the command") from error
        where = error.filename or out
        raise BadInput(f"{where}: cannot be written ({error.strerror}); choose another folder") from error


def _read_marker(marker: Path) -> Any:
    try:
        return json.loads(marker.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def world_marker(kind: str, version: int, count: int, seed: int, language: Language = "explicit") -> dict[str, Any]:
    """The content of world.json that every world has; explicit language is left out, as in older worlds."""
    made = {"schema": "viewfinder/world", "version": version, "kind": kind, "count": count, "seed": seed, "split": RULE}
    return made if language == "explicit" else made | {"language": language}


def write_lines(file: Path, lines: Iterable[str]) -> None:
    """Writes a text file, the same bytes on every system."""
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def write_rows(file: Path, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Writes a table as CSV, the same bytes on every system."""
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def take_evenly(things: Sequence[WorkItem], count: int | None) -> list[WorkItem]:
    """`count` of the things, evenly spaced from the first on; None: all of them."""
    if count is None or count >= len(things):
        return list(things)
    return [things[at * len(things) // count] for at in range(count)]


def link_file(source: Path, target: Path) -> None:
    """Links a file under another name, or copies it where the disk cannot link."""
    if target.exists() and target.samefile(source):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(target) as file:
        try:
            os.link(source, file)
        except OSError:  # another disk
            shutil.copy2(source, file)


# One picture after the other

SCENE_JPEG_QUALITY = 88


@dataclass(frozen=True)
class WorldPlan:
    """How each picture of a world is made, given its number: folder, seed, stock and language."""

    out: Path
    seed: int
    stock: Stock
    language: Language = "explicit"


@contextmanager
def drawing_world(
    kind: str,
    version: int,
    out: Path,
    *,
    count: int,
    seed: int,
    sprites: Path | None,
    workers: int,
    folders: Sequence[str] = (),
    what: str = "pictures",
    language: Language = "explicit",
) -> Iterator[WorldPlan]:
    """Claims the folder of a world whose pictures are drawn, and gives its plan; `what` names what is counted.

    Raises:
        BadInput, DiskFull: as `claim_world_folder`, or the count or the workers are out of range.
    """
    if not 1 <= count <= MAX_PICTURES:
        raise BadInput(f"--count {count}: ask for 1 to {MAX_PICTURES} {what}")
    if workers < 1:
        raise BadInput(f"--workers {workers}: at least one process has to draw")
    plan = WorldPlan(out, seed, stock_of(sprites), language)
    shop = plan.stock.shop
    # Products are named by a digest of their table: a path would differ between machines.
    made = world_marker(kind, version, count, seed, language) | ({} if shop is None else {"sprites": shop.digest})
    with claim_world_folder(out, made, folders):
        yield plan


def choose_workers(count: int) -> int:
    """The number of processes that draws so many pictures soonest: all cores, unless their start takes longer."""
    return 1 if count < MIN_PICTURES_FOR_PROCESSES else count_processors()


def make_in_order(
    make: Callable[[WorldPlan, int], Result], plan: WorldPlan, count: int, workers: int, progress: Progress
) -> list[Result]:
    """Makes pictures 1 to `count`, and gives the results in order; they do not depend on the number of workers.

    `make` is a function of a module, so that it can travel to the workers.

    Raises:
        ViewfinderError: a worker process died.
    """
    died = f"{plan.out}: a process that drew pictures died (out of memory?); repeat the command with --workers 1"
    found: dict[int, Result] = {}
    # A partial of partial: each process calls the outer one once, and gets `make` bound to the plan.
    products = run_in_processes(partial(partial, make, plan), range(1, count + 1), workers, died=died)
    with closing(products):
        for place, product in products:
            found[place] = product
            progress(len(found))
    return [found[place] for place in range(count)]


def run_in_processes(
    make: Callable[[], Callable[[WorkItem], Result]], items: Sequence[WorkItem], processes: int, *, died: str
) -> Generator[tuple[int, Result], None, None]:
    """The place of each item and what comes of it, as it is done; process k takes every `processes`-th item.

    `make` is called once in each process, which is started afresh; it, the items and the results must be of a kind that
    can travel. With one process everything is done in this one.

    Raises:
        ViewfinderError: a process died, as `died` says; or what the work raised.
    """
    if processes == 1 or len(items) < 2:
        work = make()
        yield from ((place, work(item)) for place, item in enumerate(items))
        return
    # Started afresh, not forked: this process has threads, and locks that they hold.
    context = multiprocessing.get_context("spawn")
    hired: dict[Connection, BaseProcess] = {}
    try:
        for first in range(min(processes, len(items))):
            here, there = context.Pipe(duplex=False)
            share = [(place, items[place]) for place in range(first, len(items), processes)]
            process: BaseProcess = context.Process(target=_do_share, args=(make, share, there), daemon=True)
            process.start()
            there.close()
            hired[here] = process
        listening = set(hired)
        while listening:
            for connection in cast("list[Connection]", wait(list(listening))):
                try:
                    found = connection.recv()
                except (EOFError, OSError) as error:
                    raise ViewfinderError(died) from error
                if isinstance(found, BaseException):
                    raise found
                if found is None:
                    listening.remove(connection)
                else:
                    yield found
    finally:
        for connection, process in hired.items():
            process.terminate()
            connection.close()
            process.join()


def _do_share(make: Callable[[], Callable[[Any], Any]], share: Sequence[tuple[int, Any]], there: Connection) -> None:
    """Works on a share, in a process of its own; ends as soon as the other end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this process
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(1):  # as many processes as cores: threads of each would only wait for one another
            work = make()
            for place, item in share:
                there.send((place, work(item)))
        there.send(None)
    except BrokenPipeError:
        return
    except Exception as error:
        there.send(error)
