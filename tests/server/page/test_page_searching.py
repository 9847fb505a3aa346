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
    person.like(3)
    with person.turn():
        person.box.fill(photos.but)
        person.box.press("Enter")
    before = person.shown
    chosen(person, "Words alone")
    expect(person.page.get_by_role("button", name="How to search: Words alone")).to_be_visible()
    assert person.shown != before
    assert person.shown[:10] == person.ranking(2, retriever="clip-t")[:10]
    person.hear("Ranked by Words alone")
    chosen(person, "Everything together")
    assert person.shown == before


def test_nobody_asks_back_where_one_wants_it_so(person: Person, photos: Photos) -> None:
    chosen(person, "nobody")
    person.say(photos.first)
    assert person.tree()[1]["asked"] is None
    assert person.question.count() == 0


def expect_count(person: Person, count: int) -> None:
    """The bar says of how many pictures these are the results, and how many of them fit."""
    expect(person.page.locator(".total")).to_have_text(re.compile(rf"(^| of ){count}( pictures)?$"))


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
    expect_count(person, value["count"])
    assert len(person.ranking()) == value["count"]
    assert person.shown[:5] == person.ranking()[:5]
    called = "Folders" if column["column"] == "folder" else column["column"].replace("_", " ")
    person.page.get_by_role("button", name=f"Remove the filter {called}: {value['value']}").click()
    expect_count(person, len(photos.files))


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
    expect_count(person, len(photos.files) - 30)
    expect(greatest).to_be_focused()
    greatest.fill("40,5")
    greatest.press("Enter")
    expect_count(person, 11)
    watched.expected = ("422",)
    greatest.fill("none")
    greatest.press("Enter")
    expect(person.page.get_by_text("No picture has photo id")).to_be_visible()
    expect_count(person, 11)
    least.fill("")
    greatest.fill("")
    greatest.press("Enter")
    expect_count(person, len(photos.files))
