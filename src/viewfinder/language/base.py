"""The protocol of language models: they continue a text, in time or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Protocol, TypeVar, runtime_checkable


@runtime_checkable
class LanguageModel(Protocol):
    """Continues texts. It may be called from many threads at once."""

    @property
    def name(self) -> str:
        """A short name to be shown: no address, no path."""
        ...

    def complete(
        self,
        prompt: str,
        *,
        stop: Sequence[str] = ("\n",),
        most_tokens: int = 32,
        temperature: float = 0.0,
        seed: int = 0,
        seconds: float = 10.0,
    ) -> str:
        """The continuation, cut at the first of `stop`, without blanks around it; never empty.

        Args:
            prompt: the text to go on with.
            stop: texts that end it, and are no part of it.
            most_tokens: where it is cut if none of them comes.
            temperature: 0 is greedy: the same prompt has the same continuation.
            seed: another one, another continuation (above temperature 0).
            seconds: never takes longer.

        Raises:
            LanguageModelFailed: slow, unreachable, still loading, empty or not understood; the text begins with the
                model's name and says which.
        """
        ...


@runtime_checkable
class LoadsInBackground(Protocol):
    """A model that loads in the background. Until then `complete` fails at once: no conversation waits."""

    def wait(self) -> None:
        """Returns when it is loaded: what an experiment does before its first question.

        Raises:
            BadInput: it cannot be loaded.
        """
        ...


def wait_until_loaded(model: LanguageModel) -> None:
    """Returns when a model can be asked; at once where none loads; BadInput where it cannot be loaded."""
    if isinstance(model, LoadsInBackground):
        model.wait()


def cut_at_stop(text: str, stop: Sequence[str]) -> str:
    """A continuation from its first word up to the first of `stop`, without blanks around it.

    >>> cut_at_stop(" Is it big? yes", ["no", "?"]), cut_at_stop("\\n one two", ["\\n"])
    ('Is it big', 'one two')
    """
    text = text.lstrip()
    return text[: min((at for mark in stop if (at := text.find(mark)) >= 0), default=len(text))].strip()


Result = TypeVar("Result")


def run_within(seconds: float, work: Callable[[], Result], *, daemon: bool) -> Result:
    """Runs `work` on a thread and returns its result, or raises its error, if it is done in so many seconds.

    Args:
        seconds: how long to wait.
        work: called on a thread of its own, which goes on after the time is over.
        daemon: whether the program may end before it does. Not for work in native code, which does not bear it.

    Raises:
        TimeoutError: it is not done yet.
    """
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # raised again by `future.result`
            future.set_exception(error)

    # No pool of threads: at its end a program would wait for those of a pool.
    threading.Thread(target=run, name="language-model", daemon=daemon).start()
    return future.result(max(seconds, 0.0))
