"""Fits the starter's alignment head, for shipping or on a user's own captions; learns questions."""

from viewfinder.tuning.collection import TuneReport, tune
from viewfinder.tuning.question_plan import QuestionPlan, QuestionReport, question_settings
from viewfinder.tuning.questions import train_questions
from viewfinder.tuning.starter import train_starter

__all__ = [
    "QuestionPlan",
    "QuestionReport",
    "TuneReport",
    "question_settings",
    "train_questions",
    "train_starter",
    "tune",
]
