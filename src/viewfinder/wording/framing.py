"""What people put around a description: greetings, requests, "a photo of", "please". A search is for the rest.

    take_content("hi, do you have a photo of a dog in the snow, please?")
    'a dog in the snow'

Words are taken away from both ends, and only those of closed lists: from the beginning up to the last word that asks
("find", "do you have", "I remember") or that names the picture itself ("photo of", "the one where"). A sentence that
does neither stays as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache

from viewfinder.wording.numbers import NUMBER_WORDS

_TOKEN = re.compile(r"[\w'’&%+#./-]*\w[\w'’]*|[:,;!?…—–-]|\.+|\S")


def _list_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PICTURE_NOUNS = _list_words("""
    photo photos photograph photographs pic pics picture pictures image images img imgs shot shots snap snaps snapshot
    snapshots
""")
"""The words for a picture as such."""

_STANDING_FOR_PICTURES = _list_words("one ones something anything some any time moment day")
_CONNECTORS = _list_words("of with where when showing depicting featuring containing shows showed")
_CONNECTING_PAIRS = {
    "in": {"which"}, "on": {"which"}, "from": {"when"}, "that": {"shows", "show", "has", "have", "had", "contains"},
    "which": {"shows", "show", "has", "have", "had", "contains"}, "with": {"just", "only"},
}  # fmt: skip

_DETERMINERS = _list_words("a an the that this these those some any all every my our one another more other")

# They may stand before what asks, and say nothing of the picture.
_BEFORE = _DETERMINERS | _list_words("""
    hi hello hey yo dear good morning evening afternoon ok okay well so um umm uh uhm er erm hm hmm please pls plz sorry
    excuse alright right now oh ah and also listen let let's lets quick question thanks thank there you i we us me he
    u ya im i'm i'd i'll i've we're we'd we've it's that's there's where's what's who's isn't aren't wasn't don't didn't
    haven't am is are was were be been being do does did have has had having got can could would will may might should
    must to for just really still actually currently basically maybe perhaps probably possibly only then kind sort of
    by chance happen mean know guess think believe bit little trying try tried hoping like it he she they where what
    how about here when wondering wonder if honestly somewhere anybody anyone everybody guys nice lovely beautiful cool
    certain particular specific random favourite favorite single couple few bunch lot lots set whole new recent latest
    once took saw seen taken made from back remembering seeing having in yes yeah no help pretty sure certain mind
    somehow again something anything someone time moment when day
""")
# They ask by themselves.
_ASKING = _list_words("""
    find looking search searching seek seeking hunting remember recall want wanna need require wanted locate fetch
    browse display searched recollect gimme
