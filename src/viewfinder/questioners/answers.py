"""Answers: which ones a question offers, which values one means, and how likely each picture is to be answered so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from jaxtyping import Bool, Float

from viewfinder.conversation import DONT_KNOW, SOMETHING_ELSE, Answer, Question, is_dont_know, is_in_range, to_number
from viewfinder.encoders.tags import TagVectors
from viewfinder.questioners.photographs import Facet, choice_chances, facets, label_columns
from viewfinder.questioners.said import PhraseIndex, stems

ISO_DATE = re.compile(r"(\d{4})-\d\d(?:-\d\d.*)?")


def parse_number(value: str) -> float | None:
    """The number that a value is, as `to_number` reads it; of a date, its year.

    >>> [parse_number(value) for value in ("1,299.50", "$ 12", "2011-05-03", "XL")]
    [1299.5, 12.0, 2011.0, None]
    """
    date = ISO_DATE.fullmatch(value.strip())
    return float(date[1]) if date else to_number(value)


def find_values_meant(question: Question, answer: str, values: Sequence[str]) -> tuple[str, ...]:
    """Those of an attribute's `values` that an answer to `question` means, in their order.

    An exact value wins, then a range, then "something else" (all values that no choice stands for), then
    values named in the answer's words ("the blue one"), longer names before shorter ones inside them. Empty
    when the answer is "don't know" or names none.

    >>> question = Question("What colour is it?", ("Red", "Blue", "something else", "don't know"))
    >>> [find_values_meant(question, answer, ["Red", "Blue", "Navy Blue"]) for answer in ("blue", "something else")]
    [('Blue',), ('Navy Blue',)]
    """
    text = answer.strip()
    if is_dont_know(text):
        return ()
    folded = stems(text)
    if exact := tuple(v for v in values if v.casefold() == text.casefold()):
        return exact
    if folded and (same := tuple(v for v in values if stems(v) == folded)):
        return same
    if is_in_range(text, 0.0) is not None:
        return tuple(v for v in values if _lies_in(text, v))
    if text.casefold() == SOMETHING_ELSE:
        others = [choice for choice in question.choices if choice != text]
        return tuple(v for v in values if not any(v == choice or _lies_in(choice, v) for choice in others))
    said = PhraseIndex([text])
    named = {v: PhraseIndex([v]) for v in values if said.contains(v)}
    # Of "navy blue" and "blue" the longer name is meant.
    return tuple(v for v in named if not any(longer.contains(v) for name, longer in named.items() if name != v))


def _lies_in(answer: str, value: str) -> bool:
    number = parse_number(value)
    return number is not None and bool(is_in_range(answer, number))


YES_NO_CHOICES = ("yes", "no", DONT_KNOW)
MOST_NAMED = 4
MOST_CHOICE_WORDS = 4

_LEAD = re.compile(
    r"^(?:(?:and|so|ok|okay|well|now|also|then|please)\b[\s,]*|(?:in|on|at)\s[^,?]{1,40},\s*"
    r"|(?:can|could|would|will)\s+you\s+(?:please\s+)?(?:tell|say|describe|specify)(?:\s+me)?\s*)+",
    re.IGNORECASE,
)
_WHETHER = re.compile(r"(?:if|whether)\b", re.IGNORECASE)
_AUXILIARY = re.compile(
    r"(?:is|are|was|were|am|do|does|did|can|could|has|have|had|will|would|should|may|might|must)(?:n['’]t)?\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"(?:it|this|that|they|these|those|he|she|you|we|there|everyone|anyone|(?:the|his|her|their|its)\s+[\w'’-]+)\b\s*",
    re.IGNORECASE,
)
_OR_NOT = re.compile(r"\bor\s+(?:not|no|something|anything|someone|anyone)\b", re.IGNORECASE)
_OR = re.compile(r"\s*,?\s+or\s+", re.IGNORECASE)
_EXISTS = re.compile(r"^(?:there|(?:you\s+)?(?:see|have)|any)\b|\b(?:any|some|more than|less than)\b", re.IGNORECASE)
_OPENER = re.compile(r"\b(?:an?|the|in|on|at|by|with|for|from|during|near|inside|outside)\b", re.IGNORECASE)
_GOES_ON = re.compile(r"\s(?:in|on|at|by|of|with|from|near|behind|beside|when|while)\s.*$", re.IGNORECASE)


def find_choices(question: str) -> tuple[str, ...]:
    """The answers to offer: yes and no, the things that "A or B?" names, or none; always "don't know".

    >>> find_choices("Is there a dog in the picture?")
    ('yes', 'no', "don't know")
    >>> find_choices("Is the dog black or brown?"), find_choices("Was it taken at night or during the day?")
    (('black', 'brown', "don't know"), ('at night', 'during the day', "don't know"))
    >>> find_choices("What is the man wearing?"), find_choices("Are there any dogs or cats?")
    (("don't know",), ('yes', 'no', "don't know"))
    """
    asked = _LEAD.sub("", " ".join(question.split()).partition("?")[0].strip(" .!"))
    opening = _AUXILIARY.match(asked)
    rest = asked[opening.end() :].strip() if opening else asked.rpartition(",")[2] if ", " in asked else ""
    if not _OR.search(rest) or _OR_NOT.search(rest) or (opening and _EXISTS.search(rest)):
        return YES_NO_CHOICES if opening or _WHETHER.match(asked) else (DONT_KNOW,)
    return (*_split_choices(rest), DONT_KNOW)


def _split_choices(rest: str) -> tuple[str, ...]:
    """The things that "A, B or C" names; () where it is not clear where they begin and end."""
    parts = _OR.split(rest)
    if len(parts) != 2:
        return ()
    before, last = parts
    before = before[subject.end() :] if (subject := _SUBJECT.match(before)) else before
    *first, nearest = re.split(r"\s*,\s*", before)
    # What stands after "or" goes up to where the sentence goes on: "sitting on a bench" is "sitting".
    last = _GOES_ON.sub("", last if _OPENER.match(last) else f" {last}").strip()
    things = [*first, _match_form(nearest, last), last]
    lengths = [len(thing.split()) for thing in things]
    return tuple(things) if min(lengths) > 0 and max(lengths) <= MOST_CHOICE_WORDS and len(things) <= MOST_NAMED else ()


def _match_form(before: str, last: str) -> str:
    """The end of `before` that stands where `last` could stand: begun as it is begun, or as many words of it."""
    if opening := _OPENER.match(last):
        openers = [found.start() for found in _OPENER.finditer(before)]
        article = opening[0].lower() in {"a", "an", "the"}
        return before[openers[-1 if article else 0] :] if openers else before
    words = before.split()
    return " ".join(words[-max(len(last.split()), 1) :])


# -- what an answer says about pictures: P(answer | picture), by the model that foretold it when the question was chosen
#
# Which model that is, the question's `attribute` tells: a column of the catalogue, which all but knows; a facet of
# photographs, which is predicted; a group of zero-shot tags, which is guessed. An answer to any other question is a
# sentence, and is left to the retriever.

KNOWN_ERROR = 0.02
"""The share of wrong answers about what a catalogue knows."""

GUESSED_ERROR = 0.4
"""The share of answers that say nothing of a zero-shot tag: tags are right for about half of the pictures."""


class KnownPictures(Protocol):
    """What is known of all pictures of a collection, a row each."""

    @property
    def tags(self) -> TagVectors:
        """Zero-shot tags of the collection."""
        ...

    def column_values(self, name: str) -> Sequence[str] | None:
        """The values of a catalogue column; None where there is none of this name."""
        ...

    def column_masks(self, name: str, values: Sequence[str]) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
        """Which pictures have one of these values, and which have any."""
        ...

    def label_chances(self) -> Float[np.ndarray, "n l"] | None:
        """How likely each label of all facets holds; None where that cannot be predicted."""
        ...

    def tag_chances(self, group: str) -> Float[np.ndarray, "n t"]:
        """How likely each tag of a group is."""
        ...


def is_choice(answer: Answer) -> bool:
    """Whether an answer is one of the choices offered, and not words of the person's own."""
    return answer.text.strip().casefold() in {choice.casefold() for choice in answer.question.choices}


