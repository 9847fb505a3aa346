"""A person who wants a picture: describes it, answers questions, says how what is shown differs from it.

A `SpeakingStyle` says how: what they get wrong, leave vague, forget, and how much patience they have.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Literal, get_args

from viewfinder.conversation import Answer, Like, Question, Reject, Say, Turn
from viewfinder.errors import BadInput, check_type
from viewfinder.users.base import Answerer, Comparer, Describer, Screen
from viewfinder.wording.nouns import join_with_and, mend_articles
from viewfinder.wording.replies import DONT_KNOW, drop_dont_know, is_denial, is_dont_know
from viewfinder.worlds.kinds import COLOURS
from viewfinder.worlds.words import NOUNS, PLACE_NOUNS

Policy = Literal["mixed", "answers", "compares", "describes"]
POLICIES: tuple[Policy, ...] = ("mixed", "answers", "compares", "describes")

Speaks = Literal["sentences", "fragments", "mixed"]
SPEAKS: tuple[Speaks, ...] = get_args(Speaks)


@dataclass(frozen=True, kw_only=True)
class SpeakingStyle:
    """The way in which a person speaks; probabilities are from 0 to 1.

    Attributes:
        noise: probability that an answer is wrong, and that a word of a description names another value.
        verbosity: how many statements are made at once.
        vagueness: probability that an adjective is dropped or softened ("kind of red").
        forgetfulness: probability that a known answer becomes "don't know", and that something is said again.
        skips: probability that a question is skipped.
        patience: after how many rounds without progress the person gives up; None: never.
        looks_at: how many pictures of a screen are looked at.
        goes_on: whether the person talks on when the wanted picture is among them (Fashion IQ's code, which also shows
            one picture: looks_at=1); else it is found, and the dialogue ends.
        policy: "answers" what is asked and else describes; "compares" with what is shown, whatever is asked;
            "describes" whatever is asked; "mixed" answers, and else compares or describes, by coin toss.
        speaks: in whole "sentences", in "fragments" of two to four words, or "mixed".
        corrections: probability that the first picture shown is corrected, if it contradicts what is known.
        seed: another seed is another person.
    """

    noise: float = 0.0
    verbosity: int = 1
    vagueness: float = 0.0
    forgetfulness: float = 0.0
    skips: float = 0.0
    patience: int | None = None
    looks_at: int = 10
    goes_on: bool = False
    policy: Policy = "mixed"
    speaks: Speaks = "sentences"
    corrections: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("verbosity", "looks_at", "seed"):
            check_type(name, getattr(self, name), Integral)
        check_type("patience", self.patience, Integral, type(None))
        check_type("goes_on", self.goes_on, bool)
        for name in ("noise", "vagueness", "forgetfulness", "skips", "corrections"):
            check_type(name, getattr(self, name), Real)
            if not 0 <= getattr(self, name) <= 1:
                raise BadInput(f"{name} {getattr(self, name)}: a chance is from 0 to 1")
        if self.verbosity < 1 or self.looks_at < 1 or (self.patience is not None and self.patience < 1):
            raise BadInput("verbosity, looks_at and patience are at least 1 (patience None: never gives up)")
        if self.policy not in POLICIES:
            raise BadInput(f"no policy is called {self.policy!r}; there are: {', '.join(POLICIES)}")
        if self.speaks not in SPEAKS:
            raise BadInput(f"nobody speaks in {self.speaks!r}; there are: {', '.join(SPEAKS)}")


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
    *(("left", "right"), ("upper", "lower"), ("top", "bottom"), ("smaller", "larger"), ("indoors", "outdoors")),
    *(("day", "sunset", "night"), ("men", "women")),
)
_ANSWERS: tuple[tuple[str, ...], ...] = (
    *_RIVALS,
    ("one", "two", "three"),
    tuple(words[0] for words in PLACE_NOUNS.values()),
    tuple(pairs[0][0] for pairs in NOUNS.values()),
)
_OPEN = re.compile(
    r"\b(?:what|anything) else\b|\b(?:tell me|say|remember) (?:more|anything)\b|^describe\b", re.IGNORECASE
)


def misspeak(text: str, rng: random.Random, chance: float) -> str:
    """A text in which each word that has rivals is replaced by one of them with this probability.

    >>> misspeak("a red car on the left", random.Random(0), 0.0)
    'a red car on the left'
    """
    return _replace_rivals(text, _RIVALS, lambda family, word: rng.choice(family) if rng.random() < chance else word)


def make_wrong_answer(answer: str, question: Question, rng: random.Random) -> str:
    """An answer other than the true one: another choice, no for yes, another colour; "don't know" if none is known."""
    others = [choice for choice in drop_dont_know(question.choices) if choice != answer]
    if others:
        return rng.choice(others)
    if answer.lower().startswith("yes"):
        return "no"
    if is_denial(answer.lower()):
        return "yes"
    if answer.strip().isdigit():
        return str(int(answer) + rng.choice((1, 2)))
    changed = _replace_rivals(answer, _ANSWERS, lambda family, word: rng.choice(family))
    return DONT_KNOW if changed == answer else changed


def _replace_rivals(text: str, families: Sequence[Sequence[str]], choose: Callable[[Sequence[str], str], str]) -> str:
    """Passes each word of a family through `choose` (rivals, word), longest words first, once each; fixes articles."""
    rivals = {word: [other for other in family if other != word] for family in families for word in family}
    words = "|".join(re.escape(word) for word in sorted(rivals, key=len, reverse=True))
    said = re.sub(rf"(?<![\w-])(?:{words})(?![\w-])", lambda found: choose(rivals[found[0]], found[0]), text)
    return text if said == text else mend_articles(said)


def make_vague(text: str, rng: random.Random, chance: float) -> str:
    """A text in which each adjective is dropped or softened with this probability.

    >>> make_vague("a small red car", random.Random(1), 1.0)
    'a kind of red car'
    """
    adjectives = "|".join(word for family in EXCLUSIVE_WORDS for word in family if not word.endswith("s"))

    def softened(found: re.Match[str]) -> str:
        if rng.random() >= chance:
            return found[0]
        return f"kind of {found[0]}" if rng.random() < 0.5 else ""

    said = re.sub(rf"(?<![\w-])(?:{adjectives})(?: (?=[a-z])|(?![\w-]))", softened, text)
    left = " ".join(said.split()).replace(" ,", ",")
    # A statement that is only an adjective keeps it.
    is_whole = bool(left) and not re.search(r"\b(?:is|are|a|an|and|of|the)$", left)
    return mend_articles(left) if is_whole else text


Likeness = Callable[[str, str], float]
"""The likeness of two pictures to the person; larger is more similar."""

Corrector = Callable[[str, str], Say | Reject | None]
"""The correction of a picture shown (first) that contradicts what is known of the wanted one; None if it does not."""


@dataclass
class _Session:
    """A person's memory of one session."""

    describer: Describer
    said: list[str] = field(default_factory=list)
    compared: set[Turn] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    best: float = float("-inf")
    idle: int = 0


