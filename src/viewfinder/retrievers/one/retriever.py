"""All retrievers as one: the composer reads the conversation, and trained systems add what they make of it.

Among photographs, and of fewer than ten pictures, the composer searches alone, because there it is ahead of what the
others add; in other collections a picture's score is, in nats, the composer's own times its weight, and for each other
system its weight for every deviation by which its score of the picture is above the mean (`query.Opinion`). What is
shown of it is that divided by `query.SHARPNESS`, so that a lead means the same after every turn. Among products a
network that has learnt to read pictures that are picked "but ..." has an opinion of such turns, too (`turn_network`).
Numpy only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from viewfinder.conversation import Like, Reject, Say, Show, Turn
from viewfinder.errors import EncoderMismatch
from viewfinder.query import SHARPNESS, Collection, Opinion, Query, Reads, ResolvedTurn
from viewfinder.retrievers.base import AnsweringRetriever, Retriever
from viewfinder.retrievers.composer import Composer, ComposerState
from viewfinder.retrievers.one.gates import ASKED, COMPOSER, MIN_PICTURES, PRODUCTS, SCENES, SYSTEMS, Gates
from viewfinder.retrievers.one.turn_network import NAME, Tokens, TurnNetwork, list_tokens
from viewfinder.weights import Weights, join_lists, load_system_weights, read_card, read_weights
from viewfinder.wording.clauses import split_clauses
from viewfinder.wording.framing import says_nothing

SYSTEM = "one"
SHIPPED = Path(__file__).with_name("gates.safetensors")
NETWORK_SYSTEM = "one-products"
SHIPPED_NETWORK = Path(__file__).with_name("products.safetensors")
OWN_WEIGHTS = {name: Path(__file__).with_name(f"{name}.safetensors") for name in ("chatir", "drilldown")}
"""Of systems that have learnt here from the dialogues of all (benchmarks/mixture.py); others are as shipped."""

Load = Callable[[str, Path | None], Retriever[Any]]
"""Loads a retriever by its name, with these weights; None: those that are shipped with it."""


@dataclass(frozen=True, eq=False)
class OneState:
    """The composer's state, and those of the other systems by name: none where the composer searches alone.

    `heard` is what the turn network makes of the last turn; None: nothing. `picks` are the turns that it has read.
    `ruled_out` are the numbers of those in which words rule something out, which the composer alone has heard.
    """

    composer: ComposerState
    others: Mapping[str, Any] = field(default_factory=dict)
    turns: tuple[Turn, ...] = ()
    latest: int = 0  # the number of the last of them
    collection: Collection | None = None
    heard: Query | None = None
    picks: tuple[Tokens, ...] = ()
    ruled_out: frozenset[int] = frozenset()


class One:
    """The composer and the trained systems at work together.

    `fingerprint` changes with every number of the gates, and of a network that was given; the other systems are those
    in the package.
    """

    name: ClassVar[str] = SYSTEM

    def __init__(self, weights: Weights, load: Load, network: Weights | None = None) -> None:
        """`network`: of a turn network that was trained elsewhere; None: the shipped one."""
        arrays = weights.arrays
        self.gates = Gates(weights.card.settings["encoder_version"], arrays["means_wd"], arrays["a_s"], arrays["w_sx"])
        self._own_list, self._load, self._given = weights.card.trained_on, load, network
        self.fingerprint = weights.fingerprint if network is None else f"{weights.fingerprint}-{network.fingerprint}"
        self._composer, self._other = Composer(), cache(self._load_other)
        self.reads = Reads(
            regions_in=lambda collection: self.gates.find_world(collection) == SCENES,
            regions_version=self.gates.encoder_version,
        )

    def _load_other(self, name: str) -> Retriever[Any]:
        """Another system, loaded when the first conversation needs it; one that speaks always shows pictures."""
        one = self._load(name, OWN_WEIGHTS.get(name))
        return one.with_picture_bias(np.inf) if isinstance(one, AnsweringRetriever) else one

    @cached_property
    def network(self) -> TurnNetwork:
        """The network that reads picks with words, loaded when the first conversation needs it."""
        return TurnNetwork.of(self._given or load_system_weights(NETWORK_SYSTEM, None, SHIPPED_NETWORK))

    @cached_property
    def trained_on(self) -> str | None:
        """The pictures that any of the systems has learnt from."""
        network = (read_card(SHIPPED_NETWORK) if self._given is None else self._given.card).trained_on
        others = map(self._other, SYSTEMS[1:])
        return join_lists(self._own_list, network, *(getattr(one, "trained_on", "") for one in others))

    def finds_more_in(self, collection: Collection) -> bool:
        """Whether more was found than by the composer among such pictures: those like products (docs/systems/one.md).

        Drawn scenes are a world of ours: what is only most like them of three is no such collection.
        """
        return self.gates.find_world(collection) == PRODUCTS

    def begin(self) -> OneState:
        """Nothing said."""
        return OneState(self._composer.begin())

    def step(self, state: OneState, turn: ResolvedTurn) -> OneState:
        """The state with the turn heard by the composer and all who are asked in such a collection.

        Raises EncoderMismatch: a network was given that reads vectors of another encoder.
        """
        composer = self._composer.step(state.composer, turn)
        collection = None if turn.collection is None else turn.collection()
        if collection is None or turn.look_up_for is None:
            return replace(state, composer=composer)
        reads_picks = self._reads_picks(collection)
        _, *names = ASKED[self.gates.find_world(collection)]
        if not names and not reads_picks:
            return replace(state, composer=composer)
        heard = leave_wanted(turn) if self.finds_more_in(collection) else turn.turn
        ruled_out = state.ruled_out if heard is turn.turn else state.ruled_out | {turn.number}
        # Who only adds goes on looking for what is ruled out: they begin anew with what still holds.
        anew = heard is not turn.turn and takes_back(turn, state.composer)
        left = list_left(turn, state.composer, state.turns) if anew else ()
        to_hear = (*left, *(() if heard is None else ((heard, turn.number),)))
        if not (anew or to_hear):
            return replace(state, composer=composer, ruled_out=ruled_out)
        if anew:
            state = replace(state, others={}, turns=(), heard=None, picks=())
        others = dict(state.others)
        for name, one in zip(names, map(self._other, names), strict=True):
            for said, number in to_hear:
                others[name] = one.step(
                    others[name] if name in others else one.begin(), _look_up(turn, said, number, one.reads)
                )
        turns = (*state.turns, *(said for said, _ in to_hear))
        if heard is None:
            return replace(state, composer=composer, others=others, turns=turns, ruled_out=ruled_out)
        state = OneState(composer, others, turns, turn.number, collection, picks=state.picks, ruled_out=ruled_out)
        return self._hear(state, turn) if reads_picks else state

    def take_back(self, state: OneState, turn: ResolvedTurn) -> OneState:
        """The state in which the composer has taken back what this turn says is not there; the others only add."""
        return replace(state, composer=self._composer.take_back(state.composer, turn))

    def _reads_picks(self, collection: Collection) -> bool:
        """Whether the turn network has learnt from pictures like these, by the same encoder: so has one that is given.

        Raises EncoderMismatch: a given one has not.
        """
        if self._given is None:
            is_like = self.finds_more_in(collection)
            return is_like and self.network.encoder_version == collection.encoder_version
        if self.network.encoder_version != collection.encoder_version:
            raise EncoderMismatch(
                f"{SYSTEM}: its turn network was trained on vectors of {self.network.encoder_version!r}, and these "
                f"pictures have those of {collection.encoder_version!r}; train one with this encoder (`viewfinder "
                f"train {SYSTEM} --encoder ...`), or leave out --checkpoint"
            )
        return collection.pictures >= MIN_PICTURES

    def _hear(self, state: OneState, turn: ResolvedTurn) -> OneState:
        """The state with what the turn network makes of the turn, if it reads it."""
        composed = self._composer.query(state.composer)
        tokens = list_tokens(turn, composed, state.picks)
        if not tokens:
            return state
        picks = (*state.picks, tokens)
        return replace(state, picks=picks, heard=self.network.hear(picks, composed, turn.number))

    def query(self, state: OneState) -> Query:
        """The composer's query with the opinions of all who are asked."""
        query = self._composer.query(state.composer)
        if state.collection is None:
            return query
        weights = self.gates.weigh(state.turns, state.collection) if state.others else {COMPOSER: 1.0}
        opinions = tuple(
            Opinion(name, state.latest, self._other(name).query(state.others[name]), weight)
            for name, weight in weights.items()
            if name != COMPOSER
        )
        if state.heard is not None and self.network.nats:
            opinions = (*opinions, Opinion(NAME, state.latest, state.heard, self.network.nats))
        sharpness = weights[COMPOSER] * query.sharpness
        # What is ruled out takes away as many nats as it does where the composer is alone: nobody else knows of it.
        parts = tuple(
            replace(part, weight=part.weight / weights[COMPOSER])
            if part.weight < 0 and part.turn in state.ruled_out and part.kind == "words"
            else part
            for part in query.parts
        )
        return replace(query, parts=parts, opinions=opinions, sharpness=sharpness, shown_factor=sharpness / SHARPNESS)


