"""What a sentence says of earlier pictures of the conversation, for systems that can go back to them.

    find_back_reference("back to the first, but with the sleeves of the second")
    BackReference(0, (KeptAttribute("sleeves", 1, "the sleeves of the second"),), words="the first", rest="")

The published system (Chen et al., "MAI", ICLR 2025, Sec. 4.2) looks for its own templates; here any phrase around an
earlier picture counts: going back to it, liking it better, wanting another like it, its attributes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from viewfinder.data import fashionmt
from viewfinder.retrievers.base import Operation
from viewfinder.retrievers.shared import back_reference_patterns
from viewfinder.retrievers.shared.back_reference_patterns import GAP, MARK, MarkedText, mark_mentions, void_mention

Kind = Literal["rollback", "keep"]

NOTHING_SHARED = "None"
"""What published data keeps when it found nothing to keep: "keep the SECOND's None"."""


@dataclass(frozen=True)
class KeptAttribute:
    """A wanted attribute of an earlier picture: its name ("collar", "red colour"; "" is all of the picture), the
    place of the picture as in `BackReference`, and what was said ("the collar of the first")."""

    attribute: str
    place: int
    words: str


@dataclass(frozen=True)
class BackReference:
    """What a sentence says of earlier pictures.

    Places count the pictures that the conversation was about: 0 is the first, -1 the one before the latest.

    Attributes:
        keeps: attributes of earlier pictures that are wanted, in the order in which they were said.
    """

    rollback: int | None  # the place of the picture from which the conversation continues; None: the latest
    keeps: tuple[KeptAttribute, ...] = ()
    words: str = ""  # how the user referred to the picture of `rollback`
    rest: str = ""  # the sentence without these references, for people and for systems that cannot read them


def find_back_reference(sentence: str) -> BackReference | None:
    """What a sentence says of earlier pictures; None if it says nothing of them.

    >>> find_back_reference("I still prefer the second one, but in blue")
    BackReference(rollback=1, keeps=(), words='the second one', rest='in blue')
    """
    said = mark_mentions(sentence)
    if not said.mentions:
        return _published(sentence)
    back, text = None, said.text
    # "This isn't as nice as the first": the surest sign, and not a denial.
    if match := back_reference_patterns.NOT_AS_GOOD.search(text):
        back, text = match["mark"], _cut(text, match)
    # Mentions that are denied, only compared with, or described are ignored.
    for pattern in (back_reference_patterns.DENIED, back_reference_patterns.DESCRIBED):
        while match := pattern.search(text):
            at = match.start("mark")
            text = text[:at] + void_mention(text[at]) + text[at + 1 :]
    keeps, text = _keeps(text, said)
    if back is None:
        matches = (pattern.search(text) for pattern in back_reference_patterns.BACKS)
        if match := next(filter(None, matches), None):
            back, text = match["mark"], _cut(text, match, match.groupdict().get("left", ""))
    if back is None and not keeps:
        return _published(sentence)
    mention = None if back is None else said.at(back)
    words = "" if mention is None else mention.words
    return BackReference(None if mention is None else mention.place, keeps, words, said.said(_tidy(text)))


def _keeps(text: str, said: MarkedText) -> tuple[tuple[KeptAttribute, ...], str]:
    """The kept attributes, in the order in which they were said, and the text without them."""
    found: list[tuple[str, KeptAttribute]] = []
    for pattern in back_reference_patterns.KEEPS:
        while match := next(filter(_is_kept, pattern.finditer(text)), None):
            words, mention = said.said(match["words"]), said.at(match["mark"])
            names = back_reference_patterns.AND.split(match["names"]) if match["names"] != NOTHING_SHARED else []
            found += [(match["mark"], KeptAttribute(" ".join(name.split()), mention.place, words)) for name in names]
            text = _cut(text, match)
    while match := back_reference_patterns.WHOLES.search(text):
        mentions = {mark: said.at(mark) for mark in re.findall(MARK, match["marks"])}
        found += [(mark, KeptAttribute("", mention.place, mention.words)) for mark, mention in mentions.items()]
        text = _cut(text, match)
    return tuple(kept for _, kept in sorted(found, key=lambda pair: pair[0])), text


def _is_kept(match: re.Match[str]) -> bool:
    """Whether it is an attribute: neither the whole picture nor something that merely lies in it."""
    before, groups = match.string[: match.start()], match.groupdict()
    if "whole" in groups and back_reference_patterns.IS_WHOLE.search(match["names"]):
        return False
    if groups.get("of") in ("in", "on") and not back_reference_patterns.BEFORE_IN.search(before):
        return False
    return "bare" not in groups or back_reference_patterns.BEFORE_BARE.search(before) is not None


def _published(sentence: str) -> BackReference | None:
    """What published data says in capitals before its clauses, whatever the phrase."""
    found = fashionmt.parse_ordinal_reference(sentence)
    if found is None or found.setting != "rollback":
        return None
    place, lead = found.places[0], fashionmt.split_modification(sentence).lead
    return BackReference(place, (), fashionmt.ORDINALS[place], sentence.strip().removeprefix(lead).strip())


def _cut(text: str, match: re.Match[str], left: str = "") -> str:
    return f"{text[: match.start()]}{GAP}{left}{text[match.end() :]}"


def _tidy(text: str) -> str:
    """What is left around the gaps, without the words that only led up to what was cut."""
    text = back_reference_patterns.WITH_GAP_AND.sub(r"\1 ", back_reference_patterns.BETWEEN_GAPS.sub("", text))
    before, *after = text.split(GAP)
    pieces = [before, *(back_reference_patterns.AFTER_GAP.sub("", piece) for piece in after)]
    pieces = [*(back_reference_patterns.BEFORE_GAP.sub("", piece) for piece in pieces[:-1]), pieces[-1]]
    left = (" ".join(piece.split()).strip(" ,;:?") for piece in pieces)
    return ", ".join(piece for piece in left if re.search(r"\w", piece))


def to_operations(looked: BackReference, turns: Sequence[int]) -> tuple[tuple[Operation, ...], tuple[str, ...]]:
    """The same as operations on turns, and a line for each picture that the conversation has not reached.

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
