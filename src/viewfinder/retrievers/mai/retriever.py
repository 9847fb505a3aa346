"""MAI as a retriever: a conversation goes from picture to picture, and may return to any earlier one.

Numpy only; `network` is what was trained. What cannot be read as given goes through a named adapter: those of
`shared.verbalize`, and

screen       "the second" is the second result if the conversation has not reached a second picture
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from jaxtyping import Float32

from viewfinder.conversation import Keep, PictureId, Reject
from viewfinder.query import Operation, Picture, Query, RawPictures, Reads, RegionSpace, ResolvedTurn, SentenceEncoder
from viewfinder.retrievers.mai import numpy_network
from viewfinder.retrievers.mai.settings import MAX_SCALE, MaiLossSettings, Model, Treatment
from viewfinder.retrievers.mai.texts import make_text_reader, modification_text
from viewfinder.retrievers.shared.turn_parts import TurnVector, turn_parts
from viewfinder.retrievers.shared.verbalize import PictureTurn, read_picture_turn
from viewfinder.training.presets import read_card_settings
from viewfinder.weights import Weights, load_system_weights
from viewfinder.wording.back_references import BackReference, find_back_reference, to_operations, turn_of_place

ORDINALS = ("FIRST", "SECOND", "THIRD", "FOURTH", "FIFTH", "SIXTH", "SEVENTH", "EIGHTH", "NINTH", "TENTH")
"""How a text refers to the pictures of a conversation."""

VAGUE = "something "
"""The beginning of a tag's phrase that fits anything ("something orange")."""


@dataclass(frozen=True, eq=False)
class ModificationTurn(PictureTurn):
    """A turn as a modification; `blended` is a second picture mixed with its own, `recalled` are earlier pictures of
    which something is kept, each with its name ("": it has none)."""

    blended: Picture | None = None
    recalled: tuple[tuple[str, Picture], ...] = ()


def parse_modification(
    turn: ResolvedTurn, pictured: Sequence[int], settings: Model, *, exclude_shown: bool = False
) -> ModificationTurn:
    """Any turn as a modification; `pictured` are the earlier turns that named a picture, by their numbers."""
    if isinstance(turn.turn, Keep):
        parsed = _parse_keep(turn, turn.turn.attribute, turn.turn.turn, pictured)
    else:
        parsed = ModificationTurn(**vars(read_picture_turn(turn, exclude_shown=exclude_shown)))
    back = None if isinstance(turn.turn, Keep | Reject) else find_back_reference(parsed.text)
    if back is not None:
        parsed = _look_back(turn, parsed, back, pictured, settings)
    # Earlier pictures that cannot be read again are dropped: the words alone speak of them.
    written = settings.captions and all(picture.caption for _, picture in parsed.recalled)
    if not parsed.recalled or (settings.two_stages and (settings.recall == "pictures" or written)):
        return parsed
    reason = "nobody has written about it" if settings.captions else "these weights do not read it again"
    line = f"drop: what is kept of an earlier picture is read as words alone, {reason}"
    return replace(parsed, recalled=(), adapters=(*parsed.adapters, line))


def _parse_keep(turn: ResolvedTurn, attribute: str, at: int, pictured: Sequence[int]) -> ModificationTurn:
    """An attribute of an earlier turn's picture as people say it, with its value if it has one."""
    name = ordinal_name(at, pictured)
    values = ", ".join(value for known in turn.attribute_values.values() for value in known)
    value = " ".join((turn.text or values).split()).removeprefix(VAGUE)
    kept = value if attribute.lower() in value.lower() else f"{value} {attribute}".strip()
    text = f"keep the {name}'s {kept}" if name else f"keep the {kept}"
    line = f'verbalise: the {attribute} to keep is said as "{text}"'
    recalled = tuple((name, picture) for picture in turn.pictures[:1])
    return ModificationTurn(text, recalled=recalled, operations=(Operation("keep", at, attribute),), adapters=(line,))


def ordinal_name(turn: int, pictured: Sequence[int]) -> str:
    """How a text refers to the picture of a turn; "" if it has no name.

    >>> ordinal_name(5, (2, 5)), ordinal_name(4, (2, 5))
    ('SECOND', '')
    """
    return dict(zip(pictured, ORDINALS, strict=False)).get(turn, "")


# -- looking back


