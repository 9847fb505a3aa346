"""Chat-search dialogues made from captioned pictures, by the pipelines of ChatSearch (Zhao et al. 2024, Sec. 3.1).

Read it as parts (what the pipelines are given) -> pipelines (one function each) -> construct (the run). Parts are
truth (a world), written (a language model, with prompts and parsing), galleries, captioners; remembered keeps what
models wrote.
"""

from viewfinder.construction.pipelines import (
    PIPELINES,
    Captioner,
    FoundPicture,
    GalleryRetriever,
    ImageTextPair,
    Pipeline,
    PipelineParts,
    SampleNotMade,
    TextGenerator,
    TwoRounds,
)
from viewfinder.construction.run import construct_samples
from viewfinder.construction.setup import PARTS, ConstructionOrder, ConstructionReport, Part

__all__ = [
    "PARTS",
    "PIPELINES",
    "Captioner",
    "ConstructionOrder",
    "ConstructionReport",
    "FoundPicture",
    "GalleryRetriever",
    "ImageTextPair",
    "Part",
    "Pipeline",
    "PipelineParts",
    "SampleNotMade",
    "TextGenerator",
    "TwoRounds",
    "construct_samples",
]
