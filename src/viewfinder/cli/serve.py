"""`viewfinder serve | token | review`: the page and the API over a library, who may use them, and a page of its own on
which a person accepts, rejects or rewrites constructed dialogues.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewfinder.cli.ending import leave_if_waiting
from viewfinder.cli.options import (
    HostOption,
    JsonOption,
    LibraryOption,
    is_library,
    library_folder,
    open_library,
    option,
)
from viewfinder.cli.output import count_noun, print_json, print_line, print_note, print_result, print_table
from viewfinder.errors import BadInput, NotALibrary, UnknownName
from viewfinder.own_commands import write_command
from viewfinder.processors import check_processes

if TYPE_CHECKING:
    from viewfinder.server.access.tokens import Tokens
    from viewfinder.server.database import TokenRow
    from viewfinder.server.running import Extensions
    from viewfinder.server.settings import ServerSettings

OBJECTS_OF_START = 5_000_000
"""More objects than a server makes before it is ready: what it imports stays, and to look through it for garbage was a
twelfth of its start. A server that is ready collects (`running.COLLECT_AFTER`)."""


def serve(
    *,
    host: HostOption = None,
    port: Annotated[int | None, option("PORT", "0: any free one. [default: 8008]")] = None,
    roots: Annotated[
        list[Path] | None, option("DIR", "A folder below which pictures may be added from the page.", "--root")
    ] = None,
    originals: Annotated[
        bool | None, typer.Option("--originals", help="Let all who may look fetch the files themselves.")
    ] = None,
    workers: Annotated[int | None, option("N", "Processes that serve, for many people. [default: 1]")] = None,
    ray: Annotated[
        str | None, option("ADDRESS", "A Ray cluster that searches: auto, HOST:PORT. [alone: this machine]")
    ] = None,
    shards: Annotated[int | None, option("N", "Actors that search. [default: one a free core]")] = None,
    studies: Annotated[bool | None, typer.Option("--studies", help="Serve studies with people, too.")] = None,
    mcp: Annotated[bool | None, typer.Option("--mcp", help="Serve assistants at /mcp, too.")] = None,
    create: Annotated[bool, typer.Option("--create", help="Make the library, empty, where there is none.")] = False,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Serve the page and the API.

    Ctrl-C ends it. Environment variables VIEWFINDER_HOST, VIEWFINDER_PORT ... set the same and more.
    """
    folder = library_folder(library)
    if not create and not is_library(folder):
        folder = find_place_for_library(folder, is_named=library is not None, as_json=as_json)
    elif not create:
        encoder = open_library(library).settings.encoder
        if "/" in encoder and not as_json:  # of the hub, or a folder
            print_note(
                f"viewfinder: the encoder {encoder} is loaded once the server answers; first searches wait for it"
            )
    given = {
        "host": host, "port": port, "roots": check_roots(roots or []) or None, "originals": originals,
        "workers": workers, "ray": ray, "shards": shards, "studies": studies, "mcp": mcp,
    }  # fmt: skip
    settings = read_server_settings({name: value for name, value in given.items() if value is not None})
    return serve_library(folder, settings, as_json=as_json)


def find_place_for_library(folder: Path, *, is_named: bool, as_json: bool) -> Path:
    """Where an empty library is to be made, since there is none to serve: at a terminal the user is asked.

    Without a terminal the one that is meant without a name is made; a path that was named may be a wrong one.

    Raises:
        NotALibrary: none is to be made.
    """
    make = write_command("serve --create", folder)
    advice = f"there is no library in {folder}: check the path, or make an empty one with `{make}`"
    if sys.stdin.isatty() and sys.stderr.isatty() and not as_json:
        print_note(f"There is no library in {folder} yet.")
        print_note("A library keeps what viewfinder has learnt of your pictures; the pictures stay where they are.")
        where = "Where to make an empty one? (Enter: there; a folder: in that; n: nowhere)"
        answer = typer.prompt(where, default="", show_default=False, err=True).strip().strip("'\"")
        if answer.lower() in ("n", "no"):
            raise NotALibrary(advice)
        chosen = Path(answer).expanduser().absolute() if answer and answer.lower() not in ("y", "yes") else folder
        return check_place(chosen)
    if is_named:
        raise NotALibrary(advice)
    print_note(f"viewfinder: made an empty library in {folder}; its page says how to add pictures")
    return folder


def check_place(folder: Path) -> Path:
    """The folder, if a library can be made in it; one with other things in it gets a folder of its own.

    Raises:
        BadInput: it is a file, or cannot be written to.
    """
    if is_library(folder) or not folder.exists():
        return folder
    if not folder.is_dir():
        raise BadInput(f"{folder} is a file: name a folder")
    return folder / "viewfinder.library" if any(folder.iterdir()) else folder


