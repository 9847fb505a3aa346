"""Found is the beginning: pictures are downloaded, opened, dragged off, taken along, put into albums, marked."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.server.page.conftest import find_box, mirror, program, serving
from tests.server.page.test_page_everybody import LOOKS

if TYPE_CHECKING:
    from playwright.sync_api import Download, Locator, Page

    from tests.server.page.conftest import AlbumOf, Open, Person, Photos, Server, Watched

PHONE: dict[str, Any] = {"width": 390, "height": 844}


@pytest.fixture
def keeper(own_server: Server, open_page: Open) -> Person:
    """Somebody at a server whose albums and marks are this test's own."""
    came = open_page(at=own_server)
    came.tiles.first.wait_for()
    came.page.locator("vf-selection:defined").wait_for(state="attached")
    came.rest()
    return came


@pytest.fixture
def desk(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Server, Path]]:
    """A server on a machine with a desktop, and the file in which that notes what it was to open."""
    opened, tools = tmp_path / "opened.txt", tmp_path / "tools"
    tools.mkdir()
    (tools / "xdg-open").write_text(f'#!/bin/sh\necho "$1" >> "{opened}"\n', encoding="utf-8")
    (tools / "xdg-open").chmod(0o755)
    shutil.copytree(library, tmp_path / "own.vf")
    path = f"{tools}:{Path('/usr/bin')}:{Path('/bin')}"
    with serving(tmp_path / "own.vf", DISPLAY=":0", PATH=path, SSH_CONNECTION="") as server:
        yield server, opened


def select(person: Person, *places: int) -> list[str]:
    """Selects pictures by Ctrl and a click; their ids."""
    for at in places:
        person.tiles.nth(at).locator(".pick").click(modifiers=["Control"])
    shown = person.shown
    return [shown[at] for at in places]


def bar(person: Person) -> Locator:
    """What is offered for several pictures."""
    return person.page.get_by_role("region", name="Selected pictures")


def selected(person: Person) -> list[int]:
    """The places of the pictures that are selected."""
    found: list[int] = person.page.locator("vf-grid .tile.selected").evaluate_all(
        "all => all.map((each) => Number(each.dataset.at)).sort((one, other) => one - other)"
    )
    return found


def menu_of(person: Person, at: int) -> Locator:
    """The menu of a picture of the results."""
    person.tiles.nth(at).hover()
    person.tiles.nth(at).get_by_role("button", name="More to do with it").click()
    return person.page.get_by_role("menu")


def read(download: Download) -> bytes:
    return Path(download.path()).read_bytes()


def files_of(person: Person, ids: list[str]) -> dict[str, bytes]:
    """The files of pictures, by the names that the library has of them."""
    return {
        person.api(f"/pictures/{id}")["names"][0]: person.page.request.get(f"/api/v1/pictures/{id}/original").body()
        for id in ids
    }


