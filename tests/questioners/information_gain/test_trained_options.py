from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from jaxtyping import Float32

from tests.stand_ins import NothingKnown
from viewfinder.conversation import Answer, Question, Say, Turn
from viewfinder.errors import EncoderMismatch
from viewfinder.questioners import Candidates, PictureProjection
from viewfinder.questioners.information_gain.questioner import InformationGain
from viewfinder.questioners.information_gain.trained_options import (
    MAIN_QUESTION,
    explained_share,
    find_labels_meant,
    limit_things,
    open_options,
    predict_candidates,
    predict_things,
    trained_options,
    update_belief,
)
from viewfinder.questioners.trained import AnswerPredictor, PoolQuestion, QuestionSelector, TrainedQuestions
from viewfinder.weights import Card
from viewfinder.wording.mentions import required_mentions

RAW = "raw-of-tests"

POOL: dict[str, tuple[str, ...]] = {
    "Is it indoors?": ("no", "yes"),
    "Where was this taken?": ("a beach", "a kitchen", "a forest", "a street"),
    "Is there a dog?": ("no", "yes"),
    "Is there a boat?": ("no", "yes"),
    "Is there a chair?": ("no", "yes"),
    "Are there any trees?": ("no", "yes"),
    "What colour is the dog?": ("brown", "black"),
}
"""Questions and answers. A picture is seen as one number for each answer: how likely it is."""

WIDTH = sum(len(answers) for answers in POOL.values())


def pool_question(number: int, text: str, answers: tuple[str, ...]) -> PoolQuestion:
    return PoolQuestion(text, answers, 1 / len(POOL), 1.0, True, 0.9, 0.5, number, required_mentions(text))


def learnt() -> TrainedQuestions:
    """Questions whose answers are what is seen: the logits are the logarithms of a picture's numbers."""
    sizes = [len(answers) for answers in POOL.values()]
    projection = PictureProjection("tests", RAW, WIDTH, lambda raw_ng: raw_ng.astype(np.float32))
    predictor = AnswerPredictor(
        projection, np.eye(WIDTH, dtype=np.float32), np.zeros(WIDTH, np.float32), np.cumsum([0, *sizes])
    )
    zeros = {
        name: np.zeros((1,) * (2 if name.partition("_")[2][1:] else 1))
        for name in QuestionSelector.__dataclass_fields__
    }
    questions = tuple(pool_question(q, text, answers) for q, (text, answers) in enumerate(POOL.items()))
    card = Card(system="questions", preset="", encoder=RAW)
    return TrainedQuestions(questions, "sentences-of-tests", card, QuestionSelector(**zeros), predictor)


@dataclass
class Seen(NothingKnown):
    """A lookup of pictures that are seen as their answers' chances."""

    chances: Sequence[Sequence[float]]
    raw_version: str = RAW
    sentences_version: str = "sentences-of-tests"

    def project(self, projection: PictureProjection) -> Float32[np.ndarray, "c k"]:
        if projection.raw_version != self.raw_version:
            raise EncoderMismatch("other vectors")
        return np.log(np.array(self.chances, np.float32))

    def captions(self) -> Sequence[tuple[str, ...]]:
        return [()] * len(self.chances)


def sure(at: int, count: int) -> list[float]:
    return [0.94 if a == at else 0.06 / (count - 1) for a in range(count)]


def picture(indoors: int, place: int, dog: int, boat: int, chair: int, trees: int) -> list[float]:
    answers = zip((indoors, place, dog, boat, chair, trees, 0), (len(a) for a in POOL.values()), strict=True)
    return [chance for at, count in answers for chance in sure(at, count)]


BEACH_DOG, BEACH_BOAT = picture(0, 0, 1, 0, 0, 0), picture(0, 0, 0, 1, 0, 0)
KITCHEN, FOREST = picture(1, 1, 0, 0, 1, 0), picture(0, 2, 1, 0, 0, 1)
FOUR = [BEACH_DOG, BEACH_BOAT, KITCHEN, FOREST]


def view_of(pictures: Sequence[Sequence[float]], *turns: Turn, asked: Sequence[str] = ()) -> Candidates:
    alike_c = np.full(len(pictures), 1 / len(pictures))
    told = [turn for turn in turns if isinstance(turn, Answer)]
    return Candidates(
        alike_c,
        np.zeros((len(pictures), 2), np.float32),
        said=tuple(turn.text for turn in turns if isinstance(turn, Say | Answer)),
        asked=(*(turn.question for turn in told), *map(Question, asked)),
        turns=turns,
        lookup=Seen(pictures),
    )


def answered(question: str, text: str) -> Answer:
    return Answer(Question(question), text)


def options_of(view: Candidates) -> dict[str, float]:
    known = predict_candidates(view, learnt())
    assert known is not None
    return {option.text: option.gain for option in trained_options(known, least_gain=-1.0)}


def test_a_learnt_question_tells_what_its_foretold_answers_tell() -> None:
    # Three alike: one is indoors, surely enough. 0.94 with an error of 0.05, half of which meets the truth: 0.918.
    view = view_of([BEACH_DOG, FOREST, KITCHEN])

    def entropy(p: float) -> float:
        return float(-p * np.log2(p) - (1 - p) * np.log2(1 - p))

    there = (0.918 + 2 * 0.082) / 3
    assert options_of(view)["Is it indoors?"] == pytest.approx(entropy(there) - entropy(0.918), abs=1e-5)


def test_a_question_that_needs_what_was_not_said_waits() -> None:
    assert "What colour is the dog?" not in options_of(view_of(FOUR))
    assert "What colour is the dog?" in options_of(view_of(FOUR, Say("a dog")))


