"""Every state of the page, light, dark and on a phone: no violation found by axe-core, and a screenshot to look at."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")

if TYPE_CHECKING:
    from tests.server.page.conftest import Album, AlbumOf, Open, Person, Photos, Server, Watched

FAR = 120_000
"""Milliseconds for what a job may take."""

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"scheme": "light"},
    "dark": {"scheme": "dark"},
    "phone": {"scheme": "light", "width": 390, "height": 844, "device_scale_factor": 2},
    "phone-dark": {"scheme": "dark", "width": 390, "height": 844, "device_scale_factor": 2},
    "wide": {"scheme": "light", "width": 2200, "height": 1200},
}


@pytest.mark.parametrize(
    ("look", "states"),
    [
        ("light", "with panels"),
        ("phone-dark", "with panels"),  # which are laid out otherwise than in a wide window
        *(pytest.param(look, "all", marks=pytest.mark.long) for look in ("light", "dark", "phone")),
        pytest.param("wide", "talking", marks=pytest.mark.long),
    ],
)
def test_no_state_of_the_page_shuts_anybody_out(
    open_page: Open, album_of: AlbumOf, photos: Photos, look: str, states: str, watched: Watched
) -> None:
    person = open_page(**LOOKS[look])
    person.tiles.first.wait_for()
    person.rest()
    album = album_of(person, look)
    album.take("start")
    _talking(album, photos)
    if states != "talking":
        _panels(album, narrow="phone" in look)
    if states == "all":
        _pictures(album)
        _branches(album, photos, narrow="phone" in look)
        _troubles(album, watched)
    assert album.against == {}


def _talking(album: Album, photos: Photos) -> None:
    person = album.person
    person.box.fill(photos.first)
    expect(person.page.locator("vf-grid .tile").first).to_be_visible()
    person.page.wait_for_timeout(600)
    person.rest()
    album.take("typing")
    with person.turn():
        person.box.press("Enter")
    person.say(photos.but)
    album.take("conversation")
    person.like(1)
    person.box.fill("but ")
    album.take("picked")
    person.box.fill("")
    person.page.get_by_role("button", name="Not like this after all").click()


def _panels(album: Album, *, narrow: bool) -> None:
    page = album.person.page
    for state, name in (
        ("conversations", "^Conversations"),
        ("collection", "^Collection"),
        ("retrievers", "^How to search"),
        ("settings", "^Settings"),
    ):
        page.get_by_role("button", name=re.compile(name)).click()
        album.person.rest()
        album.take(state)
        page.keyboard.press("Escape")
    page.get_by_role("button", name="Filters").click()
    expect(page.locator(".facet").first).to_be_visible()
    album.take("filters")
    page.get_by_role("button", name="Filters").click()
    if narrow:
        page.get_by_role("button", name="Conversation", exact=True).click()
        album.take("conversation-open")
        page.get_by_role("button", name="Conversation", exact=True).click()
        return
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("button", name="Show all keys").click()
    album.take("shortcuts")
    page.keyboard.press("Escape")


def _pictures(album: Album) -> None:
    person = album.person
    person.page.locator("vf-grid .pick").first.focus()
    person.page.keyboard.press("Space")
    dialog = person.page.get_by_role("dialog", name="Details")
    expect(dialog.locator(".strip img").first).to_be_visible()
    person.rest()
    person.page.wait_for_timeout(400)
    album.take("picture")
    person.page.keyboard.press("Escape")
    person.page.locator("vf-grid .pick").first.focus()
    person.page.keyboard.press("f")
    expect(person.page.get_by_text("Found!").first).to_be_visible()
    album.take("found")
    person.page.get_by_role("button", name="Go on").click()


def _branches(album: Album, photos: Photos, *, narrow: bool) -> None:
    person = album.person
    person.page.go_back()
    person.page.wait_for_timeout(300)
    person.rest()
    person.say(photos.other)
    conversation, _ = person.place
    person.page.goto(f"/compare/{conversation}/4/2")
    expect(person.page.get_by_role("heading", name="Two branches side by side")).to_be_visible()
    person.rest()
    person.page.wait_for_timeout(500)
    album.take("compare")
    person.page.goto(f"/talk/{conversation}/4")
    person.rest()
    if narrow:
        return
    person.page.locator(".bubble .spot").last.hover()
    expect(person.page.locator("vf-grid canvas.heat").nth(5)).to_be_attached()
    album.take("heat")
    person.page.mouse.move(600, 20)


def _troubles(album: Album, watched: Watched) -> None:
    person = album.person
    watched.expected = ("503", "net::", "ERR_INTERNET_DISCONNECTED")
    problem = {"type": "urn:viewfinder:problem:deadline", "status": 503, "detail": "this took longer than 30 s"}
    person.page.route("**/turns", lambda route: route.fulfill(status=503, json=problem))
    person.box.fill("by night")
    person.box.press("Enter")
    expect(person.page.get_by_role("alert")).to_be_visible()
    album.take("error")
    person.page.unroute("**/turns")
    person.page.get_by_role("button", name="Dismiss").click()
    person.page.context.set_offline(True)
    person.box.press("Enter")
    expect(person.page.get_by_role("alert")).to_contain_text("cannot be reached")
    album.take("offline")
    person.page.context.set_offline(False)
    expect(person.page.get_by_role("alert")).to_have_count(0)
    person.rest()


@pytest.mark.long
def test_an_empty_library_and_how_far_its_indexing_is_shut_nobody_out(
    crowded_server: Server, open_page: Open, album_of: AlbumOf, artefacts: Path
) -> None:
    person = open_page(at=crowded_server)
    page = person.page
    albums = [album_of(person, look) for look in ("light", "dark", "phone")]

    def take(state: str) -> None:
        for album in albums:
            look = {"width": 1440, "height": 900, **LOOKS[album.look]}
            page.emulate_media(color_scheme=look["scheme"])
            page.set_viewport_size({"width": look["width"], "height": look["height"]})
            album.take(state)

    expect(page.get_by_role("button", name="Choose a folder …")).to_be_visible()
    person.rest(pictures=False)
    take("empty")
    page.get_by_role("button", name="Choose a folder …").click()
    page.get_by_role("button", name="crowd", exact=True).click()
    expect(page.get_by_text("1,620 pictures in this folder")).to_be_visible()
    take("choosing-a-folder")
    page.get_by_role("button", name="Add this folder").click()
    expect(page.locator("vf-adding")).to_contain_text(re.compile(r"of 1,620 pictures are in · .* left"), timeout=FAR)
    take("adding")
    page.get_by_role("button", name=re.compile("^Collection")).click()
    job = page.locator(".job")
    expect(job.get_by_role("progressbar")).to_have_attribute("value", re.compile("^[1-9]"), timeout=FAR)
    expect(job).to_contain_text(re.compile(r"of 1,620 pictures are in · .* left"), timeout=FAR)
    page.screenshot(path=artefacts / "indexing-phone.png")
    page.get_by_role("button", name=re.compile("^Pause")).click()
    expect(job).to_contain_text("paused", timeout=FAR)
    take("paused")
    page.get_by_role("button", name=re.compile("^End")).click()
    expect(job).to_contain_text("ended early", timeout=FAR)
    assert [album.against for album in albums] == [{}, {}, {}]


def test_the_theme_and_the_size_of_the_pictures_are_chosen_and_remembered(person: Person) -> None:
    page = person.page
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    light, high = page.evaluate(paper), person.tiles.first.evaluate("(tile) => tile.offsetHeight")
    settings = page.get_by_role("button", name="Settings")
    settings.click()
    page.get_by_label("Light or dark").select_option("dark")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Larger pictures").click()
    assert page.evaluate(paper) != light
    page.reload()
    person.rest()
    settings.click()
    expect(page.get_by_label("Light or dark")).to_have_value("dark")
    page.keyboard.press("Escape")
    assert page.evaluate(paper) != light
    assert person.tiles.first.evaluate("(tile) => tile.offsetHeight") > high
