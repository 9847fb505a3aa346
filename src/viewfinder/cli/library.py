"""`viewfinder add | find | values | show | status | failures | remove | prune | verify | repair | tune`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from viewfinder.cli.ending import FAILED, QUARANTINED, Interrupts, explain_error
from viewfinder.cli.models import YesOption, fetch_if_asked
from viewfinder.cli.options import (
    CountOption,
    JsonOption,
    LibraryOption,
    WorkersOption,
    library_folder,
    open_library,
    option,
    parse_conditions,
    prepare_encoder,
    read_words_meanwhile,
)
from viewfinder.cli.output import (
    count_noun,
    list_first,
    make_notifier,
    print_hits,
    print_json,
    print_line,
    print_note,
    print_result,
    print_table,
    reporting_wait,
)
from viewfinder.cli.pictures import PicturesOption, choose_show
from viewfinder.errors import BadInput, ViewfinderError
from viewfinder.own_commands import write_command
from viewfinder.training.progress import progress_bar

if TYPE_CHECKING:
    from viewfinder.library import AddReport, Library
    from viewfinder.store.ingest import Embedder
    from viewfinder.store.rows import Failure
    from viewfinder.store.showing import ShownPicture


KeyOption = Annotated[
    list[str] | None,
    option("COLUMN", "The table's column that names the pictures; repeatable. [default: told from its values]"),
]


def add(
    paths: Annotated[list[Path] | None, typer.Argument(metavar="PATH...", help="Folders and picture files.")] = None,
    *,
    library: LibraryOption = None,
    encoder: Annotated[
        str | None,
        option("NAME|PATH", "The encoder to search with, once it has all pictures (see `encoders`). [new: starter]"),
    ] = None,
    yes: YesOption = False,
    without_starter: Annotated[
        bool, typer.Option("--without-starter", help="Keep no vectors of the starter beside another encoder's.")
    ] = False,
    captions: Annotated[
        Path | None, option("TABLE|DIR", "Their captions: CSV, JSON, Parquet, a published set.")
    ] = None,
    catalogue: Annotated[Path | None, option("TABLE", "What a catalogue says of them, likewise.")] = None,
    key: KeyOption = None,
    leave_out: Annotated[
        list[str] | None,
        option("NAME", "A fact of the files that is not to be kept, from now on; repeatable; none: keep all."),
    ] = None,
    include: Annotated[
        list[str] | None,
        option("GLOB", "What to take although it is left out: hidden, trash, previews; as in .gitignore; repeatable."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be read; change nothing.")] = False,
    workers: WorkersOption = None,
    ray: Annotated[
        str | None, option("ADDRESS", "A Ray cluster that reads them: auto, HOST:PORT. [alone: this machine]")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Add folders and picture files.

    With --ray also what lies below s3:// and gs:// URLs.

    Adding the same again takes in what is new, changed or moved. Nothing is ever removed (see `remove` and `prune`).
    """
    roots = list(paths or ())
    if not roots and captions is None and catalogue is None and encoder is None:
        raise BadInput("nothing to add: name folders or picture files, or a table with --captions or --catalogue")
    from viewfinder.store.objects import is_gone, parse_address

    for root in roots:
        if is_gone(root):
            if (url := parse_address(root)) is not None:
                raise BadInput(f"{url}: pictures are not fetched from the web: download them, and add their folder")
            advice = "give the path itself, not its URL" if root.parts[:1] == ("file:",) else "check the path"
            raise BadInput(f"{root}: no such file or folder; {advice}")
    encoder = _take_encoder(library_folder(library), encoder, yes=yes, as_json=as_json, dry_run=dry_run)
    with _open_or_make_library(library_folder(library), encoder, new=bool(roots), dry_run=dry_run) as collection:
        if dry_run:
            report = collection.add(
                *roots, captions=captions, catalogue=catalogue, key=key, include=include or (), dry_run=True,
                leave_out=leave_out, encoder=encoder,
            )  # fmt: skip
        else:
            if encoder is None:  # else it is known later which one reads them
                prepare_encoder(collection, shown=not as_json, pictures=True)
            with (
                _embed_by(ray, collection, workers) as embedder,
                Interrupts() as interrupts,
                progress_bar("reading pictures", shown=not as_json) as progress,
            ):
                report = collection.add(
                    *roots, captions=captions, catalogue=catalogue, key=key, include=include or (), workers=workers,
                    progress=progress, should_stop=interrupts, embedder=embedder, leave_out=leave_out,
                    encoder=encoder, without_starter=without_starter,
                )  # fmt: skip
            if not report.stopped and collection.space is not None:
                _build_index(collection, as_json=as_json)
    print_result(as_json, asdict(report), *_describe_added(report, library_folder(library), dry_run=dry_run))
    if report.stopped:
        print_note("viewfinder: stopped after a whole batch; nothing is lost, the same command goes on from here")
        return FAILED
    return QUARANTINED if report.quarantined and not dry_run else 0


