"""Questions and answers as plain words: spelling evened out, politeness left out."""

from __future__ import annotations

import re
from collections.abc import Sequence

from viewfinder.conversation import is_dont_know
from viewfinder.worlds.words import NUMBERS

DONT_KNOW = "don't know"
NONE_OF_THESE = "none of these"

_CONTRACTIONS = {
    r"\b(what|where|who|which|how|there|it|that|he|she)'s\b": r"\1 is",
    r"\b(what|where|who|there|they|we|you)'re\b": r"\1 are",
    r"\b(is|are|does|do|can|has|have|was)n't\b": r"\1",
    r"\bcolor": "colour",
    r"(?<!single)-coloured\b|(?<!-)\bcoloured\b": "",
    r"\bgray": "grey",
}
_FILLERS = r"""
(?:in|on|of|into|across)\ (?:the|this|that|your)\ (?:whole\ )?(?:picture|photo|photograph|image|scene|frame)\b
|(?<=\ )(?:visible|anywhere|at\ all|to\ be\ seen|exactly|precisely|overall|roughly|please|then)$
|^(?:please|ok|okay|well|so|and|now|great|thanks|also|hm+)\b
|\bby\ any\ chance\b
|^(?:can|could|would|do)\ you\ (?:please\ )?(?:tell|say|know|remember|recall)(?:\ me)?\b(?:\ if|\ whether)?
|^(?:tell|say)\ me\b
|(?<=^is\ there)\ (?:maybe|perhaps|also)|(?<=^are\ there)\ (?:maybe|perhaps|also)
"""
_FILLER = re.compile(_FILLERS, re.VERBOSE)

NUMBER_WORDS = {word: number for number, word in NUMBERS.items()} | {"no": 0, "zero": 0, "nine": 9, "ten": 10}


def normalize_question(text: str) -> str:
    """A question in lower case without punctuation, contractions, politeness and "in the picture".

    >>> plain("What's the color of the dog in the picture, please?"), plain("Can you tell me if it's dark?")
    ('what is the colour of the dog', 'is it dark')
    """
    said = re.sub(r",\s*(?:right|correct|yes|no)\s*\?*$", "", text.lower().replace("’", "'").strip())
    for pattern, instead in _CONTRACTIONS.items():
        said = re.sub(pattern, instead, said)
    said = " ".join(re.sub(r"[^\w\s'-]|(?<!\w)[-']|[-'](?!\w)", " ", said).split())
    while (shorter := " ".join(_FILLER.sub(" ", said).split())) != said:
        said = shorter
    return re.sub(r"^(it|this|that|there|they) (is|are|was|were)\b", r"\2 \1", said)


def singular_words(text: str) -> tuple[str, ...]:
    """The words of a text without their plural s, lower case; hyphens part words.

    >>> words_in("Long-sleeved T-Shirts")
    ('long', 'sleeved', 't', 'shirt')
    """
    return tuple(_singular(word) for word in re.findall(r"[^\W_]+", text.lower()))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "ches", "shes", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word


def contains_phrase(text: str, phrase: str) -> bool:
    """Whether the words of `phrase` stand in `text`, side by side and in order, plural or not.

    >>> names("a bright room with dogs", "dog"), names("bright daylight", "light")
    (True, False)
    """
    inside, wanted = singular_words(text), singular_words(phrase)
    return bool(wanted) and any(inside[at : at + len(wanted)] == wanted for at in range(len(inside)))


def number_word(number: int) -> str:
    """A number as one says it: "none", "two", "12"."""
    return "none" if number == 0 else NUMBERS.get(number, str(number))


def yes_or_no(truth: bool | None) -> str | None:
    """Yes, no, or nothing."""
    return None if truth is None else "yes" if truth else "no"


def open_choices(choices: Sequence[str]) -> tuple[str, ...]:
    """Choices that say something, "don't know" left out."""
    return tuple(choice for choice in choices if not is_dont_know(choice))
