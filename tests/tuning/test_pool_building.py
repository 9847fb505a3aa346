"""A closed pool from dialogues, counted by hand."""

from __future__ import annotations

from viewfinder.data.dialogues import Dialogue, Round, make_dialogue
from viewfinder.tuning.pool import PoolSettings, build_pool, normalized_question, question_template

SMALL = PoolSettings(fewest=2, fewest_meant=3)


def dialogue(*rounds: str) -> Dialogue:
    said = [text.partition("? ") for text in rounds]
    return make_dialogue("1.jpg", "a room", [Round(f"{question}?", answer) for question, _, answer in said])


def test_rare_questions_are_left_out_and_the_most_frequent_come_first() -> None:
    pool = build_pool([dialogue("is there a dog? no", "is it dark? no", "is it dark? yes", "any cat? no")], SMALL)
    assert [(question.text, question.asked) for question in pool] == [("is it dark?", 2)]


def test_spelling_and_blanks_make_no_other_question() -> None:
    assert normalized_question("Is  it dark ?") == normalized_question("is it dark?")


def test_what_is_asked_often_enough_in_several_wordings_is_in_by_the_most_frequent() -> None:
    rounds = ["is there a dog? yes", "is there a dog? no", "any dogs? no", "can you see a dog? don't know"]
    pool = build_pool([dialogue(*rounds)], PoolSettings(fewest=9, fewest_meant=3))
    assert [question.text for question in pool] == ["is there a dog?"]


def test_paraphrases_share_their_answers_and_their_unknowns() -> None:
    rounds = ["is there a dog? yes"] * 3 + ["any dogs? no", "any dogs? can't tell"]
    first, second = build_pool([dialogue(*rounds)], SMALL)
    assert (first.text, second.text, first.meaning, second.meaning) == ("is there a dog?", "any dogs?", 0, 0)
    # Smoothed with the four answers of the template, which are these: 3 + 4 * 3/4, 1 + 4 * 1/4.
    assert dict(first.said) == dict(second.said) == {"yes": 6.0, "no": 2.0}
    assert (first.unknown, first.told, first.predicted) == (1, 5, True)


def test_a_thing_asked_of_rarely_may_have_the_answers_of_others() -> None:
    rounds = ["what colour is the cup? red", "what colour is the cup? blue", "what colour is the hat? red"] * 2
    pool = build_pool([dialogue(*rounds)], PoolSettings(fewest=2, fewest_meant=1))
    hat = next(question for question in pool if "hat" in question.text)
    assert hat.answers == ("red", "blue")
    assert question_template("what colour is the cup?") == question_template("which colour is the hat?")


def test_many_different_answers_are_not_foretold() -> None:
    rounds = [f"what else is there? a {one}{other}" for one in "bcdfghjk" for other in "bcdfghjk"]
    (question,) = build_pool([dialogue(*rounds)], SMALL)
    assert not question.predicted


def test_what_nobody_can_be_asked_by_itself_is_not_foretold() -> None:
    (question,) = build_pool([dialogue(*["is it big? yes", "is it big? no"] * 9)], SMALL)
    assert not question.predicted
