"""The page by keyboard alone, and what a screen reader is told meanwhile."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.server.page.conftest import Person, Photos

PARTS = "sessions jobs retrievers beliefs grid tree conversation say"
PART = f"document.activeElement.closest('{', '.join(f'vf-{name}' for name in PARTS.split())}')?.localName"


def test_from_the_start_to_found_with_keys_alone(person: Person, photos: Photos) -> None:
    keys = person.page.keyboard
    expect(person.box).to_be_focused()  # one may type at once
    with person.turn():
        keys.type(photos.first)
        keys.press("Enter")
    best = person.shown
    keys.press("ArrowUp")  # out of the empty box, up to the pictures
    expect(person.tiles.nth(0).locator(".pick")).to_be_focused()
    keys.press("ArrowRight")
    expect(person.tiles.nth(1).locator(".pick")).to_be_focused()
    keys.press("m")
    expect(person.box).to_be_focused()
    with person.turn():
        keys.type(photos.but)
        keys.press("Enter")
    assert person.tree()[2]["turn"] == {"like": best[1], "but": photos.but}
    keys.press("ArrowUp")
    with person.turn():
        keys.press("x")
    assert "reject" in person.tree()[3]["turn"]
    expect(person.tiles.nth(0).locator(".pick")).to_be_focused()  # the best of what is left
    keys.press("f")
    # Only the notice says so: what is read aloud, a status too, says "Found!" alone.
    notice = person.page.get_by_role("status").filter(has_text="After 3 turns")
    expect(notice).to_contain_text("Found! After 3 turns. It was the first")


def test_a_screen_reader_is_told_of_what_changes(person: Person, photos: Photos) -> None:
    keys = person.page.keyboard
    person.say(photos.first)
    asked = person.tree()[1]["asked"]["text"]
    name = person.tiles.nth(0).locator(".pick").get_attribute("aria-label") or ""
    expect(person.page.locator("#live")).to_contain_text(f"Question: {asked}")
    keys.press("ArrowUp")
    keys.press("m")
    expect(person.page.locator("#live")).to_contain_text("Picked ")
    keys.press("Escape")
    expect(person.page.locator("#live")).to_have_text("Nothing picked.")
    said = " | ".join(person.heard)
    assert re.search(rf"of {len(photos.files)}\. First: .*Question: .*Picked .*Nothing picked\.", said), said
    assert name.removeprefix("1. ").split(" (")[0] in said


def test_every_key_is_listed_on_a_question_mark(person: Person) -> None:
    keys = person.page.keyboard
    keys.press("ArrowUp")
    keys.press("?")
    dialog = person.page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_be_visible()
    assert dialog.locator("dt").count() == dialog.locator("dd").count() >= 12
    assert not [text for text in dialog.locator("dd").all_inner_texts() if text.startswith("shortcuts.")]
    keys.press("Escape")
    expect(dialog).to_have_count(0)
    expect(person.tiles.nth(0).locator(".pick")).to_be_focused()


def test_the_tree_is_walked_with_arrows(person: Person, photos: Photos) -> None:
    keys = person.page.keyboard
    person.say(photos.first)
    first = person.shown
    person.say(photos.but)
    person.page.locator("vf-tree [tabindex='0']").focus()
    keys.press("ArrowUp")
    keys.press("Enter")
    person.arrived(1)
    assert person.shown == first
    keys.press("ArrowDown")
    keys.press("c")
    expect(person.page).to_have_url(re.compile("/compare/.*/1/2$"))
    expect(person.page.get_by_role("heading", name="Two branches side by side")).to_be_visible()
    keys.press("Escape")
    person.arrived(1)


def test_every_control_is_reached_by_tab_and_none_holds_the_focus(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    seen = []
    for _ in range(60):
        person.page.keyboard.press("Tab")
        seen.append(person.page.evaluate(PART))
    assert {f"vf-{name}" for name in PARTS.split()} <= set(seen)
