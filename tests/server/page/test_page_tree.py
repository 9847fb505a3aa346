"""Ways through a conversation: back and forward, an address for every turn, branches, and two of them side by side."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.server.page.conftest import Open, Person, Photos


def test_back_and_forward_of_the_browser_go_through_the_turns(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    first = person.shown
    person.say(photos.but)
    second = person.shown
    assert first != second
    person.page.go_back()
    person.arrived(1)
    assert person.shown == first
    person.page.go_forward()
    person.arrived(2)
    assert person.shown == second
    person.page.go_back()
    person.page.go_back()
    expect(person.page.get_by_role("heading", name="Find a picture by talking about it")).to_be_visible()


def test_the_address_of_a_turn_restores_its_results_elsewhere(person: Person, photos: Photos, open_page: Open) -> None:
    person.say(photos.first)
    first, address = person.shown, person.page.url
    person.say(photos.but)
    elsewhere = open_page(address)
    elsewhere.arrived(1)
    assert elsewhere.shown == first
    expect(elsewhere.page.locator(".turn")).to_have_count(1)
    expect(elsewhere.page.locator(".later")).to_contain_text("1 later turn on this branch")
    elsewhere.page.get_by_role("button", name="Go to the latest").click()
    elsewhere.arrived(2)


def test_where_one_had_scrolled_to_is_restored_by_back_and_by_loading_again(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    grid = person.page.locator("vf-grid")
    grid.evaluate("(grid) => { grid.scrollTop = 900; }")
    expect(person.page.locator("vf-grid .tile[data-at='20']")).to_be_attached()
    while person.page.evaluate("history.state?.scroll") != 900:  # kept a moment after the scrolling has ended
        person.page.wait_for_timeout(50)
    shown = person.shown
    person.say(photos.but)
    assert grid.evaluate("(grid) => grid.scrollTop") == 0
    person.page.go_back()
    person.arrived(1)
    assert (grid.evaluate("(grid) => grid.scrollTop"), person.shown) == (900, shown)
    person.page.reload()
    person.arrived(1)
    assert (grid.evaluate("(grid) => grid.scrollTop"), person.shown) == (900, shown)


def test_every_picture_is_reached_by_scrolling_and_none_twice(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    grid = person.page.locator("vf-grid")
    seen: dict[int, str] = {}
    end = person.page.get_by_text("That is all: ")
    for _ in range(40):
        seen |= dict(
            grid.locator(".tile").evaluate_all("all => all.map((it) => [Number(it.dataset.at), it.dataset.id])")
        )
        if end.count() and grid.evaluate("(it) => it.scrollTop + it.clientHeight >= it.scrollHeight - 2"):
            break
        grid.evaluate("(it) => { it.scrollTop += it.clientHeight; }")
        person.page.wait_for_timeout(60)
    assert [seen[at] for at in sorted(seen)] == person.ranking(n=200)
    assert person.tiles.count() < len(seen)  # only those near the window are drawn


def test_a_conversation_branches_where_one_goes_back_to(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    first = person.shown
    person.say(photos.but)
    person.page.get_by_role("treeitem", name=f"turn 1: {photos.first}").click()
    person.arrived(1)
    assert person.shown == first
    person.say(photos.other)
    tree = person.tree()
    assert [(node["number"], node["parent"]) for node in tree[1:]] == [(1, 0), (2, 1), (3, 1), (4, 3)]
    assert tree[3]["turn"] == {"back_to": 1}
    expect(person.page.locator("vf-tree .side-title")).to_contain_text("3 turns, 2 branches")
    rows = person.page.get_by_role("treeitem")
    expect(rows).to_have_count(4)
    expect(person.page.locator(".said")).to_have_text([photos.first, photos.other])


def test_two_branches_side_by_side_tell_which_pictures_moved(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    person.say(photos.but)
    person.page.go_back()
    person.arrived(1)
    person.say(photos.other)
    left, right = person.ranking(4), person.ranking(2)
    row = person.page.get_by_role("treeitem", name=f"turn 2: {photos.but}")
    row.hover()
    row.get_by_role("button", name=f"Compare with “{photos.but}”").click()
    expect(person.page).to_have_url(re.compile("/compare/.*/4/2$"))
    both = len(set(left) & set(right))
    same = sum(one == other for one, other in zip(left, right, strict=False))
    summary = f"Of the first {len(left)}: {both} in both"
    expect(person.page.locator(".compare-head")).to_contain_text(summary)
    expect(person.page.locator(".compare-head")).to_contain_text(f"{same} in the same place" if same else summary)
    sides = person.page.locator(".branch")
    for side, ranking in ((sides.nth(0), left), (sides.nth(1), right)):
        drawn = side.locator("[data-id]").evaluate_all("all => all.map((each) => each.dataset.id)")
        assert drawn == ranking
    person.page.get_by_role("button", name=re.compile("^Moved")).click()
    expect(sides.nth(0).locator("[data-id]")).to_have_count(both - same)
    person.page.reload()
    expect(person.page.locator(".compare-head")).to_contain_text(summary)
    sides.nth(1).get_by_role("button", name="Go on from here").click()
    expect(person.page).to_have_url(re.compile("/talk/.*/2$"))
