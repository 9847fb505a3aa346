"""The collection as a whole over HTTP: months, folders, places, order by date, and what a typed filter may become."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.session.dated import draw_photos
from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings
from viewfinder.store.folder_trees import name_folders
from viewfinder.testing import tiny_pictures

API = "/api/v1"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Tests leave its library as it is."""
    home = tmp_path_factory.mktemp("overview")
    draw_photos(home / "pictures")
    Library.open(home / "library.vf").add(home / "pictures")
    settings = ServerSettings(database_url=f"sqlite:///{home / 'server.sqlite3'}", _env_file=None)
    with TestClient(
        create_app(Library.open(home / "library.vf"), settings),
        base_url="http://localhost",
        client=("127.0.0.1", 50000),
    ) as opened:
        yield opened


@pytest.fixture
def empty_client(tmp_path: Path) -> Iterator[TestClient]:
    settings = ServerSettings(database_url=f"sqlite:///{tmp_path / 'server.sqlite3'}", _env_file=None)
    app = create_app(Library.open(tmp_path / "empty.vf"), settings)
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 50000)) as opened:
        yield opened


def ask(client: TestClient, path: str, body: dict[str, Any] | None = None) -> Any:
    answer = client.get(f"{API}{path}") if body is None else client.post(f"{API}{path}", json=body)
    assert answer.is_success, answer.text
    return answer.json()


def test_the_timeline_counts_by_month(client: TestClient) -> None:
    told = ask(client, "/collection/timeline", {})
    assert told == {
        "total": 8,
        "undated": 3,
        "stretches": [
            {"stretch": "2007-07", "pictures": 3},
            {"stretch": "2019-01", "pictures": 1},
            {"stretch": "2019-02", "pictures": 1},
        ],
    }


def test_the_timeline_keeps_to_all_filters_but_its_own(client: TestClient) -> None:
    where = {"camera": "Canon EOS 5D", "captured": "2019"}
    told = ask(client, "/collection/timeline", {"where": where})
    assert [one["stretch"] for one in told["stretches"]] == ["2007-07", "2019-01"]


def test_folders_are_a_tree_with_counts_that_filters_by_path(client: TestClient) -> None:
    top = ask(client, "/collection/folder-tree", {})["folders"]
    assert [(one["name"], one["path"], one["pictures"], one["has_folders"]) for one in top] == [
        ("2007-07 Italy", "2007-07 Italy", 3, False),
        ("2019 Skiing", "2019 Skiing", 2, False),
        ("Old", "Old", 3, False),
    ]
    assert ask(client, "/pictures/browse", {"where": {"under": "2019 Skiing"}})["total"] == 2
    assert ask(client, "/collection/folder-tree", {"under": "Old"})["folders"] == []
    assert ask(client, "/collection/folder-tree", {"under": "../.."})["folders"] == []
    canon = ask(client, "/collection/folder-tree", {"where": {"camera": "Canon EOS 5D"}})["folders"]
    assert [one["pictures"] for one in canon] == [1, 1, 0]


def test_folders_are_named_below_the_innermost_that_has_all() -> None:
    assert name_folders(["/a/b/2008/Italy/Rome", "/a/b/2008", "/a/b/2009"]) == {
        "/a/b/2008/Italy/Rome": ("2008", "2008/Italy", "2008/Italy/Rome"),
        "/a/b/2008": ("2008",),
        "/a/b/2009": ("2009",),
    }


def test_two_places_on_a_machine_are_two_names_and_no_more_is_told() -> None:
    named = name_folders(["/home/anna/Pictures/2008", "/home/anna/Pictures/2009", "/mnt/disk/Pictures/x"])
    assert named == {
        "/home/anna/Pictures/2008": ("Pictures", "Pictures/2008"),
        "/home/anna/Pictures/2009": ("Pictures", "Pictures/2009"),
        "/mnt/disk/Pictures/x": ("x",),
    }
    assert name_folders(["/a/x/p/1", "/a/x/p/2", "/b/p/1", "/b/p/2"])["/b/p/1"] == ("p (2)", "p (2)/1")


def test_one_folder_alone_is_no_tree() -> None:
    assert name_folders(["/home/anna/Pictures"]) == {"/home/anna/Pictures": ()}


