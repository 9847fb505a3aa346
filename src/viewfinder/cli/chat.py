"""`viewfinder chat`: a talk, typed or from a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from viewfinder.cli.options import CountOption, JsonOption, LibraryOption, open_library
from viewfinder.cli.output import say


def chat(
    *,
    retriever: Annotated[str, typer.Option(metavar="NAME", help="How turns become a query.")] = "composer",
    questioner: Annotated[
        str, typer.Option(metavar="NAME", help='Who asks back; "none": nobody.')
    ] = "information_gain",
    script: Annotated[
        Path | None, typer.Option(metavar="TURNS.jsonl", help='Turns from a file, one JSON a line; "-": stdin.')
    ] = None,
    n: CountOption = 10,
    preview: Annotated[bool, typer.Option("--preview", help="Show the best results as small pictures.")] = False,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Find a picture by talking about it.

    Describe it, pick results, reject, answer, go back; "help" at the prompt says how.
    """
    from viewfinder.cli.turns import Teller
    from viewfinder.questioners import load_questioner

    load_questioner(questioner)  # a misspelt name is better said now than after the first turn
    collection = open_library(library)
    session = collection.chat(retriever, questioner, n=n)
    teller = Teller(as_json, preview and not as_json)
    if script is not None:
        from viewfinder.cli.script import play

        for _, hits in play(session, script):
            teller.tell(session, hits, echo=True)
            if not as_json:
                say()
        return 0
    from viewfinder.cli.terminal import Terminal

    return Terminal(collection, session, teller, retriever=retriever, questioner=questioner, n=n).run()