def test_what_was_asked_is_no_option_any_more() -> None:
    assert "Is there a boat?" not in options_of(view_of(FOUR, asked=["Can you see any boats in the picture?"]))


def test_an_answer_makes_the_candidates_likelier_that_would_give_it() -> None:
    view = view_of(FOUR, Say("a picture"), answered("Where was this taken?", "on a beach"))
    seen_ck = np.log(np.array(FOUR, np.float32))
    # Two beaches at 0.94, two others at 0.02.
    assert update_belief(view, learnt(), seen_ck).tolist() == pytest.approx([0.94 / 1.92] * 2 + [0.02 / 1.92] * 2)


def test_dont_know_and_unknown_words_change_nothing() -> None:
    for said in ("don't know", "in Wonderland"):
        view = view_of(FOUR, answered("Where was this taken?", said))
        assert update_belief(view, learnt(), np.log(np.array(FOUR, np.float32))).tolist() == [0.25] * 4


@pytest.mark.parametrize(
    ("answer", "labels", "meant"),
    [
        ("No, it isn't.", ("no", "yes"), [0]),
        ("two dogs", ("a dog", "a cat"), [0]),
        ("navy blue", ("blue", "navy blue"), [1]),
        ("who knows", ("no", "yes"), []),
    ],
)
def test_answers_in_free_words_come_to_known_ones(answer: str, labels: tuple[str, ...], meant: list[int]) -> None:
    assert find_labels_meant(answer, labels) == meant


def test_a_question_about_the_same_is_an_echo_and_about_something_else_is_not() -> None:
    rng = np.random.default_rng(0)
    light_c = rng.random(100).astype(np.float32)
    day_ca = np.column_stack([light_c, 1 - light_c])
    dark_ca = np.column_stack([0.9 - 0.8 * light_c, 0.1 + 0.8 * light_c])
    dog_c = rng.random(100).astype(np.float32)
    assert explained_share(dark_ca, day_ca) == pytest.approx(1.0, abs=1e-3)
    assert explained_share(np.column_stack([dog_c, 1 - dog_c]), day_ca) < 0.2
    assert explained_share(dark_ca, day_ca[:, :0]) == 0.0


def test_learnt_questions_are_asked_instead_of_tags() -> None:
    asked = InformationGain(trained=learnt()).ask(view_of(FOUR * 4))
    assert asked is not None
    assert asked.text in {*POOL, MAIN_QUESTION}
    assert asked.attribute is None


def test_a_whole_dialogue_repeats_nothing_and_ends() -> None:
    questioner = InformationGain(trained=learnt())
    turns: tuple[Turn, ...] = (Say("a picture"),)
    every = [picture(*chosen) for chosen in product(range(2), range(4), *[range(2)] * 4)]
    while question := questioner.ask(view_of(every, *turns)):
        turns = (*turns, Answer(question, "don't know"))
    texts = [turn.question.text for turn in turns if isinstance(turn, Answer)]
    assert len(texts) == len(set(texts)) >= 6
    assert {"Where was this taken?", "Is there a dog?"} <= {*texts}


def test_the_same_view_is_asked_the_same() -> None:
    first, second = (InformationGain(trained=learnt()).ask(view_of(FOUR * 4)) for _ in range(2))
    assert first == second


def test_trained_questions_of_another_encoder_are_an_error() -> None:
    view = replace(view_of(FOUR), lookup=Seen(FOUR, raw_version="another"))
    with pytest.raises(EncoderMismatch):
        InformationGain(trained=learnt()).ask(view)


# Open questions


def test_the_main_thing_tells_more_than_each_thing_by_itself() -> None:
    view = view_of(FOUR * 4)
    known = predict_candidates(view, learnt())
    assert known is not None
    [main] = open_options(view, known)
    assert main.gain > max(options_of(view)[text] for text in POOL if text.startswith(("Is there", "Are there")))
    assert main.gain < 2.0


def test_things_are_named_as_they_were_asked_for() -> None:
    known = predict_candidates(view_of(FOUR), learnt())
    assert known is not None
    assert predict_things(known)[0] == ("a dog", "a boat", "a chair", "trees")


def test_yes_is_no_commoner_than_things_are_in_pictures() -> None:
    # Two things of even odds, one in all is likely: the odds stay. Of four, one in all: each a quarter.
    assert limit_things(np.array([[0.5, 0.5]]), 1.0).tolist() == [[0.5, 0.5]]
    assert limit_things(np.full((1, 4), 0.5), 1.0).tolist() == [pytest.approx([0.25] * 4)]


def test_making_yes_rarer_keeps_the_order() -> None:
    rare_ct = limit_things(np.array([[0.9, 0.8], [0.5, 0.6]]), 1.0)
    assert rare_ct.sum(axis=1).mean() == pytest.approx(1.0)
    assert (rare_ct[0] > rare_ct[1]).all()


def test_the_main_thing_that_was_named_is_believed_and_nothing_is_denied() -> None:
    known = predict_candidates(view_of(FOUR, answered(MAIN_QUESTION, "a dog")), learnt())
    untold = predict_candidates(view_of(FOUR, answered(MAIN_QUESTION, "don't know")), learnt())
    plain = predict_candidates(view_of(FOUR), learnt())
    assert known is not None and untold is not None and plain is not None
    assert known.belief_c.argmax() == 0
    assert untold.belief_c.tolist() == plain.belief_c.tolist()


def test_too_few_things_make_no_open_question() -> None:
    asked = ["Is there a dog?", "Is there a boat?"]
    view = view_of(FOUR, asked=asked)
    known = predict_candidates(view, learnt())
    assert known is not None
    assert [*open_options(view, known)] == []
