"""`viewfinder serve`: the page and the API over a library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewfinder.cli.leaving import leave_if_waiting
from viewfinder.cli.options import JsonOption, LibraryOption, library_folder
from viewfinder.cli.output import print_json, print_line, print_note

if TYPE_CHECKING:
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
