"""What is newest in the library, as an Atom feed (RFC 4287) for feed readers, home screens and picture frames.

Newest is what was added last. A snapshot keeps the order of adding only of pictures that came after it was made anew,
so these come first, the last added before the others. All others follow by when their files were changed last, which a
copy or an upload is as soon as it is made.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
from fastapi import Request, Response

from viewfinder.server.pages import TAGS, find_language, read_catalogue
from viewfinder.server.redaction import to_unicode

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.server.access.signatures import Signer
    from viewfinder.server.services import Services
    from viewfinder.store.snapshot import Snapshot

SIZE = 320
"""Pixels of the longer side of a picture in the feed."""

_ATOM = "http://www.w3.org/2005/Atom"
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WHOLE_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?)?")
_NEVER = datetime.fromtimestamp(0, UTC)


async def answer_feed(request: Request, services: Services, signer: Signer | None, count: int, known: str) -> Response:
    """The feed; with a signer, its pictures' addresses are signed. `known`: the versions that the reader has."""
    site, language = str(request.base_url), find_language(request)
    content = await services.pool.run(write_feed, services.library, site, request.url.path, language, count, signer)
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Accept-Language, Cookie"}
    if tag in (each.strip().removeprefix("W/") for each in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="application/atom+xml", headers=headers)


def list_newest(snapshot: Snapshot, count: int) -> list[int]:
    """The rows of the pictures that are newest in the library, the newest first."""
    added = range(len(snapshot) - 1, snapshot.ordered - 1, -1)[:count]
    older_n = np.argsort(-snapshot.read_changes()[: snapshot.ordered], kind="stable")
    return [*added, *older_n[: count - len(added)].tolist()]


def write_feed(
    library: Library, site: str, path: str, language: str, count: int, signer: Signer | None = None
) -> bytes:
    """The feed at `path` of a server at `site` (with "/"), with `count` pictures whose files are there."""
    from viewfinder.server.pictures.library import current_snapshot
    from viewfinder.server.pictures.seen import list_seen

    snapshot = current_snapshot(library)
    rows = [] if snapshot is None else list_newest(snapshot, count)
    texts = read_catalogue(language)
    feed = Element("feed", {"xmlns": _ATOM, "xml:lang": TAGS.get(language, language)})
    _add(feed, "id", f"{site[:-1]}{path}")
    _add(feed, "title", texts["feed.title"])
    updated = _add(feed, "updated", "")
    _add(SubElement(feed, "author"), "name", "Viewfinder")
    itself = site[:-1] + (path if signer is None else signer.sign(path))
    SubElement(feed, "link", rel="self", type="application/atom+xml", href=itself)
    SubElement(feed, "link", rel="alternate", type="text/html", href=site)
    _add(feed, "icon", f"{site}static/icons/192.png")
    newest = _NEVER
    if snapshot is not None:
        seen = list_seen(library, [snapshot.ids[row] for row in rows if not snapshot.captions(row)])
        for row in rows:
            changed = _find_change(snapshot, row)
            if changed is not None:
                newest = max(newest, changed)
                feed.append(_make_entry(snapshot, row, changed, site, seen.get(snapshot.ids[row], ()), signer))
    updated.text = _format_time(newest)
    written: bytes = tostring(feed, encoding="utf-8", xml_declaration=True)
    return written


def _make_entry(
    snapshot: Snapshot, row: int, changed: datetime, site: str, seen: Sequence[str], signer: Signer | None
) -> Element:
    picture, entry = snapshot.ids[row], Element("entry")
    name = to_unicode(PurePath(snapshot.paths(row)[0]).name)
    title = next((text for text in map(to_unicode, snapshot.captions(row)) if text.strip()), None)
    title = title or ", ".join(seen) or name
    path = f"/api/v1/pictures/{picture}/thumbnail"
    small = f"{site[:-1]}{path}?size={SIZE}" if signer is None else f"{site[:-1]}{signer.sign(path)}&size={SIZE}"
    _add(entry, "id", f"urn:uuid:{picture}")
    _add(entry, "title", title)
    _add(entry, "updated", _format_time(changed))
    moment = snapshot.moments([row])[0]
    if _WHOLE_DATE.fullmatch(moment):
        # Cameras note no time zone, which RFC 3339 writes like this.
        _add(
            entry,
            "published",
            f"{moment if 'T' in moment else moment + 'T00:00:00'}{':00' * (len(moment) == 16)}-00:00",
        )
    SubElement(entry, "link", rel="alternate", type="text/html", href=f"{site}#picture={picture}")
    SubElement(entry, "link", rel="enclosure", type="image/jpeg", href=small)
    shown = (
        f'<p><img src="{html.escape(small)}" alt="{html.escape(_clean(title))}"></p><p>{html.escape(_clean(name))}</p>'
    )
    _add(entry, "content", shown).set("type", "html")
    return entry


def _find_change(snapshot: Snapshot, row: int) -> datetime | None:
    """When the file of a picture was changed last; None: there is none any more."""
    for file in snapshot.files_there(row):
        try:
            return datetime.fromtimestamp(int(file.stat().st_mtime), UTC)
        except (OSError, OverflowError, ValueError):  # gone since, or a date that no calendar has
            continue
    return None


def _format_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _add(parent: Element, name: str, text: str) -> Element:
    added = SubElement(parent, name)
    added.text = _clean(text)
    return added


def _clean(text: str) -> str:
    """The text without what XML cannot hold."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
