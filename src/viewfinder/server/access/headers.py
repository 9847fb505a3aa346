"""What every answer tells a browser: run our scripts only, load nothing from elsewhere, tell nobody where you are."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' blob: data:",
        "style-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)

SECURITY = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}

Pairs = list[tuple[bytes, bytes]]


class SecurityHeaders:
    """Adds them where an answer has not its own.

    What the API says is kept by no cache, unless the route says otherwise (thumbnails do). `shared`: pages of other
    origins are welcome (CORS), and may embed pictures too.
    """

    def __init__(self, app: ASGIApp, *, shared: bool = False) -> None:
        self.app = app
        wanted = SECURITY | {"cross-origin-resource-policy": "cross-origin" if shared else "same-origin"}
        self._pairs: Pairs = [(name.encode(), value.encode()) for name, value in wanted.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Touches the start of the answer only."""
        private = scope["path"].startswith("/api/")

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = self._completed(list(message.get("headers", ())), private, message["status"])
            await send(message)

        await self.app(scope, receive, with_headers)

    def _completed(self, headers: Pairs, private: bool, status: int) -> Pairs:
        there = {name.lower() for name, _ in headers}
        headers += [pair for pair in self._pairs if pair[0] not in there]
        if private and b"cache-control" not in there and status != 304:  # a 304 would change what the cache holds
            headers.append((b"cache-control", b"no-store"))
        return headers
