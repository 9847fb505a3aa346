"""`viewfinder encoders`: the encoders that there are, and what each costs; the question before a model is fetched."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from viewfinder.cli.options import JsonOption, LibraryOption, library_folder, option
from viewfinder.cli.output import print_json, print_line, print_note, print_table
from viewfinder.errors import BadInput, ViewfinderError, advise_extra
from viewfinder.training.progress import progress_bar

if TYPE_CHECKING:
    from viewfinder.encoders.hub import HubModel

YesOption = Annotated[bool, typer.Option("--yes", help="Fetch a model without asking.")]


@dataclass(frozen=True, kw_only=True)
class KnownEncoder:
    """An encoder as `viewfinder encoders` lists it; None: not known, or not published.

    Attributes:
        kind: "box", "model" (a short name), "plug-in", "cache" (of the hub, fetched before) or "library".
        here: whether it can be used without fetching anything.
        recall: image retrieval on Crossmodal-3600 by language, in per cent, of the model in full precision.
        memory_mb, search_mb, picture_ms: as in `models.toml`.
    """

    name: str
    kind: str
    title: str
    here: bool
    download_mb: int | None = None
    memory_mb: int | None = None
    search_mb: int | None = None
    picture_ms: int | None = None
    languages: str | None = None
    licence: str | None = None
    origin: str | None = None
    folder: str | None = None
    recall: dict[str, float] = field(default_factory=dict)


STARTER = KnownEncoder(
    name="starter", kind="box", title="the encoder in the box", here=True, download_mb=0, picture_ms=18,
    languages="English", licence="Apache-2.0",
)  # fmt: skip


def encoders(
    get: Annotated[str | None, option("NAME", "Fetch this one now: a short name, or owner/model of the hub.")] = None,
    yes: YesOption = False,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """List the encoders that there are, and what each costs.

    `viewfinder add --encoder NAME` makes a library with one, or adds it beside those that are there.
    """
    if get is not None:
        return _get(get, yes=yes, as_json=as_json)
    known = [STARTER, *_list_short_names(), *_list_plugins(), *_list_cached()]
    folder = library_folder(library)
    used = _read_used(folder)
    if used is not None and used not in {one.name for one in known}:
        known.append(KnownEncoder(name=used, kind="library", title="of this library", here=Path(used).is_dir()))
    if as_json:
        print_json({"encoders": [asdict(one) for one in known], "library": str(folder), "used": used})
        return 0
    columns = ("encoder", "here", "download", "memory", "ms a picture", "recall", "languages", "licence")
    print_table(columns, [_describe(one, used) for one in known])
    print_line()
    print_line(
        "memory (MiB) and recall (English, Crossmodal-3600): of the model in full precision, as Immich measured it"
    )
    if used is not None:
        print_line(f"* is the encoder of {folder}; viewfinder add --encoder NAME adds another beside it")
    return 0


def _get(name: str, *, yes: bool, as_json: bool) -> int:
    from viewfinder.encoders.hub import find_snapshot, is_hub_name
    from viewfinder.encoders.short_names import SHORT_NAMES

    if name not in SHORT_NAMES and not is_hub_name(name):
        raise BadInput(f"{name!r} is nothing to fetch: give owner/model of the hub, or one of {', '.join(SHORT_NAMES)}")
    fetch_if_asked(name, yes=yes, as_json=as_json)
    folder = find_snapshot(name)
    if as_json:
        print_json({"name": name, "folder": str(folder)})
    else:
        print_line(f"{name} is here: {folder}")
    return 0


# -- the question before a download


def fetch_if_asked(name: str, *, yes: bool, as_json: bool) -> None:
    """Fetches the model of an encoder's name if it is not here: asks first, or is told `yes`.

    Raises:
        BadInput: nobody can be asked; or as `plan_model`.
        ViewfinderError: the answer was no; or as `fetch_model`.
    """
    from viewfinder.encoders.hub import fetch_model, is_here, plan_model

    if is_here(name):
        return
    model = plan_model(name)
    if model.layout == "torch" and find_spec("torch") is None:
        raise BadInput(f"{name} is a model of torch, which is not installed: {advise_extra('torch')}")
    told = describe_download(model)
    if not yes:
        _ask(name, told, as_json=as_json)
    elif not as_json:
        print_note(f"viewfinder: fetching {told}")
    with progress_bar("fetching (MB)", shown=not as_json) as progress:
        fetch_model(model, lambda done, total: progress(done // 1_000_000, total // 1_000_000))


def describe_download(model: HubModel) -> str:
    """What a download brings, in one line.

    >>> from viewfinder.encoders.hub import plan_model
    >>> describe_download(plan_model("clip"))[:75]
    'clip: CLIP ViT-B/32 of OpenAI, in 8 bits, for English; 156 MB from huggingf'
    """
    from viewfinder.encoders.models import find_model

    listed = find_model(model.name)
    what = f"{model.name}: {listed.title}, for {listed.languages}" if listed is not None else model.name
    size = f"{max(model.megabytes, 1):,} MB"
    return f"{what}; {size} from {model.address}; licence: {model.licence or 'none is named there'}"


def _ask(name: str, told: str, *, as_json: bool) -> None:
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(
            f"{told}. It is not on this machine, and nobody can be asked here: repeat with --yes to fetch it"
        )
    print_note(told)
    if not typer.confirm("Fetch it?", err=True):
        raise ViewfinderError(f"{name} was not fetched, and nothing was changed")


# -- what there is


def _list_short_names() -> list[KnownEncoder]:
    from viewfinder.encoders.hub import find_snapshot
    from viewfinder.encoders.models import HUB, list_models

    return [
        KnownEncoder(
            name=model.name, kind="model", title=model.title, here=(folder := find_snapshot(model.name)) is not None,
            download_mb=model.megabytes, memory_mb=model.memory_mb, search_mb=model.search_mb,
            picture_ms=model.picture_ms, languages=model.languages, licence=f"{model.licence} ({model.licence_note})",
            origin=f"{HUB}/{model.repository} at {model.commit}", folder=None if folder is None else str(folder),
            recall=dict(model.recall),
        )
        for model in list_models().values()
    ]  # fmt: skip


def _list_plugins() -> list[KnownEncoder]:
    from viewfinder.encoders import PLUGINS

    found = []
    for name, point in PLUGINS.offered().items():
        title = f"of {point.dist.name} {point.dist.version}" if point.dist else "of a package"
        found.append(KnownEncoder(name=name, kind="plug-in", title=title, here=True, origin=point.value))
    return found


def _list_cached() -> list[KnownEncoder]:
    from viewfinder.encoders.hub import list_cached
    from viewfinder.encoders.models import HUB, list_models

    listed = {model.repository for model in list_models().values()}
    return [
        KnownEncoder(
            name=name, kind="cache", title="of the hub, in the cache", here=True, origin=f"{HUB}/{name}",
            folder=str(folder), download_mb=_measure(folder),
        )
        for name, folder in list_cached()
        if name not in listed
    ]  # fmt: skip


def _measure(folder: Path) -> int:
    return round(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1_000_000)


def _read_used(folder: Path) -> str | None:
    """The encoder of a library; None: there is no library, or it cannot be read."""
    from viewfinder.store.settings import SETTINGS, read_settings

    try:
        return read_settings(folder / SETTINGS).encoder
    except (ViewfinderError, OSError):
        return None


def _describe(one: KnownEncoder, used: str | None) -> Sequence[str]:
    english = one.recall.get("English")
    return (
        f"{one.name}{' *' if one.name == used else ''}",
        "yes" if one.here else "no",
        "?" if one.download_mb is None else "none" if one.kind == "box" else f"{max(one.download_mb, 1):,} MB",
        "?" if one.memory_mb is None else f"{one.memory_mb:,}",
        "?" if one.picture_ms is None else str(one.picture_ms),
        "?" if english is None else f"{english:.1f}",
        one.languages or "?",
        (one.licence or "?").partition(" (")[0],
    )
