"""Ask what is expected to narrow the candidates most; needs no language model.

Options are gathered from all that is known of the candidates: catalogue columns, captions, learnt questions whose
answers are foretold, and zero-shot tags where nothing was learnt. Each has a table, P(answer | candidate), and so a
gain: the entropy that an answer is expected to take off, wrong answers and "don't know" included. The best few are
weighed with the best question after each answer (`look_ahead.two_steps`). With `Settings.tried` above 1 the best of
these are tried on the retriever, too (`look_ahead.used_by_retriever`): an answer that it cannot use is worth nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from jaxtyping import Float

from viewfinder.conversation import Question
from viewfinder.encoders.tags import TagGroup, TagVectors
from viewfinder.errors import EncoderMismatch
from viewfinder.questioners.answers import DONT_KNOW, SOMETHING_ELSE, PhraseIndex, find_choices
from viewfinder.questioners.askable import is_new_question
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
from viewfinder.questioners.information_gain.gains import (
    DEFAULTS,
    InformationGainSettings,
    Option,
    entropy_bits,
    two_step_gains,
    used_by_retriever,
)
from viewfinder.questioners.information_gain.trained_options import (
    CandidatePredictions,
    believe_open_answers,
    explained_share,
    find_asked_thing,
    has_listed_things,
    open_options,
    predict_candidates,
    trained_options,
)
from viewfinder.questioners.trained import TrainedQuestions, load_trained_questions, shipped

ORDER = ("column", "caption", "trained", "open", "tag")
"""At equal gain what is known comes before what is guessed."""


@dataclass(frozen=True, eq=False)
class InformationGain:
    """The questioner; without anything it asks for catalogue columns and captions only.

    Attributes:
        tags: zero-shot tags, asked for where no learnt question can be.
        trained: learnt questions.
        must_fit: whether learnt questions that were trained for other vectors are an error, or are left out.
    """

    tags: TagVectors | None = None
    settings: InformationGainSettings = DEFAULTS
    name: str = "information_gain"
    trained: TrainedQuestions | None = None
    must_fit: bool = True

    @staticmethod
    def of(source: str, tags: TagVectors | None = None) -> InformationGain:
        """The questioner with the learnt questions of a file, or (source "") those that come with the package, if any.

        Raises:
            BadInput: as `trained.load`.
        """
        learnt = load_trained_questions(source) if source else shipped()
        return InformationGain(tags, trained=learnt, must_fit=bool(source))

    def ask(self, view: Candidates) -> Question | None:
        """The question that is worth most, or None.

        None when one candidate is left, or no open question is worth `settings.least_gain` bits.

        Raises:
            EncoderMismatch: learnt questions that were named do not fit this collection's vectors.
        """
        if np.count_nonzero(view.probabilities_c) < 2:
            return None
        known = self._foreknown(view)
        said = PhraseIndex(view.said)
        options = (
            option
            for option in self._options(view, known)
            if option.gain > self.settings.least_gain
            and not self._is_said(option, view, said)
            and not self._is_echo(option, known)
        )
        best = [*islice(options, self.settings.weighed)]
        if not best:
            return None
        return self._question(self._chosen(best, view, view.probabilities_c if known is None else known.belief_c), view)

    def options(self, view: Candidates) -> list[Option]:
        """All that could be asked and was not, the most telling first; at equal gain columns first."""
        return self._options(view, self._foreknown(view))

    def _options(self, view: Candidates, known: CandidatePredictions | None) -> list[Option]:
        found = [*column_options(view, self.settings), *caption_options(view, self.settings)]
        if known is None:
            found += tag_options(view, self.tags, self.settings)
        else:
            listed = has_listed_things(view)
            learnt = trained_options(known, self.settings)
            found += (option for option in learnt if not (listed and find_asked_thing(option.text)))
            found += open_options(view, known)
        return sorted(found, key=lambda option: (-round(option.gain, 2), ORDER.index(option.source), -option.gain))

    def _foreknown(self, view: Candidates) -> CandidatePredictions | None:
        if self.trained is None:
            return None
        try:
            known = predict_candidates(view, self.trained)
        except EncoderMismatch:
            if self.must_fit:
                raise
            return None
        return None if known is None else believe_open_answers(view, known)

    def _chosen(self, best: Sequence[Option], view: Candidates, belief_c: Float[np.ndarray, " c"]) -> Option:
        """The option with the most bits over two steps; the best few by what the retriever would use of them.

        Of what the second question tells it will use as much as of the first ones tried, on average.
        """
        worth_q = two_step_gains(belief_c, best, self.settings.goes_on)
        tried: list[int] = np.argsort(-worth_q, kind="stable")[: self.settings.tried].tolist()
        if view.lookup is None or len(tried) < 2:
            return best[tried[0]]
        replies = self.settings.replies
        used = {q: used_by_retriever(belief_c, best[q], self._question(best[q], view), view, replies) for q in tried}
        later = float(np.mean([*used.values()]))
        bits = {q: used[q] * best[q].gain + later * float(worth_q[q] - best[q].gain) for q in tried}
        return best[max(tried, key=lambda q: bits[q])]

    def _groups(self) -> tuple[TagGroup, ...]:
        return self.tags.groups if self.tags else ()

    def _is_said(self, option: Option, view: Candidates, said: PhraseIndex) -> bool:
        """Whether the talk mentions the attribute or one of its values, or asked or told this already."""
        match option.source:
            case "tag":
                assert self.tags is not None
                return is_group_mentioned(self.tags.group(option.attribute), said)
            case "column":
                values = view.columns[option.attribute][0]
                groups = (group for group in self._groups() if shares_vocabulary(group, values))
                return is_column_mentioned(option.attribute, view, said, self.settings) or any(
                    is_group_mentioned(group, said) for group in groups
                )
            case _:
                return not is_new_question(option.text, view)

    def _is_echo(self, option: Option, known: CandidatePredictions | None) -> bool:
        """Whether it asks in other words for what was asked."""
        if known is None or option.source != "trained":
            return False
        return explained_share(option.table(), known.asked_ca) >= self.settings.echo

    def _question(self, option: Option, view: Candidates) -> Question:
        return Question(
            text=option.text,
            choices=(*_choices(option, self.settings), DONT_KNOW),
            by=self.name,
            why=_why(option, view, self.settings),
            attribute=option.attribute or None,
        )


def _choices(option: Option, settings: InformationGainSettings) -> tuple[str, ...]:
    """The likeliest answers first (ranges in their order), the rare ones folded into "something else"."""
    if option.choices is not None:
        return option.choices
    if option.source == "trained":
        return tuple(choice for choice in find_choices(option.text) if choice != DONT_KNOW)
    if option.ordered or is_yes_or_no(option.labels):
        return option.labels
    order = np.argsort(-option.share_a, kind="stable")
    frequent = [int(a) for a in order if option.share_a[a] >= settings.rare]
    kept = frequent if len(frequent) > 1 else [int(a) for a in order[:2]]
    if len(kept) == len(option.labels) <= settings.most_choices:
        return tuple(option.labels[a] for a in kept)
    named = (option.labels[a] for a in kept[: settings.most_choices - 1])
    return (*(label for label in named if label != SOMETHING_ELSE), SOMETHING_ELSE)


def _why(option: Option, view: Candidates, settings: InformationGainSettings) -> str:
    """What the question is expected to do, in words."""
    reached = np.cumsum(np.sort(view.probabilities_c)[::-1])
    likeliest = min(int(np.searchsorted(reached, settings.likely * reached[-1])) + 1, len(reached))
    share_a = option.share_a / option.share_a.sum()
    groups = max(round(float(2 ** entropy_bits(share_a))), 2)
    return (
        f"splits the {likeliest:,} likeliest pictures into about {groups} groups; "
        f"expected to take {option.gain:.1f} bits off {float(entropy_bits(view.probabilities_c)):.1f}"
    )
