"""The prompt waits for a question only as long as nothing is typed."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import viewfinder.questioners
from viewfinder.byte_cache import ByteCache
from viewfinder.cli.terminal import NOTICED_S, QUESTION_POLL_S, await_question
from viewfinder.conversation import BackTo, Question, Say
from viewfinder.errors import EncoderMismatch
from viewfinder.questioners import Candidates
from viewfinder.retrievers import Composer
from viewfinder.search.gallery import Gallery
from viewfinder.session.session import Session
from viewfinder.testing import ColourEncoder, tiny_snapshot


class Slow:
    """A questioner that asks when it is let."""

    name = "slow"

    def __init__(self) -> None:
        self.may_ask = threading.Event()
        self.error: Exception | None = None

    def ask(self, view: Candidates) -> Question | None:
        assert self.may_ask.wait(60)
        if self.error is not None:
            raise self.error
        return Question(f"Number {len(view.asked) + 1}?", by="slow")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    made = Slow()
    monkeypatch.setitem(viewfinder.questioners.QUESTIONERS, "slow", lambda source, tags: made)
    yield made
    made.may_ask.set()


def begun() -> Session:
    """A conversation over two pictures, searched, with nothing asked yet."""
    gallery = Gallery(tiny_snapshot([("red", "blue"), ("red", "green")]), ColourEncoder())
    session = Session(gallery, Composer(), "slow", memo=ByteCache())
    session.search(Say("red"))
    return session


def never() -> bool:
    return False


def test_a_question_that_comes_in_time_is_asked(slow: Slow) -> None:
    slow.may_ask.set()
    session = begun()
    question = await_question(session, lambda: None, never)
    assert question is not None and question.text == "Number 1?"
    assert session.question == question


def test_who_types_on_is_not_held_up_and_was_asked_nothing(slow: Slow) -> None:
    session = begun()
    assert await_question(session, lambda: None, lambda: True) is None
    assert not slow.may_ask.is_set()
    assert len(session.search(Say("blue"))) == 2
    slow.may_ask.set()
    question = await_question(session, lambda: None, never)
    assert question is not None and question.text == "Number 1?"  # the first was never seen
    assert [node.asked for node in session.conversation.nodes] == [None, None, question]


def test_a_long_wait_is_said_once(slow: Slow) -> None:
    told: list[int] = []
    polls = iter(range(1000))

    def typed() -> bool:
        return next(polls) * QUESTION_POLL_S > 2 * NOTICED_S

    assert await_question(begun(), lambda: told.append(1), typed) is None
    assert told == [1]


def test_ctrl_c_gives_the_question_up(slow: Slow) -> None:
    def interrupted() -> bool:
        raise KeyboardInterrupt

    assert await_question(begun(), lambda: None, interrupted) is None


def test_what_is_wrong_with_the_questioner_is_heard(slow: Slow) -> None:
    slow.error = EncoderMismatch("trained on another-raw")
    slow.may_ask.set()
    with pytest.raises(EncoderMismatch, match="another-raw"):
        await_question(begun(), lambda: None, never)


def test_going_back_asks_what_was_asked_there(slow: Slow) -> None:
    slow.may_ask.set()
    session = begun()
    question = await_question(session, lambda: None, never)
    session.search(Say("blue"))
    session.search(BackTo(1))
    slow.may_ask.clear()
    assert await_question(session, lambda: None, never) == question
