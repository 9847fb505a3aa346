"""A language model as `TextGenerator`: prompted with examples, read with care, asked once more where that fails."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from viewfinder.construction.parsing import parse_dialogue, parse_instruction, parse_two_rounds
from viewfinder.construction.parts import ImageTextPair, SampleNotMade, TwoRounds
from viewfinder.construction.prompts import DIALOGUE, INSTRUCTION, TWO_ROUNDS, Task
from viewfinder.data.chatsearch import ChatTurn
from viewfinder.language import LanguageModel

_Text = TypeVar("_Text")

TRIES = 2
WARM = 0.8
"""Temperature of the second try; the first one is greedy."""

STOPS = ("\n\n", "\nPicture:", "\nFirst picture:")


@dataclass(frozen=True)
class ModelWriter:
    """Asks a language model.

    Attributes:
        model: see `language.load_language_model`.
        seed: of examples and of the second try.
        seconds: an answer takes no longer, or counts as none.
    """

    model: LanguageModel
    seed: int = 0
    seconds: float = 60.0

    @property
    def name(self) -> str:
        """The model's."""
        return self.model.name

    def dialogue(self, target: ImageTextPair) -> tuple[ChatTurn, ...]:
        """See `parsing.dialogue_of`."""
        known = DIALOGUE.sentences()
        case = (("Picture", target.caption),)
        return self._written(
            DIALOGUE, case, target.image, 160, lambda text: parse_dialogue(text, target.caption, known)
        )

    def instruction(self, reference: ImageTextPair, target: ImageTextPair) -> str:
        """See `parsing.instruction_of`."""
        known, captions = INSTRUCTION.sentences(), (reference.caption, target.caption)
        case = (("First picture", reference.caption), ("Second picture", target.caption))
        picture = f"{reference.image}/{target.image}"
        return self._written(INSTRUCTION, case, picture, 48, lambda text: parse_instruction(text, captions, known))

    def two_rounds(self, target: ImageTextPair) -> TwoRounds:
        """See `parsing.two_rounds_of`."""
        known = TWO_ROUNDS.sentences()
        case = (("Picture", target.caption),)
        return self._written(
            TWO_ROUNDS, case, target.image, 112, lambda text: parse_two_rounds(text, target.caption, known)
        )

    def _written(
        self, task: Task, case: Sequence[tuple[str, str]], picture: str, tokens: int, read: Callable[[str], _Text]
    ) -> _Text:
        """What the model writes, as `read` reads it.

        Raises:
            NotMade: it cannot be read, nor can the second try.
            LanguageModelFailed: the model does not answer.
        """
        reason = ""
        for attempt in range(TRIES):
            prompt = task.prompt(case, random.Random(f"viewfinder/prompt/{self.seed}/{attempt}/{picture}"))
            text = self.model.complete(
                prompt, stop=STOPS, most_tokens=tokens, temperature=WARM if attempt else 0.0,
                seed=self.seed + attempt, seconds=self.seconds,
            )  # fmt: skip
            try:
                return read(text)
            except SampleNotMade as error:
                reason = str(error)
        raise SampleNotMade(reason)