def serve_library(folder: Path, settings: ServerSettings, *, as_json: bool = False) -> int:
    """Serves until it is stopped, and says where. Raises BadInput: by more processes than this machine can bear."""
    check_processes("--workers", settings.workers)
    gc.set_threshold(OBJECTS_OF_START)
    from viewfinder.server.running import run_server
    from viewfinder.server.workers import run_workers

    extensions: Extensions = ()
    if settings.studies:
        from viewfinder.studies.extension import STUDIES

        extensions = STUDIES
    if settings.mcp:
        from viewfinder.mcp.extension import MCP

        extensions = (*extensions, *MCP)
    run = run_workers if settings.workers > 1 else run_server
    start = partial(run, folder, settings, extensions=extensions)
    with ExitStack() as while_it_runs:

        def leave_note(address: str) -> None:
            from viewfinder.server.serving import noted
            from viewfinder.server.settings import database_url

            while_it_runs.enter_context(noted(folder, address, database_url(folder, settings)))

        code = _run_server(start, {"library": str(folder)}, f"Serving {folder}", "Ctrl-C ends it", as_json, leave_note)
    leave_if_waiting(code)
    return code


def _run_server(
    start: Callable[..., int],
    record: dict[str, str],
    doing: str,
    note: str,
    as_json: bool,
    before: Callable[[str], None] = lambda address: None,
) -> int:
    """Runs a server until it is stopped; as soon as it listens, its address is told, first to `before`."""

    def ready(address: str) -> None:
        before(address)
        print_result(as_json, {"address": address, **record}, f"{doing} at {address} ({note})")

    code = start(ready=ready)
    if not as_json:
        print_note("viewfinder: stopped")
    return code


def read_server_settings(given: dict[str, Any]) -> ServerSettings:
    """The settings of the environment, with those given in their place.

    Raises:
        BadInput: one is not what it can be; the line names it.
    """
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from viewfinder.server.settings import ServerSettings

    try:
        return ServerSettings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        where = f"--{name}" if name in given else f"the environment variable VIEWFINDER_{name.upper()}"
        raise BadInput(f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}, not {first['input']!r}") from error
    except SettingsError as error:
        raise BadInput(
            f"an environment variable VIEWFINDER_... cannot be read: {error}; lists are written as JSON"
        ) from error


def check_roots(roots: list[Path]) -> list[Path]:
    """The folders, absolute and with links followed.

    Raises:
        BadInput: one of them is no folder.
    """
    for root in roots:
        if not root.expanduser().is_dir():
            raise BadInput(f"--root {root}: there is no such folder; check the path")
    return [root.expanduser().resolve() for root in roots]


