"""What the catalogue can be asked for: a column's values as answers, known but for a small error."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from jaxtyping import Float

from viewfinder.questioners.base import Candidates
from viewfinder.questioners.columns import ColumnSplit, column_dependence, split_column
from viewfinder.questioners.entropy import code_shares, known_answers_gain
from viewfinder.questioners.options import InformationGainSettings, Option
from viewfinder.questioners.said import PhraseIndex
from viewfinder.questioners.wording import (
    COLUMN_QUESTIONS,
    chance_to_tell,
    column_head,
    column_words,
    is_record_column,
    is_same_topic,
    write_column_question,
)


def column_options(view: Candidates, settings: InformationGainSettings) -> Iterator[Option]:
    """An option for each column that is worth asking for and still open."""
    for name, column in view.columns.items():
        if not _is_open(name, view):
            continue
        split = split_column(name, column, view.probabilities_c)
        if split is not None:
            yield _option(name, split, view, settings)


def _option(name: str, split: ColumnSplit, view: Candidates, settings: InformationGainSettings) -> Option:
    share_v = code_shares(view.probabilities_c, split.codes_c, len(split.labels))
    unknown = max(1.0 - float(share_v.sum()), 0.0)
    return Option(
        "column",
        write_column_question(name, split.labels),
        split.labels,
        share_v,
        chance_to_tell(name) * known_answers_gain(share_v, unknown=unknown, error=settings.error),
        partial(known_answers_table, split, settings.error),
        attribute=name,
        can_tell=chance_to_tell(name),
        ordered=split.ordered,
    )


def known_answers_table(split: ColumnSplit, error: float) -> Float[np.ndarray, "c a"]:
    """What each candidate is answered with: its value, or with probability `error` another; any if it has none."""
    count = len(split.labels)
    answer_ca = np.full((len(split.codes_c), count), error / max(count - 1, 1))
    known_k = np.flatnonzero(split.codes_c >= 0)
    answer_ca[known_k, split.codes_c[known_k]] = 1 - error
    answer_ca[split.codes_c < 0] = 1 / count
    return answer_ca


def is_column_mentioned(name: str, view: Candidates, said: PhraseIndex, settings: InformationGainSettings) -> bool:
    """Whether the talk mentions a column or one of its values, or what it follows from."""
    return (
        _attribute_is_said(name, said)
        or any(said.names(value) for value in view.columns[name][0])
        or _is_implied(name, view, said, settings)
    )


def known_columns(view: Candidates, settings: InformationGainSettings) -> list[str]:
    """Columns that speak of most candidates, whether or not they split them."""
    return [
        name
        for name, (_, codes_c) in view.columns.items()
        if not is_record_column(name) and view.probabilities_c[codes_c >= 0].sum() >= settings.half_known
    ]


def _is_implied(attribute: str, view: Candidates, said: PhraseIndex, settings: InformationGainSettings) -> bool:
    """Whether a column follows from one that is settled or said: heels are shoes."""
    codes_c = view.columns[attribute][1]
    return any(
        column_dependence(codes_c, given_c) >= settings.implied
        for name, (values, given_c) in view.columns.items()
        if name != attribute and len(values) <= settings.most_values_heard and not is_record_column(name)
        if _is_settled(name, view) or any(said.names(value) for value in values)
    )


def _is_open(name: str, view: Candidates) -> bool:
    asked = (question.attribute for question in view.asked if question.attribute is not None)
    return not any(is_same_topic(name, done) for done in (*asked, *view.settled))


def _is_settled(name: str, view: Candidates) -> bool:
    return any(is_same_topic(name, done) for done in view.settled)


def _attribute_is_said(name: str, said: PhraseIndex) -> bool:
    return said.names(" ".join(column_words(name))) or (
        column_head(name) in COLUMN_QUESTIONS and said.names(column_head(name))
    )
