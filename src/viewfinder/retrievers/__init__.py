"""Conversation to query to scores: the contract, and the retrievers by name."""

from collections.abc import Callable
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
"""Makes a retriever, from trained weights if it has any; None: those in the box."""


def _untrained(name: str, make: Callable[[], Retriever[Any]]) -> Maker:
    def maker(checkpoint: Path | None) -> Retriever[Any]:
        if checkpoint is not None:
            raise BadInput(f"--checkpoint {checkpoint}: {name} has nothing to load, it is not trained")
        return make()

    return maker


def _drilldown(checkpoint: Path | None) -> Retriever[Any]:
    from viewfinder.retrievers.drilldown import load

    return load(checkpoint)


def _chatir(checkpoint: Path | None) -> Retriever[Any]:
    from viewfinder.retrievers.chatir.retriever import load

    return load(checkpoint)


def _plugir(checkpoint: Path | None) -> Retriever[Any]:
    from viewfinder.retrievers.chatir.plugir import load

    return load(checkpoint)


def _fashioniq(checkpoint: Path | None) -> Retriever[Any]:
    from viewfinder.retrievers.fashioniq.retriever import load

    return load(checkpoint)


def _mai(checkpoint: Path | None) -> Retriever[Any]:
    from viewfinder.retrievers.mai.retriever import load

    return load(checkpoint)


def _chatsearcher(checkpoint: Path | None) -> Retriever[Any]:
    from viewfinder.retrievers.chatsearcher.retriever import load

    return load(checkpoint)


def _combiner(checkpoint: Path | None) -> Retriever[Any]:
    from viewfinder.retrievers.combiner.retriever import load

    return load(checkpoint)


def _baseline(name: str) -> Maker:
    def maker(checkpoint: Path | None) -> Retriever[Any]:
        from viewfinder.retrievers.baselines import load

        return load(name, checkpoint)

    return maker


RETRIEVERS: dict[str, Maker] = {
    "composer": _untrained("composer", Composer),
    "clip-t": _untrained("clip-t", lambda: PlainClip("clip-t", text=True, image=False)),
    "clip-i": _untrained("clip-i", lambda: PlainClip("clip-i", text=False, image=True)),
    "clip-ti": _untrained("clip-ti", lambda: PlainClip("clip-ti", text=True, image=True)),
    "clip-caption": _untrained("clip-caption", lambda: PlainClip("clip-caption", text=True, image=False, first=True)),
    "chatir": _chatir,
    "plugir": _plugir,
    "drilldown": _drilldown,
    "fashioniq": _fashioniq,
    "mai": _mai,
    "chatsearcher": _chatsearcher,
    "combiner": _combiner,
    "hre": _baseline("hre"),
    "r-hre": _baseline("r-hre"),
    "r-re": _baseline("r-re"),
    "r-rankfusion": _baseline("r-rankfusion"),
}


def load_retriever(name: str, checkpoint: Path | None = None) -> Retriever[Any]:
    """The retriever of this name, with weights of one's own where it has weights.

    Raises:
        UnknownName: there is none; the message lists those there are.
        BadInput: the checkpoint is missing, damaged or of another system; or none is in the box and none is given.
    """
    if name not in RETRIEVERS:
        raise UnknownName(f"no retriever is called {name!r}; there are: {', '.join(sorted(RETRIEVERS))}")
    return RETRIEVERS[name](checkpoint)