@dataclass(frozen=True, eq=False)
class _Places:
    """The pictures a turn may look back to: those of `turns`, its own last; then the others on the screen."""

    turn: ResolvedTurn
    own: Picture | None
    turns: tuple[int, ...]

    def on_screen(self, place: int) -> bool:
        """Whether a result is meant, because the conversation has reached fewer pictures."""
        return len(self.turns) <= place < min(len(self.turn.shown), len(ORDINALS))

    def name(self, place: int) -> str:
        """How a text refers to the picture; "" if it has no name."""
        number = turn_of_place(place, self.turns)
        return ORDINALS[place] if self.on_screen(place) else "" if number is None else ordinal_name(number, self.turns)

    def picture(self, place: int) -> Picture | None:
        """The picture; None if there is none (any more)."""
        number = turn_of_place(place, self.turns)
        if number is None:
            return self.turn.shown[place] if self.on_screen(place) else None
        return self.own if number == self.turn.number else next(iter(self.turn.earlier(number)), None)

    def notes(self, place: int) -> tuple[str, ...]:
        """Lines for `adapters` on a picture that is not of the conversation, or no longer there."""
        called = f"the {self.name(place).lower()}"
        if self.on_screen(place):
            why = "as the conversation has come to fewer pictures"
            return (f'screen: "{called}" is taken as result {place + 1}, {why}',)
        gone = turn_of_place(place, self.turns) is not None and self.picture(place) is None
        return (f'drop: "{called}" is no longer there',) if gone else ()


def _look_back(
    turn: ResolvedTurn, parsed: ModificationTurn, said: BackReference, pictured: Sequence[int], settings: Model
) -> ModificationTurn:
    """A turn that says something of earlier pictures."""
    places = _Places(turn, parsed.picture, (*pictured, turn.number) if parsed.names_picture else tuple(pictured))
    keeps = tuple(dict.fromkeys(kept.place for kept in said.keeps))
    named = keeps if said.rollback is None else tuple(dict.fromkeys((said.rollback, *keeps)))
    of_conversation = replace(  # without references to pictures on the screen
        said,
        rollback=None if said.rollback is not None and places.on_screen(said.rollback) else said.rollback,
        keeps=tuple(kept for kept in said.keeps if not places.on_screen(kept.place)),
    )
    operations, notes = to_operations(of_conversation, places.turns)
    picture, blended = parsed.picture, None
    if said.rollback is not None and (back := places.picture(said.rollback)) is not None:
        picture, blended = _treat_rollback(settings.rollback, places, back)
    recalls = keeps
    if keeps and settings.combination != "seen":  # all pictures so far, whatever is named
        own = parsed.names_picture and settings.combination == "official_fc"
        recalls = tuple(range(len(places.turns) - own)) or keeps
    return replace(
        parsed,
        picture=picture,
        blended=blended,
        recalled=tuple((places.name(place), kept) for place in recalls if (kept := places.picture(place)) is not None),
        operations=(*parsed.operations, *operations),
        adapters=(*parsed.adapters, *notes, *(line for place in named for line in places.notes(place))),
    )


def _treat_rollback(treatment: Treatment, places: _Places, back: Picture) -> tuple[Picture | None, Picture | None]:
    """The picture that a turn going back is read with, and the one mixed with it (table 9).

    Which one "random" goes back to depends only on the number of the turn and on its words.
    """
    match treatment:
        case "replace":
            return back, None
        case "ignore":
            return places.own, None
        case "blend":
            return back, places.own
        case "random":
            earlier = [place for place, number in enumerate(places.turns) if number != places.turn.number]
            seed = [places.turn.number, zlib.crc32(places.turn.text.encode())]
            drawn = int(np.random.default_rng(seed).integers(len(earlier))) if earlier else 0
            return places.picture(drawn) or back, None


SYSTEM = "mai"
SHIPPED = Path(__file__).with_name("modern.safetensors")

BEST = 1e5
"""Temperature at which a softmax over a picture's vectors is their maximum, to 2e-5: SPRC counts only the best."""


@dataclass(frozen=True, eq=False)
class MaiState:
    """The network's memory of a conversation, and the turns that said something; `pictured` are those that named a
    picture; its vectors are looked up again when a turn looks back."""

    carried: numpy_network.CarriedTokens = numpy_network.NOTHING_CARRIED
    pictured: tuple[int, ...] = ()
    turns: tuple[TurnVector, ...] = ()
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()
    operations: tuple[Operation, ...] = ()


