"""What to ask next: questioners by name, from `information_gain`, which needs nothing, to those of language models."""

from viewfinder.questioners.answers import DONT_KNOW, SOMETHING_ELSE, values_meant
from viewfinder.questioners.base import Candidates, Column, Lookup, NoQuestions, Questioner, Sight
from viewfinder.questioners.fallback import Fallback, Prepares, prepare
from viewfinder.questioners.information_gain import InformationGain
from viewfinder.questioners.names import QUESTIONERS, is_plain, load_questioner, questioner_names
from viewfinder.questioners.statements import statement

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
    "Prepares",
    "Questioner",
    "Sight",
    "is_plain",
    "load_questioner",
    "prepare",
    "questioner_names",
    "statement",
    "values_meant",
]
