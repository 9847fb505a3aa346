"""The program `viewfinder`: its verbs, and the one place where it ends.

Verbs return their exit code: 0 done, 1 failed, 2 wrong use, 3 done with quarantined files. Whatever they need is
imported inside them, so that `--help` costs no more than typer does; and a verb that is run is the only one imported.
"""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated

import typer

from viewfinder.cli.ending import (
    FAILED,
    INTERRUPTED,
    WRONG_USE,
    Ending,
    is_debugging,
    open_closed_streams,
    report_failure,
    silence_stdout,
)
from viewfinder.cli.options import VerbCommand

VERBS = {
    "add": "library", "find": "library", "values": "library", "show": "library", "describe": "describe",
    "chat": "chat", "serve": "serve", "status": "library", "failures": "library", "remove": "library",
    "prune": "library", "verify": "library", "repair": "library", "doctor": "doctor", "encoders": "models",
    "demo": "chat", "token": "serve", "mcp": "assistants", "world": "data", "construct": "data", "review": "serve",
    "features": "train", "tune": "library", "train": "train", "dialogues": "data", "evaluate": "evaluate",
    "compare": "evaluate", "export": "export", "bench": "doctor", "encoder": "encoders",
}  # fmt: skip
"""The verbs in the order of the help, each with its module, which has it under its name."""


def make_app(verbs: Iterable[str] = tuple(VERBS)) -> typer.Typer:
    """The program with some of its verbs: each costs its imports, and the reading of its options."""
    app = typer.Typer(
        name="viewfinder",
        rich_markup_mode=None,  # plain help: rich takes longer to import than the help to read
        pretty_exceptions_enable=False,
        epilog="Exit codes: 0 done, 1 failed, 2 wrong use, 3 files quarantined.",
    )
    app.callback(invoke_without_command=True)(viewfinder)
    for name in verbs:
        verb = getattr(import_module(f"viewfinder.cli.{VERBS[name]}"), name)
        if isinstance(verb, typer.Typer):
            app.add_typer(verb)
        else:
            app.command(name, cls=VerbCommand)(verb)
    return app


def choose_verbs(arguments: Sequence[str]) -> Sequence[str]:
    """The verb that is asked for alone, where one is; all of them for the help, and for what is none.

    >>> choose_verbs(["find", "a dog", "--json"]), len(choose_verbs(["--help"])) == len(VERBS)
    (('find',), True)
    """
    return (arguments[0],) if arguments and arguments[0] in VERBS else tuple(VERBS)


def viewfinder(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Find the picture you have in mind by talking about it."""
    if version:
        from viewfinder import __version__

        typer.echo(f"viewfinder {__version__}")
        raise typer.Exit(0)
    warn_of_little_memory()


MIN_MEMORY = 2_500_000_000
"""Address space that reading pictures and words takes, in bytes; with less, libraries abort or say odd things."""


def warn_of_little_memory() -> None:
    """Warns of too little memory, which would otherwise end in a library's own obscure words."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < MIN_MEMORY:
        typer.echo(
            f"viewfinder: memory is limited to {limit / 1e9:.1f} GB here (ulimit -v), and searching needs "
            f"{MIN_MEMORY / 1e9:g} GB: raise the limit if this fails",
            err=True,
        )


def fill_in_ray(arguments: Sequence[str]) -> list[str]:
    """`--ray` alone is a cluster of this machine; typer knows no option whose value may be left out.

    >>> fill_in_ray(["add", "Pictures", "--ray", "--json"])
    ['add', 'Pictures', '--ray', 'local', '--json']
    """
    filled: list[str] = []
    for word, after in zip(arguments, [*arguments[1:], "--"], strict=False):
        filled += [word, "local"] if word == "--ray" and after.startswith("-") else [word]
    return filled


def run(arguments: Sequence[str]) -> int:
    """Runs one command and gives its exit code; every failure becomes one line on stderr."""
    arguments = fill_in_ray(arguments)
    as_json = "--json" in arguments
    try:
        app = make_app(choose_verbs(arguments))
        code = app(list(arguments) or ["--help"], prog_name="viewfinder", standalone_mode=False) or 0
        if code == INTERRUPTED:  # how typer reports Ctrl-C
            return report_failure(KeyboardInterrupt(), as_json=as_json)
        sys.stdout.flush()
    except BrokenPipeError:
        silence_stdout()
        return FAILED
    except SystemExit as ending:  # typer's own end when the reader of a pipe is gone
        silence_stdout()
        return ending.code if isinstance(ending.code, int) else FAILED
    except BaseException as error:
        return report_failure(error, as_json=as_json)
    return int(code) if arguments else WRONG_USE


def main() -> None:
    """The entry point of the installed program."""
    ending = Ending()
    open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # file names may hold any bytes
    if not is_debugging():
        warnings.simplefilter("ignore")
    gc.set_threshold(200_000)  # what is imported stays: looking through it for garbage is a tenth of a cold `find`
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # pressed again while the first was being reported
        code = FAILED
    ending.end_by(code)
