"""The run: every picture through the requested pipelines, then merging, then the files.

Pictures are processed one by one and in any order; random numbers are drawn per picture. So a repeated run makes the
same samples, and what models wrote before comes from the journal. The run writes

<out>/chatsearch/<subtask>_<split>.jsonl    samples, as `data.chatsearch` reads them
                 gallery_<subtask>.txt      pictures to search, for the splits test and all
      images/                               links to (or copies of) pictures that lie elsewhere
      construct/<split>.json                how they were made; which files we may overwrite
                journal.jsonl               what models wrote
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from pathlib import Path

from viewfinder.construction import setup
from viewfinder.construction.pipelines import (
    ImageTextPair,
    PipelineParts,
    SampleNotMade,
    make_reference_image_sample,
    make_reference_text_samples,
    make_text_sample,
    merge_samples,
)
from viewfinder.construction.remembered import AnswerJournal
from viewfinder.data.chatsearch import ChatSample, Subtask, review_file, write_chatsearch, write_gallery
from viewfinder.data.files import read_json, write_json
from viewfinder.encoders.features.store import claim_folder
from viewfinder.errors import BadInput, LanguageModelFailed, UnknownName
from viewfinder.worlds.chatsearch import PIPELINES, SUBTASK_OF, Pipeline
from viewfinder.worlds.making import link_file

CHATSEARCH = "chatsearch"
RECORDS = "construct"
SCHEMA = "viewfinder/construct"

SEARCHED_SPLITS: tuple[setup.Part, ...] = ("test", "all")
"""Splits with galleries: a folder has one gallery per subtask; training and validation need none."""


def list_subtasks(order: setup.ConstructionOrder) -> tuple[Subtask, ...]:
    """The list_subtasks of the requested pipelines."""
    return tuple(dict.fromkeys(SUBTASK_OF[pipeline] for pipeline in order.pipelines))


def locate_samples(order: setup.ConstructionOrder, subtask: Subtask) -> Path:
    """The file of a subtask's samples."""
    return order.out / CHATSEARCH / f"{subtask}_{order.split}.jsonl"


def check_free(order: setup.ConstructionOrder) -> None:
    """Checks that the files may be written: each is absent, or an earlier run of ours wrote it and it is not reviewed.

    Raises:
        BadInput: otherwise.
    """
    record = _locate_record(order)
    ours = set(read_json(record, dict).get("files", ())) if record.is_file() else set()
    for subtask in list_subtasks(order):
        file = locate_samples(order, subtask)
        if file.is_file() and file.relative_to(order.out).as_posix() not in ours:
            raise BadInput(f"{file}: there already, and not by this verb; choose another --out or --split")
        if review_file(file).is_file():
            raise BadInput(f"{file}: a person has reviewed it already; choose another --out, or remove its review")
        gallery = order.out / CHATSEARCH / f"gallery_{subtask}.txt"
        if order.split in SEARCHED_SPLITS and not file.is_file() and gallery.is_file():
            raise BadInput(f"{gallery}: there already, of other samples; choose another --out")


def write_samples(
    order: setup.ConstructionOrder, samples: Iterable[ChatSample], gallery: Sequence[str], files: Mapping[str, Path]
) -> tuple[str, ...]:
    """Writes samples and galleries, links the pictures that they name, and returns the files' paths below `out`."""
    (order.out / CHATSEARCH).mkdir(parents=True, exist_ok=True)
    known = list(samples)
    written: list[Path] = []
    pictures: dict[str, None] = {}
    for subtask in list_subtasks(order):
        own = [sample for sample in known if sample.subtask == subtask]
        named = dict.fromkeys(name for sample in own for name in (*sample.images(), sample.target))
        listed = sorted({*named, *(() if order.only_targets else gallery)})
        pictures |= named
        if order.split in SEARCHED_SPLITS and listed:
            written.append(write_gallery(order.out / CHATSEARCH, subtask, listed))
            pictures |= dict.fromkeys(listed)
        for name in () if order.in_place else pictures:
            if not (order.out / name).exists():
                link_file(files[name], order.out / name)
        write_chatsearch(locate_samples(order, subtask), own)
        written.append(locate_samples(order, subtask))
    return tuple(file.relative_to(order.out).as_posix() for file in written)


