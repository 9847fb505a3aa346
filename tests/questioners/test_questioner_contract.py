"""What every questioner must keep: `viewfinder.testing.check_questioner`, over every name there is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from viewfinder.conversation import Question, Say
from viewfinder.questioners import QUESTIONERS, Candidates, load_questioner
from viewfinder.testing import check_questioner

SILENT = "http://127.0.0.1:9/v1#none"
"""An endpoint where nobody listens: what stands in for a language model asks."""

RED_OR_BLUE = {"colour": (("red", "blue"), np.array([0, 1, 0, 1], np.int32))}
CANDIDATES = Candidates(
    np.full(4, 0.25), np.eye(4, dtype=np.float32), RED_OR_BLUE, said=("a dog",), turns=(Say("a dog"),)
)


@pytest.fixture
def source_of(tmp_path: Path) -> dict[str, str]:
    """What each questioner works with that needs something; a new one that does adds its line here."""
    dialogues = tmp_path / "dialogues.json"
    dialogues.write_text(json.dumps([{"img": "1.jpg", "dialog": ["a dog", "is it big? no", "is it brown? yes"]}]))
    return {"llm": SILENT, "plugir": SILENT, "unanswered": SILENT, "recorded": str(dialogues)}


@pytest.mark.parametrize("name", sorted(set(QUESTIONERS) - {"pool"}))  # `test_pool.py` has one with a pool in it
def test_every_questioner_keeps_the_contract(name: str, source_of: dict[str, str]) -> None:
    questioner = load_questioner(f"{name}={source_of[name]}" if name in source_of else name)
    assert questioner.name == name
    check_questioner(questioner, CANDIDATES)


def test_a_questioner_that_repeats_itself_is_noticed() -> None:
    class Parrot:
        name = "parrot"

        def ask(self, view: Candidates) -> Question | None:
            return Question("Is it red?", ("yes", "no"), by=self.name, why="it is all I know")

    with pytest.raises(AssertionError, match="asks the same twice"):
        check_questioner(Parrot(), CANDIDATES)


def test_a_question_that_does_not_say_who_asks_is_noticed() -> None:
    class Nameless:
        name = "nameless"

        def ask(self, view: Candidates) -> Question | None:
            return Question("Is it red?", ("yes", "no"))

    with pytest.raises(AssertionError, match="by whom and why"):
        check_questioner(Nameless(), CANDIDATES)
