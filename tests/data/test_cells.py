import pytest

from viewfinder.data.cells import settle_separators, split_column, strip_markup
from viewfinder.wording.numbers import to_number


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("Tags", ["a, b", "c"], [("a", "b"), ("c",)]),
        ("keywords", ["a|b, c", "b, c"], [("a", "b, c"), ("b, c",)]),
        ("Categories", ["Wear > Shirts, Sale", "Wear"], [("Wear", "Shirts", "Sale"), ("Wear",)]),
        ("google_product_category", ["Arts & Crafts > Art", "Arts & Crafts > Paper, Ink & Co"],
         [("Arts & Crafts", "Art"), ("Arts & Crafts", "Paper", "Ink & Co")]),
        # the parts alone
        ("x", ["sun, sea", "sea", "sea, sun", "sun"], [("sun", "sea"), ("sea",), ("sea", "sun"), ("sun",)]),
        ("x", ["Shirt, blue", "Shirt, red", "Hat, blue"], [("Shirt, blue",), ("Shirt, red",), ("Hat, blue",)]),
        ("x", ["Paris, France", "Nice, France"], [("Paris, France",), ("Nice, France",)]),
        ("x", ["1,250", "2,500"], [("1,250",), ("2,500",)]),
        # names and texts
        ("Name", ["a, b", "b", "b, a"], [("a, b",), ("b",), ("b, a",)]),
        ("Description", ["sun, sea", "sea, sun"], [("sun, sea",), ("sea, sun",)]),
        ("Tags", ["it was, as we said at once and ever after, quite a nice day for it"], None),
        ("x", ["", "a"], [(), ("a",)]),
    ],
)  # fmt: skip
def test_tags_are_split_by_the_separator_of_their_column(
    name: str, values: list[str], expected: list[tuple[str, ...]] | None
) -> None:
    assert split_column(name, values) == (expected or [(value,) for value in values])


def test_markup_goes_and_signs_that_are_none_stay() -> None:
    assert strip_markup(["<p>A <b>red</b>&nbsp;hat</p><br/>", "a < b > c", "<3"]) == ["A red hat", "a < b > c", "<3"]


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["1.299", "12,50"], [1299.0, 12.5]),
        (["1.299", "12.50"], [1.299, 12.5]),
        (["1,299", "12.50"], [1299.0, 12.5]),
        (["1,299", "12,5"], [1.299, 12.5]),
        (["1.299 €", "2.450 €"], [1299.0, 2450.0]),
        (["1.299", "2.450"], [1.299, 2.45]),
        (["1.250 KWD", "2.500 KWD"], [1.25, 2.5]),
        (["1.299,00 €", "1.450 €"], [1299.0, 1450.0]),
        (["USD 15", "1,299 USD"], [15.0, 1299.0]),
    ],
)
def test_numbers_that_may_be_read_both_ways_are_read_as_their_column_is_written(
    values: list[str], numbers: list[float]
) -> None:
    assert [to_number(value) for value in settle_separators(values)] == numbers


@pytest.mark.parametrize("word", ["-", "on request", "from 99 €"])
def test_a_few_cells_without_a_number_do_not_change_how_the_others_are_read(word: str) -> None:
    values = ["1.299", "12,50", "9,90", word]
    assert [to_number(value) for value in settle_separators(values)] == [1299.0, 12.5, 9.9, None]
    assert settle_separators(values)[-1] == word


def test_a_column_that_is_not_of_numbers_stays_as_it_is() -> None:
    assert settle_separators(["1.299", "12,50", "size M"]) == ["1.299", "12,50", "size M"]


@pytest.mark.parametrize("text", ["12 cm", "EUR", "1 2", "5 USD 3", "10-20", "v1.2", "", "A4", "12 SEKunden"])
def test_what_is_no_number_is_none(text: str) -> None:
    assert to_number(text) is None
