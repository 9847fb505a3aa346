"""What all questions about a scene share: what was asked, what the one who asks knows, which thing is meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from viewfinder.worlds.phrases import Speaker, the
from viewfinder.worlds.scene import Thing


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question, its answer, the facts it was after (no two questions of a talk are after the same one).

    `kinds` are those it brought to light; `focus` is the thing that "it" means from now on.
    """

    facts: tuple[str, ...]
    question: str
    answer: str
    kinds: tuple[str, ...] = ()
    focus: Thing | None = None


@dataclass
class AskerKnowledge:
    """What the one who asks knows: kinds that are there, facts, words used, and what "it" means."""

    kinds: set[str] = field(default_factory=set)
    facts: set[str] = field(default_factory=set)
    questions: set[str] = field(default_factory=set)
    focus: Thing | None = None

    def is_news(self, asked: AnsweredQuestion) -> bool:
        """Whether neither these words nor any of these facts came up before."""
        return asked.question not in self.questions and not self.facts & set(asked.facts)

    def learn(self, asked: AnsweredQuestion) -> None:
        """Take note of a question and its answer."""
        self.kinds |= set(asked.kinds)
        self.facts |= set(asked.facts)
        self.questions.add(asked.question)
        self.focus = asked.focus


QuestionMaker = Callable[[Speaker, AskerKnowledge], AnsweredQuestion | None]


def yes_or_no(talk: Speaker, true: bool, *, more: str = "") -> str:
    """Yes or no, now and then with the reason."""
    word = "yes" if true else "no"
    return f"{word}, {more}" if more and talk.chance(0.5) else word


def choose_thing(talk: Speaker, known: AskerKnowledge, *, hide: str = "") -> tuple[Thing, str] | None:
    """A thing that the asker knows of, and what to call it: "it" if it was spoken of just before."""
    if known.focus is not None and talk.chance(0.5):
        return known.focus, "it"
    things = [thing for thing in talk.scene.things if thing.kind in known.kinds]
    if not things:
        return None
    thing = talk.rng.choice(things)
    name = the(talk, thing, hide=hide)
    return (thing, name) if name else None
