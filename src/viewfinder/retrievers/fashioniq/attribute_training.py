"""Training a predictor of attributes: OUT/best.safetensors, which `AttributePredictor.read` reads. In torch.

One linear layer over standardised raw vectors; binary cross-entropy of every label (Wu et al., CVPR 2021, appendix A).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, linear

from viewfinder.encoders.tags import SYSTEM
from viewfinder.errors import BadInput
from viewfinder.retrievers.fashioniq.garments import Garments, read_garments
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.training import (
    Card,
    TrainingJob,
    TrainingResult,
    TrainingSettings,
    draw_epochs,
    load_network,
    load_preset,
    read_card,
)
from viewfinder.training.layers import measure_scale, standardise
from viewfinder.training.presets import check_settings
from viewfinder.weights import check_card

PRESETS = Path(__file__).with_name("attributes.toml")

STEEP = 8.0
"""The factor that turns a ridge regression's output, 0 to 1, into a logit from -4 to 4."""

TINY = 1e-5
"""The published code adds this to denominators, which may be zero."""

MAX_PICTURES_AT_ONCE = 1024
"""Pictures in a batch of validation."""


@dataclass(frozen=True, kw_only=True)
class AttributePreset:
    """A table of attributes.toml.

    Attributes:
        ridge: of the ridge regression that the layer starts from, as a share of the mean squared length of its
            inputs; 0: it starts from zeros.
        f1_of: what F1 is computed on: "all" pictures together, or each "picture", then averaged (published).
    """

    training: TrainingSettings
    kinds: tuple[str, ...] = ()  # kinds of the data to learn from, as its files name them; empty: all of them
    batch: int = 64  # pictures a step; all of them if there are fewer
    fewest: int = 8  # how many training pictures must have a label for it to be learnt
    told: int = 5  # how many labels of a picture validation takes as predicted
    ridge: float = 0.0
    f1_of: Literal["all", "picture"] = "all"

    def __post_init__(self) -> None:
        check_settings(self, "at least 1", "batch", "fewest", "told")
        check_settings(self, "at least 0", "ridge")


class LearnedHead(nn.Module):
    """A trainable `AttributeHead`: the same names, with weights in single precision."""

    def __init__(self, labels: int, raw_width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(raw_width))
        self.register_buffer("deviation", torch.ones(raw_width))
        self.weight = nn.Parameter(torch.zeros(labels, raw_width))
        self.bias = nn.Parameter(torch.zeros(labels))

    def forward(self, raw_bg: Float[Tensor, "b g"]) -> Float[Tensor, "b k"]:
        """Logits of every label."""
        standard_bg = standardise(raw_bg, self.get_buffer("mean"), self.get_buffer("deviation"))
        return linear(standard_bg, self.weight, self.bias)


@dataclass(frozen=True, eq=False)
class LabelledPictures:
    """Raw vectors of pictures, and which labels each has."""

    raw_ng: Float32[np.ndarray, "n g"]
    has_nk: Bool[np.ndarray, "n k"]

    def batch(self, rows_b: Int[np.ndarray, " b"]) -> tuple[Float[Tensor, "b g"], Float[Tensor, "b k"]]:
        """A subset of them."""
        return torch.from_numpy(self.raw_ng[rows_b]), torch.from_numpy(self.has_nk[rows_b].astype(np.float32))


def train_attributes(plan: TrainPlan) -> TrainingResult:
    """Train a predictor as planned; `plan.resume` continues an interrupted training. Raises as `train_system`."""
    preset = load_preset(PRESETS, plan.preset, AttributePreset, plan.overrides)
    garments, seen = (read_garments(plan, split, preset.kinds) for split in ("train", "val"))
    labels = _choose_labels(plan, garments, preset.fewest)
    training, validation = (label_pictures(found, labels) for found in (garments, seen))
    for purpose, found in (("training", training), ("validation", validation)):
        if not len(found.raw_ng):
            raise BadInput(f"no picture for {purpose} has any of the {len(labels)} attributes; choose other data")
        plan.notify(f"attributes: {len(found.raw_ng):,} pictures for {purpose} have some of the {len(labels)}")
    card = Card(
        system=SYSTEM,
        preset=plan.preset,
        encoder=garments.raw_version,
        settings={"labels": list(labels), "kinds": list(garments.kinds)},
    )
    count = len(training.raw_ng)
    job = TrainingJob(
        network=_make_head(plan, training, preset.ridge),
        batches=draw_epochs(count, min(preset.batch, count), lambda rows_b, rng: training.batch(rows_b)),
        loss=lambda head, batch: (binary_cross_entropy_with_logits(head(batch[0]), batch[1]), {}),
        settings=preset.training,
        card=card,
        validate=partial(measure_attributes, labelled=validation, most=preset.told, f1_of=preset.f1_of),
        selects="f1",
        higher=True,
    )
    return plan.fit(job)


