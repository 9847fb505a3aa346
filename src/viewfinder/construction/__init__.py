"""Chat-search dialogues made from captioned pictures, by the pipelines of ChatSearch (Zhao et al. 2024, Sec. 3.1).

Read it as setup (the order, and its parts put together) -> pipelines (one function each) -> run. The text is written
by truth (a world) or written (a language model); galleries find and describe pictures; remembered keeps what models
wrote.
"""

from viewfinder.construction.run import construct_samples
from viewfinder.construction.setup import PARTS, ConstructionOrder, ConstructionReport
from viewfinder.worlds.chatsearch import PIPELINES

__all__ = ["PARTS", "PIPELINES", "ConstructionOrder", "ConstructionReport", "construct_samples"]
