"""Settings of the baselines: published ones, and ones that compare with Drill-down's in the laboratory."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from viewfinder.errors import BadInput
from viewfinder.retrievers.baselines.settings import BaselinePreset, BaselineSettings
from viewfinder.retrievers.baselines.train import PRESETS
from viewfinder.training import load_preset

DRILLDOWN = PRESETS.parent.parent / "drilldown" / "presets.toml"


def table(file: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(file.read_text())[name]
    return found


def test_the_paper_table_is_the_published_training() -> None:
    preset = load_preset(PRESETS, "paper", BaselinePreset)
    assert (preset.model, preset.batch) == (BaselineSettings(width=1280, context_begins="stacked"), 128)
    assert (preset.loss.kind, preset.loss.margin) == ("hardest", 0.2)
    stage = preset.training
    assert (stage.optimiser, stage.learning_rate, stage.clip_norm, stage.epochs) == ("adam", 2e-4, 10.0, 300)


@pytest.mark.parametrize("name", ["lab", "paper"])
def test_they_are_trained_as_drilldown_is(name: str) -> None:
    """All but the network: its policy has a second stage, its states are several, their context begins otherwise."""
    ours, theirs = table(PRESETS, name), table(DRILLDOWN, name)
    for found in (ours, theirs):
        found.pop("learned", None)
        for key in ("slots", "width", "context_begins"):
            found["model"].pop(key, None)
    assert ours == theirs


def test_in_the_laboratory_one_vector_has_as_many_numbers_as_three() -> None:
    model = table(DRILLDOWN, "lab")["model"]
    assert load_preset(PRESETS, "lab", BaselinePreset).model.width == model["slots"] * model["width"]


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("model.width=0", "width is 0; it must be at least 1"),
        ("model.temperature=-1.0", "temperature is -1.0; it must be above 0"),
        ("batch=1", "batch is 1; a dialogue needs another one to be told from"),
        ("turns=-1", "turns is -1; it must be at least 1, or 0 for as many as the data has"),
        ("loss.kind=contrastive", "'contrastive' is not one of 'hardest', 'every'"),
    ],
)
def test_what_cannot_be_is_said_at_once(setting: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        load_preset(PRESETS, "lab", BaselinePreset, [setting])