def test_pictures_near_one_another_are_one_place(client: TestClient) -> None:
    told = ask(client, "/collection/places", {})
    assert told["total"] == 1
    [lisbon] = told["clusters"]
    assert (round(lisbon["latitude"], 2), round(lisbon["longitude"], 2)) == (38.72, -9.14)
    assert (lisbon["pictures"], bool(lisbon["name"])) == (1, True)
    area = lisbon["area"]
    where = {"latitude": f"{area['south']}..{area['north']}", "longitude": f"{area['west']}..{area['east']}"}
    assert ask(client, "/pictures/browse", {"where": where})["total"] == 1
    far = {"area": {"south": 50, "west": 0, "north": 60, "east": 10}}
    assert ask(client, "/collection/places", far)["clusters"] == []


@pytest.mark.parametrize(
    "area",
    [
        {"south": 60, "west": 0, "north": 50, "east": 10},
        {"south": -91, "west": 0, "north": 50, "east": 10},
        {"south": 0, "west": 0, "north": 50},
    ],
)
def test_an_area_that_is_none_is_refused(client: TestClient, area: dict[str, float]) -> None:
    assert client.post(f"{API}/collection/places", json={"area": area}).status_code == 422


def test_an_empty_library_has_no_months_folders_places_nor_filters(empty_client: TestClient) -> None:
    assert ask(empty_client, "/collection/timeline", {})["stretches"] == []
    assert ask(empty_client, "/collection/folder-tree", {})["folders"] == []
    assert ask(empty_client, "/collection/places", {})["clusters"] == []
    assert ask(empty_client, "/collection/filters?text=cam")["filters"] == []


@pytest.mark.parametrize("path", ["timeline", "folder-tree", "places"])
def test_a_column_that_is_none_is_said(client: TestClient, path: str) -> None:
    answer = client.post(f"{API}/collection/{path}", json={"where": {"painter": "x"}})
    assert answer.status_code == 422
    assert "painter" in answer.json()["detail"]


def test_pictures_are_browsed_by_date_and_those_without_one_are_last(client: TestClient) -> None:
    newest = ask(client, "/pictures/browse", {"order": "newest"})["pictures"]
    oldest = ask(client, "/pictures/browse", {"order": "oldest"})["pictures"]
    assert [one["name"] for one in newest[:5]] == [f"IMG_000{number}.jpg" for number in (5, 4, 3, 2, 1)]
    assert [one["captured"] for one in oldest[:2]] == ["2007-07-03T10:00:00", "2007-07-14T11:00:00"]
    assert [one["captured"] for one in newest[5:]] == [one["captured"] for one in oldest[5:]] == [None] * 3
    pages, cursor = [], None
    for _ in range(3):
        page = ask(client, "/pictures/browse", {"order": "newest", "n": 3, **({"cursor": cursor} if cursor else {})})
        pages += page["pictures"]
        cursor = page["next"]
    assert [one["id"] for one in pages] == [one["id"] for one in newest]
    assert cursor is None


def test_years_and_months_are_in_their_order(client: TestClient) -> None:
    facets = {one["column"]: one["values"] for one in ask(client, "/collection/facets", {})["facets"]}
    assert [one["value"] for one in facets["year"]] == ["2007", "2019"]
    assert [one["value"] for one in facets["month"]] == ["January", "February", "July"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cam", [("camera:", None)]),
        ("camera:ca", [('camera:"Canon EOS 5D"', 2)]),
        ("-camera:ap", [('-camera:"Apple iPhone 8"', 1)]),
        ("camera:d80", [('camera:"NIKON CORPORATION NIKON D80"', 2)]),
        ("after:", [("after:2019", 2), ("after:2007", 3)]),
        ("after:2019", [("after:2019-02", 1), ("after:2019-01", 1)]),
        ("person:", [('person:"Anna Weber"', 2), ('person:"Ben Okafor"', 1)]),
        ('folder:"2007', [('folder:"2007-07 Italy"', 3)]),
        ("nothing:x", []),
        ("camera:zzz", []),
    ],
)
def test_a_typed_word_becomes_a_filter(client: TestClient, text: str, found: list[tuple[str, int | None]]) -> None:
    told = client.get(f"{API}/collection/filters", params={"text": text}).json()["filters"]
    assert [(one["text"], one["pictures"]) for one in told] == found


def test_each_suggestion_is_understood_when_it_is_said(client: TestClient) -> None:
    names = [one["text"] for one in ask(client, "/collection/filters?n=50")["filters"]]
    assert {"camera:", "after:", "person:", "place:", "folder:"} <= set(names)
    for name in names:
        for one in client.get(f"{API}/collection/filters", params={"text": name}).json()["filters"]:
            told = ask(client, "/search", {"text": one["text"]})
            if name not in ("after:", "before:"):
                assert told["total"] == one["pictures"], one


