"""Who calls: the token of a request, as a bearer or in the page's cookie; or this machine, which needs none."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import TYPE_CHECKING

from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

from viewfinder.errors import ViewfinderError
from viewfinder.server.access.caller import LOCAL, Caller
from viewfinder.server.access.rates import TokenBuckets, too_many_requests
from viewfinder.server.access.wire import address, bearer, header, refuse
from viewfinder.server.problems import Problem, problem_of

if TYPE_CHECKING:
    from viewfinder.server.access.tokens import Tokens
    from viewfinder.server.services import Pool

COOKIE = "viewfinder_token"


class Authentication:
    """Sets `request.state.caller`: a `Caller`, or None where a token is needed and there is none.

    A bearer token that is not good is answered with 401 whatever was asked for: its sender should know. A cookie that
    is not good any more counts as none: the page must be there to log in again. `guesses` bounds, by address, how
    often a token that is not remembered is looked up.
    """

    def __init__(self, app: ASGIApp, tokens: Tokens, pool: Pool, guesses: TokenBuckets) -> None:
        self.app = app
        self._tokens, self._pool, self._guesses = tokens, pool, guesses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers in the app's place only for a token that is not good, or cannot be looked up."""
        try:
            scope.setdefault("state", {})["caller"] = await self._caller(scope)
        except Problem as problem:
            await refuse(problem, scope, receive, send)
        except ViewfinderError as error:  # the database does not answer
            await refuse(problem_of(error), scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _caller(self, scope: Scope) -> Caller | None:
        sent = bearer(scope)
        secret = _cookie(header(scope, b"cookie")) if sent is None else sent
        caller = None if secret is None else await self._known(secret, address(scope))
        if caller is None and sent is not None:
            detail = "this token is unknown, has been revoked or has expired: ask for a new one"
            raise Problem(401, "unauthorized", detail, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})
        if caller is None and not self._tokens.needed and _is_near(address(scope)):
            return LOCAL
        return caller

    async def _known(self, secret: str, client: str) -> Caller | None:
        """A token's caller: as it is remembered, or looked up by a thread."""
        caller = self._tokens.remembered(secret)
        if caller is None:
            if waiting := self._guesses.take(client):
                raise too_many_requests(waiting)
            caller = await self._pool.run(self._tokens.caller, secret)
        return caller


def _cookie(cookies: str | None) -> str | None:
    return None if cookies is None else cookie_parser(cookies).get(COOKIE)


@lru_cache(maxsize=1024)
def _is_near(client: str) -> bool:
    """Whether a request may be this machine's own. A proxy in front says for whom it asks: that is another machine."""
    try:
        return ipaddress.ip_address(client).is_loopback
    except ValueError:
        return True  # a socket of the file system
