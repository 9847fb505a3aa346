"""Facts in answers, and what relative times mean on a later day."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from viewfinder.byte_cache import ByteCache
from viewfinder.cli.typed import parse_line
from viewfinder.conversation import Answer, Conversation, Question, Reject, Say, Turn
from viewfinder.library import Library
from viewfinder.questioners.photographs import REMEMBER
from viewfinder.retrievers import Composer
from viewfinder.search.ranking import Ranking
from viewfinder.session.session import Session

JULY = {"IMG_0001.jpg", "IMG_0002.jpg", "IMG_0003.jpg"}
OPEN = Question("What else do you remember of it?", (), attribute=REMEMBER)
FREE = Question("What is the main thing in the picture?")
WHERE = Question("Where is it?", ("on grass", "in the snow", "something else"), attribute="place")


def talk(album: Library, *turns: Turn, today: str = "2026-11-28", before: Conversation | None = None) -> Session:
    day = date.fromisoformat(today)
    session = Session(album.gallery(), Composer(), None, n=3, memo=ByteCache(), today=lambda: day, conversation=before)
    for turn in turns:
        session.take(turn)
    return session


def names(ranking: Ranking) -> set[str]:
    return {Path(ranking.gallery.snapshot.paths(row)[0]).name for row in ranking.best(3).tolist()}


@pytest.mark.parametrize("question", [OPEN, FREE, WHERE])
def test_an_answer_that_only_names_a_fact_is_that_fact(album: Library, question: Question) -> None:
    told = talk(album, Say("a person outside"), Answer(question, "it was in July 2007")).ranking()
    said = talk(album, Say("a person outside"), Say("it was in July 2007")).ranking()
    assert names(told) == JULY == names(said)
    assert [known.label for known in told.query.evidence] == ["it was in July 2007"]
    assert len(told.query.parts) == len(said.query.parts) == 1  # nothing is described
    assert told.reading is not None
    assert [fact.words for fact in told.reading.facts] == ["it was in July 2007"]


def test_a_description_in_an_answer_counts_beside_the_fact(album: Library) -> None:
    told = talk(album, Say("a person outside"), Answer(OPEN, "a red car, it was in July 2007")).ranking()
    assert names(told) == JULY
    assert [part.label for part in told.query.parts if part.turn == 2] == ["a red car"]


def test_what_is_typed_after_an_open_question_is_read_for_facts(album: Library) -> None:
    asked = talk(album, Say("a person outside")).conversation.recorded(shown=(), asked=OPEN)
    turn = parse_line("it was in July 2007", asked)
    assert turn == Answer(OPEN, "it was in July 2007")
    assert names(talk(album, turn, before=asked).ranking()) == JULY


def test_last_summer_means_the_same_on_a_later_day(album: Library) -> None:
    session = talk(album, Say("last summer"), today="2008-05-01")
    assert names(session.ranking()) == JULY
    kept = Conversation.from_json(session.conversation.to_json())
    assert names(talk(album, before=kept, today="2026-11-28").ranking()) == JULY
    # What was recorded without a day is read as of today.
    undated = Conversation().then(Say("last summer"))
    assert talk(album, before=undated, today="2008-05-01").ranking().query.evidence[0].ratios() is not None
    assert talk(album, before=undated, today="2026-11-28").ranking().query.evidence[0].ratios() is None


def test_what_is_said_again_is_read_as_of_the_day_on_which_it_is_said_again(album: Library) -> None:
    before = talk(album, Say("last summer"), today="2008-05-01").conversation
    again = talk(album, Say("last summer"), before=before, today="2026-11-28")
    assert again.ranking().query.evidence[-1].ratios() is None


@pytest.mark.parametrize(
    ("later", "left"),
    [
        ("sorry, 2007", ["2007"]),
        ("no, 2007", ["2007"]),
        ("I mean 2007", ["2007"]),
        ("wrong year, it was 2007", ["it was 2007"]),
        ("the year is wrong, it was 2007", ["it was 2007"]),
        ("2007 instead", ["2007"]),
        ("in July 2007", ["in July 2007"]),  # no picture is of both
        ("not from 2019", ["not from 2019"]),
        ("in February 2019", ["in 2019", "in February 2019"]),  # says more of the same year
        ("sorry, with Anna", ["in 2019", "with Anna"]),
    ],
)
def test_a_later_fact_takes_an_earlier_one_back_where_it_corrects_or_contradicts_it(
    album: Library, later: str, left: list[str]
) -> None:
    told = talk(album, Say("a red square in 2019"), Say(later)).ranking()
    assert [known.label for known in told.query.evidence] == left


def test_a_fact_that_is_rejected_does_not_hold(album: Library) -> None:
    assert parse_line("not from 2007", Conversation()) == Reject(text="from 2007")
    told = talk(album, Say("a red square in 2007"), Reject(text="from 2007")).ranking()
    assert [known.label for known in told.query.evidence] == ["not from 2007"]
    assert not names(told) & JULY
    assert told.reading is not None
    assert told.reading.describe() == "not from 2007 (2 pictures)"


def test_a_sentence_that_corrects_itself_means_what_it_says_last(album: Library) -> None:
    told = talk(album, Say("a red square in 2019, no, in 2007")).ranking()
    assert [known.label for known in told.query.evidence] == ["in 2007"]
    assert [part.label for part in told.query.parts] == ["a red square"]