def write_record(order: setup.ConstructionOrder, report: setup.ConstructionReport) -> None:
    """Order and result, without paths on this machine; files of earlier runs of this split stay ours."""
    file = _locate_record(order)
    before = read_json(file, dict).get("files", []) if file.is_file() else []
    places = {"data", "out", "gallery", "features", "generator", "captioner", "encoder"}
    settings = {name: value for name, value in vars(order).items() if name not in places}
    result = {name: value for name, value in asdict(report).items() if name not in {"out", "ended", "asked"}}
    made = {"schema": SCHEMA, "data": order.data.resolve().name, "settings": settings, **result}
    write_json(file, made | {"files": sorted({*before, *report.files})}, indent=2)


def _locate_record(order: setup.ConstructionOrder) -> Path:
    return order.out / RECORDS / f"{order.split}.json"


MAX_FAILURES = 5
"""After so many pictures in a row without an answer from the language model, the run gives up."""

SINGLE_ROUND: tuple[Pipeline, ...] = ("mdc-i", "mdc-t-single")
"""Pipelines whose samples can be merged with a text dialogue."""


def construct_samples(
    order: setup.ConstructionOrder,
    *,
    make_encoder: setup.MakeEncoder,
    notify: setup.Notify = lambda line: None,
    progress: setup.Progress = lambda done, total: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> setup.ConstructionReport:
    """Makes the samples of an order and writes them; `should_stop` is asked after every picture.

    Raises:
        UnknownName: there is no such pipeline or split.
        BadInput: data, gallery, generator or captioner are missing, damaged or do not fit together; there are files
            that we may not overwrite, or a folder cannot be written.
        LanguageModelFailed: the model no longer answers; what it wrote is kept.
        LibraryBusy, DiskFull: as they say; what was written is kept.
    """
    _check_order(order)
    with claim_folder(order.out, "constructs samples here", lock=RECORDS):
        check_free(order)
        journal = AnswerJournal.read(order.out / RECORDS / "journal.jsonl")
        ready = setup.prepare_construction(order, journal, make_encoder, notify, progress)
        notify(f"{len(ready.sources):,} pictures, {len(ready.parts.gallery.images):,} to find among")
        books = _Books()
        for results in _work_on_pictures(order, ready, books, should_stop):
            books.add(results)
            progress(books.pictures, len(ready.sources))
        ended = books.pictures == len(ready.sources)
        made = books.list_samples(order, ready.parts)
        files = write_samples(order, made, ready.parts.gallery.images, ready.files) if ended else ()
        report = setup.ConstructionReport(
            out=order.out,
            ended=ended,
            pictures=books.pictures,
            made={name: sum(one.source["pipeline"] == name for one in made) for name in order.pipelines},
            dropped={name: dict(books.dropped[name].most_common()) for name in order.pipelines if books.dropped[name]},
            generator=ready.parts.generator.name,
            captioner=ready.parts.captioner.name,
            asked=journal.asked,
            files=files,
            left_out=(str(ready.report),) if ready.report.dropped else (),
        )
        if ended:
            write_record(order, report)
    return report


_Result = tuple[Pipeline, list[ChatSample] | SampleNotMade | LanguageModelFailed]


@dataclass
class _Books:
    """The samples made so far, which `of` puts in the order of their numbers, and counts of dropped pictures."""

    samples: list[ChatSample] = field(default_factory=list)
    dropped: dict[Pipeline, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in PIPELINES})
    pictures: int = 0

    def add(self, results: Sequence[_Result]) -> None:
        self.pictures += 1
        for pipeline, result in results:
            if isinstance(result, list):
                self.samples += result
            else:
                self.dropped[pipeline][str(result)] += 1

    def list_samples(self, order: setup.ConstructionOrder, parts: PipelineParts) -> list[ChatSample]:
        """All requested samples, including merged ones."""
        self.samples.sort(key=lambda sample: sample.id)
        texts = [sample for sample in self.samples if sample.source["pipeline"] == "text"]
        singles = [sample for sample in self.samples if sample.source["pipeline"] in SINGLE_ROUND]
        joined = list(merge_samples(texts, singles, parts)) if "merge" in order.pipelines else []
        if alone := len(texts) - len(joined):
            self.dropped["merge"]["no single-round sample begins with the picture of the dialogue"] = alone
        return [sample for sample in (*self.samples, *joined) if sample.source["pipeline"] in order.pipelines]


