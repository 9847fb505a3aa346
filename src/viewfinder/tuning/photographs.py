"""Trains the predictor of labels from which questions about photographs are made: part of `viewfinder train starter`.

It learns what captions mention: a label holds if one of a photograph's captions names it. Photographs with few captions
count less, since those leave more unsaid. Several networks with different seeds become one, side by side, so that
their logits are averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32
from torch import nn
from torch.nn import functional

from viewfinder.encoders.starter.encoder import RAW_VERSION, Head
from viewfinder.encoders.starter.fit import CaptionedVectors
from viewfinder.questioners.photographs import SYSTEM, count_mentions, label_chances
from viewfinder.training.checkpoints import write_tensors
from viewfinder.training.layers import FeedForward
from viewfinder.weights import NETWORK, Card

ALL_CAPTIONS = 5
"""With so many captions, a photograph counts in full."""


@dataclass(frozen=True, kw_only=True)
class LabelSettings:
    """The numbers of the training, chosen on `choose`."""

    hidden: int = 256
    epochs: int = 12
    batch: int = 256
    learning_rate: float = 1e-3
    weight_decay: float = 0.05
    dropout: float = 0.3
    seeds: int = 3


def fit_labels(
    vectors_vnd: Float[np.ndarray, "v n d"],
    holds_nl: Bool[np.ndarray, "n l"],
    weights_n: Float[np.ndarray, " n"],
    settings: LabelSettings | None = None,
) -> dict[str, Float32[np.ndarray, ...]]:
    """The arrays of `label_chances`; `vectors_vnd` are v views of n photographs in the head's space."""
    settings = settings or LabelSettings()
    mean_d = vectors_vnd[0].mean(axis=0)
    deviation_d = vectors_vnd[0].std(axis=0) + 1e-6
    inputs_vnd = torch.from_numpy(((vectors_vnd - mean_d) / deviation_d).astype(np.float32))
    holds, weights = torch.from_numpy(holds_nl.astype(np.float32)), torch.from_numpy(weights_n.astype(np.float32))
    networks = [_train_network(inputs_vnd, holds, weights, settings, seed) for seed in range(settings.seeds)]
    states = [{name: value.numpy() for name, value in network.state_dict().items()} for network in networks]
    return {
        "mean_d": mean_d.astype(np.float32),
        "deviation_d": deviation_d.astype(np.float32),
        "inner_dh": np.concatenate([state["inner.weight"].T for state in states], axis=1),
        "inner_h": np.concatenate([state["inner.bias"] for state in states]),
        "outer_hl": np.concatenate([state["outer.weight"].T for state in states]) / np.float32(len(states)),
        "outer_l": np.mean([state["outer.bias"] for state in states], axis=0).astype(np.float32),
    }


def _train_network(
    inputs_vnd: torch.Tensor, holds_nl: torch.Tensor, weights_n: torch.Tensor, settings: LabelSettings, seed: int
) -> FeedForward:
    torch.manual_seed(seed)
    views, count, width = inputs_vnd.shape
    layers = FeedForward(width, settings.hidden, holds_nl.shape[1], share=settings.dropout)
    network = nn.Sequential(nn.Dropout(settings.dropout), layers)
    with torch.no_grad():  # start from how often each label holds
        layers.outer.bias.copy_(torch.logit(holds_nl.mean(dim=0).clamp(1e-3, 1 - 1e-3)))
    batch = min(settings.batch, count)
    optimiser = torch.optim.AdamW(network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, settings.learning_rate, total_steps=settings.epochs * (count // batch), pct_start=0.1
    )
    for _ in range(settings.epochs):
        order_n = torch.randperm(count)
        for rows_b in order_n[: count // batch * batch].split(batch):  # type: ignore[no-untyped-call]
            logits_bl = network(inputs_vnd[torch.randint(views, (batch,)), rows_b])
            losses_bl = functional.binary_cross_entropy_with_logits(logits_bl, holds_nl[rows_b], reduction="none")
            loss = (losses_bl.mean(dim=1) * weights_n[rows_b]).mean()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
    return layers.eval()


def train_labels(
    head: Head, fit: CaptionedVectors, choose: CaptionedVectors, file: Path, trained_on: str = ""
) -> float:
    """Trains the predictor on `fit` and writes it in half precision; returns the bits it tells about `choose`.

    `trained_on` is the list of the pictures that it and the head learn from (`TrainingList.encode`).
    """
    said = _group_captions(fit)
    weights_n = np.array([min(len(texts), ALL_CAPTIONS) / ALL_CAPTIONS for texts in said])
    views_vnd = np.stack([head.pictures(raw_nr.astype(np.float32)) for raw_nr in fit.raw_vnr])
    halves = {
        name: array.astype(np.float16) for name, array in fit_labels(views_vnd, _mark_labels(said), weights_n).items()
    }
    arrays = {name: array.astype(np.float32) for name, array in halves.items()}
    asked = _group_captions(choose)
    full = np.flatnonzero([len(texts) >= ALL_CAPTIONS - 1 for texts in asked])
    vectors_nd = head.pictures(choose.raw_vnr[0][full].astype(np.float32))
    told = bits_told(arrays, vectors_nd, _mark_labels([asked[at] for at in full]))
    figures = {"bits told, choose": told}
    card = Card(system=SYSTEM, preset="starter", encoder=RAW_VERSION, figures=figures, trained_on=trained_on)
    write_tensors(file, {name: torch.from_numpy(half) for name, half in halves.items()}, asdict(card), schema=NETWORK)
    return told


def _group_captions(kind: CaptionedVectors) -> list[list[str]]:
    found: list[list[str]] = [[] for _ in range(len(kind))]
    for owner, text in zip(kind.owners_m.tolist(), kind.texts, strict=True):
        found[owner].append(text)
    return found


def _mark_labels(captions: Sequence[Sequence[str]]) -> Bool[np.ndarray, "n l"]:
    """Which labels the captions of each photograph name."""
    return np.stack([count_mentions(texts) for texts in captions]) > 0


def bits_told(
    arrays: dict[str, Float32[np.ndarray, ...]], vectors_nd: Float[np.ndarray, "n d"], holds_nl: Bool[np.ndarray, "n l"]
) -> float:
    """Bits that the predictions tell about a photograph's labels, beyond how often each holds."""
    chance_nl = label_chances(arrays, vectors_nd).clip(1e-6, 1 - 1e-6)
    usual_l = holds_nl.mean(axis=0).clip(1e-6, 1 - 1e-6)

    def bits(chance: np.ndarray) -> float:
        return float(-np.where(holds_nl, np.log2(chance), np.log2(1 - chance)).sum(axis=1).mean())

    return bits(np.broadcast_to(usual_l, holds_nl.shape)) - bits(chance_nl)
