"""Conversation to query to scores: the contract, and the retrievers by name."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from viewfinder.errors import BadInput, UnknownName
from viewfinder.retrievers.base import (
    NOTHING_MORE,
    AnsweringRetriever,
    Change,
    Operation,
    Part,
    Picture,
    Predictor,
    Query,
    RawPictures,
    Reads,
    RegionSpace,
    ResolvedTurn,
    Retriever,
    SentenceEncoder,
)
from viewfinder.retrievers.composer import Composer, PlainClip

__all__ = [
    "NOTHING_MORE",
    "RETRIEVERS",
    "AnsweringRetriever",
    "Change",
    "Composer",
    "Operation",
    "Part",
    "Picture",
    "Predictor",
    "Query",
    "RawPictures",
    "Reads",
    "RegionSpace",
    "ResolvedTurn",
    "Retriever",
    "SentenceEncoder",
    "load_retriever",
]

Maker = Callable[[Path | None], Retriever[Any]]
"""Makes a retriever, from trained weights if it has any; None: the shipped ones."""


def _untrained(name: str, make: Callable[[], Retriever[Any]]) -> Maker:
    def maker(checkpoint: Path | None) -> Retriever[Any]:
        if checkpoint is not None:
            raise BadInput(f"--checkpoint {checkpoint}: {name} has nothing to load, it is not trained")
        return make()

    return maker


def _trained(module: str, *which: str) -> Maker:
    """`load` of a module, which is imported when it is called: most people use one retriever."""
    return lambda checkpoint: import_module(module).load(*which, checkpoint)


RETRIEVERS: dict[str, Maker] = {
    "composer": _untrained("composer", Composer),
    "clip-t": _untrained("clip-t", lambda: PlainClip("clip-t", text=True, image=False)),
    "clip-i": _untrained("clip-i", lambda: PlainClip("clip-i", text=False, image=True)),
    "clip-ti": _untrained("clip-ti", lambda: PlainClip("clip-ti", text=True, image=True)),
    "clip-caption": _untrained("clip-caption", lambda: PlainClip("clip-caption", text=True, image=False, first=True)),
    "chatir": _trained("viewfinder.retrievers.chatir.retriever"),
    "plugir": _trained("viewfinder.retrievers.chatir.plugir"),
    "drilldown": _trained("viewfinder.retrievers.drilldown.retriever"),
    "fashioniq": _trained("viewfinder.retrievers.fashioniq.retriever"),
    "mai": _trained("viewfinder.retrievers.mai.retriever"),
    "chatsearcher": _trained("viewfinder.retrievers.chatsearcher.retriever"),
    "combiner": _trained("viewfinder.retrievers.combiner.retriever"),
    "hre": _trained("viewfinder.retrievers.baselines.retriever", "hre"),
    "r-hre": _trained("viewfinder.retrievers.baselines.retriever", "r-hre"),
    "r-re": _trained("viewfinder.retrievers.baselines.retriever", "r-re"),
    "r-rankfusion": _trained("viewfinder.retrievers.baselines.retriever", "r-rankfusion"),
}


def load_retriever(name: str, checkpoint: Path | None = None) -> Retriever[Any]:
    """The retriever of this name, with weights of one's own where it has weights.

    Raises:
        UnknownName: there is none; the message lists those there are.
        BadInput: the checkpoint is missing, damaged or of another system; or none is shipped and none is given.
    """
    if name not in RETRIEVERS:
        raise UnknownName(f"no retriever is called {name!r}; there are: {', '.join(sorted(RETRIEVERS))}")
    return RETRIEVERS[name](checkpoint)