def leave_wanted(turn: ResolvedTurn) -> Turn | None:
    """A turn without what it rules out in words, for systems that have learnt from what is wanted; None: nothing else.

    Among products they look for it all the more: after "without stripes" thrice as many of the first ten had some
    (benchmarks/ruled_out.py). Words that pick a picture are left out where they rule something out and want nothing
    ("the same, but not red"); beside what is wanted, these systems have learnt from such words.
    """
    said = turn.turn
    if isinstance(said, Reject) and said.text:
        return None
    if isinstance(said, Say | Like | Show) and (clauses := split_clauses(said.text)).unwanted:
        wants_nothing = says_nothing(clauses.wanted)
        if isinstance(said, Say):
            return None if wants_nothing else Say(clauses.wanted)
        return replace(said, text="") if wants_nothing else said
    return said


def takes_back(turn: ResolvedTurn, before: ComposerState) -> bool:
    """Whether a turn takes back anything that was described, or asked for with a picture, before it."""
    if turn.revise is None:
        return False
    wanted = (part.label for part in before.parts if part.kind in ("words", "contrast") and part.weight > 0)
    return any(turn.revise(label) != label for label in wanted)


def list_left(turn: ResolvedTurn, before: ComposerState, turns: Sequence[Turn]) -> tuple[tuple[Turn, int], ...]:
    """The descriptions before a turn and the picture that is gone on from, as they still hold, with their numbers.

    What was said with that picture stays with it: "2 but in red", and then "not red", is like the second.
    """
    assert turn.revise is not None
    picked_at = max((part.turn for part in before.parts if part.kind in ("picture", "vocabulary")), default=None)
    picked = next((said for said in reversed(turns) if isinstance(said, Like | Show)), None)
    goes_on = isinstance(turn.turn, Like | Show)  # from another picture
    left: dict[int, Turn] = {}
    for part in before.parts:
        if part.turn == picked_at and picked is not None:
            if not goes_on:
                left[part.turn] = replace(picked, text=turn.revise(picked.text))
        elif part.kind == "words" and part.weight > 0 and (text := turn.revise(part.label)):
            left[part.turn] = Say(text)
    return tuple((said, number) for number, said in left.items())


def _look_up(turn: ResolvedTurn, heard: Turn, number: int, reads: Reads) -> ResolvedTurn:
    """The turn as another system reads it, of which only so much is heard; or an earlier one, by its number."""
    assert turn.look_up_for is not None
    found = turn.look_up_for(reads)
    if heard is turn.turn or not isinstance(heard, Say | Like | Show):
        return found
    pictures = () if isinstance(heard, Say) else found.pictures if number == turn.number else found.earlier(number)
    return replace(found, turn=heard, text=heard.text, pictures=pictures, changes=())


def load(checkpoint: Path | None, load_other: Load) -> One:
    """The retriever with these gates, or with the turn network that `viewfinder train one` wrote; None: as shipped.

    Raises BadInput: as `load_system_weights`.
    """
    if checkpoint is not None and read_card(checkpoint).system == NETWORK_SYSTEM:
        return One(load_system_weights(SYSTEM, None, SHIPPED), load_other, read_weights(checkpoint))
    return One(load_system_weights(SYSTEM, checkpoint, SHIPPED), load_other)
