"""Two questioners as one: where the first has no question that will do, the second asks, and says why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from viewfinder.conversation import Question
from viewfinder.errors import ViewfinderError
from viewfinder.questioners.base import Candidates, Questioner
from viewfinder.questioners.novelty import is_new_question


@runtime_checkable
class LoadsFirst(Protocol):
    """A questioner that is not ready at once, such as one whose language model loads."""

    def prepare(self) -> None:
        """Returns when it is ready.

        Raises:
            ViewfinderError: it never will be.
        """
        ...


def prepare_questioner(questioner: Questioner) -> None:
    """Wait until a questioner is ready: what an experiment does first, and a live talk never does.

    Raises:
        ViewfinderError: it never will be.
    """
    if isinstance(questioner, LoadsFirst):
        questioner.prepare()


@dataclass(frozen=True)
class Fallback:
    """The questioner that asks what `first` asks, or else what `then` asks.

    The question then carries the name of `then` in `by`, and its `why` begins with what went wrong with `first`.

    Attributes:
        first: asks unless it raises, repeats a question or has none.
        then: asks instead.
        may_stop: leaves it to `first` to end the asking by having no question, and to ask what the talk says.
    """

    first: Questioner
    then: Questioner
    may_stop: bool = False

    @property
    def name(self) -> str:
        """That of the first: the one that was chosen."""
        return self.first.name

    def ask(self, view: Candidates) -> Question | None:
        """The question of the first, or of the second, or None where neither has one."""
        try:
            question = self.first.ask(view)
        except ViewfinderError as error:
            return self._instead(view, f"failed ({error})")
        if self.may_stop:
            return question
        if question is None:
            return self._instead(view, "has nothing to ask")
        return question if is_new_question(question.text, view) else self._instead(view, "repeats itself")

    def prepare(self) -> None:
        """Wait until both are ready."""
        prepare_questioner(self.first)
        prepare_questioner(self.then)

    def _instead(self, view: Candidates, wrong: str) -> Question | None:
        question = self.then.ask(view)
        if question is None:
            return None
        return replace(question, why=f"{self.name} {wrong}: asked by {self.then.name} instead; {question.why}")
