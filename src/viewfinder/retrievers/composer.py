"""The composer: the training-free retriever every library starts with.

Each turn becomes weighted parts of one query, so every turn's share of a score can be shown. What is said stays; a
picked picture replaces the one picked before it; a rejected one goes. Words said with a picture ("but brown") count
more than the picture they change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from viewfinder.conversation import Answer, BackTo, Keep, Like, PictureId, Reject, Say, Show, is_dont_know
from viewfinder.retrievers.base import Part, Picture, Query, Reads, ResolvedTurn, Words

# Weights of the parts, relative to one description; docs/benchmarks.md says which data they were chosen on.
PICTURE, PICTURE_WITH_WORDS, WORDS_WITH_PICTURE = 1.0, 0.6, 1.0
VALUE, CONTRAST, REST = 0.3, 0.15, 0.5

UNWANTED = 0.3
"""Weight against what is named as unwanted ("no people"). Chosen on the photographs of `choose`: more costs the wanted
picture places on average, because what an encoder sees of one thing it sees of others as well."""

BESIDE_WORDS = 0.4
"""Weight of a picked picture, and of what is said with it, once the wanted one was described. Chosen on the
photographs of `choose`; a catalogue's own words ("but brown") are understood, and keep their weights."""


@dataclass(frozen=True, eq=False)
class ComposerState:
    """The parts so far, in the order of the turns, the pictures that must not come back, and what was last said of the
    wanted picture itself."""

    parts: tuple[Part, ...] = ()
    excluded: frozenset[PictureId] = frozenset()
    described: Part | None = None


class Composer:
    """Fuses all turns of a conversation into one query; reads the "global" vectors only."""

    name: ClassVar[str] = "composer"
    reads: ClassVar[Reads] = Reads()
    trained_on: ClassVar[None] = None  # nothing here was trained

    def begin(self) -> ComposerState:
        """Nothing said, nothing excluded."""
        return ComposerState()

    def step(self, state: ComposerState, turn: ResolvedTurn) -> ComposerState:
        """The state with this turn's parts added, and those it invalidates removed."""
        match turn.turn:
            case Say():
                before = state.described.label if state.described else ""
                wanted, against = _read(turn, clauses_in_context(turn.text, before), 1.0)
                described = wanted[0] if wanted else state.described
                return replace(state, parts=(*state.parts, *wanted, *against), described=described)
            case Answer(_, text) if is_dont_know(text):
                return state
            case Answer() | Keep():  # by the catalogue where it has the value, and in words
                values = tuple(
                    Part("value", turn.number, f"{column}: {value}", VALUE, value=(column, value))
                    for column, known in turn.attribute_values.items()
                    for value in known
                )
                return replace(state, parts=(*state.parts, *values, *(_said(turn, 1.0) if turn.text else ())))
            case Like() | Show():
                return _picked(state, turn)
            case Reject():
                return _rejected(state, turn)
            case BackTo():
                raise AssertionError("the session moves; a retriever never sees BackTo")

    def query(self, state: ComposerState) -> Query:
        """All parts as they are: the gallery adds them up."""
        return Query(parts=state.parts, excluded=state.excluded, sharpness=_sharpness(state.parts))


def _sharpness(parts: tuple[Part, ...]) -> float:
    """How much a lead in score means: more after more turns, and after sentences rather than fragments.

    Fitted on photographs of `choose` to maximise the probability of the intended pictures: 16 for one fragment, 22
    for a sentence, 35 for five of them.
    """
    said = [len(part.label.split()) for part in parts if part.kind == "words" and part.weight > 0]
    if not said:
        return Query(()).sharpness
    words = sum(min(count, 13) for count in said) / len(said)
    return min(8.0 + 5.0 * len(said) + 0.75 * words, 36.0)


