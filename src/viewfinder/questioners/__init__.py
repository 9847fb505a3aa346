"""What to ask next: questioners by name, from `information_gain`, which needs nothing, to those of language models."""

from viewfinder.questioners.answers import DONT_KNOW, SOMETHING_ELSE, find_values_meant
from viewfinder.questioners.base import Candidates, Column, Lookup, NoQuestions, PictureProjection, Questioner
from viewfinder.questioners.fallback import Fallback, LoadsFirst, prepare_questioner
from viewfinder.questioners.information_gain import InformationGain
from viewfinder.questioners.names import QUESTIONERS, is_plain, load_questioner, questioner_names
from viewfinder.questioners.statements import write_statement

__all__ = [
    "DONT_KNOW",
    "QUESTIONERS",
    "SOMETHING_ELSE",
    "Candidates",
    "Column",
    "Fallback",
    "InformationGain",
    "Lookup",
    "NoQuestions",
    "LoadsFirst",
    "Questioner",
    "PictureProjection",
    "is_plain",
    "load_questioner",
    "prepare_questioner",
    "questioner_names",
    "write_statement",
    "find_values_meant",
]
