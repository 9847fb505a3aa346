"""Questioners by name: "NAME", or "NAME=SOURCE" with the file, folder or address that it works with.

Nothing heavy is imported before a questioner is asked for, and a language model loads in the background, so that
trying a name costs next to nothing. Where a language model has no question that will do, `Fallback` lets
`information_gain` ask, so that no conversation stalls.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from viewfinder.conversation import Question
from viewfinder.encoders.tags import TagVectors
from viewfinder.errors import BadInput, ViewfinderError
from viewfinder.plugins import Plugins, label_part
from viewfinder.questioners.base import Candidates, NoQuestions, Questioner, check_question, prepare_questioner
from viewfinder.questioners.so_far import ConversationSoFar
from viewfinder.weights import join_lists

QuestionerFactory = Callable[[str, TagVectors | None], Questioner]
"""Makes a questioner of its source ("" where none is given) and the zero-shot tags of the collection, if any."""

MODEL_VARIABLE, QUESTIONS_VARIABLE = "VIEWFINDER_LANGUAGE_MODEL", "VIEWFINDER_QUESTIONS"
"""The environment variables that name a language model and a file of trained questions where nothing else does."""


QuestionerChoice = str | Questioner | Callable[..., Questioner] | None
"""A questioner by name, as an object, or its class; None: no questions."""


def find_questioner(choice: QuestionerChoice) -> Callable[[TagVectors | None], Questioner]:
    """The factory of the questioner called "NAME" or "NAME=SOURCE" (None is "none"); it takes the collection's tags.

    NAME is one of ours, of an installed package's, or `package.module:Class`; those are made of the source alone.

    Raises:
        UnknownName: no questioner is called that; the message lists those there are.
        BadInput: what another package brings cannot be imported, or is no questioner.
    """
    if not (choice is None or isinstance(choice, str)):
        return partial(_make_plugin, choice, label_part(choice), "")
    chosen, _, source = ("none" if choice is None else choice).partition("=")
    if chosen in QUESTIONERS:
        return partial(QUESTIONERS[chosen], source.strip())
    if (found := PLUGINS.find(chosen)) is None:
        PLUGINS.check_name(chosen, PLUGINS.names())
    return partial(_make_plugin, found, chosen, source.strip())


def load_questioner(choice: QuestionerChoice, *, tags: TagVectors | None = None) -> Questioner:
    """The questioner of this name (see `find_questioner`); `tags` let it ask what no catalogue says.

    Raises:
        UnknownName: there is none.
        BadInput: it needs a source and has none, or the source is not what it needs.
    """
    return find_questioner(choice)(tags)


# -- one factory a questioner


def _make_plugin(part: Any, name: str, source: str, tags: TagVectors | None) -> Questioner:
    made: Questioner = PLUGINS.make(part, name, *([source] if source else ()))
    return made


def _make_none(source: str, tags: TagVectors | None) -> Questioner:
    if source:
        raise BadInput(f"none={source}: the questioner none asks nothing and needs nothing; leave out what follows")
    return NoQuestions()


def _make_information_gain(source: str, tags: TagVectors | None) -> Questioner:
    from viewfinder.questioners.information_gain.questioner import InformationGain

    if not source:
        return InformationGain(tags)
    from viewfinder.questioners.trained import load_trained_questions

    return InformationGain(tags, load_trained_questions(source))


def _make_pool(source: str, tags: TagVectors | None) -> Questioner:
    from viewfinder.questioners.pool import REPEAT_SUFFIX, PoolQuestioner
    from viewfinder.questioners.trained import load_trained_questions

    file = source or os.environ.get(QUESTIONS_VARIABLE, "").strip()
    if not file:
        raise BadInput(
            "the questioner pool needs trained questions: pool=FILE, which `viewfinder train questions` writes, "
            f"or set {QUESTIONS_VARIABLE}"
        )
    trained = load_trained_questions(file.removesuffix(REPEAT_SUFFIX))
    return PoolQuestioner(trained, may_repeat=file.endswith(REPEAT_SUFFIX))


def _make_with_model(name: str, source: str, tags: TagVectors | None) -> Questioner:
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
    return Fallback(first, _make_information_gain("", tags), may_stop=name == "unanswered")


def _make_recorded(source: str, tags: TagVectors | None) -> Questioner:
    from viewfinder.questioners.pool import load_recorded

    if not source:
        raise BadInput(
            "the questioner recorded needs dialogues: recorded=FILE or recorded=FOLDER, as ChatIR releases them and "
            "`viewfinder dialogues` writes them"
        )
    return load_recorded(source)


QUESTIONERS: dict[str, QuestionerFactory] = {
    "information_gain": _make_information_gain,
    "llm": partial(_make_with_model, "llm"),
    "none": _make_none,
    "plugir": partial(_make_with_model, "plugir"),
    "pool": _make_pool,
    "recorded": _make_recorded,
    "unanswered": partial(_make_with_model, "unanswered"),
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
        """The name of the first, which is the one that was chosen."""
        return self.first.name

    def ask(self, view: Candidates) -> Question | None:
        """The question of the first, or of the second, or None where neither has one."""
        try:
            question = check_question(self.first, self.first.ask(view))
        except ViewfinderError as error:
            return self._ask_second(view, f"failed ({error})")
        if self.may_stop:
            return question
        if question is None:
            return self._ask_second(view, "has nothing to ask")
        is_new = ConversationSoFar.of(view).is_new(question.text)
        return question if is_new else self._ask_second(view, "repeats itself")

    def prepare(self) -> None:
        """Wait until both are ready."""
        prepare_questioner(self.first)
        prepare_questioner(self.then)

    def _ask_second(self, view: Candidates, wrong: str) -> Question | None:
        question = self.then.ask(view)
        if question is None:
            return None
        return replace(question, why=f"{self.name} {wrong}: asked by {self.then.name} instead; {question.why}")


def find_training_list(questioner: Questioner, raw_version: str) -> str | None:
    """The list of the pictures that a questioner was trained on (`TrainingList.encode`), asking about pictures with
    such raw vectors; "": unknown, None: it was not trained."""
    if isinstance(questioner, Fallback):
        return join_lists(*(find_training_list(one, raw_version) for one in (questioner.first, questioner.then)))
    from viewfinder.questioners.information_gain.questioner import InformationGain
    from viewfinder.questioners.photographs import photograph_labels

    if isinstance(questioner, InformationGain) and questioner.trained is None:
        labels = photograph_labels()
        return labels.trained_on if raw_version == labels.raw_version else None
    listed: str | None = getattr(questioner, "trained_on", None)
    return listed
