"""Facts that were said, as evidence: how much likelier each picture is meant, given what its files say of it."""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from datetime import date
from functools import partial

import numpy as np
from jaxtyping import Bool, Float32, Int64

from viewfinder.conversation import Reject, Turn
from viewfinder.query import ComputedRatios, LevelRatios, LikelihoodRatios, Ratios
from viewfinder.search.gallery import Gallery
from viewfinder.session.looks import MIN_SEEN, WRONG_SIGHT, find_look_chances, samples_looks
from viewfinder.session.reading import Read, Reading
from viewfinder.store.rows import AttributeColumn
from viewfinder.wording.fact_phrases import FactPhrase, Kind
from viewfinder.wording.numbers import to_number
from viewfinder.wording.reading import SaidFact, SaidReading, SaidWord
from viewfinder.wording.times import TimeCondition

COLUMNS: dict[Kind, tuple[str, ...]] = {
    "person": ("persons",),
    "place": ("place", "city", "region", "country"),
    "camera": ("camera",),
    "folder": ("folder",),
}
"""The columns that have the names of each kind."""

YEAR, SEASON = "year", "season"
"""Columns of catalogues that say when a product is from, where its picture has no date."""

WRONG_FACT = 0.002
"""How often what is said of a picture's time, place, people, camera or file does not hold for the one that is meant."""

MIN_SHARE, MAX_SHARE = 0.02, 0.2
"""Bounds of the chance that a fact holds for a picture of which that is not known."""

MAX_TALL_RATIO, MIN_WIDE_RATIO, MAX_SQUARE_RATIO, MIN_PANORAMA_RATIO = 0.95, 1.05, 1.05, 2.0
"""Width over height of upright, wide, square and panoramic pictures."""

WHOLE_DAY = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")
"""A day that comes before another where its text does."""

NAMED_IN_KEYWORDS = frozenset(("person", "place"))
"""Facts that hold for a picture also where its keywords have the name."""

Held = tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]
"""Which pictures a fact holds for, and of which it is known whether it does."""


def count_pictures(phrase: FactPhrase, gallery: Gallery) -> int:
    """How many pictures a fact holds for; of what is absent from those of a large collection, as a sample tells."""

    def count() -> int:
        if samples_looks(phrase, gallery):
            seen_k = find_look_chances(phrase, gallery, gallery.measures.samples.rows_k)
            assert seen_k is not None
            share = float(((seen_k >= MIN_SEEN) != phrase.is_negated).mean())
            return round(share * len(gallery))
        holds_n, _ = find_holding(phrase, gallery)
        return int(np.count_nonzero(holds_n))

    return gallery.memory.remember(("count", *_make_key(phrase)), count)


def describe_reading(reading: Reading, gallery: Gallery) -> SaidReading | None:
    """A reading as it is shown, with the number of pictures for each fact; None where a sentence was read as it is."""
    if not reading.facts and not reading.corrections and reading.content == reading.text:
        return None
    from viewfinder.wording.taking_away import list_content_words, quote_word, remove_word, say_again

    texts = [one.words for one in reading.facts]

    def say_without(at: int) -> str:
        return say_again(reading.text, reading.content, [*texts[:at], *texts[at + 1 :]])

    facts = [
        SaidFact(one.words, one.kind, count_pictures(one, gallery), bool(one.filter), say_without(at))
        for at, one in enumerate(reading.facts)
    ]
    words = [
        SaidWord(word, say_again(reading.text, remove_word(reading.content, word), texts))
        for word in list_content_words(reading.content)
    ]
    as_typed = [quote_word(reading.text, one.typed) for one in reading.corrections]
    return SaidReading(reading.content, reading.corrections, tuple(facts), tuple(words), tuple(as_typed))


def describe_turn_reading(turn: Turn | None, read: Read, gallery: Gallery) -> SaidReading | None:
    """The reading of a turn as it is shown; of a rejection nothing can be taken away, as it is read as its opposite."""
    reading = read_turn(turn, read)
    said = describe_reading(reading, gallery)
    if said is None or reading.text == getattr(turn, "text", ""):
        return said
    facts = tuple(replace(fact, without=None) for fact in said.facts)
    return SaidReading(said.content, said.corrections, facts)