class Mai:
    """A trained network of MAI at work; `fingerprint` changes with every number of the weights."""

    name: ClassVar[str] = SYSTEM
    looks_back: ClassVar[bool] = True  # "the first" is a picture of an earlier turn

    def __init__(self, weights: Weights, *, rollback: Treatment | None = None) -> None:
        """`rollback`: how a turn that goes back treats the picture, overriding the weights' setting."""
        card, self.trained_on = weights.card, weights.card.trained_on
        settings = read_card_settings(Model, card)
        read_card_settings(MaiLossSettings, card, part="loss")  # refuses weights trained with a retired loss
        self.settings = settings if rollback is None else replace(settings, rollback=rollback)
        self.fingerprint = weights.fingerprint
        self._arrays = weights.arrays
        self._texts = make_text_reader(weights, self.settings)
        self._regions = int(card.settings.get("regions", 0))  # for weights that read none
        self._sharpness = min(math.exp(float(weights.arrays["log_scale"])), MAX_SCALE)
        self._of_tokens = settings.stages == "sprc"
        self._exclude_shown = bool(card.settings.get("exclude_shown", False))
        self.space = RegionSpace(
            name=f"{SYSTEM}-{weights.fingerprint}",
            raw_version=card.encoder,
            project=self._project_pictures,
            regions=settings.tokens if self._of_tokens else 1,
            width=settings.projection,
            temperature=BEST if self._of_tokens else 1.0,
            reads_regions=settings.image != "whole",
            reads_captions=settings.captions,
            has_whole=not self._of_tokens,
            system=SYSTEM,
        )
        self.reads = Reads(self.space, "raw", words=False)

    def begin(self) -> MaiState:
        """Nothing said."""
        return MaiState()

    def step(self, state: MaiState, turn: ResolvedTurn) -> MaiState:
        """The state after one more turn. Raises as `Retriever.step`."""
        parsed = parse_modification(turn, state.pictured, self.settings, exclude_shown=self._exclude_shown)
        notes, carried, turns = parsed.adapters, state.carried, state.turns
        if parsed.text or parsed.picture:  # else it only rules out pictures, or says nothing
            said, of_words = self._make_input(parsed, turn.sentences)
            notes = (*notes, *of_words)
            carried, vector_d = numpy_network.numpy_encode_turn(self._arrays, self.settings, carried, said)
            turns = (*turns, TurnVector(turn.number, parsed.text or "this picture", vector_d))
        pictured = (*state.pictured, turn.number) if parsed.names_picture else state.pictured
        excluded, adapters = parsed.ruled.after(state.excluded), tuple(dict.fromkeys((*state.adapters, *notes)))
        return MaiState(carried, pictured, turns, excluded, adapters, parsed.operations)

    def query(self, state: MaiState) -> Query:
        """One part a turn, see `turn_parts`; a single part if the best of a picture's several vectors counts, as the
        best for a sum is not the best for each summand."""
        parts, ruled = turn_parts(state.turns[-1:] if self._of_tokens else state.turns, "regions"), state.excluded
        told = state.adapters, self._sharpness, state.operations
        return Query(parts, self.space, "late_interaction", ruled, *told)

    # -- inside

    def _make_input(
        self, parsed: ModificationTurn, sentences: SentenceEncoder | None
    ) -> tuple[numpy_network.ModificationInput, tuple[str, ...]]:
        """A turn as the network's input, and lines for `adapters` on words that it does not read."""
        modification_lh, notes = self._texts.read(modification_text(parsed.text, self.settings.texts), sentences)
        seen = self._read_components(parsed.picture)
        if parsed.blended is not None:
            seen = seen.blend(self._read_components(parsed.blended))
        # Earlier pictures are read again as one text of their captions, or one after the other.
        recalled: list[tuple[numpy_network.NumpyComponents | None, Float32[np.ndarray, "_l h"]]] = []
        if self.settings.recall == "pictures":
            for _, picture in parsed.recalled:
                recalled.append((self._read_components(picture), self._read_caption(picture, sentences)))
        elif parsed.recalled:
            named = (f"{name}: {one.caption}" if name else one.caption for name, one in parsed.recalled)
            recalled.append((None, self._texts.read(" ".join(named), sentences)[0]))
        caption_lh = self._read_caption(parsed.picture, sentences)
        return numpy_network.ModificationInput(seen, caption_lh, modification_lh, tuple(recalled)), notes

    def _read_components(self, picture: Picture | None) -> numpy_network.NumpyComponents:
        """A picture as the network reads it; without one, a picture of zeros, as in training."""
        if picture is None:
            return numpy_network.blank_components(self._arrays, self.settings, self._regions)
        regions_re = picture.vectors["raw regions"][None] if self.space.reads_regions else None
        return numpy_network.numpy_components(self._arrays, self.settings, picture.vectors["raw"][None], regions_re)

    def _read_caption(self, picture: Picture | None, sentences: SentenceEncoder | None) -> Float32[np.ndarray, "l h"]:
        text = picture.caption if picture is not None and self.settings.captions else ""
        return self._texts.read(text, sentences)[0]

    def _project_pictures(self, raw: RawPictures) -> Float32[np.ndarray, "n k d"]:
        captions = raw.captions if self.settings.captions and raw.captions else ("",) * len(raw.whole_ng)
        known = {text: self._texts.read(text, raw.sentences)[0] for text in dict.fromkeys(captions)}
        seen = numpy_network.numpy_components(self._arrays, self.settings, raw.whole_ng, raw.regions_nre)
        return numpy_network.numpy_encode_pictures(
            self._arrays, self.settings, seen, [known[text] for text in captions]
        )


def load(checkpoint: Path | None = None) -> Mai:
    """The retriever with these weights; None: the shipped ones. Raises BadInput: as `load_system_weights`."""
    return Mai(load_system_weights(SYSTEM, checkpoint, SHIPPED))
