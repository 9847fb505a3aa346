"""States of the page: empty, filling with progress, not prepared, loading, failing, away."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.hostile.cuts import Cut, CuttingProxy
from viewfinder.store.store import Store

if TYPE_CHECKING:
    from tests.server.page.conftest import Open, Person, Photos, Server, Watched

FAR = 120_000
"""Milliseconds for what a job may take."""


def test_an_empty_library_is_filled_from_the_page_and_this_device_and_then_prepared(
    new_server: Server, open_page: Open, photos: Photos
) -> None:
    newcomer = open_page(at=new_server)
    page = newcomer.page
    (Path(new_server.options[-1]) / "torn.jpg").write_bytes(photos.files[0].read_bytes()[:500])
    expect(page.get_by_role("heading", name="No pictures yet")).to_be_visible()
    expect(page.get_by_text(f"viewfinder add ~/Pictures --library {new_server.library}")).to_be_visible()
    job, collection = page.locator(".job"), page.get_by_role("button", name=re.compile("^Collection"))
    with Store.open(new_server.library).writing():  # the job waits for us
        page.get_by_role("button", name="Choose a folder …").click()
        page.get_by_role("button", name="photos", exact=True).click()
        expect(page.get_by_text("41 pictures in this folder")).to_be_visible()
        page.get_by_role("button", name="Add this folder").click()
        collection.click()
        page.get_by_role("button", name=re.compile("^Pause")).click()
        expect(job).to_contain_text("paused", timeout=FAR)
    page.get_by_role("button", name=re.compile("^Resume")).click()
    expect(job).to_contain_text("done", timeout=FAR)
    page.keyboard.press("Escape")
    some, new = photos.files[:40], photos.files[40:42]
    expect(collection).to_have_accessible_name(f"Collection: {len(some)} pictures", timeout=FAR)
    expect(newcomer.tiles.first).to_be_visible()
    expect(page.locator("vf-adding")).to_contain_text("40 pictures. 1 file could not be read")
    page.get_by_role("button", name="Which ones?").click()
    expect(page.locator(".failures")).to_contain_text("torn.jpg")
    page.keyboard.press("Escape")
    page.locator("vf-adding").get_by_role("button", name="Close").click()
    expect(page.locator("vf-adding")).to_be_hidden()
    collection.click()
    page.get_by_label("Pictures of this device …").set_input_files(new)
    expect(collection).to_have_accessible_name(f"Collection: {len(some) + 2} pictures", timeout=FAR)
    page.get_by_label("Pictures of this device …").set_input_files(new[0])
    expect(page.locator("vf-uploads summary")).to_contain_text("1 of 1 sent · 1 was here already")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Close the list").click()
    _prepared(newcomer, photos)


def test_of_what_came_between_two_looks_the_page_says_as_well_what_could_not_be_read(
    new_server: Server, open_page: Open, photos: Photos
) -> None:
    newcomer = open_page("about:blank", at=new_server)
    page = newcomer.page

    def over(route: Any) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"adding": None})

    page.route("**/collection/progress", over)
    page.goto("/")
    (Path(new_server.options[-1]) / "torn.jpg").write_bytes(photos.files[0].read_bytes()[:500])
    page.get_by_role("button", name="Choose a folder …").click()
    page.get_by_role("button", name="photos", exact=True).click()
    page.get_by_role("button", name="Add this folder").click()
    expect(page.locator("vf-adding")).to_contain_text("1 file could not be read", timeout=FAR)
    page.locator("vf-adding").get_by_role("button", name="Close").click()
    expect(page.locator("vf-adding")).to_be_hidden()


def _prepared(person: Person, photos: Photos) -> None:
    """drilldown reads regions, which the pictures do not have yet: it offers to make them."""
    person.say(photos.first)
    before = person.shown
    person.page.get_by_role("button", name=re.compile("^How to search")).click()
    drilldown = person.page.get_by_role("radio", name="Region by region")
    expect(drilldown).to_be_disabled()
    row = person.page.locator("#retrievers-panel .option-row").filter(has=drilldown)
    row.get_by_role("button", name="Prepare").click()
    expect(drilldown).to_be_enabled(timeout=FAR)
    drilldown.check()
    person.page.keyboard.press("Escape")
    person.rest()
    assert person.shown != before
    assert person.shown[:5] == person.ranking(1, retriever="drilldown")[:5]


def test_while_the_first_pictures_are_awaited_their_places_are_shown(open_page: Open) -> None:
    person = open_page("about:blank")
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    person.page.route("**/api/v1/pictures/browse", hold)
    person.page.goto("/")
    expect(person.page.locator("vf-grid .skeleton")).to_be_visible()
    expect(person.page.locator("vf-grid")).to_have_attribute("aria-busy", "true")
    held.pop().continue_()
    expect(person.tiles.first).to_be_visible()
    expect(person.page.locator("vf-grid .skeleton")).to_have_count(0)


def test_what_fails_is_said_and_can_be_tried_again(person: Person, photos: Photos, watched: Watched) -> None:
    watched.expected = ("503",)
    problems = [{"type": "urn:viewfinder:problem:deadline", "status": 503, "detail": "too slow"}]

    def failing(route: Any) -> None:
        if problems:
            route.fulfill(status=503, json=problems.pop())
        else:
            route.continue_()

    person.page.route("**/turns", failing)
    person.box.fill(photos.first)
    person.box.press("Enter")
    notice = person.page.get_by_role("alert")
    expect(notice).to_contain_text("That took too long. Try again.")
    with person.turn():
        notice.get_by_role("button", name="Try again").click()
    expect(notice).to_have_count(0)
    assert person.shown[:5] == person.ranking()[:5]


def test_a_fault_in_one_part_of_the_page_does_not_stop_the_others(
    person: Person, photos: Photos, watched: Watched
) -> None:
    watched.expected = ("of one part",)
    person.page.evaluate(
        """async () => {
          const { store } = await import("/static/js/store.js");
          const fail = store.on(["results"], () => { fail(); throw new Error("a fault of one part"); });
          store.on(["results"], () => { window.turnHeard = store.state.turn; });
        }"""
    )
    person.say(photos.first)
    assert person.page.evaluate("window.turnHeard") == 1
    assert any("a fault of one part" in each for each in watched.wrong)


def test_pictures_that_could_not_be_searched_are_named(person: Person, photos: Photos) -> None:
    def lacking(route: Any) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"missing": 62_500})

    person.page.route("**/turns", lacking)
    person.say(photos.first)
    expect(person.page.get_by_text("62,500 pictures could not be searched")).to_be_visible()


def test_a_conversation_that_is_gone_is_said_to_be_gone(open_page: Open, watched: Watched) -> None:
    watched.expected = ("404",)
    person = open_page("/talk/no-such-talk/3")
    expect(person.page.get_by_role("alert")).to_contain_text("This conversation is not here any more")
    expect(person.page).to_have_url(re.compile(r":\d+/$"))
    person.tiles.first.wait_for()


@pytest.mark.long
def test_turns_and_edits_whose_answers_are_cut_off_are_taken_once(
    photos: Photos, open_page: Open, watched: Watched, server: Server
) -> None:
    watched.expected = ("net::ERR_",)
    due: list[tuple[str, str, Cut]] = []

    def plan(method: str, path: str) -> Cut | None:
        found = next((one for one in due if one[0] == method and re.search(one[1], path)), None)
        if found is not None:
            due.remove(found)
        return None if found is None else found[2]

    with CuttingProxy(urlsplit(server.address).port or 0, plan) as proxy:
        person = open_page(at=replace(server, address=f"{proxy.url}/", process=None))
        person.tiles.first.wait_for()
        due += [
            ("POST", "/sessions$", Cut.UNHEARD),
            ("POST", "/turns$", Cut.UNHEARD),
            ("POST", "/turns$", Cut.HALF_HEARD),
        ]
        person.say(photos.first)
        due += [("POST", "/turns$", Cut.UNDER_WAY), ("GET", "/2/events$", Cut.HALF_HEARD)]
        person.say(photos.but)
        said = [{"say": photos.first}, {"say": photos.but}]
        assert [node["turn"] for node in person.tree()[1:]] == said
        due.append(("DELETE", r"/turns/1(\?|$)", Cut.UNHEARD))
        with person.turn():
            person.page.get_by_role("button", name=f"Take back “{photos.first}”").click()
        assert [node["turn"] for node in person.tree()[1:]] == [*said, {"back_to": 0}, {"say": photos.but}]
        assert due == []


def test_a_server_that_went_away_is_said_and_the_turn_is_taken_when_it_is_back(
    photos: Photos, open_page: Open, watched: Watched, own_server: Server
) -> None:
    watched.expected = ("net::ERR_",)
    person = open_page(at=own_server)
    person.tiles.first.wait_for()
    person.say(photos.first)
    before = person.shown
    person.page.evaluate("window.heard.length = 0")
    own_server.stop()
    person.box.fill(photos.but)
    person.box.press("Enter")
    expect(person.page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    assert person.shown == before  # what is shown stays
    with person.turn():
        own_server.start()
    expect(person.page.get_by_role("alert")).to_have_count(0)
    assert person.tree()[2]["turn"] == {"say": photos.but}
    person.hear("The server is back.")
    person.hear("fit")  # what came of the turn, perhaps with the question after it already
    own_server.stop()
    person.page.evaluate("dispatchEvent(new Event('vf-look'))")
    expect(person.page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    person.page.locator("vf-grid").evaluate("(grid) => grid.scrollTo(0, grid.scrollHeight)")
    broken = person.page.locator("vf-grid .tile.broken")
    expect(broken).not_to_have_count(0)
    own_server.start()
    expect(broken).to_have_count(0)
