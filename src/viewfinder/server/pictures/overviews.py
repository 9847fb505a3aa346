"""The collection as a whole, counted: by month, by folder, by place; and what a typed filter may become."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float64

from viewfinder.errors import BadInput
from viewfinder.server.pictures.library import current_snapshot
from viewfinder.server.pictures.overview_schemas import (
    Area,
    Folder,
    FolderTree,
    PlaceCluster,
    Places,
    PlacesIn,
    Product,
    Stretch,
    SuggestedFilter,
    SuggestedFilters,
    Timeline,
)
from viewfinder.server.pictures.sold import find_product
from viewfinder.server.redaction import to_unicode
from viewfinder.store.rows import CAPTURED, UNDER, AttributeColumn

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.store.snapshot import Snapshot

NAMES_OF_PLACES = ("place", "city", "region", "country")
"""Columns whose values name a place, the narrowest first."""

MIN_NAMED_SHARE = 0.5
"""A cluster is called by a place that so large a part of its pictures with a name have."""


def count_months(library: Library, where: Mapping[str, str]) -> Timeline:
    """How many pictures were taken in each month, under the filters but for those of time.

    Raises:
        UnknownName: no such column or value.
    """
    snapshot = current_snapshot(library)
    if snapshot is None:
        return Timeline(total=0, undated=0, stretches=[])
    allowed_n = snapshot.where({name: value for name, value in where.items() if name.casefold() != CAPTURED})
    days = snapshot.column(CAPTURED)
    counts: Counter[str] = Counter()
    for day, count in zip(days.values, _count_values(days, allowed_n), strict=True):
        counts[day[:7]] += count
    total = int(allowed_n.sum())
    dated = sum(counts.values())
    stretches = [Stretch(stretch=stretch, pictures=count) for stretch, count in sorted(counts.items()) if count]
    return Timeline(total=total, undated=total - dated, stretches=stretches)


def list_folders(library: Library, under: str, where: Mapping[str, str]) -> FolderTree:
    """The folders in a folder ("": at the top), with the pictures in each and all below it, under the other filters.

    Raises:
        UnknownName: no such column or value.
    """
    snapshot = current_snapshot(library)
    if snapshot is None:
        return FolderTree(folders=[])
    allowed_n = snapshot.where({name: value for name, value in where.items() if name.casefold() != UNDER})
    column = snapshot.column(UNDER)
    prefix = f"{under}/" if under else ""
    counts = dict(zip(column.values, _count_values(column, allowed_n), strict=True))
    names = [path.removeprefix(prefix) for path in column.values if path.startswith(prefix)]
    inner = {name.partition("/")[0] for name in names if "/" in name}
    return FolderTree(
        folders=[
            Folder(
                name=to_unicode(name),
                path=to_unicode(f"{prefix}{name}"),
                pictures=counts[f"{prefix}{name}"],
                has_folders=name in inner,
            )
            for name in sorted((name for name in names if "/" not in name), key=_sort_naturally)
        ]
    )


def _sort_naturally(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """Numbers in names count as numbers: "9 May" is before "10 May"."""
    parts = re.findall(r"\d+|\D+", name.casefold())
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts], name


def cluster_places(library: Library, given: PlacesIn) -> Places:
    """The pictures of an area that say where they were taken, those near one another as one.

    Raises:
        BadInput: the area is none.
        UnknownName: no such column or value.
    """
    snapshot = current_snapshot(library)
    if snapshot is None:
        return Places(total=0, bounds=None, clusters=[])
    others = {name: value for name, value in given.where.items() if name.casefold() not in ("latitude", "longitude")}
    allowed_n = snapshot.where(others)
    latitude_n, longitude_n = _read_degrees(snapshot, "latitude"), _read_degrees(snapshot, "longitude")
    rows_k = np.flatnonzero(allowed_n & np.isfinite(latitude_n) & np.isfinite(longitude_n))
    if not len(rows_k):
        return Places(total=0, bounds=None, clusters=[])
    bounds = _bound(latitude_n[rows_k], longitude_n[rows_k])
    area = given.area or bounds
    if area.south > area.north or area.west > area.east:
        raise BadInput("area: south is to be at most north, and west at most east")
    inside_k = (latitude_n[rows_k] >= area.south) & (latitude_n[rows_k] <= area.north)
    inside_k &= (longitude_n[rows_k] >= area.west) & (longitude_n[rows_k] <= area.east)
    shown_k = rows_k[inside_k]
    size = max((area.east - area.west), (area.north - area.south), 1e-4) / given.cells
    cell_k = np.stack([latitude_n[shown_k] // size, longitude_n[shown_k] // size], axis=1)
    _, cluster_k = np.unique(cell_k, axis=0, return_inverse=True)
    cluster_k = cluster_k.reshape(-1)
    order_k = np.argsort(cluster_k, kind="stable")
    names = _name_rows(snapshot)
    clusters = [
        _make_cluster(snapshot, shown_k[members], latitude_n, longitude_n, names)
        for members in np.split(order_k, np.flatnonzero(np.diff(cluster_k[order_k])) + 1)
        if len(members)
    ]
    clusters.sort(key=lambda cluster: -cluster.pictures)
    return Places(total=len(rows_k), bounds=bounds, clusters=clusters)


def _make_cluster(
    snapshot: Snapshot,
    rows_k: np.ndarray,
    latitude_n: Float64[np.ndarray, " n"],
    longitude_n: Float64[np.ndarray, " n"],
    names: list[AttributeColumn],
) -> PlaceCluster:
    # Where one of them was taken: the middle between two coasts is in the sea.
    off_k = (latitude_n[rows_k] - latitude_n[rows_k].mean()) ** 2 + (
        longitude_n[rows_k] - longitude_n[rows_k].mean()
    ) ** 2
    middle = int(rows_k[off_k.argmin()])
    return PlaceCluster(
        latitude=round(float(latitude_n[middle]), 5),
        longitude=round(float(longitude_n[middle]), 5),
        pictures=len(rows_k),
        picture=snapshot.ids[middle],
        name=_name_cluster(rows_k, names),
        area=_bound(latitude_n[rows_k], longitude_n[rows_k]),
    )


def _bound(latitude_k: Float64[np.ndarray, " k"], longitude_k: Float64[np.ndarray, " k"]) -> Area:
    return Area(
        south=float(latitude_k.min()), west=float(longitude_k.min()), north=float(latitude_k.max()),
        east=float(longitude_k.max()),
    )  # fmt: skip


def _read_degrees(snapshot: Snapshot, name: str) -> Float64[np.ndarray, " n"]:
    """The degrees of each picture, nan where they are not known."""
    column = snapshot.column(name)
    degrees_n = np.full(len(snapshot), np.nan)
    if (numbers_v := column.numbers_v) is not None:
        known_n = column.first_codes_n >= 0
        degrees_n[known_n] = numbers_v[column.first_codes_n[known_n]]
    return degrees_n


def _name_rows(snapshot: Snapshot) -> list[AttributeColumn]:
    there = snapshot.columns()
    return [snapshot.column(name) for name in NAMES_OF_PLACES if name in there]


def _name_cluster(rows_k: np.ndarray, names: list[AttributeColumn]) -> str | None:
    """The narrowest name that most of its pictures have; None: there is none."""
    for column in names:
        codes_k = column.first_codes_n[rows_k]
        known_k = codes_k[codes_k >= 0]
        if len(known_k) * 2 < len(rows_k):
            continue
        codes, counts = np.unique(known_k, return_counts=True)
        if counts.max() >= MIN_NAMED_SHARE * len(known_k):
            return to_unicode(column.values[int(codes[counts.argmax()])])
    return None


def suggest_typed_filters(library: Library, text: str, count: int) -> SuggestedFilters:
    """What the last word of a sentence may become."""
    from viewfinder.session.filter_suggestions import suggest_filters

    try:
        gallery = library.gallery()
    except BadInput:  # nothing was added yet
        return SuggestedFilters(filters=[])
    found = suggest_filters(text, gallery, count)
    return SuggestedFilters(filters=[SuggestedFilter(text=to_unicode(it.text), pictures=it.pictures) for it in found])


def _count_values(column: AttributeColumn, allowed_n: Bool[np.ndarray, " n"]) -> list[int]:
    codes = column.codes[allowed_n[column.rows]]
    counted: list[int] = np.bincount(codes, minlength=len(column.values)).tolist()
    return counted


def list_products(library: Library, pictures: Sequence[str]) -> dict[str, Product]:
    """The products of these pictures; those that are of none are left out."""
    snapshot = current_snapshot(library)
    if snapshot is None:
        return {}
    rows = [row for row in snapshot.rows_of(pictures) if row is not None]
    found = {snapshot.ids[row]: find_product(snapshot, row) for row in rows}
    return {id: product for id, product in found.items() if product is not None}
