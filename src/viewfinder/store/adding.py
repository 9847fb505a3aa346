"""Adding to a library: new pictures (`ingest`), vectors that its encoders lack (`encoder_keeper`), then tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path

from viewfinder.encoders import name_encoder
from viewfinder.encoders.base import Encoder
from viewfinder.errors import BadInput, check_path, check_type
from viewfinder.pictures import absolute_root
from viewfinder.pictures.scan import scan
from viewfinder.processors import check_processes
from viewfinder.store.descriptions import (
    PictureTable,
    Rows,
    check_tables,
    plan_tables,
    read_tables,
    record_tables,
)
from viewfinder.store.encoder_keeper import EncoderKeeper
from viewfinder.store.ingest import Embedder, Ingest
from viewfinder.store.known_facts import parse_leave_out
from viewfinder.store.objects import parse_url
from viewfinder.store.reports import AddReport, Progress
from viewfinder.store.settings import Settings, add_roots
from viewfinder.store.spaces import has_space
from viewfinder.store.store import Store


@dataclass(frozen=True)
class Adding:
    """What is to be added, as `Library.add` takes it.

    `listed`: the files that tables may be about; `wanted`: the encoder to be searched with from then on.
    """

    roots: Sequence[Path]
    tables: Sequence[PictureTable]
    listed: Sequence[Path]
    follow_links: bool
    include: Sequence[str]
    leave_out: tuple[str, ...] | None
    wanted: str | None


def read_adding(
    store: Store,
    paths: Sequence[str | Path],
    *,
    captions: str | Path | Rows | None,
    catalogue: str | Path | Rows | None,
    key: str | Sequence[str] | None,
    follow_links: bool,
    include: Sequence[str],
    leave_out: Sequence[str] | None,
    encoder: str | None,
    may_be_away: bool,
) -> Adding:
    """Checks what `Library.add` was given, and reads its tables: damage is reported before anything is added.

    `may_be_away`: whether paths may be URLs of object storage. Raises BadInput, as `add`.
    """
    check_type("leave_out", leave_out, list, tuple, type(None))
    left_out = None if leave_out is None else parse_leave_out(leave_out)
    roots = [check_path("a path to add", path) for path in paths]
    for root in roots:
        if not may_be_away and (url := parse_url(root)) is not None:
            raise BadInput(
                f"{url}: pictures in object storage are read by a cluster: `viewfinder add {url} --ray local`"
            )
    check_type("include", include, list, tuple)
    tables = read_tables(captions, catalogue, key)
    listed: list[Path] = []
    if tables and all(parse_url(root) is None for root in roots):  # object storage takes long to list
        listed = [it.path for it in scan(roots, follow_links=follow_links, include=include).files]
        if listed or not roots:  # else adding says that there are no pictures
            check_tables(tables, store, listed)
    check_type("encoder", encoder, str, type(None))
    wanted = None if encoder is None else name_encoder(encoder)
    return Adding(roots, tables, listed, follow_links, include, left_out, wanted)


def check_workers(workers: int | None, *, are_here: bool = True) -> None:
    """Raises BadInput: not a number of processes, or of more than this machine can bear, if they `are_here`."""
    check_type("workers", workers, Integral, type(None))
    if workers is None:
        return
    if workers < 1:
        raise BadInput(f"workers: {workers} processes are asked for, give 1 or more")
    if are_here:
        check_processes("workers", workers)


def plan_add(store: Store, settings: Settings, encoder: Encoder, adding: Adding) -> AddReport:
    """What adding would do."""
    kept_out = settings.leave_out if adding.leave_out is None else adding.leave_out
    ingest = Ingest(store, encoder, follow_links=adding.follow_links, include=adding.include, leave_out=kept_out)
    report = ingest.plan(adding.roots) if adding.roots else AddReport()
    if adding.wanted not in (None, settings.encoder):
        report.notes.append(f"{adding.wanted} would get vectors of all pictures, then be searched with")
    if adding.tables:
        report.described, notes = plan_tables(adding.tables, store, adding.listed)
        report.notes += notes
    return report


def add_pictures(
    keeper: EncoderKeeper,
    adding: Adding,
    *,
    workers: int | None,
    embedder: Embedder | None,
    progress: Progress | None,
    note: Callable[[AddReport], None],
    should_stop: Callable[[], bool],
) -> AddReport:
    """Adds all of it; the caller holds the library for writing.

    Raises:
        BadInput: there is no such encoder, or there are no pictures.
        EncoderMismatch: the active encoder is another model than before, and no other one is wanted.
    """
    library = keeper.library
    if adding.wanted is not None:
        keeper.want(adding.wanted)
    reader = keeper.find_reader(is_other_wanted=adding.wanted is not None)
    if embedder is not None and reader is not library.load(library.settings.active):
        raise BadInput(
            f"{library.settings.encoder} cannot be used, so no cluster embeds with it: add without one, or switch to "
            "another encoder first"
        )
    keeper.want_starter()
    report, roots = AddReport(), adding.roots

    def record_roots() -> None:
        """Records the space of the pictures and where they were added from, once there are any."""
        settings = add_roots(library.settings, [str(absolute_root(root)) for root in roots if root.is_dir()])
        if settings.space is None and has_space(library.store, reader):
            settings = replace(settings, space=reader.version)
        if settings != library.settings and settings.space is not None:
            library.save(settings)

    def acknowledged(done: int, total: int) -> None:
        record_roots()  # with the first batch: if this is cut short later, what is there can be searched
        if progress is not None:
            progress(done, total)

    if roots:
        beside = AddReport()
        ingest = Ingest(
            library.store, reader, workers=workers, follow_links=adding.follow_links, include=adding.include,
            embedder=embedder, leave_out=library.settings.leave_out,
            load_others=lambda: list(keeper.load_others(reader, beside)),
        )  # fmt: skip
        report = ingest.run(roots, progress=acknowledged, note=note, should_stop=should_stop)
        report.notes += beside.notes
    if not report.stopped:
        keeper.complete(report, workers=workers, progress=progress, should_stop=should_stop)
    if adding.tables and not report.stopped:
        report.described, notes = record_tables(library.store, adding.tables)
        report.notes += notes
    record_roots()
    return report