def answer_likelihoods(answer: Answer, pictures: KnownPictures) -> Float[np.ndarray, " n"] | None:
    """P(answer | picture) for every picture; None where an answer says nothing by itself (see above).

    Answers in free words count where they name a value, label or tag.
    """
    name = answer.question.attribute
    if name is None or is_dont_know(answer.text) or not answer.text.strip():
        return None
    # A column, a facet and a group of tags may have one name, and ask alike: what was offered tells them apart.
    offered = set(answer.question.choices)
    facet = next((facet for facet in facets() if facet.name == name and offered & set(facet.labels)), None)
    if facet is not None and (holds_nl := pictures.label_chances()) is not None:
        return _by_facet(answer, facet, holds_nl)
    values = pictures.column_values(name)
    if values is not None:
        return _by_column(answer, name, values, pictures)
    if any(group.name == name for group in pictures.tags.groups):
        return _by_tags(answer, name, pictures)
    return None


def _by_column(
    answer: Answer, name: str, values: Sequence[str], pictures: KnownPictures
) -> Float[np.ndarray, " n"] | None:
    meant = find_values_meant(answer.question, answer.text, values)
    if not meant:
        return None
    has_n, known_n = pictures.column_masks(name, meant)
    others = max(len([choice for choice in answer.question.choices if not is_dont_know(choice)]) - 1, 1)
    return np.where(known_n, np.where(has_n, 1 - KNOWN_ERROR, KNOWN_ERROR / others), 1 / (others + 1))


def _by_facet(answer: Answer, facet: Facet, holds_nl: Float[np.ndarray, "n l"]) -> Float[np.ndarray, " n"] | None:
    offered = [choice for choice in answer.question.choices if choice in facet.labels]
    meant = facet.labels_meant(answer.text)
    is_else = answer.text.strip().casefold() == SOMETHING_ELSE
    if not (meant or is_else):
        return None
    columns = [*offered, *(label for label in meant if label not in offered)]
    start = label_columns()[facet.name].start
    chance_na = choice_chances(holds_nl[:, [start + facet.labels.index(label) for label in columns]])
    return np.asarray(chance_na[:, -1] if is_else else chance_na[:, [columns.index(x) for x in meant]].sum(axis=1))


def _by_tags(answer: Answer, name: str, pictures: KnownPictures) -> Float[np.ndarray, " n"] | None:
    group = pictures.tags.group(name)
    meant = find_values_meant(answer.question, answer.text, group.answers)
    if not meant:
        return None
    tag_nt = pictures.tag_chances(name)
    chance_na = np.concatenate([tag_nt, np.maximum(1 - tag_nt.sum(axis=1, keepdims=True), 0)], axis=1)
    likely_n = chance_na[:, [group.answers.index(one) for one in meant]].sum(axis=1).astype(np.float64)
    return np.asarray((1 - GUESSED_ERROR) * likely_n + GUESSED_ERROR * len(meant) / len(group.answers))
