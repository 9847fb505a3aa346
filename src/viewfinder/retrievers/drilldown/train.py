"""Training Drill-down: first with slots taken in turn, then, where the preset says so, with a policy that chooses.

OUT/fixed/, OUT/learned/     the two stages (`training.fit` says what lies there)
OUT/best.safetensors         the network: of the second stage, where there is one
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from torch import Tensor, nn

from viewfinder.retrievers.drilldown import loss as losses
from viewfinder.retrievers.drilldown.network import Drilldown, Slots
from viewfinder.retrievers.drilldown.settings import LossSettings, ModelSettings, Preset
from viewfinder.retrievers.shared.dialogues import Batch, Dialogues
from viewfinder.retrievers.shared.inputs import measure_scales
from viewfinder.retrievers.shared.stages import Material, Stage, read_material, read_start, run, validated
from viewfinder.retrievers.trainers import TrainPlan
from viewfinder.training import Card, Fitted, Training, load_network, load_preset, seed_all
from viewfinder.training.presets import read_card_settings

SYSTEM = "drilldown"
PRESETS = Path(__file__).with_name("presets.toml")

Loss = Callable[[Drilldown, LossSettings, Batch], tuple[Tensor, dict[str, Tensor]]]


def train(plan: TrainPlan) -> Fitted:
    """Train as the plan says; what was interrupted goes on with `plan.resume`.

    Raises:
        BadInput, UnknownName, EncoderMismatch: data, preset or start that cannot serve.
    """
    preset = load_preset(PRESETS, plan.preset, Preset, plan.overrides)
    start = read_start(plan)
    if start is not None:
        model = read_card_settings(ModelSettings, start)
        preset = replace(preset, model=replace(model, choice=preset.model.choice))
    material = read_material(
        plan,
        reads=preset.model.reads,
        turns=preset.turns,
        fewest=preset.fewest,
        negated=preset.negated,
        whole=preset.model.whole,
        start=start,
    )
    seed_all(plan.seed)
    network = Drilldown(preset.model, material.inputs)
    if plan.start is not None:
        load_network(plan.start, network, system=SYSTEM, encoder=material.raw_version)
    elif preset.model.standardised:
        measure_scales(network, material.train.described)
    stage = partial(_stage, plan, preset, material)
    if preset.learned is None:
        return stage(network, losses.fixed, preset.training, plan.out)
    first = stage(network, losses.fixed, preset.training, plan.out / "fixed")
    if first.ended == "asked":
        return first
    network.settings = replace(preset.model, choice="learned")
    load_network(first.best, network, system=SYSTEM, encoder=material.raw_version)
    second = stage(network, losses.learned, preset.learned, plan.out / "learned")
    if second.ended == "asked":
        return second
    shutil.copyfile(second.best, plan.out / "best.safetensors")
    return replace(second, best=plan.out / "best.safetensors")


def _stage(
    plan: TrainPlan,
    preset: Preset,
    material: Material,
    network: Drilldown,
    stage_loss: Loss,
    training: Training,
    out: Path,
) -> Fitted:
    """One stage of the training, from the network as it is."""
    known = {"model": asdict(network.settings), "loss": asdict(preset.loss), **material.card()}

    def loss(module: nn.Module, batch: Batch) -> tuple[Tensor, Mapping[str, Tensor]]:
        assert isinstance(module, Drilldown)
        return stage_loss(module, preset.loss, batch)

    stage = Stage(
        network=network,
        card=Card(system=SYSTEM, preset=plan.preset, encoder=material.raw_version, settings=known),
        loss=loss,
        validate=partial(measured, preset=preset, dialogues=material.val),
        training=training,
        batch=preset.batch,
        selects="recall" if stage_loss is losses.learned else preset.selects,
    )
    return run(plan, material, stage, out)


def measured(module: nn.Module, *, preset: Preset, dialogues: Dialogues) -> dict[str, float]:
    """What validation measures: the loss and recall of the protocol's fixed dialogues."""
    assert isinstance(module, Drilldown)

    def take(batch: Batch) -> tuple[Tensor, list[Slots], Tensor]:
        vectors_bkd = module.look(batch.regions_bke, batch.whole_bg)
        after = module.converse(module.read(batch.said, batch.lengths_bt))
        return vectors_bkd, after, losses.finding(module, preset.loss, after, vectors_bkd)

    def score(after: list[Slots], vectors_nkd: Tensor) -> list[Tensor]:
        return [losses.scores(module, slots, vectors_nkd) for slots in after]

    return validated(dialogues, preset.batch, next(module.parameters()).device, take, score)
