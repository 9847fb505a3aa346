"""Replies that say little: "don't know", denials, uncertain ones, and the choices that every question may offer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from viewfinder.wording.patterns import compile_late
from viewfinder.wording.stems import singular_of_word

_TAIL = r"(?:\s+(?:from|that|if|whether|for sure|in|by|about|when|where|who|which|how)\b.*)?"
_REST = r"(?:\s+(?:it|that|this|more|anything|any|else|details?|exactly|now|right|what|of|further|other|anymore))*"
_WHAT = r"\s+(?:the\s+(?:colou?r|year|date|day|place|name|exact\s+\w+)|what|which|where|who|how|if|whether|when)\b.*"
_DONT_KNOW = compile_late(
    r"(?:(?:no|sorry|well|oh|hm+|um+|uh|honestly|actually|ok|okay|so)\b[\s,.…]+(?=\w))*"
    r"(?:(?:i|it is|it's|i'm|i am|that is|that's|we|it|that)\s+)?(?:(?:really|honestly|just|actually|simply)\s+)*"
    r"(?:(?:can't|cant|cannot|can not|unable to|not able to|hard to|difficult to|impossible to)\s+(?:really\s+)?"
    rf"(?:tell|say|know|be sure){_TAIL}"
    rf"|(?:can't|cant|cannot|can not|don't|dont|do not|unable to|couldn't|hard to)\s+(?:really\s+)?"
    rf"(?:remember|recall|think of)(?:{_REST}|{_WHAT})"
    r"|(?:can't|cannot)\s+see\s+(?:it|that)"
    rf"|(?:not\s+(?:really\s+|quite\s+|so\s+|too\s+|entirely\s+)?|un)(?:sure|clear|known|certain){_TAIL}"
    r"|(?:don't|dont|do not|wouldn't|didn't)\s+(?:really\s+)?know(?:\s+(?:that|if|whether)\b.*|\s+(?:any\s?more|more))?"
    r"|(?:don't|dont|do not)\s+(?:really\s+)?(?:care|mind)|(?:have\s+)?forgot(?:ten)?"
    r"|dunno|idk|idc|beats me|who knows|who cares|whatever(?: you have)?|anything(?: will do| goes)?"
    r"|(?:have\s+|i've\s+|i've got\s+|have got\s+)?(?:absolutely\s+)?no\s+(?:idea|clue|preference)"
    r"|haven't a clue|not a clue"
    r"|(?:doesn't|doesnt|does not)\s+(?:really\s+)?matter(?:\s+to me)?|not important|either is fine|either way"
    r"|no\s+(?:(?:more|further|other|additional)\s+)?details?|no more|no more ideas"
    r"|nothing\s+(?:else|more|further)(?:\s+(?:to\s+(?:say|add|tell)|comes to mind|i (?:know|remember)))?"
    r"|nothing\s+(?:to\s+add|comes to mind)"
    r"|(?:(?:that\s+is|that's|thats|that\s+was)\s+)?all\s+(?:that\s+)?i\s+(?:can\s+)?"
    r"(?:know|remember|recall|say|tell|have|think of)"
    r"|(?:that\s+is|that's|thats|that\s+was)\s+all"
    r"|skip|\?)"
    r"(?:[\s,.…]+(?:sorry|thanks|thank you|honestly|to be honest|really|any\s?more|at all|right now|unfortunately"
    r"|i'm afraid|just show me))*",
    re.IGNORECASE,
)


@lru_cache(maxsize=16_384)  # every later turn reads all answers again
def is_dont_know(text: str) -> bool:
    """Whether an answer says only that the user cannot tell (or would rather not).

    >>> [is_dont_know(text) for text in ("I can't tell from here.", "not sure, maybe two", "dunno", "nothing else", "")]
    [True, False, True, True, True]
    """
    plain = " ".join(text.replace("\u2019", "'").split()).rstrip(".!")
    return not plain or _DONT_KNOW.fullmatch(plain) is not None


_DENIES_PRESENCE = compile_late(r"(?:no|none|nothing|nope|nobody|i (?:don't|do not|can't))\b", re.IGNORECASE)


def denies_presence(text: str) -> bool:
    """Whether an answer says that what was asked about is not there, or not to be seen.

    >>> [denies_presence(text) for text in ("no, a cat", "I don't see any", "yes")]
    [True, True, False]
    """
    return _DENIES_PRESENCE.match(text) is not None


_UNCERTAIN = compile_late(
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

_DENIAL = compile_late(r"^(?:no|none|nothing|neither|nobody|nowhere|never|not|there (?:is|are) no)\b")


def is_denial(text: str) -> bool:
    """Whether a reply, in lower case, says no or none.

    >>> is_denial("no, just a dog"), is_denial("nothing there"), is_denial("a dog")
    (True, True, False)
    """
    return _DENIAL.match(text) is not None


_NO_ALONE = compile_late(
    r"(?:oh |well |hm+ |um+ )?(?:no|nope|nah|n|not really|i don't think so|i dont think so)"
    r"(?:[\s,.!]+(?:no|sorry|thanks|thank you|that's it|that's all|thats all|not really))*[\s.!]*",
    re.IGNORECASE,
)
_YES_ALONE = compile_late(
    r"(?:oh |well )?(?:yes|yeah|yep|yup|y|sure)(?:[\s,.!]+(?:yes|there is|there are|i can|i do))*[\s.!]*", re.IGNORECASE
)


def is_denial_alone(text: str) -> bool:
    """Whether a reply is no, and nothing more.

    >>> [is_denial_alone(text) for text in ("nope", "No, sorry.", "no, a cat")]
    [True, True, False]
    """
    return _NO_ALONE.fullmatch(" ".join(text.replace("\u2019", "'").split())) is not None


def is_yes_alone(text: str) -> bool:
    """Whether a reply is yes, and nothing more.

    >>> [is_yes_alone(text) for text in ("Yes!", "yes, a cat")]
    [True, False]
    """
    return _YES_ALONE.fullmatch(" ".join(text.split())) is not None


def write_yes_or_no(truth: bool | None) -> str | None:
    """Yes, no, or None."""
    return None if truth is None else "yes" if truth else "no"


def drop_dont_know(choices: Iterable[str]) -> tuple[str, ...]:
    """Choices that say something, without "don't know"."""
    return tuple(choice for choice in choices if not is_dont_know(choice))


_MEANING_ALIKE = (
    frozenset({"nobody", "no one", "no-one", "noone", "none", "no people", "no person", "there is nobody", "nobody is",
               "there is no one", "no one is", "nobody there", "nobody in it", "not a person", "no humans"}),
    frozenset({"yes", "yeah", "yep", "yup", "y", "yes it is", "yes there is", "yes there are", "sure", "it is",
               "i think so", "yes i think so", "yes i think", "yeah i think", "yeah i think so", "i believe so",
               "i guess so", "probably", "probably yes", "most likely", "yes probably", "yeah probably"}),
    frozenset({"no", "nope", "nah", "n", "no it is not", "no there is not", "it is not",
               "i don't think so", "i do not think so", "no i don't think so", "not really", "probably not",
               "no probably not", "i doubt it", "not that i remember", "no there isn't", "no there aren't",
               "there isn't", "there aren't", "it isn't", "no it isn't",
               "nothing like that"}),
    frozenset({NOTHING_OF_THESE, "nothing", "nothing of that", "none", "none of these", "none of them", "none of those",
               "neither", SOMETHING_ELSE, "something different", "another", "other", "nothing like that"}),
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


_NTH = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "last": -1}
_NAMED = compile_late(
    rf"(?:the )?(?P<nth>{'|'.join(_NTH)}) (?:choice|answer|option)"
    r"|(?:the )?(?:choice|option|answer) (?:#|number )?(?P<number>\d{1,2})"
    r"|(?:(?:the )?(?:choice|option|answer) )?\(?(?P<letter>[a-z])\)?",
)


def find_choice_named(text: str, choices: Iterable[str]) -> str | None:
    """The choice that a reply names by its letter or place among those of a closed question; else None.

    >>> [find_choice_named(text, ("a man", "nobody", "don't know")) for text in ("b", "The first choice.", "option 4")]
    ['nobody', 'a man', None]
    """
    listed = list(choices)
    named = _NAMED.fullmatch(" ".join(text.casefold().split()).strip(".!"))
    if named is None or all(map(is_dont_know, listed)):
        return None
    if named["letter"]:
        place = ord(named["letter"]) - ord("a") + 1
    else:
        place = _NTH[named["nth"]] if named["nth"] else int(named["number"])
    return listed[place - 1 if place > 0 else place] if 1 <= abs(place) <= len(listed) else None


_HEDGED = compile_late(
    r"^(?:(?:maybe|perhaps|probably|possibly|definitely|certainly|mostly|kind of|kinda|sort of|more like|rather|just|"
    r"i(?: would|'d)? (?:think|guess|believe|say)(?: that)?|i am pretty sure(?: that)?|i'm pretty sure(?: that)?|"
    r"(?:it|they|he|she|that|there)(?:'s|'re| is| are| was| were| must be| must have been| could be| could have been|"
    r" might be| might have been| should be| looks? like| looked like)|(?:could|might|must) be|looks? like|looked like|"
    r"yes|yeah|yep|no|nope|well|oh|u+h*m+|h+m+|uh|dunno|not sure(?: but)?|the answer is|pretty|very|really|"
    r"actually|so|ok|okay)\b[\s,.:]*)+(?=\S)"
)
_HEDGED_AFTER = compile_late(
    r"(?:[\s,.]+(?:i (?:think|guess|believe|suppose)|maybe|perhaps|probably|possibly|for sure|definitely|or so|"
    r"or something|most likely|please|though|if i remember (?:right|correctly|well)|as far as i (?:know|remember)|"
    r"not sure|i'm not sure|right))+$"
)
_JOINED = re.compile(r"\s*(?:,\s*(?:and|or)?|\band\b|\bor\b|&|/)\s*")
_LEADING = frozenset({"a", "an", "the", "in", "on", "at", "by", "of", "or", "some", "it", "and"})


def list_values_offered(choices: Iterable[str]) -> list[str]:
    """The choices that say what holds, without those that say that nothing does, or that one cannot tell."""
    return [choice for choice in choices if choice.casefold() not in NO_VALUES and not is_dont_know(choice)]


def find_choices_meant(text: str, choices: Iterable[str]) -> str | None:
    """The choice that a reply is in more words or fewer, or the several that it names, joined as it joins them.

    >>> asked = ("on grass", "in the snow", "a man", "something else", "don't know")
    >>> [find_choices_meant(text, asked) for text in ("the grass, I think", "grass or snow", "a or b", "a cat")]
    ['on grass', 'on grass or in the snow', 'on grass or in the snow', None]
    """
    listed = list(choices)
    plain = " ".join(text.casefold().replace("\u2019", "'").split()).strip(".!? ")
    plain = plain.removeprefix("both ").removeprefix("either ")
    bare = _HEDGED_AFTER.sub("", _HEDGED.sub("", plain))
    values = list_values_offered(listed)
    if (one := _find_by_words(bare, values) or find_choice_named(bare, listed)) is not None:
        return one
    pieces = [piece for piece in _JOINED.split(bare) if piece]
    if not 1 < len(pieces) <= len(values):
        return None
    named = [_find_by_words(_HEDGED.sub("", piece), values) for piece in pieces]
    if None in named:
        named = [find_choice_named(piece, values) if len(piece) == 1 else None for piece in pieces]
    found = list(dict.fromkeys(one for one in named if one is not None))
    if None in named or len(found) != len(pieces):
        return None
    return (" or " if re.search(r"\bor\b|/", bare) else " and ").join(found)


def _find_by_words(text: str, values: Sequence[str]) -> str | None:
    """The one value that has the words of a text, in the singular or plural, whatever small words lead to them."""
    words = _drop_small(text)
    found = [value for value in values if _drop_small(value.casefold()) == words]
    return found[0] if words and len(found) == 1 else None


def _drop_small(text: str) -> list[str]:
    return [singular_of_word(word) for word in text.split() if word not in _LEADING]


def _strip_articles(text: str) -> str:
    plain = " ".join(text.casefold().replace("\u2019", "'").replace(",", " ").split()).strip(".!")
    return re.sub(r"^(?:an?|the|it's|it is|it was) ", "", plain)
