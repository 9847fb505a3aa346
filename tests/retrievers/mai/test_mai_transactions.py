"""What is learnt from: transactions of several sources and folders as rows, texts and numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewfinder.data.fashionmt import Transaction, write_transactions
from viewfinder.errors import BadInput, UnknownName
from viewfinder.retrievers.mai.network import NOWHERE
from viewfinder.retrievers.mai.settings import Combination, MaiPreset, Model
from viewfinder.retrievers.mai.texts import draw_clauses
from viewfinder.retrievers.mai.transactions import (
    DialogueSampler,
    TrainingTransactions,
    TransactionTexts,
    read_training_transactions,
    recalled_captions,
    shorten_modification,
    transaction_texts,
)
from viewfinder.retrievers.shared.network import WordNumbers
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import COLOURS, ColourEncoder, TinyPicture, tiny_pictures
from viewfinder.training import TrainingSettings
from viewfinder.wording.modifications import split_modification

ENCODER = ColourEncoder()
WORDS = ("is", "red", "blue", "green", "prefer", "the", "first", "second", "keep", "first's", "top", "more")


def preset(**known: Any) -> MaiPreset:
    given: dict[str, Any] = {"model": Model(image="whole"), "training": TrainingSettings(learning_rate=1e-3, steps=1)}
    return MaiPreset(**given | known)


def transaction(pictures: list[TinyPicture], last: str, *, captioned: bool = True) -> Transaction:
    said = tuple(f"1. is {one.top} 2. is {one.bottom}" for one in pictures[1:-1])
    names = tuple(one.path.name for one in pictures)
    captions = tuple(one.caption for one in pictures) if captioned else ()
    return Transaction(names[0], names[1:], (*said, last), captions)


ROLLED = "I prefer the FIRST, and 1. is red 2. is 3 inches longer"
KEPT = "1. is red 2. is plain 4. keep the FIRST's top and keep the SECOND's None"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[TinyPicture]:
    return tiny_pictures(tmp_path_factory.mktemp("shop") / "images", 12)


@pytest.fixture(scope="module")
def data(pictures: list[TinyPicture]) -> Path:
    """Two sources with three transactions for training, one of which has a picture that is not there."""
    folder, names = pictures[0].path.parents[1], [one.path.name for one in pictures]
    lost = Transaction(names[0], (names[1], names[2], "gone.png"), ("1. is red",) * 3)
    write_transactions(folder, "back", "train", [transaction(pictures[:4], ROLLED), lost], names)
    write_transactions(folder, "mix", "train", [transaction(pictures[2:6], KEPT, captioned=False)], names)
    write_transactions(folder, "mix", "val", [transaction(pictures[8:], KEPT)], names)
    return folder


def plan(*data: Path, **known: Any) -> TrainPlan:
    out = data[0] / "out"
    return TrainPlan(system="mai", data=data, preset="lab", out=out, encoder=ENCODER, **known)


def test_transactions_of_all_sources_are_read_and_what_is_left_out_is_told(
    data: Path, pictures: list[TinyPicture]
) -> None:
    told: list[str] = []
    found = read_training_transactions(plan(data, notify=told.append), "train", preset())
    assert told[-2:] == [f"{data}, back, train: 1 transactions of 2", f"{data}, mix, train: 1 transactions of 1"]
    assert [one.rows for one in found.said] == [(0, 1, 2, 3), (2, 3, 4, 5)]
    assert [(one.back, one.recalled) for one in found.said] == [(0, ()), (NOWHERE, (0,))]
    assert found.said[0].texts[-1] == "I prefer the FIRST, and is red, is 3 inches longer"
    assert found.captions == (*(one.caption for one in pictures[:4]), "", "")
    assert (len(found.raw_ng), found.regions_nre, found.raw_version) == (6, None, ENCODER.raw_version)
    assert {"first", "first's", "red", "inches", "over"} <= {*found.vocabulary()}


def test_rows_are_those_of_the_pictures(data: Path, pictures: list[TinyPicture]) -> None:
    found = read_training_transactions(plan(data), "val", preset(model=Model(image="both")))
    assert found.regions_nre is not None
    assert found.regions_nre.shape == (4, 36, 3)
    for picture, regions_re in zip(pictures[8:], found.regions_nre, strict=True):
        for region, colour in ((8, picture.top), (-8, picture.bottom)):  # of 6 x 6, from the top
            assert np.allclose(regions_re[region], np.array(COLOURS[colour]) / 255 - 0.5, atol=0.02)


def test_sources_can_be_chosen(data: Path) -> None:
    chosen = read_training_transactions(plan(data), "train", preset(sources=("mix",)))
    assert [one.back for one in chosen.said] == [NOWHERE]


def test_several_folders_are_one_after_the_other(data: Path, tmp_path: Path) -> None:
    pictures = tiny_pictures(tmp_path / "images", 4)
    write_transactions(tmp_path, "own", "train", [transaction(pictures, KEPT)], [one.path.name for one in pictures])
    found = read_training_transactions(plan(data, tmp_path), "train", preset())
    assert [one.rows for one in found.said] == [(0, 1, 2, 3), (2, 3, 4, 5), (6, 7, 8, 9)]
    assert len(found.raw_ng) == len(found.captions) == 10
    assert found.captions[6:] == tuple(one.caption for one in pictures)


def test_captioned_pictures_make_dialogues_where_there_are_no_transactions(tmp_path: Path) -> None:
    pictures = tiny_pictures(tmp_path / "images", 40)
    lines = ["image,caption", *(f"{one.path.name},A {one.caption}" for one in pictures)]
    (tmp_path / "captions.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found, again = (read_training_transactions(plan(tmp_path), "train", preset()) for _ in range(2))
    assert len(found.said) == 4 * len(found.captions)
    for one in found.said:
        assert one.texts == one.short == tuple(found.captions[row] for row in one.rows[1:])
        assert (one.back, one.recalled, len(one.rows)) == (NOWHERE, (), 4)
    assert all(caption.islower() for caption in found.captions)
    assert [one.rows for one in found.said] == [one.rows for one in again.said]
    held = {
        caption
        for split in ("val", "test")
        for caption in read_training_transactions(plan(tmp_path), split, preset()).captions
    }
    assert len(held) + len({*found.captions}) == 40


@pytest.mark.parametrize(
    ("split", "known", "error", "what"),
    [
        (
            "train",
            {"sources": ("mix", "shoes")},
            UnknownName,
            "no source of .train. is called shoes; there are: back, mix",
        ),
        ("val", {"sources": ("back",)}, UnknownName, "no source of .val. is called back; there are: mix"),
        ("test", {}, BadInput, "no transactions of 'test'"),
    ],
)
def test_what_is_not_there_is_told(
    data: Path, split: str, known: dict[str, Any], error: type[Exception], what: str
) -> None:
    with pytest.raises(error, match=what) as told:
        read_training_transactions(plan(data), split, preset(**known))
    assert "\n" not in str(told.value) and str(data) in str(told.value)


def test_a_last_turn_says_where_it_looks_back_to() -> None:
    def looked(last: str, combination: Combination = "seen") -> tuple[int, tuple[int, ...]]:
        one = Transaction("a", ("b", "c", "d"), ("1. is red", "2. is red", last))
        found = transaction_texts(one, (4, 5, 6, 7), Model(combination=combination))
        return found.back, found.recalled

    assert looked("I prefer the SECOND, and 1. is red") == (1, ())
    assert looked("1. is red 4. keep the FIRST's top and keep the SECOND's colour") == (NOWHERE, (0, 1))
    assert looked("1. is red 4. keep the FIRST's None") == (NOWHERE, ())
    assert looked("1. is red 4. keep the FIRST's top", "official_fc") == (NOWHERE, (0, 1))
    assert looked("1. is red 4. keep the FIRST's top", "official_fiq") == (NOWHERE, (0, 1, 2))
    assert looked("I prefer the SECOND, and 1. is red", "official_fiq") == (1, ())
    assert looked("1. is red 2. is plain") == (NOWHERE, ())


def test_a_short_form_has_one_or_two_changes_and_all_that_looks_back() -> None:
    numbers = set()
    for number in range(30):
        found = split_modification(
            shorten_modification(f"I like it, and 1. is red 2. is plain 3. is {number} 4. keep the FIRST's top")
        )
        *change, kept = found.clauses
        assert (found.lead, kept) == ("I like it, and", "keep the FIRST's top")
        assert [clause for clause in ("is red", "is plain", f"is {number}") if clause in change] == change
        numbers.add(len(change))
    assert numbers == {1, 2}
    assert shorten_modification("1. is red") == "1. is red"
    assert shorten_modification("I prefer the FIRST") == "I prefer the FIRST"


def test_a_test_reads_the_first_and_the_last_clause_where_texts_are_official() -> None:
    said = ("1. is red 2. is plain 3. has a 3 inch heel ", "is blue", "I prefer the FIRST, and 1. is  green")
    one = Transaction("a", ("b", "c", "d"), said)
    found = transaction_texts(one, (4, 5, 6, 7), Model(texts="official"))
    assert (found.texts, found.back) == (("is red and has a 3 inch heel", "is blue", "is  green"), 0)
    assert found.drawn_from == said and not transaction_texts(one, (4, 5, 6, 7), Model()).drawn_from


@pytest.mark.parametrize(
    ("modification", "drawn"),
    [
        # Any two in any order; a clause ends where a digit stands.
        ("I like it, and 1. a 2. b 3. has a 3 inch heel", {"a and b", "b and a", "a and has a", "has a and a",
                                                            "b and has a", "has a and b"}),
        ("1. a 2. b 3. c 4. keep the FIRST's d. ", {f"{one} and keep the FIRST's d" for one in "abc"}),
        ("I prefer the FIRST, and 1. is red ", {"I prefer the FIRST, and 1. is red"}),
        ("is red", {"is red"}),
    ],
)  # fmt: skip
def test_training_draws_two_clauses_where_texts_are_official(modification: str, drawn: set[str]) -> None:
    rng = np.random.default_rng(0)
    assert {draw_clauses(modification, rng) for _ in range(100)} == drawn


def test_official_texts_are_drawn_anew_and_others_draw_what_they_drew() -> None:
    said = tuple(
        TransactionTexts((0, 1), ("is red and is",), ("red",), drawn_from=("1. is red 2. is blue 3. is green",))
        for _ in range(8)
    )
    captions = ("red top", "blue top")
    sampler = DialogueSampler.of(
        TrainingTransactions(np.zeros((2, 2), np.float32), None, "raw", captions, said), WordNumbers(WORDS, 5)
    )
    official = preset(model=Model(texts="official"))
    rows = np.arange(8)
    rng = np.random.default_rng(0)
    drawn = [words(sampler.draw(official, rows, rng).words_bnl[:, 0]) for _ in range(9)]
    colours = ("red", "blue", "green")
    assert {text for some in drawn for text in some} == {
        f"is {one} is {other}" for one in colours for other in colours if one != other
    }
    assert words(sampler.draw(preset(), rows, rng).words_bnl[:, 0]) == ["is red is"] * 8
    assert words(sampler.recorded(rows).words_bnl[:, 0]) == ["is red is"] * 8


def drawer() -> DialogueSampler:
    """A rollback to the first picture, a combination of the first two, and neither, of three turns."""
    texts, short = ("is red", "is blue", "is green"), ("red", "blue", "green")
    said = (
        TransactionTexts((0, 1, 2, 3), texts, short, back=0),
        TransactionTexts((1, 2, 3, 4), texts, short, recalled=(0, 1)),
        TransactionTexts((2, 3, 4, 0), texts, short),
    )
    captions = ("red top", "blue top", "green top", "more red", "")
    return DialogueSampler.of(
        TrainingTransactions(np.zeros((5, 2), np.float32), None, "raw", captions, said), WordNumbers(WORDS, 5)
    )


def words(rows: Any) -> list[str]:
    """What numbers of words say."""
    return [" ".join(WORDS[number - 1] for number in row if number) for row in rows.tolist()]


def test_recorded_dialogues_are_as_they_were_said() -> None:
    dialogues = drawer().recorded(np.arange(3))
    assert dialogues.pictures_bp.tolist() == [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 0]]
    assert [words(turns) for turns in dialogues.words_bnl] == [["is red", "is blue", "is green"]] * 3
    assert dialogues.back_b.tolist() == [0, NOWHERE, NOWHERE]
    assert dialogues.recalled_bp.tolist() == [[False] * 4, [True, True, False, False], [False] * 4]
    assert words(dialogues.recall_bl) == ["", "first blue top second green", ""]  # five words are read
    assert bool(dialogues.seen_bp.all()) and bool(dialogues.captioned_bp.all())
    assert {*dialogues.drawn_b.tolist()} <= {0, 1}


def test_what_random_goes_back_to_hangs_on_the_transaction_alone() -> None:
    one = drawer()
    together = one.recorded(np.array([0, 1, 2, 0])).drawn_b.tolist()
    assert together == [int(one.recorded(np.array([row])).drawn_b) for row in (0, 1, 2, 0)]


def test_some_pictures_lose_their_caption_and_what_recalls_it_with_them() -> None:
    drawn = drawer().draw(preset(caption_dropout=0.25), np.ones(4000, np.int64), np.random.default_rng(0))
    assert drawn.captioned_bp.double().mean(dim=0).tolist() == pytest.approx([0.75] * 4, abs=0.03)
    known_b = drawn.captioned_bp[:, :2].all(dim=1)
    assert drawn.recall_bl.any(dim=1).tolist() == known_b.tolist()
    assert float(known_b.double().mean()) == pytest.approx(0.75**2, abs=0.03)


def test_some_dialogues_begin_with_a_description_but_none_that_looks_back_to_its_beginning() -> None:
    rows = np.repeat(np.arange(3), 1000)
    drawn = drawer().draw(preset(described=0.3), rows, np.random.default_rng(0))
    assert bool(drawn.seen_bp[:2000].all())
    described_b = ~drawn.seen_bp[2000:, 0]
    assert float(described_b.double().mean()) == pytest.approx(0.3, abs=0.05)
    assert {*words(drawn.words_bnl[2000:, 0][described_b])} == {"more red"}  # what the first wanted picture is like
    assert {*words(drawn.words_bnl[2000:, 0][~described_b])} == {"is red"}
    assert not bool(drawn.captioned_bp[2000:, 0][described_b].any())
    assert bool(drawn.seen_bp[:, 1:].all())


def test_some_modifications_are_said_in_short() -> None:
    drawn = drawer().draw(preset(clauses=0.4), np.zeros(2000, np.int64), np.random.default_rng(0))
    for turn, (long, short) in enumerate((("is red", "red"), ("is blue", "blue"), ("is green", "green"))):
        said = words(drawn.words_bnl[:, turn])
        assert {*said} == {long, short}
        assert said.count(short) / 2000 == pytest.approx(0.4, abs=0.05)


def test_nothing_is_drawn_where_nothing_is_to_be_drawn_and_the_same_by_the_same_seed() -> None:
    one = drawer()
    plain = one.draw(preset(), np.arange(3), np.random.default_rng(0))
    assert all((found == said).all() for found, said in zip(plain, one.recorded(np.arange(3)), strict=True))
    some = preset(caption_dropout=0.5, described=0.5, clauses=0.5)
    twice = [one.draw(some, np.arange(3), np.random.default_rng(5)) for _ in range(2)]
    assert all((first == second).all() for first, second in zip(*twice, strict=True))


def test_recall_names_the_pictures_and_needs_all_their_captions() -> None:
    one = TransactionTexts((3, 4, 5), ("", ""), ("", ""), recalled=(0, 1))
    captions = ("", "", "", "a red top", "a cap", "")
    assert recalled_captions(one, captions) == "FIRST: a red top SECOND: a cap"
    assert recalled_captions(TransactionTexts((3, 5), ("",), ("",), recalled=(0, 1)), captions) == ""
    assert recalled_captions(TransactionTexts((3, 4), ("",), ("",)), captions) == ""


def test_transactions_of_different_lengths_are_refused() -> None:
    said = (
        TransactionTexts((0, 1), ("is red",), ("red",)),
        TransactionTexts((0, 1, 0), ("is red", "is"), ("red", "is")),
    )
    with pytest.raises(BadInput, match="different numbers of turns"):
        DialogueSampler.of(
            TrainingTransactions(np.zeros((2, 2), np.float32), None, "raw", ("", ""), said), WordNumbers(WORDS, 5)
        )


def test_transactions_may_have_a_single_turn() -> None:
    one = TrainingTransactions(
        np.zeros((2, 2), np.float32), None, "raw", ("", ""), (TransactionTexts((0, 1), ("is red",), ("red",)),)
    )
    dialogues = DialogueSampler.of(one, WordNumbers(WORDS, 5)).recorded(np.array([0]))
    assert (dialogues.turns, dialogues.drawn_b.tolist()) == (1, [0])
