from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stand_ins import ScriptedModel
from viewfinder.construction.pipelines import ImageTextPair, SampleNotMade, TwoRounds
from viewfinder.construction.written import (
    DIALOGUE,
    INSTRUCTION,
    TWO_ROUNDS,
    ModelWriter,
    Task,
    parse_dialogue,
    parse_instruction,
    parse_two_rounds,
    split_labelled_lines,
)
from viewfinder.data.chatsearch import ChatTurn, TextItem
from viewfinder.errors import LanguageModelFailed

DOG, CAT = ImageTextPair("1.jpg", "A dog runs."), ImageTextPair("2.jpg", "A cat sits.")


def test_the_captions_are_what_the_model_is_asked_about() -> None:
    model = ScriptedModel(lambda prompt, seed: "Something calmer, please.")
    assert ModelWriter(model).write_instruction(DOG, CAT) == "Something calmer, please."
    [prompt] = model.prompts
    assert prompt.endswith("First picture: A dog runs.\nSecond picture: A cat sits.\nUser:")


def test_what_cannot_be_read_is_asked_once_more_with_other_examples() -> None:
    model = ScriptedModel(lambda prompt, seed: "Hm." if seed == 4 else "Something calmer, please.")
    assert ModelWriter(model, seed=4).write_instruction(DOG, CAT) == "Something calmer, please."
    first, second = model.prompts
    assert first != second


def test_after_two_tries_the_reason_is_said() -> None:
    model = ScriptedModel(lambda prompt, seed: "I do not know.")
    with pytest.raises(SampleNotMade, match="no dialogue of two rounds"):
        ModelWriter(model).write_dialogue(DOG)
    with pytest.raises(SampleNotMade, match="not a request, a caption and a change"):
        ModelWriter(model).write_two_rounds(DOG)
    assert len(model.prompts) == 4


def test_a_model_that_does_not_answer_is_asked_once() -> None:
    def broken(prompt: str, seed: int) -> str:
        raise LanguageModelFailed("scripted took longer than 60 s")

    model = ScriptedModel(broken)
    with pytest.raises(LanguageModelFailed, match="took longer"):
        ModelWriter(model).write_instruction(DOG, CAT)
    assert len(model.prompts) == 1


def test_the_same_picture_has_the_same_prompt_and_another_seed_another_one() -> None:
    model = ScriptedModel(lambda prompt, seed: "Something calmer, please.")
    for seed in (1, 1, 2):
        ModelWriter(model, seed=seed).write_instruction(DOG, CAT)
    assert model.prompts[0] == model.prompts[1] != model.prompts[2]


CAPTION = "A brown dog runs."


def texts(turns: tuple[ChatTurn, ...]) -> list[tuple[str, str]]:
    return [(turn.role, item.text) for turn in turns for item in turn.content if isinstance(item, TextItem)]


@pytest.mark.parametrize(
    "written",
    [
        "We had a pet.\nAssistant: Which one?\nUser: It barked. Show me.",
        "User: We had a pet.\n\nAssistant: Which one?\n\nUser: It barked. Show me.\n\nPicture: A cat.\nUser: Meow you.",
        '**User:** "We had a pet."\n**Assistant:** Which one?\n**User**: It barked.\nShow me.\nAssistant: Here.',
        "1. user: We had a pet.\n2. assistant: Which one?\n3. user: It barked. Show me.",
        "- User: We had a pet.\n- ASSISTANT: Which one?\n- User: It barked. Show me.",
    ],
)
def test_a_dialogue_is_read_however_it_is_written(written: str) -> None:
    expected = [("user", "We had a pet."), ("assistant", "Which one?"), ("user", "It barked. Show me.")]
    assert texts(parse_dialogue(written, (CAPTION,), ())) == expected


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("We had a pet.", "no dialogue of two rounds"),
        ("We had a pet.\nUser: It barked.", "the two sides do not take turns"),
        ("Assistant: Hello there.\nUser: A pet.\nAssistant: Yes?\nUser: It barked.", "the two sides do not take turns"),
        ("A brown dog, runs!\nAssistant: Which one?\nUser: That one.", "a caption is quoted as it is"),
        ("We had a pet.\nAssistant: Which one?\nUser: We had a pet.", "a line is said twice"),
        ("We had a pet.\nAssistant: Which one?\nUser: Dog.", "a line of one word"),
        (f"We had a pet.\nAssistant: Which one?\nUser: It {'b' * 300}.", "a line of more than 300 characters"),
        ("We had a pet.\nAssistant: Which one?\nUser: It barked.", "an example was repeated"),
    ],
)
def test_what_is_no_dialogue_is_refused_with_its_reason(written: str, reason: str) -> None:
    with pytest.raises(SampleNotMade) as caught:
        parse_dialogue(written, (CAPTION,), {"it barked."})
    assert str(caught.value) == reason


