"""What is typed in a conversation, in the words of a description.

    write_as_described("its a cat")                               "it's a cat"
    write_as_described("replace the pool with a lake")            "a lake, not pool"
    write_as_described("these are all women, i want a man")       "a man, not women"

Who describes a picture says none of it: of 41,000 captions of photographs the rules change only those in which an
apostrophe is missing ("its a photo of a room").
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from viewfinder.wording.framing import says_nothing
from viewfinder.wording.patterns import compile_late
from viewfinder.wording.replies import is_dont_know

_SMALL = r"(?:in|on|at|an?|the|with|without|it|it['’]s|they|there|he|she|no|not|and|but|one|two|three)\b"

_NO_APOSTROPHE = compile_late(
    r"\b(?P<one>(?:that|there|here|what|where|who|he|she)(?=s\b)|(?:is|are|was|were|do|does|did|ca|could|should|would|"
    r"has|have|had|wo)n(?=t\b)|(?:they|you)(?=re\b)|i(?=(?:m|ve)\b))",
    re.IGNORECASE,
)
_COLOURS = "black|white|grey|gray|red|blue|green|yellow|brown|orange|pink|purple|dark|light|bright"
_ITS = compile_late(
    r"\bits(?= (?:an?|the|not)(?![\w-]))"  # whatever stands before it
    r"|(?P<before>^|[,.;:!?] |\b(?:no|nope|yes|yeah|and|but|wait|sorry|think|mean|actually|maybe) )its"
    r"(?= (?:no|in|on|at|my|like|more|too|very|so|really|actually|also|just|only|one|two|three|all|"
    rf"(?:{_COLOURS})[ .!]*$)(?![\w-]))",
    re.IGNORECASE,
)


def write_apostrophes(text: str) -> str:
    """Short forms as they are spelt; "its" stays where it says whose something is.

    >>> [write_apostrophes(text) for text in ("its not a dog", "a dog and its tail", "thats a cat, i dont want it")]
    ["it's not a dog", 'a dog and its tail', "that's a cat, i don't want it"]
    """
    return _ITS.sub(lambda found: f"{found['before'] or ''}it's", _NO_APOSTROPHE.sub(r"\g<one>'", text))


_LONG = {
    "nite": "night", "tonite": "tonight", "ppl": "people", "bldg": "building", "bldgs": "buildings", "w/o": "without",
    "w/": "with", "bday": "birthday", "xmas": "christmas", "smth": "something", "mtn": "mountain", "mtns": "mountains",
}  # fmt: skip
_SHORT = compile_late(r"(?<![\w/])(?:w/o|w/|nite|tonite|ppl|bldgs?|bday|xmas|smth|mtns?)(?![/\w])", re.IGNORECASE)


def write_out(text: str) -> str:
    """Words that people shorten, at length.

    >>> write_out("ppl on a street at nite w/ lights")
    'people on a street at night with lights'
    """
    return _SHORT.sub(lambda found: _LONG[found[0].lower()], text)


_AGREEING = (
    r"(?:almost|nearly|(?:so |very |pretty |quite )?close|closer|perfect|great|good|nice|cool|(?:much )?better|"
    r"not bad|getting (?:there|closer|warmer)|warmer|that['’]s (?:close|closer|better|nice|good|great|it))"
)
_OPENING = compile_late(
    rf"^(?:(?:yes|yeah|yep|yup)\s+(?=\w)|(?:is|was|are|were)\s+(?:it|he|she|they)\s+(?=\w)|(?:definitely|exactly)\s+(?={_SMALL})"
    rf"|{_AGREEING}(?: enough)?(?:\s*[,.;:!…]+\s*(?:but\s+)?|\s+but\s+)(?:now\s+)?(?=\w)"
    rf"|(?:(?:ok|okay|so|and|then)[\s,]+)*now\s+(?=(?:some|add|make|{_SMALL})))",
    re.IGNORECASE,
)
"""What agrees, before what is missing: "perfect but darker", "almost, it had two dogs", "ok now a red ball"."""

_OR = compile_late(r"\s*\?\s*\bor(?: (?:was|is) it)?\s+|\s+or (?:was|is) it\s+", re.IGNORECASE)
"""Who is not sure: "a beach? or a lake", "a dog or was it a cat"."""

_MAY_BE = compile_late(
    r"^(?:(?:and|but|also|maybe|i think)\s+)*(?:(?:(?:there|it|that)\s+)?(?:might|may|could|must|should)(?: also)?"
    r"(?:['’]ve| have)?\s+(?:be|been|had|have)|there (?:was|were) also)\s+"
    r"(?=(?:an?|the|some|one|two|three|in|on|at)\s)",
    re.IGNORECASE,
)
"""Who is not sure: "there might be a ball"."""

_SIGNED = compile_late(r"(?:^|(?<=\s))(?P<sign>[+-])(?=[a-z]{2,}(?:\s|$))", re.IGNORECASE)
"""Words as search engines take them: "cat -dog"."""

MAX_SIGNED = 6
"""Words of what is typed so; in a sentence a dash may stand before a word for other reasons."""

_POLITE = r"(?:(?:please|also|and|now|(?:can|could|would) you(?: please)?)\s+)*"
_PIECE = r"[^,.;:!?]+?"
_WHOSE = r"(?:the|that|this|his|her|its|their|my|an?)\s+"
_ADD = compile_late(
    rf"^{_POLITE}(?:add|include|plus|put|keep|bring back)\s+(?:in\s+)?"
    r"(?=(?:an?|the|some|more|another|one|two|three|four|his|her)\s)(?!the (?:same|one|change)\b)",
    re.IGNORECASE,
)
_REPLACE = compile_late(
    rf"^{_POLITE}(?:(?:replace|swap|exchange|substitute)\s+(?:out\s+)?(?:{_WHOSE})?(?P<old>{_PIECE})\s+(?:with|for|by)"
    rf"|(?:(?:change|turn|switch)\s+{_WHOSE}(?!colou?rs?\b)(?P<old_2>{_PIECE})|change\s+(?P<old_3>(?!it\b|that\b|them\b)"
    rf"[\w-]+))\s+(?:to|into))\s+(?P<new>{_PIECE})[.!]*$",
    re.IGNORECASE,
)
_WISH = (
    r"i(?:['’]m| am| was|['’]d)? (?:really |actually |still )?(?:want(?:ed)?|need(?:ed)?|mean|meant|said|like|"
    r"asked for|looking for)"
)
_COMPLAINTS = tuple(
    compile_late(rf"^(?:(?:no|but)[\s,]+)*{pattern}[.!?]*$", re.IGNORECASE)
    for pattern in (
        rf"(?:these|those|they|that|this)(?:['’]s|['’]re| is| are) (?:all |just |only |mostly )?(?P<shown>{_PIECE})"
        rf"[\s,.;:!?]+(?:and |but )?{_WISH} (?P<wanted>.+?)",
        rf"(?:these|those) are all (?P<shown>(?!.*\w\wing\b){_PIECE})",
        rf"why (?:(?:are|is) (?:there|these|those|this)|(?:do|are) you (?:show|showing|giving|give)(?: me)?)"
        rf"(?: so many| all| only| just)* (?P<shown>{_PIECE})",
    )
)
_NOT_BUT = compile_late(
    r"^(?P<no>not (?:an?|the) \w[\w'-]*(?: (?!(?:an?|the)\b)\w[\w'-]*)?) (?P<but>(?:an?|the|just|only) \w.*)$",
    re.IGNORECASE,
)
"""No comma parts what is not meant from what is: "not a hat a cap"."""

_NOT_THERE = compile_late(
    rf"^(?:(?:but|and) )?(?P<what>{_WHOSE}{_PIECE}) (?:(?:was|were|is|are) not|(?:was|were|is|are)n['’]t) "
    r"(?:there|in (?:it|the (?:picture|photo|image|shot))|visible|around)[.!]*$",
    re.IGNORECASE,
)
_TOO = compile_late(
    r"^(?:(?:these|those|they|it|that|this)(?:['’]s|['’]re| is| are) )?(?:(?:way|far|much|a bit|a little|still) )?"
    r"too (?P<how>(?:many|much)? ?\w[\w -]{1,30})[.!]*$",
    re.IGNORECASE,
)
_LIGHT = ("dark", "bright")
"""Looks of a picture, which are read as such."""

_FEWER = compile_late(r"^(?:with )?(?P<how>fewer|less) (?P<what>\w[\w -]{1,30})[.!]*$", re.IGNORECASE)


def write_as_described(text: str) -> str:
    """What is said of pictures that are shown, as the wanted one is described.

    >>> [write_as_described(text) for text in ("add a hat", "perfect but in the snow", "why are there cats?")]
    ['with a hat', 'in the snow', 'not cats']
    >>> [write_as_described(text) for text in ("too many people", "less snow", "a dog that is too big for the bath")]
    ['not so many people', 'not so much snow', 'a dog that is too big for the bath']
    """
    said = _ADD.sub("with ", _OPENING.sub("", _OR.sub(" or ", write_apostrophes(text))))
    said = _MAY_BE.sub("", said)
    if said.count(" ") < MAX_SIGNED:
        said = _SIGNED.sub(lambda found: "no " if found["sign"] == "-" else "", said)
    said = _NOT_BUT.sub(r"\g<no>, \g<but>", said)
    if found := _REPLACE.match(said):
        return f"{found['new']}, not {found['old'] or found['old_2'] or found['old_3']}"
    for pattern in _COMPLAINTS:
        if found := pattern.match(said):
            return _write_complaint(found["shown"], found.groupdict().get("wanted"))
    if found := _NOT_THERE.match(said):
        return f"without {found['what']}"
    if (found := _TOO.match(said)) and found["how"].lower() not in _LIGHT:
        return f"not so {found['how']}"
    if (found := _FEWER.match(said)) and found["what"].lower() not in _LIGHT:
        return f"not so {'many' if found['how'].lower() == 'fewer' else 'much'} {found['what']}"
    return said


def _write_complaint(shown: str, wanted: str | None) -> str:
    """What is wanted, and what is shown in place of it; "that's not a dog, I want a dog" only wants one."""
    against = "" if shown.lower().startswith(("not ", "no ")) else f"not {shown}"
    return ", ".join(filter(None, (wanted, against)))


_CORRECTING = (
    r"(?:no|nope|nah|wait|sorry|oops|actually|rather|i meant?(?: to say)?|it['’]s|it is|it was|make that|scratch that)"
)
_MARK = r"(?:\s*[,;:.!…]+|\s+[-–—]+)"
_SELF_CORRECTION = compile_late(
    # Two such words, or one that nobody says of a picture: anywhere.
    rf"{_MARK}?\s+(?:(?:oh|uh|um|er|ah) )?(?:(?:no|nope|wait|sorry|oops)(?:[\s,.!…]+{_CORRECTING})+"
    rf"|i meant?(?: to say)?|or rather|scratch that|sorry|make that){_MARK}?\s+(?=\w)"
    # One between marks, or before what it cannot deny.
    rf"|{_MARK}\s+(?:no|nope|nah|wait|oops|actually){_MARK}\s+(?=\w)|{_MARK}\s+actually\s+(?=\w)"
    rf"|{_MARK}?\s+no\s+(?=(?:an?|the)\s)",
    re.IGNORECASE,
)
_NUMBER = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2})"
_RECOUNT = compile_late(rf"\b{_NUMBER},?\s+no,?\s+(?={_NUMBER}\b)", re.IGNORECASE)
_DENIES = compile_late(r"\b(?:no|nope|nah)\b", re.IGNORECASE)
_THINKING = compile_late(r"[\s,;:.!…–—-]*(?:wait|i mean)[\s,;:.!…–—-]*", re.IGNORECASE)


@dataclass(frozen=True)
class SelfCorrection:
    """A sentence in which somebody corrects what they have just said: what was `said`, and what is `meant`.

    `is_sure`: the words between leave no doubt, so they are none of the description in any case; `is_thinking`: those
    who only think say them, too ("a dog, wait, in the snow").
    """

    said: str
    meant: str
    is_sure: bool = False
    is_thinking: bool = False


def find_self_correction(text: str) -> SelfCorrection | None:
    """The first correction within a sentence; None where there is none, as in nearly all.

    >>> find_self_correction("a dog, no wait, a cat on a sofa")
    SelfCorrection(said='a dog', meant='a cat on a sofa', is_sure=True, is_thinking=False)
    >>> find_self_correction("no, sorry, a cat"), find_self_correction("a dog with no collar")
    (None, None)
    """
    for found in _SELF_CORRECTION.finditer(text):
        said, meant = text[: found.start()], text[found.end() :]
        is_quoted = said.count('"') % 2 or said.count("“") > said.count("”")
        is_asked = said.lower().endswith(("what", "know"))  # "you know what I mean"
        if not (is_quoted or is_asked or says_nothing(said) or says_nothing(meant) or is_dont_know(said)):
            is_thinking = _THINKING.fullmatch(found[0]) is not None
            return SelfCorrection(said, meant, _DENIES.search(found[0]) is not None, is_thinking)
    return None


def recount(text: str) -> str:
    """A text without a number that is corrected at once.

    >>> recount("two no three kids")
    'three kids'
    """
    return _RECOUNT.sub("", text)
