"""A person who wants a picture: describes it, answers questions, says how what is shown differs from it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from viewfinder.conversation import Answer, Like, Question, Say, Turn, is_dont_know
from viewfinder.users.base import Answerer, Comparer, Describer, Screen
from viewfinder.users.manners import SpeakingStyle, forget_answer, make_vague, make_wrong_answer, misspeak
from viewfinder.worlds.words import join_with_and

Likeness = Callable[[str, str], float]
"""How alike two pictures look to the person; the larger the more."""


@dataclass
class _Talk:
    """What a person remembers of one session."""

    describer: Describer
    said: list[str] = field(default_factory=list)
    compared: set[Like] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    best: float = float("-inf")
    idle: int = 0


class Person:
    """A `SimulatedUser` made of what they can do and how they do it.

    Everything follows from the seed of the manners, the wanted picture and what was shown, so the same session
    is the same talk again. Sessions about different pictures may be led side by side; one that begins anew
    (round 0) forgets the one before.
    """

    def __init__(
        self,
        describer: Callable[[], Describer],
        *,
        answerer: Answerer | None = None,
        comparer: Comparer | None = None,
        likeness: Likeness | None = None,
        manners: SpeakingStyle | None = None,
        name: str = "person",
    ) -> None:
        """Put a person together.

        Args:
            describer: makes a describer that has said nothing yet, one for each session.
            answerer: without one, all answers are "don't know".
            comparer: without one, nothing is compared.
            likeness: tells which of the pictures shown is most like the wanted one, and whether there is
                progress; without it that is the first, and new pictures are progress.
            manners: the default manners are those of a perfect user.
            name: which kind of user this is.
        """
        self._describer = describer
        self._answerer = answerer
        self._comparer = comparer
        self._likeness = likeness
        self.manners = manners or SpeakingStyle()
        self._name = name
        self._talks: dict[str, _Talk] = {}

    @property
    def name(self) -> str:
        """Which kind of user this is."""
        return self._name

    def reply(self, wanted: str, screen: Screen) -> Turn | None:
        """The next turn; None when the wanted picture is among those looked at, or patience is at its end.

        Raises:
            UnknownName: a part of this person knows nothing of the wanted picture.
        """
        if screen.round == 0 or wanted not in self._talks:
            self._talks[wanted] = _Talk(self._describer())
        talk, looked_at = self._talks[wanted], screen.shown[: self.manners.looks_at]
        if wanted not in looked_at:
            self._note_progress(talk, wanted, looked_at)
        if wanted in looked_at or talk.idle >= (self.manners.patience or float("inf")):
            del self._talks[wanted]
            return None
        rng = random.Random(f"viewfinder/person/{self.manners.seed}/{wanted}/{screen.round}")
        return self._turn(talk, wanted, screen.question, looked_at, rng)

    def _note_progress(self, talk: _Talk, wanted: str, looked_at: tuple[str, ...]) -> None:
        """Progress is a picture that is more like the wanted one than all before."""
        if not looked_at:
            return
        if self._likeness is None:
            better = not talk.seen.issuperset(looked_at)
        else:
            likest = max(self._likeness(shown, wanted) for shown in looked_at)
            better, talk.best = likest > talk.best, max(likest, talk.best)
        talk.seen |= set(looked_at)
        talk.idle = 0 if better else talk.idle + 1

    def _turn(
        self, talk: _Talk, wanted: str, question: Question | None, looked_at: tuple[str, ...], rng: random.Random
    ) -> Turn:
        policy = self.manners.policy
        skipped = rng.random() < self.manners.skips
        if question is not None and policy in {"mixed", "answers"} and not skipped:
            return Answer(question, self._answer(question, wanted, rng))
        coin = rng.random() < 0.5
        may_compare = self._comparer is not None and bool(looked_at)
        if may_compare and (policy == "compares" or (policy == "mixed" and bool(talk.said) and coin)):
            liked = self._comparison(wanted, looked_at, rng)
            if policy == "compares" or liked not in talk.compared:
                talk.compared.add(liked)
                return liked
        return Say(self._description(talk, wanted, rng))

    def _answer(self, question: Question, wanted: str, rng: random.Random) -> str:
        true = "don't know" if self._answerer is None else self._answerer.answer(question, wanted)
        remembered = forget_answer(true, rng, self.manners.forgetfulness)
        if is_dont_know(remembered) or rng.random() >= self.manners.noise:
            return remembered
        return make_wrong_answer(remembered, question, rng)

    def _comparison(self, wanted: str, looked_at: tuple[str, ...], rng: random.Random) -> Like:
        assert self._comparer is not None
        likeness = self._likeness
        liked = looked_at[0] if likeness is None else max(looked_at, key=lambda shown: likeness(shown, wanted))
        return Like(liked, self._spoken(self._comparer.compare(liked, wanted), rng))

    def _description(self, talk: _Talk, wanted: str, rng: random.Random) -> str:
        if talk.said and rng.random() < self.manners.forgetfulness:
            return rng.choice(talk.said)
        statements = dict.fromkeys(talk.describer.describe(wanted) for _ in range(self.manners.verbosity))
        sentences = [sentence.strip().rstrip(" .") for sentence in statements]
        said = self._spoken(join_with_and([sentence for sentence in sentences if sentence] or [""]), rng)
        talk.said.append(said)
        return said

    def _spoken(self, text: str, rng: random.Random) -> str:
        """What was meant, as this person says it."""
        return make_vague(misspeak(text, rng, self.manners.noise), rng, self.manners.vagueness)
