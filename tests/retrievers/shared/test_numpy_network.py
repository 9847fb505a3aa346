"""What searches compute in numpy is what was trained in torch."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from torch import nn

from viewfinder.data.visual_genome import build_vocabulary
from viewfinder.encoders.base import unit_rows
from viewfinder.errors import EncoderMismatch
from viewfinder.query import SentenceEncoder
from viewfinder.retrievers.shared import numpy_network
from viewfinder.retrievers.shared.network import RegionProjection, UpdateCell, WordReader, add_scale, scale_raw
from viewfinder.retrievers.shared.numpy_network import (
    NumpySentenceReader,
    numpy_project_regions,
    numpy_read_words,
    numpy_update_cell,
)
from viewfinder.testing import ColourEncoder
from viewfinder.training.layers import FeedForward


def arrays_of(**parts: nn.Module) -> dict[str, np.ndarray]:
    return {
        f"{name}.{key}": tensor.detach().numpy()
        for name, part in parts.items()
        for key, tensor in part.state_dict().items()
    }


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def test_rows_of_zeros_stay_zeros_at_unit_length() -> None:
    assert unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[0.6, 0.8], [0.0, 0.0]]


@torch.no_grad()
def test_the_update_is_that_of_the_cell_for_one_state_and_for_many() -> None:
    cell = UpdateCell(4)
    arrays, query, state = arrays_of(update=cell), torch.randn(3, 4), torch.randn(3, 4)
    np.testing.assert_allclose(
        numpy_update_cell(arrays, "update", query.numpy(), state.numpy()), cell(query, state), atol=1e-6
    )
    one = numpy_update_cell(arrays, "update", query[0].numpy(), state[0].numpy())
    np.testing.assert_allclose(one, cell(query[0], state[0]), atol=1e-6)


@torch.no_grad()
def test_words_are_read_as_the_gru_reads_them_also_on_from_something() -> None:
    reader = WordReader(9, 3, 4)
    arrays, ids = arrays_of(read_words=reader), [5, 1, 8]
    before = torch.randn(1, 4)
    for start in (None, before):
        expected_1d = reader(torch.tensor([ids]), torch.tensor([3]), start)
        found_d = numpy_read_words(arrays, "read_words", ids, None if start is None else start[0].numpy())
        np.testing.assert_allclose(found_d, expected_1d[0], atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("at_once", [2, 256])
def test_pictures_are_projected_as_in_training_a_few_at_a_time(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_network, "MAX_PICTURES_AT_ONCE", at_once)
    project, raw = RegionProjection(3, 4), torch.randn(5, 6, 3).half()
    raw[1, 4:] = 0.0  # missing
    found = numpy_project_regions(arrays_of(project=project), "project", raw.numpy())
    np.testing.assert_allclose(found, project(raw.float()), atol=1e-6)
    assert not found[1, 4:].any()


@torch.no_grad()
def test_pictures_are_scaled_first_where_the_network_was_trained_so() -> None:
    network = nn.Module()
    network.project = RegionProjection(3, 4)
    add_scale(network, "regions", 3)
    network.get_buffer("regions_mean").copy_(torch.tensor([1.0, 2.0, 3.0]))
    network.get_buffer("regions_deviation").copy_(torch.tensor([0.5, 1.0, 2.0]))
    raw = torch.randn(5, 6, 3)
    raw[1, 4:] = 0.0
    arrays = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    expected = network.project(scale_raw(network, "regions", raw))
    np.testing.assert_allclose(
        numpy_project_regions(arrays, "project", raw.numpy(), scaled_by="regions"), expected, atol=1e-6
    )
    assert not expected[1, 4:].any()


def test_no_pictures_are_no_vectors() -> None:
    arrays = arrays_of(project=RegionProjection(3, 4))
    assert numpy_project_regions(arrays, "project", np.zeros((0, 6, 3), np.float16)).shape == (0, 6, 4)


@torch.no_grad()
def test_a_reader_reads_words_or_frozen_sentence_vectors() -> None:
    encoder, vocabulary = ColourEncoder(), build_vocabulary(["a red boat", "a dog"], fewest=1)
    by_layers = FeedForward(48, 6, 4)
    arrays = arrays_of(read_words=WordReader(len(vocabulary), 3, 4), read_sentences=by_layers)
    by_words = NumpySentenceReader(arrays, vocabulary, "")
    np.testing.assert_array_equal(
        by_words("A red dog", None), numpy_read_words(arrays, "read_words", vocabulary.encode("a red dog"))
    )
    by_vectors = NumpySentenceReader(arrays, vocabulary, encoder.sentences_version)
    said = by_vectors("red", SentenceEncoder(encoder.sentences_version, encoder.sentences))
    np.testing.assert_allclose(said, by_layers(torch.from_numpy(encoder.sentences(["red"])))[0], atol=1e-6)


@pytest.mark.parametrize(("version", "found"), [(None, "none"), ("other-1", "'other-1'")])
def test_sentence_vectors_of_another_version_are_refused(version: str | None, found: str) -> None:
    encoder = ColourEncoder()
    reader = NumpySentenceReader({}, build_vocabulary([]), encoder.sentences_version)
    sentences = None if version is None else SentenceEncoder(version, encoder.sentences)
    expected = f"these weights read sentence vectors of 'colours-said-1', and this encoder's are {found}; use"
    with pytest.raises(EncoderMismatch, match=re.escape(expected)):
        reader("red", sentences)
