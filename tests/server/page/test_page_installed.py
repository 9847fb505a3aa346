"""The page as an installed program: what was shown stays readable without a server; what is shared is asked for."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.server.page.conftest import AlbumOf, Open, Person, Photos, Server, Watched

KEPT = """async () => {
  const found = {};
  for (const name of await caches.keys()) {
    found[name.split(" ")[0]] = (await (await caches.open(name)).keys()).map(({ url }) => url);
  }
  return found;
}"""

ALL_SEEN = """async () => {
  const cache = await caches.open("viewfinder-pictures");
  const isThere = ({ complete, naturalWidth }) => complete && naturalWidth;
  const images = [...document.querySelectorAll("vf-grid img")].filter(isThere);
  const kept = await Promise.all(images.map(({ currentSrc }) => cache.match(currentSrc)));
  return images.length > 0 && kept.every(Boolean);
}"""


def install(person: Person) -> None:
    """Waits until the worker looks after the page, and all that is shown is kept."""
    person.page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    wait_until(person.page.evaluate, ALL_SEEN)


def wait_until_kept(person: Person, path: str) -> None:
    # Not by `wait_for_function`, which takes the promise of an async function for true, and does not wait at all.
    wait_until(person.page.evaluate, "async (path) => Boolean(await caches.match(path))", path)


def shows(person: Person, ids: list[str]) -> bool:
    """Whether the first pictures are these, as many as are drawn: a page that was just laid out may draw fewer."""
    shown = person.shown
    return len(shown) > 0 and shown[: len(ids)] == ids[: len(shown)]


def test_what_was_shown_is_read_without_the_server_and_words_go_on_when_it_is_back(
    photos: Photos, open_page: Open, watched: Watched, own_server: Server
) -> None:
    watched.expected = ("net::ERR_", "Failed to fetch")
    person = open_page(at=own_server, service_workers="allow")
    person.tiles.first.wait_for()
    wall = person.shown
    install(person)
    wait_until_kept(person, "/api/v1/pictures/browse")
    person.say(photos.first)
    found, talk = person.shown, urlsplit(person.page.url).path
    wait_until_kept(person, f"/api/v1/sessions/{person.place[0]}/turns/1")
    wait_until_kept(person, f"/api/v1/sessions/{person.place[0]}")
    wait_until(person.page.evaluate, ALL_SEEN)
    own_server.stop()

    person.page.reload()
    expect(person.page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    wait_until(shows, person, found)
    assert person.page.locator("vf-grid img").first.evaluate(
        "async (image) => (await image.decode(), image.naturalWidth)"
    )
    expect(person.page.locator("vf-conversation")).to_contain_text(photos.first)
    person.page.goto("/")  # and the first pictures, from the address alone
    person.tiles.first.wait_for()
    wait_until(shows, person, wall)
    expect(person.page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    person.page.goto(talk)
    person.tiles.first.wait_for()
    person.box.fill(photos.but)
    person.box.press("Enter")
    with person.turn():
        own_server.start()
    expect(person.page.get_by_role("alert")).to_have_count(0)
    assert [node["turn"] for node in person.tree()[1:]] == [{"say": photos.first}, {"say": photos.but}]


def test_a_server_that_takes_requests_and_never_answers_is_away_where_something_is_kept(
    photos: Photos, open_page: Open, watched: Watched, own_server: Server
) -> None:
    watched.expected = ("net::ERR_", "Failed to fetch")
    person = open_page(at=own_server, service_workers="allow")
    person.tiles.first.wait_for()
    install(person)
    person.say(photos.first)
    path = f"/api/v1/sessions/{person.place[0]}"
    wait_until_kept(person, path)
    assert own_server.process
    own_server.process.send_signal(signal.SIGSTOP)
    try:
        is_kept = "async (path) => (await fetch(path)).headers.has('x-viewfinder-kept')"
        assert person.page.evaluate(is_kept, path) is True
    finally:
        own_server.process.send_signal(signal.SIGCONT)
    wait_until(lambda: person.page.evaluate(is_kept, path) is False)


def test_only_what_was_shown_is_kept(photos: Photos, open_page: Open) -> None:
    person = open_page(service_workers="allow")
    person.tiles.first.wait_for()
    install(person)
    person.say(photos.first)
    id = person.tiles.first.get_attribute("data-id") or ""
    person.page.evaluate("(id) => fetch(`/api/v1/pictures/${id}/original`).then((got) => got.blob())", id)
    wait_until_kept(person, f"/api/v1/sessions/{person.place[0]}")
    kept: dict[str, list[str]] = person.page.evaluate(KEPT)
    assert set(kept) == {"viewfinder-shell", "viewfinder-shown", "viewfinder-pictures"}
    assert all(re.search("/(static/|$)", url) for url in kept["viewfinder-shell"])
    assert all("/thumbnail" in url for url in kept["viewfinder-pictures"])
    assert not [url for url in kept["viewfinder-shown"] if re.search("events|original|search|login|jobs|health", url)]
    assert person.page.evaluate("fetch('/api/v1/me').then(({ headers }) => headers.has('x-viewfinder-kept'))") is False


def test_what_was_shown_is_forgotten_by_who_logs_in_or_out_or_is_not_let_in(
    photos: Photos, open_page: Open, watched: Watched, guarded: tuple[Server, dict[str, str]]
) -> None:
    # What is still asked for when somebody logs out is cut off by the page that comes then.
    watched.expected = ("401", "net::ERR_FAILED")
    server, tokens = guarded

    def log_in(name: str) -> None:
        person.page.get_by_role("textbox", name="Token").fill(tokens[name])
        person.page.get_by_role("button", name="Go on").click()
        person.tiles.first.wait_for()

    def shown() -> list[str]:
        kept: dict[str, list[str]] = person.page.evaluate(KEPT)
        return kept.get("viewfinder-shown", []) + kept.get("viewfinder-pictures", [])

    person = open_page(at=server, service_workers="allow")
    log_in("writer")
    install(person)
    person.say(photos.first)
    wait_until(person.page.evaluate, ALL_SEEN)
    wait_until_kept(person, f"/api/v1/sessions/{person.place[0]}/turns/1")
    talk = [url for url in shown() if "/sessions/" in url]
    person.page.get_by_role("button", name="Settings").click()
    person.page.get_by_role("button", name="Log out").click()
    person.page.get_by_role("textbox", name="Token").wait_for()
    assert all(url.endswith("/me") for url in shown())
    log_in("reader")
    wait_until(person.page.evaluate, ALL_SEEN)
    assert not set(talk) & set(shown())
    assert (
        person.page.evaluate("fetch('/api/v1/me').then((answer) => answer.json()).then(({ name }) => name)") == "reader"
    )
    assert shown()
    person.page.context.clear_cookies()
    assert person.page.evaluate("fetch('/api/v1/sessions').then(({ status }) => status)") == 401
    wait_until(person.page.evaluate, "async () => !(await caches.has('viewfinder-pictures'))")


SEND = """({ field, value, picture }) => {
  const form = document.createElement("form");
  Object.assign(form, { method: "post", action: "/share", enctype: "multipart/form-data" });
  const input = document.createElement("input");
  input.name = field;
  if (picture) {
    input.type = "file";
    const bytes = Uint8Array.from(atob(picture), (letter) => letter.charCodeAt(0));
    const carried = new DataTransfer();
    carried.items.add(new File([bytes], "mine.jpg", { type: "image/jpeg" }));
    input.files = carried.files;
  } else input.value = value;
  form.append(input);
  document.body.append(form);
  form.submit();
}"""


def share(person: Person, **given: Any) -> None:
    with person.page.expect_navigation():
        person.page.evaluate(SEND, given)


@pytest.mark.parametrize("look", [{"scheme": "light"}, {"scheme": "dark", "width": 390, "height": 844}], ids=str)
@pytest.mark.long
def test_a_picture_that_is_shared_is_sent_only_once_its_person_says_so(
    photos: Photos, open_page: Open, album_of: AlbumOf, look: dict[str, Any]
) -> None:
    import base64

    person = open_page(service_workers="allow", **look)
    person.tiles.first.wait_for()
    install(person)
    sent: list[str] = []
    person.page.on("request", lambda request: sent.append(request.url) if "/api/v1/uploads" in request.url else None)
    picture = base64.b64encode(photos.files[0].read_bytes()).decode()

    share(person, field="file", picture=picture)
    asked = person.page.get_by_role("dialog", name="Search with this picture?")
    expect(asked).to_contain_text(urlsplit(person.page.url).netloc)
    asked.get_by_role("img", name="mine.jpg").wait_for()
    album = album_of(person, look["scheme"])
    album.take("shared")
    assert album.against == {}
    asked.get_by_role("button", name="Not now").click()
    assert sent == []

    share(person, field="file", picture=picture)
    asked.get_by_role("button", name="Search with it").click()
    expect(person.page.locator("vf-say .pinned-pill img")).to_have_attribute("alt", "mine.jpg")
    assert sent
    assert urlsplit(person.page.url).query == ""
    person.page.reload()
    person.tiles.first.wait_for()
    expect(asked).to_have_count(0)


def test_words_that_are_shared_are_looked_for(photos: Photos, open_page: Open) -> None:
    person = open_page(service_workers="allow")
    person.tiles.first.wait_for()
    install(person)
    share(person, field="text", value=f"{photos.first} https://one.example/a")
    person.page.wait_for_url("**/talk/*/1")
    person.rest()
    assert person.tree()[1]["turn"] == {"say": photos.first}


def test_without_the_worker_what_is_shared_is_not_taken_and_that_is_said(open_page: Open) -> None:
    person = open_page()
    person.tiles.first.wait_for()
    share(person, field="text", value="a dog")
    expect(person.page.get_by_role("alert")).to_contain_text("did not arrive")
