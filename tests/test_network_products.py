"""The turn network of the package finds what that of torch does (benchmarks/network_products.py)."""

import numpy as np
import pytest
import torch
from network_data import Kind, Talks
from network_products import make_numpy
from turn_network import Sizes, TurnNetwork, score_talks
from turn_reader import deviate

from viewfinder.retrievers.one.turn_network import KINDS, Tokens

SIZES = Sizes(width=16, layers=2, heads=2, slots=1, free=True)
FEATURES = 256
SAID = (
    (("picked", "but", "composed"),),
    (("picked", "unwanted", "composed"), ("picked", "composed")),
    (("picked", "but", "unwanted", "composed"), ("picked", "but", "composed"), ("picked", "composed")),
)
"""Dialogues of one to three turns."""


@pytest.fixture(scope="module")
def network() -> TurnNetwork:
    """Random numbers that half precision holds."""
    torch.manual_seed(0)
    network = TurnNetwork(SIZES)
    with torch.no_grad():
        for number in network.parameters():
            number.copy_((number + 0.1 * torch.randn_like(number)).half().float())
        network.back.weight[0].zero_()  # it is added before the sum is halved
    return network.eval()


def test_in_numpy_it_is_what_it_is_in_torch(network: TurnNetwork) -> None:
    random = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray:
        vectors = random.normal(size=shape)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32)

    tokens = [
        (dialogue, turn, kind)
        for dialogue, turns in enumerate(SAID)
        for turn, said in enumerate(turns)
        for kind in said
    ]
    dialogue_m, turn_m = (np.array([token[place] for token in tokens]) for place in (0, 1))
    kind_m, vectors_md = np.array([Kind[kind.upper()] for _, _, kind in tokens]), draw(len(tokens), FEATURES)
    moments = list(dict.fromkeys((dialogue, turn) for dialogue, turn, _ in tokens))
    dialogue_q, turn_q = np.array(moments).T
    pictures_nd, none_q = draw(7, FEATURES), np.zeros(len(moments), int)
    composed_qn = random.normal(size=(len(moments), 7)).astype(np.float32)
    talks = Talks(
        pictures_nd, composed_qn, dialogue_q, turn_q, none_q, vectors_md, kind_m, turn_m, np.zeros_like(turn_m),
        dialogue_m,
    )  # fmt: skip
    expected_qn = score_talks(network, talks, np.arange(len(SAID)))
    ours = make_numpy(network, 1.0)
    for moment, (dialogue, last) in enumerate(moments):
        turns: list[Tokens] = []
        for turn in range(last + 1):
            here_m = (dialogue_m == dialogue) & (turn_m == turn)
            turns.append(tuple(zip(SAID[dialogue][turn], vectors_md[here_m], strict=True)))
        gate, added_d = ours.read(turns)
        found_n = np.exp(gate) * composed_qn[moment] + pictures_nd @ added_d
        scale = np.abs(expected_qn[moment]).max()
        assert found_n / scale == pytest.approx(expected_qn[moment] / scale, abs=1e-5)


def test_the_kinds_of_the_package_are_those_of_training() -> None:
    assert [Kind[kind.upper()].name.lower() for kind in KINDS] == list(KINDS)


def test_what_is_said_of_all_alike_adds_nothing() -> None:
    assert deviate(np.array([[1, 3], [2, 2]], np.float32)).tolist() == [[-1, 1], [0, 0]]
