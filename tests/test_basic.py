"""BASIC: centred, projected and multiplied similarities (benchmarks/basic.py)."""

import numpy as np
import pytest
from basic import (
    PRODUCT,
    Asked,
    Corpora,
    Form,
    choose_form,
    expand,
    find_directions,
    fuse,
    keep_last_turns,
    list_forms,
    normalise,
    project,
    read_last,
    score,
    split_words,
)

from viewfinder.conversation import Like, Say
from viewfinder.evaluation import Task
from viewfinder.evaluation.plan import SearchDialogue

UNIT = np.eye(2)
CORPORA = Corpora(things_td=np.array([[1.0, 0.0], [0.0, 1.0]]), looks_ld=np.array([[0.0, 1.0], [0.6, 0.8]]))


def test_directions_are_those_in_which_things_differ_and_looks_do_not() -> None:
    things_td = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])  # scatter: 8 / 3 and 2 / 3
    looks_ld = np.array([[0.0, 3.0], [0.0, -3.0]])  # scatter: 0 and 18
    directions_kd = find_directions(things_td, looks_ld, against=0.2, components=2)
    # 0.8 * 8 / 3 = 2.1 is kept; 0.8 * 2 / 3 - 0.2 * 18 = -3.1 is not
    assert np.abs(directions_kd).tolist() == [[1.0, 0.0]]
    assert len(find_directions(things_td, looks_ld, against=0.0, components=2)) == 2
    assert np.abs(find_directions(things_td, looks_ld, against=0.0, components=1)).tolist() == [[1.0, 0.0]]


def test_what_lies_in_no_direction_is_projected_away() -> None:
    assert project(np.array([[0.6, 0.8]]), np.array([[0.0, 1.0]])).tolist() == [[0.0, 0.8]]


def test_similarities_are_measured_from_the_lowest() -> None:
    assert normalise(np.array([[-0.5, -0.25, 0.5, -0.75]]), least=-0.5).tolist() == [[0.0, 0.5, 2.0, 0.0]]


def test_two_middling_similarities_beat_one_that_is_high() -> None:
    alike_qn, fits_qn = np.array([[0.5, 0.9, 1.0]]), np.array([[0.5, 0.1, 0.0]])
    # 0.25 - 0.1, 0.09 - 0.1 and 0 - 0.1: the sum of both is 1 in all
    assert fuse(alike_qn, fits_qn, harris=0.1)[0] == pytest.approx([0.15, -0.01, -0.1])


def test_an_expansion_is_a_weighted_mean_with_the_nearest_pictures() -> None:
    library_nd = np.array([[0.0, 1.0], [1.0, 0.0]])
    expanded_qd = expand(np.array([[1.0, 0.0]]), library_nd, np.array([[0.0, -5.0]]), count=1)
    own = np.exp(0.1)  # of similarity 1; the nearest has similarity 0, so weight 1
    assert expanded_qd[0] == pytest.approx([own / (own + 1), 1 / (own + 1)])


def test_as_they_are_similarities_are_multiplied_and_those_below_0_count_as_0() -> None:
    library_nd = np.array([[0.6, 0.8], [0.8, -0.6], [1.0, 0.0]])
    assert score(UNIT[:1], UNIT[1:], library_nd, CORPORA, PRODUCT)[0] == pytest.approx([0.6 * 0.8, 0.0, 0.0])


def test_added_similarities_are_centred_and_in_multiples_of_the_lowest() -> None:
    form = Form(components=0, multiplied=False)
    library_nd = np.array([[1.0, 0.0], [0.0, 1.0]])
    # Centred on (0.5, 0.5) the pictures are (0.5, -0.5) and (-0.5, 0.5); lowest similarity of two: -0.5
    # Words for things have the same mean. Of all words with the pictures the lowest is -0.5 as well.
    # The picture (1, 0) is like them by 0.5 and -0.5: 2 and 0 after the lowest; the words (0, 1) fit by -0.5 and 0.5.
    assert score(UNIT[:1], UNIT[1:], library_nd, CORPORA, form)[0] == pytest.approx([2.0 + 0.0, 0.0 + 2.0])
    assert score(UNIT[:1], UNIT[1:], library_nd, CORPORA, Form(components=0, harris=0.1))[0] == pytest.approx(
        [-0.4] * 2
    )


def test_a_word_joins_the_corpus_of_its_nearest_word() -> None:
    known = Corpora(UNIT[:1], UNIT[1:])
    both = split_words(np.array([[0.8, 0.6], [0.6, 0.8], [1.0, 0.0]]), known)
    assert both.things_td.tolist() == [[1.0, 0.0], [0.8, 0.6], [1.0, 0.0]]
    assert both.looks_ld.tolist() == [[0.0, 1.0], [0.6, 0.8]]


def test_the_last_picture_is_read_with_what_was_said_since_the_one_before() -> None:
    assert read_last([Say("a dog ."), Like("1.jpg", "with a ball")]) == ("1.jpg", "a dog. with a ball")
    assert read_last([Like("1.jpg", "is red"), Like("2.jpg", "is blue")]) == ("2.jpg", "is blue")


def test_a_last_turn_alone_looks_at_no_turn_before_it() -> None:
    dialogue = SearchDialogue("0", "c", (Like("a", "is red"), Like("b", "is blue", turn=1)), targets=("b", "c"))
    task = keep_last_turns(Task("mai", "rollback", "val", ("a", "b", "c"), (dialogue,), ("R@10",)))
    assert task.dialogues == (SearchDialogue("0", "c", (Like("b", "is blue"),), targets=("c",)),)


def test_the_form_that_finds_most_is_chosen_and_of_equals_the_first() -> None:
    random = np.random.default_rng(0)
    library_nd = random.standard_normal((30, 2))
    library_nd /= np.linalg.norm(library_nd, axis=1, keepdims=True)
    asked = Asked(
        library_nd[:5], library_nd[5:10], library_nd, np.arange(10, 15), np.zeros((5, 30), bool), np.zeros((3, 5))
    )
    found = [asked.find(CORPORA, form).mean() for form in list_forms()]
    assert choose_form([[asked]], CORPORA) == list_forms()[int(np.argmax(found))]
