"""Logging in with a token, who one is, and (for admins) the tokens themselves."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from viewfinder.server.access.caller import SCOPES, Admin, Caller
from viewfinder.server.access.identity import COOKIE
from viewfinder.server.access.tokens import NameTaken
from viewfinder.server.problems import Problem, not_found, responses
from viewfinder.server.schemas.access import Login, Me, Token, TokenIn, TokenList, TokenMade, TokenName
from viewfinder.server.services import WithBaseServices

if TYPE_CHECKING:
    from viewfinder.server.database import TokenRow

router = APIRouter(prefix="/api/v1", tags=["access"])

REMEMBERED_S = 365 * 86_400
"""How long a browser keeps the cookie; how long the token in it is good is the server's to say."""


@router.post(
    "/login", status_code=204, operation_id="log_in", summary="Log in: keep a token in a cookie", responses=responses()
)
async def log_in(given: Login, request: Request, services: WithBaseServices) -> Response:
    """Sets a cookie that scripts cannot read and other sites cannot use."""
    if await services.pool.run(services.tokens.caller, given.token) is None:
        raise Problem(401, "unauthorized", "this token is unknown, has been revoked or has expired")
    response = Response(status_code=204)
    response.set_cookie(COOKIE, given.token, max_age=REMEMBERED_S, **_cookie_manner(request))
    return response


@router.delete(
    "/login", status_code=204, operation_id="log_out", summary="Log out: forget the cookie", responses=responses()
)
async def log_out(request: Request) -> Response:
    """The token itself stays good."""
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, **_cookie_manner(request))
    return response


@router.get("/me", operation_id="who_am_i", summary="Who calls, and what they may do", responses=responses())
async def who_am_i(request: Request, services: WithBaseServices) -> Me:
    """Answers everybody, so that a page knows whether to ask for a token."""
    caller: Caller | None = request.state.caller
    scopes = [] if caller is None else [scope for scope in SCOPES if scope in caller.scopes]
    name = None
    if caller is not None and caller.token is not None:
        name = await services.pool.run(services.tokens.name_of, caller)
    return Me(name=name, scopes=scopes, token_needed=services.tokens.needed)


@router.get("/tokens", operation_id="list_tokens", summary="All tokens, without their secrets", responses=responses())
async def list_tokens(caller: Admin, services: WithBaseServices) -> TokenList:
    """Revoked and expired ones too."""
    rows = await services.pool.run(services.tokens.all)
    return TokenList(tokens=[Token(**_told(row)) for row in rows])


@router.post("/tokens", status_code=201, operation_id="add_token", summary="Make a token", responses=responses(409))
async def add_token(given: TokenIn, caller: Admin, services: WithBaseServices) -> TokenMade:
    """The answer is the only place where the secret is ever shown."""
    try:
        made = await services.pool.run(services.tokens.create, given.name, given.scopes, given.days)
    except NameTaken as error:
        raise Problem(409, "name-taken", str(error)) from error
    return TokenMade(token=made.secret, **_told(made.row))


@router.delete(
    "/tokens/{name}", status_code=204, operation_id="revoke_token", summary="Revoke a token", responses=responses(404)
)
async def revoke_token(name: Annotated[TokenName, Path()], caller: Admin, services: WithBaseServices) -> Response:
    """From now on it is good for nothing (within seconds, where several servers share a database)."""
    if not await services.pool.run(services.tokens.revoke, name):
        raise not_found("token", name)
    return Response(status_code=204)


def _cookie_manner(request: Request) -> dict[str, Any]:
    return {"path": "/", "httponly": True, "samesite": "strict", "secure": request.url.scheme == "https"}


def _told(row: TokenRow) -> dict[str, Any]:
    expires = None if row.expires is None else datetime.fromtimestamp(row.expires, UTC)
    return {
        "id": row.id,
        "name": row.name,
        "scopes": row.scopes,
        "created": datetime.fromtimestamp(row.created, UTC),
        "expires": expires,
        "revoked": row.revoked,
    }
