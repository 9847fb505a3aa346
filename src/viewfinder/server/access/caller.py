"""Who calls, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from fastapi import Depends, Request

from viewfinder.server.problems import Problem

Scope = Literal["read", "write", "admin"]
"""read: look and search. write: talk, upload, say what was found. admin: change the collection, tokens, studies."""

SCOPES: tuple[Scope, ...] = get_args(Scope)


@dataclass(frozen=True)
class Caller:
    """The token that a request came with (None: this machine, no token needed) and its scopes."""

    token: str | None
    scopes: frozenset[Scope]

    def may_see(self, owner: str | None) -> bool:
        """Whether what `owner` made is this caller's to see: one's own, or all with the scope admin."""
        return "admin" in self.scopes or owner == self.token


LOCAL = Caller(None, frozenset(SCOPES))


def _with_scope(request: Request, scope: Scope) -> Caller:
    """The caller that the access layer found (`request.state.caller`), if it has the scope."""
    caller = getattr(request.state, "caller", None)
    if not isinstance(caller, Caller):
        detail = "this server wants a token: send it as `Authorization: Bearer TOKEN`"
        raise Problem(401, "unauthorized", detail, headers={"WWW-Authenticate": "Bearer"})
    if scope not in caller.scopes:
        raise Problem(403, "forbidden", f"this token has not the scope {scope!r}")
    return caller


def _reader(request: Request) -> Caller:
    return _with_scope(request, "read")


def _writer(request: Request) -> Caller:
    return _with_scope(request, "write")


def _admin(request: Request) -> Caller:
    return _with_scope(request, "admin")


Reader = Annotated[Caller, Depends(_reader)]
Writer = Annotated[Caller, Depends(_writer)]
Admin = Annotated[Caller, Depends(_admin)]
