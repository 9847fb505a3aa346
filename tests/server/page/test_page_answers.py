"""Retrievers that speak, on the page: what they answer in words, and how much they lean to pictures."""

from __future__ import annotations

import json
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
ASKED = "is it by night?"


@pytest.fixture
def asker(open_page: Open, rich_server: Server, photos: Photos) -> Person:
    """Somebody who has described a picture to the talker."""
    return begun(open_page, rich_server, photos)


def begun(open_page: Open, at: Server, photos: Photos, **look: Any) -> Person:
    person = open_page(at=at, **look)
    conversation = person.api("/sessions", {"retriever": "talker", "questioner": "none", "n": 60})["id"]
    person.api(f"/sessions/{conversation}/turns", {"say": photos.first})
    person.page.goto(f"/talk/{conversation}/1")
    expect(person.page.locator(".turn")).to_have_count(1)
    person.rest()
    return person


def answer(person: Person) -> Locator:
    return person.page.get_by_role("region", name="Answer")


def words_of(photos: Photos, *more: str) -> str:
    """What the talker answers: all that it has heard."""
    return "I have heard" + "".join(f" {said!r}" for said in (photos.first, *more)) + "."


def test_a_question_is_answered_in_words_and_the_pictures_stay(asker: Person, photos: Photos) -> None:
    expect(answer(asker)).to_have_count(0)
    before = asker.shown
    asker.say(ASKED)
    expect(answer(asker)).to_have_text(words_of(photos, ASKED))
    assert asker.shown == before
    expect(asker.page.locator("#live")).to_have_text(words_of(photos, ASKED))
    assert not any("pictures" in said for said in asker.heard[-1:])


@pytest.mark.long
def test_words_are_shown_as_they_come(asker: Person, photos: Photos) -> None:
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    asker.page.route("**/reply/events", hold)
    asker.say(ASKED)
    expect(answer(asker)).to_have_text("Writing an answer …")
    pieces = (json.dumps({"text": piece}) for piece in ("It may", " be"))
    body = "".join(f"event: words\ndata: {piece}\n\n" for piece in pieces)
    held.pop().fulfill(content_type="text/event-stream", body=body)
    expect(answer(asker)).to_have_text("It may be")  # cut off: what has come of it stays


def test_every_turn_keeps_its_answer_when_the_conversation_goes_on_and_is_read_again(
    asker: Person, photos: Photos
) -> None:
    asker.say(ASKED)
    expect(answer(asker)).to_have_text(words_of(photos, ASKED))
    asker.say(photos.word)
    expect(answer(asker)).to_have_count(0)
    asker.say("is it red?")
    asker.page.reload()
    asker.rest()
    expect(asker.page.locator(".turn").nth(1).locator(".reply")).to_have_text(words_of(photos, ASKED))
    expect(answer(asker)).to_have_text(words_of(photos, ASKED, photos.word, "is it red?"))
    expect(asker.page.locator(".reply")).to_have_count(2)


def test_a_picture_that_is_picked_joins_the_conversation_after_an_answer(asker: Person, photos: Photos) -> None:
    asker.say(ASKED)
    second = asker.shown[1]
    asker.like(1)
    with asker.turn():
        asker.box.press("Enter")
    assert asker.tree()[3]["turn"] == {"like": second}
    expect(asker.page.locator(".turn").nth(1).locator(".reply")).to_have_text(words_of(photos, ASKED))


@pytest.mark.long
def test_by_its_leaning_the_conversation_is_answered_otherwise(asker: Person, photos: Photos) -> None:
    asker.say(ASKED)
    expect(answer(asker)).to_have_text(words_of(photos, ASKED))
    asker.page.get_by_role("button", name=re.compile("^How to search")).click()
    slider = asker.page.get_by_role("slider", name="Answers with")
    expect(slider).to_have_attribute("aria-valuetext", "whichever it takes to be right")
    slider.focus()
    asker.page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuetext", "pictures alone")
    expect(answer(asker)).to_have_count(0)
    expect(slider).to_be_focused()
    conversation, turn = asker.place
    assert asker.api(f"/sessions/{conversation}")["leaning"] == 1000
    assert asker.shown[:5] == asker.ranking(turn)[:5]
    asker.page.keyboard.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "words alone")
    # Now the first turn is answered in words as well.
    expect(asker.page.locator(".turn").first.locator(".reply")).to_have_text(words_of(photos))
    expect(answer(asker)).to_have_text(words_of(photos, ASKED))


def test_the_slider_stands_where_the_conversation_leans_and_begins_new_ones_so(asker: Person, photos: Photos) -> None:
    conversation, _ = asker.place
    assert asker.page.request.patch(f"/api/v1/sessions/{conversation}", data={"leaning": -2.5}).ok
    asker.page.reload()
    asker.rest()
    asker.page.get_by_role("button", name=re.compile("^How to search")).click()
    slider = asker.page.get_by_role("slider", name="Answers with")
    expect(slider).to_have_value("-2.5")
    slider.focus()
    asker.page.keyboard.press("ArrowLeft")
    expect(slider).to_have_value("-3")
    asker.page.keyboard.press("Escape")
    asker.rest()
    asker.page.keyboard.press("n")
    expect(asker.page).to_have_url(re.compile(r":\d+/$"))
    asker.page.get_by_role("button", name=re.compile("^How to search")).click()
    asker.page.get_by_role("radio", name="talker").check()
    expect(slider).to_have_value("-3")
    asker.page.get_by_role("radio", name="Everything together").check()
    expect(slider).to_have_count(0)


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.long
def test_it_looks_right_and_can_be_read_by_all(
    open_page: Open, rich_server: Server, photos: Photos, album_of: AlbumOf, look: str
) -> None:
    person = begun(open_page, rich_server, photos, **LOOKS[look])
    album = album_of(person, look)
    person.say("and what is beside it?")
    person.say(photos.word)
    person.say(ASKED)
    expect(answer(person)).to_be_visible()
    album.take("answer")
    if look == "phone":
        person.page.get_by_role("button", name="Conversation", exact=True).click()
        album.take("answer-conversation")
        person.page.get_by_role("button", name="Conversation", exact=True).click()
    person.page.get_by_role("button", name=re.compile("^How to search")).click()
    expect(person.page.get_by_role("slider")).to_be_visible()
    album.take("leaning")
    assert not album.against
