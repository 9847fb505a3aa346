"""docs/systems/mai.md: its tables, from the ranks that mai.py keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from cells import format_spread, format_table, format_tenths, machine_line
from jaxtyping import Float, Real
from mai import GOES_BACK, TABLES, paper_of
from rows import KeptRow, estimate_mean, last_turns

DEPTHS = (1, 5, 10, 20)
SESSION_DEPTHS = (5, 8)
SETTINGS = ("combination", "rollback")
"""The paper's two settings, in the order of its tables."""

Kept = dict[str, dict[str, KeptRow]]


@dataclass(frozen=True)
class Line:
    """A row of ranks that are kept: those of each setting, of the same seeds, and how long each took to train."""

    name: str
    ranks_ect: tuple[Float[np.ndarray, "e c t"], ...]
    minutes: tuple[float, ...]

    @property
    def seeds(self) -> str:
        """How many."""
        return str(len(self.ranks_ect[0]))

    def recalls(self, at: int | None = -1) -> list[Float[np.ndarray, "e c"]]:
        """The mean over the paper's depths at a turn (None: the mean of all turns), of each setting."""
        found = [np.mean([ranks_ect < depth for depth in DEPTHS], axis=0) for ranks_ect in self.ranks_ect]
        return [found_ect.mean(axis=2) if at is None else found_ect[:, :, at] for found_ect in found]

    def recall(self, depth: int, at: int = -1) -> list[float]:
        """R@depth at a turn, of each setting."""
        return [float((ranks_ect[:, :, at] < depth).mean()) for ranks_ect in self.ranks_ect]

    def mean(self, at: int | None = -1) -> float:
        """The mean recall over all settings."""
        return float(np.concatenate(self.recalls(at), axis=1).mean())

    @cached_property
    def last(self) -> dict[str, float]:
        """The mean recall over all settings in the last turn, with its interval."""
        return estimate_mean(np.concatenate(self.recalls(), axis=1))


def mai_parts(mai: dict[str, Any], kept: Kept) -> dict[str, list[str]]:
    """All tables of `mai.py`."""
    facts = mai["kept"]
    titles = [title for title in TABLES if title not in ("memories", "rollback")]
    every = dict.fromkeys(name for title in TABLES if title != "rollback" for name in TABLES[title])
    known = {line.name: line for line in lines_of(every, kept, facts)}

    def lines(*titles: str) -> list[Line]:
        names = dict.fromkeys(name for title in titles for name in TABLES[title])
        return [known[name] for name in names if name in known]

    return {
        **{f"mai-{title}": parts_table(title, lines(title)) for title in titles},
        "mai-memories": memories_table(lines("memories"), mai["memories"]),
        "mai-rollback": rollback_table(lines_of(TABLES["rollback"], kept, facts, ("rollback",))),
        "mai-turns": turns_table(lines("parts", "others")),
        "mai-sessions": sessions_table(kept["sessions"]),
        "mai-machine": [f"{mai['data']}. {machine_line(mai['machine'])}"],
    }


def lines_of(names: Iterable[str], kept: Kept, facts: dict[str, Any], tests: Sequence[str] = SETTINGS) -> list[Line]:
    """The rows of which the ranks of all these tests are kept."""
    lines = []
    for name in names:
        if all(name in kept[test] for test in tests):
            rows = [kept[test][name] for test in tests]
            seeds = sorted(set.intersection(*(set(row.seeds) for row in rows)))
            ranks = tuple(row.values_ect[[row.seeds.index(seed) for seed in seeds]] / 2 for row in rows)
            told = facts[tests[0]]["rows"][name]["seeds"]
            lines.append(Line(name, ranks, tuple(told[str(seed)].get("minutes", 0.0) for seed in seeds)))
    return lines


