"""Training a baseline of Drill-down: OUT/best.safetensors, and what `training.fit` says lies beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from torch import Tensor, nn

from viewfinder.errors import UnknownName
from viewfinder.retrievers.baselines.loss import finding, fused, scores
from viewfinder.retrievers.baselines.network import Baseline
from viewfinder.retrievers.baselines.retriever import joint_of
from viewfinder.retrievers.baselines.settings import SYSTEMS, ModelSettings, Preset
from viewfinder.retrievers.shared.dialogues import Batch, Dialogues
from viewfinder.retrievers.shared.inputs import measure_scales
from viewfinder.retrievers.shared.stages import Material, Stage, read_material, read_start, run, validated
from viewfinder.retrievers.trainers import TrainPlan
from viewfinder.training import Card, Fitted, load_network, load_preset, seed_all
from viewfinder.training.presets import read_card_settings

PRESETS = Path(__file__).with_name("presets.toml")


def train(plan: TrainPlan) -> Fitted:
    """Train the plan's system as it says; what was interrupted goes on with `plan.resume`.

    Raises:
        BadInput, UnknownName, EncoderMismatch: data, preset or start that cannot serve.
    """
    preset = load_preset(PRESETS, plan.preset, Preset, plan.overrides)
    start = read_start(plan)
    if start is not None:
        preset = replace(preset, model=read_card_settings(ModelSettings, start))
    material = read_material(
        plan,
        reads="words",
        turns=preset.turns,
        fewest=preset.fewest,
        negated=preset.negated,
        whole=plan.system == "hre" and not preset.model.pooled,
        regions=plan.system != "hre" or preset.model.pooled,
        start=start,
    )
    network = _network(plan, preset, material)
    card = Card(
        system=plan.system,
        preset=plan.preset,
        encoder=material.raw_version,
        settings={"model": asdict(preset.model), "loss": asdict(preset.loss), **material.card()},
    )

    def loss(module: nn.Module, batch: Batch) -> tuple[Tensor, Mapping[str, Tensor]]:
        return _taken(module, preset, batch)[2], {}

    stage = Stage(
        network=network,
        card=card,
        loss=loss,
        validate=partial(measured, preset=preset, dialogues=material.val),
        training=preset.training,
        batch=preset.batch,
        selects=preset.selects,
    )
    return run(plan, material, stage, plan.out)


def _network(plan: TrainPlan, preset: Preset, material: Material) -> Baseline:
    """The network as it begins: drawn, or as `plan.start` has it."""
    system = next((system for system in SYSTEMS if system == plan.system), None)
    if system is None:
        raise UnknownName(f"no baseline is called {plan.system!r}; there are: {', '.join(SYSTEMS)}")
    seed_all(plan.seed)
    network = Baseline(system, preset.model, material.inputs, joint_of(material.vocabulary))
    if plan.start is not None:
        load_network(plan.start, network, system=system, encoder=material.raw_version)
    elif preset.model.standardised:
        measure_scales(network, material.train.described)
    return network


def measured(module: nn.Module, *, preset: Preset, dialogues: Dialogues) -> dict[str, float]:
    """What validation measures: the loss and recall of the protocol's fixed dialogues."""
    assert isinstance(module, Baseline)

    def score(states_btd: Tensor, vectors_nkd: Tensor) -> list[Tensor]:
        found_tnb = scores(module, states_btd, vectors_nkd)
        return list(fused(found_tnb) if module.system == "r-rankfusion" else found_tnb)

    return validated(dialogues, preset.batch, next(module.parameters()).device, partial(_taken, module, preset), score)


def _taken(module: nn.Module, preset: Preset, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """A batch: its pictures' vectors, its dialogues' vectors after every turn, and the loss."""
    assert isinstance(module, Baseline)
    vectors_bkd = module.look(batch.regions_bke, batch.whole_bg)
    states_btd = module.converse(batch.said, batch.lengths_bt)
    return vectors_bkd, states_btd, finding(module, preset.loss, states_btd, vectors_bkd)
