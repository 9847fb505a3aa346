"""kill -9 at random moments: nothing that was acknowledged is lost, nothing is there twice, nothing is left over."""

from __future__ import annotations

import json
import random
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.hostile.attack import VICTIM, Outcome, Victim, colours
from tests.hostile.victims import Unhurried, catalogue, weights
from viewfinder.encoders.features import features
from viewfinder.errors import ViewfinderError
from viewfinder.library import Library
from viewfinder.pictures import decode_one
from viewfinder.store.tables import REPAIR, REPORT
from viewfinder.testing import ColourEncoder, tiny_pictures

PICTURES = 96
LONGEST_S = 1.0
"""The kill comes within so much of the moment when the victim is ready."""

Said = list[dict[str, Any]]


def _kill_soon(outcome: Outcome, seconds: float, *command: object, by: int = signal.SIGKILL) -> Said:
    """Starts a victim, kills it so long after it is ready (a round, had it not ended), looks for what lives on."""
    with Victim([*VICTIM, *command]) as victim:
        first = victim.line()
        said = [json.loads(line) for line in victim.lines_until_killed(seconds, by)]
        code = victim.process.returncode
        if not outcome.check(
            "ready" in first and code in (0, -9, -2), f"{command[0]} failed: {victim.complaints()[-300:]}"
        ):
            outcome.rounds += 1
            return []
        outcome.rounds += code in (-9, -2)
        left = victim.left_over()
        outcome.check(not left, f"processes outlive a killed {command[0]}: {left}")
    return said


def _last(said: Said, word: str, before: int) -> int:
    return max([before, *(int(line[word]) for line in said if word in line)])


def check_whole(outcome: Outcome, library: Library, when: str) -> None:
    """Every picture once, each path once, every picture with its right vector in the spaces, and the library opens."""
    try:
        rows = library.store.rows()
        outcome.check(len({row.id for row in rows}) == len(rows), f"a picture is there twice {when}")
        paths = Counter(file.path for row in rows for file in row.files)
        outcome.check(max(paths.values(), default=1) == 1, f"a file is there twice {when}: {paths.most_common(1)}")
        # A killed `add` may leave vectors of pictures that it has not acknowledged: that is said, and it goes on.
        problems = [line for line in library.verify() if not line.startswith("no picture for")]
        outcome.check(not problems, f"verify {when}: {problems[:3]}")
        encoder = library.encoder
        for row in random.Random(len(rows)).sample(rows, min(4, len(rows))):
            raw_1d = encoder.pictures([decode_one(Path(row.files[0].path), encoder.fit).pixels]).global_bd
            stored_1d = library.store.read_vectors_of(encoder.raw_version, [row.id])
            outcome.check(np.allclose(raw_1d, stored_1d, atol=2e-3), f"a wrong vector {when}")
        if rows:
            found = library.find("red", n=len(rows) + 9, fold=False)
            outcome.check(
                len(found) == sum(bool(row.files) for row in rows), f"find gives {len(found)} of {len(rows)} {when}"
            )
    except Exception as error:
        outcome.check(False, f"the library fails {when}: {type(error).__name__}: {error}")


def check_no_orphans(outcome: Outcome, library: Library, when: str) -> None:
    """Once a verb has run to its end: vectors of exactly the pictures, once each; no scratch files."""
    ids = sorted(library.store.ids())
    outcome.check(not library.store.vectors_without_picture(), f"vectors without a picture {when}")
    for space in {library.encoder.raw_version, library.encoder.version}:
        vectors, _ = library.store.read_vectors(space)
        outcome.check(sorted(vectors) == ids, f"{space} {when}: {len(vectors)} vectors of {len(ids)} pictures")
    litter = [it.name for it in library.folder.rglob("*") if ".new-" in it.name or it.name.startswith(".building-")]
    outcome.check(not litter, f"litter {when}: {litter[:3]}")


