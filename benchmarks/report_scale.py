"""The parts of docs/scale.md, from results/scale.json."""

from __future__ import annotations

from typing import Any

from cells import format_percent, format_table, machine_line
from plots import Plot

TURNS = {
    "index": "a turn's first results, with the index",
    "scan": "the same, by a scan",
    "words": "of either: words to a vector",
    "product": "the bare product, numpy, and its ten best",
}

COLOURS = {"index": "#1b6ca8", "scan": "#c2571a", "product": "#777777"}


MIN_RECALL = 0.95
"""The share of the scan's ten best that the index is meant to find with every kind of turn."""


MAX_OWN_LOAD = 1.5
"""How many processes beside its own threads may want a core on a machine that is called idle."""

KINDS_AT = 1_000_000, 10_000_000
"""Collections of which every kind of turn is shown."""

CODES_AT = 64
"""Lists looked into in the table of codes."""


def scale_parts(
    scale: dict[str, Any],
    capacity: dict[str, Any],
    codes: dict[str, Any],
    large: dict[str, Any],
    start: dict[str, Any],
) -> dict[str, list[str]]:
    """All parts by name."""
    sizes = dict(sorted((int(size), found) for size, found in scale["sizes"].items()))
    usual, large_one = KINDS_AT
    smaller = {size: found for size, found in sizes.items() if size <= usual}
    return {
        "scale-likeness": likeness_table(scale["likeness"]),
        "scale-turns": turns_table(sizes),
        "scale-index": index_table(sizes),
        "scale-snapshot": snapshot_table(sizes),
        "scale-kinds": kinds_table(smaller, usual),
        "scale-kinds-large": kinds_table({large_one: sizes[large_one]}, large_one),
        "scale-deep": deep_table(sizes),
        "scale-talks": talks_table(sizes),
        "scale-people": people_table(capacity["people"]),
        "scale-machine": [machine_line(scale["machine"])],
        "scale-codes": codes_tables(codes),
        "scale-large": large_table(large),
        "scale-start": start_table(start),
    }


def start_table(start: dict[str, Any]) -> list[str]:
    """How soon a cold `find` and a server's first page and search are there, beside what was aimed at."""
    sizes = sorted((size for size in start if size.isdecimal()), key=int)
    rows = [
        [f"{what}, {int(size):,} pictures", aims.get(size, ""), *_start_cells(found)]
        for size in sizes
        for what, aims, found in (
            ("`find`", {"2000": "0.5", "1000000": "0.7"}, start[size]["find"]["now"]),
            ("`serve`, first page", {"1000000": "1"}, start[size]["serve"]["now"]["first_page"]),
            ("... and first search", {"1000000": "2"}, start[size]["serve"]["now"]["first_search"]),
        )
    ]
    floor = start[sizes[-1]]["find"]["floor"]
    rows.append(["an interpreter that imports numpy and ONNX Runtime", "", *_start_cells(floor)])
    head = ["seconds", "aim", "by the clock", "processor, least of the runs"]
    return [*format_table(head, rows), "", machine_line(start["machine"])]


def _start_cells(found: dict[str, float]) -> list[str]:
    return [f"{found['s']:.2f}", f"{found['least_processor_s']:.2f}"]


def large_table(large: dict[str, Any]) -> list[str]:
    """Ten million pictures: what was aimed at, and what came out."""
    index, opened, added, made = large["index"], large["open"], large["added"], large["library"]["index"]
    ready, turned = opened["steps"]["moments"], [step for name, step in opened["steps"].items() if "turns" in name]
    probes = str(max(lists for lists in map(int, index["recall_of_captions"]) if lists <= index["probes"][0]))
    recalls, turn = " and ".join(f"{it:.3f}" for it in index["recall"]), opened["turn"]
    rows = [
        ["first results, p50, p95", "40 ms, 100 ms", f"{turn['p50_ms']:.0f} ms, {turn['p95_ms']:.0f} ms"],
        ["recall of the exact ten: words, words against a picture", "0.95", recalls],
        [f"the same of captions, in {probes} lists", "0.95", f"{index['recall_of_captions'][probes]:.3f}"],
        ["resident, after so many turns", "6 GB", f"{max(step['resident_MB'] for step in turned) / 1000:.1f} GB"],
        ["of that private", "1.5 GB", f"{max(step['private_MB'] for step in turned) / 1000:.2f} GB"],
        ["index made in (processor)", "30 min", f"{made['s'] / 60:.0f} min ({made['cpu_s'] / 60:.0f})"],
        ["the same: private memory", "4 GB", f"{made['most_private_MB'] / 1000:.1f} GB"],
        ["opening, ready for a turn (processor)", "3 s", f"{ready['s']:.1f} s ({ready['cpu_s']:.1f})"],
        *(
            [f"a thousand more: stored and visible{again}", "5 s", f"{each['stored_s'] + each['shown_s']:.1f} s"]
            for each, again in zip(added, (", the first that a process adds", ", those after"), strict=True)
        ),
        [
            "first snapshot, private memory", "4 GB",
            f"{large['snapshot']['most_private_MB'] / 1000:.1f} GB, {large['snapshot']['s']:.0f} s",
        ],
    ]  # fmt: skip
    return [*format_table(["", "aim", "measured"], rows), "", machine_line(large["machine"])]


