"""How it is searched: another retriever, one that is not prepared yet, another questioner, filters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.server.page.conftest import Person, Photos, Watched


def chosen(person: Person, name: str) -> None:
    person.page.get_by_role("button", name=re.compile("^How to search")).click()
    person.page.get_by_role("radio", name=name, exact=True).check()
    person.page.keyboard.press("Escape")
    person.rest()


def test_another_retriever_ranks_the_same_conversation_in_another_order(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    person.tiles.nth(3).locator(".pick").click()
    with person.turn():
        person.box.fill(photos.but)
        person.box.press("Enter")
    before = person.shown
    chosen(person, "clip-t")
    expect(person.page.get_by_role("button", name="How to search: clip-t")).to_be_visible()
    assert person.shown != before
    assert person.shown[:10] == person.ranking(2, retriever="clip-t")[:10]
    person.hear("Ranked by clip-t")
    chosen(person, "composer")
    assert person.shown == before


def test_nobody_asks_back_where_one_wants_it_so(person: Person, photos: Photos) -> None:
    chosen(person, "nobody")
    person.say(photos.first)
    assert person.tree()[1]["asked"] is None
    assert person.question.count() == 0


def test_filters_tell_how_many_pictures_each_would_leave(person: Person, photos: Photos) -> None:
    person.say(photos.first)
    person.page.get_by_role("button", name="Filters").click()
    facets = person.api("/collection/facets", {"where": {}})["facets"]
    # By folder, or by thing where all pictures lie in one folder (drawn ones do).
    column = next(each for each in facets if each["column"] in ("folder", "main_object") and len(each["values"]) > 1)
    value = column["values"][0]
    name = re.compile(f"^{value['value']}: {value['count']} pictures?$")
    person.page.get_by_role("button", name=name).click()
    person.rest()
    expect(person.page.locator(".total")).to_have_text(f"{value['count']} pictures")
    assert len(person.ranking()) == value["count"]
    assert person.shown[:5] == person.ranking()[:5]
    person.page.get_by_role("button", name=f"Remove the filter {column['column']}: {value['value']}").click()
    expect(person.page.locator(".total")).to_have_text(f"{len(photos.files)} pictures")


def test_numbers_are_filtered_from_the_least_to_the_greatest(person: Person, photos: Photos, watched: Watched) -> None:
    if photos.captions is None:
        pytest.skip("the photographs are not here, and drawn pictures have no column of many numbers")
    person.say(photos.first)
    person.page.get_by_role("button", name="Filters").click()
    least, greatest = (person.page.get_by_label(f"{end} photo id") for end in ("Least", "Greatest"))
    expect(least).to_have_attribute("placeholder", "0.5")
    expect(greatest).to_have_attribute("placeholder", f"{len(photos.files) - 1}.5")
    least.fill("30")
    least.press("Tab")
    expect(person.page.locator(".total")).to_have_text(f"{len(photos.files) - 30} pictures")
    expect(greatest).to_be_focused()
    greatest.fill("40,5")
    greatest.press("Enter")
    expect(person.page.locator(".total")).to_have_text("11 pictures")
    watched.expected = ("422",)
    greatest.fill("none")
    greatest.press("Enter")
    expect(person.page.get_by_text("No picture has photo id")).to_be_visible()
    expect(person.page.locator(".total")).to_have_text("11 pictures")
    least.fill("")
    greatest.fill("")
    greatest.press("Enter")
    expect(person.page.locator(".total")).to_have_text(f"{len(photos.files)} pictures")
