"""Sentences that do something with what is on the screen, instead of describing the picture that is wanted.

    read_act("the second one, but black")
    Act(kind='pick', places=(2,), but='black')

A sentence is read so only if all of it fits: "no" and "wrong" reject what is shown, "no, two dogs" goes on describing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from viewfinder.wording.numbers import NUMBER_WORDS

Kind = Literal["pick", "reject", "accept", "undo", "restart", "more", "skip"]


@dataclass(frozen=True)
class Act:
    """What a sentence does: pick or reject pictures, accept the best, take the last turn back, begin anew, ask for more
    pictures, pass over a question.

    `places` are those of the pictures on the screen, from 1, -1 for the last; without any, all of them are rejected,
    or the one that was spoken of last is picked. `but` is how the wanted picture differs from the one that is picked.
    """

    kind: Kind
    places: tuple[int, ...] = ()
    but: str = ""


def _list_phrases(text: str) -> frozenset[str]:
    return frozenset(" ".join(phrase.split()) for phrase in text.split("|"))


# Whole sentences, in lower case and without marks at their end.
_PHRASES: dict[Kind, frozenset[str]] = {
    "skip": _list_phrases("""
        skip|skip it|skip this|skip that|skip the question|skip this question|skip that question|another question
        |next question|ask something else|ask me something else|pass
    """),
    "undo": _list_phrases("""
        undo|undo that|undo this|undo it|undo the last one|undo the last step|undo the last turn|go back|go back one
        |go back one step|go back a step|back|one back|one step back|step back|take that back|take it back|forget that
        |forget it|forget what i said|forget what i just said|scratch that|ignore that|ignore what i said|never mind
        |nevermind|never mind that|previous
    """),
    "restart": _list_phrases("""
        start over|start again|start anew|start from scratch|let's start over|let's start again|begin again|restart
        |reset|new search|clear|clear all|clear everything|from the beginning
    """),
    "more": _list_phrases("""
        more|some more|show more|show me more|show me some more|give me more|more results|more pictures|more photos
        |more of these|more of them|more of those|next|next page|further|keep going|go on|what else|anything else
    """),
    "accept": _list_phrases("""
        yes|yeah|yep|yup|exactly|perfect|great|correct|right|bingo|got it|found|found it|i found it|you found it
        |that's it|thats it|that is it|this is it|that's the one|this is the one|that is the one|that's right
        |that's correct|that's exactly it|that's perfect|that's him|that's her|there it is|here it is
    """),
    "reject": _list_phrases("""
        no|nope|nah|wrong|all wrong|not these|not those|not them|not this|not that|not it|not any of these
        |not any of them|not right|not quite|not really|not correct|not even close|not close|not what i want
        |not what i meant|not what i mean|not what i'm looking for|not what i am looking for|none|none of these
        |none of them|none of those|none of the above|neither|neither of these|neither of them|not this one
        |not that one|not this picture|not that picture|not this photo|not that photo|that's not it|that's not right
        |that's not the one|that's not what i want|that's not what i meant|that's wrong|it's wrong|it's not there
        |it's not here|it's not this|it's not that|it's not in there|it's none of these|it's none of them
        |it's not any of these|these are wrong|these are all wrong|these are not it|these aren't it|these aren't right
        |those are wrong|they are wrong|they're wrong|this is wrong|this is not it|that is not it|i don't see it
        |i don't find it|i can't see it|something else|something different|try again|others|different ones
    """),
}  # fmt: skip

_HESITATIONS = re.compile(
    r"^(?:(?:h+m+|u+h*m*|e+r+m*|a+h+|o+h+|well|ok|okay|so|sorry|wait|actually|hey)\b[\s,.!…-]+(?=\w))+"
)
_COURTESIES = re.compile(
    r"(?:[\s,.!?…]+(?:please|thanks|thank you|instead|though|tho|i think|i guess|again|either|at all|sorry))*[\s.!?…]*$"
)
_YES, _NO = (
    _list_phrases("yes|yeah|yep|ok|okay|ah|oh|wow|well|so|hm|hmm"),
    _list_phrases("no|nope|nah|oh|oops|wait|sorry|well|hm|hmm"),
)

_ORDINAL_NAMES = (
    "first 1st top", "second 2nd", "third 3rd", "fourth 4th", "fifth 5th", "sixth 6th", "seventh 7th", "eighth 8th",
    "ninth 9th", "tenth 10th", "eleventh 11th", "twelfth 12th",
)  # fmt: skip
_ORDINALS = {name: place for place, names in enumerate(_ORDINAL_NAMES, start=1) for name in names.split()}
_ORDINALS |= dict.fromkeys(("last", "final", "bottom"), -1)
_CARDINALS = {word: number for word, number in NUMBER_WORDS.items() if number}

_ORDINAL, _CARDINAL = "|".join(_ORDINALS), "|".join(_CARDINALS)
_PICTURE = r"(?:one|ones|pictures?|photos?|pics?|images?|results?|shots?|hit|option|item|product)"
_PLACE = (
    rf"(?:(?:(?:the|that|this|your|my) )?(?:very )?(?:{_ORDINAL})(?: {_PICTURE})?"
    rf"|(?:the )?(?:number|no\.?|nr\.?|result|picture|photo|image|pic|option|item) ?#?(?:\d{{1,3}}|{_CARDINAL})"
    r"|#? ?\d{1,3})"
)
_PLACES = rf"(?P<places>{_PLACE}(?:(?: ?, ?| ?,? ?(?:and|or|&) ){_PLACE})*)"
_THIS = rf"(?:this|that|it|these|those|them)(?: {_PICTURE})?|the last(?: one)?"
_BUT = r"(?: ?[,;-]? ?(?P<how>but|only|just|except|with|without|in|and) (?P<but>.+))?"
_LEAD = r"(?:i (?:think|guess|mean) )?(?:maybe |perhaps |rather )?"
_SORT = (
    r"(?:show |show me |find |find me |give me )?(?:some |a few )?"
    r"(?:more|others?|ones?|something|similar|another|pictures|photos)"
)
_LIKING = (
    r"(?:(?:i |i'd |i would |i'll )?(?:like|love|prefer|take|choose|pick|want|go with|go on with|go on from|go from|"
    r"meant|mean|select)"
    rf"|{_SORT}(?: ones?| pictures| photos)? (?:like|similar to|as|along the lines of)"
    r"|similar to|almost|nearly|close to|closest is|closer to|it's|it is|it's like|it's more like) "
)
_IS_CLOSE = (
    r"(?: (?:is|was|looks?) (?:close|closest|right|good|best|it|better|similar|the one|almost it|almost right))?"
)

_PICK = re.compile(rf"{_LEAD}(?:{_LIKING})?{_PLACES}{_IS_CLOSE}{_BUT}")
_PICK_THIS = re.compile(rf"{_LEAD}(?:{_LIKING}(?:{_THIS})|(?:this|that) one){_BUT}")
_REJECT = re.compile(
    r"(?:not|reject|remove|without|drop|hide|except|leave out|forget|(?:i )?(?:don't|do not) (?:want|like|mean)) "
    rf"{_PLACES}"
)
_IS_WRONG = re.compile(rf"{_PLACES} (?:is|are|was|were) (?:wrong|not (?:it|right|the one|what i (?:want|meant)))")

MAX_ACT_LENGTH = 300
"""Characters of a sentence that may be such; longer ones describe."""


@lru_cache(maxsize=16_384)
def read_act(text: str) -> Act | None:
    """What a sentence does with what is on the screen; None where it describes, as most do.

    >>> [act.kind if (act := read_act(text)) else None for text in ("not this", "more like 2", "a dog")]
    ['reject', 'pick', None]
    >>> read_act("no, two dogs"), read_act("the second floor of a house")
    (None, None)
    """
    plain = " ".join(text.lower().replace("’", "'").split())
    if not plain or len(plain) > MAX_ACT_LENGTH:
        return None
    plain = _HESITATIONS.sub("", plain, count=1)
    whole, plain = plain.rstrip(" .!?…"), _COURTESIES.sub("", plain)
    pieces = [piece for piece in map(str.strip, re.split(r"[,.!;?…]", plain)) if piece]
    for kind, phrases in _PHRASES.items():
        around = _YES if kind == "accept" else _NO
        is_all = any(piece in phrases for piece in pieces) and all(piece in phrases | around for piece in pieces)
        if is_all or whole in phrases:  # "try again" ends as a courtesy does
            return Act(kind)
    # "Ok, the second one", "no, not the first": the rest is what counts.
    while (opened := re.match(r"(\w+)[,.!;… ]+(?=\S)", plain)) and opened[1] in _YES | _NO:
        plain = plain[opened.end() :]
    for pattern in (_REJECT, _IS_WRONG):
        if (found := pattern.fullmatch(plain)) is not None:
            return Act("reject", _read_places(found["places"]))
    for pattern in (_PICK, _PICK_THIS):
        if (found := pattern.fullmatch(plain)) is not None:
            places = _read_places(found["places"]) if pattern is _PICK else ()
            return Act("pick", places[:1], _read_difference(found["how"], found["but"]))
    return None


def _read_difference(how: str | None, but: str | None) -> str:
    """How the wanted picture differs: "in green" keeps its preposition, "but green" does not."""
    if not how or not but:
        return ""
    return f"{how} {but}" if how in ("with", "without", "in") else but


def _read_places(text: str) -> tuple[int, ...]:
    words = re.findall(rf"\b(?:{_ORDINAL}|{_CARDINAL})\b|\d+", text)
    # "The second one" names one picture: "one" is no number after an ordinal.
    after_ordinal = {
        at for at, (before, word) in enumerate(pairwise(words), start=1) if word == "one" and before in _ORDINALS
    }
    named = [word for at, word in enumerate(words) if at not in after_ordinal]
    return tuple(dict.fromkeys(_ORDINALS.get(word) or _CARDINALS.get(word) or int(word) for word in named))
