"""Pictures on the page: one's own ones by three ways, one in large, and where in them the words are."""

from __future__ import annotations

import base64
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from viewfinder.library import Library
from viewfinder.pictures.facts.model import Fact

if TYPE_CHECKING:
    from tests.server.page.conftest import Open, Person, Photos, Server, Watched

GIVE = """([way, name, data]) => {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const carried = new DataTransfer();
  carried.items.add(new File([bytes], name, { type: "image/jpeg" }));
  if (way === "paste") {
    const given = { clipboardData: carried, bubbles: true, cancelable: true };
    document.body.dispatchEvent(new ClipboardEvent("paste", given));
    return;
  }
  for (const each of way) {
    const given = { dataTransfer: carried, bubbles: true, cancelable: true };
    document.querySelector("vf-grid").dispatchEvent(new DragEvent(each, given));
  }
}"""

ALPHAS = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return Array.from(data).filter((_, at) => at % 4 === 3);
}"""


@pytest.mark.parametrize("way", ["chosen", "pasted", "dropped"])
def test_a_picture_of_ones_own_is_searched_by(person: Person, photos: Photos, way: str) -> None:
    picture = photos.files[5]
    data = base64.b64encode(picture.read_bytes()).decode()
    if way == "chosen":
        person.page.locator("vf-say input[type=file]").set_input_files(picture)
    elif way == "pasted":
        person.page.evaluate(GIVE, ["paste", picture.name, data])
    else:
        person.page.evaluate(GIVE, [["dragenter", "dragover"], picture.name, data])
        expect(person.page.locator("body.dropping")).to_be_attached()
        person.page.evaluate(GIVE, [["drop"], picture.name, data])
        expect(person.page.locator("body.dropping")).to_have_count(0)
    expect(person.page.locator(".pinned-pill")).to_contain_text("Like my picture")
    person.rest()
    details = person.api(f"/pictures/{person.shown[0]}")
    assert picture.name in details["names"]  # the library holds the same picture
    with person.turn():
        person.box.fill(f"but {photos.but}")
        person.box.press("Enter")
    turn = person.tree()[1]["turn"]
    assert (set(turn), turn["but"]) == ({"show", "but"}, photos.but)
    assert person.shown[:8] == person.ranking()[:8]


def test_what_is_no_picture_is_refused_in_a_sentence(person: Person, watched: Watched, tmp_path: Path) -> None:
    watched.expected = ("422",)
    (tmp_path / "a.txt").write_text("words", encoding="utf-8")
    (tmp_path / "a.jpg").write_text("words", encoding="utf-8")
    person.page.locator("vf-say input[type=file]").set_input_files(tmp_path / "a.txt")
    expect(person.page.get_by_role("alert")).to_contain_text("That is not a picture.")
    person.page.get_by_role("button", name="Dismiss").click()
    person.page.locator("vf-say input[type=file]").set_input_files(tmp_path / "a.jpg")
    expect(person.page.get_by_role("alert")).to_contain_text("This file cannot be read as a picture.")
    expect(person.page.locator(".pinned-pill")).to_have_count(0)


def test_one_picture_in_large_with_what_is_known_of_it(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    person.page.locator("vf-grid .pick").first.focus()
    person.page.keyboard.press("Space")
    dialog = person.page.get_by_role("dialog", name="Details")
    details = person.api(f"/pictures/{person.shown[0]}")
    expect(dialog).to_contain_text(details["names"][0])
    expect(dialog).to_contain_text("1 of ")
    similar = person.api(f"/pictures/{person.shown[0]}/similar?n=12")["results"]
    expect(dialog.locator(".strip img")).to_have_count(len(similar))
    person.page.keyboard.press("ArrowRight")
    expect(dialog).to_contain_text(person.api(f"/pictures/{person.shown[1]}")["names"][0])
    with person.turn():
        person.page.keyboard.press("x")
    expect(dialog).to_have_count(0)


@pytest.mark.long
def test_what_a_machine_says_of_a_picture_stands_under_its_own_heading(own_server: Server, open_page: Open) -> None:
    library = Library.open(own_server.library)
    by = "described by tiny"
    said = (Fact("caption", ("A seal plays the piano.",), by), Fact("text", ("EXIT",), by))
    with library.store.writing():
        library.store.replace([replace(row, machine=said) for row in library])
    person = open_page(at=own_server)
    picture, deadline = library.gallery().snapshot.ids[0], time.monotonic() + 120
    while not any(fact["machine"] for fact in person.api(f"/pictures/{picture}")["known"]):
        assert time.monotonic() < deadline, "the server follows the library"
        time.sleep(0.2)
    person.say("a seal plays the piano")
    person.page.locator("vf-grid .pick").first.focus()
    person.page.keyboard.press("Space")
    dialog = person.page.get_by_role("dialog", name="Details")
    heading = person.page.get_by_role("heading", name="What a machine says (it may be wrong)")
    told = dialog.locator("section", has=heading)
    expect(told).to_contain_text("A seal plays the piano.")
    expect(told).to_contain_text("described by tiny")
    read = dialog.locator("section", has=person.page.get_by_role("heading", name="Text in it, as a machine read it"))
    expect(read).to_contain_text("EXIT")


def test_a_picture_is_taken_out_of_the_library_after_one_has_said_so_twice(
    own_server: Server, open_page: Open, photos: Photos
) -> None:
    person = open_page(at=own_server)
    person.tiles.first.wait_for()
    removed = person.shown[0]
    person.page.locator("vf-grid .pick").first.focus()
    person.page.keyboard.press("Space")
    dialog = person.page.get_by_role("dialog", name="Details")
    dialog.get_by_role("button", name="Remove from the library …").click()
    dialog.get_by_role("button", name="Keep", exact=True).click()
    dialog.get_by_role("button", name="Remove from the library …").click()
    dialog.get_by_role("button", name="Remove", exact=True).click()
    expect(dialog).to_have_count(0)
    expect(person.page.locator(f'vf-grid [data-id="{removed}"]')).to_have_count(0)
    collection = person.page.locator("vf-jobs > button")
    expect(collection).to_contain_text(f"{len(photos.files) - 1} pictures", timeout=60_000)


@pytest.mark.long
def test_hovering_a_word_or_a_turn_shows_where_it_is_in_the_pictures(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    heat = person.page.locator("vf-grid canvas.heat")
    expect(heat).to_have_count(0)
    person.page.get_by_role("button", name=photos.word, exact=True).hover()
    expect(heat.nth(7)).to_be_attached()
    alphas = [heat.nth(at).evaluate(ALPHAS) for at in (0, 1)]
    for alpha in alphas:
        assert max(alpha) > 2 * min(alpha)  # somewhere, and not everywhere
    assert alphas[0] != alphas[1]
    person.page.mouse.move(700, 20)
    expect(heat).to_have_count(0)
    person.page.locator(".bubble").hover(position={"x": 6, "y": 16})
    expect(heat.nth(7)).to_be_attached()
    person.page.mouse.move(700, 20)
    expect(heat).to_have_count(0)


def test_a_word_that_is_clicked_stays_shown_until_escape(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    heat = person.page.locator("vf-grid canvas.heat")
    word = person.page.get_by_role("button", name=photos.word, exact=True)
    word.click()
    expect(word).to_have_attribute("aria-pressed", "true")
    person.page.mouse.move(700, 20)
    person.page.wait_for_timeout(300)
    expect(heat.nth(3)).to_be_attached()
    person.page.keyboard.press("Escape")
    expect(heat).to_have_count(0)
