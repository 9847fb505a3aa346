"""The newest pictures as an Atom feed: what RFC 4287 wants, who may read it, and names that mean harm."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from fastapi.testclient import TestClient
from PIL import Image

import viewfinder.library
from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.feed import list_newest
from viewfinder.server.installing import FEED
from viewfinder.server.settings import ServerSettings
from viewfinder.testing import load_colour_encoder, tiny_pictures

ATOM = "{http://www.w3.org/2005/Atom}"
HOSTILE = "a <script>alert(1)<script> & \"b\" ]]> 'c'.png"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)")


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """Six pictures, added at once: one with a date, one with a caption, one whose name means harm."""
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    drawn = [picture.path for picture in tiny_pictures(tmp_path / "pictures", 6)]
    for at, path in enumerate(drawn):
        os.utime(path, (1_600_000_000 + at, 1_600_000_000 + at))
    drawn[0].rename(drawn[0].with_name(HOSTILE))
    with Image.open(drawn[1]) as image:
        dated = image.convert("RGB")
        exif = dated.getexif()
        exif[306] = exif.get_ifd(34665)[36867] = "2007:07:14 12:30:00"
        dated.save(drawn[1].with_suffix(".jpg"), exif=exif, quality=95)
    drawn[1].unlink()
    here = Library.open(tmp_path / "library")
    captions = [{"file": drawn[2].name, "caption": "Two <b>dogs</b> & a \x07 bell"}]
    here.add(tmp_path / "pictures", captions=captions, workers=1)
    return here


@pytest.fixture
def client(library: Library) -> Iterator[TestClient]:
    with serve(library) as client:
        yield client


def serve(library: Library, **settings: Any) -> TestClient:
    app = create_app(library, ServerSettings(_env_file=None, **settings))
    return TestClient(app, base_url="http://127.0.0.1:8008", client=("127.0.0.1", 4242))


def read(answer: Any) -> ElementTree.Element:
    """The feed, which has what RFC 4287 wants of one (4.1.1 and 4.1.2)."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].partition(";")[0] == "application/atom+xml"
    feed = ElementTree.fromstring(answer.content)
    assert feed.tag == f"{ATOM}feed"
    for thing in (feed, *feed.findall(f"{ATOM}entry")):
        for name in ("id", "title", "updated"):
            (element,) = thing.findall(f"{ATOM}{name}")
            assert element.text
        assert urlsplit(text(thing, "id")).scheme in ("http", "urn")
        for element in (*thing.findall(f"{ATOM}updated"), *thing.findall(f"{ATOM}published")):
            assert TIME.fullmatch(element.text or ""), element.text
            datetime.fromisoformat(element.text or "")
        for rel in ("self", "alternate"):
            assert len([1 for link in thing.findall(f"{ATOM}link") if link.get("rel") == rel]) == (
                thing is feed or rel != "self"
            )
        assert all(urlsplit(link.get("href") or "").netloc for link in thing.findall(f"{ATOM}link"))
    assert feed.find(f"{ATOM}author/{ATOM}name") is not None, "entries have no authors of their own"
    ids = [text(entry, "id") for entry in feed.findall(f"{ATOM}entry")]
    assert len(set(ids)) == len(ids)
    return feed


def text(element: ElementTree.Element, name: str) -> str:
    return element.findtext(f"{ATOM}{name}") or ""


def entries(feed: ElementTree.Element) -> dict[str, ElementTree.Element]:
    """The entries by the id of their picture, in their order."""
    return {text(entry, "id").removeprefix("urn:uuid:"): entry for entry in feed.findall(f"{ATOM}entry")}


def address(element: ElementTree.Element, rel: str) -> str:
    """Where a link leads, without the server."""
    (found,) = (link.get("href") for link in element.findall(f"{ATOM}link") if link.get("rel") == rel)
    return str(found).removeprefix("http://127.0.0.1:8008")


