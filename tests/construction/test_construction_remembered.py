from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.stand_ins import ScriptedModel
from viewfinder.construction.remembered import AnswerJournal, JournalledModel
from viewfinder.errors import BadInput, LanguageModelFailed


def test_the_same_is_asked_once_also_by_another_process(tmp_path: Path) -> None:
    model = ScriptedModel(lambda prompt, seed: f"{prompt} {seed}")
    for _ in range(2):
        journal = AnswerJournal.read(tmp_path / "journal.jsonl")
        remembered = JournalledModel(model, journal)
        assert [remembered.complete("say", seed=seed) for seed in (1, 2, 1)] == ["say 1", "say 2", "say 1"]
    assert model.prompts == ["say", "say"]
    assert journal.asked == 0


@pytest.mark.parametrize("option", [{"temperature": 0.5}, {"seed": 9}, {"most_tokens": 4}, {"stop": ("a", "b")}])
def test_whatever_changes_an_answer_is_another_question(tmp_path: Path, option: dict[str, object]) -> None:
    model = ScriptedModel(lambda prompt, seed: "well")
    remembered = JournalledModel(model, AnswerJournal.read(tmp_path / "journal.jsonl"))
    complete = remembered.complete
    complete("say")
    match option:
        case {"temperature": float(value)}:
            complete("say", temperature=value)
        case {"seed": int(value)}:
            complete("say", seed=value)
        case {"most_tokens": int(value)}:
            complete("say", most_tokens=value)
        case _:
            complete("say", stop=("a", "b"))
    assert len(model.prompts) == 2


def test_how_long_one_waits_is_no_other_question(tmp_path: Path) -> None:
    model = ScriptedModel(lambda prompt, seed: "well")
    remembered = JournalledModel(model, AnswerJournal.read(tmp_path / "journal.jsonl"))
    assert remembered.complete("say", seconds=1.0) == remembered.complete("say", seconds=2.0)
    assert len(model.prompts) == 1


def test_a_failure_is_not_remembered(tmp_path: Path) -> None:
    def once(prompt: str, seed: int) -> str:
        if len(model.prompts) == 1:
            raise LanguageModelFailed("scripted cannot be reached")
        return "well"

    model = ScriptedModel(once)
    remembered = JournalledModel(model, AnswerJournal.read(tmp_path / "journal.jsonl"))
    with pytest.raises(LanguageModelFailed):
        remembered.complete("say")
    assert remembered.complete("say") == "well"


@pytest.mark.parametrize("cut", [2, 10, 40])
def test_a_line_cut_short_is_asked_again_and_no_other(tmp_path: Path, cut: int) -> None:
    file = tmp_path / "journal.jsonl"
    for prompt in ("one", "two"):
        JournalledModel(ScriptedModel(lambda prompt, seed: prompt), AnswerJournal.read(file)).complete(prompt)
    file.write_bytes(file.read_bytes()[:-cut])
    model = ScriptedModel(lambda prompt, seed: prompt.upper())
    remembered = JournalledModel(model, AnswerJournal.read(file))
    assert [remembered.complete(prompt) for prompt in ("one", "two")] == ["one", "TWO"]
    assert len(file.read_text().splitlines()) == 2


def test_a_whole_answer_whose_line_does_not_end_is_not_asked_again(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    file.write_text('{"key": "a", "by": "b", "text": "c"}')
    journal = AnswerJournal.read(file)
    assert journal.answer("a", "b", lambda: "new") == "c"
    assert [journal.answer("d", "b", lambda: "e"), AnswerJournal.read(file).answers] == ["e", {"a": "c", "d": "e"}]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    file.write_text('{"key": "a", "text": "b"}\nnonsense\n')
    with pytest.raises(BadInput, match=r"journal\.jsonl, line 2: damaged; take the line out"):
        AnswerJournal.read(file)


def test_who_wants_the_same_at_the_same_time_waits_for_it(tmp_path: Path) -> None:
    begun = threading.Barrier(4, timeout=120)
    asked: list[str] = []

    def ask() -> str:
        asked.append("once")
        time.sleep(0.05)
        return "well"

    journal = AnswerJournal.read(tmp_path / "journal.jsonl")

    def wanted(_: int) -> str:
        begun.wait()
        return journal.answer("key", "somebody", ask)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(wanted, range(4))) == ["well"] * 4
    assert asked == ["once"]
