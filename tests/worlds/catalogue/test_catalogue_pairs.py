import random
import re
from collections import Counter
from math import log, sqrt

import numpy as np

from viewfinder.worlds.catalogue.items import Item
from viewfinder.worlds.catalogue.looks import sample_item
from viewfinder.worlds.catalogue.pairs import find_references, title_similarities

TITLES = ["red shirt", "red shirt", "blue shirt", "blue dress"]


def article(key: str, title: str) -> Item:
    words = (("kind", "shirt"), ("colour", title.split(maxsplit=1)[0]))
    return Item(key, "Shirts", "Topwear", title, words, frozenset(), ())


def slowly(titles: list[str]) -> list[list[float]]:
    """The rule as it is written down: TF-IDF (smooth idf, unit length), summed over the words that both have."""
    words = [re.findall(r"\w[\w'-]*", title.lower()) for title in titles]
    having = Counter(word for of_title in words for word in set(of_title))
    table = []
    for of_title in words:
        weights = {w: of_title.count(w) * (log((1 + len(titles)) / (1 + having[w])) + 1) for w in of_title}
        length = sqrt(sum(weight**2 for weight in weights.values()))
        table.append([sum(w / length for word, w in weights.items() if word in other) for other in words])
    return table


def test_alikeness_is_the_sum_of_weights_on_shared_words() -> None:
    """ "blue dress": idf of blue ln(5/3) + 1 = 1.511, of dress ln(5/2) + 1 = 1.916; length 2.440."""
    scores = np.array(list(title_similarities(TITLES)))
    assert np.allclose(scores[3], [0, 0, 1.511 / 2.440, (1.511 + 1.916) / 2.440], atol=1e-3)


def test_alikeness_is_that_of_slow_obvious_code() -> None:
    titles = [sample_item(seed=1, number=number).title for number in range(1, 301)]  # more than a block
    assert np.allclose(np.array(list(title_similarities(titles))), slowly(titles))


def test_the_reference_is_the_most_alike_that_can_be_told_apart() -> None:
    items = [article(str(number), title) for number, title in enumerate(TITLES)]
    found = find_references(items, most=5, rng=random.Random(0))
    # The other red shirt is more alike, but nothing tells the two apart.
    assert [item.key for item in found["0"]] == ["2", "3"]
    assert {item.key for item in found["3"]} == {"0", "1"}


def test_every_reference_is_the_best_by_slow_code() -> None:
    items = [sample_item(seed=4, number=number) for number in range(1, 80)]
    table = slowly([item.title for item in items])
    found = find_references(items, most=3, rng=random.Random(1), fits=lambda target, reference: True)
    for place, item in enumerate(items):
        others = sorted((score for other, score in enumerate(table[place]) if other != place), reverse=True)
        assert np.allclose([table[place][items.index(reference)] for reference in found[item.key]], others[:3])


def test_among_equals_chance_decides() -> None:
    items = [article(str(number), "red shirt") for number in range(30)]
    found = find_references(items, most=1, rng=random.Random(0), fits=lambda target, reference: True)
    again = find_references(items, most=1, rng=random.Random(0), fits=lambda target, reference: True)
    other = find_references(items, most=1, rng=random.Random(1), fits=lambda target, reference: True)
    assert found == again != other


def test_without_titles_or_fits_there_are_no_references() -> None:
    assert find_references([], most=2, rng=random.Random(0)) == {}
    twins = [article("0", "red shirt"), article("1", "red shirt")]
    assert find_references(twins, most=2, rng=random.Random(0)) == {"0": (), "1": ()}
