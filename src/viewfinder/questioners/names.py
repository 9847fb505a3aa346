"""Questioners by name: "NAME", or "NAME=SOURCE" with the file, folder or address that it works with.

Nothing heavy is imported before a questioner is asked for, and a language model loads in the background, so that
trying a name costs next to nothing. Where a language model has no question that will do, `Fallback` lets
`information_gain` ask, so that no conversation stalls.

`InformationGain` needs no language model: it asks what is expected to narrow the candidates most. Options are gathered
from all that is known of them: catalogue columns, facets of photographs, or where those are not predicted captions and
zero-shot tags; trained questions, where some are given, in place of facets and tags. Each has a table, P(answer |
candidate), and so a gain: the entropy that an answer is expected to take off, wrong answers and "don't know" included.
Of the best few the one is asked that tells most together with the best question after each of its answers
(`gains.two_step_gains`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from viewfinder.conversation import DONT_KNOW, SOMETHING_ELSE, Question
from viewfinder.encoders.tags import TagVectors
from viewfinder.errors import BadInput, ViewfinderError
from viewfinder.plugins import Plugins, label_part
from viewfinder.questioners.answers import find_choices
from viewfinder.questioners.base import Candidates, NoQuestions, Questioner, prepare_questioner
from viewfinder.questioners.information_gain import column_options, trained_options
from viewfinder.questioners.information_gain.caption_options import caption_options
from viewfinder.questioners.information_gain.gains import LEAST_GAIN, Option, entropy_bits, two_step_gains
from viewfinder.questioners.information_gain.trained_options import CandidatePredictions, predict_candidates
from viewfinder.questioners.photographs import open_question, photograph_options
from viewfinder.questioners.said import ConversationSoFar
from viewfinder.questioners.trained import TrainedQuestions, load_trained_questions

ORDER = ("column", "caption", "trained", "open", "photograph", "tag")
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
    """The questioner; without anything it asks for catalogue columns and captions only."""

    tags: TagVectors | None = None  # zero-shot tags, asked for where no trained question can be
    trained: TrainedQuestions | None = None  # trained questions
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
        least_gain = LEAST_GAIN if known is None else trained_options.LEAST_TRAINED_GAIN
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
        found = [*column_options.column_options(view)]
        holds_cl = None if view.lookup is None or known is not None else view.lookup.label_chances()
        if holds_cl is None:
            found += caption_options(view)
        elif self._is_of_photographs(view):
            found += photograph_options(view, holds_cl)
        if known is not None:
            found += [*trained_options.trained_options(known), *trained_options.open_options(view, known)]
        elif holds_cl is None:
            found += column_options.tag_options(view, self.tags)
        return sorted(found, key=lambda option: (-round(option.gain, 2), ORDER.index(option.source), -option.gain))

    @staticmethod
    def _is_of_photographs(view: Candidates) -> bool:
        """Whether the likely pictures are no goods: no catalogue says more of them than their files do."""
        return not any(
            view.probabilities_c[codes_c >= 0].sum() >= column_options.HALF_KNOWN
            for name, (_, codes_c) in view.columns.items()
            if name not in column_options.FILE_FACTS | column_options.DATES
            and not column_options.is_record_column(name)
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
            groups = [
                group
                for group in (self.tags.groups if self.tags else ())
                if column_options.shares_vocabulary(group, values)
            ]
            return not column_options.is_column_mentioned(option.attribute, view, so_far.said) and not any(
                column_options.is_group_mentioned(group, so_far.said) for group in groups
            )
        if option.source == "photograph":
            return True  # closed facets are no options
        if option.source == "tag":
            assert self.tags is not None
            return not column_options.is_group_mentioned(self.tags.group(option.attribute), so_far.said)
        if not so_far.is_new(option.text):
            return False
        # A trained question may ask in other words for what was asked.
        return (
            option.source != "trained"
            or known is None
            or trained_options.explained_share(option.table(), known.asked_ca) < ECHO
        )


def _offer_choices(option: Option) -> tuple[str, ...]:
    """The likeliest answers first (ranges in their order), the rare ones folded into "something else"."""
    if option.choices is not None:
        return option.choices
    if option.source == "trained":
        return tuple(choice for choice in find_choices(option.text) if choice != DONT_KNOW)
    if option.ordered or column_options.is_yes_or_no(option.labels):
        return option.labels
    order = np.argsort(-option.share_a, kind="stable")
    frequent = [int(a) for a in order if option.share_a[a] >= RARE]
    kept = frequent if len(frequent) > 1 else [int(a) for a in order[:2]]
    if len(kept) == len(option.labels) <= MOST_CHOICES:
        return tuple(option.labels[a] for a in kept)
    named = (option.labels[a] for a in kept[: MOST_CHOICES - 1])
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
    """What the question is expected to do, in words."""
    reached = np.cumsum(np.sort(view.probabilities_c)[::-1])
    likeliest = min(int(np.searchsorted(reached, LIKELY * reached[-1])) + 1, len(reached))
    share_a = option.share_a / option.share_a.sum()
    groups = max(round(float(2 ** entropy_bits(share_a))), 2)
    return (
        f"splits the {likeliest:,} likeliest pictures into about {groups} groups; "
        f"expected to take {option.gain:.1f} bits off {float(entropy_bits(view.probabilities_c)):.1f}"
    )


# -- by name

QuestionerFactory = Callable[[str, TagVectors | None], Questioner]
"""Makes a questioner of its source ("" where none is given) and the zero-shot tags of the collection, if any."""

MODEL_VARIABLE, QUESTIONS_VARIABLE = "VIEWFINDER_LANGUAGE_MODEL", "VIEWFINDER_QUESTIONS"
"""The environment variables that name a language model and a file of trained questions where nothing else does."""


QuestionerChoice = str | Questioner | Callable[..., Questioner] | None
"""A questioner by name, as an object, or its class; None: nobody."""


def find_questioner(choice: QuestionerChoice) -> Callable[[TagVectors | None], Questioner]:
    """What makes the questioner called "NAME" or "NAME=SOURCE" (None is "none"), given the tags of the collection.

    NAME is one of ours, of an installed package's, or `package.module:Class`; those are made of the source alone.

    Raises:
        UnknownName: no questioner is called that; the message lists those there are.
        BadInput: what another package brings cannot be imported, or is no questioner.
    """
    if not (choice is None or isinstance(choice, str)):
        return partial(_of_others, choice, label_part(choice), "")
    chosen, _, source = ("none" if choice is None else choice).partition("=")
    if chosen in QUESTIONERS:
        return partial(QUESTIONERS[chosen], source.strip())
    if (found := PLUGINS.find(chosen)) is None:
        PLUGINS.check_name(chosen, PLUGINS.names())
    return partial(_of_others, found, chosen, source.strip())


def load_questioner(choice: QuestionerChoice, *, tags: TagVectors | None = None) -> Questioner:
    """The questioner of this name (see `find_questioner`); `tags` let it ask what no catalogue says.

    Raises:
        UnknownName: there is none.
        BadInput: it needs a source and has none, or the source is not what it needs.
    """
    return find_questioner(choice)(tags)


# -- one factory a questioner


def _of_others(part: Any, name: str, source: str, tags: TagVectors | None) -> Questioner:
    made: Questioner = PLUGINS.make(part, name, *([source] if source else ()))
    return made


def _none(source: str, tags: TagVectors | None) -> Questioner:
    if source:
        raise BadInput(f"none={source}: the questioner none asks nothing and needs nothing; leave out what follows")
    return NoQuestions()


def _pool(source: str, tags: TagVectors | None) -> Questioner:
    from viewfinder.questioners.pool import REPEAT_SUFFIX, PoolQuestioner

    file = source or os.environ.get(QUESTIONS_VARIABLE, "").strip()
    if not file:
        raise BadInput(
            "the questioner pool needs trained questions: pool=FILE, which `viewfinder train questions` writes, "
            f"or set {QUESTIONS_VARIABLE}"
        )
    trained = load_trained_questions(file.removesuffix(REPEAT_SUFFIX))
    return PoolQuestioner(trained, may_repeat=file.endswith(REPEAT_SUFFIX))


def _of_model(name: str, source: str, tags: TagVectors | None) -> Questioner:
    """A questioner that works with a language model; where that asks nothing that will do, `information_gain` asks."""
    from viewfinder.language import load_language_model
    from viewfinder.questioners.llm import FewShotQuestioner, load_unanswered
    from viewfinder.questioners.plugir import PlugirQuestioner

    first: Questioner
    try:
        if name == "unanswered":
            from_file = "" if os.environ.get(MODEL_VARIABLE) else os.environ.get(QUESTIONS_VARIABLE, "").strip()
            first = load_unanswered(source or from_file)
        elif name == "plugir":
            first = PlugirQuestioner(load_language_model(source), tags)
        else:
            first = FewShotQuestioner(load_language_model(source))
    except BadInput as error:
        raise BadInput(f"the questioner {name} ({name}=SOURCE): {error}") from error
    return Fallback(first, InformationGain(tags), may_stop=name == "unanswered")


def _recorded(source: str, tags: TagVectors | None) -> Questioner:
    from viewfinder.questioners.pool import load_recorded

    if not source:
        raise BadInput(
            "the questioner recorded needs dialogues: recorded=FILE or recorded=FOLDER, as ChatIR releases them and "
            "`viewfinder dialogues` writes them"
        )
    return load_recorded(source)


QUESTIONERS: dict[str, QuestionerFactory] = {
    "information_gain": lambda source, tags: InformationGain(tags, load_trained_questions(source) if source else None),
    "llm": partial(_of_model, "llm"),
    "none": _none,
    "plugir": partial(_of_model, "plugir"),
    "pool": _pool,
    "recorded": _recorded,
    "unanswered": partial(_of_model, "unanswered"),
}
PLUGINS = Plugins("questioner", "viewfinder.questioners", Questioner, QUESTIONERS)


@dataclass(frozen=True)
class Fallback:
    """The questioner that asks what `first` asks, or else what `then` asks.

    The question then carries the name of `then` in `by`, and its `why` begins with what went wrong with `first`.

    Attributes:
        may_stop: leaves it to `first` to end the asking by having no question, and to ask what was said already.
    """

    first: Questioner  # asks unless it raises, repeats a question or has none
    then: Questioner  # asks instead
    may_stop: bool = False

    @property
    def name(self) -> str:
        """That of the first: the one that was chosen."""
        return self.first.name

    def ask(self, view: Candidates) -> Question | None:
        """The question of the first, or of the second, or None where neither has one."""
        try:
            question = self.first.ask(view)
        except ViewfinderError as error:
            return self._instead(view, f"failed ({error})")
        if self.may_stop:
            return question
        if question is None:
            return self._instead(view, "has nothing to ask")
        return question if ConversationSoFar.of(view).is_new(question.text) else self._instead(view, "repeats itself")

    def prepare(self) -> None:
        """Wait until both are ready."""
        prepare_questioner(self.first)
        prepare_questioner(self.then)

    def _instead(self, view: Candidates, wrong: str) -> Question | None:
        question = self.then.ask(view)
        if question is None:
            return None
        return replace(question, why=f"{self.name} {wrong}: asked by {self.then.name} instead; {question.why}")
