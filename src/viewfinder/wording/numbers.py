"""Numbers, ranges and years as people and catalogues write them."""

from __future__ import annotations

import re

from viewfinder.wording.patterns import compile_late

_NUMBER = r"(-?[\d.,]*\d)"
_RANGE = compile_late(
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


_CODES = (
    "AED|ARS|AUD|BDT|BGN|BHD|BRL|CAD|CHF|CLP|CNY|COP|CRC|CZK|DKK|DOP|DZD|EGP|EUR|GBP|GEL|GHS|HKD|HRK|HUF|IDR|ILS|INR"
    "|ISK|JOD|JPY|KES|KRW|KWD|KZT|LKR|MAD|MXN|MYR|NGN|NOK|NPR|NZD|OMR|PEN|PHP|PKR|PLN|QAR|RON|RSD|RUB|SAR|SEK|SGD|THB"
    "|TND|TRY|TWD|UAH|USD|UYU|UZS|VND|ZAR"
)
_SIGNS = r"(?:US|CA|AU|NZ|HK|[ACSR])\$|kr\.?|zł|Kč|Ft|lei|лв\.?|руб\.?|Rs\.?|S?Fr\.|TL|RM|Rp"
_CURRENCY = rf"(?:{_CODES}|{_SIGNS}|[^\w\s.,'’-])"
_DIGITS = r"-?(?:\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d+)?|[\d.,]*\d)"
_AMOUNT = compile_late(
    rf"(?P<before>{_CURRENCY})?\s?(?P<digits>{_DIGITS})(?:[.,][-–—]{{0,2}})?\s?(?P<after>{_CURRENCY})?", re.IGNORECASE
)
_GROUPED = compile_late(r"-?[1-9]\d{0,2}(?:(?:,\d{2,3})*,\d{3}(?:\.\d+)?|(?:\.\d{3})+,\d+|(?:\.\d{3}){2,})")
_SPACED = compile_late(r"[ \u00a0\u202f'’]")


def to_number(text: str) -> float | None:
    """A number as catalogues write them: with a currency, in groups of digits, with a decimal point or comma.

    What may be read both ways is read in the English way: "1,299" in groups, "1.299" with decimals. None if a text is
    not a number.

    >>> [to_number(text) for text in ("1,299.50", "1.299,50 €", "81,47", "1,299", "$ 12", "red")]
    [1299.5, 1299.5, 81.47, 1299.0, 12.0, None]
    >>> [to_number(text) for text in ("15.00 USD", "CHF 1'299.50", "1 299,50 zł", "12.-", "R$ 5", "12 cm")]
    [15.0, 1299.5, 1299.5, 12.0, 5.0, None]
    """
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        return None
    digits = _SPACED.sub("", found["digits"])
    if _GROUPED.fullmatch(digits):
        digits = digits.replace(next(sign for sign in digits if sign in ".,"), "")
    try:
        return float(digits.replace(",", "."))
    except ValueError:
        return None


ISO_DATE = compile_late(r"(\d{4})-\d\d(?:-\d\d.*)?")


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
