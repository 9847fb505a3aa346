"""The first minutes: pictures come in while one looks and searches, dropped, chosen, added at a terminal, or drawn."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.server.page.conftest import PROGRAM, serving
from viewfinder.store.adding_note import read_adding_note

pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")

if TYPE_CHECKING:
    from tests.server.page.conftest import AlbumOf, Open, Person, Photos, Server, Watched

FAR = 120_000
"""Milliseconds for what adding may take."""

CROWD = 400
MIN_HELD = 100


@pytest.fixture
def empty_server(tmp_path: Path) -> Iterator[Server]:
    """A first start: an empty library, and no root."""
    with serving(tmp_path / "my library.vf", "--create", HOME=str(tmp_path)) as started:
        yield started


@pytest.fixture
def crowd(photos: Photos, tmp_path: Path) -> Path:
    """A folder with the photos, and many plain pictures."""
    from PIL import Image

    folder = tmp_path / "crowd"
    shutil.copytree(photos.folder, folder / "photos")
    for number in range(CROWD):
        Image.new("RGB", (8, 8), (number % 256, number // 256, 90)).save(folder / f"plain-{number}.png")
    return folder


def drop(person: Person, *files: Path) -> None:
    """Drops files and folders of this machine on the page, as a file manager does."""
    session = person.page.context.new_cdp_session(person.page)
    data = {"items": [], "files": [str(file) for file in files], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 300, "data": data})


def hold_when_some_are_in(process: subprocess.Popen[bytes], library: Path) -> None:
    """Stops a process that adds, once so many are in that a verdict on them is sure, and more are to come."""
    while True:
        assert process.poll() is None, "it ended before it could be held"
        note = read_adding_note(library)
        if note is not None and note.found is not None and MIN_HELD <= note.done < note.found:
            process.send_signal(signal.SIGSTOP)
            return


def test_what_somebody_adds_at_a_terminal_is_shown_and_searched_while_it_comes(
    empty_server: Server, crowd: Path, photos: Photos, open_page: Open, album_of: AlbumOf
) -> None:
    person = open_page(at=empty_server)
    page, strip = person.page, person.page.locator("vf-adding")
    expect(page.get_by_role("heading", name="No pictures yet")).to_be_visible()
    command = [*PROGRAM, "add", str(crowd), "--library", str(empty_server.library), "--workers", "1", "--json"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"}) as adding:
        try:
            hold_when_some_are_in(adding, empty_server.library)
            person.tiles.first.wait_for()
            total = len(photos.files) + CROWD
            expect(strip).to_contain_text(re.compile(rf"^\d+ of {total} pictures are in"))
            person.say("a purple elephant that plays chess on the moon")
            # The server may still have been behind what is in by a batch, and its verdict depends on what it had.
            held = int(re.findall(r"\d+", page.locator("#bar-end .total").inner_text())[-1])
            assert 0 < held < total
            # By now it may find more, and judge otherwise than what the page shows.
            found = person.api(f"/sessions/{person.place[0]}/turns/1?n=1")
            if (found["verdict"], found["total"]) == ("nothing", held):
                told = re.compile(rf"None of the {held} pictures that are in .* more are coming")
                expect(page.get_by_text(told)).to_be_visible()
            page.get_by_role("button", name=re.compile("^Collection: Adding")).click()
            expect(page.locator(".job")).to_contain_text("Adding crowd, at a terminal")
            album = album_of(person, "phone")
            page.set_viewport_size({"width": 390, "height": 844})
            album.take("adding-at-a-terminal")
            page.set_viewport_size({"width": 1440, "height": 900})
            page.keyboard.press("Escape")
        finally:
            adding.send_signal(signal.SIGCONT)
        assert adding.wait(timeout=120) == 0
    expect(strip).to_contain_text(f"{total - held} more pictures have come in since this search.", timeout=FAR)
    page.get_by_role("button", name=f"Search the {total - held} new ones, too").click()
    expect(strip).to_be_hidden()
    person.rest()
    # Some of the plain ones are nearly the same, and shown as one.
    results = person.api(f"/sessions/{person.place[0]}/turns/1?n=60")["total"]
    assert held < results <= total
    expect(page.locator("#bar-end .total")).to_have_text(re.compile(rf" of {results}$"))
    assert person.shown[:5] == person.ranking(1)[:5]
    assert album.against == {}


@pytest.mark.long
def test_the_pictures_to_begin_with_fill_up_and_none_is_shown_twice(
    empty_server: Server, crowd: Path, open_page: Open
) -> None:
    person = open_page(at=empty_server)
    person.page.get_by_role("button", name="Choose a folder …").click()
    person.page.get_by_role("button", name="crowd", exact=True).click()
    person.page.get_by_role("button", name="Add this folder").click()
    total = sum(1 for file in crowd.rglob("*") if file.is_file())
    collection = person.page.get_by_role("button", name=re.compile("^Collection"))
    expect(collection).to_have_accessible_name(f"Collection: {total} pictures", timeout=FAR)
    expect(person.page.locator("#bar-end .total")).to_have_text(f"Some of your {total} pictures")
    grid, note, seen = person.page.locator("vf-grid"), person.page.locator("vf-grid .note"), set(person.shown)
    for _ in range(4000):  # as many looks as a busy machine may need: ten times what an idle one does
        if "That is all" in note.inner_text():
            break
        grid.evaluate("(grid) => grid.scrollBy(0, grid.clientHeight * 0.5)")
        person.page.wait_for_timeout(60)
        seen |= set(person.shown)
    expect(note).to_have_text(f"That is all: {total} pictures.", timeout=FAR)
    assert len(seen) > 100


def test_of_a_folder_that_is_dropped_every_picture_has_its_own_outcome(
    empty_server: Server, photos: Photos, tmp_path: Path, open_page: Open, album_of: AlbumOf, watched: Watched
) -> None:
    watched.expected = ("422",)
    folder = tmp_path / "Holidays"
    (folder / "inside").mkdir(parents=True)
    good = photos.files[:6]
    for number, file in enumerate(good):
        shutil.copy(file, (folder if number < 4 else folder / "inside") / file.name)
    (folder / "cut.jpg").write_bytes(good[0].read_bytes()[:4000])
    (folder / "no picture.jpg").write_text("a text", encoding="utf-8")
    (folder / "notes.txt").write_text("a text", encoding="utf-8")
    (folder / ".hidden.jpg").write_bytes(good[0].read_bytes())
    person = open_page(at=empty_server)
    person.page.get_by_role("heading", name="No pictures yet").wait_for()
    album = album_of(person, "light")
    drop(person, folder)
    asked = person.page.get_by_role("dialog", name="Add 8 pictures of Holidays to the collection?")
    expect(asked).to_contain_text("2 files are no pictures and were left out")
    album.take("dropped")
    asked.get_by_role("button", name="Add to the collection").click()
    told = person.page.locator("vf-uploads summary")
    expect(told).to_have_text(
        "8 of 8 sent · 6 are in · 2 could not be taken · 2 files are no pictures and were left out", timeout=FAR
    )
    rows = person.page.locator(".sent-file")
    expect(rows.filter(has_text="Holidays/cut.jpg")).to_contain_text("truncated")
    expect(rows.filter(has_text="Holidays/no picture.jpg")).to_contain_text("not a picture")
    expect(rows.filter(has_text=f"Holidays/inside/{good[5].name}")).to_contain_text("is in")
    album.take("sent")
    collection = person.page.get_by_role("button", name=re.compile("^Collection"))
    expect(collection).to_have_accessible_name("Collection: 6 pictures", timeout=FAR)
    assert album.against == {}


def test_one_picture_is_dropped_to_search_with_and_several_are_asked_about(
    person: Person, photos: Photos, tmp_path: Path
) -> None:
    drop(person, photos.files[0])
    expect(person.page.locator(".pinned-pill")).to_contain_text("Like my picture")
    person.page.get_by_role("button", name="Not like this after all").click()
    person.rest()
    drop(person, *photos.files[:3])
    asked = person.page.get_by_role("dialog", name="Add these 3 pictures to the collection?")
    asked.get_by_role("button", name=re.compile("^Only search for ones like")).click()
    expect(person.page.locator(".pinned-pill")).to_contain_text("Like my picture")
    person.page.get_by_role("button", name="Not like this after all").click()
    person.rest()
    drop(person, *photos.files[:2])
    person.page.get_by_role("button", name="Neither").click()
    expect(person.page.get_by_role("dialog")).to_have_count(0)
    (tmp_path / "nothing").mkdir()
    drop(person, tmp_path / "nothing")
    expect(person.page.get_by_role("alert")).to_contain_text("There are no pictures in nothing.")


@pytest.mark.long
def test_what_was_cut_off_is_sent_again_and_a_full_disk_stops_the_rest(
    empty_server: Server, photos: Photos, open_page: Open, watched: Watched
) -> None:
    watched.expected = ("ERR_", "507", "cut")
    person, cuts, full = open_page(at=empty_server), [1, 1], [False]

    def meddle(route: Any) -> None:
        if cuts:
            cuts.pop()
            route.abort("connectionreset")
        elif full[0]:
            route.fulfill(status=507, json={"type": "urn:viewfinder:problem:disk-full", "detail": "the disk is full"})
        else:
            route.continue_()

    person.page.route("**/api/v1/pictures", meddle)
    device = person.page.get_by_label("Pictures of this device …").first
    device.set_input_files(photos.files[:4])
    told = person.page.locator("vf-uploads")
    expect(told.locator("summary")).to_contain_text("4 of 4 sent · 4 are in", timeout=FAR)
    assert not cuts
    full[0] = True
    person.page.get_by_role("button", name=re.compile("^Collection")).click()
    person.page.locator("#add-pictures").set_input_files(photos.files[4:8])
    expect(told.get_by_role("alert")).to_have_text("The rest is not sent: the disk is full")
    full[0] = False
    person.page.keyboard.press("Escape")
    told.get_by_role("button", name="Try again").click()
    expect(told.locator("summary")).to_contain_text("4 of 4 sent · 4 are in", timeout=FAR)


@pytest.mark.long
def test_drawn_pictures_come_with_one_click_and_go_with_one(empty_server: Server, open_page: Open) -> None:
    person = open_page(at=empty_server)
    page, collection = person.page, person.page.get_by_role("button", name=re.compile("^Collection"))
    page.get_by_role("button", name="Try it with drawn pictures").click()
    expect(collection).to_have_accessible_name("Collection: 300 pictures", timeout=2 * FAR)
    person.tiles.first.wait_for()
    collection.click()
    page.get_by_role("button", name="Remove the drawn pictures").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="No pictures yet")).to_be_visible(timeout=FAR)
    expect(collection).to_have_accessible_name("Collection: 0 pictures")  # their files go after them
    assert not (empty_server.library / "demo").exists()


def test_the_command_that_is_shown_can_be_copied_as_it_is(empty_server: Server, open_page: Open) -> None:
    person = open_page(at=empty_server, permissions=["clipboard-read", "clipboard-write"])
    person.page.get_by_role("button", name="Copy").click()
    person.hear("Copied.")
    copied = person.page.evaluate("navigator.clipboard.readText()")
    assert copied == f"viewfinder add ~/Pictures --library '{empty_server.library}'"
