"""What is denied in a whole sentence ("I don't want people", "it didn't have a collar"), in one word: "without people".

What frames a description is left out of it, and "I don't want" is such a frame: what it denies would be looked for.
"""

from __future__ import annotations

import re

from viewfinder.wording.patterns import compile_late

_DO_NOT = r"(?:do(?:es)?n['’]?t|do(?:es)? not|didn['’]?t|did not)"
_SHOULD_NOT = r"(?:(?:should|must)n['’]?t|(?:should|must) not)"
_CANNOT = r"(?:can['’]?t|can ?not|couldn['’]?t|could not|won['’]?t|will not)"
_ADVERB = r"(?:(?:really|actually|definitely|exactly) )?"
_ANY = r"(?: any(?: of)?(?! (?:more|further|other)\b))?"
_IT = r"(?<!['’\w])(?:(?:and|but) )?(?:it|they|he|she|who|which|(?<=\w )that)"
"""Of whom the picture is; "that" is the result on the screen where a sentence begins with it."""

_NO_THING = (
    r"(?! (?:you|me|us|this|that|these|those|them|it|him|her|to|how|what|when|where|why|if|whether|who|so|anything|"
    r"anymore|much|many|help|too|either|up|at all|all|another|other|one|more|just|only)\b)(?= \w)"
)
"""What follows is no thing that is not there: "I don't want you to ...", "I don't need much"."""

_NO_LOOKS = (
    r"(?! (?:sure|certain|clear|important|necessary|possible|easy|right|correct|there|here|him|me|so|very|too|really|"
    r"quite|that|this|these|those|what|it|how|who|where|when|why|just|only|necessarily|like|as|working|even|any|all|"
    r"known|enough|exactly|one|until|because|much|many|more|such|same|the (?:one|ones|right|same|point|only)|my|"
    r"your|in (?:the|my|your|this|these|here|any)|from (?:the|my|your)|on (?:the list|here)|a (?:big|problem|must|"
    r"good|bad|match))\b)(?= \w)"
)
"""What follows says nothing of looks: "it's not important", "it isn't quite right"."""

_I_DOUBT = rf"\b(?:i|we) {_ADVERB}(?:{_DO_NOT} {_ADVERB}(?:think|believe)|doubt)(?: that| if| whether)?"
_THEY_HAVE = r"(?:there (?:is|are|was|were)|(?:it|they|he|she) (?:has|have|had)(?: got)?)"

_DETERMINER = r"(?=(?:the|an?|any|all|my)\b)"

_WITHOUT = (
    rf"\b(?:i|we) {_ADVERB}(?:{_DO_NOT}|never) {_ADVERB}(?:want|need|like)(?: to (?:see|have))?{_ANY}{_NO_THING}",
    rf"{_IT} {_ADVERB}(?:{_DO_NOT}|{_SHOULD_NOT}|{_CANNOT}) {_ADVERB}(?:have|contain|include|feature)(?: had)?"
    rf"{_ANY}{_NO_THING}",
    rf"(?<!\w)there (?:was ?n['’]?t|were ?n['’]?t|was not|were not|{_SHOULD_NOT} be){_ANY}{_NO_LOOKS}",
    rf"^(?:please )?(?:don['’]?t|do not) (?:show|give|include|want|have)(?: me)?{_ANY}{_NO_THING}",
    rf"(?:^(?:please )?|(?<=\bbut ))(?:remove|exclude|avoid|omit|leave out|take (?:away|out)|get rid of)"
    rf"{_ANY}{_NO_THING}",
    rf"\b(?:minus|sans)(?= (?:the|an?|any|his|her|its|their)\b){_NO_THING}",
    r"^nothing with(?= \w)",
    rf"{_I_DOUBT} {_THEY_HAVE}{_ANY}{_NO_THING}",
)
_NOT = (
    rf"\b(?:i|we) {_ADVERB}{_DO_NOT} {_ADVERB}(?:mean|want it to be|say){_NO_THING}",
    rf"{_IT}(?: (?:is|was|are|were) not| (?:is|was|are|were)n['’]?t|(?:['’]s|['’]re) not"
    rf"| (?:{_SHOULD_NOT}|{_CANNOT})(?: be| have been)){_NO_LOOKS}",
    rf"{_I_DOUBT} (?:it|they|he|she|that)(?: (?:is|was|are|were)|['’]s|['’]re)(?:{_NO_LOOKS}|(?= (?:in|on|at) ))",
    r"(?<!\w)(?:any(?:thing| (?:other )?colou?r)|every(?:thing| colou?r)|all(?: colou?rs)?)"
    r" (?:but|except(?: for)?|other than)(?= \w)",
)
_FORGOTTEN = rf"^(?:please )?(?:forget(?: about)?|never ?mind|ignore|drop|lose|ditch|hide|skip) {_DETERMINER}"
_DENIALS = compile_late(
    rf"(?P<without>{'|'.join(_WITHOUT)})|(?P<not>{'|'.join(_NOT)})|(?P<forgotten>{_FORGOTTEN})", re.IGNORECASE
)

_SMALL = r"(?!(?:an?|the|in|on|at|with|near|by|and|but|or|my|his|her|no|not|is|are|it|they)\b)"
_BARE = rf"{_SMALL}[\w-]+(?: {_SMALL}[\w-]+)?"
_LIST = compile_late(
    rf"\b(?P<how>no|without|not)(?: any)? (?P<first>{_BARE}(?:, ?{_BARE})+),? (?:or|nor|and) (?P<last>{_BARE})"
    r"(?=\s*(?:[.!;]|$))",
    re.IGNORECASE,
)


def write_denials(text: str) -> str:
    """A text with what its sentences deny after "without" or "not", as descriptions say it.

    >>> [write_denials(text) for text in ("I don't want people in it", "a dog that doesn't have a collar")]
    ['without people in it', 'a dog without a collar']
    >>> [write_denials(text) for text in ("it wasn't red", "anything but red", "no dogs, cats or horses")]
    ['not red', 'not red', 'no dogs, no cats, no horses']
    >>> write_denials("I don't want you to search long")
    "I don't want you to search long"
    """
    return _LIST.sub(_deny_each, _DENIALS.sub(lambda found: "not" if found["not"] else _write_without(found), text))


def _write_without(found: re.Match[str]) -> str:
    return "without " if found["forgotten"] else "without"


def _deny_each(found: re.Match[str]) -> str:
    things = [*re.split(r", ?", found["first"]), found["last"]]
    return ", ".join(f"{found['how']} {thing}" for thing in things)
