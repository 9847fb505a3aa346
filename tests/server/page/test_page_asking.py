"""Who asks on the page: a language model, what is done with its questions, and what happens where it fails."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")

if TYPE_CHECKING:
    from tests.server.conftest import Model
    from tests.server.page.conftest import AlbumOf, Open, Person, Photos, Server

QUESTIONS = [
    "Is it outdoors?",
    "What is in the background?",
    "Is there a ball?",
    "Is the sun shining?",
    "Is anybody wearing a hat?",
]
LOOKS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"scheme": "dark"},
    "phone": {"width": 390, "height": 844, "device_scale_factor": 2},
}


def asked_by_model(open_page: Open, server: Server, **look: Any) -> Person:
    """Somebody who has chosen the language model to ask."""
    person = open_page(at=server, **look)
    person.tiles.first.wait_for()
    person.page.get_by_role("button", name="How to search").click()
    person.page.get_by_role("radio", name="A language model", exact=True).check()
    person.page.keyboard.press("Escape")
    person.rest()
    return person


def test_the_way_that_finds_more_among_such_pictures_says_so(open_page: Open) -> None:
    person = open_page("about:blank")

    def advise(route: Any) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"advised": "one"})

    person.page.route("**/api/v1/retrievers", advise)
    person.page.goto("/")
    person.tiles.first.wait_for()
    person.page.get_by_role("button", name=re.compile("^How to search")).click()
    said = person.page.locator("#retrievers-panel .option-row").filter(has_text="finds more among pictures like these")
    expect(said).to_have_count(1)
    expect(said).to_contain_text("All systems as one")


@pytest.mark.parametrize("look", list(LOOKS))
def test_four_questions_are_answered_by_chip_in_words_not_and_skipped(
    open_page: Open, rich_server: Server, shared_model: Model, photos: Photos, album_of: AlbumOf, look: str
) -> None:
    shared_model.says = [*QUESTIONS]
    person = asked_by_model(open_page, rich_server, **LOOKS[look])
    album = album_of(person, look)
    person.say(photos.first)
    album.take("asked")
    with person.turn():
        person.question.get_by_role("button", name="yes", exact=True).click()
    expect(person.question.locator(".ask")).to_have_text(QUESTIONS[1])
    album.take("asked-openly")
    with person.turn():
        person.question.get_by_role("textbox", name="Your own answer").fill("a brick wall")
        person.page.keyboard.press("Enter")
    with person.turn():
        person.question.get_by_role("button", name="Don’t know").click()
    with person.turn():
        person.question.get_by_role("button", name="Skip").click()
    expect(person.question.locator(".ask")).to_have_text(QUESTIONS[4])
    tree = person.tree()
    assert [node["asked"]["text"] for node in tree[1:]] == QUESTIONS
    assert [node["turn"].get("answer") for node in tree[2:]] == ["yes", "a brick wall", "don't know", ""]
    if look == "phone":
        person.page.locator("#panel-switch").click()
    said = person.page.locator(".said:visible")
    expect(said).to_have_text([photos.first, "yes", "a brick wall"])
    person.page.get_by_text("2 questions skipped").locator("..").get_by_role("button", name="Show them").click()
    expect(said).to_have_text([photos.first, "yes", "a brick wall", "Don’t know", "Skipped"])
    album.take("answered")
    assert album.against == {}


@pytest.mark.long
def test_a_model_that_fails_is_said_to_have_failed(
    open_page: Open, rich_server: Server, shared_model: Model, photos: Photos, album_of: AlbumOf
) -> None:
    shared_model.says = ["I am sorry, but as a language model I cannot help with that"]
    person = asked_by_model(open_page, rich_server)
    person.say(photos.first)
    notice = person.question.locator(".instead")
    expect(notice).to_have_text("This is asked by another, as the one that you chose could not.")
    reason = person.question.locator("details")
    expect(reason.get_by_text("llm failed (tiny ")).not_to_be_visible()
    person.question.get_by_text("Why this question?").click()
    expect(reason).to_contain_text("what divides the likeliest pictures best")
    expect(reason.get_by_text("llm failed (tiny ")).to_contain_text("asked by information_gain instead")
    album = album_of(person, "light")
    album.take("fallback")
    person.page.set_viewport_size({"width": 390, "height": 844})
    album.take("fallback-narrow")
    assert album.against == {}


@pytest.mark.long
def test_one_goes_on_while_a_model_thinks(
    open_page: Open, rich_server: Server, shared_model: Model, photos: Photos, album_of: AlbumOf
) -> None:
    shared_model.says = [*QUESTIONS]
    person = asked_by_model(open_page, rich_server)
    shared_model.speaks.clear()
    person.box.fill(photos.first)
    person.box.press("Enter")
    expect(person.page).to_have_url(re.compile("/1$"))
    expect(person.page.get_by_text("Thinking of a question …")).to_be_visible()
    album_of(person, "light").take("thinking")
    person.box.fill(photos.but)
    person.box.press("Enter")
    expect(person.page).to_have_url(re.compile("/2$"))
    person.page.locator("body:not(.busy):has(vf-grid .tile)").wait_for(state="attached")
    assert person.shown[:8] == person.ranking(2)[:8]
    assert not shared_model.speaks.is_set()
    shared_model.speaks.set()
    expect(person.question.locator(".ask")).to_be_visible()
    tree = person.tree()
    assert tree[1]["asked"] is None
    assert tree[2]["asked"]["by"] == "llm"


def test_who_cannot_ask_here_is_folded_away_with_what_is_missing(person: Person) -> None:
    person.page.get_by_role("button", name="How to search").click()
    asks = person.page.get_by_role("group", name="Asks back")
    listed = person.api("/questioners")["questioners"]
    texts = person.page.request.get("/static/locales/en.json").json()
    for info in listed:
        shown = texts.get(f"way.{info['name']}", info["name"].replace("_", " "))
        radio = asks.get_by_role("radio", name=shown, exact=True, include_hidden=True)
        expect(radio).to_have_count(1)
        assert radio.is_enabled() == info["ready"]
    missing = [info for info in listed if not info["ready"]]
    assert "llm" in [info["name"] for info in missing]
    asks.get_by_text(f"{len(missing)} more cannot be used yet").click()
    expect(asks.get_by_text("llm needs a language model")).to_be_visible()


def test_a_questioner_of_somebodys_own_that_has_a_bug_is_named_and_the_search_goes_on(
    person: Person, photos: Photos
) -> None:
    fault = "the questioner lab:Asker of the module lab failed (KeyError: 'sky', lab.py:7)"
    told = f"event: question\ndata: {json.dumps({'question': None, 'problem': fault})}\n\nevent: done\ndata: {{}}\n\n"
    person.page.route(
        "**/turns/1/events*", lambda route: route.fulfill(body=told, content_type="text/event-stream; charset=utf-8")
    )
    person.say(photos.first)
    notice = person.page.get_by_role("alert")
    expect(notice).to_contain_text("A part that somebody has added to this server has a bug.")
    expect(notice.get_by_text("The questioner lab:Asker of the module lab failed")).to_be_visible()
    expect(person.question).to_have_count(0)
    person.say(photos.but)
    expect(person.question).to_be_visible()
