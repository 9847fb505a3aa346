"""MAI at work: what was trained, said turn by turn, without torch."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from viewfinder.conversation import Answer, Keep, Like, Question, Reject, Say, Show, Turn
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.query import Operation, Picture, RawPictures, ResolvedTurn, SentenceEncoder
from viewfinder.retrievers import load_retriever
from viewfinder.retrievers.mai import retriever as mai
from viewfinder.retrievers.mai.network import (
    NOWHERE,
    CaptionedGallery,
    MaiNetwork,
    ModificationDialogues,
    encode_dialogues,
)
from viewfinder.retrievers.mai.retriever import Mai, MaiState
from viewfinder.retrievers.mai.settings import Model, Treatment
from viewfinder.retrievers.mai.texts import modification_text
from viewfinder.retrievers.shared.numpy_network import split_words
from viewfinder.search.explanation import share_parts
from viewfinder.search.gallery import Gallery
from viewfinder.search.scores import score_all
from viewfinder.testing import COLOURS, ColourEncoder, TinyRaw, tiny_snapshot
from viewfinder.training import Card, save_network
from viewfinder.weights import Weights

ENCODER = ColourEncoder()
SENTENCES = SentenceEncoder(ENCODER.sentences_version, ENCODER.sentences)
LOOKS = [(top, bottom) for top in list(COLOURS)[:4] for bottom in COLOURS]
CAPTIONS = tuple(f"{top} over {bottom}" for top, bottom in LOOKS)
RAW = TinyRaw(LOOKS, batch=99)
GALLERY = Gallery(tiny_snapshot(LOOKS), ENCODER, RAW)
[(RAW_NG, REGIONS_NRE)] = RAW.batches(GALLERY.snapshot.ids, regions=True)

SMALL: dict[str, Any] = {"width": 8, "layers": 2, "heads": 2, "hidden": 12, "tokens": 4, "prompts": 2, "projection": 6}
SMALL |= {"components": 5, "region_components": 2, "most_words": 12, "word_width": 4}
ALONE: dict[str, Any] = {**SMALL, "captions": False}

MODELS: dict[str, Model] = {
    "as lab": Model(**SMALL),
    "fused, paper's iteration": Model(**SMALL, query="fused"),
    "both, learned words": Model(**SMALL, image="both", words="learned"),
    "regions, pictures recalled": Model(**SMALL, image="regions", recall="pictures"),
    "no captions, pictures recalled": Model(**ALONE, recall="pictures"),
    "nothing carried": Model(**SMALL, memory="none"),
    "concatenated": Model(**SMALL, memory="concatenation"),
    "lstm": Model(**SMALL, memory="lstm"),
    "gru": Model(**SMALL, memory="gru"),
    "base": Model(**ALONE, stages="one", memory="ntm"),
    "sprc": Model(**ALONE, stages="sprc"),
    "sprc with captions": Model(**SMALL, stages="sprc", memory="ntm"),
    "texts and combinations of FC": Model(**SMALL, texts="official", combination="official_fc"),
    "combinations of Fiq": Model(**SMALL, combination="official_fiq"),
}
Made = Callable[[Model], MaiNetwork]
Weighed = Callable[[MaiNetwork], Weights]


@dataclass(frozen=True)
class Way:
    """A recorded dialogue: rows of its pictures, what is said, and what its last turn does."""

    texts: tuple[str, ...]
    back: int = NOWHERE
    recalled: tuple[int, ...] = ()
    rows: tuple[int, ...] = (3, 10, 20)
    described: bool = False


WAYS = {
    "onwards": Way(("is more red", "is blue", "1. is green 2. is over white")),
    "rollback": Way(("is more red", "is blue", "I prefer the FIRST, and 1. is red"), back=0),
    "combination": Way(("is red", "blue", "1. is green 4. keep the FIRST's top and the SECOND's top"), recalled=(0, 1)),
    "combination with the latest": Way(
        ("is more red", "blue", "keep the FIRST's top and the THIRD's top"), NOWHERE, (0, 2)
    ),
    "described": Way(("red over blue", "is more red"), rows=(0, 10), described=True),
}
WAYS["rollback"] = replace(WAYS["rollback"], back=0)
WAYS["combination"] = replace(WAYS["combination"], recalled=(0, 1))


@pytest.fixture(scope="module")
def made(network_of: Made, weights_of: Weighed) -> Callable[..., Mai]:
    """A retriever with the weights of `network_of`."""
    return lambda model, rollback=None: Mai(weights_of(network_of(model)), rollback=rollback)


def picture(row: int, caption: str | None = None) -> Picture:
    assert REGIONS_NRE is not None
    vectors = {"raw": RAW_NG[row], "raw regions": REGIONS_NRE[row]}
    return Picture(f"p{row:03}", vectors, caption=CAPTIONS[row] if caption is None else caption)


def resolved(turn: Turn, number: int, earlier: Sequence[Picture | None] = (), **known: Any) -> ResolvedTurn:
    """A turn with its picture looked up; `earlier[k]`: what was there after turn k + 1."""

    def found(at: int) -> tuple[Picture, ...]:
        there = earlier[at - 1] if 0 < at <= len(earlier) else None
        return () if there is None else (there,)

    pictures = (picture(int(turn.picture[1:])),) if isinstance(turn, Like) else ()
    plain: dict[str, Any] = {"text": getattr(turn, "text", ""), "pictures": pictures, "sentences": SENTENCES}
    return ResolvedTurn(turn, number, ENCODER.words, **(plain | {"earlier": found} | known))


def said(found: Mai, turns: Sequence[Turn], **known: Any) -> list[MaiState]:
    """The states after 0, 1, 2 ... turns; what is picked is there later on."""
    states, there = (
        [found.begin()],
        [picture(int(turn.picture[1:])) if isinstance(turn, Like) else None for turn in turns],
    )
    for number, turn in enumerate(turns, start=1):
        states.append(found.step(states[-1], resolved(turn, number, there[: number - 1], **known)))
    return states


def turns_of(way: Way) -> list[Turn]:
    likes: list[Turn] = [Like(f"p{row:03}", text) for row, text in zip(way.rows, way.texts, strict=True)]
    return [Say(way.texts[0]), *likes[1:]] if way.described else likes


@torch.no_grad()
def queries_by_torch(network: MaiNetwork, way: Way, vocabulary: list[str]) -> np.ndarray:
    """The queries after every turn, as in training."""

    def numbered(texts: Sequence[str]) -> torch.Tensor:
        most = network.settings.most_words
        known = [
            [vocabulary.index(word) + 1 for word in split_words(text) if word in vocabulary][:most] for text in texts
        ]
        return torch.tensor([row + [0] * (most - len(row)) for row in known])

    shelf = CaptionedGallery(network.images.components(RAW_NG, REGIONS_NRE), numbered(CAPTIONS))
    count = len(way.rows)
    seen_bp = torch.ones(1, count + 1, dtype=torch.bool)
    seen_bp[0, 0] = not way.described
    recalled_bp = torch.zeros(1, count + 1, dtype=torch.bool)
    whole = {"seen": way.recalled, "official_fc": range(count - 1), "official_fiq": range(count)}
    recalled = whole[network.settings.combination] if way.recalled else ()
    recalled_bp[0, list(recalled)] = True
    recall = " ".join(f"{('FIRST', 'SECOND', 'THIRD')[place]}: {CAPTIONS[way.rows[place]]}" for place in recalled)
    drawn = int(np.random.default_rng([count, zlib.crc32(way.texts[-1].encode())]).integers(count - 1))
    dialogues = ModificationDialogues(
        torch.tensor([[*way.rows, 0]]),
        numbered([modification_text(text, network.settings.texts) for text in way.texts])[None],
        seen_bp,
        seen_bp.clone(),
        torch.tensor([way.back]),
        recalled_bp,
        numbered([recall]),
        torch.tensor([drawn]),
    )
    return np.concatenate([turned.queries_bd.numpy() for turned in encode_dialogues(network, shelf, dialogues)])


def only_known(way: Way, vocabulary: list[str]) -> Way:
    """Without words that training did not know: an encoder at search knows all."""
    texts = tuple(
        " ".join(w for w in text.split() if set(split_words(w)) <= set(vocabulary) or w[0].isdigit())
        for text in way.texts
    )
    return replace(way, texts=texts)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MODELS)
def test_queries_are_those_of_the_trained_network_after_every_turn(
    name: str, way: str, network_of: Made, weights_of: Weighed
) -> None:
    network = network_of(MODELS[name])
    weights = weights_of(network)
    vocabulary = weights.card.settings["vocabulary"]
    dialogue = only_known(WAYS[way], vocabulary)
    state = said(Mai(weights), turns_of(dialogue))[-1]
    found_nd = np.stack([turned.vector_d for turned in state.turns])
    np.testing.assert_allclose(found_nd, queries_by_torch(network, dialogue, vocabulary), atol=1e-4)


@pytest.mark.parametrize("treatment", ["replace", "ignore", "random", "blend"])
def test_a_rollback_is_treated_as_the_settings_say(treatment: Treatment, network_of: Made, weights_of: Weighed) -> None:
    # The weights say "replace"; whoever loads them may say otherwise.
    network = network_of(MODELS["both, learned words"])
    weights = weights_of(network)
    network.settings = replace(network.settings, rollback=treatment)
    vocabulary = weights.card.settings["vocabulary"]
    state = said(Mai(weights, rollback=treatment), turns_of(WAYS["rollback"]))[-1]
    expected_nd = queries_by_torch(network, WAYS["rollback"], vocabulary)
    np.testing.assert_allclose(state.turns[-1].vector_d, expected_nd[-1], atol=1e-4)
    assert state.operations == (Operation("rollback", 1, "", "the FIRST"),)


def test_what_is_kept_of_earlier_turns_is_told(made: Callable[..., Mai]) -> None:
    state = said(made(MODELS["as lab"]), turns_of(WAYS["combination"]))[-1]
    assert [(one.kind, one.turn, one.attribute) for one in state.operations] == [("keep", 1, "top"), ("keep", 2, "top")]
    assert said(made(MODELS["as lab"]), turns_of(WAYS["onwards"]))[-1].operations == ()


def test_a_picture_picked_back_then_is_where_the_dialogue_goes_on(made: Callable[..., Mai]) -> None:
    turns: list[Turn] = [Like("p003", "is red"), Like("p010", "is blue"), Like("p003", "is green", 1)]
    state = said(made(MODELS["as lab"]), turns)[-1]
    assert state.operations == (Operation("rollback", 1),)
    plain = said(made(MODELS["as lab"]), [*turns[:2], Like("p003", "is green")])[-1]
    np.testing.assert_array_equal(state.turns[-1].vector_d, plain.turns[-1].vector_d)


def test_an_attribute_to_keep_is_said_and_its_picture_recalled(made: Callable[..., Mai]) -> None:
    found = made(MODELS["as lab"])
    before = said(found, [Like("p003", "is red"), Like("p010", "is blue")])[-1]
    turn = resolved(Keep("top", 1), 3, text="green", pictures=(picture(3),))
    after = found.step(before, turn)
    assert after.operations == (Operation("keep", 1, "top"),)
    assert after.turns[-1].label == "keep the FIRST's green top"
    assert after.adapters == ('verbalise: the top to keep is said as "keep the FIRST\'s green top"',)
    untold = found.step(before, replace(turn, pictures=(picture(3, caption=""),)))
    assert untold.adapters[-1].startswith("drop: what is kept of an earlier picture is read as words alone, nobody has")
    assert not np.allclose(after.turns[-1].vector_d, untold.turns[-1].vector_d)


def test_the_second_one_is_the_second_result_where_no_picture_was_picked(made: Callable[..., Mai]) -> None:
    found, text = made(MODELS["as lab"]), "I prefer the second one, but blue"
    shown = (picture(5), picture(6))
    state = found.step(found.begin(), resolved(Say(text), 1, shown=shown))
    assert state.adapters == (
        'screen: "the second" is taken as result 2, as the conversation has come to fewer pictures',
    )
    assert state.operations == ()
    liked = found.step(found.begin(), resolved(Like("p006", text), 1))
    np.testing.assert_array_equal(state.turns[0].vector_d, liked.turns[0].vector_d)


def test_a_picture_that_is_no_longer_there_is_told(made: Callable[..., Mai]) -> None:
    found = made(MODELS["as lab"])
    before = said(found, [Like("p003", "is red"), Like("p010", "is blue")])[-1]
    state = found.step(before, resolved(Like("p020", "I prefer the first"), 3, (None, picture(10))))
    assert state.adapters == ('drop: "the first" is no longer there',)
    assert len(state.turns) == 3


def test_a_dialogue_of_any_length_keeps_as_much(made: Callable[..., Mai]) -> None:
    found = made(Model(tokens=32, width=64, words="learned", components=5))
    states = said(found, [Like(f"p{row:03}", "is red") for row in range(12)])
    assert [sum(part.nbytes for part in state.carried) for state in states] == [0] + 12 * [32 * 64 * 4]


def test_what_the_turns_add_sums_to_the_score(made: Callable[..., Mai]) -> None:
    found = made(MODELS["no captions, pictures recalled"])
    query = found.query(said(found, turns_of(WAYS["rollback"]))[-1])
    rows = np.arange(len(LOOKS))
    assert [part.turn for part in query.parts] == [1, 2, 3]
    total_n = score_all(GALLERY, query).total_n
    np.testing.assert_allclose(share_parts(GALLERY, query, rows).sum(axis=1), total_n, atol=1e-5)
    pictures_nd = found.space.project(RawPictures(RAW_NG))[:, 0]
    vector_d = said(found, turns_of(WAYS["rollback"]))[-1].turns[-1].vector_d
    np.testing.assert_allclose(total_n, pictures_nd @ vector_d, atol=1e-5)


def test_sprc_counts_the_best_token_of_a_picture(made: Callable[..., Mai]) -> None:
    found = made(MODELS["sprc"])
    query = found.query(said(found, turns_of(WAYS["rollback"]))[-1])
    [part] = query.parts
    best_n = (found.space.project(RawPictures(RAW_NG)) @ np.asarray(part.vector_d)).max(axis=1)
    np.testing.assert_allclose(score_all(GALLERY, query).total_n, best_n, atol=1e-4)


def test_captions_count_where_they_are_read(made: Callable[..., Mai]) -> None:
    whole_ng = RAW_NG[:2]
    for name, read in [("as lab", True), ("no captions, pictures recalled", False)]:
        space = made(MODELS[name]).space
        assert space.reads_captions is read
        told, other = (
            space.project(RawPictures(whole_ng, None, texts, SENTENCES)) for texts in (("red", ""), ("", ""))
        )
        assert np.allclose(told[0], other[0]) is not read
        np.testing.assert_allclose(told[1], other[1], atol=1e-6)


def test_refusals_rule_out_and_words_without_a_picture_are_read(made: Callable[..., Mai]) -> None:
    found = made(MODELS["as lab"])
    bare = found.step(found.begin(), resolved(Reject(("p003",)), 1, pictures=(picture(3),)))
    assert bare.excluded == {"p003"}
    assert not bare.turns
    assert not bare.pictured
    spoken = found.step(bare, resolved(Reject((), "red"), 2))
    assert [turned.label for turned in spoken.turns] == ["there is no red"]
    silent = found.step(spoken, resolved(Answer(Question("Big?"), "no idea"), 3))
    assert silent.turns == spoken.turns
    again = found.step(silent, resolved(Like("p003"), 4))
    assert not again.excluded
    assert (again.pictured, again.turns[-1].label) == ((4,), "this picture")


def test_what_was_modified_goes_out_where_the_weights_say_so_until_it_is_picked_again(
    network_of: Made, weights_of: Weighed
) -> None:
    weights = weights_of(network_of(MODELS["as lab"]))
    card = replace(weights.card, settings={**weights.card.settings, "exclude_shown": True})
    found = Mai(replace(weights, card=card))
    changed = found.step(found.begin(), resolved(Like("p003", "is red"), 1))
    assert changed.excluded == {"p003"}
    assert not Mai(weights).step(found.begin(), resolved(Like("p003", "is red"), 1)).excluded
    assert not found.step(changed, resolved(Like("p003"), 2)).excluded


def test_an_own_image_is_read_as_a_picture_of_the_gallery(made: Callable[..., Mai]) -> None:
    found = made(MODELS["both, learned words"])
    liked = found.step(found.begin(), resolved(Like("p003", "is red"), 1))
    own = replace(picture(3), id=None)
    shown = found.step(found.begin(), resolved(Show("mine.png", "is red"), 1, pictures=(own,)))
    np.testing.assert_array_equal(shown.turns[0].vector_d, liked.turns[0].vector_d)


def test_words_that_are_not_read_are_told(made: Callable[..., Mai]) -> None:
    [_, state] = said(made(MODELS["both, learned words"]), [Like("p003", "is chartreuse")])
    assert state.adapters == ('drop: these weights do not know "chartreuse"',)


def test_vectors_of_another_encoder_are_refused(made: Callable[..., Mai]) -> None:
    found = made(MODELS["as lab"])
    turn = resolved(Like("p003", "is red"), 1, sentences=SentenceEncoder("another", ENCODER.sentences))
    with pytest.raises(EncoderMismatch, match="these weights read sentence vectors"):
        found.step(found.begin(), turn)


@pytest.mark.parametrize("name", ["as lab", "both, learned words", "sprc"])
def test_a_file_is_loaded_by_name(
    name: str, network_of: Made, card_of: Callable[[Model], Card], made: Callable[..., Mai], tmp_path: Path
) -> None:
    file = tmp_path / "trained.safetensors"
    save_network(file, network_of(MODELS[name]), card_of(MODELS[name]))
    loaded = load_retriever("mai", file)
    assert isinstance(loaded, Mai)
    assert (loaded.reads.named, loaded.reads.space) == ("raw", loaded.space)
    assert loaded.space.reads_regions is (MODELS[name].image != "whole")
    found, same = (said(one, turns_of(WAYS["rollback"]))[-1] for one in (loaded, made(MODELS[name])))
    # Components are stored in half precision.
    np.testing.assert_allclose(found.turns[-1].vector_d, same.turns[-1].vector_d, atol=1e-3)


def test_the_chances_are_those_of_the_loss(made: Callable[..., Mai]) -> None:
    found = made(MODELS["as lab"])
    assert found.query(found.begin()).sharpness == pytest.approx(12.0)


def test_an_empty_box_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mai, "SHIPPED", tmp_path / "none.safetensors")
    with pytest.raises(BadInput, match="no weights are shipped; train some"):
        load_retriever("mai")
