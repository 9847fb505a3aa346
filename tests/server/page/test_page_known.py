"""What is known of pictures besides their looks, on the page: readings that can be taken apart, and filters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.server.page.conftest import program, serving
from tests.server.page.known import write_bursts, write_known, write_shop

if TYPE_CHECKING:
    from playwright.sync_api import Route

    from tests.server.page.conftest import AlbumOf, Open, Person, Photos, Server, Watched

NARROW = {"light": {}, "phone-dark": {"width": 390, "height": 780, "scheme": "dark"}}
"""Looks in which axe reads the states of this file."""


@pytest.fixture(scope="module")
def known_server(photos: Photos, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server over photographs with dates, cameras, places and folders."""
    home = tmp_path_factory.mktemp("known")
    write_known(photos.files, home / "pictures")
    program("add", home / "pictures", "--library", home / "known.vf")
    with serving(home / "known.vf") as started:
        yield started


@pytest.fixture(scope="module")
def shop_server(photos: Photos, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server over twelve products of two pictures each, and three bursts of photographs."""
    home = tmp_path_factory.mktemp("shop")
    write_shop(photos.files, home / "pictures", home / "catalogue.csv")
    write_bursts(photos.files[30:33], home / "bursts")
    program("add", home / "pictures", "--library", home / "shop.vf", "--catalogue", home / "catalogue.csv")
    program("add", home / "bursts", "--library", home / "shop.vf")
    with serving(home / "shop.vf") as started:
        yield started


@pytest.fixture
def visitor(open_page: Open, known_server: Server) -> Person:
    """Somebody at the start page of that server."""
    came = open_page(at=known_server)
    came.tiles.first.wait_for()
    came.page.locator("vf-shortcuts:defined").wait_for(state="attached")
    came.rest()
    return came


def test_a_part_of_the_reading_is_taken_away_and_searched_without(visitor: Person) -> None:
    visitor.say("a dgo in the snow from 2008")
    parts = visitor.page.get_by_role("list", name="Searching for:").get_by_role("listitem")
    expect(parts).to_have_count(4)
    assert parts.all_inner_texts()[:3] == ["dog", "snow", "dog, for dgo"]
    with visitor.turn():
        visitor.page.get_by_role("button", name="Search without: from 2008").click()
    assert visitor.tree()[-1]["turn"] == {"say": "a dog in the snow"}
    expect(visitor.page.locator(".reading")).to_have_count(0)  # it is read as it stands now


@pytest.mark.long
def test_a_correction_is_undone_from_the_keyboard(visitor: Person) -> None:
    visitor.say("a dgo in the snow")
    undo = visitor.page.get_by_role("button", name="Search for “dgo”, as it was typed")
    undo.focus()
    with visitor.turn():
        visitor.page.keyboard.press("Enter")
    assert visitor.tree()[-1]["turn"] == {"say": 'a "dgo" in the snow'}
    assert visitor.page.locator(".reading-parts li").all_inner_texts() == ["dgo", "snow"]
    visitor.page.locator(".reading-parts li").last.get_by_role("button").focus()
    with visitor.turn():
        visitor.page.keyboard.press("Delete")
    assert visitor.tree()[-1]["turn"] == {"say": 'a "dgo"'}


def test_without_its_only_part_a_turn_is_taken_out(visitor: Person) -> None:
    visitor.say("a dog")
    visitor.say("photos from 2008")
    with visitor.turn():
        visitor.page.get_by_role("button", name=re.compile("^Search without: .*2008")).click()
    path = visitor.api(f"/sessions/{visitor.place[0]}")["path"]
    assert [node["turn"] for node in visitor.tree() if node["number"] in path] == [{"say": "a dog"}]


def test_typed_filters_are_chips_of_their_turn(visitor: Person) -> None:
    visitor.say("camera:canon after:2008")
    chips = visitor.page.locator("vf-beliefs li")
    expect(chips).to_have_text(["camera:canon", "after:2008"])
    total = visitor.api("/search", {"text": "camera:canon after:2008"})["total"]
    expect(visitor.page.locator(".total")).to_have_text(f"{total} fit, of {total}")
    with visitor.turn():
        visitor.page.get_by_role("button", name="Take back: camera:canon").click()
    assert visitor.tree()[-1]["turn"] == {"say": "after:2008"}


@pytest.mark.parametrize("look", NARROW)
@pytest.mark.long
def test_readings_look_right(open_page: Open, known_server: Server, album_of: AlbumOf, look: str) -> None:
    person = open_page(at=known_server, **NARROW[look])
    person.tiles.first.wait_for()
    album = album_of(person, look)
    person.say("a dgo in the snow from 2008 camera:canon")
    album.take("reading")
    assert album.against == {}


def test_filters_are_in_the_address_and_survive_a_reload(visitor: Person) -> None:
    page = visitor.page
    page.get_by_role("button", name="Filters").click()
    page.locator("vf-folders").get_by_role("button", name=re.compile(r"^2008,? ?")).first.click()
    expect(page).to_have_url(re.compile(r"/\?where=under:2008$"))
    total = visitor.api("/pictures/browse", {"where": {"under": "2008"}})["total"]
    counted = page.locator(".total")
    expect(counted).to_have_text(f"{total} pictures")
    expect(page.locator("#filters-button .badge")).to_have_text("1")
    page.get_by_label("Order").select_option("Newest first")
    expect(page).to_have_url(re.compile(r"/\?where=under:2008&order=newest$"))
    page.reload()
    expect(counted).to_have_text(f"{total} pictures")
    expect(page.locator("vf-beliefs li")).to_have_count(1)
    expect(page.get_by_label("Order")).to_have_value("newest")
    newest = visitor.api("/pictures/browse", {"where": {"under": "2008"}, "order": "newest"})["pictures"]
    assert visitor.shown == [each["id"] for each in newest][: len(visitor.shown)]
    page.go_back()
    page.go_back()
    expect(page).to_have_url(re.compile(r":\d+/$"))
    expect(page.locator("vf-beliefs li")).to_have_count(0)


def test_a_conversation_has_its_filters_in_its_address(visitor: Person) -> None:
    visitor.page.goto("/?where=camera:Canon+EOS+5D")
    visitor.tiles.first.wait_for()
    visitor.say("a dog")
    expect(visitor.page).to_have_url(re.compile(r"/talk/[\w-]+/1\?where=camera:Canon\+EOS\+5D$"))
    visitor.page.locator("vf-beliefs .chip-x").last.click()
    expect(visitor.page).to_have_url(re.compile(r"/talk/[\w-]+/1$"))


def test_an_address_with_a_filter_that_nothing_meets_says_so(
    open_page: Open, known_server: Server, watched: Watched
) -> None:
    watched.expected = ("422",)
    person = open_page("/?where=camera:Hasselblad", at=known_server)
    expect(person.page.locator("vf-notice")).to_contain_text("Hasselblad")
    person.page.get_by_role("button", name="Clear the filters").click()
    person.tiles.first.wait_for()
    expect(person.page).to_have_url(known_server.address)


def test_filters_that_are_cleared_before_the_page_is_all_there_leave_its_address(
    open_page: Open, known_server: Server, watched: Watched
) -> None:
    watched.expected = ("422",)
    person = open_page(at=known_server)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    person.page.route("**/js/addresses.js", hold)
    with person.page.expect_request("**/js/addresses.js"):
        person.page.goto("/?where=camera:Hasselblad")
    person.page.get_by_role("button", name="Clear the filters").click()
    person.tiles.first.wait_for()
    held.pop().continue_()
    expect(person.page).to_have_url(known_server.address)
    person.page.go_back()
    expect(person.page.locator("vf-notice")).to_contain_text("Hasselblad")


def test_a_filter_is_completed_from_the_keyboard(visitor: Person) -> None:
    page, box = visitor.page, visitor.box
    options = page.get_by_role("listbox", name="Filters that can be typed").get_by_role("option")
    box.press_sequentially("a dog cam")
    expect(options).to_have_text(["camera:"])
    box.press("ArrowDown")
    box.press("Enter")
    expect(box).to_have_value("a dog camera:")
    expect(options).to_have_count(2)
    box.press("Escape")
    expect(options).to_have_count(0)
    expect(box).to_have_value("a dog camera:")
    box.press_sequentially("cano")
    expect(options).to_have_count(1)
    box.press("ArrowUp")
    box.press("Tab")
    expect(box).to_have_value('a dog camera:"Canon EOS 5D" ')
    with visitor.turn():
        box.press("Enter")
    assert visitor.tree()[-1]["turn"] == {"say": 'a dog camera:"Canon EOS 5D"'}


@pytest.mark.long
def test_who_just_writes_does_not_notice_completion(visitor: Person) -> None:
    visitor.box.press_sequentially("a dog cam")
    expect(visitor.page.locator("#completions li")).to_have_count(1)
    with visitor.turn():
        visitor.box.press("Enter")
    assert visitor.tree()[-1]["turn"] == {"say": "a dog cam"}


@pytest.mark.long
def test_a_stretch_of_time_is_chosen_with_the_handles(visitor: Person) -> None:
    page = visitor.page
    page.get_by_role("button", name="Filters").click()
    first = page.get_by_role("slider", name="From")
    expect(first).to_have_attribute("aria-valuetext", "Jan 2007")
    for _ in range(12):
        first.press("ArrowRight")
    expect(first).to_have_attribute("aria-valuetext", "Jan 2008")
    expect(page).to_have_url(re.compile(r"\?where=captured:2008-01\.\.2009-\d\d$"))
    expect(page.locator("vf-beliefs")).to_have_text(re.compile(r"^Time: Jan 2008 – \w+ 2009$"))
    since = visitor.api("/pictures/browse", {"where": {"captured": "2008.."}})["total"]
    expect(page.locator(".total")).to_have_text(f"{since} pictures")
    page.get_by_role("button", name="Clear").click()
    expect(first).to_have_attribute("aria-valuetext", "Jan 2007")


def test_results_are_put_in_the_order_of_their_dates(visitor: Person) -> None:
    visitor.say("a dog")
    visitor.page.get_by_label("Order").select_option("Oldest first")
    visitor.rest()
    session, turn = visitor.place
    oldest = visitor.api(f"/sessions/{session}/turns/{turn}?sort=date&n=60")["results"]
    expect(visitor.tiles.first).to_have_attribute("data-id", oldest[0]["id"])
    visitor.say("in the snow")
    expect(visitor.page.get_by_label("Order")).to_have_value("")


def test_in_the_order_of_dates_a_month_is_scrolled_to_and_filters_nothing(visitor: Person) -> None:
    page = visitor.page
    page.set_viewport_size({"width": 1000, "height": 500})
    page.get_by_label("Order").select_option("Newest first")
    page.get_by_role("button", name="Filters").click()
    page.locator(".timeline-bars i").first.click()
    dated = "(grid) => grid.hits[grid.boxes.findIndex((box) => box.y >= grid.scrollTop)].captured"
    page.wait_for_function("() => document.querySelector('vf-grid').scrollTop > 0")
    assert page.locator("vf-grid").evaluate(dated) < "2008"
    expect(page).to_have_url(re.compile(r"/\?order=newest$"))


def test_a_place_on_the_map_filters_by_its_area(visitor: Person) -> None:
    page = visitor.page
    page.get_by_role("button", name="Filters").click()
    marks = page.get_by_role("list", name="Places").get_by_role("button")
    marks.first.wait_for()
    page.get_by_role("button", name="Large map").click()
    expect(page.get_by_role("dialog", name="Map")).to_be_visible()
    marks.first.click()
    expect(page).to_have_url(re.compile(r"where=latitude:[\d.-]+&where=longitude:[\d.-]+$"))
    page.keyboard.press("Escape")
    total = page.locator(".total")
    expect(total).not_to_contain_text("Some of")
    chip = page.locator("vf-beliefs li")
    expect(chip).to_have_text(["Part of the map"])
    chip.get_by_role("button").click()
    expect(total).to_contain_text("Some of")


def test_products_are_one_each_and_tell_name_and_price(open_page: Open, shop_server: Server) -> None:
    person = open_page(at=shop_server)
    strips = person.page.locator("vf-grid .product")
    expect(strips).to_have_count(12)  # of 24 pictures
    shirt = strips.filter(has_text="Shirt no. 5")
    expect(shirt).to_contain_text("15.50 EUR")
    expect(shirt).to_have_attribute("href", "https://shop.example/5")
    expect(shirt).to_have_attribute("rel", "noopener noreferrer")
    unsafe = strips.filter(has_text="Shirt no. 3")
    assert unsafe.evaluate("(node) => [node.tagName, node.getAttribute('href')]") == ["DIV", None]


def test_a_burst_is_one_tile_and_is_opened_and_folded_from_the_keyboard(open_page: Open, shop_server: Server) -> None:
    person = open_page(at=shop_server)
    bursts = person.page.locator("vf-grid .behind-tile", has_text="4")
    expect(bursts).to_have_count(3)
    before = len(person.shown)
    tile = bursts.first.locator("xpath=ancestor::li")
    tile.locator(".pick").focus()
    person.page.keyboard.press("o")
    expect(person.tiles).to_have_count(before + 3)
    expect(tile.locator(".behind-tile")).to_have_attribute("aria-expanded", "true")
    expect(tile.locator(".pick")).to_be_focused()
    person.page.keyboard.press("o")
    expect(person.tiles).to_have_count(before)


def test_who_rejects_a_product_rejects_all_its_pictures(open_page: Open, shop_server: Server) -> None:
    person = open_page(at=shop_server)
    person.page.locator("vf-shortcuts:defined").wait_for(state="attached")
    person.say("a shirt")
    product = person.page.locator("vf-grid .tile:has(.product)").first
    with person.turn():
        product.locator(".pick").focus()
        person.page.keyboard.press("x")
    assert len(person.tree()[-1]["turn"]["reject"]) == 2


@pytest.mark.parametrize("look", NARROW)
def test_what_is_known_looks_right(open_page: Open, known_server: Server, album_of: AlbumOf, look: str) -> None:
    person = open_page(at=known_server, **NARROW[look])
    person.tiles.first.wait_for()
    person.page.locator("vf-shortcuts:defined").wait_for(state="attached")
    album = album_of(person, look)
    person.box.press_sequentially("camera:")
    person.page.locator("#completions li").first.wait_for()
    person.box.press("ArrowDown")
    album.take("completion")
    person.box.fill("")
    person.rest()
    person.page.get_by_role("button", name="Filters").click()
    person.page.locator(".map-mark").first.wait_for()
    album.take("known")
    person.page.locator("vf-map").scroll_into_view_if_needed()
    person.page.get_by_role("button", name="Large map").click()
    album.take("map")
    assert album.against == {}


@pytest.mark.parametrize("look", NARROW)
@pytest.mark.long
def test_products_look_right(open_page: Open, shop_server: Server, album_of: AlbumOf, look: str) -> None:
    person = open_page(at=shop_server, **NARROW[look])
    person.page.locator(".product").first.wait_for()
    album = album_of(person, look)
    person.page.locator(".behind-tile").first.click()
    person.page.locator(".unfolded").nth(1).wait_for()
    album.take("products")
    assert album.against == {}
