"""Where a description ends in a clause: before courtesies, purposes and places where it is to be shown."""

from __future__ import annotations

from collections.abc import Sequence

from viewfinder.wording.frames.speaking import has_speaker_acting, is_seen_written, is_unfinished
from viewfinder.wording.frames.words import (
    ARCHIVES,
    BEFORE_A_NOUN,
    DAYS,
    EXISTING,
    IF_ANY,
    KINDS_OF_PHOTOS,
    LYING,
    MAX_FRAME_WORDS,
    MAX_NOUN_PHRASE_WORDS,
    OF_PEOPLE,
    OR_SO,
    PURPOSES,
    SCREENS,
    SENDING,
    TAKING,
    TIMES,
    TO_BE,
    TRAILING,
    UNCERTAIN,
    VERBS,
    WOULD,
)
from viewfinder.wording.numbers import NUMBER_WORDS
from viewfinder.wording.talk import (
    ADVERBS,
    AUXILIARIES,
    CLOSINGS,
    CONJUNCTIONS,
    COURTESIES,
    NEVER_SEEN,
    OTHER_NOUNS,
    PICTURE_NOUNS,
    SOMEBODY,
    SUBJECTS,
    VOCATIVES,
    is_of,
    is_talk,
    list_words,
)


def find_end(words: Sequence[str], *, is_framed: bool, head: Sequence[str]) -> int:
    """Where the description ends in a clause: at its end if nothing stands after it.

    `is_framed`: something asked before, `head`: the words that did, if they stood before some of the description.
    """
    begins = bool(head)
    start = len(words)
    while start > max(1, len(words) - MAX_FRAME_WORDS) and is_talk(words[start - 1]):
        start -= 1
    end = next((cut for cut in range(start, len(words)) if _closes_at(words, cut, is_framed=is_framed)), len(words))
    if words[-2:] == ("on", "top") and words[-3:-2] in (("sugar",), ("cherry",)) and "please" in words[1:]:
        end = words.index("please", 1)
        end -= end > 1 and words[end - 1] == "pretty"
    end -= _count_where_shown(words[:end], head=head, closes=end < len(words))
    if is_framed and end > 3 and words[end - 1] in PURPOSES and "for" in words[end - 3 : end - 1]:
        end -= 3 if words[end - 3] == "for" else 2
    while is_framed and end > max(start, 1):
        length = next((count for count in (3, 2, 1) if words[end - count : end] in TRAILING), 0)
        length = length or 3 * (
            words[end - 1] in ARCHIVES and words[end - 3] in ("in", "from", "on") and words[end - 2] in BEFORE_A_NOUN
        )
        length = length or (begins and words[end - 1] == "at" and not is_of(words[end - 2], VERBS))
        length = length or 2 * (begins and words[end - 2 : end] == ("in", "it")) or _count_ago(words[start:end])
        if not length:
            break
        end = max(end - length, 1)
    return end


def _closes_at(words: Sequence[str], cut: int, *, is_framed: bool) -> bool:
    """Whether the words from one on are said to who searches, and none of them is said in the picture."""
    tail = words[cut:]
    if not _closes(tail) or (tail[0] == "you" and words[cut - 1] == "thank"):
        return False
    courtesies = [at for at in range(cut, len(words)) if words[at] in COURTESIES]
    if tail[0] in COURTESIES and is_unfinished(words, cut):
        return False
    return not any(is_seen_written(words, at, is_framed=is_framed) for at in courtesies)


