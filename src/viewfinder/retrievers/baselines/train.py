"""Training a baseline of Drill-down: OUT/best.safetensors, and beside it what `training.fit` lists."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path

from torch import Tensor

from viewfinder.errors import UnknownName
from viewfinder.retrievers.baselines.network import BaselineNetwork, fuse_ranks, retrieval_loss, score_pictures
from viewfinder.retrievers.baselines.retriever import JOINT
from viewfinder.retrievers.baselines.settings import SYSTEMS, BaselinePreset
from viewfinder.retrievers.shared.description_training import (
    DescriptionDialogues,
    DialogueBatch,
    measure_scales,
    read_description_data,
    run_stage,
    validate_dialogues,
)
from viewfinder.retrievers.shared.train_plan import TrainPlan, read_preset
from viewfinder.training import TrainingResult, load_network, seed_all

PRESETS = Path(__file__).with_name("presets.toml")


def train(plan: TrainPlan) -> TrainingResult:
    """Train the plan's system; `plan.resume` continues an interrupted training. Raises as `train_system`."""
    system = next((system for system in SYSTEMS if system == plan.system), None)
    if system is None:
        raise UnknownName(f"no baseline is called {plan.system!r}; there are: {', '.join(SYSTEMS)}")
    preset, start = read_preset(plan, PRESETS, BaselinePreset)
    whole = plan.system == "hre" and not preset.model.pooled
    data = read_description_data(plan, preset, start, whole=whole, regions=not whole)
    seed_all(plan.seed)
    network = BaselineNetwork(system, preset.model, data.inputs, data.vocabulary.number_of(JOINT))
    if plan.start is not None:
        load_network(plan.start, network, system=system, encoder=data.raw_version)
    elif preset.model.standardised:
        measure_scales(network, data.train.described)

    return run_stage(
        plan,
        preset,
        data,
        plan.out,
        network=network,
        settings={"model": asdict(preset.model), "loss": asdict(preset.loss)},
        loss=lambda module, batch: (_read_batch(module, preset, batch)[2], {}),
        validate=partial(validate_network, preset=preset, dialogues=data.val),
        training=preset.training,
        selects=preset.selects,
    )


def validate_network(
    network: BaselineNetwork, *, preset: BaselinePreset, dialogues: DescriptionDialogues
) -> dict[str, float]:
    """The figures of validation: loss and recall over the protocol's fixed dialogues."""

    def score(states_btd: Tensor, vectors_nkd: Tensor) -> list[Tensor]:
        found_tnb = score_pictures(network, states_btd, vectors_nkd)
        return list(fuse_ranks(found_tnb) if network.system == "r-rankfusion" else found_tnb)

    return validate_dialogues(
        dialogues, preset.batch, next(network.parameters()).device, partial(_read_batch, network, preset), score
    )


def _read_batch(
    network: BaselineNetwork, preset: BaselinePreset, batch: DialogueBatch
) -> tuple[Tensor, Tensor, Tensor]:
    """A batch: its pictures' vectors, its dialogues' vectors after every turn, and the loss."""
    vectors_bkd = network.project_pictures(batch.regions_bke, batch.whole_bg)
    states_btd = network.read_dialogues(batch.said, batch.lengths_bt)
    return vectors_bkd, states_btd, retrieval_loss(network, preset.loss, states_btd, vectors_bkd)
