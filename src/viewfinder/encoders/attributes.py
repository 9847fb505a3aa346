"""Predicts from a picture's raw vector which attributes it has: "floral", "cotton". No torch here.

One linear layer over standardised raw vectors, one row per label (Wu et al., CVPR 2021, appendix A). `viewfinder train
attributes` trains it, and it is saved along with the networks that read attributes. Axes: n pictures, g numbers of a
raw vector, k labels.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int

from viewfinder.errors import BadInput
from viewfinder.training.weights import Weights, check_card, read_weights

SYSTEM = "attributes"
"""What the card of a predictor's own file says."""


@dataclass(frozen=True, eq=False)
class AttributePredictor:
    """Says which of its labels (words, each once) pictures have, from raw vectors of `raw_version`.

    `mean_g` and `deviation_g` are those of the training set, `weight_kg` and `bias_k` the layer.
    """

    labels: tuple[str, ...]
    raw_version: str
    mean_g: Float32[np.ndarray, " g"]
    deviation_g: Float32[np.ndarray, " g"]
    weight_kg: Float32[np.ndarray, "k g"]
    bias_k: Float32[np.ndarray, " k"]

    @classmethod
    def read(cls, path: Path) -> AttributePredictor:
        """The predictor in a file of its own; errors as `read_weights`, or BadInput: it is of another system."""
        weights = read_weights(path)
        check_card(path, weights.card, system=SYSTEM)
        return cls.of(weights, prefix="")

    @classmethod
    def of(cls, weights: Weights, prefix: str = SYSTEM) -> AttributePredictor:
        """The predictor saved as part `prefix` of a network ("": it is the whole file); labels come from the card.

        Raises:
            BadInput: it is missing, or does not have one row per label.
        """
        labels = tuple(weights.card.settings.get("labels", ()))
        dot = f"{prefix}." if prefix else ""
        try:
            mean_g, deviation_g, weight_kg, bias_k = (
                weights.arrays[f"{dot}{name}"] for name in ("mean", "deviation", "weight", "bias")
            )
        except KeyError as error:
            raise BadInput(f"a network of {weights.card.system} tells no attributes: it has no {error}") from None
        if not len(labels) == len(weight_kg) == len(bias_k):
            raise BadInput(f"a network of {weights.card.system} names {len(labels)} attributes and tells {len(bias_k)}")
        return cls(labels, weights.card.encoder, mean_g, deviation_g, weight_kg, bias_k)

    @cached_property
    def fingerprint(self) -> str:
        """A mark that changes with any number or label."""
        mark = hashlib.blake2b(json.dumps([self.raw_version, *self.labels]).encode(), digest_size=8)
        for array in (self.mean_g, self.deviation_g, self.weight_kg, self.bias_k):
            mark.update(np.ascontiguousarray(array).data)
        return mark.hexdigest()

    def scores(self, raw_ng: Float[np.ndarray, "n g"]) -> Float[np.ndarray, "n k"]:
        """The chance of every label, 0 to 1."""
        # Logits beyond 30 are practically certain, and exp would overflow far beyond.
        chances_nk: Float32[np.ndarray, "n k"] = 1 / (1 + np.exp(-np.clip(self._logits(raw_ng), -30, 30)))
        return chances_nk

    def top(self, raw_ng: Float[np.ndarray, "n g"], count: int) -> Int[np.ndarray, "n c"]:
        """Rows of `labels`: the likeliest `count` of each picture, best first; all of them if there are fewer."""
        return np.argsort(-self._logits(raw_ng), axis=1, kind="stable")[:, :count]

    def words(self, raw_ng: Float[np.ndarray, "n g"], count: int) -> tuple[tuple[str, ...], ...]:
        """The labels that `top` gives for each picture."""
        return tuple(tuple(self.labels[label] for label in row) for row in self.top(raw_ng, count).tolist())

    def _logits(self, raw_ng: Float[np.ndarray, "n g"]) -> Float32[np.ndarray, "n k"]:
        standard_ng = (np.asarray(raw_ng, np.float32) - self.mean_g) / self.deviation_g
        logits_nk: Float32[np.ndarray, "n k"] = standard_ng @ self.weight_kg.T + self.bias_k
        return logits_nk
