"""Options that several verbs share, and what they name: a library, an encoder, settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from viewfinder.cli.output import reporting_wait
from viewfinder.errors import BadInput, check_named
from viewfinder.own_commands import default_library

if TYPE_CHECKING:
    from viewfinder.encoders import Encoder
    from viewfinder.library import Library


class VerbCommand(TyperCommand):
    """A verb that refuses an empty text for a path, which a script has where a variable is not set.

    Once it is a `Path` it is the folder where one stands, and nothing tells it from a `.` that was meant.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the arguments. Raises BadInput: a path is empty; the line names it."""
        if any(not text or text.endswith("=") for text in args):
            self._check_paths(ctx, args)
        return super().parse_args(ctx, args)

    def _check_paths(self, ctx: Any, args: list[str]) -> None:
        given, _, _ = self.make_parser(ctx).parse_args(list(args))
        hints = get_type_hints(self.callback)
        for parameter in self.params:
            if _names_path(hints.get(parameter.name or "")):
                values = given.get(parameter.name)
                name = parameter.opts[0] if parameter.opts[0].startswith("-") else str(parameter.metavar)
                for value in values if isinstance(values, list | tuple) else [values]:
                    check_named(name, value)


def _names_path(hint: Any) -> bool:
    """Whether a parameter of this type is a path, or several.

    >>> _names_path(list[Path] | None), _names_path(str | None)
    (True, False)
    """
    return hint is Path or any(map(_names_path, get_args(hint)))


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """An option that takes a value, as typer has it; `names` where it is not called as its parameter."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


LibraryOption = Annotated[
    Path | None,
    option(
        "DIR",
        "The library's folder, or an s3:// or gs:// URL. [default: in the user data folder]",
        "--library",
        envvar="VIEWFINDER_LIBRARY",
    ),
]
MAX_SECONDS = 86_400.0
"""A day: the longest that one answer of a model is waited for; the system counts to no infinite one."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
DataOption = Annotated[Path, option("DIR", "The folder of a data set, or of a world.")]
EncoderOption = Annotated[str, option("NAME|PATH", "What reads pictures and words.")]
FeaturesOption = Annotated[Path | None, option("DIR", "Where the pictures' vectors are kept. [default: with the data]")]
VectorsOption = Annotated[Path | None, option("FILE", "Vectors of the pictures, in place of the pictures.")]
LeaningOption = Annotated[
    float | None,
    option(
        "FLOAT", "How much a retriever that answers leans to pictures (below 0: to words). [default: as it was trained]"
    ),
]
CountOption = Annotated[int, option("N", "How many results.", "-n", min=1)]
WorkersOption = Annotated[int | None, option("N", "Processes that read pictures; with --ray: actors.", min=1)]
FromLibraryOption = Annotated[
    Path | None, option("DIR", "A library that has the pictures: their vectors are taken from there.", "--library")
]
UserSeedOption = Annotated[int, option("S", "Of draws and simulated users.")]
HostOption = Annotated[
    str | None, option("HOST", "Where to listen; others than this machine need a token. [default: 127.0.0.1]")
]


def library_folder(named: Path | None) -> Path:
    """The folder named, else the one in the user data folder."""
    if named is not None:
        from viewfinder.store.places import local_folder

        return local_folder(named)
    return default_library()


def is_library(folder: Path) -> bool:
    """Whether there is a library in a folder, be it a damaged one."""
    from viewfinder.store.places import find_bucket

    return find_bucket(folder) is not None or any((folder / name).exists() for name in ("library.json", "tables"))


def open_library(named: Path | None) -> Library:
    """An existing library; verbs that read never make one."""
    from viewfinder.library import Library

    return Library.open(library_folder(named), create=False)


def read_words_meanwhile(library: Path | None, text: str) -> Thread:
    """Reads a text in a thread, and all that this needs, while this one imports what else searching does.

    It takes a fifth of a first search, and little of it the interpreter. Only the encoder in the box is loaded so, and
    only for a library of it. What fails here fails again, and is told, where it is needed. The search may come to read
    something else, where the text says more than what to look for; then this was for nothing.
    """

    def read() -> None:
        with suppress(Exception):
            settings = json.loads((library_folder(library) / "library.json").read_text(encoding="utf-8"))
            if settings["encoder"] == "starter":
                from viewfinder.encoders.starter.encoder import sentence_encoder, shipped_head

                sentences = sentence_encoder()
                if settings["head"] is None:
                    shipped_head().fingerprint()
                if text.strip():
                    sentences([text])

    reading = Thread(target=read)
    reading.start()
    return reading


def take_vectors(
    named: Path | None, data: Sequence[Path], encoder: Encoder, features: Path | None, notify: Callable[[str], None]
) -> Path | None:
    """The folder of the vectors of data sets: as given, or the one to which those of a named library were copied."""
    if named is None:
        return features
    from viewfinder.evaluation.pictures import take_from_library

    library = open_library(named)
    home = features or library.folder / "features"
    places = [home / folder.resolve().name if features is None or len(data) > 1 else home for folder in data]
    taken = [
        take_from_library(library, folder, encoder, place, notify) for folder, place in zip(data, places, strict=True)
    ]
    return (places[0] if len(data) == 1 else home) if any(taken) else features


def load_named_encoder(name: str) -> Encoder:
    """The encoder of this name or folder, ready to be used."""
    from viewfinder.encoders import load_encoder

    return load_encoder(name)


def prepare_encoder(library: Library, *, shown: bool, pictures: bool = False) -> None:
    """Loads the library's encoder, and with `pictures` the network that reads them; a long wait is reported."""
    with reporting_wait("getting ready to read words and pictures", shown=shown):
        encoder = library.encoder
        if pictures:
            encoder.pictures([])


def split_pair(text: str, option: str, advice: str, *, empty: bool = False) -> tuple[str, str]:
    """The parts before and after the "=" of an option's value; the second may be empty only if `empty` says so.

    Raises:
        BadInput: no "=", or nothing on a side; `advice` says how to write it.
    """
    key, equals, value = (part.strip() for part in text.partition("="))
    if not key or not equals or not (value or empty):
        raise BadInput(f"{option} {text!r}: {advice}")
    return key, value


def parse_conditions(texts: Sequence[str]) -> dict[str, str]:
    """`--where key=value` as a mapping.

    Raises:
        BadInput: no "=", no key, or a key twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        key, value = split_pair(text, "--where", "write it as column=value, for example --where gender=Men")
        if key in found:
            raise BadInput(f"--where {key!r} is given twice: write alternatives as {key}={found[key]}|{value}")
        found[key] = value
    return found
