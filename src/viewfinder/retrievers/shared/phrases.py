"""The phrases in which a sentence looks back, as patterns over a text with its mentions marked (`mentions`).

In the patterns a space is any white space, and an apostrophe either kind. Repetitions are
bounded, so that no sentence takes long.
"""

from __future__ import annotations

from viewfinder.retrievers.shared.mentions import ATTRIBUTE, DEAD, GAP, MARK, WHOLE, compile_phrase

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

# Words of an attribute: no verbs, prepositions and conjunctions, and not what opens or closes a sentence.
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

# `whole`: the names must not stand for all of a picture; `bare`: it takes a word before them to know where they begin.
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

# -- what only looks as if

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

# -- what sends the talk back, the surest sign first

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

# -- what leads to these phrases, and goes with them

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
