"""Sentences that do something with what is on the screen, instead of describing the picture that is wanted.

    read_act("the second one, but black")
    Act(kind='pick', places=(2,), but='black')

A sentence is read so only if all of it fits: "no" and "wrong" reject what is shown, "no, two dogs" goes on describing.
Places count from 1; -1 is the last. "This one" and "that one" have no place: they mean what was spoken of last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from viewfinder.wording.numbers import NUMBER_WORDS

Kind = Literal["pick", "reject", "accept", "undo", "restart", "more", "skip"]


@dataclass(frozen=True)
class Act:
    """What a sentence does: pick or reject pictures, accept the best, take the last turn back, begin anew, ask for more
    pictures, pass over a question.

    `places` are those of the pictures on the screen; none: all of them to be rejected, or the one spoken of last to be
    picked. `but` is how the wanted picture differs from the one that is picked.
    """

    kind: Kind
    places: tuple[int, ...] = ()
    but: str = ""


_ORDINALS = {
    word: number
    for number, words in enumerate(
        ("first 1st", "second 2nd", "third 3rd", "fourth 4th", "fifth 5th", "sixth 6th", "seventh 7th", "eighth 8th",
         "ninth 9th", "tenth 10th", "eleventh 11th", "twelfth 12th"), start=1,
    )
    for word in words.split()
} | {"last": -1, "final": -1, "bottom": -1, "top": 1}  # fmt: skip
_CARDINALS = {word: number for word, number in NUMBER_WORDS.items() if number}

_NOUN = r"(?:one|ones|picture|pictures|photo|photos|pic|pics|image|images|result|results|shot|shots|hit|option|item|product)"
_ORDINAL = "|".join(_ORDINALS)
_NUMBER = rf"(?:\d{{1,3}}|{'|'.join(_CARDINALS)})"
_PLACE = (
    rf"(?:(?:the|that|this|your|my)\s+)?(?:very\s+)?(?:{_ORDINAL})(?:\s+{_NOUN})?"
    rf"|(?:the\s+)?(?:number|no\.?|nr\.?|#|result|picture|photo|image|pic|option|item)\s*{_NUMBER}|#\s*\d{{1,3}}|\d{{1,3}}"
)
_PLACES = rf"(?P<places>(?:{_PLACE})(?:(?:\s*,\s*|\s*(?:,\s*)?(?:and|or|&)\s+)(?:{_PLACE}))*)"
_THIS = r"(?:(?P<this>this|that|it|these|those|them)(?:\s+(?:one|ones|picture|photo|pic|image))?)"
_BUT = r"(?:\s*[,;-]?\s*(?P<how>but|only|just|except|with|without|in|and)\b\s*(?P<but>.+))?"
_LEAD = r"(?:(?:ok|okay|yes|yeah|yep|hm+|well|so|oh|no|nope|nah)\b\s*[,.!]?\s*)*(?:i\s+(?:think|guess|mean)\s+)?(?:maybe\s+|perhaps\s+|rather\s+)?"
_TRAIL = r"(?:\s*,?\s*(?:please|thanks|thank you|instead|though|i think|i guess|again))*\s*[.!?…]*"

_PICKING = (
    r"(?:(?:(?:i(?:'d|\s+would)?\s+)?(?:like|love|prefer|take|choose|pick|want|go\s+with|meant|mean)|i'll\s+(?:take|go\s+with)|pick|choose|"
    r"go\s+(?:on\s+)?(?:with|from)|take|select|(?:show\s+(?:me\s+)?|find\s+(?:me\s+)?|give\s+me\s+)?(?:some\s+|a\s+few\s+)?(?:more|others?|ones?|something|similar|another|pictures|photos)"
    r"(?:\s+(?:ones?|pictures|photos))?\s+(?:like|similar\s+to|of|as|to|along\s+the\s+lines\s+of)|similar\s+to|like|almost|nearly|close(?:st)?\s+(?:is|to)|closer\s+to|it(?:'s|\s+is)(?:\s+(?:like|more\s+like))?)\s+)"
)
_PICK = re.compile(rf"{_LEAD}{_PICKING}?(?:{_PLACES})(?:\s+(?:is|was|looks?)\s+(?:close|closest|right|good|best|it|better|similar|the\s+one|almost\s+(?:it|right)))?{_BUT}{_TRAIL}", re.I)
_PICK_THIS = re.compile(rf"{_LEAD}(?:{_PICKING}(?:{_THIS}|the\s+last(?:\s+one)?)|(?P<alone>(?:this|that)\s+one)){_BUT}{_TRAIL}", re.I)

_REJECT_ALL = re.compile(
    r"(?:(?:no|nope|nah|oh)\b[\s,.!]*)*(?:(?:no|nope|nah|wrong|all wrong|not (?:these|those|them|this|that|it|any(?: of (?:these|them|those))?|what i (?:want|meant|mean|am looking for|'m looking for)|right|quite|really|correct|even close|close)"
    r"|none(?: of (?:these|them|those|the above))?|neither(?: of (?:these|them|those))?|not (?:this|that) (?:one|picture|photo)|that'?s (?:not (?:it|right|the one|what i (?:want|meant))|wrong)|it'?s (?:not (?:there|here|in there|this|that|any of (?:these|them))|none of (?:these|them))"
    r"|(?:these|those|they|this|that) (?:are|is) (?:all )?(?:wrong|not (?:it|right|what i (?:want|meant|am looking for|'m looking for)))|(?:these|they|those) aren'?t (?:it|right)|i don'?t (?:see|find) it|something else|try again|others?|different ones)\b[\s,.!]*)+",
    re.I,
)  # fmt: skip
_REJECT = re.compile(
    rf"(?:(?:no|nope)\b[\s,.!]*)*(?:not|reject|remove|without|drop|hide|except|(?:i\s+)?(?:don'?t|do not)\s+(?:want|like|mean)|leave\s+out|forget)\s+(?:{_PLACES}){_TRAIL}", re.I
)
_REJECT_AFTER = re.compile(rf"(?:{_PLACES})\s+(?:is|are|was|were)\s+(?:wrong|not\s+(?:it|right|the\s+one|what\s+i\s+(?:want|meant))){_TRAIL}", re.I)
_ACCEPT = re.compile(
    r"(?:(?:yes|yeah|yep|yup|ah|oh|wow|great|perfect|super)\b[\s,.!]*)*(?:(?:yes|yeah|yep|yup|exactly|perfect|correct|right|bingo|got it|found(?: it)?|that'?s (?:it|the one|right|correct|exactly it|him|her|perfect)"
    r"|this is (?:it|the one)|that is (?:it|the one)|there it is|here it is|that one it is|i found it|you found it|thats it)\b[\s,.!]*)+(?:thanks|thank you)?[\s.!]*",
    re.I,
)  # fmt: skip
_UNDO = re.compile(
    r"(?:no[\s,.!]+|oops[\s,.!]+|sorry[\s,.!]+|wait[\s,.!]+)*(?:undo(?: (?:that|this|it|the last (?:one|step|turn)))?|go back(?: one(?: step)?| a step)?|back|one (?:step )?back|step back|take (?:that|it) back|forget (?:that|it|what i (?:just )?said)|scratch that|ignore (?:that|what i (?:just )?said)|never ?mind(?: that)?|previous)[\s.!]*",
    re.I,
)  # fmt: skip
_RESTART = re.compile(r"(?:let'?s )?(?:start (?:over|again|anew|from scratch)|begin again|restart|reset|new search|clear(?: (?:all|everything))?|from the beginning)[\s.!]*", re.I)
_MORE = re.compile(r"(?:(?:show|give) (?:me )?)?(?:some )?(?:more|next|further|more (?:please|results|pictures|photos|of (?:these|them|those))|next page|keep going|go on|what else|anything else|others? please)[\s.!?]*", re.I)
_SKIP = re.compile(r"(?:skip(?: (?:it|this|that|(?:the|this|that) question))?|(?:another|next) question|ask (?:me )?something else|pass)[\s.!]*", re.I)

MAX_ACT_LENGTH = 300
"""Characters of a sentence that may be such; longer ones describe."""


@lru_cache(maxsize=16_384)
def read_act(text: str) -> Act | None:
    """What a sentence does with what is on the screen; None where it describes, as most do.

    >>> read_act("not this"), read_act("more like 2"), read_act("not the first and the third")
    (Act(kind='reject', places=(), but=''), Act(kind='pick', places=(2,), but=''), Act(kind='reject', places=(1, 3), but=''))
    >>> read_act("no, two dogs"), read_act("the second floor of a house")
    (None, None)
    """
    plain = " ".join(text.replace("’", "'").split())
    if not plain or len(plain) > MAX_ACT_LENGTH:
        return None
    for kind, pattern in (("skip", _SKIP), ("undo", _UNDO), ("restart", _RESTART), ("more", _MORE), ("accept", _ACCEPT)):
        if pattern.fullmatch(plain):
            return Act(kind)
    if _REJECT_ALL.fullmatch(plain):
        return Act("reject")
    for pattern in (_REJECT, _REJECT_AFTER):
        if (found := pattern.fullmatch(plain)) is not None:
            return Act("reject", _read_places(found["places"]))
    for pattern in (_PICK, _PICK_THIS):
        if (found := pattern.fullmatch(plain)) is not None:
            places = _read_places(found["places"]) if pattern is _PICK else ()
            but = found["but"] or ""
            if but and found["how"].lower() in ("with", "without", "in"):
                but = f"{found['how'].lower()} {but}"
            return Act("pick", places[:1], re.sub(r"[\s.!?]+$", "", but))
    return None


def _read_places(text: str) -> tuple[int, ...]:
    words = re.findall(rf"\b(?:{_ORDINAL})\b|\d+|\b(?:{'|'.join(_CARDINALS)})\b", text.lower())
    # "The second one" names one picture: "one" is no number after an ordinal.
    found = [
        _ORDINALS.get(word) or _CARDINALS.get(word) or int(word)
        for at, word in enumerate(words)
        if not (word == "one" and at and words[at - 1] in _ORDINALS)
    ]
    return tuple(dict.fromkeys(found))
