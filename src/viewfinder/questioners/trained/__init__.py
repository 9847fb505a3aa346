"""Questions learnt from talks: a closed pool, which of them comes next, and how pictures will answer."""

from viewfinder.questioners.trained.askable import all_stems, is_askable, mentioned_texts, required_mentions
from viewfinder.questioners.trained.files import load_trained_questions, shipped
from viewfinder.questioners.trained.foretold import PredictedAnswers
from viewfinder.questioners.trained.meaning import question_meaning
from viewfinder.questioners.trained.trained import PoolQuestion, TrainedQuestions

__all__ = [
    "PredictedAnswers",
    "PoolQuestion",
    "TrainedQuestions",
    "is_askable",
    "load_trained_questions",
    "question_meaning",
    "mentioned_texts",
    "required_mentions",
    "shipped",
    "all_stems",
]
