from __future__ import annotations

import pytest

from viewfinder.construction import ImageTextPair, SampleNotMade
from viewfinder.construction.written import ModelWriter
from viewfinder.errors import LanguageModelFailed
from viewfinder.testing import ScriptedModel

DOG, CAT = ImageTextPair("1.jpg", "A dog runs."), ImageTextPair("2.jpg", "A cat sits.")


def test_the_captions_are_what_the_model_is_asked_about() -> None:
    model = ScriptedModel(lambda prompt, seed: "Something calmer, please.")
    assert ModelWriter(model).instruction(DOG, CAT) == "Something calmer, please."
    [prompt] = model.prompts
    assert prompt.endswith("First picture: A dog runs.\nSecond picture: A cat sits.\nUser:")


def test_what_cannot_be_read_is_asked_once_more_with_other_examples() -> None:
    model = ScriptedModel(lambda prompt, seed: "Hm." if seed == 4 else "Something calmer, please.")
    assert ModelWriter(model, seed=4).instruction(DOG, CAT) == "Something calmer, please."
    first, second = model.prompts
    assert first != second


def test_after_two_tries_the_reason_is_said() -> None:
    model = ScriptedModel(lambda prompt, seed: "I do not know.")
    with pytest.raises(SampleNotMade, match="no dialogue of two rounds"):
        ModelWriter(model).dialogue(DOG)
    with pytest.raises(SampleNotMade, match="not a request, a caption and a change"):
        ModelWriter(model).two_rounds(DOG)
    assert len(model.prompts) == 4


def test_a_model_that_does_not_answer_is_asked_once() -> None:
    def broken(prompt: str, seed: int) -> str:
        raise LanguageModelFailed("scripted took longer than 60 s")

    model = ScriptedModel(broken)
    with pytest.raises(LanguageModelFailed, match="took longer"):
        ModelWriter(model).instruction(DOG, CAT)
    assert len(model.prompts) == 1


def test_the_same_picture_has_the_same_prompt_and_another_seed_another_one() -> None:
    model = ScriptedModel(lambda prompt, seed: "Something calmer, please.")
    for seed in (1, 1, 2):
        ModelWriter(model, seed=seed).instruction(DOG, CAT)
    assert model.prompts[0] == model.prompts[1] != model.prompts[2]