def _count_where_shown(words: Sequence[str], *, head: Sequence[str], closes: bool) -> int:  # noqa: PLR0911 (one return a kind)
    """How many words at the end say where, when or to whom something is to be shown: "on the screen", "by Monday"."""
    if len(words) < 3:
        return 0
    third, second, last = words[-3:]
    if last in SCREENS and head and second in ("the", "my", "your", "our") and third == "on":
        return 3
    if last in SCREENS and (head or closes) and second == "on":
        return 2
    if not head:
        return 0
    if last in DAYS and second in ("by", "before", "until"):
        return 2
    is_sent = not SENDING.isdisjoint(head) and "me" not in head
    if last in PURPOSES and second in ("my", "our") and third == "to" and is_sent:
        return 3
    if last == "around" and second in LYING and not EXISTING.isdisjoint(head):
        return 2
    is_had = not PICTURE_NOUNS.isdisjoint(head) and head[-1] in ("has", "have", "got", "having", "with")
    return 2 if (second, last) == ("on", "it") and is_had and {"with", "having"}.isdisjoint(words[len(head) :]) else 0


def _count_ago(words: Sequence[str]) -> int:
    """How many words at the end say that something was long ago: "a while back"."""
    if len(words) < 2 or words[-1] not in ("ago", "back") or words[-2] not in TIMES - {"day", "week", "month"}:
        return 0
    at = len(words) - 1
    while at and words[at - 1] in TIMES:
        at -= 1
        if words[at] in ("a", "some", "the"):
            break
    return len(words) - at


def _closes(tail: Sequence[str]) -> bool:  # noqa: PLR0911 (one return a kind)
    """Whether words at an end are said to who searches, from the first of them on."""
    first, second = tail[0], tail[1] if len(tail) > 1 else ""
    if first in CLOSINGS or first in NEVER_SEEN or (first in ("by", "for", "before") and second in NEVER_SEEN):
        return True
    if first in TO_BE and second in ("in", "on") and tail[-1] in PICTURE_NOUNS:
        return len(tail) == 4 and tail[2] in ("the", "this", "that", "my")
    if first in VOCATIVES and second in CLOSINGS | VOCATIVES:
        return True
    if (first, second) in (("pretty", "please"), ("real", "quick")) or (first in UNCERTAIN and not second):
        return True
    if first in WOULD and (second in ("do", "help", "work", "suffice") or (second == "be" and len(tail) > 2)):
        return True
    acts = has_speaker_acting(tail)
    if is_of(first, SUBJECTS):
        return acts
    if is_of(first, AUXILIARIES) and (is_of(second, SUBJECTS) or second in SOMEBODY or second in ("that", "there")):
        return True
    if first in ("for", "to") and second in ("me", "us"):
        return len(tail) < 3 or tail[2] in CLOSINGS or tail[2] in ADVERBS
    if first in ("or", "and"):
        return second in OR_SO or tail[1:3] in (("so", "on"), ("all", "that")) or second == "stuff" or acts
    if first == "if":
        return second in IF_ANY or acts
    if first in ("in", "from", "among", "amongst", "for"):
        owns = not {"my", "our", "your", "all"}.isdisjoint(tail[1:4])
        return owns and is_talk(tail[-1]) and (tail[-1] in PICTURE_NOUNS or tail[-1] in OTHER_NOUNS)
    if (first, second) in (("at", "least"), ("at", "some"), ("back", "then"), ("as", "far"), ("any", "idea")):
        return True
    begins = is_of(first, list_words("is was that which what as but because the how like"))
    return begins and has_speaker_acting(tail[: tail.index("thank")] if "thank" in tail else tail)


def drop_noun_at_end(text: str) -> str:
    """ "Beach photos" are of a beach; "a woman takes photos" and "people pose for a group photo" are whole."""
    words = text.lower().replace("’", "'").split()
    if len(words) < 2 or words[-1] not in PICTURE_NOUNS:
        return text
    before = words[-2]
    if before in BEFORE_A_NOUN or before in CONJUNCTIONS or before in NUMBER_WORDS or before in OF_PEOPLE:
        return text
    if len(words) <= MAX_NOUN_PHRASE_WORDS:
        describes = not before.endswith(("ing", "s")) and not is_talk(before)
    else:
        is_kind = (
            before in KINDS_OF_PHOTOS or before.endswith("'s") or words[-1].startswith(("shot", "snap", "illustration"))
        )
        describes = not is_kind and TAKING.isdisjoint(words)
    return " ".join(text.split()[:-1]) if describes else text
