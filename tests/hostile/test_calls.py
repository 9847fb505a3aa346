"""What nobody in good faith would send, to every operation there is: none may break, and no answer may be undocumented.

In one process and on SQLite. Slow clients, those that leave and uploads are in access/, routes/ and images/.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

import viewfinder.library
from tests.hostile.calls import BODIES, GOOD, NAMES, TEXTS, with_texts, wrong_answer
from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings
from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.studies.extension import STUDIES
from viewfinder.testing import COLOURS, ColourEncoder, draw_halves, load_colour_encoder

API = "/api/v1"
ROOT_FOLDER = "/secret/folder"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The 64 pairs of colours, which have no files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        opened, encoder = Library.open(tmp_path_factory.mktemp("hostile") / "library.vf"), ColourEncoder()
        looks = [(top, bottom) for top in COLOURS for bottom in COLOURS]
        rows = [
            PictureRow(f"p{at:03}", (FileRecord(f"{ROOT_FOLDER}/{at}.png", 1, 1),), 24, 16, "PNG", 1)
            for at in range(len(looks))
        ]
        raw_nd = encoder.pictures([draw_halves(top, bottom) for top, bottom in looks]).global_bd
        opened.store.add(rows, {encoder.raw_version: raw_nd, encoder.version: encoder.project(raw_nd)})
        opened.switch(encoder.version, None)
        yield opened


@pytest.fixture(scope="module")
def client(library: Library) -> Iterator[TestClient]:
    """What is not foreseen is raised here, not answered with 500."""
    settings = ServerSettings(_env_file=None, originals=True, roots=(library.folder.parent,))
    with TestClient(
        create_app(library, settings, extensions=STUDIES),
        base_url="http://127.0.0.1:8008",
        client=("127.0.0.1", 50000),
    ) as client:
        yield client


@pytest.fixture(scope="module")
def conversation(client: TestClient) -> str:
    """The id of a conversation of one turn."""
    id = str(client.post(f"{API}/sessions", json={}).json()["id"])
    assert client.post(f"{API}/sessions/{id}/turns", json={"say": "red"}).status_code == 201
    return id


Operation = tuple[str, str, dict[str, Any]]


def operations(client: TestClient, *, body: bool = False) -> list[Operation]:
    """Method, path and description of all; or of those that take JSON."""
    paths = client.get(f"{API}/openapi.json").json()["paths"]
    found = [(method.upper(), path, it) for path, methods in paths.items() for method, it in methods.items()]
    return [one for one in found if not body or "application/json" in one[2].get("requestBody", {}).get("content", {})]


def judged(answer: Any, operation: dict[str, Any], sent: object) -> None:
    """As documented; a problem is a problem document; nothing of the machine is told."""
    kind = answer.headers.get("content-type", "")
    wrong = wrong_answer(operation, answer.status_code, kind, answer.text, (ROOT_FOLDER, "root:x:"))
    said = f"{operation['operationId']} {str(sent)[:80]!r}: {answer.status_code} {answer.text[:300]}"
    assert wrong is None and answer.status_code < 500 and "set-cookie" not in answer.headers, said


def address(path: str, conversation: str) -> str:
    """With the ids of things that are there."""
    named = path.replace("{id}", conversation).replace("{number}", "1").replace("{picture}", "p000")
    return re.sub(r"\{\w+\}", "nobody", named)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_no_address_leads_anywhere_it_should_not(client: TestClient, conversation: str, name: str) -> None:
    for method, path, operation in operations(client):
        for parameter in re.findall(r"\{\w+\}", path):
            asked = address(path.replace(parameter, name), conversation)
            judged(client.request(method, asked, json=GOOD.get(operation["operationId"])), operation, asked)


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_no_body_breaks_an_operation(client: TestClient, conversation: str, body: bytes) -> None:
    for method, path, operation in operations(client, body=True):
        answer = client.request(
            method, address(path, conversation), content=body, headers={"content-type": "application/json"}
        )
        judged(answer, operation, body)


def test_the_good_bodies_are_good(client: TestClient, conversation: str) -> None:
    named = {"join_study": 404, "take_trial_turn": 404, "end_trial": 404, "log_in": 401}
    named |= {"rename_album": 404, "change_album": 404, "open_picture": 410}
    unlike = {"prepare_retriever": 422, "add_folder": 422, "describe_pictures": 422}
    for method, path, operation in operations(client, body=True):
        name = operation["operationId"]
        answer = client.request(method, address(path, conversation), json=GOOD[name])
        expected = {**named, **unlike}.get(name)
        assert answer.status_code == expected or (expected is None and answer.is_success), (name, answer.text[:300])


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_no_text_breaks_an_operation_or_what_is_read_later(client: TestClient, conversation: str, text: str) -> None:
    for method, path, operation in operations(client, body=True):
        for body in with_texts(GOOD[operation["operationId"]], text):
            content = json.dumps(body).encode()  # half a surrogate pair as JSON can say it
            answer = client.request(
                method, address(path, conversation), content=content, headers={"content-type": "application/json"}
            )
            judged(answer, operation, body)
    for one in client.get(f"{API}/sessions", params={"n": 200}).json()["sessions"]:
        for end in ("", "/export", "/turns/0", "/turns/0/events"):
            assert client.get(f"{API}/sessions/{one['id']}{end}").status_code == 200
    for path in ("/albums", "/feedback", "/studies", "/tokens", "/collection/jobs", "/metrics"):
        assert client.get(f"{API}{path}").status_code == 200


@pytest.mark.parametrize("text", TEXTS[:-1], ids=range(len(TEXTS) - 1))
def test_no_query_breaks_an_operation(client: TestClient, conversation: str, text: str) -> None:
    for method, path, operation in operations(client):
        for parameter in (it["name"] for it in operation.get("parameters", ()) if it["in"] == "query"):
            given = {parameter: text.encode("utf-8", "surrogatepass")}
            body = GOOD.get(operation["operationId"])
            judged(client.request(method, address(path, conversation), params=given, json=body), operation, given)


WRONG_TEXTS: tuple[Any, ...] = (None, 5, [], {}, "\0", "\udc00")
WRONG_IDS: tuple[Any, ...] = (None, [1], [None], ["\ud800"], {"p000": 1})
WRONG_QUESTIONS: tuple[Any, ...] = ([], {}, {"text": 1}, {"text": "who", "choices": "ab"})


@pytest.mark.parametrize(
    "wrong",
    [
        *({"parent": parent} for parent in (-1, 1, 10**30, 0.5, None, "0", float("nan"))),
        *({"say": say} for say in WRONG_TEXTS),
        *({"shown": shown} for shown in WRONG_IDS),
        *({"asked": asked} for asked in WRONG_QUESTIONS),
        *({"like": "p000"}, {"keep": "colour", "turn": 10**40}, {"back_to": 10**40}),
    ],
    ids=range(25),
)
def test_a_conversation_that_is_none_is_not_imported(client: TestClient, wrong: dict[str, Any]) -> None:
    good = GOOD["import_session"]
    turn = {**good["conversation"]["turns"][0], **wrong}
    document = {**good, "conversation": {**good["conversation"], "turns": [turn]}}
    headers = {"content-type": "application/json"}
    answer = client.post(f"{API}/sessions/import", content=json.dumps(document).encode(), headers=headers)
    assert answer.status_code == 422, answer.text[:300]


def test_a_conversation_that_is_nested_too_deeply_is_not_imported(client: TestClient) -> None:
    nested = b'{"a":' * 900 + b"1" + b"}" * 900
    body = b'{"conversation": {"schema": "viewfinder/conversation", "version": 1, "turns": [' + nested + b"]}}"
    answer = client.post(f"{API}/sessions/import", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)


async def _all_at_once(library: Library, people: int) -> tuple[Counter[int], list[int]]:
    """Statuses of so many turns of one conversation, sent together; and the parents of the turns there are then."""
    app = create_app(library, ServerSettings(_env_file=None), extensions=STUDIES)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client,
    ):
        id = (await client.post(f"{API}/sessions", json={"questioner": "none"})).json()["id"]
        said = [client.post(f"{API}/sessions/{id}/turns", json={"say": f"red {at}"}) for at in range(people)]
        others = [client.get(f"{API}/pictures/p000/where", params={"text": "red"}) for _ in range(people)]
        searched = [client.post(f"{API}/search", json={"text": "blue"}) for _ in range(people)]
        answers = await asyncio.gather(*said, *others, *searched)
        tree = (await client.get(f"{API}/sessions/{id}")).json()["tree"]
    return Counter(answer.status_code for answer in answers), [node["parent"] for node in tree[1:]]


def test_many_at_once_are_all_answered_and_a_conversation_stays_in_order(library: Library) -> None:
    statuses, parents = asyncio.run(_all_at_once(library, 40))
    assert statuses == {201: 40, 200: 40, 410: 40}  # the pictures have no files to look at
    assert parents == list(range(40))
