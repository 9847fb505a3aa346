"""docs/claims.md: a scoreboard, a plot of effects here against those of the papers, and a table for each paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cells import format_table
from claims import CLOSED, EQUIVALENT, MIN_SEEDS, OUTCOMES, REFUTED, UNDECIDED, VERDICTS, WAITING, Judged, papers_of
from freshness import RESULTS
from plots import Plot
from rows import UNTRAINED, read_facts

NOTHING = "none trained"
EARLIER = "earlier figure, ranks not kept"
COLOURS = {
    "Drill-down": "#1b6ca8", "ChatIR": "#c2571a", "Fashion IQ": "#2e7d4f", "ChatSearch": "#8e44ad", "MAI": "#6d5a2e",
}  # fmt: skip


def claim_parts(judged: Sequence[Judged], results: Path = RESULTS) -> dict[str, list[str]]:
    """The scoreboard, and of every paper its table of claims and what its rows were measured with."""
    parts = {"claims-scoreboard": scoreboard(judged)}
    for paper in papers_of(one.claim for one in judged):
        own = [one for one in judged if one.claim.paper == paper]
        name = paper.lower().replace(" ", "-")
        asked = sum(one.outcome != CLOSED for one in own)
        family = f"Holm's correction is over the {asked} claims of this table that can be asked, measured or not."
        parts[f"claims-{name}"] = [family, "", *claims_table(own), "", *measured_lines(own, results)]
    return parts


def scoreboard(judged: Sequence[Judged]) -> list[str]:
    """How many claims came to what; one row a paper, the project's own claims apart."""
    rows = []
    for paper in papers_of(one.claim for one in judged):
        for is_ours in (False, True):
            own = [one for one in judged if one.claim.paper == paper and one.claim.ours == is_ours]
            if own:
                counts = Counter(one.outcome for one in own)
                rows.append(
                    [
                        f"{paper}, ours" if is_ours else f"**{paper}**",
                        str(len(own)),
                        *(str(counts[name] or "") for name in OUTCOMES),
                    ]
                )
    total = Counter(one.outcome for one in judged)
    rows.append(["all", str(len(judged)), *(str(total[name]) for name in OUTCOMES)])
    return [
        *format_table(["", "claims", *OUTCOMES], rows),
        "",
        leaning_line([one for one in judged if one.outcome == UNDECIDED]),
    ]


def leaning_line(undecided: Sequence[Judged]) -> str:
    """How many intervals of the undecided lie on one side of 0: where more seeds may decide."""
    intervals = [one.interval for one in undecided if one.interval and not one.claim.same]
    above, below = sum(one.low > 0 for one in intervals), sum(one.high < 0 for one in intervals)
    around = len(undecided) - above - below
    return (
        f"Of the {len(undecided)} undecided, the whole interval of {above} is above 0, that of {below} below, and that "
        f"of {around} includes it. The bootstrap over few seeds is narrow: that is a hint where more would decide, no "
        "verdict."
    )


def claims_table(judged: Sequence[Judged]) -> list[str]:
    """One row a claim; a column that says the same in every row stands above the table."""
    head = ["claim", "rows", "counted", "ours", "paper's", "seeds", "conversations", "gallery", "flags", "outcome"]
    rows = [claim_cells(one) for one in judged]
    known = [row for row, one in zip(rows, judged, strict=True) if one.interval]
    same = [at for at in range(5, 9) if len(known) > 1 and len({row[at] for row in known}) == 1 and known[0][at]]
    above = [f"{head[at].capitalize()} of all that is measured: {known[0][at]}." for at in same]
    keep = [at for at in range(len(head)) if at not in same and any(row[at] for row in rows)]
    lines = format_table([head[at] for at in keep], [[row[at] for at in keep] for row in rows])
    return [*above, *([""] if above else []), *lines]


