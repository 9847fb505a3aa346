"""Questioners by name."""

from __future__ import annotations

from collections.abc import Callable

from viewfinder.encoders.tags import TagVectors
from viewfinder.errors import UnknownName
from viewfinder.questioners.base import NoQuestions, Questioner
from viewfinder.questioners.information_gain import InformationGain

QUESTIONERS: dict[str, Callable[[TagVectors | None], Questioner]] = {
    "information_gain": InformationGain,
    "none": lambda tags: NoQuestions(),
}


def load_questioner(name: str | None, *, tags: TagVectors | None = None) -> Questioner:
    """The questioner called `name` (None is "none"); `tags` let it ask what no catalogue says.

    Raises:
        UnknownName: no questioner is called that; the message lists those there are.
    """
    chosen = "none" if name is None else name
    if chosen not in QUESTIONERS:
        raise UnknownName(f"no questioner is called {chosen!r}; there are: {', '.join(sorted(QUESTIONERS))}")
    return QUESTIONERS[chosen](tags)
