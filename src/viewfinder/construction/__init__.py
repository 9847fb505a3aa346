"""Chat-search dialogues made from captioned pictures, by the pipelines of ChatSearch (Zhao et al. 2024, Sec. 3.1).

Read it as parts (what the pipelines are given) -> pipelines (one function each) -> construct (the run). Parts are
truth (a world), written (a language model, with prompts and parsing), galleries, captioners; remembered keeps what
models wrote.
"""

from viewfinder.construction.construct import construct
from viewfinder.construction.order import Constructed, Order
from viewfinder.construction.parts import (
    Captioner,
    Described,
    Found,
    GalleryRetriever,
    NotMade,
    TextGenerator,
    TwoRounds,
)
from viewfinder.construction.pictures import PARTS, Part
from viewfinder.construction.pipelines import PIPELINES, Parts, Pipeline

__all__ = [
    "PARTS",
    "PIPELINES",
    "Captioner",
    "Constructed",
    "Described",
    "Found",
    "GalleryRetriever",
    "NotMade",
    "Order",
    "Part",
    "Parts",
    "Pipeline",
    "TextGenerator",
    "TwoRounds",
    "construct",
]
