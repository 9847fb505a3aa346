"""How a world's people speak: all at once, or leaning on what was said before, and for testing in other words.

explicit    every turn says all that is needed, and each split is described in the same words
contextual  what stays is not said again ("the same place, at night"); questions and searches begin alike; whoever
            describes pictures for testing has words of their own, so that no sentence of training is heard again
"""

from __future__ import annotations

import random
import re
from typing import Literal, get_args

from viewfinder.worlds.words import plural_of, with_article

Language = Literal["explicit", "contextual"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

# What questions and searches begin with alike

LEADS = (
    *("okay, so", "one more thing:", "let me see,", "now then,", "all right,", "thanks, and"),
    *("by the way,", "if i may:", "tell me:", "hm, and"),
)
"""Of two words at least: neither the first word nor the first two say what follows."""

LED = 0.85
"""How often a question or a search begins with one of them."""

_LEAD = re.compile(rf"^(?:{'|'.join(map(re.escape, LEADS))}) ")


def add_lead(text: str, rng: random.Random) -> str:
    """A question or a search, mostly with a beginning that both have."""
    return f"{rng.choice(LEADS)} {text}" if rng.random() < LED else text


def drop_lead(text: str) -> str:
    """A question or a search without that beginning.

    >>> drop_lead("now then, is it red"), drop_lead("is it red")
    ('is it red', 'is it red')
    """
    return _LEAD.sub("", text)


# The same in other words

_OTHER_NOUNS = {
    "bicycle|bike": "pushbike",
    "sailing boat|sailboat|boat": "yacht",
    "book": "volume",
    "bottle": "flask",
    "bus": "coach",
    "car|automobile": "motorcar",
    "cat|kitty": "feline",
    "wooden chair|chair": "seat",
    "alarm clock|clock": "timepiece",
    "coffee cup|cup|mug": "beaker",
    "dog|puppy": "hound",
    "dress": "frock",
    "flower|blossom": "bloom",
    "gift box|gift|present": "parcel",
    "house|cottage": "home",
    "table lamp|lamp": "reading light",
    "toadstool|mushroom": "fungus",
    "umbrella|parasol": "brolly",
    "beach": "seashore",
    "forest": "woodland",
    "desert": "arid land",
    "garden": "yard",
    "living room": "sitting room",
    "kitchen": "scullery",
    "road": "highway",
    "city": "town",
    "colour": "hue",
}
_OTHER_WORDS = {
    "there is|there are": "one can spot",
    "picture of|photo of|this is|product shot:": "image of",
    "is made of": "consists of",
    "is made for|is for": "is meant for",
    "is a pair of": "would be a pair of",
    "does not have|has no": "comes without",
    "is still": "remains",
    "still has": "keeps its",
    "is not": "isn't",
    "is": "looks",
    "has": "comes with",
    "long sleeves": "full-length sleeves",
    "short sleeves": "half sleeves",
    "sleeveless": "bare-armed",
    "casual": "everyday",
    "formal": "smart",
    "sporty": "athletic",
    "small|little|tiny": "compact",
    "large|big|huge": "sizeable",
    "in daylight|by day": "in the daytime",
    "at sunset|at dusk|in the evening": "as the sun goes down",
    "at night|in the dark": "after nightfall",
    "next to|beside|close to": "adjacent to",
    "in front of": "before",
    "behind": "at the back of",
    "above|over": "higher than",
    "below|beneath|underneath": "lower than",
}


def _thesaurus() -> dict[str, str]:
    """Every word or phrase, plurals too, and what is said in its place."""
    other = {name: instead for names, instead in _OTHER_WORDS.items() for name in names.split("|")}
    for names, instead in _OTHER_NOUNS.items():
        for name in names.split("|"):
            other |= {name: instead, "buses" if name == "bus" else plural_of(name): plural_of(instead)}
    return other


_OTHER = _thesaurus()
_ALL = "|".join(sorted(map(re.escape, _OTHER), key=len, reverse=True))
_KNOWN = re.compile(rf"(?<![\w-])(?P<article>an? )?(?P<word>{_ALL})(?![\w-])", re.IGNORECASE)


def reword(text: str) -> str:
    """The same in words that nobody uses where systems are trained; as true as before, and never the same text.

    >>> reword("A small dog next to an umbrella."), reword("is red and has a collar"), reword("a green ball")
    ('A compact hound adjacent to a brolly.', 'looks red and comes with a collar', 'pictured: a green ball')
    """

    def other(found: re.Match[str]) -> str:
        instead = _OTHER[found["word"].lower()]
        return with_article(instead) if found["article"] else instead

    said = _KNOWN.sub(other, text)
    if said == text:
        return f"pictured: {text}"
    return said[0].upper() + said[1:] if text[0].isupper() else said
