"""Chips: what they say, and that taking one back leaves exactly the others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.session.dated import draw_photos
from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Answer, BackTo, Conversation, Like, Question, Reject, Say, Turn, turn_from_json
from viewfinder.library import Library
from viewfinder.query import Part, Query, RegionSpace
from viewfinder.retrievers import load_retriever
from viewfinder.search.gallery import Gallery
from viewfinder.server.conversations.answers import Chip, find_beliefs, remove_belief, remove_clause
from viewfinder.server.conversations.schemas import Belief
from viewfinder.session.reading import read_plainly
from viewfinder.session.session import Session
from viewfinder.testing import COLOURS, ColourEncoder, tiny_snapshot

LOOKS = [(top, bottom) for top in COLOURS for bottom in COLOURS]
KNOWN = [{"top": (top,), "bottom": (bottom,)} for top, bottom in LOOKS]
GALLERY = Gallery(tiny_snapshot(LOOKS, KNOWN), ColourEncoder())
WHICH_TOP = Question("What colour is the top?", ("red", "blue"), attribute="top")


def chips(*turns: Turn, retriever: str = "composer") -> list[Belief]:
    session = Session(GALLERY, load_retriever(retriever), None, memo=ByteCache())
    for turn in turns:
        session.search(turn)
    return find_beliefs(session.ranking().query, session.conversation, session.conversation.path())


def labels(found: list[Belief]) -> list[tuple[int, str, str]]:
    return [(chip.turn, chip.label, chip.kind) for chip in found]


def test_every_clause_is_a_chip_that_can_be_taken_out_alone() -> None:
    found = chips(Say("a dog without a collar, no people"))
    assert labels(found) == [(1, "a dog", "words"), (1, "not collar", "words"), (1, "not people", "words")]
    assert [chip.without for chip in found] == [
        {"say": "no collar, no people"},
        {"say": "a dog, no people"},
        {"say": "a dog, no collar"},
    ]


def test_the_only_chip_of_a_turn_goes_with_the_turn() -> None:
    assert [chip.without for chip in chips(Say("a dog"))] == [None]


def test_what_follows_a_clause_is_told_without_a_hole() -> None:
    found = chips(Say("a dog without a collar, in the snow"))
    assert [(chip.label, chip.without) for chip in found] == [
        ("a dog, in the snow", {"say": "no collar"}),
        ("not collar", {"say": "a dog, in the snow"}),
    ]


@pytest.mark.parametrize("label", ["a cat", "not tail", "not a dog"])
def test_what_no_clause_says_cannot_be_taken_out(label: str) -> None:
    assert remove_clause("a dog without a collar", label) is None


def test_a_value_and_the_words_for_it_are_one_chip() -> None:
    found = chips(Say("something"), Answer(WHICH_TOP, "yellow"))  # in words of one's own: it is not offered
    assert labels(found) == [(1, "something", "words"), (2, "top: yellow", "value")]
    assert found[1].weight == pytest.approx(0.3 + 1.0)


def test_an_answer_that_was_chosen_is_a_chip_that_goes_with_its_turn() -> None:
    found = chips(Say("something"), Answer(WHICH_TOP, "red"), Answer(WHICH_TOP, "don't know"), Answer(WHICH_TOP, ""))
    assert labels(found) == [(1, "something", "words"), (2, "top: red", "answer")]
    assert found[1].without is None


def test_a_liked_picture_and_what_was_said_with_it_go_one_by_one() -> None:
    found = chips(Like("p010", "striped"))
    assert labels(found) == [(1, "this picture", "picture"), (1, "striped", "words")]
    assert [chip.without for chip in found] == [{"say": "striped"}, {"like": "p010"}]


def test_a_changed_value_is_one_chip() -> None:
    # As the composer puts "but blue", where the encoder has a vocabulary.
    conversation = Conversation().then(Like("p010", "blue", 0))
    parts = (
        Part("vocabulary", 1, "this picture, in words", 1.0),
        Part("contrast", 1, "blue", 0.15),
        Part("value", 1, "top: Blue", 0.3, value=("top", "Blue")),
    )
    found = find_beliefs(Query(parts), conversation, conversation.path())
    assert labels(found) == [(1, "this picture", "vocabulary"), (1, "top: Blue", "value")]
    assert [chip.weight for chip in found] == [1.0, 0.45]
    assert [chip.without for chip in found] == [{"say": "blue"}, {"like": "p010", "turn": 0}]


def test_rejected_pictures_are_one_chip_a_turn() -> None:
    found = chips(Say("red"), Reject(("p000", "p001")), Reject(("p002",), "stripes"))
    assert labels(found)[1:] == [
        (2, "not these 2 pictures", "rejected"),
        (3, "not stripes", "words"),
        (3, "not this picture", "rejected"),
    ]
    assert [chip.without for chip in found] == [
        None,
        None,
        {"reject": ["p002"]},
        {"reject": [], "text": "stripes"},
    ]


def test_none_of_these_counts_all_that_was_shown() -> None:
    assert labels(chips(Say("red"), Reject()))[1] == (2, "not these 10 pictures", "rejected")


def test_a_picture_that_is_liked_after_all_is_no_longer_rejected() -> None:
    assert "rejected" not in {chip.kind for chip in chips(Say("red"), Reject(("p000",)), Like("p000"))}


def test_what_was_said_on_another_branch_is_no_belief() -> None:
    assert labels(chips(Say("red"), Say("blue"), BackTo(1), Say("green"))) == [
        (1, "red", "words"),
        (4, "green", "words"),
    ]


def test_all_that_was_said_in_one_part_is_taken_apart_by_turns() -> None:
    found = chips(Say("red, or so"), Answer(Question("is there blue?"), "yes"), Say("green"), retriever="clip-t")
    assert labels(found) == [(1, "red, or so", "words"), (2, "is there blue? yes", "words"), (3, "green", "words")]


def test_slots_of_a_trained_system_are_taken_apart_by_turns() -> None:
    conversation = Conversation().then(Say("a dog")).then(Say("in the snow")).then(Say("a sledge"))
    space = RegionSpace("r", "raw", lambda raw: raw.whole_ng[:, None], 1, 2)
    query = Query(
        (
            Part("regions", 3, "a dog; a sledge", 1.0, holds=((1, "a dog"), (3, "a sledge"))),
            Part("regions", 2, "in the snow", 0.5, holds=((2, "in the snow"),)),
            Part("regions", 3, "what the other slots hold", 0.2, holds=()),
        ),
        space,
        "late_interaction",
    )
    assert labels(find_beliefs(query, conversation, conversation.path())) == [
        (1, "a dog", "regions"),
        (2, "in the snow", "regions"),
        (3, "a sledge", "regions"),
    ]


def test_what_a_chip_is_does_not_hang_on_how_its_part_is_called() -> None:
    """Words that read like the label of a slot without words, or like two pieces, are words all the same."""
    said = ("what the other slots hold", "a dog; a sledge")
    conversation = Conversation().then(Say(said[0])).then(Say(said[1]))
    space = RegionSpace("r", "raw", lambda raw: raw.whole_ng[:, None], 1, 2)
    slots = (
        Part("regions", 1, said[0], 1.0, holds=((1, said[0]),)),
        Part("regions", 2, said[1], 1.0, holds=((2, said[1]),)),
        Part("regions", 2, "a slot by any other name", 0.1, holds=()),
    )
    found = find_beliefs(Query(slots, space, "late_interaction"), conversation, conversation.path())
    assert labels(found) == [(1, said[0], "regions"), (2, said[1], "regions")]


CLAUSES = st.lists(st.sampled_from(["red", "blue over red", "no green", "not yellow", "without white"]), min_size=1)


@settings(max_examples=25)
@given(CLAUSES, st.sampled_from(["say", "but", "reject"]))
def test_taking_a_chip_back_leaves_exactly_the_others(clauses: list[str], kind: str) -> None:
    text = ", ".join(clauses)
    turns: dict[str, Turn] = {"say": Say(text), "but": Like("p010", text), "reject": Reject(("p001",), text)}
    turn = turns[kind]
    found = chips(Say("stripes"), turn)
    for chip in found:
        if chip.turn == 2 and chip.without is not None:
            left = chips(Say("stripes"), turn_from_json(chip.without))
            others = [other.label for other in found if other is not chip]
            assert sorted(other.label for other in left) == sorted(others)


def test_what_a_turn_took_back_is_there_again_without_it() -> None:
    picked = chips(Say("purple"), Like("p010", "red"))
    assert [chip.label for chip in picked] == ["this picture", "red"]
    assert [chip.without for chip in picked] == [{"say": "red"}, {"like": "p010"}]
    assert [chip.label for chip in chips(Say("purple"), Like("p010"))] == ["purple", "this picture"]


@pytest.fixture(scope="module")
def album(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Photographs with dates, cameras and persons in their files."""
    folder = tmp_path_factory.mktemp("beliefs")
    draw_photos(folder / "pictures")
    library = Library.open(folder / "library.vf")
    library.add(folder / "pictures")
    return library


