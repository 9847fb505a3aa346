"""Who calls, and tokens, over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from viewfinder.server.access.caller import Scope
from viewfinder.server.access.tokens import MOST_DAYS, NAME
from viewfinder.server.schemas.sessions import Strict

TokenName = Annotated[str, StringConstraints(max_length=100, pattern=NAME)]


class Login(Strict):
    """A token, to be kept in a cookie that no script can read."""

    token: Annotated[str, StringConstraints(max_length=200)]


class Me(BaseModel):
    """Who calls. `name`: what the token is called; null: no token, or this machine."""

    name: str | None
    scopes: list[Scope] = Field(description="empty: log in, or send a token")
    token_needed: bool = Field(description="whether this server wants a token at all")


class TokenIn(Strict):
    """A new token. `days`: how long it is good; null: until it is revoked."""

    name: TokenName
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=3)]
    days: Annotated[float, Field(gt=0, le=MOST_DAYS)] | None = None


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
