"""An assistant's whole conversation with the SDK's own client: over stdin of a process, and over HTTP with a token."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from PIL import Image

from tests.assistants.conftest import PICTURES, PROGRAM, STDIN, Connect, connect_http, start_local
from tests.hostile.attack import Server, make_token
from viewfinder.mcp.images import MAX_BYTES
from viewfinder.testing import tiny_pictures

pytestmark = pytest.mark.slow


class Assistant:
    """Calls tools as an assistant does, and looks at what it gets."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.images: list[Image.Image] = []

    async def call(self, tool: str, **given: Any) -> Any:
        """Data of an answer that is none of an error; text and data say the same, images are small JPEGs."""
        result = await self.client.call_tool(tool, given)
        assert not result.is_error, result.content
        text, *images = result.content
        assert text.type == "text"
        assert json.loads(text.text) == result.structured_content
        self.images = []
        for each in images:
            assert each.type == "image"
            assert each.mime_type == "image/jpeg"
            content = base64.b64decode(each.data)
            assert len(content) <= MAX_BYTES
            self.images.append(Image.open(BytesIO(content)))
        return result.structured_content

    async def fail(self, tool: str, **given: Any) -> str:
        """The one line of an error."""
        result = await self.client.call_tool(tool, given)
        assert result.is_error
        assert [each.type for each in result.content] == ["text"]
        line = str(getattr(result.content[0], "text", ""))
        assert "\n" not in line
        assert "Traceback" not in line
        return line


def talk(connected: Any, say: Callable[[Assistant], Awaitable[None]]) -> None:
    async def run() -> None:
        async with connected as client:
            await say(Assistant(client))

    anyio.run(run)


def test_an_assistant_has_a_whole_conversation(connect: Connect) -> None:
    async def converse(assistant: Assistant) -> None:
        begun = await assistant.call("search", words="a dog", n=6)
        assert [it["number"] for it in begun["pictures"]] == [1, 2, 3, 4, 5, 6]
        assert len(assistant.images) == 1  # the sheet
        first, second = (it["id"] for it in begun["pictures"][:2])

        shown = await assistant.call("show", picture=first)
        assert shown["id"] == first
        assert assistant.images[0].size == (shown["width"], shown["height"])
        facts = await assistant.call("facts", picture=first)
        assert facts == shown
        assert assistant.images == []
        assert next(it["source"] for it in facts["facts"] if it["name"] == "light") == "catalogue"

        id = begun["conversation"]
        closer = await assistant.call("continue", conversation=id, like=second, but="in blue")
        assert (closer["conversation"], closer["turn"]) == (id, 2)
        assert any("blue" in told for told in closer["understood"])
        asked = closer["question"]
        answered = await assistant.call("answer", conversation=id, answer=asked["choices"][0], sheet=False)
        assert answered["turn"] == 3
        assert assistant.images == []
        skipped = await assistant.call("answer", conversation=id, answer="skip")
        assert (skipped.get("question") or {}).get("text") != answered["question"]["text"]

        wrong = skipped["pictures"][0]["id"]
        rejected = await assistant.call("continue", conversation=id, reject=[wrong])
        assert wrong not in {it["id"] for it in rejected["pictures"]}
        further = await assistant.call("results", conversation=id, after=rejected["more"])
        assert further["pictures"][0]["number"] == len(rejected["pictures"]) + 1
        assert any("in blue" in note for note in further["notes"])  # what was said
        back = await assistant.call("continue", conversation=id, back_to=1)
        assert [it["id"] for it in back["pictures"][:6]] == [it["id"] for it in begun["pictures"]]

        noted = await assistant.call("found", conversation=id, picture=first)
        assert noted == {"picture": first, "rank": 1}

        name = f"Dogs of {id}"  # the four assistants share a library
        missing = await assistant.fail("change_album", album=name, add=[first])
        assert f"there is no album {name!r}; there are" in missing
        kept = await assistant.call("change_album", album=name, make=True, add=[second, first, "none"])
        assert (kept["made"], kept["added"], kept["unknown"]) == (True, 2, ["none"])
        again = await assistant.call("change_album", album=name.upper(), make=True, add=[first], remove=[second])
        assert (again["id"], again["made"], again["added"], again["removed"]) == (kept["id"], False, 0, 1)
        listed = await assistant.call("albums")
        assert {it["id"]: it["pictures"] for it in listed["albums"]}[kept["id"]] == 1
        opened = await assistant.call("album", album=kept["id"])
        assert [it["id"] for it in opened["shown"]] == [first]
        assert len(assistant.images) == 1
        inside = await assistant.call("search", words="a dog", where={"album": kept["id"]})
        assert [it["id"] for it in inside["pictures"]] == [first]
        marked = await assistant.call("mark", pictures=[first], favourite=True, stars="4")
        assert marked == {"marks": {first: {"favourite": True, "stars": 4}}, "unknown": []}
        known = await assistant.call("facts", picture=first)
        assert (known["favourite"], known["stars"]) == (True, 4)
        assert name in known["albums"]

        mine = await assistant.call("conversations")
        assert id in {it["id"] for it in mine["conversations"][:2]}

    talk(connect(), converse)


