"""The weights that a system begins with: those named, else those in the box."""

from __future__ import annotations

from pathlib import Path

from viewfinder.errors import BadInput
from viewfinder.training.weights import Weights, check_card, read_weights


def load_system_weights(system: str, checkpoint: Path | None, shipped: Path) -> Weights:
    """The weights in `checkpoint`; None: the `shipped` ones.

    Raises:
        BadInput: there are none in the box and none are given; or no such file, or it is damaged or of another system.
    """
    if checkpoint is None and not shipped.is_file():
        raise BadInput(
            f"{system}: no weights are in the box; train some (`viewfinder train {system}`) and name them "
            "(--checkpoint)"
        )
    path = checkpoint or shipped
    weights = read_weights(path)
    check_card(path, weights.card, system=system)
    return weights
