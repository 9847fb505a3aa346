"""Drill-down at work: what was trained, said sentence by sentence, without torch."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from viewfinder.conversation import Like, Reject, Say
from viewfinder.data.visual_genome import build_vocabulary
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.query import Picture, Query, RawPictures, RegionSpace, ResolvedTurn, SentenceEncoder
from viewfinder.retrievers.drilldown.loss import score_pictures
from viewfinder.retrievers.drilldown.network import DrilldownNetwork as Network
from viewfinder.retrievers.drilldown.retriever import Drilldown, load
from viewfinder.retrievers.drilldown.settings import DrilldownSettings
from viewfinder.retrievers.shared.network import InputWidths
from viewfinder.search.region_scores import RegionBlock, late_interaction
from viewfinder.testing import ColourEncoder
from viewfinder.training import Card, save_network
from viewfinder.weights import Weights

ENCODER = ColourEncoder()
SAID = ("a red boat", "blue over white", "there is a dog", "a tree", "black stones", "a red dog")
VOCABULARY = build_vocabulary(SAID[:4], fewest=1)
PICTURES, REGIONS = 6, 4

WAYS: list[dict[str, Any]] = [
    {},
    {"reads": "sentences"},
    {"choice": "learned"},
    {"choice": "learned", "policy_relu": False, "policy_reads": "state_query"},
    {"choice": "learned", "policy_relu": False, "empty": "any", "slots": 4},
    {"choice": "first"},
    {"slots": 1},
    {"slots": 10, "choice": "learned"},
    {"write": "soft", "policy_relu": False},
    {"write": "soft", "learned_scale": True, "dropout": 0.5},
    {"write": "soft", "policy_relu": False, "reads": "sentences", "whole": True, "standardised": True},
    {"write": "soft", "policy_relu": False, "mean_over": "all"},
    {"whole": True},
    {"standardised": True, "choice": "learned", "policy_relu": False},
    {"temperature": 2.0, "divides": True},
]


def network(**settings: Any) -> Network:
    torch.manual_seed(0)
    model = Network(
        DrilldownSettings(**{"width": 5, "word_width": 3, **settings}), InputWidths(3, 7, 48, len(VOCABULARY))
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))  # biases too
        for _, buffer in model.named_buffers():
            buffer.copy_(torch.rand_like(buffer) + 0.5)
    return model.eval()


def card(model: Network) -> Card:
    known = {
        "model": asdict(model.settings),
        **VOCABULARY.settings,
        "sentences_version": ENCODER.sentences_version if model.settings.reads == "sentences" else "",
        "regions": REGIONS,
    }
    return Card(system="drilldown", preset="", encoder=ENCODER.raw_version, settings=known)


def retriever(model: Network) -> Drilldown:
    return Drilldown(Weights({name: x.numpy() for name, x in model.state_dict().items()}, card(model), "0123abcd"))


def turn(number: int, text: str) -> ResolvedTurn:
    sentences = SentenceEncoder(ENCODER.sentences_version, ENCODER.sentences)
    return ResolvedTurn(Say(text), number, ENCODER.words, text, sentences=sentences)


def walk(system: Drilldown, said: tuple[str, ...] = SAID) -> list[Any]:
    """The states after 0, 1, 2 ... sentences."""
    states = [system.begin()]
    for number, text in enumerate(said, start=1):
        states.append(system.step(states[-1], turn(number, text)))
    return states


def searched(query: Query, regions_nre: np.ndarray, whole_ng: np.ndarray) -> np.ndarray:
    """The scores of a search, picture by picture."""
    assert isinstance(query.space, RegionSpace)
    block = RegionBlock.of(query.space.project(RawPictures(whole_ng, regions_nre)))
    queries_md = np.stack([part.vector_d for part in query.parts if part.vector_d is not None])
    weights_m = np.array([part.weight for part in query.parts])
    return np.asarray(late_interaction(block, queries_md, temperature=query.space.temperature, weights_m=weights_m))


def read(model: Network, said: tuple[str, ...]) -> torch.Tensor:
    """Query vectors, as in training: (1 t d)."""
    if model.settings.reads == "sentences":
        vectors_ts = torch.from_numpy(np.asarray(ENCODER.sentences(said), np.float32))
        return model.read(vectors_ts[None], torch.ones(1, len(said), dtype=torch.int64))
    ids = [VOCABULARY.encode(text) for text in said]
    longest = max(map(len, ids))
    padded = torch.tensor([[*numbers, *[0] * (longest - len(numbers))] for numbers in ids])
    return model.read(padded[None], torch.tensor([[len(numbers) for numbers in ids]]))


@torch.no_grad()
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_after_every_turn_it_is_the_network(way: dict[str, Any]) -> None:
    model, rng = network(**way), np.random.default_rng(0)
    regions_nre = rng.standard_normal((PICTURES, REGIONS, 3)).astype(np.float16)
    regions_nre[1, 2:] = 0.0  # missing
    whole_ng = rng.standard_normal((PICTURES, 7)).astype(np.float32)
    vectors_nkd = model.project_pictures(torch.from_numpy(regions_nre.astype(np.float32)), torch.from_numpy(whole_ng))
    system = retriever(model)
    after = model.read_dialogues(read(model, SAID))
    for state, slots in zip(walk(system)[1:], after, strict=True):
        if model.settings.empty == "next":
            np.testing.assert_allclose(state.states_md, slots.states_bmd[0], atol=1e-5)
            np.testing.assert_allclose(state.written_m, slots.written_bm[0], atol=1e-5)
        found_n = searched(system.query(state), regions_nre, whole_ng)
        np.testing.assert_allclose(found_n, score_pictures(model, slots, vectors_nkd)[:, 0], atol=1e-5)


@pytest.mark.parametrize("way", [*WAYS, {"choice": "sampled"}, {"choice": "random"}], ids=str)
def test_going_back_and_on_is_never_having_left(way: dict[str, Any]) -> None:
    system = retriever(network(**way))
    states = walk(system)
    for number, text in enumerate(SAID):
        system.step(states[number], turn(9, "something else"))
        again = system.step(states[number], turn(number + 1, text))
        np.testing.assert_array_equal(again.states_md, states[number + 1].states_md)
        np.testing.assert_array_equal(again.written_m, states[number + 1].written_m)
        assert again.said_m == states[number + 1].said_m
    for state, alone in zip(states, walk(system), strict=True):
        np.testing.assert_array_equal(state.states_md, alone.states_md)


def test_a_part_says_what_its_slot_holds_and_who_wrote_last() -> None:
    system = retriever(network(slots=2))
    query = system.query(walk(system)[3])
    assert [(part.turn, part.label, part.weight) for part in query.parts] == [
        (3, "a red boat; there is a dog", 1.0),
        (2, "blue over white", 1.0),
    ]
    assert [part.holds for part in query.parts] == [
        ((1, "a red boat"), (3, "there is a dog")),
        ((2, "blue over white"),),
    ]
    assert [float(np.linalg.norm(part.vector_d)) for part in query.parts if part.vector_d is not None] == pytest.approx(
        [1.0, 1.0]
    )
    assert (query.compare, query.space) == ("late_interaction", system.space)


def test_a_softly_written_slot_counts_as_far_as_it_was_written() -> None:
    system = retriever(network(write="soft", policy_relu=False))
    first, second = (system.query(state) for state in walk(system)[1:3])
    assert sum(part.weight for part in first.parts) == pytest.approx(1.0)  # the gates of one sentence
    assert all(0 < one.weight < two.weight < 1 for one, two in zip(first.parts, second.parts, strict=True))


def test_the_space_is_named_by_the_weights_and_knows_what_it_needs() -> None:
    plain, whole = retriever(network()), retriever(network(whole=True, temperature=4.0, divides=True))
    assert (plain.space.name, plain.space.raw_version) == ("drilldown-0123abcd", "colours-raw-1")
    assert (plain.space.regions, plain.space.width, plain.space.temperature, plain.space.has_whole) == (
        4,
        5,
        9.0,
        False,
    )
    assert (whole.space.regions, whole.space.temperature, whole.space.has_whole) == (5, 0.25, True)


def test_a_rejected_picture_stays_out_until_it_is_liked() -> None:
    system = retriever(network())
    state = system.step(walk(system)[1], ResolvedTurn(Reject(("p2",)), 2, ENCODER.words, "", (Picture("p2", {}),)))
    assert system.query(state).excluded == {"p2"}
    assert len(system.query(state).adapters) == 1
    liked = system.step(state, ResolvedTurn(Like("p2"), 3, ENCODER.words, "", (Picture("p2", {}),)))
    assert system.query(liked).excluded == frozenset()


def test_sentence_vectors_of_another_encoder_are_refused() -> None:
    system = retriever(network(reads="sentences"))
    other = ResolvedTurn(Say("red"), 1, ENCODER.words, "red", sentences=SentenceEncoder("other-1", ENCODER.sentences))
    with pytest.raises(EncoderMismatch, match="these weights read sentence vectors of 'colours-said-1'"):
        system.step(system.begin(), other)


def test_weights_are_read_from_a_file_or_refused(tmp_path: Path) -> None:
    model, file = network(slots=2), tmp_path / "some.safetensors"
    save_network(file, model, card(model))
    np.testing.assert_array_equal(walk(load(file))[-1].states_md, walk(retriever(model))[-1].states_md)
    with pytest.raises(BadInput, match=re.escape(f"{tmp_path / 'none'}: no such file")):
        load(tmp_path / "none")
    save_network(file, model, Card(system="hre", preset="", encoder=ENCODER.raw_version))
    with pytest.raises(BadInput, match="this is a network of hre, not of drilldown"):
        load(file)
