"""The processes that are killed: `python -m tests.hostile.victims add|tune|describe|repair|features ...`.

Each says on stdout what is acknowledged, when it is. They know colours only, so that a round takes a second or two;
what writes to the disk is the program's own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

import viewfinder.library
from tests.hostile.attack import peak_bytes
from viewfinder.cli.ending import explain_error
from viewfinder.encoders.base import Encoded, Pixels
from viewfinder.errors import ViewfinderError
from viewfinder.store import tables
from viewfinder.testing import ColourEncoder, load_colour_encoder

BATCH = 8
"""Pictures that are acknowledged together: many batches are many moments to be killed in."""


def say(**what: object) -> None:
    print(json.dumps(what), flush=True)


def give_up(error: Exception) -> NoReturn:
    """As the program does: one line, and its exit code."""
    line, code = explain_error(error)
    say(error=line)
    sys.exit(code)


def open_library(folder: str, *, create: bool = False) -> viewfinder.library.Library:
    """The library, or one line why not; ready once Lance is imported: until then there is nothing to lose."""
    try:
        opened = viewfinder.library.Library.open(Path(folder), create=create)
        opened.store.ids()
    except (ViewfinderError, OSError) as error:
        give_up(error)
    say(ready=True)
    return opened


def add(library: str, folder: str, encoder: str = "colours") -> None:
    """Adds a folder; says how many files are done. `encoder`: which was chosen below already."""
    opened = open_library(library, create=True)
    try:
        report = opened.add(folder, workers=1, progress=lambda done, total: say(done=done))
    except (ViewfinderError, OSError) as error:
        give_up(error)
    say(report={name: value for name, value in asdict(report).items() if isinstance(value, int)}, peak=peak_bytes())


@dataclass(frozen=True)
class Weights:
    """A head of the colours' encoder, in the place of one that was fitted: how much red, green and blue count."""

    channels: tuple[float, float, float]
    calibration: None = None

    def fingerprint(self) -> str:
        return "-".join(f"{weight:g}" for weight in self.channels)

    def save(self, file: Path) -> None:
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(self.channels), encoding="utf-8")


def weights(number: int) -> Weights:
    """The head of the n-th tune: each is a space of its own."""
    return Weights((1.0, 1 + number / 1000, 1.0))


def tune(library: str, first: str) -> None:
    """Builds the space of one head after another and switches to it, as `tune` does when it has fitted one."""
    opened = open_library(library)
    for number in range(int(first), 10_000):
        opened.use_head(weights(number))
        say(tuned=number)


def catalogue(folder: Path, names: Sequence[str], number: int) -> Path:
    """The n-th edition of a catalogue of these files."""
    file = folder / f"catalogue-{number}.csv"
    file.write_text("file,edition\n" + "".join(f"{name},{number}\n" for name in names), encoding="utf-8")
    return file


def describe(library: str, first: str, scratch: str) -> None:
    """Imports one edition of a catalogue after another."""
    opened = open_library(library)
    names = sorted(Path(file.path).name for row in opened.store.rows() for file in row.files)
    for number in range(int(first), 10_000):
        opened.add(catalogue=catalogue(Path(scratch), names, number))
        say(described=number)


def repair(library: str) -> None:
    """Repairs a library, and says what is lost."""
    import lancedb  # noqa: F401 (until it is imported there is nothing to lose)

    say(ready=True)
    try:
        report = viewfinder.library.Library.repair(Path(library), encoder="colours")
    except (ViewfinderError, OSError) as error:
        give_up(error)
    say(lost=report.lost, mended=report.mended)


class Unhurried(ColourEncoder):
    """Takes a moment for a batch, so that there is one to be killed in."""

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        time.sleep(0.002 * len(batch))
        return super().pictures(batch, regions=regions)


def features(dataset: str, out: str) -> None:
    """Computes the vectors of a folder; says how many pictures are done."""
    from viewfinder.encoders.features import compute

    compute.MAX_PICTURES = BATCH
    say(ready=True)
    compute.features(
        Path(dataset), Unhurried(), regions=True, out=Path(out), workers=1,
        progress=lambda done, total: say(done=done, total=total),
    )  # fmt: skip
    say(whole=True)


def serve(*arguments: str) -> None:
    """The server, with a clock that SIGUSR1 sets back by a day."""
    from viewfinder.cli import main

    real, back = time.time, [0.0]
    signal.signal(signal.SIGUSR1, lambda *_: back.__setitem__(0, 86_400.0))
    time.time = lambda: real() - back[0]
    sys.argv = ["viewfinder", "serve", *arguments]
    main()


if __name__ == "__main__":
    if sys.argv[1] != "serve" and "starter" not in sys.argv:
        vars(viewfinder.library)["load_encoder"] = load_colour_encoder
        tables.FIRST_BATCH = tables.MAX_BATCH = BATCH
        os.nice(1)
    programs: dict[str, Callable[..., None]] = {
        "add": add, "tune": tune, "describe": describe, "repair": repair, "features": features, "serve": serve,
    }  # fmt: skip
    programs[sys.argv[1]](*sys.argv[2:])