def chips_of(album: Library, *said: str) -> list[Belief]:
    session = album.chat(questioner=None)
    for text in said:
        session.say(text)
    path = session.conversation.path()
    return find_beliefs(session.ranking().query, session.conversation, path, session.reader)


def test_a_fact_is_a_chip_of_its_own_and_can_be_taken_out_alone(album: Library) -> None:
    found = chips_of(album, "do you have a photo of a red square from July 2007, with Anna?")
    assert labels(found) == [
        (1, "a red square", "words"),
        (1, "from July 2007", "fact"),
        (1, "with Anna", "fact"),
    ]
    assert [chip.without for chip in found] == [
        {"say": "from July 2007 with Anna"},
        {"say": "a red square with Anna"},
        {"say": "a red square from July 2007"},
    ]


def test_what_is_left_of_a_sentence_says_the_same_as_before(album: Library) -> None:
    for chip in chips_of(album, "a red sqaure without a frame in July 2007"):
        assert chip.without is not None
        left = chips_of(album, chip.without["say"])
        assert chip.label not in [other.label for other in left]
        assert len(left) == 2


def test_the_only_fact_goes_with_its_turn(album: Library) -> None:
    assert [chip.without for chip in chips_of(album, "photos from July 2007")] == [None]


def test_a_fact_that_no_picture_has_is_no_chip(album: Library) -> None:
    assert labels(chips_of(album, "a red square in March 1999")) == [(1, "a red square", "words")]


def test_a_part_of_a_reading_is_removed_only_where_the_rest_can_be_said() -> None:
    reading = read_plainly("a dog without a collar")
    assert remove_belief(reading, Chip(1, "not collar", "words", 1.0)) == "a dog"
    assert remove_belief(reading, Chip(1, "a cat", "words", 1.0)) is None
