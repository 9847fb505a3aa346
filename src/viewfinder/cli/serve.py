"""`viewfinder serve | token | review`: the page and the API over a library, who may use them, and a page of its own on
which a person accepts, rejects or rewrites constructed dialogues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from viewfinder.cli.ending import leave_if_waiting
from viewfinder.cli.options import JsonOption, LibraryOption, library_folder, open_library
from viewfinder.cli.output import count_noun, print_json, print_line, print_note, print_table

if TYPE_CHECKING:
    from viewfinder.server.access.tokens import Tokens
    from viewfinder.server.database import TokenRow
    from viewfinder.server.settings import ServerSettings


def serve(
    *,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="HOST", help="Where to listen; others than this machine need a token. [default: 127.0.0.1]"
        ),
    ] = None,
    port: Annotated[int | None, typer.Option(metavar="PORT", help="0: any free one. [default: 8008]")] = None,
    roots: Annotated[
        list[Path] | None,
        typer.Option("--root", metavar="DIR", help="A folder below which pictures may be added from the page."),
    ] = None,
    originals: Annotated[
        bool | None, typer.Option("--originals", help="Let the files themselves be fetched, not only small copies.")
    ] = None,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Serve the page and the API.

    Ctrl-C ends it. Environment variables VIEWFINDER_HOST, VIEWFINDER_PORT ... set the same and more.
    """
    given = {"host": host, "port": port, "roots": check_roots(roots or []) or None, "originals": originals}
    folder = library_folder(library)
    return serve_library(
        folder,
        read_server_settings({name: value for name, value in given.items() if value is not None}),
        as_json=as_json,
    )


def serve_library(folder: Path, settings: ServerSettings, *, as_json: bool = False) -> int:
    """Serves until it is stopped, and says where."""
    from viewfinder.server.running import run_server

    def ready(address: str) -> None:
        if as_json:
            print_json({"address": address, "library": str(folder)})
        else:
            print_line(f"Serving {folder} at {address} (Ctrl-C ends it)")

    code = run_server(folder, settings, ready=ready)
    if not as_json:
        print_note("viewfinder: stopped")
    leave_if_waiting(code)
    return code


def read_server_settings(given: dict[str, Any]) -> ServerSettings:
    """The settings of the environment, with those given in their place.

    Raises:
        BadInput: one is not what it can be; the line names it.
    """
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from viewfinder.errors import BadInput
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
    from viewfinder.errors import BadInput

    for root in roots:
        if not root.expanduser().is_dir():
            raise BadInput(f"--root {root}: there is no such folder; check the path")
    return [root.expanduser().resolve() for root in roots]


Action = Literal["add", "list", "revoke"]


