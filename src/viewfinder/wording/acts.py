"""Sentences that do something with what is on the screen, instead of describing the picture that is wanted.

    read_act("the second one, but black")
    Act(kind='pick', places=(2,), but='black')

A sentence is read so only if all of it fits: "no" and "wrong" reject what is shown, "no, two dogs" goes on describing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from viewfinder.wording.act_phrases import NO, PHRASES, YES, Kind
from viewfinder.wording.numbers import NUMBER_WORDS
from viewfinder.wording.patterns import compile_late
from viewfinder.wording.replies import is_dont_know
from viewfinder.wording.spoken import write_apostrophes
from viewfinder.wording.talk import fold_word


@dataclass(frozen=True)
class Act:
    """What a sentence does: pick or reject pictures, accept the best, take the last turns back or up again, begin anew,
    ask for more pictures, pass over a question; or nothing: "thanks", "no idea".

    `places` are those of the pictures on the screen, from 1, -1 for the last; without any, all of them are rejected,
    or the one that was spoken of last is picked. `but` is how the wanted picture differs from the one that is picked.
    A picture is also picked as the "other" of two, the "middle" one, or in words that do not say "which": "the one on
    the left"; "both" are "several". `turns` is how many are taken back; "the one before" is that of the turn before.
    Who goes back to "the first results" means those of the turn at that place among the turns that count, -1 for the
    one before; who goes back to "turn 3" its number.
    """

    kind: Kind
    places: tuple[int, ...] = ()
    but: str = ""
    turns: int = 1


# "Unclear in the fog" describes, "not sure about that" does not.
_CONTINUES = compile_late(r"\s(?:in|by|if|whether|that (?!is\b|was\b).+|(?:from|about) (?!that$|this$|it$).+)\b")

_HESITATIONS = compile_late(
    r"^(?:(?:h+m+|u+h*m*|e+r+m*|a+h+|o+h+|well|ok|okay|so|sorry|wait|actually|hey)\b[\s,.!…-]+(?=\w))+"
)
_I_MEAN = re.compile(r"[\s,]+i meant?$")
_DRAWN_OUT = re.compile(r"([a-z])\1\1")
_COURTESIES = compile_late(
    r"(?:[\s,.!?…]+(?:please|pls|plz|thx|lol|thanks|thank you|instead|though|tho|i think|i guess|again|either|at all"
    r"|sorry))*[\s.!?…]*$"
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
_COUNT = rf"(?:{'|'.join(word for word, number in _CARDINALS.items() if number > 1)}|[2-9]|[1-9]\d)"
_EDGE = rf"(?P<edge>first|top|last|final|bottom) (?P<count>{_COUNT})\b"
_NUMBERED = "number|no|nr|result|picture|photo|image|pic|option|item"
_PLACE = (
    rf"(?:(?:(?:the|that|this|your|my) )?(?:very )?(?:(?:first|top|last|final|bottom) {_COUNT}|{_ORDINAL})"
    rf"(?: {_PICTURE})?"
    rf"|(?:the )?(?:number|no\.?|nr\.?|result|picture|photo|image|pic|option|item) ?#?(?:\d{{1,3}}|{_CARDINAL})"
    r"|(?:# ?)?\d{1,3})"
)
_PLACES = rf"(?:both )?(?P<places>{_PLACE}(?:(?: ?,(?: (?:and|or|nor|&))? ?| (?:and|or|nor|&) ){_PLACE})*)"
# No blank can be read in two ways there, or long lists would take exponential time.
_THIS = rf"(?:this|that|it|these|those|them)(?: {_PICTURE})?|the last(?: one)?"
_BUT = r"(?: ?[,;-]? ?(?P<how>but|only|just|except for|except|with|without|in|and|no|not) (?P<but>.+))?"
_LEAD = r"(?:i (?:think|guess|mean) )?(?:maybe |perhaps |rather )?"
_SORT = (
    r"(?:show |show me |find |find me |give me |see |get |have )?(?:some |a few |any )?"
    r"(?:more|others?|ones?|something|similar|another|pictures|photos)"
)
_LIKING = (
    r"(?:(?:i |i'd |i would |i'll )?(?:like|love|prefer|take|choose|pick|want|go with|go on with|go on from|go from|"
    r"meant|mean|select)"
    r"|(?:show |show me |give me )?more (?:of|from)|again|(?:one|any|some|either) of"
    rf"|{_SORT}(?: ones?| pictures| photos)? (?:like|similar to|as|along the lines of)"
    r"|(?:the |exactly the |just the )?same as|(?:exactly|just) like"
    r"|between|(?:a )?(?:mix|combination|cross|blend) (?:of|between)|combine|mix"
    r"|similar to|almost|nearly|close to|closest is|closer to|it's|it is|it's like|it's more like) "
)
_CLOSE = (
    r"(?:is|was|are|were|looks?|seems|comes?) (?:(?:the|very|quite|pretty|really|already|almost|nearly|just about) )*"
    r"(?:close|closest|right|good|best|it|better|similar|there|perfect|nice|great|fine|ok|okay|lovely|"
    r"(?:closest |best )?(?:one|match))"
)
_IS_CLOSE = rf"(?: {_CLOSE})?"

_PICK = compile_late(rf"{_LEAD}(?:{_LIKING})?{_PLACES}{_IS_CLOSE}{_BUT}")
_PICK_THIS = compile_late(
    rf"{_LEAD}(?:{_LIKING}(?:{_THIS})|(?:this|that) {_PICTURE}{_IS_CLOSE}"
    r"|(?:this|that) (?:is|was) (?:(?:the )?closest(?: one)?|(?:almost|nearly) (?:right|it|there)))"
    rf"{_BUT}"
)
_SAME = compile_late(
    r"(?:(?:exactly )?(?:the )?same|this|that) (?!(?:is|was|has|looks|can)\b)\w+(?: \w+)? ?,? (?:but|only|except) "
    r"(?P<but>.+)"
)
_SAME_ONE = compile_late(
    rf"(?:exactly )?(?:the )?same(?: thing| {_PICTURE})? ?,? "
    r"(?P<how>but|only|except|in|with|without|no|not) (?P<but>.+)"
)
"""What is shown is spoken of by what is in it: "the same dog but in the water"."""

_SIDE = r"(?:top|bottom|upper|lower|left|right|middle|centre|center)"
_ON_SIDE = rf"(?:(?:on|at|in|to) the )(?:far |very )?{_SIDE}(?:[ -]?{_SIDE})?(?: corner| side| row)?"
_WHICH = compile_late(
    rf"{_LEAD}(?:{_LIKING})?(?:(?:the|that|this) )?(?:{_PICTURE} {_ON_SIDE}"
    rf"|(?:{_SIDE}[ -]{_SIDE}|left|right|far left|far right|rightmost|leftmost|upper|lower|left-hand|right-hand) "
    rf"{_PICTURE}|(?:top|bottom|upper|lower)[ -](?:left|right)){_IS_CLOSE}(?: ?,? but .+)?"
)
_NEXT_TO = compile_late(
    rf"{_LEAD}(?:the )?{_PICTURE} (?:right |just )?(?:next to|beside|after|before|below|above|under|left of|right of|"
    rf"(?:on|to) the (?:left|right) of) (?:{_THIS}|{_PLACE}){_IS_CLOSE}"
    rf"|(?:the )?next {_PICTURE}|the one (?:after|above|below|underneath|beside it)"
    rf"|(?:the )?(?:last but one|second to last|next to last)(?: {_PICTURE})?"
    rf"|(?:the )?(?:{_ORDINAL})(?: {_PICTURE})? from (?:the )?(?:left|right|top|bottom|end)"
)
_THAN = compile_late(
    r"(?P<but>(?:(?:a bit|a little|a lot|much|slightly|way|even|far) )?(?:(?:more|less) \w+|\w{3,}er)) than "
    rf"(?:{_PLACES}|{_THIS})"
)
"""How the wanted picture differs from one that is shown: "a bit darker than the first"."""

_RATHER = compile_late(
    rf"{_LEAD}(?:{_LIKING})?{_PLACES} ?,? (?:and )?(?:rather )?(?:than|not) {_PLACE}"
    rf"|not {_PLACE} ?,? ?(?:but|rather) {_PLACES.replace('<places>', '<instead>')}"
)
"""One picture and not another: "more like 1 than 2", "not 1 but 2"."""

_OTHER = compile_late(rf"{_LEAD}(?:{_LIKING})?the other(?: {_PICTURE})?{_IS_CLOSE}{_BUT}")
_MIDDLE = compile_late(rf"{_LEAD}(?:{_LIKING})?the (?:middle|central) {_PICTURE}{_IS_CLOSE}{_BUT}")
_BACK = compile_late(
    rf"(?:(?:go|step|move|take me) )?back (?:by )?(?P<far>{_COUNT}|a couple of|a couple)(?: (?:steps?|turns?|times))?"
    rf"|undo (?:the last |my last )?(?P<last>{_COUNT}|a couple of)(?: (?:steps?|turns?|times|things))?"
    r"|(?:undo(?: that)?|go back|back) (?P<twice>twice)"
    rf"|(?P<back>{_COUNT}|a couple of)(?: (?:steps?|turns?|times))? back"
)
_ASKING = compile_late(
    r"^(?:(?:please|(?:can|could|would|will|may|do) (?:you|i|we)(?: please)?|let me|let's|i want to|i'd like to"
    r"|i would like to) )+(?=\w)"
)
_REJECT = compile_late(
    r"(?:not like|nothing like|unlike|less like|different from|not|neither"
    r"|reject|remove|without|drop|hide|except|leave out|forget|(?:anything|all|everything) (?:but|except)"
    r"|(?:i )?(?:don't|do not) (?:want|like|mean)) "
    rf"{_PLACES}"
)
_MEANT = r"what i(?:'m| am| was)? (?:want|need|meant|mean|said|asked for|looking for|after|had in mind)"
_RIGHT = rf"(?:really |quite |at all )*(?:right|good|it|correct|close|great|useful|{_MEANT}|the (?:right )?ones?)"
_THESE = rf"(?:these|those|them|this|that|it|they)(?: {_PICTURE})?"
_REJECT_ALL = compile_late(
    rf"(?:none|neither|not one|not any) of {_THESE}"
    rf" (?:(?:is|are|was|were|looks?|seems?) {_RIGHT}|works?|fits?|match(?:es)?)"
    r"|i (?:don't|do not|dont|didn't|did not) (?:really )?(?:like|want|mean|need)"
    rf" (?:any (?:of )?|all (?:of )?)?{_THESE}"
    rf"|i hate (?:all (?:of )?)?{_THESE}"
    rf"|{_THESE}(?: (?:is|are|was|were)n't| (?:is|are|was|were) not|'s not|'re not) {_RIGHT}"
)
_RESULTS = r"(?:ones|results?|pictures|photos|pics|images|hits|search|searches|page|query)"
_BEFORE = rf"(?:previous|earlier|last) {_RESULTS}|(?:ones|results|pictures|photos|search) (?:from )?before"
_NTH = rf"(?P<nth>{'|'.join(name for name, place in _ORDINALS.items() if place > 0)}) {_RESULTS}"
_BACK_TO = compile_late(
    r"(?:(?:(?:go|get|take me|bring me|bring us|let's go|lets go) )?back to|go to) (?:the )?(?:very )?"
    rf"(?:{_NTH}|{_BEFORE}|what (?:we|i|you) had(?: before| earlier)?|how it was(?: before)?)"
    rf"|(?:show |show me |give me |see )?the (?:{_BEFORE})"
)
_AGAIN = compile_late(rf"(?:show |show me |give me |see )?the (?:very )?{_NTH} (?:again|back)(?: please)?")
"""Without "again", the first pictures are those that are shown now."""

_TO_TURN = compile_late(r"(?:(?:(?:go|take me|get) )?back|go) to (?:turn|step) (?:number )?#?(?P<number>\d{1,3})")
_META = compile_late(
    r"how many(?: (?:more|others|pictures|photos|images|results|of (?:them|these|those)))?"
    r"(?: (?:do you have|are there|did you find|have you(?: got)?|are left))?(?: (?:here|left|in total))?"
    r"|(?:but )?(?:i|you) (?:have |'ve )?(?:already |just )?(?:said|told you|asked|answered)(?: you)?"
    r"(?: that| this| it| so)?(?: already| before| twice)?"
    r"|already (?:said|told you|asked|answered)(?: you)?(?: that| this| it)?"
    r"|what do you mean(?: by that)?|i (?:don't|do not) (?:understand|get it|get that|follow)(?: (?:that|this|it))?"
    r"|what (?:does|did) (?:that|this) mean|(?:that's|this is|that is) not (?:helpful|helping|working|what i asked)"
    r"|(?:it|this|that) (?:doesn't|does not) (?:work|help)|why (?:are|do) you (?:asking|ask)(?: me)?(?: that| this)?"
    rf"|(?:open|enlarge|zoom in (?:on|to)|download|delete|print|share|what is(?: in)?|what's(?: in)?|who is in|who's in"
    rf"|where is) {_PLACE}|(?:show(?: me)? |make )?{_PLACE} (?:bigger|larger|full size|in full)"
)
"""Sentences about the conversation, which say nothing of a picture."""

_IS_WRONG = compile_late(rf"{_PLACES} (?:is|are|was|were) (?:wrong|not (?:it|right|the one|what i (?:want|meant)))")
_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("pick", _RATHER), ("reject", _REJECT), ("reject", _IS_WRONG), ("reject", _REJECT_ALL), ("undo", _BACK),
    ("results", _BACK_TO), ("turn", _TO_TURN), ("which", _WHICH), ("other", _OTHER),
    ("middle", _MIDDLE), ("pick", _THAN), ("which", _NEXT_TO), ("pick", _PICK), ("pick", _PICK_THIS),
    ("pick", _SAME_ONE), ("pick", _SAME),
)  # fmt: skip
"""The first that fits a whole sentence counts."""

_POINTING = (
    *_ORDINALS, *_CARDINALS, *["this", "that", "it", "these", "those", "them", "other", "central", "back", "undo"],
    *["top", "bottom", "upper", "lower", "left", "right", "middle", "centre", "center"],
    *["previous", "earlier", "before", "ones", "results", "they", "next", "after", "same"],
    *(f"{what}{number}" for what in _NUMBERED.split("|") for number in _CARDINALS),  # "number six", without the blank
)  # fmt: skip
"""Each of the patterns takes a digit, or a word that begins with one of these: where there is none, they need not be
compiled."""

_PIECES = re.compile(r"\d|[a-z]+")

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
    plain = write_apostrophes(" ".join(text.lower().replace("’", "'").split()))
    if not plain or len(plain) > MAX_ACT_LENGTH:
        return None
    if _DRAWN_OUT.search(plain):  # "nooo"
        plain = " ".join(map(fold_word, plain.split()))
    plain = _HESITATIONS.sub("", plain, count=1)
    whole, plain = plain.rstrip(" .!?…"), _COURTESIES.sub("", plain)
    if not plain:
        return Act("nothing")
    plain = _ASKING.sub("", plain)
    if (known := _find_phrase(whole, plain)) is not None:
        return Act(known)
    # "Ok, the second one", "no, not the first": the rest is what counts.
    while (opened := re.match(r"(\w+)[,.!;… ]+(?=\S)", plain)) and opened[1] in YES | NO:
        plain = plain[opened.end() :]
        if _find_phrase(plain, plain) == "reject":
            return Act("reject")
    if not any(map(_points, _PIECES.findall(plain))):
        return None
    return _match_patterns(whole, plain) or _match_patterns(whole, _I_MEAN.sub("", plain))


def _match_patterns(whole: str, plain: str) -> Act | None:
    """The act of the first pattern that a sentence is, with or without its courtesies; None: it is none."""
    if (found := _AGAIN.fullmatch(_ASKING.sub("", whole))) is not None:
        return _make_act("results", found.groupdict())
    for kind, pattern in _PATTERNS:
        if (found := pattern.fullmatch(plain)) is not None:
            return _make_act(kind, found.groupdict())
    return None


def _points(piece: str) -> bool:
    return piece.isdecimal() or piece.startswith(_POINTING)


def _find_phrase(whole: str, plain: str) -> Kind | None:
    """The kind of a sentence that is a known one, with or without its courtesies ("try again" ends as they do)."""
    pieces = [piece for piece in map(str.strip, re.split(r"[,.!;?…]", plain)) if piece]
    for kind, phrases in PHRASES.items():
        around = YES if kind == "accept" else NO
        is_all = any(piece in phrases for piece in pieces) and all(piece in phrases | around for piece in pieces)
        if is_all or whole in phrases:
            return kind
    is_nothing = (is_dont_know(whole) and not _CONTINUES.search(whole)) or _META.fullmatch(plain)
    return "nothing" if is_nothing else None


def _make_act(kind: Kind, said: Mapping[str, str | None]) -> Act:
    """The act of a kind with what the named groups of its pattern hold."""
    if kind in ("results", "turn"):
        return Act(kind, (int(said.get("number") or _ORDINALS.get(said.get("nth") or "", -1)),))
    far = said.get("far") or said.get("last") or said.get("twice") or said.get("back") or "1"
    return Act(
        kind,
        _read_places(said.get("places") or said.get("instead") or ""),
        _read_difference(said.get("how") or "but", said.get("but")),
        int(far) if far.isdecimal() else _CARDINALS.get(far, 2),  # a couple, twice
    )


_THING = re.compile(r"(?:the|his|her|its|their|any|an?) (?!.*\b(?:is|are|was|were|should|must|in|on)\b).+")


def _read_difference(how: str, but: str | None) -> str:
    """How the wanted picture differs: "in green" keeps its preposition, "but green" does not; "except the hat" wants
    none, but "except red" wants red."""
    if not but:
        return ""
    if how == "except for" or (how == "except" and _THING.fullmatch(but)):
        return f"without {but}"
    return f"{how} {but}" if how in ("with", "without", "in", "no", "not") else but


def _read_places(text: str) -> tuple[int, ...]:
    words = re.findall(rf"\b(?:{_ORDINAL}|{_CARDINAL})\b|-?\d+", re.sub(_EDGE, _list_places, text))
    # "The second one" names one picture: "one" is no number after an ordinal.
    after_ordinal = {
        at for at, (before, word) in enumerate(pairwise(words), start=1) if word == "one" and before in _ORDINALS
    }
    named = [word for at, word in enumerate(words) if at not in after_ordinal]
    return tuple(dict.fromkeys(_ORDINALS.get(word) or _CARDINALS.get(word) or int(word) for word in named))


def _list_places(counted: re.Match[str]) -> str:
    """The places of "first two" or "last 3", as numbers."""
    count = _CARDINALS.get(counted["count"]) or int(counted["count"])
    places = range(1, count + 1) if counted["edge"] in ("first", "top") else range(-count, 0)
    return " ".join(map(str, places))
