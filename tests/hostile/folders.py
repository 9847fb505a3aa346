"""Folders that nobody would make in good faith: `add` ends, in time and with little memory, and takes what is good."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path

from PIL import Image

from tests.hostile.attack import VICTIM, Outcome, Victim, colours, run_program
from tests.hostile.pictures import MOST_BYTES, bomb, is_reason, watch
from viewfinder.library import Library
from viewfinder.testing import tiny_pictures


def _fifo_rules(folder: Path) -> None:
    os.mkfifo(folder / ".viewfinderignore")


def _endless_rules(folder: Path) -> None:
    (folder / ".viewfinderignore").symlink_to("/dev/zero")


def _backtracking_rules(folder: Path) -> None:
    (folder / ".viewfinderignore").write_text("*a" * 20 + "\n" + "**/*a" * 12 + "b\n")
    Image.new("RGB", (9, 9)).save(folder / ("a" * 200 + ".png"))


def _many_rules(folder: Path) -> None:
    (folder / ".viewfinderignore").write_text("".join(f"nothing-{number}*.jpg\n" for number in range(300_000)))


def _folder_of_rules(folder: Path) -> None:
    (folder / ".viewfinderignore").mkdir()
    (folder / "below").mkdir()
    (folder / "below" / ".viewfinderignore").write_bytes(b"\xff\xfe\0*\0\n[[[[\n!\n\\\n")


def _no_files(folder: Path) -> None:
    os.mkfifo(folder / "pipe.jpg")
    leads = {"zero.jpg": "/dev/zero", "random.png": "/dev/urandom", "full.gif": "/dev/full", "itself.png": "itself.png"}
    for name, target in (leads | {"memory.jpg": "/proc/self/mem", "nowhere.webp": "gone"}).items():
        (folder / name).symlink_to(target)
    with socket.socket(socket.AF_UNIX) as listener, suppress(OSError):
        listener.bind(str(folder / "s.jpg"))
    with (folder / "sparse.png").open("wb") as file:
        file.truncate(1 << 40)


def _odd_names(folder: Path) -> None:
    names = (
        "line\nbreak",
        "\x1b[2Jclears",
        "\u202egnp.",
        "-rf",
        "%s%n",
        "'; DROP TABLE",
        "a" * 240,
        "\udcff",
        " ",
        "..x",
    )
    for number, name in enumerate(names):
        with suppress(OSError):
            Image.new("RGB", (9, 9), (number, 0, 0)).save(folder / f"{name}.png")


def _circles(folder: Path) -> None:
    place = folder
    for _ in range(150):
        place /= "deeper"
        place.mkdir()
    (place / "up").symlink_to(folder)
    for number in range(8):
        (folder / f"around-{number}").symlink_to(folder, target_is_directory=True)


def _bombs(folder: Path) -> None:
    (folder / "bomb.png").write_bytes(bomb(60_000, 60_000))
    (folder / "high.png").write_bytes(bomb(1, 4000))
    frame = BytesIO()
    images = [Image.new("P", (60, 60), number % 256) for number in range(300)]
    images[0].save(frame, "GIF", save_all=True, append_images=images[1:])
    (folder / "frames.gif").write_bytes(frame.getvalue())
    (folder / "comments.jpg").write_bytes(b"\xff\xd8" + (b"\xff\xfe\xff\xff" + b"x" * 65_533) * 300)
    for number in range(500):
        (folder / f"empty-{number}.jpg").touch()


def _libraries(folder: Path) -> None:
    (folder / "library.vf" / "tables").mkdir(parents=True)
    (folder / "library.vf" / "library.json").write_text("{")
    Image.new("RGB", (9, 9)).save(folder / "library.vf" / "thumbnail.png")


FOLDERS: dict[str, Callable[[Path], None]] = {
    "rules in a pipe": _fifo_rules,
    "endless rules": _endless_rules,
    "rules that backtrack": _backtracking_rules,
    "no regular files": _no_files,
    "odd names": _odd_names,
    "circles and depths": _circles,
    "bombs": _bombs,
    "a folder of rules": _folder_of_rules,
    "300,000 rules": _many_rules,
    "a library inside": _libraries,
}
LONGEST_S = 45.0
"""More than twice what one hostile file may take."""


def hostile_folders(rounds: int, seed: int, home: Path) -> Outcome:
    """Each holds three good pictures, which are taken; `add` ends in time and says what is wrong."""
    outcome = Outcome("hostile folders")
    for name, build in list(FOLDERS.items())[:rounds]:
        folder, place = home / name.replace(" ", "-"), home / f"library-{len(name)}-{outcome.rounds}"
        good = {str(it.path) for it in tiny_pictures(folder, 3)}
        build(folder)
        started = time.monotonic()
        outcome.rounds += 1
        with Victim([*VICTIM, "add", place, folder]) as victim:
            peak = watch(victim, LONGEST_S)
            seconds = time.monotonic() - started
            if victim.process.returncode == -9:
                outcome.check(False, f"{name}: add was ended after {seconds:.0f} s, at {peak / 1e6:.0f} MB")
                continue
            outcome.check(victim.process.returncode == 0, f"{name}: add failed: {victim.complaints()[-300:]}")
        outcome.most("seconds_most", round(seconds, 1))
        outcome.most("peak_mb", round(peak / 1e6))
        outcome.check(peak < MOST_BYTES, f"{name}: the main process came to {peak / 1e6:.0f} MB")
        with colours():
            library = Library.open(place, create=False)
            known = {file.path for row in library.store.rows() for file in row.files}
            outcome.check(good <= known, f"{name}: {len(good - known)} of three good pictures are missing")
            strange = [it for it in library.failures() if not is_reason(it.reason)]
            outcome.check(not strange, f"{name}: no reason for people: {strange[:2]}")
        if name == "odd names":
            _said_safely(outcome, name, place)
    outcome.figures["seed"] = seed
    return outcome


def _said_safely(outcome: Outcome, name: str, place: Path) -> None:
    """What `failures` prints of such names leaves a terminal as it is, a line each."""
    code, said, complaints = run_program("failures", "--library", place)
    unsafe = [letter for letter in said if ord(letter) < 32 and letter != "\n"]
    outcome.check(code == 0 and not unsafe, f"{name}: `failures` prints {unsafe[:3]} {complaints[-200:]}")
    code, said, _ = run_program("failures", "--library", place, "--json")
    with suppress(ValueError):
        json.loads(said)
        return
    outcome.check(False, f"{name}: `failures --json` is no JSON: {said[:100]}")
