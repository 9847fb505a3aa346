"""The network that reads picks with words: as in torch, by hand, and beside the composer."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from jaxtyping import Float

from viewfinder.conversation import Like, Reject, Say, Turn
from viewfinder.query import Part, Picture, Query, ResolvedTurn
from viewfinder.retrievers.one.turn_network import KINDS, NAME, Token, TurnNetwork, add_vector, sum_vectors
from viewfinder.search.gallery import Gallery
from viewfinder.search.scores import score_all, sum_plain_parts
from viewfinder.testing import LOOKS, ColourEncoder, tiny_snapshot

ENCODER = ColourEncoder()
GALLERY = Gallery(tiny_snapshot(LOOKS), ENCODER)
RED_D, BLUE_D = GALLERY.encode_texts(["red", "blue"])
WIDTH, FEATURES, HEADS = 8, len(RED_D), 2
COMPOSED = Query((Part("words", 1, "red", 2.0, RED_D), Part("words", 1, "not blue", -0.5, BLUE_D)), sharpness=16.0)


def make_network(seed: int = 0, *, is_trained: bool = True) -> TurnNetwork:
    """A network of one layer with random numbers; untrained: what it adds and its gate are 0."""
    random = np.random.default_rng(seed)
    shapes = {
        "vector": (WIDTH, FEATURES), "asks": (4, WIDTH), "answers": (4, WIDTH), "own": (FEATURES, WIDTH),
        "gate": (1, WIDTH), "layers.0.inputs": (3 * WIDTH, WIDTH), "layers.0.attended": (WIDTH, WIDTH),
        "layers.0.inner": (4 * WIDTH, WIDTH), "layers.0.outer": (WIDTH, 4 * WIDTH),
    }  # fmt: skip
    arrays = {"kinds": random.normal(size=(len(KINDS), WIDTH)).astype(np.float32)}
    for name, shape in shapes.items():
        scale = 0.0 if name in ("asks", "own", "gate") and not is_trained else 0.3
        arrays[f"{name}.weight"] = (scale * random.normal(size=shape)).astype(np.float32)
        arrays[f"{name}.bias"] = (scale * random.normal(size=shape[0])).astype(np.float32)
    for name in ("last", "layers.0.norm1", "layers.0.norm2"):
        arrays[f"{name}.weight"], arrays[f"{name}.bias"] = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
    return TurnNetwork(arrays, ENCODER.version, 1, HEADS, 1.5)


def resolve(turn: Turn, vector_d: Float[np.ndarray, " d"] = RED_D) -> ResolvedTurn:
    """A turn that names at most one picture."""
    words = getattr(turn, "text", "")
    return ResolvedTurn(turn, 2, GALLERY.encode_texts, words, (Picture("1", {"global": vector_d}),))


def in_nats(query: Query) -> Float[np.ndarray, " n"]:
    return query.sharpness * score_all(GALLERY, query).total_n.astype(float)


def test_an_untrained_network_finds_what_the_composer_finds() -> None:
    heard = make_network(is_trained=False).hear(resolve(Like("1", "but blue")), COMPOSED)
    assert heard is not None
    assert in_nats(heard) == pytest.approx(in_nats(COMPOSED), abs=1e-5)


def test_only_a_picture_that_is_picked_with_words_is_read() -> None:
    network = make_network()
    assert network.hear(resolve(Like("1", "but blue")), COMPOSED) is not None
    for turn in (
        Say("blue"),
        Like("1"),
        Reject(("1",)),
        Like("1", "blue", 1),
    ):
        assert network.hear(resolve(turn), COMPOSED) is None


def test_what_is_said_and_what_is_picked_and_what_the_composer_makes_of_it_all_count() -> None:
    network = make_network()
    queries = [
        network.hear(resolve(Like("1", "but blue")), COMPOSED),
        network.hear(resolve(Like("1", "not blue")), COMPOSED),
        network.hear(resolve(Like("1", "but blue"), BLUE_D), COMPOSED),
        network.hear(resolve(Like("1", "but blue")), Query(COMPOSED.parts[:1])),
    ]
    added = [query.parts[-1].vector_d for query in queries if query is not None]
    assert len(added) == len(queries)
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


def read(network: TurnNetwork, tokens: Sequence[Token]) -> Float[np.ndarray, " d"]:
    gate, added_d = network.read(tokens)
    return np.append(added_d, gate)


def test_the_order_of_what_is_said_does_not_matter_but_its_kind_does() -> None:
    network = make_network()
    said: list[Token] = [("picked", RED_D), ("but", BLUE_D)]
    last: Token = ("composed", RED_D)
    once = read(network, [*said, last])
    assert read(network, [*reversed(said), last]) == pytest.approx(once, abs=1e-5)
    assert not np.allclose(read(network, [("picked", RED_D), ("unwanted", BLUE_D), last]), once, atol=1e-3)
