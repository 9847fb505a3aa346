"""The page on a television: with arrow keys, Enter and Back alone, from a search to a large picture and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.server.page.conftest import find_box

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.server.page.conftest import AlbumOf, Open, Person, Photos

TV = {"width": 1920, "height": 1080}
MAX_STEPS = 60

WHERE = """() => {
  const it = document.activeElement, { x, y, width, height } = it.getBoundingClientRect();
  const said = it.ariaLabel || it.placeholder || it.textContent.trim();
  const of = it.closest("vf-grid, vf-conversation, vf-tree, vf-say, dialog, header")?.localName ?? "";
  const at = it.closest("li.tile")?.dataset.at ?? null;
  const answers = it.closest(".question [role=group]") !== null;
  return { of, at, answers, said: said.slice(0, 60), x: x + width / 2, y: y + height / 2 };
}"""

SEEN = """() => {
  const it = document.activeElement, holder = it.closest(".tile, .line") ?? it;
  const drawn = [[it, null], [holder, null], [holder, "::after"]].map(([of, part]) => getComputedStyle(of, part));
  const isLined = (style) => style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
  return drawn.some((style) => isLined(style) || style.boxShadow !== "none");
}"""


@pytest.fixture
def viewer(open_page: Open) -> Person:
    """Somebody before a television."""
    came = open_page(**TV)
    came.tiles.first.wait_for()
    came.rest()
    came.page.locator("html[data-arrows]").wait_for(state="attached")
    return came


def where(page: Page) -> dict[str, Any]:
    """What has the focus."""
    found: dict[str, Any] = page.evaluate(WHERE)
    return found


def walk(page: Page, key: str, until: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Presses an arrow until the focus is where it is meant to be; it is seen wherever it goes."""
    for _ in range(MAX_STEPS):
        here = where(page)
        if until(here):
            return here
        page.keyboard.press(key)
        assert page.evaluate(SEEN), where(page)
    pytest.fail(f"{key} does not lead there: it leads to {where(page)}")


def is_in(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda here: here["of"] == name


def test_from_a_search_to_a_large_picture_with_the_keys_of_a_remote(
    viewer: Person, photos: Photos, album_of: AlbumOf
) -> None:
    page, keys = viewer.page, viewer.page.keyboard
    walk(page, "ArrowDown", is_in("vf-say"))
    keys.type(photos.first)  # the television's own keyboard on the screen
    with viewer.turn():
        keys.press("Enter")

    # The question: to the conversation beside the pictures, and to an answer.
    keys.press("ArrowUp")
    walk(page, "ArrowUp", is_in("vf-grid"))
    walk(page, "ArrowRight", lambda here: here["of"] in ("vf-tree", "vf-conversation"))
    walk(page, "ArrowDown", lambda here: bool(here["answers"]))
    # Answers may take more than one row; which are offered depends on what the processor's sums make likely.
    skip = find_box(page.locator(".question [role=group]").get_by_role("button", name="Skip"))
    walk(page, "ArrowDown", lambda here: skip["y"] < here["y"] < skip["y"] + skip["height"])
    walk(
        page, "ArrowRight" if where(page)["x"] < skip["x"] else "ArrowLeft",
        lambda here: here["said"] == "Skip",
    )  # fmt: skip
    with viewer.turn():
        keys.press("Enter")
    assert viewer.tree()[-1]["turn"]["answer"] == ""

    # A picture, large, and back to it.
    walk(page, "ArrowLeft", is_in("vf-grid"))
    keys.press("ArrowLeft")
    tile = where(page)
    album = album_of(viewer, "television")
    album.take("tile")
    keys.press("Enter")
    large = page.locator("dialog.picture")
    expect(large).to_be_visible()
    for key in ("ArrowDown", "ArrowUp"):
        keys.press(key)
        assert page.evaluate("document.activeElement.closest('dialog') !== null")
        assert page.evaluate(SEEN)
    album.take("large")
    back(page)
    expect(large).not_to_be_visible()
    assert where(page)["at"] == tile["at"]
    assert album.against == {}


def back(page: Page) -> None:
    """What the Back of a remote is to a page."""
    page.evaluate(
        """document.activeElement.dispatchEvent(
          new KeyboardEvent("keydown", { key: "GoBack", bubbles: true, cancelable: true }))"""
    )


@pytest.mark.long
def test_nothing_holds_the_focus_and_all_is_reached(viewer: Person, photos: Photos) -> None:
    page = viewer.page
    viewer.say(photos.first)
    viewer.box.focus()
    reached: list[str] = []
    for key in ("ArrowUp", "ArrowRight", "ArrowDown", "ArrowLeft"):
        for _ in range(12):
            page.keyboard.press(key)
            reached.append(where(page)["of"])
            assert page.evaluate("document.activeElement !== document.body")
    assert {"vf-grid", "vf-conversation", "vf-say"} <= set(reached), reached
    for of in ("vf-grid", "vf-conversation", "vf-tree", "vf-say", "header"):
        start = page.locator(f"{of} :is(.pick, [role=treeitem], button, textarea):not([tabindex='-1'])").first
        ways = 0
        for key in ("ArrowUp", "ArrowRight", "ArrowDown", "ArrowLeft"):
            start.focus()
            here = where(page)
            page.keyboard.press(key)
            ways += where(page) != here
        assert ways, f"{of} holds the focus"
