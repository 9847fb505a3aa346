"""What the catalogue and zero-shot tags can be asked for.

A column is a question in words made of its name; its values are the answers, known but for a small error. A group of
tags asks for what no column says, and its answers are only guessed from the pictures.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from viewfinder.encoders.tags import TagGroup, TagVectors
from viewfinder.questioners.answers import parse_number
from viewfinder.questioners.base import Candidates, Column
from viewfinder.questioners.information_gain.gains import ERROR, Option, code_shares, guessed_option, known_answers_gain
from viewfinder.questioners.said import PhraseIndex, stem

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
    **{name: f"Who is the {name}?" for name in ("artist", "author")},
    "weather": "What is the weather like?",
}

# How likely somebody who has only the picture in mind can tell. What one sees needs no entry.
CAN_TELL = {
    "usage": 0.8, "brand": 0.7, "artist": 0.6, "rating": 0.3,
    **dict.fromkeys(("year", "season", "date", "taken", "size", "author"), 0.5),
    **dict.fromkeys(("price", "cost", "photographer"), 0.4),
    **dict.fromkeys(("camera", "supplier"), 0.2),
    **dict.fromkeys(("width", "height", "stock"), 0.1),
}  # fmt: skip

# Last words of names of columns that keep records of pictures, which nobody has in mind.
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


MOST_VALUES_TO_NAME = 12
LONGEST_VALUE = 32
MOST_WORDS = 3.5
UNKNOWN = frozenset({"", "na", "n/a", "nan", "none", "null", "unknown", "-", "--", "?"})


@dataclass(frozen=True, eq=False)
class ColumnSplit:
    """The answers a column has among the candidates, and which each candidate has (-1: not known).

    `ordered` says that the labels are ranges, to be shown in their own order.
    """

    labels: tuple[str, ...]
    codes_c: Int[np.ndarray, " c"]
    ordered: bool = False


def split_column(name: str, column: Column, probabilities_c: Float[np.ndarray, " c"]) -> ColumnSplit | None:
    """How a column splits the candidates; None when it is not worth asking for.

    Not worth it: ids, file names and descriptions (by name, or by having nearly as many values as candidates,
    or by long values), and columns with fewer than two values among the candidates. Many numbers become
    ranges.
    """
    if is_record_column(name):
        return None
    # The values that some candidate has, recoded from 0; words for "not known" become -1.
    names, raw_c = column
    kept = [int(code) for code in np.unique(raw_c) if code >= 0 and names[code].strip().casefold() not in UNKNOWN]
    recoded = np.full(len(names) + 1, -1, np.int64)
    recoded[kept] = np.arange(len(kept))
    values, codes_c = tuple(names[code] for code in kept), recoded[raw_c]
    known = int((codes_c >= 0).sum())
    if len(values) < 2:
        return None
    if len(values) > MOST_VALUES_TO_NAME:
        numbers = [parse_number(value) for value in values]
        if None not in numbers:
            if len(values) > 0.9 * known and stem(column_head(name)) not in AMOUNTS:
                return None
            return _split_numbers(np.array(numbers, np.float64), codes_c, probabilities_c)
        if len(values) > 0.5 * known:
            return None
    is_free_text = (
        np.mean([value.count(" ") + 1 for value in values]) > MOST_WORDS
        or np.mean([len(value) for value in values]) > LONGEST_VALUE
    )
    return None if is_free_text else ColumnSplit(values, codes_c)


def column_dependence(codes_c: Int[np.ndarray, " c"], given_c: Int[np.ndarray, " c"]) -> float:
    """How far one column follows from another: of the pairs alike in `given_c`, the share alike in `codes_c`.

    A sub category follows from the article type, not the other way round. 0 when no two are alike.

    >>> article, category = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1, 1])
    >>> column_dependence(category, article), column_dependence(article, category)
    (1.0, 0.42857142857142855)
    """
    both_c = (codes_c >= 0) & (given_c >= 0)
    if not both_c.any():
        return 0.0
    width = int(codes_c.max()) + 1
    joint_gv = np.bincount(given_c[both_c].astype(np.int64) * width + codes_c[both_c])
    given_g = np.bincount(given_c[both_c])
    pairs = float((given_g * (given_g - 1)).sum())
    return float((joint_gv * (joint_gv - 1)).sum()) / pairs if pairs else 0.0


def is_yes_or_no(values: Collection[str]) -> bool:
    """Whether all values are "yes", "no" or the like."""
    return {value.casefold() for value in values} <= YES_NO


def _split_numbers(
    numbers_v: Float[np.ndarray, " v"], codes_c: Int[np.ndarray, " c"], probabilities_c: Float[np.ndarray, " c"]
) -> ColumnSplit | None:
    """Four ranges of about equal probability, with limits of two significant digits; fewer where limits coincide."""
    known_c = codes_c >= 0
    numbers_k = numbers_v[codes_c[known_c]]
    order = np.argsort(numbers_k, kind="stable")
    reached_k = np.cumsum(probabilities_c[known_c][order])
    if reached_k[-1] <= 0:
        return None
    # Just above a quarter: where it is reached exactly, the next number starts the next range.
    quarters = reached_k[-1] * np.array([0.25, 0.5, 0.75]) + 1e-9
    at = np.searchsorted(reached_k, quarters, side="right").clip(max=len(order) - 1)
    are_whole = bool((numbers_v == np.round(numbers_v)).all())
    are_years = are_whole and bool(((numbers_v >= 1000) & (numbers_v <= 2200)).all())
    limits = [float(x) if are_years else float(f"{x:.1e}") for x in numbers_k[order][at]]
    edges = [edge for edge in sorted(set(limits)) if numbers_k.min() < edge <= numbers_k.max()]
    if not edges:
        return None
    ranges_c = np.full(len(codes_c), -1, np.int64)
    ranges_c[known_c] = np.searchsorted(edges, numbers_k, side="right")
    whole = are_whole and all(edge == round(edge) for edge in edges)
    return ColumnSplit(_name_ranges(edges, whole=whole, years=are_years), ranges_c, ordered=True)


def _name_ranges(edges: Sequence[float], *, whole: bool, years: bool) -> tuple[str, ...]:
    """Texts that `answers.is_in_range` reads back: [edge, next edge) each."""

    def text(number: float) -> str:
        return f"{number:.0f}" if years else f"{number:,.0f}" if number == round(number) else f"{number:.10g}"

    inner = [
        (text(a) if a == b - 1 and years else f"{text(a)} to {text(b - 1)}") if whole else f"{text(a)} up to {text(b)}"
        for a, b in pairwise(edges)
    ]
    first = f"before {text(edges[0])}" if years else f"under {text(edges[0])}"
    last = f"{text(edges[-1])} or later" if years else f"{text(edges[-1])} or more"
    return (first, *inner, last)


HALF_KNOWN = 0.5
"""A column known for less than this leaves its subject to the tags."""

FILE_FACTS = frozenset({"camera", "folder", "format"})
"""Columns that files fill: nobody has them in mind, unless they speak of a folder."""

DATES = frozenset({"year", "month", "date", "taken"})
"""Asked for only where half of the likely pictures have one."""

IMPLIED = 0.95
"""Of the pairs alike in one column the share that must be alike in one that follows from it."""

MOST_VALUES_SEARCHED = 200
"""A column with more values is not searched for what else it implies."""


def column_options(view: Candidates) -> Iterator[Option]:
    """An option for each column that is worth asking for, and was neither asked nor settled."""
    asked = (question.attribute for question in view.asked if question.attribute is not None)
    done = [*asked, *view.settled]
    for name, column in view.columns.items():
        if any(is_same_topic(name, other) for other in done):
            continue
        split = split_column(name, column, view.probabilities_c)
        if split is None:
            continue
        share_v = code_shares(view.probabilities_c, split.codes_c, len(split.labels))
        if column_head(name) in DATES and share_v.sum() < HALF_KNOWN:
            continue
        can_tell = CAN_TELL.get(column_head(name), 1.0)
        gain = can_tell * known_answers_gain(share_v, unknown=max(1.0 - float(share_v.sum()), 0.0))
        yield Option(
            "column", write_column_question(name, split.labels), split.labels, share_v, gain,
            partial(known_answers_table, split), attribute=name, can_tell=can_tell, ordered=split.ordered,
        )  # fmt: skip


def known_answers_table(split: ColumnSplit, error: float = ERROR) -> Float[np.ndarray, "c a"]:
    """What each candidate is answered with: its value, or with probability `error` another; any if it has none."""
    count = len(split.labels)
    answer_ca = np.full((len(split.codes_c), count), error / max(count - 1, 1))
    known_k = np.flatnonzero(split.codes_c >= 0)
    answer_ca[known_k, split.codes_c[known_k]] = 1 - error
    answer_ca[split.codes_c < 0] = 1 / count
    return answer_ca


def is_column_mentioned(name: str, view: Candidates, said: PhraseIndex) -> bool:
    """Whether a column or one of its values was said, or what it follows from was said or settled: heels are shoes.

    Of what files say, the other way round: who speaks of folders may be asked which, and nobody else.
    """
    if name in FILE_FACTS and not said.contains(name):
        return True
    if name not in FILE_FACTS and said.contains(" ".join(column_words(name))):
        return True
    if column_head(name) in COLUMN_QUESTIONS and said.contains(column_head(name)):
        return True
    values, codes_c = view.columns[name]
    if any(said.contains(value) for value in values):
        return True
    return any(
        column_dependence(codes_c, given_c) >= IMPLIED
        for other, (given, given_c) in view.columns.items()
        if other != name and len(given) <= MOST_VALUES_SEARCHED and not is_record_column(other)
        if any(is_same_topic(other, done) for done in view.settled) or any(said.contains(value) for value in given)
    )


def tag_options(view: Candidates, tags: TagVectors | None) -> Iterator[Option]:
    """An option for each tag group that is still open and on whose topic no column knows better."""
    if tags is None:
        return
    asked = (question.attribute or "" for question in view.asked)
    known = (
        name
        for name, (_, codes_c) in view.columns.items()
        if not is_record_column(name) and view.probabilities_c[codes_c >= 0].sum() >= HALF_KNOWN
    )
    taken = [name for name in (*view.settled, *asked, *known) if name]
    still_open = [
        group
        for group in tags.groups
        # A group whose name is a column's would make an answer ambiguous, however little the column knows.
        if group.name not in view.columns
        and not any(is_same_topic(group.name, name) or column_head(name) in group.topics for name in taken)
    ]
    if not still_open:
        return
    probability = tags.probabilities(view.vectors_cd)
    for group in still_open:
        tag_ct = probability[group.name].astype(np.float64)
        answer_ca = np.column_stack([tag_ct, np.maximum(1 - tag_ct.sum(axis=1), 0)])
        yield guessed_option(
            "tag", group.question, group.answers, view.probabilities_c, answer_ca, attribute=group.name
        )


def is_group_mentioned(group: TagGroup, said: PhraseIndex) -> bool:
    """Whether the conversation mentions the group's topic or one of its tags."""
    return said.contains(group.name) or any(said.contains(word) for tag in group.tags for word in (tag.name, *tag.also))


def shares_vocabulary(group: TagGroup, values: Sequence[str]) -> bool:
    """Whether a column's values are the group's tags by other means: colours are, article types are not."""
    folded = {value.casefold() for value in values}
    return 2 * sum(tag.name in folded for tag in group.tags) >= len(group.tags)
