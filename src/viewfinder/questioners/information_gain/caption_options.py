"""Questions for the things that the candidates' captions mention.

A thing in a caption is all but sure to be in the picture. That it is missing says little: people leave out most of what
they see, and how much is estimated from the captions themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from viewfinder.questioners.base import Candidates
from viewfinder.questioners.information_gain.gains import Option, guessed_option
from viewfinder.wording.stems import stem

CAPTIONS_READ = 200
"""Of the likeliest candidates."""

MAX_WORDS = 24
"""Of their captions that are asked for."""

SURE = 0.98
"""How likely a thing that a caption mentions is in the picture."""

MAX_MENTIONED = 0.6
"""However often captions mention a thing where one does, others leave it out at least this often's complement."""

MIN_PICTURES = 3
"""A thing of fewer pictures is not asked for."""

NOUN = 0.15
"""Of a noun's uses, how many at least follow an article or a number, and how many end what was said of it."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|[,.;:]")
_ARTICLE_WORDS = "a an the one two three four five six some several many his her their"
_ARTICLES = frozenset(_ARTICLE_WORDS.split())

_WORDS_THAT_GO_ON = """
in on at of with and or by near next behind beside under over above below between through across along against from to
into onto inside outside around while as is are was were has have that which who , . ; :
"""
_GOES_ON = frozenset(_WORDS_THAT_GO_ON.split())

_WORDS_FOR_NO_THING = """
picture photo photograph image scene one other front side top back middle group lot couple pair day time air background
distance edge end piece something someone
"""
_LEFT_OUT = _ARTICLES | _GOES_ON | frozenset(_WORDS_FOR_NO_THING.split())

PLURALS = frozenset({"people", "men", "women", "children", "feet", "teeth"})
"""Words for several that do not end like it."""


@dataclass
class _Noun:
    """How a word is used in captions, and by candidate how many of them mention it."""

    uses: int = 0
    first: int = 0
    last: int = 0
    written: Counter[str] = field(default_factory=Counter)
    mentions: Counter[int] = field(default_factory=Counter)

    def is_noun(self) -> bool:
        return min(self.first, self.last) >= NOUN * self.uses


def caption_options(view: Candidates) -> Iterator[Option]:
    """ "Is there a ...?" for the things in the candidates' captions; none without captions."""
    if view.lookup is None:
        return
    captions = view.lookup.captions()
    likeliest = np.argsort(-view.probabilities_c, kind="stable")[:CAPTIONS_READ].tolist()
    read = {c: captions[c] for c in likeliest if captions[c]}
    counts = {c: len(texts) for c, texts in read.items()}
    nouns = [noun for noun in _count_words(read) if len(noun.mentions) >= MIN_PICTURES and noun.is_noun()]
    nouns.sort(key=lambda noun: -len(noun.mentions))
    for noun in nouns[:MAX_WORDS]:
        yes_c = presence_chances(noun.mentions, counts, view.probabilities_c)
        answer_ca = np.column_stack([yes_c, 1 - yes_c])
        text, options = write_thing_question(noun.written), ("yes", "no")
        yield guessed_option("caption", text, options, view.probabilities_c, answer_ca, choices=options)


def _count_words(read: Mapping[int, Sequence[str]]) -> list[_Noun]:
    """The words of captions by candidate, each with its uses."""
    found: dict[str, _Noun] = {}
    for c, captions in read.items():
        for caption in captions:
            for folded, written, first, last in _word_uses(caption):
                word = found.setdefault(folded, _Noun())
                word.uses += 1
                word.first += first
                word.last += last
                word.written[written] += 1
                word.mentions[c] += 1
    return [*found.values()]


@lru_cache(maxsize=65_536)
def _word_uses(caption: str) -> tuple[tuple[str, str, bool, bool], ...]:
    """The words of a caption, each once: stem, as written, after an article, before a word that goes on."""
    words = [*_WORD.findall(caption.casefold()), "."]
    uses = {
        stem(word): (stem(word), word, at > 0 and words[at - 1] in _ARTICLES, words[at + 1] in _GOES_ON)
        for at, word in enumerate(words[:-1])
        if len(word) > 1 and word not in _LEFT_OUT
    }
    return tuple(uses.values())


def presence_chances(
    mentions: Mapping[int, int], captions: Mapping[int, int], probabilities_c: Float[np.ndarray, " c"]
) -> Float[np.ndarray, " c"]:
    """How likely each candidate shows a thing that `mentions` of its captions mention.

    Where it is in the picture a caption mentions it with a chance m, estimated over the pictures where one does. Not
    mentioned in k captions, it is there with chance s (1 - m)^k / (s (1 - m)^k + 1 - s), s being its share of all.
    Where nothing was written, s is all that is known.
    """
    written = sum(captions[c] for c in mentions)
    mentioned = min((sum(mentions.values()) + 1) / (written + 2), MAX_MENTIONED)
    read = np.array([*captions], np.intp)
    there = np.array([*mentions], np.intp)
    share = min(float(probabilities_c[there].sum() / max(probabilities_c[read].sum(), 1e-12)), SURE)
    yes_c = np.full(len(probabilities_c), share)
    missed_k = share * (1 - mentioned) ** np.array([captions[int(c)] for c in read], np.float64)
    yes_c[read] = missed_k / (missed_k + 1 - share)
    yes_c[there] = SURE
    return yes_c


def write_thing_question(written: Counter[str]) -> str:
    """The question for a thing by the ways its name is written, the commonest of them.

    >>> write_thing_question(Counter(dogs=3, dog=2)), write_thing_question(Counter(umbrella=2))
    ('Are there any dogs in the picture?', 'Is there an umbrella in the picture?')
    """
    name = max(written, key=lambda word: (written[word], word))
    if name in PLURALS or (name.endswith("s") and not name.endswith(("ss", "us")) and stem(name) != name):
        return f"Are there any {name} in the picture?"
    return f"Is there {'an' if name[0] in 'aeiou' else 'a'} {name} in the picture?"
