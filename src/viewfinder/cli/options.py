"""Options that several verbs share, and the library they name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from viewfinder.library import Library

LibraryOption = Annotated[
    Path | None,
    typer.Option(
        "--library",
        envvar="VIEWFINDER_LIBRARY",
        metavar="DIR",
        help="The library's folder. [default: in the user data folder]",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
FeaturesOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where the pictures' vectors are kept. [default: with the data]")
]
VectorsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Vectors of the pictures, in place of the pictures.")
]
LeaningOption = Annotated[
    float | None,
    typer.Option(
        metavar="FLOAT",
        help="How much a retriever that talks leans to pictures (below 0: to words). [default: as it was trained]",
    ),
]
CountOption = Annotated[int, typer.Option("-n", min=1, metavar="N", help="How many results.")]


def library_folder(named: Path | None) -> Path:
    """The folder named, else the one in the user data folder."""
    if named is not None:
        return named.expanduser()
    from platformdirs import user_data_path

    return user_data_path("viewfinder", appauthor=False) / "library"


def open_library(named: Path | None) -> Library:
    """An existing library; verbs that read never make one."""
    from viewfinder.library import Library

    return Library.open(library_folder(named), create=False)


def parse_conditions(texts: Sequence[str]) -> dict[str, str]:
    """`--where key=value` as a mapping.

    Raises:
        BadInput: no "=", no key, or a key twice.
    """
    from viewfinder.errors import BadInput

    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not key or not equals or not value:
            raise BadInput(f"--where {text!r}: write it as column=value, for example --where gender=Men")
        if key in found:
            raise BadInput(f"--where {key!r} is given twice: a column can have one value here")
        found[key] = value
    return found
