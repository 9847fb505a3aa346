"""How long worlds take to make, all files included, and what they give away. Writes benchmarks/results/worlds.json.

python benchmarks/worlds.py DATA         # DATA holds fashion-products/
python benchmarks/worlds.py --language   # only what drawn worlds give away, in both languages
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path
from statistics import mean, median
from typing import Any
from unittest.mock import patch

import world_audit as audit
from freshness import RESULTS
from machine import describe_host
from measuring import read_figures, write_json
from PIL import Image

from viewfinder.worlds import write_world
from viewfinder.worlds.kinds import HEIGHT, WIDTH
from viewfinder.worlds.words import LANGUAGES, Language


def main() -> None:
    """Make one world of each sort into a folder that is thrown away."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--language", action="store_true")
    parser.add_argument("--scenes", type=int, default=6500, help="of which 1,000 are for testing")
    parser.add_argument("--out", type=Path, default=RESULTS / "worlds.json")
    given = parser.parse_args()
    known = read_figures(given.out)
    if given.language:
        known["language"] = {name: audit_language(name, given.scenes) for name in LANGUAGES}
        known["language_machine"] = describe_host()
        write_json(given.out, known)
        return
    if given.data is None:
        parser.error("name the folder of data")
    photos = given.data.resolve() / "fashion-products"
    sorts: dict[str, dict[str, Any]] = {
        "5,000 drawn scenes": {"kind": "scenes", "count": 5000},
        "1,000 scenes of product photos": {"kind": "scenes", "count": 1000, "sprites": photos},
        "a catalogue of 1,000 drawn articles": {"kind": "catalogue", "count": 1000},
        "a catalogue over all product photos": {"kind": "catalogue", "count": 0, "sprites": photos},
    }
    results = {name: time_world(**asked) for name, asked in sorts.items()}
    write_json(given.out, known | {"worlds": results, "machine": describe_host()})


def time_world(**asked: Any) -> dict[str, float]:
    """Seconds by the clock and of all processors, and pictures made."""
    before, started = processors(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        report = write_world(Path(folder) / "world", seed=1, workers=os.cpu_count() or 1, **asked)
        figures = {
            "pictures": report.pictures,
            "seconds": round(time.perf_counter() - started, 1),
            "cpu_seconds": round(processors() - before, 1),
        }
    print(asked, figures, flush=True)
    return figures


def audit_language(language: Language, scenes: int) -> dict[str, float]:
    """Figures of `world_audit.py` on a world of scenes and one of 1,000 articles."""
    blank = Image.new("RGB", (WIDTH, HEIGHT))  # nothing here looks at pictures, and drawing takes most of the time
    with tempfile.TemporaryDirectory() as folder:
        homes = {kind: Path(folder) / kind for kind in ("scenes", "catalogue")}
        for kind, count in (("scenes", scenes), ("catalogue", 1000)):
            with patch("viewfinder.worlds.write.draw_scene", return_value=blank):
                write_world(homes[kind], kind=kind, count=count, seed=1, language=language)
        train, test = (audit.beginnings(homes["scenes"], split) for split in ("train", "test"))
        found: dict[str, float] = {
            f"question or search, by {words} first words": audit.decide_by_beginning(train, test, words)
            for words in (1, 2, 3, 4)
        }
        fits = {
            "mChat": audit.fits_of_chats(homes["scenes"]),
            "transactions": audit.fits_of_transactions(homes["catalogue"]),
        }
        for name, some in fits.items():
            found[f"{name}, dialogues"] = len(some)
            found[f"{name}, told by the last turn"] = mean(one.told_by_last for one in some)
            found[f"{name}, fit the last turn, median"] = median(one.last for one in some)
            found[f"{name}, told by all turns"] = mean(one.whole_has_target and one.whole == 1 for one in some)
            found[f"{name}, three at most fit all turns"] = mean(
                one.whole_has_target and one.whole <= 3 for one in some
            )
        for kind, home in homes.items():
            heard, new = audit.sentences(home, "train"), audit.sentences(home, "test")
            found |= {f"{kind}, {what} repeated": audit.share_repeated(heard[what], new[what]) for what in heard}
    print(language, found, flush=True)
    return {name: round(value, 4) for name, value in found.items()}


def processors() -> float:
    """Seconds of processors so far, of this process and of the workers that ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


if __name__ == "__main__":
    main()
