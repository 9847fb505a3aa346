"""What was said and asked so far, and whether a question is new.

New is what was not asked before, in whatever words, and what nothing that was said answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, cached_property

from viewfinder.conversation import Answer
from viewfinder.encoders.tags import tag_groups
from viewfinder.questioners.base import Candidates
from viewfinder.wording.mentions import PERSONS
from viewfinder.wording.phrases import PhraseIndex
from viewfinder.wording.questions import question_gist
from viewfinder.wording.replies import is_dont_know
from viewfinder.wording.statements import write_statement
from viewfinder.wording.stems import stems

_EXISTS = re.compile(
    r"(?:(?:is|are|was|were) there|(?:do|can|could) you see)\s+(?:an?|any|some|the)?\s*(.+)", re.IGNORECASE
)

_COLOUR = re.compile(r"(?:what|which) colou?rs? (?:is|are) (?:the|his|her|their|its)?\s*(.+)", re.IGNORECASE)

_IS_LIKE = re.compile(r"(?:is|are) (?:the|his|her|their) ([\w'’-]+) ([\w'’-]+)", re.IGNORECASE)

_YES_OR_NO = re.compile(r"(?:is|are|was|were)\s+(?:it|this|that|they|these|those)\b", re.IGNORECASE)

_DENIAL = re.compile(r"(?:no|none|nothing|nope|nobody|i (?:don't|do not|can't))\b", re.IGNORECASE)

_IN_IT = re.compile(
    r"\s*,?\s*(?:visible\s*)?(?:in|on|of)\s+(?:the|this|that)\s+(?:picture|image|photo|scene)\b", re.IGNORECASE
)


class ConversationSoFar:
    """What was said and asked in a conversation, ready to be asked whether a question may come next."""

    def __init__(self, said: Sequence[str], asked: Iterable[str] = (), answers: Sequence[Answer] = ()) -> None:
        """From the texts that were said (answers included), the questions that were asked, and those answered."""
        self._said, self.asked = said, tuple(asked)
        self._known = [answer for answer in answers if not is_dont_know(answer.text)]
        self._gists = {question_gist(text) for text in (*self.asked, *(answer.question.text for answer in answers))}

    @staticmethod
    def of(view: Candidates) -> ConversationSoFar:
        """The conversation that a view is of."""
        answers = [turn for turn in view.turns if isinstance(turn, Answer)]
        return ConversationSoFar(view.said, (question.text for question in view.asked), answers)

    @cached_property
    def said(self) -> PhraseIndex:
        """Everything that was said."""
        return PhraseIndex(self._said)

    @cached_property
    def _stated(self) -> PhraseIndex:
        """What was said, and what answers make of their questions: "is the dog black?", "yes"."""
        stated = (write_statement(answer.question.text, answer.text) for answer in self._known)
        return PhraseIndex([*self._said, *stated])

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """The stems of what was spoken of: what was said, and what was asked and not denied."""
        granted = (answer.question.text for answer in self._known if not _DENIAL.match(answer.text))
        return frozenset(folded for text in (*self._said, *granted) for folded in stems(text))

    def is_new(self, question: str) -> bool:
        """Whether this was not asked yet, and is not answered by what was said.

        Questions are compared by the stems of the words that make a difference, in any order. What was said answers
        plain questions only: "is there an X?", "is the X Y?", "what colour is the X?", "is it in the X?".
        """
        return question_gist(question) not in self._gists and not _is_answered(question, self._stated)

    def grants(self, required: Sequence[str] | None) -> bool:
        """Whether all that a question takes for granted (`required_mentions`) was mentioned."""
        return required is not None and all(
            need in self.mentioned or not PERSONS.get(need, frozenset()).isdisjoint(self.mentioned) for need in required
        )

    def note_question(self, question: str) -> None:
        """Count a question as asked."""
        self._gists.add(question_gist(question))


def _is_answered(text: str, stated: PhraseIndex) -> bool:
    asked = _IN_IT.sub("", text.strip().rstrip("?").strip())
    if found := _EXISTS.fullmatch(asked):
        return stated.contains(found[1])
    if found := _COLOUR.fullmatch(asked):
        return any(stated.contains(f"{colour} {found[1]}") for colour in _colours())
    if found := _IS_LIKE.fullmatch(asked):
        return stated.contains(f"{found[2]} {found[1]}")
    if not _YES_OR_NO.match(asked):
        return False
    about = question_gist(asked)
    return len(about) == 1 and stated.contains(next(iter(about)))


@cache
def _colours() -> tuple[str, ...]:
    group = next(group for group in tag_groups() if group.name == "colour")
    return tuple(word for tag in group.tags for word in (tag.name, *tag.also))
