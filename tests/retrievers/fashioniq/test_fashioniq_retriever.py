"""Fashion IQ at work: what was trained, said turn by turn, without torch."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from viewfinder.conversation import Answer, Keep, Like, Question, Reject, Say, Show, Turn
from viewfinder.encoders.tags import AttributePredictor
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.query import Picture, Query, ResolvedTurn, SentenceEncoder
from viewfinder.retrievers import load_retriever
from viewfinder.retrievers.fashioniq import retriever as fashioniq
from viewfinder.retrievers.fashioniq.network import (
    CompositionRetriever,
    Feedback,
    FeedbackNetwork,
    RecurrentRetriever,
    TransformerRetriever,
)
from viewfinder.retrievers.fashioniq.retriever import CUTS, FashionIq
from viewfinder.retrievers.fashioniq.settings import CompositionModel, Model, RecurrentModel, TransformerModel
from viewfinder.retrievers.shared.network import WordNumbers, WordVectors
from viewfinder.search.explanation import share_parts
from viewfinder.search.gallery import Gallery
from viewfinder.search.picture_reading import read_image, read_picture
from viewfinder.search.scores import score_all
from viewfinder.testing import COLOURS, RAW_WIDTH, ColourEncoder, TinyRaw, draw_halves, tiny_snapshot
from viewfinder.training import Card, save_network
from viewfinder.training.layers import AttributeHead
from viewfinder.weights import Weights

ENCODER = ColourEncoder()
LOOKS = [(top, bottom) for top in list(COLOURS)[:4] for bottom in COLOURS]
RAW = TinyRaw(LOOKS)
GALLERY = Gallery(tiny_snapshot(LOOKS), ENCODER, RAW)
RAW_NG = torch.from_numpy(np.concatenate([raw_bg for raw_bg, _ in RAW.batches(GALLERY.snapshot.ids, regions=False)]))
LABELS = ("cotton", "floral", "long", "red", "striped")
VOCABULARY = sorted({*COLOURS, "is", "more", "longer", "with", "sleeves"})
SMALL: dict[str, Any] = {"width": 8, "word_width": 6, "most_words": 4, "attributes": 2}
MODERN: dict[str, Any] = {
    "padding_mask": True,
    "turn_embeddings": True,
    "modality_embeddings": True,
    "positions": "usual",
}

MODELS: dict[str, Model] = {
    "published": TransformerModel(**SMALL, layers=2, heads=2, hidden=12),
    "after a start": TransformerModel(**SMALL, layers=1, heads=2, hidden=12, words="learned", start_token=True),
    "as nltk cuts": TransformerModel(**SMALL, layers=1, heads=2, hidden=12, words="learned", tokens="nltk"),
    "modern": TransformerModel(
        **SMALL, **MODERN, layers=2, heads=2, hidden=12, history="incremental", compare="cosine", image="standardised"
    ),
    "masked, whole, no attributes": TransformerModel(
        **{**SMALL, "attributes": 0}, **MODERN, layers=1, heads=4, hidden=5, words="learned"
    ),
    "incremental, nothing masked": TransformerModel(
        **SMALL,
        layers=2,
        heads=2,
        hidden=12,
        history="incremental",
        image="whitened",
    ),
    "recurrent": RecurrentModel(**SMALL, filters=7, words="learned"),
    "composition": CompositionModel(**SMALL, text_width=5),
    "text alone": CompositionModel(**{**SMALL, "attributes": 0}, modalities=("text",), text_width=5, compare="cosine"),
}
each = pytest.mark.parametrize("name", MODELS)

DIALOGUE: list[Turn] = [
    Like("p003", "is more red"),
    Like("p010"),
    Like("p010", "Blue, with longer sleeves and so on", attributes=("Striped",)),
    Like("p020", "green", attributes=()),
    Like("p000", "is blue"),
]


def test_sentences_are_cut_into_words_or_as_the_published_code_cuts_them() -> None:
    said = "Doesn't have a V-neck, is red."
    assert CUTS["plain"](said) == ("doesn't", "have", "a", "v-neck", "is", "red")
    assert CUTS["nltk"](said) == ["does", "n't", "have", "a", "v-neck", ",", "is", "red", "."]
    assert WordNumbers(("a", ",", "n't"), 4, CUTS["nltk"])([said]).tolist() == [[3, 1, 2, 0]]


def network_of(model: Model) -> FeedbackNetwork:
    """A network of random numbers, with its attribute head."""
    torch.manual_seed(0)
    table_vs = torch.from_numpy(ENCODER.sentences(VOCABULARY)) if model.words == "encoder" else None
    words = WordVectors(model, table_vs, len(VOCABULARY))
    kinds: dict[str, type[Any]] = {
        "transformer": TransformerRetriever,
        "recurrent": RecurrentRetriever,
        "composition": CompositionRetriever,
    }
    network: FeedbackNetwork = kinds[model.kind](model, RAW_WIDTH, words, len(LABELS))
    network.attributes = AttributeHead(len(LABELS), RAW_WIDTH)
    table = words.table.clone()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        for name, buffer in network.named_buffers():
            if buffer.is_floating_point():
                positive = "deviation" in name or "var" in name
                buffer.copy_(torch.rand_like(buffer) + (0.5 if positive else -0.5))
        for name, known in network.named_parameters():
            if name in ("words.table", "attribute.weight"):
                known[0] = 0
        if model.words == "encoder":
            words.table.copy_(table)
        network.log_scale.fill_(math.log(12.0))
    return network.eval()


def card_of(model: Model, **settings: Any) -> Card:
    known = {
        "model": asdict(model),
        "loss": {"kind": "contrastive"},
        "labels": list(LABELS),
        "vocabulary": VOCABULARY,
        "sentences_version": ENCODER.sentences_version if model.words == "encoder" else "",
        "kinds": [],
        "exclude_shown": False,
    }
    return Card(system="fashioniq", preset="", encoder=ENCODER.raw_version, settings=known | settings)


def retriever_of(network: FeedbackNetwork, model: Model, mark: str, **settings: Any) -> FashionIq:
    arrays = {name: tensor.numpy().astype(np.float32) for name, tensor in network.state_dict().items()}
    return FashionIq(Weights(arrays, card_of(model, **settings), mark))


def made(name: str, **settings: Any) -> FashionIq:
    return retriever_of(network_of(MODELS[name]), MODELS[name], name, **settings)


def resolved(found: FashionIq, turn: Turn, number: int, **known: Any) -> ResolvedTurn:
    """A turn with the picture that a `Like` names looked up."""
    sentences = SentenceEncoder(ENCODER.sentences_version, ENCODER.sentences)
    pictures = (picture(found, turn.picture),) if isinstance(turn, Like) else ()
    plain: dict[str, Any] = {"text": getattr(turn, "text", ""), "pictures": pictures, "sentences": sentences}
    return ResolvedTurn(turn, number, ENCODER.words, **(plain | known))


def picture(found: FashionIq, name: str) -> Picture:
    return read_picture(GALLERY, name, found.reads)


def asked(found: FashionIq, dialogue: Sequence[Turn], **known: Any) -> list[Query]:
    """The queries after 1, 2 ... turns."""
    state, queries = found.begin(), []
    for number, turn in enumerate(dialogue, start=1):
        state = found.step(state, resolved(found, turn, number, **known))
        queries.append(found.query(state))
    return queries


def vector(query: Query) -> np.ndarray:
    """The vector of a query of one turn."""
    (part,) = query.parts
    return np.asarray(part.vector_d)


@torch.no_grad()
def scores_by_torch(network: FeedbackNetwork, model: Model, dialogue: Sequence[Turn]) -> list[np.ndarray]:
    """After every turn of `Like`s: minus the squared distance of all pictures, or their cosine."""
    pictures_nh, state, found = network.looks(RAW_NG), network.begin(1), []
    for turn in dialogue:
        assert isinstance(turn, Like)
        row = GALLERY.row(turn.picture)
        state, query_1h = network.step(state, feedback_of(network, model, turn, row, pictures_nh))
        near_n = pictures_nh @ query_1h[0] if model.compare == "cosine" else -(pictures_nh - query_1h).square().sum(-1)
        found.append(near_n.numpy())
    return found


def feedback_of(network: FeedbackNetwork, model: Model, turn: Like, row: int, pictures_nh: Tensor) -> Feedback:
    known = [word for word in CUTS[model.tokens](turn.text) if word in VOCABULARY or model.words == "encoder"]
    numbers = [VOCABULARY.index(word) + 1 for word in known[: model.most_words]]
    assert network.attributes is not None
    labels = network.attributes.top(RAW_NG[row][None], model.attributes)[0].tolist()
    if turn.attributes is not None:
        labels = [LABELS.index(label.lower()) + 1 for label in turn.attributes]
    padded = [*numbers, *[0] * (model.most_words - len(numbers))]
    attributes = [*labels, *[0] * model.attributes][: model.attributes]
    return Feedback(
        torch.tensor([padded]), torch.tensor([attributes]).long(), pictures_nh[row][None], torch.tensor([True])
    )


@each
def test_it_orders_all_pictures_as_the_trained_network_does_after_every_turn(name: str) -> None:
    model = MODELS[name]
    network = network_of(model)
    queries = asked(made(name), DIALOGUE)
    for query, near_n in zip(queries, scores_by_torch(network, model, DIALOGUE), strict=True):
        total_n = score_all(GALLERY, query).total_n
        np.testing.assert_array_equal(np.argsort(-total_n), np.argsort(-near_n))


@each
def test_scores_are_the_networks_but_for_a_number_that_all_pictures_share(name: str) -> None:
    model = MODELS[name]
    found = made(name)
    unit = 1.0 if model.compare == "cosine" else found.query(found.begin()).sharpness / 12  # 2M
    queries = asked(found, DIALOGUE)
    for query, near_n in zip(queries, scores_by_torch(network_of(model), model, DIALOGUE), strict=True):
        total_n = unit * score_all(GALLERY, query).total_n
        np.testing.assert_allclose(total_n - total_n.mean(), near_n - near_n.mean(), atol=2e-3)


@each
def test_what_the_turns_add_sums_to_the_score(name: str) -> None:
    query = asked(made(name), DIALOGUE)[-1]
    rows = np.arange(len(GALLERY))
    assert [part.turn for part in query.parts] == [1, 2, 3, 4, 5]
    shares_np = share_parts(GALLERY, query, rows)
    np.testing.assert_allclose(shares_np.sum(axis=1), score_all(GALLERY, query).total_n, atol=1e-4)


def test_the_shares_are_of_the_very_turns_that_moved_the_score() -> None:
    first, second = asked(made("modern"), DIALOGUE[:2])
    moved_n = score_all(GALLERY, second).total_n - score_all(GALLERY, first).total_n
    shares_n = share_parts(GALLERY, second, np.arange(len(GALLERY)))[:, 1]
    np.testing.assert_allclose(shares_n, moved_n, atol=1e-5)


def test_a_step_leaves_the_state_before_it_alone() -> None:
    found = made("modern")
    state = found.step(found.begin(), resolved(found, DIALOGUE[0], 1))
    before_n = score_all(GALLERY, found.query(found.step(state, resolved(found, DIALOGUE[1], 2)))).total_n
    found.step(state, resolved(found, DIALOGUE[2], 2))
    after_n = score_all(GALLERY, found.query(found.step(state, resolved(found, DIALOGUE[1], 2)))).total_n
    np.testing.assert_array_equal(before_n, after_n)


def test_predicted_attributes_count_unless_others_are_said() -> None:
    found = made("published")
    predicted = picture(found, "p003").predicted
    assert len(predicted) == 2
    assert set(predicted) <= set(LABELS)
    plain, same, others = (
        vector(asked(found, [Like("p003", "red", attributes=said)])[0])
        for said in (None, predicted, tuple(set(LABELS) - set(predicted))[:2])
    )
    np.testing.assert_array_equal(plain, same)
    assert not np.allclose(plain, others)


def test_words_that_it_cannot_read_and_labels_that_there_are_not_are_told() -> None:
    found = made("recurrent")
    (query,) = asked(found, [Like("p003", "is more red and blue with sleeves", attributes=("long", "tartan"))])
    assert query.adapters == (
        'drop: these weights do not know "and"',
        'drop: the first 4 words of a turn are read, not "with", "sleeves"',
        'drop: no attribute is called "tartan"',
    )


def test_a_turn_that_names_no_picture_is_read_as_such_where_the_network_can() -> None:
    found = made("modern")
    (query,) = asked(found, [Say("red")], shown=(picture(found, "p003"),))
    (unseen,) = asked(found, [Say("red")])
    assert query.adapters == ()
    np.testing.assert_array_equal(vector(query), vector(unseen))


def test_else_it_is_taken_as_said_of_the_best_picture_on_the_screen() -> None:
    found = made("published")
    (query,) = asked(found, [Say("red")], shown=(picture(found, "p003"), picture(found, "p004")))
    (liked,) = asked(found, [Like("p003", "red")])
    assert query.adapters == ('picture: "red" is taken as said of result 1, as no picture was picked',)
    np.testing.assert_array_equal(vector(query), vector(liked))


def test_or_of_none_where_nothing_is_on_the_screen() -> None:
    (query,) = asked(made("published"), [Say("red")])
    assert len(query.parts) == 1
    assert re.search("of a picture that shows nothing", query.adapters[0])


def test_a_refusal_is_said_in_words_and_takes_pictures_out() -> None:
    found = made("modern")
    refused = Reject(("p003",), "sleeves")
    (query,) = asked(found, [refused], pictures=(picture(found, "p003"),))
    assert query.excluded == {"p003"}
    assert [part.label for part in query.parts] == ["there are no sleeves"]
    (query,) = asked(found, [Reject(("p003",))], pictures=(picture(found, "p003"),))
    assert query.excluded == {"p003"}
    assert query.parts == ()


def test_answers_and_kept_attributes_are_words_and_dont_know_is_nothing() -> None:
    found = made("modern")
    dialogue: list[Turn] = [
        Answer(Question("Colour?", attribute="top"), "red"),
        Keep("top", 1),
        Answer(Question("Big?"), "no idea"),
    ]
    queries = asked(found, dialogue, text="red")
    assert [part.label for part in queries[-1].parts] == ["red", "red"]
    assert [part.turn for part in queries[-1].parts] == [1, 2]


@pytest.mark.parametrize("exclude_shown", [True, False])
def test_pictures_that_were_gone_on_from_go_out_where_training_had_it_so(exclude_shown: bool) -> None:
    found = made("modern", exclude_shown=exclude_shown)
    picked, again = asked(found, [Like("p003", "red"), Like("p003")])
    assert picked.excluded == ({"p003"} if exclude_shown else set())
    assert again.excluded == set()


def test_the_chances_are_those_of_the_loss() -> None:
    assert asked(made("modern"), DIALOGUE[:1])[0].sharpness == pytest.approx(12.0)
    triplet = made("published", loss={"kind": "triplet"})
    query, row = asked(triplet, DIALOGUE[:1])[0], np.arange(2)
    gap = float(np.diff(query.sharpness * score_all(GALLERY, query).total_n[row])[0])
    model = MODELS["published"]
    near_n = scores_by_torch(network_of(model), model, DIALOGUE[:1])[0]
    assert gap == pytest.approx(float(near_n[1] - near_n[0]), abs=1e-3)


def test_an_own_image_is_read_as_the_same_picture_in_the_library_is() -> None:
    found = made("modern")
    own = read_image(GALLERY, draw_halves(*LOOKS[3]), found.reads)
    stored = picture(found, "p003")
    np.testing.assert_allclose(own.vectors["own"], stored.vectors["own"], atol=1e-5)
    assert own.predicted == stored.predicted
    shown = Show("mine.png", "red")
    (query,) = asked(found, [shown], pictures=(own,))
    (liked,) = asked(found, [Like("p003", "red")])
    np.testing.assert_allclose(vector(query), vector(liked), atol=1e-4)


def test_vectors_of_another_encoder_are_refused() -> None:
    found = made("modern")
    turn = resolved(found, DIALOGUE[0], 1)
    with pytest.raises(EncoderMismatch, match="these weights read sentence vectors"):
        found.step(found.begin(), replace(turn, sentences=SentenceEncoder("another", ENCODER.sentences)))


def test_weights_without_attributes_need_none() -> None:
    found = made("masked, whole, no attributes")
    assert (found.reads.needs, found.attributes) == (("own",), None)
    assert picture(found, "p003").predicted == ()
    assert made("modern").reads.needs == ("own", "attributes")
    assert isinstance(made("modern").attributes, AttributePredictor)


@each
def test_a_file_is_loaded_by_name(name: str, tmp_path: Path) -> None:
    file = tmp_path / "trained.safetensors"
    save_network(file, network_of(MODELS[name]), card_of(MODELS[name]))
    loaded = load_retriever("fashioniq", file)
    assert isinstance(loaded, FashionIq)
    query, same = asked(loaded, DIALOGUE)[-1], asked(made(name), DIALOGUE)[-1]
    np.testing.assert_allclose(score_all(GALLERY, query).total_n, score_all(GALLERY, same).total_n, atol=1e-5)


def test_an_empty_box_and_weights_of_another_system_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fashioniq, "SHIPPED", tmp_path / "none.safetensors")
    with pytest.raises(BadInput, match="no weights are shipped; train some"):
        load_retriever("fashioniq")
    file = tmp_path / "other.safetensors"
    save_network(file, torch.nn.Linear(1, 1), Card(system="chatir", preset="", encoder=""))
    with pytest.raises(BadInput, match="a network of chatir, not of fashioniq"):
        load_retriever("fashioniq", file)
