"""Our own questions about photos, answered from captions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from viewfinder.data.captions import CaptionedPicture
from viewfinder.tuning.dialogues import PhotoQuestion, photo_dialogues, read_photo_questions
from viewfinder.wording.mentions import required_mentions
from viewfinder.wording.questions import question_meaning

DOG = PhotoQuestion("Is there a dog?", {"yes": (("dog",), ("puppy",))}, otherwise="no")
PLACE = PhotoQuestion("Where is it?", {"beach": (("beach",), ("sand",)), "street": (("street",),)}, otherwise=None)
HOW = PhotoQuestion("Is the dog wet?", {"yes": (("water",),)}, otherwise="no", needs=(("dog",),))


@pytest.mark.parametrize(
    ("question", "captions", "answer"),
    [
        (DOG, ["Two dogs run", "a beach"], "yes"),
        (DOG, ["a hot-dog-eating man", "a cat"], "yes"),
        (DOG, ["a doghouse"], "no"),
        (PLACE, ["dogs on the sand", "on a beach", "in a street"], "beach"),
        (PLACE, ["on a beach", "in a street"], None),
        (PLACE, ["a dog"], None),
        (HOW, ["a dog in the water"], "yes"),
        (HOW, ["a man in the water"], None),
    ],
)
def test_captions_answer_by_their_words(question: PhotoQuestion, captions: list[str], answer: str | None) -> None:
    assert question.answer(captions) == answer


def test_all_that_is_known_is_asked_in_dialogues_of_ten() -> None:
    picture = CaptionedPicture(Path("1.jpg"), ("a dog on a beach", "a wet dog"))
    known = [PhotoQuestion(f"Is there a {number}?", {"yes": (("dog",),)}, "no") for number in range(11)]
    first, second = photo_dialogues([picture], [*known, PhotoQuestion("Who?", {"a man": (("man",),)}, None)])
    assert (first.caption, len(first.rounds), second.caption, len(second.rounds)) == (
        *("a dog on a beach", 10),
        "a wet dog",
        1,
    )
    asked = {said.question for dialogue in (first, second) for said in dialogue.rounds}
    assert asked == {question.text for question in known}
    assert photo_dialogues([picture], known) == photo_dialogues([picture], known)


def test_a_balanced_question_is_answered_no_as_often_as_otherwise() -> None:
    said = ["a dog", "a puppy", "a cat", "a bird", "a man", "a dog on a beach", "a beach"]
    pictures = [CaptionedPicture(Path(f"{number}.jpg"), (text,)) for number, text in enumerate(said)]
    cat = PhotoQuestion("Is there a cat?", {"yes": (("cat",),)}, "no")
    rounds = [one for talk in photo_dialogues(pictures, [DOG, PLACE, cat], balanced=True) for one in talk.rounds]
    answers = Counter((one.question, one.answer) for one in rounds)
    assert (answers[DOG.text, "yes"], answers[DOG.text, "no"]) == (3, 3)
    assert (answers[cat.text, "yes"], answers[cat.text, "no"]) == (1, 1)
    assert answers[PLACE.text, "beach"] == 2


def test_the_questions_in_the_box_are_askable_and_all_different() -> None:
    questions = read_photo_questions()
    assert len(questions) > 100
    assert len({question_meaning(question.text) for question in questions}) == len(questions)
    assert [question.text for question in questions if required_mentions(question.text) is None] == []
    definite = [question.text for question in questions if required_mentions(question.text)]
    assert definite == [question.text for question in questions if question.needs]
