"""Which pictures are taken along, and as what. A list of them is kept for a day under an id, for whichever process
answers; the file is made anew, from what is known then, whenever it is fetched."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from viewfinder.errors import BadInput, UnknownName
from viewfinder.server.database.kept import ExportRow, ExportRows
from viewfinder.server.pictures.library import current_snapshot
from viewfinder.server.problems import not_found
from viewfinder.server.redaction import to_unicode
from viewfinder.server.taking.archives import Names, make_safe, name_picture, plan_archive, read_records, stream_archive
from viewfinder.server.taking.keeping import Kept
from viewfinder.server.taking.schemas import Export, ExportIn
from viewfinder.server.taking.sidecars import FROM_PEOPLE, stream_sidecars, write_sidecar
from viewfinder.server.taking.tables import BASE, write_csv, write_json
from viewfinder.store.rows import FACTS

if TYPE_CHECKING:
    from viewfinder.server.access.tokens import Caller
    from viewfinder.server.services import Services
    from viewfinder.store.rows import PictureRow
    from viewfinder.store.snapshot import Snapshot

KEPT_S = 86_400.0
"""How long a list is kept."""

MAX_KEPT = 100
"""Lists of one token."""

KINDS = {
    "zip": (".zip", "application/zip"),
    "csv": (".csv", "text/csv; charset=utf-8"),
    "json": (".json", "application/json"),
    "xmp": (" xmp.zip", "application/zip"),
}
"""The end of a file's name, and its media type."""

BATCH = 200

Listed = tuple[str, float | None, str | None]


@dataclass(frozen=True)
class Stream:
    """A file that is being made: its pieces, and its size where that is known."""

    pieces: Iterator[bytes]
    bytes: int | None
    name: str
    media_type: str


class Exports:
    """The exports of one caller; made for a request. `at_machine`: the caller may know where files lie."""

    def __init__(self, services: Services, caller: Caller, *, at_machine: bool) -> None:
        self._services, self._caller, self._at_machine = services, caller, at_machine
        self._rows = ExportRows(services.database)
        self._kept = Kept(services.library, services.database, caller)

    def choose(self, given: ExportIn) -> tuple[str, list[Listed]]:
        """What the export is called, and its pictures.

        Raises:
            BadInput: not one of the ways to name them is given, or there are none.
            Problem: 404, there is no such album, conversation or turn.
        """
        if [given.pictures, given.session, given.album].count(None) != 2:
            raise BadInput("say which pictures: `pictures`, a `session` or an `album`, one of the three")
        if given.session is None and (given.turn is not None or given.n is not None):
            raise BadInput("`turn` and `n` belong to a `session`")
        name, listed = "pictures", list[Listed]()
        if given.pictures is not None:
            listed = [(picture, None, None) for picture in dict.fromkeys(given.pictures)]
        elif given.album is not None:
            name, pictures = self._kept.list_pictures(given.album)
            listed = [(picture, None, None) for picture in pictures]
        elif given.session is not None:
            best = self._services.conversations.list_best
            name, hits = best(self._caller, given.session, given.turn, given.n)
            listed = [(hit.id, hit.score, hit.match) for hit in hits]
        if not listed:
            raise BadInput("there is nothing to take along: no picture is there yet")
        return name, listed

    def create(self, given: ExportIn, name: str, listed: list[Listed]) -> Export:
        """Keeps the list, and says what its file will be.

        Raises:
            Problem: 403, files may not be downloaded.
            UnknownName: there is no such column.
        """
        if given.kind == "zip":
            self._caller.check_download(self._services.settings)
        snapshot = current_snapshot(self._services.library)
        if given.fields is not None:
            self._check_fields(snapshot, given.fields)
        now = time.time()
        file = make_safe(name) + KINDS[given.kind][0]
        row = ExportRow(str(uuid.uuid4()), self._caller.token, given.kind, file, given.fields, listed, now)
        self._rows.keep(row, since=now - KEPT_S, count=MAX_KEPT)
        pictures = [picture for picture, _, _ in listed]
        missing = len(pictures) if snapshot is None else snapshot.rows_of(pictures).count(None)
        return Export(
            id=row.id,
            address=f"/api/v1/exports/{row.id}",
            name=file,
            pictures=len(pictures) - missing,
            missing=missing,
            bytes=self._stream(row).bytes if given.kind == "zip" else None,
        )

    def open(self, id: str) -> Stream:
        """The file of an export, from what is known now. Raises Problem: 404, there is none, or it is over."""
        row = self._rows.get(id) if len(id) == 36 else None
        if row is None or not self._caller.may_see(row.owner) or row.created < time.time() - KEPT_S:
            raise not_found("export", id)
        if row.kind == "zip":
            self._caller.check_download(self._services.settings)
        return self._stream(row)

    def _stream(self, row: ExportRow) -> Stream:
        library, snapshot, size = self._services.library, current_snapshot(self._services.library), None
        pictures = [picture for picture, _, _ in row.pictures]
        if row.kind == "zip":
            pieces, size = stream_archive(library, plan_archive(library, snapshot, pictures))
        elif row.kind == "xmp":
            pieces = stream_sidecars(self._make_sidecars(snapshot, pictures))
        else:
            fields, columns = self._choose_fields(snapshot, row)
            described = self._describe(snapshot, row.pictures)
            if row.kind == "csv":
                pieces = write_csv(fields, columns, described)
            else:
                rows = [None] * len(pictures) if snapshot is None else snapshot.rows_of(pictures)
                missing = [picture for picture, at in zip(pictures, rows, strict=True) if at is None]
                made = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                pieces = write_json({"made": made, "missing": missing}, fields, columns, described)
        return Stream(pieces, size, row.name, KINDS[row.kind][1])

    # -- what is known of pictures

    def _list_fields(self) -> list[str]:
        return [name for name in BASE if name != "path" or self._at_machine]

    def _check_fields(self, snapshot: Snapshot | None, fields: list[str]) -> None:
        known = [*self._list_fields(), *_list_columns(snapshot)]
        unknown = next((name for name in fields if name not in known), None)
        if unknown is not None:
            raise UnknownName(f"there is no field {unknown!r}; there are: {', '.join(map(to_unicode, known))}")

    def _choose_fields(self, snapshot: Snapshot | None, row: ExportRow) -> tuple[list[str], list[str]]:
        """The fields of every picture and the columns that are written."""
        columns = _list_columns(snapshot)
        if row.fields is not None:
            base = [name for name in row.fields if name in self._list_fields()]
            return base, [name for name in row.fields if name in columns and name not in base]
        ranked = any(score is not None for _, score, _ in row.pictures)
        return [name for name in self._list_fields() if ranked or name not in ("rank", "score", "match")], columns

    def _describe(self, snapshot: Snapshot | None, listed: Any) -> Iterator[dict[str, Any]]:
        for start in range(0, len(listed), BATCH):
            some = listed[start : start + BATCH]
            pictures = [picture for picture, _, _ in some]
            marks, albums = self._kept.read_marks(pictures), self._kept.name_albums(pictures)
            records = read_records(snapshot, pictures)
            for at, ((picture, score, match), record) in enumerate(zip(some, records, strict=True), start + 1):
                if record is not None:
                    mark = marks[picture]
                    told = {"favourite": mark.favourite, "stars": mark.stars, "albums": albums.get(picture, [])}
                    told |= {"rank": at, "score": score, "match": match}
                    yield told | _describe_record(record, paths=self._at_machine)

    def _make_sidecars(self, snapshot: Snapshot | None, pictures: list[str]) -> Iterator[tuple[str, bytes]]:
        names = Names()
        kinds = _list_kinds(snapshot)
        for start in range(0, len(pictures), BATCH):
            some = pictures[start : start + BATCH]
            marks, albums = self._kept.read_marks(some), self._kept.name_albums(some)
            for picture, record in zip(some, read_records(snapshot, some), strict=True):
                if record is not None:
                    content = _write_sidecar(record, kinds, marks[picture].stars, albums.get(picture, []))
                    yield f"{names.take(name_picture(record))}.xmp", content


