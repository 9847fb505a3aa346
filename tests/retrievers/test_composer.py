"""The composer over a gallery of two-coloured pictures: every kind of turn moves the ranking where it should."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from viewfinder.conversation import Answer, Keep, Like, Question, Reject, Say, Show, Turn
from viewfinder.query import Change, Part, Query, ResolvedTurn
from viewfinder.retrievers import Composer
from viewfinder.retrievers.plain_clip import PlainClip
from viewfinder.search.gallery import Gallery
from viewfinder.search.picture_reading import read_picture
from viewfinder.search.scores import score_all
from viewfinder.testing import COLOURS, ColourEncoder, tiny_snapshot

LOOKS = [(top, bottom) for top in COLOURS for bottom in COLOURS]
ENCODER = ColourEncoder()
GALLERY = Gallery(tiny_snapshot(LOOKS, [{"top": (top,), "bottom": (bottom,)} for top, bottom in LOOKS]), ENCODER)


def id_of(top: str, bottom: str) -> str:
    return f"p{LOOKS.index((top, bottom)):03}"


def resolved(number: int, turn: Turn, **known: Any) -> ResolvedTurn:
    """A turn with the pictures it names looked up, as a session does it."""
    named = (turn.picture,) if isinstance(turn, Like) else turn.pictures if isinstance(turn, Reject) else ()
    looked_up: dict[str, Any] = {
        "text": getattr(turn, "text", ""),
        "pictures": tuple(read_picture(GALLERY, name) for name in named),
    }
    return ResolvedTurn(turn, number, ENCODER.words, **(looked_up | known))


def asked(*turns: ResolvedTurn, retriever: Any = None) -> Query:
    composer = retriever or Composer()
    state = composer.begin()
    for turn in turns:
        state = composer.step(state, turn)
    query = composer.query(state)
    assert isinstance(query, Query)
    return query


def rank(query: Query, top: str, bottom: str) -> int:
    scores_n = score_all(GALLERY, query).total_n
    return int((scores_n > scores_n[LOOKS.index((top, bottom))]).sum())


def score(query: Query, top: str, bottom: str) -> float:
    return float(score_all(GALLERY, query).total_n[LOOKS.index((top, bottom))])


def test_what_is_said_comes_first() -> None:
    assert rank(asked(resolved(1, Say("red over blue"))), "red", "blue") == 0


def test_what_is_said_later_counts_beside_what_was_said_before() -> None:
    first = resolved(1, Say("red"))
    both = asked(first, resolved(2, Say("green")))
    assert rank(both, "red", "green") < rank(asked(first), "red", "green")
    assert rank(both, "red", "green") < rank(both, "red", "red")


def test_without_moves_what_is_named_down() -> None:
    wanted, ruled_out = asked(resolved(1, Say("red"))), asked(resolved(1, Say("red without blue")))
    assert rank(ruled_out, "red", "blue") > rank(wanted, "red", "blue")
    assert rank(ruled_out, "red", "blue") > rank(ruled_out, "red", "orange")


def test_a_sentence_that_only_rules_out_still_has_an_order() -> None:
    query = asked(resolved(1, Say("no blue")))
    assert rank(query, "blue", "blue") > len(LOOKS) // 2
    assert all(part.weight < 0 for part in query.parts)


def test_ruling_the_same_out_twice_is_no_error() -> None:
    query = asked(resolved(1, Say("red, no blue, no blue")))
    assert rank(query, "red", "blue") > rank(asked(resolved(1, Say("red"))), "red", "blue")


def test_a_picked_picture_may_be_the_one_and_its_like_come_near() -> None:
    query = asked(resolved(1, Say("blue")), resolved(2, Like(id_of("yellow", "orange"))))
    assert id_of("yellow", "orange") not in query.excluded
    assert rank(query, "yellow", "orange") < rank(asked(resolved(1, Say("blue"))), "yellow", "orange")


def test_with_but_another_picture_is_wanted_nearer_to_the_words() -> None:
    plain = asked(resolved(1, Like(id_of("red", "white"))))
    changed = asked(resolved(1, Like(id_of("red", "white"), "blue")))
    assert id_of("red", "white") in changed.excluded
    assert rank(changed, "blue", "white") < rank(plain, "blue", "white")
    assert rank(changed, "blue", "white") < rank(changed, "green", "white")


def test_a_picture_that_is_only_like_the_one_described_weighs_less() -> None:
    picked = Like(id_of("red", "white"), "blue")
    alone, beside = asked(resolved(1, picked)), asked(resolved(1, Say("green")), resolved(2, picked))
    assert [part.weight for part in alone.parts] == [0.6, 1.0]
    assert [part.weight for part in beside.parts] == pytest.approx([1.0, 0.24, 0.4])


def test_a_picture_picked_after_another_weighs_what_that_did() -> None:
    query = asked(resolved(1, Like(id_of("red", "red"), "blue")), resolved(2, Like(id_of("blue", "blue"), "green")))
    assert [part.weight for part in query.parts] == [1.0, 0.6, 1.0]


def test_a_correction_is_read_with_the_description_before_it() -> None:
    query = asked(resolved(1, Say("red over blue")), resolved(2, Say("no, blue over red")))
    assert [part.label for part in query.parts] == ["red over blue", "red over blue, blue over red"]


def test_a_picture_takes_the_place_of_the_one_picked_before() -> None:
    query = asked(resolved(1, Like(id_of("red", "red"))), resolved(2, Like(id_of("blue", "blue"))))
    assert [part.turn for part in query.parts] == [2]
    assert rank(query, "blue", "blue") == 0


def test_words_outlast_a_change_of_the_picture() -> None:
    said = resolved(1, Say("white"))
    query = asked(said, resolved(2, Like(id_of("red", "red"))), resolved(3, Like(id_of("blue", "blue"))))
    assert [part.turn for part in query.parts] == [1, 3]


def test_going_on_from_an_earlier_screen_drops_what_was_said_since() -> None:
    turns = [resolved(1, Say("red")), resolved(2, Say("over blue")), resolved(3, Say("with green"))]
    query = asked(*turns, resolved(4, Like(id_of("red", "white"), turn=1)))
    assert sorted({part.turn for part in query.parts}) == [1, 4]


def test_a_picture_may_come_back_when_it_is_picked_again() -> None:
    rejected = resolved(1, Reject((id_of("red", "red"),)))
    assert id_of("red", "red") in asked(rejected).excluded
    assert id_of("red", "red") not in asked(rejected, resolved(2, Like(id_of("red", "red")))).excluded


def test_an_image_of_ones_own_is_like_a_picture_but_excludes_nothing() -> None:
    own = read_picture(GALLERY, id_of("purple", "white"))
    query = asked(resolved(1, Show("mine.png"), pictures=(own,)))
    assert rank(query, "purple", "white") == 0
    assert query.excluded == frozenset()


def test_rejected_pictures_go_and_nothing_else_moves() -> None:
    said = resolved(1, Say("red"))
    query = asked(said, resolved(2, Reject((id_of("red", "red"), id_of("red", "orange")))))
    assert query.excluded == {id_of("red", "red"), id_of("red", "orange")}
    np.testing.assert_array_equal(score_all(GALLERY, query).total_n, score_all(GALLERY, asked(said)).total_n)


def test_none_of_these_rejects_all_that_was_shown() -> None:
    shown = tuple(read_picture(GALLERY, id_of("red", bottom)) for bottom in ("red", "green"))
    assert asked(resolved(1, Reject(), shown=shown)).excluded == {id_of("red", "red"), id_of("red", "green")}


def test_rejected_words_exclude_nothing_but_move_down() -> None:
    shown = (read_picture(GALLERY, id_of("red", "red")),)
    said = resolved(1, Say("red"))
    query = asked(said, resolved(2, Reject(text="blue"), shown=shown))
    assert query.excluded == frozenset()
    assert rank(query, "red", "blue") > rank(asked(said), "red", "blue")


def test_an_answer_counts_by_catalogue_and_in_words() -> None:
    question = Question("What is on top?", attribute="top")
    answered = resolved(2, Answer(question, "blue"), attribute_values={"top": ("blue",)})
    query = asked(resolved(1, Say("red")), answered)
    assert {part.kind for part in query.parts if part.turn == 2} == {"value", "words"}
    assert rank(query, "blue", "red") < rank(query, "red", "blue")


def test_not_knowing_changes_nothing() -> None:
    said = resolved(1, Say("red"))
    query = asked(said, resolved(2, Answer(Question("What is on top?"), "don't know")))
    assert [part.turn for part in query.parts] == [1]
    np.testing.assert_array_equal(score_all(GALLERY, query).total_n, score_all(GALLERY, asked(said)).total_n)


def test_a_kept_attribute_lifts_the_pictures_that_have_it() -> None:
    said = resolved(1, Say("red"))
    kept = resolved(2, Keep("bottom", 1), text="white", attribute_values={"bottom": ("white",)})
    assert rank(asked(said, kept), "green", "white") < rank(asked(said), "green", "white")
    assert rank(asked(said, kept), "red", "white") < rank(asked(said, kept), "red", "red")


def test_every_part_knows_the_turn_it_came_from() -> None:
    query = asked(resolved(4, Say("red, no blue")), resolved(9, Reject((id_of("red", "red"),), "green")))
    assert [part.turn for part in query.parts] == [4, 4, 9]


def test_stepping_leaves_the_old_state_alone() -> None:
    composer = Composer()
    before = composer.step(composer.begin(), resolved(1, Say("red")))
    parts, excluded = before.parts, before.excluded
    composer.step(before, resolved(2, Reject((id_of("red", "red"),), "blue")))
    assert before.parts is parts
    assert before.excluded == excluded == frozenset()


def named_words(texts: Sequence[str]) -> np.ndarray:
    """A direction of its own for every text, so that a vector tells which texts it was made of."""
    return np.stack([np.eye(len(TEXTS), dtype=np.float32)[TEXTS.index(text)] for text in texts])


TEXTS = ["a dog", "a dog.", "it runs", "a dog, in snow", "a dog. it runs", " ".join(["long"] * 40)]


def said(number: int, text: str) -> ResolvedTurn:
    return replace(resolved(number, Say(text)), words=named_words)


def made_of(part: Part) -> dict[str, float]:
    assert part.vector_d is not None
    return {text: float(share) for text, share in zip(TEXTS, part.vector_d, strict=True) if share}


def test_one_description_is_read_as_it_is() -> None:
    assert [made_of(part) for part in asked(said(1, "a dog")).parts] == [{"a dog": 1.0}]


def test_what_is_said_in_two_turns_is_also_read_as_one_text() -> None:
    query = asked(said(1, "a dog."), said(2, "it runs"))
    assert [(part.turn, part.label, part.weight) for part in query.parts] == [(1, "a dog.", 1.0), (2, "it runs", 1.0)]
    assert [made_of(part) for part in query.parts] == [
        {"a dog.": 0.5, "a dog. it runs": 0.5},
        {"it runs": 0.5, "a dog. it runs": 0.5},
    ]


def test_what_a_correction_repeats_is_read_once() -> None:
    query = asked(said(1, "a dog"), said(2, "no, in snow"))
    assert made_of(query.parts[1]) == {"a dog, in snow": 1.0}


def test_only_the_last_descriptions_are_read_together() -> None:
    long = " ".join(["long"] * 40)
    query = asked(said(1, long), said(2, "a dog"), said(3, "it runs"))
    assert [made_of(part) for part in query.parts] == [
        {long: 1.0},
        {"a dog": 0.5, "a dog. it runs": 0.5},
        {"it runs": 0.5, "a dog. it runs": 0.5},
    ]


def test_going_on_from_an_earlier_screen_no_longer_reads_what_was_said_since() -> None:
    back = replace(resolved(3, Like(id_of("red", "white"), turn=1)), words=named_words)
    assert made_of(asked(said(1, "a dog"), said(2, "it runs"), back).parts[0]) == {"a dog": 1.0}


def test_what_is_not_wanted_is_not_read_with_what_is() -> None:
    query = asked(resolved(1, Say("red, no blue")), resolved(2, Say("over white")))
    blue_d = ENCODER.words(["blue"])[0]
    [against] = [part for part in query.parts if part.weight < 0]
    np.testing.assert_array_equal(against.vector_d, blue_d)


def test_clip_t_reads_the_text_of_the_whole_dialogue_at_once() -> None:
    clip = PlainClip("clip-t", text=True, image=False)
    query = asked(resolved(1, Say("red")), resolved(2, Like(id_of("red", "red"), "blue")), retriever=clip)
    assert [(part.kind, part.label) for part in query.parts] == [("words", "red, blue")]
    assert query.adapters == ("drop: clip-t has no use for pictures",)


def test_clip_t_reads_a_but_as_it_was_said() -> None:
    clip = PlainClip("clip-t", text=True, image=False)
    changes = (Change("blue", ("blue", "red")),)
    query = asked(resolved(1, Like(id_of("red", "red"), "blue, shiny"), text="shiny", changes=changes), retriever=clip)
    assert [part.label for part in query.parts] == ["blue, shiny"]


def test_clip_i_reads_the_last_picture_only() -> None:
    clip = PlainClip("clip-i", text=False, image=True)
    turns = [resolved(1, Like(id_of("red", "red"))), resolved(2, Like(id_of("blue", "blue"))), resolved(3, Say("red"))]
    query = asked(*turns, retriever=clip)
    assert [(part.kind, part.turn) for part in query.parts] == [("picture", 2)]
    assert rank(query, "blue", "blue") == 0


def test_clip_ti_is_the_mean_of_both() -> None:
    clip = PlainClip("clip-ti", text=True, image=True)
    query = asked(resolved(1, Say("red")), resolved(2, Like(id_of("blue", "blue"))), retriever=clip)
    words_d, picture_d = ENCODER.words(["red"])[0], read_picture(GALLERY, id_of("blue", "blue")).vectors["global"]
    expected_n = GALLERY.snapshot.matrix_nd @ ((words_d + picture_d) / 2)
    np.testing.assert_allclose(score_all(GALLERY, query).total_n, expected_n, atol=1e-6)


def test_plain_clip_says_which_turns_it_dropped() -> None:
    clip = PlainClip("clip-t", text=True, image=False)
    query = asked(
        resolved(1, Say("red")), resolved(2, Reject(text="blue")), resolved(3, Keep("top", 1)), retriever=clip
    )
    assert query.adapters == ("drop: clip-t has no use for reject", "drop: clip-t has no use for keep")


def test_a_value_asked_for_with_a_picture_goes_when_another_takes_its_place() -> None:
    picked = resolved(
        1, Like(id_of("red", "blue"), "in green"), text="", changes=(Change("green", ("green", "red"), "top"),)
    )
    after = resolved(2, Say("no, orange"), revise=lambda text: "" if text == "green" else text)
    assert {part.kind for part in asked(picked).parts} >= {"contrast", "value"}
    assert [part.label for part in asked(picked, after).parts] == ["this picture", "orange"]
