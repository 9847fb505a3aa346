"""A refused request leaves nothing behind: what it brought is gone before the collector has looked."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings

SIZE = 60_000

REFUSED = {
    "too many fields": json.dumps({"token": "x", **{f"k{number}": number for number in range(3500)}}).encode(),
    "a list of objects": b"[" + b",".join([b"{}"] * (SIZE // 3)) + b"]",
    "a text that is too long": json.dumps({"token": "x" * SIZE, "say": "x" * SIZE}).encode()[: SIZE // 2] + b'"}',
    "no JSON": b'{"token": ' + b"x" * SIZE,
    "a wrong token": json.dumps({"token": "x" * 43}).encode() + b" " * SIZE,
    "too large": b'{"token": "' + b"x" * 900_000 + b'"}',
}


async def in_pieces(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 50_000):
        yield body[start : start + 50_000]


def largest_of(garbage: list[Any]) -> int:
    """Bytes of the largest thing that only the collector can free."""
    return max((sys.getsizeof(one) for held in garbage for one in (held, *gc.get_referents(held))), default=0)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], int]:
    """Path and body -> bytes of the largest thing that such a request leaves for the collector."""
    settings = ServerSettings.model_validate({"host": "0.0.0.0", "requests_burst": 10_000})
    app = create_app(Library.open(tmp_path_factory.mktemp("memory") / "library"), settings)

    async def measure() -> dict[tuple[str, str], int]:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://pictures.example") as client,
        ):
            secret = app.state.services.tokens.create("mine", ["read", "write"]).secret
            client.headers = httpx.Headers({"content-type": "application/json", "authorization": f"Bearer {secret}"})
            found = {}
            for path in ("/login", "/sessions/import"):
                for name, body in REFUSED.items():

                    async def refuse(path: str = path, body: bytes = body) -> None:
                        answer = await client.post(f"/api/v1{path}", content=in_pieces(body))
                        assert 400 <= answer.status_code < 500, answer.text

                    await refuse()
                    gc.collect()
                    gc.set_debug(gc.DEBUG_SAVEALL)
                    await refuse()
                    gc.collect()
                    found[path, name] = largest_of(gc.garbage)
                    gc.set_debug(0)
                    gc.garbage.clear()
            return found

    gc.collect()
    gc.freeze()  # what is here already is not looked at again and again
    try:
        return asyncio.run(measure())
    finally:
        gc.set_debug(0)
        gc.unfreeze()


@pytest.mark.parametrize("path", ["/login", "/sessions/import"])
def test_a_refused_body_is_let_go_of_at_once(kept: dict[tuple[str, str], int], path: str) -> None:
    assert {name: size for (where, name), size in kept.items() if where == path and size > SIZE / 4} == {}
