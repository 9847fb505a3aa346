"""Which pictures are for training, for validation and for testing, where a data set does not say: worlds, captions."""

from __future__ import annotations

from typing import Literal, get_args

Split = Literal["train", "val", "test"]

SPLITS: tuple[Split, ...] = get_args(Split)

_OF = 13
_VAL, _TEST = frozenset({6}), frozenset({3, 9})


def split_of(number: int) -> Split:
    """The split of picture `number`: of 13 in a row, ten are for training, one for validation, two for testing.

    A world's pictures are counted from 1, as their files are; those of a captions file from 0, by their place in it.

    >>> [split_of(number) for number in (1, 3, 6, 9, 13)]
    ['train', 'test', 'val', 'test', 'train']
    """
    if number % _OF in _VAL:
        return "val"
    return "test" if number % _OF in _TEST else "train"
