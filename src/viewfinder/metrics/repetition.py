"""How varied a questioner is: questions it repeats, and distinct words, a dialogue.

A dialogue is given as its rounds of "question? answer", without the caption. ChatIR counts exact repetitions among
the ten questions (Levy et al., NeurIPS 2023, Sec. 4.2). Its code for them was not published, and the paper quotes
1.85 to 3.44 for the weak questioners where the released FLAN-ALPACA-XXL dialogues come to 6.74 by this count, or
to 4.53 if the answer must repeat too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def first_question(round_text: str) -> str:
    """The text before the first "?"; all of it where there is none (some released questions were cut short).

    >>> question_of("Is it big? no, is it?")
    'Is it big'
    """
    return round_text.partition("?")[0].strip()


def count_repeated_questions(
    dialogues: Sequence[Sequence[str]], *, answers_too: bool = False
) -> Int64[np.ndarray, " s"]:
    """How many rounds of each dialogue ask what an earlier one asked, letter by letter; the figure is their mean.

    With `answers_too` a round repeats only if its answer does as well.

    >>> repeated_questions([["Is it big? no", "Is it red? no", "Is it big? yes"]])
    array([1])
    """
    asked = (map(str.strip if answers_too else first_question, rounds) for rounds in dialogues)
    return np.array([len(rounds) - len(set(kept)) for rounds, kept in zip(dialogues, asked, strict=True)], np.int64)


def count_unique_tokens(dialogues: Sequence[Sequence[str]]) -> Int64[np.ndarray, " s"]:
    """How many different words each dialogue has, capitals aside; give questions alone to judge a questioner.

    >>> unique_tokens([["Is it big? no", "Is it red? no"]])      # is, it, big, no, red
    array([5])
    """
    return np.array([len(set(WORD.findall(" ".join(rounds).lower()))) for rounds in dialogues], dtype=np.int64)
