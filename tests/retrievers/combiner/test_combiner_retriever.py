"""The Combiner at work: the trained network in numpy, and what becomes of each kind of turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import Float32

from viewfinder.conversation import Conversation, Like, PictureId, Reject, Say, Show, Turn
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.evaluation.replay import query_each_turn
from viewfinder.query import Operation, Picture, ResolvedTurn
from viewfinder.retrievers import load_retriever
from viewfinder.retrievers.combiner.network import CombinerNetwork
from viewfinder.retrievers.combiner.retriever import (
    PROBE,
    Combiner,
    CombinerState,
    mean_text_vector,
    modification_pieces,
)
from viewfinder.retrievers.combiner.settings import CombinerSettings
from viewfinder.search.gallery import Gallery
from viewfinder.search.scores import score_all
from viewfinder.testing import ColourEncoder, draw_halves, tiny_snapshot
from viewfinder.weights import Card, Weights

ENCODER = ColourEncoder()
SHOWN = {"a": ("red", "blue"), "b": ("green", "white"), "c": ("black", "yellow")}


@cache
def network(**settings: Any) -> CombinerNetwork:
    torch.manual_seed(3)
    usual: dict[str, Any] = {"projection": 6, "hidden": 8, "memory": "gru", "texts": "clauses", "rollback": "replace"}
    model = CombinerNetwork(CombinerSettings(**(usual | settings)), 48).eval()
    model.probe.copy_(torch.from_numpy(ENCODER.words([PROBE])[0]))
    return model


def retriever(*, exclude_shown: bool = False, **settings: Any) -> Combiner:
    model = network(**settings)
    known = {"model": asdict(model.settings), "scale": 50.0, "exclude_shown": exclude_shown}
    card = Card(system="combiner", preset="", encoder=ENCODER.version, settings=known)
    return Combiner(Weights({name: array.numpy() for name, array in model.state_dict().items()}, card, "0123abcd"))


def vector(name: str) -> Float32[np.ndarray, " d"]:
    return np.asarray(ENCODER.project(ENCODER.pictures([draw_halves(*SHOWN[name])]).global_bd)[0], np.float32)


def picture(name: PictureId) -> Picture:
    return Picture(name, {"global": vector(name)})


def resolved(number: int, turn: Turn) -> ResolvedTurn:
    """A turn as a session looks it up; turns 1, 2, 3 were about the pictures a, b, c."""
    named = (turn.picture,) if isinstance(turn, Like) else turn.pictures if isinstance(turn, Reject) else ()
    return ResolvedTurn(
        turn,
        number,
        ENCODER.words,
        getattr(turn, "text", ""),
        tuple(map(picture, named)),
        earlier=lambda at: (picture("abc"[at - 1]),) if at <= 3 else (),
    )


def walk(found: Combiner, turns: Sequence[Turn]) -> list[CombinerState]:
    """The states after 0, 1, 2 ... turns."""
    states = [found.begin()]
    for number, turn in enumerate(turns, start=1):
        states.append(found.step(states[-1], resolved(number, turn)))
    return states


def asked(found: Combiner, state: CombinerState) -> Float32[np.ndarray, " d"]:
    [part] = found.query(state).parts
    assert part.vector_d is not None
    return np.asarray(part.vector_d, np.float32)


@torch.no_grad()
def trained(model: CombinerNetwork, seen: Sequence[str], said: Sequence[str]) -> Float32[np.ndarray, "t d"]:
    """The queries of the network in torch, of these texts on these pictures."""
    texts = [mean_text_vector(ENCODER.words(modification_pieces(text, model.settings.texts))) for text in said]
    pictures = [vector(name) for name in seen]
    return np.asarray(model(*(torch.from_numpy(np.stack(rows))[None] for rows in (texts, pictures)))[0].numpy())


MODIFIED = ("1. is green 2. is small", "is white", "1. is yellow 2. is long", "is red over black")


@pytest.mark.parametrize("memory", ["none", "gru"])
@pytest.mark.parametrize("texts", ["whole", "clauses"])
def test_after_every_turn_it_is_the_combiner_that_was_trained(memory: str, texts: str) -> None:
    found = retriever(memory=memory, texts=texts)
    states = walk(found, [Like(name, said) for name, said in zip("abca", MODIFIED, strict=True)])
    expected = trained(network(memory=memory, texts=texts), "abca", MODIFIED)
    for state, expected_d in zip(states[1:], expected, strict=True):
        np.testing.assert_allclose(asked(found, state), expected_d, atol=1e-5)


BACK = "Let us go back to the FIRST, except that it 1. is red"


def test_a_turn_that_goes_back_is_read_with_the_picture_of_then() -> None:
    turns = [Like("a", "is green"), Like("b", "is white"), Like("c", BACK)]
    for rollback, seen in (("replace", "aba"), ("ignore", "abc")):
        found = retriever(rollback=rollback)
        state = walk(found, turns)[-1]
        expected = trained(network(rollback=rollback), seen, ["is green", "is white", BACK])
        np.testing.assert_allclose(asked(found, state), expected[-1], atol=1e-5)
        operations = found.query(state).operations
        assert [(one.kind, one.turn) for one in operations] == ([("rollback", 1)] if rollback == "replace" else [])


def test_a_dialogue_over_real_pictures_goes_back_to_what_was_picked_then() -> None:
    found, gallery = retriever(), Gallery(tiny_snapshot([*SHOWN.values()]), ENCODER)
    dialogue = Conversation().then(Like("p000", "is green")).then(Like("p001", "is white")).then(Like("p002", BACK))
    queries = [query for _, query in query_each_turn(dialogue, gallery, found)]
    expected = trained(network(), "aba", ["is green", "is white", BACK])
    for query, expected_d in zip(queries, expected, strict=True):
        expected_n = gallery.snapshot.matrix_nd @ expected_d
        np.testing.assert_allclose(score_all(gallery, query).total_n, expected_n, atol=1e-5)
    assert [(one.kind, one.turn) for one in queries[-1].operations] == [("rollback", 1)]


def test_what_is_said_without_a_picture_may_go_back_as_well() -> None:
    found = retriever()
    state = walk(found, [Like("a", "is green"), Like("b", "is white"), Say("back to the first one, but in blue")])[-1]
    expected = trained(network(), "aba", ["is green", "is white", "back to the first one, but in blue"])
    np.testing.assert_allclose(asked(found, state), expected[-1], atol=1e-5)
    assert found.query(state).adapters == ()


def test_a_turn_that_is_given_is_a_rollback_and_words_choose_no_other() -> None:
    found = retriever()
    state = walk(found, [Like("a", "is green"), Like("b", "is white"), Like("b", BACK, turn=2)])[-1]
    assert found.query(state).operations == (Operation("rollback", 2),)
    np.testing.assert_allclose(
        asked(found, state), trained(network(), "abb", ["is green", "is white", BACK])[-1], atol=1e-5
    )


def test_operations_are_those_of_the_last_turn() -> None:
    found = retriever()
    states = walk(found, [Like("a", "is green"), Like("b", BACK), Like("c", "is red")])
    assert [len(found.query(state).operations) for state in states] == [0, 0, 1, 0]


def test_what_is_to_be_kept_is_read_as_words_and_that_is_told() -> None:
    found = retriever()
    said = "1. is red 4. keep the FIRST's colour and the SECOND's pattern"
    state = walk(found, [Like("a", "is green"), Like("b", "is white"), Like("c", said)])[-1]
    assert [line[: line.index('"')] for line in found.query(state).adapters] == ["words: ", "words: "]
    np.testing.assert_allclose(
        asked(found, state), trained(network(), "abc", ["is green", "is white", said])[-1], atol=1e-5
    )


def test_a_picture_that_the_dialogue_has_not_come_to_is_not_gone_back_to() -> None:
    found = retriever()
    state = walk(found, [Like("a", "I prefer the THIRD, and 1. is red")])[-1]
    query = found.query(state)
    assert (query.operations, len(query.adapters)) == ((), 1)
    assert query.adapters[0].startswith("drop: ")
    np.testing.assert_allclose(
        asked(found, state), trained(network(), "a", ["I prefer the THIRD, and 1. is red"])[-1], atol=1e-5
    )


def test_a_turn_after_which_nothing_was_shown_is_not_gone_back_to_and_that_is_told() -> None:
    found = retriever()
    before = walk(found, [Like("a", "is green"), Like("b", "is white")])[-1]
    state = found.step(before, replace(resolved(3, Like("c", BACK)), earlier=lambda number: ()))
    assert found.query(state).adapters == ("drop: turn 1 has no picture to go back to",)
    assert found.query(state).operations == ()


def test_words_alone_and_a_picture_alone_are_looked_for_as_they_are() -> None:
    found = retriever()
    words, shown = (walk(found, [turn])[-1] for turn in (Say("red over blue"), Like("b")))
    np.testing.assert_allclose(asked(found, words), ENCODER.words(["red over blue"])[0], atol=1e-6)
    np.testing.assert_array_equal(asked(found, shown), vector("b"))
    kinds = [(part.kind, part.centred) for state in (words, shown) for part in found.query(state).parts]
    assert kinds == [("words", True), ("picture", False)]
    assert [found.query(state).sharpness for state in (words, shown)] == [20.0, 50.0]


def test_words_without_a_picture_are_said_of_what_was_looked_for_before() -> None:
    found = retriever()
    before, after = walk(found, [Like("b"), Say("is red")])[1:]
    [line] = found.query(after).adapters
    assert line == 'picture: "is red" is taken as said of what was looked for before, as none was picked'
    told = found.step(before, resolved(2, Like("b", "is red")))
    np.testing.assert_array_equal(asked(found, after), asked(found, told))


def test_an_image_of_ones_own_is_read_as_any_other() -> None:
    found = retriever()
    turn = replace(resolved(1, Show("mine.png", "is red")), pictures=(Picture(None, {"global": vector("c")}),))
    np.testing.assert_allclose(
        asked(found, found.step(found.begin(), turn)), trained(network(), "c", ["is red"])[0], atol=1e-5
    )


@pytest.mark.parametrize(("exclude_shown", "out"), [(True, {"a"}), (False, set())])
def test_a_picture_that_is_to_change_goes_out_where_that_was_trained(exclude_shown: bool, out: set[str]) -> None:
    found = retriever(exclude_shown=exclude_shown)
    states = walk(found, [Like("a", "is green"), Reject(("b",)), Like("a")])
    assert [found.query(state).excluded for state in states[1:]] == [out, out | {"b"}, {"b"}]


def test_a_refusal_without_words_leaves_the_query_as_it_is() -> None:
    found = retriever()
    before, after = walk(found, [Like("a", "is green"), Reject(("b",))])[1:]
    np.testing.assert_array_equal(asked(found, before), asked(found, after))
    np.testing.assert_array_equal(before.memory_d, after.memory_d)


def test_another_shared_space_is_refused_at_the_first_turn() -> None:
    found, other = retriever(), ColourEncoder(channels=(1.0, 0.2, 0.2))
    turn = replace(resolved(1, Like("a", "is green")), words=other.words)
    with pytest.raises(EncoderMismatch, match=re.escape(f"in the space of {ENCODER.version!r}, and this library has")):
        found.step(found.begin(), turn)


def test_without_weights_it_is_told_how_to_train_some() -> None:
    with pytest.raises(
        BadInput, match=re.escape("combiner: no weights are shipped; train some (`viewfinder train combiner`)")
    ):
        load_retriever("combiner")