def claim_cells(one: Judged) -> list[str]:
    """The cells of a claim in its table."""
    claim = one.claim
    says = f"*Ours:* {claim.says}" if claim.ours else claim.says
    paper = f"{claim.effect:+.1f} ({claim.where})" if claim.effect is not None else ""
    if claim.reason:
        return [says, "", "", "", paper, "", "", "", "", f"{one.outcome}: {claim.reason}"]
    if one.interval is None:
        outcome = f"{WAITING} again" if claim.earlier else WAITING
        return [says, *compared_cells(one), earlier_cell(one), paper, "", "", "", ", ".join(claim.flags), outcome]
    low, high = 100 * one.interval.low, 100 * one.interval.high
    sides = " − ".join(f"{100 * value:.1f}" for value in one.values)
    ours = f"{sides} = **{100 * one.interval.mean:+.1f}** ({low:+.1f} to {high:+.1f}){p_cell(one)}"
    seeds = str(len(one.seeds)) if one.trained else NOTHING
    gallery = ", ".join(f"{size:,}" for size in one.gallery if size)
    outcome = f"{one.outcome}: fewer than {MIN_SEEDS} seeds" if one.outcome == WAITING else one.outcome
    cells = [says, *compared_cells(one), ours, paper, seeds, f"{one.conversations:,}", gallery]
    return [*cells, ", ".join(one.flags), outcome]


def p_cell(one: Judged) -> str:
    """The corrected p-value that the verdict is about, where there is one."""
    if one.outcome not in VERDICTS:
        return ""
    is_of_equivalence = one.outcome == EQUIVALENT or (one.claim.same and one.outcome != REFUTED)
    p_value = one.equivalence if is_of_equivalence else one.p_value
    shown = f"p {p_value:.4f}" if p_value >= 0.0001 else "p < 0.0001"
    return f", {shown} of equivalence" if is_of_equivalence else f", {shown}"


def compared_cells(one: Judged) -> list[str]:
    """Which rows a claim compares, and by what."""
    claim = one.claim
    names = [*one.rows] if one.rows else [claim.rows[0], _name_row(claim.rows[1])]
    if claim.over:
        names = [f"({name} over {before})" for name, before in zip(names, claim.over, strict=True)]
    at = ""
    if claim.rounds:
        first, other = claim.rounds
        at = f", round {first}" if first == other else f", round {first} and round {other}"
    elif claim.gain:
        at = f", gained from turn {claim.gain[0]} to {claim.gain[1]}"
    elif claim.turns == "every":
        at = ", mean of all turns"
    elif claim.turns:
        at = f", mean of turns {', '.join(map(str, claim.turns))}"
    return [" − ".join(names), f"{claim.metric}{at} ({'; '.join(claim.tests)})"]


def _name_row(row: Any) -> str:
    return row if isinstance(row, str) else f"the best of {', '.join(row)}"


def earlier_cell(one: Judged) -> str:
    """The figure that was measured before ranks were kept; "" if there is none."""
    if not one.claim.earlier:
        return ""
    found, low, high, seeds = one.claim.earlier
    count = "1 seed" if seeds == 1 else f"{seeds:.0f} seeds"
    return f"{EARLIER}: {found:+.1f} ({low:+.1f} to {high:+.1f}), {count}"