def test_a_filter_is_said_in_a_turn_and_its_chip_takes_it_back(client: TestClient) -> None:
    session = client.post(f"{API}/sessions", json={"questioner": "none"}).json()["id"]
    turn = ask(client, f"/sessions/{session}/turns", {"say": "camera:canon red"})
    assert turn["total"] == 2
    [fact] = turn["reading"]["facts"]
    assert (fact["words"], fact["filter"], fact["without"]) == ("camera:canon", True, "red")
    assert {"say": "red"} in [belief["without"] for belief in turn["beliefs"] if belief["label"] == "camera:canon"]
    wrong = client.post(f"{API}/sessions/{session}/turns", json={"say": "camera:leica"})
    assert wrong.status_code == 422
    assert "known are: " in wrong.json()["detail"]
    assert client.get(f"{API}/sessions/{session}").json()["turns"] == 1


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Six pictures: two products of two each, one without a page, and one picture that is of none."""
    home = tmp_path_factory.mktemp("shop")
    tiny_pictures(home / "pictures", 6)
    files = sorted((home / "pictures").rglob("*.png"))
    rows = [
        {"file": file.name, "product id": f"p{at // 2}", "name": f"Shirt {at // 2}", "price": "12.50 EUR", "link": link}
        for at, (file, link) in enumerate(
            zip(
                files[:5],
                ("https://shop.example/0",) * 2 + ("https://shop.example/1",) * 2 + ("javascript:alert(1)",),
                strict=True,
            )
        )
    ]
    library = Library.open(home / "library.vf")
    library.add(home / "pictures", catalogue=rows)
    settings = ServerSettings(database_url=f"sqlite:///{home / 'server.sqlite3'}", _env_file=None)
    with TestClient(
        create_app(Library.open(home / "library.vf"), settings),
        base_url="http://localhost",
        client=("127.0.0.1", 50000),
    ) as opened:
        yield opened


def test_pictures_of_a_product_are_folded_on_request(shop: TestClient) -> None:
    every = ask(shop, "/pictures/browse", {})
    folded = ask(shop, "/pictures/browse", {"fold": True})
    assert (every["total"], folded["total"]) == (6, 4)
    assert sorted(len(each["others"]) for each in folded["pictures"]) == [0, 0, 1, 1]
    shown = [each["id"] for each in folded["pictures"]] + [id for each in folded["pictures"] for id in each["others"]]
    assert sorted(shown) == sorted(each["id"] for each in every["pictures"])
    assert all(each["others"] == [] for each in every["pictures"])


def test_a_product_has_a_name_a_price_and_only_a_link_to_a_page(shop: TestClient) -> None:
    ids = [each["id"] for each in ask(shop, "/pictures/browse", {})["pictures"]]
    sold = ask(shop, "/pictures/products", {"ids": [*ids, "nobody"]})["products"]
    told = sorted((it["name"], it["price"], it["link"]) for it in sold.values())
    assert told == [
        ("Shirt 0", "12.50 EUR", "https://shop.example/0"),
        ("Shirt 0", "12.50 EUR", "https://shop.example/0"),
        ("Shirt 1", "12.50 EUR", "https://shop.example/1"),
        ("Shirt 1", "12.50 EUR", "https://shop.example/1"),
        ("Shirt 2", "12.50 EUR", None),
    ]


def test_a_product_has_no_labels_of_a_photograph(shop: TestClient) -> None:
    ids = [each["id"] for each in ask(shop, "/pictures/browse", {})["pictures"]]
    sold = ask(shop, "/pictures/products", {"ids": ids})["products"]
    labels = {id: ask(shop, f"/pictures/{id}")["tags"].keys() for id in ids}
    assert all(labels[id] <= {"colour", "kind"} for id in sold)
    assert ask(shop, "/pictures/seen", {"ids": list(sold)})["seen"].keys() == sold.keys()
    assert all(
        words[0].startswith("Shirt") for words in ask(shop, "/pictures/seen", {"ids": list(sold)})["seen"].values()
    )


def test_photographs_are_no_products(client: TestClient) -> None:
    ids = [each["id"] for each in ask(client, "/pictures/browse", {})["pictures"]]
    assert ask(client, "/pictures/products", {"ids": ids}) == {"products": {}}
