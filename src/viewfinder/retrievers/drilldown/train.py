"""Training Drill-down: first with slots taken in turn, then, if the preset says so, with a policy that chooses.

OUT/fixed/, OUT/learned/     the two stages (`training.fit` says what lies there)
OUT/best.safetensors         the network: of the second stage, if there is one
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from torch import Tensor

from viewfinder.retrievers.drilldown import loss as losses
from viewfinder.retrievers.drilldown.network import DrilldownNetwork, SlotStates
from viewfinder.retrievers.drilldown.settings import DrilldownLossSettings, DrilldownPreset, DrilldownSettings
from viewfinder.retrievers.shared.description_training import (
    DescriptionDialogues,
    DialogueBatch,
    measure_scales,
    read_description_data,
    run_stage,
    validate_dialogues,
)
from viewfinder.retrievers.shared.train_plan import TrainPlan, read_start_card
from viewfinder.training import TrainingResult, TrainingSettings, load_network, load_preset, seed_all
from viewfinder.training.presets import read_card_settings

SYSTEM = "drilldown"
PRESETS = Path(__file__).with_name("presets.toml")

Loss = Callable[[DrilldownNetwork, DrilldownLossSettings, DialogueBatch], tuple[Tensor, dict[str, Tensor]]]


def train(plan: TrainPlan) -> TrainingResult:
    """Train as the plan says; `plan.resume` continues an interrupted training. Raises as `train_system`."""
    preset = load_preset(PRESETS, plan.preset, DrilldownPreset, plan.overrides)
    start = read_start_card(plan)
    if start is not None:
        model = read_card_settings(DrilldownSettings, start)
        preset = replace(preset, model=replace(model, choice=preset.model.choice))
    data = read_description_data(plan, preset, start, reads=preset.model.reads, whole=preset.model.whole)
    seed_all(plan.seed)
    network = DrilldownNetwork(preset.model, data.inputs)
    if plan.start is not None:
        load_network(plan.start, network, system=SYSTEM, encoder=data.raw_version)
    elif preset.model.standardised:
        measure_scales(network, data.train.described)

    def stage(stage_loss: Loss, training: TrainingSettings, out: Path) -> TrainingResult:
        return run_stage(
            plan,
            preset,
            data,
            out,
            network=network,
            settings={"model": asdict(network.settings), "loss": asdict(preset.loss)},
            loss=lambda module, batch: stage_loss(module, preset.loss, batch),
            validate=partial(validate_network, preset=preset, dialogues=data.val),
            training=training,
            selects="recall" if stage_loss is losses.joint_loss else preset.selects,
        )

    if preset.learned is None:
        return stage(losses.pretraining_loss, preset.training, plan.out)
    first = stage(losses.pretraining_loss, preset.training, plan.out / "fixed")
    if first.ended == "asked":
        return first
    network.settings = replace(preset.model, choice="learned")
    load_network(first.best, network, system=SYSTEM, encoder=data.raw_version)
    second = stage(losses.joint_loss, preset.learned, plan.out / "learned")
    if second.ended == "asked":
        return second
    shutil.copyfile(second.best, plan.out / "best.safetensors")
    return replace(second, best=plan.out / "best.safetensors")


def validate_network(
    network: DrilldownNetwork, *, preset: DrilldownPreset, dialogues: DescriptionDialogues
) -> dict[str, float]:
    """The figures of validation: loss and recall over the protocol's fixed dialogues."""

    def take(batch: DialogueBatch) -> tuple[Tensor, list[SlotStates], Tensor]:
        vectors_bkd = network.project_pictures(batch.regions_bke, batch.whole_bg)
        after = network.read_dialogues(network.read(batch.said, batch.lengths_bt))
        return vectors_bkd, after, losses.retrieval_loss(network, preset.loss, after, vectors_bkd)

    def score(after: list[SlotStates], vectors_nkd: Tensor) -> list[Tensor]:
        return [losses.score_pictures(network, slots, vectors_nkd) for slots in after]

    return validate_dialogues(dialogues, preset.batch, next(network.parameters()).device, take, score)
