#!/bin/sh
# A tool of mcp 2.3.0's MCPServer takes an argument that it does not have, drops it, and answers as if it had been heard.
#
# An assistant that writes `limit` where the tool has `count` is told no error: the tool runs with the default of
# `count`, and the answer does not say so. The schema that the server publishes of the tool does not forbid other
# names either (no `additionalProperties: false`), so no client can see it before it asks; a required argument that
# is misspelt is an error, an optional one is lost. For a search that means results of something that was not asked.
#
# A server that wants to refuse them writes the schema itself, and checks arguments against it (the low-level `Server`
# takes both).
#
# Seen: `count: 3` gives "3 results for dogs", `limit: 3` gives "10 results for dogs" with is_error false.
#
# A server and a client of the SDK in one process. Installs pinned packages in a folder of its own, and fails if this is
# no longer so. Needs python3 and pip.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet mcp==2.3.0
"$place/venv/bin/python" - <<'PYTHON'
import asyncio
from importlib.metadata import version

from mcp import Client
from mcp.server import MCPServer

server = MCPServer("pictures")


@server.tool()
def search(text: str, count: int = 10) -> str:
    return f"{count} results for {text}"


async def ask() -> None:
    async with Client(server) as client:
        [tool] = (await client.list_tools()).tools
        print("schema:", {key: value for key, value in tool.input_schema.items() if key != "title"})
        assert tool.input_schema.get("additionalProperties") is None
        right = await client.call_tool("search", {"text": "dogs", "count": 3})
        wrong = await client.call_tool("search", {"text": "dogs", "limit": 3})
        lacking = await client.call_tool("search", {"txt": "dogs"})
        for name, answer in (("count: 3", right), ("limit: 3", wrong), ("txt", lacking)):
            print(f"{name}: error={answer.is_error}: {answer.content[0].text.splitlines()[0]}")
        assert right.content[0].text == "3 results for dogs"
        assert not wrong.is_error and wrong.content[0].text == "10 results for dogs"
        assert lacking.is_error


print("mcp", version("mcp"))
asyncio.run(ask())
PYTHON
