"""What a person says, read with what is known of the pictures: the description in it, spelt right, and facts.

    read_sentence("do you have that photo of a dgo in the snow from January 2019?", gallery, today)

gives the description "a dog in the snow", the correction dog for dgo, and the time January 2019. The same sentence is
read once for the same pictures; what it means on another day is read anew.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from viewfinder.search.gallery import Gallery
from viewfinder.session.facts import COLUMNS, is_told_otherwise
from viewfinder.session.looks import is_seen, list_looks
from viewfinder.session.reading import Reading, read_plainly
from viewfinder.session.self_corrections import mend_self_corrections
from viewfinder.wording.denials import write_denials
from viewfinder.wording.fact_phrases import NAMED, FactPhrase, Kind, Names, find_fact_phrases, remove_phrases
from viewfinder.wording.file_names import drop_file_endings
from viewfinder.wording.framing import says_nothing, take_content
from viewfinder.wording.lexicon import is_english_word
from viewfinder.wording.spelling import QUOTED_WORD, correct_spelling
from viewfinder.wording.spoken import write_as_described, write_out
from viewfinder.wording.stems import WORD, stem
from viewfinder.wording.stop_words import WITHOUT_CONTENT
from viewfinder.wording.talk import is_talk
from viewfinder.wording.times import TIME_WORDS

MIN_NAME_LETTERS = 3
"""Letters of a part of a name that stands for all of it."""

_ANY = frozenset(("any", "all", "some", "every", "my", "our", "your"))
"""Words before "photos" that say nothing of their looks."""

MIN_NAME_LETTERS_SPELT, NAME_SHARE = 5, -3.0
"""Names of so many letters, months and weekdays are recognized misspelt, too; how often they are said, as log10."""

TALK_SHARE = -3.5
"""How often words with which people ask are said among those of descriptions, as log10."""

_OF_MAKERS = frozenset(
    ["corporation", "camera", "company", "co", "corp", "inc", "ltd", "digital", "imaging", "optical"]
)
"""Words in the names of cameras that nobody says."""


def read_sentence(text: str, gallery: Gallery, today: date) -> Reading:
    """A sentence, read for these pictures on a given day; as it is, if words are not matched in this gallery."""
    if not gallery.matches_words or not text:
        return read_plainly(text)
    return gallery.memory.remember(("reading", text, today.toordinal()), lambda: _read(text, gallery, today))


def _read(text: str, gallery: Gallery, today: date) -> Reading:
    vocabulary = Vocabulary(gallery)
    whole = " ".join(text.split())
    filters = _find_filters(whole, gallery, today) if ":" in whole else []
    # First of all: a misspelt name or month is a fact, and a misspelt "looking for" is none of the description.
    plain, spelt = correct_spelling(
        write_out(drop_file_endings(remove_phrases(whole, filters))), vocabulary.is_known, vocabulary.find_share_meant
    )
    # A word in quotation marks is one that was meant as it was typed; they are no part of the description.
    plain = QUOTED_WORD.sub(lambda found: found[0] if vocabulary.is_known(found[1].lower()) else found[1], plain)
    plain = write_denials(write_as_described(plain))
    found = find_fact_phrases(plain, today, list_names(gallery))
    # Where no picture is black and white, something in it may be.
    facts = tuple(fact for fact in found if fact.kind != "looks" or is_seen(fact, gallery))
    facts = tuple(fact for fact in facts if not is_told_otherwise(fact, gallery))
    content = take_content(mend_self_corrections(remove_phrases(plain, list(facts))))
    if (facts or filters) and says_nothing(
        " ".join(word for word in WORD.findall(content) if word.lower() not in WITHOUT_CONTENT | _ANY)
    ):
        content = ""  # "photos from July 2007" are any photos
    said = {word for part in (content, *(fact.words for fact in facts)) for word in part.lower().split()}
    corrections = tuple(one for one in spelt if any(one.read.lower() in word for word in said))
    return Reading(text, content, corrections, (*facts, *filters))


def _find_filters(text: str, gallery: Gallery, today: date) -> list[FactPhrase]:
    from viewfinder.session.filters import find_filters  # few sentences have any

    return find_filters(text, gallery, lambda: list_names(gallery), today)


def read_filters(text: str, gallery: Gallery, today: date) -> Reading:
    """A sentence as it is, but for its filters: so it is read for retrievers that understand sentences themselves."""
    if ":" not in text or not (filters := _find_filters(" ".join(text.split()), gallery, today)):
        return read_plainly(text)
    return Reading(text, remove_phrases(" ".join(text.split()), filters), (), tuple(filters))


@dataclass(frozen=True)
class Vocabulary:
    """The words that are known: English, those that people say of pictures, and those written about these pictures."""

    gallery: Gallery

    @property
    def _names(self) -> tuple[Names, ...]:
        names = list_names(self.gallery)
        return names["person"], names["place"], names["camera"]

    def is_known(self, word: str) -> bool:
        """Whether there is such a word, in lower case."""
        if word in WITHOUT_CONTENT or is_talk(word) or self.find_share(word) is not None:
            return True  # most words: the list of English is read only for the others, which takes 80 ms
        return is_english_word(word)

    def find_share(self, word: str) -> float | None:
        """log10 of the share of descriptions, or of these pictures' texts, that have a word; None if none has."""
        shares = [self._find_share_written(word), TALK_SHARE if is_talk(word) else None]
        if (calibration := self.gallery.encoder.calibration) is not None:
            shares.append(calibration.familiar.get(stem(word)))
        return max((share for share in shares if share is not None), default=None)

    def find_share_meant(self, word: str) -> float | None:
        """The same of a word that may stand for a misspelt one: "imag", the stem of many, is no such word."""
        share = self.find_share(word)
        is_word = is_talk(word) or self._find_share_written(word) is not None
        is_word = is_word or (share is not None and is_english_word(word))
        return share if is_word else None

    def _find_share_written(self, word: str) -> float | None:
        """The share of these pictures' texts, or of names, that have a word."""
        written, shares = self.gallery.written, []
        words = None if written is None else written.words
        if words is not None and (count := len(words.rows(stem(word)))):
            shares.append(math.log10(count / len(self.gallery)))
        if len(word) >= MIN_NAME_LETTERS_SPELT and (word in TIME_WORDS or any(word in it for it in self._names)):
            shares.append(NAME_SHARE)
        return max(shares, default=None)


