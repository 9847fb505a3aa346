"""Which values of an attribute an answer means."""

from __future__ import annotations

from collections.abc import Sequence

from viewfinder.conversation import Question
from viewfinder.wording.numbers import is_in_range, parse_number
from viewfinder.wording.phrases import PhraseIndex
from viewfinder.wording.replies import SOMETHING_ELSE, is_dont_know
from viewfinder.wording.stems import stems


def find_values_meant(question: Question, answer: str, values: Sequence[str]) -> tuple[str, ...]:
    """The `values` of an attribute that an answer to `question` means, in their order.

    An exact value wins, then a range, then "something else" (all values that no choice stands for), then
    values named in the answer's words ("the blue one"), longer names before shorter ones inside them. Empty
    when the answer is "don't know" or names none.

    >>> question = Question("What colour is it?", ("Red", "Blue", "something else", "don't know"))
    >>> [find_values_meant(question, answer, ["Red", "Blue", "Navy Blue"]) for answer in ("blue", "something else")]
    [('Blue',), ('Navy Blue',)]
    """
    text = answer.strip()
    if is_dont_know(text):
        return ()
    folded = stems(text)
    if exact := tuple(v for v in values if v.casefold() == text.casefold()):
        return exact
    if folded and (same := tuple(v for v in values if stems(v) == folded)):
        return same
    if is_in_range(text, 0.0) is not None:  # whatever the number: the answer is a range
        return tuple(v for v in values if _lies_in(text, v))
    if text.casefold() == SOMETHING_ELSE:
        others = [choice for choice in question.choices if choice != text]
        return tuple(v for v in values if not any(v == choice or _lies_in(choice, v) for choice in others))
    said = PhraseIndex([text])
    named = {v: PhraseIndex([v]) for v in values if said.contains(v)}
    # Of "navy blue" and "blue" the longer name is meant.
    return tuple(v for v in named if not any(longer.contains(v) for name, longer in named.items() if name != v))


def _lies_in(answer: str, value: str) -> bool:
    number = parse_number(value)
    return number is not None and bool(is_in_range(answer, number))
