"""`viewfinder encoder list | use | forget | move`: the encoders of a library."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from viewfinder.cli.options import JsonOption, LibraryOption, VerbCommand, open_library
from viewfinder.cli.output import print_result, print_table
from viewfinder.training.progress import progress_bar

if TYPE_CHECKING:
    from viewfinder.store.encoder_keeper import EncoderInfo

encoder = typer.Typer(
    name="encoder", help="List, switch, forget and move the encoders of a library.", rich_markup_mode=None,
)  # fmt: skip

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="An encoder, as `encoder list` prints it.")]


@encoder.command("list", cls=VerbCommand)
def list_encoders(library: LibraryOption = None, as_json: JsonOption = False) -> int:
    """List the encoders, and how many pictures each has vectors of."""
    found = open_library(library).encoders()
    if as_json:
        print_result(as_json, {"encoders": [asdict(one) for one in found]})
    else:
        rows = [(_describe_state(one), f"{one.pictures:,}", f"{one.lacking:,}", one.name) for one in found]
        print_table(("", "pictures", "lacking", "encoder"), rows)
    return 0


def _describe_state(info: EncoderInfo) -> str:
    if info.is_active:
        return "searched with"
    return "being built" if info.is_wanted else "kept"


@encoder.command("use", cls=VerbCommand)
def use_encoder(name: NameArgument, library: LibraryOption = None, as_json: JsonOption = False) -> int:
    """Search with another encoder of the library from now on."""
    collection = open_library(library)
    with progress_bar("reading pictures", shown=not as_json) as progress:
        collection.use_encoder(name, progress=progress)
    used = collection.settings.encoder
    print_result(as_json, {"encoder": used, "space": collection.space}, f"searched with {used} from now on")
    return 0


@encoder.command("forget", cls=VerbCommand)
def forget_encoder(name: NameArgument, library: LibraryOption = None, as_json: JsonOption = False) -> int:
    """Forget an encoder and its vectors; your pictures stay."""
    gone = open_library(library).forget_encoder(name)
    print_result(as_json, {"forgotten": gone}, f"{gone} and its vectors are forgotten")
    return 0


@encoder.command("move", cls=VerbCommand)
def move_encoder(
    name: NameArgument,
    place: Annotated[str, typer.Argument(metavar="PLACE", help="Its folder now, or its name on the hub.")],
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Say where an encoder's model lies now; it must be the same model."""
    moved = open_library(library).move_encoder(name, place)
    print_result(as_json, {"encoder": moved}, f"{name} is {moved} from now on")
    return 0
