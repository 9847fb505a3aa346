"""Words that are left out, one list a purpose: results were measured with each list as it is, so they differ."""

from __future__ import annotations

from collections.abc import Iterable

from viewfinder.wording.stems import fold_words, stems

_WITHOUT_CONTENT_WORDS = """
a an the is are of and with in on at to his her their its while as by for from it be being some there that this up down
through into over two three
"""
WITHOUT_CONTENT = frozenset(_WITHOUT_CONTENT_WORDS.split())
"""Words that do not say what a description is about."""

ALONE_WITHOUT_VALUE = fold_words("""
    a an the of in on at to or and yes no true false not none other others all any some something anything nothing else
    unknown na y n it is
""")
"""Stems that name no value when they stand alone: "no stripes" is no answer to a yes-or-no column."""

COURTESIES = fold_words("""
    a an the any some is are was were be being been do does did can could would will you me i we one please tell say
    know describe see there here it this that these those they them its their of in on at to if whether also maybe so
    and ok okay well now picture image photo photograph scene visible shown exactly
""")
"""Stems without which a question still asks for the same, its other words taken in any order."""

_PARAPHRASE_WORDS = """
a an the any some is are was were be do does did you we there if so ok okay please exactly visible present shown
"""
PARAPHRASE_FILLERS = frozenset(_PARAPHRASE_WORDS.split())
"""Words without which a question still asks for the same, its other words taken in their order."""

_BETWEEN_NOUNS_WORDS = """
a an the this that these those some his her its their it he she they him them himself herself itself someone s who which
while as and or but of in on at by with from for to into onto through over under near next behind front up down off out
around along across above below between beside against toward towards is are was were be been being has have having had
do does doing very not no other others another each one's it's there's that's there top side back background foreground
middle image picture photo appear appears seem seems just about out so all both as well like what where when
"""
BETWEEN_NOUNS = frozenset(_BETWEEN_NOUNS_WORDS.split())
"""They stand between the noun phrases of a caption."""

BEFORE_NOUNS = frozenset(["a", "an", "the", "his", "her", "its", "their", "some", "this", "that", "these", "those", "two", "three", "four", "five", "several"])
"""They begin a noun phrase."""

ARTICLES = frozenset(["a", "an", "the", "any", "some", "this", "that", "these", "those", "its"])
"""Before the noun that a question is about they change nothing of what is asked."""


def content_stems(texts: Iterable[str]) -> list[str]:
    """The stems of the content words, in order."""
    # One or two letters are what is left of "it's", "t-shirt" or "x 2".
    return [word for text in texts for word in stems(text) if word not in WITHOUT_CONTENT and len(word) > 2]