def _choose_labels(plan: TrainPlan, garments: Garments, fewest: int) -> tuple[str, ...]:
    """Labels that enough pictures have, in alphabetical order; or those of the weights to start from."""
    if plan.start is not None:
        card = read_card(plan.start)
        check_card(plan.start, card, system=SYSTEM, encoder=garments.raw_version)
        return tuple(card.settings["labels"])
    counts = Counter(label for of_picture in garments.labels for label in of_picture)
    labels = tuple(sorted(label for label, count in counts.items() if count >= fewest))
    if not labels:
        raise BadInput(
            f"{', '.join(map(str, plan.data))}: {fewest} pictures for training have no attribute in common; needed "
            "are asin2attr.<kind>.train.json, or a products.csv beside images/ (retriever and captioner do without: "
            "--set model.attributes=0)"
        )
    return labels


def label_pictures(garments: Garments, labels: Sequence[str]) -> LabelledPictures:
    """The pictures that have any of the labels."""
    column = {label: place for place, label in enumerate(labels)}
    has_nk = np.zeros((len(garments), len(labels)), bool)
    for row, words in enumerate(garments.labels):
        has_nk[row, [column[word] for word in words if word in column]] = True
    some_n = has_nk.any(axis=1)
    return LabelledPictures(garments.raw_ng[some_n], has_nk[some_n])


def _make_head(plan: TrainPlan, training: LabelledPictures, ridge: float) -> LearnedHead:
    """A head on the scale of the training set, started from zeros or ridge regression; or the one of `plan.start`."""
    head = LearnedHead(training.has_nk.shape[1], training.raw_ng.shape[1])
    if plan.start is not None:
        load_network(plan.start, head, system=SYSTEM, encoder=read_card(plan.start).encoder)
        return head
    mean_g, deviation_g = measure_scale(training.raw_ng)
    parts = {"mean": mean_g, "deviation": deviation_g}
    if ridge:
        weight_kg, bias_k = ridge_regression((training.raw_ng - mean_g) / deviation_g, training.has_nk, ridge)
        parts |= {"weight": STEEP * weight_kg, "bias": STEEP * (bias_k - 0.5)}
    with torch.no_grad():
        for name, array in parts.items():
            head.state_dict()[name].copy_(torch.from_numpy(array))
    return head


def ridge_regression(
    rows_ng: Float32[np.ndarray, "n g"], has_nk: Bool[np.ndarray, "n k"], ridge: float
) -> tuple[Float32[np.ndarray, "k g"], Float32[np.ndarray, " k"]]:
    """Weights and bias that predict 1 where there is a label and 0 elsewhere; rows have mean 0.

    `ridge` is a share of the mean squared length of rows.
    """
    count, width = rows_ng.shape
    share_k = has_nk.mean(axis=0, dtype=np.float32)
    wanted_nk = has_nk - share_k
    gram = rows_ng @ rows_ng.T if count < width else rows_ng.T @ rows_ng  # the smaller of the two, same answer
    gram.flat[:: len(gram) + 1] += ridge * np.square(rows_ng).sum() / count
    if count < width:
        return (rows_ng.T @ np.linalg.solve(gram, wanted_nk)).T, share_k
    return np.linalg.solve(gram, rows_ng.T @ wanted_nk).T, share_k


def measure_attributes(
    module: nn.Module, *, labelled: LabelledPictures, most: int, f1_of: Literal["all", "picture"] = "all"
) -> dict[str, float]:
    """The figures of validation (`attribute_figures`) of a head on labelled pictures."""
    device = next(module.parameters()).device
    blocks = torch.split(torch.from_numpy(labelled.raw_ng), MAX_PICTURES_AT_ONCE)
    logits = [module(raw_bg.to(device)).cpu() for raw_bg in blocks]
    return attribute_figures(torch.cat(logits).numpy(), labelled.has_nk, most, f1_of)


def attribute_figures(
    scores_nk: Float[np.ndarray, "n k"],
    has_nk: Bool[np.ndarray, "n k"],
    most: int,
    f1_of: Literal["all", "picture"] = "all",
) -> dict[str, float]:
    """Precision, recall and F1 = 2pr/(p + r) of the `most` likeliest labels of every picture, all pictures together.

    With `f1_of` "picture", F1 is the mean over pictures, with the published code's small numbers in the denominators.
    """
    likeliest_nt = np.argsort(-scores_nk, axis=1, kind="stable")[:, :most]
    right_n = np.take_along_axis(has_nk, likeliest_nt, axis=1).sum(axis=1)
    right = int(right_n.sum())
    precision, recall = right / likeliest_nt.size, right / int(has_nk.sum())
    if f1_of == "picture":
        precision_n, recall_n = right_n / likeliest_nt.shape[1], right_n / (has_nk.sum(axis=1) + TINY)
        f1_n = 2 * precision_n * recall_n / (precision_n + recall_n + TINY)
        return {"f1": float(f1_n.mean()), "precision": precision, "recall": recall}
    return {"f1": 2 * precision * recall / max(precision + recall, 1e-9), "precision": precision, "recall": recall}
