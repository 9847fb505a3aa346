"""The pictures of the library for the API: cards and pages of them, facts, original files, filters.

Of a file only its last name goes out, never its folder, but to admins at this machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Int64
from pydantic import TypeAdapter

from viewfinder.conversation import Conversation, Like
from viewfinder.errors import BadInput, PictureError, hide_credentials
from viewfinder.own_commands import write_option
from viewfinder.pictures import FoundFile, Stretch, picture_id, read_one
from viewfinder.pictures.facts.model import MACHINE_NAMES
from viewfinder.pictures.pixel_hashes import is_same_picture
from viewfinder.retrievers import Composer
from viewfinder.search import hits as results
from viewfinder.search import ranking
from viewfinder.search.columns import find_columns
from viewfinder.search.gallery import Gallery
from viewfinder.server.conversations.schemas import Hit
from viewfinder.server.jobs.worker import report_failure
from viewfinder.server.pictures.schemas import (
    Adding,
    Browsed,
    BrowseIn,
    Collection,
    DatedCard,
    Facet,
    Facets,
    FacetValue,
    Facts,
    FailedFile,
    Failures,
    KnownFact,
    NumberRange,
    PictureDetails,
    Root,
    SimilarPictures,
)
from viewfinder.server.problems import Problem, not_found
from viewfinder.server.redaction import to_unicode
from viewfinder.session.resolve import resolve_turn
from viewfinder.store.chosen import ChosenPictures
from viewfinder.store.places import DEMO, place_name
from viewfinder.store.rows import CAPTURED, MONTHS
from viewfinder.store.snapshot import Snapshot

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.search.products import Products
    from viewfinder.server.access.signatures import Signer
    from viewfinder.server.settings import ServerSettings
    from viewfinder.store.rows import AttributeColumn

FORMATS: dict[str, tuple[str, str]] = {
    "JPEG": ("jpg", "image/jpeg"),
    "PNG": ("png", "image/png"),
    "WEBP": ("webp", "image/webp"),
    "GIF": ("gif", "image/gif"),
    "BMP": ("bmp", "image/bmp"),
    "TIFF": ("tif", "image/tiff"),
    "AVIF": ("avif", "image/avif"),
    "HEIF": ("heic", "image/heic"),
    "JXL": ("jxl", "image/jxl"),
    "RAW": ("dng", "image/x-adobe-dng"),
}
"""The file name ending of each format, and its media type."""

MAX_VALUES = 20
"""How many values of a column are listed."""


# -- the library as it is now


def current_snapshot(library: Library) -> Snapshot | None:
    """The pictures of a library that is served, without vectors; None before any was added."""
    try:
        return library.gallery().snapshot
    except BadInput:
        return None


def find_picture(library: Library, picture_id: str) -> tuple[Gallery, int]:
    """The gallery as it is now, and the row of a picture in it.

    Raises:
        Problem: 404, there is no such picture.
    """
    try:
        gallery = library.gallery()
    except BadInput:  # nothing was added yet
        raise not_found("picture", picture_id) from None
    row = gallery.snapshot.row_of(picture_id)
    if row is None:
        raise not_found("picture", picture_id)
    return gallery, row


def is_in_library(library: Library, picture: str) -> bool:
    """Whether the library has this very picture, and a file of it."""
    snapshot = current_snapshot(library)
    row = None if snapshot is None else snapshot.row_of(picture)
    return snapshot is not None and row is not None and next(snapshot.files_there(row), None) is not None


def find_same_pixels(library: Library, pixel_hash: str) -> str | None:
    """The id of the picture that a file of this pixel hash is; None if the library does not know it."""
    snapshot = current_snapshot(library)
    row = None if snapshot is None else snapshot.row_with_pixels(pixel_hash)
    return None if snapshot is None or row is None else snapshot.ids[row]


# -- cards

_HITS = TypeAdapter(list[Hit])  # all of a page at once: one by one takes half as long again


def make_hits(
    snapshot: Snapshot,
    found: Sequence[results.Hit],
    why: Mapping[str, dict[str, Any]] | None = None,
    *,
    rows: Sequence[int] | None = None,
    fields: Sequence[str] = (),
    signer: Signer | None = None,
) -> list[Hit]:
    """Results as the API has them; `why`: the reasons of some; `rows`: their rows in the snapshot, if known.

    Raises UnknownName: `fields` names a column that does not exist.
    """
    hits = list(found)
    places = snapshot.rows_of(hit.id for hit in hits) if rows is None else rows
    known = _describe_rows(snapshot, places, [hit.path.name for hit in hits], fields, signer)
    told = why or {}
    return _HITS.validate_python(
        [
            {
                **card,
                "rank": hit.rank,
                "score": hit.score,
                "match": hit.match,
                "why": told.get(hit.id),
                "others": list(hit.others),
            }
            for card, hit in zip(known, hits, strict=True)
        ]
    )


def _describe_rows(
    snapshot: Snapshot,
    rows: Sequence[int | None],
    names: Sequence[str],
    fields: Sequence[str] = (),
    signer: Signer | None = None,
) -> list[dict[str, Any]]:
    """What cards have, read column by column: every turn needs fifty of them."""
    there = [row for row in rows if row is not None]
    assert len(there) == len(names), "a result is of the snapshot that it was found in"
    names = [name if name.isascii() else to_unicode(name) for name in names]
    sizes = [snapshot.size(row) for row in there]
    captions: list[str | None] = [None] * len(there)
    if snapshot.has_captions:
        told = [next(iter(snapshot.captions(row)), None) for row in there]
        captions = [None if caption is None else to_unicode(caption) for caption in told]
    cards: list[dict[str, Any]] = [
        {"id": snapshot.ids[row], "name": name, "caption": caption, "width": width, "height": height}
        for row, name, caption, (width, height) in zip(there, names, captions, sizes, strict=True)
    ]
    columns = find_columns(snapshot, fields) if fields else {}
    if columns:
        for card, row in zip(cards, there, strict=True):
            card["fields"] = {to_unicode(name): list(map(to_unicode, it.of_row(row))) for name, it in columns.items()}
    if signer is not None:
        for card in cards:
            card["thumbnail"] = signer.sign_thumbnail(card["id"])
    return cards


# -- pages of pictures


def parse_cursor(cursor: str | None) -> int:
    """Where a page begins.

    Raises:
        BadInput: no answer ever had this cursor.
    """
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise BadInput("this cursor is none that was given out: begin again without one")
    return int(cursor)


def next_cursor(end: int, total: int) -> str | None:
    """The cursor of what comes after the first `end` of `total`; None where nothing does."""
    return str(end) if end < total else None


def browse_pictures(library: Library, given: BrowseIn, signer: Signer | None = None) -> Browsed:
    """Pictures that meet the filters; mixed is by id: ids are hashes, so neighbours have nothing in common.

    Raises:
        UnknownName: no such column or value.
    """
    snapshot = current_snapshot(library)
    if snapshot is None:  # to browse an empty library is no error
        return Browsed(pictures=[], total=0, next=None)
    allowed_n = snapshot.where(given.where)
    rows = np.flatnonzero(allowed_n) if given.order == "mixed" else _order_by_date(snapshot, allowed_n, given.order)
    products = library.gallery().products if given.fold else None
    rows = rows if products is None else products.keep_first(rows)
    start = int(given.cursor or 0)
    shown = rows[start : start + given.n].tolist()
    names = [PurePath(paths[0]).name for paths in snapshot.paths_of(shown)]
    found = _describe_rows(snapshot, shown, names, given.fields, signer)
    following = next_cursor(start + given.n, len(rows))
    moments = [to_unicode(moment) or None for moment in snapshot.moments(shown)]
    others = [[] if products is None else _list_others(snapshot, products, row, allowed_n) for row in shown]
    pictures = [
        DatedCard(**card, captured=moment, others=rest)
        for card, moment, rest in zip(found, moments, others, strict=True)
    ]
    return Browsed(pictures=pictures, total=len(rows), next=following)


def _list_others(snapshot: Snapshot, products: Products, row: int, allowed_n: Bool[np.ndarray, " n"]) -> list[str]:
    rows = [other for other in products.others(row) if allowed_n[other]]
    return [snapshot.ids[other] for _, other in sorted(zip(snapshot.paths_of(rows), rows, strict=True))]


def _order_by_date(snapshot: Snapshot, allowed_n: Bool[np.ndarray, " n"], order: str) -> Int64[np.ndarray, " k"]:
    rows_n = snapshot.rows_by_date
    rows_k: Int64[np.ndarray, " k"] = rows_n[allowed_n[rows_n]]
    if order == "newest":
        return rows_k
    dated = int(allowed_n[np.unique(snapshot.column(CAPTURED).rows)].sum())
    return np.asarray(np.concatenate([rows_k[:dated][::-1], rows_k[dated:]]))


def find_similar(
    library: Library,
    picture: str,
    *,
    n: int,
    start: int,
    fields: Sequence[str] = (),
    signer: Signer | None = None,
) -> SimilarPictures:
    """The `n` pictures most like one, after the first `start`: what a bare "like this" finds, without itself.

    Raises:
        Problem: 404, there is no such picture.
    """
    gallery, _ = find_picture(library, picture)
    conversation = Conversation().then(Like(picture))
    composer = Composer()
    query = composer.query(composer.step(composer.begin(), resolve_turn(conversation, conversation.here, gallery)))
    found = ranking.Ranking(gallery, replace(query, excluded=frozenset({picture})))
    hits = make_hits(gallery.snapshot, found.hits(n, start), fields=fields, signer=signer)
    return SimilarPictures(results=hits, next=next_cursor(start + n, found.total))


# -- one picture


def describe_picture(library: Library, picture: str, *, originals: bool, paths: bool = False) -> PictureDetails:
    """Facts of the file, what people wrote, what the encoder sees; only with `paths`, where its files lie.

    Raises:
        Problem: 404, there is no such picture.
    """
    gallery, row = find_picture(library, picture)
    snapshot = gallery.snapshot
    facts = snapshot.facts(row)
    texts = {
        name: None if facts[name] is None else to_unicode(facts[name]) for name in ("captured", "camera", "folder")
    }
    return PictureDetails(
        id=picture,
        names=list(dict.fromkeys(to_unicode(PurePath(path).name) for path in snapshot.paths(row))),
        facts=Facts(**{name: facts[name] for name in ("width", "height", "format", "bytes")}, **texts),
        captions=[to_unicode(caption) for caption in snapshot.captions(row)],
        attributes={
            to_unicode(name): [to_unicode(value) for value in values]
            for name, values in snapshot.attributes(row).items()
        },
        known=[
            KnownFact(
                name=it.name,
                values=list(map(to_unicode, it.values)),
                source=to_unicode(it.source),
                machine=it.name in MACHINE_NAMES,
            )
            for it in snapshot.known(row)
        ],
        tags=_likeliest_tags(gallery, row),
        paths=[to_unicode(hide_credentials(path)) for path in snapshot.paths(row)] if paths else [],
        original=originals,
    )


def _likeliest_tags(gallery: Gallery, row: int) -> dict[str, tuple[str, float]]:
    """The likeliest answer of each group; groups of which nothing fits best are left out.

    Of a product only what it is and its colour: it is on no beach, and rides no bicycle.
    """
    from viewfinder.server.pictures.sold import LABELS, find_product

    is_product = find_product(gallery.snapshot, row) is not None
    found = {}
    for name, probability_1t in gallery.tags.probabilities(gallery.snapshot.matrix_nd[row : row + 1]).items():
        if is_product and name not in LABELS:
            continue
        best = int(probability_1t[0].argmax())
        chance = float(probability_1t[0, best])
        if chance > 1.0 - float(probability_1t[0].sum()):
            found[name] = (gallery.tags.group(name).tags[best].name, round(chance, 3))
    return found


@dataclass(frozen=True)
class Original:
    """A picture's file; `name` is the last of its names, `content` the hash of what is in it now."""

    path: Path
    name: str
    media_type: str
    content: str


