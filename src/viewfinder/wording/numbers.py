"""Numbers, ranges and years as people and catalogues write them."""

from __future__ import annotations

import re

_NUMBER = r"(-?[\d.,]*\d)"
_RANGE = re.compile(
    rf"(?:(?P<below>under|below|before|less than)\s+)?{_NUMBER}"
    rf"(?:\s+(?:(?P<above>(?:or|and) (?:more|later))|(?P<to>to|up to)\s+{_NUMBER}))?"
)


def is_in_range(answer: str, number: float) -> bool | None:
    """Whether a number lies in the range that an answer names; None when the answer names no range.

    "500 to 999" includes both ends, "1.5 up to 2" excludes the second.

    >>> is_in_range("500 to 999", 999.0), is_in_range("1,000 or more", 999.0), is_in_range("red", 3.0)
    (True, False, None)
    """
    found = _RANGE.fullmatch(answer)
    # Exactly one of the three must be there: else it is a number, or nonsense such as "under 3 to 5".
    if found is None or sum(map(bool, found.group("below", "above", "to"))) != 1:
        return None
    first, last = (to_number(edge) if edge else 0.0 for edge in found.group(2, 5))
    if first is None or last is None:
        return None
    # "under 500" is what lies below its first number; a range has both.
    if found["below"]:
        return number < first
    return number >= first and (found["to"] is None or number < last or (found["to"] == "to" and number == last))


_AMOUNT = re.compile(rf"[^\w.,-]?\s?{_NUMBER}\s?\W?")
_GROUPED = re.compile(r"-?[1-9]\d{0,2}(?:(?:,\d{2,3})*,\d{3}(?:\.\d+)?|(?:\.\d{3})+,\d+|(?:\.\d{3}){2,})")


def to_number(text: str) -> float | None:
    """A number as catalogues write them: with a currency sign, in groups of digits, with a decimal point or comma.

    What may be read both ways is read in the English way: "1,299" in groups, "1.299" with decimals. None if a text is
    not a number.

    >>> [to_number(text) for text in ("1,299.50", "1.299,50 €", "81,47", "1,299", "$ 12", "red")]
    [1299.5, 1299.5, 81.47, 1299.0, 12.0, None]
    """
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        return None
    digits = found[1]
    if _GROUPED.fullmatch(digits):
        digits = digits.replace(next(sign for sign in digits if sign in ".,"), "")
    try:
        return float(digits.replace(",", "."))
    except ValueError:
        return None


ISO_DATE = re.compile(r"(\d{4})-\d\d(?:-\d\d.*)?")


def parse_number(value: str) -> float | None:
    """The number that a value is, as `to_number` reads it; of a date, its year.

    >>> [parse_number(value) for value in ("1,299.50", "$ 12", "2011-05-03", "XL")]
    [1299.5, 12.0, 2011.0, None]
    """
    date = ISO_DATE.fullmatch(value.strip())
    return float(date[1]) if date else to_number(value)


NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}
"""The numbers that are written in words."""

NUMBER_WORDS = {word: number for number, word in NUMBERS.items()} | {"no": 0, "zero": 0, "nine": 9, "ten": 10}
"""The numbers that are read in words."""


def spell_number(number: int) -> str:
    """A number as people say it: "none", "two", "12"."""
    return "none" if number == 0 else NUMBERS.get(number, str(number))
