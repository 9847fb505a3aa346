"""Attribute words of pictures from what a table says of them, where a data set brings no lists of its own.

Fashion IQ takes a label where its word stands in what a shop says of a product (Wu et al., CVPR 2021, Sec. 3.1). Here
the values of columns are labels, and the frequent words of titles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from viewfinder.data.catalogue import Catalogue, match_keys, read_catalogue
from viewfinder.encoders.features import Features
from viewfinder.retrievers.shared.numpy_network import split_words

PictureLabels = Mapping[int, tuple[str, ...]]
"""What is said of each picture, by its row."""

TABLES = ("products.csv", "catalogue.csv")

VALUES = range(2, 65)
"""A column with so many values tells kinds of things apart; one with more names single things."""

FREQUENT = 20
"""Rows in whose titles a word must stand to be a label."""

# Words of titles that say nothing of a picture.
_SMALL = frozenset(("a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"))

_TITLE = re.compile(r"name|title", re.IGNORECASE)


def read_labels(vectors: Features) -> PictureLabels:
    """The labels of every picture of a data set by its row; none where the folder has no table.

    Raises:
        BadInput: a damaged table (the line is named).
    """
    file = next((vectors.dataset / name for name in TABLES if (vectors.dataset / name).is_file()), None)
    if file is None:
        return {}
    catalogue = read_catalogue(file)
    paths = {vectors.dataset / key: row for row, key in enumerate(vectors.keys)}
    labels = column_labels(catalogue)
    about = match_keys([row.key for row in catalogue.rows], paths).files
    return {
        paths[path]: tuple(dict.fromkeys(word for place in places for word in labels[place]))
        for path, places in about.items()
    }


def column_labels(catalogue: Catalogue) -> list[tuple[str, ...]]:
    """The labels of every row, lower-case: values of the columns that tell kinds apart, then words of titles."""
    titles = [name for name in catalogue.attributes if _TITLE.search(name)]
    columns = [name for name in catalogue.attributes if name not in titles and _tells(catalogue, name)]
    words = [_telling_words(row.values.get(title, "") for title in titles) for row in catalogue.rows]
    counts = Counter(word for of_row in words for word in of_row)
    return [
        tuple(
            dict.fromkeys(
                [row.values[name].lower() for name in columns if name in row.values]
                + [word for word in of_row if counts[word] >= FREQUENT]
            )
        )
        for row, of_row in zip(catalogue.rows, words, strict=True)
    ]


def _tells(catalogue: Catalogue, column: str) -> bool:
    values = {row.values[column] for row in catalogue.rows if column in row.values}
    return len(values) in VALUES and any(letter.isalpha() for value in values for letter in value)


def _telling_words(titles: Iterable[str]) -> tuple[str, ...]:
    """Each word once, without small words, numbers and single letters."""
    words = dict.fromkeys(word for title in titles for word in split_words(title))
    return tuple(word for word in words if word not in _SMALL and len(word) > 1 and not word.isdigit())
