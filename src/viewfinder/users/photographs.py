"""Speech about photographs known from captions: sentences, fragments, differences, corrections."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from viewfinder.conversation import Reject, Say
from viewfinder.users.annotations import AnnotatedPhotos
from viewfinder.users.captions import (
    FACT_KINDS,
    find_mentions,
    find_synonyms,
    find_values,
    stem_word,
    stems_of,
    to_singular,
)
from viewfinder.users.descriptions import Sentences
from viewfinder.users.person import Speaks
from viewfinder.wording.numbers import spell_number
from viewfinder.wording.stop_words import BEFORE_NOUNS, BETWEEN_NOUNS

_VERBS = frozenset(word for words in FACT_KINDS["doing"].values() for word in words)
_ORDERED = "ADE_"
"""Prefix of photographs that one person described sentence by sentence (ADE20K)."""


def noun_phrases(sentence: str) -> list[str]:
    """The words after an article, a number or a preposition, up to the noun, at most two of each.

    Judged only by ending and place: some verbs are taken for nouns.

    >>> noun_phrases("A brown dog is running on the sunny beach .")
    ['brown dog', 'sunny beach']
    """
    found: list[list[str]] = []
    is_led, is_inside = True, False  # a caption may begin with a noun, without an article
    for word in re.findall(r"[^\W_]+(?:[-'][^\W_]+)*", sentence.lower()):
        if word in BETWEEN_NOUNS or word in BEFORE_NOUNS or word.endswith("ly"):
            is_led, is_inside = True, False
        elif word.endswith("ing") or (
            is_inside and (to_singular(found[-1][-1]) != found[-1][-1] or stem_word(word) in _VERBS)
        ):
            is_led = is_inside = False
        elif is_led or is_inside:
            found = [*found[:-1], [*found[-1], word]] if is_inside else [*found, [word]]
            is_led, is_inside = False, True
    return [" ".join(phrase[-2:]) for phrase in found if not phrase[-1].endswith("ed")]


def make_fragment(sentence: str, rng: random.Random) -> str:
    """Two to four words of a sentence, as people type them into a search box: around its nouns, in its order.

    >>> make_fragment("A brown dog is running on the sunny beach .", random.Random(1))
    'brown dog beach'
    """
    phrases = noun_phrases(sentence)
    if len(phrases) > 1:
        place = rng.randrange(len(phrases) - 1)
        whole, other = phrases[place], phrases[rng.randrange(place + 1, len(phrases))].split()
        words = [*whole.split(), *(other if len(whole.split()) == 1 and rng.random() < 0.5 else other[-1:])]
    else:
        words = [word for word in re.findall(r"[^\W_]+", sentence.lower()) if word not in BETWEEN_NOUNS][:3]
    return " ".join(dict.fromkeys(words)) or sentence


def cut_fragment(sentence: str, rng: random.Random, left_out: Container[str] = BETWEEN_NOUNS, shortest: int = 1) -> str:
    """One to four adjacent words of a sentence, without small words: simpler than `make_fragment`, to learn from.

    `left_out`: words that do not count, nor those with fewer letters than `shortest`.

    >>> cut_fragment("A brown dog is running on the beach", random.Random(1))
    'running beach'
    """
    words = [word for word in re.findall(r"[A-Za-z]+", sentence) if word.lower() not in left_out]
    words = [word for word in words if len(word) >= shortest]
    count = rng.choice((1, 2, 2, 3, 3, 4))
    start = rng.randrange(max(1, len(words) - count + 1))
    return " ".join(words[start : start + count]).lower() or sentence


def make_spoken(sentences: Sentences, speaks: Speaks, *, seed: int = 0) -> Sentences:
    """Sentences said as whole sentences, as fragments, or mixed (per sentence, drawn from the seed)."""
    if speaks == "sentences":
        return sentences

    def spoken(picture: str) -> Sequence[str]:
        rng = random.Random(f"viewfinder/speaks/{seed}/{picture}")
        said = [
            sentence if speaks == "mixed" and rng.random() < 0.5 else make_fragment(sentence, rng)
            for sentence in sentences(picture)
        ]
        return list(dict.fromkeys(said))

    return spoken


def photo_sentences(notes: AnnotatedPhotos, *, speaks: Speaks = "sentences", seed: int = 0) -> Sentences:
    """The captions of each photograph, each once: in an order drawn from the seed, but sequences in their own."""

    def sentences(picture: str) -> Sequence[str]:
        said = list(dict.fromkeys(notes.of(picture).captions))
        if not picture.rsplit("/", 1)[-1].startswith(_ORDERED):
            random.Random(f"viewfinder/sayings/{seed}/{picture}").shuffle(said)
        return said

    return make_spoken(sentences, speaks, seed=seed)


@dataclass(frozen=True)
class PhotoComparer:
    """The `Comparer` of captioned photographs: the shown and the wanted one are both known by their captions."""

    notes: AnnotatedPhotos
    seed: int = 0

    def compare(self, shown: str, wanted: str) -> str:
        """A noun phrase from captions of the wanted photograph that no caption of the shown one names; "" if none."""
        here = frozenset().union(*map(stems_of, self.notes.of(shown).captions))
        phrases = [phrase for caption in self.notes.of(wanted).captions for phrase in noun_phrases(caption)]
        new = Counter(phrase for phrase in phrases if stems_of(phrase.split()[-1]).isdisjoint(here))
        best = [phrase for phrase, count in new.items() if count == max(new.values())]
        return "with " + self._make_rng(shown, wanted).choice(best) if best else ""

    def likeness(self, one: str, other: str) -> float:
        """Share of the words in either's captions that are in both, 0 to 1."""
        ones, others = (self._list_words(picture) for picture in (one, other))
        return len(ones & others) / max(len(ones | others), 1)

    def correct(self, shown: str, wanted: str) -> Say | Reject | None:
        """A correction if captions of the two contradict each other: "no, two of them", "not indoors"; else None."""
        return self._make_rng(shown, wanted).choice([*self._list_contradictions(shown, wanted)] or [None])

    def _list_contradictions(self, shown: str, wanted: str) -> Iterator[Say | Reject]:
        theirs, own = self.notes.of(shown).captions, self.notes.of(wanted).captions
        for noun in _list_main_nouns(own):
            there, here = _agree_on_number(noun, own), _agree_on_number(noun, theirs)
            if there and here and there != here:
                yield Say(f"no, {spell_number(there)} of them" if there > 1 else f"no, only one {noun}")
            colours, colours_here = _agree_on_colours(noun, own), _agree_on_colours(noun, theirs)
            # Of several things each may have another colour.
            if there == 1 and colours and colours_here and colours.isdisjoint(colours_here):
                yield Say(f"no, a {' and '.join(sorted(colours))} {noun}")
        settings = [_agree_on_value("setting", captions) for captions in (theirs, own)]
        if None not in settings and settings[0] != settings[1]:
            yield Reject((), f"{settings[0]}s")
        place = _agree_on_value("place", theirs)
        named = frozenset().union(*(find_values("place", caption) for caption in own))
        if place in _APART and named & _APART.keys() and place not in named:
            yield Say(f"no, not {_APART[place]} {place}")

    def _list_words(self, picture: str) -> frozenset[str]:
        return frozenset().union(*map(stems_of, self.notes.of(picture).captions)) - BETWEEN_NOUNS

    def _make_rng(self, shown: str, wanted: str) -> random.Random:
        return random.Random(f"viewfinder/photographs/{self.seed}/{shown}/{wanted}")


