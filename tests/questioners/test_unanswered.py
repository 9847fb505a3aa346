from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from jaxtyping import Float

from tests.stand_ins import NothingKnown, ScriptedModel
from viewfinder.conversation import Answer, Question, Say, Show, Turn
from viewfinder.errors import BadInput, EncoderMismatch, LanguageModelFailed
from viewfinder.questioners.base import Candidates, Lookup
from viewfinder.questioners.llm import (
    ListedQuestions,
    UnansweredQuestioner,
    load_unanswered,
    select_new_questions,
)
from viewfinder.questioners.pool import PooledQuestions
from viewfinder.questioners.trained import PoolQuestion, QuestionSelector, TrainedQuestions
from viewfinder.weights import Card

THINGS = "snow rain fog water sand grass ice mud fire smoke"
TEN = tuple(f"Is there {thing}?" for thing in THINGS.split())


@dataclass(frozen=True)
class Listed:
    """A source of these questions, whatever the caption."""

    listed: tuple[str, ...]
    name: str = "listed"
    captions: list[str] = field(default_factory=list)

    def questions(self, caption: str, lookup: Lookup | None) -> Iterable[str]:
        self.captions.append(caption)
        return self.listed


def asking(source: Listed) -> UnansweredQuestioner:
    return UnansweredQuestioner(cast(ListedQuestions, source))


def view(*rounds: tuple[str, str], said: str = "a dog", lookup: Lookup | None = None) -> Candidates:
    answers: list[Turn] = [Answer(Question(text), answer) for text, answer in rounds]
    return Candidates(
        np.array([0.5, 0.5]),
        np.zeros((2, 3)),
        said=(said, *(answer for _, answer in rounds)),
        asked=tuple(Question(text) for text, _ in rounds),
        turns=(Say(said), *answers),
        lookup=lookup,
    )


def dialogue(questioner: UnansweredQuestioner, answer: str) -> list[str]:
    rounds: list[tuple[str, str]] = []
    while (question := questioner.ask(view(*rounds))) is not None:
        rounds.append((question.text, answer))
    return [text for text, _ in rounds]


def test_ten_questions_are_asked_in_their_order_whatever_is_answered() -> None:
    source = Listed((*TEN, "Is there one more?"))
    assert dialogue(asking(source), "no") == list(TEN)
    assert dialogue(asking(source), "yes, and it is wet") == list(TEN)


def test_a_question_says_its_place_and_whose_it_is() -> None:
    question = asking(Listed(TEN)).ask(view((TEN[0], "no")))
    assert question is not None and (question.by, question.choices) == ("unanswered", ("yes", "no", "don't know"))
    assert question.why == "question 2 of 10 that listed had after the first turn"


def test_a_question_that_another_asked_in_between_changes_nothing() -> None:
    question = asking(Listed(TEN)).ask(view((TEN[0], "no"), ("How old is it?", "two")))
    assert question is not None and question.text == TEN[1]


def test_a_caption_has_its_questions_once_and_the_oldest_are_forgotten() -> None:
    source = Listed(TEN)
    questioner = asking(source)
    for n in (0, 0, 1, 0):
        questioner.ask(view(said=f"dog {n}"))
    assert source.captions == ["dog 0", "dog 1"]
    questioner._listed.limit(1)  # keeps what was used last
    for n in (0, 1):
        questioner.ask(view(said=f"dog {n}"))
    assert source.captions == ["dog 0", "dog 1", "dog 1"]


def test_what_the_caption_says_and_what_was_listed_before_is_left_out() -> None:
    listed = ("Is there a dog?", "Is it wet?", "is it wet?", "What colour is the dog?")
    assert select_new_questions(listed, "a black dog") == ("Is it wet?",)


def test_without_words_or_without_questions_there_is_nothing_to_ask() -> None:
    pictured = Candidates(np.array([1.0]), np.zeros((1, 3)), turns=(Show("my.jpg"), Say("a dog")))
    assert asking(Listed(TEN)).ask(pictured) is None
    with pytest.raises(LanguageModelFailed, match=r"^listed had no question after the first turn$"):
        asking(Listed(("Is there a dog?",))).ask(view())


