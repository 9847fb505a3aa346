from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from viewfinder.questioners.base import Column
from viewfinder.questioners.information_gain.questioner import ColumnSplit, column_dependence, split_column
from viewfinder.wording.numbers import is_in_range, parse_number


def column(entries: Sequence[str | None]) -> Column:
    """A column as the session hands it on: the distinct values, and a code for each candidate."""
    values = tuple(dict.fromkeys(entry for entry in entries if entry is not None))
    codes = [-1 if entry is None else values.index(entry) for entry in entries]
    return values, np.array(codes, np.int32)


def split(name: str, entries: Sequence[str | None]) -> ColumnSplit | None:
    return split_column(name, column(entries), np.full(len(entries), 1 / len(entries)))


def labels(found: ColumnSplit | None) -> tuple[str, ...]:
    assert found is not None
    return found.labels


def test_a_column_of_a_few_values_splits_by_value() -> None:
    found = split("colour", ["red", "blue", None, "red"])
    assert found is not None
    assert found.labels == ("red", "blue")
    assert found.codes_c.tolist() == [0, 1, -1, 0]


def test_values_that_no_candidate_has_are_no_answers() -> None:
    codes_c = np.array([4, 2, 4], np.int32)
    found = split_column("colour", (("a", "b", "c", "d", "e"), codes_c), np.full(3, 1 / 3))
    assert found is not None
    assert found.labels == ("c", "e")
    assert found.codes_c.tolist() == [1, 0, 1]


def test_words_for_not_known_are_not_known() -> None:
    found = split("usage", ["Casual", "NA", "Formal", "", "unknown"])
    assert found is not None
    assert found.codes_c.tolist() == [0, -1, 1, -1, -1]


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("colour", ["red"] * 5),
        ("colour", ["red", None, None]),
        ("colour", [None, None]),
        ("product_id", ["1", "2", "1", "2"]),
        ("model", [f"M-{i}" for i in range(40)]),
        ("code", [str(10_000 + 7 * i) for i in range(40)]),
        ("line", ["A shirt for warm summer evenings outdoors", "Shoes made for running on hard ground"] * 9),
    ],
    ids=["constant", "one known", "nothing known", "id", "nearly all differ", "numbered", "free text"],
)
def test_columns_not_worth_asking_for(name: str, entries: list[str | None]) -> None:
    assert split(name, entries) is None


def test_four_candidates_that_all_differ_may_still_be_told_apart() -> None:
    assert labels(split("material", ["wood", "steel", "glass", "stone"])) == (
        "wood",
        "steel",
        "glass",
        "stone",
    )


def test_many_prices_become_ranges_that_hold_what_they_say() -> None:
    prices = [str(99 + 10 * i) for i in range(100)]
    found = split("price", prices)
    assert found is not None
    assert found.ordered
    assert labels(found) == ("under 350", "350 to 599", "600 to 849", "850 or more")
    for price, code in zip(prices, found.codes_c, strict=True):
        number = parse_number(price)
        assert number is not None
        assert [bool(is_in_range(label, number)) for label in found.labels].index(True) == code
        assert sum(bool(is_in_range(label, number)) for label in found.labels) == 1


def test_prices_with_cents_become_ranges_that_leave_no_gap() -> None:
    prices = [f"{0.37 * i:.2f}" for i in range(1, 60)]
    found = split("price", prices)
    for price in prices:
        assert sum(bool(is_in_range(label, float(price))) for label in labels(found)) == 1


def test_few_years_stay_years_and_many_become_spans() -> None:
    assert labels(split("year", ["2011", "2012", "2011"])) == ("2011", "2012")
    found = labels(split("year", [str(1960 + i) for i in range(40)]))
    assert found == ("before 1970", "1970 to 1979", "1980 to 1989", "1990 or later")


def test_how_far_a_column_follows_is_the_share_of_pairs_counted_one_by_one() -> None:
    rng = np.random.default_rng(3)
    codes, given = rng.integers(-1, 3, 40), rng.integers(-1, 5, 40)
    known = [(c, g) for c, g in zip(codes, given, strict=True) if c >= 0 and g >= 0]
    alike = [a[0] == b[0] for i, a in enumerate(known) for b in known[:i] if a[1] == b[1]]
    assert column_dependence(codes, given) == pytest.approx(sum(alike) / len(alike))
    assert column_dependence(codes, np.full(40, -1)) == column_dependence(np.arange(40), np.arange(40)) == 0


def test_dates_split_by_year() -> None:
    dates = [f"{2001 + i // 3}-0{1 + i % 3}-1{i % 10}" for i in range(30)]
    found = split("captureDate", dates)
    assert found is not None
    assert found.ordered
    assert found.labels[0].startswith("before 20")


def test_the_likelier_part_of_the_numbers_is_cut_finer() -> None:
    entries = column([str(i) for i in range(100, 200)])
    probabilities_c = np.where(np.arange(100) < 20, 0.045, 0.1 / 80)
    found = split_column("price", entries, probabilities_c)
    assert found is not None
    assert "or more" in found.labels[-1]
    assert parse_number(found.labels[-1].split()[0]) == 120


def test_one_number_for_nearly_all_makes_no_ranges_out_of_nothing() -> None:
    entries = ["100"] * 200 + [str(100 + i) for i in range(1, 14)]
    assert split("price", entries) is None
