"""The clauses of a text, and which of them describe nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewfinder.wording.frames.beginnings import find_beginning, skip_linkers
from viewfinder.wording.frames.ends import find_end
from viewfinder.wording.frames.speaking import (
    doubts_or_judges,
    has_speaker_acting,
    is_afterthought,
    is_seen_written,
    is_speakers,
    speaks,
    would_be,
)
from viewfinder.wording.frames.words import (
    ASIDE,
    BEGINNING_TO_SPEAK,
    ENDS,
    IMPERATIVES,
    IN_SENTENCES,
    INVERTED,
    IT,
    LABELS,
    LYING,
    MAX_CALLED_WORDS,
    MAX_HEADING_WORDS,
    MAX_NOUN_PHRASE_WORDS,
    OF_SEEING,
    OF_THINKING,
    OPENING_VERBS,
    OR_SO,
    SAID_OF_SEARCH,
    SEARCHING_PAIRS,
    SEEN_NOUNS,
    SIGNED,
    STORES,
    TO_BE,
    VERBS,
)
from viewfinder.wording.talk import (
    ASKING_NOUNS,
    ASKING_VERBS,
    AUXILIARIES,
    CLOSINGS,
    COURTESIES,
    DEVICES,
    OPENINGS,
    OTHERS,
    PICTURE_NOUNS,
    PREPOSITIONS,
    SAYING_VERBS,
    SOMEBODY,
    SUBJECTS,
    VOCATIVES,
    is_of,
    is_talk,
)


@dataclass(frozen=True)
class Clause:
    """Words of a sentence between two marks, as `fold_word` gives them, and where each begins and ends."""

    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    mark: str = ""  # the marks after it

    def cut(self, start: int, end: int) -> Clause:
        """The words from `start` to before `end`."""
        return Clause(self.words[start:end], self.spans[start:end], self.mark)


def drop_frames(clauses: Sequence[Clause], text: str) -> list[Clause]:
    """What describes of each clause, without the clauses of which nothing does."""
    kept: list[Clause] = []
    is_framed = closes = False
    head: tuple[str, ...] = ()
    for at, clause in enumerate(clauses):
        follows, is_last = bool(kept), at == len(clauses) - 1
        is_heading = not is_last and _is_heading(clause)
        is_whole = (at == 0 or ENDS.search(clauses[at - 1].mark) is not None) and (
            is_last or ENDS.search(clause.mark) is not None
        )
        is_said = kept and kept[-1].spans[-1] == clauses[at - 1].spans[-1] and kept[-1].words[-1] in SAYING_VERBS
        if is_said or _asks_for_looks(clause.words):
            kept.append(clause if is_said else clause.cut(2, -2))  # "a sign saying: please wait"
            continue
        is_device = at == 0 and not is_last and _calls_device(clause.words, clauses[1].words)
        if is_heading or is_device or _says_nothing(clause.words, follows=follows, is_whole=is_whole):
            is_framed, closes = True, not is_heading and not SIGNED.isdisjoint(clause.words)
            continue
        if closes and follows and is_last and _is_signature(clause, text):
            continue
        is_of_it = (
            is_framed
            and clause.words[0] == "it"
            and any(not PICTURE_NOUNS.isdisjoint(one.words) for one in clauses[:at])
        )
        start = find_beginning(clause.words, follows=follows and not is_of_it)
        head = head or clause.words[:start]
        is_framed |= bool(head)
        if (
            start
            and kept
            and _only_leads_up(clauses[:at], kept, clause.words, start, is_framed=is_framed, is_of_it=is_of_it)
        ):
            kept = []
        start = start or _find_beginning_where(clause.words, is_called=not kept and at > 0 and _calls(clauses[at - 1]))
        head = head or clause.words[:start]
        if not start and is_framed and not kept:
            start = skip_linkers(clause.words, 0)
        is_short = len(clause.words) - start <= MAX_NOUN_PHRASE_WORDS
        is_place = not is_last and clause.words[start] in PREPOSITIONS  # "we took it on holiday"
        is_of_it = is_short and (follows or is_place) and _is_about_it(clause.words[: start + 1])
        is_aside = start > 0 and (is_of_it or _is_stored(clause.words[start:]))
        if is_aside and len(clauses) > 1:
            continue
        end = find_end(clause.words, is_framed=is_framed, head=head)
        if not start and end < len(clause.words) and is_of(clause.words[0], INVERTED) and end > 2:
            start = 1  # "is a dog somewhere in your collection?"
            end = find_end(clause.words[:end], is_framed=True, head=head)
        kept.append(clause.cut(start, end) if start < end else clause)
    return kept


def _only_leads_up(
    before: Sequence[Clause],
    kept: Sequence[Clause],
    words: Sequence[str],
    start: int,
    *,
    is_framed: bool,
    is_of_it: bool,
) -> bool:
    """Whether what was kept only leads up to a clause that asks with its words before `start`."""
    acts = has_speaker_acting(words[:start])
    asks = acts and not ASKING_VERBS.isdisjoint(words[:start])
    if asks and is_framed and all(_tells_of_oneself(one) for one in before):
        return True  # "I'm putting together a slideshow, so I need ..."
    is_order = words[0] in IMPERATIVES and len(kept) == 1 and len(kept[0].words) == 1
    is_turned = words[0] in ("but", "so") and is_framed and sum(len(one.words) for one in kept) <= 2
    if is_order or is_of_it or is_turned:
        return True  # "computer, find ...", "we had a photo on the wall, it showed ..."
    # "My phone died, so I lost ..."
    return acts and words[0] in ("so", "but", "and") and all(_tells_of_belongings(one) for one in kept)


def _asks_for_looks(words: Sequence[str]) -> bool:
    """ "What does a heron look like"."""
    is_asked = words[0] == "what" and words[-2:] == ("look", "like")
    return is_asked and len(words) > 4 and words[1] in ("does", "do", "did", "would")


def _find_beginning_where(words: Sequence[str], *, is_called: bool) -> int:
    """Where the description begins after "open", said to a device, and in "any dogs lying around"."""
    if is_called and words[0] in OPENING_VERBS and len(words) > 1:
        return skip_linkers(words, 1)
    return int(words[0] == "any" and len(words) > 3 and words[-1] == "around" and words[-2] in LYING)


def _calls(clause: Clause) -> bool:
    return not (VOCATIVES | DEVICES).isdisjoint(clause.words) and len(clause.words) <= MAX_CALLED_WORDS


def _calls_device(words: Sequence[str], following: Sequence[str]) -> bool:
    """ "Computer, bring up ...": a word that names a device, before what it is told to do."""
    first = following[0]
    is_told = first in IMPERATIVES or first in OPENING_VERBS or following[:2] in SEARCHING_PAIRS
    is_told = is_told or is_of(first, BEGINNING_TO_SPEAK)
    return len(words) == 1 and words[0] in DEVICES and is_told


def _tells_of_belongings(clause: Clause) -> bool:
    """ "My phone died": of something in which pictures are kept."""
    words = clause.words
    return len(words) > 2 and words[0] in ("my", "our") and is_talk(words[1]) and words[1] not in PICTURE_NOUNS


def _tells_of_oneself(clause: Clause) -> bool:
    """ "I'm making an album": somebody speaks, and of nothing that is searched."""
    of_search = PICTURE_NOUNS | ASKING_VERBS | OF_SEEING
    return has_speaker_acting(clause.words) and of_search.isdisjoint(clause.words)


def _is_heading(clause: Clause) -> bool:
    """ "Pics of my friends: two men on a bench" is about two men on a bench."""
    words = clause.words
    return (
        ":" in clause.mark
        and len(words) <= MAX_HEADING_WORDS
        and (
            (len(words) == 1 and (len(words[0]) == 1 or words[0] in LABELS))
            or not PICTURE_NOUNS.isdisjoint(words)
            or (len(words) > 1 and all(map(is_talk, words)))
            or words[-1] in TO_BE | {"it", "this", "follows", "below", "reads", "says"}
            or any(is_of(word, SAID_OF_SEARCH) for word in words[_is_owned(words) :])
        )
    )


def _is_owned(words: Sequence[str]) -> bool:
    """ "My dog": whoever has it speaks, but not of the search."""
    return words[0] in ("my", "our")


def _is_stored(words: Sequence[str]) -> bool:
    """ "In the holiday folder": where a picture is kept, not what it shows."""
    return (
        words[0] in ("in", "from", "on", "inside") and words[-1] in STORES and len(words) <= MAX_NOUN_PHRASE_WORDS + 1
    )


def _is_about_it(words: Sequence[str]) -> bool:
    """ "I need it for a card": what was described before is spoken of."""
    return any(
        before not in OF_THINKING and is_of(before, VERBS) and word in ("it", "them") and not is_of(after, AUXILIARIES)
        for before, word, after in zip(words, words[1:], words[2:], strict=False)
    )


def _is_signature(clause: Clause, text: str) -> bool:
    return len(clause.words) <= 2 and all(text[start].isupper() for start, _ in clause.spans)


def _says_nothing(words: Sequence[str], *, follows: bool, is_whole: bool) -> bool:  # noqa: PLR0911 (one return a kind)
    """Whether a clause is none of the description; `follows`: one with a description was before it, `is_whole`: it is a
    sentence, or stands in brackets."""
    if len(words) <= MAX_CALLED_WORDS and words[0] in OPENINGS and sum(not is_talk(word) for word in words) == 1:
        return True  # "hi Anna"
    is_greeting = words in (("morning",), ("afternoon",)) or (
        len(words) <= MAX_CALLED_WORDS + 1 and "dear" in words[:2]
    )
    if not follows and is_greeting:
        return True  # "my dear friend"
    if follows and words[0] in SIGNED and words[0] in CLOSINGS and len(words) <= MAX_NOUN_PHRASE_WORDS:
        return True  # "thanks a million"
    if words[:2] == ("pretty", "please") or (
        words[0] in ("not", "it", "that") and doubts_or_judges(words, follows=follows)
    ):
        return True
    if follows and is_of(words[0], IT) and would_be(words) and len(words) <= 2 * MAX_NOUN_PHRASE_WORDS:
        return True  # "that'd be fab"
    if words[:2] == ("to", "be") and len(words) <= MAX_CALLED_WORDS + 1:
        return True  # "to be honest"
    if follows and is_whole and is_of(words[0], SUBJECTS) and words[2:3] == ("it",):
        return True  # "I deleted it by accident"
    strange = [at for at, word in enumerate(words) if not is_talk(word) and not is_speakers(words, at)]
    if strange:
        is_aside = (words[0] in ASIDE and has_speaker_acting(words)) or (
            is_of(words[0], AUXILIARIES) and not (PICTURE_NOUNS | ASKING_VERBS).isdisjoint(words[strange[0] :])
        )
        if words[0] == "or" and len(words) > 1 and words[1] in OR_SO:
            return True
        return is_aside and len(strange) == 1 and not find_beginning(words, follows=False)
    if _is_of_people(words, follows=follows):
        return False
    if is_whole and len(words) == 1 and (words[0] in SOMEBODY or words[0] in ASKING_NOUNS):
        return True
    is_joined = words[0] in PREPOSITIONS or words[0] in ("one", "some", "no", "while", "as", "i.e")
    is_phrase = not any(is_of(word, IN_SENTENCES) for word in words)
    if is_whole and len(words) > 1 and not is_joined and not is_phrase and OTHERS.isdisjoint(words):
        return True
    return speaks(words, follows=follows) or is_afterthought(words)


def _is_of_people(words: Sequence[str], *, follows: bool) -> bool:
    """Whether words that are all of talk are of people who are seen: "a couple I know", "somebody saying sorry"."""
    if not follows and words[0] in ("a", "an") and words[1:2] and words[1] in SEEN_NOUNS:
        return True
    said = any(is_seen_written(words, at, is_framed=True) for at, word in enumerate(words) if word in COURTESIES)
    return said and not SOMEBODY.isdisjoint(words)