def writes(*texts: str) -> ScriptedModel:
    """A language model that writes these texts down, one after the other, then fails."""
    left = iter(texts)

    def reply(prompt: str, seed: int) -> str:
        for text in left:
            return text
        raise LanguageModelFailed("writes took longer than 1 s")

    return ScriptedModel(reply, "writes")


def test_a_language_model_lists_them_all_in_one_text() -> None:
    model = writes("\n".join(f"{n}. {text}" for n, text in enumerate(TEN, start=1)).removeprefix("1."))
    assert dialogue(UnansweredQuestioner(ListedQuestions(model)), "no") == list(TEN)
    assert len(model.prompts) == 1 and model.prompts[0].endswith("Photograph: a dog\n1.")


def test_a_list_that_repeats_itself_is_gone_on_with() -> None:
    first = "Is it a well-fed dog, or a thin one?\n2. Where is it?\n3. A dog.\n4. where is it?"
    model = writes(first, "Where is it?\n4. Is it old?")
    assert dialogue(UnansweredQuestioner(ListedQuestions(model)), "no") == [
        "Is it a well-fed dog, or a thin one?",
        "Where is it?",
        "Is it old?",
    ]
    assert len(model.prompts) == 3 and model.prompts[1].endswith("one?\n2. Where is it?\n3.")


def test_a_model_that_lists_nothing_in_time_has_failed() -> None:
    with pytest.raises(LanguageModelFailed, match="writes took longer than 1 s"):
        UnansweredQuestioner(ListedQuestions(writes())).ask(view())


@dataclass(frozen=True)
class Sentences(NothingKnown):
    """Sentence vectors of two numbers: how many dogs and how many cats are named."""

    sentences_version: str = "counts-1"

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        return np.array([[text.count("dog"), text.count("cat")] for text in texts], np.float32)


def pool() -> TrainedQuestions:
    """After a dog people ask the first two (which mean the same), after a cat the third; the last needs a house."""
    texts = ("Is there a leash?", "Do you see a leash?", "Is there a sofa?", "Is the house red?")
    questions = tuple(
        PoolQuestion(text, (), 0.25, 1.0, False, 0.0, 0.0, meaning=max(n - 1, 0), needs=("hous",) if n == 3 else ())
        for n, text in enumerate(texts)
    )
    likes = np.array([[2, 0], [3, 0], [1, 4], [9, 9]], np.float32)
    selector = QuestionSelector(
        caption_hs=np.eye(2, dtype=np.float32),
        round_ht=np.zeros((2, 4), np.float32),
        round_h=np.zeros(2, np.float32),
        last_ht=np.zeros((2, 4), np.float32),
        count_nh=np.zeros((11, 2), np.float32),
        talk_kh=np.eye(2, dtype=np.float32),
        talk_k=np.zeros(2, np.float32),
        pool_qk=likes,
        bias_q=np.zeros(4, np.float32),
    )
    return TrainedQuestions(questions, "counts-1", Card(system="questions", preset="", encoder=""), selector)


def selected(said: str, lookup: Lookup | None) -> list[str]:
    return list(PooledQuestions(pool(), "photos").questions(said, lookup))


def test_of_trained_questions_the_likeliest_after_the_caption_are_taken_one_a_meaning() -> None:
    assert selected("a dog", Sentences()) == ["Do you see a leash?", "Is there a sofa?"]
    assert selected("a cat", Sentences()) == ["Is there a sofa?", "Is there a leash?"]
    assert selected("a cat and a house", Sentences())[0] == "Is the house red?"


def test_trained_questions_need_the_sentence_vectors_they_were_trained_with() -> None:
    with pytest.raises(EncoderMismatch):
        selected("a dog", Sentences("others-1"))
    with pytest.raises(BadInput, match="photos needs sentence vectors"):
        selected("a dog", None)


def test_the_source_is_a_file_of_trained_questions_or_a_language_model(tmp_path: Path) -> None:
    assert load_unanswered("http://localhost:1/v1#tiny").source.name == "tiny"
    with pytest.raises(BadInput):
        load_unanswered(str(tmp_path / "questions.safetensors"))
