from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from viewfinder.conversation import Question, Say
from viewfinder.encoders.starter.encoder import RAW_VERSION
from viewfinder.errors import BadInput, EncoderMismatch, LanguageModelFailed, ViewfinderError
from viewfinder.questioners.base import Candidates, NoQuestions, Questioner, prepare_questioner
from viewfinder.questioners.information_gain.questioner import InformationGain
from viewfinder.questioners.names import Fallback, find_training_list
from viewfinder.questioners.photographs import photograph_labels
from viewfinder.weights import TrainingList

VIEW = Candidates(
    np.array([0.5, 0.5]),
    np.zeros((2, 3)),
    said=("a dog",),
    asked=(Question("Is it big?"),),
    turns=(Say("a dog"),),
)
SECOND = Question("Is it indoors?", ("yes", "no"), "second", "splits them")


@dataclass(frozen=True)
class Asks:
    """A questioner that does as it is told."""

    how: Callable[[], Question | None]
    name: str = "first"
    prepared: list[str] = field(default_factory=list)

    def ask(self, view: Candidates) -> Question | None:
        return self.how()

    def prepare(self) -> None:
        self.prepared.append(self.name)


def raises(error: ViewfinderError) -> Callable[[], Question | None]:
    def ask() -> Question | None:
        raise error

    return ask


def after(how: Callable[[], Question | None], *, may_stop: bool = False) -> Question | None:
    return Fallback(Asks(how), Asks(lambda: SECOND, "second"), may_stop).ask(VIEW)


def test_a_question_that_will_do_is_asked_as_it_is() -> None:
    question = Question("Is it raining?", by="first", why="it said so")
    assert after(lambda: question) is question


@pytest.mark.parametrize(
    ("how", "wrong"),
    [
        (raises(LanguageModelFailed("tiny is still loading")), "failed (tiny is still loading)"),
        (raises(EncoderMismatch("other vectors")), "failed (other vectors)"),
        (lambda: None, "has nothing to ask"),
        (lambda: Question("so, is it big?"), "repeats itself"),
        (lambda: Question("Is there a dog?"), "repeats itself"),
    ],
)
def test_otherwise_the_second_asks_and_says_why(how: Callable[[], Question | None], wrong: str) -> None:
    question = after(how)
    assert question is not None
    assert (question.text, question.choices, question.by) == (SECOND.text, SECOND.choices, "second")
    assert question.why == f"first {wrong}: asked by second instead; splits them"


def test_one_that_may_stop_or_repeat_is_replaced_only_where_it_fails() -> None:
    assert after(lambda: None, may_stop=True) is None
    again = Question("Is it big?")
    assert after(lambda: again, may_stop=True) is again
    failed = after(raises(BadInput("no")), may_stop=True)
    assert failed is not None and failed.by == "second"


@dataclass(frozen=True)
class Learnt(NoQuestions):
    """A questioner with a training list."""

    trained_on: str = ""


def test_who_may_ask_instead_counts_among_who_was_trained() -> None:
    one, other = (Learnt(trained_on=TrainingList.of([name]).encode()) for name in ("1", "2"))
    both = TrainingList.of(["1", "2"]).encode()
    assert find_training_list(Fallback(one, other), "raw-1") == both
    assert find_training_list(Fallback(one, Learnt()), "raw-1") == ""
    assert find_training_list(NoQuestions(), "raw-1") is None


def test_the_labels_of_photographs_count_where_the_encoder_s_vectors_tell_them() -> None:
    assert find_training_list(InformationGain(), "raw-1") is None
    assert photograph_labels().raw_version == RAW_VERSION
    assert find_training_list(InformationGain(), RAW_VERSION) == photograph_labels().trained_on


def test_where_neither_has_a_question_nothing_is_asked() -> None:
    assert Fallback(NoQuestions(), NoQuestions()).ask(VIEW) is None


def test_errors_of_ours_are_not_hidden() -> None:
    def broken() -> Question | None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        after(broken)


def test_it_is_called_as_the_first_and_prepares_both() -> None:
    told: list[str] = []
    both = Fallback(Asks(lambda: None, "first", told), Asks(lambda: None, "second", told))
    prepare_questioner(both)
    prepare_questioner(NoQuestions())  # which has nothing to prepare
    assert isinstance(both, Questioner) and both.name == "first" and told == ["first", "second"]
