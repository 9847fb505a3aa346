"""`viewfinder chat | demo`: a conversation, typed or from a script; one over a drawn world that the package ships."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewfinder.cli.options import (
    CountOption,
    JsonOption,
    LeaningOption,
    LibraryOption,
    open_library,
    option,
    prepare_encoder,
)
from viewfinder.cli.output import count_noun, make_notifier, print_json, print_line, print_note
from viewfinder.cli.pictures import PicturesOption, choose_show
from viewfinder.errors import BadInput
from viewfinder.training.progress import progress_bar

if TYPE_CHECKING:
    from viewfinder.cli.terminal import TurnPrinter
    from viewfinder.library import Library
    from viewfinder.session.session import Session


def chat(
    *,
    retriever: Annotated[
        str | None,
        option("NAME", "How what was said is searched for. [default: all of it together]", show_default=False),
    ] = None,
    checkpoint: Annotated[
        Path | None, option("F", "Weights of your own for the retriever. [default: shipped ones]")
    ] = None,
    questioner: Annotated[
        str,
        option(
            "NAME[=SOURCE]",
            'Who asks back, and what it needs for that; "none": nobody. [default: what divides the pictures best]',
            show_default=False,
        ),
    ] = "information_gain",
    script: Annotated[Path | None, option("TURNS.jsonl", 'Turns from a file, one JSON a line; "-": stdin.')] = None,
    leaning: LeaningOption = None,
    describer: Annotated[
        str | None, option("URL#MODEL", "A model that you run, for `ask` about results: http://HOST/v1#MODEL.")
    ] = None,
    n: CountOption = 10,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show the best results as pictures of coloured blocks, in a pipe too.")
    ] = False,
    pictures: PicturesOption = None,
    why: Annotated[
        bool, typer.Option("--why", help="Say who asks each question and why, with names and figures.")
    ] = False,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Find a picture by talking about it.

    Describe it, pick results, reject, answer, go back; "help" at the prompt says how.
    """
    from viewfinder.cli.terminal import TurnPrinter
    from viewfinder.questioners import load_questioner
    from viewfinder.retrievers import load_retriever

    # Pictures of blocks were asked for: none of another kind unless they are, too.
    show = choose_show(False if preview and pictures is None else pictures, refused="--json" if as_json else None)
    load_questioner(questioner)  # a misspelt name is better said now than after the first turn
    looks = None
    if describer is not None:
        from viewfinder.language.describer import parse_describer

        looks = parse_describer(describer)
        if not looks.is_here:
            print_note(f"viewfinder: results that you `ask` about leave this machine, small, for {looks.host}")
    found = load_retriever("composer" if retriever is None else retriever, checkpoint)
    collection = open_library(library)
    prepare_encoder(collection, shown=not as_json)
    with progress_bar("reading the regions of the pictures, once", shown=not as_json) as progress:
        session = collection.chat(found, questioner, n=n, picture_bias=leaning, progress=progress)
    if left_out := collection.left_out:
        # Who asks others, too, finds pictures without regions: one of these does not look at them.
        what = "cannot be searched here" if found.reads.regions else "can only be searched without regions"
        print_note(
            f"viewfinder: {count_noun(len(left_out), 'picture')} {what}, the first is "
            f"{left_out[0].path} ({left_out[0].reason}): `viewfinder add` takes in what changed, `viewfinder prune` "
            "forgets what is gone"
        )
    if script is None and retriever is None and not as_json:
        tell_advised(collection)
    printer = TurnPrinter(as_json, preview and not as_json, why, show)
    if script is not None:
        from viewfinder.cli.typed import play_script

        for _, hits in play_script(session, script):
            printer.print_turn(session, hits, echo=True)
            if not as_json:
                print_line()
        return 0
    from viewfinder.cli.terminal import Terminal

    return Terminal(collection, session, printer, found, questioner, n, looks).run()


def tell_advised(library: Library) -> None:
    """Says which retriever finds more among pictures like these than the default, if there is one."""
    from viewfinder.retrievers import advise_retriever

    advised = advise_retriever(library.gallery().collection)
    if advised is not None:
        print_note(f"viewfinder: `--retriever {advised}` finds more among pictures like these")