def test_filters_are_listed_and_kept_to(server: Server) -> None:
    async def converse(assistant: Assistant) -> None:
        listed = await assistant.call("filters", column="light")
        (light,) = listed["columns"]
        assert sum(it["pictures"] for it in light["values"]) == listed["pictures"] == PICTURES
        at_night = next(it["pictures"] for it in light["values"] if it["value"] == "night")
        found = await assistant.call("search", words="a tree", where={"light": "night"}, n=24)
        assert found["total"] == len(found["pictures"]) == at_night
        # Some assistants send objects and numbers as their text.
        same = await assistant.call("search", words="a tree", where='{"light": "night"}', n="24")
        assert same["pictures"] == found["pictures"]

    talk(connect_http(server, server.token), converse)


def test_a_picture_is_a_resource_too(server: Server) -> None:
    async def converse(assistant: Assistant) -> None:
        found = await assistant.call("search", words="blue", sheet=False)
        shown = await assistant.call("show", picture=found["pictures"][0]["id"])
        templates = (await assistant.client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == ["viewfinder://picture/{picture}"]
        read = (await assistant.client.read_resource(shown["uri"])).contents[0]
        assert read.mime_type == "image/jpeg"
        with Image.open(BytesIO(base64.b64decode(getattr(read, "blob", "")))) as image:
            assert image.size == assistant.images[0].size
        for wrong in ("viewfinder://picture/none", "viewfinder://secret/1"):
            with pytest.raises(MCPError, match="there is no"):
                await assistant.client.read_resource(wrong)

    talk(connect_http(server, server.token), converse)


@pytest.mark.parametrize("connect", ["http", STDIN], indirect=True)
def test_what_is_wrong_is_said_in_one_line(connect: Connect) -> None:
    async def converse(assistant: Assistant) -> None:
        fail = assistant.fail
        before = await assistant.call("conversations")
        assert await fail("show", picture="nothing") == "there is no picture nothing"
        assert await fail("search", wrods="a dog") == "search: words is missing; there is no field 'wrods'"
        assert "describe the picture" in await fail("search", words="  ")
        assert "there is no column called 'size'; there are:" in await fail("search", words="x", where={"size": "big"})
        assert "less than or equal to 24" in await fail("search", words="x", n=5000)
        assert "of a column 'none'; columns: background, folder, format, light" in await fail("filters", column="none")
        assert await fail("continue", conversation="none", say="x") == "there is no session none"
        assert "there are: search, continue" in await fail("delete_everything")
        assert await assistant.call("conversations") == before  # none was left behind by what could not be said
        begun = await assistant.call("search", words="a tree")
        id = begun["conversation"]
        assert "say what to `add` or to `remove`" in await fail("change_album", album="Mine")
        assert "say what the pictures are to be" in await fail("mark", pictures=[begun["pictures"][0]["id"]])
        assert "pictures: value should have at least 1 item" in await fail("mark", pictures=[], favourite=True)
        assert "give exactly one of say, like" in await fail("continue", conversation=id)
        assert "not say and like" in await fail("continue", conversation=id, say="x", like="y")
        assert "`but` belongs to `like`" in await fail("continue", conversation=id, say="x", but="y")
        assert "no picture in this library has the id 'none'" in await fail("continue", conversation=id, like="none")
        assert "there is no turn 99" in await fail("results", conversation=id, turn=99)
        assert "this cursor is none" in await fail("results", conversation=id, after="\u0663")

    talk(connect(), converse)


def test_tools_say_what_they_change(server: Server) -> None:
    async def converse(assistant: Assistant) -> None:
        tools = {tool.name: tool for tool in (await assistant.client.list_tools()).tools}
        reads = {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint}
        assert reads == {"results", "conversations", "show", "facts", "filters", "albums", "album"}
        destroying = {it.name for it in tools.values() if it.annotations and it.annotations.destructive_hint}
        assert destroying == {"change_album"}
        for tool in tools.values():
            assert tool.description
            assert tool.title
            assert tool.output_schema
            assert tool.input_schema["additionalProperties"] is False
            assert tool.annotations
            assert tool.annotations.open_world_hint is False
        assert assistant.client.instructions
        assert "`continue`" in assistant.client.instructions

    talk(connect_http(server, server.token), converse)


# -- over HTTP


def test_a_person_sees_on_the_page_what_the_assistant_did(server: Server) -> None:
    async def converse(assistant: Assistant) -> None:
        begun = await assistant.call("search", words="a green bird")
        address, path = f"http://127.0.0.1:{server.port}", f"/talk/{begun['conversation']}/1"
        assert begun["page"] == address + path
        tree = server.client().ask("GET", f"/sessions/{begun['conversation']}").json
        assert [node["told"] for node in tree["tree"]] == ["", '"a green bird"']

    talk(connect_http(server, server.token), converse)


def test_a_token_that_may_only_read_talks_and_keeps_nothing(server: Server, reader: str) -> None:
    async def converse(assistant: Assistant) -> None:
        begun = await assistant.call("search", words="a dog")
        id, first = begun["conversation"], begun["pictures"][0]["id"]
        assert (await assistant.call("continue", conversation=id, say="in blue"))["turn"] == 2
        assert (await assistant.call("found", conversation=id, picture=first))["picture"] == first
        assert [it["id"] for it in (await assistant.call("conversations"))["conversations"]] == [id]
        assert (await assistant.call("albums"))["albums"] == []
        refused = await assistant.fail("change_album", album="Mine", make=True, add=[first])
        assert "this token has not the scope 'write'" in refused
        assert "viewfinder token add NAME --scope read --scope write" in refused
        assert "'write'" in await assistant.fail("mark", pictures=[first], favourite=True)
        assert (await assistant.call("albums"))["albums"] == []
        assert (await assistant.call("facts", picture=first))["favourite"] is False

    talk(connect_http(server, reader), converse)


def test_conversations_of_another_token_are_not_seen(server: Server, library: Path) -> None:
    ada, bob = (make_token(library, name, "read", "write") for name in ("ada", "bob"))
    ids: list[str] = []

    async def begin(assistant: Assistant) -> None:
        ids.append((await assistant.call("search", words="a dog"))["conversation"])

    async def listen(assistant: Assistant) -> None:
        assert (await assistant.call("conversations"))["conversations"] == []
        assert await assistant.fail("results", conversation=ids[0]) == f"there is no session {ids[0]}"
        assert await assistant.fail("continue", conversation=ids[0], say="a boat") == f"there is no session {ids[0]}"

    talk(connect_http(server, ada), begin)
    talk(connect_http(server, bob), listen)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer vf_wrong"}, 401),
        ({"Authorization": "Bearer GOOD"}, 200),
        ({"Authorization": "Bearer GOOD", "Host": "two.example"}, 200),  # behind a proxy, any name
        ({"Cookie": "viewfinder_token=GOOD", "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_the_guards_of_the_api_stand_before_it(server: Server, headers: dict[str, str], status: int) -> None:
    import httpx2

    sent = {name: value.replace("GOOD", str(server.token)) for name, value in headers.items()}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accepts = {"Accept": "application/json, text/event-stream"}
    answer = httpx2.post(f"http://127.0.0.1:{server.port}/mcp", json=call, headers={**accepts, **sent}, timeout=60)
    assert answer.status_code == status
    if status == 401:
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.json()["detail"]


def test_no_stream_is_kept_open_and_no_large_body_read(server: Server) -> None:
    import httpx2

    headers = {"Authorization": f"Bearer {server.token}", "Accept": "application/json, text/event-stream"}
    address = f"http://127.0.0.1:{server.port}/mcp"
    assert httpx2.get(address, headers=headers, timeout=60).status_code == 405
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {}}}
    call["params"] = {"name": "search", "arguments": {"words": "x" * 300_000}}
    assert httpx2.post(address, json=call, headers=headers, timeout=60).status_code == 413


# -- over stdin


@pytest.mark.afresh
def test_a_library_that_is_not_there_is_said_with_what_to_do_and_found_once_it_is(tmp_path: Path) -> None:
    place = tmp_path / "library"

    async def converse(assistant: Assistant) -> None:
        told = await assistant.fail("search", words="a dog")
        assert f"there is no picture library at {place}" in told
        assert f"`viewfinder add FOLDER_OF_PICTURES --library {place}`" in told
        tiny_pictures(tmp_path / "pictures", 3)
        command = [sys.executable, *PROGRAM, "add", str(tmp_path / "pictures"), "--library", str(place)]
        await anyio.run_process(command)
        assert (await assistant.call("search", words="a tree"))["total"] == 3

    talk(Client(start_local(place)), converse)


@pytest.mark.afresh
def test_other_files_in_the_place_of_a_library_are_told(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    async def converse(assistant: Assistant) -> None:
        assert "there is no picture library at" in await assistant.fail("filters")

    talk(Client(start_local(tmp_path)), converse)


@pytest.mark.afresh
def test_only_the_protocol_is_on_stdout(library: Path) -> None:
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    lines: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "filters", "arguments": {}}},
    ]
    said = "".join(json.dumps(line) + "\n" for line in lines) + "this is no JSON\n"
    parameters = start_local(library, VIEWFINDER_LOG="info")
    process = subprocess.Popen(
        [parameters.command, *parameters.args], env=parameters.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    process.stdin.write(said)
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(2)]
    out, log = process.communicate(timeout=120)
    assert {answer["id"] for answer in answers} == {1, 2}
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert "opened" in log
    assert process.returncode == 0
