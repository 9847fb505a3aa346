"""What the page costs, and what it never does: move what is looked at, ask others, run what was not sent as a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.server.page.conftest import Person, Photos, Server, Watched

MAX_BYTES, MAX_TEXT_BYTES = 75_000, 45_000
"""Of script and style, and of the texts of a language, which pack to a third on their way to other machines."""


def test_script_and_style_before_the_first_pictures_are_light(person: Person) -> None:
    asked = person.page.evaluate(
        """performance.getEntriesByType("resource").map(({ startTime, responseEnd, name, decodedBodySize }) =>
          ({ at: startTime, came: responseEnd, name, size: decodedBodySize }))"""
    )
    first = min(each["came"] for each in asked if "/thumbnail" in each["name"])
    sizes = {each["name"]: each["size"] for each in asked if each["at"] < first and "/static/" in each["name"]}
    assert any(name.endswith("main.js") for name in sizes)
    assert any(name.endswith("base.css") for name in sizes)
    assert all(sizes.values())
    texts = [name for name in sizes if "/locales/" in name]
    assert [name.rpartition("/")[2] for name in texts] == ["en.json"]  # a language costs nothing but its own
    assert sizes[texts[0]] < MAX_TEXT_BYTES
    assert sum(size for name, size in sizes.items() if name not in texts) < MAX_BYTES, sizes


def test_the_first_pictures_are_asked_for_once_and_the_best_of_them_early(person: Person) -> None:
    asked = person.page.evaluate(
        """performance.getEntriesByType("resource").map(({ name, initiatorType }) => [name, initiatorType])"""
    )
    assert (
        sum(name.endswith("/pictures/browse") for name, _ in asked) == 1
    )  # early.js asks to the letter as the page does
    [early] = [name for name, _ in asked if person.shown[0] in name and "/thumbnail" in name]
    assert early.endswith(person.tiles.first.locator("img").get_attribute("src") or "?")


def test_nothing_moves_while_results_load(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    person.question.get_by_role("button").first.hover()
    person.page.locator("vf-grid").evaluate("(grid) => { grid.scrollTop = 700; }")
    person.page.wait_for_timeout(400)
    person.page.go_back()
    expect(person.page).to_have_url(re.compile(r":\d+/$"))
    person.rest()
    shifts = person.page.evaluate("window.shifts")
    assert sum(shift["value"] for shift in shifts) < 0.01, "\n".join(f"{each}" for each in shifts)


def test_the_content_security_policy_runs_nothing_but_files_of_this_server(
    person: Person, server: Server, watched: Watched
) -> None:
    watched.expected = ("Content Security Policy",)
    policy = person.page.request.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    person.page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.head.append(script);
          document.body.insertAdjacentHTML("beforeend", "<p style='color: red' onclick='window.ran = true'></p>");
          document.body.lastElementChild.click();
        }"""
    )
    person.page.wait_for_timeout(100)
    assert person.page.evaluate("[window.ran === undefined, breaches.splice(0).length]") == [True, 3]
