"""Ask what is expected to narrow the candidates most; needs no language model.

For each catalogue column and each group of zero-shot tags the expected entropy drop is computed over the
present candidates (`entropy.py`); the largest wins, unless the talk says it already. What the catalogue knows
is answered with a small error, what tags only guess follows their probabilities, and the gain counts only as
far as a user can tell (`wording.can_tell`: few know the year or the price of the thing they have in mind).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from viewfinder.conversation import Question
from viewfinder.encoders.tags import TagGroup, TagVectors
from viewfinder.questioners.answers import DONT_KNOW, SOMETHING_ELSE
from viewfinder.questioners.base import Candidates, Column
from viewfinder.questioners.columns import Split, follows, is_yes_or_no, split_by
from viewfinder.questioners.entropy import entropy_bits, gain_of_guessed, gain_of_known, shares
from viewfinder.questioners.said import Said
from viewfinder.questioners.wording import (
    QUESTIONS,
    can_tell,
    head,
    is_record,
    question_for,
    same_topic,
    words_of,
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The numbers of the questioner."""

    error: float = 0.05  # of the answers: on columns another value, on tags any value
    least_gain: float = 0.05  # bits; below that a question costs the user more than it helps
    most_choices: int = 6  # without "don't know"
    rare: float = 0.01  # a choice with less probability is folded into "something else"
    implied: float = 0.95  # of the pairs alike in one column that must be alike in one that follows from it
    most_values_heard: int = 200  # a column with more is not searched for what else it implies
    half_known: float = 0.5  # a column known for less than this leaves its subject to the tags
    likely: float = 0.9  # "the 140 likeliest pictures" hold this much of the probability


@dataclass(frozen=True, eq=False)
class Option:
    """A question that could be asked: what its answers are, how likely each, and what it would tell."""

    attribute: str
    text: str
    labels: tuple[str, ...]
    share_a: Float[np.ndarray, " a"]
    gain: float
    certain: bool
    ordered: bool = False


@dataclass(frozen=True, eq=False)
class InformationGain:
    """The questioner; without `tags` it asks for catalogue columns only."""

    tags: TagVectors | None = None
    settings: Settings = Settings()
    name: str = "information_gain"

    def ask(self, view: Candidates) -> Question | None:
        """The question with the largest expected entropy drop, or None.

        None when one candidate is left, or no open question is worth `settings.least_gain` bits.
        """
        if np.count_nonzero(view.probabilities_c) < 2:
            return None
        said = Said(view.said)
        for option in self.options(view):
            if option.gain > self.settings.least_gain and not self._is_said(option, view, said):
                return self._question(option, view)
        return None

    def options(self, view: Candidates) -> list[Option]:
        """All that could be asked and was not, the most telling first; at equal gain columns before tags."""
        columns = [*column_options(view, self.settings)]
        found = [*columns, *tag_options(view, self.tags, self.settings)]
        return sorted(found, key=lambda option: (-round(option.gain, 2), not option.certain, -option.gain))

    def _groups(self) -> tuple[TagGroup, ...]:
        return self.tags.groups if self.tags else ()

    def _is_said(self, option: Option, view: Candidates, said: Said) -> bool:
        """Whether the talk mentions the attribute or one of its values."""
        if not option.certain:
            assert self.tags is not None
            return _group_is_said(self.tags.group(option.attribute), said)
        values = view.columns[option.attribute][0]
        return (
            _attribute_is_said(option.attribute, said)
            or any(said.names(value) for value in values)
            or any(_group_is_said(g, said) for g in self._groups() if _same_vocabulary(g, values))
            or self._is_implied(option.attribute, view, said)
        )

    def _is_implied(self, attribute: str, view: Candidates, said: Said) -> bool:
        """Whether a column follows from one that is settled or said: heels are shoes."""
        codes_c = view.columns[attribute][1]
        return any(
            follows(codes_c, given_c) >= self.settings.implied
            for name, (values, given_c) in view.columns.items()
            if name != attribute and len(values) <= self.settings.most_values_heard and not is_record(name)
            if _is_settled(name, view) or any(said.names(value) for value in values)
        )

    def _question(self, option: Option, view: Candidates) -> Question:
        return Question(
            text=option.text,
            choices=(*_choices(option, self.settings), DONT_KNOW),
            by=self.name,
            why=_why(option, view, self.settings),
            attribute=option.attribute,
        )


