"""Damage to every kind of file of a library: it is said in one line, or healed; no answer is silently wrong."""

from __future__ import annotations

import io
import json
import math
import os
import random
import re
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.hostile.attack import Outcome, Server, colours, is_one_clear_line, run_program
from tests.hostile.victims import catalogue, weights
from viewfinder.cli import run
from viewfinder.encoders.starter.encoder import SHIPPED_HEAD, load_head
from viewfinder.library import Library
from viewfinder.store.regions import StoredVectors
from viewfinder.testing import tiny_pictures

PICTURES = 40

SCORE_DIFFERENCE = 2e-3
"""Between vectors in half precision and those of the same pictures, made again."""


def _flip(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]


def _scramble(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return (data[:at] + chance.randbytes(64) + data[at + 64 :])[: len(data)]


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


DAMAGES: dict[str, Callable[[bytes, random.Random], bytes | None]] = {
    "flipped": _flip,
    "gone": lambda data, chance: None,
    "scrambled": _scramble,
    "cut": _cut,
    "zeros": lambda data, chance: b"\0" * len(data),
    "empty": lambda data, chance: b"",
}
"""None: the file is deleted."""


def kinds_of_files(library: Path) -> dict[str, list[Path]]:
    """The files of a library by their kind: their place, without what is counted or hashed in it."""
    found: dict[str, list[Path]] = defaultdict(list)
    for file in sorted(library.rglob("*")):
        # Colours have heads of the tests' own making: `damage_head` is for real ones.
        if file.is_file() and not file.name.endswith(".lock") and file.parent.name != "heads" and file.stat().st_size:
            place = str(file.relative_to(library))
            kind = re.sub(
                r"-?[0-9a-f]{8,}(-[0-9a-f]+)*", "#", re.sub(r"\d+", "#", place) if "snapshots" in place else place
            )
            found[re.sub(r"[#0-9a-f-]*#[#0-9a-f-]*", "#", kind)].append(file.relative_to(library))
    return found


def make_library(home: Path) -> Path:
    """Pictures, one in quarantine, captions, a catalogue, regions, a tuned head, tokens: every kind of file."""
    drawn = tiny_pictures(home / "pictures", PICTURES)
    (home / "pictures" / "9999-bad.png").write_bytes(b"no picture")
    captions = home / "captions.csv"
    captions.write_text("file,caption\n" + "".join(f"{it.path.name},{it.caption}\n" for it in drawn), encoding="utf-8")
    library = Library.open(home / "whole")
    rows = catalogue(home, [it.path.name for it in drawn], 1)
    library.add(home / "pictures", captions=captions, catalogue=rows, workers=1)
    raw = library.gallery().raw
    assert isinstance(raw, StoredVectors)
    raw.fill(library.gallery().snapshot)
    library.use_head(weights(7))
    library.find("red")
    run_program("token", "add", "ada", "--scope", "read", "--library", home / "whole")
    return home / "whole"


@dataclass(frozen=True)
class Said:
    """How the program ended, and what it said."""

    code: int
    out: str
    err: str


def call(*arguments: object) -> Said:
    """The program in this process, which saves a second and a half; what its libraries print is caught as well."""
    out, err = io.StringIO(), io.StringIO()
    kept = os.dup(2)
    with tempfile.TemporaryFile("w+", errors="replace") as printed:
        os.dup2(printed.fileno(), 2)
        try:
            with redirect_stdout(out), redirect_stderr(err):
                code = run([str(argument) for argument in arguments])
        except BaseException as error:  # a panic of a library is no Exception
            code = -1
            err.write(f"Traceback: {type(error).__name__}: {error}")
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        printed.seek(0)
        return Said(code, out.getvalue(), err.getvalue() + printed.read())


def _found(said: Said) -> Any:
    """What a find found: the same whatever the time it took."""
    return [(hit["id"], round(hit["score"], 4), hit["path"]) for hit in json.loads(said.out)["results"]]


def _facts(said: Said) -> Any:
    return {
        name: value for name, value in json.loads(said.out).items() if name not in ("library", "spaces", "with_regions")
    }


def _rest(said: Said) -> Any:
    return json.loads(said.out)


Command = tuple[Sequence[str], Callable[[Said], Any]]

COMMANDS: dict[str, Command] = {
    "find": (("find", "red over blue", "-n", "50", "--json"), _found),
    "find where": (("find", "red", "-n", "50", "--where", "edition=1", "--json"), _found),
    "status": (("status", "--json"), _facts),
    "failures": (("failures", "--json"), _rest),
    "tokens": (("token", "list", "--json"), _rest),
}


def answers(library: Path) -> dict[str, Any]:
    """What a whole library says."""
    return {name: read(call(*command, "--library", library)) for name, (command, read) in COMMANDS.items()}


def has_repair() -> bool:
    """Whether this program can repair a library."""
    return call("repair", "--help").code == 0


def damage_library(rounds: int, seed: int, home: Path) -> Outcome:
    """`rounds` times one file, of every kind in turn, is flipped, cut, emptied or deleted, and the library is used."""
    outcome, chance = Outcome("damage to a library's files"), random.Random(seed)
    with colours():
        whole = make_library(home)
        right, kinds, repairs = answers(whole), kinds_of_files(whole), has_repair()
        pairs = [(kind, name) for name in DAMAGES for kind in kinds]
        chance.shuffle(pairs)
        pairs.sort(key=lambda pair: list(DAMAGES).index(pair[1]) > 1)  # flips and deletions first
        outcome.figures |= {"kinds": len(kinds), "seen": 0, "healed": 0, "repaired": 0}
        for number in range(rounds):
            kind, name = pairs[number % len(pairs)]
            place = Path(shutil.copytree(whole, home / f"damaged-{number}"))
            file = place / chance.choice(kinds[kind])
            damaged = DAMAGES[name](file.read_bytes(), chance)
            file.unlink() if damaged is None else file.write_bytes(damaged)
            outcome.rounds += 1
            told = f"{kind} {name}"
            seen = [_used(outcome, told, place, right)]
            shutil.rmtree(place / "snapshots", ignore_errors=True)  # now everything must come from the tables
            seen.append(_used(outcome, f"{told}, without snapshots", place, right))
            verified = call("verify", "--library", place)
            outcome.check(not _is_raw(verified), f"{told}: verify says {verified.err[-300:]}")
            outcome.count("seen" if any(seen) or verified.code else "healed")
            if repairs and (any(seen) or verified.code):
                _repaired(outcome, told, place, right)
            shutil.rmtree(place)
    return outcome


def _is_raw(said: Said) -> bool:
    return said.code not in (0, 1, 2, 3) or (bool(said.err) and not is_one_clear_line(said.err))


def _used(outcome: Outcome, told: str, place: Path, right: Mapping[str, Any]) -> bool:
    """Uses a damaged library; whether anything was said about the damage."""
    seen = False
    for name, (command, read) in COMMANDS.items():
        said = call(*command, "--library", place)
        if said.code:
            seen = True
            outcome.check(not _is_raw(said), f"{told}: {name}: no clear line: {said.code} {said.err[-300:]}")
            continue
        answer = read(said)
        outcome.check(answer == right[name], f"{told}: {name} is silently wrong: {_difference(answer, right[name])}")
    return seen


def _difference(answer: Any, right: Any) -> str:
    if isinstance(answer, list) and isinstance(right, list):
        return f"{len(answer)} and {len(right)}; " + str(
            [pair for pair in zip(answer, right, strict=False) if pair[0] != pair[1]][:1]
        )
    return f"{answer} instead of {right}"[:300]


def _repaired(outcome: Outcome, told: str, place: Path, right: Mapping[str, Any]) -> None:
    """After `repair`, and an `add` of the folder, all is as before, but for what it has said to be lost."""
    said = call("repair", "--library", place, "--json")
    if not outcome.check(not _is_raw(said), f"{told}: repair: {said.code} {said.err[-300:]}"):
        return
    if not outcome.check(said.code == 0, f"{told}: repair gives up: {said.code} {said.err[-300:]} {said.out[:200]}"):
        return
    outcome.count("repaired")
    report = json.loads(said.out)
    outcome.count("lost", len(report["lost"]))
    for name, (command, read) in COMMANDS.items():
        after = call(*command, "--library", place)
        excused = bool(report["lost"] or (report["mended"] and name in ("status", "failures")))
        same = after.code == 0 and _alike(read(after), right[name])
        what = _difference(read(after), right[name]) if after.code == 0 else f"{after.code} {after.err[-300:]}"
        good = same or (excused and not _is_raw(after))
        outcome.check(good, f"{told}: {name} after repair: {what}; it said {said.out[:300]}")
    again = call("add", place.parent / "pictures", "--library", place, "--json", "--workers", "1")
    outcome.check(again.code in (0, 3), f"{told}: add after repair: {again.code} {again.err[-300:]}")
    for name in ("find", "failures"):
        command, read = COMMANDS[name]
        after = call(*command, "--library", place)
        same = after.code == 0 and _alike(read(after), right[name], scores=not report["lost"])
        outcome.check(same, f"{told}: {name} after repair and add: {after.code} {after.err[-300:]} {after.out[:200]}")


def _alike(answer: Any, right: Any, *, scores: bool = True) -> bool:
    """The same, but for the last digits of scores: vectors that are made again were rounded before.

    Without `scores` (captions are lost, which count in them) the same pictures are enough.
    """
    if not isinstance(answer, list):
        return bool(answer == right)
    given, expected = ({(id, path): score for id, score, path in found} for found in (answer, right))
    close = (abs(given[it] - expected.get(it, math.inf)) < SCORE_DIFFERENCE for it in given)
    return given.keys() == expected.keys() and (not scores or all(close))


def damage_head(rounds: int, seed: int, home: Path) -> Outcome:
    """The file of a tuned head: a damaged one is said in one line, and `tune --undo` goes back to the one before."""
    outcome, chance = Outcome("damage to a tuned head"), random.Random(seed)
    tiny_pictures(home / "pictures", 20)
    library = Library.open(home / "whole")
    library.add(home / "pictures", workers=1)
    head = load_head(SHIPPED_HEAD)
    library.use_head(replace(head, visual_bias_d=head.visual_bias_d + np.float32(0.01)))
    command, read = COMMANDS["find"]
    right = read(call(*command, "--library", home / "whole"))
    for number in range(rounds):
        place = Path(shutil.copytree(home / "whole", home / f"damaged-{number}"))
        [file] = (place / "heads").glob("*.safetensors")
        name = list(DAMAGES)[number % len(DAMAGES)]
        damaged = DAMAGES[name](file.read_bytes(), chance)
        file.unlink() if damaged is None else file.write_bytes(damaged)
        outcome.rounds += 1
        said = call(*command, "--library", place)
        if said.code:
            outcome.count("seen")
            outcome.check(not _is_raw(said), f"{name}: no clear line: {said.code} {said.err[-300:]}")
        else:
            outcome.check(read(said) == right, f"{name}: find is silently wrong: {_difference(read(said), right)}")
        undone = call("tune", "--undo", "--library", place)
        after = call(*command, "--library", place)
        outcome.check((undone.code, after.code) == (0, 0), f"{name}: undo: {undone.err[-300:]} {after.err[-300:]}")
        shutil.rmtree(place)
    return outcome


def damage_thumbnails(rounds: int, seed: int, home: Path) -> Outcome:
    """The small copies that a server keeps: a damaged one is made again or refused, and never served in pieces."""
    outcome, chance = Outcome("damage to thumbnails"), random.Random(seed)
    tiny_pictures(home / "pictures", 6, size=(480, 320))
    run_program("add", home / "pictures", "--library", home / "library")
    with Server(home / "library").wait_until_ready() as server:
        client = server.client()
        [first, *_] = [hit["id"] for hit in client.ask("POST", "/search", {"text": "red"}).json["results"]]
        address = f"/pictures/{first}/thumbnail?size=320"
        client.ask("GET", address)
        right = client.ask("GET", address)
        files = [it for it in (home / "library" / "thumbnails").rglob("*") if it.is_file()]
        outcome.figures["files"] = len(files)
        for _ in range(rounds):
            outcome.rounds += 1
            file, name = chance.choice(files), chance.choice(list(DAMAGES))
            if not file.exists() or not file.stat().st_size:
                client.ask("GET", address)
            if not file.exists() or not file.stat().st_size:
                break
            before = file.read_bytes()
            damaged = DAMAGES[name](before, chance)
            file.unlink() if damaged is None else file.write_bytes(damaged)
            answer = client.ask("GET", address)
            good = (
                answer.status == 200 and _is_picture(answer.body) and (name == "flipped" or answer.body == right.body)
            )
            outcome.check(
                good or answer.status in (404, 410, 503), f"a thumbnail {name}: {answer.status} {answer.body[:80]!r}"
            )
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(before)
    return outcome


def _is_picture(data: bytes) -> bool:
    try:
        with Image.open(BytesIO(data)) as image:
            image.load()
    except Exception:
        return False
    return True
