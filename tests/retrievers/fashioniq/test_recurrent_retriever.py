"""The RNN baseline: what a sentence is to it, what it reads, and what it keeps."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from viewfinder.errors import BadInput
from viewfinder.retrievers.fashioniq.network import Feedback, RecurrentRetriever, SentenceConvolution, mean_attributes
from viewfinder.retrievers.fashioniq.settings import FashionIqPreset, RecurrentModel
from viewfinder.retrievers.fashioniq.train import PRESETS
from viewfinder.retrievers.shared.network import WordVectors
from viewfinder.training import load_preset

SMALL: dict[str, Any] = {"width": 6, "filters": 5, "words": "learned", "word_width": 4, "most_words": 3}
VOCABULARY, RAW, LABELS = 9, 7, 5


def network(**settings: Any) -> RecurrentRetriever:
    torch.manual_seed(0)
    made = RecurrentModel(**(SMALL | settings))
    return RecurrentRetriever(made, RAW, WordVectors(made, None, VOCABULARY), LABELS).eval()


def said(*, dialogues: int = 2, shown: bool = True, width: int = 6, **changed: Tensor) -> Feedback:
    generator = torch.Generator().manual_seed(1)
    usual = Feedback(
        words_bl=torch.randint(1, VOCABULARY, (dialogues, 3), generator=generator),
        attributes_ba=torch.randint(1, LABELS, (dialogues, 2), generator=generator),
        picture_bh=torch.randn(dialogues, width, generator=generator),
        shown_b=torch.full((dialogues,), shown),
    )
    return usual._replace(**changed)


@torch.no_grad()
def fill(sentence: SentenceConvolution, filters: list[list[list[float]]], bias: float) -> None:
    sentence.filters.weight.copy_(torch.tensor(filters))
    sentence.out.weight.fill_(1.0)
    assert sentence.filters.bias is not None
    sentence.filters.bias.fill_(bias)


def test_a_filter_answers_with_its_best_pair_of_words() -> None:
    """One filter that adds the first number of a word to twice that of the next: 1 + 2 * 5, 5 + 2 * 2, 2 + 2 * 0."""
    sentence = SentenceConvolution(RecurrentModel(width=1, filters=1, most_words=4), 1).eval()
    fill(sentence, filters=[[[1.0, 2.0]]], bias=0.5)
    found = sentence(torch.tensor([[[1.0], [5.0], [2.0], [0.0]]]))
    assert found.item() == pytest.approx(11.5, rel=1e-4)  # the norm over the batch has 1e-5 beside its variance of 1


def test_as_first_published_a_filter_goes_along_the_numbers_of_all_words_at_once() -> None:
    """Words [1, 4] and [3, 0]: first word's channel weighs (1, 0), second's (0, 1): 1 + 0 is all that there is."""
    sentence = SentenceConvolution(RecurrentModel(width=1, filters=1, most_words=2, slides_over="numbers"), 2).eval()
    fill(sentence, filters=[[[1.0, 0.0], [0.0, 1.0]]], bias=0.0)
    assert sentence(torch.tensor([[[1.0, 4.0], [3.0, 0.0]]])).item() == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize("slides_over", ["words", "numbers"])
@torch.no_grad()
def test_padding_and_words_beyond_the_last_one_read_change_nothing(slides_over: str) -> None:
    model = network(slides_over=slides_over, attributes=0)
    short = said(words_bl=torch.tensor([[3], [4]]))
    padded = said(words_bl=torch.tensor([[3, 0, 0, 7, 8], [4, 0, 0, 0, 2]]))
    torch.testing.assert_close(model.step(model.begin(2), short)[1], model.step(model.begin(2), padded)[1])


@torch.no_grad()
def test_where_no_picture_was_shown_its_place_may_hold_anything() -> None:
    model = network(attributes=0)
    nothing = said(shown=False, picture_bh=torch.zeros(2, 6))
    rubbish = said(shown=False, picture_bh=torch.full((2, 6), torch.nan))
    torch.testing.assert_close(model.step(model.begin(2), nothing)[1], model.step(model.begin(2), rubbish)[1])
    assert not torch.allclose(model.step(model.begin(2), nothing)[1], model.step(model.begin(2), said())[1])


@torch.no_grad()
def test_earlier_turns_count_and_gradients_go_back_to_them() -> None:
    model = network(attributes=0)
    first, other = said(), said(words_bl=torch.tensor([[8, 8, 8], [1, 1, 1]]))
    after = model.step(model.begin(2), first)[0]
    assert not torch.allclose(model.step(after, other)[1], model.step(model.begin(2), other)[1])
    with torch.enable_grad():
        picture_bh = first.picture_bh.clone().requires_grad_()
        state = model.step(model.begin(2), first._replace(picture_bh=picture_bh))[0]
        (gradient_bh,) = torch.autograd.grad(model.step(state, other)[1].sum(), picture_bh)
    assert gradient_bh.abs().min() > 0


@torch.no_grad()
def test_a_dialogue_is_read_alike_alone_and_among_others() -> None:
    model, both = network(attributes=2), said()
    together = model.step(model.begin(2), both)[1]
    alone = model.step(model.begin(1), Feedback(*(part[:1] for part in both)))[1]
    torch.testing.assert_close(together[:1], alone)


@torch.no_grad()
def test_attributes_are_read_where_the_settings_ask_for_them() -> None:
    others = torch.tensor([[4, 4], [4, 4]])
    for count in (0, 2):
        model = network(attributes=count)
        same = torch.allclose(
            model.step(model.begin(2), said())[1], model.step(model.begin(2), said(attributes_ba=others))[1]
        )
        assert same == (count == 0)


def test_the_mean_of_attributes_leaves_out_places_without_one() -> None:
    table = torch.nn.Embedding(4, 1, padding_idx=0)
    with torch.no_grad():
        table.weight.copy_(torch.tensor([[0.0], [1.0], [3.0], [8.0]]))
    found = mean_attributes(table, torch.tensor([[1, 2, 0], [3, 0, 0], [0, 0, 0]]))
    assert found[:, 0].tolist() == [2.0, 8.0, 0.0]


@torch.no_grad()
def test_cosine_queries_have_length_one_and_others_have_not() -> None:
    assert network(compare="cosine").step(torch.zeros(2, 6), said())[1].norm(dim=1).tolist() == pytest.approx([1, 1])
    assert network(compare="l2").step(torch.zeros(2, 6), said())[1].norm(dim=1).tolist() != pytest.approx([1, 1])


@pytest.mark.parametrize(
    ("overrides", "filter_weights"),
    [([], 512 * 2), (["model.slides_over=numbers"], 16 * 2)],
    ids=["from commit cfb90b5 on", "first commit"],
)
def test_the_preset_has_the_published_number_of_parameters(overrides: list[str], filter_weights: int) -> None:
    """2,000 words x 512, 512 filters over two words of 512 numbers (first: over two numbers of 16 words) + 512, norm 2
    x 512, 512 x 256, 256 x 256 (pictures), 256 x 256, 6 x 256 x 256 (cell), 256 x 256; the published bias of pictures
    is in the norm here, which has 2 x 256 numbers. And one number more, the scale of a loss that is not published."""
    settings = load_preset(PRESETS, "rnn", FashionIqPreset, overrides).model
    assert isinstance(settings, RecurrentModel)
    model = RecurrentRetriever(settings, 256, WordVectors(settings, None, 1999), 0)
    expected = 2000 * 512 + 512 * (filter_weights + 1) + 1024 + 512 * 256 + 9 * 256 * 256 + 512 + 1
    assert sum(parameter.numel() for parameter in model.parameters()) == expected


def test_a_network_without_filters_is_refused() -> None:
    with pytest.raises(BadInput, match="filters is 0; it must be at least 1"):
        RecurrentModel(filters=0)


@pytest.mark.parametrize(("name", "width"), [("rnn", 256), ("rnn-lab", 128)])
def test_the_presets_are_recurrent_go_along_words_and_learn_by_squared_triplets(name: str, width: int) -> None:
    preset = load_preset(PRESETS, name, FashionIqPreset, ["policy.epochs=2"])
    assert isinstance(preset.model, RecurrentModel)
    assert (preset.model.width, preset.model.slides_over, preset.model.attributes) == (width, "words", 0)
    assert preset.loss.kind == "triplet" and preset.loss.squared
