"""The single-turn models of table 5: what each row reads, and how."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from viewfinder.errors import BadInput
from viewfinder.retrievers.fashioniq.network import CompositionRetriever, Feedback, SentenceGru
from viewfinder.retrievers.fashioniq.settings import CompositionModel, FashionIqPreset
from viewfinder.retrievers.fashioniq.train import PRESETS
from viewfinder.retrievers.shared.network import WordVectors
from viewfinder.training import load_preset

SMALL: dict[str, Any] = {"width": 6, "text_width": 5, "words": "learned", "word_width": 4, "most_words": 3}
VOCABULARY, RAW, LABELS = 9, 7, 5
ROWS: dict[str, dict[str, Any]] = {
    "A": {},
    "B": {"modalities": ("image", "text")},
    "C": {"modalities": ("image", "text"), "gate": False},
    "D": {"modalities": ("text",), "gate": False},
    "E": {"modalities": ("image",), "gate": False},
    "F": {"modalities": ("attributes",), "gate": False},
}


def network(**settings: Any) -> CompositionRetriever:
    torch.manual_seed(0)
    made = CompositionModel(**(SMALL | settings))
    return CompositionRetriever(made, RAW, WordVectors(made, None, VOCABULARY), LABELS).eval()


def query(model: CompositionRetriever, **changed: Tensor) -> Tensor:
    usual = Feedback(
        words_bl=torch.tensor([[1, 2, 3], [4, 5, 0]]),
        attributes_ba=torch.tensor([[1, 2], [3, 0]]),
        picture_bh=torch.arange(12.0).view(2, 6) / 6 - 1,
        shown_b=torch.tensor([True, True]),
    )
    return model.step(model.begin(2), usual._replace(**changed))[1]


@pytest.mark.parametrize("row", ROWS)
@torch.no_grad()
def test_each_row_of_the_table_reads_its_own_modalities_alone(row: str) -> None:
    model = network(**ROWS[row])
    changed: dict[str, dict[str, Tensor]] = {
        "image": {"picture_bh": torch.ones(2, 6)},
        "text": {"words_bl": torch.tensor([[7], [8]])},
        "attributes": {"attributes_ba": torch.tensor([[4], [4]])},
    }
    read = {name for name, change in changed.items() if not torch.allclose(query(model), query(model, **change))}
    assert read == set(model.settings.modalities)


@torch.no_grad()
def test_an_open_gate_adds_the_sentence_and_a_closed_one_leaves_it_out() -> None:
    model = network(modalities=("text",), attributes=0)
    read_bt = model.sentence(
        model.words(torch.tensor([[1, 2, 3], [4, 5, 0]])), torch.tensor([[1, 1, 1], [1, 1, 0]]) > 0
    )
    for bias, share in ((50.0, 1.0), (0.0, 0.5), (-50.0, 0.0)):
        model.gate.weight.zero_()
        model.gate.bias.fill_(bias)
        torch.testing.assert_close(query(model), model.joint(read_bt) + share * model.through(read_bt))


@torch.no_grad()
def test_a_sentence_is_read_up_to_its_last_word() -> None:
    reader, vectors_bls = SentenceGru(4, 5), torch.randn(2, 3, 4)
    found = reader(vectors_bls, torch.tensor([[True, True, False], [False, False, False]]))
    torch.testing.assert_close(found[:1], reader.gru(vectors_bls[:1, :2])[1][0])
    torch.testing.assert_close(found[1:], reader.gru(vectors_bls[1:, :1])[1][0])


@torch.no_grad()
def test_where_no_picture_was_shown_its_place_may_hold_anything() -> None:
    model, nobody = network(), torch.tensor([False, False])
    nothing = query(model, shown_b=nobody, picture_bh=torch.zeros(2, 6))
    torch.testing.assert_close(nothing, query(model, shown_b=nobody, picture_bh=torch.full((2, 6), torch.nan)))


@torch.no_grad()
def test_cosine_queries_have_length_one() -> None:
    assert query(network(compare="cosine")).norm(dim=1).tolist() == pytest.approx([1, 1])


def test_a_row_has_no_weights_of_what_it_does_not_read() -> None:
    parts = {name for name, _ in network(**ROWS["E"]).named_children()}
    assert parts == {"looks", "joint"}


@pytest.mark.parametrize(
    ("row", "changed"),
    [
        ("A", []),
        ("B", ['model.modalities=["image", "text"]']),
        ("C", ['model.modalities=["image", "text"]', "model.gate=false"]),
        ("D", ['model.modalities=["text"]', "model.gate=false"]),
        ("E", ['model.modalities=["image"]', "model.gate=false"]),
        ("F", ['model.modalities=["attributes"]', "model.gate=false"]),
    ],
)
def test_the_preset_can_be_set_to_each_row_of_the_table(row: str, changed: list[str]) -> None:
    model = load_preset(PRESETS, "single", FashionIqPreset, changed).model
    expected = CompositionModel(**ROWS[row])
    assert isinstance(model, CompositionModel)
    assert (model.modalities, model.gate, model.attributes) == (expected.modalities, expected.gate, expected.attributes)


def test_attributes_that_are_not_among_the_modalities_are_not_read() -> None:
    assert CompositionModel(modalities=("image", "text")).attributes == 0
    with pytest.raises(BadInput, match="attributes are among the modalities, and attributes is 0"):
        CompositionModel(attributes=0)
    with pytest.raises(BadInput, match="gate is for the text"):
        CompositionModel(modalities=("image",))
