"""What the page costs, and what it never does: move what is looked at, ask others, run what was not sent as a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.server.page.conftest import Person, Photos, Server, Watched

MOST_BYTES = 120_000


def test_script_and_style_before_the_first_pictures_are_light(person: Person) -> None:
    asked = person.page.evaluate(
        """performance.getEntriesByType("resource").map(({ startTime, name, decodedBodySize }) =>
          ({ at: startTime, name, size: decodedBodySize }))"""
    )
    first = min(each["at"] for each in asked if "/thumbnail" in each["name"])
    sizes = {each["name"]: each["size"] for each in asked if each["at"] < first and "/static/" in each["name"]}
    assert any(name.endswith("main.js") for name in sizes)
    assert any(name.endswith("base.css") for name in sizes)
    assert all(sizes.values())
    assert sum(sizes.values()) < MOST_BYTES, sizes


def test_nothing_moves_while_results_load(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    person.question.get_by_role("button").first.hover()
    person.page.locator("vf-grid").evaluate("(grid) => { grid.scrollTop = 700; }")
    person.page.wait_for_timeout(400)
    person.page.go_back()
    expect(person.page).to_have_url(re.compile(r":\d+/$"))
    person.rest()
    shifts = person.page.evaluate("window.shifts")
    assert sum(shift["value"] for shift in shifts) < 0.01, shifts


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


def test_every_text_of_the_page_has_words(person: Person) -> None:
    static = Path(__file__).resolve().parents[3] / "src" / "viewfinder" / "server" / "static" / "js"
    sources = [
        file.read_text(encoding="utf-8") for file in static.glob("*.js") if not re.search("study|review", file.name)
    ]
    keys = sorted({key for source in sources for key in re.findall(r'\bt\("([^"$]+)"', source)})
    assert len(keys) > 100
    bare = person.page.evaluate(
        """async (keys) => {
          const { t } = await import("/static/js/texts.js");
          const values = new Proxy({}, { get: () => 1 });
          return keys.filter((key) => t(key, values) === key);
        }""",
        keys,
    )
    assert bare == []