SCRIPT = Path(__file__).with_name("demo.json")
DEMO_RESULTS = 5


@dataclass(frozen=True)
class Demo:
    """The plan of the demo: the world that is drawn, the picture that is looked for, and the turns."""

    pictures: int
    seed: int
    target: str
    meaning: str
    turns: list[dict[str, Any]]


def demo(
    serve: Annotated[
        bool | None,
        typer.Option(
            help="Serve the page after the conversation, or stop there. [default: serve at a terminal, without --json]"
        ),
    ] = None,
    out: Annotated[Path, option("DIR", "Where the world and its library go.")] = Path("demo"),
    as_json: JsonOption = False,
) -> int:
    """Draw pictures, find one in a conversation, and serve them."""
    from viewfinder.cli.terminal import TurnPrinter

    plan = Demo(**json.loads(SCRIPT.read_text(encoding="utf-8")))
    library = _draw_and_index(plan, out, quiet=as_json)
    rows = library.store.rows()
    target = next(row.id for row in rows if any(Path(file.path).name == plan.target for file in row.files))
    if not as_json:
        print_line(f"Looking for {plan.target}: {plan.meaning}")
        print_line()
    session = library.chat(n=DEMO_RESULTS)
    taken = [_take_turn(session, turn, target, TurnPrinter(), quiet=as_json) for turn in plan.turns]
    if as_json:
        print_json({"library": str(library.folder), "target": target, "turns": taken})
    else:
        rank = taken[-1]["target_rank"]
        print_line(f"After {count_noun(len(taken), 'turn')} it is number {rank} of {plan.pictures}.")
        print_line(f"Go on yourself: viewfinder chat --library {library.folder}")
        print_line(f"Or in the browser: viewfinder serve --library {library.folder}")
    serves = sys.stdin.isatty() and sys.stdout.isatty() and not as_json if serve is None else serve
    return _serve_demo(library.folder) if serves else 0


def _serve_demo(folder: Path) -> int:
    """The page over the demo's library; on another port where a server runs already."""
    from viewfinder.cli.serve import read_server_settings, serve_library
    from viewfinder.server.running import open_listener

    settings = read_server_settings({})
    try:
        open_listener(settings.host, settings.port).close()
    except BadInput:
        settings = read_server_settings({"port": 0})
    return serve_library(folder, settings)


def _draw_and_index(plan: Demo, out: Path, *, quiet: bool) -> Library:
    """The world drawn and indexed; what an earlier run has done is kept."""
    from viewfinder.library import Library
    from viewfinder.worlds import choose_workers, write_scenes

    notify = make_notifier(quiet)
    drawn, catalogue = out / "world", out / "world" / "catalogue.csv"
    if not catalogue.exists():  # it is written last
        notify(f"drawing {count_noun(plan.pictures, 'picture')} in {drawn}")
        with progress_bar("drawing", plan.pictures, shown=not quiet) as progress:
            workers = choose_workers(plan.pictures)
            write_scenes(drawn, count=plan.pictures, seed=plan.seed, workers=workers, progress=progress)
    notify("indexing them")
    library = Library.open(out / "library")
    prepare_encoder(library, shown=not quiet, pictures=True)
    with progress_bar("indexing", shown=not quiet) as progress:
        library.add(drawn / "images", catalogue=catalogue, progress=progress)
    return library


def _take_turn(
    session: Session, data: dict[str, Any], target: str, printer: TurnPrinter, *, quiet: bool
) -> dict[str, Any]:
    """Takes one turn of the script and tells what it came to, the target's place included (from 1)."""
    from viewfinder.cli.terminal import describe_taken_turn
    from viewfinder.cli.typed import parse_script_line

    hits = session.take(parse_script_line(json.dumps(data), session.conversation))
    rank = session.rank_of(target) + 1
    if not quiet:
        printer.print_turn(session, hits, echo=True)
        print_line(f"   (the picture looked for is number {rank})")
        print_line()
    return {**describe_taken_turn(session, hits), "said": data, "target_rank": rank}
