"""MAI: its parts one by one, memories, losses, rollback, noise, baselines; writes results/mai.json.

    python benchmarks/mai.py DATA      # holds fashion-products/; rows whose ranks are kept are not done again

Learnt is from transactions over all product photos (rollback and combination), measured on their test split, every turn
against all pictures with their captions. Modifications do not say again what stays (contextual language): without a
memory of the turns before they cannot be understood. One epoch each, three seeds each
(six, where three left a large difference undecided). Needs the catalogue and the vectors that fashioniq.py makes.

What was trained with captions is measured without them, too: captions are written from the catalogue, as modifications
are, so that a network that reads both has an easy task. All 1,607 test dialogues of each setting count.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from machine import described
from rows import (
    MORE,
    SEEDS,
    facts_of,
    is_kept,
    is_measured,
    kept_row,
    overlap_flags,
    run,
    write_ranks,
    write_results,
)
from rows import UNTRAINED as NO_SEED
from safetensors import safe_open
from safetensors.numpy import save_file

from viewfinder.evaluation import read_run
from viewfinder.retrievers.mai.numpy_network import NOTHING_CARRIED, numpy_update_memory
from viewfinder.retrievers.mai.settings import Model
from viewfinder.training.presets import build_settings
from viewfinder.weights import read_weights

ONE = (0,)
SOURCES = ("rollback", "combination")
BARE = tuple(f"{source}, no captions" for source in SOURCES)
TALKS = 1755
"""Of a task at most: all."""

Settings = tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A training: how, with which seeds, and whether it is also measured without captions."""

    name: str
    settings: Settings = ()
    preset: str = "lab"
    seeds: tuple[int, ...] = SEEDS
    bare: bool = False
    system: str = "mai"

    @property
    def trained(self) -> bool:
        """Whether there is anything to train."""
        return bool(self.preset)


BASE: Settings = ("model.stages='one'", "model.memory='ntm'", "model.captions=false", "loss.terms=['query_target']")
PLAIN: Settings = ("loss.terms=['query_target']",)
NTM: Settings = ("model.memory='ntm'",)
TERMS = {
    "query and target": "query_target",
    "target and modification": "modification_target",
    "modification and caption": "modification_caption",
    "caption and query": "query_caption",
}
NOISES = {"mixing": "mixing", "N(0, 1)": "normal", "U(-1, 1)": "uniform", "N(0, 1) x U(-1, 1)": "product"}
MEMORIES = ("none", "concatenation", "lstm", "gru")
TREATMENTS = ("replace", "blend", "random", "ignore")
WITHOUT, GOES_BACK = "pictures without captions", "goes back by:"

WHOLE = Row("MAI", seeds=MORE, bare=True)
CHAIN = (
    Row("base", BASE),
    Row("base + MIO", (*BASE, "model.memory='mio'")),
    Row("base + TSA", (*PLAIN, *NTM), seeds=MORE, bare=True),
    Row("base + TSA + CCL", NTM, seeds=MORE, bare=True),
    WHOLE,
)

BASELINES = (
    Row("SPRC", (*BASE, "model.stages='sprc'"), seeds=MORE),
    # Told what MAI is told: a stage that reads the caption before its own two.
    Row("SPRC, with captions", (*NTM, *PLAIN, "model.stages='sprc'"), seeds=MORE),
    Row("Combiner", preset="lab", system="combiner"),
)


def short(name: str, *settings: str, seeds: tuple[int, ...] = SEEDS) -> Row:
    """A row of a grid."""
    return Row(name, settings, seeds=seeds)


def without(term: str) -> str:
    """The setting that leaves out a term of the loss."""
    return f"loss.terms={[one for one in TERMS.values() if one != term]}"


