"""What people put around a description: greetings, requests, "a photo of", "please". A search is for the rest.

    take_content("hi, do you have a photo of a dog in the snow, please?")
    'a dog in the snow'

It is told by classes of words (`talk`), not by phrases. A clause that consists only of such words, and that speaks (to
somebody, of the search, of the picture as such), goes; so does the longest beginning, and the longest end, of the
others that does. What shows that words speak: a person who speaks or is spoken to and does something ("I think", "you
have"), a courtesy, a word for the picture that leads to what it shows ("photo of"), a verb that asks and stands where a
description begins. A sentence without any of this stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from viewfinder.wording.frames.clauses import Clause, drop_frames
from viewfinder.wording.frames.ends import drop_noun_at_end
from viewfinder.wording.frames.words import GREETED, VERBS
from viewfinder.wording.talk import OTHER_NOUNS, fold_word, is_of, is_talk

_TOKEN = re.compile(r"w/(?!\w)|\w+(?:['’&%+#./-]*\w)*|[^\w\s]+")

_SPLITTING = re.compile(r"[^\w\s'’\"“”&%+#$€£@°]")
_QUOTED, _ON_A_SIGN = re.compile(r'"[^"]+(?:"|$)|“[^”]+(?:”|$)'), "''"
_DIGITS = {"4": "for", "2": "to"}
"""How some write these words after a verb."""

MAX_CLAUSES = 64
"""Clauses of a text in which what frames a description is looked for."""


@lru_cache(maxsize=16_384)
def take_content(text: str) -> str:
    """The description in what a person says; the text itself, stripped, if nothing else is in it.

    >>> take_content("I'm looking for that picture where two boys play football")
    'two boys play football'
    >>> take_content("a man looking for something in the grass")
    'a man looking for something in the grass'
    """
    whole = " ".join(text.split())
    clauses = _split_at_marks(whole)
    kept = drop_frames(clauses, whole) if len(clauses) <= MAX_CLAUSES else clauses
    if not kept:
        return whole
    if kept == clauses:
        return drop_noun_at_end(whole.rstrip("? ")) or whole
    return drop_noun_at_end(_join(whole, clauses, kept))


def says_nothing(text: str) -> bool:
    """Whether a text is only what people put around a description.

    >>> [says_nothing(text) for text in ("do we have one?", "any photos", "a dog", "")]
    [True, True, False, True]
    """
    return all(is_talk(word) and word not in OTHER_NOUNS for clause in _split_at_marks(text) for word in clause.words)


def _split_at_marks(text: str) -> list[Clause]:
    clauses: list[Clause] = []
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    for token in _TOKEN.finditer(text):
        is_quoted = any(start < token.start() and token.end() < end for start, end in quoted)
        if token[0][0].isalnum() or token[0][0] == "_":
            # What is quoted is seen: the words on a sign.
            words.append(_ON_A_SIGN if is_quoted else _read_word(token[0], words))
            spans.append(token.span())
        elif not is_quoted and _SPLITTING.search(token[0]):
            if words:
                clauses.append(Clause(tuple(words), tuple(spans), token[0]))
                words, spans = [], []
            elif clauses:
                clauses[-1] = replace(clauses[-1], mark=clauses[-1].mark + token[0])
    return [*clauses, Clause(tuple(words), tuple(spans))] if words else clauses


def _read_word(word: str, before: Sequence[str]) -> str:
    """A word as the rules know it: "good evening" is a greeting, and who looks "4" something looks for it."""
    folded = fold_word(word)
    if folded in GREETED and before and before[-1] == "good":
        return "hello"
    if folded in _DIGITS and before and is_of(before[-1], VERBS):
        return _DIGITS[folded]
    return folded


def _join(text: str, clauses: Sequence[Clause], kept: Sequence[Clause]) -> str:
    """What is kept of a text, with the marks between it where nothing was left out in between."""
    follows = {a.spans[-1]: b.spans[0] for a, b in pairwise(clauses)}
    parts = [text[kept[0].spans[0][0] : kept[0].spans[-1][1]]]
    for a, b in pairwise(kept):
        is_next = follows.get(a.spans[-1]) == b.spans[0]
        ends = re.search(r"(?<!\.)[.!?;:](?!\.)", a.mark)
        between = text[a.spans[-1][1] : b.spans[0][0]] if is_next else f"{ends[0]} " if ends else " "
        if not is_next:
            parts[-1] = re.sub(r" (?:and|or|but)$", "", parts[-1])
        parts += [between, text[b.spans[0][0] : b.spans[-1][1]]]
    return "".join(parts)
