"""A conversation that is safe to have: two tabs, taking back, skips, double clicks, waiting words, search."""

from __future__ import annotations

import re
import shutil
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.server.page.conftest import find_box, mirror, serving

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Route

    from tests.server.page.conftest import AlbumOf, Open, Person, Photos, Server, Watched

VAGUE = "something"

LOOKS: dict[str, dict[str, Any]] = {
    "dark": {"scheme": "dark"},
    "phone": {"width": 390, "height": 844},
    "rtl": {},
    "rtl-phone-dark": {"scheme": "dark", "width": 390, "height": 844},
}


@pytest.fixture
def two(open_page: Open, photos: Photos) -> tuple[Person, Person]:
    """Two people in one conversation of one turn."""
    one = open_page()
    one.tiles.first.wait_for()
    one.say(photos.first)
    other = open_page(one.page.url)
    other.arrived(1)
    other.page.locator("vf-behind:defined").wait_for(state="attached")
    return one, other


def behind(person: Person) -> Any:
    return person.page.get_by_role("region", name="This conversation went on elsewhere.")


def said(person: Person) -> list[Any]:
    """The turns of the conversation, each with the one it follows."""
    return [(node["parent"], node["turn"]) for node in person.tree()[1:]]


def test_who_is_behind_is_told_without_sending_and_what_is_shown_stays(
    two: tuple[Person, Person], photos: Photos
) -> None:
    one, other = two
    before = other.shown
    one.say(photos.but)
    expect(behind(other)).to_contain_text(f"There: “{photos.but}”")
    expect(behind(other)).to_contain_text("What you see here stays")
    assert other.shown == before
    assert other.place[1] == 1
    expect(other.page.locator(".turn")).to_have_count(1)
    behind(other).get_by_role("button", name="Show the newest").click()
    other.arrived(2)
    expect(behind(other)).to_have_count(0)
    assert other.shown == one.shown


@pytest.mark.long
def test_who_stays_goes_on_in_a_branch(two: tuple[Person, Person], photos: Photos) -> None:
    one, other = two
    one.say(photos.but)
    behind(other).get_by_role("button", name="Stay here").click()
    expect(other.page.get_by_role("treeitem")).to_have_count(3)
    other.say(photos.other)
    assert said(one)[1:] == [(1, {"say": photos.but}), (1, {"back_to": 1}), (3, {"say": photos.other})]
    expect(other.page.locator(".said")).to_have_text([photos.first, photos.other])


@pytest.mark.long
def test_words_of_one_who_is_behind_are_not_sent_and_can_be_said_as_a_branch(
    two: tuple[Person, Person], photos: Photos, watched: Watched, album_of: AlbumOf
) -> None:
    watched.expected = ("409",)
    one, other = two
    one.say(photos.but)
    other.box.fill(photos.other)
    other.box.press("Enter")
    expect(behind(other)).to_contain_text("so it was not sent")
    expect(other.box).to_have_value(photos.other)
    assert len(said(one)) == 2
    album = album_of(other, "light")
    album.take("behind")
    assert album.against == {}
    with other.turn():
        behind(other).get_by_role("button", name="Say it here, as a branch").click()
    assert said(one)[2:] == [(1, {"back_to": 1}), (3, {"say": photos.other})]
    expect(other.box).to_have_value("")
    expect(behind(other)).to_have_count(0)


@pytest.mark.long
def test_who_follows_keeps_the_words_in_the_box(two: tuple[Person, Person], photos: Photos, watched: Watched) -> None:
    watched.expected = ("409",)
    one, other = two
    one.say(photos.but)
    other.box.fill(photos.other)
    other.box.press("Enter")
    behind(other).get_by_role("button", name="Show the newest").click()
    other.arrived(2)
    expect(other.box).to_have_value(photos.other)
    with other.turn():
        other.box.press("Enter")
    assert said(one)[2:] == [(2, {"say": photos.other})]


