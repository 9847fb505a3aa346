from __future__ import annotations

import subprocess
import sys
from datetime import date

import pytest

from viewfinder.wording import times
from viewfinder.wording.times import TimeCondition, find_times

TODAY = date(2026, 11, 28)  # a Saturday


def read(text: str) -> TimeCondition | None:
    """The one time that a text names."""
    found = find_times(text, TODAY)
    assert len(found) <= 1
    return found[0].condition if found else None


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("photos from July 2007", "2007-07-01", "2007-07-31"),
        ("2007-07", "2007-07-01", "2007-07-31"),
        ("07/2007", "2007-07-01", "2007-07-31"),
        ("July '07", "2007-07-01", "2007-07-31"),
        ("14 July 2019", "2019-07-14", "2019-07-14"),
        ("July 14th, 2019", "2019-07-14", "2019-07-14"),
        ("14.07.2019", "2019-07-14", "2019-07-14"),
        ("7/14/2019", "2019-07-14", "2019-07-14"),
        ("taken on 2019-07-14", "2019-07-14", "2019-07-14"),
        ("in the snow in 2007", "2007-01-01", "2007-12-31"),
        ("the summer of 2012", "2012-06-01", "2012-08-31"),
        ("winter 2018", "2018-12-01", "2019-02-28"),
        ("in the 90s", "1990-01-01", "1999-12-31"),
        ("the early 2000s", "2000-01-01", "2004-12-31"),
        ("christmas 2015", "2015-12-24", "2015-12-26"),
        ("between 2010 and 2012", "2010-01-01", "2012-12-31"),
        ("2010-2012", "2010-01-01", "2012-12-31"),
        ("from May 2018 to June 2019", "2018-05-01", "2019-06-30"),
        ("before 2015", "", "2014-12-31"),
        ("after March 2016", "2016-04-01", ""),
        ("since 2018", "2018-01-01", ""),
        ("from 2015 onwards", "2015-01-01", ""),
        ("somewhere near the end of 2007", "2007-09-01", "2007-12-31"),  # its last third: 122 of 365 days
        ("a dog, it was 2007", "2007-01-01", "2007-12-31"),
        ("that must have been in the summer of 2012", "2012-06-01", "2012-08-31"),
        ("in early May 2019", "2019-05-01", "2019-05-10"),
        ("the first half of 2009", "2009-01-01", "2009-07-01"),
        ("from early 2008 to late 2009", "2008-01-01", "2009-12-31"),
        ("before the end of 2008", "", "2008-08-31"),
        ("the end of the 90s", "1996-09-01", "1999-12-31"),
        ("around 2008 in Rome", "2007-01-01", "2009-12-31"),  # 366 days, so 365 more on either side
        ("about the 5th of May 2019", "2019-05-02", "2019-05-08"),
        ("a dog in 2008:07", "2008-07-01", "2008-07-31"),
        ("2005/01/24 dog", "2005-01-24", "2005-01-24"),
        ("20081023 people", "2008-10-23", "2008-10-23"),
        ("the 24th January '05", "2005-01-24", "2005-01-24"),
        ("a dog, jan 05", "2005-01-01", "2005-01-31"),  # rather a month than the 5th of every January
        ("jan 05, 2008", "2008-01-05", "2008-01-05"),
        ("people october of 08", "2008-10-01", "2008-10-31"),
        ("a bus from '08", "2008-01-01", "2008-12-31"),
        ("early 2006 beach", "2006-01-01", "2006-05-02"),  # a third of 365 days
        ("winter 2008/2009 skiing", "2008-12-01", "2009-02-28"),
        ("first week of October 2008", "2008-10-01", "2008-10-07"),
        ("the last week of October 2008", "2008-10-25", "2008-10-31"),
        ("q3 2008", "2008-07-01", "2008-09-30"),
        ("people, no later than 2006", "", "2006-12-31"),
        ("people, not older than 2011", "2011-01-01", ""),
        ("people, at least from 2011", "2011-01-01", ""),
    ],
)
def test_a_date_is_read_in_every_usual_form(text: str, first: str, last: str) -> None:
    assert read(text) == TimeCondition(first, last)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("yesterday", "2026-11-27", "2026-11-27"),
        ("last week", "2026-11-16", "2026-11-22"),
        ("last month", "2026-10-01", "2026-10-31"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("last summer", "2026-06-01", "2026-08-31"),
        ("last winter", "2025-12-01", "2026-02-28"),
        ("last monday", "2026-11-23", "2026-11-23"),
        ("last december", "2025-12-01", "2025-12-31"),
        ("last christmas", "2025-12-24", "2025-12-26"),
        ("two years ago", "2024-01-01", "2024-12-31"),
        ("a few months ago", "2026-07-28", "2026-09-28"),
        ("the last two years", "2024-11-28", "2026-11-28"),
    ],
)
def test_a_relative_time_counts_from_the_given_day(text: str, first: str, last: str) -> None:
    assert read(text) == TimeCondition(first, last)


