"""Albums, favourites and stars over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.taking.conftest import Served
from viewfinder.library import Library
from viewfinder.testing import TinyPicture

NOBODY = "00000000-0000-0000-0000-000000000000"


def album(served: Served, name: str = "Summer", *pictures: str) -> str:
    id = str(served.post("/albums", {"name": name})["id"])
    if pictures:
        served.post(f"/albums/{id}/pictures", {"add": list(pictures)})
    return id


def test_an_album_is_made_filled_renamed_and_deleted_and_no_picture_is_lost(served: Served) -> None:
    made = served.post("/albums", {"name": "  Sommer 2019  "})
    assert (made["name"], made["pictures"], made["missing"], made["cover"]) == ("Sommer 2019", 0, 0, None)
    one, two, three = served.ids[:3]
    changed = served.post(f"/albums/{made['id']}/pictures", {"add": [two, one, NOBODY], "remove": [three]})
    assert (changed["added"], changed["removed"], changed["unknown"]) == (2, 0, [NOBODY])
    assert (changed["pictures"], changed["cover"]) == (2, two)
    assert served.post(f"/albums/{made['id']}", {"name": "Winter"}, "PATCH")["name"] == "Winter"
    [listed] = served.get("/albums")["albums"]
    assert (listed["name"], listed["pictures"], listed["cover"], listed["own"]) == ("Winter", 2, two, True)
    assert served.ask("DELETE", f"/albums/{made['id']}").status_code == 204
    served.fails(404, "DELETE", f"/albums/{made['id']}")
    served.fails(404, "GET", f"/albums/{made['id']}")
    assert served.get("/albums") == {"albums": []}
    assert served.get("/collection")["pictures"] == 8 and served.get(f"/pictures/{one}")["id"] == one


def test_an_albums_pictures_come_in_pages_in_the_order_in_which_they_were_added(served: Served) -> None:
    wanted = served.ids[::-1]
    id = album(served, "all", *wanted)
    seen: list[dict[str, Any]] = []
    cursor: str | None = None
    while cursor is not None or not seen:
        page = served.get(f"/albums/{id}", params={"n": 3, **({} if cursor is None else {"cursor": cursor})})
        assert page["total"] == page["pictures"] == 8
        seen += page["results"]
        cursor = page["next"]
    assert [hit["id"] for hit in seen] == wanted
    assert [hit["rank"] for hit in seen] == list(range(1, 9))
    assert seen[0]["name"] == served.drawings[-1].path.name and seen[0]["caption"] == served.drawings[-1].caption
    assert served.fails(422, "GET", f"/albums/{id}", params={"cursor": "x"})["detail"].startswith("this cursor")


def test_a_second_album_of_a_name_is_refused_with_the_id_of_the_first(served: Served) -> None:
    id = album(served)
    told = served.fails(409, "POST", "/albums", {"name": "Summer"})
    assert (told["type"], told["album"]) == ("urn:viewfinder:problem:name-taken", id)
    other = album(served, "Winter")
    assert served.fails(409, "PATCH", f"/albums/{other}", {"name": "Summer"})["album"] == id


@pytest.mark.parametrize("name", ["", "   ", "a\x00b", "a\nb", "x" * 201, None, 5])
def test_a_name_that_is_none_is_refused(unchanged: Served, name: object) -> None:
    assert unchanged.fails(422, "POST", "/albums", {"name": name})["detail"].startswith("body.name")


@pytest.mark.parametrize("id", ["nobody", NOBODY, "..%2f", "%00", "x" * 64])
def test_what_is_no_album_is_not_found(unchanged: Served, id: str) -> None:
    for method, path, body in (
        ("GET", f"/albums/{id}", None),
        ("PATCH", f"/albums/{id}", {"name": "x"}),
        ("DELETE", f"/albums/{id}", None),
        ("POST", f"/albums/{id}/pictures", {"add": []}),
    ):
        unchanged.fails(404, method, path, body)


def test_marks_are_set_read_and_taken_away(served: Served) -> None:
    one, two = served.ids[:2]
    id = album(served, "Best", one)
    told = served.post("/marks", {"pictures": [one, two, NOBODY], "favourite": True})
    assert told["unknown"] == [NOBODY] and set(told["marks"]) == {one, two}
    served.post("/marks", {"pictures": [two], "stars": 4, "favourite": None})
    assert served.get("/marks", params={"ids": f"{one},{two},{NOBODY}"})["marks"] == {
        one: {"favourite": True, "stars": 0, "albums": [id]},
        two: {"favourite": True, "stars": 4, "albums": []},
        NOBODY: {"favourite": False, "stars": 0, "albums": []},
    }
    served.post("/marks", {"pictures": [one, two], "favourite": False, "stars": 0})
    assert served.get("/marks", params={"ids": two})["marks"][two] == {"favourite": False, "stars": 0, "albums": []}


@pytest.mark.parametrize(
    "wrong",
    [
        {"pictures": [], "stars": 1},
        {"pictures": ["a"]},
        {"pictures": ["a"], "stars": 6},
        {"pictures": ["a"], "stars": -1},
        {"pictures": ["a"], "stars": True},
        {"pictures": ["a"], "favourite": 1},
        {"pictures": ["a"], "favourite": "yes"},
        {"pictures": "a", "stars": 1},
        {"pictures": ["a"] * 10_001, "stars": 1},
    ],
)
def test_marks_that_mean_nothing_are_refused(unchanged: Served, wrong: object) -> None:
    unchanged.fails(422, "POST", "/marks", wrong)


def test_many_pictures_are_marked_in_one_request_and_too_many_read_in_one_refused(served: Served) -> None:
    ids = [f"{number:036}" for number in range(10_000)]
    assert len(served.post("/marks", {"pictures": [*ids[1:], served.ids[0]], "stars": 2})["unknown"]) == 9_999
    assert "500" in served.fails(422, "GET", "/marks", params={"ids": ",".join(ids[:501])})["detail"]


def test_what_others_keep_is_theirs_and_admins_share_the_librarys(served: Served) -> None:
    ada, bob = served.someone("ada", "read", "write"), served.someone("bob", "read", "write")
    chief, picture = served.someone("chief", "read", "write", "admin"), served.ids[0]
    theirs = ada.post("/albums", {"name": "Summer"})["id"]
    ada.post(f"/albums/{theirs}/pictures", {"add": [picture]})
    ada.post("/marks", {"pictures": [picture], "stars": 5})
    assert bob.get("/albums") == {"albums": []}
    for method, path in (("GET", f"/albums/{theirs}"), ("DELETE", f"/albums/{theirs}")):
        bob.fails(404, method, path)
    bob.fails(404, "PATCH", f"/albums/{theirs}", {"name": "x"})
    bob.fails(404, "POST", f"/albums/{theirs}/pictures", {"remove": [picture]})
    assert bob.get("/marks", params={"ids": picture})["marks"][picture] == {
        "favourite": False,
        "stars": 0,
        "albums": [],
    }

    mine = served.post("/albums", {"name": "Summer"})["id"]  # of the same name as Ada's
    served.post("/marks", {"pictures": [picture], "favourite": True})
    assert {(it["id"], it["own"]) for it in chief.get("/albums")["albums"]} == {(mine, True), (theirs, False)}
    assert chief.get("/marks", params={"ids": picture})["marks"][picture]["favourite"] is True
    assert [it["id"] for it in ada.get("/albums")["albums"]] == [theirs]
    assert ada.get("/marks", params={"ids": picture})["marks"][picture] == {
        "favourite": False,
        "stars": 5,
        "albums": [theirs],
    }


def wait_for_pictures(served: Served, count: int) -> None:
    end = time.monotonic() + 120
    while served.get("/collection")["pictures"] != count:
        assert time.monotonic() < end
        served.app.state.services.library.look_now()
        time.sleep(0.05)


def test_an_album_keeps_the_place_of_a_picture_that_leaves_the_library_until_it_comes_back(
    draw: Callable[..., tuple[Library, list[TinyPicture]]], serve: Callable[..., Served], tmp_path: Path
) -> None:
    library, drawings = draw()
    served = serve(library, drawings)
    one, two, three = served.ids[:3]
    id = album(served, "Summer", one, two, three)
    served.post("/marks", {"pictures": [one], "stars": 3})
    Library.open(library.folder, create=False).remove(one)
    wait_for_pictures(served, 7)
    told = served.get(f"/albums/{id}")
    assert [hit["id"] for hit in told["results"]] == [two, three]
    assert (told["pictures"], told["missing"], told["cover"]) == (2, 1, two)
    assert served.post(f"/albums/{id}/pictures", {"add": [one]})["unknown"] == [one]
    Library.open(library.folder, create=False).add(tmp_path / "pictures", workers=1)
    wait_for_pictures(served, 8)
    told = served.get(f"/albums/{id}")
    assert [hit["id"] for hit in told["results"]] == [one, two, three]
    assert (told["pictures"], told["missing"], told["cover"]) == (3, 0, one)
    assert served.get("/marks", params={"ids": one})["marks"][one]["stars"] == 3


def test_an_empty_library_has_albums_too(serve: Callable[..., Served], tmp_path: Path) -> None:
    served = serve(Library.open(tmp_path / "empty"), [])
    id = album(served)
    assert served.post(f"/albums/{id}/pictures", {"add": ["x"]})["unknown"] == ["x"]
    page = served.get(f"/albums/{id}")
    assert (page["results"], page["total"], page["next"], page["missing"]) == ([], 0, None, 0)
