from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import pytest

from viewfinder.errors import BadInput, UnknownName
from viewfinder.training import Card, Constant, Noam, TrainingSettings, build_settings, load_preset
from viewfinder.training.presets import read_card_settings


@dataclass(frozen=True, kw_only=True)
class Preset:
    width: int
    training: TrainingSettings
    dropout: float = 0.1
    side: Literal["text", "both"] = "text"
    turns: tuple[int, ...] = (1,)
    pair: tuple[float, float] = (0.5, 0.5)
    frozen: bool = True
    note: str | None = None


LAB = """
[lab]
width = 8
dropout = 0
turns = [1, 2, 4]
[lab.training]
learning_rate = 1e-3
epochs = 5
betas = [0.9, 0.98]
schedule = { kind = "noam", warmup = 100 }

[paper]
width = 512
training = { learning_rate = 5e-5, steps = 10 }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "presets.toml").write_text(LAB)
    return tmp_path / "presets.toml"


def test_a_table_becomes_the_dataclass_and_what_it_leaves_out_has_the_defaults(file: Path) -> None:
    preset = load_preset(file, "lab", Preset)
    training = TrainingSettings(learning_rate=1e-3, epochs=5, betas=(0.9, 0.98), schedule=Noam(width=512, warmup=100))
    assert preset == Preset(width=8, dropout=0.0, turns=(1, 2, 4), training=training)
    assert isinstance(preset.dropout, float)
    assert load_preset(file, "paper", Preset).training.schedule == Constant()


def test_settings_from_the_command_line_go_first(file: Path) -> None:
    given = ["width=16", "training.epochs = 7", "side=both", "training.schedule.kind=constant", "note=none"]
    with pytest.raises(BadInput, match="warmup: no such key; there are: kind"):
        load_preset(file, "lab", Preset, given)
    given[3] = 'training.schedule={kind="constant"}'
    preset = load_preset(file, "lab", Preset, given)
    assert (preset.width, preset.training.epochs, preset.side, preset.note) == (16, 7, "both", None)
    assert preset.training.schedule == Constant()
    assert load_preset(file, "lab", Preset, ["note=quick look"]).note == "quick look"


def test_asdict_through_json_builds_the_same_preset_again(file: Path) -> None:
    preset = load_preset(file, "lab", Preset)
    assert build_settings(Preset, asdict(preset)) == preset


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("widht=3", "the setting widht: no such key; there are: width, training, "),
        ("width=3.5", "the setting width: 3.5 is not a whole number"),
        ("width=true", "the setting width: True is not a whole number"),
        ("dropout=much", "the setting dropout: 'much' is not a number"),
        ("frozen=1", "the setting frozen: 1 is not true or false"),
        ("side=image", "the setting side: 'image' is not one of 'text', 'both'"),
        ("turns=4", "the setting turns: 4 is not a list"),
        ("pair=[1.0]", r"the setting pair: \[1.0\] is not a list of 2"),
        ("training=3", "the setting training: 3 is not a table"),
        (
            "training.schedule=noam",
            "the setting training.schedule: 'noam' is not a table with kind = one of 'constant'",
        ),
        ("training.epochs=0", r"presets.toml, \[lab\], training: epochs is 0; it must be at least 1"),
        ("width.deep=3", "'width.deep=3': width is no table"),
        ("width", "'width': a setting is written key=value"),
    ],
)
def test_a_wrong_setting_is_answered_with_its_key(file: Path, given: str, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint) as caught:
        load_preset(file, "lab", Preset, [given])
    assert "\n" not in str(caught.value)


def test_a_wrong_file_is_answered_with_file_and_key(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    for text, complaint in {
        "[lab]\nwidth = 8": r"p.toml, \[lab\]: training is missing",
        "[lab]\nwidth = '8'\ntraining = {learning_rate = 1, steps = 1}": r"p.toml, \[lab\], width: '8' is not a whole",
        "[lab]\nwidth = 8\ntraining = {learning_rate = 1}": r"p.toml, \[lab\], training: epochs or steps must say",
        "[lab]\nwidth = 8\ntraining = {learning_rate = 1, stepps = 1}": r"\[lab\], training.stepps: no such key",
        "[lab\n": r"p.toml: damaged TOML \(.*line 1",
    }.items():
        file.write_text(text)
        with pytest.raises(BadInput, match=complaint):
            load_preset(file, "lab", Preset)
    with pytest.raises(BadInput, match=r"gone.toml: no such file"):
        load_preset(tmp_path / "gone.toml", "lab", Preset)


def test_an_unknown_preset_is_answered_with_those_there_are(file: Path) -> None:
    with pytest.raises(UnknownName, match=r"presets.toml: no preset is called 'lap'; there are: lab, paper"):
        load_preset(file, "lap", Preset)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    width: int


@dataclass(frozen=True, kw_only=True)
class Model:
    text: Sizes


def test_a_card_with_a_setting_that_is_gone_is_refused_in_one_line() -> None:
    model = {"text": {"width": 8, "bias": True}}
    card = Card(system="linear", preset="lab", encoder="none", settings={"model": model})
    wanted = r"the card of linear, model\.text\.bias: no such key; .*; train them again"
    with pytest.raises(BadInput, match=wanted) as told:
        read_card_settings(Model, card)
    assert "\n" not in str(told.value)


def test_a_card_of_other_settings_is_refused_with_the_key() -> None:
    card = Card(system="linear", preset="lab", encoder="none", settings={"model": {"text": {"width": "wide"}}})
    with pytest.raises(BadInput, match=r"the card of linear, model\.text\.width: 'wide' is not a whole number"):
        read_card_settings(Model, card)
    with pytest.raises(BadInput, match="the card of linear, loss: None is not a table"):
        read_card_settings(Model, card, "loss")
