"""All attacks of tests/hostile at full size: prints a table, writes results/attack.json; exits with 1 if one broke in.

make attack                                       # at most an hour
make attack ARGS="--only kill_add --share 0.1"    # a tenth of the rounds of one
make attack ARGS="--only kill_add --again"        # one at full size again, replacing its earlier row
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from cells import machine_line
from freshness import RESULTS
from machine import describe_host
from measuring import read_figures, write_json
from report import attack_rows

from tests.hostile import (
    bodies,
    calls,
    conversations,
    cuts,
    damage,
    faults,
    folders,
    kills,
    kills_served,
    pictures,
    wire,
)
from tests.hostile.attack import Outcome

Attack = Callable[[int, int, Path], Outcome]

FULL: dict[str, tuple[Attack, int]] = {
    "kill_add": (kills.kill_add, 40),
    "kill_tune": (kills.kill_tune, 12),
    "kill_describe": (kills.kill_describe, 12),
    "kill_repair": (kills.kill_repair, 100),
    "kill_features": (kills.kill_features, 16),
    "kill_jobs": (kills_served.kill_jobs, 10),
    "kill_server": (kills_served.kill_server, 10),
    "mutate_pictures": (partial(pictures.mutate_pictures, encoder="starter"), 10_000),
    "hostile_folders": (folders.hostile_folders, len(folders.FOLDERS)),
    "fuzz_calls": (calls.fuzz_calls, 100_000),
    "try_scopes": (calls.try_scopes, 1000),
    "raw_requests": (wire.raw_requests, 3000),
    "refused_bodies": (bodies.refused_bodies, 2000),
    "large_bodies": (bodies.large_bodies, 4),
    "slow_connections": (wire.slow_connections, 300),
    "cut_connections": (cuts.cut_connections, 100),
    "long_conversations": (conversations.long_conversations, 2),
    "many_conversations": (conversations.many_conversations, 2000),
    "crowd_beside_replay": (conversations.crowd_beside_replay, 60),
    "end_by_sigterm": (conversations.end_by_sigterm, 12),
    "damage_library": (damage.damage_library, 180),
    "damage_head": (damage.damage_head, 12),
    "damage_thumbnails": (damage.damage_thumbnails, 60),
    "full_disk": (faults.full_disk, 12),
    "full_disk_served": (faults.full_disk_served, 2),
    "read_only": (faults.read_only, 2),
    "no_descriptors": (faults.no_descriptors, 3),
    "restarted_database": (faults.restarted_database, 6),
    "clock_back": (faults.clock_back, 4),
    "moved_away": (faults.moved_away, 4),
}
"""The attacks, and how many rounds of each: 200 of kill -9 in all."""

MAX_MINUTES = 58.0
"""Minutes after which no other attack is begun."""

RESULT = RESULTS / "attack.json"


def main() -> int:
    """Run all, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=sorted(FULL), default=list(FULL))
    parser.add_argument("--share", type=float, default=1.0, help="of the rounds of a full attack")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument(
        "--out", type=Path, default=None, help="by default results/attack.json, for a full attack alone"
    )
    parser.add_argument("--again", action="store_true", help="put what is run in its place in results/attack.json")
    given = parser.parse_args()
    started, told = time.monotonic(), list[dict[str, Any]]()
    for name in given.only:
        attack, rounds = FULL[name]
        if time.monotonic() - started > 60 * MAX_MINUTES:
            outcome = Outcome(name, broken=[f"not begun: {MAX_MINUTES:.0f} minutes are over"])
        else:
            outcome = _run_attack(name, attack, max(round(rounds * given.share), 1), given.seed)
        told.append(asdict(outcome))
        for line in outcome.broken:
            print(f"{name}: {line}", file=sys.stderr, flush=True)
    minutes = round((time.monotonic() - started) / 60, 1)
    results = {
        "machine": describe_host(),
        "seed": given.seed,
        "share": given.share,
        "minutes": minutes,
        "attacks": told,
    }
    print(
        "\n".join([*attack_rows(told), "", f"{minutes} minutes, seed {given.seed}. {machine_line(results['machine'])}"])
    )
    if given.again:
        old = read_figures(RESULT)
        now = {row["attack"]: row for row in told}  # one that is new comes after the others
        rows = list(({row["attack"]: row for row in old["attacks"]} | now).values())
        results = {**old, "attacks": rows, "again": sorted({*old.get("again", []), *given.only})}
        given.out = RESULT
    out = given.out or (RESULT if given.share == 1 and given.only == list(FULL) else None)
    if out is not None:
        write_json(out, results)
    return int(any(row["broken"] for row in told))


def _run_attack(name: str, attack: Attack, rounds: int, seed: int) -> Outcome:
    """One attack, in a folder of its own; one that itself falls over has broken something."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"viewfinder-{name}-", ignore_cleanup_errors=True) as folder:
        try:
            outcome = attack(rounds, seed, Path(folder))
        except Exception as error:
            outcome = Outcome(name, broken=[f"the attack itself failed: {type(error).__name__}: {error}"])
    outcome.figures["minutes"] = round((time.monotonic() - began) / 60, 1)
    print(f"{outcome.attack}: {outcome.rounds} rounds, {outcome.figures}", file=sys.stderr, flush=True)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
