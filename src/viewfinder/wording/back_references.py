"""References of a sentence to earlier pictures of the conversation, for systems that can go back to them.

    find_back_reference("back to the first, but with the sleeves of the second")
    BackReference(0, (KeptAttribute("sleeves", 1, "the sleeves of the second"),), words="the first", rest="")

The published system (Chen et al., "MAI", ICLR 2025, Sec. 4.2) looks for its own templates; here any phrase around an
earlier picture counts: going back to it, liking it better, wanting another like it, its attributes.

First the mentions themselves: "the second one", "picture 2", "the previous dress". An ordinal names a picture only
if it stands alone ("I prefer the second, but ..") or before a word for pictures and what is in them ("the second
dress"); "the second floor" and "second-hand" do not. Then the phrases around them, over a text with marked mentions.

In the patterns a space is any white space, and an apostrophe either kind. Repetitions are bounded, so that no sentence
takes long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from viewfinder.query import Operation
from viewfinder.wording import modifications

_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_SHORT_ORDINALS = ["1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th", "10th"]
_CARDINALS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_LISTS = (_ORDINALS, _SHORT_ORDINALS, _CARDINALS)

MAX_MENTIONS = 64
"""The most mentions that are found in one sentence."""

_MARK, _DEAD = 0xE000, 0xE000 + MAX_MENTIONS
MARK = f"[{chr(_MARK)}-{chr(_DEAD - 1)}]"
"""A mention in a marked text, as a regular expression: each mention is one distinct character."""

DEAD = f"[{chr(_DEAD)}-{chr(_DEAD + MAX_MENTIONS - 1)}]"
"""A mention that is ignored."""

GAP = chr(_DEAD + MAX_MENTIONS)
"""Marks where something was cut out of a marked text."""

_OURS = re.compile(f"[{chr(_MARK)}-{GAP}]")


def compile_phrase(pattern: str) -> re.Pattern[str]:
    """A case-insensitive pattern in which a space is any white space and an apostrophe either kind."""
    return re.compile(pattern.replace(" ", r"\s+").replace("'", "['’]"), re.IGNORECASE)


_PICTURE = "one|picture|photo|photograph|pic|image|product|item|option|choice|pick|result|suggestion|version|turn|round"
_GARMENT = (
    "pair|outfit|dress|gown|skirt|shirt|t-?shirt|tee|top|blouse|sweater|sweatshirt|jumper|hoodie|coat|jacket|blazer|suit|"
    "vest|trousers|pants|jeans|shorts|leggings|shoes?|boots?|sandals?|sneakers?|trainers|loafers|bag|handbag|backpack|"
    "wallet|watch|belt|scarf|hat|cap|saree|kurta|ring|necklace|earrings|sunglasses"
)
WHOLE = rf"(?:{_PICTURE}|{_GARMENT}|ones|something|anything|everything|all|things?|garment|clothes)"
"""Words for a picture, or for all of what is in it."""

ATTRIBUTE = (
    "(?:colou?rs?|shade|pattern|prints?|length|style|collar|neckline|neck|sleeves?|shape|fabric|material|cut|fit|logo|"
    "graphics?|heels?|soles?|straps?)"
)
"""Words that may follow an ordinal that still names a picture: "the first colour" is that of the first."""

_ORDINAL = "|".join((*_ORDINALS, *_SHORT_ORDINALS))
_NUMBER = "|".join(("10|[1-9]", *_CARDINALS))
_THING = rf"(?:{_PICTURE}|{_GARMENT}|design|look|model)\b"
_NEXT = (
    r"(?=\s*(?:$|[.,;:!?)]|'s\b)| (?:but|and|or|with|without|only|except|was|is|were|are|has|had|looks?|looked|"
    r"better|best|more|most|again|please|though|so|if|then|over|than|instead|just|as|because|for me|to the|"
    rf"in(?! (?:an?|the|its|line|command)\b)|on the {ATTRIBUTE}|{ATTRIBUTE})\b)"
)
_NOT_AMONG_MANY = r"(?! (?:from|on|to|at|in) the (?:left|right|top|bottom|front|back|middle|end|row)\b)"
_CHOSEN = (
    r"(?: (?:(?:that|which) )?(?:i|you|we) (?:picked|chose|liked|showed me|showed|saw|had|clicked|selected|"
    r"started with)\b)?"
)
_LYING_IN = (
    r"(?:(?:the (?:one|ones|item|product|picture|photo|image)|those|that) (?:from|of|in|at) |"
    rf"the (?:{_GARMENT}) from )?"
)
_PLACES = (
    rf"(?:the|that|your|my) (?:very )?(?P<things>{_ORDINAL}) {_THING}{_NOT_AMONG_MANY}{_CHOSEN}",
    rf"(?<!\ba\s)(?P<ones>{_ORDINAL}) (?:one|turn|picture|photo|image)\b{_NOT_AMONG_MANY}{_CHOSEN}",
    rf"the (?P<alone>{_ORDINAL})(?: of (?:them|these|those|the (?:two|three|lot)))?{_NEXT}",
    r"(?:the )?(?:(?:picture|photo|image|pic|turn|number|option|item|product|look|round|result|step|no\.)\s*|"
    rf"#)(?P<number>{_NUMBER})\b(?!\.\d|\. (?-i:[a-z])){_NEXT}",
    rf"(?P<begun>the (?:original|initial|starting)(?: {_THING}|{_NEXT})|(?:the (?:one|{_THING}) (?:that )?|what |"
    r"where )(?:i|we|you) (?:(?:started|began)(?: (?:out )?(?:with|from))?|(?:picked|chose|liked|had|saw|"
    rf"showed(?: me)?) (?:first|at first|originally|at the (?:start|beginning)))\b|the (?:one|{_THING}) (?:from|"
    r"at) the (?:start|beginning|outset)\b)",
    rf"(?:the (?:one|{_THING}) (?:from )?)?(?P<ago>{_NUMBER}) (?:turn|picture|step|round|photo|image)s? (?:ago|back|"
    r"earlier|before)\b",
    rf"(?P<before_last>the (?:one|{_THING}) before (?:the )?last(?: one)?\b)",
    rf"(?P<previous>the (?:previous|last|earlier|preceding) {_THING}|the (?:previous|preceding){_NEXT}|the (?:one|"
    rf"{_THING}) (?:from )?before(?: (?:that|this|it)(?: one)?)?{_NEXT}|the (?:one|{_THING}) (?:i|we|you) (?:had|"
    r"picked|chose|liked|saw) (?:before|previously|earlier)\b)",
)
_MENTION = compile_phrase(rf"(?<![\w-]){_LYING_IN}(?:{'|'.join(_PLACES)})")


@dataclass(frozen=True)
class Mention:
    """A picture that a sentence names: its place in the conversation (-1: before the latest), and how it is said."""

    place: int
    words: str


@dataclass(frozen=True)
class MarkedText:
    """A sentence in whose text every mention is one character."""

    text: str
    mentions: tuple[Mention, ...]

    def at(self, found: str) -> Mention:
        """The mention that a character of the marked text stands for."""
        return self.mentions[(ord(found) - _MARK) % MAX_MENTIONS]

    def said(self, text: str) -> str:
        """A piece of the marked text as it was said."""
        return re.sub(f"{MARK}|{DEAD}", lambda match: self.at(match[0]).words, text)


def mark_mentions(sentence: str) -> MarkedText:
    """The sentence with every mention replaced by one character.

    >>> [mention.place for mention in mark_mentions("Keep the first one's collar, and the heel of picture 3").mentions]
    [0, 2]
    """
    found: list[Mention] = []

    def mark(match: re.Match[str]) -> str:
        found.append(Mention(_find_place(match), match[0]))
        return chr(_MARK + len(found) - 1)

    return MarkedText(_MENTION.sub(mark, _OURS.sub(" ", sentence), count=MAX_MENTIONS), tuple(found))


def void_mention(mark: str) -> str:
    """The character of a mention turned into one that is ignored."""
    return chr(ord(mark) + MAX_MENTIONS)


def _find_place(match: re.Match[str]) -> int:
    kind, words = next((kind, words.lower()) for kind, words in match.groupdict().items() if words)
    match kind:
        case "begun":
            return 0
        case "previous":
            return -1
        case "before_last":
            return -2
        case "ago":
            return -1 - _read_ordinal(words)
        case _:
            return _read_ordinal(words)


def _read_ordinal(word: str) -> int:
    """The number that a word stands for, from 0: "second", "2nd", "two" and "2" are 1."""
    return int(word) - 1 if word.isdigit() else next(words.index(word) for words in _LISTS if word in words)


_M = f"(?P<mark>{MARK})"
_IS = r"(?:is|was|are|were|looks?|looked|seems?|seemed)"
_WANTED = r"what i (?:have|had|want|wanted|need|am looking for)(?: in mind)?"
_DEGREE = r"(?:more|much|just|very|exactly|a bit|quite|rather|most|so|far|a lot|way)"

_GOOD = (
    rf"(?:(?:{_DEGREE}|still|already|actually|really|almost|nearly|pretty|the|my|all) ){{0,8}}(?:better|best|nicer|"
    r"nicest|closer|closest|nearer|nearest|prettier|fine|good|great|nice|perfect|right|ok|okay|lovely|favou?rite|"
    r"(?:like )?what i|it(?=\s*(?:$|[.,;!?])))"
)
_AFTER_GOOD = (
    rf"(?: (?:(?:to|than|like|for|of|in) )?(?:{_WANTED}|(?:i )?(?:have|had) in mind|in mind|me|this(?: one)?|"
    rf"that(?: one)?|all|so far|{DEAD})){{0,8}}"
)
_AFTER = rf"(?: (?:(?:{_DEGREE} )?much|better|best|more|(?:the )?most|again|instead|back|after all|as it was)){{0,8}}"

# -- what is kept

# Words of an attribute: no verbs, prepositions or conjunctions, and nothing that opens or closes a sentence.
_NO_NAME = (
    "with|without|and|or|but|of|from|in|on|as|to|for|than|out|a|an|the|its|it's|it|i|i'd|i'm|me|that|this|those|these|all|"
    "what|both|no|not|is|are|was|were|be|has|have|had|having|looks?|looked|should|would|must|can|could|like|liked|love|"
    "prefer|preferred|want|need|keep|keeping|take|use|give|make|let|let's|show|go|start|continue|begin|carry|work|build|"
    "revert|return|switch|combine|combination|mix|blend|merge|cross|between|more|most|much|same|similar|only|except|so|too|"
    "also|then|though|just|rather|please|instead|again|back|version|kind|sort|lot|rest|better|best|nicer|closer|good|nice|"
    "well|perfect|fine|great|right|ok|okay"
)
_WORD = rf"(?!(?:{_NO_NAME})\b)[^\W_](?:[\w\x27’/-]*\w)?"
_NAME = rf"(?:{_WORD} ){{0,3}}{_WORD}"
_NAMES = rf"{_NAME}(?:(?:\s*, (?:the )?{_NAME}){{0,3}}\s*,? and (?:the )?{_NAME})?"
_LIKE = rf"(?:(?:{_DEGREE}|the) ){{0,8}}(?:a?like|similar to|same as|closer? to|as)(?: (?:in|on|of|for|with))?"

# `whole`: the names must not stand for all of a picture; `bare`: only a word before them shows where they begin.
KEEPS = tuple(
    compile_phrase(rf"(?P<words>{phrase})(?: {_IS} {_GOOD}{_AFTER_GOOD})?{_AFTER}")
    for phrase in (
        rf"(?:the )?(?:exact )?same (?P<names>{_NAMES})(?P<whole>) (?:as|like|of|than|has)(?: (?:in|on|of|for))? {_M}",
        rf"(?:just )?as (?P<names>{_WORD}) as {_M}",
        rf"{_M}'s (?P<names>{_NAME}(?:(?:\s*, {_WORD}){{0,2}}\s*,? and {_WORD}(?! {_WORD}))?)",
        rf"(?:the|its|that|those) (?P<names>{_NAMES})(?P<whole>) (?P<of>of|from|in|on) {_M}",
        rf"(?<![\w-])(?P<bare>(?P<names>(?:{_WORD} ){{0,2}}{_WORD})(?P<whole>)) (?P<of>of|from|in|on) {_M}",
        rf"(?:the|its) (?P<names>{_NAMES}) {_IS} {_GOOD} (?:in|on|with|for|of) {_M}",
        rf"(?:the|its) (?P<names>{_NAMES})(?P<whole>) (?:(?:{_IS}|(?:should|must|to) (?:be|look)) )?{_LIKE} {_M}",
        rf"(?:with|has|have|having|make|give it) (?:an? )?(?P<names>{_NAME})(?P<whole>) {_LIKE} {_M}",
        rf"\b(?:is|are|be) (?P<names>{_WORD}) like {_M}",
        rf"{_M} (?:has|had) (?:an? )?(?:much )?(?:better|nicer|prettier) (?P<names>{_NAMES})",
        rf"what i (?:like|liked|loved?|want|wanted) (?:about|in|of|from) {_M} (?:is|are|was|"
        rf"were) the (?P<names>{_NAMES})",
        rf"\b(?:keep|keeping|back to|in|with|has|have|like|liked|prefer|preferred|want) {_M} (?P<names>{ATTRIBUTE})\b",
    )
)
WHOLES = compile_phrase(
    rf"(?:\b(?:an?|something|in) ){{0,4}}\b(?:combine|combining|combination|mix|mixing|blend|merge|merging|cross|"
    rf"between|both|prefer|like|liked) (?:(?:of|up|both) )?(?P<marks>{MARK}(?:\s*(?:,|,?\s*\band\b|\bwith\b|\+|"
    rf"&)\s*{MARK})+)(?!'s)"
)
AND = compile_phrase(r"\s*, (?:and )?(?:the )?| and (?:the )?")
IS_WHOLE = compile_phrase(rf"\b{WHOLE}$")
BEFORE_IN = compile_phrase(
    r"\b(?:keep|keeping|like|liked|love|prefer|preferred|with|want|use|take|same|as)\b[^.;:!?]*$"
)
BEFORE_BARE = compile_phrase(
    r"(?:^|[,;.:]|\b(?:keep|keeping|with|and|take|use|has|have|in|combine|combining|like|prefer|want))\s*(?:an? )?$"
)

# -- what only looks like a back reference

NOT_AS_GOOD = compile_phrase(
    r"(?:\b(?:this|it|that|these|they)(?: one)? )?(?:\b(?:is|are|does|do|was)\s*)?(?:\bi do\s*)?(?:\bnot|"
    r"n't) (?:(?:look|like (?:it|this)(?: one)?) )?(?:quite )?(?:as|so) (?:nice|good|pretty|close|right|much|well|"
    rf"beautiful) as {_M}"
)
DENIED = compile_phrase(
    r"(?:(?<!why\s)\bnot|(?<!\bcan)(?<!why\sdo)(?<!could)n't|\bnever|\bnothing|\bunlike|\bwithout|\b(?:instead|"
    r"rather) of|\bthan|\bless (?:like|similar to)|\bhate|\bdislike|\bforget|\bignore|\bdifferent (?:from|to)|"
    rf"\bcompared (?:to|with)|{MARK} (?:to|over))\b(?: (?!(?:but|and|so|"
    rf"i)\b)[^\s,.;:!?{GAP}{MARK[1:-1]}{DEAD[1:-1]}]+){{0,5}} {_M}"
)
DESCRIBED = compile_phrase(rf"(?<!about\s){_M}(?:'s(?: {_WORD}){{1,3}})? {_IS}(?:n't)?\b(?! {_GOOD}\b)")

# -- what sends the conversation back, the surest sign first

_OPENERS = (
    r"compared (?:to|with) (?:this(?: one)?|the (?:most recent|latest|current) \w+)|on second thoughts?|no|yes|ok|"
    r"okay|hmm|well|actually|maybe|please|rather|so|and|but|oh|sorry|wait|then|or"
)
_OPENING = rf"(?:\b(?:{_OPENERS})\b[\s,.!]*){{0,8}}"
_BACK = (
    r"(?:(?:(?:go|going|get|come|switch|return|jump|move|turn|take me|bring me) )?(?:right )?back to|(?:return|"
    r"returning|revert|switch|go) to|(?:start|begin|continue|carry on|go on|work|build) (?:(?:over|again|off|"
    r"on) )?(?:from|with|on)|based on)"
)
_LIKING = (
    r"(?:prefer|preferred|(?:\b(?:i|we|would|still|really|also|to)|'d) like|liked|loved?|choose|chose|pick|take|"
    r"want|wanted|keep|select|use|try|show me|show|give me|bring back|see|what about|how about|(?:go|going) (?:with|"
    r"for)|stick (?:with|to)|stay with|happ(?:y|ier) with|rather have|(?:let me|(?:can|could|may) i) (?:have|"
    r"get))(?: (?:more|most|better|again|really))?"
)
_ALIKE = (
    rf"(?:a?like|similar to|same (?:{WHOLE} )?as|(?:all|everything) (?:of|from|about)|closer? to|nearer to|"
    r"identical to|as in|resembl(?:es?|ing))"
)
BACKS = tuple(
    compile_phrase(phrase)
    for phrase in (
        rf"(?:an?|the) (?P<left>{_NAME}) (?:version|variant|copy) of {_M}",
        rf"\b{_BACK} {_M}{_AFTER}",
        rf"(?<!\w){_LIKING} {_M}{_AFTER}(?: (?:to|over|than) {DEAD})?",
        rf"\b{_ALIKE} {_M}(?: than {DEAD})?",
        rf"{_M} {_IS} {_GOOD}{_AFTER_GOOD}",
        rf"{_M}'s {_GOOD}{_AFTER_GOOD}",
        rf"\b(?:best|better|closest|nearest|favou?rite) (?:one )?(?:is|was) {_M}",
        rf"(?:^|(?<=[.!?]\s)){_OPENING}(?:not {DEAD}[\s,]*(?:but )?)?{_M}{_AFTER}(?=\s*(?:$|[.,;:!])| (?:but|only|"
        r"except|please|just|in|with|without|though)\b)",
        rf"(?<=[,;:]\s)(?:(?:but|and|rather|maybe) )?{_M}(?: (?:again|please|instead)\b|(?=,?\s*\b(?:but|only|"
        r"except)\b))",
    )
)

# -- what leads up to these phrases, and is removed with them

BETWEEN_GAPS = compile_phrase(rf"{GAP}(?:[,;:.!?&\s]|\b(?:and|but|so|also|please|though|with|on|keep)\b)*(?={GAP})")
WITH_GAP_AND = compile_phrase(
    rf"\b(with|has|having) {GAP}\s*(?:, (?:and )?|\band )(?!(?:with|is|has|keep|but|only|except|just)\b)"
)
BEFORE_GAP = compile_phrase(
    rf"(?:(?<![\w.-])\d+\.\s*)?(?:(?<![\w.-])(?:{_OPENERS})[\s,.!]+){{0,8}}(?:(?<![\w.-])(?:{_OPENERS}|with|in|on|"
    r"has|have|having|is|was|be|looks?|keep|keeping|take|use|combine|combining|mix|(?:make|give|want)(?: it)?|(?:i|"
    r"we|you)(?: (?:would|need|love|will|think|guess))?(?: like)?|i'd(?: like)?|i'll|let us|let me|let's|can|could|"
    r"want to|it's|it (?:is|has)|(?:it )?should(?: have| be)?|it(?=\s+$)|also|now|still|really|that|which|this|an?|"
    rf"the|as|something|anything|only|my|exact|{_DEGREE}|closer?|show|me)\s+){{0,12}}$"
)
AFTER_GAP = compile_phrase(
    r"^(?:[\s,;:.!?]|\b(?:but|and|so|from there|(?:only|except)(?: that(?: it)?)?|just|though|that it|"
    r"building on (?:that|this|it)|please)\b)+"
)


Kind = Literal["rollback", "keep"]

NOTHING_SHARED = "None"
"""The attribute in published data where there was nothing to keep: "keep the SECOND's None"."""


@dataclass(frozen=True)
class KeptAttribute:
    """A wanted attribute of an earlier picture: its name ("collar", "red colour"; "" is all of the picture), the
    place of the picture as in `BackReference`, and what was said ("the collar of the first")."""

    attribute: str
    place: int
    words: str


@dataclass(frozen=True)
class BackReference:
    """The references of a sentence to earlier pictures.

    Places count the pictures that the conversation was about: 0 is the first, -1 the one before the latest.

    Attributes:
        keeps: attributes of earlier pictures that are wanted, in the order in which they were said.
    """

    rollback: int | None  # the place of the picture from which the conversation continues; None: the latest
    keeps: tuple[KeptAttribute, ...] = ()
    words: str = ""  # how the user referred to the picture of `rollback`
    rest: str = ""  # the sentence without these references, for people and for systems that cannot read them


def find_back_reference(sentence: str) -> BackReference | None:
    """The references of a sentence to earlier pictures; None if it has none.

    >>> find_back_reference("I still prefer the second one, but in blue")
    BackReference(rollback=1, keeps=(), words='the second one', rest='in blue')
    """
    said = mark_mentions(sentence)
    if not said.mentions:
        return _read_published(sentence)
    back, text = None, said.text
    # "This isn't as nice as the first": the surest sign, and not a denial.
    if match := NOT_AS_GOOD.search(text):
        back, text = match["mark"], _cut_out(text, match)
    # Mentions that are denied, only compared with, or described are ignored.
    for pattern in (DENIED, DESCRIBED):
        while match := pattern.search(text):
            at = match.start("mark")
            text = text[:at] + void_mention(text[at]) + text[at + 1 :]
    keeps, text = _find_keeps(text, said)
    if back is None:
        matches = (pattern.search(text) for pattern in BACKS)
        if match := next(filter(None, matches), None):
            back, text = match["mark"], _cut_out(text, match, match.groupdict().get("left", ""))
    if back is None and not keeps:
        return _read_published(sentence)
    mention = None if back is None else said.at(back)
    words = "" if mention is None else mention.words
    return BackReference(None if mention is None else mention.place, keeps, words, said.said(_tidy_gaps(text)))


def _find_keeps(text: str, said: MarkedText) -> tuple[tuple[KeptAttribute, ...], str]:
    """The kept attributes, in the order in which they were said, and the text without them."""
    found: list[tuple[str, KeptAttribute]] = []
    for pattern in KEEPS:
        while match := next(filter(_is_kept, pattern.finditer(text)), None):
            words, mention = said.said(match["words"]), said.at(match["mark"])
            names = AND.split(match["names"]) if match["names"] != NOTHING_SHARED else []
            found += [(match["mark"], KeptAttribute(" ".join(name.split()), mention.place, words)) for name in names]
            text = _cut_out(text, match)
    while match := WHOLES.search(text):
        mentions = {mark: said.at(mark) for mark in re.findall(MARK, match["marks"])}
        found += [(mark, KeptAttribute("", mention.place, mention.words)) for mark, mention in mentions.items()]
        text = _cut_out(text, match)
    return tuple(kept for _, kept in sorted(found, key=lambda pair: pair[0])), text


def _is_kept(match: re.Match[str]) -> bool:
    """Whether a match names an attribute: neither the whole picture nor something that merely lies in it."""
    before, groups = match.string[: match.start()], match.groupdict()
    if "whole" in groups and IS_WHOLE.search(match["names"]):
        return False
    if groups.get("of") in ("in", "on") and not BEFORE_IN.search(before):
        return False
    return "bare" not in groups or BEFORE_BARE.search(before) is not None


def _read_published(sentence: str) -> BackReference | None:
    """The reference that published data writes in capitals before its clauses."""
    found = modifications.parse_ordinal_reference(sentence)
    if found is None or found.setting != "rollback":
        return None
    place, lead = found.places[0], modifications.split_modification(sentence).lead
    return BackReference(place, (), modifications.ORDINALS[place], sentence.strip().removeprefix(lead).strip())


def _cut_out(text: str, match: re.Match[str], left: str = "") -> str:
    return f"{text[: match.start()]}{GAP}{left}{text[match.end() :]}"


def _tidy_gaps(text: str) -> str:
    """The text around the gaps, without the words that only led up to what was cut."""
    text = WITH_GAP_AND.sub(r"\1 ", BETWEEN_GAPS.sub("", text))
    before, *after = text.split(GAP)
    pieces = [before, *(AFTER_GAP.sub("", piece) for piece in after)]
    pieces = [*(BEFORE_GAP.sub("", piece) for piece in pieces[:-1]), pieces[-1]]
    left = (" ".join(piece.split()).strip(" ,;:?") for piece in pieces)
    return ", ".join(piece for piece in left if re.search(r"\w", piece))


def to_operations(looked: BackReference, turns: Sequence[int]) -> tuple[tuple[Operation, ...], tuple[str, ...]]:
    """A back reference as operations on turns, and a line for each picture that the conversation has not reached.

    `turns` are the numbers of the turns that were about a picture, in order; the sentence is about the last of these.
    """
    wanted: list[tuple[Kind, KeptAttribute]] = [("keep", named) for named in looked.keeps]
    if looked.rollback is not None:
        wanted.insert(0, ("rollback", KeptAttribute("", looked.rollback, looked.words)))
    operations, lines = [], []
    for kind, named in wanted:
        turn = turn_of_place(named.place, turns)
        if turn is not None:
            operations.append(Operation(kind, turn, named.attribute, named.words))
        else:
            lines.append(f'drop: "{named.words}" is no picture of this conversation, which has come to {len(turns)}')
    return tuple(operations), tuple(dict.fromkeys(lines))


def turn_of_place(place: int, turns: Sequence[int]) -> int | None:
    """The number of the turn with the picture at a place, as in `BackReference`; None if there is none.

    >>> [turn_of_place(place, (1, 4, 5)) for place in (0, -1, 3)]
    [1, 4, None]
    """
    at = place if place >= 0 else len(turns) - 1 + place
    return turns[at] if 0 <= at < len(turns) else None