def _take_encoder(folder: Path, encoder: str | None, *, yes: bool, as_json: bool, dry_run: bool) -> str | None:
    """The encoder as it was named, after its model was fetched; a dry run of a new library does without it."""
    from viewfinder.encoders.hub import is_here
    from viewfinder.store.settings import SETTINGS, read_settings

    file = folder / SETTINGS
    made_with = read_settings(file).encoder if file.exists() else None
    name = encoder or made_with
    if name in (None, "starter") or is_here(name):
        return encoder
    if dry_run:
        print_note(f"viewfinder: the encoder {name} is not on this machine; nothing is fetched in a dry run")
        return encoder if file.exists() else None
    fetch_if_asked(name, yes=yes, as_json=as_json)
    return encoder


def _build_index(library: Library, *, as_json: bool) -> None:
    """Makes the index if it is due; that it cannot be made is no failure of adding, since searches do without."""
    try:
        library.build_index(make_notifier(as_json))
    except (OSError, ImportError, MemoryError) as error:
        line, _ = explain_error(error)
        print_note(f"viewfinder: searches go on without an index, which could not be made: {line}")


def _embed_by(address: str | None, library: Library, actors: int | None) -> AbstractContextManager[Embedder | None]:
    """The actors of a cluster, if one is named."""
    if address is None:
        return nullcontext()
    from viewfinder.cluster import ActorEmbedder

    return ActorEmbedder.connect(address, library.settings.encoder, actors, library.settings.pin)


@contextmanager
def _open_or_make_library(folder: Path, encoder: str | None, *, new: bool, dry_run: bool) -> Iterator[Library]:
    """The library, made if pictures come in; a dry run without one looks at an empty one in a scratch folder.

    One that was made and in which nothing came to lie, because adding failed, is taken away again.
    """
    from viewfinder.library import Library

    there = (folder / "library.json").exists()
    if dry_run and not there:
        from viewfinder.scratch import scratch_folder

        with scratch_folder("dry") as scratch:
            yield Library.open(scratch / "library", encoder=encoder)
        return
    bare = not folder.exists()
    collection = Library.open(folder, encoder=None if there else encoder, create=new)
    try:
        yield collection
    except BaseException:
        if not there:
            with suppress(ViewfinderError, OSError):  # what went wrong is said; this would only hide it
                _discard_empty(collection, keep_folder=not bare)
        raise


def _discard_empty(library: Library, *, keep_folder: bool) -> None:
    """Removes a library without pictures and failures, unless another process is at work in it."""
    with library.store.writing(timeout=0.0):
        if library.store.ids() or library.store.failures():
            return
        for entry in library.folder.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    if not keep_folder:
        library.folder.rmdir()