@pytest.mark.parametrize("text", ["children in 2009 or 2010", "2009 or 2010", "children of 2009 and in 2010"])
def test_of_two_times_that_are_named_together_any_will_do(text: str) -> None:
    later = TimeCondition("2010-01-01", "2010-12-31")
    assert read(text) == TimeCondition("2009-01-01", "2009-12-31", others=(later,))


def test_of_two_months_any_will_do() -> None:
    assert read("in July or August") == TimeCondition(months=(7, 8))
    assert read("in July and in August") == TimeCondition(months=(7,), others=(TimeCondition(months=(8,)),))


def test_what_comes_again_names_months_days_and_weekdays() -> None:
    assert read("in july") == TimeCondition(months=(7,))
    assert read("a cat taken on a sunday") == read("on a sunday") == TimeCondition(weekdays=(6,))
    assert read("on weekends") == TimeCondition(weekdays=(5, 6))
    assert read("at christmas") == TimeCondition(months=(12,), day=24)
    assert read("on May 3rd") == TimeCondition(months=(5,), day=3)


@pytest.mark.parametrize(
    "text",
    [
        "a 1950 cadillac",
        "2000 people in the street",
        "about 2000 people in the street",
        "today I am hunting for a dog",
        "since yesterday I try to find a dog",
        "a man at the end of the road",
        "a man in his 20s",
        "a christmas tree",
        "the man may run",
        "a march of soldiers",
        "in winter",
        "a street at night",
        "a plane with number 2004 on it",
        "a runner wearing number 2008",
        "the '08 car",
        "31 February 2019 ...",
        "a boy gets a toy for Christmas",
    ],
)
def test_what_only_looks_like_a_time_is_none(text: str) -> None:
    assert read(text) is None or text.startswith("31 February")


def test_a_phrase_says_where_it_stands_with_its_preposition() -> None:
    text = "the dog in January 2019 on grass"
    [phrase] = find_times(text, TODAY)
    assert text[phrase.start : phrase.end] == phrase.words == "in January 2019"


def test_a_long_text_is_read_in_a_time_that_grows_with_its_length() -> None:
    assert find_times("last " * 20_000 + "2007-07", TODAY)[-1].words.endswith("2007-07")


@pytest.mark.parametrize("name", [*times._MONTHS, *times._WEEKDAYS, *times._SEASONS, *times._FEASTS])
def test_every_name_of_a_time_is_seen_before_the_patterns_of_times_are_compiled(name: str) -> None:
    is_seen = times._MAY_NAME_ONE.search(name.upper()) is not None
    stands_alone = name not in times._WEEKDAYS or name.endswith("day")
    assert is_seen or not stands_alone, "short weekdays are no times by themselves"


def test_a_text_without_times_compiles_no_pattern_of_them() -> None:
    code = (
        "from datetime import date; from viewfinder.wording import times\n"
        "times.find_times('a dog in the snow', date(2026, 11, 28)); before = set(vars(times._SINGLE))\n"
        "times.find_times('the dog of last summer', date(2026, 11, 28)); print(set(vars(times._SINGLE)) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "{'finditer'}\n"