def kill_add(rounds: int, seed: int, home: Path) -> Outcome:
    """`add` of a folder with bad files and copies in it, gone on with until it is done; then of another folder."""
    outcome, chance, turn = Outcome("kill -9 of add"), random.Random(seed), 0
    with colours():
        while outcome.rounds < rounds:
            turn += 1
            drawn = tiny_pictures(home / f"pictures-{turn}", PICTURES)
            folder, place = home / f"pictures-{turn}", home / f"library-{turn}"
            (folder / "0005-bad.png").write_bytes(b"no picture")
            (folder / "0050-copy.png").write_bytes(drawn[3].path.read_bytes())
            files = sorted(str(file) for file in folder.iterdir())
            known: set[str] = set()
            ended = False
            while not ended:
                seconds = chance.uniform(0, LONGEST_S) if outcome.rounds < rounds else 60
                said = _kill_soon(outcome, seconds, "add", place, folder)
                ended = any("report" in line for line in said) or seconds == 60
                acknowledged = known | set([it for it in files if it not in known][: _last(said, "done", 0)])
                known = _check_added(outcome, place, acknowledged)
            if place.exists():
                library = Library.open(place)
                outcome.check(known == set(files), f"{len(files) - len(known)} files are missing at the end")
                outcome.check(
                    len(library.store.ids()) == PICTURES, f"{len(library.store.ids())} pictures, not {PICTURES}"
                )
                check_no_orphans(outcome, library, "after add has ended")
    return outcome


def _check_added(outcome: Outcome, place: Path, acknowledged: set[str]) -> set[str]:
    """What the library knows now, after the check that it is all that was acknowledged."""
    if not (place / "library.json").exists():
        outcome.check(not acknowledged, "pictures were acknowledged, and there is no library")
        return set()
    library = Library.open(place, create=False)
    rows, failures = library.store.rows(), library.failures()
    known = {file.path for row in rows for file in row.files} | {failure.path for failure in failures}
    outcome.check(acknowledged <= known, f"lost after add: {sorted(acknowledged - known)[:3]}")
    check_whole(outcome, library, "after a killed add")
    return known


def _prepared(home: Path) -> Library:
    tiny_pictures(home / "pictures", PICTURES)
    library = Library.open(home / "library")
    library.add(home / "pictures", workers=1)
    return library


def kill_tune(rounds: int, seed: int, home: Path) -> Outcome:
    """Spaces of new heads, switched to: the active one is the last that was acknowledged or the next, whole."""
    outcome, chance, done = Outcome("kill -9 of tune"), random.Random(seed), 0
    with colours():
        _prepared(home)
        while outcome.rounds < rounds:
            said = _kill_soon(outcome, chance.uniform(0, LONGEST_S), "tune", home / "library", done + 1)
            done = _last(said, "tuned", done)
            library = Library.open(home / "library", create=False)
            wanted = {number: _space_of(number) for number in (done, done + 1)}
            active = next((number for number, space in wanted.items() if space == library.settings.space), None)
            if outcome.check(active is not None, f"tune {done} was acknowledged, {library.settings.space} is active"):
                done = active or 0
            check_whole(outcome, library, "after a killed tune")
        outcome.figures["tuned"] = done
        library.use_head(weights(done + 1))
        check_no_orphans(outcome, library, "after tune has ended")
    return outcome


def _space_of(number: int) -> str:
    return ColourEncoder(channels=weights(number).channels).version


def kill_describe(rounds: int, seed: int, home: Path) -> Outcome:
    """Editions of a catalogue: every picture has at least the last edition that was acknowledged, and one only."""
    outcome, chance, done = Outcome("kill -9 of a catalogue import"), random.Random(seed), 0
    with colours():
        library = _prepared(home)
        while outcome.rounds < rounds:
            said = _kill_soon(outcome, chance.uniform(0, LONGEST_S), "describe", home / "library", done + 1, home)
            done = _last(said, "described", done)
            rows = library.store.rows()
            editions = Counter(row.attributes.get("edition", ("0",)) for row in rows)
            oldest = min(int(edition[0]) for edition in editions)
            outcome.check(oldest >= done, f"edition {done} was acknowledged, {oldest} is there")
            outcome.check(all(len(edition) == 1 for edition in editions), f"two editions at once: {list(editions)[:3]}")
            done = max(int(edition[0]) for edition in editions)
            check_whole(outcome, library, "after a killed catalogue import")
        outcome.figures["editions"] = done
    return outcome


