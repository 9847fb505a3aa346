"""Logging in with a token, asking whose token it is, and (for admins) the tokens themselves."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Path, Request, Response
from pydantic import BaseModel, Field, StringConstraints

from viewfinder.server.access.gate import COOKIE
from viewfinder.server.access.limits import count_request
from viewfinder.server.access.tokens import (
    LOCAL,
    MAX_DAYS,
    MAX_MINUTES,
    NAME,
    SCOPES,
    Admin,
    Caller,
    NameTaken,
    Scope,
    TicketMaker,
)
from viewfinder.server.access.trust import has_desktop, is_own_user
from viewfinder.server.conversations.schemas import Strict
from viewfinder.server.problems import Problem, not_found, responses
from viewfinder.server.services import WithBaseServices, make_router

TokenName = Annotated[str, StringConstraints(max_length=100, pattern=NAME)]


class Login(Strict):
    """A token, to be kept in a cookie that no script can read."""

    token: Annotated[str, StringConstraints(max_length=200)]


class Me(BaseModel):
    """The caller. `name` of the token; null: no token, or this machine."""

    name: str | None
    scopes: list[Scope] = Field(description="empty: log in, or send a token")
    token_needed: bool = Field(description="whether this server wants a token of who asks from where you are")
    told_paths: bool = Field(description="whether you sit at the server's machine and are told where files lie")
    opens: bool = Field(description="whether that machine can open pictures for you, or show their folders")


class TokenIn(Strict):
    """A new token. `days`: how long it is good; null: until it is revoked."""

    name: TokenName
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=len(SCOPES))]
    days: Annotated[float, Field(gt=0, le=MAX_DAYS)] | None = None


class Token(BaseModel):
    """A token, without its secret."""

    id: str
    name: str
    scopes: list[Scope]
    created: datetime
    expires: datetime | None
    revoked: bool


class TokenMade(Token):
    """A token just made. `token` is its secret: shown now and never again."""

    token: str


class TokenList(BaseModel):
    """All tokens that were ever made, by name."""

    tokens: list[Token]


class TicketIn(Strict):
    """A ticket for a visitor: the one to whom you gave a ticket before, or a new one (null)."""

    visitor: Annotated[str, StringConstraints(max_length=100, pattern=r"^[\x21-\x7e]+$")] | None = Field(
        None, description="as an earlier answer said; keep it where only you can change it, as in a signed cookie"
    )
    minutes: Annotated[float, Field(gt=0, le=MAX_MINUTES)] = Field(15, description="how long it is good")


class TicketMade(BaseModel):
    """A token for a visitor's browser, good until it `expires`, and the visitor it stands for."""

    token: str
    visitor: str
    expires: datetime


router = make_router("access")

COOKIE_AGE_S = 365 * 86_400
"""Seconds for which a browser keeps the cookie; the token in it may end earlier."""


@router.post("/login", status_code=204, summary="Log in: keep a token in a cookie")
async def log_in(given: Login, request: Request, services: WithBaseServices) -> Response:
    """Sets a cookie that scripts cannot read and other sites cannot use."""
    if await services.pool.run(services.tokens.find_caller, given.token) is None:
        count_request(request.state.guesses, request.state.head.address)
        raise Problem(401, "unauthorized", "this token is unknown, has been revoked or has expired")
    response = Response(status_code=204)
    response.set_cookie(COOKIE, given.token, max_age=COOKIE_AGE_S, **_cookie_manner(request))
    return response


@router.delete("/login", status_code=204, summary="Log out: forget the cookie")
async def log_out(request: Request) -> Response:
    """The token itself stays good."""
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, **_cookie_manner(request))
    return response


@router.get("/me", summary="Who calls, and what they may do")
async def who_am_i(request: Request, services: WithBaseServices) -> Me:
    """Needs no token, so that a page knows whether to ask for one."""
    caller: Caller | None = request.state.caller
    scopes = [] if caller is None else [scope for scope in SCOPES if scope in caller.scopes]
    name = None
    if caller is not None and caller.token is not None:
        name = await services.pool.run(services.tokens.find_name, caller)
    needed = caller is not LOCAL and (caller is None or services.tokens.needed or not request.state.head.is_local)
    at_machine = "admin" in scopes and request.state.head.is_local
    opens = at_machine and has_desktop() and await services.pool.run(is_own_user, request.scope)
    return Me(name=name, scopes=scopes, token_needed=needed, told_paths=at_machine, opens=opens)


@router.get("/tokens", summary="All tokens, without their secrets")
async def list_tokens(caller: Admin, services: WithBaseServices) -> TokenList:
    """Revoked and expired ones too."""
    rows = await services.pool.run(services.tokens.all)
    return TokenList(tokens=[Token.model_validate(row, from_attributes=True) for row in rows])


@router.post("/tokens", status_code=201, summary="Make a token", responses=responses(409))
async def add_token(given: TokenIn, caller: Admin, services: WithBaseServices) -> TokenMade:
    """The answer is the only place where the secret is ever shown."""
    try:
        made = await services.pool.run(services.tokens.create, given.name, given.scopes, given.days)
    except NameTaken as error:
        raise Problem(409, "name-taken", str(error)) from error
    return TokenMade.model_validate({**vars(made.row), "token": made.secret})


@router.delete("/tokens/{name}", status_code=204, summary="Revoke a token", responses=responses(404))
async def revoke_token(name: Annotated[TokenName, Path()], caller: Admin, services: WithBaseServices) -> Response:
    """From now on it is good for nothing (within seconds, where several servers share a database)."""
    if not await services.pool.run(services.tokens.revoke, name):
        raise not_found("token", name)
    return Response(status_code=204)


@router.post("/tickets", status_code=201, summary="Make a token for a visitor's browser")
async def add_ticket(given: TicketIn, caller: TicketMaker, services: WithBaseServices) -> TicketMade:
    """It may look, search and talk, and ends within a day, or with your token. The visitor's conversations are theirs
    alone; with the next ticket for the same `visitor` they go on. They are deleted a day after the last ticket."""
    from viewfinder.server.access.tickets import make_ticket

    made = await services.pool.run(make_ticket, services.tokens, caller, given.visitor, given.minutes)
    expires = datetime.fromtimestamp(made.until, UTC)
    return TicketMade(token=made.secret, visitor=made.visitor, expires=expires)


@router.delete("/addresses", status_code=204, summary="End all signed addresses")
async def end_addresses(caller: Admin, services: WithBaseServices) -> Response:
    """Those of pictures and events that were given out so far, whosever they are, and all tickets; tokens stay good."""
    await services.pool.run(services.tokens.end_signatures)
    return Response(status_code=204)


def _cookie_manner(request: Request) -> dict[str, Any]:
    return {"path": "/", "httponly": True, "samesite": "strict", "secure": request.url.scheme == "https"}