def _describe_added(report: AddReport, folder: Path, *, dry_run: bool) -> list[str]:
    from viewfinder.pictures.walk_notes import describe_kinds, describe_lacking, describe_left_out, describe_sidecars

    found = f"{count_noun(report.found, 'picture file')} found"
    sidecars = f"; {describe_sidecars(report.sidecars)}" if report.sidecars else ""
    rest = [f"not read: {line}" for line in describe_lacking(report.lacking)]
    if report.passed_over:
        rest.append(f"passed over: {describe_kinds(report.passed_over)}")
    if report.left_out:
        rest.append(f"left out: {describe_left_out(report.left_out)}")
    rest += [f"note: {line}" for line in report.notes]
    if dry_run:
        waiting = f", {report.quarantined:,} in quarantine" if report.quarantined else ""
        again = f" (what is known of {report.reread:,} would be read again)" if report.reread else ""
        unchanged = f"{report.unchanged:,} unchanged{again}"
        told = f"; {count_noun(report.described, 'file')} would be described" if report.described else ""
        return [f"{found}: {report.added:,} would be read, {unchanged}{waiting}{sidecars}{told}", *rest]
    numbers = {
        "added": report.added, "changed": report.changed, "moved": report.moved, "unchanged": report.unchanged,
        "copies": report.duplicates, "quarantined": report.quarantined,
    }  # fmt: skip
    numbers["not read yet"] = report.found - sum(numbers.values())  # after Ctrl-C
    counted = [
        count_noun(number, "copy") if what == "copies" else f"{number:,} {what}"
        for what, number in numbers.items()
        if number or what == "added"
    ]
    again = f" (what is known of {report.reread:,} was read again)" if report.reread else ""
    described = f"; {report.described:,} described" if report.described else ""
    first = f"{found}: {', '.join(counted)}{again}{described}{sidecars and f'{sidecars} read'}"
    bad = list_first(
        [
            f"quarantined: {failure.path}: {failure.reason}"
            for failure in report.failures
            if not _is_told_by_ending(failure, report)
        ]
    )
    lists = write_command("failures", folder)
    advice = f"`{lists}` lists them; a file that is mended is read again by the next `viewfinder add`"
    only_encoders = not report.found and not report.described and report.notes
    return [*([] if only_encoders else [first]), *rest, *bad, *([advice] if report.failures else [])]


def _is_told_by_ending(failure: Failure, report: AddReport) -> bool:
    """Whether a file that waits for an extra is among those that are told together, by their endings."""
    from viewfinder.pictures.formats import READER_EXTRAS

    return failure.reason in READER_EXTRAS.values() and Path(failure.path).suffix.lower() in report.lacking


def find(
    text: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="What is on the picture, in your words.")
    ] = None,
    *,
    n: CountOption = 10,
    like: Annotated[str | None, option("FILE|ID", "An image, or a picture of the library, that it looks like.")] = None,
    without: Annotated[str, option("TEXT", "What is not on it.")] = "",
    where: Annotated[
        list[str] | None,
        option("KEY=VALUE", "A column to filter by: VALUE, VALUE|VALUE, 10..50, 2019-07..2020; repeatable."),
    ] = None,
    all_pictures: Annotated[
        bool, typer.Option("--all-pictures", help="All pictures of a product, not the best one of each.")
    ] = False,
    paths: Annotated[bool, typer.Option("--paths", help="Print nothing but the paths of files, one a line.")] = False,
    null: Annotated[bool, typer.Option("--null", "-0", help="Likewise, each ended by a NUL: for xargs -0.")] = False,
    pictures: PicturesOption = None,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Find pictures by words, by an image, or both.

    With --where alone: those that meet it, the newest first.
    """
    if as_json and (paths or null):
        raise BadInput(f"{'--paths' if paths else '--null'} prints paths and --json objects, which have them: give one")
    for_programs = {"--json": as_json, "--paths": paths, "--null": null}
    show = choose_show(pictures, refused=next((name for name, given in for_programs.items() if given), None))
    filters = parse_conditions(where or ())
    said = " ".join(text or ())
    read_words_meanwhile(library, said)
    collection = open_library(library)
    prepare_encoder(collection, shown=not as_json)
    hits = collection.find(said, n, like=like, where=filters, without=without, fold=not all_pictures)
    if as_json:
        print_json(hits.to_json())
    elif paths or null:
        from viewfinder.cli.paths import print_paths

        print_paths(hits, null=null)
    else:
        print_hits(hits)
        if show is not None:
            show(hits)
    return 0


def values(
    column: Annotated[str | None, typer.Argument(metavar="[COLUMN]", help="A column. [default: list them]")] = None,
    *,
    n: Annotated[int | None, option("N", "How many values. [default: all]", "-n", min=1)] = None,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """List the columns, or a column's values with counts."""
    snapshot = open_library(library).gallery().snapshot
    if column is None:
        columns = {one.name: len(one.values) for one in snapshot.all_columns if one.values}
        if as_json:
            print_json({"columns": [{"column": name, "values": count} for name, count in columns.items()]})
        else:
            print_table(("column", "values"), [(name, f"{count:,}") for name, count in columns.items()])
        return 0
    found = snapshot.column(column)
    counted = found.count_values()
    shown = counted[:n]
    if as_json:
        listed = [{"value": value, "count": count} for value, count in shown]
        print_json({"column": found.name, "values": listed, "total": len(counted)})
        return 0
    print_table(("pictures", found.name), [(f"{count:,}", value) for value, count in shown])
    if len(shown) < len(counted):
        print_line(f"and {len(counted) - len(shown):,} more")
    return 0


