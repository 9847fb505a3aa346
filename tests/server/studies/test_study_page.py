"""The page of a study in Chromium: by keyboard alone, loaded again on the way, and with nothing told that is blind."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from tests.chromium import CHROMIUM
from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings
from viewfinder.studies.extension import STUDIES

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")]

SECRETS = ("composer", "clip-t", ".png", '"rank', "score")


@pytest.fixture(scope="module")
def server(drawn: tuple[Library, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server over the drawings."""
    database = f"sqlite:///{tmp_path_factory.mktemp('page') / 'server.db'}"
    settings = ServerSettings(database_url=database, _env_file=None)
    config = uvicorn.Config(
        create_app(drawn[0], settings, extensions=STUDIES), host="127.0.0.1", port=0, log_level="warning"
    )
    serving = uvicorn.Server(config)
    thread = threading.Thread(target=serving.run, daemon=True)
    thread.start()
    while not serving.started:
        assert thread.is_alive(), "the server ended before it began"
        time.sleep(0.02)
    yield f"http://127.0.0.1:{serving.servers[0].sockets[0].getsockname()[1]}"
    serving.should_exit = True
    thread.join(20)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1100, "height": 800}, reduced_motion="reduce")
    context.set_default_timeout(20_000)
    yield context.new_page()
    context.close()


def begun(server: str, targets: list[str], **change: Any) -> str:
    plan = {"name": "Colours", "consent": "I agree.", "targets": targets, "rounds": 2, "n": 4, **change}
    request = urllib.request.Request(
        f"{server}/api/v1/studies", json.dumps(plan).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return str(json.load(answer)["id"])


def joined(page: Any, server: str, study: str) -> None:
    """Through the consent, by keyboard, to the first picture's announcement."""
    page.goto(f"{server}/study/{study}")
    page.get_by_role("checkbox").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Picture 1").wait_for()


def violations(page: Any) -> list[str]:
    return [found["id"] for found in axe.Axe().run(page).response["violations"]]


def test_a_study_by_keyboard_alone_tells_nothing_that_is_blind(
    page: Any, server: str, captions: dict[str, str]
) -> None:
    heard: list[str] = []
    page.on("response", lambda answer: heard.extend([answer.text()] if "/api/v1/studies" in answer.url else []))
    target, caption = next(iter(captions.items()))
    joined(page, server, begun(server, [target], retrievers=["composer", "clip-t"]))
    page.keyboard.press("Enter")  # the button that shows the picture has the focus
    page.get_by_role("img", name="The picture to find").wait_for()
    page.keyboard.type(caption)  # and now the text box
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Result 1: look closer").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Yes, this is it").focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Thank you").wait_for()
    assert len(heard) >= 4
    for secret in SECRETS:
        assert not any(secret in text for text in heard), secret
        assert secret not in page.content()


@pytest.mark.long
def test_a_page_that_is_loaded_again_goes_on_where_it_was(page: Any, server: str, captions: dict[str, str]) -> None:
    joined(page, server, begun(server, list(captions)[:2]))
    page.get_by_role("button", name="Show me").click()
    page.get_by_role("textbox").fill("red over blue")
    page.get_by_role("button", name="Search").click()
    page.get_by_text("Round 2 of 2").wait_for()
    before = page.locator(".found img").evaluate_all("all => all.map((one) => one.src)")
    page.reload()
    page.get_by_text("Round 2 of 2").wait_for()
    assert page.locator(".found img").evaluate_all("all => all.map((one) => one.src)") == before
    assert page.locator(".said").inner_text() == "red over blue"


@pytest.mark.long
def test_a_picture_to_remember_goes_when_its_time_is_over(page: Any, server: str, captions: dict[str, str]) -> None:
    joined(page, server, begun(server, list(captions)[:1], target="remembered", seconds=3))
    page.get_by_role("button", name="Show me").click()
    page.get_by_role("img", name="The picture to find").wait_for()
    page.get_by_text("look for it from memory").wait_for()
    page.reload()
    page.get_by_text("look for it from memory").wait_for()
    assert page.get_by_role("img", name="The picture to find").count() == 0


@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.long), "dark"])
def test_no_state_of_the_page_shuts_anybody_out(page: Any, server: str, captions: dict[str, str], theme: str) -> None:
    page.emulate_media(color_scheme=theme)
    study = begun(server, list(captions)[:1], task="feedback")
    page.goto(f"{server}/study/{study}")
    page.get_by_role("checkbox").wait_for()
    found = {"consent": violations(page)}
    joined(page, server, study)
    found["before"] = violations(page)
    page.get_by_role("button", name="Show me").click()
    page.get_by_role("textbox").fill("red over blue")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("button", name="Result 2: look closer").wait_for()
    found["results"] = violations(page)
    page.get_by_role("button", name="Result 2: look closer").click()
    found["closer"] = violations(page)
    page.get_by_role("button", name="Like this, but").click()
    found["picked"] = violations(page)
    assert not any(found.values()), found


def test_a_server_that_is_gone_is_said_and_what_was_typed_is_sent_again(
    page: Any, server: str, captions: dict[str, str]
) -> None:
    joined(page, server, begun(server, list(captions)[:1]))
    page.get_by_role("button", name="Show me").click()
    page.get_by_role("textbox").fill("red over blue")
    page.context.set_offline(True)
    page.get_by_role("button", name="Search").click()
    page.get_by_role("alert").get_by_text("cannot be reached").wait_for()
    assert page.get_by_role("textbox").input_value() == "red over blue"
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    page.get_by_text("Round 2 of 2").wait_for()
