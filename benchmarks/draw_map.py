"""Draws the outlines of the page's map, from the countries of Natural Earth (public domain) at 1:110,000,000.

    npm pack world-atlas@2.0.2 && tar xzf world-atlas-2.0.2.tgz
    python benchmarks/draw_map.py package/countries-110m.json > src/viewfinder/server/static/map.json

Degrees become whole tenths, north is up, and the two paths (`land`, `borders`) are for an SVG of 3600 x 1800.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Point = tuple[int, int]

HALF = 1800
"""Half the width of the map: no two points of a coast are as far from each other."""

SOURCE = "Natural Earth 4.1.0, 1:110m countries, public domain (naturalearthdata.com)"


def read_arcs(topology: dict[str, Any]) -> list[list[Point]]:
    """The arcs in tenths of a degree, from the north-west corner, without points that fall together."""
    (scale_x, scale_y), (shift_x, shift_y) = topology["transform"]["scale"], topology["transform"]["translate"]
    arcs = []
    for arc in topology["arcs"]:
        x = y = 0
        points: list[Point] = []
        for dx, dy in arc:
            x, y = x + dx, y + dy
            point = (
                round((x * scale_x + shift_x + 180) * 10),
                round((90 - y * scale_y - shift_y) * 10),
            )
            if not points or points[-1] != point:
                points.append(point)
        arcs.append(points)
    return arcs


def join_ring(ring: list[int], arcs: list[list[Point]]) -> list[Point]:
    """The points of a ring; ~n is arc n from its end."""
    points: list[Point] = []
    for number in ring:
        arc = arcs[number] if number >= 0 else arcs[~number][::-1]
        points += arc[1:] if points else arc
    return points


def cut_ring(ring: list[Point]) -> list[list[Point]]:
    """A ring in the parts that lie on one side of the edge of the map, which it may go over."""
    jumps = [at for at in range(1, len(ring)) if abs(ring[at][0] - ring[at - 1][0]) > HALF]
    if not jumps:
        return [ring]
    turned = ring[jumps[0] :] + ring[1 : jumps[0]]
    starts = [0, *(at for at in range(1, len(turned)) if abs(turned[at][0] - turned[at - 1][0]) > HALF)]
    return [turned[start:end] for start, end in zip(starts, [*starts[1:], len(turned)], strict=True)]


def list_rings(geometry: dict[str, Any]) -> Iterator[list[int]]:
    """The rings of a polygon, of several, or of a collection of them."""
    if geometry["type"] == "GeometryCollection":
        for inner in geometry["geometries"]:
            yield from list_rings(inner)
    elif geometry["type"] == "Polygon":
        yield from geometry["arcs"]
    elif geometry["type"] == "MultiPolygon":
        for polygon in geometry["arcs"]:
            yield from polygon


def write_path(lines: Iterable[list[Point]], end: str) -> str:
    """Lines as the data of an SVG path, each point by its distance from the one before."""
    parts = []
    for line in lines:
        if len(set(line)) < 2:
            continue
        (x, y), rest = line[0], line[1:]
        steps = []
        for to_x, to_y in rest:
            steps.append(f"{to_x - x} {to_y - y}")
            x, y = to_x, to_y
        parts.append(f"M{line[0][0]} {line[0][1]}l{' '.join(steps)}{end}".replace(" -", "-"))
    return "".join(parts)


def main() -> None:
    """Writes the outlines of the file that is given."""
    topology = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    arcs = read_arcs(topology)
    rings = (join_ring(ring, arcs) for ring in list_rings(topology["objects"]["land"]))
    land = [part for ring in rings for part in cut_ring(ring)]
    used = Counter(
        number if number >= 0 else ~number for ring in list_rings(topology["objects"]["countries"]) for number in ring
    )
    borders = [arcs[number] for number, count in used.items() if count > 1]
    drawn = {"source": SOURCE, "land": write_path(land, "z"), "borders": write_path(borders, "")}
    sys.stdout.write(json.dumps(drawn, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