def token(
    action: Annotated[str, typer.Argument(metavar="add|list|revoke|end-addresses", help="What to do.")],
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="What the token is called.")] = None,
    scope: Annotated[
        list[str] | None,
        option(
            "read|write|download|tickets|admin",
            "What it may do; repeat for several. read: look, search and talk. write: upload, keep albums, delete. "
            "download: fetch the files themselves. tickets: make tokens that last minutes, for visitors' browsers. "
            "admin: change the collection, tokens, studies.",
        ),
    ] = None,
    days: Annotated[float | None, option("N", "How long it is good. [default: until it is revoked]")] = None,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Make, list and revoke tokens of a server.

    end-addresses: ends all signed addresses of pictures and events that were given out so far, and all tickets of
    visitors; tokens stay good.
    """
    if action not in {"add", "list", "revoke", "end-addresses"}:
        raise BadInput(
            f"token {action!r}: write `viewfinder token add NAME --scope ...`, `list`, `revoke NAME` or `end-addresses`"
        )
    if (name is None) != (action in {"list", "end-addresses"}):
        raise BadInput(
            f"token {action}: takes no name" if name else f"token {action}: say which, `token {action} NAME`"
        )
    if action == "add" and not scope:
        raise BadInput(
            "token add: say what it may do: --scope read, write, download, tickets or admin (repeat it for several)"
        )
    if action != "add" and (scope or days is not None):
        raise BadInput(f"token {action}: --scope and --days belong to `token add`")
    with _open_tokens(library) as tokens:
        if action == "list":
            _list_tokens(tokens, library_folder(library), as_json)
        elif action == "end-addresses":
            tokens.end_signatures()
            print_result(as_json, {"ended": "addresses"}, "all signed addresses have ended; pages get new ones")
        elif action == "add":
            made = tokens.create(str(name), scope or [], days)
            print_result(as_json, _describe_token(made.row) | {"token": made.secret}, made.secret)
            if not as_json:
                print_note(
                    "This is shown once: keep it. It goes into the page's login, or a header "
                    "`Authorization: Bearer TOKEN`."
                )
        else:
            _revoke_token(tokens, str(name), as_json)
    return 0


@contextmanager
def _open_tokens(library: Path | None) -> Iterator[Tokens]:
    """The tokens of the server over a library (or of the database that VIEWFINDER_DATABASE_URL names)."""
    from viewfinder.server.access.tokens import Tokens
    from viewfinder.server.database import Database, TokenRows
    from viewfinder.server.serving import explain_other_database
    from viewfinder.server.settings import database_url

    settings = read_server_settings({})
    folder = library_folder(library) if settings.database_url else open_library(library).folder
    url = database_url(folder, settings)
    database = Database.open(url)
    if (other := explain_other_database(folder, url)) is not None:
        print_note(f"viewfinder: note: {other}")
    try:
        yield Tokens(TokenRows(database), settings)
    finally:
        database.close()


def _list_tokens(tokens: Tokens, folder: Path, as_json: bool) -> None:
    records = [_describe_token(row) for row in tokens.all()]
    if as_json:
        print_json({"tokens": records})
    elif records:
        rows = []
        for one in records:
            end = "revoked" if one["revoked"] else one["expires"] or "never"
            rows.append((one["name"], " ".join(one["scopes"]), one["created"], end))
        print_table(("name", "scopes", "created", "expires"), rows)
    else:
        print_line(f"No tokens. `{write_command('token add NAME --scope read --scope write', folder)}` makes one.")


def _revoke_token(tokens: Tokens, name: str, as_json: bool) -> None:
    if not tokens.revoke(name):
        there = ", ".join(row.name for row in tokens.all() if not row.revoked) or "none"
        raise UnknownName(f"token revoke: there is no token {name!r}; there are: {there}")
    print_result(as_json, {"revoked": name}, f"{name} is revoked; a server that runs refuses it within seconds")


def _describe_token(row: TokenRow) -> dict[str, Any]:
    created, expires = (
        None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for at in (row.created, row.expires)
    )
    return {
        "name": row.name, "scopes": row.scopes, "created": created, "expires": expires, "revoked": row.revoked,
    }  # fmt: skip


PORT = 8009  # beside that of `viewfinder serve`


def review(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Dialogues as chat-search JSON lines.")],
    *,
    images: Annotated[
        Path | None, option("DIR", "The folder of their pictures. [default: where `construct` finds them]")
    ] = None,
    write: Annotated[Path | None, option("OUT", "Write what was accepted and rewritten, and serve no page.")] = None,
    host: HostOption = None,
    port: Annotated[int, option("PORT", "0: any free one.")] = PORT,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Look at constructed dialogues: accept, reject, rewrite.

    Decisions are kept beside FILE as they are made. Ctrl-C ends it.
    """
    if write is not None:
        return _write_kept(file, write, as_json=as_json)
    from viewfinder.server.running import check_guarded, run_app
    from viewfinder.studies.reviewing.app import create_app

    folder = library_folder(library)
    settings = read_server_settings({"port": port} if host is None else {"port": port, "host": host})
    check_guarded(folder, settings)
    start = partial(run_app, lambda: create_app(file, images, settings, folder, print_note), settings)
    note = "Ctrl-C ends it; what was decided is kept"
    return _run_server(start, {"file": str(file)}, f"Reviewing {file}", note, as_json)


def _write_kept(file: Path, out: Path, *, as_json: bool) -> int:
    """Writes what was kept, and says what is still to be decided.

    Raises:
        BadInput: nothing was kept yet, or the file under review would be written over.
    """
    from viewfinder.data import chatsearch as data

    if out.resolve() in (file.resolve(), data.review_file(file).resolve()):
        raise BadInput(f"--write {out}: this is the file under review; name another")
    samples, _ = data.read_chatsearch(file)
    reviews = data.read_reviews(data.review_file(file), notify=print_note)
    kept = data.apply_reviews(samples, reviews)
    if not kept:
        raise BadInput(f"{file}: nothing of it was kept yet; look at it with `viewfinder review {file}`")
    out.parent.mkdir(parents=True, exist_ok=True)
    data.write_chatsearch(out, kept)
    verdicts = Counter(reviews[sample.id].verdict for sample in samples if sample.id in reviews)
    told: dict[str, int] = {name: verdicts[name] for name in data.VERDICTS}
    told |= {"written": len(kept), "open": len(samples) - verdicts.total()}
    wrote = f"{count_noun(len(kept), 'dialogue')} ({told['rewritten']:,} rewritten)"
    rest = f"{told['rejected']:,} rejected, {told['open']:,} not decided yet"
    print_result(as_json, {"file": str(out), **told}, f"Wrote {out}: {wrote}; {rest}")
    return 0