def list_facts(turn: Turn | None, read: Read) -> tuple[FactPhrase, ...]:
    """The facts that a turn names; of what is rejected, that it is not there."""
    if isinstance(turn, Reject):
        absent = tuple(fact for fact in read(f"no {turn.text}").facts if fact.kind == "without") if turn.text else ()
        return absent + tuple(fact for fact in read_turn(turn, read).facts if fact.is_negated)
    return read_turn(turn, read).facts


def read_turn(turn: Turn | None, read: Read) -> Reading:
    """What a turn says, read; where facts are rejected ("from 2009"), that they do not hold ("not from 2009")."""
    text = getattr(turn, "text", "")
    if isinstance(turn, Reject) and text:
        denied = read(f"not {text}")
        if any(fact.is_negated for fact in denied.facts):
            return denied
    return read(text)


def weigh_fact(phrase: FactPhrase, gallery: Gallery) -> Ratios | None:
    """How much likelier each picture is meant if this is said of it, in nats; None where it holds for none.

    Of a picture of which it is not known whether the fact holds, it holds as often as of the others.
    """

    def weigh() -> Ratios | None:
        if samples_looks(phrase, gallery):
            return _weigh_sight(phrase, gallery)
        holds_n, known_n = find_holding(phrase, gallery)
        if not holds_n.any():
            return None
        if (seen_n := find_look_chances(phrase, gallery)) is not None:
            chance_n = _allow_for_sight(seen_n, phrase)
            return LikelihoodRatios(np.asarray(np.log(chance_n / chance_n.mean()), np.float32), None)
        known, held = int(np.count_nonzero(known_n)), int(np.count_nonzero(holds_n))
        named = known - held if phrase.is_negated else held
        share = float(np.clip(named / max(known, 1), MIN_SHARE, MAX_SHARE))
        share = 1 - share if phrase.is_negated else share
        chance_l = np.array([share, WRONG_FACT, 1 - WRONG_FACT])
        count_l = np.array([len(gallery) - known, known - held, held])
        mean = float(chance_l @ count_l / len(gallery))
        # What holds is known.
        return LevelRatios(np.log(chance_l / mean).astype(np.float32), known_n.view(np.uint8) + holds_n.view(np.uint8))

    return gallery.memory.remember(("fact", *_make_key(phrase)), weigh)


def _allow_for_sight(seen_n: Float32[np.ndarray, " n"], phrase: FactPhrase) -> Float32[np.ndarray, " n"]:
    """The chance that this is said of each picture, which may look otherwise than it is."""
    return np.asarray(WRONG_SIGHT + (1 - 2 * WRONG_SIGHT) * (1 - seen_n if phrase.is_negated else seen_n), np.float32)


def _weigh_sight(phrase: FactPhrase, gallery: Gallery) -> Ratios | None:
    """The same of what is not in a picture, computed of the pictures that matter; the mean is that of a sample."""

    def find_chances(rows_k: Int64[np.ndarray, " k"] | None) -> Float32[np.ndarray, " k"]:
        seen_k = find_look_chances(phrase, gallery, rows_k)
        assert seen_k is not None
        return _allow_for_sight(seen_k, phrase)

    if not count_pictures(phrase, gallery):
        return None
    mean = find_chances(gallery.measures.samples.rows_k).mean()
    return ComputedRatios(
        lambda rows_k: np.log(find_chances(rows_k) / mean), lambda: np.log(find_chances(None) / mean), -math.log(mean)
    )


def _make_key(phrase: FactPhrase) -> tuple[Hashable, ...]:
    """All that the meaning of a phrase depends on."""
    return phrase.kind, phrase.values, phrase.time, phrase.is_negated, phrase.column


def find_holding(phrase: FactPhrase, gallery: Gallery) -> Held:
    """Which pictures a fact holds for, and of which it is known whether it does.

    "Not from 2011" holds where it is known that a picture is from another year.
    """
    holds_n, known_n = gallery.memory.remember(
        ("holding", *_make_key(phrase)[:-2], phrase.column), lambda: _find_holding(phrase, gallery)
    )
    return (known_n & ~holds_n if phrase.is_negated else holds_n), known_n


