"""The page of a review in Chromium: by keyboard, loaded again on the way, with the server gone, in every look."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.chromium import CHROMIUM
from viewfinder.data.chatsearch import ChatTurn, Review, TextItem, read_reviews, review_file

if TYPE_CHECKING:
    from tests.server.reviewing.conftest import Serve

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
expect = playwright.expect

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")]

ARTEFACTS = Path(os.environ.get("VIEWFINDER_ARTEFACTS") or Path(__file__).resolve().parents[3] / "runs" / "page")
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1440, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1440, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        expect.set_options(timeout=60_000)
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


def opened(browser: Any, **look: Any) -> Any:
    context = browser.new_context(reduced_motion="reduce", **look)
    context.set_default_timeout(20_000)
    context.add_init_script(
        "window.breaches = []; addEventListener('securitypolicyviolation', (e) => breaches.push(e.blockedURI));"
    )
    page = context.new_page()
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    return page


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page on which nothing goes wrong, and that runs nothing but files of its server."""
    made = opened(browser, **LOOKS["light"])
    yield made
    assert made.wrong == []
    assert made.evaluate("breaches") == []
    made.context.close()


def at(page: Any, name: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Dialogue {name}")
    expect(page.locator("body")).not_to_have_class(re.compile("busy"))


def field(page: Any, turn: int) -> Any:
    return page.get_by_role("textbox", name=f", turn {turn}")


def test_by_keyboard_alone_all_is_decided(page: Any, address: str, dialogues: Path) -> None:
    page.goto(address)
    at(page, "m-1")
    page.keyboard.press("a")
    at(page, "m-2")
    page.keyboard.press("m")
    page.keyboard.type("too short")
    page.keyboard.press("Enter")  # leaves the note: it decides nothing
    page.keyboard.press("r")
    at(page, "m-3")
    page.keyboard.press("e")
    page.keyboard.press("End")
    page.keyboard.type(", and round")
    page.keyboard.press("Control+Enter")
    at(page, "t-1")
    for name in ("t-2", "i/1"):
        page.keyboard.press("a")
        at(page, name)
    page.keyboard.press("a")
    expect(page.get_by_role("heading", name="All decided")).to_be_visible()
    expect(page.get_by_text("4 accepted, 1 rewritten, 1 rejected.")).to_be_visible()
    reviews = read_reviews(review_file(dialogues))
    assert reviews["m-2"] == Review("m-2", "rejected", note="too short")
    assert reviews["m-3"].turns[0] == ChatTurn("user", (TextItem("m-3: something red, and round"),))
    assert [review.verdict for review in reviews.values()].count("accepted") == 4


def test_what_was_not_sent_is_there_when_the_page_is_loaded_again(page: Any, address: str, dialogues: Path) -> None:
    page.goto(f"{address}/?show=all&id=m-2")
    at(page, "m-2")
    field(page, 3).fill("but green below")
    page.get_by_role("textbox", name="Note").fill("unsure")
    page.reload()
    at(page, "m-2")
    expect(field(page, 3)).to_have_value("but green below")
    expect(page.get_by_role("textbox", name="Note")).to_have_value("unsure")
    expect(page.get_by_text("nothing is decided yet")).to_be_visible()
    assert read_reviews(review_file(dialogues)) == {}
    page.get_by_role("button", name="As it was").click()
    expect(field(page, 3)).to_have_value("but blue below")
    expect(page.get_by_role("button", name="Accept", exact=True)).to_be_visible()


def test_what_was_decided_is_shown_and_can_be_decided_again(page: Any, address: str, dialogues: Path) -> None:
    page.goto(f"{address}/?show=all&id=m-1")
    at(page, "m-1")
    page.get_by_role("textbox", name="Your name").fill("anna")
    field(page, 2).fill("")  # pictures alone are an answer too
    page.get_by_role("button", name="Accept as changed").click()
    at(page, "m-2")
    page.keyboard.press("p")
    at(page, "m-1")
    expect(page.get_by_text("Rewritten by anna")).to_be_visible()
    expect(page.get_by_text("Was: like this?")).to_be_visible()
    page.get_by_role("button", name="Reject").click()
    at(page, "m-2")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("Rejected by anna")).to_be_visible()
    expect(field(page, 2)).to_have_value("like this?")
    assert [*read_reviews(review_file(dialogues)).values()] == [Review("m-1", "rejected", by="anna")]