MEMORY = tuple(short(f"base, memory {kind}", *BASE, f"model.memory='{kind}'") for kind in MEMORIES)
CCL = (*(short(f"TSA + CCL without {name}", *NTM, without(term)) for name, term in TERMS.items()),)
NOISE = (
    *(short(f"base, {name}", *BASE, f"loss.noise='{kind}'") for name, kind in NOISES.items()),
    *(
        short(f"TSA + CCL, {name}", *NTM, f"loss.noise='{kind}'")
        for name, kind in NOISES.items()
        if kind in {"normal", "product"}  # the others are left out for their time
    ),
)
OPTIONS = (
    short("base + TSA + MIO", *PLAIN),
    short("MAI, no captions at all", "model.captions=false", seeds=MORE),
    short("base in two stages, no captions", *BASE, "model.stages='two'"),
)  # fmt: skip
UNTRAINED = tuple(
    Row(f"{name}, nothing trained", preset="", seeds=ONE, system=name) for name in ("composer", "clip-ti")
)
BOX = Row("in the box", preset="", seeds=ONE, bare=True)

EVERY = (*CHAIN, *BASELINES, *MEMORY, *CCL, *NOISE, *OPTIONS)
IN_SESSIONS = ("MAI", "MAI, no captions at all", "base", "SPRC", "Combiner", "composer, nothing trained")
"""Rows that are also measured on MT Fashion IQ."""


def treated(kind: str) -> str:
    """By what name `MAI` is kept with another treatment of the picture when a turn goes back."""
    return f"{WHOLE.name}, {GOES_BACK} {kind}"


TABLES = {
    "parts": (*(row.name for row in CHAIN[:4]), "base + TSA + MIO", "MAI"),
    "others": ("MAI", "in the box", *(row.name for row in (*BASELINES, *UNTRAINED))),
    "captions": (
        "base",
        *(f"{row.name}, {WITHOUT}" for row in (*EVERY, BOX) if row.bare),
        "MAI, no captions at all",
        "base in two stages, no captions",
        *(row.name for row in UNTRAINED),
    ),
    "memories": (*(row.name for row in MEMORY), "base", "base + MIO"),
    "losses": ("base + TSA + CCL", *(row.name for row in CCL), "base + TSA"),
    "noise": ("base", *(row.name for row in NOISE[:4]), "base + TSA + CCL", *(row.name for row in NOISE[4:])),
    "rollback": ("MAI", *map(treated, TREATMENTS[1:])),
    "options": ("MAI", *(row.name for row in OPTIONS[1:])),
}
"""Of docs/systems/mai.md: names of rows, as their ranks are kept. What is not kept is left out."""

PAPER = {
    "base": 0.5319, "base + MIO": 0.5560, "base + TSA": 0.6248, "base + TSA + MIO": 0.6469, "base + TSA + CCL": 0.6557,
    "MAI": 0.6664, "SPRC": 0.5801, "base, memory none": 0.5004, "base, memory concatenation": 0.5056,
    "base, memory lstm": 0.5208, "base, memory gru": 0.5180, "TSA + CCL without query and target": 0.6354,
    "TSA + CCL without target and modification": 0.6439, "TSA + CCL without modification and caption": 0.6451,
    "TSA + CCL without caption and query": 0.6490, "base, mixing": 0.4987, "base, N(0, 1)": 0.5217,
    "base, U(-1, 1)": 0.5209, "base, N(0, 1) x U(-1, 1)": 0.5488, "TSA + CCL, N(0, 1)": 0.6523,
    "TSA + CCL, U(-1, 1)": 0.6530, "TSA + CCL, N(0, 1) x U(-1, 1)": 0.6566, treated("blend"): 0.5780,
    treated("random"): 0.5362, treated("ignore"): 0.4959,
}  # fmt: skip
"""What the paper has in its tables 2, 3, 5, 6, 8 and 9: the mean of R@1, R@5, R@10 and R@20 on FashionMT.

Its tables 3 and 8 give the base 50.04, which table 5 gives to no memory at all; ours has the memory NTM: 53.19 there.
"""