class Tags(HTMLParser):
    """The tags of a piece of HTML, with their attributes."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_feed_has_the_pictures_with_small_copies_and_their_dates(client: TestClient, library: Library) -> None:
    feed = read(client.get(FEED))
    pictures = {row.id: row for row in library}
    found = entries(feed)
    assert set(found) == set(pictures)
    assert text(feed, "title") == "The newest pictures"
    for id, entry in found.items():
        changed = datetime.fromtimestamp(int(pictures[id].path.stat().st_mtime), UTC)
        assert datetime.fromisoformat(text(entry, "updated")) == changed
        small = client.get(address(entry, "enclosure"))
        assert (small.status_code, small.headers["content-type"]) == (200, "image/jpeg")
        with Image.open(BytesIO(small.content)) as image:
            assert max(image.size) <= 320
    assert text(feed, "updated") == max(text(entry, "updated") for entry in found.values())
    (dated,) = (id for id, row in pictures.items() if row.captured)
    published = {id: text(entry, "published") for id, entry in found.items()}
    assert published == dict.fromkeys(pictures, "") | {dated: "2007-07-14T12:30:00-00:00"}
    times = [text(entry, "updated") for entry in found.values()]
    assert times == sorted(times, reverse=True), "they were added together"


def test_what_was_added_last_comes_first(client: TestClient, library: Library, tmp_path: Path) -> None:
    before = list(entries(read(client.get(FEED))))
    for at in range(3):
        Image.new("RGB", (32, 24), (40 * at, 200, 90)).save(tmp_path / f"new-{at}.png")
        library.add(tmp_path / f"new-{at}.png", workers=1)
    names = {row.id: row.path.name for row in library}
    with serve(library) as later:
        newest = list(entries(read(later.get(FEED))))
        assert [names[id] for id in newest[:3]] == ["new-2.png", "new-1.png", "new-0.png"]
        assert newest[3:] == before
        assert list(entries(read(later.get(FEED, params={"n": 2})))) == newest[:2]
    snapshot = library.gallery().snapshot
    assert [snapshot.ids[row] for row in list_newest(snapshot, 4)] == newest[:4]


def test_names_that_mean_harm_are_text(client: TestClient, library: Library) -> None:
    answer = client.get(FEED)
    found = entries(read(answer))
    names = {row.id: row.path.name for row in library}
    (harmful,) = (id for id, name in names.items() if name == HOSTILE)
    assert "<script" not in answer.text
    (captioned,) = (id for id in found if "dogs" in text(found[id], "title"))
    assert text(found[captioned], "title") == "Two <b>dogs</b> & a \N{REPLACEMENT CHARACTER} bell"
    for id in (harmful, captioned):
        tags = Tags(text(found[id], "content")).found
        assert [tag for tag, _ in tags] == ["p", "img", "p"]
        assert set(tags[1][1]) == {"src", "alt"}
    assert HOSTILE in html.unescape(text(found[harmful], "content"))


def test_a_picture_that_was_removed_or_whose_file_is_gone_is_in_no_feed(client: TestClient, library: Library) -> None:
    removed, gone, *stay = library
    gone.path.unlink()
    library.remove(removed.id)
    with serve(library) as later:
        assert set(entries(read(later.get(FEED)))) == {row.id for row in stay}


def test_an_empty_library_has_a_feed_without_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    with serve(Library.open(tmp_path / "empty")) as client:
        assert entries(read(client.get(FEED))) == {}


def test_who_has_the_feed_already_is_told_so(client: TestClient) -> None:
    tag = client.get(FEED).headers["etag"]
    again = client.get(FEED, headers={"If-None-Match": f'"other", {tag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert client.get(FEED, headers={"Accept-Language": "de"}).headers["etag"] != tag
    assert client.get(FEED, params={"n": 101}).status_code == 422


def test_who_may_read_reads_the_feed_by_a_token_or_by_an_address_that_it_gave(library: Library) -> None:
    with serve(library, tokens_always=True) as client:
        assert client.get(FEED).status_code == 401
        tokens = client.app.state.services.tokens  # type: ignore[attr-defined]
        assert client.get(FEED, headers=_bearer(tokens.create("w", ["write"]).secret)).status_code == 403
        feed = read(client.get(FEED, headers=_bearer(tokens.create("r", ["read"]).secret)))
        itself = address(feed, "self")
        assert "signature=" in itself
        again = read(client.get(itself))
        assert list(entries(again)) == list(entries(feed))
        for entry in entries(again).values():
            assert client.get(address(entry, "enclosure")).status_code == 200
        assert client.get(itself.replace("signature=", "signature=x")).status_code == 401
        tokens.revoke("r")
        assert client.get(itself).status_code == 401


def _bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_the_page_says_where_the_feed_is(client: TestClient) -> None:
    page = client.get("/", headers={"Accept-Language": "de"}).text
    assert '<link rel="alternate" href="/feed.xml" type="application/atom+xml" title="Die neuesten Bilder">' in page