def find_original(library: Library, picture: str) -> Original:
    """The first file that still is the picture.

    Raises:
        Problem: 404 there is no such picture; 410 none of its files is there any more.
        PictureError: all of them have changed since.
    """
    gallery, row = find_picture(library, picture)
    there: list[Path] = []
    for path in gallery.snapshot.files_there(row):
        there.append(path)
        try:
            status = path.stat()
            content = hash_file(path, status.st_size, status.st_mtime_ns, status.st_ino)
        except OSError:
            continue
        if content == picture or is_same_picture(_hash_pixels(path, content), gallery.snapshot.pixel_hash(row)):
            name = PurePath(gallery.snapshot.paths(row)[0]).name if path.name == picture else path.name
            return Original(path, to_unicode(name), FORMATS[gallery.snapshot.facts(row)["format"]][1], content)
    if not there:
        raise picture_gone(picture)
    raise picture_changed(there[0])


@lru_cache(maxsize=4096)
def hash_file(path: Path, size: int, mtime_ns: int, inode: int) -> str:
    """The hash of a file's content, read again only if its size, time of change or inode is another."""
    return picture_id(path.read_bytes())


@lru_cache(maxsize=4096)
def _hash_pixels(path: Path, content: str) -> str:
    """The pixel hash of a file of this content; "" if it cannot be read."""
    try:
        return read_one(FoundFile(path, 0, 0, facts_only=True), Stretch()).pixel_hash
    except PictureError:
        return ""


