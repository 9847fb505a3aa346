"""Earlier turns on the page: what a turn does with them is said beside it, and their pictures can be gone on from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.server.page.conftest import AlbumOf, Open, Person, Photos, Server

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"scheme": "light"},
    "dark": {"scheme": "dark"},
    "phone": {"scheme": "light", "width": 390, "height": 844, "device_scale_factor": 2},
}


@pytest.fixture
def shopper(open_page: Open, rich_server: Server, photos: Photos) -> Person:
    """Somebody who has described a picture, and picked the second that was shown."""
    return begun(open_page, rich_server, photos)


def begun(open_page: Open, at: Server, photos: Photos, **look: Any) -> Person:
    """At turn 2 of a conversation that looks-back reads."""
    person = open_page(at=at, **look)
    conversation = person.api("/sessions", {"retriever": "looks-back", "questioner": "none", "n": 60})["id"]
    found = person.api(f"/sessions/{conversation}/turns", {"say": photos.first})["results"]
    person.api(f"/sessions/{conversation}/turns", {"like": found[1]["id"], "but": photos.but})
    person.page.goto(f"/talk/{conversation}/2")
    expect(person.page.locator(".turn")).to_have_count(2)
    person.page.locator("vf-picture").wait_for(state="attached")
    person.rest()
    return person


def of_turn_2(person: Person) -> Locator:
    return person.page.get_by_role("button", name="Picture of turn 2")


def large(person: Person) -> Locator:
    dialog = person.page.get_by_role("dialog", name="Details")
    expect(dialog.get_by_role("heading", name="Facts")).to_be_visible()
    return dialog


def picked(person: Person) -> str:
    return str(person.tree()[2]["turn"]["like"])


def test_a_turn_that_goes_back_says_to_which_with_its_picture(shopper: Person, photos: Photos) -> None:
    shopper.say("no, I prefer the second, with the colour of the first")
    last = shopper.page.locator(".turn").last
    expect(last.get_by_role("listitem")).to_have_text(["goes on from turn 2", "keeps the colour of turn 1"])
    sources = [str(image.get_attribute("src")) for image in last.locator(".operations img").all()]
    assert [re.findall("pictures/(.*)/", source) for source in sources] == [
        [picked(shopper)],
        [shopper.tree()[1]["first"]],
    ]
    shopper.say(photos.word)  # it stays there when the conversation goes on, and when the page is read again
    shopper.page.reload()
    shopper.rest()
    expect(shopper.page.locator(".turn").nth(2).get_by_role("listitem")).to_have_count(2)
    expect(shopper.page.locator(".operations")).to_have_count(1)
    with shopper.turn():
        shopper.page.get_by_role("button", name="keeps the colour of turn 1").click()
    shopper.arrived(1)


def test_one_goes_on_from_the_picture_of_an_earlier_turn(shopper: Person, photos: Photos) -> None:
    shopper.say(photos.word)
    of_turn_2(shopper).focus()
    shopper.page.keyboard.press("Enter")
    large(shopper).get_by_role("button", name="Go on from here").press("Enter")
    expect(shopper.page.locator(".pinned-pill")).to_have_text("On from turn 2")
    expect(shopper.box).to_be_focused()
    with shopper.turn():
        shopper.page.keyboard.type(f"but {photos.other}")
        shopper.page.keyboard.press("Enter")
    assert shopper.tree()[4]["turn"] == {"like": picked(shopper), "but": photos.other, "turn": 2}
    last = shopper.page.locator(".turn").last
    expect(last.locator(".said")).to_have_text(f"On from turn 2, but {photos.other}")
    expect(last.locator(".operations")).to_have_count(0)  # the turn says it itself
    assert shopper.shown[:8] == shopper.ranking(4)[:8]


@pytest.mark.long
def test_a_picture_that_is_picked_in_the_results_is_no_earlier_turns(shopper: Person, photos: Photos) -> None:
    of_turn_2(shopper).click()
    large(shopper).get_by_role("button", name="Go on from here").click()
    third = shopper.shown[2]
    shopper.like(2)
    expect(shopper.page.locator(".pinned-pill")).to_have_text("Like this")
    with shopper.turn():
        shopper.box.press("Enter")
    assert shopper.tree()[3]["turn"] == {"like": third}


def test_what_is_seen_in_an_earlier_picture_can_be_kept(shopper: Person, photos: Photos) -> None:
    seen = shopper.api(f"/pictures/{picked(shopper)}")["tags"]
    group, answer = next((group, answer) for group, (answer, _) in seen.items() if answer)
    shopper.say(photos.word)
    of_turn_2(shopper).click()
    with shopper.turn():
        large(shopper).get_by_role("button", name=f"Keep {group}: {answer}").click()
    assert shopper.tree()[4]["turn"] == {"keep": group, "turn": 2}
    last = shopper.page.locator(".turn").last
    expect(last.locator(".said")).to_have_text(f"Keep the {group} of turn 2")
    assert picked(shopper) in str(last.locator("img").get_attribute("src"))


@pytest.mark.long
def test_an_image_of_ones_own_is_picked_again(shopper: Person, photos: Photos) -> None:
    shopper.page.locator("vf-say input[type=file]").set_input_files(photos.files[0])
    expect(shopper.page.locator(".pinned-pill")).to_have_text("Like my picture")
    with shopper.turn():
        shopper.box.press("Enter")
    shopper.say(photos.word)
    shopper.page.get_by_role("button", name="Your image of turn 3").click()
    with shopper.turn():
        shopper.box.fill(photos.but)
        shopper.box.press("Enter")
    tree = shopper.tree()
    assert tree[5]["turn"] == {"show": tree[3]["turn"]["show"], "but": photos.but}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.long
def test_it_looks_right_and_can_be_read_by_all(
    open_page: Open, rich_server: Server, photos: Photos, album_of: AlbumOf, look: str
) -> None:
    person = begun(open_page, rich_server, photos, **LOOKS[look])
    person.say("no, I prefer the second, with the colour of the first")
    album = album_of(person, look)
    if look == "phone":
        person.page.get_by_role("button", name="Conversation", exact=True).click()
    album.take("looking-back")
    of_turn_2(person).click()
    large(person)
    album.take("looking-back-picture")
    person.page.get_by_role("button", name="Go on from here").click()
    expect(person.page.locator(".pinned-pill")).to_have_text(re.compile("On from turn 2"))
    album.take("looking-back-picked")
    assert not album.against