def list_names(gallery: Gallery) -> dict[Kind, Names]:
    """What people may call the persons, places, cameras and folders of these pictures, and what can be seen of them."""

    def list_all() -> dict[Kind, Names]:
        return {**{kind: _list_names_of(kind, gallery) for kind in NAMED}, **list_looks(gallery)}

    return gallery.memory.remember(("names",), list_all)


def _list_names_of(kind: Kind, gallery: Gallery) -> Names:
    there = {name.casefold(): name for name in gallery.snapshot.columns()}
    columns = [gallery.snapshot.column(there[name]) for name in COLUMNS[kind] if name in there]
    meant: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for value in (value for column in columns for value in column.values):
        for name in _list_calls(kind, value):
            meant[name][value] = None
    return {name: tuple(values) for name, values in meant.items()}


def _list_calls(kind: Kind, value: str) -> Iterable[str]:
    """The whole name, and the parts of it that people use: a first name, a maker, a word of a folder's name."""
    whole = " ".join(value.lower().split())
    words = whole.replace("_", " ").split()
    yield whole
    if kind == "place":
        return
    if kind == "camera":
        words = [word for word in words if word not in _OF_MAKERS]
        spans = ((at, end) for at in range(len(words)) for end in range(at + 1, len(words) + 1))
        yield from (" ".join(words[at:end]) for at, end in spans)
        # "Canon 5D" for the Canon EOS 5D.
        spans = ((at, end) for at in range(2, len(words)) for end in range(at + 1, len(words) + 1))
        yield from (f"{words[0]} {' '.join(words[at:end])}" for at, end in spans)
    elif kind == "person":
        yield from words
    else:
        yield " ".join(words)
        yield from (word for word in words if len(word) >= MIN_NAME_LETTERS and not word.replace("-", "").isdigit())