def pipelines_to_run(pipelines: Sequence[Pipeline]) -> frozenset[Pipeline]:
    """The pipelines that ask a generator: the requested ones, and what merging needs.

    >>> sorted(pipelines_to_run(["merge"])), sorted(pipelines_to_run(["merge", "mdc-t-single"]))
    (['mdc-i', 'text'], ['mdc-t-single', 'text'])
    """
    asked = set(pipelines) - {"merge"}
    if "merge" in pipelines:
        asked |= {"text"} if asked & set(SINGLE_ROUND) else {"text", "mdc-i"}
    return frozenset(asked)


def _work_on_pictures(
    order: setup.ConstructionOrder, ready: setup.ConstructionSetup, books: _Books, should_stop: Callable[[], bool]
) -> Iterator[list[_Result]]:
    """The results picture by picture, as they become ready.

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
                running.add(pool.submit(_run_pipelines, picture, wanted, ready.parts))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                results = one.result()
                failed = [result for _, result in results if isinstance(result, LanguageModelFailed)]
                in_a_row = in_a_row + 1 if failed else 0
                if in_a_row >= MAX_FAILURES:
                    raise LanguageModelFailed(
                        f"{failed[0]}; given up after {in_a_row} pictures in a row ({books.pictures:,} are done): what "
                        "was written is kept, repeat the command to go on"
                    )
                yield results
            if should_stop():
                waiting = iter(())


def _run_pipelines(picture: setup.SourcePicture, wanted: frozenset[Pipeline], parts: PipelineParts) -> list[_Result]:
    """Runs the pipelines for one picture with one of its captions, drawn at random (Sec. 3.1)."""
    own = ImageTextPair(picture.name, parts.draw_random("caption", picture.name).choice(picture.captions))
    works: list[tuple[tuple[Pipeline, ...], Callable[[], list[ChatSample]]]] = [
        (("text",), lambda: [make_text_sample(picture.number, own, parts)]),
        (("mdc-i",), lambda: [make_reference_image_sample(picture.number, own, parts)]),
        (("mdc-t", "mdc-t-single"), lambda: make_reference_text_samples(picture.number, own, parts, wanted)),
    ]
    found: list[_Result] = []
    for names, work in works:
        asked = [name for name in names if name in wanted]
        if asked:
            try:
                found.append((asked[0], work()))
            except (SampleNotMade, LanguageModelFailed) as error:
                found += [(name, error) for name in asked]
    return found


def _check_order(order: setup.ConstructionOrder) -> None:
    unknown = [name for name in order.pipelines if name not in PIPELINES]
    if unknown or not order.pipelines:
        named = unknown[0] if unknown else ""
        raise UnknownName(f"no pipeline is called {named!r}; there are: {', '.join(PIPELINES)}")
    if order.split not in setup.PARTS:
        raise UnknownName(f"no split is called {order.split!r}; there are: {', '.join(setup.PARTS)}")
    if order.in_place and order.gallery is not None:
        raise BadInput(f"{order.out}: pictures of another gallery would be put into the data; choose another --out")
    if not order.least_likeness <= order.ceiling:  # NaN, too, which is on neither side
        threshold = f"--threshold {order.least_likeness}"
        raise BadInput(f"{threshold}: not below the --ceiling of {order.ceiling}, so nothing is left")
