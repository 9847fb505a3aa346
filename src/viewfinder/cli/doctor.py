"""`viewfinder doctor | bench`: is everything there that viewfinder needs, and how fast does this library answer?"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer

from viewfinder.cli.ending import FAILED, explain_error
from viewfinder.cli.options import JsonOption, LibraryOption, library_folder, open_library
from viewfinder.cli.output import print_json, print_line
from viewfinder.errors import EXTRAS, UnknownName
from viewfinder.own_commands import write_command

if TYPE_CHECKING:
    from viewfinder.library import Library

PACKAGES = ("numpy", "PIL", "lancedb", "pyarrow", "onnxruntime", "tokenizers", "safetensors", "filelock", "pathspec")
"""Packages that searching and indexing import."""

MIN_FREE_BYTES = 500_000_000


@dataclass(frozen=True)
class Check:
    """One thing looked at: whether it is well, and what was seen or is to be done."""

    name: str
    ok: bool
    detail: str


def doctor(library: LibraryOption = None, as_json: JsonOption = False) -> int:
    """Check the installation and the library.

    Exit code 1 if something is broken.
    """
    folder = library_folder(library)
    looks: tuple[tuple[str, Callable[[], str]], ...] = (
        ("python", lambda: f"{sys.version.split()[0]} at {sys.executable}"),
        ("packages", _check_packages),
        ("encoder", _check_encoder),
        ("extras", _list_extras),
        ("pictures", _check_pictures),
        ("plug-ins", _check_plugins),
        ("disk", lambda: _check_disk(folder)),
        ("library", lambda: _check_library(folder)),
        ("language", _check_language),
        ("network", lambda: "not needed"),
    )
    checks = [_run_check(name, look) for name, look in looks]
    well = all(check.ok for check in checks)
    if as_json:
        print_json({"ok": well, "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            print_line(f"{'ok    ' if check.ok else 'BROKEN'}  {check.name:9} {check.detail}")
    return 0 if well else FAILED


class Broken(Exception):
    """A check that failed; the text says what to do."""


def _run_check(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, True, look())
    except Broken as broken:
        return Check(name, False, str(broken))
    except Exception as error:  # whatever is wrong is this verb's result, not its failure
        return Check(name, False, explain_error(error)[0])


def _check_packages() -> str:
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise Broken(f"missing: {', '.join(missing)}; install viewfinder again")
    return f"{len(PACKAGES)} found"


def _check_encoder() -> str:
    """Both halves of the starter and the head that joins them; words are tried out."""
    from viewfinder.encoders import load_encoder

    encoder = load_encoder("starter")
    width = encoder.words(["a test"]).shape[1]
    return f"{encoder.name}, space {encoder.version}, {width} numbers a picture"


def _list_extras() -> str:
    """Extras that are installed with all their packages."""
    found = [extra for extra, packages in EXTRAS.items() if all(find_spec(name) for name in packages)]
    return f"installed: {', '.join(found)}" if found else "none; searching needs none, training needs viewfinder[train]"


def _check_pictures() -> str:
    """A picture through a worker process, as indexing does it."""
    from PIL import Image

    from viewfinder.pictures import Stretch, decode_one
    from viewfinder.scratch import scratch_folder

    with scratch_folder("doctor") as scratch:
        file = scratch / "test.png"
        Image.new("RGB", (8, 8), "red").save(file)
        decode_one(file, Stretch(8))
    optional = [name for name, package in (("HEIC", "pillow_heif"), ("RAW", "rawpy")) if find_spec(package)]
    return f"read in worker processes; beyond the common formats: {', '.join(optional) or 'none'}"


def _check_plugins() -> str:
    """Parts of other packages, each imported and checked."""
    from viewfinder import encoders, questioners, retrievers, users
    from viewfinder.pictures import formats

    found = []
    for part in (retrievers, questioners, encoders, users, formats):
        for name, point in part.PLUGINS.offered().items():
            part.PLUGINS.find(name)
            found.append(f"the {part.PLUGINS.noun} {name} ({point.value})")
    return ", ".join(found) or "none"


def _check_disk(folder: Path) -> str:
    free = shutil.disk_usage(_find_nearest(folder)).free
    if free < MIN_FREE_BYTES:
        raise Broken(f"{free / 1e6:.0f} MB free at {folder}: make room, 500 MB should be free")
    return f"{free / 1e9:.1f} GB free at {folder}"


def _check_library(folder: Path) -> str:
    if not (folder / "library.json").exists():
        return f"none yet at {folder}: `{write_command('add FOLDER', folder)}` makes it"
    from viewfinder.library import Library

    library = Library.open(folder, create=False)
    facts, _ = library.status(), library.encoder  # whose files may be gone
    return f"{facts['pictures']} pictures in {folder}, searched with {facts['encoder']}"


def _check_language() -> str:
    """The language model, where one is named, has something to say."""
    named = os.environ.get("VIEWFINDER_LANGUAGE_MODEL", "").strip()
    if not named:
        return "no language model is named in VIEWFINDER_LANGUAGE_MODEL, and none is needed"
    from viewfinder.language import load_language_model
    from viewfinder.server.conversations.pools import probe_language_model

    problem = probe_language_model(named)
    if problem is not None:
        raise Broken(problem)
    return f"{load_language_model(named).name} answers"


def _find_nearest(folder: Path) -> Path:
    """The folder, or the closest one above it that exists."""
    return next(place for place in (folder.absolute(), *folder.absolute().parents) if place.is_dir())


BENCH_ROUNDS = 40


def bench(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="What to measure: find.")] = "find",
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Measure speed on your library; changes nothing."""
    if what != "find":
        raise UnknownName(f"no bench is called {what!r}; there are: find")
    figures = bench_find(open_library(library))
    if as_json:
        print_json({"bench": what, **figures})
        return 0
    for name, value in figures.items():
        number = f"{value:10.3f}" if isinstance(value, float) else f"{value:>10,}"
        print_line(f"{name.replace('_', ' '):28} {number}")
    return 0


def bench_find(library: Library) -> dict[str, float | int]:
    """A warm `find`, beside its least cost: encoding the words and one exact scan. Medians, in ms.

    The three are measured in turns, each with words that no cache has seen.
    """
    from viewfinder.search.kernels import dot_scores

    gallery = library.gallery()
    encoder = gallery.encoder
    vector_d = encoder.words(["a picture"])[0]
    library.find("warm up")
    parts: dict[str, Callable[[int], object]] = {
        "words_p50_ms": lambda number: encoder.words([f"picture {number} of a red car in a street"]),
        "scan_p50_ms": lambda number: dot_scores(gallery.snapshot.matrix_nd, vector_d),
        "find_p50_ms": lambda number: library.find(f"picture {number} of a blue boat on a lake"),
    }
    times: dict[str, list[float]] = {name: [] for name in parts}
    for number in range(BENCH_ROUNDS):
        for name, part in parts.items():
            started = time.perf_counter()
            part(number)
            times[name].append((time.perf_counter() - started) * 1000)
    medians = {name: median(taken) for name, taken in times.items()}
    words, scan, find = medians.values()
    return {"pictures": len(gallery), **medians, "find_over_words_and_scan": find / (words + scan)}
