"""The turn network of the package finds what that of torch does (benchmarks/network_products.py)."""

import numpy as np
import pytest
import torch
from network_data import Kind, Talks
from network_products import make_numpy
from turn_network import Sizes, TurnNetwork, score_talks
from turn_reader import deviate

from viewfinder.retrievers.one.turn_network import KINDS, Token

SIZES = Sizes(width=16, layers=2, heads=2, slots=1, free=True)
FEATURES = 256
SAID = (("picked", "but", "composed"), ("picked", "unwanted", "composed"), ("picked", "but", "unwanted", "composed"))


@pytest.fixture(scope="module")
def network() -> TurnNetwork:
    """Random numbers that half precision holds."""
    torch.manual_seed(0)
    network = TurnNetwork(SIZES)
    with torch.no_grad():
        for number in network.parameters():
            number.copy_((number + 0.1 * torch.randn_like(number)).half().float())
        for table in (network.turn.weight[0], network.back.weight[0]):  # they are added before they are halved
            table.zero_()
    return network.eval()


def test_in_numpy_it_is_what_it_is_in_torch(network: TurnNetwork) -> None:
    random = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray:
        vectors = random.normal(size=shape)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32)

    kinds = [kind for said in SAID for kind in said]
    dialogue_m = np.repeat(np.arange(len(SAID)), [len(said) for said in SAID])
    vectors_md, pictures_nd, none_q = draw(len(kinds), FEATURES), draw(7, FEATURES), np.zeros(len(SAID), int)
    none_m = np.zeros(len(kinds), int)
    kind_m = np.array([Kind[kind.upper()] for kind in kinds])
    composed_qn = random.normal(size=(len(SAID), 7)).astype(np.float32)
    talks = Talks(
        pictures_nd, composed_qn, np.arange(len(SAID)), none_q, none_q, vectors_md, kind_m, none_m, none_m, dialogue_m
    )
    expected_qn = score_talks(network, talks, np.arange(len(SAID)))
    ours = make_numpy(network, 1.0)
    for dialogue, said in enumerate(SAID):
        tokens: list[Token] = list(zip(said, vectors_md[dialogue_m == dialogue], strict=True))
        gate, added_d = ours.read(tokens)
        found_n = np.exp(gate) * composed_qn[dialogue] + pictures_nd @ added_d
        scale = np.abs(expected_qn[dialogue]).max()
        assert found_n / scale == pytest.approx(expected_qn[dialogue] / scale, abs=1e-5)


def test_the_kinds_of_the_package_are_those_of_training() -> None:
    assert [Kind[kind.upper()].name.lower() for kind in KINDS] == list(KINDS)


def test_what_is_said_of_all_alike_adds_nothing() -> None:
    assert deviate(np.array([[1, 3], [2, 2]], np.float32)).tolist() == [[-1, 1], [0, 0]]
