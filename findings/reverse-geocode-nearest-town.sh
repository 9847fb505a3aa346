#!/bin/sh
# reverse_geocode 1.6.6 names a town that is not the nearest one, and hands out its own cached dictionaries.
#
# 1. Its tree holds latitude and longitude as if they were metres on a plane. A degree of longitude is worth less the
#    farther from the equator, and 179.99° W lies beside 179.99° E, which the tree takes for opposite ends. So
#    (-16.5, -179.99) is "Tubou", 230 km away, though Labasa is 69 km away; and of points around towns, about one in
#    ten between 35 and 62 degrees of latitude gets a town that is farther away than another.
# 2. `search` and `get` write the country into the dictionaries of their table and return these themselves. Whoever
#    changes a result (a translated name, a key that is popped) changes every later answer for that town.
#
# What to do instead: search the unit sphere (x, y, z), and copy what is returned.
#
# Installs a pinned package in a folder of its own, and fails if this is no longer so. Needs python3 and pip.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet reverse-geocode==1.6.6
"$place/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version
from random import Random

import numpy as np
import reverse_geocode
from scipy.spatial import cKDTree

EARTH = 6371.0


def to_sphere(points_n2):
    latitude_n, longitude_n = np.radians(np.asarray(points_n2, float)).T
    flat_n = np.cos(latitude_n)
    return np.stack([flat_n * np.cos(longitude_n), flat_n * np.sin(longitude_n), np.sin(latitude_n)], axis=1)


def kilometres(one, other):
    chord = np.linalg.norm(to_sphere([one]) - to_sphere([other]))
    return float(2 * EARTH * np.arcsin(chord / 2))


def place_of(town):
    return town["latitude"], town["longitude"]


print("reverse_geocode", version("reverse_geocode"))
beside_date_line = (-16.5, -179.99)
named = reverse_geocode.get(beside_date_line)
labasa = reverse_geocode.get((-16.4332, 179.36451))
far, near = kilometres(beside_date_line, place_of(named)), kilometres(beside_date_line, place_of(labasa))
print(f"{beside_date_line}: {named['city']}, {far:.0f} km away; {labasa['city']} is {near:.0f} km away")
assert named["city"] != labasa["city"] and far > 200 and near < 80

random = Random(1)
known = [place_of(town) for town in reverse_geocode.GeocodeData()._locations]
tree = cKDTree(to_sphere(known))
for low, high, least in ((-20, 20, 0.0), (35, 45, 0.05), (45, 52, 0.08), (55, 62, 0.08)):
    probes = []
    for latitude, longitude in random.sample([spot for spot in known if low <= spot[0] <= high], 1_500):
        north, east = random.uniform(-5, 5), random.uniform(-5, 5)
        probes.append((latitude + north / 111.2, longitude + east / (111.2 * np.cos(np.radians(latitude)))))
    _, nearest_n = tree.query(to_sphere(probes))
    wrong = sum(
        kilometres(probe, place_of(town)) > kilometres(probe, known[nearest]) + 0.01
        for probe, town, nearest in zip(probes, reverse_geocode.search(probes), nearest_n)
    )
    share = wrong / len(probes)
    print(f"latitude {low} to {high}: of points around towns {share:.1%} get a town that is not the nearest")
    assert least <= share < 0.2

paris = (48.8566, 2.3522)
reverse_geocode.get(paris)["city"] = "changed by the caller"
print("asked again after a caller changed its result:", reverse_geocode.get(paris)["city"])
assert reverse_geocode.get(paris)["city"] == "changed by the caller"
print("as described")
PYTHON
