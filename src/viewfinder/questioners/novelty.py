"""Whether a question in free words is a new one in its talk."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from viewfinder.conversation import Answer, is_dont_know
from viewfinder.encoders.tags import tag_groups
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.said import PhraseIndex, stem, stems
from viewfinder.questioners.statements import write_statement

# Words that can be left out of a question without asking something else.
COURTESY_WORDS = """
a an the any some is are was were be being been do does did can could would will you me i we one please tell say
know describe see there here it this that these those they them its their of in on at to if whether also maybe so and
ok okay well now picture image photo photograph scene visible shown exactly
"""
COURTESIES = frozenset(stem(word) for word in COURTESY_WORDS.split())

WHICH = stem("which")

_EXISTS = re.compile(
    r"(?:(?:is|are|was|were) there|(?:do|can|could) you see)\s+(?:an?|any|some|the)?\s*(.+)", re.IGNORECASE
)
_COLOUR = re.compile(r"(?:what|which) colou?rs? (?:is|are) (?:the|his|her|their|its)?\s*(.+)", re.IGNORECASE)
_IS_LIKE = re.compile(r"(?:is|are) (?:the|his|her|their) ([\w'’-]+) ([\w'’-]+)", re.IGNORECASE)
_YES_OR_NO = re.compile(r"(?:is|are|was|were)\s+(?:it|this|that|they|these|those)\b", re.IGNORECASE)
_GENITIVE = re.compile(r"['’]s\b", re.IGNORECASE)
_IN_IT = re.compile(
    r"\s*,?\s*(?:visible\s*)?(?:in|on|of)\s+(?:the|this|that)\s+(?:picture|image|photo|scene)\b", re.IGNORECASE
)


def is_new_question(text: str, view: Candidates) -> bool:
    """Whether `text` asks what was not asked yet, and what the talk does not answer already.

    Questions are compared by the stems of the words that make a difference, in any order. What the talk answers
    is only told of plain questions: "is there an X?", "is the X Y?", "what colour is the X?", "is it in the X?".
    """
    answers = [turn for turn in view.turns if isinstance(turn, Answer)]
    # What answers make of the questions: "is the dog black?", "yes".
    stated = (write_statement(turn.question.text, turn.text) for turn in answers if not is_dont_know(turn.text))
    asked = (question.text for question in (*view.asked, *(turn.question for turn in answers)))
    return is_new_to_texts(text, said=[*view.said, *stated], asked=asked)


def is_new_to_texts(text: str, *, said: Iterable[str], asked: Iterable[str]) -> bool:
    """As `is_new`, for a talk given as what was said and asked."""
    return not any(is_same_question(text, other) for other in asked) and not _is_answered(text, PhraseIndex(said))


def is_same_question(one: str, other: str) -> bool:
    """Whether two questions ask the same in nearly the same words.

    >>> same_question("Is there a dog?", "Can you see any dogs in the picture?")
    True
    >>> same_question("What colour is the dog?", "Is the dog black?")
    False
    """
    return question_gist(one) == question_gist(other)


def question_gist(question: str) -> frozenset[str]:
    """The stems of the words that make a question the one it is; all its stems where none does.

    >>> sorted(gist("Could you tell me which hat the man has?")), sorted(gist("What colour is it?"))
    (['has', 'hat', 'man', 'what'], ['colour'])
    """
    words = frozenset("what" if word == WHICH else word for word in stems(_GENITIVE.sub("", question)))
    telling = words - COURTESIES
    # The colour of the dog is asked for with "what" or without.
    return (telling - {"what"} if "colour" in telling else telling) or words or frozenset(question.split())


def _is_answered(text: str, told: PhraseIndex) -> bool:
    asked = _IN_IT.sub("", text.strip().rstrip("?").strip())
    if found := _EXISTS.fullmatch(asked):
        return told.names(found[1])
    if found := _COLOUR.fullmatch(asked):
        return any(told.names(f"{colour} {found[1]}") for colour in _colours())
    if found := _IS_LIKE.fullmatch(asked):
        return told.names(f"{found[2]} {found[1]}")
    if not _YES_OR_NO.match(asked):
        return False
    about = question_gist(asked)
    return len(about) == 1 and told.names(next(iter(about)))


@cache
def _colours() -> tuple[str, ...]:
    group = next(group for group in tag_groups() if group.name == "colour")
    return tuple(word for tag in group.tags for word in (tag.name, *tag.also))
