"""The words of a text that carry its content, without those of grammar."""

from __future__ import annotations

from collections.abc import Iterable

from viewfinder.wording.stems import stems

_SMALL = """
a an the is are of and with in on at to his her their its while as by for from it be being some there that this up down
through into over two three
"""
SMALL_WORDS = frozenset(_SMALL.split())


def content_stems(texts: Iterable[str]) -> list[str]:
    """The stems of the content words, in order."""
    return [word for text in texts for word in stems(text) if word not in SMALL_WORDS and len(word) > 2]
