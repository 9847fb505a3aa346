"""What talks in training are about, and how they begin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import Int
from torch import Tensor

from viewfinder.errors import BadInput
from viewfinder.retrievers.fashioniq.dialogues import (
    GarmentKind,
    SentenceTable,
    dialogue_batches,
    draw_dialogues,
    garment_kinds,
    move_kinds,
    other_kinds_pictures,
    pair_wordings,
    validation_dialogues,
)
from viewfinder.retrievers.fashioniq.garments import Garments, RecordedPairs
from viewfinder.retrievers.fashioniq.settings import FashionIqPreset, TransformerModel
from viewfinder.retrievers.shared.network import WordNumbers
from viewfinder.training import TrainingSettings

WORDS = WordNumbers(("and", "black", "blue", "cotton", "is", "red"), 4)


def nobody(shown_b: Int[Tensor, " b"], wanted_b: Int[Tensor, " b"]) -> Int[Tensor, "b l"]:
    raise AssertionError("is not asked")


def garments() -> Garments:
    """Shirts in rows 0, 2, 4, 5, with pairs; hats in rows 1 and 3, without. Row i is described by colour i % 3."""
    colours = ["red", "blue", "black"]
    return Garments(
        keys=tuple("abcdef"),
        raw_ng=np.arange(12, dtype=np.float32).reshape(6, 2),
        raw_version="raw",
        kinds=("shirt", "hat"),
        kind_n=np.array([0, 1, 0, 1, 0, 0]),
        descriptions=tuple((f"{colours[row % 3]} cotton", colours[row % 3]) if row else () for row in range(6)),
        labels=((),) * 6,
        pairs=RecordedPairs(np.array([2, 5]), np.array([0, 4]), (("is black", "black"), ("is blue",))),
    )


def shelves() -> tuple[GarmentKind, ...]:
    return garment_kinds(garments(), torch.eye(6), torch.arange(12).reshape(6, 2), WORDS, nobody)


def preset(**known: Any) -> FashionIqPreset:
    return FashionIqPreset(
        model=TransformerModel(), training=TrainingSettings(learning_rate=1e-3, epochs=1), **({"turns": 3} | known)
    )


def texts(words_bl: Int[Tensor, "b l"]) -> list[str]:
    return [" ".join(WORDS.vocabulary[number - 1] for number in row if number) for row in words_bl.tolist()]


def test_words_are_numbered_from_one_and_unknown_ones_left_out() -> None:
    assert WORDS(["Is red, and BLUE!", "some cotton", ""]).tolist() == [[5, 6, 1, 3], [4, 0, 0, 0], [0, 0, 0, 0]]
    assert WORDS(["red red red red blue"]).tolist() == [[6, 6, 6, 6]]


def test_sentences_are_found_again_and_come_round() -> None:
    said = SentenceTable.of([["red"], [], ["blue", "black", "cotton"]], WORDS)
    things_b, which_b = torch.tensor([0, 1, 2, 2, 2]), torch.tensor([5, 0, 0, 2, 4])
    assert texts(said.sentences(things_b, which_b)) == ["red", "", "blue", "cotton", "black"]


def test_garments_are_numbered_within_their_kind() -> None:
    shirts, hats = shelves()
    assert (shirts.kind, shirts.row_n.tolist(), hats.row_n.tolist()) == ("shirt", [0, 2, 4, 5], [1, 3])
    assert (shirts.target_p.tolist(), shirts.candidate_p.tolist()) == ([1, 3], [0, 2])
    assert torch.equal(hats.read_nx, torch.eye(6)[[1, 3]])
    assert hats.attributes_na.tolist() == [[2, 3], [6, 7]]
    assert (shirts.says, hats.says) == (nobody, None)


def test_both_captions_of_a_pair_are_said_in_four_ways() -> None:
    assert pair_wordings(["is red", "blue"]) == ("Is red and blue", "Blue and is red", "Is red", "Blue")
    assert pair_wordings(["is red"]) == ("Is red",) * 4


def test_shares_of_dialogues_begin_with_a_pair_or_a_description_or_are_read_without_attributes() -> None:
    some = preset(recorded=0.5, described=0.2, attribute_dropout=0.3)
    shirts = shelves()[:1]
    dialogues = draw_dialogues(shirts, some, 4000, np.random.default_rng(0))
    assert float((~dialogues.attributed_b).double().mean()) == pytest.approx(0.3, abs=0.03)
    # One in four has no description: those talks begin with a picture.
    assert float((~dialogues.seen_b).double().mean()) == pytest.approx(0.2 * 3 / 4, abs=0.03)
    recorded_b = dialogues.given_bt[:, 0] & dialogues.seen_b
    assert float(recorded_b.double().mean()) == pytest.approx(0.5, abs=0.03)
    pairs = {(3, 2): {"is blue"}, (1, 0): {"is black and black", "black and is black", "is black", "black"}}
    said: dict[tuple[int, int], set[str]] = {}
    at_a = recorded_b.nonzero()[:, 0]
    rows = zip(
        dialogues.targets_b[at_a].tolist(),
        dialogues.shown_b[at_a].tolist(),
        texts(dialogues.words_btl[at_a, 0]),
        strict=True,
    )
    for target, shown, text in rows:
        said.setdefault((target, shown), set()).add(text)
    assert said == pairs
    assert not dialogues.given_bt[:, 1:].any()


def test_without_shares_everything_is_drawn_alike() -> None:
    dialogues = draw_dialogues(shelves()[:1], preset(), 4000, np.random.default_rng(0))
    assert dialogues.seen_b.all()
    assert dialogues.attributed_b.all()
    assert not dialogues.given_bt.any()
    for drawn in (dialogues.targets_b, dialogues.shown_b, dialogues.others_bt[:, 2]):
        assert np.allclose(np.bincount(drawn.numpy()) / 4000, 0.25, atol=0.03)


def test_a_kind_is_drawn_by_its_pictures_and_has_dialogues_of_its_own() -> None:
    both = shelves()
    numbers = [draw_dialogues(both, preset(turns=1), 1, np.random.default_rng(seed)).kind for seed in range(300)]
    assert np.mean(numbers) == pytest.approx(2 / 6, abs=0.07)


def test_where_nobody_simulates_users_every_turn_has_another_description() -> None:
    dialogues = draw_dialogues(shelves()[1:], preset(recorded=0.5), 20, np.random.default_rng(0))
    assert dialogues.given_bt.all()
    colours = {0: "blue", 1: "red"}  # hats are rows 1 and 3
    for target, said_tl in zip(dialogues.targets_b.tolist(), dialogues.words_btl, strict=True):
        first, second, third = texts(said_tl)
        assert {first, second} == {f"{colours[target]} cotton", colours[target]}
        assert first == third


def test_recorded_pairs_alone_begin_every_dialogue() -> None:
    dialogues = draw_dialogues(shelves()[:1], preset(turns=1, simulator="recorded"), 50, np.random.default_rng(0))
    assert dialogues.given_bt.all()
    pairs = {*zip(dialogues.targets_b.tolist(), dialogues.shown_b.tolist(), strict=True)}
    assert pairs == {(1, 0), (3, 2)}


def test_batches_of_an_epoch_can_be_found_again() -> None:
    batches = dialogue_batches(shelves(), preset(batch=2))
    assert len(batches(1, 0)) == 3
    again = batches(1, 0)[2]
    for one, other in zip(batches(1, 0)[2], again, strict=True):
        assert torch.equal(torch.as_tensor(one), torch.as_tensor(other))
    assert not torch.equal(batches(1, 0)[0].others_bt, batches(2, 0)[0].others_bt)


def test_a_batch_needs_as_many_garments() -> None:
    with pytest.raises(BadInput, match="batch of 7 does not go with 6 garments"):
        dialogue_batches(shelves(), preset(batch=7))


def test_strangers_are_of_all_other_kinds() -> None:
    shirts_and_hats = shelves()
    dialogues = draw_dialogues(shirts_and_hats, preset(), 4, np.random.default_rng(0))
    found_mx = other_kinds_pictures(shirts_and_hats, dialogues, 5)
    assert found_mx is not None
    [other] = [shelf for number, shelf in enumerate(shirts_and_hats) if number != dialogues.kind]
    assert len(found_mx) == 5
    assert {tuple(row) for row in found_mx.tolist()} <= {tuple(row) for row in other.read_nx.tolist()}
    assert other_kinds_pictures(shirts_and_hats[:1], dialogues._replace(kind=0), 5) is None
    assert other_kinds_pictures(shirts_and_hats, dialogues, 0) is None


def test_validation_wants_every_garment_once_and_shows_another_first() -> None:
    shirts, hats = validation_dialogues(shelves(), preset())
    assert shirts.targets_b.tolist() == [0, 1, 2, 3]
    assert sorted(shirts.shown_b.tolist()) == [0, 1, 2, 3]
    assert (shirts.targets_b != shirts.shown_b).all()
    assert not shirts.given_bt.any()
    assert hats.given_bt.all()
    assert texts(hats.words_btl[0]) == ["blue cotton", "blue", "blue cotton"]


def test_validation_of_recorded_pairs_says_both_captions() -> None:
    pairs, _ = validation_dialogues(shelves(), preset(turns=1, simulator="recorded"))
    assert (pairs.targets_b.tolist(), pairs.shown_b.tolist()) == ([1, 3], [0, 2])
    assert texts(pairs.words_btl[:, 0]) == ["is black and black", "is blue"]


def test_a_shelf_that_is_moved_is_the_same() -> None:
    shirts = shelves()[0]
    [there] = move_kinds((shirts,), torch.device("cpu"))
    assert torch.equal(there.recorded.words_cl, shirts.recorded.words_cl)
    assert (there.kind, there.says) == ("shirt", nobody)
