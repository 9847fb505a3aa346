"""The questioner that asks what people would ask next: a selector made by hand over five questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from jaxtyping import Float

from tests.stand_ins import NothingKnown
from viewfinder.conversation import Answer, Question, Say, Turn
from viewfinder.errors import EncoderMismatch
from viewfinder.questioners.base import Candidates, Questioner
from viewfinder.questioners.pool import REPEAT_SUFFIX, PoolQuestioner, dialogue_vectors
from viewfinder.questioners.trained import PoolQuestion, QuestionSelector, TrainedQuestions
from viewfinder.weights import Card
from viewfinder.wording.mentions import required_mentions
from viewfinder.wording.questions import question_meaning

TEXTS = ("is it dark?", "are there any dogs?", "is there a dog?", "what colour is the dog?", "is it big?")
WORDS = ("beach", "dog", "dark", "know")


def question(q: int) -> PoolQuestion:
    first = next(at for at, text in enumerate(TEXTS) if question_meaning(text) == question_meaning(TEXTS[q]))
    colour = "colour" in TEXTS[q]
    answers = ("black", "blackish", "white") if colour else ("no", "yes")
    return PoolQuestion(TEXTS[q], answers, 0.2, 1.0, colour, 0.0, 0.0, first, required_mentions(TEXTS[q]))


def selector() -> QuestionSelector:
    """By frequency in the order of `TEXTS`; but where the caption says "beach", the dogs come first."""
    dogs_qk = np.array([[0], [10], [10], [10], [0]], np.float32)
    return QuestionSelector(
        caption_hs=np.array([[1, 0, 0, 0]], np.float32),
        round_ht=np.zeros((1, 8), np.float32),
        round_h=np.zeros(1, np.float32),
        last_ht=np.zeros((1, 8), np.float32),
        count_nh=np.zeros((11, 1), np.float32),
        talk_kh=np.ones((1, 1), np.float32),
        talk_k=np.zeros(1, np.float32),
        pool_qk=dogs_qk,
        bias_q=np.log(np.array([5, 4, 3, 2, 6], np.float32)),
    )


TRAINED = TrainedQuestions(
    questions=tuple(map(question, range(len(TEXTS)))),
    sentences_version="words-1",
    card=Card(system="questions", preset="", encoder=""),
    selector=selector(),
)


@dataclass(frozen=True)
class Words(NothingKnown):
    """Sentence vectors that count four words."""

    sentences_version: str = "words-1"

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        return np.array([[float(word in text) for word in WORDS] for text in texts], np.float32).reshape(-1, len(WORDS))


def view(*turns: Turn) -> Candidates:
    said = tuple(turn.text for turn in turns if isinstance(turn, Say | Answer))
    asked = tuple(turn.question for turn in turns if isinstance(turn, Answer))
    return Candidates(np.full(2, 0.5), np.ones((2, 1)), said=said, asked=asked, turns=turns, lookup=Words())


def asked(pool: PoolQuestioner, *turns: Turn) -> str | None:
    found = pool.ask(view(*turns))
    return None if found is None else found.text


def test_it_is_a_questioner() -> None:
    assert isinstance(PoolQuestioner(TRAINED), Questioner)


def test_the_likeliest_question_that_needs_nothing_unsaid_is_asked() -> None:
    # "is it big?" is the most frequent of all, but "it" could be anything.
    assert asked(PoolQuestioner(TRAINED), Say("a house")) == "is it dark?"
    assert asked(PoolQuestioner(TRAINED), Say("on the beach")) == "are there any dogs?"


def test_a_thing_can_be_asked_about_once_it_was_mentioned() -> None:
    heard = Answer(Question("are there any dogs?"), "yes, one")
    assert asked(PoolQuestioner(TRAINED), Say("on the beach"), heard) == "what colour is the dog?"
    denied = Answer(Question("are there any dogs?"), "no")
    assert asked(PoolQuestioner(TRAINED), Say("on the beach"), denied) == "is it dark?"


def test_nothing_is_asked_twice_in_whatever_words_and_in_the_end_nothing_at_all() -> None:
    pool, turns = PoolQuestioner(TRAINED), list[Turn]([Say("a house")])
    texts = []
    while (found := pool.ask(view(*turns))) is not None:
        texts.append(found.text)
        turns.append(Answer(found, "no"))
    assert texts == ["is it dark?", "are there any dogs?"]  # "is there a dog?" asks the same


def test_with_leave_to_repeat_the_selector_has_its_way() -> None:
    free = PoolQuestioner(TRAINED, may_repeat=True)
    first = free.ask(view(Say("a house")))
    assert first is not None and first.text == "is it big?"
    assert asked(free, Say("a house"), Answer(first, "no")) == "is it big?"
    assert "pool.safetensors?repeat".removesuffix(REPEAT_SUFFIX) == "pool.safetensors"


def test_choices_are_the_known_answers_or_what_the_words_leave_open() -> None:
    known = PoolQuestioner(TRAINED).ask(view(Say("a house")))
    assert known is not None
    assert known.choices == ("yes", "no", "don't know") and known.by == "pool" and "people" in known.why
    colour = PoolQuestioner(TRAINED).ask(view(Say("a dog on the beach")))
    assert colour is not None
    assert (colour.text, colour.choices) == ("what colour is the dog?", ("black", "white", "don't know"))


def test_another_encoder_is_refused_in_one_line() -> None:
    other = replace(view(Say("a house")), lookup=Words("words-2"))
    with pytest.raises(EncoderMismatch, match="'words-1', not 'words-2'"):
        PoolQuestioner(TRAINED).ask(other)


def test_a_dialogue_is_its_caption_and_its_rounds() -> None:
    turns = (Say("a beach"), Answer(Question("Any dogs?"), "no idea"), Say("it is dark"))
    caption_s, questions_rs, answers_rs = dialogue_vectors(turns, Words())
    assert caption_s.tolist() == [1, 0, 0, 0]
    assert questions_rs.tolist() == [[0, 1, 0, 0], [0, 0, 0, 0]]
    assert answers_rs.tolist() == [[0, 0, 0, 1], [0, 0, 1, 0]]  # "no idea" is read as "don't know"


def test_before_anything_is_said_there_is_no_caption() -> None:
    caption_s, questions_rs, answers_rs = dialogue_vectors((), Words())
    assert not caption_s.any() and questions_rs.shape == answers_rs.shape == (0, 4)
    assert asked(PoolQuestioner(TRAINED)) == "is it dark?"
