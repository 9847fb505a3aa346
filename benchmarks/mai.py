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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe_host
from rows import MORE, SEEDS, UNTRAINED, is_kept, is_measured, keep_tasks, write_results
from safetensors import safe_open
from safetensors.numpy import save_file
from trainings import BEST, Row, Runner, add_run_options, evaluate_system, run_jobs

from viewfinder.evaluation import read_run
from viewfinder.retrievers.mai.numpy_network import NOTHING_CARRIED, numpy_update_memory
from viewfinder.retrievers.mai.settings import Model
from viewfinder.training.presets import build_settings
from viewfinder.weights import read_weights

ONE = (0,)
SOURCES = ("rollback", "combination")
BARE = ", no captions"
"""The end of a run's name if pictures have no captions in it."""

TALKS = 1755
"""Maximum number of dialogues of a task: all of them."""

Settings = tuple[str, ...]


@dataclass(frozen=True)
class ShopRow(Row):
    """A training; `bare` if it is also measured without captions."""

    bare: bool = False


def shop_row(name: str, *settings: str, seeds: tuple[int, ...] = SEEDS, bare: bool = False) -> ShopRow:
    """A row of MAI itself."""
    return ShopRow(name, "mai", settings=settings, seeds=seeds, bare=bare)


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

WHOLE = shop_row("MAI", seeds=MORE, bare=True)
CHAIN = (
    shop_row("base", *BASE),
    shop_row("base + MIO", *BASE, "model.memory='mio'"),
    shop_row("base + TSA", *PLAIN, *NTM, seeds=MORE, bare=True),
    shop_row("base + TSA + CCL", *NTM, seeds=MORE, bare=True),
    WHOLE,
)

BASELINES = (
    shop_row("SPRC", *BASE, "model.stages='sprc'", seeds=MORE),
    # Told what MAI is told: a stage that reads the caption before its own two.
    shop_row("SPRC, with captions", *NTM, *PLAIN, "model.stages='sprc'", seeds=MORE),
    ShopRow("Combiner", "combiner"),
)


MEMORY = tuple(shop_row(f"base, memory {kind}", *BASE, f"model.memory='{kind}'") for kind in MEMORIES)
CCL = (
    *(
        shop_row(f"TSA + CCL without {name}", *NTM, f"loss.terms={[one for one in TERMS.values() if one != term]}")
        for name, term in TERMS.items()
    ),
)
NOISE = (
    *(shop_row(f"base, {name}", *BASE, f"loss.noise='{kind}'") for name, kind in NOISES.items()),
    *(
        shop_row(f"TSA + CCL, {name}", *NTM, f"loss.noise='{kind}'")
        for name, kind in NOISES.items()
        if kind in {"normal", "product"}  # the others are left out for their time
    ),
)
OPTIONS = (
    shop_row("base + TSA + MIO", *PLAIN),
    shop_row("MAI, no captions at all", "model.captions=false", seeds=MORE),
    shop_row("base in two stages, no captions", *BASE, "model.stages='two'"),
)  # fmt: skip
BESIDE = tuple(ShopRow(f"{name}, nothing trained", name, "", seeds=ONE) for name in ("composer", "clip-ti"))
"""Rows in which nothing is trained."""

BOX = ShopRow("in the box", "mai", "", seeds=ONE, bare=True)

EVERY = (*CHAIN, *BASELINES, *MEMORY, *CCL, *NOISE, *OPTIONS)
IN_SESSIONS = ("MAI", "MAI, no captions at all", "base", "SPRC", "Combiner", "composer, nothing trained")
"""Rows that are also measured on MT Fashion IQ."""


def name_treatment(kind: str) -> str:
    """The name under which `MAI` is kept with another treatment of the picture when a turn goes back."""
    return f"{WHOLE.name}, {GOES_BACK} {kind}"


TABLES = {
    "parts": (*(row.name for row in CHAIN[:4]), "base + TSA + MIO", "MAI"),
    "others": ("MAI", "in the box", *(row.name for row in (*BASELINES, *BESIDE))),
    "captions": (
        "base",
        *(f"{row.name}, {WITHOUT}" for row in (*EVERY, BOX) if row.bare),
        "MAI, no captions at all",
        "base in two stages, no captions",
        *(row.name for row in BESIDE),
    ),
    "memories": (*(row.name for row in MEMORY), "base", "base + MIO"),
    "losses": ("base + TSA + CCL", *(row.name for row in CCL), "base + TSA"),
    "noise": ("base", *(row.name for row in NOISE[:4]), "base + TSA + CCL", *(row.name for row in NOISE[4:])),
    "rollback": ("MAI", *map(name_treatment, TREATMENTS[1:])),
    "options": ("MAI", *(row.name for row in OPTIONS[1:])),
}
"""The tables of docs/systems/mai.md: names of rows, as their ranks are kept; others are left out."""

