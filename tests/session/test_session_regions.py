"""Live searches with a retriever that compares with many vectors a picture: what a turn shows, says and costs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float, Float32

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Answer, Conversation, Question, Reject, Say
from viewfinder.encoders.base import Calibration
from viewfinder.errors import EncoderMismatch
from viewfinder.query import Part, Query, RawPictures, Reads, RegionSpace, ResolvedTurn
from viewfinder.questioners.photographs import facets, label_columns
from viewfinder.retrievers import Composer, Retriever
from viewfinder.search import late_interaction as scores
from viewfinder.search.gallery import Gallery
from viewfinder.search.hits import Hits
from viewfinder.search.judging import judge_texts
from viewfinder.session.session import Session
from viewfinder.testing import COLOURS, ColourEncoder, TinyRaw, tiny_snapshot

Array = Float[np.ndarray, "..."]

NAMES = list(COLOURS)
LOOKS = [(top, bottom) for top in NAMES for bottom in NAMES]
ENCODER = ColourEncoder()


def as_units(raw: RawPictures) -> Float32[np.ndarray, "n k d"]:
    assert raw.regions_nre is not None
    long_nre = raw.regions_nre.astype(np.float32)
    return np.asarray(long_nre / np.maximum(np.linalg.norm(long_nre, axis=-1, keepdims=True), 1e-6))


COLOUR = RegionSpace("colour", ENCODER.raw_version, as_units, regions=36, width=3)


@dataclass(frozen=True)
class Looking:
    """Every sentence is a slot that looks for its colour anywhere; rejected pictures go, other turns are dropped."""

    space: RegionSpace = COLOUR
    compare: Literal["late_interaction", "rank_fusion"] = "late_interaction"
    factor: float = 1.0
    name: str = "looking"

    @property
    def reads(self) -> Reads:
        return Reads(self.space)

    def begin(self) -> Query:
        return Query((), self.space, self.compare)

    def step(self, state: Query, turn: ResolvedTurn) -> Query:
        match turn.turn:
            case Say(text):
                assert turn.sentences is not None
                mean_3 = turn.sentences.encode([text])[0].reshape(-1, 3).mean(axis=0)
                slot = Part("regions", turn.number, text, 1.0, self.factor * mean_3 / np.linalg.norm(mean_3))
                return replace(state, parts=(*state.parts, slot))
            case Reject(pictures):
                return replace(state, excluded=state.excluded | set(pictures))
        return replace(state, adapters=(*state.adapters, f"drop: turn {turn.number}"))

    def query(self, state: Query) -> Query:
        return state


def gallery_of(looks: Sequence[tuple[str, str]] = LOOKS, attributes: bool = False) -> Gallery:
    known = [{"top": (top,)} for top, _ in looks] if attributes else None
    return Gallery(tiny_snapshot(looks, known), ENCODER, TinyRaw(looks))


GALLERY = gallery_of(attributes=True)


def scores_of_all(live: Session) -> np.ndarray[Any, np.dtype[np.float32]]:
    ranking = live.ranking()
    return ranking.scores.at(np.arange(len(ranking.gallery)))


def session(retriever: Retriever[Any] | None = None, gallery: Gallery = GALLERY, **kwargs: Any) -> Session:
    return Session(gallery, retriever or Looking(), None, **{"memo": ByteCache(), **kwargs})


def ids(hits: Hits) -> list[str]:
    return [hit.id for hit in hits]


def test_the_looking_retriever_is_a_retriever() -> None:
    assert isinstance(Looking(), Retriever)


def test_every_slot_is_shown_on_the_regions_it_looks_at() -> None:
    live = session()
    live.say("green")
    hit = live.say("purple")[0]
    assert set(LOOKS[int(hit.id[1:])]) == {"green", "purple"}
    regions = json.loads(json.dumps(hit.why))["regions"]
    assert regions["boxes"][0] == [0, 0, 0.167, 0.167]
    assert [(slot["said"], slot["turn"]) for slot in regions["slots"]] == [("green", 1), ("purple", 2)]
    upper = [sum(slot["weights"][:18]) for slot in regions["slots"]]
    assert (upper[0] > 0.9) == (LOOKS[int(hit.id[1:])][0] == "green")
    assert abs(upper[0] - upper[1]) > 0.8  # the two look at different halves


@settings(deadline=None, max_examples=10)
@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4), st.sampled_from(["late_interaction", "rank_fusion"]))
def test_slots_and_turns_add_up_to_the_score(said: list[str], compare: Any) -> None:
    live = session(Looking(compare=compare), n=3)
    for text in said[:-1]:
        live.say(text)
    for hit in live.say(said[-1]):
        slots = hit.why["regions"]["slots"]
        assert sum(slot["adds"] for slot in slots) == pytest.approx(hit.score, abs=5e-4)
        assert sum(turn["adds"] for turn in hit.why["turns"]) == pytest.approx(hit.score, abs=5e-4)
        assert all(sum(slot["weights"]) == pytest.approx(1, abs=1e-9) for slot in slots)


def test_hits_of_one_vector_a_picture_have_no_regions() -> None:
    assert set(session(Composer()).say("red")[0].why) == {"turns"}


def test_pictures_that_were_rejected_go_and_filters_fill_the_page() -> None:
    live = session(where={"top": "blue"}, n=8)
    first = live.say("blue")
    assert [LOOKS[int(hit.id[1:])][0] for hit in first] == ["blue"] * 8
    hits = live.reject(first[0])
    assert first[0].id not in ids(hits)
    assert len(hits) == 7
    assert live.rank_of(first[0]) == len(LOOKS) - 1


def test_a_turn_that_was_not_taken_as_given_is_said() -> None:
    live = session()
    live.say("red")
    live.like("p001")
    assert live.adapters == ("drop: turn 2",)


def test_ranks_are_exact_where_scores_on_screen_need_not_be(monkeypatch: pytest.MonkeyPatch) -> None:
    gallery = gallery_of([LOOKS[at % 64] for at in range(300)])
    exact, near = (session(gallery=gallery) for _ in range(2))
    exact.say("red")
    shown = exact.say("purple")
    monkeypatch.setattr(scores, "MAX_EXACT", 100)
    near.say("red")
    assert ids(near.say("purple")) == ids(shown)
    names = gallery.snapshot.ids[::23]
    monkeypatch.undo()
    expected = [exact.rank_bounds(name) for name in names]
    monkeypatch.setattr(scores, "MAX_EXACT", 100)
    assert [near.rank_bounds(name) for name in names] == expected


@pytest.mark.parametrize("compare", ["late_interaction", "rank_fusion"])
def test_copies_tie_at_best_and_at_worst(compare: Any) -> None:
    live = session(Looking(compare=compare), gallery_of([*LOOKS[:8], *LOOKS[:8]]))
    live.say("red")  # the first picture is red all over, and its copy
    assert [live.rank_bounds(name) for name in ("p000", "p008")] == [(0, 1), (0, 1)]


def test_going_back_to_the_start_finds_nothing_and_back_again_the_same() -> None:
    live = session()
    live.say("green")
    hits = live.say("blue")
    assert list(live.back_to(0)) == []
    assert ids(live.back_to(2)) == ids(hits)


def test_retrievers_of_one_name_and_other_weights_do_not_share_their_states() -> None:
    memo = ByteCache()
    other = Looking(replace(COLOUR, name="anti-colour"), factor=-1.0)
    first, second, alone = session(memo=memo), session(other, memo=memo), session(other)
    first.say("red")
    assert ids(second.say("red")) == ids(alone.say("red"))
    assert ids(second.back_to(1)) != ids(first.back_to(1))


def test_a_system_of_another_encoder_is_refused_and_the_conversation_stays_as_it_was() -> None:
    live = session(Looking(replace(COLOUR, raw_version="photographs-3")))
    with pytest.raises(EncoderMismatch, match="trained on photographs-3"):
        live.say("red")
    assert len(live.conversation) == 0


def test_questions_go_by_the_scores_of_regions() -> None:
    live = Session(GALLERY, Looking(), "information_gain", memo=ByteCache())
    live.say("something")
    assert live.question is not None
    assert live.question.choices


@pytest.mark.parametrize("count", [0, 1])
def test_a_collection_of_no_picture_or_one_is_searched_without_a_warning(count: int) -> None:
    hits = session(gallery=gallery_of(LOOKS[:count])).say("red")
    assert len(hits) == count
    assert hits.verdict == ("found" if count else "nothing")  # the one is red over red


# -- answers that count as evidence, whatever the retriever

WHICH_TOP = Question("Which top is it?", ("red", "blue", "something else", "don't know"), attribute="top")
RETRIEVERS: list[Retriever[Any]] = [Composer(), Looking(), Looking(compare="rank_fusion")]
of_each = pytest.mark.parametrize("retriever", RETRIEVERS, ids=["composer", "regions", "rank fusion"])


@of_each
def test_an_answer_that_was_chosen_moves_what_shows_it_up_and_all_else_down(retriever: Retriever[Any]) -> None:
    live = session(retriever)
    live.say("green")
    before_n = scores_of_all(live)
    hits = live.take(Answer(WHICH_TOP, "red"))
    # Of 64 pictures 8 are red: answered so by 0.98 of them, and by 0.01 of the others; by 0.13125 of all.
    red, other = (np.log(likely / 0.13125) / live.ranking().query.sharpness for likely in (0.98, 0.01))
    expected_n = [red if top == "red" else other for top, _ in LOOKS]
    np.testing.assert_allclose(scores_of_all(live) - before_n, expected_n, atol=1e-5)
    assert [part.turn for part in live.ranking().query.parts] == [1]  # the retriever did not hear of it
    for hit in hits:
        said, answered = hit.why["turns"]
        assert (answered["turn"], answered["parts"]) == (2, ["Which top is it? red"])
        assert answered["adds"] == pytest.approx(red if LOOKS[int(hit.id[1:])][0] == "red" else other, abs=1e-3)
        assert said["adds"] + answered["adds"] == pytest.approx(hit.score, abs=1e-3)


@of_each
@pytest.mark.parametrize("nothing", ["", "don't know"])
def test_who_skips_or_does_not_know_changes_no_score(retriever: Retriever[Any], nothing: str) -> None:
    live = session(retriever)
    live.say("green")
    before_n = scores_of_all(live)
    live.take(Answer(WHICH_TOP, nothing))
    assert live.ranking().query.evidence == ()
    np.testing.assert_array_equal(scores_of_all(live), before_n)


def test_words_of_ones_own_are_heard_by_the_retriever_and_count_besides() -> None:
    live = session(Composer())
    live.say("green")
    hits = live.take(Answer(WHICH_TOP, "a red one"))
    assert [evidence.turn for evidence in live.ranking().query.evidence] == [2]
    assert "a red one" in [part.label for part in live.ranking().query.parts if part.turn == 2]
    assert sum(turn["adds"] for turn in hits[0].why["turns"]) == pytest.approx(hits[0].score, abs=1e-3)


@of_each
def test_going_back_takes_evidence_away_and_a_kept_conversation_ranks_alike(retriever: Retriever[Any]) -> None:
    live = session(retriever)
    first = live.say("green")
    answered = live.take(Answer(WHICH_TOP, "red"))
    assert list(live.back_to(1)) == list(first) != list(answered)
    kept = json.loads(json.dumps(live.conversation.to_json()))
    again = session(retriever, conversation=Conversation.from_json(kept))
    assert list(again.back_to(2)) == list(answered)


@of_each
@pytest.mark.parametrize("words", ["green over blue", "a submarine"])
def test_whether_it_is_here_is_judged_alike_whichever_retriever_looks(retriever: Retriever[Any], words: str) -> None:
    by_score = (0.0,) * 8 + (20.0, -8.0)
    known = Calibration(by_score, by_score, (0.5, 0.5), np.zeros(49, np.float32))
    gallery = Gallery(GALLERY.snapshot, ColourEncoder(calibration=known), TinyRaw(LOOKS))
    live = session(retriever, gallery)
    there = words != "a submarine"
    assert (live.say(words).verdict != "nothing") == there
    # An answer that is chosen says more, and nothing else is looked for.
    assert (live.take(Answer(WHICH_TOP, "red")).verdict != "nothing") == there
    ranking = live.ranking()
    assert ranking.query.evidence
    judged = judge_texts(ranking.gallery, (words,), ranking.query, ranking.scores)
    assert judged is not None
    vector_d = ENCODER.words([words])[0]
    said_n = gallery.snapshot.matrix_nd @ vector_d - gallery.measures.background_n
    np.testing.assert_allclose(judged.scores_at(np.arange(len(gallery))), said_n, atol=1e-6)


def test_a_picture_that_a_conversation_goes_on_from_takes_back_what_was_answered_since() -> None:
    live = session(Composer())
    live.say("green")
    live.take(Answer(WHICH_TOP, "red"))
    live.like("p001", turn=1)
    assert not live.ranking().query.evidence
    live.back_to(2)
    live.like("p001", turn=2)
    assert [evidence.turn for evidence in live.ranking().query.evidence] == [2]


def test_an_answer_about_a_column_that_has_gone_is_read_as_words() -> None:
    live = session(Composer())
    live.say("green")
    live.take(Answer(WHICH_TOP, "red"))
    later = session(Composer(), gallery_of(), conversation=live.conversation)
    assert later.ranking().query.evidence == ()
    assert [part.label for part in later.ranking().query.parts if part.turn == 2] == ["red"]


@dataclass(frozen=True)
class GreenGrass:
    """Labels that are foretold by the colour of the lower half: "on grass" where it is green."""

    raw_version: str = ENCODER.raw_version
    vectors_version: str = ENCODER.version
    fingerprint: str = "green-grass"
    labels: tuple[str, ...] = tuple(label for facet in facets() for label in facet.labels)

    def chances(self, vectors_nd: Array) -> Array:
        green = np.argmax(vectors_nd[:, -3:], axis=1) == 1
        chances_nl = np.full((len(vectors_nd), len(self.labels)), 0.02, np.float32)
        place = next(facet for facet in facets() if facet.name == "place")
        at = label_columns()["place"].start + np.array([place.labels.index(x) for x in ("on grass", "on a beach")])
        chances_nl[:, at] = np.where(green[:, None], [0.9, 0.02], [0.02, 0.9])
        return chances_nl


@of_each
def test_an_answer_about_a_photograph_counts_as_its_question_was_chosen(
    retriever: Retriever[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("evidence", "chances"):
        monkeypatch.setattr(f"viewfinder.session.{module}.photograph_labels", GreenGrass)
    greens = [(top, bottom) for top in NAMES for bottom in ("green", "red")]
    live = Session(gallery_of(greens), retriever, "information_gain", n=16, memo=ByteCache())
    live.say("something")
    assert live.question is not None
    assert live.question.attribute == "place"
    assert {*live.question.choices} >= {"on grass", "on a beach"}
    shown = dict(zip(live.question.choices, live.question.examples, strict=True))
    assert greens[int(shown["on grass"][1:])][1] == "green"
    assert greens[int(shown["on a beach"][1:])][1] == "red"
    before_n = scores_of_all(live)
    live.answer("on grass")
    added_n = scores_of_all(live) - before_n
    assert all((added > 0) == (bottom == "green") for added, (_, bottom) in zip(added_n, greens, strict=True))
