"""The words of conversations, by which they are found: what people said in them, and their names.

One small row a word and conversation (`tables.SAID_WORDS`), sorted by word, so that all that begins with what somebody
has typed so far lies side by side: a plain B-tree, alike in SQLite and PostgreSQL, that needs no extension of either.
Only the first turn with a word is kept, so a long conversation adds few rows. Scripts without blanks between words
(Chinese, Japanese, Thai) are kept as pairs of neighbouring characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Integer, Select, String, Text, and_, bindparam, exists, or_, select

from viewfinder.server.database.tables import NODES, SAID_WORDS, SESSIONS

MAX_WORD = 40
"""Characters of a word that count."""

MAX_SOUGHT = 12
"""Words of a search that count."""

LAST = "\U0010ffff"
"""After every word with the same beginning."""

NAME = 0
"""The number of the turn under which the words of a conversation's name are kept."""

WORDS = frozenset({"say", "answer", "but", "text", "keep"})
"""The fields of a turn, as JSON, with what somebody said."""

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RUNS = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")

ADD_WORD = SAID_WORDS.insert().from_select(
    ["word", "session", "turn"],
    select(bindparam("word", type_=Text), bindparam("of", type_=String), bindparam("at", type_=Integer)).where(
        ~exists().where(
            SAID_WORDS.c.word == bindparam("word", type_=Text),
            SAID_WORDS.c.session == bindparam("of", type_=String),
            # A name is kept beside what was said, as it may change.
            (SAID_WORDS.c.turn == NAME) == (bindparam("at", type_=Integer) == NAME),
        )
    ),
)


def find_words(text: str) -> list[str]:
    """The words of a text as they are kept: without case and accents, each once.

    >>> find_words("Über the SNOW, the dog's 红色的狗")
    ['uber', 'the', 'snow', 'dog', 's', '红色', '色的', '的狗', '狗']
    """
    words: dict[str, None] = {}
    for run in _RUNS.findall(_fold(text)):
        words.update(dict.fromkeys(_cut_run(run, whole=True)))
    return list(words)


def find_sought(text: str) -> list[str]:
    """The beginnings of words that a search is for.

    >>> find_sought("Snow 的狗")
    ['snow', '的狗']
    """
    words: dict[str, None] = {}
    for run in _RUNS.findall(_fold(text)):
        words.update(dict.fromkeys(_cut_run(run, whole=False)))
    return list(words)[:MAX_SOUGHT]


def list_said(turn: Mapping[str, Any] | None) -> str:
    """What somebody said in a turn (as JSON), without its pictures and questions."""
    return " ".join(text for key, text in (turn or {}).items() if key in WORDS and isinstance(text, str) and text)


def rows_to_add(id: str, number: int, text: str) -> list[dict[str, Any]]:
    """The parameters of `ADD_WORD` for what was said in a turn."""
    return [{"word": word, "of": id, "at": number} for word in find_words(text)]


def narrow_to(sought: Iterable[str]) -> list[ColumnElement[bool]]:
    """The conditions that a conversation has all these words, wherever it has them."""
    return [SESSIONS.c.id.in_(select(SAID_WORDS.c.session).where(_begins(word))) for word in sought]


def select_matches(ids: Sequence[str], sought: Sequence[str]) -> Select[Any]:
    """The first turns of some conversations in which these words were said: conversation, number, and the turn.

    A turn comes once for each of its words.
    """
    here = and_(NODES.c.session == SAID_WORDS.c.session, NODES.c.number == SAID_WORDS.c.turn)
    in_turns = select(NODES.c.session, NODES.c.number, NODES.c.turn).join(SAID_WORDS, here)
    return in_turns.where(SAID_WORDS.c.session.in_(ids), or_(*map(_begins, sought)))


def _begins(word: str) -> ColumnElement[bool]:
    return and_(SAID_WORDS.c.word >= word, SAID_WORDS.c.word < word + LAST)


def _fold(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(mark for mark in apart if not unicodedata.combining(mark)))


def _cut_run(run: str, *, whole: bool) -> list[str]:
    if not _IS_UNSPACED.match(run):
        return [run[:MAX_WORD]]
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    # The last character begins no pair, and is sought alone by nobody who has typed two.
    return [*pairs, run[-1]] if whole or not pairs else pairs
