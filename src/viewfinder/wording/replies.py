"""Replies that say little: "don't know", denials, uncertain ones, and the choices that every question may offer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_DONT_KNOW = re.compile(
    r"(?:(?:no|sorry),?\s+)?(?:(?:i|it is|it's|i'm|i am|that is|that's)\s+)?"
    r"(?:(?:can't|cant|cannot|can not|unable to|not able to|hard to|difficult to|impossible to)\s+(?:really\s+)?"
    r"(?:tell|say|know|be sure)(?:\s+(?:from|that|if|whether|for sure|in|by)\b.*)?"
    r"|(?:can't|cannot)\s+see\s+(?:it|that)"
    r"|(?:not\s+|un)(?:sure|clear|known)(?:\s+(?:from|that|if|whether|about|in)\b.*)?"
    r"|(?:don't|dont|do not|wouldn't)\s+know(?:\s+(?:that|if|whether)\b.*)?"
    r"|no idea|skip|\?)",
    re.IGNORECASE,
)


@lru_cache(maxsize=16_384)  # every later turn reads all answers again
def is_dont_know(text: str) -> bool:
    """Whether an answer says only that the user cannot tell (or would rather not).

    >>> [is_dont_know(text) for text in ("I can't tell from here.", "not sure, maybe two", "don't know", "")]
    [True, False, True, True]
    """
    plain = " ".join(text.replace("\u2019", "'").split()).rstrip(".!")
    return not plain or _DONT_KNOW.fullmatch(plain) is not None


_DENIES_PRESENCE = re.compile(r"(?:no|none|nothing|nope|nobody|i (?:don't|do not|can't))\b", re.IGNORECASE)


def denies_presence(text: str) -> bool:
    """Whether an answer says that what was asked about is not there, or not to be seen.

    >>> [denies_presence(text) for text in ("no, a cat", "I don't see any", "yes")]
    [True, True, False]
    """
    return _DENIES_PRESENCE.match(text) is not None


_UNCERTAIN = re.compile(
    r"\b(?:uncertain|unsure|unknown|unclear|not (?:sure|certain|clear|known|say|said|specified))\b", re.IGNORECASE
)


def is_uncertain(reply: str) -> bool:
    """Whether the reply of a language model says anywhere that it cannot tell.

    >>> [is_uncertain(text) for text in ("It is uncertain.", "not specified", "blue")]
    [True, True, False]
    """
    return _UNCERTAIN.search(reply) is not None or is_dont_know(reply)


DONT_KNOW, SOMETHING_ELSE, NOTHING_OF_THESE = "don't know", "something else", "nothing of these"
"""Choices that a question may offer beside its values."""

NO_VALUES = frozenset({SOMETHING_ELSE, NOTHING_OF_THESE})
"""Those of them that say that none of the values is right."""


CANT_TELL = ("i can't tell", "can't tell", "i can't tell from the picture", "hard to say")
"""Ways to say so of something that a picture does not show."""

_DENIAL = re.compile(r"^(?:no|none|nothing|neither|nobody|nowhere|never|not|there (?:is|are) no)\b")


def is_denial(text: str) -> bool:
    """Whether a reply, in lower case, says no or none.

    >>> is_denial("no, just a dog"), is_denial("nothing there"), is_denial("a dog")
    (True, True, False)
    """
    return _DENIAL.match(text) is not None


def write_yes_or_no(truth: bool | None) -> str | None:
    """Yes, no, or None."""
    return None if truth is None else "yes" if truth else "no"


def drop_dont_know(choices: Iterable[str]) -> tuple[str, ...]:
    """Choices that say something, without "don't know"."""
    return tuple(choice for choice in choices if not is_dont_know(choice))


_MEANING_ALIKE = (
    frozenset({"nobody", "no one", "no-one", "noone", "none", "no people", "no person", "there is nobody", "nobody is",
               "there is no one", "no one is", "nobody there", "nobody in it", "not a person", "no humans"}),
    frozenset({"yes", "yeah", "yep", "yup", "y", "yes it is", "yes there is", "yes there are", "sure", "it is"}),
    frozenset({"no", "nope", "nah", "n", "no it is not", "no there is not", "it is not"}),
    frozenset({NOTHING_OF_THESE, "nothing", "nothing of that", "none", "none of these", "none of them", "none of those",
               "neither", SOMETHING_ELSE, "something different", "another", "other"}),
)  # fmt: skip


def find_choice_meant(text: str, choices: Iterable[str]) -> str | None:
    """The choice that a reply is: the same words, with or without an article, or words that mean the same; else None.

    >>> find_choice_meant("No one.", ("a man", "nobody")), find_choice_meant("man", ("a man", "nobody"))
    ('nobody', 'a man')
    """
    said = _strip_articles(text)
    listed = list(choices)
    for choice in listed:
        if said and _strip_articles(choice) == said:
            return choice
    alike = [words for words in _MEANING_ALIKE if said in words]
    return next((choice for words in alike for choice in listed if choice.casefold() in words), None)


def _strip_articles(text: str) -> str:
    plain = " ".join(text.casefold().replace("\u2019", "'").replace(",", " ").split()).strip(".!")
    return re.sub(r"^(?:an?|the|it's|it is|it was) ", "", plain)
