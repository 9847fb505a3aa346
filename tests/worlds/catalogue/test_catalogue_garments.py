from dataclasses import replace

import numpy as np
import pytest

from viewfinder.worlds.catalogue.garments import DRAWINGS, ITEM_SIDE, draw_item
from viewfinder.worlds.catalogue.items import RANGES, Item, sample_item
from viewfinder.worlds.catalogue.vocabulary import FACETS


def example(kind: str) -> Item:
    return next(item for item in (sample_item(seed=1, number=n) for n in range(1, 500)) if item.kind == kind)


def drawn(item: Item) -> np.ndarray:
    return np.asarray(draw_item(item)).astype(int)


def with_word(item: Item, facet: str, word: str) -> Item:
    return replace(item, words=(*(known for known in item.words if known[0] != facet), (facet, word)))


def test_everything_in_the_range_can_be_drawn_and_named() -> None:
    assert set(DRAWINGS) == set(RANGES)
    assert {facet for made in RANGES.values() for facet in made.facets} <= set(FACETS)


@pytest.mark.parametrize("kind", RANGES)
def test_every_word_can_be_seen(kind: str) -> None:
    """Two words of a facet never give the same picture, whatever else there is."""
    item = example(kind)
    for facet, words in {**RANGES[kind].facets, "detail": RANGES[kind].details}.items():
        pictures = [drawn(with_word(item, facet, word)) for word in words[:4]]
        for place, picture in enumerate(pictures):
            for other in pictures[:place]:
                assert (np.abs(picture - other).max(axis=-1) > 12).mean() > 0.0005, (facet, words[place])


def test_a_picture_depends_on_its_article_alone() -> None:
    item = example("Bags")
    assert (drawn(item) == drawn(example("Bags"))).all()
    assert draw_item(item).size == (ITEM_SIDE, ITEM_SIDE) and draw_item(item).mode == "RGB"


def test_the_main_colour_is_in_the_middle_of_a_plain_shirt() -> None:
    plain = with_word(with_word(with_word(example("Shirts"), "pattern", "plain"), "fabric", "cotton"), "colour", "red")
    red, green, blue = drawn(plain)[80:90, 90:100].reshape(-1, 3).mean(axis=0)
    assert red > 190 and green < 80 and blue < 80


def test_an_article_depends_on_seed_and_number_alone() -> None:
    assert sample_item(seed=1, number=9) == sample_item(seed=1, number=9) != sample_item(seed=2, number=9)


def test_articles_lack_the_details_that_they_do_not_have() -> None:
    for number in range(1, 40):
        item = sample_item(seed=1, number=number)
        details = {("detail", word) for word in RANGES[item.kind].details}
        assert item.lacks == details - item.known
        assert dict(item.row)["articleType"] == item.kind and dict(item.row)["gender"] == "NA"
