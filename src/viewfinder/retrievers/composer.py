"""The composer: the training-free retriever every library starts with.

Each turn becomes weighted parts of one query, so every turn's share of a score can be shown. What is said stays; a
picked picture replaces the one picked before it; what is rejected counts against. Words said with a picture ("but
brown") count more than the picture they change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from viewfinder.conversation import Answer, BackTo, Keep, Like, PictureId, Reject, Say, Show, is_dont_know
from viewfinder.retrievers.base import Part, Picture, Query, Reads, ResolvedTurn, Words


@dataclass(frozen=True, kw_only=True)
class ComposerSettings:
    """Weights of the parts, relative to one description; docs/benchmarks.md says on what they were chosen."""

    picture: float = 1.0
    picture_with_words: float = 0.6
    words_with_picture: float = 1.0
    value: float = 0.3
    contrast: float = 0.15
    rest: float = 0.5
    unwanted: float = 0.5
    rejected: float = 0.3


@dataclass(frozen=True, eq=False)
class ComposerState:
    """The parts so far, in the order of the turns, and the pictures that must not come back."""

    parts: tuple[Part, ...] = ()
    excluded: frozenset[PictureId] = frozenset()


class Composer:
    """Fuses all turns of a conversation into one query; reads the "global" vectors only."""

    reads: ClassVar[Reads] = Reads()

    def __init__(self, settings: ComposerSettings | None = None) -> None:
        self.name = "composer"
        self._settings = settings or ComposerSettings()

    def begin(self) -> ComposerState:
        """Nothing said, nothing excluded."""
        return ComposerState()

    def step(self, state: ComposerState, turn: ResolvedTurn) -> ComposerState:
        """The state with this turn's parts added, and those it makes void taken out."""
        match turn.turn:
            case Say():
                return _with(state, self._said(turn, 1.0))
            case Answer(_, text):
                return state if is_dont_know(text) else _with(state, self._known(turn))
            case Keep():
                return _with(state, self._known(turn))
            case Like() | Show():
                return self._picked(state, turn)
            case Reject():
                return self._rejected(state, turn)
            case BackTo():
                raise AssertionError("the session moves; a retriever never sees BackTo")

    def query(self, state: ComposerState) -> Query:
        """All parts as they are: the gallery adds them up."""
        return Query(parts=state.parts, excluded=state.excluded)

    def _said(self, turn: ResolvedTurn, weight: float) -> tuple[Part, ...]:
        clauses = split_clauses(turn.text)
        wanted = _words(turn, clauses.wanted, weight) if clauses.wanted else ()
        return wanted + self._against(turn, clauses.unwanted)

    def _against(self, turn: ResolvedTurn, pieces: tuple[str, ...]) -> tuple[Part, ...]:
        return tuple(
            # Not centred: a picture that answers everything is not to be rewarded for what it does not show.
            replace(part, label=f"not {part.label}", centred=False)
            for piece in pieces
            for part in _words(turn, piece, -self._settings.unwanted)
        )

    def _known(self, turn: ResolvedTurn) -> tuple[Part, ...]:
        """An answer or a kept attribute: by the catalogue where it knows, and in words."""
        values = tuple(
            Part("value", turn.number, f"{column}: {value}", self._settings.value, value=(column, value))
            for column, known in turn.attribute_values.items()
            for value in known
        )
        return (*values, *(self._said(turn, 1.0) if turn.text else ()))

    def _picked(self, state: ComposerState, turn: ResolvedTurn) -> ComposerState:
        """A picture to go on from: it takes the place of the one before, and "but ..." weighs against it.

        With `Like.turn`, the talk goes on from what was on the screen back then: words said later described
        another picture's changes and go out (MAI's rollback, "replace").
        """
        picked = turn.turn
        since = picked.turn if isinstance(picked, Like) else None
        kept = tuple(
            part for part in state.parts if not _is_picked_picture(part) and (since is None or part.turn <= since)
        )
        has_words = bool(turn.text or turn.changes)
        if turn.changes:
            new = self._changed(turn)
        elif has_words:
            likeness = tuple(_picture(turn, picture, self._settings.picture_with_words) for picture in turn.pictures)
            new = likeness + self._said(turn, self._settings.words_with_picture)
        else:
            new = tuple(_picture(turn, picture, self._settings.picture) for picture in turn.pictures)
        # With "but ..." another picture is wanted; without, it may well be the one.
        named = {picture.id for picture in turn.pictures if picture.id is not None}
        excluded = state.excluded | named if has_words else state.excluded - named
        return ComposerState((*kept, *new), excluded)

    def _changed(self, turn: ResolvedTurn) -> tuple[Part, ...]:
        """ "But brown": like the picture in all that words say of it, save this; and brown rather than its rivals."""
        void = {rival for change in turn.changes for rival in change.rivals}
        settings = self._settings
        parts = tuple(_described(turn, picture, settings.picture, void) for picture in turn.pictures)
        for change in turn.changes:
            vector_d = turn.words([change.value])[0]
            rivals_rd = turn.words(list(change.rivals))
            parts += (Part("contrast", turn.number, change.value, settings.contrast, vector_d, rivals_rd=rivals_rd),)
            if change.column is not None:
                held = (change.column, change.value)
                parts += (Part("value", turn.number, f"{held[0]}: {held[1]}", settings.value, value=held),)
        return parts + (self._said(turn, settings.rest) if turn.text else ())

    def _rejected(self, state: ComposerState, turn: ResolvedTurn) -> ComposerState:
        """Rejected pictures go and count against their like; a bare "none of these" takes all that was shown."""
        pictures = turn.pictures or (() if turn.text else turn.shown)
        share = self._settings.rejected / max(len(pictures), 1)
        against = tuple(replace(_picture(turn, picture, -share), label="not like this") for picture in pictures)
        clauses = split_clauses(turn.text)
        pieces = tuple(piece for piece in (clauses.wanted, *clauses.unwanted) if piece)
        gone = {picture.id for picture in pictures if picture.id is not None}
        return ComposerState((*state.parts, *against, *self._against(turn, pieces)), state.excluded | gone)