def test_an_empty_turn_is_refused_and_stays_to_be_written(page: Any, address: str, dialogues: Path) -> None:
    page.goto(address)
    at(page, "m-1")
    field(page, 3).fill(" ")
    page.get_by_role("button", name="Accept as changed").click()
    expect(page.get_by_role("alert")).to_contain_text("no turn may be empty")
    at(page, "m-1")
    assert read_reviews(review_file(dialogues)) == {}


def test_filters_show_what_is_asked_for_and_are_in_the_address(page: Any, address: str) -> None:
    page.goto(address)
    at(page, "m-1")
    page.get_by_label("Made by").select_option(label="mChat, merge")
    expect(page.get_by_text("of 2", exact=True)).to_be_visible()
    page.get_by_role("heading", level=1).focus()
    page.keyboard.press("n")
    at(page, "m-3")
    page.keyboard.press("r")
    at(page, "m-1")  # from the beginning again: this one is still to be decided
    page.get_by_label("Show").select_option(label="rejected (1)")
    at(page, "m-3")
    assert "show=rejected" in page.url
    page.go_back()
    at(page, "m-1")
    page.get_by_label("Show").select_option(label="accepted (0)")
    expect(page.get_by_role("heading", name="None here")).to_be_visible()
    page.get_by_role("button", name="Show all dialogues").click()
    at(page, "m-1")


def test_a_server_that_is_gone_is_said_and_nothing_is_lost(page: Any, serve: Serve, dialogues: Path) -> None:
    with serve(dialogues) as address:
        page.goto(address)
        at(page, "m-1")
        field(page, 1).fill("something very red")
        page.context.set_offline(True)
        page.get_by_role("button", name="Accept as changed").click()
        expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
        expect(field(page, 1)).to_have_value("something very red")
        page.context.set_offline(False)
        page.get_by_role("button", name="Try again").click()
        at(page, "m-2")
    assert read_reviews(review_file(dialogues))["m-1"].verdict == "rewritten"


def test_who_comes_second_is_told_what_the_first_decided(page: Any, browser: Any, address: str) -> None:
    second = opened(browser, **LOOKS["light"])
    for each in (page, second):
        each.goto(address)
        at(each, "m-1")
    page.get_by_role("textbox", name="Your name").fill("anna")
    page.get_by_role("button", name="Accept").click()
    at(page, "m-2")
    field(second, 1).fill("mine")
    second.get_by_role("button", name="Reject").click()
    expect(second.get_by_role("alert")).to_contain_text("anna has decided about this dialogue")
    expect(field(second, 1)).to_have_value("mine")
    second.get_by_role("button", name="Reject").click()
    at(second, "m-2")
    second.context.close()


@pytest.mark.parametrize("look", ["light", *(pytest.param(look, marks=pytest.mark.long) for look in ("dark", "phone"))])
def test_no_state_of_the_page_shuts_anybody_out(browser: Any, address: str, look: str) -> None:
    page = opened(browser, **LOOKS[look])
    against: dict[str, Any] = {}

    def take(state: str) -> None:
        page.wait_for_timeout(200)
        page.screenshot(path=ARTEFACTS / f"review-{state}-{look}.png")
        against[state] = [found["id"] for found in axe.Axe().run(page).response["violations"]]
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, state

    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.goto(address)
    at(page, "m-1")
    expect(page.get_by_role("img", name="The picture that is meant")).to_be_visible()
    take("open")
    field(page, 1).fill("something red, which is more than was said before")
    take("changed")
    page.get_by_role("button", name="Accept as changed").click()
    at(page, "m-2")
    page.get_by_label("Show").select_option(label="rewritten (1)")
    at(page, "m-1")
    take("rewritten")
    page.keyboard.press("?")
    take("keys")
    page.keyboard.press("Escape")
    page.get_by_label("Show").select_option(label="rejected (0)")
    take("none")
    page.context.close()
    assert not any(against.values()), against


def test_every_text_of_the_page_has_words(page: Any, address: str) -> None:
    static = Path(__file__).resolve().parents[3] / "src" / "viewfinder" / "studies" / "static" / "js"
    sources = "".join((static / name).read_text(encoding="utf-8") for name in ("review.js", "review-parts.js"))
    keys = sorted(set(re.findall(r'"(review\.[\w.-]+[\w])"', sources)))
    assert len(keys) > 30
    page.goto(address)
    bare = page.evaluate(
        """async (keys) => {
          const { t } = await import("/static/js/texts.js");
          return keys.filter((key) => t(key, new Proxy({}, { get: () => 1 })) === key);
        }""",
        keys,
    )
    assert bare == []