def picture_gone(picture_id: str) -> Problem:
    """410: the picture is known, and none of its files is there any more."""
    return Problem(410, "gone", f"no file of the picture {picture_id} is there any more")


def picture_changed(file: Path) -> PictureError:
    """None of a picture's files is that picture any more. What they are now is not disclosed."""
    return PictureError(f"{to_unicode(file.name)} has changed since it was added, or cannot be read: add it again")


# -- the collection in numbers


def has_demo(library: Library) -> bool:
    """Whether the pictures of the demo were added."""
    folder = library.folder.resolve() / DEMO
    return any(Path(root).is_relative_to(folder) for root in library.settings.roots)


def summarize_collection(
    library: Library,
    settings: ServerSettings,
    *,
    jobs: int,
    originals: bool,
    adding: Adding | None = None,
    is_local: bool = False,
) -> Collection:
    """The collection at a glance; a library without pictures is one too. `originals`: whether files may be fetched."""
    from viewfinder.server.pictures.examples import suggest_descriptions

    snapshot = current_snapshot(library)
    return Collection(
        pictures=0 if snapshot is None else len(snapshot),
        failures=len(library.failures()),
        columns=[] if snapshot is None else [to_unicode(name) for name in snapshot.columns()],
        examples=[] if snapshot is None else [to_unicode(text) for text in suggest_descriptions(snapshot)],
        encoder=encoder_name(library.settings.encoder),
        encoders=[encoder_name(it.encoder) for it in (library.settings.active, *library.settings.others)],
        space=None if snapshot is None else snapshot.space,
        originals=originals,
        roots=[Root(number=number, name=to_unicode(root.resolve().name)) for number, root in enumerate(settings.roots)],
        jobs=jobs,
        adding=adding,
        demo=has_demo(library),
        library_option=to_unicode(write_option(place_name(library.folder))) if is_local else None,
        picks_folders=is_local,
    )


