from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from viewfinder.conversation import Say
from viewfinder.errors import BadInput, UnknownName
from viewfinder.questioners import Candidates, Questioner, load_questioner

RED_OR_BLUE = {"colour": (("red", "blue"), np.array([0, 1], np.int32))}
VIEW = Candidates(np.array([0.5, 0.5]), np.eye(2, dtype=np.float32), RED_OR_BLUE)
NOWHERE = "http://127.0.0.1:9/v1#none"
"""An endpoint where nobody listens."""


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIEWFINDER_LANGUAGE_MODEL", raising=False)
    monkeypatch.delenv("VIEWFINDER_QUESTIONS", raising=False)


@pytest.fixture
def dialogues(tmp_path: Path) -> Path:
    file = tmp_path / "talks.json"
    file.write_text(json.dumps([{"img": "1.jpg", "dialog": ["a dog", "is it big? no"]}]), encoding="utf-8")
    return file


@pytest.mark.parametrize("name", ["information_gain", "none"])
def test_each_questioner_that_needs_nothing_keeps_the_contract(name: str) -> None:
    questioner = load_questioner(name)
    assert isinstance(questioner, Questioner)
    assert questioner.name == name
    first, second = questioner.ask(VIEW), questioner.ask(VIEW)
    assert first == second
    assert first is None or first.by == name


@pytest.mark.parametrize("name", ["llm", "plugir", "unanswered"])
def test_each_questioner_of_a_language_model_answers_to_its_name(name: str) -> None:
    questioner = load_questioner(f"{name}={NOWHERE}")
    assert isinstance(questioner, Questioner)
    assert questioner.name == name


@pytest.mark.parametrize("name", ["llm", "plugir", "unanswered"])
def test_a_model_that_cannot_be_reached_is_stood_in_for_and_it_is_said(name: str) -> None:
    found = load_questioner(f"{name}={NOWHERE}").ask(replace(VIEW, turns=(Say("a shirt"),)))
    assert found is not None
    assert (found.by, found.attribute) == ("information_gain", "colour")
    assert found.why.startswith(f"{name} failed (")
    assert "asked by information_gain instead; " in found.why


def test_a_language_model_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIEWFINDER_LANGUAGE_MODEL", NOWHERE)
    assert load_questioner("plugir").name == "plugir"


@pytest.mark.parametrize("name", ["llm", "plugir", "unanswered"])
def test_a_language_model_that_is_not_named_is_asked_for(name: str) -> None:
    with pytest.raises(BadInput, match=rf"{name} \({name}=SOURCE\): no language model is named: give http"):
        load_questioner(name)


def test_trained_questions_that_are_not_named_are_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="pool needs trained questions: pool=FILE, which `viewfinder train questions`"):
        load_questioner("pool")
    monkeypatch.setenv("VIEWFINDER_QUESTIONS", str(tmp_path / "mine.safetensors"))
    with pytest.raises(BadInput, match=r"mine\.safetensors"):
        load_questioner("pool")
    with pytest.raises(BadInput, match=r"mine\.safetensors"):
        load_questioner("unanswered")


def test_dialogues_that_are_not_named_are_asked_for(dialogues: Path) -> None:
    with pytest.raises(BadInput, match="recorded needs dialogues: recorded=FILE or recorded=FOLDER"):
        load_questioner("recorded")
    found = load_questioner(f"recorded={dialogues}").ask(replace(VIEW, turns=(Say("a dog"),)))
    assert found is not None
    assert (found.text, found.by) == ("is it big?", "recorded")


def test_none_asks_nothing_where_information_gain_asks() -> None:
    assert load_questioner("none").ask(VIEW) is None
    assert load_questioner(None).ask(VIEW) is None
    assert load_questioner("information_gain").ask(VIEW) is not None


def test_none_needs_no_source() -> None:
    with pytest.raises(BadInput, match="none=x: the questioner none asks nothing"):
        load_questioner("none=x")


def test_a_source_may_hold_an_equals_sign(tmp_path: Path, dialogues: Path) -> None:
    renamed = dialogues.rename(tmp_path / "a=b.json")
    assert load_questioner(f"recorded={renamed}").name == "recorded"


def test_a_typo_is_answered_with_the_names() -> None:
    with pytest.raises(UnknownName, match=r"'informationgain'; there are: information_gain, llm, none, plugir, pool"):
        load_questioner("informationgain")