def show(
    picture: Annotated[str, typer.Argument(metavar="PATH|ID", help="A file, or the id of a picture.")],
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Say all that is known of a picture, and from where.

    Of a file that is not in the library, what it says itself; then no library is needed.
    """
    from viewfinder.store.showing import show_picture

    has_none = library is None and not (library_folder(None) / "library.json").exists()
    store = None if has_none and Path(picture).expanduser().is_file() else open_library(library).store
    shown = show_picture(store, picture)
    if as_json:
        print_json(shown.to_json())
    else:
        lines = _describe_shown(shown)
        named, told = (max(len(line[at]) for line in lines) for at in (0, 1))
        for name, value, source in lines:
            print_line(f"{name:{named}}  {value:{min(told, WIDEST_VALUE)}}  {source}".rstrip())
    return 0


WIDEST_VALUE = 60
"""The width to which values are filled up, so that their sources stand in one column."""


def _describe_shown(shown: ShownPicture) -> list[tuple[str, str, str]]:
    """A name, a value and its source for each thing that is known of a picture."""
    from viewfinder.pictures.facts.model import MACHINE_NAMES
    from viewfinder.pictures.facts.text_lines import BOXES

    where = "yes" if shown.is_in_library else "no"
    lines = [("id", shown.id, ""), ("in the library", f"{where} ({shown.note})" if shown.note else where, "")]
    lines += [("file", file.path, f"{file.size:,} bytes") for file in shown.files]
    lines.append(("size", f"{shown.width} x {shown.height} {shown.format}", ""))
    lines += [
        (fact.name, ", ".join(fact.values), f"{fact.source}{' (a machine)' if fact.name in MACHINE_NAMES else ''}")
        for fact in shown.facts
        if fact.name != BOXES
    ]
    lines += [("caption", caption, "the library") for caption in shown.captions]
    lines += [(name, ", ".join(values), "the catalogue") for name, values in shown.attributes.items()]
    return [*lines, ("pixel hash", shown.pixel_hash or "not known", "")]


_SAID_AS = {"missing": "files gone", "failures": "could not be read"}
_FOR_PROGRAMS = frozenset(("space", "spaces", "labels_by_encoder"))
"""What `status` says to programs alone: names of how vectors are kept."""


def status(library: LibraryOption = None, as_json: JsonOption = False) -> int:
    """Say what the library holds."""
    facts = open_library(library).status()
    if as_json:
        print_json(facts)
        return 0
    said = {_SAID_AS.get(name, name.replace("_", " ")): facts[name] for name in facts if name not in _FOR_PROGRAMS}
    width = max(map(len, said))
    for name, value in said.items():
        words = ", ".join(map(str, value)) if isinstance(value, list | dict) else str(value)
        if name == "index" and value is not None:
            size = f"{value['pictures']:,} pictures, {value['megabytes']:,} MB"
            of_added = value["recall_added"]
            added = "" if of_added is None else f" ({of_added:.1%} of those added last)"
            words = f"{size}, finds {value['recall']:.1%} of what a full search finds{added}, on {value['measured_on']}"
        plain = {"True": "yes", "False": "no", "None": "none", "": "none"}.get(words, words)
        print_line(f"{name:{width}}  {plain}")
    return 0


def failures(library: LibraryOption = None, as_json: JsonOption = False) -> int:
    """List the files that could not be read, with reasons."""
    found = open_library(library).failures()
    if found and not as_json:
        print_table(("reason", "file"), [(failure.reason, failure.path) for failure in found])
    else:
        record = {"failures": [asdict(failure) for failure in found]}
        print_result(as_json, record, "No failures: every file was read.")
    return 0


def prune(
    library: LibraryOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go; change nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Even a whole folder that was added, or most of all.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Forget pictures whose files are gone."""
    gone = open_library(library).prune(dry_run=dry_run, force=force)
    done = f"{count_noun(len(gone), 'picture')} {'would be forgotten' if dry_run else 'forgotten'}"
    if gone.refused is not None:  # a dry run; the verb itself says so as an error
        done = f"{count_noun(len(gone), 'picture')} would be forgotten, but `prune` would refuse: {gone.refused}"
    refused = {} if gone.refused is None else {"refused": gone.refused}
    print_result(as_json, {"pruned": gone, "dry_run": dry_run, **refused}, done)
    return 0


def remove(
    pictures: Annotated[list[str], typer.Argument(metavar="PATH|ID...", help="Folders, files, and ids of pictures.")],
    library: LibraryOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go; change nothing.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Forget pictures; your files stay where they are.

    Adding the files, or a folder that has them, again takes them in again.
    """
    gone = open_library(library).remove(*pictures, dry_run=dry_run)
    done = f"{count_noun(len(gone), 'picture')} {'would be forgotten' if dry_run else 'forgotten'}"
    print_result(as_json, {"removed": gone, "dry_run": dry_run}, f"{done}; files stay where they are")
    return 0


def verify(
    folder: Annotated[Path | None, typer.Argument(metavar="[FOLDER]", help="The library's folder.")] = None,
    *,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Check that everything is as it should be; exit 1 if not."""
    problems = open_library(folder or library).verify()
    place = library_folder(folder or library)
    prune, repair = (write_command(verb, place) for verb in ("prune", "repair"))
    advice = f"`{prune}` forgets files that are gone, `{repair}` mends the rest"
    last = f"{count_noun(len(problems), 'problem')}; {advice}"
    lines = (*problems, last) if problems else ("Everything is in order.",)
    print_result(as_json, {"ok": not problems, "problems": problems}, *lines)
    return FAILED if problems else 0


def repair(
    folder: Annotated[Path | None, typer.Argument(metavar="[FOLDER]", help="The library's folder.")] = None,
    *,
    encoder: Annotated[str | None, option("NAME|PATH", "Its encoder, where nothing in it says which.")] = None,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Mend a damaged library; says what is lost for good.

    Vectors come from the pictures' files, spaces from vectors, `library.json` from the tables.
    """
    from viewfinder.library import Library

    with progress_bar("reading pictures", shown=not as_json) as progress:
        report = Library.repair(library_folder(folder or library), encoder=encoder, progress=progress)
    damaged = list_first([f"damaged: {file}" for file in report.damaged])
    mended = [f"mended: {line}" for line in report.mended]
    lost = [f"lost for good: {line}" for line in report.lost]
    last = "nothing is lost" if damaged or mended else "Everything was in order."
    print_result(as_json, asdict(report), *damaged, *mended, *(lost or [last]))
    return 0


def tune(
    captions: Annotated[Path | None, option("TABLE|DIR", "Captions of pictures in the library.")] = None,
    catalogue: Annotated[Path | None, option("TABLE", "Catalogue rows of pictures in it.")] = None,
    key: KeyOption = None,
    undo: Annotated[bool, typer.Option("--undo", help="Go back to the space before the last tune.")] = False,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Learn how words go with your pictures.

    From captions or a catalogue. The pictures are not read again; `--undo` goes back.
    """
    if undo == (captions is not None or catalogue is not None):
        raise BadInput("tune needs --captions TABLE or --catalogue TABLE, or --undo alone")
    collection = open_library(library)
    if undo:
        collection.switch_back()
        space = collection.status()["space"]
        print_result(as_json, {"space": space}, f"switched to {space}")
        return 0
    from viewfinder.tuning import tune as fit

    with reporting_wait("learning your words", shown=not as_json):
        report = fit(collection, captions=captions, catalogue=catalogue, key=key, report=make_notifier(as_json))
    read = f"{count_noun(report.texts, 'text')} of {count_noun(report.pictures, 'picture')}"
    before, own, new = report.held_out["shipped"], report.own[report.chosen], report.held_out[report.chosen]
    told = f"{before:.1%} of texts found their picture first; now {own:.1%}, of a new picture's texts about {new:.1%}"
    others = "every other head loses" if report.others_lose else "no other head finds more without losing"
    kept = f"{before:.1%} of texts find their picture first, as before: {others} new pictures"
    way_back = write_command("tune --undo", collection.folder)
    last = f"space {report.space}; `{way_back}` goes back"
    is_starter = collection.encoder.name == "starter"
    learnt = f"what scores mean was learnt; {last}" if is_starter else "the encoder stays as it is"
    lines = (f"{read}: {told}", last) if report.chosen == "tuned" else (f"{read}: {kept}", learnt)
    print_result(as_json, asdict(report), *lines)
    return 0