def encoder_name(encoder: str) -> str:
    """By name; one that was given as a folder of this machine, by the folder's last name."""
    return to_unicode(Path(encoder).name) if Path(encoder).is_absolute() or encoder.startswith((".", "~")) else encoder


def list_failures(library: Library, n: int, cursor: str | None) -> Failures:
    """Files in quarantine, `n` from where the cursor says.

    Raises:
        BadInput: the cursor is none of ours.
    """
    start = parse_cursor(cursor)
    found = library.failures()
    page = [FailedFile(**report_failure(failure.path, failure.reason)) for failure in found[start : start + n]]
    return Failures(failures=page, total=len(found), next=next_cursor(start + n, len(found)))


NO_FACETS = frozenset({"latitude", "longitude", "title", "description", "caption", "objects", "text"})
"""What files tell and nobody picks from a list; all of it can be filtered by nevertheless."""


def count_facets(library: Library, where: Mapping[str, str]) -> Facets:
    """Filters to choose from, each column's counts under the filters of all *other* columns.

    Raises:
        UnknownName: no such column, or a value that no picture has.
    """
    snapshot = current_snapshot(library)
    if snapshot is None:
        return Facets(total=0, facets=[])
    kept = {name: snapshot.mask_chosen(value) for name, value in where.items() if isinstance(value, ChosenPictures)}
    of_columns = {snapshot.column(name).name: value for name, value in where.items() if name not in kept}
    met = {name: snapshot.column(name).mask(value) for name, value in of_columns.items()}
    columns = [
        column
        for column in snapshot.all_columns
        if (column.tells_kinds or column.numbers_v is not None or column.name in met)
        and (column.name not in NO_FACETS or not column.of_files or column.name in met)
    ]
    allowed = _all_but(kept, None, len(snapshot))
    listed = [
        count_facet(column, allowed & _all_but(met, column.name, len(snapshot)), of_columns.get(column.name))
        for column in columns
    ]
    return Facets(total=int((allowed & _all_but(met, None, len(snapshot))).sum()), facets=listed)


def count_facet(column: AttributeColumn, allowed_n: Bool[np.ndarray, " n"], chosen: str | None) -> Facet:
    """A column's most frequent values among the pictures allowed; one that is chosen is always listed."""
    counts_v = count_values(column, allowed_n)
    order = [int(code) for code in np.argsort(-counts_v, kind="stable") if counts_v[code]]
    shown = order[:MAX_VALUES]
    if chosen is not None:
        wanted = [code for code, value in enumerate(column.values) if value.casefold() == chosen.strip().casefold()]
        shown += [code for code in wanted[:1] if code not in shown]
    shown = _order_in_time(column, shown)
    values = [FacetValue(value=to_unicode(column.values[code]), count=int(counts_v[code])) for code in shown]
    numbers_k = None if column.numbers_v is None or not order else column.numbers_v[order]
    span = None if numbers_k is None else NumberRange(low=float(numbers_k.min()), high=float(numbers_k.max()))
    return Facet(column=to_unicode(column.name), values=values, more=len(set(order) - set(shown)), range=span)


def _order_in_time(column: AttributeColumn, codes: list[int]) -> list[int]:
    """Years and months in their own order; all else as it is."""
    if column.name == "year" and column.numbers_v is not None:
        return sorted(codes, key=column.numbers_v.__getitem__)
    if column.name == "month":
        return sorted(codes, key=lambda code: (*MONTHS, column.values[code]).index(column.values[code]))
    return codes


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
