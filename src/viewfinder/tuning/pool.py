"""From dialogues to a closed pool: which questions are in it, which mean the same, and how they are answered.

Free answers become values: "it's blue, i think" and "blue" are the same answer to a question about a colour.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from viewfinder.data.dialogues import Dialogue, Round
from viewfinder.wording.mentions import required_mentions
from viewfinder.wording.numbers import NUMBER_WORDS
from viewfinder.wording.questions import question_meaning
from viewfinder.wording.replies import is_dont_know

MAX_VALUE_WORDS = 4
"""Maximum words in a value; anything longer is not a value that others would share."""

MAX_QUESTION_WORDS, MAX_ANSWERS = 16, 24
"""Limits per question."""

MIN_ANSWER_SHARE = 0.01
"""Answers with a smaller share of a question's answers are left out."""

MIN_COVERED_SHARE = 0.7
"""Answers are predicted only if the kept ones cover this share of a question's answers."""

SHARED = 4.0
"""How many answers the answer distribution of a question's template counts for."""

_YES = re.compile(
    r"(?:yes|yeah|yep|yup|sure|of course|certainly|correct|it is|they are|there is|there are|i do|i can)\b"
)
_NO = re.compile(
    r"(?:no|nope|nah|none|nothing|never|not|nobody|neither|i (?:don't|do not|can't|cannot) see|there (?:is|are) no"
    r"|there (?:isn't|aren't)|it (?:isn't|is not)|they (?:aren't|are not))\b"
)
_HEDGE = re.compile(r"(?:,? (?:i'd say|i would say|i think|i guess|i believe|maybe|probably|in total|only)$)")
_OPENING = re.compile(
    r"^(?:(?:it|he|she|that|this)(?:'s| is| was| has| looks(?: like)?)|(?:they|these)(?:'re| are)|they look(?: like)?"
    r"|there(?:'s| is| are)|i (?:see|think|believe|guess|count)|i'd say|looks like|just|only|about|around"
    r"|maybe|probably|neither,|in|on|at|to|near|by|the|a|an|some|all|very)\s+"
)


def answer_value(question: str, answer: str) -> str | None:
    """The answer as a value that others share; "" if it is don't know, None if it says too much.

    >>> answer_value("is there a cup?", "yes, just one"), answer_value("what colour is the cup?", "It's blue, i'd say.")
    ('yes', 'blue')
    >>> answer_value("how many cups are there?", "there are two")
    '2'
    >>> answer_value("is it big?", "can't tell"), answer_value("who is it?", "a man with a hat who sits on a bench")
    ('', None)
    """
    said = " ".join(answer.casefold().replace("’", "'").split()).rstrip(" .!")
    if is_dont_know(said):
        return ""
    if question_meaning(question)[0] == "yes or no":
        if _NO.match(said):
            return "no"
        return "yes" if _YES.match(said) else _strip_value(said)
    return "0" if "how many" in question.casefold() and said in {"none", "no"} else _strip_value(said)


def _strip_value(said: str) -> str | None:
    said = _HEDGE.sub("", said)
    while (shorter := _OPENING.sub("", said)) != said:
        said = shorter
    said = re.sub(r" (?:side|corner|edge)$", "", re.split(r"[,;.]", said)[0].strip())
    if said in NUMBER_WORDS and said != "no":
        return str(NUMBER_WORDS[said])
    return said if said and len(said.split()) <= MAX_VALUE_WORDS else None


Meaning = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PoolSettings:
    """The limits by which questions are taken into the pool."""

    fewest: int = 3  # times that a question, in these words, must have been asked
    fewest_meant: int = 8  # times that it, in whatever words, must have been answered for its answers to be predicted
    most: int = 4000  # questions


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
    predicted: bool


@dataclass(frozen=True, eq=False)
class _Counts:
    """Everything that was asked and answered."""

    asked: Counter[str]
    texts: Mapping[Meaning, Counter[str]]
    values: Mapping[Meaning, Counter[str]]
    alike: Mapping[Meaning, Counter[str]]
    told: Counter[Meaning]


def normalized_question(question: str) -> str:
    """A question in the pool's form: lower case, single blanks.

    >>> normalized_question("Is it  dark ?")
    'is it dark?'
    """
    return " ".join(question.casefold().replace("’", "'").split()).replace(" ?", "?")


def build_pool(dialogues: Iterable[Dialogue], settings: PoolSettings = PoolSettings()) -> tuple[PoolEntry, ...]:
    """The pool, the most frequent questions first.

    It holds questions asked often enough, and the most frequent wording of questions asked often enough in other words.
    """
    counts = _count_answers(said for dialogue in dialogues for said in dialogue.rounds)
    chosen = [text for text, number in counts.asked.items() if number >= settings.fewest]
    often = (texts for texts in counts.texts.values() if texts.total() >= settings.fewest_meant)
    chosen += [texts.most_common(1)[0][0] for texts in often]
    ordered = sorted(set(chosen), key=lambda text: (-counts.asked[text], text))[: settings.most]
    first: dict[Meaning, int] = {}
    for place, text in enumerate(ordered):
        first.setdefault(question_meaning(text), place)
    meant = {place: _pool_entry(ordered[place], place, counts, settings) for place in first.values()}
    return tuple(replace(meant[first[question_meaning(text)]], text=text, asked=counts.asked[text]) for text in ordered)


def _count_answers(rounds: Iterable[Round]) -> _Counts:
    asked: Counter[str] = Counter()
    texts: defaultdict[Meaning, Counter[str]] = defaultdict(Counter)
    values: defaultdict[Meaning, Counter[str]] = defaultdict(Counter)
    alike: defaultdict[Meaning, Counter[str]] = defaultdict(Counter)
    told: Counter[Meaning] = Counter()
    for said in rounds:
        question = normalized_question(said.question)
        if not question.endswith("?") or len(question.split()) > MAX_QUESTION_WORDS:
            continue
        key = question_meaning(question)
        asked[question] += 1
        texts[key][question] += 1
        told[key] += 1
        if (value := answer_value(question, said.answer)) is not None:
            values[key][value] += 1
            if value:
                alike[question_template(question)][value] += 1
    return _Counts(asked, texts, values, alike, told)


def question_template(question: str) -> Meaning:
    """The key of all questions that ask the same about different things: "what colour is the cup?" and "... the dog?".

    Such questions have the same answers, however rarely any one of them was asked.
    """
    kind, *words = question_meaning(question)
    if words[:2] == ["how", "many"]:
        return (kind, "how", "many")
    things = required_mentions(question) or ()
    return (kind, *(word for word in words if word not in things))


def _pool_entry(text: str, place: int, counts: _Counts, settings: PoolSettings) -> PoolEntry:
    key = question_meaning(text)
    values, alike = counts.values[key], counts.alike[question_template(text)]
    unknown = values[""]
    known = counts.told[key] - unknown
    # Counts of its answers, shrunk towards those of all questions of its template.
    said = {value: values[value] + SHARED * number / max(alike.total(), 1) for value, number in alike.items()}
    ordered = sorted(said.items(), key=lambda pair: (-pair[1], pair[0]))
    least = MIN_ANSWER_SHARE * sum(said.values())
    kept = dict([(value, number) for value, number in ordered if number >= least][:MAX_ANSWERS])
    predicted = (
        len(kept) > 1
        and known >= settings.fewest_meant
        and sum(alike[value] for value in kept) >= MIN_COVERED_SHARE * alike.total()
        and required_mentions(text) is not None
    )
    return PoolEntry(text, counts.asked[text], place, tuple(kept), kept, unknown, counts.told[key], predicted)
