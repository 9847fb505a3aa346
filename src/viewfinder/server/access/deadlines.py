"""How long a request may take until its answer begins."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viewfinder.server.access.wire import refuse
from viewfinder.server.problems import Problem


class Deadline:
    """503 when the answer has not begun in time; then what worked on it is cancelled.

    Time spent waiting for the client's body does not count (`Bodies` sees to that). An answer that has begun goes on
    as long as it will: a stream of events is open for hours.
    """

    def __init__(self, app: ASGIApp, deadline_s: float) -> None:
        self.app = app
        self._deadline_s = deadline_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """In the task of the request itself: no other is made."""
        begun = arrived = False
        clock = asyncio.get_running_loop().time

        async def told(message: Message) -> None:
            nonlocal begun
            if not begun:
                if timeout.expired():  # 503 is the answer; this is what the app says while it is cancelled
                    return
                begun = True
                timeout.reschedule(None)
            await send(message)

        async def heard() -> Message:
            nonlocal arrived
            if begun or arrived or timeout.expired():
                return await receive()
            timeout.reschedule(None)
            message = await receive()
            arrived = not message.get("more_body", False)
            if not begun and not timeout.expired():
                timeout.reschedule(clock() + self._deadline_s)
            return message

        try:
            async with asyncio.timeout(self._deadline_s) as timeout:
                await self.app(scope, heard, told)
        except TimeoutError:
            if begun or not timeout.expired():
                raise
            detail = f"this took longer than {self._deadline_s:g} s: try again, or ask for less"
            await refuse(Problem(503, "deadline", detail, headers={"Retry-After": "1"}), scope, receive, send)
