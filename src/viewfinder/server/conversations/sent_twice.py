"""Requests that are sent again, because the connection was cut before the answer.

A client gives each of its turns a key (the header `Idempotency-Key`, as the IETF's draft of that name has it). The key
is kept with the turn in the database, so that the same request gets its answer again: from any worker, after a restart
of the server, and also while it is still being worked on; then it waits for that.
"""

from __future__ import annotations

import hashlib
from typing import Annotated

from fastapi import Header
from pydantic import BaseModel

from viewfinder.server.database import RequestKey, Said
from viewfinder.server.problems import Problem

MAX_KEY = 128

PLACE = {"parent", "on_conflict"}
"""The fields of a turn that say after which turn it was meant."""

KeyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=rf'^"?[!#-~]{{1,{MAX_KEY}}}"?$',
        description='a new one for each request, as `"8e03978e-40d5-43dd"`: sent again with it, that is done once, and '
        "answered again",
    ),
]


def request_key(given: str | None, what: str, body: BaseModel | None) -> RequestKey | None:
    """The key of a request for `what` with this body; the quotes around it may be left out.

    >>> request_key('"a1"', "take", None) == request_key("a1", "take", None)
    True
    >>> request_key(None, "take", None) is None
    True
    """
    if given is None:
        return None
    # Where it is said is no part of it: words that were refused may be said elsewhere with the same key.
    asked = f"{what} {'' if body is None else body.model_dump_json(exclude_unset=True, exclude=PLACE)}"
    return RequestKey(given.strip('"'), hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest())


def check_same(said: Said, key: RequestKey) -> None:
    """Checks that the request with a known key is the one that came with it before.

    Raises:
        Problem: 422, it asks something else.
    """
    if said.request != key.request:
        detail = f"this Idempotency-Key came with another turn, which is turn {said.number}: give each turn a new key"
        raise Problem(422, "key-reused", detail, turn=said.number)