def codes_tables(codes: dict[str, Any]) -> list[str]:
    """What faiss' codes find of the exact ten, and what they cost, a table a size."""
    lines: list[str] = []
    for size, found in codes["sizes"].items():
        points = {
            name: {(point["probes"], point["candidates"]): point for point in code["curve"]}
            for name, code in found["codes"].items()
        }
        counts = sorted({candidates for by_point in points.values() for _, candidates in by_point})
        head = [
            "code",
            "bytes a picture",
            "mapped",
            "coded in, s at work",
            *(f"{count:,} scored again" for count in counts),
        ]
        rows = [
            [
                name, f"{code['bytes']:.0f}", "yes" if code["can_be_mapped"] else "no", f"{code['coded_cpu_s']:.0f}",
                *(_code_cell(points[name][CODES_AT, count]) for count in counts),
            ]
            for name, code in sorted(found["codes"].items(), key=lambda item: -item[1]["bytes"])
        ]  # fmt: skip
        error = max(points[name][CODES_AT, count]["error"] for name in points for count in counts)
        title = f"{int(size):,} pictures, {CODES_AT} of {found['lists']:,} lists, {found['asked']} sentences"
        lines += [f"{title} (error of a recall: {error:.3f} or less):", "", *format_table(head, rows), ""]
    return [*lines, machine_line(codes["machine"])]


def _code_cell(point: dict[str, Any]) -> str:
    return f"{point['recall']:.3f}, {point['cpu_ms']:.1f} ms"


def likeness_table(likeness: dict[str, Any]) -> list[str]:
    """How near pictures are to their nearest and sentences to their best: photographs, and as many new vectors."""
    head = ["likeness to the", *(f"{100 * share:.0f} %" for share in likeness["quantiles"])]
    rows = [
        [f"{name}, {which}", *(f"{value:.3f}" for value in likeness[key][name])]
        for name in likeness["real"]
        for which, key in (("photographs", "real"), ("made", "made"))
    ]
    return format_table(head, rows)


def turns_table(sizes: dict[int, dict[str, Any]]) -> list[str]:
    """Milliseconds of a turn and of what else could be done with its words, a column a size."""
    rows = [
        [name, *(_time(found["turns"][key]) if "turns" in found else "" for found in sizes.values())]
        for key, name in TURNS.items()
    ]
    for engine in dict.fromkeys(name for found in sizes.values() for name in found.get("others", {})):
        engines = [found.get("others", {}).get(engine) for found in sizes.values()]
        rows.append(
            [
                f"{engine}, ten of the whole",
                *("" if one is None else f"{_time(one)}, recall {one['recall']:.3f}" for one in engines),
            ]
        )
    return format_table(["ms: median (at work)", *(f"{size:,}" for size in sizes)], rows)


def scale_plot(scale: dict[str, Any]) -> Plot:
    """The cost of a turn as the collection grows."""
    turns = {int(size): found["turns"] for size, found in scale["sizes"].items() if "turns" in found}
    lines = {key: [[size, turns[size][key]["cpu_ms"]] for size in sorted(turns)] for key in COLOURS}
    return Plot("scale.svg", lines, paint_turns)


def paint_turns(axes: Any, lines: dict[str, list[list[float]]]) -> None:
    """The processor's time of a turn over the number of pictures."""
    for key, colour in COLOURS.items():
        sizes, spent = zip(*lines[key], strict=True)
        axes.plot(sizes, spent, color=colour, marker="o", markersize=4, label=TURNS[key])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_yticks([1, 3, 10, 30, 100, 300], ["1", "3", "10", "30", "100", "300"])
    axes.set_xlabel("pictures")
    axes.set_ylabel("processor, ms")
    axes.legend(frameon=False, fontsize=8)


def _time(found: dict[str, float]) -> str:
    return f"{found['ms']:.1f} ({found['cpu_ms']:.1f})"


def index_table(sizes: dict[int, dict[str, Any]]) -> list[str]:
    """The size, recall and cost of an index, a row a size."""
    rows = [
        [
            f"{size:,}", f"{found['made_s']:.0f} s", f"{found['grown_s']:.1f} s for {found['grown_by']:,}",
            f"{' or '.join(map(str, found['probes']))} of {found['lists']}",
            " or ".join(map(format_percent, found["recall"])),
            f"{found['memory']['resident_MB']:,} MB", f"{found['memory']['private_MB']:,} MB",
        ]
        for size, found in sizes.items()
        if "made_s" in found
    ]  # fmt: skip
    head = ["pictures", "made in", "grown in", "lists looked into", "recall, its card", "memory", "of that private"]
    return format_table(head, rows)


