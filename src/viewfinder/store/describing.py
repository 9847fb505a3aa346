"""Describing: what machines say of the pictures of a library, asked picture by picture and kept in batches.

A batch is one commit of the store, like those of `ingest`: after a crash at any point all earlier batches are there,
and the next run asks of the pictures that are still without. What a machine wrote before is replaced only by what it
writes now; an answer that cannot be used changes nothing, and is counted with its reason.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from viewfinder.errors import LibraryBusy, PictureError, ViewfinderError
from viewfinder.language.describer import BadAnswer, Busy, Describer
from viewfinder.pictures import AtMost, BadFile, Decoders, decode_one
from viewfinder.pictures.facts.model import NAMES, Fact, merge_facts
from viewfinder.pictures.facts.text_lines import READ_IN_PICTURE, make_text_facts
from viewfinder.pictures.text_reader import READ_SIDE, TextReader
from viewfinder.store.places import find_files
from viewfinder.store.reports import Progress
from viewfinder.store.rows import PictureRow
from viewfinder.store.store import Store

SENT_SIDE = 768
"""Pixels of the longer side of what a model is sent, unless told otherwise."""

JPEG_QUALITY = 85

MAX_UNSAVED, SAVE_EVERY_S = 64, 30.0
"""Pictures, and seconds, whose descriptions a crash may lose."""

MAX_BAD_IN_A_ROW = 10
"""After so many answers in a row that cannot be used, a run ends: the model cannot do this, or is not well."""

MAX_BUSY_IN_A_ROW = 20
"""How often in a row a server may ask to be asked later about one picture."""

MAX_EXAMPLES = 3
"""Paths that a report lists for each reason."""

LOCK_PATIENCE_S = 5.0
"""How long a batch waits at a time for another process that writes to the library."""

TRIED = 3
"""Pictures that a dry run asks about."""

LOOK_S = 0.1
"""How often a wait looks whether it should end."""

STOP_S = 3.0
"""How long answers that are under way are waited for when a run is stopped."""

DESCRIBED_BY = "described by "
"""Begins the source of what a model wrote; its name follows."""


@dataclass
class DescribeReport:
    """The result of describing. `stopped`: it was interrupted, and the next run goes on from here.

    Attributes:
        chosen: pictures that were to be described, by limit and filters.
        described: those that were, and are kept (of a dry run: that would be).
        with_text: those of them in which there is text.
        failures: how many were left as they were, by the reason; `examples` has some of their paths, by the reason.
        waits: how often the server asked to be asked later.
        tokens_read, tokens_written: as the model counted them.
        seconds: how long all of that took.
        estimated_s, estimated_tokens: of a dry run, what all `chosen` would take; None: nothing was answered.
        samples: of a dry run, what was said of each picture tried: its path, and the facts.
        failed: why it could not go on; "" if it could.
    """

    chosen: int = 0
    described: int = 0
    with_text: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)
    waits: int = 0
    tokens_read: int = 0
    tokens_written: int = 0
    seconds: float = 0.0
    estimated_s: float | None = None
    estimated_tokens: int | None = None
    samples: list[tuple[str, tuple[Fact, ...]]] = field(default_factory=list)
    stopped: bool = False
    failed: str = ""

    @property
    def done(self) -> int:
        """Pictures that were asked about, with what outcome ever."""
        return self.described + sum(self.failures.values())


Tokens = tuple[int, int]
"""Tokens that a model read, and wrote."""


@runtime_checkable
class Teller(Protocol):
    """Says something of pictures. It may be called from `at_once` threads at the same time.

    `side`: pixels of the longer side of what it looks at.
    """

    side: int
    at_once: int

    def lacks(self, row: PictureRow) -> bool:
        """Whether it has not said anything of a picture so far."""
        ...

    def tell(self, pixels_hw3: NDArray[np.uint8]) -> tuple[tuple[Fact, ...], Tokens]:
        """The facts of a picture. Raises BadAnswer, Busy, PictureError; what else it raises ends the run."""
        ...


class ModelTeller:
    """A vision-language model behind an endpoint, which is sent pictures as small JPEG."""

    def __init__(self, describer: Describer, *, side: int = SENT_SIDE, at_once: int = 1) -> None:
        self._describer, self.side, self.at_once = describer, side, at_once

    def lacks(self, row: PictureRow) -> bool:
        """Whether no model has described a picture so far; another model than this one will do."""
        return not any(fact.name == "caption" and fact.source.startswith(DESCRIBED_BY) for fact in row.machine)

    def tell(self, pixels_hw3: NDArray[np.uint8]) -> tuple[tuple[Fact, ...], Tokens]:
        """See `Teller`."""
        said = self._describer.describe(pack_jpeg(pixels_hw3))
        source = f"{DESCRIBED_BY}{self._describer.name}"
        facts = (Fact("caption", (said.caption,), source), Fact("objects", said.objects, source))
        return merge_facts([*facts, Fact("text", said.text, source)]), (said.tokens_read, said.tokens_written)


class TextTeller:
    """A reader of the text that stands in pictures."""

    side, at_once = READ_SIDE, 1

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader

    def lacks(self, row: PictureRow) -> bool:
        """Whether the text in a picture was not read so far."""
        return not any(fact.name == "text" and fact.source == READ_IN_PICTURE for fact in row.machine)

    def tell(self, pixels_hw3: NDArray[np.uint8]) -> tuple[tuple[Fact, ...], Tokens]:
        """See `Teller`."""
        return make_text_facts(self._reader.read(pixels_hw3)), (0, 0)


def pack_jpeg(pixels_hw3: NDArray[np.uint8]) -> bytes:
    """Pixels as a JPEG file, without anything else that is known of the picture."""
    packed = BytesIO()
    Image.fromarray(pixels_hw3).save(packed, "JPEG", quality=JPEG_QUALITY)
    return packed.getvalue()


@dataclass(frozen=True, eq=False)
class _Task:
    """A picture to be asked about, with its pixels."""

    row: PictureRow
    pixels_hw3: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class _Told:
    """What came of one picture: facts, or the reason why there are none.

    Attributes:
        was_asked: it came to the teller; what a file is to blame for says nothing about that one.
        is_given_up: the run was stopped before it was asked.
        fatal: why the run cannot go on.
    """

    row: PictureRow
    facts: tuple[Fact, ...] = ()
    reason: str = ""
    tokens: Tokens = (0, 0)
    was_asked: bool = True
    is_given_up: bool = False
    fatal: str = ""


class Describing:
    """One run over some pictures of a store."""

    def __init__(
        self,
        store: Store,
        teller: Teller,
        *,
        leave_out: Collection[str] = (),
        make_room: Callable[[], None] = lambda: None,
    ) -> None:
        """`leave_out`: the facts that are not kept. `make_room`: called before a batch is, while nobody else writes."""
        self._store, self._teller, self._leave_out = store, teller, frozenset(leave_out)
        self._make_room = make_room
        self._report = DescribeReport()
        self._stop = Event()
        self._pause_until = 0.0  # by the monotonic clock: the server asked for it

    def run(
        self,
        rows: Sequence[PictureRow],
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
        note: Callable[[DescribeReport], None] = lambda report: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> DescribeReport:
        """Asks about these pictures, and keeps what is said; a dry run asks about the first few and keeps nothing.

        `note` is called with the current report after each batch. Raises LibraryBusy: another process wrote all the
        time while the run was being stopped; the last batch is lost then.
        """
        report, began = self._report, time.monotonic()
        report.chosen = len(rows)
        asked = rows[:TRIED] if dry_run else rows
        told: dict[str, tuple[Fact, ...]] = {}
        saved, bad = began, 0
        with closing(self._ask_all(asked, should_stop)) as answers:
            for answer in answers:
                bad = self._count(answer, told, bad, dry_run=dry_run)
                if len(told) >= MAX_UNSAVED or time.monotonic() - saved >= SAVE_EVERY_S:
                    self._save(told, should_stop)
                    saved = time.monotonic()
                    note(report)
                if progress is not None:
                    progress(report.done, len(asked))
                if report.failed:
                    break
        report.stopped = bool(report.failed) or report.done < len(asked)
        self._save(told, should_stop)
        report.seconds = time.monotonic() - began
        if dry_run and report.described:
            report.estimated_s = report.seconds / report.done * len(rows)
            report.estimated_tokens = round((report.tokens_read + report.tokens_written) / report.described * len(rows))
        note(report)
        return report

    def _count(self, answer: _Told, told: dict[str, tuple[Fact, ...]], bad: int, *, dry_run: bool) -> int:
        """Takes an answer into the report; returns how many in a row could not be used, this one included."""
        report = self._report
        if answer.fatal:
            report.failed = answer.fatal
        if answer.fatal or answer.is_given_up:
            return bad
        if answer.reason:
            report.failures[answer.reason] = report.failures.get(answer.reason, 0) + 1
            listed = report.examples.setdefault(answer.reason, [])
            if len(listed) < MAX_EXAMPLES:
                listed.append(str(answer.row.path))
            bad += answer.was_asked
            if bad >= MAX_BAD_IN_A_ROW:
                report.failed = f"{bad} answers in a row could not be used, the last one because: {answer.reason}"
            return bad
        report.tokens_read += answer.tokens[0]
        report.tokens_written += answer.tokens[1]
        report.described += 1
        report.with_text += any(fact.name == "text" and fact.values for fact in answer.facts)
        if dry_run:
            report.samples.append((str(answer.row.path), tuple(fact for fact in answer.facts if fact.values)))
        else:
            told[answer.row.id] = self._leave_some_out(answer.facts)
        return 0

    def _leave_some_out(self, facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
        """The facts, those that are to be left out without their values: that the picture was described stays known."""
        return tuple(replace(fact, values=()) if fact.name in self._leave_out else fact for fact in facts)

    def _save(self, told: dict[str, tuple[Fact, ...]], should_stop: Callable[[], bool]) -> None:
        """Keeps what was told of some pictures, in one commit, however long another process writes; empties `told`."""
        while told:
            try:
                with self._store.writing(LOCK_PATIENCE_S):
                    self._make_room()
                    rows = self._store.rows_of(list(told))  # as they are now
                    self._store.replace([replace(row, machine=renew_facts(row.machine, told[row.id])) for row in rows])
            except LibraryBusy:
                if should_stop():
                    raise
                continue
            told.clear()

    # -- asking

    def _ask_all(self, rows: Sequence[PictureRow], should_stop: Callable[[], bool]) -> Generator[_Told, None, None]:
        """What comes of each picture, as it comes; once stopped, what is under way is waited for a little longer."""
        tasks, answers = SimpleQueue[_Task | None](), SimpleQueue[_Told]()
        count = self._teller.at_once
        threads = [
            Thread(target=self._work, args=(tasks, answers), name="describing", daemon=True) for _ in range(count)
        ]
        for thread in threads:
            thread.start()
        under_way, is_drawn, give_up_at = 0, False, float("inf")
        try:
            with Decoders(1, fit=AtMost(self._teller.side)) as decoders, closing(self._read(rows, decoders)) as read:
                while not is_drawn or under_way:
                    if should_stop() and not self._stop.is_set():
                        self._stop.set()
                        is_drawn, give_up_at = True, time.monotonic() + STOP_S
                    while not is_drawn and under_way < 2 * count:
                        drawn = next(read, None)
                        if isinstance(drawn, _Task):
                            tasks.put(drawn)
                            under_way += 1
                        elif drawn is not None:
                            yield drawn
                        is_drawn = drawn is None
                    try:
                        answer = answers.get(timeout=LOOK_S) if under_way else None
                    except Empty:
                        if time.monotonic() > give_up_at:
                            return
                        continue
                    if answer is not None:
                        under_way -= 1
                        yield answer
        finally:
            self._stop.set()
            for _ in threads:
                tasks.put(None)

    def _read(self, rows: Iterable[PictureRow], decoders: Decoders) -> Generator[_Task | _Told, None, None]:
        """The pictures with their pixels, or why there are none."""
        drawn, gone = deque[PictureRow](), deque[PictureRow]()

        def draw() -> Iterator[Path]:
            for row in rows:
                paths = [file.path for file in row.files]
                if (path := next(find_files(self._store.folder, row.id, paths), None)) is None:
                    gone.append(row)
                else:
                    drawn.append(row)
                    yield path

        for outcome in decoders.decode(draw()):
            row = drawn.popleft()
            if isinstance(outcome, BadFile):
                yield _Told(row, reason=f"cannot be read: {outcome.reason}", was_asked=False)
            elif not outcome.is_picture(row.id, row.pixels or ""):
                yield _Told(row, reason="its file has changed: `viewfinder add` it again", was_asked=False)
            else:
                yield _Task(row, outcome.pixels)
        yield from (_Told(row, reason="its file is gone", was_asked=False) for row in gone)

    def _work(self, tasks: SimpleQueue[_Task | None], answers: SimpleQueue[_Told]) -> None:
        """A thread that asks, until there is nothing more."""
        while (task := tasks.get()) is not None:
            try:
                answers.put(self._ask(task))
            except ViewfinderError as error:
                answers.put(_Told(task.row, fatal=str(error)))
            except Exception as error:  # else the run would wait for this thread forever
                answers.put(_Told(task.row, fatal=f"something unforeseen happened ({type(error).__name__}: {error})"))

    def _ask(self, task: _Task) -> _Told:
        for _ in range(MAX_BUSY_IN_A_ROW):
            if not self._wait_for_turn():
                return _Told(task.row, is_given_up=True)
            try:
                facts, tokens = self._teller.tell(task.pixels_hw3)
                return _Told(task.row, facts, tokens=tokens)
            except (BadAnswer, PictureError) as error:
                return _Told(task.row, reason=str(error))
            except Busy as busy:
                self._report.waits += 1
                self._pause_until = max(self._pause_until, time.monotonic() + busy.seconds)
        return _Told(task.row, fatal=f"the model asked to be asked later, {MAX_BUSY_IN_A_ROW} times in a row")

    def _wait_for_turn(self) -> bool:
        """Waits as long as the server asked for; False: the run is being stopped."""
        while not self._stop.is_set():
            left = self._pause_until - time.monotonic()
            if left <= 0:
                return True
            self._stop.wait(min(left, LOOK_S))
        return False


def ask_each(store: Store, describer: Describer, ids: Sequence[str], question: str) -> Iterator[str]:
    """What a model answers to a question about each of these pictures, or in brackets why it does not; none is kept.

    Raises LanguageModelFailed: it cannot be reached, or refuses all that is asked.
    """
    rows = {row.id: row for row in store.rows_of(ids)}
    for name in ids:
        try:
            paths = [file.path for file in rows[name].files] if name in rows else []
            if (path := next(find_files(store.folder, name, paths), None)) is None:
                raise PictureError("its file is gone")
            yield describer.answer(pack_jpeg(decode_one(path, AtMost(SENT_SIDE)).pixels), question)
        except (BadAnswer, PictureError) as error:
            yield f"({error})"
        except Busy:
            yield "(the model is busy: ask again later)"


def renew_facts(before: Sequence[Fact], told: Sequence[Fact]) -> tuple[Fact, ...]:
    """Machines' facts of a picture with those that are told now in the place of those of the same kind of machine."""
    kinds = {_name_kind(fact) for fact in told}
    kept = [fact for fact in before if _name_kind(fact) not in kinds]
    return tuple(sorted([*kept, *told], key=lambda fact: NAMES.index(fact.name)))


def _name_kind(fact: Fact) -> str:
    return DESCRIBED_BY if fact.source.startswith(DESCRIBED_BY) else fact.source
