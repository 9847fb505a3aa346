"""Words as server-sent events, and leaning, over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

import viewfinder.library
import viewfinder.retrievers
from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings
from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.testing import COLOURS, ColourEncoder, draw_halves, load_colour_encoder

SESSIONS = "/api/v1/sessions"
HEARD = ["I have", " heard", " 'red'", " 'blue?'", "."]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, talker: Callable[..., Any]) -> Iterator[TestClient]:
    """A server over one picture a colour, which has a retriever that speaks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        patch.setitem(viewfinder.retrievers.RETRIEVERS, "talker", lambda checkpoint: talker())
        library, encoder = Library.open(tmp_path_factory.mktemp("replies") / "library.vf"), ColourEncoder()
        rows = [PictureRow(name, (FileRecord(f"/{name}.png", 1, 1),), 24, 16, "PNG", 1) for name in COLOURS]
        raw_nd = encoder.pictures([draw_halves(name, name) for name in COLOURS]).global_bd
        library.store.add(rows, {encoder.raw_version: raw_nd, encoder.version: encoder.project(raw_nd)})
        library.switch(encoder.version, None)
        app = create_app(library, ServerSettings(_env_file=None))
        with TestClient(app, base_url="http://127.0.0.1:8008", client=("127.0.0.1", 50000)) as client:
            yield client


@pytest.fixture
def conversation(client: TestClient) -> str:
    """The address of a conversation whose second turn is answered in words."""
    made = client.post(SESSIONS, json={"retriever": "talker", "questioner": "none", "n": 3})
    address = f"{SESSIONS}/{made.json()['id']}"
    for said in ("red", "blue?"):
        assert client.post(f"{address}/turns", json={"say": said}).status_code == 201
    return address


def events(text: str) -> list[tuple[str, Any]]:
    blocks = [
        dict(line.split(": ", 1) for line in block.splitlines()) for block in text.replace("\r", "").split("\n\n")
    ]
    return [(block["event"], json.loads(block["data"])) for block in blocks if "event" in block]


def test_words_are_events_as_they_are_written(client: TestClient, conversation: str) -> None:
    answer = client.get(f"{conversation}/turns/2/reply/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    words = [("words", {"text": piece}) for piece in HEARD]
    assert events(answer.text) == [*words, ("done", {"text": "".join(HEARD)})]
    assert client.get(f"{conversation}/turns/2").json()["answer"] == {"with": "words", "text": "".join(HEARD)}


@pytest.mark.parametrize("heard", range(0, len("".join(HEARD)) + 1, 4))
def test_words_after_the_last_one_heard_are_sent(client: TestClient, conversation: str, heard: int) -> None:
    answer = client.get(f"{conversation}/turns/2/reply/events", headers={"Last-Event-ID": str(heard)})
    *words, last = events(answer.text)
    assert "".join(data["text"] for _, data in words) == "".join(HEARD)[heard:]
    assert last == ("done", {"text": "".join(HEARD)})


def test_there_are_none_where_pictures_are_the_answer(client: TestClient, conversation: str) -> None:
    assert client.get(f"{conversation}/turns/1").json()["answer"] == {"with": "pictures", "text": None}
    assert events(client.get(f"{conversation}/turns/1/reply/events").text) == [("done", {"text": ""})]
    assert client.get(f"{conversation}/turns/9/reply/events").status_code == 404


def test_a_turn_and_an_edit_are_answered_with_an_answer(client: TestClient, conversation: str) -> None:
    taken = client.post(f"{conversation}/turns", json={"say": "green?"}).json()
    edited = client.put(f"{conversation}/turns/2", json={"say": "blue"}).json()
    assert taken["answer"] == {"with": "words", "text": None}
    assert edited["results"]["answer"] == {"with": "words", "text": None}  # the last turn still is a question
    assert "'blue' 'green?'" in client.get(f"{conversation}/turns/{edited['results']['turn']}/reply/events").text


def test_the_leaning_is_set_and_changed_and_has_bounds(client: TestClient, conversation: str) -> None:
    assert client.get(conversation).json()["leaning"] is None
    assert client.patch(conversation, json={"leaning": 2}).json()["leaning"] == 2.0
    assert client.get(f"{conversation}/turns/2").json()["answer"] == {"with": "pictures", "text": None}
    for wrong in (1001, "much", True):
        assert client.patch(conversation, json={"leaning": wrong}).status_code == 422
    made = client.post(SESSIONS, json={"retriever": "talker", "leaning": -1000})
    assert (made.status_code, made.json()["leaning"]) == (201, -1000.0)


def test_two_listen_to_the_same_words_at_once(client: TestClient, conversation: str) -> None:
    heard: list[str] = []
    threads = [
        threading.Thread(target=lambda: heard.append(client.get(f"{conversation}/turns/2/reply/events").text))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [events(text)[-1] for text in heard] == [("done", {"text": "".join(HEARD)})] * 2
