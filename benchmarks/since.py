"""What has become of every kind of turn, memory, adding and starting since an older commit? Writes results/since.json.

    git archive COMMIT | tar x -C OLD
    python benchmarks/since.py DATA --before OLD/src --libraries BEFORE NOW [--small BEFORE NOW]

Each library is one that `scale.py` has made of the same vectors with that version (`open_library`, and its index). All
of it is done through the Python API and the command line that both versions have, in processes of their own, which take
turns: before, now, before, now. Processor seconds also mean something on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from freshness import RESULTS
from measuring import write_figures
from start import FIND, OURS, environment, summarise, time_process, time_server

ROUNDS = 3
ASKED, BUTS = 20, 5
"""Conversations of a kind; those of "but red", which took seconds a million."""

LARGE = 60
"""Photographs of 12 megapixels that are added."""

WARM = 8
"""Turns before the first that counts: what is computed once is computed by then."""


def main() -> None:
    """Measures part by part, and writes the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--libraries", type=Path, nargs=2, required=True)
    parser.add_argument("--small", type=Path, nargs=2)
    parser.add_argument("--commit", default="c187e07", help="what `--before` is")
    parser.add_argument("--out", type=Path, default=RESULTS / "since.json")
    parser.add_argument("--work", choices=["talk", "add"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        print(json.dumps(talk_here(given.data) if given.work == "talk" else add_here(given.data)))
        return
    sources = {"before": given.before.resolve(), "now": OURS}
    folders = dict(zip(sources, given.libraries, strict=True))
    results: dict[str, Any] = {"commit": given.commit, "pictures": count_pictures(given.libraries[1])}
    captions = captions_of(given.data)
    results["talk"] = pair(sources, lambda name: run_here(sources[name], "talk", folders[name], captions))
    print(json.dumps(results["talk"], indent=1), flush=True)
    with large_photographs(given.data) as files:
        results["add"] = pair(sources, lambda name: run_here(sources[name], "add", files, []))
    print(json.dumps(results["add"], indent=1), flush=True)
    results["start"] = start_all({"large": given.libraries} | ({"small": given.small} if given.small else {}), sources)
    print(json.dumps(results["start"], indent=1), flush=True)
    results["load"] = round(os.getloadavg()[1], 1)
    write_figures("since", results, given.out)


def count_pictures(folder: Path) -> int:
    """The pictures of a library of this version."""
    import viewfinder

    return int(viewfinder.open(folder).status()["pictures"])


def pair(sources: Mapping[str, Path], work: Callable[[str], dict[str, float]]) -> dict[str, Any]:
    """Each figure of both versions, round by round, and the ratios before / now: their median and range."""
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in sources}
    for _ in range(ROUNDS):
        for name in sources:
            rounds[name].append(work(name))
    found: dict[str, Any] = {}
    for figure in rounds["now"][0]:
        before, now = ([one[figure] for one in rounds[name]] for name in ("before", "now"))
        ratios = [old / max(new, 1e-9) for old, new in zip(before, now, strict=True)]
        found[figure] = {
            "before": round(statistics.median(before), 3), "now": round(statistics.median(now), 3),
            "ratio": round(statistics.median(ratios), 2), "ratios": [round(min(ratios), 2), round(max(ratios), 2)],
        }  # fmt: skip
    return found


def run_here(source: Path, work: str, given: Path, said: Sequence[str]) -> dict[str, float]:
    """This file's `work` in a process with the package of a source folder."""
    command = [sys.executable, __file__, str(given), "--work", work, "--before", ".", "--libraries", ".", "."]
    done = subprocess.run(
        command, input=json.dumps(list(said)), env=environment(source), capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stderr)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def start_all(folders: Mapping[str, Sequence[Path]], sources: Mapping[str, Path]) -> dict[str, Any]:
    """Cold `find`, and a server's first page and search, of libraries of both versions."""
    found: dict[str, Any] = {}
    for size, pair_of in folders.items():
        own = dict(zip(sources, pair_of, strict=True))
        spent: dict[str, dict[str, list[tuple[float, float]]]] = {name: {} for name in sources}
        for at in range(ROUNDS + 1):
            for name, source in sources.items():
                steps = [time_process(FIND.format(options=["--library", str(own[name].resolve())]), source)]
                steps += time_server(own[name], source)
                for step, times in zip(("find", "first page", "first search"), steps, strict=True):
                    if at:  # the first round reads files that no cache has
                        spent[name].setdefault(step, []).append(times)
        found[size] = {name: {step: summarise(times) for step, times in steps.items()} for name, steps in spent.items()}
    return found


# -- in a process of either version, by what both have


def talk_here(folder: Path) -> dict[str, float]:
    """Milliseconds of processor and of the clock for the last turn of each kind, question included; then memory."""
    import viewfinder
    from viewfinder.conversation import Answer, Like, Reject, Say

    captions: list[str] = json.loads(sys.stdin.read())
    library = viewfinder.open(folder)
    said = iter(captions)

    def begin(where: Mapping[str, str] | None = None) -> tuple[Any, Any]:
        chat = library.chat(where=where)
        hits = chat.search(Say(next(said)))
        return chat, hits

    def take(chat: Any, turn: Any) -> None:
        chat.search(turn)
        chat.follow_up()

    def describe() -> Iterator[None]:
        chat = library.chat()
        yield
        take(chat, Say(next(said)))

    def describe_where(column: str) -> Callable[[], Iterator[None]]:
        def some() -> Iterator[None]:
            chat = library.chat(where={column: "yes"})
            yield
            take(chat, Say(next(said)))

        return some

    def answer() -> Iterator[None]:
        chat, _ = begin()
        question = chat.follow_up()
        yield
        take(chat, Answer(question, question.choices[0] if question.choices else "a dog"))

    def say_but() -> Iterator[None]:
        chat, hits = begin()
        yield
        take(chat, Like(hits[1].id, "red"))

    def pick() -> Iterator[None]:
        chat, hits = begin()
        yield
        take(chat, Like(hits[1].id))

    def reject() -> Iterator[None]:
        chat, hits = begin()
        yield
        take(chat, Reject(tuple(hit.id for hit in hits), "without people"))

    def place() -> Iterator[None]:
        chat, hits = begin()
        yield
        chat.rank_of(hits[5].id)

    kinds: dict[str, tuple[Callable[[], Iterator[None]], int]] = {
        "a description": (describe, 2 * ASKED), "an answer": (answer, ASKED), "but red": (say_but, BUTS),
        "a picture picked": (pick, ASKED), "a page rejected, without people": (reject, ASKED),
        "half allowed": (describe_where("half"), ASKED), "a tenth allowed": (describe_where("tenth"), ASKED),
        "rank_of": (place, ASKED),
    }  # fmt: skip
    for kind in ("a description", "an answer", "a page rejected, without people"):
        for _ in range(WARM if kind == "a description" else 2):
            list(kinds[kind][0]())
    found: dict[str, float] = {}
    for kind, (script, count) in kinds.items():
        spent = [time_last(script()) for _ in range(count)]
        found[f"{kind}, ms at work"] = round(statistics.median(used for used, _ in spent), 2)
        found[f"{kind}, ms"] = round(statistics.median(waited for _, waited in spent), 2)
        if kind == "an answer":
            found |= memory_here("after descriptions and answers")
    return found | memory_here("after all")


def time_last(script: Iterator[None]) -> tuple[float, float]:
    """Milliseconds of processor and clock of what a script does after it has yielded."""
    next(script)
    used, started = time.process_time(), time.perf_counter()
    list(script)
    return 1000 * (time.process_time() - used), 1000 * (time.perf_counter() - started)


def memory_here(when: str) -> dict[str, float]:
    """Megabytes of this process: resident, and what of them lies in no file."""
    used = psutil.Process().memory_info()
    return {f"resident MB {when}": used.rss / 1e6, f"private MB {when}": (used.rss - used.shared) / 1e6}


def add_here(folder: Path) -> dict[str, float]:
    """Milliseconds of processor for each large photograph that is added, all processes together."""
    import viewfinder

    files = sorted(folder.glob("*.jpg"))
    with tempfile.TemporaryDirectory() as place:
        library = viewfinder.open(Path(place) / "library")
        library.add(*files[:8])
        before = spent_by_all()
        added = library.add(*files).added
        return {"ms at work a picture": 1000 * (spent_by_all() - before) / added}


def spent_by_all() -> float:
    """Processor seconds of this process and of all that it has waited for."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


# -- what they are given


def captions_of(data: Path) -> list[str]:
    """What people wrote of photographs on which nothing was fitted, each once."""
    from viewfinder.users import read_photo_notes

    notes = read_photo_notes(data.resolve(), "report")
    return list(dict.fromkeys(caption for key in sorted(notes.pictures) for caption in notes.of(key).captions[:1]))


@contextmanager
def large_photographs(data: Path) -> Iterator[Path]:
    """A folder of photographs enlarged to 12 megapixels, each another file."""
    from speed import enlarge  # reads modules that an earlier version does not have

    with tempfile.TemporaryDirectory() as folder:
        for seed, file in enumerate(sorted((data / "flickr8k").rglob("*.jpg"))[:LARGE]):
            enlarge(file, Path(folder) / file.name, seed)
        yield Path(folder)


if __name__ == "__main__":
    main()
