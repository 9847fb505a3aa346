"""A conversation so far, and whether a question is new to it.

A question is new if it was not asked before, in whatever words, and if nothing that was said answers it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, cached_property

from viewfinder.conversation import Answer
from viewfinder.encoders.tags import tag_groups
from viewfinder.questioners.base import Candidates
from viewfinder.wording.answered import is_answered
from viewfinder.wording.mentions import PERSONS
from viewfinder.wording.phrases import PhraseIndex
from viewfinder.wording.questions import question_gist
from viewfinder.wording.replies import denies_presence, is_dont_know
from viewfinder.wording.statements import write_statement
from viewfinder.wording.stems import stems


class ConversationSoFar:
    """The texts and questions of a conversation, for deciding whether a question may come next."""

    def __init__(self, said: Sequence[str], asked: Iterable[str] = (), answers: Sequence[Answer] = ()) -> None:
        """`said`: all texts of the user, answers included; `asked`: all questions; `answers`: those that were given."""
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
        """All that was said, with yes-or-no answers as statements: "is the dog black?", "yes"."""
        stated = (write_statement(answer.question.text, answer.text) for answer in self._known)
        return PhraseIndex([*self._said, *stated])

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """The stems of what was spoken of: what was said, and what was asked and not denied."""
        granted = (answer.question.text for answer in self._known if not denies_presence(answer.text))
        return frozenset(folded for text in (*self._said, *granted) for folded in stems(text))

    def is_new(self, question: str) -> bool:
        """Whether this was not asked yet, and is not answered by what was said.

        Questions are compared by the stems of the words that make a difference, in any order.
        """
        if question_gist(question) in self._gists:
            return False
        return not is_answered(question, self._stated, _colour_words())

    def grants(self, required: Sequence[str] | None) -> bool:
        """Whether all that a question takes for granted (`required_mentions`) was mentioned."""
        return required is not None and all(
            need in self.mentioned or not PERSONS.get(need, frozenset()).isdisjoint(self.mentioned) for need in required
        )

    def note_question(self, question: str) -> None:
        """Count a question as asked."""
        self._gists.add(question_gist(question))


@cache
def _colour_words() -> tuple[str, ...]:
    group = next(group for group in tag_groups() if group.name == "colour")
    return tuple(word for tag in group.tags for word in (tag.name, *tag.also))