def _list_columns(snapshot: Snapshot | None) -> list[str]:
    """The columns of the catalogue, and those that files fill beyond what there is of every picture."""
    if snapshot is None:
        return []
    return [name for name in snapshot.columns() if name not in snapshot.file_columns or name not in FACTS]


def _list_kinds(snapshot: Snapshot | None) -> frozenset[str]:
    """The catalogue's columns whose values are like keywords: few, and no numbers."""
    catalogue = (
        [] if snapshot is None else [it for it in snapshot.all_columns if not it.of_files and it.name not in FACTS]
    )
    return frozenset(column.name for column in catalogue if column.tells_kinds and column.numbers_v is None)


def _describe_record(record: PictureRow, *, paths: bool) -> dict[str, Any]:
    columns: dict[str, list[str]] = {}
    for fact in record.known:
        if fact.name not in FACTS:
            columns.setdefault(fact.name, []).extend(map(to_unicode, fact.values))
    columns |= {name: list(map(to_unicode, values)) for name, values in record.attributes.items()}
    path = record.files[0].path if record.files else ""
    return {
        "id": record.id,
        "name": to_unicode(name_picture(record)),
        **({"path": to_unicode(path)} if paths else {}),
        "captured": record.captured and to_unicode(record.captured),
        "camera": record.camera and to_unicode(record.camera),
        "folder": to_unicode(path.replace("\\", "/").rpartition("/")[0].rpartition("/")[2]),
        **{name: getattr(record, name) for name in ("width", "height", "format", "bytes")},
        "captions": list(map(to_unicode, record.captions)),
        "columns": columns,
    }


def _write_sidecar(record: PictureRow, kinds: frozenset[str], stars: int, albums: list[str]) -> bytes:
    told: dict[str, list[str]] = {name: [] for name in FROM_PEOPLE}
    for fact in record.known:
        if fact.name in told:
            told[fact.name] += fact.values
    told_apart = (values for name, values in record.attributes.items() if name in kinds)
    values = [value for values in told_apart for value in values if value not in record.captions]
    rated = next(iter(told["rating"]), None)
    return write_sidecar(
        keywords=[*told["keywords"], *values],
        rating=stars or (None if rated is None else int(rated)),
        title="".join(told["title"][:1]),
        description="\n".join(record.captions or told["description"][:1]),
        persons=told["persons"],
        albums=albums,
    )
