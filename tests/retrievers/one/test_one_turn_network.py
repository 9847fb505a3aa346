"""The network that reads picks with words: as in torch, by hand, and beside the composer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from jaxtyping import Float

from viewfinder.conversation import Like, Reject, Say, Turn
from viewfinder.query import Part, Picture, Query, ResolvedTurn
from viewfinder.retrievers.one.turn_network import (
    KINDS,
    NAME,
    Token,
    Tokens,
    TurnNetwork,
    add_vector,
    list_tokens,
    sum_vectors,
)
from viewfinder.search.gallery import Gallery
from viewfinder.search.scores import score_all, sum_plain_parts
from viewfinder.testing import LOOKS, ColourEncoder, tiny_snapshot

ENCODER = ColourEncoder()
GALLERY = Gallery(tiny_snapshot(LOOKS), ENCODER)
RED_D, BLUE_D = GALLERY.encode_texts(["red", "blue"])
WIDTH, FEATURES, HEADS, TURNS = 8, len(RED_D), 2, 3
COMPOSED = Query((Part("words", 1, "red", 2.0, RED_D), Part("words", 1, "not blue", -0.5, BLUE_D)), sharpness=16.0)


def make_network(seed: int = 0, *, is_trained: bool = True) -> TurnNetwork:
    """A network of one layer with random numbers; untrained: what it adds and its gate are 0."""
    random = np.random.default_rng(seed)
    shapes = {
        "vector": (WIDTH, FEATURES), "asks": (4, WIDTH), "answers": (4, WIDTH), "own": (FEATURES, WIDTH),
        "gate": (1, WIDTH), "layers.0.inputs": (3 * WIDTH, WIDTH), "layers.0.attended": (WIDTH, WIDTH),
        "layers.0.inner": (4 * WIDTH, WIDTH), "layers.0.outer": (WIDTH, 4 * WIDTH),
    }  # fmt: skip
    tables = {"kinds": len(KINDS), "turns": TURNS}
    arrays = {name: random.normal(size=(count, WIDTH)).astype(np.float32) for name, count in tables.items()}
    for name, shape in shapes.items():
        scale = 0.0 if name in ("asks", "own", "gate") and not is_trained else 0.3
        arrays[f"{name}.weight"] = (scale * random.normal(size=shape)).astype(np.float32)
        arrays[f"{name}.bias"] = (scale * random.normal(size=shape[0])).astype(np.float32)
    for name in ("last", "layers.0.norm1", "layers.0.norm2"):
        arrays[f"{name}.weight"], arrays[f"{name}.bias"] = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
    return TurnNetwork(arrays, ENCODER.version, 1, HEADS, 1.5)


Vector = Float[np.ndarray, " d"]


def resolve(turn: Turn, vector_d: Vector = RED_D) -> ResolvedTurn:
    """A turn that names at most one picture."""
    words = getattr(turn, "text", "")
    return ResolvedTurn(turn, 2, GALLERY.encode_texts, words, (Picture("1", {"global": vector_d}),))


def hear(network: TurnNetwork, turn: Turn, composed: Query = COMPOSED, vector_d: Vector = RED_D) -> Query:
    """What the network makes of a first turn."""
    tokens = list_tokens(resolve(turn, vector_d), composed, ())
    return network.hear([tokens], composed, 2)


def in_nats(query: Query) -> Float[np.ndarray, " n"]:
    return query.sharpness * score_all(GALLERY, query).total_n.astype(float)


def test_an_untrained_network_finds_what_the_composer_finds() -> None:
    heard = hear(make_network(is_trained=False), Like("1", "but blue"))
    assert in_nats(heard) == pytest.approx(in_nats(COMPOSED), abs=1e-5)


def test_only_pictures_that_are_picked_with_words_are_read_and_later_picks() -> None:
    first = list_tokens(resolve(Like("1", "but blue, not red")), COMPOSED, ())
    assert [kind for kind, _ in first] == ["picked", "but", "unwanted", "composed"]
    for turn in (Say("blue"), Like("1"), Reject(("1",)), Like("1", "blue", 1)):
        assert list_tokens(resolve(turn), COMPOSED, ()) == ()
    later = list_tokens(resolve(Like("1")), COMPOSED, [first])
    assert [kind for kind, _ in later] == ["picked", "composed"]


def test_what_is_said_and_what_is_picked_and_what_the_composer_makes_of_it_all_count() -> None:
    network = make_network()
    queries = [
        hear(network, Like("1", "but blue")),
        hear(network, Like("1", "not blue")),
        hear(network, Like("1", "but blue"), vector_d=BLUE_D),
        hear(network, Like("1", "but blue"), Query(COMPOSED.parts[:1])),
    ]
    added = [query.parts[-1].vector_d for query in queries]
    for at, one in enumerate(added):
        assert all(one is not None and other is not None and not np.allclose(one, other) for other in added[:at])


@pytest.mark.parametrize("composed", [
    COMPOSED, Query(COMPOSED.parts[1:], sharpness=16.0), Query((), sharpness=16.0),
], ids=["both", "against alone", "nothing"])  # fmt: skip
def test_a_vector_adds_its_likeness_in_nats_and_the_gate_scales_the_rest(composed: Query) -> None:
    added_d = np.linspace(-1, 2, FEATURES, dtype=np.float32)
    likeness_n = np.asarray(GALLERY.snapshot.matrix_nd[:], float) @ added_d
    found = add_vector(composed, math.log(3), added_d, 2)
    assert in_nats(found) == pytest.approx(3 * in_nats(composed) + likeness_n, abs=1e-4)
    assert (found.parts[-1].turn, found.parts[-1].label) == (2, NAME)


def test_the_composers_vector_is_that_of_one_scan() -> None:
    assert sum_vectors(COMPOSED) == pytest.approx(sum_plain_parts(COMPOSED).vector_d)
    assert sum_vectors(Query(())) is None


def read(network: TurnNetwork, *turns: Tokens) -> Vector:
    gate, added_d = network.read(turns)
    return np.append(added_d, gate)


def test_the_order_of_what_is_said_does_not_matter_but_its_kind_does() -> None:
    network = make_network()
    said: list[Token] = [("picked", RED_D), ("but", BLUE_D)]
    last: Token = ("composed", RED_D)
    once = read(network, (*said, last))
    assert read(network, (*reversed(said), last)) == pytest.approx(once, abs=1e-5)
    assert not np.allclose(read(network, (("picked", RED_D), ("unwanted", BLUE_D), last)), once, atol=1e-3)


def test_turns_before_count_in_their_order_and_from_the_last_number_on_all_have_the_same() -> None:
    network = make_network()
    red: Tokens = (("picked", RED_D), ("but", BLUE_D), ("composed", RED_D))
    blue: Tokens = (("picked", BLUE_D), ("composed", BLUE_D))
    assert not np.allclose(read(network, red, blue), read(network, blue), atol=1e-3)
    assert not np.allclose(read(network, red, blue, blue), read(network, blue, red, blue), atol=1e-3)
    assert np.isfinite(read(network, *[red, blue] * TURNS)).all()  # more turns than it has numbers for