def _picked(state: ComposerState, turn: ResolvedTurn) -> ComposerState:
    """A picture to continue from: it replaces the one before, and "but ..." weighs against it.

    With `Like.turn`, the conversation continues from what was on the screen then: words said later described
    changes to another picture and are dropped (MAI's rollback, "replace").
    """
    since = turn.turn.turn if isinstance(turn.turn, Like) else None
    # What was said with the previous picture goes with it: a new one starts from what it is itself.
    of_picture = ("picture", "vocabulary", "contrast")
    kept = (part for part in state.parts if not (part.kind in of_picture and part.weight > 0))
    kept = (part for part in kept if since is None or part.turn <= since)
    described = state.described if since is None or (state.described and state.described.turn <= since) else None
    has_words = bool(turn.text or turn.changes)
    if turn.changes:
        new = _changed(turn)
    else:
        weight = PICTURE_WITH_WORDS if has_words else PICTURE
        likeness = tuple(_picture(turn, picture, weight) for picture in turn.pictures)
        new = likeness + (_said(turn, WORDS_WITH_PICTURE) if has_words else ())
        if has_words and described:
            new = tuple(replace(part, weight=BESIDE_WORDS * part.weight) for part in new)
    # With "but ..." another picture is wanted; without it, this may well be the one.
    named = {picture.id for picture in turn.pictures if picture.id is not None}
    excluded = state.excluded | named if has_words else state.excluded - named
    return ComposerState((*kept, *new), excluded, described)


def _changed(turn: ResolvedTurn) -> tuple[Part, ...]:
    """ "But brown": like the picture in every word that describes it but this one; and brown rather than its rivals."""
    void = {rival for change in turn.changes for rival in change.rivals}
    kept_l = np.array([word not in void for word in turn.vocabulary], dtype=np.float32)
    parts = []
    for picture in turn.pictures:
        if "vocabulary" in picture.vectors:
            words_l = picture.vectors["vocabulary"] * kept_l
            parts.append(Part("vocabulary", turn.number, "this picture, in words", PICTURE, words_l))
        else:
            parts.append(_picture(turn, picture, PICTURE))
    for change in turn.changes:
        value, (vector_d,), rivals_rd = change.value, turn.words([change.value]), turn.words(list(change.rivals))
        parts.append(Part("contrast", turn.number, value, CONTRAST, vector_d, rivals_rd=rivals_rd))
        if (column := change.column) is not None:
            parts.append(Part("value", turn.number, f"{column}: {value}", VALUE, value=(column, value)))
    return (*parts, *(_said(turn, REST) if turn.text else ()))


def _rejected(state: ComposerState, turn: ResolvedTurn) -> ComposerState:
    """Rejected pictures go, with a bare "none of these" all that was shown; rejected words count against.

    They do not count against their like: what they show is mostly what was asked for (docs/benchmarks.md).
    """
    pictures = turn.pictures or (() if turn.text else turn.shown)
    clauses = split_clauses(turn.text)
    pieces = tuple(piece for piece in (clauses.wanted, *clauses.unwanted) if piece)
    gone = {picture.id for picture in pictures if picture.id is not None}
    return replace(state, parts=(*state.parts, *_against(turn, pieces)), excluded=state.excluded | gone)


def _said(turn: ResolvedTurn, weight: float) -> tuple[Part, ...]:
    wanted, against = _read(turn, split_clauses(turn.text), weight)
    return wanted + against


def _read(turn: ResolvedTurn, clauses: Clauses, weight: float) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    wanted = (_words(turn, clauses.wanted, weight),) if clauses.wanted else ()
    return wanted, _against(turn, clauses.unwanted)


def _against(turn: ResolvedTurn, pieces: tuple[str, ...]) -> tuple[Part, ...]:
    # Not centred: a picture that answers everything must not be rewarded for what it does not show.
    return tuple(replace(_words(turn, piece, -UNWANTED), label=f"not {piece}", centred=False) for piece in pieces)


def _words(turn: ResolvedTurn, text: str, weight: float) -> Part:
    return Part("words", turn.number, text, weight, turn.words([text])[0], centred=True)


def _picture(turn: ResolvedTurn, picture: Picture, weight: float) -> Part:
    return Part("picture", turn.number, "this picture", weight, picture.vectors["global"])


@dataclass(frozen=True, eq=False)
class PlainState:
    """All the words so far, and the last picture: what plain CLIP can use of a dialogue."""

    said: tuple[tuple[int, str], ...] = ()
    words: Words | None = None
    last_picture: tuple[int, Float[np.ndarray, " d"]] | None = None
    adapters: tuple[str, ...] = ()


