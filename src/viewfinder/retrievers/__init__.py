"""Conversation to query to scores: the contract, and the retrievers by name."""

from collections.abc import Callable
from typing import Any

from viewfinder.errors import UnknownName
from viewfinder.retrievers.base import Change, Part, Picture, Query, ResolvedTurn, Retriever
from viewfinder.retrievers.composer import Composer, PlainClip

__all__ = [
    "RETRIEVERS",
    "Change",
    "Composer",
    "Part",
    "Picture",
    "Query",
    "ResolvedTurn",
    "Retriever",
    "load_retriever",
]

RETRIEVERS: dict[str, Callable[[], Retriever[Any]]] = {
    "composer": Composer,
    "clip-t": lambda: PlainClip("clip-t", text=True, image=False),
    "clip-i": lambda: PlainClip("clip-i", text=False, image=True),
    "clip-ti": lambda: PlainClip("clip-ti", text=True, image=True),
}


def load_retriever(name: str) -> Retriever[Any]:
    """The retriever of this name.

    Raises:
        UnknownName: there is none; the message lists those there are.
    """
    if name not in RETRIEVERS:
        raise UnknownName(f"no retriever is called {name!r}; there are: {', '.join(sorted(RETRIEVERS))}")
    return RETRIEVERS[name]()
