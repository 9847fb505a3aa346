"""A language model reads the talk and asks the next question, as in ChatIR (Levy et al., NeurIPS 2023)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from viewfinder.conversation import Question
from viewfinder.errors import LanguageModelFailed
from viewfinder.language import LanguageModel, LoadsInBackground
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.choices import find_choices
from viewfinder.questioners.novelty import is_new_question
from viewfinder.questioners.prompts import parse_question, write_next_question_prompt


@dataclass(frozen=True, kw_only=True)
class FewShotSettings:
    """The numbers of the questioner."""

    temperatures: tuple[float, ...] = (0.0, 0.7, 1.0)  # of one try after the other
    most_tokens: int = 24
    seconds: float = 10.0  # for all tries together


@dataclass(frozen=True, eq=False)
class FewShotQuestioner:
    """The questioner. It sees no pictures, only what was said; `clock` counts seconds."""

    model: LanguageModel
    settings: FewShotSettings = FewShotSettings()
    clock: Callable[[], float] = time.monotonic
    name: str = "llm"

    def ask(self, view: Candidates) -> Question | None:
        """The model's question, the first that is one and is new; None where nothing was said in words yet.

        Raises:
            LanguageModelFailed: it fails, or asks nothing new in the time and the tries it has.
        """
        prompt = write_next_question_prompt(view.turns)
        if prompt is None:
            return None
        text = self._question(prompt, view)
        return Question(text, find_choices(text), self.name, f"{self.model.name} read the talk; it sees no pictures")

    def prepare(self) -> None:
        """Wait until the model is loaded.

        Raises:
            BadInput: it cannot be.
        """
        if isinstance(self.model, LoadsInBackground):
            self.model.wait()

    def _question(self, prompt: str, view: Candidates) -> str:
        deadline = self.clock() + self.settings.seconds
        wrong = f"{self.model.name} had no time to ask"
        # Each try of each round has a seed of its own.
        first = len(view.asked) * len(self.settings.temperatures)
        for seed, temperature in enumerate(self.settings.temperatures, start=first):
            left = deadline - self.clock()
            if left <= 0:
                break
            try:
                reply = self._reply(prompt, temperature, seed, left)
            except LanguageModelFailed as error:
                wrong = str(error)
                continue
            question = parse_question(reply)
            if question is not None and is_new_question(question, view):
                return question
            wrong = f"{self.model.name} {'asked no question' if question is None else 'asked what is known'}"
        raise LanguageModelFailed(wrong)

    def _reply(self, prompt: str, temperature: float, seed: int, seconds: float) -> str:
        most = self.settings.most_tokens
        return self.model.complete(
            prompt, stop=("\n",), most_tokens=most, temperature=temperature, seed=seed, seconds=seconds
        )
