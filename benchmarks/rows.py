"""Verbs on one core, ranks that are kept and intervals; shared by the benchmarks of trained systems.

Ranks of a benchmark are kept in results/ranks/BENCHMARK.npz, and what is known about them (gallery, command, commit,
weights, date, flags) in results/BENCHMARK.json under "kept", so that the verdicts of claims.py can be recomputed.

    TEST/ids        the conversations
    TEST/ROW        [seeds, conversations, turns]: best + worst rank, from 0, so twice the rank; -1: no such turn.
                    Ranks from `MAX_DEPTH` on are kept as `MAX_DEPTH`. Other figures (CIDEr-D) are kept as float32.
    TEST/ROW/seeds  the seeds of the trainings; [UNTRAINED] where nothing was trained
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from freshness import RESULTS
from jaxtyping import Bool, Float, Int, Real
from machine import describe_host
from measuring import read_figures, write_json

from viewfinder.errors import BadInput
from viewfinder.evaluation.results import TaskResult
from viewfinder.metrics import seeded_interval
from viewfinder.weights import read_weights

MAX_DEPTH = 100
"""Ranks that are told apart; no claim counts deeper, and a file of ranks stays small."""

SEEDS = (0, 1, 2)
"""Seeds of a row that is trained."""

MORE = (*SEEDS, 3, 4, 5)
"""Seeds of rows behind a claim that three seeds left undecided with an interval more than 2 points from 0."""

UNTRAINED = -1
"""Stands for the seed where nothing was trained: such a row is beside every seed of another."""


@dataclass(frozen=True, eq=False)
class KeptRow:
    """The doubled ranks (or values) of a row on a test, for every conversation after every turn, by seed."""

    ids: tuple[str, ...]
    seeds: tuple[int, ...]
    values_ect: Real[np.ndarray, "e c t"]


def read_ranks(benchmark: str, results: Path = RESULTS) -> dict[str, dict[str, KeptRow]]:
    """All rows of a benchmark by test and name; none where none are kept."""
    file = results / "ranks" / f"{benchmark}.npz"
    if not file.is_file():
        return {}
    with np.load(file) as arrays:
        known = {name: arrays[name] for name in arrays}
    kept: dict[str, dict[str, KeptRow]] = {}
    for name, seeds_e in known.items():
        test, _, rest = name.partition("/")
        row, _, last = rest.rpartition("/")
        if last == "seeds":
            ids = tuple(map(str, known[f"{test}/ids"]))
            kept.setdefault(test, {})[row] = KeptRow(ids, tuple(map(int, seeds_e)), known[f"{test}/{row}"])
    return kept


def write_ranks(
    benchmark: str, test: str, row: str, found: KeptRow, *, gallery: int, facts: Mapping[str, Any],
    results: Path = RESULTS,
) -> None:  # fmt: skip
    """Keeps what a row found, with the rows, tests and seeds that are there.

    `facts` as `facts_of` makes them; commit, day, machine and weights are kept a seed. Several processes may write.

    Raises:
        BadInput: a name has a slash, or the test has another gallery than the rows that are kept: another data set.
    """
    if "/" in test + row:
        raise BadInput(f"{test!r}, {row!r}: names of tests and rows are kept as paths; leave out the slash")
    with FileLock(Path(tempfile.gettempdir()) / f"viewfinder-ranks-{benchmark}.lock"):
        known, record = read_ranks(benchmark, results), read_facts(benchmark, results)
        about = record.setdefault("kept", {}).setdefault(test, {"gallery": gallery, "rows": {}})
        if about["gallery"] != gallery:
            raise BadInput(
                f"{test}: {gallery:,} pictures to search in, but {about['gallery']:,} for its other rows; "
                f"take {test!r} out of results/{benchmark}.json and ranks/{benchmark}.npz to measure all of it again"
            )
        rows = known.setdefault(test, {})
        rows[row] = _join(rows[row], found) if row in rows else found
        ids = tuple(dict.fromkeys(one for kept in rows.values() for one in kept.ids))
        known[test] = {name: _with_conversations(kept, ids) for name, kept in rows.items()}
        old = about["rows"].get(row, {}).get("seeds", {})
        about["rows"][row] = _facts_by_seed(facts, found.seeds, old)
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        for title, tested in known.items():
            arrays[f"{title}/ids"] = np.array(next(iter(tested.values())).ids)
            for name, kept in tested.items():
                is_rank = np.issubdtype(kept.values_ect.dtype, np.integer)
                values_ect = np.minimum(kept.values_ect, 2 * MAX_DEPTH) if is_rank else kept.values_ect
                arrays[f"{title}/{name}"] = values_ect.astype(np.int32 if is_rank else np.float32)
                arrays[f"{title}/{name}/seeds"] = np.array(kept.seeds)
        (results / "ranks").mkdir(parents=True, exist_ok=True)
        np.savez_compressed(results / "ranks" / f"{benchmark}.npz", **arrays)  # type: ignore[arg-type]  # names are ours
        write_json(results / f"{benchmark}.json", record)


def _facts_by_seed(facts: Mapping[str, Any], seeds: Sequence[int], old: Mapping[str, Any]) -> dict[str, Any]:
    """Facts with commit, day, machine and weights of every seed by itself, those of other seeds among them."""
    weights = facts["weights"] or [""] * len(seeds)
    spent = facts.get("minutes") or [0.0] * len(seeds)
    same = {name: facts[name] for name in ("commit", "date", "machine") if name in facts}
    own = {
        str(seed): {**same, "weights": weight, "minutes": spent_minutes}
        for seed, weight, spent_minutes in zip(seeds, weights, spent, strict=True)
    }
    return {"command": facts["command"], "flags": facts["flags"], "seeds": {**old, **own}}


def _join(old: KeptRow, new: KeptRow) -> KeptRow:
    """A row with the seeds of both; the new ones where both have a seed."""
    ids = tuple(dict.fromkeys((*old.ids, *new.ids)))
    turns = max(old.values_ect.shape[2], new.values_ect.shape[2])
    both = [_with_conversations(one, ids, turns) for one in (old, new)]
    by_seed = {seed: one.values_ect[at] for one in both for at, seed in enumerate(one.seeds)}
    seeds = tuple(sorted(by_seed))
    return KeptRow(ids, seeds, np.stack([by_seed[seed] for seed in seeds]))


def _with_conversations(row: KeptRow, ids: tuple[str, ...], turns: int = 0) -> KeptRow:
    """A row with these conversations in this order, and so many turns; -1 for those that it does not have."""
    seeds, _, own = row.values_ect.shape
    values_ect = np.full((seeds, len(ids), max(turns, own)), -1, row.values_ect.dtype)
    place = {one: at for at, one in enumerate(ids)}
    values_ect[:, [place[one] for one in row.ids], :own] = row.values_ect
    return KeptRow(ids, row.seeds, values_ect)


def last_turns(known_ct: Bool[np.ndarray, "*c t"]) -> Int[np.ndarray, "*c"]:
    """The last turn that each conversation has, from 0."""
    return np.asarray(known_ct.shape[-1] - 1 - np.argmax(known_ct[..., ::-1], axis=-1))


def read_facts(benchmark: str, results: Path = RESULTS) -> dict[str, Any]:
    """The content of results/BENCHMARK.json; nothing, if it has not been run yet."""
    return read_figures(results / f"{benchmark}.json")


def write_results(
    benchmark: str, result: Mapping[str, Any], results: Path = RESULTS, *, by_row: Sequence[str] = ()
) -> None:
    """Writes what a benchmark found beside what is known of its ranks, which stays.

    Of the parts `by_row` ("talks/oracle": a part of a part), rows that were not measured this time stay too, and those
    that were in more seeds: long benchmarks are run a few rows a time.
    """
    old: dict[str, Any] = read_facts(benchmark, results)
    new: dict[str, Any] = json.loads(json.dumps(result))
    kept = {"kept": kept} if (kept := old.get("kept")) else {}
    for path in by_row:
        *above, part = path.split("/")
        before, now = old, new
        for name in above:
            before, now = before.get(name, {}), now[name]
        rows = now[part]
        fewer = {name for name, row in before.get(part, {}).items() if _seeds(rows.get(name)) < _seeds(row)}
        now[part] = {**before.get(part, {}), **{name: row for name, row in rows.items() if name not in fewer}}
    write_json(results / f"{benchmark}.json", {**new, **kept})


def _seeds(row: Any) -> int:
    """How many seeds a row of figures says that it has."""
    seeds = row.get("seeds", 0) if isinstance(row, dict) else 0
    return len(seeds) if isinstance(seeds, list) else int(seeds)


def is_kept(benchmark: str, test: str, row: str, seed: int, results: Path = RESULTS) -> bool:
    """Whether the ranks of a row are there, of this seed (or it has none)."""
    kept = read_ranks(benchmark, results).get(test, {}).get(row)
    return kept is not None and (seed in kept.seeds or UNTRAINED in kept.seeds)


def facts_of(
    command: str, weights: Sequence[Path] = (), flags: Sequence[str] = (), trainings: Sequence[Path] = ()
) -> dict[str, Any]:
    """The facts about a measurement: how, when and where it was made; the commit ends in "-dirty" if src/ differs.

    Args:
        command: what measures it again.
        weights: of every seed, kept by their hash.
        flags: what a reader should know of it.
        trainings: the folder of every seed's training, whose minutes are kept.
    """
    hashes = [hashlib.sha256(file.read_bytes()).hexdigest()[:8] for file in weights]
    day = datetime.now(UTC).date().isoformat()
    return {
        "command": command, "commit": describe_commit(), "weights": hashes, "date": day, "flags": list(flags),
        "minutes": [round(minutes(folder), 1) for folder in trainings], "machine": describe_host()["processor"],
    }  # fmt: skip


def describe_commit(root: Path = RESULTS.parents[1]) -> str:
    """The commit of a working tree, marked where its src/ has changes that are in no commit."""
    head, changes = (
        subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, check=True).stdout.strip()
        for command in (("rev-parse", "--short=9", "HEAD"), ("status", "--porcelain", "--", "src"))
    )
    return f"{head}-dirty" if changes else head


def overlap_flags(tasks: Sequence[TaskResult]) -> list[str]:
    """Flags for what tests share with training, as `evaluate` counted it; once each."""
    counted = [getattr(task, "overlap", None) for task in tasks]
    flags = (one.flags if one is not None else ("overlap: not counted",) for one in counted)
    return list(dict.fromkeys(flag for of_task in flags for flag in of_task))


def kept_row(by_seed: Mapping[int, Sequence[TaskResult]]) -> KeptRow:
    """Joins the ranks of runs, by seed, into a row; of several tasks a conversation is named with its task."""
    rows = []
    for seed, tasks in by_seed.items():
        turns = max(task.ranks.best_st.shape[1] for task in tasks)
        ids, values = [], []
        for task in tasks:
            ids += [f"{task.title}: {one}" if len(tasks) > 1 else one for one in task.dialogue_ids]
            doubled_st = task.ranks.best_st + task.ranks.worst_st
            doubled_st = np.pad(doubled_st, ((0, 0), (0, turns - doubled_st.shape[1])), constant_values=np.nan)
            values.append(np.where(np.isnan(doubled_st), -1, doubled_st).astype(np.int32))
        rows.append(KeptRow(tuple(ids), (seed,), np.concatenate(values)[None]))
    joined = rows[0]
    for row in rows[1:]:
        joined = _join(joined, row)
    return joined


def keep_tasks(
    benchmark: str, test: str, row: str, seed: int, tasks: Sequence[TaskResult], command: str, *,
    weights: Sequence[Path] = (), training: Path | None = None, flags: Sequence[str] = ("own data",),
) -> None:  # fmt: skip
    """Keeps the ranks of a row on the tasks of a test; a row of several networks has the hashes of all."""
    facts = facts_of(command, weights, [*flags, *overlap_flags(tasks)], [training] if training else [])
    facts["weights"] = ["+".join(facts["weights"])] if weights else []
    gallery = sum(task.ranks.gallery_size for task in tasks)
    write_ranks(benchmark, test, row, kept_row({seed: tasks}), gallery=gallery, facts=facts)


def run(*command: object, log: Path | None = None) -> None:
    """Runs a verb of the command line on one core."""
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
    program = (sys.executable, "-m", "viewfinder")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with (log or Path(os.devnull)).open("a") as out:
        subprocess.run([*program, *map(str, command)], check=True, env=environment, stdout=out, stderr=out)


def is_measured(folder: Path) -> bool:
    """Whether `evaluate` has written its results here."""
    return (folder / "results.json").is_file()


def parameters(file: Path, fixed: Sequence[str] = ("*_mean", "*_deviation")) -> int:
    """The count of numbers that were trained; those of arrays that `fixed` names were not."""
    arrays = read_weights(file).arrays.items()
    return int(sum(array.size for name, array in arrays if not any(fnmatchcase(name, one) for one in fixed)))


def minutes(folder: Path) -> float:
    """How long the trainings in a folder took by the clock."""
    seconds = 0.0
    for log in folder.glob("**/log.jsonl"):
        lines = log.read_text(encoding="utf-8").splitlines()
        seconds += json.loads(lines[-1])["seconds"] if lines else 0.0
    return seconds / 60


def estimate_mean(values_es: Float[np.ndarray, "e s"]) -> dict[str, float]:
    """Mean and 95 % interval over seeds and conversations."""
    return {name: round(float(value), 4) for name, value in asdict(seeded_interval(values_es)).items()}
