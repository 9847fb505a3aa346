"""The search as an element, in the page of a shop: of another site, and with tokens required."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")

from tests.server.page.conftest import REPOSITORY, Server, program, serving

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.server.page.conftest import AlbumOf, Open, Person, Photos, Watched

SHOP = REPOSITORY / "examples" / "shop" / "shop.py"
LOADED = "all => all.length > 0 && all.every((each) => each.complete && each.naturalWidth > 0)"
WORDS = "somebody outdoors"
DIED = "the server responded with a status of 401"


@dataclass(frozen=True)
class Shop:
    """A shop's program at an address of its own, the server whose search it shows, and its goods by name."""

    address: str
    server: Server
    names: frozenset[str]


@pytest.fixture(scope="module")
def goods(photos: Photos, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, frozenset[str]]:
    """A library whose pictures have a kind, a name, a price and a link, and the names."""
    home = tmp_path_factory.mktemp("goods")
    names = {file: f"{file.parent.name.title()} no. {number}" for number, file in enumerate(photos.files)}
    with (home / "goods.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("image", "kind", "name", "price", "link"))
        for number, (image, name) in enumerate(names.items()):
            price, link = f"{number + 1}.50 EUR", f"https://shop.example/goods/{number}"
            rows.writerow((image.name, image.parent.name, name, price, link))
    program("add", photos.folder, "--library", home / "goods.vf", "--catalogue", home / "goods.csv")
    return home / "goods.vf", frozenset(names.values())


@pytest.fixture
def shop(goods: tuple[Path, frozenset[str]], tmp_path: Path) -> Iterator[Shop]:
    """The shop of the examples, with a token that makes tickets; its page is of another site than the server."""
    library, names = goods
    shutil.copytree(library, tmp_path / "own.vf")
    scopes = ("--scope", "read", "--scope", "tickets")
    token = json.loads(program("token", "add", "shop", *scopes, "--library", tmp_path / "own.vf", "--json"))["token"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    origin = f"http://localhost:{port}"
    origins = json.dumps([origin])
    with serving(tmp_path / "own.vf", VIEWFINDER_TOKENS_ALWAYS="1", VIEWFINDER_ORIGINS=origins) as server:
        command = [sys.executable, str(SHOP), server.address, "--port", str(port)]
        given = {**os.environ, "VIEWFINDER_TOKEN": token}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=given) as started:
            assert started.stdout and str(port) in started.stdout.readline()
            yield Shop(f"{origin}/", server, names)
            started.terminate()


@dataclass(frozen=True)
class Visitor:
    """Somebody at the page of the shop."""

    person: Person

    @property
    def page(self) -> Page:
        return self.person.page

    @property
    def search(self) -> Locator:
        return self.page.locator("viewfinder-search")

    @property
    def box(self) -> Locator:
        return self.search.get_by_role("textbox")

    @property
    def question(self) -> Locator:
        return self.search.locator("[part=question]")

    @property
    def tiles(self) -> Locator:
        return self.search.locator("[part=result]")

    def say(self, words: str) -> None:
        """Types, and waits for the pictures; after the first words also for the question."""
        said = self.search.locator("[part=told] li").count()
        self.box.fill(words)
        self.box.press("Enter")
        self.wait_for_pictures(said + 1)
        if said == 0:
            expect(self.question.locator("h2")).to_be_visible()

    def wait_for_pictures(self, said: int) -> None:
        """Waits until pictures are painted after so many turns."""
        expect(self.search.locator("[part=told] li")).to_have_count(said)
        expect(self.search.locator("[part=results]")).to_have_attribute("aria-busy", "false")
        images = self.search.locator("[part=results] img")
        expect(images.first).to_be_visible()
        drawn = "() => [...document.querySelector('viewfinder-search').shadowRoot.querySelectorAll('ul img')]"
        self.page.wait_for_function(f"() => ({LOADED})(({drawn})())")


Visit = Callable[..., Visitor]


@pytest.fixture
def visit(open_page: Open, watched: Watched, shop: Shop) -> Iterator[Visit]:
    """Opens the page of the shop; what it asks the server for is no fault. Pages are closed before the servers are."""
    watched.expected = (f"another origin: {shop.server.address}",)
    visitors: list[Visitor] = []

    def opened(**how: Any) -> Visitor:
        person = open_page(at=shop, **how)
        person.page.evaluate("addEventListener('viewfinder-results', (e) => (window.told = e.detail))")
        visitors.append(Visitor(person))
        return visitors[-1]

    yield opened
    for visitor in visitors:
        visitor.page.close()


def test_a_visitor_of_the_shop_finds_what_they_seek(visit: Visit, shop: Shop, photos: Photos) -> None:
    visitor = visit()
    visitor.say(WORDS)
    expect(visitor.tiles).to_have_count(24)
    first = visitor.tiles.first.locator("[part=product]")
    name = first.locator("[part=name]").inner_text()
    assert name in shop.names
    expect(first.locator("[part=price]")).to_have_text(re.compile(r"^\d+\.50 EUR$"))
    assert re.fullmatch(r"https://shop\.example/goods/\d+", first.get_attribute("href") or "")

    choice = visitor.question.locator("[part~=choice]").first
    said = choice.inner_text()
    choice.click()
    expect(visitor.search.locator("[part=told] li")).to_have_text([WORDS, said])
    visitor.wait_for_pictures(2)
    assert visitor.page.evaluate("told.turn") == 2
    assert visitor.page.evaluate("document.activeElement.shadowRoot.activeElement.part.value") == "results", "no loss"

    visitor.tiles.nth(2).locator("[part~=like]").click()
    expect(visitor.box).to_be_focused()
    visitor.say(photos.but)
    visitor.tiles.first.locator("[part~=reject]").click()
    expect(visitor.search.locator("[part=told] li")).to_have_count(4)
    visitor.search.get_by_role("button", name="More pictures").click()
    expect(visitor.tiles).to_have_count(48)
    visitor.search.get_by_role("button", name="Start over").click()
    expect(visitor.tiles).to_have_count(0)
    expect(visitor.box).to_be_focused()


@pytest.mark.long
def test_all_of_it_works_with_keys_and_is_read_out(visit: Visit, photos: Photos) -> None:
    visitor = visit()
    visitor.box.focus()
    visitor.page.keyboard.type(WORDS)
    visitor.page.keyboard.press("Enter")
    expect(visitor.question.locator("h2")).to_be_visible()
    asked = visitor.question.locator("h2").inner_text()
    expect(visitor.search.get_by_role("status").filter(has_text=asked)).to_have_text(f"A question: {asked}")
    expect(visitor.search.get_by_role("status").filter(has_text="24 of")).to_be_visible()
    for _ in range(3):  # the search, starting over, the first choice
        visitor.page.keyboard.press("Tab")
    visitor.page.keyboard.press("Enter")
    visitor.wait_for_pictures(2)
    first = visitor.tiles.first.locator("[part=product]")
    first.focus()
    visitor.page.keyboard.press("ArrowRight")
    expect(visitor.tiles.nth(1).locator("[part=product]")).to_be_focused()
    tree = visitor.search.aria_snapshot()
    for part in ("- search:", "textbox", '- region "Question"', '- list "So far"', '- list "Pictures"', "- link"):
        assert part in tree, tree


@pytest.mark.long
def test_what_has_ended_is_renewed_and_the_conversation_goes_on(
    visit: Visit, shop: Shop, photos: Photos, watched: Watched
) -> None:
    visitor = visit()
    visitor.say(WORDS)
    watched.expected += (DIED,)
    program("token", "end-addresses", "--library", shop.server.library)  # and all tickets
    again = "(image) => new Promise((done) => { image.onload = done; image.src += '&again'; })"
    visitor.search.locator("[part=results] img").first.evaluate(again)
    visitor.say(photos.but)
    assert visitor.page.evaluate("told.turn") == 2
    expect(visitor.search.locator("[part=error]")).to_be_hidden()


def test_it_speaks_the_language_of_the_page_and_says_what_fails(
    visit: Visit, shop: Shop, photos: Photos, watched: Watched
) -> None:
    visitor = visit()
    for language, label in {"de-AT": "Wonach suchen Sie?", "fr": "Que cherchez-vous ?", "xx": "What are"}.items():
        visitor.page.evaluate("(language) => (document.documentElement.lang = language)", language)
        expect(visitor.search.locator("label")).to_contain_text(label)
    visitor.say(WORDS)
    visitor.page.evaluate("document.documentElement.lang = 'es'")
    expect(visitor.tiles.first.locator("[part~=reject]")).to_have_text("Esto no")
    watched.expected += ("Failed to load resource", "blocked by CORS")
    shop.server.stop()
    visitor.box.fill(photos.other)
    visitor.box.press("Enter")
    expect(visitor.search.get_by_role("alert")).to_have_text("No se puede acceder a la búsqueda. Inténtelo de nuevo.")
    expect(visitor.box).to_have_value(photos.other)


def test_a_picture_without_a_link_opens_large(visit: Visit, photos: Photos) -> None:
    visitor = visit()
    visitor.search.evaluate("it => it.removeAttribute('fields')")
    visitor.say(WORDS)
    visitor.tiles.first.locator("[part=product]").click()
    dialog = visitor.search.get_by_role("dialog")
    expect(dialog.locator("img")).to_be_visible()
    visitor.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(visitor.tiles.first.locator("[part=product]")).to_be_focused()


TALK = """
async (server) => {
  const { Viewfinder } = await import(`${server}embed/viewfinder-client.js`);
  const getTicket = async () => (await fetch("/ticket", { method: "POST" })).text();
  const client = new Viewfinder({ token: getTicket });
  const { id } = await client.createSession({ body: {} });
  const results = await client.takeTurn({ id, body: { say: "somebody outdoors" }, fields: ["price"] });
  let asked;
  for await (const { event, data } of client.turnEvents({ id, number: results.turn })) {
    if (event === "question") asked = data.question?.text;
  }
  const image = new Image();
  image.src = client.address(results.results[0].thumbnail, { size: 160 });
  await image.decode();
  const blob = await client.pictureThumbnail({ picture: results.results[0].id, size: 160 });
  const missing = await client.getSession({ id: "nobody" }).catch((error) => [error.type, error.status]);
  const prices = results.results.slice(0, 3).map((hit) => parseFloat(hit.fields.price[0]));
  return { asked, prices, width: image.naturalWidth, type: blob.type, missing };
}
"""


def test_the_client_talks_from_a_page_of_another_site(visit: Visit, shop: Shop, watched: Watched) -> None:
    visitor = visit()
    watched.expected += ("the server responded with a status of 404",)
    told = visitor.page.evaluate(TALK, shop.server.address)
    assert told["asked"] and all(price > 0 for price in told["prices"])
    assert 0 < told["width"] <= 160 and told["type"].startswith("image/")
    assert told["missing"] == ["not-found", 404]


LOOKS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"scheme": "dark"},
    "phone": {"width": 390, "height": 844},
    "phone-dark": {"width": 390, "height": 844, "scheme": "dark"},
    "rtl": {"width": 700},
}


@pytest.mark.parametrize("look", LOOKS)
def test_nobody_is_shut_out(visit: Visit, album_of: AlbumOf, photos: Photos, look: str) -> None:
    visitor = visit(**LOOKS[look])
    if look == "rtl":
        visitor.page.evaluate("document.documentElement.dir = 'rtl'")
    album = album_of(visitor.person, look)
    album.take("embedded-start")
    visitor.say(WORDS)
    album.take("embedded-asking")
    visitor.tiles.nth(1).locator("[part~=like]").click()
    album.take("embedded-liked")
    assert album.against == {}