PAPER_IN = {("noise", "base"): 0.5004, ("rollback", "MAI"): 0.5994}
"""Tables whose other rows are to be read beside another figure of the paper's (tables 8 and 9)."""


@dataclass(frozen=True)
class Place:
    """Where everything lies."""

    work: Path
    data: Path

    @property
    def world(self) -> Path:
        """The catalogue."""
        return self.work / "products"

    @property
    def features(self) -> Path:
        """The vectors of its pictures."""
        return self.work / "features"

    def run(self, name: str, seed: int) -> Path:
        """A row by its seed."""
        plain = "".join(letter for letter in name.replace(" ", "-") if letter.isalnum() or letter == "-")
        return self.work / "runs" / "mai" / f"{plain}-{seed}"

    def weights(self, name: str, seed: int) -> Path:
        """The trained weights of a row."""
        return self.run(name, seed) / "best.safetensors"


def main() -> None:
    """Train, evaluate, write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/fashioniq"), help="the catalogue, vectors and runs")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=("train", "evaluate"), help="stages to do")
    parser.add_argument("--rows", nargs="*", help="do these only; the file has all that are done")
    parser.add_argument("--seeds", type=int, nargs="*", default=MORE, help="likewise")
    given = parser.parse_args()
    place = Place(given.work, given.data.resolve())
    chosen = [
        (row, seed)
        for row in (*EVERY, *UNTRAINED, BOX)
        for seed in row.seeds
        if seed in given.seeds and (not given.rows or row.name in given.rows)
        if not all(is_kept("mai", test, name, seed) for test, name in tests_of(row))
    ]
    for stage in given.only:
        jobs = [partial(STAGES[stage], row, seed, place) for row, seed in chosen if row.trained or stage != "train"]
        with ThreadPoolExecutor(given.processes) as pool:
            for done in [pool.submit(job) for job in jobs]:
                done.result()
    if "train" not in given.only or len(given.only) > 1:
        write_results("mai", results(place), by_row=("memories",))


def tests_of(row: Row) -> list[tuple[str, str]]:
    """The tests of a row, and by what name `keep` keeps each."""
    tests = [(source, row.name) for source in SOURCES]
    tests += [(source, f"{row.name}, {WITHOUT}") for source in SOURCES if row.bare]
    tests += [("sessions", row.name)] if row.name in IN_SESSIONS else []
    return tests + [("rollback", treated(kind)) for kind in TREATMENTS[1:] if row == WHOLE]


def train(row: Row, seed: int, place: Place) -> None:
    """As far as it is not done."""
    out = place.run(row.name, seed)
    if (out / "trained").is_file():
        return
    run(
        "train", row.system, "--data", str(place.world), "--features", str(place.features), "--preset", row.preset,
        "--seed", str(seed), "--out", str(out), "--resume",
        *(part for one in row.settings for part in ("--set", one)), log=out.with_suffix(".log"),
    )  # fmt: skip
    (out / "trained").touch()


def evaluate(row: Row, seed: int, place: Place) -> None:
    """On the test split, each setting by itself; what is not trained yet waits."""
    folder, weights = place.run(row.name, seed), place.weights(row.name, seed)
    if row.trained and not (folder / "trained").is_file():
        return
    for test in SOURCES:
        measure(row, weights, folder / test, place, "--task", test)
    if row.bare:
        for source, test in zip(SOURCES, BARE, strict=True):
            measure(row, weights, folder / test, place, "--task", source, "--no-captions")
    if row.name in IN_SESSIONS:
        measure(row, weights, folder / "sessions", place, "--task", "sessions")
    for kind in TREATMENTS[1:] if row == WHOLE else ():
        out = folder / f"rollback, {kind}"
        treated = out.with_suffix(".safetensors")
        write_treated(weights, kind, treated)
        measure(row, treated, out, place, "--task", "rollback")


def measure(row: Row, weights: Path, out: Path, place: Place, *options: str) -> None:
    """A run of a row, unless it is there."""
    if not is_measured(out):
        checkpoint = ("--checkpoint", str(weights)) if row.trained else ()
        run(
            "evaluate", row.system, "--data", str(place.world), "--features", str(place.features), "--protocol", "mai",
            "--split", "test", "--limit", str(TALKS), *checkpoint, *options, "--out", str(out),
            log=out.with_suffix(".log"),
        )  # fmt: skip
        keep(row, weights, out)


def reads_captions(row: Row) -> bool:
    """Whether a row reads pictures with their captions; those in the loss alone do not count."""
    return row.system == "mai" and row.trained and "model.captions=false" not in row.settings


def keep(row: Row, weights: Path, out: Path) -> None:
    """Keeps the ranks of a run; of pictures without captions, and of other ways to go back, as rows of their own."""
    test, bare, _ = out.name.partition(", no captions")
    source, _, treatment = test.partition(", ")
    name = f"{row.name}, {WITHOUT}" if bare else row.name
    name = f"{name}, {GOES_BACK} {treatment}" if treatment else name
    tasks, seed = read_run(out).tasks, int(out.parent.name.rpartition("-")[2]) if row.trained else NO_SEED
    whole = [task for task in tasks if source != "sessions" or ", all, " in task.title]
    flags = ["own data", *(["reads captions"] if reads_captions(row) and not bare else []), *overlap_flags(whole)]
    facts = facts_of(
        f"python benchmarks/mai.py DATA --rows '{row.name}'", [weights] * row.trained, flags, [out.parent] * row.trained
    )
    gallery = sum(task.ranks.gallery_size for task in whole)
    write_ranks("mai", source, name, kept_row({seed: whole}), gallery=gallery, facts=facts)


def write_treated(weights: Path, kind: str, out: Path) -> None:
    """The weights with a card that says another treatment of the picture when a turn goes back (table 9)."""
    with safe_open(str(weights), framework="np") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dict
        metadata = file.metadata()
    record = json.loads(metadata["record"])
    record["settings"]["model"]["rollback"] = kind
    save_file(arrays, str(out), metadata={**metadata, "record": json.dumps(record)})


STAGES: dict[str, Callable[[Row, int, Place], None]] = {"train": train, "evaluate": evaluate}


# -- what came of it


def results(place: Place) -> dict[str, Any]:
    """What is not in the ranks that are kept."""
    files = {name: place.weights(name, SEEDS[0]) for name in TABLES["memories"]}
    return {
        "data": "Transactions of three turns over product photos, whose modifications lean on the turns before "
        "(contextual language), one epoch of 19,356",
        "memories": {name: memory_of(file) for name, file in files.items() if file.is_file()},
        "machine": described(),
    }


def paper_of(title: str, name: str) -> float | None:
    """What the paper has for a line of a table, if it has it."""
    return PAPER_IN.get((title, name), PAPER.get(name))


def memory_of(file: Path) -> dict[str, Any]:
    """How large a network's memory is: its trained numbers in bytes, and what it carries as a talk goes on."""
    weights = read_weights(file)
    settings = build_settings(Model, weights.card.settings["model"])
    carried, sizes, rng = NOTHING_CARRIED, [], np.random.default_rng(0)
    for _ in range(10):
        count = settings.tokens
        if settings.memory == "concatenation":
            count += len(carried[0]) if carried else 0
        tokens_qh = rng.standard_normal((count, settings.width), dtype=np.float32)
        carried = numpy_update_memory(weights.arrays, settings, carried, tokens_qh)
        sizes.append(sum(part.nbytes for part in carried))
    own = sum(array.nbytes for name, array in weights.arrays.items() if name.startswith("memory."))
    return {"carried bytes": {str(turn): sizes[turn - 1] for turn in (1, 3, 10)}, "weights bytes": own}


if __name__ == "__main__":
    main()
