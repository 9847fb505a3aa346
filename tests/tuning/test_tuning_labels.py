"""Labels: single words and catalogue values that hold for a fair share of the pictures."""

from __future__ import annotations

import numpy as np

from viewfinder.tuning.collection import find_labels, prose_columns

SHIRTS = [(["Red shirt"], ["Men"]), (["Red dress"], ["Women"]), (["Blue hat"], ["Men"])]


def test_a_word_that_holds_for_more_than_half_of_the_pictures_is_no_label() -> None:
    labels, _ = find_labels(SHIRTS)
    assert "red" not in labels  # 2 of 3
    assert "men" not in labels
    assert labels == ["blue", "dress", "hat", "shirt", "women"]


def test_holds_says_which_label_is_true_of_which_picture() -> None:
    labels, holds_nl = find_labels(SHIRTS)
    np.testing.assert_array_equal(holds_nl[:, labels.index("hat")], [False, False, True])
    assert holds_nl.sum() == 5  # each of the five labels holds once


def test_little_words_and_numbers_are_no_labels() -> None:
    labels, _ = find_labels([(["the cat and 1984 on it"], []), (["a dog"], []), (["a hen"], [])])
    assert labels == ["cat", "dog", "hen"]


def test_a_catalogue_value_of_several_words_is_one_label() -> None:
    labels, _ = find_labels([([], ["Navy Blue"]), ([], ["Off White"]), ([], ["Red"])])
    assert labels == ["navy blue", "off white", "red"]


def test_no_texts_at_all_give_no_labels() -> None:
    labels, holds_nl = find_labels([([], []), ([], [])])
    assert labels == []
    assert holds_nl.shape == (2, 0)


def test_a_column_written_anew_for_every_row_is_prose_and_one_of_few_values_is_not() -> None:
    rows = [
        {"name": f"Summer shirt {word}", "colour": colour, "code": f"A{number}"}
        for number, (word, colour) in enumerate(
            [("one", "Navy Blue"), ("two", "Navy Blue"), ("three", "Navy Blue"), ("four", "Off White")]
        )
    ]
    assert prose_columns(rows) == {"name"}  # codes differ too, but nobody describes a picture by one word of code
