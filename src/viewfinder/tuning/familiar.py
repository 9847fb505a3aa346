"""Telling pictures like those that were learnt from from others: nothing should be foretold of the others."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float16, Float32

STRENGTH = 1e-3
"""Of the logistic regression, as scikit-learn counts it: small is cautious."""


def fit_familiarity(
    plain_ng: Float[np.ndarray, "n g"], against_mg: Float[np.ndarray, "m g"]
) -> tuple[Float32[np.ndarray, " g"], float]:
    """Weights and bias of a logistic regression; both kinds count alike, however many pictures there are of each."""
    from sklearn.linear_model import LogisticRegression

    all_ng = np.concatenate([plain_ng, against_mg])
    known_n = np.arange(len(all_ng)) < len(plain_ng)
    fitted = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=500).fit(all_ng, known_n)
    return fitted.coef_[0].astype(np.float32), float(fitted.intercept_[0])


def standardised(
    raw_ng: Float16[np.ndarray, "n g"], mean_g: Float[np.ndarray, " g"], deviation_g: Float[np.ndarray, " g"]
) -> Float32[np.ndarray, "n g"]:
    """Raw vectors as the network sees them."""
    return np.asarray((raw_ng.astype(np.float32) - mean_g) / deviation_g, np.float32)
