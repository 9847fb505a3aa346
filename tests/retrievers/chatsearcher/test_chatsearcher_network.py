"""What the network makes of places: against the same done slowly, one sequence and one place at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import nn
from torch.nn.functional import normalize

from viewfinder.data.chatsearch import ImageItem, TextItem
from viewfinder.retrievers.chatsearcher.batches import SequenceBatch, make_batch
from viewfinder.retrievers.chatsearcher.network import (
    MAX_PICTURES_AT_ONCE,
    SPECIAL,
    ChatSearcherNetwork,
    InputSizes,
    Perceiver,
    PictureFeatures,
    add_special_pieces,
    draw_language_model,
    read_picture_features,
)
from viewfinder.retrievers.chatsearcher.sequence import SequenceCodec, TokenizerRecord, TrainingExample, TrainingTurn
from viewfinder.retrievers.chatsearcher.settings import MAX_AGE, ChatSearcherLossSettings, ChatSearcherSettings
from viewfinder.testing import RAW_WIDTH

Made = Callable[..., ChatSearcherNetwork]

LONG = TrainingExample(
    (
        TrainingTurn("user", (ImageItem("b"), TextItem("more blue"))),
        TrainingTurn("assistant", (ImageItem("a"), TextItem("it is blue"))),
    ),
    "mchat",
)
SHORT = TrainingExample(
    (TrainingTurn("user", (TextItem("red"),)), TrainingTurn("assistant", (ImageItem("c"),))), "tchat"
)
ROWS = {"a": 0, "b": 1, "c": 2}


def lengths(texts: Sequence[str]) -> Float[ndarray, "k s"]:
    """Sentence vectors whose numbers are all the length of the text."""
    return np.array([[0.1 * len(text)] * RAW_WIDTH for text in texts])


def batch(codec: SequenceCodec, *lessons: TrainingExample) -> SequenceBatch:
    return make_batch(codec, [codec.encode_example(one) for one in lessons], ROWS, lengths if codec.says else None)


@pytest.fixture(scope="module")
def raw() -> tuple[Float[ndarray, "n g"], Float[ndarray, "n r e"]]:
    """Three pictures: raw vectors and regions."""
    draw = np.random.default_rng(0)
    return draw.normal(size=(3, RAW_WIDTH)).astype(np.float32), draw.normal(size=(3, 36, 3)).astype(np.float16)


def seen(network: ChatSearcherNetwork, raw: tuple[Float[ndarray, "n g"], Float[ndarray, "n r e"]]) -> PictureFeatures:
    return read_picture_features(network.whole_input, network.region_input if network.settings.tokens else None, *raw)


@torch.no_grad()
def test_every_place_has_its_vector(
    small: ChatSearcherSettings, network_of: Made, tokeniser: TokenizerRecord, raw: tuple[ndarray, ndarray]
) -> None:
    """<s> USER: red SAID ASSISTANT: [IMG] CLS q1 q2 [/IMG] </s>, of picture c."""
    network, codec = network_of(replace(small, says=True)), SequenceCodec(tokeniser, tokens=2, says=True)
    looks = seen(network, raw)
    found_lh = network.embed(batch(codec, SHORT), looks.select(torch.tensor([2])))[0]
    table_vh = network.language.embed_tokens.weight
    slots_th = network.slots(network.perceiver(looks.regions_nry[2:].float()))[0]
    said_h = network.said(torch.full((RAW_WIDTH,), 0.3))
    cls_h = network.cls(looks.whole_nx[2])
    expected = [*table_vh[[0, 3, 5]], said_h, *table_vh[[4, 14]], cls_h, *slots_th, *table_vh[[15, 1]]]
    torch.testing.assert_close(found_lh, torch.stack(expected))


@torch.no_grad()
def test_a_text_is_compared_with_the_picture_before_it(
    small: ChatSearcherSettings, network_of: Made, tokeniser: TokenizerRecord, raw: tuple[ndarray, ndarray]
) -> None:
    """The first text of `LONG` or `SHORT` has no picture before it."""
    plain, network = (network_of(replace(small, says=True, match=match)) for match in (0, 3))
    network.load_state_dict(plain.state_dict(), strict=False)
    torch.nn.init.normal_(network.match.out.weight)
    looks, one = seen(network, raw), batch(SequenceCodec(tokeniser, tokens=2, says=True), LONG, SHORT)
    own = looks.select(one.rows_c)
    added_ph = (network.embed(one, own) - plain.embed(one, own)).flatten(0, 1)
    at = one.before_k.tolist()
    assert at[-1] == -1 and any(place >= 0 for place in at)
    assert one.said_k[one.before_k >= 0].tolist() == added_ph.abs().sum(dim=1).nonzero().flatten().tolist()
    match = network.match
    for said, place, text_s in zip(one.said_k, at, one.sentences_ks, strict=True):
        if place >= 0:
            expected_h = match.out(match.text(text_s) * match.picture(own.whole_nx[place]))
            torch.testing.assert_close(added_ph[said], expected_h, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_a_batch_is_read_as_each_sequence_alone(
    small: ChatSearcherSettings, network_of: Made, codec: SequenceCodec, raw: tuple[ndarray, ndarray]
) -> None:
    network = network_of(small)
    looks = seen(network, raw)
    together = batch(codec, SHORT, LONG)
    states_blh = network(together, looks.select(together.rows_c))
    for own_lh, lesson in zip(states_blh, (SHORT, LONG), strict=True):
        alone = batch(codec, lesson)
        alone_lh = network(alone, looks.select(alone.rows_c))[0]
        torch.testing.assert_close(own_lh[: len(alone_lh)], alone_lh, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_nothing_hangs_on_what_comes_after_it(
    small: ChatSearcherSettings, network_of: Made, codec: SequenceCodec, raw: tuple[ndarray, ndarray]
) -> None:
    """The state at [IMG], from which a picture is looked for, does not see the picture."""
    network = network_of(small)
    looks, one = seen(network, raw), batch(codec, SHORT)
    wanted, other = (network(one, looks.select(torch.tensor([row])))[0] for row in (2, 0))
    img = int(one.cls_c[0]) - 1
    torch.testing.assert_close(wanted[: img + 1], other[: img + 1])
    assert not torch.allclose(wanted[img + 1], other[img + 1], atol=1e-3)


@torch.no_grad()
def test_a_query_points_back_at_texts_and_pictures_before_it_in_its_own_sequence(
    small: ChatSearcherSettings, network_of: Made, tokeniser: TokenizerRecord, raw: tuple[ndarray, ndarray]
) -> None:
    network = network_of(replace(small, says=True, points=True))
    looks, one = seen(network, raw), batch(SequenceCodec(tokeniser, tokens=2, says=True), LONG, SHORT, LONG)
    own, pointer = looks.select(one.rows_c), network.pointer
    states_ph = network(one, own).flatten(0, 1)
    at_q = one.cls_c - 1
    found_qd = network.search_from(states_ph, at_q, one, own)
    scaled_ks = one.sentences_ks * one.sentences_ks.shape[1] ** 0.5
    points = [(int(at), 0, pointer.shown(seen_x)) for at, seen_x in zip(one.cls_c, own.whole_nx, strict=True)]
    points += [(int(at), 1, pointer.said(text_s)) for at, text_s in zip(one.said_k, scaled_ks, strict=True)]
    length = one.numbers_bl.shape[1]
    for at, found_d in zip(at_q.tolist(), found_qd, strict=True):
        before = sorted((place, kind, point_d) for place, kind, point_d in points if at - at % length <= place < at)
        query_d = network.visual_head(states_ph[at])
        chances = [1.0]  # of nothing at all
        for age, (_, kind, point_d) in enumerate(reversed(before)):
            asked = pointer.asks(states_ph[at]) @ point_d / small.retrieval**0.5
            chances.append(float(torch.exp(asked + pointer.ages[kind, min(age, MAX_AGE)])))
        for chance, (_, _, point_d) in zip(chances[1:], reversed(before), strict=True):
            query_d = query_d + chance / sum(chances) * point_d
        torch.testing.assert_close(found_d, normalize(query_d, dim=0), atol=1e-4, rtol=1e-3)


@torch.no_grad()
def test_queries_and_pictures_are_unit_vectors_of_their_heads(
    small: ChatSearcherSettings, network_of: Made, raw: tuple[ndarray, ndarray]
) -> None:
    network = network_of(small)
    whole_nx = seen(network, raw).whole_nx
    states_qh = torch.randn(4, small.width)
    torch.testing.assert_close(
        network.encode_pictures(whole_nx), normalize(whole_nx @ network.queue_head.weight.T, dim=1)
    )
    torch.testing.assert_close(
        network.encode_queries(states_qh), normalize(states_qh @ network.visual_head.weight.T, dim=1)
    )
    assert network.encode_pictures(whole_nx).shape == (3, small.retrieval)


def test_words_are_scored_by_their_own_vectors_or_by_a_head(
    small: ChatSearcherSettings, tokeniser: TokenizerRecord, network_of: Made
) -> None:
    network = network_of(small)
    state_1h = torch.randn(1, small.width)
    torch.testing.assert_close(network.score_pieces(state_1h), state_1h @ network.language.embed_tokens.weight.T)
    assert network.shape["tied"] and network.written == tokeniser.count + SPECIAL
    head = nn.Linear(small.width, tokeniser.count, bias=False)
    language = replace(draw_language_model(small, tokeniser), head=head)
    from_head = ChatSearcherNetwork(
        small, ChatSearcherLossSettings(), InputSizes(raw=RAW_WIDTH, regions=36, region=3, sentence=1), language
    )
    assert not from_head.shape["tied"]
    torch.testing.assert_close(from_head.score_pieces(state_1h)[:, :-SPECIAL], head(state_1h))


def test_without_slots_there_is_no_perceiver(
    small: ChatSearcherSettings, network_of: Made, raw: tuple[ndarray, ndarray]
) -> None:
    network = network_of(replace(small, tokens=0))
    assert not [name for name in network.state_dict() if name.startswith(("perceiver", "slots", "region_input"))]
    assert seen(network, raw).regions_nry.shape == (3, 0, 0)


def test_names_are_those_that_searches_read(small: ChatSearcherSettings, network_of: Made) -> None:
    shapes = {
        name: tuple(numbers.shape) for name, numbers in network_of(replace(small, says=True)).state_dict().items()
    }
    expected = {
        "language.embed_tokens.weight": (16, 16),
        "language.layers.1.self_attn.k_proj.weight": (8, 16),  # two of four heads
        "language.layers.0.mlp.down_proj.weight": (16, 24),
        "language.norm.weight": (16,),
        "frequencies": (2,),
        "whole_input.components": (RAW_WIDTH, 6),
        "region_input.mean": (3,),
        "cls.weight": (16, 6),
        "perceiver.queries": (2, 12),
        "perceiver.positions": (36, 3),
        "perceiver.qformer.encoder.layer.1.crossattention.attention.key.weight": (12, 3),
        "slots.bias": (16,),
        "said.weight": (16, RAW_WIDTH),
        "visual_head.weight": (8, 16),
        "queue_head.weight": (8, 6),
        "log_temperature": (),
        "queue.vectors": (4, 6),
        "queue.rows": (4,),
    }
    assert {name: shapes.get(name) for name in expected} == expected
    assert "text_head.weight" not in shapes


# -- new pieces


def test_new_pieces_begin_near_the_mean_of_the_others_and_apart(
    small: ChatSearcherSettings, tokeniser: TokenizerRecord
) -> None:
    torch.manual_seed(0)
    head = nn.Linear(3, 5, bias=False)
    language = replace(draw_language_model(small, tokeniser), head=head)
    before_vh = language.model.embed_tokens.weight.detach().clone()
    model, grown = add_special_pieces(language)
    after_vh = model.embed_tokens.weight
    assert torch.equal(after_vh[:-SPECIAL], before_vh)
    apart_kh = (after_vh[-SPECIAL:] - before_vh.mean(dim=0)) / before_vh.std()
    assert 0.5 < float(apart_kh.std().detach()) < 1.5 and not torch.equal(apart_kh[0], apart_kh[1])
    assert grown is not None
    assert torch.equal(grown.weight[:5], head.weight) and grown.weight.shape == (7, 3)
    assert model.config.vocab_size == len(after_vh)


@pytest.mark.parametrize("holds", [True, False])
def test_where_pieces_are_held_only_the_new_ones_train(
    small: ChatSearcherSettings, network_of: Made, codec: SequenceCodec, raw: tuple[ndarray, ndarray], holds: bool
) -> None:
    network = network_of(small)
    network.holds_pieces = holds
    one = batch(codec, LONG)
    states_ph = network(one, seen(network, raw).select(one.rows_c)).flatten(0, 1)
    lost = network.score_pieces(states_ph).square().sum()
    [gradient_vh] = torch.autograd.grad(lost, network.language.embed_tokens.weight)
    assert bool((gradient_vh[:-SPECIAL] == 0).all()) == holds
    assert bool((gradient_vh[-SPECIAL:] != 0).any(dim=1).all())


def test_new_pieces_are_brought_to_the_length_of_the_others(small: ChatSearcherSettings, network_of: Made) -> None:
    network = network_of(small)
    table_vh = network.language.embed_tokens.weight
    with torch.no_grad():
        table_vh[-1] *= 7
    direction_h = normalize(table_vh[-1].detach(), dim=0)
    network.rescale_new_pieces()
    lengths_v = table_vh.detach().norm(dim=1)
    torch.testing.assert_close(lengths_v[-SPECIAL:], lengths_v[:-SPECIAL].mean().expand(SPECIAL))
    torch.testing.assert_close(normalize(table_vh[-1].detach(), dim=0), direction_h)


# -- pictures


@torch.no_grad()
def test_pictures_are_read_in_parts_as_at_once(small: ChatSearcherSettings, network_of: Made) -> None:
    network = network_of(small)
    draw = np.random.default_rng(1)
    count = MAX_PICTURES_AT_ONCE + 3
    raw_ng = draw.normal(size=(count, RAW_WIDTH)).astype(np.float32)
    regions_nre = draw.normal(size=(count, 36, 3)).astype(np.float16)
    looks = read_picture_features(network.whole_input, network.region_input, raw_ng, regions_nre)
    torch.testing.assert_close(looks.whole_nx, network.whole_input(torch.from_numpy(raw_ng)))
    at_once = network.region_input(torch.from_numpy(regions_nre.astype(np.float32))).half()
    torch.testing.assert_close(looks.regions_nry, at_once)
    some = looks.select(torch.tensor([5, 5, MAX_PICTURES_AT_ONCE]))
    assert torch.equal(some.whole_nx[1], looks.whole_nx[5]) and torch.equal(
        some.regions_nry[2], looks.regions_nry[MAX_PICTURES_AT_ONCE]
    )


@torch.no_grad()
def test_where_a_region_lies_counts_once_it_is_learnt(small: ChatSearcherSettings) -> None:
    torch.manual_seed(0)
    perceiver = Perceiver(small, regions=4, region_width=5).eval()
    regions_1ry = torch.randn(1, 4, 5)
    turned_1ry = regions_1ry.flip(1)
    torch.testing.assert_close(perceiver(regions_1ry), perceiver(turned_1ry))
    perceiver.positions.normal_()
    assert not torch.allclose(perceiver(regions_1ry), perceiver(turned_1ry), atol=1e-3)
    assert perceiver(regions_1ry).shape == (1, small.tokens, small.perceiver_width)