""")
# They ask where a word of the second set follows, or one of the first set goes before.
_ASKING_BEFORE = {
    "show": {"me", "us"}, "get": {"me", "us"}, "give": {"me", "us"}, "bring": {"me", "us", "up"}, "send": {"me", "us"},
    "pull": {"up"}, "look": {"for", "up"}, "dig": {"up", "out"}, "hunt": {"for"}, "ask": {"for"}, "asking": {"for"},
    "love": {"to"}, "like": {"to"}, "interested": {"in"}, "thinking": {"of", "about"},
    "think": {"of", "about"}, "chance": {"of"},
}  # fmt: skip
_ASKING_AFTER = {
    "have": {"you", "we", "i", "u", "they", "would"}, "got": {"you", "we", "i", "u", "you've", "we've", "i've", "have"},
    "there": {"is", "are", "was", "were", "isn't", "aren't", "wasn't", "be"}, "is": {"where", "there", "what"},
    "are": {"where", "there"}, "was": {"there", "it", "that", "where"}, "were": {"there"}, "about": {"what", "how"},
    "there's": {""}, "where's": {""}, "it's": {""}, "that's": {""}, "see": {"to", "i", "we", "me", "us"},
    "like": {"would", "i'd", "we'd", "d"}, "love": {"would", "i'd", "we'd"}, "took": {"i", "we", "you"},
    "had": {"i", "we", "you"}, "saw": {"i", "we", "you"}, "buy": {"to"},
    "show": {"can", "could", "you", "please", "to"},
    "get": {"can", "could", "i", "please", "to"}, "know": {"you"}, "one": {"the"}, "think": {"i"}, "believe": {"i"},
    "guess": {"i"}, "mean": {"i"}, "after": {"i'm", "am", "we're"},
}  # fmt: skip
_AFTER_ASKING = _list_words("for me us to that there it was were is are's had has been see up out about of")
_SPEAKERS = _list_words("my i i'm i'd i'll i've im we we're we'd we've me us our you u your you've")
"""Descriptions of pictures do not speak of these: what stands before "a photo of" is no part of one, if they do."""
_SEEING = re.compile(r"(?:you|we|i|one) (?:(?:can|could) )?(?:see|notice|recognize) ", re.IGNORECASE)
_IT = "(?:it|that|one|any|some|them|something like that|anything like that)"
_ENDINGS = (
    "please|pls|plz|thanks|thank you|thx|cheers|asap|for me|lol|haha|somewhere|any idea|any chance|if possible|if any",
    "once|at some point|back then",
    "(?:in|among|amongst|from) (?:all )?(?:of )?(?:(?:my|our|the|your) (?:photos?|pictures?|pics|images)"
    "|(?:my|our|your) (?:library|collection|albums?|gallery|files))",
    "i (?:think|guess|believe|suppose|reckon)|you know(?: the one| what i mean)?|something like (?:that|this)",
    f"if (?:you|we|there) (?:have|has|got|is|are|can|could)(?: find)?(?: {_IT})?|have (?:you|we) got {_IT}",
    "or (?:something|sth|so|whatever|similar|anything)(?: like (?:that|this|it))?",
    "and (?:so on|stuff|things|all(?: that)?)",
    f"(?:do|did) (?:you|we|i) (?:have|got) {_IT}|(?:can|could) you (?:find|show|get)(?: me)? {_IT}",
    "(?:is|that's|that is|it's) (?:what|the (?:one|photo|picture|pic|image|shot)) (?:that )?"
    "(?:i|we)(?:'m| am|'re| are)? (?:want|need|mean|meant|after|looking for|look for)",
)
_ENDING = re.compile(rf"(?:[ ,;.!?…—–-]|\b(?:{'|'.join(_ENDINGS)})|(?<=[,?.!] )(?:right|ok|okay))+$", re.IGNORECASE)
MAX_ENDING_LENGTH = 100
"""Characters at the end of a sentence among which such words are looked for."""

_HESITATIONS = re.compile(
    r"(?:,\s*)?\b(?:u+m+|u+h+m?|e+r+m?|h+m+|you know|i mean|i guess|i think|kind of like|sort of like)\b(?:\s*[,…])?",
    re.IGNORECASE,
)

_BETWEEN = _list_words(", i we you took have had saw made mine ours once somewhere")
"""They may stand between a word for the picture and what it shows: "the photo I took of"."""

_INTERJECTIONS = re.compile(
    r"^(?:(?:hi|hello|hey|yo|hi there|hello there|well|okay|ok|u+m+|u+h+m?|e+r+m?|h+m+|ah|oh|yeah|yes|please|"
    r"(?:so|like|now|and|right|alright|actually|basically|honestly|listen|look|sorry|good (?:morning|evening))"
    r"(?= ?[,…:!.-]))(?: ?[,.…!:-]+ ?| ))+",
    re.IGNORECASE,
)

_TAKING = _list_words("take takes taking took pose poses posing posed holding holds frame framed hanging")
_KINDS_OF_PHOTOS = _list_words(
    "group family wedding school team black white colour color old large small big framed to for of"
)
"""Where these are said, a photograph is in the picture, or is told of a kind."""

MAX_FRAME_WORDS, MAX_NOUN_PHRASE_WORDS = 24, 4
"""Words that may stand before a description; words of a phrase that ends with "photos"."""


@lru_cache(maxsize=16_384)
def take_content(text: str) -> str:
    """The description in what a person says; the text itself, stripped, if nothing else is in it.

    >>> take_content("I'm looking for that picture where two boys play football")
    'two boys play football'
    >>> take_content("a man looking for something in the grass")
    'a man looking for something in the grass'
    """
    whole = " ".join(text.split())
    content = " ".join(_HESITATIONS.sub(" ", _INTERJECTIONS.sub("", whole)).split())
    rest, end = content[:-MAX_ENDING_LENGTH], content[-MAX_ENDING_LENGTH:]
    content = rest + _ENDING.sub("", end)
    content = _drop_noun_at_end(_drop_beginning(_drop_heading(content)))
    return content.strip(" ,;:-–—") or whole


def says_nothing(text: str) -> bool:
    """Whether a text is only what people put around a description.

    >>> [says_nothing(text) for text in ("do we have one?", "any photos", "a dog", "")]
    [True, True, False, True]
    """
    return all(
        word in _BEFORE
        or word in _ASKING
        or word in _AFTER_ASKING
        or word in PICTURE_NOUNS
        or word in _STANDING_FOR_PICTURES
        or word in _CONNECTORS
        or word in _ASKING_BEFORE
        or word in _ASKING_AFTER
        for word in _read_words(text.replace("’", "'"))
    )


def _drop_heading(text: str) -> str:
    """ "Pics of my friends: two men on a bench" is about two men on a bench."""
    heading, colon, rest = text.partition(":")
    words = _read_words(heading)
    names_pictures = len(words) <= MAX_FRAME_WORDS // 2 and not PICTURE_NOUNS.isdisjoint(words)
    return rest if colon and names_pictures and len(rest.split()) > 1 else text


def _drop_beginning(text: str) -> str:
    tokens = list(_TOKEN.finditer(text))
    words = [token[0].lower().replace("’", "'") for token in tokens[: MAX_FRAME_WORDS + 2]]
    end = 0
    for at, word in enumerate(words[:MAX_FRAME_WORDS]):
        following = words[at + 1] if at + 1 < len(words) else ""
        before = words[at - 1] if at else ""
        if word in _STANDING_FOR_PICTURES | PICTURE_NOUNS:
            if (connected := _find_connector(words, at + 1)) is not None:
                end = max(end, connected)
            elif word in PICTURE_NOUNS and not end and not _is_framed(words[:at]):
                break
            continue
        if _asks(word, before, following):
            end = max(end, at + 1)
        elif word not in _BEFORE and not (word in ",;.!?…-–—" or set(word) <= {"."}):
            break
    if not (end := end or _find_end_of_telling(words)):
        return text
    while end < len(words) - 1 and words[end] in _AFTER_ASKING | {",", ":", "-"}:
        end += 1
    if end >= len(tokens):
        return text
    seen = _SEEING.match(text, tokens[end].start())
    return text[tokens[end].start() if seen is None else seen.end() :]


def _find_end_of_telling(words: list[str]) -> int:
    """Where a description begins after "my sister sent me a pic where", "which photo has": 0 without such words."""
    for at, word in enumerate(words[:MAX_FRAME_WORDS]):
        if word not in PICTURE_NOUNS:
            continue
        if words[at + 1 : at + 2] in (["has"], ["have"]) and words[at - 1 : at] in (["which"], ["what"]):
            return at + 2
        connected, before = _find_connector(words, at + 1), [word for word in words[:at] if word not in _DETERMINERS]
        is_taken = before and before[-1] in _TAKING and _SPEAKERS.isdisjoint(before[-2:])
        return 0 if connected is None or is_taken or _SPEAKERS.isdisjoint(before) else connected
    return 0


def _find_connector(words: list[str], at: int) -> int | None:
    """Where the description begins, if a word for the picture ends before `at`; None: that word is part of it."""
    comma = at < len(words) and words[at] == ","
    while at < len(words) and (words[at] in _BETWEEN or words[at : at + 2] == ["in", "mind"]):
        at += 2 if words[at] == "in" else 1
    if at >= len(words):
        return None
    following = words[at + 1] if at + 1 < len(words) else ""
    if words[at] == "like" and words[at - 1] in _STANDING_FOR_PICTURES:
        return at + 1
    if words[at] in _CONNECTING_PAIRS and following in _CONNECTING_PAIRS[words[at]]:
        return at + 2
    if words[at] == "of" and following in ("mine", "ours"):
        return _find_connector(words, at + 2)
    if comma and words[at] not in _CONNECTORS:
        return at
    return at + 1 if words[at] in _CONNECTORS or words[at] in ":-–—" else None


def _asks(word: str, before: str, following: str) -> bool:
    if word in _ASKING:
        return word != "looking" or following == "for"
    if before in _ASKING_AFTER.get(word, ()) or "" in _ASKING_AFTER.get(word, ()):
        return True
    return following in _ASKING_BEFORE.get(word, ())


def _is_framed(words: list[str]) -> bool:
    return all(word in _BEFORE or word in NUMBER_WORDS for word in words)


def _drop_noun_at_end(text: str) -> str:
    """ "Beach photos" are of a beach; "a woman takes photos" and "people pose for a group photo" are whole."""
    words = text.lower().split()
    if len(words) < 2 or words[-1] not in PICTURE_NOUNS:
        return text
    is_short = len(words) <= MAX_NOUN_PHRASE_WORDS
    describes = words[-2] not in _BEFORE and (
        not words[-2].endswith(("ing", "s")) if is_short else _KINDS_OF_PHOTOS.isdisjoint(words[-2:])
    )
    describes = describes and (is_short or _TAKING.isdisjoint(words))
    return " ".join(text.split()[:-1]) if describes else text


def _read_words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.lower())
