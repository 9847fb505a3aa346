"""How likely each picture is to be answered as the user did: P(answer | picture).

The `attribute` of a question tells which model foretold its answers when it was chosen: a column of the catalogue is
all but known, a facet of photographs is predicted, a group of zero-shot tags is guessed. An answer to any other
question is a sentence, and is left to the retriever.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from jaxtyping import Bool, Float, UInt8

from viewfinder.conversation import Answer
from viewfinder.encoders.tags import TagVectors
from viewfinder.processors import share_out
from viewfinder.questioners.photographs import Facet, choice_chances, facets, label_columns, set_likelihoods
from viewfinder.wording.replies import NO_VALUES, find_choice_meant, is_dont_know
from viewfinder.wording.values import find_values_meant

KNOWN_ERROR = 0.02
"""The share of wrong answers about what a catalogue knows."""

GUESSED_ERROR = 0.4
"""The share of answers that say nothing of a zero-shot tag: tags are right for about half of the pictures."""

WEIGHED_AT_ONCE = 8192
"""Pictures of which one thread weighs an answer at a time: their numbers stay in its cache."""

_OR = re.compile(r"\bor\b", re.IGNORECASE)


class KnownPictures(Protocol):
    """Catalogue, labels and tags of all pictures of a collection, a row each."""

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


def answer_likelihoods(answer: Answer, pictures: KnownPictures) -> Float[np.ndarray, " n"] | None:
    """P(answer | picture) for every picture; None where an answer says nothing by itself (see above).

    Answers in free words count where they name a value, label or tag.
    """
    model = find_model(answer, pictures)
    return None if model is None else model.weigh(pictures)


@dataclass(frozen=True, eq=False)
class AnswerModel:
    """How likely an answer is, by what tells it: the labels of a facet, a group of tags, or (None) the catalogue.

    Attributes:
        levels: by the catalogue there are three chances: of pictures of which nothing is known, of those that have
            another value, of those that have the one that is meant.
    """

    answer: Answer
    facet: Facet | None
    tags: str | None
    meant: tuple[str, ...] = ()
    levels: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def weigh(self, pictures: KnownPictures, usual: float | None = None) -> Float[np.ndarray, " n"]:
        """P(answer | picture) for every picture; `usual`: its mean over a collection of which these are some."""
        if self.facet is not None:
            holds_nl = pictures.label_chances()
            assert holds_nl is not None
            return _weigh_by_facet(self.answer, self.facet, self.meant, holds_nl, usual)
        if self.tags is not None:
            return _weigh_by_tags(self.meant, self.tags, pictures)
        return np.asarray(np.array(self.levels)[self.find_levels(pictures)])

    @property
    def is_of_catalogue(self) -> bool:
        """Whether it is a column of the catalogue that tells."""
        return self.facet is None and self.tags is None

    def find_levels(self, pictures: KnownPictures) -> UInt8[np.ndarray, " n"]:
        """Which of the `levels` each picture has, by the catalogue."""
        assert self.answer.question.attribute is not None
        has_n, known_n = pictures.column_masks(self.answer.question.attribute, self.meant)
        return np.asarray(known_n.astype(np.uint8) + (has_n & known_n), np.uint8)


def find_model(answer: Answer, pictures: KnownPictures) -> AnswerModel | None:
    """What tells how likely an answer is for each picture; None where it says nothing by itself."""
    name = answer.question.attribute
    if name is None or is_dont_know(answer.text) or not answer.text.strip():
        return None
    # "No one" is the choice "nobody".
    if (choice := find_choice_meant(answer.text, answer.question.choices)) is not None:
        answer = Answer(answer.question, choice)
    # A column, a facet and a group of tags may have one name, and ask alike: what was offered tells them apart.
    offered = set(answer.question.choices)
    facet = next((facet for facet in facets() if facet.name == name and offered & set(facet.labels)), None)
    if facet is not None and pictures.label_chances() is not None:
        meant = tuple(facet.labels_meant(answer.text))
        says_something = meant or answer.text.strip().casefold() in NO_VALUES
        return AnswerModel(answer, facet, None, meant) if says_something else None
    values = pictures.column_values(name)
    if values is not None:
        found = tuple(find_values_meant(answer.question, answer.text, values))
        # A wrong answer is any of the other choices, all alike.
        others = max(len([choice for choice in answer.question.choices if not is_dont_know(choice)]) - 1, 1)
        chances = (1 / (others + 1), KNOWN_ERROR / others, 1 - KNOWN_ERROR)
        return AnswerModel(answer, None, None, found, chances) if found else None
    if any(group.name == name for group in pictures.tags.groups):
        tags = tuple(find_values_meant(answer.question, answer.text, pictures.tags.group(name).answers))
        return AnswerModel(answer, None, name, tags) if tags else None
    return None


def _weigh_by_facet(
    answer: Answer,
    facet: Facet,
    meant: Sequence[str],
    holds_nl: Float[np.ndarray, "n l"],
    usual: float | None,
) -> Float[np.ndarray, " n"]:
    offered = [choice for choice in answer.question.choices if choice in facet.labels]
    columns = [*offered, *(label for label in meant if label not in offered)]
    start = label_columns()[facet.name].start
    columns_a = [start + facet.labels.index(label) for label in columns]
    named = [columns.index(label) for label in meant]
    either = len(named) > 1 and _OR.search(answer.text) is not None
    is_else = answer.text.strip().casefold() in NO_VALUES

    def weigh(rows: slice) -> Float[np.ndarray, " b"]:
        holds_ba = holds_nl[rows][:, columns_a]
        if facet.together:
            return set_likelihoods(holds_ba, named, either=either, usual=usual)
        chance_ba = choice_chances(holds_ba)
        return np.asarray(chance_ba[:, -1] if is_else else chance_ba[:, named].sum(axis=1))

    if usual is None:  # each depends on the mean of all
        return weigh(slice(None))
    found_n = np.empty(len(holds_nl))

    def fill(start: int) -> None:
        found_n[start : start + WEIGHED_AT_ONCE] = weigh(slice(start, start + WEIGHED_AT_ONCE))

    share_out(fill, range(0, len(holds_nl), WEIGHED_AT_ONCE))
    return found_n


def _weigh_by_tags(meant: Sequence[str], name: str, pictures: KnownPictures) -> Float[np.ndarray, " n"]:
    group = pictures.tags.group(name)
    tag_nt = pictures.tag_chances(name)
    chance_na = np.concatenate([tag_nt, np.maximum(1 - tag_nt.sum(axis=1, keepdims=True), 0)], axis=1)
    likely_n = chance_na[:, [group.answers.index(one) for one in meant]].sum(axis=1).astype(np.float64)
    return np.asarray((1 - GUESSED_ERROR) * likely_n + GUESSED_ERROR * len(meant) / len(group.answers))
