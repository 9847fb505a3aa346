"""Attributes of a picture over HTTP: what a retriever sees in it, and what is said to count instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from PIL import Image

import viewfinder.library
import viewfinder.retrievers
from viewfinder.library import Library
from viewfinder.retrievers.fashioniq.retriever import FashionIq, load
from viewfinder.server.access.tokens import LOCAL
from viewfinder.server.app import create_app
from viewfinder.server.conversations.schemas import SessionIn
from viewfinder.server.settings import ServerSettings
from viewfinder.session.session import Session
from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.testing import COLOURS, RAW_WIDTH, ColourEncoder, draw_halves, load_colour_encoder

API = "/api/v1"
LOOKS = [(top, bottom) for top in COLOURS for bottom in COLOURS]
CHOSEN = ["wool", "hooded"]

Save = Callable[[Path, str, int], Path]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The 64 pairs of colours, p000 to p063, which have no files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        library, encoder = Library.open(tmp_path_factory.mktemp("pairs") / "library.vf"), ColourEncoder()
        rows = [
            PictureRow(f"p{at:03}", (FileRecord(f"/nowhere/{at}.png", 1, 1),), 24, 16, "PNG", 1)
            for at in range(len(LOOKS))
        ]
        raw_nd = encoder.pictures([draw_halves(top, bottom) for top, bottom in LOOKS]).global_bd
        library.store.add(rows, {encoder.raw_version: raw_nd, encoder.version: encoder.project(raw_nd)})
        library.switch(encoder.version, None)
        yield library


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory, save_fashioniq: Save) -> FashionIq:
    """A fashioniq of random numbers that reads 8 attributes of a picture."""
    file = tmp_path_factory.mktemp("weights") / "fashioniq.safetensors"
    return load(save_fashioniq(file, ColourEncoder.raw_version, RAW_WIDTH))


@pytest.fixture(scope="module")
def client(pairs: Library, reader: FashionIq) -> Iterator[TestClient]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(viewfinder.retrievers.RETRIEVERS, "fashioniq", lambda checkpoint: reader)
        app = create_app(pairs, ServerSettings(_env_file=None))
        with TestClient(app, base_url="http://127.0.0.1:8008", client=("127.0.0.1", 50000)) as made:
            yield made


def begun(client: TestClient, retriever: str = "fashioniq") -> str:
    """The path of a new conversation, in which nobody asks back."""
    given = {"retriever": retriever, "questioner": "none", "n": 64}
    return f"{API}/sessions/{client.post(f'{API}/sessions', json=given).json()['id']}"


def order(answer: Any) -> list[str]:
    assert answer.status_code < 300, answer.text
    return [hit["id"] for hit in answer.json()["results"]]


def sent(client: TestClient, top: str, bottom: str) -> str:
    """The id of an upload: the picture of two colours."""
    file = BytesIO()
    Image.fromarray(draw_halves(top, bottom)).save(file, "PNG")
    return str(client.post(f"{API}/uploads", files={"file": ("mine.png", file.getvalue())}).json()["id"])


def test_who_reads_attributes_is_listed_as_such(client: TestClient) -> None:
    listed = client.get(f"{API}/retrievers").json()["retrievers"]
    reads = {info["name"]: info["reads"] for info in listed}
    assert reads.pop("fashioniq") == ["attributes"]
    assert set(map(tuple, reads.values())) == {()}


def test_attributes_are_told_as_the_session_reads_them(client: TestClient, pairs: Library, reader: FashionIq) -> None:
    told = client.get(f"{begun(client)}/pictures/p009/attributes").json()
    session = Session(pairs, reader, None)
    expected = session.attribute_chances("p009")
    names = [each["name"] for each in told["attributes"]]
    chances = [each["chance"] for each in told["attributes"]]
    assert tuple(names) == session.attributes_of("p009") and len(names) == 8
    assert chances == pytest.approx(list(expected.values()), abs=1e-4)
    assert chances == sorted(chances, reverse=True) and 0 < chances[-1] < chances[0] < 1
    assert reader.reads.predictor is not None
    assert told["known"] == sorted(reader.reads.predictor.labels) and len(told["known"]) == 13


def test_a_picture_is_looked_at_before_there_is_a_conversation(client: TestClient) -> None:
    conversation = client.get(f"{begun(client)}/pictures/p011/attributes").json()
    assert client.get(f"{API}/retrievers/fashioniq/attributes", params={"like": "p011"}).json() == conversation


def test_an_upload_has_the_attributes_of_the_picture_that_it_is(client: TestClient) -> None:
    address = f"{API}/retrievers/fashioniq/attributes"
    (top, bottom), id = LOOKS[20], "p020"
    mine = client.get(address, params={"show": sent(client, top, bottom)}).json()
    theirs = client.get(address, params={"like": id}).json()
    assert [each["name"] for each in mine["attributes"]] == [each["name"] for each in theirs["attributes"]]
    chances = [[each["chance"] for each in told["attributes"]] for told in (mine, theirs)]
    assert chances[0] == pytest.approx(chances[1], abs=0.002)


def test_nothing_is_told_by_who_reads_none(client: TestClient) -> None:
    nothing: dict[str, list[Any]] = {"attributes": [], "known": []}
    assert client.get(f"{begun(client, 'composer')}/pictures/p003/attributes").json() == nothing
    for given in ({"like": "p003"}, {"show": sent(client, "red", "blue")}):
        assert client.get(f"{API}/retrievers/clip-t/attributes", params=given).json() == nothing


def test_nothing_is_told_in_a_blind_study(client: TestClient) -> None:
    conversations = client.app.state.services.conversations  # type: ignore[attr-defined]  # as a study begins a conversation
    id = conversations.create(LOCAL, SessionIn(retriever="fashioniq"), hidden=True).id
    assert client.get(f"{API}/sessions/{id}/pictures/p003/attributes").json() == {"attributes": [], "known": []}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/sessions/none/pictures/p003/attributes", 404),
        ("/retrievers/fashioniq/attributes?like=p999", 404),
        ("/retrievers/clip-t/attributes?like=p999", 404),
        ("/retrievers/nobody/attributes?like=p003", 422),
        ("/retrievers/fashioniq/attributes?show=none", 422),
        ("/retrievers/fashioniq/attributes", 422),
        ("/retrievers/fashioniq/attributes?like=p003&show=none", 422),
    ],
)
def test_what_is_not_there_has_no_attributes(client: TestClient, path: str, status: int) -> None:
    assert client.get(API + path).status_code == status


def test_a_picture_that_is_not_there_is_not_found_in_a_conversation(client: TestClient) -> None:
    assert client.get(f"{begun(client)}/pictures/p999/attributes").status_code == 404


def test_attributes_of_a_turn_count_in_place_of_those_that_are_seen(
    client: TestClient, pairs: Library, reader: FashionIq
) -> None:
    conversation, plain = begun(client), begun(client)
    turn = {"like": "p009", "but": "is darker", "attributes": CHOSEN}
    changed = client.post(f"{conversation}/turns", json=turn)
    session = Session(pairs, reader, None, n=64)
    assert order(changed) == [hit.id for hit in session.like("p009", "is darker", attributes=CHOSEN)]
    assert order(changed) != order(client.post(f"{plain}/turns", json={"like": "p009", "but": "is darker"}))
    node = client.get(conversation).json()["tree"][1]
    assert node["turn"] == turn
    assert "wool, hooded" in node["told"]


def test_those_that_are_seen_may_be_said_as_well(client: TestClient) -> None:
    conversation, plain = begun(client), begun(client)
    seen = [each["name"] for each in client.get(f"{conversation}/pictures/p030/attributes").json()["attributes"]]
    said = client.post(f"{conversation}/turns", json={"like": "p030", "but": "red", "attributes": seen})
    assert order(said) == order(client.post(f"{plain}/turns", json={"like": "p030", "but": "red"}))


def test_no_attributes_is_something_else_than_those_that_are_seen(client: TestClient) -> None:
    conversation, plain = begun(client), begun(client)
    none = client.post(f"{conversation}/turns", json={"like": "p009", "but": "red", "attributes": []})
    assert order(none) != order(client.post(f"{plain}/turns", json={"like": "p009", "but": "red"}))
    assert client.get(conversation).json()["tree"][1]["turn"]["attributes"] == []


def test_a_turn_that_is_said_in_another_way_keeps_its_attributes_or_gets_others(client: TestClient) -> None:
    conversation = begun(client)
    client.post(f"{conversation}/turns", json={"like": "p009", "but": "red", "attributes": CHOSEN})
    edited = client.put(
        f"{conversation}/turns/1", json={"like": "p009", "but": "is darker", "attributes": ["wool"]}
    ).json()
    number = edited["results"]["turn"]
    assert client.get(conversation).json()["tree"][number]["turn"]["attributes"] == ["wool"]


def test_an_exported_conversation_is_taken_up_with_its_attributes(client: TestClient) -> None:
    conversation = begun(client)
    client.post(f"{conversation}/turns", json={"show": sent(client, "red", "blue"), "attributes": CHOSEN})
    again = client.post(f"{API}/sessions/import", json=client.get(f"{conversation}/export").json()).json()
    assert again["tree"][1]["turn"]["attributes"] == CHOSEN


def test_a_search_without_a_conversation_takes_attributes_too(client: TestClient) -> None:
    turn = {"like": "p009", "but": "is darker", "attributes": CHOSEN}
    said = client.post(f"{begun(client)}/turns", json=turn)
    given = {"text": "is darker", "retriever": "fashioniq", "n": 64}
    once = client.post(f"{API}/search", json={**given, "like": "p009", "attributes": CHOSEN})
    assert order(once) == order(said)
    mine = {**given, "show": sent(client, "red", "blue")}
    shown = [client.post(f"{API}/search", json={**mine, "attributes": these}) for these in (CHOSEN, None)]
    assert order(shown[0]) != order(shown[1])


def test_what_is_not_taken_in_is_said(client: TestClient) -> None:
    unread = client.post(f"{begun(client, 'composer')}/turns", json={"like": "p009", "attributes": CHOSEN}).json()
    assert unread["adapters"] == ["drop: the attributes in turn 1: composer reads none"]
    unknown = client.post(f"{begun(client)}/turns", json={"like": "p009", "attributes": ["wool", "sarong"]}).json()
    assert any("sarong" in line for line in unknown["adapters"])


@pytest.mark.parametrize("attributes", ["wool", [""], [" "], ["a\0b"], ["wool", 3], ["x" * 201], ["wool"] * 101])
def test_attributes_are_a_list_of_a_few_words(client: TestClient, attributes: object) -> None:
    answer = client.post(f"{begun(client)}/turns", json={"like": "p009", "attributes": attributes})
    assert answer.status_code == 422
