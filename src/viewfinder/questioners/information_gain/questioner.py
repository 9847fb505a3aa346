"""The questioner `information_gain`, which needs no language model, and its questions about catalogue and tags.

It asks what is expected to narrow the candidates most. Options are gathered from all that is known of them: catalogue
columns, facets of photographs, or where those are not predicted captions and zero-shot tags; trained questions, where
some are given, in place of facets and tags. Each has a table, P(answer | candidate), and so a gain: the entropy that an
answer is expected to take off, wrong answers and "don't know" included. Of the best few the one is asked that tells
most together with the best question after each of its answers (`gains.two_step_gains`).

A column is a question in words made of its name; its values are the answers, known but for a small error. A group of
tags asks for what no column says, and its answers are only guessed from the pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from viewfinder.conversation import Answer, Question
from viewfinder.encoders.tags import TagGroup, TagVectors
from viewfinder.questioners.base import Candidates, Column
from viewfinder.questioners.information_gain.caption_options import caption_options
from viewfinder.questioners.information_gain.column_names import (
    AMOUNTS,
    CAN_TELL,
    CAN_TELL_OF_FILES,
    COLUMN_QUESTIONS,
    column_head,
    column_words,
    is_record_column,
    is_same_topic,
    is_yes_or_no,
    write_column_question,
)
from viewfinder.questioners.information_gain.gains import (
    ERROR,
    MIN_GAIN,
    Option,
    code_shares,
    entropy_bits,
    guessed_option,
    known_answers_gain,
    two_step_gains,
)
from viewfinder.questioners.photographs import open_question, photograph_options
from viewfinder.questioners.so_far import ConversationSoFar
from viewfinder.questioners.trained import TrainedQuestions
from viewfinder.wording.choices import find_choices
from viewfinder.wording.numbers import parse_number
from viewfinder.wording.phrases import PhraseIndex
from viewfinder.wording.replies import DONT_KNOW, NO_VALUES, SOMETHING_ELSE
from viewfinder.wording.stems import stem

if TYPE_CHECKING:  # loaded where questions were trained: few libraries have any
    from viewfinder.questioners.information_gain.trained_options import CandidatePredictions

ORDER = ("column", "caption", "trained", "open", "photograph", "tag")
"""At equal gain what is known comes before what is guessed."""

WEIGHED = 10
"""The best options, of which the question after them is looked at as well."""

ECHO = 0.95
"""A question is an echo if this share of its predicted answers follows from those of the questions asked before."""

MAX_CHOICES = 6
"""Choices of a question, without "don't know"."""

RARE = 0.01
"""A choice with less probability is folded into "something else"."""

LIKELY = 0.9
""" "The 140 likeliest pictures" hold this much of the probability."""

HALF_KNOWN = 0.5
"""A column known for less than this leaves its subject to the tags."""

FILE_FACTS = frozenset({"camera", "folder", "format"})
"""Columns that files fill: users do not have them in mind, unless they speak of a folder."""

DATES = frozenset({"year", "month", "date", "taken"})
"""Columns that are asked for only where half of the likely pictures have a value."""

IMPLIED = 0.95
"""Of the pairs alike in one column the share that must be alike in one that follows from it."""

MAX_VALUES_SEARCHED = 200
"""A column with more values is not searched for what else it implies."""


@dataclass(frozen=True, eq=False)
class InformationGain:
    """The questioner; without anything it asks for catalogue columns and captions only."""

    tags: TagVectors | None = None  # zero-shot tags, asked for where no trained question can be
    trained: TrainedQuestions | None = None  # trained questions
    name: str = "information_gain"

    @property
    def trained_on(self) -> str | None:
        """The list of the pictures of the trained questions; see `find_training_list`."""
        return None if self.trained is None else self.trained.card.trained_on

    def ask(self, view: Candidates) -> Question | None:
        """The question that is worth most; None when one candidate is left or none is worth `MIN_GAIN` bits.

        Raises:
            EncoderMismatch: the trained questions do not fit this collection's vectors.
        """
        if np.count_nonzero(view.probabilities_c) < 2:
            return None
        known, least_gain = None, MIN_GAIN
        if self.trained is not None:
            from viewfinder.questioners.information_gain.trained_options import MIN_TRAINED_GAIN, predict_candidates

            known = predict_candidates(view, self.trained)
            least_gain = MIN_GAIN if known is None else MIN_TRAINED_GAIN
        so_far = ConversationSoFar.of(view)
        worthwhile = (option for option in self.options(view, known) if option.gain >= least_gain)
        may_ask = (option for option in worthwhile if self._may_ask(option, view, so_far, known))
        best = [*islice(may_ask, WEIGHED)]
        if not best:
            return open_question(view, self.name) if self._is_of_photographs(view) else None
        belief_c = view.probabilities_c if known is None else known.belief_c
        chosen = best[int(np.argmax(two_step_gains(belief_c, best)))]
        choices = (*_offer_choices(chosen), DONT_KNOW)
        examples = _examples(choices, chosen, view)
        return Question(chosen.text, choices, self.name, _explain(chosen, view), chosen.attribute or None, examples)

    def options(self, view: Candidates, known: CandidatePredictions | None = None) -> list[Option]:
        """All that could be asked and was not, the most telling first; at equal gain columns first.

        `known`: what trained questions say of the candidates.
        """
        found = [*column_options(view)]
        holds_cl = None if view.lookup is None or known is not None else view.lookup.label_chances()
        if holds_cl is None:
            found += caption_options(view)
        elif self._is_of_photographs(view):
            found += photograph_options(view, holds_cl)
        if known is not None:
            from viewfinder.questioners.information_gain.trained_options import open_options, trained_options

            found += [*trained_options(known), *open_options(view, known)]
        elif holds_cl is None:
            found += tag_options(view, self.tags)
        return sorted(found, key=lambda option: (-round(option.gain, 2), ORDER.index(option.source), -option.gain))

    @staticmethod
    def _is_of_photographs(view: Candidates) -> bool:
        """Whether the likely pictures are photographs, not goods: no catalogue tells more of them than files do."""
        return not any(
            view.probabilities_c[codes_c >= 0].sum() >= HALF_KNOWN
            for name, (_, codes_c) in view.columns.items()
            if name not in FILE_FACTS | DATES | view.file_columns and not is_record_column(name)
        )

    def _may_ask(
        self,
        option: Option,
        view: Candidates,
        so_far: ConversationSoFar,
        known: CandidatePredictions | None,
    ) -> bool:
        """Whether the conversation leaves it open: mentions neither topic nor value, and did not ask or answer it."""
        if option.source == "column":
            values = view.columns[option.attribute][0]
            groups = [group for group in (self.tags.groups if self.tags else ()) if shares_vocabulary(group, values)]
            return not is_column_mentioned(option.attribute, view, so_far.said) and not any(
                is_group_mentioned(group, so_far.said) for group in groups
            )
        if option.source == "photograph":
            return True  # closed facets are no options
        if option.source == "tag":
            assert self.tags is not None
            return not is_group_mentioned(self.tags.group(option.attribute), so_far.said)
        if not so_far.is_new(option.text):
            return False
        # A trained question may ask in other words for what was asked.
        if option.source != "trained" or known is None:
            return True
        from viewfinder.questioners.information_gain.trained_options import explained_share

        return explained_share(option.table(), known.asked_ca) < ECHO


def _offer_choices(option: Option) -> tuple[str, ...]:
    """The likeliest answers first (ranges in their order), the rare ones folded into "something else"."""
    if option.choices is not None:
        return option.choices
    if option.source == "trained":
        return tuple(choice for choice in find_choices(option.text) if choice != DONT_KNOW)
    if option.ordered or is_yes_or_no(option.labels):
        return option.labels
    order = np.argsort(-option.share_a, kind="stable")
    frequent = [int(a) for a in order if option.share_a[a] >= RARE]
    kept = frequent if len(frequent) > 1 else [int(a) for a in order[:2]]
    if len(kept) == len(option.labels) <= MAX_CHOICES:
        return tuple(option.labels[a] for a in kept)
    named = (option.labels[a] for a in kept[: MAX_CHOICES - 1])
    return (*(label for label in named if label != SOMETHING_ELSE), SOMETHING_ELSE)


def _examples(choices: Sequence[str], option: Option, view: Candidates) -> tuple[str, ...]:
    """For each choice the id of a likely picture that would be answered with it; "" for those without a column."""
    if view.lookup is None or not set(option.labels) & set(choices):
        return ()
    ids, table_ca, taken = view.lookup.ids(), option.table(), set[int]()
    found = []
    for choice in choices:
        if choice not in option.labels or choice == SOMETHING_ELSE:
            found.append("")
            continue
        # Surely this answer first, and likely to be meant second.
        fit_c = table_ca[:, option.labels.index(choice)] ** 2 * np.sqrt(view.probabilities_c)
        best = next(int(c) for c in np.argsort(-fit_c, kind="stable") if len(taken) == len(ids) or int(c) not in taken)
        taken.add(best)
        found.append(ids[best])
    return tuple(found)


def _explain(option: Option, view: Candidates) -> str:
    """The expected effect of the question, in words."""
    reached = np.cumsum(np.sort(view.probabilities_c)[::-1])
    likeliest = min(int(np.searchsorted(reached, LIKELY * reached[-1])) + 1, len(reached))
    share_a = option.share_a / option.share_a.sum()
    groups = max(round(float(2 ** entropy_bits(share_a))), 2)
    return (
        f"splits the {likeliest:,} likeliest pictures into about {groups} groups; "
        f"expected to take {option.gain:.1f} bits off {float(entropy_bits(view.probabilities_c)):.1f}"
    )


# -- what the catalogue can be asked for

MAX_VALUES_TO_NAME = 12
MAX_VALUE_LENGTH = 32
MAX_WORDS = 3.5
UNKNOWN = frozenset({"", "na", "n/a", "nan", "none", "null", "unknown", "-", "--", "?"})


@dataclass(frozen=True, eq=False)
class ColumnSplit:
    """The answers a column has among the candidates, and which each candidate has (-1: not known).

    `ordered` says that the labels are ranges, to be shown in their own order.
    """

    labels: tuple[str, ...]
    codes_c: Int[np.ndarray, " c"]
    ordered: bool = False


def split_column(name: str, column: Column, probabilities_c: Float[np.ndarray, " c"]) -> ColumnSplit | None:
    """How a column splits the candidates; None when it is not worth asking for.

    Not worth it: ids, file names and descriptions (by name, or by having nearly as many values as candidates,
    or by long values), and columns with fewer than two values among the candidates. Many numbers become
    ranges.
    """
    if is_record_column(name):
        return None
    # The values that some candidate has, recoded from 0; words for "not known" become -1.
    names, raw_c = column
    kept = [int(code) for code in np.unique(raw_c) if code >= 0 and names[code].strip().casefold() not in UNKNOWN]
    recoded = np.full(len(names) + 1, -1, np.int64)
    recoded[kept] = np.arange(len(kept))
    values, codes_c = tuple(names[code] for code in kept), recoded[raw_c]
    known = int((codes_c >= 0).sum())
    if len(values) < 2:
        return None
    if len(values) > MAX_VALUES_TO_NAME:
        numbers = [parse_number(value) for value in values]
        if None not in numbers:
            if len(values) > 0.9 * known and stem(column_head(name)) not in AMOUNTS:
                return None
            return _split_numbers(np.array(numbers, np.float64), codes_c, probabilities_c)
        if len(values) > 0.5 * known:
            return None
    is_free_text = (
        np.mean([value.count(" ") + 1 for value in values]) > MAX_WORDS
        or np.mean([len(value) for value in values]) > MAX_VALUE_LENGTH
    )
    return None if is_free_text else ColumnSplit(values, codes_c)


def column_dependence(codes_c: Int[np.ndarray, " c"], given_c: Int[np.ndarray, " c"]) -> float:
    """How far one column follows from another: of the pairs alike in `given_c`, the share alike in `codes_c`.

    A sub category follows from the article type, not the other way round. 0 when no two are alike.

    >>> article, category = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1, 1])
    >>> column_dependence(category, article), column_dependence(article, category)
    (1.0, 0.42857142857142855)
    """
    both_c = (codes_c >= 0) & (given_c >= 0)
    if not both_c.any():
        return 0.0
    width = int(codes_c.max()) + 1
    joint_gv = np.bincount(given_c[both_c].astype(np.int64) * width + codes_c[both_c])
    given_g = np.bincount(given_c[both_c])
    pairs = float((given_g * (given_g - 1)).sum())
    return float((joint_gv * (joint_gv - 1)).sum()) / pairs if pairs else 0.0


def _split_numbers(
    numbers_v: Float[np.ndarray, " v"], codes_c: Int[np.ndarray, " c"], probabilities_c: Float[np.ndarray, " c"]
) -> ColumnSplit | None:
    """Four ranges of about equal probability, with limits of two significant digits; fewer where limits coincide."""
    known_c = codes_c >= 0
    numbers_k = numbers_v[codes_c[known_c]]
    order = np.argsort(numbers_k, kind="stable")
    reached_k = np.cumsum(probabilities_c[known_c][order])
    if reached_k[-1] <= 0:
        return None
    # Just above a quarter: where it is reached exactly, the next number starts the next range.
    quarters = reached_k[-1] * np.array([0.25, 0.5, 0.75]) + 1e-9
    at = np.searchsorted(reached_k, quarters, side="right").clip(max=len(order) - 1)
    are_whole = bool((numbers_v == np.round(numbers_v)).all())
    are_years = are_whole and bool(((numbers_v >= 1000) & (numbers_v <= 2200)).all())
    limits = [float(x) if are_years else float(f"{x:.1e}") for x in numbers_k[order][at]]
    edges = [edge for edge in sorted(set(limits)) if numbers_k.min() < edge <= numbers_k.max()]
    if not edges:
        return None
    ranges_c = np.full(len(codes_c), -1, np.int64)
    ranges_c[known_c] = np.searchsorted(edges, numbers_k, side="right")
    whole = are_whole and all(edge == round(edge) for edge in edges)
    return ColumnSplit(_name_ranges(edges, whole=whole, years=are_years), ranges_c, ordered=True)


def _name_ranges(edges: Sequence[float], *, whole: bool, years: bool) -> tuple[str, ...]:
    """Texts that `wording.numbers.is_in_range` reads back: [edge, next edge) each."""

    def text(number: float) -> str:
        return f"{number:.0f}" if years else f"{number:,.0f}" if number == round(number) else f"{number:.10g}"

    inner = [
        (text(a) if a == b - 1 and years else f"{text(a)} to {text(b - 1)}") if whole else f"{text(a)} up to {text(b)}"
        for a, b in pairwise(edges)
    ]
    first = f"before {text(edges[0])}" if years else f"under {text(edges[0])}"
    last = f"{text(edges[-1])} or later" if years else f"{text(edges[-1])} or more"
    return (first, *inner, last)


def column_options(view: Candidates) -> Iterator[Option]:
    """An option for each column that is worth asking for, and was neither asked nor settled."""
    asked = (question.attribute for question in view.asked if question.attribute is not None)
    done = [*asked, *view.settled]
    for name, column in view.columns.items():
        if any(is_same_topic(name, other) for other in done):
            continue
        split = split_column(name, column, view.probabilities_c)
        if split is None:
            continue
        share_v = code_shares(view.probabilities_c, split.codes_c, len(split.labels))
        if column_head(name) in DATES and share_v.sum() < HALF_KNOWN:
            continue
        can_tell = CAN_TELL.get(column_head(name), 1.0)
        if name in view.file_columns:
            can_tell = min(can_tell, CAN_TELL_OF_FILES.get(name, 1.0))
        gain = can_tell * known_answers_gain(share_v, unknown=max(1.0 - float(share_v.sum()), 0.0))
        yield Option(
            "column", write_column_question(name, split.labels), split.labels, share_v, gain,
            partial(known_answers_table, split), attribute=name, can_tell=can_tell, ordered=split.ordered,
        )  # fmt: skip


def known_answers_table(split: ColumnSplit, error: float = ERROR) -> Float[np.ndarray, "c a"]:
    """P(answer | candidate): its value, or with probability `error` another; any if it has none."""
    count = len(split.labels)
    answer_ca = np.full((len(split.codes_c), count), error / max(count - 1, 1))
    known_k = np.flatnonzero(split.codes_c >= 0)
    answer_ca[known_k, split.codes_c[known_k]] = 1 - error
    answer_ca[split.codes_c < 0] = 1 / count
    return answer_ca


def is_column_mentioned(name: str, view: Candidates, said: PhraseIndex) -> bool:
    """Whether a column or one of its values was said, or what it follows from was said or settled: heels are shoes.

    Columns that files fill are the other way round: only a user who speaks of folders may be asked which.
    """
    if name in FILE_FACTS and not said.contains(name):
        return True
    if name not in FILE_FACTS and said.contains(" ".join(column_words(name))):
        return True
    if column_head(name) in COLUMN_QUESTIONS and said.contains(column_head(name)):
        return True
    values, codes_c = view.columns[name]
    if any(said.contains(value) for value in values):
        return True
    unanswered = _list_unanswered(view)
    return any(
        column_dependence(codes_c, given_c) >= IMPLIED
        for other, (given, given_c) in view.columns.items()
        if other != name and not is_record_column(other)
        if any(is_same_topic(other, done) for done in view.settled - unanswered)
        or (len(given) <= MAX_VALUES_SEARCHED and any(said.contains(value) for value in given))
    )


def _list_unanswered(view: Candidates) -> frozenset[str]:
    """The attributes of questions to which none of the choices was the answer: from these nothing follows."""
    return frozenset(
        turn.question.attribute
        for turn in view.turns
        if isinstance(turn, Answer) and turn.question.attribute and turn.text.casefold() in NO_VALUES
    )


# -- what zero-shot tags can be asked for


def tag_options(view: Candidates, tags: TagVectors | None) -> Iterator[Option]:
    """An option for each tag group that is still open and on whose topic no column knows better."""
    if tags is None:
        return
    asked = (question.attribute or "" for question in view.asked)
    known = (
        name
        for name, (_, codes_c) in view.columns.items()
        if not is_record_column(name) and view.probabilities_c[codes_c >= 0].sum() >= HALF_KNOWN
    )
    taken = [name for name in (*view.settled, *asked, *known) if name]
    still_open = [
        group
        for group in tags.groups
        # A group whose name is a column's would make an answer ambiguous, however little the column knows.
        if group.name not in view.columns
        and not any(is_same_topic(group.name, name) or column_head(name) in group.topics for name in taken)
    ]
    if not still_open:
        return
    probability = tags.probabilities(view.vectors_cd)
    for group in still_open:
        tag_ct = probability[group.name].astype(np.float64)
        answer_ca = np.column_stack([tag_ct, np.maximum(1 - tag_ct.sum(axis=1), 0)])
        yield guessed_option(
            "tag", group.question, group.answers, view.probabilities_c, answer_ca, attribute=group.name
        )


def is_group_mentioned(group: TagGroup, said: PhraseIndex) -> bool:
    """Whether the conversation mentions the group's topic or one of its tags."""
    return said.contains(group.name) or any(said.contains(word) for tag in group.tags for word in (tag.name, *tag.also))


def shares_vocabulary(group: TagGroup, values: Sequence[str]) -> bool:
    """Whether a column's values are the group's tags by other means: colours are, article types are not."""
    folded = {value.casefold() for value in values}
    return 2 * sum(tag.name in folded for tag in group.tags) >= len(group.tags)