def kill_repair(rounds: int, seed: int, home: Path) -> Outcome:
    """A library damaged in one way after another, whose repair is killed until it is let go on: no row is lost.

    Half of the kills are SIGINT. All rows are in the last snapshot, and all pictures are there, so nothing may be lost
    of what the pictures' table held; meanwhile every verb says that the repair is to be repeated.
    """
    outcome, chance, turn = Outcome("kill -9 and SIGINT of repair"), random.Random(seed), 0
    with colours():
        library = _prepared(home)
        names = [Path(row.files[0].path).name for row in library.store.rows()]
        library.add(catalogue=catalogue(home, names, 1))
        library.gallery()
        rows, ways = library.store.rows(), list(HARMS)
        outcome.figures |= {"repairs": 0, "half_repaired": 0}
        while outcome.rounds < rounds:
            place = Path(shutil.copytree(library.folder, home / f"damaged-{turn}"))  # whose files are as old as it is
            way = ways[turn % len(ways)]
            HARMS[way](place, chance)
            turn += 1
            ended = False
            while not ended:
                last = outcome.rounds >= rounds
                by = signal.SIGKILL if last else chance.choice([signal.SIGKILL, signal.SIGINT])
                said = _kill_soon(outcome, 60 if last else LONGEST_S * chance.random() ** 2, "repair", place, by=by)
                ended = last or any("lost" in line for line in said)
                if not ended and (place / REPAIR / REPORT).exists():
                    outcome.count("half_repaired")
                    told = _told_when_opened(place)
                    outcome.check("`viewfinder repair" in told, f"{way}: a half repaired library says {told}")
            outcome.count("repairs")
            lost = [line for entry in said for line in entry.get("lost", ())]
            outcome.check(not lost, f"{way}: said to be lost: {lost[:3]}")
            mended = Library.open(place, create=False)
            outcome.check(mended.store.rows() == rows, f"{way}: {len(mended.store.rows())} rows of {len(rows)}")
            check_whole(outcome, mended, f"after a killed repair of {way}")
            check_no_orphans(outcome, mended, f"after a killed repair of {way}")
            outcome.check(not (place / REPAIR).exists(), f"{way}: the repair has left its folder")
            shutil.rmtree(place)
    return outcome


def _told_when_opened(place: Path) -> str:
    try:
        Library.open(place, create=False)
    except ViewfinderError as error:
        return str(error)
    return "nothing"


def _flip_all(place: Path, chance: random.Random, *tables: str) -> None:
    for file in [file for table in tables for file in (place / f"tables/{table}.lance/data").iterdir()]:
        content = bytearray(file.read_bytes())
        content[chance.randrange(len(content))] ^= 16
        file.write_bytes(content)


HARMS: dict[str, Callable[[Path, random.Random], None]] = {
    "pictures": lambda place, chance: _flip_all(place, chance, "pictures"),
    "pictures and raw vectors": lambda place, chance: _flip_all(place, chance, "pictures", "vectors.colours-raw-1"),
    "the last version of pictures": lambda place, chance: min(
        (place / "tables/pictures.lance/_versions").glob("*.manifest")
    ).unlink(),
    "raw vectors": lambda place, chance: _flip_all(place, chance, "vectors.colours-raw-1"),
    "the active space": lambda place, chance: shutil.rmtree(place / "tables/vectors.colours-raw-1-1-1-1.lance"),
    "the list of spaces": lambda place, chance: _flip_all(place, chance, "spaces"),
}
"""Ways to damage a library of which nothing need be lost."""


def kill_features(rounds: int, seed: int, home: Path) -> Outcome:
    """Vectors of a data set: what was done is not done again, and the files are those of a run without kills."""
    outcome, chance, turn = Outcome("kill -9 of features"), random.Random(seed), 0
    tiny_pictures(home / "pictures", PICTURES)
    features(home / "pictures", Unhurried(), regions=True, out=home / "whole", workers=1)
    whole = _contents(home / "whole")
    while outcome.rounds < rounds:
        turn += 1
        done, ended = 0, False
        while not ended:
            last = outcome.rounds >= rounds
            said = _kill_soon(outcome, 60 if last else chance.uniform(0, LONGEST_S / 2), "features", home / "pictures",
                              home / f"out-{turn}")  # fmt: skip
            begun = [line["done"] for line in said if "done" in line][:1]
            outcome.check(not begun or begun[0] >= done, f"{done} pictures were done, {begun} when it went on")
            done, ended = _last(said, "done", done), last or any("whole" in line for line in said)
        outcome.check(_contents(home / f"out-{turn}") == whole, "other files than those of a run that was never killed")
    return outcome


def _contents(folder: Path) -> Mapping[str, bytes]:
    there = (file for file in folder.rglob("*") if file.is_file() and file.name != "writing.lock")
    return {str(file.relative_to(folder)): file.read_bytes() for file in there}
