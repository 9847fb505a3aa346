from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.wording.back_references import GAP, MARK, Mention, mark_mentions, void_mention


@pytest.mark.parametrize(
    ("sentence", "mentions"),
    [
        ("the second one's collar", [(1, "the second one")]),
        ("I like the 3rd.", [(2, "the 3rd")]),
        ("picture 2, then #3 or turn ten", [(1, "picture 2"), (2, "#3"), (9, "turn ten")]),
        ("the one from the second turn", [(1, "the one from the second turn")]),
        ("the dress from picture 1", [(0, "the dress from picture 1")]),
        ("the one we started with", [(0, "the one we started with")]),
        ("the original, in red", [(0, "the original")]),
        ("the previous one", [(-1, "the previous one")]),
        ("the picture before that", [(-1, "the picture before that")]),
        ("the one before last", [(-2, "the one before last")]),
        ("three pictures ago", [(-3, "three pictures ago")]),
    ],
)
def test_a_picture_can_be_named_like_this(sentence: str, mentions: list[tuple[int, str]]) -> None:
    assert [(mention.place, mention.words) for mention in mark_mentions(sentence).mentions] == mentions


@pytest.mark.parametrize(
    "sentence",
    [
        "the second floor",
        "second-hand",
        "a second one",
        "the first of May",
        "the second one from the left",
        "picture 2 dogs",
        "1. has a busier look 2. keeps its collar",
        "look 1.5 cm shorter",
        "the day before",
        "the previous owner",
        "twenty-first one",
    ],
)
def test_an_ordinal_of_something_else_names_no_picture(sentence: str) -> None:
    assert mark_mentions(sentence).mentions == () and mark_mentions(sentence).text == sentence


def test_a_marked_text_has_one_character_for_each_mention_and_gives_it_back() -> None:
    said = mark_mentions("not the first but Picture 2")
    one, two = said.text.removeprefix("not ").split(" but ")
    assert (said.at(one), said.at(two)) == (Mention(0, "the first"), Mention(1, "Picture 2"))
    assert said.said(said.text) == said.said(said.text.replace(one, void_mention(one))) == "not the first but Picture 2"


@given(st.text(alphabet=f"the first one {GAP}{MARK[1]}{MARK[3]}", max_size=40))
def test_what_is_marked_is_given_back_as_it_was_said(text: str) -> None:
    said = mark_mentions(text)
    plain = "".join(" " if character in (GAP, MARK[1], MARK[3]) else character for character in text)
    assert said.said(said.text) == plain


def test_no_more_is_found_than_there_are_marks() -> None:
    assert len(mark_mentions("the first one, " * 100).mentions) == 64
