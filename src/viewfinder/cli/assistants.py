"""`viewfinder mcp`: the library for assistants (Claude, ChatGPT, editors), by the Model Context Protocol."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from viewfinder.cli.options import HostOption, JsonOption, LibraryOption, library_folder, open_library, option
from viewfinder.cli.output import print_note
from viewfinder.cli.serve import read_server_settings, serve_library
from viewfinder.errors import BadInput


def mcp(
    *,
    http: Annotated[
        bool, typer.Option("--http", help="Serve at http://HOST:PORT/mcp, beside the page, rather than on stdin.")
    ] = False,
    host: HostOption = None,
    port: Annotated[int | None, option("PORT", "0: any free one. [default: 8008]")] = None,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Let assistants search: tools of the Model Context Protocol.

    An assistant starts this itself and speaks with it on stdin and stdout. With --http it is a server as `serve --mcp`
    is, for assistants elsewhere; those need a token.
    """
    if http:
        from viewfinder.mcp import extension  # before the library is opened: what is missing is said first

        assert extension
        open_library(library)
        given = {"mcp": True, "host": host, "port": port}
        settings = read_server_settings({name: value for name, value in given.items() if value is not None})
        return serve_library(library_folder(library), settings, as_json=as_json)
    if host is not None or port is not None:
        raise BadInput("--host and --port belong to `viewfinder mcp --http`: without it, nothing listens")
    from viewfinder.mcp.local import run_local

    if sys.stdin.isatty():
        print_note("viewfinder: an assistant starts this command and speaks on stdin; Ctrl-D ends it")
    return run_local(library_folder(library), read_server_settings({}))
