"""The composer: the training-free retriever every library starts with.

Each turn becomes weighted parts of one query, so every turn's share of a score can be shown. What is said stays; a
picked picture replaces the one picked before it; a rejected one goes. Words said with a picture ("but brown") count
more than the picture they change. What several turns say is read turn by turn, and as one text besides; of what cannot
be true together, the later holds ("no, in the snow").
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from viewfinder.conversation import Answer, BackTo, Keep, Like, PictureId, Reject, Say, Show
from viewfinder.query import Part, Picture, Query, Reads, ResolvedTurn
from viewfinder.wording.clauses import Clauses, split_clauses, split_clauses_in_context
from viewfinder.wording.replies import is_dont_know

# Weights of the parts, relative to one description; docs/benchmarks.md says which data they were chosen on.
PICTURE, PICTURE_WITH_WORDS, WORDS_WITH_PICTURE = 1.0, 0.6, 1.0
VALUE, CONTRAST, REST = 0.3, 0.15, 0.5

UNWANTED, UNWANTED_BEYOND = 0.3, 0.5
"""Weight against what is named as unwanted ("no people"), and the deviations above the mean from which likeness to it
counts. Chosen on the photographs of `choose`: more, or less far above, costs the wanted picture places on average,
because what an encoder sees of one thing it sees of others as well. A whole deviation does as well there, but where
half of all pictures show the thing, none stands out by so much."""

BESIDE_WORDS = 0.4
"""Weight of a picked picture, and of what is said with it, once the wanted one was described. Chosen on the
photographs of `choose`; a catalogue's own words ("but brown") are understood, and keep their weights."""

NOT = "not "
"""Begins the label of what is named as unwanted."""

TOGETHER = 0.5
"""Share of the vector of all descriptions read as one text in each of theirs: "it runs through the snow" says little
without the dog of the turn before. Chosen on the photographs of `choose`."""

MAX_TOGETHER = 40
"""Words of the last descriptions that are read as one text: encoders read no more, and a turn must not cost more the
longer a conversation is."""


@dataclass(frozen=True, eq=False)
class ComposerState:
    """What a conversation has come to.

    Attributes:
        parts: in the order of the turns.
        excluded: the pictures that must not come back.
        described: what was last said of the wanted picture itself.
        together: the vector of the last descriptions read as one text, and their turns; None: there is only one.
    """

    parts: tuple[Part, ...] = ()
    excluded: frozenset[PictureId] = frozenset()
    described: Part | None = None
    together: tuple[Float[np.ndarray, " d"], frozenset[int]] | None = None


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
        return _encode_texts(_add_turn(_revise(state, turn), turn), turn)

    def take_back(self, state: ComposerState, turn: ResolvedTurn) -> ComposerState:
        """The state without what this turn says is not there."""
        return _encode_texts(_revise(state, turn), turn)

    def query(self, state: ComposerState) -> Query:
        """All parts, each description as one of all: the gallery adds them up."""
        sharpness = _compute_sharpness(state.parts)
        return Query(parts=_blend_parts(state), excluded=state.excluded, sharpness=sharpness, on_box_scale=True)


def _revise(state: ComposerState, turn: ResolvedTurn) -> ComposerState:
    """The state with descriptions as they still hold beside this turn; their vectors come with those of new texts."""
    if turn.revise is None:
        return state
    parts = []
    for part in state.parts:
        if part.kind in ("contrast", "value"):  # "but in white", and later "no, black"
            label = part.label if turn.revise(_named_value(part)) else ""
        else:
            label = turn.revise(part.label) if _is_description(part) else part.label
        if label:
            parts.append(part if label == part.label else replace(part, label=label, vector_d=None))
    described = state.described and replace(state.described, label=turn.revise(state.described.label))
    return replace(state, parts=tuple(parts), described=described if described and described.label else None)


def _named_value(part: Part) -> str:
    """The value that a part asks for."""
    return part.label if part.value is None else part.value[1]


def _add_turn(state: ComposerState, turn: ResolvedTurn) -> ComposerState:
    match turn.turn:
        case Say():
            before = state.described.label if state.described else ""
            wanted, against = _make_both(turn, split_clauses_in_context(turn.text, before), 1.0)
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
            return replace(state, parts=(*state.parts, *values, *(_make_said(turn, 1.0) if turn.text else ())))
        case Like() | Show():
            return _add_picked(state, turn)
        case Reject():
            return _add_rejected(state, turn)
        case BackTo():
            raise AssertionError("the session moves; a retriever never sees BackTo")


def _encode_texts(state: ComposerState, turn: ResolvedTurn) -> ComposerState:
    """The state with the vectors of its new texts, and of its last descriptions read as one text.

    All are asked for at once, so that an encoder may read them side by side.
    """
    said = _select_last(tuple(part for part in state.parts if _is_description(part)))
    joined = [_join_texts(said)] if len(said) > 1 else []
    new = [part for part in state.parts if part.kind == "words" and part.vector_d is None]
    if not new and not joined:
        return replace(state, together=None)
    *vectors, last_d = turn.words([*(part.label.removeprefix(NOT) for part in new), *joined])
    together = (last_d, frozenset(part.turn for part in said)) if joined else None
    found = dict(zip(map(id, new), vectors if joined else [*vectors, last_d], strict=True))
    parts = tuple(replace(part, vector_d=found[id(part)]) if id(part) in found else part for part in state.parts)
    return replace(state, parts=parts, together=together)


