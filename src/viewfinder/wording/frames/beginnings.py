"""Where a description begins in a clause: after greetings, requests and "a photo of"."""

from __future__ import annotations

from collections.abc import Sequence

from viewfinder.wording.frames.speaking import is_seen_written, is_speakers
from viewfinder.wording.frames.words import (
    AFTER_PICTURE,
    ASKING_COURTESIES,
    ASKING_WHICH,
    BEFORE_A_NOUN,
    BEGINNING_TO_SPEAK,
    BETWEEN,
    COMING_ACROSS,
    COMPOUNDS,
    GOES_TO_SPEAKER,
    GOING,
    HAVING,
    IMPERATIVES,
    IN_MIND,
    INVERTED,
    IT,
    LEFT_OUT_I,
    LOOKING,
    MAX_FRAME_WORDS,
    OF_SEARCHING,
    OF_SOME_KIND,
    OF_SPEAKERS,
    OPENING_VERBS,
    ORDERED,
    PARTICLES,
    POINTING,
    SEARCHING_PAIRS,
    SETTING_OFF,
    SHOWING,
    SOFTENING,
    STORES,
    TAKEN,
    TAKING,
    TELLING,
    TO_BE,
    TO_SEE,
    UNCERTAIN,
    UNITS,
    VERBS,
    VISIBLE,
    WHEREABOUTS,
)
from viewfinder.wording.numbers import NUMBER_WORDS
from viewfinder.wording.talk import (
    ADJECTIVES,
    ADVERBS,
    ASKING_NOUNS,
    ASKING_VERBS,
    AUXILIARIES,
    BEARING_WORDS,
    CLOSINGS,
    COURTESIES,
    DETERMINERS,
    LINKERS,
    NEVER_SEEN,
    OPENINGS,
    OTHER_NOUNS,
    OTHERS,
    PICTURE_NOUNS,
    SOMEBODY,
    SOUNDS,
    SPEAKERS,
    STANDING_FOR_PICTURES,
    SUBJECTS,
    VOCATIVES,
    is_of,
    is_talk,
)


def find_beginning(words: Sequence[str], *, follows: bool) -> int:
    """Where the description begins in a clause: 0 if nothing stands before it."""
    end, speaks = (
        0,
        not follows
        and (
            words[0] in LEFT_OUT_I
            or is_of(words[0], OF_SPEAKERS)
            or (words[0] in TO_BE and words[1:2] in (("it",), ("there",), ("this",), ("that",)))
        ),
    )
    for at, word in enumerate(words[: min(MAX_FRAME_WORDS, _find_name_of_thing(words))]):
        before, after = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
        is_duration = at > 1 and after in UNITS and (word in NUMBER_WORDS or word.isdigit())
        if not is_talk(word) and not is_speakers(words, at) and not is_duration:
            is_called = before in OPENINGS and (after in IMPERATIVES or is_of(after, BEGINNING_TO_SPEAK))
            if not is_called:
                break
        is_anyone = at == 0 and word in ("anyone", "anybody")
        if word in OTHERS or (word in SOMEBODY and not is_anyone and not _is_asked(before, after)):
            break
        owns = word in PICTURE_NOUNS and before in ("my", "our", "your")
        speaks |= is_of(word, SUBJECTS) or word in SOMEBODY or owns or is_speakers(words, at)
        connected = _find_connector(words, at, speaks=speaks or end > 0, follows=follows)
        if connected is not None:
            end = max(end, connected)
        elif word in PICTURE_NOUNS and not is_of(before, SUBJECTS) and before not in SOMEBODY:
            goes_on = after in ORDERED or after in NUMBER_WORDS
            is_bare = before not in DETERMINERS and not is_talk(after) and after not in COMPOUNDS
            if end and after and (goes_on or is_bare):
                end = at + 1
        elif _asks(words, at, end, speaks=speaks, follows=follows) or ((end or speaks) and _goes_through(words, at)):
            end = at + 1
    end = end or _find_end_of_telling(words)
    leads = range(max(end, 1), min(end + 9, len(words))) if end or is_of(words[0], SUBJECTS) else ()
    if at := next((at for at in leads if _orders(words, at)), 0):
        end = at + 1 + find_beginning(words[at + 1 :], follows=False)
    end = skip_linkers(words, end) if end else 0
    return end if end < len(words) else 0


def _find_name_of_thing(words: Sequence[str]) -> int:
    """Where the first thing begins that is called by what is written on it: "thank you card", "help wanted sign"."""
    for at, word in enumerate(words[:MAX_FRAME_WORDS]):
        start = at
        while start and (words[start - 1] in COURTESIES - SOUNDS or words[start - 1] in ("wanted", "help", "you")):
            start -= 1
        if word in BEARING_WORDS and start < at and words[start:at] not in (("you",), ("please",), ("help", "you")):
            return start
    return len(words)


