"""From a conversation to a query to scores: the contract, and all retrievers by name, built-in or third-party."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from viewfinder.errors import BadInput
from viewfinder.plugins import Plugins, label_part
from viewfinder.query import (
    NOTHING_MORE,
    Change,
    Collection,
    Part,
    Picture,
    Predictor,
    Query,
    RawPictures,
    Reads,
    RegionSpace,
    ResolvedTurn,
    SentenceEncoder,
)
from viewfinder.retrievers.base import AnsweringRetriever, Retriever, RevisingRetriever
from viewfinder.retrievers.composer import Composer

__all__ = [
    "NOTHING_MORE",
    "PLUGINS",
    "RETRIEVERS",
    "AnsweringRetriever",
    "Change",
    "Composer",
    "Part",
    "Picture",
    "Predictor",
    "Query",
    "RawPictures",
    "Reads",
    "RegionSpace",
    "ResolvedTurn",
    "Retriever",
    "RetrieverClass",
    "RevisingRetriever",
    "SentenceEncoder",
    "load_retriever",
]

Maker = Callable[[Path | None], Retriever[Any]]
"""Makes a retriever, from trained weights if it has any; None: the shipped ones."""

RetrieverClass = Callable[..., Retriever[Any]]
"""A retriever class: called without arguments, or with the file of trained weights."""


def _share_untrained(retriever: Retriever[Any]) -> Maker:
    """A retriever without weights; it keeps no state of its own, so all conversations can share it."""

    def make(checkpoint: Path | None) -> Retriever[Any]:
        if checkpoint is not None:
            raise BadInput(f"--checkpoint {checkpoint}: {retriever.name} has nothing to load, it is not trained")
        return retriever

    return make


# Most people use one retriever: each is imported when it is loaded.


def _load_plain_clip(
    name: str, checkpoint: Path | None, *, text: bool = False, image: bool = False, first: bool = False
) -> Retriever[Any]:
    from viewfinder.retrievers.plain_clip import PlainClip

    return _share_untrained(PlainClip(name, text=text, image=image, first=first))(checkpoint)


def _load_chatir(checkpoint: Path | None) -> Retriever[Any]:
    from viewfinder.retrievers.chatir.retriever import load

    return load(checkpoint)


def _load_plugir(checkpoint: Path | None) -> Retriever[Any]:
    from viewfinder.retrievers.chatir.plugir import load

    return load(checkpoint)


def _load_drilldown(checkpoint: Path | None) -> Retriever[Any]:
    from viewfinder.retrievers.drilldown.retriever import load

    return load(checkpoint)


def _load_fashioniq(checkpoint: Path | None) -> Retriever[Any]:
    from viewfinder.retrievers.fashioniq.retriever import load

    return load(checkpoint)


def _load_mai(checkpoint: Path | None) -> Retriever[Any]:
    from viewfinder.retrievers.mai.retriever import load

    return load(checkpoint)


def _load_chatsearcher(checkpoint: Path | None) -> Retriever[Any]:
    from viewfinder.retrievers.chatsearcher.retriever import load

    return load(checkpoint)


def _load_combiner(checkpoint: Path | None) -> Retriever[Any]:
    from viewfinder.retrievers.combiner.retriever import load

    return load(checkpoint)


def _load_one(checkpoint: Path | None) -> Retriever[Any]:
    from viewfinder.retrievers.one.retriever import load

    return load(checkpoint, load_retriever)


def _load_baseline(name: str, checkpoint: Path | None) -> Retriever[Any]:
    from viewfinder.retrievers.baselines.retriever import load

    return load(name, checkpoint)


RETRIEVERS: dict[str, Maker] = {
    "composer": _share_untrained(Composer()),
    "clip-t": partial(_load_plain_clip, "clip-t", text=True),
    "clip-i": partial(_load_plain_clip, "clip-i", image=True),
    "clip-ti": partial(_load_plain_clip, "clip-ti", text=True, image=True),
    "clip-caption": partial(_load_plain_clip, "clip-caption", text=True, first=True),
    "chatir": _load_chatir,
    "plugir": _load_plugir,
    "drilldown": _load_drilldown,
    "fashioniq": _load_fashioniq,
    "mai": _load_mai,
    "chatsearcher": _load_chatsearcher,
    "combiner": _load_combiner,
    "one": _load_one,
    **{name: partial(_load_baseline, name) for name in ("hre", "r-hre", "r-re", "r-rankfusion")},
}


PLUGINS = Plugins("retriever", "viewfinder.retrievers", Retriever, RETRIEVERS)


def advise_retriever(collection: Collection) -> str | None:
    """The retriever in the box with which more was found than with the composer among such pictures; None: there is
    none.
    """
    from viewfinder.retrievers.one.retriever import load

    one = load(None, load_retriever)
    return one.name if one.finds_more_in(collection) else None


def load_retriever(retriever: str | Retriever[Any] | RetrieverClass, checkpoint: Path | None = None) -> Retriever[Any]:
    """The retriever with this name, from an installed package or at `package.module:Class`; or of a class; or as given.

    `checkpoint`: your own weights, for a retriever that has weights.

    Raises:
        UnknownName: no retriever has this name; the message lists those that exist.
        BadInput: the checkpoint is missing, damaged or of another system; or none is shipped and none is given; or
            another package's class cannot be imported or is not a retriever.
    """
    given = () if checkpoint is None else (checkpoint,)
    if not isinstance(retriever, str):
        made: Retriever[Any] = PLUGINS.make(retriever, label_part(retriever), *given)
    elif retriever in RETRIEVERS:
        made = RETRIEVERS[retriever](checkpoint)
    else:
        made = PLUGINS.load(retriever, *given)
    return made
