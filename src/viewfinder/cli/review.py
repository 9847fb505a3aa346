"""`viewfinder review`: a page where a person accepts, rejects or rewrites constructed dialogues."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from viewfinder.cli.options import JsonOption, LibraryOption, library_folder
from viewfinder.cli.output import count_noun, print_json, print_line, print_note
from viewfinder.cli.serve import read_server_settings

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
    from viewfinder.data.chatsearch import read_chatsearch, write_chatsearch
    from viewfinder.data.review import VERDICTS, apply_reviews, read_reviews, review_file
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