def token(
    action: Annotated[str, typer.Argument(metavar="add|list|revoke", help="What to do.")],
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="What the token is called.")] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            metavar="read|write|admin",
            help="What it may do; repeat for several. read: look and search. write: talk, upload. "
            "admin: change the collection, tokens, studies.",
        ),
    ] = None,
    days: Annotated[
        float | None, typer.Option(metavar="N", help="How long it is good. [default: until it is revoked]")
    ] = None,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Make, list and revoke tokens of a server."""
    _check(action, name, scope, days)
    with _tokens(library) as tokens:
        if action == "list":
            _list(tokens, as_json)
        elif action == "add":
            _add(tokens, str(name), scope or [], days, as_json)
        else:
            _revoke(tokens, str(name), as_json)
    return 0


def _check(action: str, name: str | None, scope: list[str] | None, days: float | None) -> None:
    """What belongs to which action.

    Raises:
        BadInput: something is missing, or stands where it means nothing.
    """
    from viewfinder.errors import BadInput

    if action not in get_args(Action):
        raise BadInput(f"token {action!r}: write `viewfinder token add NAME --scope ...`, `list` or `revoke NAME`")
    if (name is None) != (action == "list"):
        raise BadInput("token list: takes no name" if name else f"token {action}: say which, `token {action} NAME`")
    if action == "add" and not scope:
        raise BadInput("token add: say what it may do: --scope read, --scope write, --scope admin (repeat for several)")
    if action != "add" and (scope or days is not None):
        raise BadInput(f"token {action}: --scope and --days belong to `token add`")


@contextmanager
def _tokens(library: Path | None) -> Iterator[Tokens]:
    """The tokens of the server over a library (or of the database that VIEWFINDER_DATABASE_URL names)."""
    from viewfinder.server.access.tokens import Tokens
    from viewfinder.server.database import Database, TokenRows
    from viewfinder.server.settings import database_url

    settings = read_server_settings({})
    folder = library_folder(library) if settings.database_url else open_library(library).folder
    database = Database.open(database_url(folder, settings))
    try:
        yield Tokens(TokenRows(database), settings)
    finally:
        database.close()


def _add(tokens: Tokens, name: str, scopes: list[str], days: float | None, as_json: bool) -> None:
    made = tokens.create(name, scopes, days)
    if as_json:
        print_json(_told(made.row) | {"token": made.secret})
    else:
        print_line(made.secret)
        print_note(
            "This is shown once: keep it. It goes into the page's login, or a header `Authorization: Bearer TOKEN`."
        )


def _list(tokens: Tokens, as_json: bool) -> None:
    told = [_told(row) for row in tokens.all()]
    if as_json:
        print_json({"tokens": told})
    elif told:
        columns = ("name", "scopes", "created", "expires")
        rows = [(row["name"], " ".join(row["scopes"]), row["created"], _end(row)) for row in told]
        print_table(columns, rows)
    else:
        print_line("No tokens. `viewfinder token add NAME --scope read --scope write` makes one.")


def _revoke(tokens: Tokens, name: str, as_json: bool) -> None:
    from viewfinder.errors import UnknownName

    if not tokens.revoke(name):
        there = ", ".join(row.name for row in tokens.all() if not row.revoked) or "none"
        raise UnknownName(f"token revoke: there is no token {name!r}; there are: {there}")
    if as_json:
        print_json({"revoked": name})
    else:
        print_line(f"{name} is revoked; a server that runs refuses it within seconds")


def _told(row: TokenRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "scopes": row.scopes,
        "created": _time(row.created),
        "expires": None if row.expires is None else _time(row.expires),
        "revoked": row.revoked,
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _end(told: dict[str, Any]) -> str:
    return "revoked" if told["revoked"] else told["expires"] or "never"


PORT = 8009
"""Beside that of `viewfinder serve`."""


def review(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Dialogues as chat-search JSON lines.")],
    *,
    images: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The folder of their pictures. [default: where `construct` finds them]"),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write what was accepted and rewritten, and serve no page."),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="HOST", help="Where to listen; others than this machine need a token. [default: 127.0.0.1]"
        ),
    ] = None,
    port: Annotated[int, typer.Option(metavar="PORT", help="0: any free one.")] = PORT,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Look at constructed dialogues: accept, reject, rewrite.

    Decisions are kept beside FILE as they are made. Ctrl-C ends it.
    """
    if write is not None:
        return _write(file, write, as_json=as_json)
    given = {"port": port} if host is None else {"port": port, "host": host}
    return _serve(file, images, library_folder(library), given, as_json=as_json)


def _serve(file: Path, images: Path | None, library: Path, given: dict[str, Any], *, as_json: bool) -> int:
    from viewfinder.server.reviewing.app import create_app
    from viewfinder.server.running import check_guarded, run_app

    settings = read_server_settings(given)
    check_guarded(library, settings)

    def ready(address: str) -> None:
        if as_json:
            print_json({"address": address, "file": str(file)})
        else:
            print_line(f"Reviewing {file} at {address} (Ctrl-C ends it; what was decided is kept)")

    code = run_app(lambda: create_app(file, images, settings, library, print_note), settings, ready=ready)
    if not as_json:
        print_note("viewfinder: stopped")
    return code


def _write(file: Path, out: Path, *, as_json: bool) -> int:
    """Writes what was kept, and says what is still to be decided.

    Raises:
        BadInput: nothing was kept yet, or the file under review would be written over.
    """
    from viewfinder.data.chatsearch import (
        VERDICTS,
        apply_reviews,
        read_chatsearch,
        read_reviews,
        review_file,
        write_chatsearch,
    )
    from viewfinder.errors import BadInput

    if out.resolve() in (file.resolve(), review_file(file).resolve()):
        raise BadInput(f"--write {out}: this is the file under review; name another")
    samples, _ = read_chatsearch(file)
    reviews = read_reviews(review_file(file), told=print_note)
    kept = apply_reviews(samples, reviews)
    if not kept:
        raise BadInput(f"{file}: nothing of it was kept yet; look at it with `viewfinder review {file}`")
    out.parent.mkdir(parents=True, exist_ok=True)
    write_chatsearch(out, kept)
    verdicts = Counter(reviews[sample.id].verdict for sample in samples if sample.id in reviews)
    told: dict[str, int] = {name: verdicts[name] for name in VERDICTS}
    told |= {"written": len(kept), "open": len(samples) - verdicts.total()}
    if as_json:
        print_json({"file": str(out), **told})
    else:
        rest = f"{told['rejected']:,} rejected, {told['open']:,} not decided yet"
        print_line(f"Wrote {out}: {count_noun(len(kept), 'dialogue')} ({told['rewritten']:,} rewritten); {rest}")
    return 0
