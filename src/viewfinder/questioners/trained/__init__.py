"""Questions learnt from talks: a closed pool, which of them comes next, and how pictures will answer."""

from viewfinder.questioners.trained.askable import is_askable, mentioned, needs_of, stems_of
from viewfinder.questioners.trained.files import load, shipped
from viewfinder.questioners.trained.foretold import Foretold
from viewfinder.questioners.trained.meaning import meaning
from viewfinder.questioners.trained.trained import PoolQuestion, TrainedQuestions

__all__ = [
    "Foretold",
    "PoolQuestion",
    "TrainedQuestions",
    "is_askable",
    "load",
    "meaning",
    "mentioned",
    "needs_of",
    "shipped",
    "stems_of",
]
