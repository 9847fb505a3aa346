"""What the collection holds, in numbers: pictures, failures, filters with counts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int64

from viewfinder.errors import BadInput
from viewfinder.server.discreet import to_unicode
from viewfinder.server.jobs.telling import report_failure
from viewfinder.server.schemas.collection import Collection, Facet, Facets, FacetValue, FailedFile, Failures, Root
from viewfinder.server.talks.answers import parse_cursor

if TYPE_CHECKING:
    from viewfinder.index import Snapshot
    from viewfinder.index.columns import AttributeColumn
    from viewfinder.library import Library
    from viewfinder.server.settings import ServerSettings

MOST_VALUES = 500
"""A column of more values is no filter to choose from: names, numbers, free text."""

SHOWN = 20
"""Values of a column that are listed."""


def summarize_collection(library: Library, settings: ServerSettings, *, jobs: int) -> Collection:
    """The collection at a glance; a library without pictures is one too."""
    snapshot = current_snapshot(library)
    return Collection(
        pictures=0 if snapshot is None else len(snapshot),
        failures=len(library.failures()),
        columns=[] if snapshot is None else [to_unicode(name) for name in snapshot.columns()],
        encoder=encoder_name(library.settings.encoder),
        space=None if snapshot is None else snapshot.space,
        originals=settings.originals,
        roots=[Root(number=number, name=to_unicode(root.resolve().name)) for number, root in enumerate(settings.roots)],
        jobs=jobs,
    )


def encoder_name(encoder: str) -> str:
    """By name; one that was given as a folder of this machine, by the folder's last name."""
    return to_unicode(Path(encoder).name) if Path(encoder).is_absolute() or encoder.startswith((".", "~")) else encoder


def current_snapshot(library: Library) -> Snapshot | None:
    """The pictures as they are now; None before any was added."""
    try:
        return library.gallery().snapshot
    except BadInput:
        return None


def list_failures(library: Library, n: int, cursor: str | None) -> Failures:
    """Files in quarantine, `n` from where the cursor says.

    Raises:
        BadInput: the cursor is none of ours.
    """
    start = parse_cursor(cursor)
    found = library.failures()
    page = [FailedFile(**report_failure(failure.path, failure.reason)) for failure in found[start : start + n]]
    more = str(start + n) if start + n < len(found) else None
    return Failures(failures=page, total=len(found), next=more)


def count_facets(library: Library, where: Mapping[str, str]) -> Facets:
    """Filters to choose from, each column's counts under the filters of all *other* columns.

    Raises:
        UnknownName: no such column, or a value that no picture has.
    """
    snapshot = current_snapshot(library)
    if snapshot is None:
        return Facets(total=0, facets=[])
    met = {snapshot.column(name).name: snapshot.column(name).mask(value) for name, value in where.items()}
    chosen = {snapshot.column(name).name: value for name, value in where.items()}
    columns = [column for column in map(snapshot.column, snapshot.columns()) if 0 < len(column.values) <= MOST_VALUES]
    listed = [
        count_facet(column, _all_but(met, column.name, len(snapshot)), chosen.get(column.name)) for column in columns
    ]
    return Facets(total=int(_all_but(met, None, len(snapshot)).sum()), facets=listed)


def count_facet(column: AttributeColumn, allowed_n: Bool[np.ndarray, " n"], chosen: str | None) -> Facet:
    """A column's most frequent values among the pictures allowed; one that is chosen is always listed."""
    counts_v = count_values(column, allowed_n)
    order = [int(code) for code in np.argsort(-counts_v, kind="stable") if counts_v[code]]
    wanted = [code for code, value in enumerate(column.values) if _same(value, chosen)]
    shown = order[:SHOWN]
    shown += [code for code in wanted[:1] if code not in shown]
    values = [FacetValue(value=to_unicode(column.values[code]), count=int(counts_v[code])) for code in shown]
    return Facet(column=to_unicode(column.name), values=values, more=len(set(order) - set(shown)))


def count_values(column: AttributeColumn, allowed_n: Bool[np.ndarray, " n"]) -> Int64[np.ndarray, " values"]:
    """How many of the pictures allowed have each value (a picture has a value once)."""
    codes = column.codes[allowed_n[column.rows]]
    counted: Int64[np.ndarray, " values"] = np.bincount(codes, minlength=len(column.values)).astype(np.int64)
    return counted


def _all_but(met: Mapping[str, Bool[np.ndarray, " n"]], name: str | None, count: int) -> Bool[np.ndarray, " n"]:
    allowed_n = np.ones(count, dtype=bool)
    for other, mask_n in met.items():
        if other != name:
            allowed_n &= mask_n
    return allowed_n


def _same(value: str, chosen: str | None) -> bool:
    return chosen is not None and value.casefold() == chosen.strip().casefold()
