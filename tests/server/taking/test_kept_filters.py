"""Searches among what people keep: an album, favourites, stars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.server.taking.conftest import Served

NOBODY = "00000000-0000-0000-0000-000000000000"


def found(answer: Any) -> set[str]:
    return {hit["id"] for hit in answer["results"]}


def album(served: Any, *pictures: str) -> str:
    id = str(served.post("/albums", {"name": f"album {len(pictures)}"})["id"])
    served.post(f"/albums/{id}/pictures", {"add": list(pictures)})
    return id


def test_a_search_looks_among_the_pictures_of_an_album_and_those_that_are_marked(served: Served) -> None:
    one, two, three, four = served.ids[:4]
    id = album(served, one, two, three)
    served.post("/marks", {"pictures": [two, four], "favourite": True})
    served.post("/marks", {"pictures": [two], "stars": 3})
    served.post("/marks", {"pictures": [three], "stars": 5})
    for where, wanted in (
        ({"album": id}, {one, two, three}),
        ({"favourite": "yes"}, {two, four}),
        ({"stars": "3"}, {two, three}),
        ({"stars": "4"}, {three}),
        ({"album": id, "Favourite": "Yes "}, {two}),
        (
            {"album": id, "colour": served.drawings[0].top},
            {i for i, it in zip(served.ids[:3], served.drawings[:3], strict=True) if it.top == served.drawings[0].top},
        ),
    ):
        assert found(served.post("/search", {"text": "red", "where": where})) == wanted, where
        assert found(served.post("/search", {"where": where})) == wanted, where
        browsed = served.post("/pictures/browse", {"where": where})
        assert {it["id"] for it in browsed["pictures"]} == wanted and browsed["total"] == len(wanted)
        assert served.post("/collection/facets", {"where": where})["total"] == len(wanted)


def test_a_conversation_follows_its_album_and_outlives_it(served: Served) -> None:
    one, two, three = served.ids[:3]
    id = album(served, one, two)
    session = served.post("/sessions", {"where": {"album": id}, "questioner": "none"})
    assert session["where"] == {"album": id}
    where = f"/sessions/{session['id']}"
    assert found(served.post(f"{where}/turns", {"say": "red"})) == {one, two}
    served.post(f"/albums/{id}/pictures", {"add": [three], "remove": [one]})
    assert found(served.get(f"{where}/turns/1")) == {two, three}
    assert found(served.post(f"{where}/turns", {"say": "blue"})) == {two, three}
    served.ask("DELETE", f"/albums/{id}")
    assert found(served.post(f"{where}/turns", {"say": "green"})) == set()
    served.post(where, {"where": {"favourite": "yes"}}, "PATCH")
    served.post("/marks", {"pictures": [one], "favourite": True})
    assert found(served.post(f"{where}/turns", {"say": "yellow"})) == {one}


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ({"album": NOBODY}, "there is no album"),
        ({"favourite": "no"}, "favourite: write `yes`"),
        ({"stars": "6"}, "1 to 5"),
        ({"stars": "3.."}, "1 to 5"),
        ({"album": "Holidays"}, "Holidays"),
    ],
)
def test_a_condition_that_means_nothing_is_told(unchanged: Served, where: dict[str, str], told: str) -> None:
    for path in ("/search", "/pictures/browse", "/collection/facets", "/sessions"):
        assert told in unchanged.fails(422, "POST", path, {"where": where})["detail"], path


def test_everybody_searches_among_what_is_theirs(served: Served) -> None:
    ada, bob = served.someone("ada", "read", "write"), served.someone("bob", "read", "write")
    one, two = served.ids[:2]
    id = album(ada, one)
    ada.post("/marks", {"pictures": [one], "favourite": True})
    served.post("/marks", {"pictures": [two], "favourite": True})
    bob.fails(422, "POST", "/search", {"where": {"album": id}})
    assert found(served.post("/search", {"where": {"album": id}})) == {one}  # admins see it
    favourites = {"where": {"favourite": "yes"}, "questioner": "none"}
    for person, wanted in (
        (ada, {one}),
        (bob, set()),
        (served, {two}),
        (served.someone("chief", "read", "write", "admin"), {two}),
    ):
        session = person.post("/sessions", favourites)["id"]
        assert found(person.post(f"/sessions/{session}/turns", {"say": "red"})) == wanted


def test_a_column_of_the_catalogue_keeps_its_name(
    tmp_path: Any, draw: Callable[..., Any], serve: Callable[..., Served]
) -> None:
    library, drawings = draw(4)
    table = tmp_path / "stars.csv"
    table.write_text("file,stars\n" + "".join(f"{it.path.name},{at}\n" for at, it in enumerate(drawings)))
    library.add(tmp_path / "pictures", catalogue=table, workers=1)
    served = serve(library, drawings)
    assert found(served.post("/search", {"where": {"stars": "0"}})) == {served.ids[0]}
