"""A picture in large: its own address, zoom, the next one, a slideshow, what is known of it and from where."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Route, expect

from tests.server.page.conftest import find_box, mirror, program, serving
from tests.server.page.test_page_everybody import LOOKS

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.server.page.conftest import AlbumOf, Open, Person, Photos

PLANE = "document.querySelector('.plane').style.transform"
PHONE: dict[str, Any] = {"width": 390, "height": 844}
SIDECAR = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag><rdf:li>harbour</rdf:li>
</rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>"""


def large(person: Person) -> Locator:
    """The open picture."""
    return person.page.get_by_role("dialog", name="Details")


def open_large(person: Person, at: int = 0) -> Locator:
    """Opens a picture of the results by a click on it."""
    person.tiles.nth(at).locator(".pick").click()
    expect(large(person).locator(".plane img").last).to_be_visible()
    return large(person)


def id_of(page: Page) -> str:
    """The picture that the address names."""
    return page.url.partition("#picture=")[2]


def scale(page: Page) -> float:
    """How far is zoomed in; 1: the picture just fits."""
    return float((re.search(r"scale\(([\d.]+)\)", page.evaluate(PLANE)) or ["", "1"])[1])


def touch(page: Page, *moments: list[tuple[float, float]]) -> None:
    """Fingers on the screen, moment after moment; then none."""
    session = page.context.new_cdp_session(page)
    for at, points in enumerate([*moments, []]):
        kind = "touchEnd" if not points else "touchMove" if at else "touchStart"
        given = [{"x": x, "y": y, "id": finger} for finger, (x, y) in enumerate(points)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": given})
    session.detach()


def line(start: tuple[float, float], end: tuple[float, float], steps: int = 6) -> list[list[tuple[float, float]]]:
    """One finger from a point to another."""
    (x, y), (to_x, to_y) = start, end
    return [[(x + (to_x - x) * at / steps, y + (to_y - y) * at / steps)] for at in range(steps + 1)]


TELL_SYSTEMS = """async (id) => {
  const { store } = await import("/static/js/store.js");
  const systems = [
    { system: "", turn: 1, parts: ["a lamp"], adds: 0.1, share: 0.2 },
    { system: "drilldown", turn: 1, parts: ["what drilldown makes of all that was said"], adds: 0.3, share: 0.6 },
    { system: "mine", turn: 1, parts: ["what mine makes of all that was said"], adds: -0.1, share: -0.2 },
  ];
  store.set({ why: { [id]: { turns: [{ turn: 1, parts: ["all"], adds: 0.3, share: 1 }], systems } } });
}"""


def test_why_it_is_here_has_a_line_for_each_system_that_is_asked(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    lines = open_large(person).locator(".why li")
    person.page.evaluate(TELL_SYSTEMS, id_of(person.page))
    expect(lines).to_have_text(
        [
            "a lampturn 1: 20 %",
            "all of it, as “Region by region” reads it60 %",
            "all of it, as “mine” reads it-20 %",
        ]
    )


def test_a_picture_opens_large_at_an_address_of_its_own_which_back_closes(person: Person, photos: Photos) -> None:
    page = person.page
    person.say(photos.first)
    results = page.url
    dialog = open_large(person, 1)
    second = person.shown[1]
    assert page.url == f"{results}#picture={second}"
    page.go_back()
    expect(dialog).to_have_count(0)
    assert page.url == results
    expect(person.tiles.nth(1).locator(".pick")).to_be_focused()
    page.go_forward()
    expect(dialog).to_be_visible()
    page.reload()  # a link opens it, over the results among which it was found
    expect(dialog).to_contain_text(person.api(f"/pictures/{second}")["names"][0])
    expect(dialog).to_contain_text("2 of ")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert page.url == results
    expect(person.tiles.nth(1).locator(".pick")).to_be_focused()


def test_the_next_and_the_previous_are_those_of_the_results_however_many_are_fetched(
    person: Person, photos: Photos
) -> None:
    page = person.page
    person.say(photos.first)
    ranked = person.ranking(n=70)
    page.goto(f"{page.url}#picture={ranked[56]}")
    expect(large(person)).to_contain_text("57 of ")
    for at in range(57, 64):  # the page has 60 of them to begin with
        page.keyboard.press("ArrowRight")
        expect(large(person)).to_contain_text(f"{at + 1} of ")
        assert id_of(page) == ranked[at]
    large(person).get_by_role("button", name="Previous").click()
    expect(large(person)).to_contain_text("63 of ")
    page.keyboard.press("Escape")
    expect(page.locator(f"vf-grid [data-id='{ranked[62]}'] .pick")).to_be_focused()  # the one that was looked at last


def test_a_key_at_the_last_picture_that_has_come_waits_for_the_next_ones(person: Person, photos: Photos) -> None:
    page, held = person.page, list[Route]()
    person.say(photos.first)
    ranked = person.ranking(n=70)

    def hold(route: Route) -> None:
        held.append(route)

    page.route(re.compile("cursor="), hold)
    page.goto(f"{page.url}#picture={ranked[58]}")
    expect(large(person)).to_contain_text("59 of ")
    page.keyboard.press("ArrowRight")
    expect(large(person)).to_contain_text("60 of ")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(large(person)).to_contain_text("60 of ")
    for route in held:
        route.continue_()
    expect(large(person)).to_contain_text("62 of ")
    assert id_of(page) == ranked[61]


def test_one_zooms_with_keys_the_wheel_and_a_double_click_and_moves_about(person: Person) -> None:
    page = person.page
    dialog = open_large(person)
    canvas = dialog.locator(".canvas")
    percent = dialog.locator(".percent")
    fits = percent.inner_text()
    page.keyboard.press("+")
    assert scale(page) == 1.5
    assert percent.inner_text() != fits
    page.keyboard.press("0")
    assert (scale(page), percent.inner_text()) == (1, fits)
    box = find_box(canvas)
    x, y = box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.55
    part = f"""() => {{ const at = document.querySelector('.plane img').getBoundingClientRect();
      return [({x} - at.x) / at.width, ({y} - at.y) / at.height]; }}"""
    for _ in range(3):  # what is smaller than its space stays in the middle of it
        page.keyboard.press("+")
    before, far = page.evaluate(part), page.evaluate(PLANE)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -80)
    page.wait_for_function(f"(far) => {PLANE} !== far", arg=far)
    assert page.evaluate(part) == pytest.approx(before, abs=0.02)  # what is pointed at stays there
    zoomed = page.evaluate(PLANE)
    page.mouse.down()
    page.mouse.move(x - 60, y - 40, steps=4)
    page.mouse.up()
    assert page.evaluate(PLANE) != zoomed
    moved, here = page.evaluate(PLANE), page.url
    page.keyboard.press("ArrowRight")  # moves about while zoomed in, as far as there is more
    page.keyboard.press("ArrowUp")
    assert page.evaluate(PLANE) != moved
    assert page.url == here
    page.mouse.dblclick(x, y)
    assert scale(page) == 1
    page.mouse.dblclick(x, y)
    assert scale(page) > 2
    page.keyboard.press("Escape")


def test_fingers_pinch_swipe_and_close(open_page: Open, photos: Photos) -> None:
    person = open_page(**PHONE)
    page = person.page
    person.tiles.first.wait_for()
    person.rest()
    shown = person.shown
    person.tiles.first.locator(".pick").tap()
    dialog = large(person)
    expect(dialog.locator(".plane img").last).to_be_visible()
    apart = [[(195.0 - step, 240.0), (195.0 + step, 240.0)] for step in range(30, 110, 10)]
    touch(page, *apart)
    assert scale(page) > 2
    touch(page, *reversed(apart))
    assert scale(page) < 1.2
    page.keyboard.press("0")
    touch(page, *line((300, 240), (90, 250)))
    expect(dialog).to_contain_text(f"2 of {len(photos.files)}")
    assert id_of(page) == shown[1]
    touch(page, *line((90, 240), (300, 250)))
    expect(dialog).to_contain_text(f"1 of {len(photos.files)}")
    touch(page, *line((195, 140), (200, 380)))
    expect(dialog).to_have_count(0)
    assert not id_of(page)


def test_like_this_is_a_button_of_its_own_on_a_phone_and_in_large(open_page: Open) -> None:
    person = open_page(**PHONE)
    page = person.page
    person.tiles.first.wait_for()
    person.rest()
    tile = page.locator(f"vf-grid [data-id='{person.shown[1]}']")  # wherever it is then
    like = tile.get_by_role("button", name="Like this")
    expect(like).to_be_visible()
    box = find_box(like)
    assert min(box["width"], box["height"]) >= 44
    like.tap()
    expect(page.locator(".pinned-pill")).to_contain_text("Like this")
    expect(large(person)).to_have_count(0)
    page.wait_for_timeout(800)  # sooner, the second one of a double tap: it counts for nothing
    like.tap()
    expect(page.locator(".pinned-pill")).to_have_count(0)
    tile.locator(".pick").tap()
    large(person).get_by_role("button", name="Like this").tap()
    expect(large(person)).to_have_count(0)
    expect(page.locator(".pinned-pill")).to_contain_text("Like this")


@pytest.mark.long
def test_a_slideshow_plays_until_it_is_paused(person: Person) -> None:
    page = person.page
    page.evaluate("localStorage.setItem('viewfinder-seconds', '3')")
    shown = person.shown
    dialog = open_large(person)
    dialog.get_by_role("button", name="Slideshow").click()
    expect(dialog.locator(".side")).to_be_hidden()  # the picture has all the room
    page.wait_for_url(lambda url: url.endswith(shown[1]))
    page.wait_for_url(lambda url: url.endswith(shown[2]))
    dialog.get_by_label("How long each picture stays").select_option("30")
    dialog.get_by_role("button", name="Pause the slideshow").click()
    expect(dialog.locator(".side")).to_be_visible()
    expect(dialog.get_by_role("button", name="Slideshow")).to_be_visible()
    assert page.evaluate("localStorage.getItem('viewfinder-seconds')") == "30"


def test_all_that_is_known_of_a_picture_is_told_with_where_it_is_from(open_page: Open, tmp_path: Path) -> None:
    from PIL import Image

    exif = Image.Exif()
    exif[0x010F], exif[0x0110] = "Kodak", "Brownie"
    (tmp_path / "trip").mkdir()
    for number in range(3):
        file = tmp_path / "trip" / f"{number}.jpg"
        Image.effect_noise((400, 300), 40 + number * 30).save(file, exif=exif)
    (tmp_path / "trip" / "0.xmp").write_text(SIDECAR, encoding="utf-8")
    program("add", tmp_path / "trip", "--library", tmp_path / "own.vf")
    with serving(tmp_path / "own.vf") as server:
        person = open_page(at=server)
        person.tiles.first.wait_for()
        person.rest()
        ids = {person.api(f"/pictures/{id}")["names"][0]: id for id in person.shown}
        dialog = open_large(person, person.shown.index(ids["0.jpg"]))
        own = dialog.locator("section", has=person.page.get_by_role("heading", name="What its file says"))
        expect(own).to_contain_text("harbour")
        known = person.api(f"/pictures/{ids['0.jpg']}")["known"]
        source = next(fact["source"] for fact in known if "harbour" in fact["values"])
        expect(own.locator(".from", has_text=source).first).to_be_visible()
        expect(own).to_contain_text("Brownie")
        facts = dialog.locator("section", has=person.page.get_by_role("heading", name="Facts"))
        expect(facts).to_contain_text(str(tmp_path / "trip" / "0.jpg"))
        expect(facts).to_contain_text("400 × 300")
        expect(facts).not_to_contain_text("Brownie")  # once is enough
        expect(facts).to_contain_text(re.compile(r"\d+ kB"))
        dialog.get_by_role("button", name="What is known of it").click()
        expect(dialog.locator(".side")).to_be_hidden()
        person.page.reload()
        expect(dialog).to_be_visible()
        expect(dialog.locator(".side")).to_be_hidden()  # as one left it


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("direction", [pytest.param("ltr", marks=pytest.mark.long), "rtl"])
def test_a_picture_in_large_shuts_nobody_out(
    look: str, direction: str, open_page: Open, album_of: AlbumOf, photos: Photos
) -> None:
    person = open_page("about:blank", **LOOKS[look])
    page = person.page
    if direction == "rtl":
        mirror(page)
    page.goto("/")
    person.tiles.first.wait_for()
    person.say(photos.first)
    album = album_of(person, f"{direction}-{look}")
    person.tiles.nth(1).locator(".pick").click()
    dialog = large(person)
    expect(dialog.locator(".strip img").first).to_be_visible()
    album.take("large")
    dialog.get_by_role("button", name="More to do with it").click()
    expect(page.get_by_role("menu")).to_be_visible()
    album.take("large-menu")
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_have_count(0)
    page.keyboard.press("+")
    page.keyboard.press("+")
    album.take("large-zoomed")
    page.keyboard.press("0")
    onward = "ArrowLeft" if direction == "rtl" else "ArrowRight"
    page.keyboard.press(onward)
    expect(dialog).to_contain_text("3 of ")
    dialog.get_by_role("button", name="Slideshow").click()
    album.take("slideshow")
    for name in ("Pause the slideshow", "Close"):  # nothing that ends it is off the screen
        expect(dialog.get_by_role("button", name=name, exact=True)).to_be_in_viewport(ratio=1)
    assert album.against == {}
