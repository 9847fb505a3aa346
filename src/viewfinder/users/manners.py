"""How a person talks: what they get wrong, leave vague, forget, and how much patience they have."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from viewfinder.conversation import Question, is_dont_know
from viewfinder.errors import BadInput
from viewfinder.users.text import DONT_KNOW, open_choices
from viewfinder.worlds.kinds import COLOURS
from viewfinder.worlds.words import NOUNS, PLACE_NOUNS

Policy = Literal["mixed", "answers", "compares", "describes"]
POLICIES: tuple[Policy, ...] = ("mixed", "answers", "compares", "describes")


@dataclass(frozen=True, kw_only=True)
class SpeakingStyle:
    """Chances are from 0 to 1.

    Attributes:
        noise: chance that an answer is wrong, and that a word of a description names another value.
        verbosity: how many statements are made at once.
        vagueness: chance that an adjective is dropped or softened ("kind of red").
        forgetfulness: chance that what is known is answered by "don't know", and that something is said again.
        skips: chance that a question is passed over.
        patience: after how many rounds without progress the person gives up; None: never.
        looks_at: how many pictures of a screen are looked at.
        policy: "answers" what is asked and else describes; "compares" with what is shown, whatever is asked;
            "describes" whatever is asked; "mixed" answers, and else compares or describes, as a coin falls.
        seed: another seed is another person.
    """

    noise: float = 0.0
    verbosity: int = 1
    vagueness: float = 0.0
    forgetfulness: float = 0.0
    skips: float = 0.0
    patience: int | None = None
    looks_at: int = 10
    policy: Policy = "mixed"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("noise", "vagueness", "forgetfulness", "skips"):
            if not 0 <= getattr(self, name) <= 1:
                raise BadInput(f"{name} {getattr(self, name)}: a chance is from 0 to 1")
        if self.verbosity < 1 or self.looks_at < 1 or (self.patience is not None and self.patience < 1):
            raise BadInput("verbosity, looks_at and patience are at least 1 (patience None: never gives up)")
        if self.policy not in POLICIES:
            raise BadInput(f"no policy is called {self.policy!r}; there are: {', '.join(POLICIES)}")


EXCLUSIVE_WORDS: tuple[tuple[str, ...], ...] = (
    (*COLOURS, "grey", "beige", "navy", "tan"),
    ("small", "medium-sized", "large"),
    ("little", "big"),
    ("plain", "striped", "dotted", "checked"),
    ("stripes", "dots", "checks"),
    ("long", "short"),
    ("light", "dark"),
)
"""Adjectives and the like that exclude one another."""

_RIVALS: tuple[tuple[str, ...], ...] = (
    *EXCLUSIVE_WORDS,
    ("two", "three", "four", "five", "six", "seven", "eight"),
    ("left", "right"),
    ("upper", "lower"),
    ("top", "bottom"),
    ("smaller", "larger"),
    ("day", "sunset", "night"),
    ("indoors", "outdoors"),
    ("men", "women"),
)
_ANSWERS: tuple[tuple[str, ...], ...] = (
    *_RIVALS,
    ("one", "two", "three"),
    tuple(words[0] for words in PLACE_NOUNS.values()),
    tuple(pairs[0][0] for pairs in NOUNS.values()),
)
_NO = re.compile(r"^(?:no|none|nothing|neither|nobody|never|not|there (?:is|are) no)\b")


def misspeak(text: str, rng: random.Random, chance: float) -> str:
    """A text in which each word that has rivals is replaced by one of them with this chance.

    >>> misspoken("a red car on the left", random.Random(0), 0.0)
    'a red car on the left'
    """
    return _replaced(text, _RIVALS, lambda family, word: rng.choice(family) if rng.random() < chance else word)


def make_wrong_answer(answer: str, question: Question, rng: random.Random) -> str:
    """Another answer than the true one: another choice, no for yes, another colour; "don't know" if none is known."""
    others = [choice for choice in open_choices(question.choices) if choice != answer]
    if others:
        return rng.choice(others)
    if answer.lower().startswith("yes"):
        return "no"
    if _NO.match(answer.lower()):
        return "yes"
    if answer.strip().isdigit():
        return str(int(answer) + rng.choice((1, 2)))
    changed = _replaced(answer, _ANSWERS, lambda family, word: rng.choice(family))
    return DONT_KNOW if changed == answer else changed


def _replaced(text: str, families: Sequence[Sequence[str]], choose: Callable[[Sequence[str], str], str]) -> str:
    """Each word of a family through `choose` (rivals, word), the longest words first, once each; articles follow."""
    rivals = {word: [other for other in family if other != word] for family in families for word in family}
    words = "|".join(re.escape(word) for word in sorted(rivals, key=len, reverse=True))
    said = re.sub(rf"(?<![\w-])(?:{words})(?![\w-])", lambda found: choose(rivals[found[0]], found[0]), text)
    return text if said == text else mend_articles(said)


def make_vague(text: str, rng: random.Random, chance: float) -> str:
    """A text in which each adjective is dropped or softened with this chance.

    >>> vague("a small red car", random.Random(1), 1.0)
    'a kind of red car'
    """
    adjectives = "|".join(word for family in EXCLUSIVE_WORDS for word in family if not word.endswith("s"))

    def softened(found: re.Match[str]) -> str:
        if rng.random() >= chance:
            return found[0]
        return f"kind of {found[0]}" if rng.random() < 0.5 else ""

    said = re.sub(rf"(?<![\w-])(?:{adjectives})(?: (?=[a-z])|(?![\w-]))", softened, text)
    left = " ".join(said.split()).replace(" ,", ",")
    # A statement that was nothing but an adjective keeps it.
    is_whole = bool(left) and not re.search(r"\b(?:is|are|a|an|and|of|the)$", left)
    return mend_articles(left) if is_whole else text


def mend_articles(text: str) -> str:
    """`a` and `an` as the next word wants them.

    >>> articles_mended("a orange car and an red one")
    'an orange car and a red one'
    """
    said = re.sub(r"\b([aA])n?(?= [aeiou])", r"\1n", text)
    return re.sub(r"\b([aA])n(?= [^aeiou\W])", r"\1", said)


def forget_answer(answer: str, rng: random.Random, chance: float) -> str:
    """The answer, or "don't know" with this chance."""
    return DONT_KNOW if not is_dont_know(answer) and rng.random() < chance else answer
