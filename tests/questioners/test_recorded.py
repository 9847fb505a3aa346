from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from viewfinder.conversation import Answer, Like, Question, Say
from viewfinder.data.dialogues import read_dialogues
from viewfinder.errors import BadInput
from viewfinder.questioners.base import Candidates, Questioner
from viewfinder.questioners.pool import RecordedQuestioner, load_recorded

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
RELEASED = SHARED / "chatir" / "dialogues"

DOG = {"img": "1.jpg", "dialog": ["A dog on a  sofa", "is it big? no", "what colour is it? brown", "is it big? no"]}
CAT = {"img": "2.jpg", "dialog": ["a cat", "", "Is it the black cat no", "? yes"]}
VIEW = Candidates(np.array([0.5, 0.5]), np.eye(2, dtype=np.float32))


def saved(folder: Path, *dialogues: object, name: str = "talks.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(dialogues), encoding="utf-8")
    return folder / name


def replayed(questioner: RecordedQuestioner, first: str, answer: str = "don't know") -> list[str]:
    """What is asked until nothing is, whatever is answered."""
    view = replace(VIEW, turns=(Say(first),))
    asked: list[Question] = []
    while (question := questioner.ask(view)) is not None:
        asked.append(question)
        view = replace(view, asked=tuple(asked), turns=(*view.turns, Answer(question, answer)))
    return [question.text for question in asked]


def test_it_asks_what_was_asked_in_the_same_order(tmp_path: Path) -> None:
    questioner = load_recorded(str(saved(tmp_path, DOG, CAT)))
    assert isinstance(questioner, Questioner)
    expected = ["is it big?", "what colour is it?", "is it big?"]
    assert replayed(questioner, "a dog on a sofa") == expected
    assert replayed(questioner, "A DOG  on a sofa ", answer="blue, I think") == expected


def test_a_question_has_its_choices_and_says_where_it_is_from(tmp_path: Path) -> None:
    view = replace(VIEW, turns=(Say("a dog on a sofa"),))
    asked = load_recorded(str(saved(tmp_path, DOG))).ask(view)
    why = "question 1 of the 3 that were recorded for this description"
    assert asked == Question("is it big?", ("yes", "no", "don't know"), "recorded", why)


def test_rounds_without_a_question_mark_are_asked_and_empty_ones_are_not(tmp_path: Path) -> None:
    # "Is it the black cat no" is cut before the last word; "? yes" asks nothing that one could answer.
    assert replayed(load_recorded(str(saved(tmp_path, CAT))), "a cat") == ["Is it the black cat"]


def test_a_question_that_was_passed_over_is_not_asked_again(tmp_path: Path) -> None:
    questioner = load_recorded(str(saved(tmp_path, DOG)))
    view = replace(VIEW, turns=(Say("a dog on a sofa"),), asked=(Question("Is it  BIG?"),))
    found = questioner.ask(view)
    assert found is not None
    assert found.text == "what colour is it?"


def test_an_answer_in_a_script_counts_as_asked(tmp_path: Path) -> None:
    turns = (Say("a dog on a sofa"), Answer(Question("is it big?"), "no"))
    found = load_recorded(str(saved(tmp_path, DOG))).ask(replace(VIEW, turns=turns))
    assert found is not None
    assert found.text == "what colour is it?"


def test_what_nobody_recorded_is_not_asked_about(tmp_path: Path) -> None:
    questioner = load_recorded(str(saved(tmp_path, DOG)))
    assert questioner.ask(replace(VIEW, turns=(Say("a horse"),))) is None
    assert questioner.ask(replace(VIEW, turns=(Like("p1", "a dog on a sofa"),))) is None
    assert questioner.ask(VIEW) is None


def test_of_two_dialogues_with_one_caption_the_first_counts(tmp_path: Path) -> None:
    other = {"img": "3.jpg", "dialog": ["a dog on a sofa", "where is it? here"]}
    assert replayed(load_recorded(str(saved(tmp_path, DOG, other))), "a dog on a sofa")[0] == "is it big?"


def test_a_folder_is_all_its_dialogues_and_rewritten_ones_are_passed_over(tmp_path: Path) -> None:
    saved(tmp_path / "dialogues", DOG)
    saved(tmp_path / "dialogues", CAT, name="zzz.json")
    saved(tmp_path / "dialogues", {"img": "4.jpg", "dialog": ["a bird", "a red bird"]}, name="a_reconed.json")
    assert set(load_recorded(str(tmp_path)).questions) == {"a dog on a sofa", "a cat"}
    assert set(load_recorded(str(tmp_path / "dialogues")).questions) == {"a dog on a sofa", "a cat"}


def test_visdial_files_are_read_too(tmp_path: Path) -> None:
    dialogue = {
        "image_id": 7,
        "caption": "a bus",
        "dialog": [{"question": 0, "answer": 0}, {"question": 1, "answer": 0}],
    }
    data = {"questions": ["is it red", "is it full"], "answers": ["yes"], "dialogs": [dialogue]}
    file = tmp_path / "visdial_1.0_val.json"
    file.write_text(json.dumps({"data": data}), encoding="utf-8")
    assert replayed(load_recorded(str(file)), "a bus") == ["is it red?", "is it full?"]


def test_a_file_that_was_written_again_is_read_again(tmp_path: Path) -> None:
    import os

    file = saved(tmp_path, DOG)
    assert "a cat" not in load_recorded(str(file)).questions
    saved(tmp_path, CAT)
    os.utime(file, ns=(1, 1))
    assert "a cat" in load_recorded(str(file)).questions


def test_missing_and_damaged_sources_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nowhere: no such file or folder of dialogues"):
        load_recorded(str(tmp_path / "nowhere"))
    with pytest.raises(BadInput, match=r"no dialogues/\*.json here"):
        load_recorded(str(tmp_path))
    (tmp_path / "cut.json").write_text('[{"img": "1.jpg"', encoding="utf-8")
    with pytest.raises(BadInput, match=r"cut.json, line 1, column 17: damaged JSON"):
        load_recorded(str(tmp_path / "cut.json"))
    with pytest.raises(BadInput, match="no question in it"):
        load_recorded(str(saved(tmp_path, {"img": "1.jpg", "dialog": ["a dog"]}, name="caption.json")))


@pytest.mark.data
@pytest.mark.skipif(not RELEASED.is_dir(), reason="needs ../shared/data/chatir")
@pytest.mark.parametrize("name", ["Human_BLIP2", "FLAN_ALPACA_XXL_BLIP2", "Unanswered_ChatGPT_BLIP2"])
def test_a_released_dialogue_is_replayed_question_by_question(name: str) -> None:
    file = RELEASED / f"{name}.json"
    dialogues = read_dialogues(file)[0]
    questioner = load_recorded(str(file))
    for dialogue in dialogues[:5]:
        assert replayed(questioner, dialogue.caption) == [turn.question for turn in dialogue.rounds]
