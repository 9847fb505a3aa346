"""The protocols that measure something else than a search, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from viewfinder.encoders import Encoder
from viewfinder.evaluation import deciding, grounding, visual_conversation
from viewfinder.evaluation.deciding import decide
from viewfinder.evaluation.grounding import ground
from viewfinder.evaluation.plan import Plan, Told
from viewfinder.evaluation.values import Measured
from viewfinder.evaluation.visual_conversation import answer_questions

TALKING: dict[str, Callable[[Plan, Encoder, Path, Told], Measured[Any]]] = {
    visual_conversation.PROTOCOL: answer_questions,
    deciding.PROTOCOL: decide,
    grounding.PROTOCOL: ground,
}
"""What runs a plan; see `write_measured`."""

SHARES = frozenset(
    {visual_conversation.ACCURACY, visual_conversation.TEXT_ONLY, visual_conversation.MAJORITY}
    | {visual_conversation.BY_KIND, deciding.BOTH, *deciding.RIGHT.values()}
    | {grounding.GROUNDED, grounding.CLIP, grounding.LARGEST, grounding.RANDOM, grounding.BEST}
)
"""Their figures: each lies between 0 and 1."""
