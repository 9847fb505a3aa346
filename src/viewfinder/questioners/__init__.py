"""What to ask next: questioners by name, from `information_gain`, which needs nothing, to those of language models."""

from viewfinder.conversation import DONT_KNOW, SOMETHING_ELSE
from viewfinder.questioners.answers import find_values_meant
from viewfinder.questioners.base import (
    Candidates,
    Column,
    LoadsFirst,
    Lookup,
    NoQuestions,
    PictureProjection,
    Questioner,
    prepare_questioner,
)
from viewfinder.questioners.names import (
    PLUGINS,
    QUESTIONERS,
    Fallback,
    InformationGain,
    QuestionerChoice,
    find_questioner,
    find_training_list,
    load_questioner,
)
from viewfinder.questioners.said import write_statement

__all__ = [
    "DONT_KNOW",
    "PLUGINS",
    "QUESTIONERS",
    "SOMETHING_ELSE",
    "Candidates",
    "Column",
    "Fallback",
    "InformationGain",
    "LoadsFirst",
    "Lookup",
    "NoQuestions",
    "PictureProjection",
    "Questioner",
    "QuestionerChoice",
    "find_questioner",
    "find_training_list",
    "find_values_meant",
    "load_questioner",
    "prepare_questioner",
    "write_statement",
]
