"""A conversation on the page: words, results, questions, pictures as words, what is believed, and the end of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.server.page.conftest import Person, Photos


VAGUE = "something"
"""So little said that a question with choices follows."""


def test_results_come_while_one_types_and_no_conversation_has_begun(person: Person, photos: Photos) -> None:
    before = person.api("/sessions")
    person.box.press_sequentially(photos.first, delay=20)
    expect(person.page.locator(".total")).to_have_text("As you type. Enter begins the conversation.")
    found = person.api("/search", {"text": photos.first, "n": 10, "why": False})
    expect(person.tiles.first).to_have_attribute("data-id", found["results"][0]["id"])
    assert person.shown[:10] == [hit["id"] for hit in found["results"]]
    assert person.api("/sessions") == before


def test_plain_results_come_first_and_then_the_question_with_its_answers(person: Person) -> None:
    person.box.fill(VAGUE)
    with person.turn(), person.page.expect_response(re.compile("/turns$")) as answered:
        person.box.press("Enter")
    first = answered.value.json()
    assert (first["question"], first["asking"]) == (None, True)
    assert person.shown[:10] == [hit["id"] for hit in first["results"]][:10]
    asked = person.tree()[1]["asked"]
    expect(person.question.locator(".ask")).to_have_text(asked["text"])
    chips = person.question.get_by_role("group").get_by_role("button").all_inner_texts()
    choices = [choice for choice in asked["choices"] if choice != "don't know"]
    assert len(choices) >= 2
    assert chips == [*choices, "Don’t know", "In my words …", "Skip"]


STRAY = """() => [...document.querySelectorAll("*")].filter((one) => one.tagName.startsWith("VF-"))
    .flatMap((one) => [...one.childNodes]).filter((one) => one.nodeType === Node.TEXT_NODE)
    .map((one) => one.textContent.trim()).filter(Boolean)"""
"""Texts that stand in a part of the page by themselves: a number or a name that was drawn by mistake."""


def test_nothing_is_drawn_by_mistake(person: Person) -> None:
    person.say(VAGUE)
    person.say("green")
    assert person.page.evaluate(STRAY) == []


def test_an_answer_is_a_turn_that_says_what_was_asked(person: Person) -> None:
    person.say(VAGUE)
    asked = person.tree()[1]["asked"]
    with person.turn():
        person.question.get_by_role("button", name=asked["choices"][0], exact=True).click()
    assert person.tree()[2]["turn"] == {"answer": asked["choices"][0], "question": asked}
    last = person.page.locator(".turn").last
    assert last.locator(".asked").inner_text() == asked["text"]
    assert last.locator(".said").inner_text().strip() == asked["choices"][0]
    assert person.shown[:8] == person.ranking(2)[:8]


def test_who_does_not_know_is_asked_something_else(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    first, before = person.tree()[1]["asked"]["text"], person.shown
    with person.turn():
        person.question.get_by_role("button", name="Don’t know").click()
    assert person.tree()[2]["turn"]["answer"] == "don't know"
    assert person.shown == before
    assert person.tree()[2]["asked"] is None or person.tree()[2]["asked"]["text"] != first


def test_a_question_is_answered_in_words_of_ones_own(person: Person, photos: Photos) -> None:
    person.say(VAGUE)
    person.question.get_by_role("button", name="In my words …").click()
    with person.turn():
        person.page.get_by_role("textbox", name="Your own answer").fill(photos.but)
        person.page.keyboard.press("Enter")
    assert person.tree()[2]["turn"]["answer"] == photos.but


def test_a_picture_that_is_clicked_begins_like_this_but(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    second = person.shown[1]
    person.like(1)
    expect(person.page.locator(".pinned-pill")).to_contain_text("Like this")
    expect(person.tiles.nth(1).get_by_role("button", name="Like this")).to_have_attribute("aria-pressed", "true")
    expect(person.box).to_be_focused()
    with person.turn():
        person.page.keyboard.type(f"but {photos.but}")
        person.page.keyboard.press("Enter")
    assert person.tree()[2]["turn"] == {"like": second, "but": photos.but}
    expect(person.page.locator(".pinned-pill")).to_have_count(0)
    bubble = person.page.locator(".turn").last.locator(".bubble")
    expect(bubble).to_contain_text(f"Like this, but {photos.but}")
    assert f"/{second}/" in (bubble.locator("img").get_attribute("src") or "")
    assert person.shown[:8] == person.ranking(2)[:8]


def test_a_picture_that_is_picked_can_be_let_go(person: Person) -> None:
    person.like(0)
    person.page.get_by_role("button", name="Not like this after all").click()
    expect(person.page.locator(".pinned-pill")).to_have_count(0)
    person.hear("Picked ")
    person.hear("Nothing picked.")


def test_a_rejected_picture_is_not_shown_again(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    best = person.shown[0]
    person.tiles.first.hover()
    with person.turn():
        person.tiles.first.get_by_role("button", name="Not this one").click()
    assert person.tree()[2]["turn"] == {"reject": [best]}
    assert best not in person.ranking(2)
    assert best not in person.shown
    expect(person.page.locator("vf-beliefs .negative")).to_have_count(1)


def test_none_of_these_rejects_what_was_on_the_screen(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    before = person.ranking()
    with person.turn():
        person.page.get_by_role("button", name="None of these").click()
    rejected = person.tree()[2]["turn"]["reject"]
    assert rejected == before[: len(rejected)]
    assert len(rejected) >= 8
    assert not set(person.shown) & set(rejected)


def test_a_belief_that_is_taken_back_leaves_the_results_of_the_others(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    first = person.shown
    person.say(photos.but)
    with person.turn():
        person.page.get_by_role("button", name=f"Take back: {photos.but}").click()
    assert person.shown == first
    assert photos.but not in person.page.locator("vf-beliefs").inner_text()
    # Nothing is lost: what was taken back is another branch now.
    assert person.page.get_by_role("treeitem", name=f"turn 2: {photos.but}").count() == 1


def test_a_turn_is_said_in_another_way_and_what_followed_is_said_again(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    person.say(photos.but)
    person.page.locator(".turn").first.hover()
    person.page.get_by_role("button", name=f"Change “{photos.first}”").click()
    with person.turn():
        person.page.get_by_role("textbox", name="What this turn should say").fill(photos.other)
        person.page.keyboard.press("Enter")
    assert [said.strip() for said in person.page.locator(".said").all_inner_texts()] == [photos.other, photos.but]
    assert person.shown[:8] == person.ranking()[:8]


def test_a_conversation_ends_with_the_picture_that_was_meant(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    person.tiles.nth(2).hover()
    person.tiles.nth(2).get_by_role("button", name="Found it").click()
    # What is read aloud says "Found!" too.
    notice = person.page.get_by_role("status").filter(has_text="After 1 turn")
    expect(notice).to_contain_text("It was result 3.")
    expect(person.tiles.nth(2)).to_have_class(re.compile("found"))
    person.page.get_by_role("region", name="Found!").get_by_role("button", name="Look for another").click()
    expect(person.page).to_have_url(re.compile(r":\d+/$"))


def test_conversations_are_renamed_taken_along_brought_back_and_deleted(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    page = person.page
    page.get_by_role("button", name=f"Conversations: {photos.first}").click()
    page.get_by_role("button", name=f"Rename “{photos.first}”").first.click()
    page.get_by_role("textbox", name="Name of the conversation").fill("My conversation")
    page.keyboard.press("Enter")
    with page.expect_download() as taken:
        page.get_by_role("link", name="Export “My conversation”").click()
    before, order = person.place[0], person.shown
    with person.turn():
        page.get_by_label("Import a conversation …").set_input_files(taken.value.path())
    assert person.place[0] != before
    assert person.shown == order
    page.get_by_role("button", name="Conversations: My conversation").click()
    page.get_by_role("button", name="Delete “My conversation”").first.click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page).to_have_url(re.compile(r":\d+/$"))
    assert [
        conversation["id"]
        for conversation in person.api("/sessions")["sessions"]
        if conversation["name"] == "My conversation"
    ] == [before]