def _with(state: ComposerState, parts: tuple[Part, ...]) -> ComposerState:
    return replace(state, parts=state.parts + parts)


def _words(turn: ResolvedTurn, text: str, weight: float) -> tuple[Part, ...]:
    return (Part("words", turn.number, text, weight, turn.words([text])[0], centred=True),)


def _picture(turn: ResolvedTurn, picture: Picture, weight: float) -> Part:
    return Part("picture", turn.number, "this picture", weight, picture.vectors["global"])


def _described(turn: ResolvedTurn, picture: Picture, weight: float, void: set[str]) -> Part:
    """A part for what the vocabulary says of a picture, without the words that are to change."""
    if "vocabulary" not in picture.vectors:
        return _picture(turn, picture, weight)
    words_l = picture.vectors["vocabulary"]
    kept_l = np.array([word not in void for word in turn.vocabulary], dtype=np.float32)
    return Part("vocabulary", turn.number, "this picture, in words", weight, words_l * kept_l)


def _is_picked_picture(part: Part) -> bool:
    """Also what was said with it: another picture starts from what that one is."""
    return part.kind in ("picture", "vocabulary", "contrast") and part.weight > 0


@dataclass(frozen=True, eq=False)
class PlainState:
    """All that was said, and the last picture: what plain CLIP can use of a dialogue."""

    said: tuple[tuple[int, str], ...] = ()
    words: Words | None = None
    last_picture: tuple[int, Float[np.ndarray, " d"]] | None = None
    adapters: tuple[str, ...] = ()


class PlainClip:
    """The rows CLIP-t, CLIP-i and CLIP-ti of the ChatSearch paper (Table 2), on any encoder of words and pictures.

    CLIP-t encodes the text of the whole talk at once, CLIP-i the last picture; CLIP-ti is the mean of both unit
    vectors (the paper leaves the weights open). Turns that are neither text nor picture are dropped, and said so.
    With `first` only what is said first is read, as in ChatIR's baseline on the caption.
    """

    reads: ClassVar[Reads] = Reads(words=False)

    def __init__(self, name: str, *, text: bool, image: bool, first: bool = False) -> None:
        self.name = name
        self._text, self._image, self._first = text, image, first

    def begin(self) -> PlainState:
        """Nothing said, no picture."""
        return PlainState()

    def step(self, state: PlainState, turn: ResolvedTurn) -> PlainState:
        """The talk with this turn's words appended and its picture, if it has one, as the last."""
        if isinstance(turn.turn, Reject | Keep):
            return self._dropped(state, type(turn.turn).__name__.lower())
        text = _as_said(turn)
        if text and not (isinstance(turn.turn, Answer) and is_dont_know(turn.turn.text)):
            if self._first and state.said:
                state = self._dropped(state, "what is said after the first")
            elif self._text:
                state = replace(state, said=(*state.said, (turn.number, text)), words=turn.words)
            else:
                state = self._dropped(state, "words")
        if turn.pictures:
            if self._image:
                state = replace(state, last_picture=(turn.number, turn.pictures[-1].vectors["global"]))
            else:
                state = self._dropped(state, "pictures")
        return state

    def _dropped(self, state: PlainState, what: str) -> PlainState:
        return replace(state, adapters=(*state.adapters, f"drop: {self.name} has no use for {what}"))

    def query(self, state: PlainState) -> Query:
        """One part for the text, one for the picture, as far as this row uses them and they are there."""
        parts = []
        if self._text and state.said and state.words is not None:
            text = ", ".join(said for _, said in state.said)
            number = state.said[-1][0]
            parts.append(Part("words", number, text, 1.0, state.words([text])[0], holds=state.said))
        if self._image and state.last_picture is not None:
            number, vector_d = state.last_picture
            parts.append(Part("picture", number, "this picture", 1.0, vector_d))
        return Query(tuple(parts), adapters=state.adapters)


def _as_said(turn: ResolvedTurn) -> str:
    """A turn's words as they were said: no values for "but ...", an open question before its answer."""
    match turn.turn:
        case Like(text=text) | Show(text=text):
            return text
        case Answer(question, text) if question.attribute is None:
            return f"{question.text} {text}".strip()
        case _:
            return turn.text


# A negation reaches to the next comma, conjunction or end. "no" and "not" need a noun or colour after them, so
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


@dataclass(frozen=True)
class Clauses:
    """The wanted text ("" when the sentence only rules out) and the unwanted pieces."""

    wanted: str
    unwanted: tuple[str, ...] = ()


def split_clauses(text: str) -> Clauses:
    """Separate what a sentence wants from what it does not want.

    >>> split_clauses("a dog on the grass without a collar, no people")
    Clauses(wanted='a dog on the grass', unwanted=('collar', 'people'))
    """
    unwanted = tuple(match["unwanted"].strip() for match in _NEGATION.finditer(text))
    if not unwanted:
        return Clauses(text.strip())
    wanted = re.sub(r"\s+", " ", _NEGATION.sub(" ", text)).strip(" ,;.:!?")
    wanted = re.sub(r"^(?:,\s*)?(?:but|and|or)\s+|\s+(?:but|and|or)$", "", wanted)
    return Clauses(wanted, unwanted)
