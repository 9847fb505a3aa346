"""The baselines at work: what was trained, said sentence by sentence, without torch."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from viewfinder.conversation import Like, Reject, Say
from viewfinder.data.visual_genome import build_vocabulary, tokenize
from viewfinder.errors import BadInput
from viewfinder.query import Picture, Query, RawPictures, RegionSpace, ResolvedTurn
from viewfinder.retrievers import RETRIEVERS, load_retriever
from viewfinder.retrievers.baselines.network import BaselineNetwork as Network
from viewfinder.retrievers.baselines.network import fuse_ranks, score_pictures
from viewfinder.retrievers.baselines.retriever import JOINT, Baseline, load
from viewfinder.retrievers.baselines.settings import SYSTEMS, BaselineSettings, System
from viewfinder.retrievers.shared.description_training import WordNumberSpeech
from viewfinder.retrievers.shared.network import InputWidths
from viewfinder.retrievers.shared.numpy_network import numpy_project_regions
from viewfinder.search.region_scores import RegionBlock, late_interaction, query_vector_scores, rank_fusion
from viewfinder.testing import ColourEncoder
from viewfinder.training import Card, save_network
from viewfinder.weights import Weights

ENCODER = ColourEncoder()
SAID = ("a red boat", "blue over white", "there is a dog", "a tree", "a red dog")
VOCABULARY = build_vocabulary((*SAID[:4], "one; two"), fewest=1)
PICTURES, REGIONS = 6, 4

each = pytest.mark.parametrize("system", SYSTEMS)
ways = pytest.mark.parametrize(
    "way",
    [{}, {"standardised": True}, {"standardised": True, "pooled": True}, {"temperature": 2.0, "divides": True}],
    ids=str,
)


def network(system: System, **settings: Any) -> Network:
    torch.manual_seed(0)
    model = Network(
        system,
        BaselineSettings(**{"width": 5, "word_width": 3, **settings}),
        InputWidths(3, 7, 0, len(VOCABULARY)),
        VOCABULARY.encode(JOINT)[0],
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))  # biases too
        for _, buffer in model.named_buffers():
            buffer.copy_(torch.rand_like(buffer) + 0.5)
    return model


def card(model: Network) -> Card:
    known = {"model": asdict(model.settings), **VOCABULARY.settings, "regions": REGIONS}
    return Card(system=model.system, preset="", encoder=ENCODER.raw_version, settings=known)


def retriever(model: Network) -> Baseline:
    return Baseline(Weights({name: x.numpy() for name, x in model.state_dict().items()}, card(model), "0123abcd"))


def walk(system: Baseline, said: tuple[str, ...] = SAID) -> list[Any]:
    """The states after 0, 1, 2 ... sentences."""
    states = [system.begin()]
    for number, text in enumerate(said, start=1):
        states.append(system.step(states[-1], ResolvedTurn(Say(text), number, ENCODER.words, text)))
    return states


def searched(query: Query, regions_nre: np.ndarray, whole_ng: np.ndarray) -> np.ndarray:
    """The scores of a search."""
    assert isinstance(query.space, RegionSpace)
    block = RegionBlock.of(
        query.space.project(RawPictures(whole_ng, regions_nre if query.space.reads_regions else None))
    )
    queries_md = np.stack([part.vector_d for part in query.parts if part.vector_d is not None])
    if query.compare == "rank_fusion":
        return np.asarray(rank_fusion(query_vector_scores(block, queries_md, temperature=query.space.temperature)))
    return np.asarray(late_interaction(block, queries_md, temperature=query.space.temperature))


@torch.no_grad()
def trained(model: Network, regions_nre: np.ndarray, whole_ng: np.ndarray) -> Tensor:
    """The scores of the network after every turn of one dialogue: (t n)."""
    vectors_nkd = model.project_pictures(torch.from_numpy(regions_nre.astype(np.float32)), torch.from_numpy(whole_ng))
    found_tnb = score_pictures(model, model.read_dialogues(*WordNumberSpeech(VOCABULARY)([SAID])), vectors_nkd)
    return (fuse_ranks(found_tnb) / PICTURES if model.system == "r-rankfusion" else found_tnb)[:, :, 0]


@each
@ways
def test_after_every_turn_it_is_the_network(system: System, way: dict[str, Any]) -> None:
    model, rng = network(system, **way), np.random.default_rng(0)
    regions_nre = rng.standard_normal((PICTURES, REGIONS, 3)).astype(np.float16)
    regions_nre[1, 2:] = 0.0  # missing
    whole_ng = rng.standard_normal((PICTURES, 7)).astype(np.float32)
    expected_tn = trained(model, regions_nre, whole_ng)
    found = retriever(model)
    for state, expected_n in zip(walk(found)[1:], expected_tn, strict=True):
        np.testing.assert_allclose(searched(found.query(state), regions_nre, whole_ng), expected_n, atol=1e-5)


@each
def test_going_back_and_on_is_never_having_left(system: System) -> None:
    found = retriever(network(system))
    states = walk(found)
    for number, text in enumerate(SAID):
        found.step(states[number], ResolvedTurn(Say("something else"), 9, ENCODER.words, "something else"))
        again = found.step(states[number], ResolvedTurn(Say(text), number + 1, ENCODER.words, text))
        np.testing.assert_array_equal(again.memory_d, states[number + 1].memory_d)
        np.testing.assert_array_equal(again.vectors, states[number + 1].vectors)
        assert again.said == states[number + 1].said


@given(st.lists(st.lists(st.sampled_from(["a", "red", "boat", "it's", "2", "left-hand", ","]), min_size=1), min_size=1))
def test_joined_sentences_are_read_as_the_joined_text(dialogue: list[list[str]]) -> None:
    """The numbers that r-re reads one sentence after the other are those of the text that the paper joins."""
    sentences = [" ".join(words) for words in dialogue]
    apart = [word for sentence in sentences for word in (*tokenize(sentence), JOINT)][:-1]
    assert tokenize(JOINT.join(sentences)) == apart


def test_one_part_holds_all_that_was_said_but_for_rank_fusion_each_sentence_is_one() -> None:
    for system in SYSTEMS:
        found = retriever(network(system))
        query = found.query(walk(found)[2])
        labels = [(part.turn, part.label) for part in query.parts]
        if system == "r-rankfusion":
            assert labels == [(1, "a red boat"), (2, "blue over white")]
            assert query.compare == "rank_fusion"
        else:
            assert labels == [(2, "a red boat; blue over white")]
            assert query.parts[0].holds == ((1, "a red boat"), (2, "blue over white"))
            assert query.compare == "late_interaction"


def test_hre_may_see_the_mean_of_the_regions_instead() -> None:
    model = network("hre", pooled=True)
    regions_1ke = np.array([[[2.0, 0.0, 0.0], [0.0, 2.0, 4.0]]], np.float32)
    mean_1ke = np.array([[[1.0, 1.0, 2.0]]], np.float32)
    vectors_1kd = retriever(model).space.project(RawPictures(np.zeros((1, 7), np.float32), regions_1ke))
    np.testing.assert_array_equal(vectors_1kd, numpy_project_regions(retriever(model)._arrays, "project", mean_1ke))


def test_only_hre_sees_the_whole_picture_alone() -> None:
    for system in SYSTEMS:
        found = retriever(network(system))
        assert found.space.name == f"{system}-0123abcd"
        seen = (found.reads.needs, found.space.regions, found.space.reads_regions, found.space.has_whole)
        assert seen == (
            (("global", "vocabulary"), 1, False, True)
            if system == "hre"
            else (("regions", "vocabulary"), REGIONS, True, False)
        )


@each
def test_a_rejected_picture_stays_out_until_it_is_liked(system: System) -> None:
    found, picture = retriever(network(system)), Picture("p2", {})
    state = found.step(walk(found)[1], ResolvedTurn(Reject(("p2",)), 2, ENCODER.words, "", (picture,)))
    assert found.query(state).excluded == {"p2"}
    assert len(found.query(state).adapters) == 1
    liked = found.step(state, ResolvedTurn(Like("p2"), 3, ENCODER.words, "", (picture,)))
    assert found.query(liked).excluded == frozenset()


@each
def test_without_weights_it_says_how_to_make_some(system: System) -> None:
    assert system in RETRIEVERS
    expected = f"{system}: no weights are shipped; train some (`viewfinder train {system}`) and name them"
    with pytest.raises(BadInput, match=re.escape(expected)):
        load_retriever(system)


def test_weights_of_another_baseline_are_refused(tmp_path: Path) -> None:
    model, file = network("r-hre"), tmp_path / "some.safetensors"
    save_network(file, model, card(model))
    np.testing.assert_array_equal(walk(load("r-hre", file))[-1].memory_d, walk(retriever(model))[-1].memory_d)
    with pytest.raises(BadInput, match="this is a network of r-hre, not of hre"):
        load("hre", file)
