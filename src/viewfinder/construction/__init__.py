"""Chat-search dialogues made from captioned pictures, by the pipelines of ChatSearch (Zhao et al. 2024, Sec. 3.1).

Read it as setup (the order, and what it needs put together) -> pipelines (one function each) -> run. What writes is
truth (a world) or written (a language model); galleries find pictures and describe them; remembered keeps what models
wrote.
"""

from viewfinder.construction.pipelines import FoundPicture, ImageTextPair, PipelineParts, SampleNotMade, TwoRounds
from viewfinder.construction.run import construct_samples
from viewfinder.construction.setup import PARTS, ConstructionOrder, ConstructionReport, Part
from viewfinder.worlds.chatsearch import PIPELINES, Pipeline

__all__ = [
    "PARTS",
    "PIPELINES",
    "ConstructionOrder",
    "ConstructionReport",
    "FoundPicture",
    "ImageTextPair",
    "Part",
    "Pipeline",
    "PipelineParts",
    "SampleNotMade",
    "TwoRounds",
    "construct_samples",
]
