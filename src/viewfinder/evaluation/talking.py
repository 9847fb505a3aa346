"""The protocols that measure something else than a search, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from viewfinder.encoders import Encoder
from viewfinder.evaluation import deciding, grounding, visual_conversation
from viewfinder.evaluation.deciding import measure_decisions
from viewfinder.evaluation.grounding import ground_phrases
from viewfinder.evaluation.plan import Notify, Plan
from viewfinder.evaluation.values import MeasuredRun
from viewfinder.evaluation.visual_conversation import answer_questions

OTHER_PROTOCOLS: dict[str, Callable[[Plan, Encoder, Path, Notify], MeasuredRun[Any]]] = {
    visual_conversation.PROTOCOL: answer_questions,
    deciding.PROTOCOL: measure_decisions,
    grounding.PROTOCOL: ground_phrases,
}
"""What runs a plan; see `write_measured`."""

SHARES = frozenset(
    {visual_conversation.ACCURACY, visual_conversation.TEXT_ONLY, visual_conversation.MAJORITY}
    | {visual_conversation.BY_KIND, deciding.BOTH, *deciding.RIGHT.values()}
    | {grounding.GROUNDED, grounding.CLIP, grounding.LARGEST, grounding.RANDOM, grounding.BEST}
)
"""Their figures: each lies between 0 and 1."""