def test_a_picture_is_downloaded_as_it_lies_there_under_its_own_name(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    menu = menu_of(person, 0)
    with person.page.expect_download() as event:
        menu.get_by_role("menuitem", name="Download").click()
    [(name, data)] = files_of(person, person.shown[:1]).items()
    assert (event.value.suggested_filename, read(event.value)) == (name, data)
    assert data in {file.read_bytes() for file in photos.files}


def test_a_file_that_is_gone_is_said_above_the_large_view(person: Person, watched: Watched) -> None:
    watched.expected = ("410",)
    person.page.route("**/original*", lambda route: route.fulfill(status=410))
    person.tiles.first.click()
    person.page.get_by_role("link", name="Download").click()
    expect(person.page.get_by_role("alert")).to_contain_text("The file of this picture is not there any more")
    person.page.get_by_role("button", name="Dismiss").click()
    expect(person.page.get_by_role("alert")).to_have_count(0)


def test_a_double_click_likes_a_picture_once(person: Person) -> None:
    person.tiles.nth(2).hover()
    person.tiles.nth(2).get_by_role("button", name="Like this").dblclick()
    expect(person.page.locator("vf-say")).to_contain_text("Like this")


def test_several_are_taken_along_as_one_zip_a_list_or_sidecars(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    ids = select(person, 0, 2, 3)
    expect(bar(person)).to_contain_text("3 selected")
    with person.page.expect_download() as event:
        bar(person).get_by_role("button", name="ZIP").click()
    with zipfile.ZipFile(io.BytesIO(read(event.value))) as archive:
        inside = {Path(name).name: archive.read(name) for name in archive.namelist()}
    files = files_of(person, ids)
    assert {name: inside[name] for name in files} == files
    found = {}
    for choice in ("A list as CSV", "A list as JSON", "XMP sidecars, with keywords"):
        bar(person).get_by_role("button", name="List or XMP").click()
        with person.page.expect_download() as event:
            person.page.get_by_role("menuitem", name=choice).click()
        found[Path(event.value.suggested_filename).suffix] = read(event.value)
    rows = list(csv.DictReader(io.StringIO(found[".csv"].decode("utf-8-sig"))))
    assert [row["id"] for row in rows] == ids
    assert [row["id"] for row in json.loads(found[".json"])["pictures"]] == ids
    with zipfile.ZipFile(io.BytesIO(found[".zip"])) as archive:
        sidecars = [name for name in archive.namelist() if name.endswith(".xmp")]
    assert sorted(Path(name).name.partition(".")[0] for name in sidecars) == sorted(
        name.partition(".")[0] for name in files
    )
    bar(person).get_by_role("button", name="Select nothing").click()
    expect(bar(person)).to_be_hidden()


def test_pictures_are_selected_with_ctrl_shift_their_circles_and_a_frame(person: Person, photos: Photos) -> None:
    page = person.page
    select(person, 1)
    person.tiles.nth(4).locator(".pick").click(modifiers=["Shift"])
    assert selected(person) == [1, 2, 3, 4]
    person.tiles.nth(2).locator(".pick").click(modifiers=["Control"])
    assert selected(person) == [1, 3, 4]
    person.tiles.nth(6).hover()
    person.tiles.nth(6).get_by_role("checkbox").click()
    assert selected(person) == [1, 3, 4, 6]
    page.keyboard.press("Escape")
    assert selected(person) == []
    first, fourth = (find_box(person.tiles.nth(at)) for at in (0, 3))
    grid = find_box(page.locator("vf-grid"))
    page.mouse.move(grid["x"] + 4, first["y"] + first["height"] / 2)  # beside the pictures
    page.mouse.down()
    page.mouse.move(fourth["x"] + 10, first["y"] + first["height"] - 4, steps=8)
    expect(page.locator(".frame")).to_be_visible()
    page.mouse.up()
    expect(page.locator(".frame")).to_have_count(0)
    assert selected(person) == [0, 1, 2, 3]


def test_a_long_press_selects_and_taps_go_on(open_page: Open) -> None:
    person = open_page(**PHONE)
    page = person.page
    person.tiles.first.wait_for()
    page.locator("vf-selection:defined").wait_for(state="attached")
    person.rest()
    box = find_box(person.tiles.nth(1))
    session = page.context.new_cdp_session(page)
    at = [{"x": box["x"] + 30, "y": box["y"] + 30}]
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": at})
    expect(bar(person)).to_contain_text("1 selected")
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(400)  # the click that may come of it does nothing
    assert selected(person) == [1]
    person.tiles.nth(0).locator(".pick").tap()
    person.tiles.nth(2).locator(".pick").tap()
    assert selected(person) == [0, 1, 2]
    bar(person).get_by_role("button", name="Select nothing").tap()
    person.tiles.nth(2).locator(".pick").tap()
    expect(page.get_by_role("dialog", name="Details")).to_be_visible()


def test_what_is_selected_stays_over_turns_and_is_let_go_with_the_conversation(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    first = select(person, 0, 1)
    person.say(photos.other)
    other = next(at for at, picture in enumerate(person.shown) if picture not in first)
    person.tiles.nth(other).locator(".pick").focus()
    person.page.keyboard.press("s")
    expect(bar(person)).to_contain_text("3 selected")
    with person.page.expect_download() as event:
        bar(person).get_by_role("button", name="ZIP").click()
    with zipfile.ZipFile(io.BytesIO(read(event.value))) as archive:
        inside = {Path(name).name for name in archive.namelist()}
    assert set(files_of(person, first)) <= inside
    person.page.locator("#switches .new").click()
    expect(bar(person)).to_be_hidden()


def test_an_album_is_made_filled_looked_at_searched_renamed_and_deleted(keeper: Person, photos: Photos) -> None:
    person, page = keeper, keeper.page
    person.say(photos.first)
    ids = select(person, 0, 2, 3)
    bar(person).get_by_role("button", name="Album").click()
    page.get_by_role("textbox", name="Name of the album").fill("Winter")
    page.keyboard.press("Enter")
    page.locator(".toast").get_by_role("link", name="Open it").click()
    expect(page).to_have_url(re.compile("/album/[0-9a-f-]+$"))
    expect(person.tiles).to_have_count(3)
    assert person.shown == ids  # in the order in which they were put there
    page.reload()
    expect(person.tiles).to_have_count(3)
    expect(page.get_by_role("button", name="Albums: Winter is shown")).to_be_visible()
    person.say(photos.word)  # one searches in it
    assert set(person.shown) == set(ids)
    page.go_back()
    expect(page).to_have_url(re.compile("/album/"))
    person.rest()
    select(person, 1)
    bar(person).get_by_role("button", name="Take out of this album").click()
    expect(person.tiles).to_have_count(2)
    kept = person.api(f"/albums/{page.url.rpartition('/')[2]}")["results"]
    assert [hit["id"] for hit in kept] == [ids[0], ids[2]]
    page.get_by_role("button", name="Albums: Winter is shown").click()
    page.get_by_role("button", name="Rename “Winter”").click()
    page.get_by_role("textbox", name="Name of the album").first.fill("Snow")
    page.keyboard.press("Enter")
    expect(page.locator("vf-albums").get_by_role("link", name="Snow")).to_contain_text("2 pictures")
    page.get_by_role("button", name="Take “Snow” along").click()
    with page.expect_download() as event:
        page.get_by_role("menuitem", name="A list as JSON").click()
    assert [row["id"] for row in json.loads(read(event.value))["pictures"]] == [ids[0], ids[2]]
    page.get_by_role("button", name=re.compile("^Albums")).first.click()
    page.get_by_role("button", name="Delete “Snow”").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page).to_have_url(re.compile(r":\d+/$"))
    assert person.api("/albums")["albums"] == []


def test_favourites_and_stars_are_kept_shown_and_looked_for(keeper: Person, photos: Photos) -> None:
    person, page = keeper, keeper.page
    person.say(photos.first)
    ids = select(person, 0, 1)
    bar(person).get_by_role("button", name="Favourite").click()
    expect(person.tiles.nth(0).get_by_role("img", name="Favourite")).to_be_visible()
    page.keyboard.press("Escape")
    person.tiles.nth(1).locator(".pick").focus()
    page.keyboard.press("4")
    expect(person.tiles.nth(1).get_by_role("img", name="Favourite, 4 stars")).to_be_visible()
    marks = person.api(f"/marks?ids={','.join(ids)}")["marks"]
    assert [(marks[id]["favourite"], marks[id]["stars"]) for id in ids] == [(True, 0), (True, 4)]
    page.reload()
    person.rest()
    expect(person.tiles.nth(1).get_by_role("img", name="Favourite, 4 stars")).to_be_visible()
    page.get_by_role("button", name="Albums").click()
    page.get_by_role("button", name="Favourites").click()
    expect(person.tiles).to_have_count(2)
    page.get_by_role("button", name="Albums").click()
    page.get_by_role("button", name="4 stars or more").click()
    expect(person.tiles).to_have_count(1)
    assert person.shown == ids[1:]
    page.get_by_role("button", name="Take back: 4 stars or more").click()
    expect(person.tiles).to_have_count(2)
    person.tiles.nth(0).locator(".pick").focus()
    page.keyboard.press("h")
    expect(page.locator(".toast")).to_contain_text("no favourite any more")


def test_found_offers_what_one_wants_of_it(desk: tuple[Server, Path], open_page: Open, photos: Photos) -> None:
    server, opened = desk
    person = open_page(at=server, permissions=["clipboard-read", "clipboard-write"])
    page = person.page
    person.tiles.first.wait_for()
    person.say(photos.first)
    page.locator("vf-grid .pick").first.focus()
    page.keyboard.press("f")
    note = page.get_by_role("region", name="Found!")
    best = person.shown[0]
    details = person.api(f"/pictures/{best}")
    with page.expect_download() as event:
        note.get_by_role("link", name="Download").click()
    assert event.value.suggested_filename == details["names"][0]
    note.get_by_role("button", name="Open").click()
    expect(page.locator(".toast")).to_contain_text("Opened on the server")
    note.get_by_role("button", name="Show in folder").click()
    expect(page.locator(".toast")).to_contain_text("Its folder was opened")
    path = Path(details["paths"][0])
    lines = opened.read_text(encoding="utf-8").split("\n")
    assert [Path(line.removeprefix("file://")) for line in lines if line] == [path, path.parent]
    note.get_by_role("button", name="Copy path").click()
    expect(page.locator(".toast")).to_contain_text(str(path))
    assert page.evaluate("navigator.clipboard.readText()") == str(path)
    note.get_by_role("button", name="Copy link").click()
    page.goto(page.evaluate("navigator.clipboard.readText()"))
    expect(page.get_by_role("dialog", name="Details")).to_contain_text(details["names"][0])
    page.keyboard.press("Escape")
    page.locator("vf-grid .pick").first.focus()
    page.keyboard.press("f")
    note.get_by_role("button", name="Add to an album").click()
    page.get_by_role("textbox", name="Name of the album").fill("Found")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("“Found”")
    note.get_by_role("button", name="Favourite").click()
    expect(note.get_by_role("button", name="No favourite any more")).to_be_focused()
    mark = person.api(f"/marks?ids={best}")["marks"][best]
    assert (mark["favourite"], len(mark["albums"])) == (True, 1)


@pytest.mark.long
def test_on_a_machine_without_a_desktop_nothing_is_offered_to_be_opened(
    library: Path, tmp_path: Path, open_page: Open
) -> None:
    shutil.copytree(library, tmp_path / "own.vf")
    with serving(tmp_path / "own.vf", DISPLAY="", WAYLAND_DISPLAY="", SSH_CONNECTION="far away") as server:
        person = open_page(at=server)
        person.tiles.first.wait_for()
        person.rest()
        menu = menu_of(person, 0)
        expect(menu.get_by_role("menuitem", name="Download")).to_be_visible()
        expect(menu.get_by_role("menuitem", name="Copy path")).to_be_visible()
        expect(menu.get_by_role("menuitem", name="Show in folder")).to_have_count(0)


CARRIED = """() => {
  window.carried = null;
  const hear = ({ dataTransfer }) => {
    window.carried = Object.fromEntries(dataTransfer.types.map((type) => [type, dataTransfer.getData(type)]));
  };
  addEventListener("dragstart", hear, { once: true });
}"""


def test_a_picture_is_dragged_off_with_its_file(person: Person, photos: Photos) -> None:
    page = person.page
    person.say(photos.first)
    best = person.shown[0]
    name = person.api(f"/pictures/{best}")["names"][0]
    for source in (person.tiles.first.locator(".pick"), page.get_by_role("dialog").locator(".plane")):
        page.evaluate(CARRIED)
        box = find_box(source)
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 30, y + 30, steps=5)
        page.wait_for_function("() => window.carried")
        carried = page.evaluate("window.carried")
        page.mouse.up()
        file = f"{page.url.split('/talk')[0]}/api/v1/pictures/{best}/original?download=1"
        assert carried["downloadurl"] == f"image/jpeg:{name}:{file}"
        assert carried["text/uri-list"] == file
        if source.evaluate("(each) => each.matches('.pick')"):
            source.click()
    page.keyboard.press("Escape")


@pytest.mark.parametrize("who", ["reader", "downloader"])
def test_what_a_token_may_not_do_is_not_offered(
    who: str, library: Path, tmp_path: Path, open_page: Open, watched: Watched, photos: Photos
) -> None:
    watched.expected = ("401",)
    shutil.copytree(library, tmp_path / "own.vf")
    more = ("--scope", "download") if who == "downloader" else ()
    given = ("token", "add", who, "--scope", "read", *more, "--library", tmp_path / "own.vf", "--json")
    token = json.loads(program(*given))["token"]
    with serving(tmp_path / "own.vf", VIEWFINDER_TOKENS_ALWAYS="1", DISPLAY=":0") as server:
        person = open_page(at=server)
        page = person.page
        page.get_by_role("textbox", name="Token").fill(token)
        page.get_by_role("button", name="Go on").click()
        person.tiles.first.wait_for()
        person.say(photos.first)
        menu = menu_of(person, 0)
        offered = {text.split("\n")[0] for text in menu.get_by_role("menuitem").all_inner_texts()}
        page.keyboard.press("Escape")
        page.locator("vf-grid .pick").first.focus()
        page.keyboard.press("f")
        note = page.get_by_role("region", name="Found!")
        expect(note).to_be_visible()
        told = set(note.get_by_role("button").all_inner_texts()) | set(note.get_by_role("link").all_inner_texts())
        note.get_by_role("button", name="Go on").click()
        select(person, 0, 1)
        several = set(bar(person).locator("button").evaluate_all("all => all.map((each) => each.innerText.trim())"))
        bar(person).get_by_role("button", name="List or XMP").click()
        with page.expect_download() as event:  # what it may read it may list
            page.get_by_role("menuitem", name="A list as CSV").click()
        assert read(event.value).count(b"\n") >= 3
        page.close()  # before its server goes
    may = {"Download"} if who == "downloader" else set()
    assert offered == {"Copy link", "Like this …", "Found it", "Not this one", *may}
    assert told == {"Copy link", "Look for another", "Go on", *may}
    assert several == {"", "All shown", "List or XMP", *({"ZIP"} if may else set())}


def test_with_keys_alone_from_the_search_to_the_download(keeper: Person, photos: Photos) -> None:
    person, page = keeper, keeper.page
    keys = page.keyboard
    with person.turn():
        keys.type(photos.first)
        keys.press("Enter")
    keys.press("ArrowUp")
    expect(person.tiles.first.locator(".pick")).to_be_focused()
    keys.press("Enter")
    dialog = page.get_by_role("dialog", name="Details")
    expect(dialog.locator(".canvas")).to_be_focused()
    with page.expect_download() as event:
        keys.press("d")
    assert event.value.suggested_filename == person.api(f"/pictures/{person.shown[0]}")["names"][0]
    for _ in range(12):  # the same with buttons alone
        keys.press("Tab")
        if page.evaluate("document.activeElement.dataset.act") == "download":
            break
    with page.expect_download():
        keys.press("Enter")
    keys.press("Escape")
    expect(person.tiles.first.locator(".pick")).to_be_focused()
    keys.press("s")
    keys.press("Shift+ArrowRight")
    keys.press("Shift+ArrowRight")
    assert selected(person) == [0, 1, 2]
    with page.expect_download() as event:
        keys.press("d")
    assert event.value.suggested_filename.endswith(".zip")
    keys.press("Control+a")
    expect(bar(person)).to_contain_text(re.compile(r"\d\d+ selected"))
    keys.press("Escape")
    expect(bar(person)).to_be_hidden()
    keys.press("f")
    note = page.get_by_role("region", name="Found!")
    expect(note).to_be_visible()
    for _ in range(40):
        keys.press("Tab")
        if page.evaluate("document.activeElement.closest('vf-found')?.contains(document.activeElement) ?? false"):
            break
    expect(note.get_by_role("link", name="Download")).to_be_focused()
    with page.expect_download():
        keys.press("Enter")


NAMELESS = {"generic", "none", "StaticText", "InlineTextBox", "paragraph", "RootWebArea"}


def unnamed(page: Page) -> list[str]:
    """What a screen reader could stop at and would have no name for."""
    session = page.context.new_cdp_session(page)
    session.send("Accessibility.enable")
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    found = []
    for node in nodes:
        role = node.get("role", {}).get("value", "")
        can = {each["name"]: each["value"].get("value") for each in node.get("properties", [])}
        if can.get("focusable") and role not in NAMELESS and not node.get("name", {}).get("value"):
            found.append(role)
    return found


@pytest.mark.long
def test_a_screen_readers_tree_is_whole_from_the_search_to_the_download(person: Person, photos: Photos) -> None:
    page, body = person.page, person.page.locator("body")
    expect(body).to_match_aria_snapshot('- textbox "What are you looking for?"')
    assert unnamed(page) == []
    person.say(photos.first)
    expect(body).to_match_aria_snapshot(
        """
        - list "Results, best first":
          - listitem:
            - link /^1\\. .+/
            - 'checkbox /^Select: .+/'
        """
    )
    expect(body).to_match_aria_snapshot('- region "Question"')
    assert unnamed(page) == []
    page.locator("vf-grid .pick").first.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Details")
    expect(dialog.locator(".strip img").first).to_be_visible()
    expect(dialog).to_match_aria_snapshot(
        """
        - dialog "Details":
          - 'group /^1 of \\d+: .+/'
          - group "What to do with it":
            - button "Favourite"
            - button "Select"
            - link "Download"
            - button "Zoom out"
            - button "Zoom in"
            - button "Slideshow"
            - button "More to do with it"
            - button "What is known of it" [expanded]
            - button "Close"
          - group:
            - heading [level=2]
            - button "Like this …"
            - button "Found it"
            - button "Not this one"
            - group "Stars"
            - heading "Facts"
            - heading "Similar pictures"
          - status: /1 of \\d+/
        """
    )
    assert unnamed(page) == []
    page.keyboard.press("f")
    expect(body).to_match_aria_snapshot(
        """
        - region "Found!":
          - status: /Found! After 1 turn\\./
          - link "Download"
          - button "Add to an album"
          - button "Favourite"
          - button "Copy link"
          - button "Look for another"
          - button "Go on"
        """
    )
    assert unnamed(page) == []
    select(person, 0, 1)
    expect(body).to_match_aria_snapshot(
        """
        - region "Selected pictures":
          - button "Select nothing"
          - paragraph: 2 selected
          - button "All shown"
          - button "ZIP"
          - button "List or XMP"
          - button "Album"
          - button "Favourite"
          - button "Stars"
          - button "Not these"
        """
    )
    expect(body).to_match_aria_snapshot("- 'checkbox /^Select: .+/ [checked]'")
    assert unnamed(page) == []
    person.hear("2 selected")
    with page.expect_download():
        bar(person).get_by_role("button", name="ZIP").click()
    person.hear("2 pictures are being saved.")


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("direction", [pytest.param("ltr", marks=pytest.mark.long), "rtl"])
def test_what_is_done_with_pictures_shuts_nobody_out(
    look: str, direction: str, own_server: Server, open_page: Open, album_of: AlbumOf, photos: Photos
) -> None:
    person = open_page("about:blank", at=own_server, **LOOKS[look])
    page = person.page
    if direction == "rtl":
        mirror(page)
    page.goto("/")
    person.tiles.first.wait_for()
    person.say(photos.first)
    album = album_of(person, f"{direction}-{look}")
    select(person, 0, 1, 3)
    album.take("selected")
    bar(person).get_by_role("button", name="List or XMP").click()
    album.take("selected-lists")
    page.keyboard.press("Escape")
    bar(person).get_by_role("button", name="Album").click()
    page.get_by_role("textbox", name="Name of the album").fill("Winter")
    album.take("selected-album")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("Winter")
    album.take("selected-toast")
    bar(person).get_by_role("button", name="Stars").click()
    page.get_by_role("button", name="3 stars").click()
    bar(person).get_by_role("button", name="Favourite").click()
    expect(person.tiles.nth(0).get_by_role("img", name=re.compile("Favourite"))).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("vf-grid .pick").first.focus()
    page.keyboard.press("f")
    expect(page.get_by_role("region", name="Found!")).to_be_visible()
    album.take("found-offers")
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name=re.compile("^Albums")).click()
    expect(page.locator("vf-albums").get_by_role("link", name="Winter")).to_be_visible()
    album.take("albums")
    page.locator("vf-albums").get_by_role("link", name="Winter").click()
    expect(person.tiles).to_have_count(3)
    album.take("album")
    assert album.against == {}
