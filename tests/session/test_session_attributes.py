"""Live searches with a retriever that reads attributes of pictures: what it reads, what a user says instead."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float, Int

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Conversation, Like
from viewfinder.errors import UnknownName
from viewfinder.query import Part, Query, Reads, ResolvedTurn
from viewfinder.retrievers import Composer, Retriever
from viewfinder.search.gallery import Gallery
from viewfinder.session.session import Session
from viewfinder.testing import ColourEncoder, TinyRaw, tiny_snapshot

LOOKS = [("red", "blue"), ("green", "white"), ("black", "blue")]
ENCODER = ColourEncoder()
GALLERY = Gallery(tiny_snapshot(LOOKS), ENCODER, TinyRaw(LOOKS))


@dataclass(frozen=True)
class Channels:
    """How red, green and blue the top left corner is."""

    labels: tuple[str, ...] = ("reddish", "greenish", "bluish")
    fingerprint: str = "channels"

    def scores(self, raw_ng: Float[np.ndarray, "n g"]) -> Float[np.ndarray, "n k"]:
        return raw_ng[:, :3] + 0.5

    def top(self, raw_ng: Float[np.ndarray, "n g"], count: int) -> Int[np.ndarray, "n c"]:
        return np.argsort(-raw_ng[:, :3], axis=1, kind="stable")[:, :count]


@dataclass
class ByAttributes:
    """Looks for words that stand for the attributes it reads, and notes what it read."""

    name: str = "by-attributes"
    reads: Reads = field(default_factory=lambda: Reads(predictor=Channels(), count=2))
    heard: list[tuple[str, ...]] = field(default_factory=list)

    def begin(self) -> Query:
        return Query(())

    def step(self, state: Query, turn: ResolvedTurn) -> Query:
        said = turn.turn
        assert isinstance(said, Like)
        self.heard.append(turn.pictures[0].predicted if said.attributes is None else said.attributes)
        vector_d = turn.words([" ".join(self.heard[-1]) or "nothing"])[0]
        return Query((*state.parts, Part("words", turn.number, said.text, 1.0, vector_d)))

    def query(self, state: Query) -> Query:
        return state


def session(retriever: Retriever[Any], **settings: Any) -> Session:
    return Session(GALLERY, retriever, None, memo=ByteCache(), **settings)


def test_the_retriever_reads_what_is_predicted_unless_the_user_says_what_counts() -> None:
    retriever = ByAttributes()
    live = session(retriever)
    live.like("p001", "darker")
    live.like("p001", "darker", attributes=["bluish"])
    live.like("p001", attributes=[])
    assert retriever.heard == [live.attributes_of("p001"), ("bluish",), ()]
    assert live.adapters == ()


def test_what_would_be_read_of_a_picture_can_be_looked_at_before_it_is_picked() -> None:
    live = session(ByAttributes())
    hit = live.like("p000")[0]
    assert live.attributes_of(hit) == tuple(live.attribute_chances(hit.id))
    assert live.attributes_of("p001")[0] == "greenish"
    assert sorted(live.attribute_chances("p001").values(), reverse=True) == list(
        live.attribute_chances("p001").values()
    )
    with pytest.raises(UnknownName, match="no picture in this library has the id 'p999'"):
        live.attributes_of("p999")


def test_a_retriever_that_reads_none_says_so_for_as_long_as_the_turn_counts() -> None:
    live = session(Composer())
    live.say("red")
    assert live.attributes_of("p001") == ()
    live.like("p001", "blue", attributes=["silk"])
    live.say("white")
    assert live.adapters == ("drop: the attributes in turn 2: composer reads none",)
    live.back_to(1)
    assert not live.adapters


def test_weights_without_attributes_read_none_either() -> None:
    live = session(ByAttributes(reads=Reads()))
    live.like("p001", attributes=["silk"])
    assert live.adapters == ("drop: the attributes in turn 1: by-attributes reads none",)


def test_a_conversation_that_was_kept_goes_on_with_its_attributes() -> None:
    retriever = ByAttributes()
    live = session(retriever)
    live.like("p001", "darker", attributes=["bluish"])
    read = Conversation.from_json(live.conversation.to_json())
    session(retriever, conversation=read).like("p000")
    assert retriever.heard[1:] == [("bluish",), live.attributes_of("p000")]
