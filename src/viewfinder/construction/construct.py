"""The run: every picture through the pipelines that are asked for, then merging, then the files.

Pictures are worked on one by one and in any order; chances are drawn per picture. So a repeated run makes the same
samples, and what models wrote before comes from the journal.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

from filelock import FileLock, Timeout

from viewfinder.construction.assembling import ConstructionSetup, MakeEncoder, Progress, prepare_construction
from viewfinder.construction.order import ConstructionOrder, ConstructionReport, Notify
from viewfinder.construction.parts import ImageTextPair, SampleNotMade
from viewfinder.construction.pictures import PARTS, SourcePicture
from viewfinder.construction.pipelines import (
    PIPELINES,
    Pipeline,
    PipelineParts,
    make_reference_image_sample,
    make_reference_text_samples,
    make_text_sample,
    merge_samples,
)
from viewfinder.construction.remembered import AnswerJournal
from viewfinder.construction.writing import RECORDS, check_free, journal_file, write_record, write_samples
from viewfinder.data.chatsearch import ChatSample
from viewfinder.errors import BadInput, DiskFull, LanguageModelFailed, LibraryBusy, UnknownName

MOST_FAILURES = 5
"""Pictures in a row for which the language model does not answer, after which the run is given up."""

SINGLE: tuple[Pipeline, ...] = ("mdc-i", "mdc-t-single")
"""What a text dialogue can be merged with."""


def construct_samples(
    order: ConstructionOrder,
    *,
    make_encoder: MakeEncoder,
    told: Notify = lambda line: None,
    progress: Progress = lambda done, total: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> ConstructionReport:
    """Makes the samples of an order and writes them; `should_stop` is asked after every picture.

    Raises:
        UnknownName: there is no such pipeline or split.
        BadInput: data, gallery, generator or captioner are missing, damaged or do not go together; files are there
            that are not ours to write again, or a folder cannot be written.
        LanguageModelFailed: the model does not answer any more; what it wrote is kept.
        LibraryBusy, DiskFull: as they say; what was written is kept.
    """
    _check(order)
    with _claimed(order):
        check_free(order)
        journal = AnswerJournal.read(journal_file(order.out))
        ready = prepare_construction(order, journal, make_encoder, told, progress)
        told(f"{len(ready.sources):,} pictures, {len(ready.parts.gallery.images):,} to find among")
        books = _Books()
        for results in _worked(order, ready, books, should_stop):
            books.note(results)
            progress(books.pictures, len(ready.sources))
        ended = books.pictures == len(ready.sources)
        made = books.of(order, ready.parts)
        files = write_samples(order, made, ready.parts.gallery.images, ready.files) if ended else ()
        report = ConstructionReport(
            out=order.out,
            ended=ended,
            pictures=books.pictures,
            made={name: sum(one.source["pipeline"] == name for one in made) for name in order.pipelines},
            dropped={name: dict(books.dropped[name].most_common()) for name in order.pipelines if books.dropped[name]},
            generator=ready.parts.generator.name,
            captioner=ready.parts.captioner.name,
            asked=journal.asked,
            files=files,
            left_out=tuple(str(each) for each in ready.reports if each.dropped),
        )
        if ended:
            write_record(order, _recorded(order, report))
    return report


_Result = tuple[Pipeline, list[ChatSample] | SampleNotMade | LanguageModelFailed]


@dataclass
class _Books:
    """What was made of the pictures so far, in the order of their numbers at the end."""

    samples: list[ChatSample] = field(default_factory=list)
    dropped: dict[Pipeline, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in PIPELINES})
    pictures: int = 0

    def note(self, results: Sequence[_Result]) -> None:
        self.pictures += 1
        for pipeline, result in results:
            if isinstance(result, list):
                self.samples += result
            else:
                self.dropped[pipeline][str(result)] += 1

    def of(self, order: ConstructionOrder, parts: PipelineParts) -> list[ChatSample]:
        """All samples that are asked for, merged ones included."""
        self.samples.sort(key=lambda sample: sample.id)
        texts = [sample for sample in self.samples if sample.source["pipeline"] == "text"]
        singles = [sample for sample in self.samples if sample.source["pipeline"] in SINGLE]
        joined = list(merge_samples(texts, singles, parts)) if "merge" in order.pipelines else []
        if alone := len(texts) - len(joined):
            self.dropped["merge"]["no single-round sample begins with the picture of the dialogue"] = alone
        return [sample for sample in (*self.samples, *joined) if sample.source["pipeline"] in order.pipelines]


def pipelines_to_run(pipelines: Sequence[Pipeline]) -> frozenset[Pipeline]:
    """The pipelines that ask a generator: those asked for, and what merging needs.

    >>> sorted(needed(["merge"])), sorted(needed(["merge", "mdc-t-single"]))
    (['mdc-i', 'text'], ['mdc-t-single', 'text'])
    """
    asked = set(pipelines) - {"merge"}
    if "merge" in pipelines:
        asked |= {"text"} if asked & set(SINGLE) else {"text", "mdc-i"}
    return frozenset(asked)


def _worked(
    order: ConstructionOrder, ready: ConstructionSetup, books: _Books, should_stop: Callable[[], bool]
) -> Iterator[list[_Result]]:
    """The results of picture after picture, as they are ready.

    Raises:
        LanguageModelFailed: the model has not answered for some pictures in a row.
    """
    wanted = pipelines_to_run(order.pipelines)
    in_a_row = 0
    waiting = iter(ready.sources)
    with ThreadPoolExecutor(order.at_once, thread_name_prefix="constructing") as pool:
        running: set[Future[list[_Result]]] = set()
        while True:
            while len(running) < order.at_once and (picture := next(waiting, None)) is not None:
                running.add(pool.submit(_results, picture, wanted, ready.parts))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                results = one.result()
                failed = [result for _, result in results if isinstance(result, LanguageModelFailed)]
                in_a_row = in_a_row + 1 if failed else 0
                if in_a_row >= MOST_FAILURES:
                    raise LanguageModelFailed(
                        f"{failed[0]}; given up after {in_a_row} pictures in a row ({books.pictures:,} are done): what "
                        "was written is kept, repeat the command to go on"
                    )
                yield results
            if should_stop():
                waiting = iter(())


def _results(picture: SourcePicture, wanted: frozenset[Pipeline], parts: PipelineParts) -> list[_Result]:
    """What the pipelines make of one picture; its caption is drawn (Sec. 3.1: one raw caption)."""
    own = ImageTextPair(picture.name, parts.drawn("caption", picture.name).choice(picture.captions))
    works: list[tuple[tuple[Pipeline, ...], Callable[[], list[ChatSample]]]] = [
        (("text",), lambda: [make_text_sample(picture.number, own, parts)]),
        (("mdc-i",), lambda: [make_reference_image_sample(picture.number, own, parts)]),
        (("mdc-t", "mdc-t-single"), lambda: make_reference_text_samples(picture.number, own, parts, wanted)),
    ]
    found: list[_Result] = []
    for names, work in works:
        asked = [name for name in names if name in wanted]
        if asked:
            result = _tried(work)
            found += [(name, [] if isinstance(result, list) else result) for name in asked[1:]]
            found.append((asked[0], result))
    return found


def _tried(work: Callable[[], list[ChatSample]]) -> list[ChatSample] | SampleNotMade | LanguageModelFailed:
    try:
        return work()
    except (SampleNotMade, LanguageModelFailed) as error:
        return error


def _check(order: ConstructionOrder) -> None:
    unknown = [name for name in order.pipelines if name not in PIPELINES]
    if unknown or not order.pipelines:
        named = unknown[0] if unknown else ""
        raise UnknownName(f"no pipeline is called {named!r}; there are: {', '.join(PIPELINES)}")
    if order.split not in PARTS:
        raise UnknownName(f"no split is called {order.split!r}; there are: {', '.join(PARTS)}")
    if order.in_place and order.gallery is not None:
        raise BadInput(f"{order.out}: pictures of another gallery would be put into the data; choose another --out")
    if order.least_likeness > order.ceiling:
        raise BadInput(
            f"--threshold {order.least_likeness}: above the --ceiling of {order.ceiling}, so nothing is left"
        )


@contextmanager
def _claimed(order: ConstructionOrder) -> Iterator[None]:
    """The folder as ours; errors of the disk become ours.

    Raises:
        LibraryBusy, DiskFull, BadInput: as `construct`.
    """
    try:
        (order.out / RECORDS).mkdir(parents=True, exist_ok=True)
        with FileLock(order.out / RECORDS / "writing.lock", blocking=False):
            yield
    except Timeout as error:
        raise LibraryBusy(f"{order.out}: another process constructs samples here; wait for it to finish") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"{order.out}: the disk is full; make room and repeat the command, it goes on") from error
        where = error.filename or order.out
        raise BadInput(f"{where}: cannot be read or written ({error.strerror}); check it, or choose --out") from error


def _recorded(order: ConstructionOrder, report: ConstructionReport) -> dict[str, object]:
    """Order and result, without places on this machine."""
    places = {"data", "out", "gallery", "features", "generator", "captioner", "encoder"}
    settings = {name: value for name, value in vars(order).items() if name not in places}
    result = {name: value for name, value in asdict(report).items() if name not in {"out", "ended", "asked"}}
    return {"data": order.data.resolve().name, "settings": settings, **result}