_APART = {
    **dict.fromkeys(("beach", "street"), "on the"),
    **dict.fromkeys(("snow", "kitchen", "bathroom", "bedroom"), "in the"),
}
"""Places of which a photograph shows at most one."""


@cache
def _list_main_nouns(captions: tuple[str, ...]) -> tuple[str, ...]:
    """The last words of noun phrases that at least two captions (or the only one) have, most common first."""
    counts = Counter(
        noun for said in captions for noun in dict.fromkeys(to_singular(one.split()[-1]) for one in noun_phrases(said))
    )
    return tuple(noun for noun, count in counts.most_common(3) if count >= min(2, len(captions)))


@cache
def _agree_on_number(noun: str, captions: tuple[str, ...]) -> int | None:
    """The number of things of a noun, if at least two captions (or the only one) give it and none contradicts it."""
    mentions = [[*find_mentions(find_synonyms(noun), said)] for said in captions]
    numbers = [found[0].number if len(found) == 1 else None for found in mentions if found]
    known = [number for number in numbers if number is not None]
    is_vague = any(mention.plural and mention.number is None for found in mentions for mention in found)
    return known[0] if len(known) >= min(2, len(captions)) and len(set(known)) == 1 and not is_vague else None


@cache
def _agree_on_colours(noun: str, captions: tuple[str, ...]) -> frozenset[str]:
    """The colours of a noun that at least two captions (or the only one) name."""
    named = [
        {colour for mention in find_mentions(find_synonyms(noun), said) for colour in mention.colours}
        for said in captions
    ]
    counts = Counter(colour for colours in named for colour in colours)
    return frozenset(colour for colour, count in counts.items() if count >= min(2, len(captions)))


@cache
def _agree_on_value(kind: str, captions: tuple[str, ...]) -> str | None:
    """The value of a kind that at least two captions (or the only one) name, if none names another."""
    named = [values for said in captions if (values := find_values(kind, said))]
    is_one = len(named) >= min(2, len(captions)) and len(frozenset().union(*named)) == 1
    return next(iter(named[0])) if is_one else None
