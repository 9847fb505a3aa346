"""Training a Combiner: OUT/best.safetensors, and what `training.fit` says lies beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from viewfinder.metrics import rank_bounds
from viewfinder.retrievers.combiner.loss import retrieval_loss
from viewfinder.retrievers.combiner.network import CombinerNetwork
from viewfinder.retrievers.combiner.settings import ModelSettings, Preset
from viewfinder.retrievers.combiner.texts import PROBE, split_modification
from viewfinder.retrievers.combiner.turns import NO_TURN, EncodedTransactions, encode_texts, read_recorded
from viewfinder.retrievers.shared.stages import read_start_card
from viewfinder.retrievers.trainers import TrainPlan
from viewfinder.training import (
    Batches,
    Card,
    TrainingJob,
    TrainingResult,
    gather_with_gradient,
    load_network,
    load_preset,
    seed_all,
    shuffled,
)
from viewfinder.training.presets import read_card_settings

SYSTEM = "combiner"
PRESETS = Path(__file__).with_name("presets.toml")

DEPTH = 10
"""Validation's recall is that among so many."""

AT_ONCE = 1024
"""Transactions that validation reads together."""


class Batch(NamedTuple):
    """Transactions as vectors; `rows_bt` says which pictures the targets are, `NO_TURN` where there is no such turn."""

    texts_btd: Float[Tensor, "b t d"]
    pictures_btd: Float[Tensor, "b t d"]
    targets_btd: Float[Tensor, "b t d"]
    rows_bt: Int[Tensor, "b t"]


def train(plan: TrainPlan) -> TrainingResult:
    """Train as the plan says; what was interrupted goes on with `plan.resume`.

    Raises:
        BadInput, UnknownName, EncoderMismatch: data, preset or start that cannot serve.
    """
    preset = load_preset(PRESETS, plan.preset, Preset, plan.overrides)
    start = read_start_card(plan)
    if start is not None:
        preset = replace(preset, model=read_card_settings(ModelSettings, start))
    material = read_training_data(plan, preset)

    def batches(epoch: int, seed: int) -> Batches[Batch]:
        return shuffled(len(material.train), preset.batch, partial(make_batch, material.train), epoch=epoch, seed=seed)

    return plan.fit(
        TrainingJob(
            network=material.network,
            batches=batches,
            loss=partial(_lost, scale=preset.scale),
            settings=replace(preset.training, seed=plan.seed),
            card=material.card,
            validate=partial(validate_network, turns=material.val, scale=preset.scale),
            selects=preset.selects,
            higher=True,
            may_leave_unused=True,
        )
    )


@dataclass(frozen=True, eq=False)
class TrainingData:
    """A network as it begins, its card, and the transactions of both splits."""

    network: CombinerNetwork
    card: Card
    train: EncodedTransactions
    val: EncodedTransactions


def read_training_data(plan: TrainPlan, preset: Preset) -> TrainingData:
    """The data of a plan, and the network over it: drawn, or as the plan's start has it.

    Raises:
        BadInput, UnknownName, EncoderMismatch: data or start that cannot serve.
    """
    model = preset.model
    recorded = [read_recorded(plan, split, preset) for split in ("train", "val")]
    wanted = {piece for part in recorded for text in part.texts() for piece in split_modification(text, model.texts)}
    vectors = encode_texts(wanted, plan.encoder, plan.told)
    train, val = (EncodedTransactions.of(part, vectors, model) for part in recorded)
    seed_all(plan.seed)
    network = CombinerNetwork(model, train.pictures_nd.shape[1])
    network.probe.copy_(torch.from_numpy(np.asarray(plan.encoder.words([PROBE])[0], np.float32)))
    space = plan.encoder.version
    if plan.start is not None:
        load_network(plan.start, network, system=SYSTEM, encoder=space)
    known = {"model": asdict(model), "scale": preset.scale, "exclude_shown": preset.exclude_shown}
    return TrainingData(network, Card(system=SYSTEM, preset=plan.preset, encoder=space, settings=known), train, val)


def make_batch(turns: EncodedTransactions, rows_b: Int[np.ndarray, " b"]) -> Batch:
    """Some transactions; where one has no such turn, the last rows of all stand in, and play no role."""
    return Batch(
        texts_btd=torch.from_numpy(turns.texts_xd[turns.text_st[rows_b]]),
        pictures_btd=torch.from_numpy(turns.pictures_nd[turns.reference_st[rows_b]]),
        targets_btd=torch.from_numpy(turns.pictures_nd[turns.target_st[rows_b]]),
        rows_bt=torch.from_numpy(turns.target_st[rows_b]),
    )


def _lost(module: nn.Module, batch: Batch, *, scale: float) -> tuple[Tensor, Mapping[str, Tensor]]:
    """The loss of all turns of a batch, each told from the targets of all turns of all processes' batches."""
    assert isinstance(module, CombinerNetwork)
    queries_btd = gather_with_gradient(module(batch.texts_btd, batch.pictures_btd))
    targets_btd, rows_bt = gather_with_gradient(batch.targets_btd), gather_with_gradient(batch.rows_bt)
    there_bt = rows_bt != NO_TURN
    return retrieval_loss(queries_btd[there_bt], targets_btd[there_bt], rows_bt[there_bt], scale), {}


def validate_network(module: nn.Module, *, turns: EncodedTransactions, scale: float) -> dict[str, float]:
    """What validation measures: every turn's target is looked for in the gallery of the sources.

    "recall" is Recall@10 over all turns, "first" and "last" that of the first and of the last turn of a transaction.
    """
    assert isinstance(module, CombinerNetwork)
    device = module.probe.device
    queries, lost = [], []
    for at in range(0, len(turns), AT_ONCE):
        batch = Batch(
            *(tensor.to(device) for tensor in make_batch(turns, np.arange(at, min(at + AT_ONCE, len(turns)))))
        )
        queries_btd, there_bt = module(batch.texts_btd, batch.pictures_btd), batch.rows_bt != NO_TURN
        loss = retrieval_loss(queries_btd[there_bt], batch.targets_btd[there_bt], batch.rows_bt[there_bt], scale)
        lost.append((float(loss), len(queries_btd)))
        queries.append(queries_btd.float().cpu().numpy())
    found_st = mark_found(np.concatenate(queries), turns)
    last_s = (turns.target_st != NO_TURN).sum(axis=1) - 1
    return {
        "loss": float(np.average([loss for loss, _ in lost], weights=[size for _, size in lost])),
        "recall": float(np.nanmean(found_st)),
        "first": float(found_st[:, 0].mean()),
        "last": float(found_st[np.arange(len(turns)), last_s].mean()),
    }


def mark_found(queries_std: Float[np.ndarray, "s t d"], turns: EncodedTransactions) -> Float[np.ndarray, "s t"]:
    """1 where the target is among the first ten of the gallery, else 0; NaN where there is no such turn.

    Of equal scores the mean of their ranks counts.
    """
    place_n = np.full(len(turns.pictures_nd), NO_TURN)
    place_n[turns.gallery_g] = np.arange(len(turns.gallery_g))
    there_st = turns.target_st != NO_TURN
    targets_q = place_n[turns.target_st[there_st]]
    best_q, worst_q = rank_bounds(queries_std[there_st], turns.pictures_nd[turns.gallery_g], targets_q)
    found_st = np.full(there_st.shape, np.nan)
    found_st[there_st] = (best_q + worst_q) / 2 < DEPTH
    return found_st