def measured_lines(judged: Sequence[Judged], results: Path) -> list[str]:
    """Command, commit, weights and day of every row that a measured claim is about."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for one in judged:
        kept = read_facts(one.claim.benchmark, results).get("kept", {}) if one.interval else {}
        for row in dict.fromkeys((*one.rows, *one.claim.over)) if one.interval else ():
            for test in one.claim.tests:
                facts = kept[test]["rows"][row]
                by_seed = facts["seeds"]
                commits, days = ({entry[name] for entry in by_seed.values()} for name in ("commit", "date"))
                weights = ", ".join(
                    f"{seed}: `{entry['weights']}`" if int(seed) != UNTRAINED else f"`{entry['weights']}`"
                    for seed, entry in sorted(by_seed.items())
                    if entry["weights"]
                )
                about = (row, f"`{facts['command']}`", ", ".join(sorted(commits)), weights, ", ".join(sorted(days)))
                rows.setdefault(about, []).append(test)
    if not rows:
        return ["No row behind these claims has its ranks kept yet."]
    lines = format_table(
        ["row", "tests", "command", "commit", "weights, by seed", "day"],
        [
            [row, "; ".join(tests), command, commit, weights, day]
            for (row, command, commit, weights, day), tests in rows.items()
        ],
    )
    return ["<details><summary>Command, commit, weights and day of every row</summary>", "", *lines, "", "</details>"]


def few_seeds(page: str) -> list[str]:
    """Lines of the page that give a verdict to what was trained with fewer than three seeds; there should be none."""
    found: list[str] = []
    head: list[str] = []
    seeds = ""
    for line in page.splitlines():
        if line.startswith(("## ", "### ")):
            head, seeds = [], ""
        if line.startswith("Seeds of all that is measured: "):
            seeds = line.removeprefix("Seeds of all that is measured: ").rstrip(".")
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")] if line.startswith("|") else []
        if "outcome" in cells:
            head = cells
        elif head and len(cells) == len(head) and cells[head.index("outcome")] in VERDICTS:
            count = cells[head.index("seeds")] if "seeds" in head else seeds
            if count != NOTHING and (not count.isdigit() or int(count) < MIN_SEEDS):
                found.append(f"{count or 'no'} seeds: {cells[0]}")
    return found


# -- the plot


def effect_points(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """The claims of which both sides have an effect: in points, with the interval; `kept`: from kept ranks."""
    points = []
    for one in judged:
        claim = one.claim
        if claim.effect is None or claim.reason or not (one.interval or claim.earlier):
            continue
        shares = (one.interval.mean, one.interval.low, one.interval.high) if one.interval else ()
        ours = [round(100 * share, 2) for share in shares] or list(claim.earlier[:3])
        points.append({"paper": claim.paper, "theirs": claim.effect, "ours": ours, "kept": one.interval is not None})
    return points


def claims_plot(judged: Sequence[Judged]) -> Plot:
    """The effects of all claims."""
    return Plot("claims.svg", effect_points(judged), paint_effects, (7, 4.5))


def paint_effects(axes: Any, points: Sequence[dict[str, Any]]) -> None:
    """Effect here over effect in the paper, with intervals; hollow: earlier figures."""
    largest = max([1.0, *(point["theirs"] for point in points)])
    axes.plot([0, largest], [0, largest], color="#999999", linewidth=0.8, linestyle="--")
    axes.axhline(0, color="#999999", linewidth=0.8)
    for paper, colour in COLOURS.items():
        for kept in (True, False):
            own = [point for point in points if point["paper"] == paper and point["kept"] == kept]
            if own:
                middle = [point["ours"][0] for point in own]
                ends = [[m - p["ours"][1] for m, p in zip(middle, own, strict=True)]]
                ends += [[p["ours"][2] - m for m, p in zip(middle, own, strict=True)]]
                axes.errorbar(
                    [point["theirs"] for point in own], middle, yerr=ends, fmt="o", color=colour, markersize=4,
                    markerfacecolor=colour if kept else "white", elinewidth=0.8, alpha=1 if kept else 0.6,
                    label=paper if kept else f"{paper}, earlier",
                )  # fmt: skip
    axes.set_xscale("symlog", linthresh=1)
    axes.set_yscale("symlog", linthresh=2)
    axes.set_xlim(left=-0.5)
    ticks = [-20, -10, -5, -2, 0, 2, 5, 10, 20]
    axes.set_xticks([0, 1, 2, 5, 10, 20], ["0", "1", "2", "5", "10", "20"])
    axes.set_yticks(ticks, [f"{tick:+d}" if tick else "0" for tick in ticks])
    axes.set_xlabel("difference in the paper, points")
    axes.set_ylabel("difference here, points (95 % interval)")
    axes.legend(frameon=False, fontsize=8)
