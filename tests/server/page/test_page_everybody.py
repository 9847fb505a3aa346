"""The page for everybody: in one's own language and direction, without single keys, with a token that may only read."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.server.page.conftest import find_box, mirror, program, serving
from viewfinder.server.pages import LOCALES

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import APIResponse, Route

    from tests.server.page.conftest import AlbumOf, Open, Person, Photos, Server, Watched

LOOKS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"scheme": "dark"},
    "phone": {"width": 390, "height": 844},
}


def texts_of(language: str) -> dict[str, str]:
    texts: dict[str, str] = json.loads((LOCALES / f"{language}.json").read_text(encoding="utf-8"))
    return texts


def say(person: Person, text: str) -> None:
    """As `Person.say`, in any language."""
    box = person.page.locator("vf-say textarea")
    with person.turn():
        box.fill(text)
        box.press("Enter")


@pytest.mark.parametrize(
    ("locale", "language", "tag"),
    [("de-DE", "de", "de"), pytest.param("zh-CN", "zh", "zh-Hans", marks=pytest.mark.long)],
)
def test_a_whole_story_in_the_language_of_the_browser(
    locale: str, language: str, tag: str, open_page: Open, album_of: AlbumOf, photos: Photos
) -> None:
    texts = texts_of(language)
    person = open_page(locale=locale)
    page = person.page
    person.tiles.first.wait_for()
    expect(page.locator("html")).to_have_attribute("lang", tag)
    expect(page.get_by_role("heading", name=texts["start.title"])).to_be_visible()
    expect(page.locator(".hero")).to_contain_text("multilingual")  # the search is not the page: it understands English
    asked = page.evaluate('performance.getEntriesByType("resource").map(({ name }) => name)')
    assert [name.rpartition("/")[2] for name in asked if "/locales/" in name] == [f"{language}.json"]
    album = album_of(person, language)
    album.take("start")
    say(person, photos.first)
    album.take("conversation")
    page.get_by_role("group", name=texts["conversation.choices"]).get_by_text(texts["conversation.dont-know"]).click()
    person.arrived(2)
    expect(page.locator(".bubble.pass")).to_have_text(texts["conversation.dont-know"])
    page.get_by_role("button", name=re.compile(f"^{texts['retrievers.title']}")).click()
    expect(page.get_by_role("radio", name=texts["way.composer"])).to_be_checked()
    album.take("ways")
    page.keyboard.press("Escape")
    page.get_by_role("button", name=texts["settings.title"]).click()
    album.take("settings")
    page.keyboard.press("Escape")
    page.locator("vf-grid .pick").first.focus()
    page.keyboard.press("f")
    expect(page.get_by_text(texts["found.title"]).first).to_be_visible()
    album.take("found")
    english = {text for text in texts_of("en").values() if len(text.split()) > 2 and text not in texts.values()}
    shown = page.evaluate("document.body.innerText").split("\n")
    assert [line for line in shown if line in english] == []
    assert not [line for line in shown if re.fullmatch(r"[a-z]+(\.[\w-]+)+", line)], "a key has no text"
    assert album.against == {}


def test_a_language_is_chosen_and_kept(open_page: Open, watched: Watched) -> None:
    watched.expected = ("404",)
    person = open_page(locale="fr-FR")
    page = person.page
    person.tiles.first.wait_for()
    page.get_by_role("button", name="Réglages").click()
    choice = page.get_by_label("Langue")
    assert choice.locator("option").all_inner_texts() == ["Deutsch", "English", "español", "français", "中文"]
    with page.expect_navigation():
        choice.select_option("es")
    expect(page.get_by_role("heading", name="Encontrar una imagen conversando")).to_be_visible()
    page.goto("/nowhere")
    expect(page.get_by_role("heading")).to_have_text("No hay nada en esta dirección")


def test_what_the_search_does_not_understand_is_said_in_ones_own_language(open_page: Open) -> None:
    person = open_page(locale="de-DE")
    person.tiles.first.wait_for()
    say(person, "Schmetterlingsflügel über Gänseblümchen")
    verdict = person.page.locator(".verdict")
    expect(verdict).to_contain_text("„Schmetterlingsflügel“")
    expect(verdict).to_contain_text("Sie versteht Englisch, andere Sprachen mit dem Encoder „multilingual“")


def test_what_fails_is_said_in_ones_own_language_with_the_servers_words_below(
    open_page: Open, watched: Watched, photos: Photos
) -> None:
    watched.expected = ("503", "422")
    person = open_page(locale="es-ES")
    person.tiles.first.wait_for()
    problem = {"type": "urn:viewfinder:problem:deadline", "status": 503, "detail": "this took longer than 30 s"}
    person.page.route("**/turns", lambda route: route.fulfill(status=503, json=problem))
    box = person.page.locator("vf-say textarea")
    box.fill(photos.first)
    box.press("Enter")
    notice = person.page.get_by_role("alert")
    expect(notice).to_contain_text("Ha tardado demasiado. Reintentar.")
    said = notice.get_by_text("This took longer than 30 s")
    expect(said).not_to_be_visible()
    notice.get_by_text("Detalles").click()
    expect(said).to_be_visible()
    expect(said).to_have_attribute("lang", "en")


HEBREW, ARABIC = "כלב שחור רץ בשלג", "طائر صغير، أزرق"


@pytest.mark.parametrize("look", LOOKS)
def test_a_page_that_is_read_from_the_right_is_mirrored(
    look: str, open_page: Open, album_of: AlbumOf, photos: Photos
) -> None:
    person = open_page("about:blank", **LOOKS[look])
    page = person.page
    mirror(page)
    page.goto("/")
    person.tiles.first.wait_for()
    person.rest()
    album = album_of(person, f"rtl-{look}")
    album.take("start")
    width = page.evaluate("innerWidth")
    best, second = (find_box(person.tiles.nth(at)) for at in (0, 1))
    assert best["x"] > second["x"]
    assert best["x"] + best["width"] > width * 0.9
    say(person, HEBREW)
    say(person, photos.first)
    say(person, ARABIC)
    album.take("conversation")
    if look == "phone":
        page.locator("#panel-switch").click()
    mine, hers = find_box(page.locator(".bubble").first), find_box(page.locator("vf-conversation"))
    assert mine["x"] - hers["x"] < 24, "one's own words stand at the end of the line: at the left"
    page.get_by_role("button", name=re.compile("^How to search")).click()
    album.take("ways")
    page.keyboard.press("Escape")
    page.locator("vf-grid .pick").first.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("vf-grid .pick[tabindex='0']")).to_be_focused()
    assert page.evaluate("document.activeElement.closest('li').dataset.at") == "1"
    assert album.against == {}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.long
def test_hebrew_and_arabic_are_read_from_the_right_in_an_english_page(
    look: str, open_page: Open, album_of: AlbumOf
) -> None:
    person = open_page(**LOOKS[look])
    page = person.page
    person.tiles.first.wait_for()
    say(person, HEBREW)
    say(person, ARABIC)
    if look == "phone":
        page.locator("#panel-switch").click()
    album = album_of(person, look)
    album.take("from-the-right")
    first = """(said) => {
      const words = [...said.querySelectorAll(".spot")].map((each) => each.getBoundingClientRect().right);
      return words.every((right, at) => at === 0 || right < words[at - 1]);
    }"""
    for bubble in page.locator(".said").all():
        assert bubble.evaluate("(said) => getComputedStyle(said).direction") == "rtl"
        assert bubble.evaluate(first), "the first word stands at the right"
    page.locator("vf-say textarea").fill(HEBREW)
    assert page.locator("vf-say textarea").evaluate("(box) => box.matches(':dir(rtl)')")
    untold = page.evaluate(
        """() => [...document.querySelectorAll("vf-conversation *, vf-tree *, vf-beliefs *, vf-sessions *")]
          .filter((each) => [...each.childNodes].some((it) => it.nodeType === 3 && /[\\u0590-\\u06ff]/.test(it.data)))
          .filter((each) => getComputedStyle(each).direction !== "rtl" && !/\\u2068/.test(each.textContent))
          .map((each) => each.outerHTML.slice(0, 120))"""
    )
    assert untold == []
    assert album.against == {}


@pytest.mark.long
def test_single_keys_can_be_switched_off_and_on(person: Person, photos: Photos) -> None:
    page = person.page
    person.say(photos.first)
    settings = page.get_by_role("button", name="Settings")
    settings.click()
    box = page.get_by_label("Single keys as shortcuts")
    box.uncheck()
    page.keyboard.press("Escape")
    page.reload()
    person.rest()
    page.locator("vf-settings button").first.wait_for()
    page.locator("vf-grid .pick").first.focus()
    for key in ("x", "f", "n", "0", "?"):
        page.keyboard.press(key)
    page.wait_for_timeout(200)
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_have_count(0)
    assert [person.place[1], len(person.tree())] == [1, 2]
    page.keyboard.press("ArrowRight")  # others go on working
    assert page.evaluate("document.activeElement.closest('li').dataset.at") == "1"
    person.box.fill("fox 0")  # and so does writing
    expect(person.box).to_have_value("fox 0")
    settings.click()
    box.check()
    page.keyboard.press("Escape")
    page.locator("vf-grid .pick").first.focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


def test_what_fits_is_marked_by_a_sign_and_counted(person: Person, photos: Photos) -> None:
    page = person.page
    person.say(photos.first)
    found = person.api(f"/sessions/{person.place[0]}/turns/1?n=60")
    matches = {hit["id"]: hit["match"] for hit in found["results"]}
    assert found["likely"] + found["maybe"] > 0
    seen = page.locator("vf-grid .tile").evaluate_all(
        "all => all.map((each) => [each.dataset.id, getComputedStyle(each, '::before').content.slice(0, 3)])"
    )
    signs = {"likely": '"✓"', "maybe": '"?"', "unlikely": "non"}
    assert [sign for _, sign in seen] == [signs[matches[id]] for id, _ in seen]
    count = page.locator(".total").inner_text()
    assert [int(n) for n in re.findall(r"\d+", count)] == [n for n in (found["likely"], found["maybe"]) if n] + [
        found["total"]
    ]
    names = page.locator("vf-grid .pick").evaluate_all("all => all.map((each) => each.ariaLabel)")
    assert any(name.endswith("(unlikely)") for name in names)


@pytest.mark.long
def test_the_text_of_a_picture_without_a_caption_says_what_is_seen_in_it(
    open_page: Open, photos: Photos, tmp_path: Path
) -> None:
    program("add", photos.folder, "--library", tmp_path / "bare.vf")
    with serving(tmp_path / "bare.vf") as server:
        person = open_page(at=server)
        person.tiles.first.wait_for()
        person.say(photos.first)
        expect(person.page.locator("vf-grid .pick[aria-label*='Looks like: ']").first).to_be_attached()
        told = person.tiles.locator(".pick").evaluate_all("all => all.map((each) => each.ariaLabel)")
        assert sum(".jpg" in each for each in told) < len(told) / 2, told
        person.page.close()  # before its server is


def test_an_address_with_words_starts_a_search_once(open_page: Open, photos: Photos) -> None:
    person = open_page("/?q=" + photos.first.replace(" ", "+"))
    page = person.page
    page.wait_for_url(re.compile("/talk/"))
    person.rest()
    assert [node["turn"] for node in person.tree()[1:]] == [{"say": photos.first}]
    conversation = person.place
    page.reload()
    person.rest()
    assert person.place == conversation
    page.goto("/?q=++")
    person.tiles.first.wait_for()
    expect(page.get_by_role("heading", name="Find a picture by talking about it")).to_be_visible()


def test_a_wrong_address_has_a_page_with_a_way_home(
    open_page: Open, watched: Watched, album_of: AlbumOf, server: Server
) -> None:
    watched.expected = ("404",)
    for look, given in LOOKS.items():
        person = open_page("/pictures/of/nothing?x=<script>", **given)
        expect(person.page.get_by_role("heading")).to_have_text("There is nothing at this address")
        album = album_of(person, look)
        album.take("lost")
        assert album.against == {}
        person.page.get_by_role("link", name="To the pictures").click()
        person.tiles.first.wait_for()


def test_what_was_refused_before_somebody_logged_in_is_asked_for_again_and_nobody_logs_in_twice(
    guarded: tuple[Server, dict[str, str]], open_page: Open, watched: Watched
) -> None:
    watched.expected = ("401",)
    server, tokens = guarded
    page = open_page(at=server).page
    page.get_by_role("textbox", name="Token").wait_for()
    held: list[tuple[Route, APIResponse]] = []

    def hold_the_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    page.route("**/api/v1/retrievers", hold_the_first)
    page.reload()
    page.get_by_role("textbox", name="Token").fill(tokens["reader"])
    page.get_by_role("button", name="Go on").click()
    page.locator("vf-grid .tile").first.wait_for()
    [(route, refused)] = held
    assert refused.status == 401
    with page.expect_response(lambda answer: answer.url.endswith("/retrievers") and answer.ok):
        route.fulfill(response=refused)
    expect(page.get_by_role("textbox", name="Token")).to_be_hidden()


def test_with_a_token_that_may_only_read_one_talks_finds_and_logs_out(
    guarded: tuple[Server, dict[str, str]], open_page: Open, album_of: AlbumOf, watched: Watched, photos: Photos
) -> None:
    watched.expected = ("401",)
    server, tokens = guarded
    person = open_page(at=server)
    page = person.page
    page.get_by_role("textbox", name="Token").fill(tokens["reader"])
    page.get_by_role("button", name="Go on").click()
    person.tiles.first.wait_for()
    person.say(photos.first)
    with person.turn():
        person.question.get_by_role("button", name="Skip").click()
    expect(page.get_by_role("button", name="Show a picture of your own")).to_be_hidden()
    page.locator("vf-grid .pick").first.focus()
    page.keyboard.press("f")
    expect(page.get_by_text("Found!").first).to_be_visible()
    page.get_by_role("button", name=re.compile("^Conversations")).click()
    expect(page.get_by_role("button", name=re.compile("^Rename"))).to_have_count(1)
    expect(page.get_by_role("button", name=re.compile("^Delete"))).to_have_count(0)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Settings").click()
    expect(page.get_by_text("Logged in as reader")).to_be_visible()
    album = album_of(person, "light")
    album.take("logged-in")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("textbox", name="Token")).to_be_visible()
    assert not page.context.cookies()
    assert album.against == {}


def test_no_name_of_the_laboratory_is_on_the_page(person: Person, photos: Photos) -> None:
    page = person.page
    person.say(photos.first)
    page.get_by_role("button", name=re.compile("^How to search")).click()
    names: list[Any] = [
        each["name"]
        for path, key in (("/retrievers", "retrievers"), ("/questioners", "questioners"))
        for each in person.api(path)[key]
        if each["name"] not in ("none", "one")  # which are words that people use
    ]
    page.locator("#retrievers-panel details[class='']").evaluate_all("all => all.forEach((each) => each.open = true)")
    shown = re.split(r"\W+", page.evaluate("document.body.innerText").replace("-", "_"))
    assert [name for name in names if name.replace("-", "_") in shown] == []
    page.get_by_text("Their names in the documentation").click()
    expect(page.locator(".technical code").get_by_text("composer", exact=True)).to_be_visible()
