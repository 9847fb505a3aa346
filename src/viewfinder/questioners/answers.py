"""What an answer means: the values of an attribute that it names, ranges and "something else" included."""

from __future__ import annotations

import re
from collections.abc import Sequence

from viewfinder.conversation import Question, is_dont_know
from viewfinder.questioners.said import PhraseIndex, stems

DONT_KNOW = "don't know"
SOMETHING_ELSE = "something else"

NUMBER = r"(-?[\d,]*\.?\d+)"
BELOW_RANGE = re.compile(rf"(?:under|below|before|less than)\s+{NUMBER}")
ABOVE_RANGE = re.compile(rf"{NUMBER}\s+(?:or more|or later|and more|and later)")
BETWEEN_RANGE = re.compile(rf"{NUMBER}\s+(to|up to)\s+{NUMBER}")
ISO_DATE = re.compile(r"(\d{4})-\d\d(?:-\d\d.*)?")
PLAIN_NUMBER = re.compile(r"[^\d\w-]?\s?(-?\d[\d,]*(?:\.\d+)?|-?\.\d+)\s?[^\d\w]?")


def parse_number(value: str) -> float | None:
    """The number that a value is: plain, with a currency sign or thousands separators; of a date, its year.

    >>> as_number("1,299.50"), as_number("$ 12"), as_number("2011-05-03"), as_number("XL")
    (1299.5, 12.0, 2011.0, None)
    """
    text = value.strip()
    if date := ISO_DATE.fullmatch(text):
        return float(date[1])
    plain = PLAIN_NUMBER.fullmatch(text)
    return float(plain[1].replace(",", "")) if plain else None


def is_in_range(answer: str, number: float) -> bool | None:
    """Whether a number lies in the range that an answer names; None when the answer names no range.

    "500 to 999" includes both ends, "1.5 up to 2" excludes the second.

    >>> is_in_range("500 to 999", 999.0), is_in_range("1,000 or more", 999.0), is_in_range("red", 3.0)
    (True, False, None)
    """
    if found := BELOW_RANGE.fullmatch(answer):
        return number < _float(found[1])
    if found := ABOVE_RANGE.fullmatch(answer):
        return number >= _float(found[1])
    if found := BETWEEN_RANGE.fullmatch(answer):
        end = _float(found[3])
        return _float(found[1]) <= number and (number < end if found[2] == "up to" else number <= end)
    return None


def _float(text: str) -> float:
    return float(text.replace(",", ""))


def find_values_meant(question: Question, answer: str, values: Sequence[str]) -> tuple[str, ...]:
    """Those of an attribute's `values` that an answer to `question` means, in their order.

    An exact value wins, then a range, then "something else" (all values that no choice stands for), then
    values named in the answer's words ("the blue one"), longer names before shorter ones inside them. Empty
    when the answer is "don't know" or names none.

    >>> question = Question("What colour is it?", ("Red", "Blue", "something else", "don't know"))
    >>> values_meant(question, "blue", ["Red", "Blue", "Navy Blue"]), values_meant(
    ...     question, "something else", ["Red", "Blue", "Navy Blue"])
    (('Blue',), ('Navy Blue',))
    """
    text = answer.strip()
    if is_dont_know(text):
        return ()
    folded = stems(text)
    if exact := tuple(v for v in values if v.casefold() == text.casefold()):
        return exact
    if folded and (same := tuple(v for v in values if stems(v) == folded)):
        return same
    if is_in_range(text, 0.0) is not None:
        return tuple(v for v in values if _lies_in(text, v))
    if text.casefold() == SOMETHING_ELSE:
        named = {v for choice in question.choices if choice != text for v in _stands_for(choice, values)}
        return tuple(v for v in values if v not in named)
    return _named(text, values)


def _lies_in(answer: str, value: str) -> bool:
    number = parse_number(value)
    return number is not None and bool(is_in_range(answer, number))


def _stands_for(choice: str, values: Sequence[str]) -> tuple[str, ...]:
    if is_in_range(choice, 0.0) is not None:
        return tuple(value for value in values if _lies_in(choice, value))
    return tuple(value for value in values if value == choice)


def _named(answer: str, values: Sequence[str]) -> tuple[str, ...]:
    said = PhraseIndex([answer])
    named = [value for value in values if said.names(value)]
    longer = [PhraseIndex([value]) for value in named]
    return tuple(
        value
        for value in named
        if not any(other.names(value) for other, name in zip(longer, named, strict=True) if name != value)
    )
