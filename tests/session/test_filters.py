"""Typed filters in a conversation: obeyed to the letter, replaced by later ones of their name, taken away as words."""

from __future__ import annotations

from datetime import date

import pytest

from viewfinder.conversation import BackTo, Reject, Say
from viewfinder.errors import UnknownName
from viewfinder.library import Library
from viewfinder.session.facts import describe_turn_reading
from viewfinder.session.sentences import read_sentence
from viewfinder.session.session import Session
from viewfinder.wording.reading import SaidReading

TODAY = date(2026, 11, 28)


def find(album: Library, text: str) -> list[str]:
    return sorted(hit.path.name for hit in album.find(text, 20, fold=False))


def say(album: Library, *texts: str) -> Session:
    session = album.chat(questioner=None)
    for text in texts:
        session.say(text)
    return session


def shown(album: Library, session: Session) -> list[str]:
    rows = {row.id: row.path.name for row in album.store.rows()}
    return [rows[picture] for picture in session.conversation.here.shown]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("camera:nikon", ["IMG_0001.jpg", "IMG_0002.jpg"]),
        ("camera:d80 something red", ["IMG_0001.jpg", "IMG_0002.jpg"]),
        ("camera:nikon camera:iphone", ["IMG_0001.jpg", "IMG_0002.jpg", "IMG_0005.jpg"]),
        ("after:2019", ["IMG_0004.jpg", "IMG_0005.jpg"]),
        ("after:2019-02 before:2020", ["IMG_0005.jpg"]),
        ("on:2007-07-14", ["IMG_0002.jpg"]),
        ("person:anna", ["IMG_0001.jpg", "IMG_0004.jpg"]),
        ("person:anna -camera:canon", ["IMG_0001.jpg"]),
        ('folder:"2019 Skiing"', ["IMG_0004.jpg", "IMG_0005.jpg"]),
        ("folder:ski", ["IMG_0004.jpg", "IMG_0005.jpg"]),
        ("place:lisbon", ["IMG_0005.jpg"]),
        ("rating:>=4", ["IMG_0004.jpg", "scan 3.jpg"]),
        ("stars:3", ["IMG_0005.jpg"]),
        ("year:2007 month:July camera:canon", ["IMG_0003.jpg"]),
        ("folder:old -rating:4", ["scan 1.jpg", "scan 2.jpg"]),
    ],
)
def test_only_pictures_that_meet_the_filters_are_results(album: Library, text: str, names: list[str]) -> None:
    assert find(album, text) == names


def test_filters_alone_list_the_newest_first(album: Library) -> None:
    found = [hit.path.name for hit in album.find("after:2007", 20)]
    assert found == ["IMG_0005.jpg", "IMG_0004.jpg", "IMG_0003.jpg", "IMG_0002.jpg", "IMG_0001.jpg"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("camera:leica", "no picture has camera = 'leica'; known are: "),
        ("year:1999", "no picture has year = '1999'"),
        ("on:soon", "on:soon: this is no date: write it as on:2008, on:2008-05 or 2008-05-17"),
    ],
)
def test_a_value_that_no_picture_has_is_said_and_the_conversation_stays(album: Library, text: str, said: str) -> None:
    session = say(album, "a dog")
    with pytest.raises(UnknownName, match=said.replace("(", r"\(")):
        session.say(text)
    assert len(session.conversation) == 1


def test_a_name_that_is_none_is_words(album: Library) -> None:
    reading = read_sentence("painter:anna", album.gallery(), TODAY)
    assert not reading.facts
    assert reading.content == "painter:anna"


def test_a_later_filter_of_a_name_stands_in_place_of_the_earlier_one(album: Library) -> None:
    session = say(album, "camera:nikon", "red")
    assert sorted(shown(album, session)) == ["IMG_0001.jpg", "IMG_0002.jpg"]
    session.say("camera:iphone")
    assert shown(album, session) == ["IMG_0005.jpg"]
    session.take(BackTo(2))
    assert sorted(shown(album, session)) == ["IMG_0001.jpg", "IMG_0002.jpg"]


def test_a_rejected_filter_leaves_its_pictures_out(album: Library) -> None:
    session = say(album, "after:2007")
    session.take(Reject(text="camera:canon"))
    assert sorted(shown(album, session)) == ["IMG_0001.jpg", "IMG_0002.jpg", "IMG_0005.jpg"]


def test_a_filter_that_cannot_be_met_any_more_is_dropped_when_a_conversation_is_read_again(album: Library) -> None:
    conversation = say(album, "red").conversation.then(Say("camera:leica red"))
    session = album.chat(questioner=None, conversation=conversation)
    ranking = session.ranking()
    assert ranking.total == len(album)
    assert any("leica" in told for told in ranking.adapters)


def test_what_a_filter_settles_is_not_asked_about(album: Library) -> None:
    assert {"camera", "year"} <= say(album, "camera:nikon year:2007 red").ranking().settled


# -- parts that can be taken away


def describe(album: Library, turn: Say | Reject) -> SaidReading:
    gallery = album.gallery()
    said = describe_turn_reading(turn, lambda text: read_sentence(text, gallery, TODAY), gallery)
    assert said is not None
    return said


def test_each_part_of_a_reading_has_the_words_without_it(album: Library) -> None:
    said = describe(album, Say("do you have a dgo in the snow from July 2007? camera:nikon"))
    assert [(fact.words, fact.is_filter, fact.without) for fact in said.facts] == [
        ("from July 2007", False, "a dog in the snow camera:nikon"),
        ("camera:nikon", True, "a dog in the snow from July 2007"),
    ]
    assert [(word.text, word.without) for word in said.words] == [
        ("dog", "in the snow from July 2007 camera:nikon"),
        ("snow", "a dog from July 2007 camera:nikon"),
    ]
    assert said.as_typed == ('do you have a "dgo" in the snow from July 2007? camera:nikon',)


def test_a_correction_that_is_undone_is_read_as_it_was_typed_and_stays_so(album: Library) -> None:
    [undone] = describe(album, Say("a dgo in July 2007")).as_typed
    said = describe(album, Say(undone or ""))
    assert said.content == "a dgo"
    assert not said.corrections
    again = read_sentence(said.facts[0].without or "", album.gallery(), TODAY)
    assert (again.content, again.corrections, again.facts) == ("a dgo", (), ())


def test_nothing_is_left_without_the_only_part(album: Library) -> None:
    assert describe(album, Say("photos from July 2007")).facts[0].without == ""


def test_parts_of_a_rejection_cannot_be_taken_away(album: Library) -> None:
    assert {fact.without for fact in describe(album, Reject(text="from 2007")).facts} == {None}
