"""Waiting for a question at the prompt, for as long as nothing is typed."""

from __future__ import annotations

import select
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viewfinder.conversation import Question
    from viewfinder.session import Session

POLL_S = 0.05
NOTICED_S = 0.8
"""After which one wonders whether anything is to come."""


def await_question(
    session: Session, thinking: Callable[[], None], typed: Callable[[], bool] | None = None
) -> Question | None:
    """The question after the newest turn; None where there is none, or where the user goes on before it is chosen.

    A choice that is given up goes on in a thread that ends with the process, and nobody hears what came of it.
    `thinking` is called if it takes long; `typed` says whether a line waits to be read.

    Raises:
        ViewfinderError: the questioner cannot work.
    """
    choose = session.question_choice()
    if choose is None:
        return session.question
    chosen = _begun(choose)
    waited, has_typed = 0.0, typed or is_line_waiting
    try:
        while not wait([chosen], POLL_S).done:
            if has_typed():
                return None
            if waited < NOTICED_S <= waited + POLL_S:
                thinking()
            waited += POLL_S
    except KeyboardInterrupt:
        return None
    session.record_question(chosen.result())
    return session.question


def _begun(choose: Callable[[], Question | None]) -> Future[Question | None]:
    chosen: Future[Question | None] = Future()

    def run() -> None:
        try:
            chosen.set_result(choose())
        except BaseException as error:  # whatever it is, it belongs to who waits
            chosen.set_exception(error)

    threading.Thread(target=run, name="asking", daemon=True).start()
    return chosen


def is_line_waiting() -> bool:
    """Whether a line was typed and not read yet; False where that cannot be known."""
    try:
        return bool(select.select([sys.stdin], [], [], 0)[0])
    except (OSError, ValueError):
        return False
