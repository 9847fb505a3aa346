"""One call of a tool: over which services, and by whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from pydantic import BaseModel

if TYPE_CHECKING:
    from viewfinder.server.access.tokens import Caller
    from viewfinder.server.services import Services

URI = "viewfinder://picture/"

Args = ParamSpec("Args")
Result = TypeVar("Result")
Output = tuple[BaseModel, Sequence[bytes]]
"""What a tool answers: data, and images beside it."""


@dataclass(frozen=True)
class Visit:
    """One call: over which services, by whom. `site`: the page's address; "" if there is none that is known."""

    services: Services
    caller: Caller
    site: str

    async def run(self, work: Callable[Args, Result], *args: Args.args, **kwargs: Args.kwargs) -> Result:
        """Runs work in a thread of the services; it ends when its caller leaves."""
        return await self.services.pool.run_stoppable(work, *args, **kwargs)

    async def run_in(
        self, conversation: str, work: Callable[Args, Result], *args: Args.args, **kwargs: Args.kwargs
    ) -> Result:
        """Runs work on a conversation: aside if that is long."""
        pool, long = self.services.pool, self.services.conversations.is_long(conversation)
        return await (pool.run_aside if long else pool.run_stoppable)(work, *args, **kwargs)

    def page_of(self, conversation: str, turn: int | None = None) -> str | None:
        """Where the page shows a conversation."""
        if not self.site:
            return None
        return f"{self.site}/talk/{conversation}" + ("" if turn is None else f"/{turn}")
