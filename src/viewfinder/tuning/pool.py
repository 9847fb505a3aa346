"""From dialogues to a closed pool: which questions are in it, which mean the same, and how they are answered."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from viewfinder.data.dialogues import Dialogue, Round
from viewfinder.questioners.trained import meaning, required_mentions
from viewfinder.tuning.replies import answer_value

Meaning = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PoolSettings:
    """What is taken into the pool."""

    fewest: int = 3  # times that a question, in these words, must have been asked
    fewest_meant: int = 8  # times that it, in whatever words, must have been answered for its answers to be foretold
    most: int = 4000  # questions
    most_words: int = 16  # of a question
    most_answers: int = 24  # of a question
    rarest: float = 0.01  # share of a question's answers below which one is left out
    covered: float = 0.7  # share of its answers that must be among those kept for answers to be foretold


@dataclass(frozen=True)
class PoolEntry:
    """A question of the pool as it was counted; `asked` times in these words; see `PoolQuestion`.

    `said` counts each of its answers over all paraphrases, smoothed; `unknown` are its don't-knows, `told` all answers.
    """

    text: str
    asked: int
    meaning: int
    answers: tuple[str, ...]
    said: Mapping[str, float]
    unknown: int
    told: int
    foretold: bool


@dataclass(frozen=True, eq=False)
class _Counts:
    """Everything that was asked and answered."""

    asked: Counter[str]
    texts: Mapping[Meaning, Counter[str]]
    values: Mapping[Meaning, Counter[str]]
    alike: Mapping[Meaning, Counter[str]]
    told: Counter[Meaning]


def normalized_question(question: str) -> str:
    """A question as the pool has it: lower-case, single blanks.

    >>> asked_text("Is it  dark ?")
    'is it dark?'
    """
    return " ".join(question.casefold().replace("’", "'").split()).replace(" ?", "?")


def build_pool(dialogues: Iterable[Dialogue], settings: PoolSettings = PoolSettings()) -> tuple[PoolEntry, ...]:
    """The pool, the most frequent questions first.

    In it are questions asked often enough, and the most frequent wording of what was asked often enough in others.
    """
    counts = _counted((said for talk in dialogues for said in talk.rounds), settings)
    chosen = [text for text, number in counts.asked.items() if number >= settings.fewest]
    often = (texts for texts in counts.texts.values() if texts.total() >= settings.fewest_meant)
    chosen += [texts.most_common(1)[0][0] for texts in often]
    ordered = sorted(set(chosen), key=lambda text: (-counts.asked[text], text))[: settings.most]
    first: dict[Meaning, int] = {}
    for place, text in enumerate(ordered):
        first.setdefault(meaning(text), place)
    meant = {place: _pooled(ordered[place], place, counts, settings) for place in first.values()}
    return tuple(replace(meant[first[meaning(text)]], text=text, asked=counts.asked[text]) for text in ordered)


def _counted(rounds: Iterable[Round], settings: PoolSettings) -> _Counts:
    asked: Counter[str] = Counter()
    texts: defaultdict[Meaning, Counter[str]] = defaultdict(Counter)
    values: defaultdict[Meaning, Counter[str]] = defaultdict(Counter)
    alike: defaultdict[Meaning, Counter[str]] = defaultdict(Counter)
    told: Counter[Meaning] = Counter()
    for said in rounds:
        question = normalized_question(said.question)
        if not question.endswith("?") or len(question.split()) > settings.most_words:
            continue
        key = meaning(question)
        asked[question] += 1
        texts[key][question] += 1
        told[key] += 1
        if (value := answer_value(question, said.answer)) is not None:
            values[key][value] += 1
            if value:
                alike[question_template(question)][value] += 1
    return _Counts(asked, texts, values, alike, told)


def question_template(question: str) -> Meaning:
    """What questions share that ask the same of different things: "what colour is the cup?" and "... the dog?".

    Such questions have the same answers, however rarely one of them was asked.
    """
    kind, *words = meaning(question)
    if words[:2] == ["how", "many"]:
        return (kind, "how", "many")
    things = required_mentions(question) or ()
    return (kind, *(word for word in words if word not in things))


def _pooled(text: str, place: int, counts: _Counts, settings: PoolSettings) -> PoolEntry:
    key = meaning(text)
    values, alike = counts.values[key], counts.alike[question_template(text)]
    unknown = values[""]
    known = counts.told[key] - unknown
    said = _smoothed({value: number for value, number in values.items() if value}, alike)
    kept = {value: number for value, number in _ordered(said) if number >= settings.rarest * sum(said.values())}
    kept = dict([*kept.items()][: settings.most_answers])
    foretold = (
        len(kept) > 1
        and known >= settings.fewest_meant
        and sum(alike[value] for value in kept) >= settings.covered * alike.total()
        and required_mentions(text) is not None
    )
    return PoolEntry(text, counts.asked[text], place, tuple(kept), kept, unknown, counts.told[key], foretold)


SHARED = 4.0
"""How many answers the habits of questions of the same template count for."""


def _smoothed(said: Mapping[str, int], alike: Counter[str]) -> dict[str, float]:
    """Counts of a question's answers, drawn towards those of all questions of its template."""
    total = max(alike.total(), 1)
    return {value: said.get(value, 0) + SHARED * number / total for value, number in alike.items()}


def _ordered(values: Mapping[str, float]) -> Sequence[tuple[str, float]]:
    return sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))
