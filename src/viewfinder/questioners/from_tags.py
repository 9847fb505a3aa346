"""What zero-shot tags can be asked for: an attribute that is only guessed from the pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from viewfinder.encoders.tags import TagGroup, TagVectors
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.entropy import guessed_answers_gain
from viewfinder.questioners.from_columns import known_columns
from viewfinder.questioners.options import InformationGainSettings, Option, add_errors
from viewfinder.questioners.said import PhraseIndex
from viewfinder.questioners.wording import column_head, is_same_topic


def tag_options(view: Candidates, tags: TagVectors | None, settings: InformationGainSettings) -> Iterator[Option]:
    """An option for each tag group that is still open and on whose topic no column knows better."""
    if tags is None:
        return
    asked = (question.attribute or "" for question in view.asked)
    taken = [*view.settled, *asked, *known_columns(view, settings)]
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
        yield Option(
            "tag",
            group.question,
            group.answers,
            view.probabilities_c @ answer_ca,
            guessed_answers_gain(view.probabilities_c, answer_ca, error=settings.error),
            partial(add_errors, answer_ca, settings.error),
            attribute=group.name,
        )


def is_group_mentioned(group: TagGroup, said: PhraseIndex) -> bool:
    """Whether the talk mentions the group's topic or one of its tags."""
    return said.names(group.name) or any(said.names(word) for tag in group.tags for word in (tag.name, *tag.also))


def shares_vocabulary(group: TagGroup, values: Sequence[str]) -> bool:
    """Whether a column's values are the group's tags by other means: colours are, article types are not."""
    folded = {value.casefold() for value in values}
    return 2 * sum(tag.name in folded for tag in group.tags) >= len(group.tags)


def _on_topic(group: TagGroup, name: str) -> bool:
    return bool(name) and (is_same_topic(group.name, name) or column_head(name) in group.topics)