def parts_table(title: str, lines: Sequence[Line]) -> list[str]:
    """The recalls of each row in the last turn, by setting; the paper's mean; the cost."""
    head = [f"{setting[:4]}. R@{depth}" for setting in SETTINGS for depth in DEPTHS]
    head += ["comb. mean", "roll. mean", "**Mean**", "paper", "minutes", "seeds"]
    rows = []
    for line in lines:
        by_depth = zip(*(line.recall(depth) for depth in DEPTHS), strict=True)
        cells = [format_tenths(share) for of_setting in by_depth for share in of_setting]
        cells += [format_tenths(float(found_ec.mean())) for found_ec in line.recalls()] + [format_spread(line.last)]
        cells += [published(title, line.name), ", ".join(f"{value:.1f}" for value in line.minutes if value)]
        rows.append([line.name, *cells, line.seeds])
    return format_table(["", *head], rows)


def turns_table(lines: Sequence[Line]) -> list[str]:
    """The mean recall turn by turn, and in the mean of all turns."""
    head = ["turn 1", "turn 2", "turn 3", *(f"R@{depth}, every turn" for depth in DEPTHS), "mean, every turn"]
    rows = []
    for line in lines:
        cells = [format_tenths(line.mean(turn)) for turn in range(3)]
        cells += [format_tenths(float(np.mean([line.recall(depth, turn) for turn in range(3)]))) for depth in DEPTHS]
        rows.append([line.name, *cells, format_spread(estimate_mean(np.concatenate(line.recalls(None), axis=1)))])
    return format_table(["", *head], rows)


def memories_table(lines: Sequence[Line], sizes: dict[str, Any]) -> list[str]:
    """The size of a memory as a dialogue goes on, its weights, and the recalls with it in the last turn."""
    head = ["bytes after turn 1", "after 3", "after 10", "bytes of weights", "comb. mean", "roll. mean", "**Mean**"]
    rows = []
    for line in lines:
        carried = sizes[line.name]["carried bytes"]
        cells = [f"{carried[turn]:,}" for turn in ("1", "3", "10")] + [f"{sizes[line.name]['weights bytes']:,}"]
        cells += [format_tenths(float(found_ec.mean())) for found_ec in line.recalls()] + [format_spread(line.last)]
        rows.append([line.name, *cells, published("memories", line.name), line.seeds])
    return format_table(["", *head, "paper", "seeds"], rows)


def rollback_table(lines: Sequence[Line]) -> list[str]:
    """Every way to treat the picture when a turn goes back."""
    rows = []
    for line in lines:
        cells = [format_tenths(line.recall(depth)[0]) for depth in DEPTHS] + [format_spread(line.last)]
        name = line.name.partition(GOES_BACK)[2].strip() or "replace"
        rows.append([name, *cells, published("rollback", line.name), line.seeds])
    return format_table(["", *(f"R@{depth}" for depth in DEPTHS), "**mean**", "paper", "seeds"], rows)


def sessions_table(rows: dict[str, KeptRow]) -> list[str]:
    """R@5, R@8 and their mean in the last turn of MT Fashion IQ, over all kinds."""
    lines = []
    for name, row in rows.items():
        last_ec = last_ranks(row.values_ect) / 2
        found = [(last_ec < depth).astype(np.float64) for depth in SESSION_DEPTHS]
        cells = [format_tenths(float(found_ec.mean())) for found_ec in found] + [
            format_spread(estimate_mean(np.mean(found, axis=0)))
        ]
        lines.append([name, *cells, str(len(row.seeds))])
    return format_table(["", *(f"R@{depth}" for depth in SESSION_DEPTHS), "**mean**", "seeds"], lines)


def last_ranks(doubled_ect: Real[np.ndarray, "e c t"]) -> Real[np.ndarray, "e c"]:
    """The doubled rank after the last turn that each conversation has."""
    last_ec = last_turns(doubled_ect >= 0)
    return np.asarray(np.take_along_axis(doubled_ect, last_ec[:, :, None], axis=2)[:, :, 0])


def published(title: str, name: str) -> str:
    """The paper's figure for a line of a table; "" if it has none."""
    figure = paper_of(title, name)
    return "" if figure is None else format_tenths(figure)
