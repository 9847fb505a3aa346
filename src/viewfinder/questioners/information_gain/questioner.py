"""Ask what is expected to narrow the candidates most; needs no language model.

Options are gathered from all that is known of the candidates: catalogue columns, captions, trained questions whose
answers are predicted, and zero-shot tags where nothing was trained. Each has a table, P(answer | candidate), and so a
gain: the entropy that an answer is expected to take off, wrong answers and "don't know" included. Of the best few the
one is asked that tells most together with the best question after each of its answers (`gains.two_step_gains`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np

from viewfinder.conversation import Question
from viewfinder.encoders.tags import TagVectors
from viewfinder.questioners.answers import DONT_KNOW, SOMETHING_ELSE, find_choices
from viewfinder.questioners.askable import ConversationSoFar
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.information_gain.caption_options import caption_options
from viewfinder.questioners.information_gain.column_options import (
    column_options,
    is_column_mentioned,
    is_group_mentioned,
    is_yes_or_no,
    shares_vocabulary,
    tag_options,
)
from viewfinder.questioners.information_gain.gains import LEAST_GAIN, Option, entropy_bits, two_step_gains
from viewfinder.questioners.information_gain.trained_options import (
    CandidatePredictions,
    explained_share,
    find_asked_thing,
    has_listed_things,
    open_options,
    predict_candidates,
    trained_options,
)
from viewfinder.questioners.trained import TrainedQuestions

ORDER = ("column", "caption", "trained", "open", "tag")
"""At equal gain what is known comes before what is guessed."""

WEIGHED = 10
"""Options whose second step is looked at."""

ECHO = 0.95
"""The share of what is predicted of a question that follows from what was asked, from which on it is an echo."""

MOST_CHOICES = 6
"""Without "don't know"."""

RARE = 0.01
"""A choice with less probability is folded into "something else"."""

LIKELY = 0.9
""" "The 140 likeliest pictures" hold this much of the probability."""


@dataclass(frozen=True, eq=False)
class InformationGain:
    """The questioner; without anything it asks for catalogue columns and captions only.

    Attributes:
        tags: zero-shot tags, asked for where no trained question can be.
        trained: trained questions.
    """

    tags: TagVectors | None = None
    trained: TrainedQuestions | None = None
    name: str = "information_gain"

    def ask(self, view: Candidates) -> Question | None:
        """The question that is worth most; None when one candidate is left or none is worth `LEAST_GAIN` bits.

        Raises:
            EncoderMismatch: the trained questions do not fit this collection's vectors.
        """
        if np.count_nonzero(view.probabilities_c) < 2:
            return None
        known = None if self.trained is None else predict_candidates(view, self.trained)
        so_far = ConversationSoFar.of(view)
        worthwhile = (option for option in self._rank_options(view, known) if option.gain > LEAST_GAIN)
        may_ask = (option for option in worthwhile if self._may_ask(option, view, so_far, known))
        best = [*islice(may_ask, WEIGHED)]
        if not best:
            return None
        belief_c = view.probabilities_c if known is None else known.belief_c
        chosen = best[int(np.argmax(two_step_gains(belief_c, best)))]
        return Question(
            text=chosen.text,
            choices=(*_offer_choices(chosen), DONT_KNOW),
            by=self.name,
            why=_explain(chosen, view),
            attribute=chosen.attribute or None,
        )

    def options(self, view: Candidates) -> list[Option]:
        """All that could be asked and was not, the most telling first; at equal gain columns first."""
        return self._rank_options(view, None if self.trained is None else predict_candidates(view, self.trained))

    def _rank_options(self, view: Candidates, known: CandidatePredictions | None) -> list[Option]:
        found = [*column_options(view), *caption_options(view)]
        if known is None:
            found += tag_options(view, self.tags)
        else:
            listed = has_listed_things(view)
            found += (option for option in trained_options(known) if not (listed and find_asked_thing(option.text)))
            found += open_options(view, known)
        return sorted(found, key=lambda option: (-round(option.gain, 2), ORDER.index(option.source), -option.gain))

    def _may_ask(
        self, option: Option, view: Candidates, so_far: ConversationSoFar, known: CandidatePredictions | None
    ) -> bool:
        """Whether the conversation leaves it open: mentions neither topic nor value, and did not ask or answer it."""
        if option.source == "column":
            values = view.columns[option.attribute][0]
            groups = [group for group in (self.tags.groups if self.tags else ()) if shares_vocabulary(group, values)]
            return not is_column_mentioned(option.attribute, view, so_far.said) and not any(
                is_group_mentioned(group, so_far.said) for group in groups
            )
        if option.source == "tag":
            assert self.tags is not None
            return not is_group_mentioned(self.tags.group(option.attribute), so_far.said)
        if not so_far.is_new(option.text):
            return False
        # A trained question may ask in other words for what was asked.
        return option.source != "trained" or known is None or explained_share(option.table(), known.asked_ca) < ECHO


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
    if len(kept) == len(option.labels) <= MOST_CHOICES:
        return tuple(option.labels[a] for a in kept)
    named = (option.labels[a] for a in kept[: MOST_CHOICES - 1])
    return (*(label for label in named if label != SOMETHING_ELSE), SOMETHING_ELSE)


def _explain(option: Option, view: Candidates) -> str:
    """What the question is expected to do, in words."""
    reached = np.cumsum(np.sort(view.probabilities_c)[::-1])
    likeliest = min(int(np.searchsorted(reached, LIKELY * reached[-1])) + 1, len(reached))
    share_a = option.share_a / option.share_a.sum()
    groups = max(round(float(2 ** entropy_bits(share_a))), 2)
    return (
        f"splits the {likeliest:,} likeliest pictures into about {groups} groups; "
        f"expected to take {option.gain:.1f} bits off {float(entropy_bits(view.probabilities_c)):.1f}"
    )
