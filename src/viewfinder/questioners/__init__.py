"""Questioners choose what to ask next: from `information_gain`, which needs nothing, to those of language models."""

from viewfinder.questioners.base import (
    Candidates,
    Column,
    Lookup,
    NoQuestions,
    PictureProjection,
    Questioner,
)
from viewfinder.questioners.names import (
    PLUGINS,
    QUESTIONERS,
    Fallback,
    QuestionerChoice,
    find_questioner,
    find_training_list,
    load_questioner,
)
from viewfinder.wording.statements import write_statement
from viewfinder.wording.values import find_values_meant

__all__ = [
    "PLUGINS",
    "QUESTIONERS",
    "Candidates",
    "Column",
    "Fallback",
    "Lookup",
    "NoQuestions",
    "PictureProjection",
    "Questioner",
    "QuestionerChoice",
    "find_questioner",
    "find_training_list",
    "find_values_meant",
    "load_questioner",
    "write_statement",
]