def _find_holding(phrase: FactPhrase, gallery: Gallery) -> Held:  # noqa: PLR0911 (one return a kind)
    """The same of what is denied."""
    if phrase.problem:
        return np.zeros(len(gallery), bool), np.zeros(len(gallery), bool)
    match phrase.kind:
        case "column":
            return _match_column(gallery, phrase.column, frozenset(phrase.values).__contains__)
        case "looks" | "without":
            seen_n = find_look_chances(phrase, gallery)
            holds_n = np.zeros(len(gallery), bool) if seen_n is None else seen_n >= MIN_SEEN
            return holds_n, np.ones(len(gallery), bool)
        case "time":
            assert phrase.time is not None
            held = _match_time(gallery, phrase.time)
            year = None if held[1].any() else _find_column(gallery, YEAR)
            return held if year is None else _match_column(gallery, year, partial(_meets_year, phrase.time))
        case "rating":
            return _match_column(gallery, "rating", partial(_meets_rating, phrase.values[0]))
        case "shape":
            return _match_shape(gallery, phrase.values[0])
        case "file kind" if phrase.values[0] == "screenshot":
            holds_n, _ = _match_column(
                gallery, "file", lambda name: "screenshot" in name.lower().replace(" ", "").replace("_", "")
            )
            return holds_n, np.ones(len(gallery), bool)
        case "file kind":
            return _match_column(gallery, "format", lambda name: name == phrase.values[0])
        case _:
            wanted = frozenset(phrase.values)
            holds_n, known_n = np.zeros(len(gallery), bool), np.zeros(len(gallery), bool)
            for name in COLUMNS[phrase.kind]:
                of_column = _match_column(gallery, name, wanted.__contains__)
                holds_n |= of_column[0]
                known_n |= of_column[1]
            if phrase.kind in NAMED_IN_KEYWORDS:
                # Many write persons and places as keywords; a picture without that keyword may still show them.
                folded = {value.casefold() for value in wanted}
                named_n, _ = _match_column(gallery, "keywords", lambda keyword: keyword.casefold() in folded)
                holds_n, known_n = holds_n | named_n, known_n | named_n
            return holds_n, known_n


def _match_column(gallery: Gallery, name: str, meets: Callable[[str], bool | None]) -> Held:
    """Pictures with a value in a column that meets a condition, and those whose values tell; None: a value does not."""
    column: AttributeColumn = gallery.snapshot.column(name)
    return _mark_told(column, [meets(value) for value in column.values])


def _mark_told(column: AttributeColumn, told: Sequence[bool | None]) -> Held:
    """Pictures with a value of which it is told that a fact holds, and those whose values tell of it."""
    holds_n = column.mark(np.array([it is True for it in told], bool))
    if not len(column.codes):
        return holds_n, holds_n
    return holds_n, column.mark(np.array([it is not None for it in told], bool))


def _match_time(gallery: Gallery, wanted: TimeCondition) -> Held:
    """Pictures taken then, and those whose dates tell. A collection has thousands of days: whole ones are compared as
    texts where that is enough."""
    column = gallery.snapshot.column("captured")
    if wanted.others or wanted.months or wanted.day is not None or wanted.weekdays:
        return _mark_told(column, [meets_time(wanted, day) for day in column.values])
    texts_v, whole_v = gallery.memory.remember(
        ("whole days",),
        lambda: (
            np.array(column.values, str),
            np.array([WHOLE_DAY.fullmatch(day) is not None for day in column.values], bool),
        ),
    )
    inside_v = (texts_v >= (wanted.first or "")) & (texts_v <= (wanted.last or "~")) & whole_v
    coarse = {at: meets_time(wanted, column.values[at]) for at in np.flatnonzero(~whole_v).tolist()}
    return _mark_told(column, [coarse.get(at, is_inside) for at, is_inside in enumerate(inside_v.tolist())])