def snapshot_table(sizes: dict[int, dict[str, Any]]) -> list[str]:
    """How long pictures take until turns see them, a row a size; of several additions the slowest."""
    rows = [
        [
            f"{size:,}", f"{found['made_s']:.0f} s ({found['made_cpu_s']:.0f})", f"{found['made_MB']:,} MB",
            f"{max(found['stored_s']):.1f} s", f"{max(found['shown_s']):.1f} s ({max(found['shown_cpu_s']):.1f})",
            f"{max(found['written_MB']):.1f} MB",
        ]
        for size, found in ((size, of_size["snapshot"]) for size, of_size in sizes.items() if "snapshot" in of_size)
    ]  # fmt: skip
    head = ["pictures", "all: ready in (at work)", "written", "1,000 more: stored in", "ready in (at work)", "written"]
    last = [of_size["snapshot"]["machine"] for of_size in sizes.values() if "snapshot" in of_size][-1:]
    return [*format_table(head, rows), *(line for machine in last for line in ("", machine_line(machine)))]


def kinds_table(sizes: dict[int, dict[str, Any]], largest: int) -> list[str]:
    """Every kind of turn with the index, beside a scan; kinds that the largest size lacks from a smaller one."""
    found: dict[str, tuple[int, dict[str, Any]]] = {}
    for size, of_size in sizes.items():
        found |= {name: (size, row) for name, row in of_size.get("kinds", {}).items()}
    order = [*sizes[largest]["kinds"], *(name for name in found if name not in sizes[largest]["kinds"])]
    rows = [
        [
            name if size == largest else f"{name}, {size:,} pictures", format_percent(row["recall"]),
            format_percent(row["verdicts"]), _time(row["index"]), _time(row["asking"]) if "asking" in row else "",
            _time(row["scan"]), str(row["asked"]),
        ]
        for name, (size, row) in ((name, found[name]) for name in order)
    ]  # fmt: skip
    fewer = ", ".join(
        f"{row[0]} ({row[1]} of {row[-1]})" for row, name in zip(rows, order, strict=True)
        if found[name][1]["recall"] < MIN_RECALL
    )  # fmt: skip
    head = [
        "the last turn",
        "of the scan's ten",
        "same verdict",
        "index, ms (at work)",
        "its question",
        "a scan",
        "asked",
    ]
    below = [] if not fewer else ["", f"Below {100 * MIN_RECALL:.0f} %: {fewer}."]
    return [f"{largest:,} pictures:", "", *format_table(head, rows), *below, "", _machine_of(sizes[largest])]


def deep_table(sizes: dict[int, dict[str, Any]]) -> list[str]:
    """Ranks, and pages far down, a column a large size."""
    deep = {size: found for size, found in sizes.items() if size >= KINDS_AT[0] and found.get("deep")}
    rows = [
        [name.replace("rank_of", "`rank_of`"), *(_time(found["deep"][name]) for found in deep.values())]
        for name in deep[min(deep)]["deep"]
    ]
    head = ["ms (at work)", *(f"{size:,}" for size in deep)]
    machines = dict.fromkeys(_machine_of(found) for found in deep.values())
    return [*format_table(head, rows), "", *machines]


def talks_table(sizes: dict[int, dict[str, Any]]) -> list[str]:
    """What a process holds after descriptions, and after conversations of all kinds."""
    kinds = [f"{after}{kind}_MB" for kind in ("resident", "private") for after in ("", "talks_")]
    rows = [
        [f"{size:,}", *(f"{found['memory'][kind]:,} MB" for kind in kinds)]
        for size, found in sizes.items()
        if "talks_private_MB" in found["memory"]
    ]
    head = ["pictures", "resident, descriptions", "all kinds of turns", "private, descriptions", "all kinds of turns"]
    return format_table(head, rows)


def _machine_of(found: dict[str, Any]) -> str:
    threads, load = found["threads"], found["load"][0]
    busy = f", at a load of {load:.0f}: other work ran" if load > threads + MAX_OWN_LOAD else ""
    return f"{machine_line(found['machine'])}; {'one thread' if threads == 1 else f'{threads} threads'}{busy}"


def people_table(people: dict[str, Any]) -> list[str]:
    """Cores for pictures and people, as `capacity.py` computes them."""
    crowds = sorted({row["people"] for row in people["rows"]})
    cells = {(row["pictures"], row["people"]): row["cores"] for row in people["rows"]}
    rows = [
        [f"{size:,}, {people['by'][str(size)]}", *(_serve(cells[size, crowd]) for crowd in crowds)]
        for size in sorted({row["pictures"] for row in people["rows"]})
    ]
    return format_table(["pictures", *(f"{crowd:,} people" for crowd in crowds)], rows)


def _serve(cores: int) -> str:
    return "`serve`, 1 core" if cores == 1 else f"`serve --workers {cores}`, {cores} cores"