def test_an_instruction_is_the_first_line() -> None:
    assert parse_instruction('User: "Make it sleep."\nFirst picture: a cat', (CAPTION,), ()) == "Make it sleep."


@pytest.mark.parametrize(
    ("written", "reason"),
    [("", "nothing was said"), ("I want this: a brown dog runs", "a caption is quoted as it is"), ("Ok.", "one word")],
)
def test_what_is_no_instruction_is_refused(written: str, reason: str) -> None:
    with pytest.raises(SampleNotMade, match=reason):
        parse_instruction(written, (CAPTION,), ())


@pytest.mark.parametrize("label", ["Found", "Caption", "Assistant", "**Found**"])
def test_two_rounds_are_a_request_a_caption_and_a_change(label: str) -> None:
    written = f"I want a pet.\n{label}: A cat sits.\nUser: It should bark.\nFound: more"
    assert parse_two_rounds(written, (CAPTION,), ()) == TwoRounds("I want a pet.", "A cat sits.", "It should bark.")


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("I want a pet.\nFound: A cat sits.", "not a request, a caption and a change"),
        ("I want a pet.\nUser: A cat sits.\nFound: no", "not a request, a caption and a change"),
        ("I want a pet.\nFound: a brown dog runs\nUser: Another one.", "the first answer is the target already"),
    ],
)
def test_what_is_no_two_rounds_is_refused(written: str, reason: str) -> None:
    with pytest.raises(SampleNotMade, match=reason):
        parse_two_rounds(written, (CAPTION,), ())


@given(st.text(alphabet=st.sampled_from('User:Assistant Found\n*1.- "abc'), max_size=80))
def test_any_text_is_read_or_refused(written: str) -> None:
    for label, words in split_labelled_lines(written, "User", ()):
        assert words.strip() == words != "" and label in ("user", "assistant", "found", "caption", "picture")
    for read in (parse_dialogue, parse_two_rounds):
        try:
            read(written, (CAPTION,), ())
        except SampleNotMade as error:
            assert str(error)


def test_every_example_of_the_prompts_would_be_taken_itself() -> None:
    for caption, *said in DIALOGUE.examples:
        written = replace(DIALOGUE, case=()).write_case(said)
        assert len(parse_dialogue(written, (caption,), ())) == len(said)
    for first, second, change in INSTRUCTION.examples:
        assert parse_instruction(f"User: {change}", (first, second), ()) == change
    for caption, *said in TWO_ROUNDS.examples:
        assert parse_two_rounds(replace(TWO_ROUNDS, case=()).write_case(said), (caption,), ()).change == said[2]


@pytest.mark.parametrize("task", [DIALOGUE, INSTRUCTION, TWO_ROUNDS])
def test_a_prompt_shows_three_examples_and_ends_where_the_answer_begins(task: Task[object]) -> None:
    prompt = task.write_prompt(["A new one."] * len(task.case), random.Random(5))
    wanted, *blocks = prompt.split("\n\n")
    assert wanted == task.wanted
    answers = [example[len(task.case) :] for example in task.examples]
    assert sum(any(text in block for text in said) for said in answers for block in blocks) == 3
    assert blocks[-1] == "\n".join([*(f"{label}: A new one." for label in task.case), "User:"])


def test_prompts_of_different_pictures_have_different_examples() -> None:
    prompts = {DIALOGUE.write_prompt(["same"], random.Random(seed)) for seed in range(20)}
    assert len(prompts) > 10