def test_the_last_turn_is_taken_back_and_done_again_by_key_and_by_button(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    first = person.shown
    person.say(photos.but)
    second = person.shown
    expect(person.box).to_have_value("")
    person.box.focus()
    person.page.keyboard.press("Control+z")
    person.arrived(1)
    assert person.shown == first
    person.hear(f"Taken back: “{photos.but}”.")
    assert said(person)[2:] == [(1, {"back_to": 1})]
    person.page.get_by_role("button", name=f"Redo: “{photos.but}”").click()
    person.arrived(2)
    assert person.shown == second
    person.hear(f"Done again: “{photos.but}”.")
    person.page.get_by_role("button", name=f"Undo: “{photos.but}”").click()
    person.arrived(1)
    person.page.get_by_role("button", name=f"Undo: “{photos.first}”").click()
    expect(person.page).to_have_url(re.compile("/0$"))
    person.page.keyboard.press("Control+Shift+z")
    person.arrived(1)
    assert person.shown == first


def test_text_that_is_being_written_is_the_browsers_to_undo(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    person.box.press_sequentially("abc")
    person.page.keyboard.press("Control+z")
    person.page.wait_for_timeout(100)
    assert person.place[1] == 1
    assert said(person) == [(0, {"say": photos.first})]


def test_a_pick_and_a_picture_that_was_found_are_taken_back(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    person.like(1)
    expect(person.page.locator(".pinned-pill")).to_have_count(1)
    person.page.keyboard.press("Control+z")
    expect(person.page.locator(".pinned-pill")).to_have_count(0)
    person.page.keyboard.press("Control+y")
    expect(person.page.locator(".pinned-pill")).to_have_count(1)
    person.page.keyboard.press("Control+z")
    person.tiles.nth(2).hover()
    person.tiles.nth(2).get_by_role("button", name="Found it").click()
    expect(person.page.locator(".tile.found")).to_have_count(1)
    with person.page.expect_response(lambda answer: answer.request.method == "DELETE") as taken:
        person.page.get_by_role("button", name="Undo: the picture that was found").click()
    assert taken.value.status == 204
    expect(person.page.locator(".tile.found")).to_have_count(0)
    assert taken.value.url.split("/")[-1] not in person.page.request.get("/api/v1/feedback").text()


def test_a_rejection_is_taken_back(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    before = person.shown
    person.tiles.first.hover()
    with person.turn():
        person.tiles.first.get_by_role("button", name="Not this one").click()
    assert before[0] not in person.shown
    person.page.locator("#bar-end .undo").click()
    person.arrived(1)
    assert person.shown == before


def test_skipped_questions_are_one_line_that_opens(person: Person, album_of: AlbumOf) -> None:
    person.say(VAGUE)
    skipped = 0
    for name in ("Skip", "Don’t know", "Skip"):
        if not person.question.count():
            break
        with person.turn():
            person.question.get_by_role("button", name=name, exact=True).click()
        skipped += 1
        person.page.wait_for_timeout(1000)  # longer than a double click
    assert skipped > 1
    line = f"{skipped} questions skipped"
    expect(person.page.get_by_role("treeitem")).to_have_count(3)
    row = person.page.get_by_role("treeitem", name=line)
    expect(row).to_have_attribute("aria-current", "step")
    expect(person.page.locator(".turn.folded")).to_contain_text(line)
    album = album_of(person, "light")
    album.take("skips")
    row.get_by_role("button", name="Show them").click()
    expect(person.page.get_by_role("treeitem")).to_have_count(2 + skipped)
    person.page.locator(".turn.folded").get_by_role("button", name="Show them").click()
    expect(person.page.locator(".passes .turn")).to_have_count(skipped)
    album.take("skips-open")
    assert album.against == {}
    assert len(said(person)) == 1 + skipped  # the data are as they were


def test_the_second_click_of_a_double_click_answers_no_other_question(person: Person) -> None:
    person.say(VAGUE)
    person.page.wait_for_timeout(1000)
    chip = person.question.get_by_role("button", name="Skip", exact=True)
    box = find_box(chip)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse = person.page.mouse
    with person.turn():
        mouse.move(x, y)
        mouse.down(click_count=1)
        mouse.up(click_count=1)
    # The next question is there, whatever the machine's speed: now the second click of the same double click.
    chip = person.question.get_by_role("button", name="Skip", exact=True)
    again = find_box(chip)
    mouse.move(again["x"] + again["width"] / 2, again["y"] + again["height"] / 2)
    mouse.down(click_count=2)
    mouse.up(click_count=2)
    person.page.wait_for_timeout(300)
    assert len(said(person)) == 2
    with person.turn():  # and a click that is meant is heard
        chip.click(delay=20)
    assert len(said(person)) == 3


def test_the_room_of_a_question_is_kept_while_the_next_is_awaited(person: Person) -> None:
    person.say(VAGUE)
    tall = find_box(person.question)
    person.page.wait_for_timeout(1000)
    person.page.route(re.compile(r"/turns/2/events"), lambda route: None)  # it never comes
    person.question.get_by_role("button", name="Skip", exact=True).click()
    person.page.wait_for_url(re.compile("/2$"))  # until then it is drawn once more
    waiting = find_box(person.page.locator(".question.waiting"))
    assert (waiting["y"], waiting["height"]) == pytest.approx((tall["y"], tall["height"]), abs=2)


def test_words_that_were_said_while_the_server_was_away_wait_in_order_and_survive_a_reload(
    photos: Photos, open_page: Open, watched: Watched, own_server: Server, album_of: AlbumOf
) -> None:
    watched.expected = ("net::ERR_", "502")
    person = open_page(at=own_server)
    person.tiles.first.wait_for()
    person.say(photos.first)
    person.page.locator("vf-waiting:defined").wait_for(state="attached")
    own_server.stop()
    for words in (photos.but, "never mind", photos.other):
        person.box.fill(words)
        person.box.press("Enter")
        expect(person.page.locator("vf-waiting")).to_contain_text(words)
    album = album_of(person, "light")
    album.take("waiting")
    assert album.against == {}
    person.page.get_by_role("button", name="Do not send “never mind”").click()
    expect(person.page.locator("vf-waiting li")).to_have_count(2)
    kept = person.page.evaluate("Object.keys(localStorage).filter((name) => name.includes('waiting')).length")
    assert kept == 2
    address = person.page.url
    person.page.goto("about:blank")
    own_server.start()
    person.page.goto(address)
    expect(person.page).to_have_url(re.compile("/3$"))
    person.arrived(3)
    assert said(person) == [(0, {"say": photos.first}), (1, {"say": photos.but}), (2, {"say": photos.other})]
    expect(person.page.locator("vf-waiting li")).to_have_count(0)
    assert person.page.evaluate("Object.keys(localStorage).filter((name) => name.includes('waiting')).length") == 0


def test_a_conversation_that_begins_while_the_server_is_away_begins_later(
    photos: Photos, open_page: Open, watched: Watched, own_server: Server
) -> None:
    watched.expected = ("net::ERR_",)
    person = open_page(at=own_server)
    person.tiles.first.wait_for()
    person.page.locator("vf-waiting:defined").wait_for(state="attached")
    own_server.stop()
    for words in (photos.first, photos.but):
        person.box.fill(words)
        person.box.press("Enter")
        expect(person.page.locator("vf-waiting")).to_contain_text(words)
    own_server.start()
    expect(person.page).to_have_url(re.compile("/talk/.*/2$"))
    person.arrived(2)
    assert said(person) == [(0, {"say": photos.first}), (1, {"say": photos.but})]


def test_what_comes_late_comes_although_the_server_was_away_when_it_was_asked_for(
    photos: Photos, open_page: Open, watched: Watched
) -> None:
    watched.expected = ("net::ERR_",)
    person = open_page()
    failures = {"order.js": 2, "taking.css": 1}

    def fail(route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        failures[name] -= 1
        (route.abort if failures[name] >= 0 else route.continue_)()

    for name in failures:
        person.page.route(f"**/{name}", fail)
    person.page.reload()
    person.page.locator("vf-waiting:defined").wait_for(state="attached")
    person.say(photos.first)
    person.page.locator("select.order").wait_for(state="attached")
    assert failures == {"order.js": -1, "taking.css": -1}


@pytest.mark.long
def test_words_that_waited_while_the_conversation_went_on_are_asked_about(
    photos: Photos, open_page: Open, watched: Watched, own_server: Server
) -> None:
    watched.expected = ("net::ERR_", "409")
    person = open_page(at=own_server)
    person.tiles.first.wait_for()
    person.say(photos.first)
    person.page.locator("vf-waiting:defined").wait_for(state="attached")
    other = open_page(person.page.url, at=own_server)
    other.arrived(1)
    person.page.context.set_offline(True)
    for words in (photos.but, "at night"):
        person.box.fill(words)
        person.box.press("Enter")
        expect(person.page.locator("vf-waiting")).to_contain_text(words)
    other.say(photos.other)
    person.page.context.set_offline(False)
    expect(behind(person)).to_contain_text("so it was not sent")
    behind(person).get_by_role("button", name="Say it here, as a branch").click()
    person.arrived(5)
    assert said(other)[2:] == [(1, {"back_to": 1}), (3, {"say": photos.but}), (4, {"say": "at night"})]
    expect(person.page.locator("vf-waiting li")).to_have_count(0)


WAITS_TO_ASK = """
import sys, time
from pathlib import Path
from viewfinder.server.conversations.questions import Questions
may_ask, choose = Path(sys.argv.pop(1)), Questions._choose
def choose_later(self, *given):
    while not may_ask.exists():
        time.sleep(0.02)
    choose(self, *given)
Questions._choose = choose_later
from viewfinder.cli import main
main()
"""
"""The program, which chooses no question until a file is there, that it is given first."""


def test_a_question_that_went_down_with_the_server_is_asked_when_it_is_back(
    open_page: Open, watched: Watched, library: Path, tmp_path: Path
) -> None:
    watched.expected = ("net::ERR_", "Failed to load")
    shutil.copytree(library, tmp_path / "own.vf")
    may_ask = tmp_path / "may-ask"
    with serving(tmp_path / "own.vf", program=(sys.executable, "-c", WAITS_TO_ASK, str(may_ask))) as server:
        person = open_page(at=server)
        person.tiles.first.wait_for()
        person.box.fill(VAGUE)
        person.box.press("Enter")
        waiting = person.page.locator(".question.waiting")
        expect(waiting).to_have_count(1)
        shown = person.shown
        assert person.tree()[1]["asked"] is None
        assert server.process is not None
        server.process.send_signal(signal.SIGKILL)
        server.process.communicate(timeout=60)
        server.process = None
        expect(person.page.locator("vf-notice")).to_contain_text("The server cannot be reached.")
        server.start()
        expect(person.page.locator("vf-notice")).not_to_contain_text("The server cannot be reached.")
        expect(waiting).to_have_count(1)  # it still waits, as the server may not ask yet
        assert person.tree()[1]["asked"] is None
        may_ask.touch()
        expect(person.question.locator(".ask")).to_be_visible()
        asked = person.tree()[1]["asked"]
        expect(person.question).to_contain_text(asked["text"])
        assert (person.shown, said(person)) == (shown, [(0, {"say": VAGUE})])


def test_conversations_are_searched_by_what_was_said(person: Person, photos: Photos, album_of: AlbumOf) -> None:
    person.say("a very peculiar zeppelin")
    person.page.get_by_role("button", name="Conversations: a very peculiar zeppelin").click()
    field = person.page.get_by_role("searchbox", name="Search conversations")
    field.press_sequentially("pecu")
    expect(person.page.locator("#sessions-panel mark").first).to_have_text("peculiar")
    expect(person.page.locator(".conversation-row")).to_have_count(1)
    expect(field).to_be_focused()
    expect(field).to_have_value("pecu")
    album = album_of(person, "light")
    album.take("sessions-search")
    assert album.against == {}
    field.fill("zeppelin nowhere")
    expect(person.page.locator("#sessions-panel")).to_contain_text("No conversation says that.")
    person.hear("No conversation says that.")


@pytest.mark.parametrize("look", ["dark", "phone", pytest.param("rtl", marks=pytest.mark.long), "rtl-phone-dark"])
def test_no_state_of_a_safe_conversation_shuts_anybody_out(
    look: str, open_page: Open, photos: Photos, watched: Watched, album_of: AlbumOf
) -> None:
    watched.expected = ("net::ERR_", "409")
    person = open_page("about:blank", **LOOKS[look])
    page, narrow = person.page, "phone" in look
    if "rtl" in look:
        mirror(page)
    page.goto("/")
    person.tiles.first.wait_for()
    album = album_of(person, look)
    person.say(VAGUE)
    for skipped in range(2):
        with person.turn():
            person.question.get_by_role("button", name="Skip", exact=True).click()
        page.wait_for_timeout(1000)  # longer than a double click
        assert person.place[1] == 2 + skipped
    album.take("skips")
    if narrow:
        page.locator("#panel-switch").click()
    page.locator(".turn.folded").get_by_role("button", name="Show them").click()
    expect(page.locator(".passes .turn")).to_have_count(2)
    album.take("skips-open")
    if narrow:
        page.locator("#panel-switch").click()
    page.keyboard.press("Control+z")
    expect(page).to_have_url(re.compile("/2$"))
    person.rest()
    album.take("undone")

    page.context.set_offline(True)
    for words in (photos.first, "never mind"):
        person.box.fill(words)
        person.box.press("Enter")
        expect(page.locator("vf-waiting")).to_contain_text(words)
    album.take("waiting")
    conversation = person.place[0]
    page.get_by_role("button", name=re.compile("^Do not send .*never mind")).click()
    person.api(f"/sessions/{conversation}/turns", {"say": photos.but})
    page.context.set_offline(False)
    expect(behind(person)).to_contain_text("so it was not sent")
    album.take("behind")
    with person.turn():
        behind(person).get_by_role("button", name="Say it here, as a branch").click()

    page.get_by_role("button", name=re.compile("^Conversations")).click()
    page.get_by_role("searchbox", name="Search conversations").fill(photos.first.split()[0])
    expect(page.locator("#sessions-panel mark").first).to_be_visible()
    album.take("sessions-search")
    page.get_by_role("searchbox", name="Search conversations").fill("zeppelin nowhere")
    expect(page.locator("#sessions-panel")).to_contain_text("No conversation says that.")
    album.take("sessions-none")
    assert album.against == {}