class PlainClip:
    """The rows CLIP-t, CLIP-i and CLIP-ti of the ChatSearch paper (Table 2), on any encoder of words and pictures.

    CLIP-t encodes the text of the whole dialogue at once, CLIP-i the last picture; CLIP-ti is the mean of both unit
    vectors (the paper leaves the weights open). Turns that are neither text nor picture are dropped and reported.
    With `first`, only the first words are read, as in ChatIR's baseline on the caption.
    """

    reads: ClassVar[Reads] = Reads(words=False)
    trained_on: ClassVar[None] = None  # nothing here was trained

    def __init__(self, name: str, *, text: bool, image: bool, first: bool = False) -> None:
        self.name = name
        self._text, self._image, self._first = text, image, first

    def begin(self) -> PlainState:
        """Nothing said, no picture."""
        return PlainState()

    def step(self, state: PlainState, turn: ResolvedTurn) -> PlainState:
        """The dialogue with this turn's words appended and its picture, if it has one, as the last."""
        text, dropped = turn.text, []
        match turn.turn:  # words as they were said: no values for "but ..."; an open question comes before its answer
            case Reject() | Keep():
                text, dropped = "", [type(turn.turn).__name__.lower()]
            case Like(text=said) | Show(text=said):
                text = said
            case Answer(_, said) if is_dont_know(said):
                text = ""
            case Answer(question, said) if question.attribute is None:
                text = f"{question.text} {said}".strip()
        if text and self._first and state.said:
            dropped.append("what is said after the first")
        elif text and self._text:
            state = replace(state, said=(*state.said, (turn.number, text)), words=turn.words)
        elif text:
            dropped.append("words")
        if turn.pictures and not isinstance(turn.turn, Reject | Keep):
            if self._image:
                state = replace(state, last_picture=(turn.number, turn.pictures[-1].vectors["global"]))
            else:
                dropped.append("pictures")
        lines = (f"drop: {self.name} has no use for {what}" for what in dropped)
        return replace(state, adapters=(*state.adapters, *lines))

    def query(self, state: PlainState) -> Query:
        """One part for the text and one for the picture, if this row uses them and they are there."""
        parts = []
        if state.said and state.words is not None:
            text, number = ", ".join(said for _, said in state.said), state.said[-1][0]
            parts.append(Part("words", number, text, 1.0, state.words([text])[0], holds=state.said))
        if state.last_picture is not None:
            parts.append(Part("picture", state.last_picture[0], "this picture", 1.0, state.last_picture[1]))
        return Query(tuple(parts), adapters=state.adapters)


# A negation extends to the next comma, conjunction or end. "no" and "not" need a noun or colour after them, so
# "not only", "no doubt" and the like are left alone.
_NEGATION = re.compile(
    r"(?:,?\s*\b(?:but|and|or)\b)?,?\s*(?:\b(?:it|there|they)\s+)?"
    r"\b(?:without|with no|but no|but not|except(?: for)?|no|not|never|there (?:is|are) no|(?:is|are)n't|"
    r"doesn't have|don't want)\b"
    r"(?!\s+(?:only|just|sure|doubt|more than|less than|matter|idea)\b)"
    r"\s+(?:(?:a|an|any|the)\s+)?(?P<unwanted>[^,.;:!?]+?)"
    r"(?=\s*(?:[,.;:!?]|\b(?:and|but|with|on|in|at|near|while)\b|$))",
    re.IGNORECASE,
)


_CORRECTION = re.compile(r"^\s*(?:no|nope)\s*[,;:.!]\s*(?=\S)", re.IGNORECASE)


@dataclass(frozen=True)
class Clauses:
    """The wanted text ("" when the sentence only rules out) and the unwanted pieces."""

    wanted: str
    unwanted: tuple[str, ...] = ()


@lru_cache(maxsize=16_384)  # what was said is asked for at every later turn
def split_clauses(text: str) -> Clauses:
    """Separate what a sentence wants from what it does not want.

    >>> split_clauses("a dog on the grass without a collar, no people")
    Clauses(wanted='a dog on the grass', unwanted=('collar', 'people'))
    """
    text = _CORRECTION.sub("", text)
    unwanted = tuple(match["unwanted"].strip() for match in _NEGATION.finditer(text))
    if not unwanted:
        return Clauses(text.strip())
    wanted = re.sub(r"\s+", " ", _NEGATION.sub(" ", text)).strip(" ,;.:!?")
    wanted = re.sub(r"^(?:,\s*)?(?:but|and|or)\s+|\s+(?:but|and|or)$", "", wanted)
    return Clauses(wanted, unwanted)


def clauses_in_context(text: str, before: str) -> Clauses:
    """`split_clauses`; a correction ("no, ...") says what it wants only together with what was said `before` it.

    >>> clauses_in_context("no, two of them", "dogs on grass").wanted
    'dogs on grass, two of them'
    """
    clauses = split_clauses(text)
    if not (before and clauses.wanted and _CORRECTION.match(text)):
        return clauses
    return replace(clauses, wanted=f"{before}, {clauses.wanted}")
