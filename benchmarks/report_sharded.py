"""The tables of sharded.json, for report.py."""

from __future__ import annotations

from typing import Any

from cells import format_interval, format_table, machine_line


def sharded_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """All tables of `sharded.py`."""
    return {
        "sharded-shards": shards_table(found["shards"], found["recall"]),
        "sharded-actors": actors_table(found["actors"], found["load"]["actors"]),
        "sharded-loads": loads_table(found["actors"]),
        "sharded-fleet": fleet_table(found["fleet"], found["messages"]["rows"]),
        "sharded-machine": [machine_line(found["machine"])],
    }


def shards_table(shards: dict[str, Any], recall: dict[str, Any]) -> list[str]:
    """What a shard takes of a core, a row a kind of turn."""
    sizes = sorted(map(int, shards["sizes"]))
    by_size = {size: shards["sizes"][str(size)] for size in sizes}
    largest = by_size[sizes[-1]]["kinds"]
    rows = [
        [
            name,
            *(_ways(by_size[size]["kinds"][name]) for size in sizes),
            f"{largest[name]['around_ms']:.0f} ms",
            f"{min(by_size[size]['kinds'][name]['same'] for size in sizes):.3f}",
            f"{_kilobytes(largest[name]['question_bytes'])}, {_kilobytes(largest[name]['answer_bytes'])}",
        ]
        for name in largest
    ]
    head = [
        "last turn",
        *(f"{size:,} pictures: index, scan" for size in sizes),
        "the server besides",
        "of the ten best, least",
        "question, answer",
    ]
    made = ", ".join(
        f"{size:,}: {_recalls(by_size[size])} in {by_size[size]['probes'][0]} of {by_size[size]['lists']} lists"
        for size in sizes
    )
    said = ", ".join(
        f"{int(size):,}: {found['recall']:.3f} (standard error {found['error']:.3f})"
        for size, found in sorted(recall["sizes"].items(), key=lambda it: int(it[0]))
    )
    told = (
        f"Medians of {shards['asked']} descriptions and a few of every other kind, too few to tell a share well. Of "
        f"{recall['sentences']} sentences the indexes find this share of the ten best: {said}. By their own cards "
        f"(words; against something): {made}."
    )
    return [*format_table(head, rows), "", told]


def _ways(kind: dict[str, Any]) -> str:
    return f"{kind['index_ms']:.1f} ms, {kind['scan_ms']:.0f} ms"


def _recalls(size: dict[str, Any]) -> str:
    return "; ".join(f"{recall:.3f}" for recall in size["recall"])


def _kilobytes(count: int) -> str:
    return f"{count / 1000:,.1f} KB"


def actors_table(actors: dict[str, Any], load: float) -> list[str]:
    """Descriptions searched by real actors, by their indexes and by their scans."""
    rows = [
        [told, *(f"{actors[way][f'{part}_ms']:.0f} ms" for part in ("actors", "server", "wall"))]
        for way, told in (("index", "an index each"), ("scan", "a scan each"))
    ]
    told = (
        f"{actors['actors']} actors of this machine, {actors['pictures']:,} pictures, {actors['turns']} descriptions "
        f"one after the other, each in both ways, medians. By the indexes {100 * actors['same']:.1f} % of the scan's "
        f"ten best were found. At a load of {load:.0f}, believe the times of cores, and of the "
        "waiting only the ratio. The server reads each sentence once, with the index."
    )
    head = ["", "all actors, time of a core", "the server, time of a core", "waiting"]
    return [*format_table(head, rows), "", told]


def loads_table(actors: dict[str, Any]) -> list[str]:
    """What the actors' part of a turn waits for under load, beside the simulation."""
    rows = [
        [f"{100 * float(load):.0f} %", way, *(f"{row[way][f'p{share}_ms']:,.0f} ms" for share in (50, 95))]
        for load, row in actors["loads"]["rows"].items()
        for way in ("measured", "simulated")
    ]
    alone = " and ".join(f"{row['alone_ms']:.0f} ms" for row in actors["loads"]["rows"].values())
    busy = " and ".join(f"{row['others_running']:.0f}" for row in actors["loads"]["rows"].values())
    told = (
        f"{actors['loads']['questions']} questions a load, at random times. One shard alone took {alone} with all that "
        f"Ray adds; {busy} programs wanted the two cores. In the simulation each core has two of the shards."
    )
    return [*format_table(["load", "", "p50", "p95"], rows), "", told]


def fleet_table(fleet: dict[str, Any], messages: dict[str, Any]) -> list[str]:
    """A hundred million pictures on 32 shards, simulated."""
    rows = [
        [
            str(row["replicas"]),
            f"{100 * row['load']:.0f} % ({row['load'] * fleet['most_per_s']:.0f}/s)",
            "yes" if row["asked_twice"] else "no",
            *(f"{row[f'p{share}_ms']['mean']:,.0f} ms" for share in (50, 95, 99)),
            format_interval(row["incomplete"]),
        ]
        for row in fleet["rows"]
    ]
    head = ["replicas", "queries, of what one can", "asked twice", "p50", "p95", "p99", "answers that lack a shard"]
    told = (
        f"{fleet['pictures']:,} pictures on {fleet['shards']} shards. A shard takes {fleet['scan_ms']:.1f} ms of a "
        f"core: the line through what was measured, {fleet['start_ms']:.1f} ms and {fleet['ns_a_picture']:.1f} ns a "
        "picture, "
        f"at three times the largest size measured. The server takes {fleet['around_ms']:.0f} ms, of which packing 32 "
        f"questions {messages['a description']['asking_ms']:.1f} and reading and merging 32 answers "
        f"{messages['a description']['merging_ms']:.1f} ({messages['an answer']['merging_ms']:.1f} after an answer). "
        f"The p99 of both is {fleet['p99_over_p50']} times the median, as of a server's turns; everything else is "
        "assumed as in [capacity](capacity.md#a-hundred-million-pictures), and the network between machines takes no "
        "time. This is of descriptions: what the server does for a filter or an answer of the catalogue, and what it "
        "sends then, grows with the collection and was not measured at this size."
    )
    return [*format_table(head, rows), "", told]
