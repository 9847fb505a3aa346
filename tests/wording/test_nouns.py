"""Nouns with their articles, in the singular and the plural, and in lists."""

from __future__ import annotations

import pytest

from viewfinder.wording.nouns import is_plural, join_with_and, make_plural, make_singular, mend_articles, with_article


def test_articles_and_lists_are_grammatical() -> None:
    assert (with_article("apple"), with_article("bus")) == ("an apple", "a bus")
    assert join_with_and(["a"]) == "a" and join_with_and(["a", "b", "c"]) == "a, b and c"


def test_articles_follow_the_word() -> None:
    assert mend_articles("A orange car, an red one and an cat") == "An orange car, a red one and a cat"


def test_plurals_follow_rules() -> None:
    assert [make_plural(word) for word in ("box", "toy", "brush", "lady")] == ["boxes", "toys", "brushes", "ladies"]


@pytest.mark.parametrize("noun", ["t-shirt", "hoodie", "box", "kurti", "scarf", "lip gloss", "travel accessory"])
def test_the_singular_of_a_plural_is_where_it_began(noun: str) -> None:
    assert make_singular(make_plural(noun)) == make_singular(noun) == noun
    assert is_plural(make_plural(noun))
