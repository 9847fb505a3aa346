"""Attributes of the picture that is picked: seen, taken away, put in, and counted in the turn; nowhere else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Route

    from tests.server.page.conftest import AlbumOf, Open, Person, Photos, Server

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"scheme": "light"},
    "dark": {"scheme": "dark"},
    "phone": {"scheme": "light", "width": 390, "height": 844, "device_scale_factor": 2},
    "wide": {"scheme": "dark", "width": 2200, "height": 1200},
}


@pytest.fixture
def shopper(open_page: Open, rich_server: Server) -> Person:
    """Somebody whose conversation fashioniq is going to read."""
    return came(open_page, rich_server)


def came(open_page: Open, at: Server, **look: Any) -> Person:
    person = open_page(at=at, **look)
    person.tiles.first.wait_for()
    person.page.locator("vf-retrievers:defined").wait_for()
    person.rest()
    read_by(person, "Picture and what differs")
    return person


def read_by(person: Person, name: str) -> None:
    person.page.get_by_role("button", name=re.compile("^How to search")).click()
    person.page.get_by_role("radio", name=name, exact=True).check()
    person.page.keyboard.press("Escape")
    person.rest()


def chips(person: Person) -> Locator:
    return person.page.get_by_role("group", name="What counts of it").get_by_role("listitem")


def line(person: Person) -> Locator:
    return person.page.get_by_role("combobox", name="Another attribute")


def seen(person: Person, picture: str) -> list[str]:
    told = person.api(f"/retrievers/fashioniq/attributes?like={picture}")["attributes"]
    return [each["name"] for each in told]


def pick(person: Person, at: int = 0) -> str:
    """Picks a picture of the grid; its id, when its attributes are there."""
    picture = person.shown[at]
    person.like(at)
    expect(chips(person)).to_have_text(seen(person, picture))
    return picture


def other_than(names: list[str], person: Person, picture: str) -> str:
    known = person.api(f"/retrievers/fashioniq/attributes?like={picture}")["known"]
    return str(next(name for name in known if name not in names))


def test_what_is_taken_away_and_put_in_counts_in_the_turn(shopper: Person, photos: Photos) -> None:
    shopper.say(photos.first)
    picture = pick(shopper, 1)
    names = seen(shopper, picture)
    assert len(names) == 8
    assert shopper.box.get_attribute("placeholder") == "is darker, has longer sleeves …"
    shopper.page.get_by_role("button", name=f"Leave out: {names[2]}").click()
    added = other_than(names, shopper, picture)
    line(shopper).fill(added.title())
    line(shopper).press("Enter")
    counting = [*names[:2], *names[3:], added]
    expect(chips(shopper)).to_have_text(counting)
    expect(line(shopper)).to_be_focused()
    with shopper.turn():
        shopper.box.fill("is darker")
        shopper.box.press("Enter")
    assert shopper.tree()[2]["turn"] == {"like": picture, "but": "is darker", "attributes": counting}
    expect(shopper.page.locator(".turn").last.locator(".counts")).to_have_text(f"attributes: {', '.join(counting)}")
    expect(shopper.page.locator("vf-attributes")).to_be_hidden()
    assert shopper.shown[:8] == shopper.ranking(2)[:8]


@pytest.mark.long
def test_what_is_left_as_it_is_seen_is_not_sent(shopper: Person, photos: Photos) -> None:
    shopper.say(photos.first)
    picture = pick(shopper)
    shopper.page.get_by_role("button", name="Leave out:").first.click()
    shopper.page.get_by_role("button", name="What is seen in it, again").click()
    expect(chips(shopper)).to_have_text(seen(shopper, picture))
    with shopper.turn():
        shopper.box.fill("is darker")
        shopper.box.press("Enter")
    assert shopper.tree()[2]["turn"] == {"like": picture, "but": "is darker"}
    expect(shopper.page.locator(".counts")).to_have_count(0)


def test_all_of_it_is_done_with_the_keyboard_and_heard(shopper: Person, photos: Photos) -> None:
    shopper.say(photos.first)
    names = seen(shopper, pick(shopper))
    keys = shopper.page.keyboard
    shopper.box.press("Shift+Tab")
    shopper.page.get_by_role("button", name=f"Leave out: {names[0]}").focus()
    keys.press("ArrowRight")
    keys.press("Delete")
    expect(shopper.page.get_by_role("button", name=f"Leave out: {names[2]}")).to_be_focused()
    expect(chips(shopper)).to_have_text([names[0], *names[2:]])
    expect(shopper.page.locator("#live")).to_contain_text(f"Counts: {', '.join([names[0], *names[2:]])}.")
    line(shopper).focus()
    keys.type("no such thing")
    keys.press("Enter")
    wrong = line(shopper).evaluate("(line) => line.validationMessage")
    assert wrong == "The search knows no attribute “no such thing”. Choose one that it offers."
    expect(chips(shopper)).to_have_count(7)
    keys.press("Escape")
    keys.press("Enter")
    expect(shopper.box).to_be_focused()
    expect(shopper.page.locator(".pinned-pill")).to_be_visible()


@pytest.mark.long
def test_every_chip_may_go(shopper: Person, photos: Photos) -> None:
    shopper.say(photos.first)
    picture = pick(shopper)
    for _ in range(8):
        shopper.page.get_by_role("button", name="Leave out:").first.click()
    expect(chips(shopper)).to_have_count(0)
    with shopper.turn():
        shopper.box.press("Enter")
    assert shopper.tree()[2]["turn"] == {"like": picture, "attributes": []}
    expect(shopper.page.locator(".counts")).to_have_text("no attributes")


@pytest.mark.long
def test_before_a_conversation_has_begun_what_is_found_follows_the_attributes(shopper: Person) -> None:
    picture = pick(shopper, 2)
    names = seen(shopper, picture)
    with shopper.page.expect_request("**/search") as asked:
        shopper.page.get_by_role("button", name=f"Leave out: {names[0]}").click()
    given = asked.value.post_data_json or {}
    assert (given["like"], given["attributes"], given["retriever"]) == (picture, names[1:], "fashioniq")
    with shopper.turn():
        shopper.box.fill("is longer")
        shopper.box.press("Enter")
    assert shopper.tree()[1]["turn"] == {"like": picture, "but": "is longer", "attributes": names[1:]}


@pytest.mark.long
def test_an_image_of_ones_own_has_attributes_too(shopper: Person, photos: Photos) -> None:
    shopper.page.locator("vf-say input[type=file]").set_input_files(photos.files[0])
    expect(chips(shopper)).to_have_count(8)
    left = chips(shopper).all_inner_texts()[1:]
    shopper.page.get_by_role("button", name="Leave out:").first.click()
    expect(chips(shopper)).to_have_text(left)
    with shopper.turn():
        shopper.box.press("Enter")
    said = shopper.tree()[1]["turn"]
    assert set(said) == {"show", "attributes"}
    assert said["attributes"] == left


def test_the_page_is_as_ever_for_who_reads_none(shopper: Person, photos: Photos) -> None:
    shopper.say(photos.first)
    pick(shopper)
    read_by(shopper, "Everything together")
    expect(shopper.page.locator("vf-attributes")).to_be_hidden()
    assert shopper.box.get_attribute("placeholder") == "like this, but …"
    picture = shopper.shown[1]
    shopper.like(1)
    with shopper.turn():
        shopper.box.fill(photos.but)
        shopper.box.press("Enter")
    assert shopper.tree()[-1]["turn"] == {"like": picture, "but": photos.but}
    read_by(shopper, "Picture and what differs")
    pick(shopper)


@pytest.mark.long
def test_a_turn_that_is_changed_later_keeps_its_attributes(shopper: Person, photos: Photos) -> None:
    shopper.say(photos.first)
    names = seen(shopper, pick(shopper))
    shopper.page.get_by_role("button", name=f"Leave out: {names[0]}").click()
    with shopper.turn():
        shopper.box.fill("is darker")
        shopper.box.press("Enter")
    shopper.page.locator(".turn").last.hover()
    shopper.page.get_by_role("button", name="Change “Like this, but is darker”").click()
    with shopper.turn():
        shopper.page.get_by_role("textbox", name="What this turn should say").fill("is longer")
        shopper.page.keyboard.press("Enter")
    said = shopper.tree()[-1]["turn"]
    assert (said["but"], said["attributes"]) == ("is longer", names[1:])


@pytest.mark.parametrize("look", list(LOOKS))
def test_attributes_shut_nobody_out_and_move_nothing(
    open_page: Open, rich_server: Server, album_of: AlbumOf, photos: Photos, look: str
) -> None:
    person = came(open_page, rich_server, **LOOKS[look])
    album = album_of(person, look)
    person.say(photos.first)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    person.page.route("**/attributes?*", hold)
    person.like(1)
    expect(person.page.get_by_text("Looking at it …")).to_be_visible()
    person.page.wait_for_timeout(300)
    person.page.evaluate("window.shifts.length = 0")
    held[0].continue_()
    expect(chips(person)).to_have_count(8)
    person.page.wait_for_timeout(300)
    assert person.page.evaluate("window.shifts") == []
    album.take("attributes")
    person.page.get_by_role("button", name="Leave out:").first.click()
    with person.turn():
        person.box.press("Enter")
    album.take("attributes-said")
    assert album.against == {}
