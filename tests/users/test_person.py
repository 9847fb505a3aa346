"""A person in a session: what they say when, and when they leave."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.conversation import Answer, Like, Question, Say, Turn
from viewfinder.data.truth import PictureTruth
from viewfinder.users import (
    Oracle,
    Person,
    Screen,
    SentenceDescriber,
    SimulatedUser,
    SpeakingStyle,
    TruthComparer,
    truth_sentences,
)
from viewfinder.wording.replies import is_dont_know
from viewfinder.worlds.records import picture_truth
from viewfinder.worlds.scene import sample_scene

TRUTHS = {truth.image: truth for truth in (picture_truth(sample_scene(seed=6, number=n)) for n in range(1, 13))}
PICTURES = sorted(TRUTHS)
QUESTIONS = tuple(Question(text) for text in ("Is there a dog?", "How many things are there?", "Where is it?"))


def person(style: SpeakingStyle | None = None, truths: dict[str, PictureTruth] = TRUTHS) -> Person:
    style = style or SpeakingStyle()
    comparer = TruthComparer(truths, seed=style.seed, most=style.verbosity)
    return Person(
        partial(SentenceDescriber, truth_sentences(truths, seed=style.seed)),
        answerer=Oracle(truths),
        comparer=comparer,
        likeness=comparer.likeness,
        style=style,
    )


def dialogue(who: SimulatedUser, wanted: str, *, rounds: int = 8, shown: tuple[str, ...] = ()) -> list[Turn | None]:
    """A session in which nothing new is ever shown."""
    asked = (None, *QUESTIONS) * rounds
    return [who.reply(wanted, Screen(shown if at else (), asked[at], at)) for at in range(rounds)]


def test_first_a_description_then_answers(beach: PictureTruth) -> None:
    who = person(SpeakingStyle(policy="answers"), {"beach.jpg": beach})
    said = dialogue(who, "beach.jpg", rounds=5)
    assert said[0] == Say("a large black dog on the beach")
    assert said[1:4] == [
        Answer(QUESTIONS[0], "yes"),
        Answer(QUESTIONS[1], "four"),
        Answer(QUESTIONS[2], "a beach"),
    ]
    assert isinstance(said[4], Say) and said[4] != said[0]
    assert isinstance(who, SimulatedUser) and who.name == "person"


def test_what_is_most_like_it_is_compared_with(beach: PictureTruth, evening: PictureTruth) -> None:
    far = picture_truth(sample_scene(seed=6, number=1))
    truths = {"beach.jpg": beach, "evening.jpg": evening, "far.jpg": far}
    who = person(SpeakingStyle(policy="compares", verbosity=9), truths)
    said = who.reply("beach.jpg", Screen(("far.jpg", "evening.jpg"), QUESTIONS[0], 0))
    assert isinstance(said, Like) and said.picture == "evening.jpg"
    assert "is by day instead of at sunset" in said.text and "has a second dog in the lower left" in said.text


def test_who_only_describes_answers_nothing() -> None:
    said = dialogue(person(SpeakingStyle(policy="describes")), PICTURES[0], shown=(PICTURES[1],))
    assert all(isinstance(turn, Say) for turn in said)


def test_mixed_dialogue_has_all_three_kinds_of_turns() -> None:
    who = person(SpeakingStyle(seed=2))
    said = dialogue(who, PICTURES[0], rounds=24, shown=(PICTURES[1],))
    assert {type(turn) for turn in said} == {Say, Answer, Like}


def test_a_comparison_is_not_made_twice_unless_there_is_nothing_else() -> None:
    shown = (PICTURES[1],)
    mixed = [
        turn
        for turn in dialogue(person(SpeakingStyle(seed=2)), PICTURES[0], rounds=40, shown=shown)
        if isinstance(turn, Like)
    ]
    assert len(mixed) == len(set(mixed)) == 1
    stubborn = dialogue(person(SpeakingStyle(policy="compares")), PICTURES[0], rounds=5, shown=shown)
    assert len(set(stubborn[1:])) == 1


def test_a_picture_that_is_found_ends_the_dialogue() -> None:
    who = person(SpeakingStyle(looks_at=2))
    wanted, other, third = PICTURES[:3]
    assert who.reply(wanted, Screen((), None, 0)) is not None
    assert who.reply(wanted, Screen((other, third, wanted), None, 1)) is not None  # third: not looked at
    assert who.reply(wanted, Screen((other, wanted), None, 2)) is None


def test_who_goes_on_compares_even_what_is_wanted_with_itself() -> None:
    who = person(SpeakingStyle(looks_at=1, policy="compares", goes_on=True))
    wanted, other = PICTURES[:2]
    turns = [who.reply(wanted, Screen((shown,), None, number)) for number, shown in enumerate((other, wanted, other))]
    assert [turn.picture for turn in turns if isinstance(turn, Like)] == [other, wanted, other]


def test_impatience_ends_a_dialogue_without_progress() -> None:
    shown = (PICTURES[1],)
    said = dialogue(person(SpeakingStyle(patience=3)), PICTURES[0], rounds=6, shown=shown)
    # Round 0 shows nothing, round 1 something new, rounds 2 to 4 the same again.
    assert [turn is None for turn in said[:5]] == [False, False, False, False, True]
    assert None not in dialogue(person(SpeakingStyle()), PICTURES[0], rounds=40, shown=shown)


def test_progress_keeps_a_person_patient() -> None:
    wanted = PICTURES[0]
    likeness = TruthComparer(TRUTHS).likeness
    better = sorted(PICTURES[1:], key=lambda picture: likeness(picture, wanted))
    grows = [picture for at, picture in enumerate(better) if at == 0 or likeness(picture, wanted) > likeness(
        better[at - 1], wanted)]  # fmt: skip
    who = person(SpeakingStyle(patience=1))
    said = [who.reply(wanted, Screen((picture,), None, at)) for at, picture in enumerate(grows)]
    assert len(grows) >= 3 and None not in said
    assert who.reply(wanted, Screen((grows[-1],), None, len(grows))) is None


def test_a_question_is_skipped_by_who_skips_all() -> None:
    assert not any(isinstance(turn, Answer) for turn in dialogue(person(SpeakingStyle(skips=1.0)), PICTURES[0]))


def test_who_forgets_everything_knows_nothing_and_repeats_themselves() -> None:
    said = dialogue(person(SpeakingStyle(forgetfulness=1.0, policy="answers")), PICTURES[0], rounds=12)
    assert all(is_dont_know(turn.text) for turn in said if isinstance(turn, Answer))
    assert len({turn.text for turn in said if isinstance(turn, Say)}) == 1


def test_verbose_people_say_more_at_once(beach: PictureTruth) -> None:
    truths = {"beach.jpg": beach}
    quiet = person(SpeakingStyle(verbosity=1), truths).reply("beach.jpg", Screen((), None, 0))
    wordy = person(SpeakingStyle(verbosity=4), truths).reply("beach.jpg", Screen((), None, 0))
    assert isinstance(quiet, Say) and isinstance(wordy, Say)
    assert wordy.text.startswith(quiet.text) and wordy.text.count(quiet.text) == 1
    assert len(wordy.text) > 2 * len(quiet.text)


def test_without_an_answerer_nothing_is_known_and_without_a_comparer_nothing_compared() -> None:
    who = Person(partial(SentenceDescriber, truth_sentences(TRUTHS)), style=SpeakingStyle(policy="compares"))
    assert isinstance(who.reply(PICTURES[0], Screen((PICTURES[1],), QUESTIONS[0], 0)), Say)
    who = Person(partial(SentenceDescriber, truth_sentences(TRUTHS)))
    assert who.reply(PICTURES[0], Screen((), QUESTIONS[0], 0)) == Answer(QUESTIONS[0], "don't know")


NOISE = st.sampled_from([0.0, 0.3, 1.0])
MANNERS = st.builds(
    SpeakingStyle,
    noise=NOISE,
    vagueness=NOISE,
    forgetfulness=NOISE,
    skips=NOISE,
    verbosity=st.integers(1, 3),
    seed=st.integers(0, 99),
    policy=st.sampled_from(["mixed", "answers", "compares", "describes"]),
)


@given(MANNERS, st.sampled_from(PICTURES))
@settings(max_examples=40, deadline=None)
def test_the_same_seed_is_the_same_dialogue_whatever_was_talked_of_before(style: SpeakingStyle, wanted: str) -> None:
    other = PICTURES[0] if wanted != PICTURES[0] else PICTURES[1]
    fresh, used = person(style), person(style)
    first = dialogue(fresh, wanted, shown=(other,))
    dialogue(used, wanted, rounds=3), dialogue(used, other)
    assert dialogue(used, wanted, shown=(other,)) == first


def test_dialogues_about_several_pictures_may_be_led_side_by_side() -> None:
    one, other = PICTURES[:2]
    apart = dialogue(person(), one), dialogue(person(), other)
    who, asked = person(), (None, *QUESTIONS) * 8
    together = [
        (who.reply(one, Screen((), q, at)), who.reply(other, Screen((), q, at))) for at, q in enumerate(asked[:8])
    ]
    assert (list(next(zip(*together, strict=True))), [turn for _, turn in together]) == apart


@given(st.sampled_from(PICTURES), st.integers(0, 50))
@settings(max_examples=40, deadline=None)
def test_with_all_noise_every_answer_is_wrong(wanted: str, seed: int) -> None:
    who = person(SpeakingStyle(noise=1.0, seed=seed, policy="answers"))
    for turn in dialogue(who, wanted):
        if isinstance(turn, Answer):
            true = Oracle(TRUTHS).answer(turn.question, wanted)
            assert turn.text != true or is_dont_know(true)


@pytest.mark.parametrize(("noise", "low", "high"), [(0.0, 0.0, 0.0), (0.25, 0.15, 0.35), (1.0, 1.0, 1.0)])
def test_noise_is_the_share_of_wrong_answers(noise: float, low: float, high: float) -> None:
    question, wrong = QUESTIONS[1], 0
    for seed in range(200):
        turn = person(SpeakingStyle(noise=noise, seed=seed)).reply(PICTURES[0], Screen((), question, 0))
        assert isinstance(turn, Answer)
        wrong += turn.text != Oracle(TRUTHS).answer(question, PICTURES[0])
    assert low <= wrong / 200 <= high