def _find_column(gallery: Gallery, name: str) -> str | None:
    """The column that is called so, in capitals or not, and says something of a picture."""
    named = (column for column in gallery.snapshot.columns() if column.casefold() == name)
    return next((column for column in named if len(gallery.snapshot.column(column).codes)), None)


def is_told_otherwise(phrase: FactPhrase, gallery: Gallery) -> bool:
    """Whether it is the words of a catalogue that tell what a phrase says.

    So it is of "summer 2012" where no picture has a date, but products have seasons.
    """
    if phrase.kind != "time" or not (_find_column(gallery, YEAR) or _find_column(gallery, SEASON)):
        return False
    return not len(gallery.snapshot.column("captured").codes) and not count_pictures(phrase, gallery)


def _meets_year(wanted: TimeCondition, year: str) -> bool | None:
    return meets_time(wanted, year) if re.fullmatch(r"\d{4}", year.strip()) else None


def meets_time(wanted: TimeCondition, day: str) -> bool | None:
    """Whether a day, month or year in ISO form meets a condition; None where it is too coarse to tell.

    >>> july = TimeCondition("2007-07-01", "2007-07-31")
    >>> [meets_time(july, day) for day in ("2007-07-14", "2008", "2007")]
    [True, False, None]
    """
    if wanted.others:
        told = [meets_time(one, day) for one in (replace(wanted, others=()), *wanted.others)]
        return True if True in told else None if None in told else False
    parts = [int(part) for part in day[:10].split("-") if part.isdigit()]
    if not parts or (len(parts) > 1 and not 1 <= parts[1] <= 12):
        return None
    year, month = parts[0], parts[1] if len(parts) > 1 else None
    first = "-".join([f"{year:04d}", f"{month or 1:02d}", f"{parts[2] if len(parts) > 2 else 1:02d}"])
    last_month = month or 12
    last_day = parts[2] if len(parts) > 2 else monthrange(max(year, 1), last_month)[1]
    last = f"{year:04d}-{last_month:02d}-{last_day:02d}"
    if (wanted.first and last < wanted.first) or (wanted.last and first > wanted.last):
        return False
    is_inside = (not wanted.first or first >= wanted.first) and (not wanted.last or last <= wanted.last)
    again = _meets_what_comes_again(wanted, parts)
    return again if is_inside else False if again is False else None


def _meets_what_comes_again(wanted: TimeCondition, parts: list[int]) -> bool | None:
    """Whether a date lies in the months, on the day and the weekdays that are wanted."""
    if wanted.months and (len(parts) < 2 or parts[1] not in wanted.months):
        return None if len(parts) < 2 else False
    if wanted.day is not None and (len(parts) < 3 or parts[2] != wanted.day):
        return None if len(parts) < 3 else False
    if wanted.weekdays:
        try:
            return date(*parts[:3]).weekday() in wanted.weekdays if len(parts) > 2 else None
        except ValueError:
            return None
    return True


def _meets_rating(wanted: str, value: str) -> bool | None:
    """ "4..5", or "5", against the stars of a picture."""
    stars = to_number(value)
    low, _, high = wanted.partition("..")
    return None if stars is None else float(low) <= stars <= float(high or low)


def _match_shape(gallery: Gallery, shape: str) -> Held:
    sizes_2n = np.array([gallery.snapshot.size(row) for row in range(len(gallery))], np.float64).reshape(-1, 2).T
    known_n = np.asarray((sizes_2n > 0).all(axis=0))
    ratio_n = np.divide(sizes_2n[0], sizes_2n[1], out=np.ones(len(gallery)), where=known_n)
    holds_n = {
        "tall": ratio_n < MAX_TALL_RATIO,
        "wide": ratio_n > MIN_WIDE_RATIO,
        "square": (ratio_n <= MAX_SQUARE_RATIO) & (ratio_n >= 1 / MAX_SQUARE_RATIO),
        "panorama": (ratio_n >= MIN_PANORAMA_RATIO) | (ratio_n <= 1 / MIN_PANORAMA_RATIO),
    }[shape]
    return np.asarray(holds_n & known_n), known_n
