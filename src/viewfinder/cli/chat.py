"""`viewfinder chat`: a talk, typed or from a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from viewfinder.cli.options import CountOption, JsonOption, LeaningOption, LibraryOption, open_library
from viewfinder.cli.output import count_noun, print_line, print_note
from viewfinder.training.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from viewfinder.pictures import BadFile


def chat(
    *,
    retriever: Annotated[str, typer.Option(metavar="NAME", help="How turns become a query.")] = "composer",
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="F", help="Weights of your own for the retriever. [default: in the box]")
    ] = None,
    questioner: Annotated[
        str, typer.Option(metavar="NAME[=SOURCE]", help='Who asks back, and what it needs for that; "none": nobody.')
    ] = "information_gain",
    script: Annotated[
        Path | None, typer.Option(metavar="TURNS.jsonl", help='Turns from a file, one JSON a line; "-": stdin.')
    ] = None,
    leaning: LeaningOption = None,
    n: CountOption = 10,
    preview: Annotated[bool, typer.Option("--preview", help="Show the best results as small pictures.")] = False,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Find a picture by talking about it.

    Describe it, pick results, reject, answer, go back; "help" at the prompt says how.
    """
    from viewfinder.cli.turns import TurnPrinter
    from viewfinder.questioners import load_questioner
    from viewfinder.retrievers import load_retriever

    load_questioner(questioner)  # a misspelt name is better said now than after the first turn
    found = load_retriever(retriever, checkpoint)
    collection = open_library(library)
    with progress_bar("reading the regions of the pictures, once", shown=not as_json) as progress:
        session = collection.chat(found, questioner, n=n, picture_bias=leaning, progress=progress)
    _note_left_out(collection.left_out)
    teller = TurnPrinter(as_json, preview and not as_json)
    if script is not None:
        from viewfinder.cli.script import play_script

        for _, hits in play_script(session, script):
            teller.tell(session, hits, echo=True)
            if not as_json:
                print_line()
        return 0
    from viewfinder.cli.terminal import Terminal

    return Terminal(collection, session, teller, retriever=found, questioner=questioner, n=n).run()


def _note_left_out(left_out: Sequence[BadFile]) -> None:
    if left_out:
        first = left_out[0]
        print_note(
            f"viewfinder: {count_noun(len(left_out), 'picture')} cannot be searched here, the first is {first.path} "
            f"({first.reason}): `viewfinder add` takes in what changed, `viewfinder prune` forgets what is gone"
        )
