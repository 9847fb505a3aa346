"""What to ask next: `information_gain` over catalogue columns and zero-shot tags, or nothing."""

from viewfinder.questioners.answers import DONT_KNOW, SOMETHING_ELSE, values_meant
from viewfinder.questioners.base import Candidates, Column, Lookup, NoQuestions, Questioner, Sight
from viewfinder.questioners.information_gain import InformationGain
from viewfinder.questioners.names import QUESTIONERS, load_questioner
from viewfinder.questioners.statements import statement

__all__ = [
    "DONT_KNOW",
    "QUESTIONERS",
    "SOMETHING_ELSE",
    "Candidates",
    "Column",
    "InformationGain",
    "Lookup",
    "NoQuestions",
    "Questioner",
    "Sight",
    "load_questioner",
    "statement",
    "values_meant",
]