def column_options(view: Candidates, settings: Settings) -> Iterator[Option]:
    """An option for each column that is worth asking for and still open."""
    for name, column in view.columns.items():
        if not _is_open(name, view):
            continue
        split = split_by(name, column, view.probabilities_c)
        if split is not None:
            yield _column_option(name, column, split, view, settings)


def _column_option(name: str, column: Column, split: Split, view: Candidates, settings: Settings) -> Option:
    share_v = shares(view.probabilities_c, split.codes_c, len(split.labels))
    unknown = max(1.0 - float(share_v.sum()), 0.0)
    gain = can_tell(name) * gain_of_known(share_v, unknown=unknown, error=settings.error)
    text = question_for(name, split.labels)
    return Option(name, text, split.labels, share_v, gain, certain=True, ordered=split.ordered)


def tag_options(view: Candidates, tags: TagVectors | None, settings: Settings) -> Iterator[Option]:
    """An option for each tag group that is still open and on whose topic no column knows better."""
    if tags is None:
        return
    asked = (question.attribute or "" for question in view.asked)
    taken = [*view.settled, *asked, *_known_columns(view, settings)]
    still_open = [
        group
        for group in tags.groups
        # A group whose name is a column's would make an answer ambiguous, however little the column knows.
        if group.name not in view.columns and not any(_on_topic(group, name) for name in taken)
    ]
    if not still_open:
        return
    probability = tags.probabilities(view.vectors_cd)
    for group in still_open:
        tag_ct = probability[group.name].astype(np.float64)
        answer_ca = np.column_stack([tag_ct, np.maximum(1 - tag_ct.sum(axis=1), 0)])
        gain = gain_of_guessed(view.probabilities_c, answer_ca, error=settings.error)
        share_a = view.probabilities_c @ answer_ca
        yield Option(group.name, group.question, group.answers, share_a, gain, certain=False)


def _is_open(name: str, view: Candidates) -> bool:
    asked = (question.attribute for question in view.asked if question.attribute is not None)
    return not any(same_topic(name, done) for done in (*asked, *view.settled))


def _is_settled(name: str, view: Candidates) -> bool:
    return any(same_topic(name, done) for done in view.settled)


def _on_topic(group: TagGroup, name: str) -> bool:
    return bool(name) and (same_topic(group.name, name) or head(name) in group.topics)


def _known_columns(view: Candidates, settings: Settings) -> list[str]:
    """Columns that speak of most candidates, whether or not they split them."""
    return [
        name
        for name, (_, codes_c) in view.columns.items()
        if not is_record(name) and view.probabilities_c[codes_c >= 0].sum() >= settings.half_known
    ]


def _attribute_is_said(name: str, said: Said) -> bool:
    return said.names(" ".join(words_of(name))) or (head(name) in QUESTIONS and said.names(head(name)))


def _same_vocabulary(group: TagGroup, values: Sequence[str]) -> bool:
    """Whether a column's values are the group's tags by other means: colours are, article types are not."""
    folded = {value.casefold() for value in values}
    return 2 * sum(tag.name in folded for tag in group.tags) >= len(group.tags)


def _group_is_said(group: TagGroup, said: Said) -> bool:
    return said.names(group.name) or any(said.names(word) for tag in group.tags for word in (tag.name, *tag.also))


def _choices(option: Option, settings: Settings) -> tuple[str, ...]:
    """The likeliest answers first (ranges in their order), the rare ones folded into "something else"."""
    if option.ordered or is_yes_or_no(option.labels):
        return option.labels
    order = np.argsort(-option.share_a, kind="stable")
    frequent = [int(a) for a in order if option.share_a[a] >= settings.rare]
    kept = frequent if len(frequent) > 1 else [int(a) for a in order[:2]]
    if len(kept) == len(option.labels) <= settings.most_choices:
        return tuple(option.labels[a] for a in kept)
    named = (option.labels[a] for a in kept[: settings.most_choices - 1])
    return (*(label for label in named if label != SOMETHING_ELSE), SOMETHING_ELSE)


def _why(option: Option, view: Candidates, settings: Settings) -> str:
    """What the question is expected to do, in words."""
    reached = np.cumsum(np.sort(view.probabilities_c)[::-1])
    likeliest = min(int(np.searchsorted(reached, settings.likely * reached[-1])) + 1, len(reached))
    share_a = option.share_a / option.share_a.sum()
    groups = max(round(float(2 ** entropy_bits(share_a))), 2)
    return (
        f"splits the {likeliest:,} likeliest pictures into about {groups} groups; "
        f"expected to take {option.gain:.1f} bits off {float(entropy_bits(view.probabilities_c)):.1f}"
    )