@dataclass(eq=False)
class Person:
    """A `SimulatedUser` made of what they can do and how they do it.

    Everything follows from the style's seed, the wanted picture and what was shown, so the same session gives the
    same dialogue again. Sessions about different pictures may run side by side; one that restarts (round 0) forgets
    the one before.

    Attributes:
        describer: makes a describer that has said nothing yet, one for each session.
        answerer, comparer: without one, all answers are "don't know"; nothing is compared.
        likeness: tells which of the pictures shown is most similar to the wanted one, and whether there is
            progress; without it that is the first, and new pictures are progress.
        corrector: what is said about contradictions, as often as the style says.
        style: by default that of a perfect user.
        name: the kind of user.
        trained_on: the list of the pictures that a part was trained on (`TrainingList.encode`); "": unknown, None: none
            was, or not here.
    """

    describer: Callable[[], Describer]
    _: KW_ONLY
    answerer: Answerer | None = None
    comparer: Comparer | None = None
    likeness: Likeness | None = None
    corrector: Corrector | None = None
    style: SpeakingStyle = field(default_factory=SpeakingStyle)
    name: str = "person"
    trained_on: str | None = None
    _sessions: dict[str, _Session] = field(default_factory=dict, init=False, repr=False)

    def reply(self, wanted: str, screen: Screen) -> Turn | None:
        """The next turn; None when the wanted picture is found, patience has run out, or nothing is left to say.

        Raises:
            UnknownName: a part of this person knows nothing of the wanted picture.
        """
        if screen.round == 0 or wanted not in self._sessions:
            self._sessions[wanted] = _Session(self.describer())
        session, looked_at = self._sessions[wanted], screen.shown[: self.style.looks_at]
        if looked_at and wanted not in looked_at:
            self._note_progress(session, wanted, looked_at)
        if (wanted in looked_at and not self.style.goes_on) or session.idle >= (self.style.patience or float("inf")):
            del self._sessions[wanted]
            return None
        rng = random.Random(f"viewfinder/person/{self.style.seed}/{wanted}/{screen.round}")
        return self._choose_turn(session, wanted, screen.question, looked_at, rng)

    def _note_progress(self, session: _Session, wanted: str, looked_at: tuple[str, ...]) -> None:
        """Progress is a picture that is more similar to the wanted one than all before."""
        if self.likeness is None:
            better = not session.seen.issuperset(looked_at)
        else:
            likest = max(self.likeness(shown, wanted) for shown in looked_at)
            better, session.best = likest > session.best, max(likest, session.best)
        session.seen |= set(looked_at)
        session.idle = 0 if better else session.idle + 1

    def _choose_turn(
        self, session: _Session, wanted: str, question: Question | None, looked_at: tuple[str, ...], rng: random.Random
    ) -> Turn | None:
        policy = self.style.policy
        skipped = rng.random() < self.style.skips
        if looked_at and (correction := self._make_correction(session, wanted, looked_at[0], rng)) is not None:
            return correction
        if question is not None and policy in {"mixed", "answers"} and not skipped:
            return Answer(question, self._make_answer(session, question, wanted, rng))
        coin, comparer = rng.random() < 0.5, self.comparer
        wants_to = policy == "compares" or (policy == "mixed" and bool(session.said) and coin)
        if comparer is not None and looked_at and wants_to:
            liked = self._make_comparison(comparer, wanted, looked_at, rng)
            if policy == "compares" or liked not in session.compared:
                session.compared.add(liked)
                return liked
        said = self._make_description(session, wanted, rng)
        return Say(said) if said else None

    def _make_correction(self, session: _Session, wanted: str, shown: str, rng: random.Random) -> Turn | None:
        # A person who never corrects draws no random number: a seed's dialogues depend on it.
        if self.corrector is None or not self.style.corrections or rng.random() >= self.style.corrections:
            return None
        found = self.corrector(shown, wanted)
        if found is None or found in session.compared:
            return None
        session.compared.add(found)
        return found

    def _make_answer(self, session: _Session, question: Question, wanted: str, rng: random.Random) -> str:
        true = DONT_KNOW if self.answerer is None else self.answerer.answer(question, wanted)
        if is_dont_know(true) and not question.choices and _OPEN.search(question.text):
            return self._make_description(session, wanted, rng) or DONT_KNOW
        # The random numbers are drawn in this order: a seed's dialogues depend on it.
        if is_dont_know(true):
            return true
        if rng.random() < self.style.forgetfulness:
            return DONT_KNOW
        return make_wrong_answer(true, question, rng) if rng.random() < self.style.noise else true

    def _make_comparison(self, comparer: Comparer, wanted: str, looked_at: tuple[str, ...], rng: random.Random) -> Like:
        likeness = self.likeness
        liked = looked_at[0] if likeness is None else max(looked_at, key=lambda shown: likeness(shown, wanted))
        return Like(liked, self._verbalize(comparer.compare(liked, wanted), rng))

    def _make_description(self, session: _Session, wanted: str, rng: random.Random) -> str:
        if session.said and rng.random() < self.style.forgetfulness:
            return rng.choice(session.said)
        statements = dict.fromkeys(session.describer.describe(wanted) for _ in range(self.style.verbosity))
        sentences = [sentence.strip().rstrip(" .") for sentence in statements]
        said = self._verbalize(join_with_and([sentence for sentence in sentences if sentence] or [""]), rng)
        session.said.append(said)
        return said

    def _verbalize(self, text: str, rng: random.Random) -> str:
        """A text in the words of this person: with their mistakes and vagueness."""
        return make_vague(misspeak(text, rng, self.style.noise), rng, self.style.vagueness)