def _orders(words: Sequence[str], at: int) -> bool:
    """ "And find", "to search": wherever it stands after the words of somebody who speaks."""
    if (words[at - 1], words[at]) in SEARCHING_PAIRS and at > 1:
        return is_of(words[at - 2], SUBJECTS) or words[at - 2] in ("and", "to")
    is_led = words[at - 1] in ("and", "to", "so", "but") or is_of(words[at - 1], SUBJECTS)
    return words[at] in ASKING_VERBS and is_led and at + 1 < len(words)


def _goes_through(words: Sequence[str], at: int) -> bool:
    """ "Along the lines of", "search my library for"."""
    word, before = words[at], words[at - 1]
    is_owned = at > 1 and words[at - 2] in ("my", "our", "your", "the", "all")
    is_searched = before in STORES | PICTURE_NOUNS and is_owned
    return (word == "of" and before in OF_SOME_KIND) or (
        word == "for" and (is_searched or before in ("anything", "something", "everything"))
    )


def _is_asked(before: str, after: str) -> bool:
    """Whether "anybody" is one of those who are spoken to: "does anybody have", "anyone seen"."""
    return is_of(before, AUXILIARIES) or after in TELLING or after in HAVING


def _asks(  # noqa: PLR0911, PLR0912 (one return a kind)
    words: Sequence[str], at: int, end: int, *, speaks: bool, follows: bool
) -> bool:
    """Whether what asks, or tells of the search, reaches to a word."""
    word, before, after = words[at], words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    begins = at == 0 or before in COURTESIES or before in VOCATIVES or before in ADVERBS
    is_courtesy = word in COURTESIES and end != at
    if is_courtesy and (is_seen_written(words, at, is_framed=end > 0) or before in ("a", "an", "the")):
        return False
    is_bare = at == 0 or before in ("me", "us") or (before in LINKERS and before != "to")
    if word == "google" and is_bare and after and not is_talk(after):
        return False  # "Google offices"
    if before in UNITS and word in ("for", "to") and end and speaks:
        return True
    if before in ASKING_COURTESIES and word in OPENING_VERBS | {"forward"} and not follows:
        return True
    if word == "you" and before == "thank":
        return end == at
    if not follows and at == 0 and (word in UNCERTAIN or (word in GOING and after == "to")):
        return True
    if (
        word in CLOSINGS
        or word in NEVER_SEEN
        or (word in OPENINGS and begins)
        or (word in VOCATIVES and before in OPENINGS)
    ):
        return True
    if (before, word) in SEARCHING_PAIRS and (speaks or not follows):
        return True
    if word in SETTING_OFF and all(earlier in SETTING_OFF for earlier in words[:at]) and not follows:
        return True
    if word in ("look", "glimpse", "peek") and before == "a" and after in ("at", "of") and (speaks or end):
        return True
    is_pronoun = before in ("this", "that") and word.endswith("s")
    if before in BEFORE_A_NOUN and not is_pronoun:  # "a display", "the request"
        return word in ASKING_NOUNS and (speaks or not follows) and (speaks or after in LINKERS)
    if is_of(word, VERBS) and (speaks or (after in ("me", "us") and word in GOES_TO_SPEAKER)):
        return True
    if word in (OF_SEARCHING if follows else IMPERATIVES) and begins and after != "of":
        return True
    if speaks and before in ADJECTIVES and before not in VISIBLE and word in ("in", "about", "for", "if", "that", "to"):
        return True  # "I'd be interested in"
    if before in ("me", "us") and is_of(word, VERBS) and at > 1 and words[at - 2] in ("let", "help", "make"):
        return True
    if follows:
        return False
    if word == "of" and before == "more" and at == 1:
        return True
    if word == "there" and is_of(before, AUXILIARIES):
        return True
    if word in TO_BE and before == "there" and (not PICTURE_NOUNS.isdisjoint(words[:at]) or word in ("was", "were")):
        return True
    if before in ASKING_NOUNS and word in OTHER_NOUNS and after in TO_BE:
        return True  # "the search term is"
    if word in TO_BE and words[:at] == ("the", "scene"):
        return True
    if word == "about" and (before in ("what", "how") or (is_of(before, TO_BE) and is_of(words[0], IT))):
        return True
    if words[0] == "it" and at and all(is_of(one, AUXILIARIES) or one in ADVERBS for one in words[1 : at + 1]):
        return True
    if is_of(word, TO_BE) and before in ("where", "what", "which", "who", "it"):
        return True
    if word in ("where's", "wheres", "what's", "whats", "it's") or (
        word in SHOWING and before in ("it", "this", "that")
    ):
        return True
    if word == "after" and (is_of(before, TO_BE) or before in ("i'm", "im", "we're")):
        return True
    return word in ASKING_VERBS or (word in ASKING_NOUNS and (speaks or after in LINKERS))


