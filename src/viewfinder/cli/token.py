"""`viewfinder token add | list | revoke`: who may use a server that other machines can reach."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from viewfinder.cli.options import JsonOption, LibraryOption, library_folder, open_library
from viewfinder.cli.output import print_json, print_line, print_note, print_table
from viewfinder.cli.serve import read_server_settings

if TYPE_CHECKING:
    from viewfinder.server.access.tokens import Tokens
    from viewfinder.server.database import TokenRow

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
