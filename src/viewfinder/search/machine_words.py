"""Words that machines wrote about pictures: captions, names of things, and the text that stands in them.

What a machine says is true less often than what a person does, and it describes where people name. So the caption and
the things count word by word: a picture need not have all words of a text, and each that it has moves it up, the more
the rarer it is said. The text in a picture is a name, as it is in a catalogue. At a rate of their own, both are wrong,
and nothing follows from them. The numbers were chosen so that a model whose captions are true helps nearly as much as
it could, and one whose captions are all of other pictures costs next to nothing (`benchmarks/describing.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float32, Int64

from viewfinder.query import LikelihoodRatios
from viewfinder.search.verdicts import UNHEARD
from viewfinder.search.written_words import WordIndex, build_column_entries, said_words
from viewfinder.store.snapshot import Snapshot

TRUE_DESCRIPTIONS, TRUE_TEXTS = 0.3, 0.9
"""How often a machine's description is of the picture at all, and the text that it read stands there."""

SAID_IF_DESCRIBED = 0.3
"""How often somebody who means a picture says a word that a true description of it has."""

MIN_USUAL = 0.002
"""A word is said at least this often of other pictures, whether a machine wrote it of them or not."""

WEIGHT = 0.5
"""What words count beside what the encoder sees: it has seen most of it already, and words come together."""

MAX_NATS = 8.0
"""The most that a description counts."""

DESCRIBED, READ = ("caption", "objects"), ("text",)
"""Facts that describe a picture, and that stand in it."""


def weigh_machine_words(snapshot: Snapshot, text: str, familiar: Mapping[str, float]) -> LikelihoodRatios | None:
    """How much likelier a text is said of each picture given what machines say of it, in nats; None: nothing matches.

    `familiar`: log10 of how often people say a word of a picture.
    """

    def share_of(word: str) -> float:
        return float(10.0 ** familiar.get(word, UNHEARD))

    described = _index(snapshot, DESCRIBED).find(text)
    read = _index(snapshot, READ)
    named = read.likelihood_ratios(read.find(text), share_of) if said_words(text) else None
    if named is None and not any(map(len, described.values())):
        return None
    total_n = np.zeros(len(snapshot), np.float32)
    for word, rows_k in described.items():
        total_n[rows_k] += np.float32(WEIGHT * np.log1p(SAID_IF_DESCRIBED / max(share_of(word), MIN_USUAL)))
    total_n = _allow_for_errors(np.minimum(total_n, np.float32(MAX_NATS)), TRUE_DESCRIPTIONS)
    if named is not None:
        named_n = np.zeros(len(snapshot), np.float32)
        named.add_to(named_n, 1.0)
        total_n += _allow_for_errors(named_n, TRUE_TEXTS)
    telling_k: Int64[np.ndarray, " k"] = np.flatnonzero(total_n)
    return LikelihoodRatios.of(total_n[telling_k], telling_k, len(snapshot))


def _allow_for_errors(nats_n: Float32[np.ndarray, " n"], true: float) -> Float32[np.ndarray, " n"]:
    """The ratios given what a machine said, which holds with this chance only; otherwise nothing follows from it."""
    return np.asarray(np.log1p(np.float32(true) * np.expm1(nats_n)), np.float32)


def _index(snapshot: Snapshot, names: tuple[str, ...]) -> WordIndex:
    """The pictures by the words in some columns of machines' facts, kept beside the snapshot."""
    blocks = snapshot.derived_by_block(
        f"machine-words-2-{names[0]}",
        lambda block: build_column_entries([block.column(name) for name in names if name in block.file_columns]),
    )
    return WordIndex(blocks, len(snapshot))