def _find_connector(  # noqa: PLR0911, PLR0912 (one return a kind)
    words: Sequence[str], at: int, *, speaks: bool, follows: bool
) -> int | None:
    """Where the description begins that a word for the picture leads to; None: that word may be part of one."""
    word, before = words[at], words[at - 1] if at else ""
    is_picture = word in PICTURE_NOUNS
    is_pointed_at = (
        before in POINTING or before in ("there", "have", "got", "find", "see") or before in ADJECTIVES or speaks
    )
    if words[at + 1 : at + 3] in (("in", "here"), ("in", "there")):
        at += 2
    if at == 0 and not follows and (word == "those" or (word == "one" and words[1:2] in (("with",), ("where",)))):
        is_pointed_at = True
    elif not is_picture and (word not in STANDING_FOR_PICTURES or (follows and not is_pointed_at)):
        return None
    if word in ("one", "ones", "some", "any", "time", "day", "moment") and not is_pointed_at:
        return None
    while (
        words[at + 1 : at + 2] and words[at + 1] in WHEREABOUTS and not is_of(words[min(at + 2, len(words) - 1)], TO_BE)
    ):
        at += 1
    following = [*words[at + 1 : at + 4], "", "", ""]
    match following:
        case ["of", *_] if word in ("some", "any"):
            return None
        case ["along", "the", "lines", *_] if words[at + 4 : at + 5] == ("of",):
            return at + 5
        case ["to", "do", "with", *_] if not is_picture:
            return at + 4
        case ["similar" | "related" | "relating" | "pertaining" | "akin", "to", *_]:
            return at + 3
        case ["from", "a" | "an", *_] if speaks:
            return at + 2
        case [first, *_] if first in AFTER_PICTURE:
            return at + 2
        case ["that" | "which", second, *_] if second in SHOWING or second in TO_BE:
            return at + 3
        case ["in" | "on", "which", *_] | ["from", "when", *_]:
            return at + 3
        case [first, second, *_] if is_of(first, AUXILIARIES) and second in AFTER_PICTURE | SHOWING:
            return at + 3
        case [first, *_] if (first in SHOWING and before in POINTING) or (first in TO_BE and before in ASKING_WHICH):
            return at + 2
        case [first, second, *_] if is_picture and first in TAKEN and (second in ORDERED or second in LINKERS):
            return at + 2
    return None


def _find_end_of_telling(words: Sequence[str]) -> int:
    """Where a description begins after "my sister sent me a pic where": 0 without such words."""
    for at, word in enumerate(words[:MAX_FRAME_WORDS]):
        if word not in PICTURE_NOUNS:
            continue
        connected = _find_connector(words, at, speaks=False, follows=False)
        before = [word for word in words[:at] if word not in DETERMINERS]
        has_speaker = any(is_of(word, SPEAKERS) or word in ASKING_VERBS for word in before)
        has_speaker = has_speaker or is_of(words[0], INVERTED)
        is_taken = before and before[-1] in TAKING and not any(is_of(word, SPEAKERS) for word in before[-2:])
        return 0 if connected is None or is_taken or not has_speaker else connected
    return 0


def skip_linkers(words: Sequence[str], end: int) -> int:
    """Past the words that only link what asks to what is asked for: "to see", "of", "where there is"."""
    while end < len(words) - 1:
        word, after, before = words[end], words[end + 1], words[end - 1] if end else ""
        is_particle = word in PARTICLES and is_of(before, VERBS) and before not in TAKEN
        is_particle = (
            is_particle
            or (before in LOOKING | {"peek", "glimpse"} and word in ("at", "into", "of"))
            or (before, word) in COMING_ACROSS
        )
        is_particle = is_particle or (word == "on" and before in ("have", "got", "info", "information"))
        is_between = word != "next" and word in BETWEEN and after in LINKERS
        if words[end : end + 2] in (("in", "my"), ("in", "our")) and words[end + 2] in IN_MIND and end + 3 < len(words):
            end += 3
            continue
        target = words.index("for", end) if before in LOOKING and "for" in words[end : end + 4] else end
        if target > end and all(map(is_talk, words[end:target])):
            end = target + 1  # "looking all day for"
            continue
        if words[end - 1 : end + 2] == ("to", "do", "with") and end + 2 < len(words):
            end += 2
            continue
        if word == "one" and after in ("can", "could", "may") and words[end + 2 : end + 3] in (("see",), ("find",)):
            end = min(end + 3, len(words) - 1)  # "in which one can see"
            continue
        if end and (
            (before == "to" and word in TO_SEE)
            or (word == "got" and before in ("has", "have", "had"))
            or (word == "any" and is_of(before, VERBS | {"there"}) and after not in ("of", "more", "other"))
        ):
            end += 1
            continue
        if before == "of" and word in ("them", "these", "those") and after in TO_BE:
            end += 1
            continue
        if word == "there" and after in TO_BE - {"being"} and before not in ("if", "whether"):
            break  # "there is a dog" is how some describe
        is_link = word in LINKERS or word in SOFTENING or word in ("me", "us", "please")
        if not (is_link or is_particle or is_between):
            break
        end += 1
    return end
