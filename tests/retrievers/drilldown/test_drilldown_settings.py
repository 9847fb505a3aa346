"""Settings of Drill-down: the published ones by default, and what cannot be is said at once."""

from __future__ import annotations

import tomllib
from dataclasses import asdict

import pytest

from viewfinder.errors import BadInput
from viewfinder.retrievers.drilldown.settings import DrilldownPreset, DrilldownSettings
from viewfinder.retrievers.drilldown.train import PRESETS
from viewfinder.training import build_settings, load_preset

TABLES = sorted(tomllib.loads(PRESETS.read_text()))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_loads(name: str) -> None:
    preset = load_preset(PRESETS, name, DrilldownPreset)
    assert build_settings(DrilldownPreset, asdict(preset)) == preset


def test_the_paper_table_is_the_published_training() -> None:
    preset = load_preset(PRESETS, "paper", DrilldownPreset)
    assert (preset.model, preset.batch, preset.selects) == (DrilldownSettings(slots=3, width=128), 128, "loss")
    assert preset.learned is not None
    for stage, rate in ((preset.training, 2e-4), (preset.learned, 2e-5)):
        assert (stage.optimiser, stage.learning_rate, stage.clip_norm, stage.epochs) == ("adam", rate, 10.0, 300)


def test_the_factor_is_the_temperature_or_what_it_divides_by() -> None:
    assert DrilldownSettings(temperature=9.0).factor == 9.0
    assert DrilldownSettings(temperature=9.0, divides=True).factor == pytest.approx(1 / 9)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("model.slots=0", "slots is 0; it must be at least 1"),
        ("model.width=0", "width is 0; it must be at least 1"),
        ("model.temperature=0.0", "temperature is 0.0; it must be above 0"),
        ("model.sentence_hidden=0", "sentence_hidden is 0; it must be at least 1"),
        ("model.dropout=1.0", "dropout is 1.0; it must be at least 0 and below 1"),
        ("loss.kind=contrastive", "the contrastive loss needs a scale; set model.learned_scale"),
        ("batch=1", "batch is 1; a dialogue needs another one to be told from"),
        ("turns=-1", "turns is -1; it must be at least 1, or 0 for as many as the data has"),
        ("model.write=soft", "soft writing has no slot to choose, so there is no second stage; leave learned out"),
        ("model.choice=best", "'best' is not one of 'circular', 'learned', 'sampled', 'first', 'random'"),
    ],
)
def test_what_cannot_be_is_said_at_once(setting: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        load_preset(PRESETS, "paper", DrilldownPreset, [setting])