def _join_texts(said: tuple[Part, ...]) -> str:
    """Descriptions as one text; a correction repeats what it corrects."""
    texts = [
        part.label.strip().rstrip(".").rstrip()
        for part, after in zip(said, (*said[1:], None), strict=True)
        if after is None or not after.label.startswith(part.label)
    ]
    return ". ".join(texts)


def _select_last(said: tuple[Part, ...]) -> tuple[Part, ...]:
    """The last descriptions that have at most `MAX_TOGETHER` words in all."""
    words = list(accumulate(len(part.label.split()) for part in reversed(said)))
    return said[len(said) - sum(count <= MAX_TOGETHER for count in words) :]


def _is_description(part: Part) -> bool:
    return part.kind == "words" and part.weight > 0


def _blend_parts(state: ComposerState) -> tuple[Part, ...]:
    """The parts, with what was read together in the vectors of its turns, which keep their shares of a score."""
    if state.together is None:
        return state.parts
    together_d, turns = state.together
    return tuple(
        replace(part, vector_d=(1 - TOGETHER) * part.vector_d + TOGETHER * together_d)
        if _is_description(part) and part.turn in turns and part.vector_d is not None
        else part
        for part in state.parts
    )


def _compute_sharpness(parts: tuple[Part, ...]) -> float:
    """How much a lead in score means: more after more turns, and after sentences rather than fragments.

    Fitted on photographs of `choose` to maximise the probability of the intended pictures: 16 for one fragment, 22
    for a sentence, 35 for five of them.
    """
    said = [len(part.label.split()) for part in parts if part.kind == "words" and part.weight > 0]
    if not said:
        return Query(()).sharpness
    words = sum(min(count, 13) for count in said) / len(said)
    return min(8.0 + 5.0 * len(said) + 0.75 * words, 36.0)


def _add_picked(state: ComposerState, turn: ResolvedTurn) -> ComposerState:
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
    # "But no people" is a fact where that is seen: no text is left, and another picture is wanted all the same.
    has_words = bool(turn.text or turn.changes or (isinstance(turn.turn, Like | Show) and turn.turn.text))
    if turn.changes:
        new = _make_changes(turn)
    else:
        weight = PICTURE_WITH_WORDS if has_words else PICTURE
        likeness = tuple(_make_picture(turn, picture, weight) for picture in turn.pictures)
        new = likeness + (_make_said(turn, WORDS_WITH_PICTURE) if has_words else ())
        if has_words and described:
            new = tuple(replace(part, weight=BESIDE_WORDS * part.weight) for part in new)
    # With "but ..." another picture is wanted; without it, this may well be the one.
    named = {picture.id for picture in turn.pictures if picture.id is not None}
    excluded = state.excluded | named if has_words else state.excluded - named
    return ComposerState((*kept, *new), excluded, described)


def _make_changes(turn: ResolvedTurn) -> tuple[Part, ...]:
    """ "But brown": like the picture in every word that describes it but this one; and brown rather than its rivals."""
    void = {rival for change in turn.changes for rival in change.rivals}
    kept_l = np.array([word not in void for word in turn.vocabulary], dtype=np.float32)
    parts = []
    for picture in turn.pictures:
        if "vocabulary" in picture.vectors:
            words_l = picture.vectors["vocabulary"] * kept_l
            parts.append(Part("vocabulary", turn.number, "this picture, in words", PICTURE, words_l))
        else:
            parts.append(_make_picture(turn, picture, PICTURE))
    for change in turn.changes:
        value, (vector_d,), rivals_rd = change.value, turn.words([change.value]), turn.words(list(change.rivals))
        parts.append(Part("contrast", turn.number, value, CONTRAST, vector_d, rivals_rd=rivals_rd))
        if (column := change.column) is not None:
            parts.append(Part("value", turn.number, f"{column}: {value}", VALUE, value=(column, value)))
    return (*parts, *(_make_said(turn, REST) if turn.text else ()))


def _add_rejected(state: ComposerState, turn: ResolvedTurn) -> ComposerState:
    """Rejected pictures go, with a bare "none of these" all that was shown; rejected words count against.

    They do not count against their like: what they show is mostly what was asked for (docs/benchmarks.md).
    """
    pictures = turn.pictures or (() if turn.text else turn.shown)
    clauses = split_clauses(turn.text)
    pieces = tuple(piece for piece in (clauses.wanted, *clauses.unwanted) if piece)
    gone = {picture.id for picture in pictures if picture.id is not None}
    return replace(state, parts=(*state.parts, *_make_against(turn, pieces)), excluded=state.excluded | gone)


def _make_said(turn: ResolvedTurn, weight: float) -> tuple[Part, ...]:
    wanted, against = _make_both(turn, split_clauses(turn.text), weight)
    return wanted + against


def _make_both(turn: ResolvedTurn, clauses: Clauses, weight: float) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    wanted = (_make_words(turn, clauses.wanted, weight),) if clauses.wanted else ()
    return wanted, _make_against(turn, clauses.unwanted)


def _make_against(turn: ResolvedTurn, pieces: tuple[str, ...]) -> tuple[Part, ...]:
    # Not centred: a picture that answers everything must not be rewarded for what it does not show.
    return tuple(
        replace(_make_words(turn, NOT + piece, -UNWANTED), centred=False, beyond=UNWANTED_BEYOND) for piece in pieces
    )


def _make_words(turn: ResolvedTurn, text: str, weight: float) -> Part:
    return Part("words", turn.number, text, weight, centred=True)  # its vector comes when all texts are known


def _make_picture(turn: ResolvedTurn, picture: Picture, weight: float) -> Part:
    return Part("picture", turn.number, "this picture", weight, picture.vectors["global"])
