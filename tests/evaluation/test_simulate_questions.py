"""What a questioner asked, counted; and written so that it can be read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.conversation import Answer, BackTo, Conversation, Question, Say
from viewfinder.data.dialogues import read_dialogues, split_round, write_dialogues
from viewfinder.evaluation.simulate import HeldDialogue, count_questions, record_dialogue, record_round, time_questions

WORDS = st.text(st.sampled_from("Answer: ?.!\"')yes\n"), max_size=30)


def held(*rounds: tuple[str, str, str], ms: tuple[float, ...] = ()) -> HeldDialogue:
    """A dialogue of questions, answers and who asked."""
    dialogue = Conversation().then(Say("a dog"))
    for question, answer, by in rounds:
        dialogue = dialogue.then(Answer(Question(question, by=by), answer))
    return HeldDialogue(dialogue, ms)


def test_questions_are_counted_dialogue_by_dialogue() -> None:
    first = held(
        ("Is it big?", "no", "llm"),
        ("Is it big?", "don't know", "llm"),
        ("Is it red?", "", "information_gain"),
        ("Is it wet?", "yes", "llm"),
    )
    values = count_questions([first, held()], "llm=smol.gguf")
    assert values["questions"].tolist() == [4, 0]
    assert values["repeated questions"].tolist() == [1, 0]
    assert values["unique tokens"].tolist() == [5, 0]  # is, it, big, red, wet
    np.testing.assert_array_equal(values["don't know"], [0.5, np.nan])  # passed over counts
    np.testing.assert_array_equal(values["by another"], [0.25, np.nan])


def test_what_was_taken_back_was_not_asked() -> None:
    dialogue = Conversation().then(Say("a dog")).then(Answer(Question("Is it big?"), "no")).then(BackTo(1))
    assert count_questions([HeldDialogue(dialogue)], "information_gain")["questions"].tolist() == [0]


def test_times_are_the_median_and_the_slow_end() -> None:
    assert time_questions([held(ms=(1.0, 3.0)), held(ms=(2.0,))]) == {"median_ms": 2.0, "p95_ms": 2.9}
    assert time_questions([held()]) == {}


@given(st.lists(st.tuples(WORDS, WORDS), max_size=3), WORDS)
def test_a_dialogue_is_read_back_as_it_was_written(rounds: list[tuple[str, str]], said: str) -> None:
    for question, answer in rounds:
        whole = record_round(question, answer)
        assert split_round(str(whole)) == whole
        assert whole.question.rstrip("\"')").endswith("?")


def test_questions_and_answers_keep_their_words() -> None:
    assert str(record_round("Is it red or blue", "red")) == "Is it red or blue? red"
    assert str(record_round('Does it say "stop?"', "yes")) == 'Does it say "stop?" yes'
    assert str(record_round("What is it.", "maybe a dog?\nor a cat")) == "What is it? maybe a dog or a cat"


def test_a_file_of_dialogues_holds_caption_questions_and_answers(tmp_path: Path) -> None:
    dialogue = held(("What colour", "red", "x"), ("Is it big?", "", "x")).conversation
    write_dialogues(tmp_path / "x.json", [record_dialogue("a.jpg", dialogue)])
    [read], _ = read_dialogues(tmp_path / "x.json")
    assert read.strings == ("a dog", "What colour? red", "Is it big?")
    assert [(one.question, one.answer) for one in read.rounds] == [("What colour?", "red"), ("Is it big?", "")]
