"""Names of catalogue columns: the questions they give, how likely people can tell, and which names mean the same."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from viewfinder.wording.stems import stem

# Words inside baseColour, base_colour, BASE-COLOUR, URLPath, size2.
PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")

# By the last word of the name. {} is the whole name in words; "|" parts the text for a bare name from that
# for one that says more: "colour" | "base colour".
COLUMN_QUESTIONS = {
    "colour": "What colour is it?|Which {} is it?",
    "size": "Which size is it?|Which {} is it?",
    "brand": "Which brand is it?|Which {} is it?",
    "gender": "Who is it for?",
    "season": "For which season is it?",
    "year": "From which year is it?",
    **dict.fromkeys(("price", "cost"), "How much does it cost?"),
    "usage": "What is it used for?",
    "material": "What is it made of?",
    **{name: f"In which {name} is it?" for name in ("city", "country")},
    **dict.fromkeys(("place", "location"), "Where is it?"),
    "date": "When is it from?",
    "taken": "When was it taken?",
    "camera": "Which camera took it?",
    "photographer": "Who took it?",
    "persons": "Who is on it?",
    "keywords": "Which of these words fits it?",
    **{name: f"Who is the {name}?" for name in ("artist", "author")},
    "weather": "What is the weather like?",
}

# How likely a user who has only the picture in mind can tell. Visible things need no entry.
CAN_TELL = {
    "usage": 0.8, "brand": 0.7, "artist": 0.6, "rating": 0.3,
    **dict.fromkeys(("year", "season", "date", "taken", "size", "author"), 0.5),
    **dict.fromkeys(("price", "cost", "photographer"), 0.4),
    **dict.fromkeys(("camera", "supplier"), 0.2),
    **dict.fromkeys(("width", "height", "stock"), 0.1),
}  # fmt: skip

# The same of what files say of photographs: few know the year in which one of their own was taken, fewer the month.
CAN_TELL_OF_FILES = {"year": 0.12, "month": 0.05, "rating": 0.1}

# Last words of names of columns that keep records of pictures, which no user has in mind.
RECORD_WORDS = """
id ids uuid guid sku ean upc isbn asin gtin barcode url uri link href path file filename image picture photo
stem hash checksum md5 sha slug description caption title notes note comment text index row key timestamp
created updated modified
"""
RECORDS = frozenset(stem(word) for word in RECORD_WORDS.split())

# Last words of names whose numbers are amounts: ranges of them make sense even where all differ.
AMOUNT_WORDS = """
price cost year date taken weight size width height length depth age rating score mileage area pages duration
distance temperature altitude volume power discount
"""
AMOUNTS = frozenset(stem(word) for word in AMOUNT_WORDS.split())

YES_NO = frozenset({"yes", "no", "true", "false", "y", "n", "0", "1"})


def column_words(name: str) -> tuple[str, ...]:
    """A column name as lower-case words.

    >>> [column_words(name) for name in ("baseColour", "MASTER_category", "hasURLPath2")]
    [('base', 'colour'), ('master', 'category'), ('has', 'url', 'path', '2')]
    """
    return tuple(part.lower() for part in PARTS.findall(name)) or (name,)


def column_head(name: str) -> str:
    """The word a name turns on, its last, in the spelling used here ("color" is "colour")."""
    last = column_words(name)[-1]
    return "colour" if last in {"color", "colors", "colours"} else last


@lru_cache(maxsize=4096)
def is_record_column(name: str) -> bool:
    """Whether a column of this name keeps records (ids, files, texts) and is never worth asking for."""
    return stem(column_head(name)) in RECORDS or column_words(name)[0] in {"id", "uuid"}


@lru_cache(maxsize=4096)
def is_same_topic(one: str, other: str) -> bool:
    """Whether two attribute names speak of the same: equal words, or the one is the last word of the other.

    >>> [is_same_topic(name, "baseColour") for name in ("base_color", "colour", "fit")]
    [True, True, False]
    """
    ones, others = (tuple(stem(word) for word in column_words(name)) for name in (one, other))
    return ones == others or (1 in {len(ones), len(others)} and ones[-1] == others[-1])


def write_column_question(name: str, values: Collection[str]) -> str:
    """The question for a column with these values.

    >>> write_column_question("baseColour", {"Red", "Blue"}), write_column_question("isWaterproof", {"yes", "no"})
    ('Which base colour is it?', 'Is it waterproof?')
    """
    words = column_words(name)
    whole = " ".join((*words[:-1], column_head(name)))
    if is_yes_or_no(values):
        rest = " ".join(words[1:])
        if words[0] in {"is", "was"} and rest:
            return f"{words[0].capitalize()} it {rest}?"
        return f"Does it have {rest}?" if words[0] in {"has", "have", "with"} and rest else f"Is this so: {whole}?"
    if words[-1].endswith("s") and all(value.isdigit() for value in values):
        return f"How many {whole} are there?"
    bare, _, fuller = COLUMN_QUESTIONS.get(column_head(name), "Which {} is it?").partition("|")
    return (fuller if fuller and len(words) > 1 else bare).format(whole)


def is_yes_or_no(values: Collection[str]) -> bool:
    """Whether all values are "yes", "no" or the like."""
    return {value.casefold() for value in values} <= YES_NO
