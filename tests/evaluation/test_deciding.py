"""Whether searches are shown pictures and questions answered in words, of a system that goes by the question mark."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.data.chatsearch import ChatSample, ChatTurn, ImageItem, TextItem, write_chatsearch
from viewfinder.data.dialogues import Round, make_dialogue, write_dialogues
from viewfinder.errors import BadInput
from viewfinder.evaluation import Plan, read_run
from viewfinder.evaluation.deciding import (
    BOTH,
    PICTURE_BIASES,
    Decision,
    count_decisions,
    measure_decisions,
    pick_picture_bias,
)
from viewfinder.evaluation.results import MeasuredRun, write_measured_run
from viewfinder.testing import ColourEncoder, tiny_pictures

SEARCHES, QUESTIONS = "searches shown pictures", "questions answered in words"


pytestmark = pytest.mark.usefixtures("seer")


@pytest.fixture(scope="module")
def dialogues(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four searches for testing, one of which sounds like a question, as many questions; and both for training.

    Of the searches for training the last is held out, by its picture's name.
    """
    tmp_path = tmp_path_factory.mktemp("talks")
    names = [f"images/{one.path.name}" for one in tiny_pictures(tmp_path / "images", 23)]
    said = ["red over blue", "is there a red one?", "a green one", "white"]
    for inner in ("chatsearch", "dialogues"):
        (tmp_path / inner).mkdir()

    def sample(at: int, text: str) -> ChatSample:
        shown = ChatTurn("assistant", (ImageItem(names[at - 1]),))
        turns = (ChatTurn("user", (TextItem("hello"),)), shown, ChatTurn("user", (TextItem(text),)))
        return ChatSample(f"m-{at}", "mChat", turns, names[at])

    write_chatsearch(tmp_path / "chatsearch" / "mChat_test.jsonl", [sample(at, text) for at, text in enumerate(said)])
    write_chatsearch(tmp_path / "chatsearch" / "mChat_train.jsonl", [sample(at, "a red one") for at in range(23)])
    asked = [make_dialogue(name, "", [Round("what is it?", "a kite")]) for name in names]
    write_dialogues(tmp_path / "dialogues" / "tiny_test.json", asked[:4])
    write_dialogues(tmp_path / "dialogues" / "tiny_val.json", asked[4:])
    return tmp_path


def decided(folder: Path, **plan: Any) -> MeasuredRun[Decision]:
    whole = Plan(system=plan.pop("system", "seer"), data=folder, features=folder / "vectors", **plan)
    return measure_decisions(whole, ColourEncoder(), folder / "run")


def means(measured: MeasuredRun[Decision]) -> dict[str, float]:
    return {figure.name.metric: figure.measure.interval.mean for figure in measured.run.tasks[0].figures}


def test_shares_are_of_each_kind_and_of_both_alike(dialogues: Path) -> None:
    found = decided(dialogues)
    assert means(found) == pytest.approx({SEARCHES: 3 / 4, QUESTIONS: 1.0, BOTH: 7 / 8})
    assert [one.answered for one in found.things if one.wants == "pictures"] == ["pictures", "words", *["pictures"] * 2]


def test_pictures_that_may_have_been_learnt_from_are_refused(dialogues: Path) -> None:
    with pytest.raises(BadInput, match="overlap: unknown, the weights came without a list of training pictures"):
        decided(dialogues, refuse_overlap=True)


@pytest.mark.parametrize(("leaning", "shares"), [(-3, (0.0, 1.0)), (3, (1.0, 0.0)), (1.9, (0.75, 1.0))])
def test_a_leaning_moves_the_shares(dialogues: Path, leaning: float, shares: tuple[float, float]) -> None:
    found = decided(dialogues, options={"leaning": leaning})
    assert (means(found)[SEARCHES], means(found)[QUESTIONS]) == shares
    assert f"leaning {leaning:g}" in found.run.tasks[0].figures[0].name.gallery


def test_a_leaning_is_chosen_on_what_is_held_out_of_training(dialogues: Path) -> None:
    told: list[str] = []
    plan = Plan(system="seer", data=dialogues, features=dialogues / "vectors", options={"leaning": "chosen"})
    found = measure_decisions(plan, ColourEncoder(), dialogues / "run", told.append)
    # Pictures from -2 on, questions in words below 2: the middle of what lies between.
    assert "leaning 0: on val 100% of searches, 100% of questions" in told
    assert means(found)[BOTH] == 7 / 8


def test_kinds_weigh_the_same_whatever_their_numbers() -> None:
    found = [Decision("a", "words", "words"), *(Decision(str(at), "pictures", "words") for at in range(3))]
    values = count_decisions(found)
    assert values[BOTH].mean() == 0.5
    np.testing.assert_array_equal(values[QUESTIONS], [1, np.nan, np.nan, np.nan])
    assert BOTH not in count_decisions(found[:1])


places = st.lists(st.integers(0, len(PICTURE_BIASES)), min_size=1, max_size=8)


@settings(max_examples=25, deadline=None)
@given(places, places)
def test_no_leaning_is_better_than_the_best(searches: list[int], questions: list[int]) -> None:
    def shares(at: int) -> tuple[float, float]:
        shown = sum(place <= at for place in searches) / len(searches)
        return shown, sum(place > at for place in questions) / len(questions)

    best = pick_picture_bias(searches, questions)
    at = PICTURE_BIASES.index(best.picture_bias)
    assert (best.searches, best.questions) == pytest.approx(shares(at))
    assert sum(shares(at)) >= max(sum(shares(other)) for other in range(len(PICTURE_BIASES))) - 1e-9


def test_of_equal_leanings_the_middle_one_is_best() -> None:
    assert pick_picture_bias([10], [20]).picture_bias == PICTURE_BIASES[15]  # right from 10 to 19
    assert pick_picture_bias([0], [len(PICTURE_BIASES)]).picture_bias == 0


def test_a_run_is_written_with_every_dialogue(dialogues: Path) -> None:
    lines = write_measured_run(decided(dialogues, limit=2)).read_text().splitlines()
    assert len(lines) == 4
    assert read_run(dialogues / "run").tasks[0].title == "decision, test"


def test_what_cannot_be_decided_is_said(dialogues: Path) -> None:
    with pytest.raises(BadInput, match="--manner leaning=much: a number is needed, or chosen"):
        decided(dialogues, options={"leaning": "much"})
    with pytest.raises(BadInput, match="no dialogues of 'dev' here"):
        decided(dialogues, split="dev")
    with pytest.raises(BadInput, match="random only finds pictures"):
        decided(dialogues, system="random")
    assert math.isfinite(min(PICTURE_BIASES))
