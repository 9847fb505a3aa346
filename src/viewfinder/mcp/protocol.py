"""Tools and pictures as a server of the Model Context Protocol, by the official SDK, however calls arrive.

A call that fails is answered with one line that says what to do, which the assistant reads; the log has the rest.
"""

from __future__ import annotations

import base64
import errno
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    BlobResourceContents,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    ImageContent,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceTemplate,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as ToolTold
from pydantic import ValidationError

from viewfinder import __version__
from viewfinder.errors import ViewfinderError
from viewfinder.mcp.looking import read_picture
from viewfinder.mcp.tools import TOOLS, Tool
from viewfinder.mcp.visit import URI, Visit
from viewfinder.server.access.tokens import Caller, Scope
from viewfinder.server.problems import Problem, problem_of

_LOG = logging.getLogger("viewfinder.mcp")

Context = ServerRequestContext[Any, Any]
FindVisit = Callable[[Context], Awaitable[Visit]]
"""Says over which services a call goes, and whose it is. May raise ViewfinderError or Problem."""

MAX_WRONG = 3
"""Fields of a call of which an error tells."""

INSTRUCTIONS = """Viewfinder finds a picture in the user's own library by a conversation about it.

Begin with `search`: the user's own words, not a list of keywords. Look at the sheet of results yourself. If the right
picture is not there, do not search anew: use `continue` with what is wrong or missing, or `answer` the question (ask
the user if you do not know). `filters` says what else is known of the pictures. When the user says that a picture is
the one, call `found`. `page`, where there is one, is where the user sees the same conversation."""

BY_NAME = {tool.name: tool for tool in TOOLS}


def make_server(find_visit: FindVisit) -> Server[Any]:
    """The tools and pictures as a server of the SDK."""

    async def list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[describe_tool(tool) for tool in TOOLS])

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        try:
            return await _call(params.name, params.arguments or {}, lambda: find_visit(context))
        except Exception as error:
            return CallToolResult(content=[TextContent(text=explain(error, params.name))], is_error=True)

    async def list_resources(context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(resources=[])  # there may be millions: results name those that matter

    async def list_templates(context: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=[PICTURES])

    async def read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        try:
            if not uri.startswith(URI):
                raise Problem(404, "not-found", f"there is no resource {uri}: pictures are at {URI}ID")
            visit = await find_visit(context)
            check_scopes(visit.caller, ("read",))
            copy = await read_picture(visit, uri.removeprefix(URI))
        except Exception as error:
            code = INVALID_PARAMS if isinstance(error, Problem) else INTERNAL_ERROR
            raise MCPError(code=code, message=explain(error, uri), data={"uri": uri}) from None
        content = BlobResourceContents(uri=uri, mime_type="image/jpeg", blob=encode(copy))
        return ReadResourceResult(contents=[content])

    return Server(
        "viewfinder",
        title="Viewfinder",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


PICTURES = ResourceTemplate(
    name="picture",
    title="A picture of the library",
    uri_template=URI + "{picture}",
    description="A small copy of a picture, by the id that results have.",
    mime_type="image/jpeg",
)


def describe_tool(tool: Tool) -> ToolTold:
    """A tool as clients are told of it."""
    return ToolTold(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=drop_titles(tool.takes.model_json_schema()),
        output_schema=drop_titles(tool.answers.model_json_schema()),
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.changes,
            destructive_hint=tool.destroys if tool.changes else None,
            idempotent_hint=None if tool.changes else True,
            open_world_hint=False,
        ),
    )


def drop_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without the titles that repeat the names of its fields: an assistant reads every word of it.

    >>> drop_titles({"title": "A", "properties": {"title": {"title": "Title", "type": "string"}}})
    {'properties': {'title': {'type': 'string'}}}
    """

    def tidy(value: Any, *, names: bool = False) -> Any:
        if isinstance(value, list):
            return [tidy(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {
            key: tidy(each, names=key in ("properties", "$defs") and not names)
            for key, each in value.items()
            if names or key != "title"
        }

    tidied: dict[str, Any] = tidy(schema)
    return tidied


async def _call(name: str, arguments: dict[str, Any], find_visit: Callable[[], Awaitable[Visit]]) -> CallToolResult:
    tool = BY_NAME.get(name)
    if tool is None:
        raise Problem(404, "not-found", f"there is no tool {name!r}; there are: {', '.join(BY_NAME)}")
    given = tool.takes.model_validate(arguments)
    visit = await find_visit()
    check_scopes(visit.caller, tool.scopes)
    made, images = await tool.call(visit, given)
    content: list[ContentBlock] = [TextContent(text=made.model_dump_json(exclude_none=True))]
    content += [ImageContent(data=encode(image), mime_type="image/jpeg") for image in images]
    return CallToolResult(content=content, structured_content=made.model_dump(mode="json", exclude_none=True))


def check_scopes(caller: Caller, scopes: tuple[Scope, ...]) -> None:
    """Raises Problem: the caller has not all of these scopes."""
    for scope in scopes:
        if scope not in caller.scopes:
            detail = f"this token has not the scope {scope!r}: whoever runs the server makes one that has"
            raise Problem(403, "forbidden", f"{detail}, `viewfinder token add NAME --scope {' --scope '.join(scopes)}`")


def encode(content: bytes) -> str:
    """Bytes as base64."""
    return base64.b64encode(content).decode("ascii")


def explain(error: Exception, called: str) -> str:
    """What went wrong in one line; what nobody foresaw is logged and not told."""
    match error:
        case Problem():
            return error.detail
        case ViewfinderError():
            return problem_of(error).detail
        case ValidationError():
            wrong = error.errors(include_url=False, include_context=False, include_input=False)[:MAX_WRONG]
            return f"{called}: " + "; ".join(_describe_wrong(it["type"], it["loc"], it["msg"]) for it in wrong)
        case OSError(errno=errno.ENOSPC | errno.EDQUOT | errno.EROFS):
            return "the disk of the library is full or can only be read: make room, then try again"
        case _:
            _LOG.exception("unforeseen error in %s", called[:200], exc_info=error)
            return "something unforeseen happened; the log of viewfinder says what"


def _describe_wrong(kind: str, place: tuple[int | str, ...], message: str) -> str:
    name = ".".join(map(str, place))
    if kind == "extra_forbidden":
        return f"there is no field {name!r}"
    if kind == "missing":
        return f"{name} is missing"
    told = message.removeprefix("Value error, ")
    return f"{name}: {told[:1].lower()}{told[1:]}" if name else told
