"""Records of data sets as lessons, followed by hand."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.data.chatsearch import ChatSample, ChatTurn, ImageItem, TextItem
from viewfinder.data.dialogues import Round, make_dialogue
from viewfinder.data.fashionmt import Transaction
from viewfinder.data.picture_texts import PagePicture, WebPage
from viewfinder.retrievers.chatsearcher import examples
from viewfinder.retrievers.chatsearcher.sequence import TrainingExample, TrainingTurn

T, P = TextItem, ImageItem


class Always(random.Random):
    """Takes the first of several, and the least of numbers."""

    def random(self) -> float:
        return 0.0

    def getrandbits(self, k: int, /) -> int:
        return 0


def shown(picture: str) -> TrainingTurn:
    return TrainingTurn("assistant", (P(picture),))


def test_a_caption_stands_before_its_picture_or_behind_it() -> None:
    before = examples.caption_example("1.jpg", "a cat", first=True)
    assert before == TrainingExample((TrainingTurn("document", (P("1.jpg"), T("a cat"))),), "captions")
    assert examples.caption_example("1.jpg", "a cat", first=False).turns[0].items == (T("a cat"), P("1.jpg"))


@given(st.integers())
def test_a_picture_is_asked_for_by_one_caption_or_by_two_turns_of_two(seed: int) -> None:
    lesson = examples.request_example("1.jpg", ("A cat.", "Black fur."), random.Random(seed))
    assert lesson.turns[-1] == shown("1.jpg") and lesson.kind == "requests"
    first, *rest = lesson.texts
    assert ("a cat" in first) != ("black fur" in first)
    assert rest in ([], ["black fur" if "a cat" in first else "a cat"])
    assert [turn.role for turn in lesson.turns] == ["user", "assistant"] * (1 + len(rest))


@given(st.integers(2, 40), st.integers())
def test_documents_have_two_to_four_pictures_each_of_which_is_in_one(count: int, seed: int) -> None:
    captioned = [(f"{number}.jpg", (f"a {number}", f"b {number}")) for number in range(count)]
    made = list(examples.group_into_pages(captioned, random.Random(seed)))
    pictures = [picture for lesson in made for picture in lesson.pictures]
    assert len(pictures) == len(set(pictures)) >= count - 1
    assert all(2 <= len(lesson.pictures) <= 4 for lesson in made)
    for lesson in made:
        said = [text.split()[1] for text in lesson.texts]
        assert [f"{number}.jpg" for number in said] == list(lesson.pictures)


def test_pictures_of_a_web_page_stand_beside_their_sentences() -> None:
    pictures = (PagePicture("b.jpg", 1), PagePicture("a.jpg", 0), PagePicture("c.jpg", 1))
    page = WebPage(("one", "two", " "), pictures)
    [turn] = examples.web_page_example(page, Always()).turns
    assert turn == TrainingTurn("document", (P("a.jpg"), T("one"), P("b.jpg"), P("c.jpg"), T("two")))


def test_the_target_of_a_chat_is_the_last_answer() -> None:
    asked = (ChatTurn("user", (T("a cat"),)), ChatTurn("assistant", (T("more?"),)), ChatTurn("user", (T("black"),)))
    lesson = examples.chat_example(ChatSample("t-1", "tChat", asked, "7.jpg"), image_first=True)
    said = (
        TrainingTurn("user", (T("a cat"),)),
        TrainingTurn("assistant", (T("more?"),)),
        TrainingTurn("user", (T("black"),)),
    )
    assert lesson == TrainingExample((*said, shown("7.jpg")), "tchat")


@pytest.mark.parametrize("image_first", [True, False])
def test_an_answers_picture_stands_first_where_that_is_asked_for(*, image_first: bool) -> None:
    answer = ChatTurn("assistant", (T("this one?"), P("1.jpg")))
    items = examples.chat_turn(answer, image_first=image_first).items
    assert items == ((P("1.jpg"), T("this one?")) if image_first else (T("this one?"), P("1.jpg")))


@pytest.mark.parametrize("image_first", [True, False])
def test_what_a_user_brings_always_stands_before_the_words(*, image_first: bool) -> None:
    asked = ChatTurn("user", (T("like this"), P("1.jpg"), T("but red")))
    assert examples.chat_turn(asked, image_first=image_first).items == (P("1.jpg"), T("like this"), T("but red"))


@given(st.integers(0, 12), st.integers())
def test_a_dialogue_is_cut_into_lessons_of_up_to_five_rounds_that_all_begin_with_the_picture(
    rounds: int, seed: int
) -> None:
    dialogue = make_dialogue("1.jpg", "a cat", [Round(f"q{at}?", f"a{at}") for at in range(rounds)])
    made = list(examples.dialogue_examples(dialogue, random.Random(seed)))
    texts = [text for lesson in made for text in lesson.texts]
    assert texts == [text for at in range(rounds) for text in (f"q{at}?", f"a{at}")]
    for lesson in made:
        assert 2 <= len(lesson.turns) <= 10 and lesson.kind == "visual"
        assert [turn.role for turn in lesson.turns] == ["user", "assistant"] * (len(lesson.turns) // 2)
        assert lesson.turns[0].items[0] == P("1.jpg") and lesson.pictures == ("1.jpg",)


def test_questions_may_follow_a_search_for_their_picture() -> None:
    dialogue = make_dialogue("1.jpg", "A cat.", [Round("how many?", "one"), Round("black?", "yes")])
    found = list(examples.dialogue_examples(dialogue, random.Random(3), found_first=1.0))
    for lesson in found:
        search, answer, question, *_ = lesson.turns
        assert (search.role, answer) == ("user", TrainingTurn("assistant", (P("1.jpg"),)))
        assert "a cat" in lesson.texts[0] and question.items == (T(lesson.texts[1]),)
        assert lesson.kind == "visual" and lesson.turns[-1].role == "assistant"
    assert [text for lesson in found for text in lesson.texts[1:]] == ["how many?", "one", "black?", "yes"]


def test_a_search_for_another_picture_may_follow_questions_about_one_that_was_found() -> None:
    dialogue = make_dialogue("1.jpg", "A cat.", [Round("how many?", "one")])
    other = make_dialogue("2.jpg", "A dog.", [Round("black?", "yes")])
    made = [
        next(examples.dialogue_examples(dialogue, random.Random(seed), found_first=1.0, others=[other]))
        for seed in range(40)
    ]
    endings = [lesson.turns[-1] for lesson in made]
    searched = [lesson for lesson in made if lesson.turns[-1] == TrainingTurn("assistant", (P("2.jpg"),))]
    assert 5 < len(searched) < 35 and endings.count(TrainingTurn("assistant", (T("one"),))) == 40 - len(searched)
    assert all("a dog" in lesson.texts[-1] and lesson.pictures == ("1.jpg", "2.jpg") for lesson in searched)


def test_what_is_searched_for_may_be_said_in_a_few_words() -> None:
    captions = ("A brown dog runs on grass.", "The dog is wet.")
    for seed in range(20):
        rng = random.Random(seed)
        for text in examples.request_example("1.jpg", captions, rng, fragments=1.0).texts:
            assert text in "brown dog runs grass" or text in "dog wet"
    dialogue = make_dialogue("1.jpg", captions[0], [Round("how many?", "one")])
    rng = random.Random(0)
    [lesson] = examples.dialogue_examples(dialogue, rng, found_first=1.0, others=[dialogue], fragments=1.0)
    searches = [text for text in lesson.texts if text not in ("how many?", "one")]
    assert searches and all(text in "brown dog runs grass" for text in searches)


def test_what_nobody_answers_is_no_lesson() -> None:
    dialogue = make_dialogue("1.jpg", "a cat", [Round("how many?", "one"), Round("black?", "")])
    [lesson] = examples.dialogue_examples(dialogue, random.Random(0))
    assert lesson.texts == ("how many?", "one")
    alone = [ChatTurn("user", (T("hello?"),))]
    assert not list(examples.split_into_examples(alone, (), random.Random(0)))


def transaction(last: str) -> Transaction:
    return Transaction("0.jpg", ("1.jpg", "2.jpg", "3.jpg"), ("1. is red 2. is long", "1. is blue", last))


def test_each_turn_of_a_transaction_is_an_edit_of_the_picture_before() -> None:
    made = list(examples.transaction_examples(transaction("1. is green"), Always()))
    assert [lesson.pictures for lesson in made] == [("0.jpg", "1.jpg"), ("1.jpg", "2.jpg"), ("2.jpg", "3.jpg")]
    assert made[0].turns == (TrainingTurn("user", (P("0.jpg"), T("is red and is long"))), shown("1.jpg"))


def test_a_turn_that_goes_back_is_an_edit_of_what_it_goes_back_to() -> None:
    *_, last = examples.transaction_examples(transaction("I prefer the SECOND, and 1. is green"), Always())
    assert (last.pictures, last.texts) == (("1.jpg", "3.jpg"), ("is green",))


@pytest.mark.parametrize(
    "last", ["1. is green 4. keep the FIRST's collar", "I prefer the FIRST", "1. is green 4. keep the SECOND's None"]
)
def test_a_turn_that_no_single_edit_can_tell_is_left_out(last: str) -> None:
    assert len(list(examples.transaction_examples(transaction(last), random.Random(0)))) == 2


@pytest.mark.parametrize("ways", [examples.OF_COMMANDS, examples.OF_CLAUSES])
def test_there_are_a_dozen_ways_to_say_an_instruction_and_each_says_all_of_it(ways: tuple[str, ...]) -> None:
    assert len(set(ways)) >= 12
    said = {examples.reword_instruction("Add {two} cats.", (way,), random.Random(0)) for way in ways}
    assert len(said) == len(ways) and all("add {two} cats" in text for text in said)


def test_capitals_that_mean_something_are_kept() -> None:
    assert examples.reword_instruction("USA flags!", ("please add {}.",), random.Random(0)) == "please add USA flags."
