"""The words of a text that carry its content, without those of grammar."""

from __future__ import annotations

from collections.abc import Iterable

from viewfinder.wording.stems import stems

_SMALL = """
a an the is are of and with in on at to his her their its while as by for from it be being some there that this up down
through into over two three
"""
SMALL_WORDS = frozenset(_SMALL.split())

_BETWEEN_NOUNS = """
a an the this that these those some his her its their it he she they him them himself herself itself someone s who which
while as and or but of in on at by with from for to into onto through over under near next behind front up down off out
around along across above below between beside against toward towards is are was were be been being has have having had
do does doing very not no other others another each one's it's there's that's there top side back background foreground
middle image picture photo appear appears seem seems just about out so all both as well like what where when
"""
FUNCTION_WORDS = frozenset(_BETWEEN_NOUNS.split())
"""Words that stand between the noun phrases of a caption."""

_BEFORE_NOUNS = "a an the his her its their some this that these those two three four five several"
LEADING_WORDS = frozenset(_BEFORE_NOUNS.split())
"""Words that begin a noun phrase."""

ARTICLES = frozenset(["a", "an", "the", "any", "some", "this", "that", "these", "those", "its"])
"""Words before the noun that a question is about; they change nothing of what is asked."""


def content_stems(texts: Iterable[str]) -> list[str]:
    """The stems of the content words, in order."""
    return [word for text in texts for word in stems(text) if word not in SMALL_WORDS and len(word) > 2]
