"""Adding to a library: new pictures (`ingest`), vectors that its encoders lack (`encoder_keeper`), then tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from viewfinder.encoders.base import Encoder
from viewfinder.errors import BadInput
from viewfinder.pictures import absolute_root
from viewfinder.store.descriptions import PictureTable, plan_tables, record_tables
from viewfinder.store.encoder_keeper import EncoderKeeper
from viewfinder.store.ingest import Embedder, Ingest
from viewfinder.store.reports import AddReport, Progress
from viewfinder.store.settings import Settings, add_roots
from viewfinder.store.spaces import has_space
from viewfinder.store.store import Store


@dataclass(frozen=True)
class Adding:
    """What is to be added, as `Library.add` takes it; `wanted`: the encoder to be searched with from then on."""

    roots: Sequence[Path]
    tables: Sequence[PictureTable]
    follow_links: bool
    include: Sequence[str]
    leave_out: tuple[str, ...] | None
    wanted: str | None


def plan_add(store: Store, settings: Settings, encoder: Encoder, adding: Adding, listed: Sequence[Path]) -> AddReport:
    """What adding would do; `listed`: the files that tables may be about."""
    kept_out = settings.leave_out if adding.leave_out is None else adding.leave_out
    ingest = Ingest(store, encoder, follow_links=adding.follow_links, include=adding.include, leave_out=kept_out)
    report = ingest.plan(adding.roots) if adding.roots else AddReport()
    if adding.wanted not in (None, settings.encoder):
        report.notes.append(f"{adding.wanted} would get vectors of all pictures, then be searched with")
    if adding.tables:
        report.described, notes = plan_tables(adding.tables, store, listed)
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
