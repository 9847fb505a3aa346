"""A turn as the networks of Fashion IQ read it: whose picture, which words, which attributes. No torch here.

What such a network cannot take as it was given goes through an adapter, which is named: those of `blocks.spoken`, and

picture      what was said of no picture is taken as said of one
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float32

from viewfinder.conversation import Like, PictureId, Show
from viewfinder.retrievers.base import Picture, ResolvedTurn, Sentences
from viewfinder.retrievers.blocks.forward import Arrays, known_sentences
from viewfinder.retrievers.blocks.spoken import Spoken, spoken
from viewfinder.retrievers.fashioniq.settings import Reading
from viewfinder.retrievers.fashioniq.texts import words_in
from viewfinder.weights import Card


@dataclass(frozen=True, eq=False)
class Heard:
    """What a turn says.

    Attributes:
        feedback: whether it says anything at all for the network; else it only rules pictures out, or nothing.
        text: how the wanted picture differs from `picture`, or, without one, what it is like.
        picture: the one that this is said of.
        attributes: what the user says counts of it; None: what is predicted.
        adapters: what was not taken as it was given, and what became of it; a line each.
        ruled: the pictures that are ruled out and readmitted.
    """

    feedback: bool
    text: str = ""
    picture: Picture | None = None
    attributes: tuple[str, ...] | None = None
    adapters: tuple[str, ...] = ()
    ruled: Spoken = field(default_factory=Spoken)


def heard_of(turn: ResolvedTurn, *, reads_alone: bool, exclude_shown: bool) -> Heard:
    """A turn as feedback on a picture.

    Args:
        turn: any.
        reads_alone: whether the network can read words that are said of no picture.
        exclude_shown: whether a picture goes out once it was said how the wanted one differs.
    """
    if isinstance(turn.turn, Like | Show):
        return _picked(turn, turn.turn, exclude_shown)
    said = spoken(turn)
    text = ". ".join(said.sentences)
    if not text or reads_alone:
        return Heard(bool(text), text, None, None, said.adapters, said)
    if not len(turn.shown):
        line = f'picture: "{text}" is taken as said of a picture that shows nothing, as none was picked or shown'
        return Heard(True, text, None, None, (*said.adapters, line), said)
    line = f'picture: "{text}" is taken as said of result 1, as no picture was picked'
    return Heard(True, text, turn.shown[0], None, (*said.adapters, line), said)


def _picked(turn: ResolvedTurn, picked: Like | Show, exclude_shown: bool) -> Heard:
    """Words said of a picture; without any it may be the one, whatever ruled it out before."""
    picture, text = turn.pictures[0], " ".join(picked.text.split())
    named: frozenset[PictureId] = frozenset() if picture.id is None else frozenset({picture.id})
    excluded, readmitted = (named if exclude_shown else frozenset(), frozenset()) if text else (frozenset(), named)
    adapters: tuple[str, ...] = ()
    if isinstance(picked, Like) and picked.turn is not None:
        adapters = (f"drop: what was said after turn {picked.turn} stays, feedback cannot be taken back",)
    return Heard(True, text, picture, picked.attributes, adapters, Spoken(excluded=excluded, readmitted=readmitted))


class WordReader:
    """Texts to vectors of their words: of the session's encoder, which knows any word, or of a table in the weights."""

    def __init__(self, arrays: Arrays, settings: Reading, card: Card) -> None:
        self._most = settings.most_words
        self._version = str(card.settings["sentences_version"])
        self._by_encoder = settings.words == "encoder"
        self._table_vs: Float32[np.ndarray, "v s"] = arrays.get("words.table", np.zeros((1, 0), np.float32))
        # Weights without a table read no words at all: then none is known.
        vocabulary = card.settings["vocabulary"] if "words.table" in arrays else ()
        self._row = {word: row for row, word in enumerate(vocabulary, start=1)}

    def read(self, text: str, sentences: Sentences | None) -> tuple[Float32[np.ndarray, "l s"], tuple[str, ...]]:
        """The vectors of the words that are read, and what to tell of the others.

        Raises:
            EncoderMismatch: the session's sentence vectors are not those of the training.
        """
        words = words_in(text)
        known = [word for word in words if self._by_encoder or word in self._row]
        told = _told("drop: these weights do not know {}", [word for word in words if word not in known])
        told += _told(f"drop: the first {self._most} words of a turn are read, not {{}}", known[self._most :])
        read = known[: self._most]
        if self._by_encoder:
            vectors_ls = known_sentences(sentences, self._version).encode(read)
        else:
            vectors_ls = self._table_vs[[self._row[word] for word in read]]
        return np.asarray(vectors_ls, np.float32), told


def numbers_of(given: Sequence[str], number: Mapping[str, int], most: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The numbers of attributes that a user names, capitals aside, and what to tell of those that are not read.

    >>> numbers_of(("Cotton", "tartan"), {"cotton": 1}, 8)
    ((1,), ('drop: no attribute is called "tartan"',))
    """
    names = list(dict.fromkeys(" ".join(name.lower().split()) for name in given))
    known = [name for name in names if name in number]
    told = _told("drop: no attribute is called {}", [name for name in names if name not in number])
    told += _told(f"drop: the first {most} attributes are read, not {{}}", known[most:])
    return tuple(number[name] for name in known[:most]), told


def _told(line: str, words: Sequence[str]) -> tuple[str, ...]:
    """The line with these words in it; none where there are none."""
    return (line.format(", ".join(f'"{word}"' for word in words)),) if words else ()
