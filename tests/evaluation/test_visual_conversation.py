"""Questions about pictures, asked of a system that sees which colour is on top and says nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewfinder.conversation import Answer, Like, Question, Say
from viewfinder.data.dialogues import Dialogue, Round, make_dialogue, write_dialogues
from viewfinder.data.files import write_json
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation import Plan, compare_runs, read_run
from viewfinder.evaluation.results import MeasuredRun, write_measured_run
from viewfinder.evaluation.visual_conversation import (
    VisualQuestion,
    add_majorities,
    answer_questions,
    make_question_turns,
    measure_accuracy,
    read_question_dialogues,
)
from viewfinder.testing import ColourEncoder, tiny_pictures


def about(name: str, top: str) -> Dialogue:
    return make_dialogue(
        name, "two colours", [Round("what colour is the top?", f"it is {top}"), Round("is it dark?", "no")]
    )


pytestmark = pytest.mark.usefixtures("seer")


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six pictures asked about, one of which is red on top, and three dialogues for training; another file has none."""
    folder = tmp_path_factory.mktemp("asked")
    pictures = tiny_pictures(folder / "images", 6)
    home = folder / "dialogues"
    home.mkdir()
    for name in ("tiny", "untaught"):
        write_dialogues(home / f"{name}_test.json", [about(f"images/{one.path.name}", one.top) for one in pictures])
    write_dialogues(home / "tiny_train.json", [about("images/x.png", top) for top in ("red", "blue", "blue")])
    return folder


def answered(folder: Path, system: str = "seer", **plan: Any) -> MeasuredRun[VisualQuestion]:
    whole = Plan(system=system, data=folder, features=folder / "vectors", **({"task": "tiny"} | plan))
    return answer_questions(whole, ColourEncoder(), folder / "run")


def means(measured: MeasuredRun[VisualQuestion]) -> dict[str, float]:
    return {figure.name.metric: figure.measure.interval.mean for figure in measured.run.tasks[0].figures}


def test_a_system_that_sees_colours_is_right_where_colours_are_asked(asked: Path) -> None:
    found = means(answered(asked))
    assert found["accuracy: colour"] == 1
    assert found["accuracy"] == 0.5  # it never says yes or no
    assert found["text only: colour"] == pytest.approx(1 / 6)  # without the picture it says red
    assert found["above text only"] == pytest.approx((1 - 1 / 6) / 2)


def test_pictures_that_may_have_been_learnt_from_are_refused(asked: Path) -> None:
    with pytest.raises(BadInput, match="overlap: unknown, the weights came without a list of training pictures"):
        answered(asked, refuse_overlap=True)


def test_majorities_are_those_of_the_training_split(asked: Path) -> None:
    found = answered(asked)
    assert {one.majority for one in found.things} == {"no"}  # three times, blue twice, red once
    assert {one.by_kind for one in found.things if one.kind == "colour"} == {"blue"}
    tops = [one.answer for one in found.things if one.question.startswith("what")]
    assert means(found)["majority by kind: colour"] == pytest.approx(tops.count("it is blue") / 6)


def test_without_training_there_is_no_majority(asked: Path) -> None:
    assert {"majority", "above majority"}.isdisjoint(means(answered(asked, task="untaught")))


def test_a_value_is_the_mean_over_a_pictures_questions() -> None:
    def one(picture: str, kind: str, said: str) -> VisualQuestion:
        return VisualQuestion(picture, "?", kind, "yes", said, blind="no")

    values = measure_accuracy([one("a", "light", "yes"), one("a", "size", "no"), one("b", "light", "yes")])
    np.testing.assert_array_equal(values["accuracy"], [0.5, 1.0])
    np.testing.assert_array_equal(values["text only"], [0.0, 0.0])
    np.testing.assert_array_equal(values["above text only"], [0.5, 1.0])
    np.testing.assert_array_equal(values["accuracy: light"], [1.0, 1.0])
    np.testing.assert_array_equal(values["accuracy: size"], [0.0, np.nan])


def test_a_kind_that_was_not_asked_in_training_has_the_answer_of_all() -> None:
    rounds = [Round("is it dark?", "no"), Round("is it dark?", "no, by day"), Round("how big is it?", "2")]
    [dark, big, new] = add_majorities(
        [VisualQuestion("p", "?", kind, "no") for kind in ("light", "size", "facing")], [make_dialogue("a", "", rounds)]
    )
    assert (dark.by_kind, big.by_kind, new.by_kind) == ("no", "2", "no")
    assert {one.majority for one in (dark, big, new)} == {"no"}


def test_history_is_said_with_the_answers_of_the_data() -> None:
    rounds = (Round("what is it?", "a kite"), Round("is it red?", ""))
    answer = Answer(Question("a kite", by="recorded"), "is it red?")
    assert make_question_turns(rounds, "p") == (Like("p", "what is it?"), answer)
    assert make_question_turns(rounds, None) == (Say("what is it?"), answer)


def test_with_history_the_picture_is_seen_all_the_same(asked: Path) -> None:
    found = answered(asked, options={"history": 1})
    assert means(found)["accuracy: colour"] == 1
    assert found.run.provenance.options["history"] == "1"


def test_a_run_is_written_with_every_question_and_compared(asked: Path) -> None:
    found = answered(asked, limit=3)
    lines = [json.loads(line) for line in write_measured_run(found).read_text().splitlines()]
    assert len(lines) == 6 and lines[0]["said"].startswith("It is ")
    run = read_run(asked / "run")
    assert run.tasks[0].title == "visual, tiny, test" and len(run.tasks[0].dialogue_ids) == 3
    rows = {row.metric: row for row in compare_runs([run, run])}
    assert rows["accuracy"].first == 0.5 and rows["accuracy"].others[0].difference.mean == 0


def test_visdials_own_form_serves_as_well(tmp_path: Path) -> None:
    record = {"image_id": 7, "caption": "c", "dialog": [{"question": 0, "answer": 0}, {"question": 0}]}
    data = {"questions": ["is it red"], "answers": ["yes"], "dialogs": [record]}
    (tmp_path / "visdial").mkdir()
    write_json(tmp_path / "visdial" / "visdial_1.0_test.json", {"data": data})
    [dialogue] = read_question_dialogues(tmp_path, "test")["visdial"]
    assert dialogue.rounds == (Round("is it red?", "yes"),)  # the newest question has no answer


def test_what_cannot_be_asked_is_said(asked: Path) -> None:
    with pytest.raises(BadInput, match="clip-t only finds pictures; name a system that answers"):
        answered(asked, system="clip-t")
    with pytest.raises(UnknownName, match=r"no dialogues/\*_dev.json with questions here"):
        answered(asked, split="dev")
    with pytest.raises(UnknownName, match="visual has no manner 'noise'; there are: history"):
        answered(asked, options={"noise": 1})
    with pytest.raises(UnknownName, match="no task has 'dress' in its title; there are: visual, tiny, test; visual"):
        answered(asked, task="dress")
