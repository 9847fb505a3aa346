"""Of several questions, the one that fits what is being looked for: it moves the ranking least (PlugIR, ACL 2024).

A question about something else would, appended to the description, pull other pictures up. How far it moves the ranking
is the divergence KL(p || p_q) of the chances p of the pictures under the description alone and p_q with the question.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from viewfinder.questioners.clusters import softmax


def kl_divergences(present_w: Float[np.ndarray, " w"], asked_qw: Float[np.ndarray, "q w"]) -> Float[np.ndarray, " q"]:
    """KL(p || p_q) in nats of one distribution and several others; all chances are above 0.

    >>> divergences(np.array([0.5, 0.5]), np.array([[0.5, 0.5], [0.25, 0.75]])).round(3).tolist()
    [0.0, 0.144]
    """
    return np.asarray((present_w * np.log(present_w / asked_qw)).sum(axis=1))


def find_least_moving(
    description_d: Float[np.ndarray, " d"],
    asked_qd: Float[np.ndarray, "q d"],
    pictures_wd: Float[np.ndarray, "w d"],
    *,
    without_first: int,
) -> int:
    """Which of q questions moves the ranking least; the first of equals.

    `asked_qd` are the description with each question appended, `pictures_wd` the nearest pictures, the nearest first.
    The `without_first` of them play no role, unless there are no others: they will stay near whatever is asked.
    """
    ranked_wd = pictures_wd[without_first:] if len(pictures_wd) > without_first + 1 else pictures_wd
    present_w, asked_qw = softmax(ranked_wd @ description_d), softmax(asked_qd @ ranked_wd.T)
    return int(np.argmin(kl_divergences(present_w, asked_qw)))
