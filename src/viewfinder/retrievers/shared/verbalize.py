"""Every kind of turn as sentences, for systems that read only sentences.

What a system of sentences cannot take as given goes through a named adapter:

caption      a picture becomes the words that describe it
verbalise    a choice or a refusal becomes a sentence
drop         something could not be put into words, and is ignored
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from viewfinder.conversation import Answer, BackTo, Keep, Like, PictureId, Reject, Say, Show
from viewfinder.query import Operation, Picture, ResolvedTurn
from viewfinder.wording.clauses import split_clauses
from viewfinder.wording.replies import is_dont_know

MAX_PICTURE_WORDS = 3
"""Words that stand for a picture."""

TELLING, CERTAIN = 10.0, 0.5
"""A word describes a picture if it is this many times as likely as if all words were equally likely, or this likely."""

_REST = re.compile(r"\s(?:in|on|at|of|with|by|from|near|behind|under|that|which|who)\b")
_PLURAL = re.compile(r"(?:(?<![sui])s|people|men|women|children|feet|teeth)$")
_ARTICLE = re.compile(r"^(?:a|an|any|the|some|those|these)\s+", re.IGNORECASE)


@dataclass(frozen=True)
class VerbalizedTurn:
    """A turn in words.

    Attributes:
        sentences: what it says; a system that takes one sentence a turn reads each as its own turn; often one.
        readmitted: pictures that may be the target after all, whatever ruled them out before.
    """

    sentences: tuple[str, ...] = ()
    adapters: tuple[str, ...] = ()  # what could not be taken as given, and what became of it; a line each
    excluded: frozenset[PictureId] = frozenset()  # pictures that it rules out
    readmitted: frozenset[PictureId] = frozenset()

    def after(self, excluded: frozenset[PictureId]) -> frozenset[PictureId]:
        """The pictures ruled out after this turn; `excluded` are those before it."""
        return (excluded | self.excluded) - self.readmitted


def verbalize_turn(turn: ResolvedTurn) -> VerbalizedTurn:
    """The turn as sentences; nothing of it is left out without a line in `adapters`."""
    match turn.turn:
        case Say(text):
            return VerbalizedTurn(_list_sentences(text))
        case Answer(_, text) if is_dont_know(text):
            return VerbalizedTurn()
        case Answer(_, text):
            said = _list_sentences(turn.text)
            return VerbalizedTurn(said, () if said else (f"drop: the answer {text!r} names nothing that one can see",))
        case Like() | Show():
            return _verbalize_picture(turn, turn.turn)
        case Keep(attribute, _):
            values = ", ".join(value for known in turn.attribute_values.values() for value in known)
            said = _list_sentences(turn.text or values)
            line = f'verbalise: the {attribute} to keep is said as "{"".join(said)}"'
            return VerbalizedTurn(said, (line if said else f"drop: the {attribute} to keep has no name",))
        case Reject():
            return _verbalize_rejection(turn)
        case BackTo():
            raise AssertionError("the session moves; a retriever never sees BackTo")


@dataclass(frozen=True, eq=False)
class PictureTurn:
    """A turn as words on a picture.

    Attributes:
        text: how the wanted picture differs from `picture`, or, without one, what it is like; "" where nothing is said.
    """

    text: str = ""
    picture: Picture | None = None  # the one that the words are about, or to which the turn goes back
    names_picture: bool = False  # whether the turn itself is about a picture
    operations: tuple[Operation, ...] = ()  # what it does with earlier turns
    adapters: tuple[str, ...] = ()  # what could not be taken as given, and what became of it; a line each
    ruled: VerbalizedTurn = field(default_factory=VerbalizedTurn)  # the pictures that are ruled out and readmitted


def read_picture_turn(turn: ResolvedTurn, *, exclude_shown: bool) -> PictureTurn:
    """Any turn as words on a picture: on the one that it names, else on none.

    `exclude_shown`: whether a picture is ruled out once the user said how the wanted one differs. Without words it may
    be the wanted one, whatever ruled it out before.
    """
    picked = turn.turn
    if not isinstance(picked, Like | Show):
        said = verbalize_turn(turn)
        return PictureTurn(". ".join(said.sentences), adapters=said.adapters, ruled=said)
    picture, text = turn.pictures[0], " ".join(picked.text.split())
    named = frozenset(() if picture.id is None else (picture.id,))
    none = frozenset[PictureId]()
    ruled = VerbalizedTurn(excluded=named if text and exclude_shown else none, readmitted=none if text else named)
    back = picked.turn if isinstance(picked, Like) else None
    return PictureTurn(text, picture, True, () if back is None else (Operation("rollback", back),), ruled=ruled)


def _verbalize_picture(turn: ResolvedTurn, picked: Like | Show) -> VerbalizedTurn:
    """A picture in words (except those that `turn.changes` deny), then what was said with it, word for word."""
    void = {rival.lower() for change in turn.changes for rival in change.rivals}
    described = [words for picture in turn.pictures if (words := caption_picture(picture, turn.vocabulary, void))]
    adapters = [f'caption: the picture is taken as "{words}"' for words in described]
    if len(described) < len(turn.pictures) or not turn.pictures:
        adapters.append("drop: no word says enough of the picture")
    if isinstance(picked, Like) and picked.turn is not None:
        adapters.append(f"drop: what was said after turn {picked.turn} stays, words cannot be taken back")
    said = _list_sentences(picked.text)
    named = frozenset(picture.id for picture in turn.pictures if picture.id is not None)
    # With words another picture is wanted; without words this may be the one.
    excluded, readmitted = (named, frozenset[PictureId]()) if said else (frozenset[PictureId](), named)
    return VerbalizedTurn((*described, *said), tuple(adapters), excluded, readmitted)


def _verbalize_rejection(turn: ResolvedTurn) -> VerbalizedTurn:
    """A rejection as "there is no ...", as people said it to Drill-down; the rejected pictures are ruled out, and for a
    bare "none of these" all that were shown."""
    pictures = turn.pictures or (() if turn.text.strip() else turn.shown)
    gone = frozenset(picture.id for picture in pictures if picture.id is not None)
    adapters = ["drop: rejected pictures are left out, but their like is not"] if pictures else []
    clauses = split_clauses(" ".join(turn.text.split()))
    unwanted = [_ARTICLE.sub("", piece) for piece in (clauses.wanted, *clauses.unwanted) if piece]
    if not unwanted:
        return VerbalizedTurn(adapters=tuple(adapters), excluded=gone)
    sentence = f"there {'are' if _is_plural(unwanted[0]) else 'is'} no " + " and no ".join(unwanted)
    return VerbalizedTurn((sentence,), (*adapters, f'verbalise: what is not wanted is said as "{sentence}"'), gone)


def _is_plural(thing: str) -> bool:
    """Whether people say "there are" of it, judging by its name.

    >>> [_is_plural(thing) for thing in ("dogs in the snow", "dress with stripes", "people", "grass")]
    [True, False, True, False]
    """
    name = _REST.split(thing.lower(), maxsplit=1)[0].strip()
    return _PLURAL.search(name) is not None


def caption_picture(picture: Picture, vocabulary: Sequence[str], void: Iterable[str] = ()) -> str:
    """A picture in a few words: what the encoder's vocabulary says of it, then what its catalogue says.

    Words in `void`, and words that say little, are left out; "" if none remains.
    """
    words: list[str] = []
    roots_l = picture.vectors.get("vocabulary")
    if roots_l is not None and vocabulary:
        chances_l = np.square(roots_l)
        telling = np.flatnonzero(chances_l >= min(TELLING / len(vocabulary), CERTAIN))
        words += [vocabulary[at] for at in telling[np.argsort(-chances_l[telling], kind="stable")]]
    values = (value for known in picture.attributes.values() for value in known)
    words += [value for value in values if 0 < len(value.split()) <= MAX_PICTURE_WORDS and not re.search(r"\d", value)]
    left_out = {word.lower() for word in void}
    found: list[str] = []
    for word in words:
        # One of "dog" and "dogs" is enough.
        alike = (word.lower().startswith(one.lower()) or one.lower().startswith(word.lower()) for one in found)
        if word.lower() not in left_out and not any(alike):
            found.append(word)
    return ", ".join(found[:MAX_PICTURE_WORDS])


def _list_sentences(text: str) -> tuple[str, ...]:
    said = " ".join(text.split())
    return (said,) if said else ()
