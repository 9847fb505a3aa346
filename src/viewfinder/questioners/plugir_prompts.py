"""What PlugIR's loop asks a language model, and how the replies are read. The worked examples are our own.

Short, because small models on a processor read some hundred words a second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from viewfinder.conversation import Answer, Like, Say, Show, Turn, is_dont_know
from viewfinder.questioners.statements import write_statement

STOCK_QUESTIONS = (
    "What else is in the picture?",
    "What is in the background?",
    "Where was the picture taken?",
    "What is the largest thing in the picture?",
    "Which colours stand out?",
)
"""Asked where the model finds nothing; the first that is new."""

_INFORMED = """\
Somebody describes a picture. Ask about one thing that tells the similar pictures apart and is not in the description.

Description: a boy with a kite
Similar pictures: a boy flies a red kite on a beach; two children with a kite in a field; a kite above a house
Question: Is the boy at a beach?

Description: {description}
Similar pictures: {candidates}
Question:"""

_ALONE = """\
Somebody describes a picture. Ask about one thing that is not in the description.

Description: a boy with a kite
Question: Is anybody else in the picture?

Description: {description}
Question:"""

_FROM_DESCRIPTION = """\
Read the description. Write what it says, or "uncertain".

a boy with a red kite. Is he at a beach? uncertain
a boy with a red kite. What colour is the kite? red
two cats on a bed. Are they black? uncertain
two cats on a bed. Where are the cats? on a bed
a bus in the street. Is it raining? uncertain
{description}. {question}"""

_UNCERTAIN = re.compile(
    r"\b(?:uncertain|unsure|unknown|unclear|not (?:sure|certain|clear|known|say|said|specified))\b", re.IGNORECASE
)


def summarize_turns(turns: Sequence[Turn]) -> str:
    """What the talk says of the picture, as one line: descriptions, and answers as statements; "" if nothing.

    >>> from viewfinder.conversation import Question
    >>> description_of([Say("a dog"), Answer(Question("Is it big?"), "no"), Answer(Question("Where?"), "don't know")])
    'a dog, no big'
    """
    said = (_said(turn) for turn in turns)
    return ", ".join(text for text in said if text)


def _said(turn: Turn) -> str:
    match turn:
        case Say(text) | Like(_, text) | Show(_, text):
            return " ".join(text.split()).rstrip(" .,")
        case Answer(question, text) if not is_dont_know(text):
            return " ".join(write_statement(question.text, text).split()).rstrip(" .,")
        case _:
            return ""


def write_question_prompt(description: str, candidates: Sequence[str]) -> str:
    """The prompt for a question; `candidates` are captions of pictures that are still in question, if known."""
    if not candidates:
        return _ALONE.format(description=description)
    return _INFORMED.format(description=description, candidates="; ".join(candidates))


def write_check_prompt(description: str, question: str) -> str:
    """The prompt for what the description says of a question."""
    return _FROM_DESCRIPTION.format(description=description, question=question)


def is_uncertain(reply: str) -> bool:
    """Whether a reply says that the description does not tell."""
    return _UNCERTAIN.search(reply) is not None or is_dont_know(reply)
