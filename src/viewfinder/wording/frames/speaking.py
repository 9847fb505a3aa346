"""Whether words speak to somebody, or are seen in a picture: predicates on the words of a clause."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from viewfinder.wording.frames.words import (
    ASKING_COURTESIES,
    CALLED,
    COUNTED,
    COURTEOUS,
    ELLIPTIC,
    FAREWELLS,
    GREETING,
    IMPERATIVES,
    INVISIBLE,
    IT,
    LOOKING_SO,
    OF_SEARCHING,
    OR_SO,
    RATHER,
    STORES,
    TAKING,
    TELLING,
    TIMES,
    TO_BE,
    TOWARDS,
    UNFINISHED,
    VERBS,
    WOULD,
)
from viewfinder.wording.talk import (
    ADJECTIVES,
    ADVERBS,
    ASKING_NOUNS,
    ASKING_VERBS,
    AUXILIARIES,
    BEARING_WORDS,
    COURTESIES,
    DISCOURSE,
    GREETING_VERBS,
    OTHERS,
    PICTURE_NOUNS,
    SAYING_VERBS,
    SOUNDS,
    SUBJECTS,
    THIS_OR_SO,
    WORDS_FOR_WORDS,
    is_of,
    is_talk,
)


def doubts_or_judges(words: Sequence[str], *, follows: bool) -> bool:
    """ "Not sure it exists", before a description; "it was kind of a nice one", after it."""
    if not follows:
        return words[0] == "not" and len(words) > 2 and words[1] in ADJECTIVES and all(map(is_talk, words))
    between = [word for word in words[2:-1] if word not in ("a", "an", "the", "of", "such")]
    is_judged = len(words) > 2 and is_of(words[1], TO_BE) and words[-1] in PICTURE_NOUNS | {"one"}
    return is_judged and bool(between) and all(map(_says_no_looks, between))


def would_be(words: Sequence[str]) -> bool:
    """Whether the words say what would be of use: "that would be great", "it'd help"."""
    return any(
        (is_of(first, WOULD) or first.endswith(("'d", "'ll"))) and second in ("be", "do", "help")
        for first, second in pairwise(words)
    )


def is_speakers(words: Sequence[str], at: int) -> bool:
    """Whether a word is for somebody who speaks of the search: "my wife described it"."""
    if at == 0 or words[at - 1] not in ("my", "our") or at + 1 >= len(words):
        return False
    following, next_one = words[at + 1], words[at + 2] if at + 2 < len(words) else ""
    is_of_it = next_one in ("it", "that", "this")
    is_of_it = is_of_it or (next_one in ("", "of", "with", "where") and not PICTURE_NOUNS.isdisjoint(words[:at]))
    return following in TELLING or (is_of(following, VERBS) and is_of_it)


def speaks(words: Sequence[str], *, follows: bool) -> bool:  # noqa: PLR0911 (one return a kind)
    """Whether somebody speaks in a clause of such words, or is spoken to, of the search or of the picture as such."""
    if not COURTEOUS.isdisjoint(words) or words[0] in ("me", "us"):
        return True
    if all(word in GREETING for word in words) and not CALLED.isdisjoint(words):
        return True
    if has_speaker_acting(words) or any(b in ("me", "us") and a in TOWARDS for a, b in pairwise(words)):
        return True
    is_mine = len(words) > 2 and words[1] in ("my", "our", "your")
    if is_mine and words[0] in ("from", "on", "in") and words[-1] in STORES | PICTURE_NOUNS:
        return True
    if not follows and all(map(_says_no_looks, words)) and not ADJECTIVES.isdisjoint(words):
        return True  # "just curious"
    if not follows:
        if all(word in DISCOURSE for word in words):
            return True
        named = PICTURE_NOUNS | ASKING_NOUNS | ASKING_VERBS
        return words[0] in IMPERATIVES or words[-1] in TO_BE or not named.isdisjoint(words)
    if words[0] in OF_SEARCHING | ELLIPTIC or words[:2] in (("is", "that"), ("is", "it"), ("is", "there")):
        return True
    if words[0] in ("not", "unsure") and not (ADJECTIVES | ASKING_NOUNS).isdisjoint(words):
        return True
    if words[0] in ("where", "how", "what", "why") and is_of(words[min(1, len(words) - 1)], AUXILIARIES):
        return True
    if words[-1] in PICTURE_NOUNS and all(word in ADJECTIVES or word in ("a", "an") for word in words[:-1]):
        return len(words) > 1
    return TAKING.isdisjoint(words) and any(
        word in PICTURE_NOUNS and not {"this", "that", "my", "our", "your"}.isdisjoint(words[max(at - 2, 0) : at])
        for at, word in enumerate(words)
    )


def has_speaker_acting(words: Sequence[str]) -> bool:
    """ "I think", "did you see": not "looking at me"."""
    for at, word in enumerate(words):
        if is_speakers(words, at) or (is_of(word, SUBJECTS) and "'" in word):
            return True
        following = next((later for later in words[at + 1 : at + 4] if later not in ADVERBS), "")
        is_asked = at > 0 and is_of(words[at - 1], AUXILIARIES)
        if is_of(word, SUBJECTS) and (is_asked or is_of(following, VERBS) or is_of(following, AUXILIARIES)):
            return True
    return "thank" in words or "im" in words


def is_afterthought(words: Sequence[str]) -> bool:
    """ "Or so", "that kind of thing", "as far as I know": nobody of whom a description speaks does anything in it."""
    if words == ("no",) or (
        words[0] not in COUNTED
        and all(word in DISCOURSE or (word in ("no", "or") and len(words) > 1) or word in RATHER for word in words)
    ):
        return True
    first, second = words[0], words[1] if len(words) > 1 else ""
    if is_of(first, IT) and (second or "'" in first) and all(map(_says_no_looks, words[1:])):
        return True  # "it was", before a fact; "it's urgent"
    if first == "the" and words[-1] in ("one", "ones") and "other" not in words:
        return True
    is_begun = (
        is_of(first, THIS_OR_SO)
        or (first, second) in (("at", "least"), ("more", "or"), ("not", "that"), ("not", "this"), ("not", "those"))
        or (words[-1] in ("ago", "back") and words[-2:-1] != ("the",) and not TIMES.isdisjoint(words))
        or (first == "nothing" and second in ("else", "more", "special"))
        or (first in ("no", "not") and not ASKING_NOUNS.isdisjoint(words))
        or (first == "as" and second in ("far", "it", "that", "said", "described", "mentioned", "always"))
    )
    return is_begun and OTHERS.isdisjoint(words) and not (first == "or" and second not in OR_SO)


def _says_no_looks(word: str) -> bool:
    return is_of(word, AUXILIARIES) or word in INVISIBLE


def is_seen_written(  # noqa: PLR0911 (one return a kind)
    words: Sequence[str], at: int, *, is_framed: bool
) -> bool:
    """Whether a courtesy is said or written in the picture: "waving goodbye", "the word please", "a sorry note"."""
    first = at
    while first and (words[first - 1] in COURTESIES - SOUNDS or words[first - 1] in ("and", "you")):
        first -= 1
    before = words[first - 1] if first else ""
    if words[at] in SOUNDS or not before:
        return False
    if before in SAYING_VERBS:
        return first < 2 or not (is_of(words[first - 2], SUBJECTS) or words[first - 2] == "to")
    said = next((one for one in range(first) if words[one] in SAYING_VERBS or words[one] == "reading"), 0)
    if said and not BEARING_WORDS.isdisjoint(words[:said]) and (said == first - 1 or not is_framed):
        return True  # "a sign reading no entry please"
    if before in GREETING_VERBS:
        return not (is_framed and words[at] in ASKING_COURTESIES)
    if words[at] in FAREWELLS:
        return not is_talk(before)  # "hugging goodbye"
    if words[at] == "sorry" and before in LOOKING_SO:
        return True
    return before in WORDS_FOR_WORDS and words[max(first - 2, 0)] in ("a", "the")


def is_unfinished(words: Sequence[str], at: int) -> bool:
    """Whether what stands before a courtesy needs it: "a sorry note", "a wall with thank you on it"."""
    before = words[at - 1] if at else ""
    return words[at] not in SOUNDS and before in UNFINISHED