PAPER = {
    "base": 0.5319, "base + MIO": 0.5560, "base + TSA": 0.6248, "base + TSA + MIO": 0.6469, "base + TSA + CCL": 0.6557,
    "MAI": 0.6664, "SPRC": 0.5801, "base, memory none": 0.5004, "base, memory concatenation": 0.5056,
    "base, memory lstm": 0.5208, "base, memory gru": 0.5180, "TSA + CCL without query and target": 0.6354,
    "TSA + CCL without target and modification": 0.6439, "TSA + CCL without modification and caption": 0.6451,
    "TSA + CCL without caption and query": 0.6490, "base, mixing": 0.4987, "base, N(0, 1)": 0.5217,
    "base, U(-1, 1)": 0.5209, "base, N(0, 1) x U(-1, 1)": 0.5488, "TSA + CCL, N(0, 1)": 0.6523,
    "TSA + CCL, U(-1, 1)": 0.6530, "TSA + CCL, N(0, 1) x U(-1, 1)": 0.6566, name_treatment("blend"): 0.5780,
    name_treatment("random"): 0.5362, name_treatment("ignore"): 0.4959,
}  # fmt: skip
"""The paper's figures in tables 2, 3, 5, 6, 8 and 9: the mean of R@1, R@5, R@10 and R@20 on FashionMT.

Its tables 3 and 8 give the base 50.04, which table 5 gives to no memory at all; ours has the memory NTM: 53.19 there.
"""

PAPER_IN = {("noise", "base"): 0.5004, ("rollback", "MAI"): 0.5994}
"""Tables whose other rows are to be read beside another figure of the paper's (tables 8 and 9)."""


def main() -> None:
    """Train, evaluate, write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_run_options(parser, "runs/fashioniq", ("train", "evaluate"))
    given = parser.parse_args()
    rows = {row.name: row for row in (*EVERY, *BESIDE, BOX)}
    runner = Runner(rows, given.work / "runs" / "mai", (given.work / "products",), given.work / "features")
    left = [
        (row, seed)
        for row in (*EVERY, *BESIDE, BOX)
        for seed in row.seeds
        if not all(is_kept("mai", test, name, seed) for test, name, _ in tests_of(row))
    ]
    for part in given.only:
        work: Callable[..., object] = runner.train if part == "train" else partial(measure, runner)
        run_jobs([(row.name, seed, partial(work, row, seed)) for row, seed in left], given)
    if "evaluate" in given.only or not given.only:
        write_results("mai", results(runner), by_row=("memories",))


def tests_of(row: ShopRow) -> list[tuple[str, str, str]]:
    """The tests of a row: the task, the name under which its ranks are kept, and the folder of its run."""
    tests = [(source, row.name, source) for source in SOURCES]
    tests += [(source, f"{row.name}, {WITHOUT}", f"{source}{BARE}") for source in SOURCES if row.bare]
    tests += [("sessions", row.name, "sessions")] if row.name in IN_SESSIONS else []
    return tests + [("rollback", name_treatment(kind), f"rollback, {kind}") for kind in TREATMENTS[1:] if row == WHOLE]


def measure(runner: Runner, row: ShopRow, seed: int) -> None:
    """Ranks the test split, test by test, and keeps the ranks; a row that is not trained yet waits."""
    if not runner.is_trained(row, seed):
        return
    folder, weights = runner.folder(row.name, seed), runner.weights(row, seed)
    for test, name, run_name in tests_of(row):
        out, own = folder / run_name, weights
        if is_measured(out):
            continue
        if GOES_BACK in name and weights is not None:
            own = out.with_suffix(".safetensors")
            write_treated(weights, name.partition(GOES_BACK)[2].strip(), own)
        options = (
            "--protocol",
            "mai",
            "--limit",
            TALKS,
            "--task",
            test,
            *(["--no-captions"] if BARE in run_name else []),
        )
        evaluate_system(row.system, out, runner.data[0], runner.features, *options, weights=own)
        tasks = [task for task in read_run(out).tasks if test != "sessions" or ", all, " in task.title]
        flags = ["own data", *(["reads captions"] if reads_captions(row) and BARE not in run_name else [])]
        keep_tasks(
            "mai", test, name, seed if weights else UNTRAINED, tasks,
            f"python benchmarks/mai.py DATA --rows '{row.name}'", weights=[own] if own else [],
            training=folder if weights else None, flags=flags,
        )  # fmt: skip


def reads_captions(row: Row) -> bool:
    """Whether a row reads pictures with their captions; those in the loss alone do not count."""
    return row.system == "mai" and bool(row.preset) and "model.captions=false" not in row.settings


def write_treated(weights: Path, kind: str, out: Path) -> None:
    """The weights with a card that says another treatment of the picture when a turn goes back (table 9)."""
    with safe_open(str(weights), framework="np") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dict
        metadata = file.metadata()
    record = json.loads(metadata["record"])
    record["settings"]["model"]["rollback"] = kind
    save_file(arrays, str(out), metadata={**metadata, "record": json.dumps(record)})


# -- what came of it


def results(runner: Runner) -> dict[str, Any]:
    """The results beside the ranks that are kept."""
    files = {name: runner.folder(name, SEEDS[0]) / BEST for name in TABLES["memories"]}
    return {
        "data": "Transactions of three turns over product photos, whose modifications lean on the turns before "
        "(contextual language), one epoch of 19,356",
        "memories": {name: memory_of(file) for name, file in files.items() if file.is_file()},
        "machine": describe_host(),
    }


def paper_of(title: str, name: str) -> float | None:
    """The paper's figure for a line of a table; None if it has none."""
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
